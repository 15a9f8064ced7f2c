"""Equations of networks with several outputs: against samples, against the logistic loss, against real SGD at large dimension."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from plain_outputs import plain_sgd, samples, softmax
from scipy.special import erf

import dimfree as df
from dimfree.gaussian.outputs.ladder import outputs_bayes, outputs_error, rule_of
from dimfree.onepass.kinds.clusters.bayes import bayes_error
from dimfree.onepass.kinds.clusters.model import ClusterModel
from dimfree.onepass.limits.mean_step import mean_step
from dimfree.onepass.model import model
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.start import draw_start, embed
from stages import gating

LAYER = [[2.0, -1.0], [-1.0, 1.5], [0.3, 0.4]]
TEACHER = df.Problem(
    dimension=400,
    data={"kind": "teacher", "units": 2, "labels": "argmax", "flip": 0.1, "second_layer": [[1, 0], [0, 1], [-1, -0.5]]},
    network={"width": 2, "outputs": 3, "second_layer": "trained", "second_layer_start": LAYER},
    training={"learning_rate": 2.0, "loss": "cross-entropy"},
    start={"kind": "overlaps", "Q": [[0.8, 0.1], [0.1, 0.6]], "M": [[0.3, 0.1], [-0.2, 0.4]]},
    run={"until": 4.0, "replicas": 24, "points": 3, "spacing": "linear"},
)
SOFTMAX = {"data.labels": "softmax", "data.flip": 0.0, "data.slope": 4.0}
CLUSTERS = {
    "data": {
        "kind": "clusters",
        "weights": [0.3, 0.3, 0.4],
        "means": [[1.5, 0.0], [-1.0, 1.5], [-0.5, -1.0]],
        "variances": [0.7, 0.5, 0.9],
        "classes": [0, 1, 2],
        "flip": 0.1,
    },
    "network.activation": "relu",
}
CASES = {
    "argmax": {},
    "argmax, relu": {"network.activation": "relu", "training.learning_rate": 1.0},
    "softmax": SOFTMAX,
    "softmax, one unit": {
        **SOFTMAX,
        "network": {"width": 1, "outputs": 3, "activation": "relu", "second_layer_start": [[2.0], [-1.0], [0.5]]},
        "start": {"kind": "overlaps", "Q": [[0.8]], "M": [[0.3, 0.1]]},
    },
    "clusters": CLUSTERS,
    "clusters, erf": {**CLUSTERS, "network.activation": "erf"},
}
GATING = ("argmax",)


def sampled(problem, count, rng):
    """Fields, labels and errors of inputs that are drawn; clusters have inputs of high dimension, teachers none at all."""
    m, start = model(problem), draw_start(problem, jax.random.key(0), vectors=False).overlaps
    p, A = m.width, np.asarray(start.a)
    weights = np.asarray(embed(start, problem))
    x, y = samples(problem, weights[p:], (count,), 1.0, rng)
    u = x @ weights.T
    value, slope = {
        "erf": (lambda z: erf(z / 2**0.5), lambda z: (2 / np.pi) ** 0.5 * np.exp(-(z**2) / 2)),
        "relu": (lambda z: np.maximum(z, 0), lambda z: 1.0 * (z > 0)),
    }[problem.network.activation]
    f = value(u[:, :p]) @ A.T / p
    e = np.eye(3)[y] - softmax(f)
    c = slope(u[:, :p]) * (e @ A)
    size = np.sum(x**2, axis=1)
    largest = (f == f.max(axis=1, keepdims=True)) / (f == f.max(axis=1, keepdims=True)).sum(axis=1, keepdims=True)
    seen = {
        "PsiM": c[:, :, None] * u[:, None, p:],
        "PsiGF": c[:, :, None] * u[:, None, :p] + c[:, None] * u[:, :p, None],
        "Psia": e[:, :, None] * value(u[:, None, :p]),
        "Var": c[:, :, None] * c[:, None] * size[:, None, None],
        "risk": -np.log(softmax(f))[np.arange(count), y],
        "test_error": 1 - largest[np.arange(count), y],
    }
    return m, start, {name: (values.mean(axis=0), values.std(axis=0) / count**0.5) for name, values in seen.items()}


@pytest.mark.parametrize("name", gating(CASES, GATING))
def test_averages_are_those_of_samples(name):
    problem = TEACHER.replace(**CASES[name])
    m, start, theirs = sampled(problem.replace(dimension=60), 100_000, np.random.default_rng(3))
    terms = jax.jit(lambda s: m.terms(s)._replace(Var=m.variance(s)))(start)
    seen = eqx.filter_jit(type(m).observables)(m, jax.tree.map(lambda x: x[None, None], start))
    ours = {letter: getattr(terms, letter) for letter in ("PsiM", "PsiGF", "Psia", "Var")}
    ours |= {letter: seen[letter][0, 0] for letter in ("risk", "test_error")}
    known = {"Var": 0.03, "test_error": 0.003}  # terms of order 1/d, and counting at fixed points
    for letter, (mean, error) in theirs.items():
        off = np.abs(np.asarray(ours[letter]) - mean)
        slack = known.get(letter, 1e-3) * (1 if letter != "Var" else np.abs(mean).max())
        assert np.all(off < 5 * error + slack), f"{letter}: {off}, {error}"


def test_errors_of_fixed_points_are_estimated():
    m = model(TEACHER)
    start = draw_start(TEACHER, jax.random.key(0), vectors=False).overlaps
    assert rule_of(m.task, 2).sobol
    assert 1e-6 < float(jax.jit(lambda s: outputs_error(m.task, s))(start)) < 1e-3


def test_the_best_rule_knows_the_most_likely_class():
    rng = np.random.default_rng(2)
    noisy = TEACHER.replace(**SOFTMAX)
    z = rng.normal(size=(200_000, 2))
    f = erf(z / 2**0.5) @ np.array([[1, 0], [0, 1], [-1, -0.5]]).T / 2
    lost = 1 - softmax(4 * f).max(axis=1)
    assert float(outputs_bayes(model(noisy).task)) == pytest.approx(lost.mean(), abs=5 * lost.std() / 200_000**0.5)
    assert float(outputs_bayes(model(TEACHER).task)) == 0.1
    three = TEACHER.replace(**CLUSTERS, dimension=5).data
    x, y = samples(TEACHER.replace(**CLUSTERS, dimension=5), 5**0.5 * np.eye(2, 5), (200_000,), 1.0, rng)
    centres = np.array(three.coefficients) @ np.eye(2, 5) / 5**0.5
    v = np.array(three.spreads) / 5
    likely = np.log(three.shares) - 2.5 * np.log(v) - np.sum((x[:, None] - centres) ** 2, axis=-1) / (2 * v)
    wrong = np.argmax(likely, axis=1) != y
    assert bayes_error(three, 5) == pytest.approx(wrong.mean(), abs=5 * 0.5 / 200_000**0.5)


@pytest.mark.slow
def test_two_outputs_are_one_of_the_logistic_loss(monkeypatch):
    """With A = (a, -a)/2 the same samples make the same steps, and A learns at twice the rate of a (section 1.2)."""
    seen = lambda model, overlaps, bias=None: {"Q": overlaps.Q, "M": overlaps.M, "a": overlaps.a}  # noqa: E731
    monkeypatch.setattr(ClusterModel, "observables", seen)
    a = np.array([2.0, -1.0])
    one = df.Problem(
        dimension=10,
        data={"kind": "clusters", "flip": 0.1},
        network={"width": 2, "activation": "relu", "second_layer": "trained", "second_layer_start": a.tolist()},
        training={"learning_rate": 2.0, "loss": "logistic", "second_layer_rate": 2.0},
    )
    two = one.replace(
        **{
            "network.outputs": 2,
            "network.second_layer_start": [(a / 2).tolist(), (-a / 2).tolist()],
            "training.loss": "cross-entropy",
            "training.second_layer_rate": 1.0,
        }
    )
    key, times = jax.random.key(4), jnp.asarray([40 * one.time_step])
    found = []
    for problem in (one, two):
        m, start = model(problem), draw_start(problem, jax.random.key(1), vectors=False)
        chain = OverlapChain()
        found.append(jax.jit(lambda s, m=m, chain=chain: chain.advance(m, chain.begin(m, s, 3, key), times)[1])(start))
    logistic, outputs = found
    assert np.abs(logistic["Q"] - logistic["Q"][:, :1]).max() > 0.01  # replicas differ
    for letter in ("Q", "M"):
        np.testing.assert_allclose(outputs[letter], logistic[letter], rtol=0, atol=1e-12)
    np.testing.assert_allclose(outputs["a"][..., 0, :], -outputs["a"][..., 1, :], rtol=0, atol=1e-12)
    np.testing.assert_allclose(outputs["a"][..., 0, :] - outputs["a"][..., 1, :], logistic["a"], rtol=0, atol=1e-12)


LEVELS = {
    "data.covariance": {"kind": "levels", "values": [2.5, 0.5], "shares": [0.4, 0.6], "normalise": False},
    "start": {"kind": "gaussian"},
}
LIMITS = {
    **{name: CASES[name] for name in ("argmax", "softmax", "clusters")},
    "norm clipped": {"training.clip": {"norm": 0.3}},
    "covariance": LEVELS,
    "covariance, softmax, norm clipped": {**SOFTMAX, **LEVELS, "training.clip": {"norm": 0.3}},
    "covariance, sphere, batch": {**LEVELS, "training.spherical": True, "training.batch": 2},
    "momentum": {"training.momentum": 0.98, "training.learning_rate": 0.04},
    "nesterov, covariance": {
        **LEVELS,
        **{"training.momentum": 0.98, "training.learning_rate": 0.04, "training.nesterov": True},
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LIMITS)
def test_the_ode_is_the_limit_of_the_chain(name):
    problem = TEACHER.replace(**LIMITS[name])
    chain, ode = (df.solve(problem, one) for one in ("chain", "ode"))
    assert not str(ode.attrs["warnings"])
    flow = df.solve(problem, "gradient-flow")
    for letter in ("Q", "M", "A", "risk", "test_error"):
        x = chain[letter][-1]
        mean, error = x.mean("replica").values, x.std("replica", ddof=1).values / problem.run.replicas**0.5
        off = np.abs(ode[letter][-1, 0].values - mean)
        assert np.all(off < 5 * error + 4 / problem.dimension), f"{letter}: {off}, {error}"
    assert np.abs(flow["Q"][-1, 0].values - ode["Q"][-1, 0].values).max() > 0.05  # steps have a variance


@pytest.mark.slow
@pytest.mark.parametrize("name", ["argmax", "softmax", "clusters"])
def test_the_mean_of_a_step_at_finite_dimension(name):
    """Equation (1.4); the squares of the steps alone would be off by far more than the error bars."""
    problem = TEACHER.replace(**CASES[name], dimension=6, **{"training.batch": 2, "training.learning_rate": 6.0})
    start = draw_start(problem, jax.random.key(1), vectors=True)
    weights, A, count = np.asarray(start.weights), np.asarray(start.overlaps.a), 100_000
    after = plain_sgd(problem, weights, A, 1, count, np.random.default_rng(7))
    m = model(problem)
    found = jax.jit(lambda s: mean_step(m, s))(start.overlaps)
    for letter in ("Q", "M"):
        steps = after[letter] - np.asarray(getattr(start.overlaps, letter))
        z = (steps.mean(axis=0) - np.asarray(getattr(found, letter))) / (steps.std(axis=0) / count**0.5)
        assert np.abs(z).max() < 5.0, f"{letter}: {z}"
