"""Real SGD with any loss, label law and clipping has the law of SGD written plainly in NumPy, on vectors and in overlap space."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import ks_2samp

import dimfree as df
from dimfree.onepass import directions
from dimfree.onepass.model import model
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.start import draw_start
from plain_losses import plain_sgd
from stages import gating

REPLICAS, STEPS = 4000, 24
BASE = df.Problem(
    dimension=10,
    data={"kind": "teacher", "units": 1, "activation": "erf"},
    network={"width": 2, "activation": "erf", "second_layer": "trained", "second_layer_start": [2.0, -1.0]},
    training={"learning_rate": 2.0},
    run={"until": 50.0},
)
SIGNS = {"data.labels": "sign", "data.flip": 0.1}
PROBIT = {"data.labels": "sign", "data.noise": 0.1}
LOGISTIC = {"data.labels": "logistic", "data.slope": 3.0}
VALUES = {"data.noise": 0.2}
STUDENT = {"data.noise": 0.2, "data.noise_law": {"student": 1.5}}
HINGE, HUBER = {"kind": "hinge", "margin": 0.5}, {"kind": "huber", "threshold": 0.4}
ADATRON = {"kind": "squared-hinge", "margin": 0.3}
LAWS = {"signs": SIGNS, "probit": PROBIT, "logistic labels": LOGISTIC}
LEVELS = {"data.covariance": {"kind": "levels", "values": [2.0, 0.5], "shares": [0.3, 0.7], "normalise": False}}

CASES = {
    f"{loss if isinstance(loss, str) else loss['kind']}, {name}": {"training.loss": loss, **law}
    for loss in ("square", "logistic", HINGE, ADATRON, "exponential", "absolute", HUBER, "correlation")
    for name, law in LAWS.items()
} | {
    f"{loss if isinstance(loss, str) else loss['kind']}, {name}": {"training.loss": loss, **law}
    for loss in ("absolute", HUBER, "correlation")
    for name, law in {"values": VALUES, "Student": STUDENT}.items()
    if (loss, name) != ("correlation", "Student")  # which has no mean square to be compared
} | {
    "error clipped, square, Student": {**STUDENT, "training.clip": {"error": 0.5}},
    "absolute, Cauchy": {**STUDENT, "data.noise_law": {"student": 1.0}, "training.loss": "absolute"},
    "error clipped, exponential": {**SIGNS, "training.loss": "exponential", "training.clip": {"error": 0.8}},
    "norm clipped": {**SIGNS, "training.loss": "logistic", "training.clip": {"norm": 0.25}},
    "norm clipped, batch": {**VALUES, "training.loss": "absolute", "training.clip": {"norm": 0.3}, "training.batch": 3},
    "norm clipped, square": {**STUDENT, "training.clip": {"norm": 0.3}},
    "batch, relu": {**SIGNS, "training.loss": HINGE, "training.batch": 2, "network.activation": "relu"},
    "sphere": {**SIGNS, "training.loss": "logistic", "training.spherical": True},
    "decay": {**SIGNS, "training.loss": "logistic", "training.weight_decay": 1.0},
    "momentum": {**SIGNS, "training.loss": "logistic", "training.momentum": 0.6, "training.learning_rate": 0.8},
    "momentum, norm clipped": {
        **SIGNS,
        **{"training.loss": HINGE, "training.momentum": 0.6, "training.clip": {"norm": 0.2}, "training.batch": 2},
    },
    "covariance": {**SIGNS, "training.loss": "logistic", **LEVELS},
    "covariance, norm clipped": {**VALUES, "training.loss": HUBER, "training.clip": {"norm": 0.2}, **LEVELS},
}  # fmt: skip
GATING = ("hinge, signs",)


def walked(one, problem, start, key):
    """Q, M and a of all replicas after STEPS steps."""
    m = model(problem)
    dynamics, numbers = one.twin(m)
    times = jnp.asarray([STEPS * problem.time_step])
    run = jax.jit(lambda s: dynamics.advance(numbers, dynamics.begin(numbers, s, REPLICAS, key), times)[1])
    found = run(start)
    return {name: np.asarray(found[name])[0] for name in ("Q", "M", "a")}


@pytest.mark.parametrize("name", gating(CASES, GATING))
def test_sgd_and_chain_have_the_law_of_plain_sgd(name, monkeypatch):
    seen = lambda model, overlaps, bias=None: {"Q": overlaps.Q, "M": overlaps.M, "a": overlaps.a}  # noqa: E731
    monkeypatch.setattr(directions, "teacher_observables", seen)  # risks are tested elsewhere, and compile for long
    problem = BASE.replace(**CASES[name])
    start = draw_start(problem, jax.random.key(3), vectors=True)
    s = problem.spectrum.coordinates if problem.correlated else 1.0
    weights, a = np.asarray(start.weights), np.asarray(start.measured.a)
    rng = np.random.default_rng(5)
    theirs = plain_sgd(problem, weights, a, STEPS, REPLICAS, rng, s)
    moved = np.abs(theirs["Q"].mean(axis=0) - plain_sgd(problem, weights, a, 0, 1, rng, s)["Q"][0]).max()
    assert moved > 0.02  # so that there is something to be compared
    for number, one in enumerate((VectorSGD(), OverlapChain())):
        ours = walked(one, problem, start, jax.random.key(number))
        for letter in ours:
            x, y = (values[letter].reshape(REPLICAS, -1) for values in (ours, theirs))
            random = y.std(axis=0) > 1e-9  # norms on a sphere are not
            np.testing.assert_allclose(x[:, ~random], y[:, ~random], rtol=1e-5)
            x, y = x[:, random], y[:, random]
            pairs = [(x, y), ((x - x.mean(axis=0)) ** 2, (y - y.mean(axis=0)) ** 2)]
            for what, (u, v) in zip(("means", "variances"), pairs, strict=True):
                spread = np.sqrt((u.var(axis=0) + v.var(axis=0)) / REPLICAS)
                z = (u.mean(axis=0) - v.mean(axis=0)) / spread
                assert np.abs(z).max(initial=0.0) < 5.0, f"{what} of {letter} in {one.name}: {z}"
            smallest = min((ks_2samp(u, v).pvalue for u, v in zip(x.T, y.T, strict=True)), default=1.0)
            assert smallest > 1e-6, f"{letter} in {one.name}"
