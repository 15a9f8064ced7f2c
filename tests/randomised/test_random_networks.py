"""Two-layer networks on data sets: dmft is where real training in a thousand dimensions is, drawn anew in every run."""

import numpy as np
import pytest

import dimfree as df

pytestmark = pytest.mark.slow
STEPS, DATA_SETS = 12, 24
DRAWS = (
    4  # times of a run go together: one observable in twenty is out by chance, but not in four draws of data and paths
)
BATCHES = {
    "full": {},
    "vanilla": {"batch_fraction": 0.5},
    "persistent": {"batch_fraction": 0.5, "persistence": 3.0},
    "cyclic": {"batches": "cyclic", "batch_fraction": 0.25},
    "reshuffle": {"batches": "reshuffle", "batch_fraction": 0.25},
    "one-pass": {"batches": "one-pass", "batch_fraction": 1 / STEPS},
    "twice": {"batches": "twice", "batch_fraction": 2 / STEPS},
}


def drawn(batches: str, rng: np.random.Generator) -> df.extend.NetworkProblem:
    """A network, a teacher, a start and a rule; rates are those at which training is stable."""
    p, k = (int(n) for n in rng.integers(1, 4, 2))
    sigma = str(rng.choice(["erf", "relu", "tanh"]))
    M = rng.uniform(-0.4, 0.4, (p, k))
    root = rng.uniform(-0.3, 0.3, (p, p))
    Q = M @ M.T + np.eye(p) * rng.uniform(0.4, 1.0) + root @ root.T
    others, momentum = [part for part in ("bias", "second-layer") if rng.integers(2)], float(rng.choice([0.0, 0.5]))
    rate = (0.3 if sigma == "relu" else 0.8) * p * (1 - momentum)
    rule = {"learning_rate": rate, "momentum": momentum, "second_layer_rate": 0.3, **BATCHES[batches]}
    rule |= {
        "loss": str(rng.choice(["square", "square", "huber"])),
        "spherical": bool(rng.integers(4) == 0),
        "temperature": float(rng.choice([0.0, 0.0, 0.02])),
        "weight_decay": float(rng.choice([0.0, 0.05])),
    }
    rule["persistence"] = max(rule["persistence"], rate) if "persistence" in rule else None
    return df.Problem(
        dimension=1000,
        data={"kind": "teacher", "samples": float(rng.uniform(1.5, 3)), "units": k, "activation": sigma, "noise": 0.05},
        network={
            "width": p,
            "activation": sigma,
            "second_layer_start": rng.uniform(0.6, 1.4, p).tolist(),
            "trained": ["first-layer", *others],
            "bias_start": float(rng.uniform(-0.5, 0.5)) if "bias" in others else 0.0,
        },
        training={"kind": "multi-pass", **{key: value for key, value in rule.items() if value is not None}},
        start={"kind": "overlaps", "Q": Q.tolist(), "M": M.tolist()},
        run={"until": STEPS * rate, "points": STEPS + 1, "replicas": DATA_SETS, "seed": int(rng.integers(2**31))},
    )


def scores(real: df.extend.NetworkProblem, theory: df.extend.NetworkProblem) -> dict[str, np.ndarray]:
    """z of dmft against multi-pass, for all times but the first and all entries."""
    accounts = df.simulate(real), df.solve(theory, by=df.theories.DMFT(paths=8000))
    z = {}
    for name in {"M", "Q", "a", "bias", "train_loss", "risk"} & {*accounts[0].data_vars}:
        means, errors = [], []
        for one in accounts:
            values = one[name].transpose("time", "replica", ...).values[1:]
            means.append(values.mean(axis=1))
            errors.append(values.std(axis=1, ddof=1) / values.shape[1] ** 0.5)
        error = np.hypot(*errors)
        z[name] = np.where(error > 1e-9, (means[1] - means[0]) / np.maximum(error, 1e-9), 0.0)
    return z


def failures(real: df.extend.NetworkProblem, theory: df.extend.NetworkProblem) -> dict[str, str]:
    """Observables whose scores are too large."""
    found = scores(real, theory)
    numbers = {name: (float(np.sqrt(np.mean(z**2))), float(np.abs(z).max())) for name, z in found.items()}
    return {
        name: f"r.m.s. {rms:.2f}, largest {most:.2f}" for name, (rms, most) in numbers.items() if rms > 2 or most > 4
    }


@pytest.mark.parametrize("batches", BATCHES)
def test_dmft_is_where_real_networks_are(batches, rng):
    problem, failed = drawn(batches, rng), {}
    for draw in range(DRAWS):
        again = problem.replace(**{"run.seed": problem.run.seed + draw})
        found = failures(again, again)
        failed = {name: words for name, words in found.items() if not draw or name in failed}
        if not failed:
            return
    pytest.fail(f"{failed}\n{df.dumps(problem)}")


def test_another_rule_would_be_noticed(rng):
    problem = drawn("vanilla", rng).replace(**{"training.spherical": False})
    assert failures(problem, problem.replace(**{"training.weight_decay": 0.3}))
