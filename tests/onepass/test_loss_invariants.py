"""Paths of SGD that must coincide: losses that become each other, and rules that forget a scale (docs/theory/losses.md, 6)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dimfree as df
from dimfree.onepass import directions
from dimfree.onepass.model import model
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.start import draw_start

pytestmark = pytest.mark.slow
STEPS, REPLICAS = 60, 4
BASE = df.Problem(
    dimension=30,
    data={"kind": "teacher", "units": 1, "activation": "linear", "noise": 0.2},
    network={"width": 2, "activation": "linear", "second_layer_start": [1.5, -0.7]},
    training={"learning_rate": 1.5},
    start={"kind": "overlaps", "Q": [[0.9, 0.2], [0.2, 1.1]], "M": [[0.1], [-0.3]]},
    run={"until": 50.0},
)
SIGNS = BASE.replace(**{"data.labels": "sign", "data.noise": 0.0, "data.flip": 0.15})
PERCEPTRON = {"training.loss": {"kind": "hinge", "margin": 0.0}}
ADATRON = {"training.loss": {"kind": "squared-hinge", "margin": 0.0}}
HEBB = {"training.loss": "correlation"}


@pytest.fixture(autouse=True)
def _overlaps_only(monkeypatch):
    seen = lambda model, overlaps, bias=None: {"Q": overlaps.Q, "M": overlaps.M, "a": overlaps.a}  # noqa: E731
    monkeypatch.setattr(directions, "teacher_observables", seen)


def path(problem):
    """Q, M and a at a few steps, always by the same random numbers."""
    m, start = model(problem), draw_start(problem, jax.random.key(0), vectors=False)
    times = jnp.asarray([5, 20, STEPS]) * problem.time_step
    found = jax.jit(lambda s, t: OverlapChain().run(m, s, t, jax.random.key(2), REPLICAS))(start, times)
    return {name: np.asarray(x) for name, x in found.items()}


def same(one, other, **factors):
    for name, values in one.items():
        np.testing.assert_allclose(factors.get(name, 1.0) * values, other[name], rtol=1e-9, atol=1e-10, err_msg=name)


@pytest.mark.parametrize(
    "changes",
    [
        {"training.loss": {"kind": "huber", "threshold": 1e6}},
        {"training.clip": {"error": 1e6}},
        {"training.clip": {"norm": 1e6}},
    ],
    ids=["huber", "error", "norm"],
)
def test_what_never_clips_is_the_square_loss(changes):
    same(path(BASE), path(BASE.replace(**changes)))


def test_clipped_errors_of_the_square_loss_are_the_huber_loss():
    huber = BASE.replace(**{"training.loss": {"kind": "huber", "threshold": 0.3}})
    same(path(huber), path(BASE.replace(**{"training.clip": {"error": 0.3}})))


def test_a_margin_that_is_never_reached_is_hebbs_rule():
    far = {"training.loss": {"kind": "hinge", "margin": 1e6}}
    same(path(SIGNS.replace(**HEBB)), path(SIGNS.replace(**far)))


@pytest.mark.parametrize(
    ("loss", "rate"), [(PERCEPTRON, 3.0), (HEBB, 3.0), (ADATRON, 1.0)], ids=["0", "hebb", "adatron"]
)
def test_rules_forget_a_scale(loss, rate):
    one, s = SIGNS.replace(**loss), 3.0
    scaled = {"training.learning_rate": 1.5 * rate, "start.M": [[0.1 * s], [-0.3 * s]]}
    Q = (s**2 * np.array(one.start.Q)).tolist()
    same(path(one), path(one.replace(**scaled, **{"start.Q": Q})), Q=s**2, M=s)


@pytest.mark.parametrize("loss", ["logistic", "hinge", "square"])
def test_classes_may_be_swapped_with_the_second_layer(loss):
    one = SIGNS.replace(**{"training.loss": loss, "data.flip": 0.0})
    swapped = {"network.second_layer_start": [-1.5, 0.7], "data.second_layer": -1.0}
    same(path(one), path(one.replace(**swapped)), a=-1.0)
