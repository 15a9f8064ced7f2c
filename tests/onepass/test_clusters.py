"""Inputs in clusters: sgd, chain and ode against SGD written plainly, invariants, and errors in one sentence."""

from functools import lru_cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import plain_clusters
import pytest

import dimfree as df
from dimfree.errors import ProblemError
from dimfree.onepass.kinds.clusters.averages import driving, judged
from dimfree.onepass.kinds.clusters.bayes import bayes_error
from dimfree.onepass.kinds.clusters.points import Rule
from dimfree.onepass.limits.mean_step import mean_step
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.onepass.model import model
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.start import draw_start
from dimfree.setting import why_not
from dimfree.states.overlaps import Overlaps
from stages import gating

Q = np.array([[0.9, 0.15], [0.15, 0.7]])
M = np.array([[0.3, -0.2], [-0.15, 0.35]])
SHIFTED = {
    "kind": "clusters",
    "weights": [0.2, 0.3, 0.35, 0.15],
    "means": [[1.6, 0.2], [-1.4, 0.0], [0.1, 1.5], [0.0, -1.8]],
    "variances": [0.5, 0.9, 0.7, 1.2],
    "classes": [1, 1, -1, -1],
    "flip": 0.1,
}
FEW = {"dimension": 12, "training.batch": 2, "training.learning_rate": 2.0}
# what sgd, chain and SGD in NumPy are compared at
CASES: dict[str, dict[str, Any]] = {
    "square": {**FEW, "network.activation": "erf"},
    "relu": {**FEW, "network.activation": "relu", "training.learning_rate": 1.0},
    "logistic": {**FEW, "network.activation": "relu", "training.loss": "logistic"},
    "hinge": {**FEW, "network.activation": "erf", "training.loss": "hinge"},
    "squared hinge": {**FEW, "network.activation": "erf", "training.loss": "squared-hinge"},
    "exponential": {**FEW, "network.activation": "erf", "training.loss": "exponential", "training.learning_rate": 1.0},
    "absolute": {**FEW, "network.activation": "square", "training.loss": "absolute", "training.learning_rate": 0.5},
    "huber": {**FEW, "network.activation": "erf", "training.loss": "huber"},
    "correlation": {**FEW, "network.activation": "erf", "training.loss": "correlation"},
    "clipped error": {**FEW, "network.activation": "relu", "training.clip": {"error": 0.7}},
    "clipped norm": {**FEW, "network.activation": "relu", "training.loss": "logistic", "training.clip": {"norm": 0.2}},
}
REPLICAS, STEPS = 4000, 60


def problem(**changes: Any) -> df.Problem:
    """Two units of which both layers learn, on four clusters of different size."""
    start = {"kind": "overlaps", "Q": Q.tolist(), "M": M.tolist()}
    network = {"width": 2, "second_layer": "trained", "second_layer_start": [1.2, -0.8]}
    bare = df.Problem(dimension=60, data=SHIFTED, network=network, start=start, run={"until": 1.0, "replicas": 4})
    return bare.replace(**changes)


def mixture(given=SHIFTED):
    names = ("weights", "means", "variances", "classes")
    return plain_clusters.Clusters(*(np.array(given[name], dtype=float) for name in names), given["flip"])


def stepped(one: df.Problem, steps: int, replicas: int) -> df.Problem:
    """The same until so many steps are done."""
    return one.replace(
        **{"run.until": steps * one.time_step, "run.times": [steps * one.time_step], "run.replicas": replicas}
    )


def overlaps_of(one: df.Problem, walker: str) -> tuple[np.ndarray, ...]:
    """Q, M and a of all replicas at the end; risks of so many networks would take longer than the steps."""
    m, key = model(one), jax.random.key(3)
    start = draw_start(one, key, vectors=True)
    description = {"sgd": VectorSGD(), "chain": OverlapChain()}[walker]
    state = description.begin(m, start, one.run.replicas, jax.random.key({"sgd": 1, "chain": 2}[walker]))
    seen = jax.jit(lambda now, times: [description.advance(m, now, times)[1][name][-1] for name in ("Q", "M", "a")])
    return tuple(np.asarray(x) for x in seen(state, jnp.array([one.run.until])))


@lru_cache(maxsize=8)
def at_the_end(case: str, walker: str) -> tuple[np.ndarray, ...]:
    """Q, M and a of all replicas."""
    one = stepped(problem(**CASES[case]), STEPS, REPLICAS)
    if walker != "plain":
        return overlaps_of(one, walker)
    rng, training = np.random.default_rng(5), one.training
    W, B = plain_clusters.directions(Q, M, np.eye(2), one.dimension, rng)
    clip = training.clip if isinstance(training.clip, str) else training.clip.model_dump(exclude_none=True)
    return plain_clusters.sgd(
        mixture(),
        W,
        B,
        np.array([1.2, -0.8]),
        STEPS,
        rng,
        replicas=REPLICAS,
        activation=one.network.activation,
        rate=training.learning_rate,
        batch=training.batch,
        eta_a=training.second_layer_rate,
        loss=training.loss,
        clip=None if clip == "none" else clip,
    )


def numbers(found: tuple[np.ndarray, ...]) -> np.ndarray:
    """Everything that moves, one row for each replica."""
    Q, M, a = found
    return np.concatenate([Q[:, *np.triu_indices(2)], M.reshape(len(M), -1), a], axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_chain_and_sgd_have_the_means_and_variances_of_sgd_in_numpy(case):
    plain = numbers(at_the_end(case, "plain"))
    for walker in ("sgd", "chain"):
        own = numbers(at_the_end(case, walker))
        for power in (own, plain):
            assert power.std(axis=0).min() > 0.02, "the test must spread the replicas"
        z = (own.mean(axis=0) - plain.mean(axis=0)) / np.sqrt((own.var(axis=0) + plain.var(axis=0)) / REPLICAS)
        assert np.abs(z).max() < 5.5, walker
        squares = [(x - x.mean(axis=0)) ** 2 for x in (own, plain)]
        z = np.diff([x.mean(axis=0) for x in squares], axis=0)[0] / np.sqrt(
            sum(x.var(axis=0) for x in squares) / REPLICAS
        )
        assert np.abs(z).max() < 5.5, walker


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_chain_has_the_law_of_vectors_on_clusters(assert_same_law, case):
    names = ("Q_11", "Q_12", "Q_22", "M_11", "M_12", "M_21", "M_22", "a_1", "a_2")
    sgd, chain = (dict(zip(names, numbers(at_the_end(case, one)).T, strict=True)) for one in ("sgd", "chain"))
    assert_same_law(sgd, chain)


@eqx.filter_jit
def averages(m, state):
    return driving(m, state, Rule(16)), judged(m, state, None, Rule(16))


STATE = Overlaps(jnp.asarray(Q), jnp.asarray(M), jnp.array([1.2, -0.8]))


RELU = {"dimension": 12, "network.activation": "relu", "training.batch": 2, "training.learning_rate": 3.0}


def sampled(activation: str, count: int) -> dict[str, np.ndarray]:
    """What averages are averages of, at STATE in dimension 12, batches of two."""
    rng, a = np.random.default_rng(1), np.array([1.2, -0.8])
    W, B = plain_clusters.directions(Q, M, np.eye(2), 12, rng)
    sigma, slope = plain_clusters.SIGMA[activation]
    x, y = mixture().draw(rng, B, (count,))
    fields = x @ W.T
    f = sigma(fields) @ a / 2
    c = a * slope(fields) * (y - f)[:, None]
    pulled = c[:, :, None] * x[:, None]
    moved = W + 3.0 * (pulled[0::2] + pulled[1::2]) / 4
    return {
        "D": c[:, :, None] * np.concatenate([fields, x @ B.T], axis=1)[:, None],
        "Psi^a": sigma(fields) * (y - f)[:, None],
        "risk": (y - f) ** 2 / 2,
        "test error": 0.5 * (1 - np.sign(y * f)),
        "Q of a step": np.einsum("npd,nqd->npq", moved, moved) / 12 - Q,
        "M of a step": moved @ B.T / 12 - M,
    }


def scores(told: Any, samples: np.ndarray) -> np.ndarray:
    return np.abs(samples.mean(axis=0) - told) / (samples.std(axis=0) / np.sqrt(len(samples)))


@pytest.mark.parametrize("activation", gating(["erf", "relu", "square"], ["relu"]))
def test_averages_are_those_of_samples(activation):
    (D, _, Psia), (risk, error) = averages(model(problem(**{**RELU, "network.activation": activation})), STATE)
    samples = sampled(activation, 200_000)
    for name, told in {"D": D, "Psi^a": Psia, "risk": risk, "test error": error}.items():
        assert scores(told, samples[name]).max() < 5.5, name


@pytest.mark.slow
def test_the_mean_of_a_step_is_that_of_samples():
    one = model(problem(**RELU))
    step, samples = mean_step(one, STATE), sampled("relu", 1_000_000)
    assert scores(step.Q, samples["Q of a step"]).max() < 5.5
    assert scores(step.M, samples["M of a step"]).max() < 5.5
    (D, Var, _), _ = averages(one, STATE)
    limit = one.time_step * (D[:, :2] + D[:, :2].T + 3.0 / 4 * Var)
    assert scores(limit, samples["Q of a step"]).max() > 10, "samples must tell finite dimensions from the limit"


def test_identical_clusters_are_one():
    means = [[1.6, 0.2], [1.6, 0.2], [0.1, 1.5], [0.0, -1.8]]
    shared = SHIFTED | {"means": means, "variances": [0.5, 0.5, 0.7, 1.2]}
    shares = ([0.2, 0.3, 0.35, 0.15], [0.45, 0.05, 0.35, 0.15])
    one, two = (averages(model(problem(**RELU, data=shared | {"weights": w})), STATE) for w in shares)
    for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-12)
    errors = [bayes_error(df.Clusters(**(shared | {"weights": w})), 12) for w in shares]
    assert errors[0] == pytest.approx(errors[1], abs=1e-12)


def test_classes_and_second_layer_change_sign_together():
    turned = SHIFTED | {"classes": [-1, -1, 1, 1]}
    other = Overlaps(STATE.Q, STATE.M, -STATE.a)
    (D, Var, Psia), judged_one = averages(model(problem(**RELU)), STATE)
    (D_, Var_, Psia_), judged_two = averages(model(problem(**RELU, data=turned)), other)
    for x, y in ((D, D_), (Var, Var_), (Psia, -Psia_), *zip(judged_one, judged_two, strict=True)):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-12)


def test_the_best_error_is_counted_right():
    """By closed forms of XOR and of two clusters, and beside them by inputs that the posterior is asked about."""
    xor = df.Clusters(separation=0.993, variance=0.825)
    assert bayes_error(xor, 100) == pytest.approx(0.34291601586237586, abs=1e-12)
    spelled = {"weights": (0.25,) * 4, "variances": (0.825,) * 4, "classes": (1, 1, -1, -1)}
    given = df.Clusters(means=tuple(map(tuple, xor.coefficients.tolist())), **spelled)
    assert bayes_error(given, 100) == pytest.approx(0.34291601586237586, abs=1e-4)
    two = df.Clusters(weights=(0.3, 0.7), means=((1.0,), (-0.5,)), variances=0.8, classes=(1, -1), flip=0.1)
    rng = np.random.default_rng(0)
    c = rng.random(400_000) < 0.3
    s = np.where(c, 1.0, -0.5) + np.sqrt(0.8) * rng.normal(size=c.size)
    told = np.log(0.3 / 0.7) + ((s + 0.5) ** 2 - (s - 1) ** 2) / 1.6 > 0
    assert bayes_error(two, 50) == pytest.approx(0.1 + 0.8 * np.mean(told != c), abs=5 * 0.5 / np.sqrt(c.size))
    wide = df.Clusters(weights=(0.5, 0.5), means=((0.0,), (0.0,)), variances=(0.5, 1.0), classes=(1, -1))
    assert bayes_error(wide, 5) > 0.1 > 1e-3 > bayes_error(wide, 200)


BAD = {
    "weights add up to 0.9; they must add up to 1.": {"weights": [0.2, 0.3, 0.3, 0.1]},
    "weights must be above 0; got -0.2": {"weights": [-0.2, 0.7, 0.35, 0.15]},
    "weights has 3 entries for 4 clusters; give one for each cluster.": {"weights": [0.3, 0.3, 0.4]},
    "variances must be above 0; got 0.": {"variances": [0.5, 0.0, 0.7, 1.2]},
    "classes are 1 and -1, or 0, 1, ... without gaps for several outputs; got [-1, 1, 2].": {"classes": [1, 2, -1, -1]},
    "every cluster has class 1, so that there is nothing to learn; give clusters of both classes.": {
        "classes": [1] * 4
    },
    "all rows of means need the same length": {"means": [[1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 2.0]]},
    "flip must be at least 0 and below 0.5; got 0.6 (swap the classes instead).": {"flip": 0.6},
    "shape = 'xor' already says what the clusters are; leave out weights and means": {"shape": "xor"},
    "overlap has shape (1, 1); it must be 2 x 2.": {"overlap": [[1.0]]},
    "means is empty; give one row for each cluster": {"means": []},
    "all clusters lie at one place": {"means": [[1.0, 0.0]] * 4, "variances": 0.5},
}


@pytest.mark.parametrize("said", BAD)
def test_bad_clusters_get_one_sentence(said):
    with pytest.raises(ProblemError) as failure:
        df.Problem(data=SHIFTED | BAD[said])
    assert said in str(failure.value)
    assert "\n" not in str(failure.value)


def test_momentum_is_refused():
    with pytest.raises(ProblemError, match="momentum is not worked out for inputs in clusters"):
        df.Problem(data={"kind": "clusters"}, training={"momentum": 0.5})


def test_xor_is_short_for_four_clusters():
    short, s = df.Problem(data={"kind": "clusters", "separation": 1.5, "variance": 0.4}), 1.5
    means = [[s, 0.0], [-s, 0.0], [0.0, s], [0.0, -s]]
    written = {"weights": [0.25] * 4, "means": means, "variances": 0.4, "classes": [1, 1, -1, -1]}
    one, two = model(short), model(short.replace(data={"kind": "clusters", **written}))
    for x, y in zip(jax.tree.leaves(one.mixture), jax.tree.leaves(two.mixture), strict=True):
        np.testing.assert_array_equal(x, y)
    assert df.loads(df.dumps(short)) == short


def test_the_ode_refuses_what_has_no_averages():
    clipped = problem(**{"network.activation": "relu", "training.clip": {"norm": 0.2}, "training.batch": 4})
    assert why_not(HighDimensional(), clipped) == "training.clip norm with batch 4 has no ode yet; use chain."
    squares = problem(**{"network.activation": "square", "training.loss": "exponential"})
    assert why_not(HighDimensional(), squares).startswith(
        "exponential loss with activation square: E[e²] is or becomes"
    )
    assert why_not(OverlapChain(), clipped) is None


LIMITS = {
    "square": {"network.activation": "square"},
    "relu": {"network.activation": "relu"},
    "logistic": {"network.activation": "relu", "training.loss": "logistic"},
    "hinge": {"network.activation": "erf", "training.loss": "hinge"},
    "linear": {"network.activation": "linear", "training.loss": "logistic"},
    "clipped norm": {"network.activation": "erf", "training.loss": "logistic", "training.clip": {"norm": 0.1}},
}


@pytest.mark.slow
@pytest.mark.parametrize("case", LIMITS)
def test_the_ode_is_the_limit_of_the_chain(case):
    one = problem(**{"dimension": 1000, "training.learning_rate": 0.4, "run.until": 3.0, **LIMITS[case]})
    one = one.replace(**{"run.times": [0.5, 1.0, 3.0], "run.replicas": 60})
    ode, chain = df.solve(one, "ode"), df.solve(one, "chain")
    for name in ("Q", "M", "a", "risk", "test_error"):
        x, y = ode[name].values, chain[name].values
        error = y.std(axis=1, ddof=1) / np.sqrt(y.shape[1])
        assert np.all(np.abs(y.mean(axis=1) - x[:, 0]) < 5.5 * error + 0.004), name


@pytest.mark.slow
def test_more_units_than_panels_are_nested_for_are_averaged_at_fixed_points():
    """Derivatives of ReLU jump there, and the solver must get through all the same, to an error of about 1e-3."""
    network = {"width": 4, "activation": "relu", "second_layer": "trained", "second_layer_start": "signs"}
    one = df.Problem(
        dimension=1000,
        data={"kind": "clusters"},
        network=network,
        training={"learning_rate": 0.5, "loss": "logistic"},
        run={"until": 3.0, "times": [1.0, 3.0], "replicas": 40},
    )
    assert model(one).roughness > 0 == model(one.replace(**{"network.activation": "erf"})).roughness
    ode, chain = df.solve(one, "ode"), df.solve(one, "chain")
    assert (ode.attrs["quadrature"], ode.attrs["quadrature_fields"]) == ("fixed Sobol points", 4)
    assert 1e-6 < ode.attrs["quadrature_error"] < 5e-3
    assert ("estimated error" in ode.attrs["warnings"]) == (5 * ode.attrs["quadrature_error"] > 1e-3)
    assert "quadrature" not in chain.attrs
    for name in ("Q", "M", "a", "risk", "test_error"):
        x, y = ode[name].values, chain[name].values
        error = y.std(axis=1, ddof=1) / np.sqrt(y.shape[1])
        assert np.all(np.abs(y.mean(axis=1) - x[:, 0]) < 5.5 * error + 0.005), name
