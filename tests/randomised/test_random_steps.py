"""The first steps of real SGD, on vectors and in overlap space, have the law of plain SGD in NumPy."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import plain_sgd
import pytest
from chance import Checks
from drawn_problems import Drawn, Structure, draw, parts, structure

import dimfree as df
from dimfree.onepass import directions
from dimfree.onepass.kinds.gaussians import model as gaussians

pytestmark = pytest.mark.slow
REPLICAS = 3000
STEPS = (1, 4, 25)
_TRIES = 10  # at problems that do not blow up
CHAIN, SGD = df.experiments.OverlapChain(), df.experiments.VectorSGD()
KINDS = {  # student, teacher, learning rates
    "smooth": ("tanh", "sin", (1.0, 8.0)),
    "kinked": ("relu", "hard-tanh", (0.5, 3.0)),
    "polynomial": ("he2", "custom hermite", (0.05, 0.3)),
    "user-written": ("user cut", "user wave", (0.5, 4.0)),
    "several directions": ("erf", None, (1.0, 8.0)),
    "few dimensions": ("softplus", "relu", (0.5, 3.0)),
    "two Gaussians": ("custom knots", None, (1.0, 4.0)),
    "noise": ("tanh", "leaky-relu", (1.0, 4.0)),
}


def drawn_structure(kind: str, rng: np.random.Generator) -> Structure:
    sigma, g, _ = KINDS[kind]
    trained = parts(rng)
    fixed = {"trained": trained, "everything": bool(rng.random() < 0.5), "noisy": kind == "noise"}
    fixed |= {"two_gaussians": kind == "two Gaussians"}
    if "first-layer" not in trained:
        fixed["spherical"] = False
    return structure(
        rng, sigma, g, int(rng.integers(1, 6)), 0 if kind == "two Gaussians" else int(rng.integers(1, 4)), **fixed
    )


def plainly(one: Drawn, weights: np.ndarray, rng: np.random.Generator) -> list[dict[str, np.ndarray]]:
    """What plain SGD observes after every number of steps."""
    p = one.rule.width
    copies = (np.broadcast_to(x, (REPLICAS, *x.shape)) for x in (weights[:p], np.full(p, one.bias), one.a))
    seen = plain_sgd.run(one.rule, plain_sgd.Students(*copies), weights[p:], list(STEPS), rng)
    return [plain_sgd.observed(one.rule, weights[p:], now) for now in seen]


def flat(values: np.ndarray) -> np.ndarray:
    """(replica, entry), the entries of symmetric matrices once."""
    if values.ndim == 3 and values.shape[1] == values.shape[2] and np.allclose(values, np.swapaxes(values, 1, 2)):
        return values[:, *np.triu_indices(values.shape[1])]
    return values.reshape(len(values), -1)


def compare(checks: Checks, one: Drawn, account, run, key: jax.Array, rng: np.random.Generator, told: Drawn) -> None:
    """dimfree's account of one problem beside plain SGD of what is told to it."""
    start = df.extend.draw_start(one.problem, key, vectors=True)
    m, times = df.extend.model(one.problem), jnp.asarray(STEPS) * one.problem.time_step
    found = run(m, account.begin(m, start, REPLICAS, jax.random.fold_in(key, 1)), times)
    if not all(np.isfinite(np.asarray(values)).all() for values in found.values()):
        raise RuntimeWarning("an overflow")
    for i, expected in enumerate(plainly(told, np.asarray(start.weights), rng)):
        together = []
        for name in expected.keys() & found.keys():
            x, y = flat(np.asarray(found[name])[i]), flat(expected[name])
            checks.same_law(f"{account.name}, {STEPS[i]} steps, {name}", x, y)
            together.append((x, y))
        first = [np.concatenate([pair[side][:, :3] for pair in together], axis=1) for side in (0, 1)]
        checks.same_products(f"{account.name}, {STEPS[i]} steps", *first)


def compared(checks: Checks, drawn: Drawn, account, run, rng: np.random.Generator) -> bool:
    """Compare one problem, unless SGD of it blows up (polynomials do, now and then): then there is no law."""
    try:
        compare(checks, drawn, account, run, jax.random.key(rng.integers(2**31)), rng, drawn)
    except RuntimeWarning:  # an overflow
        return False
    return True


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_steps_have_the_law_of_plain_sgd(kind, rng, checks, cases, monkeypatch):
    for home, risk in (
        (directions, "risk"),
        (directions, "offset_risk"),
        (gaussians, "neuron_risk"),
    ):  # compared in whole runs; half of the compilation
        monkeypatch.setattr(home, risk, lambda *_: jnp.zeros(()))
    one, d = drawn_structure(kind, rng), int(rng.integers(5, 9) if kind == "few dimensions" else rng.integers(24, 60))
    for account in (SGD,) if kind in ("two Gaussians", "noise") else (SGD, CHAIN):
        run = jax.jit(lambda m, state, times, account=account: account.advance(m, state, times)[1])
        for _ in range(max(1, cases // 3)):
            tries = (compared(checks, draw(rng, one, d, KINDS[kind][2]), account, run, rng) for _ in range(_TRIES))
            assert any(tries), "every problem that was drawn blows up"
    checks.settle()


@pytest.mark.parametrize("wrong", [{"rate": 1.1}, {"noise": 2.0}, {"decay": 2.0}, {"second_rate": 1.3}])
def test_another_law_would_be_noticed(wrong, rng, monkeypatch):
    monkeypatch.setattr(directions, "risk", lambda *_: jnp.zeros(()))
    one = structure(rng, "erf", "erf", 2, 1, trained=("first-layer", "second-layer"), spherical=False, batch=1)
    drawn = draw(rng, dataclasses.replace(one, schedule="none", scaling="mean", teacher_scaling="mean"), 30, (8.0, 9.0))
    problem = drawn.problem.replace(**{"data.noise": 1.0, "training.weight_decay": 10.0})
    rule = dataclasses.replace(drawn.rule, noise=1.0, decay=10.0)
    other = dataclasses.replace(rule, **{name: factor * getattr(rule, name) for name, factor in wrong.items()})
    checks, (right, false) = Checks(0), (dataclasses.replace(drawn, problem=problem, rule=r) for r in (rule, other))
    run = jax.jit(lambda m, state, times: SGD.advance(m, state, times)[1])
    compare(checks, right, SGD, run, jax.random.key(3), rng, false)
    with pytest.raises(AssertionError, match="checks fail"):
        checks.settle()
