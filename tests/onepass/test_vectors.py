"""SGD on vectors in blocks is textbook SGD on the same samples, whatever the data and whatever part of the network learns."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from naive_sgd import on_the_same_samples, start_of

from dimfree.onepass import directions
from dimfree.onepass.kinds.gaussians import model as gaussians
from dimfree.onepass.kinds.gaussians.section import TwoGaussians
from dimfree.onepass.kinds.teacher.section import MultiIndex, Teacher
from dimfree.onepass.model import model
from dimfree.onepass.real.blocked import COMPILING
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.sections import OnePass, TwoLayer
from dimfree.onepass.start import Start
from dimfree.problem import Problem
from stages import gating

STEPS = (0, 1, 15, 16, 37)
REPLICAS = 3
ALL = ("first-layer", "bias", "second-layer")
TEACHER = Problem(
    dimension=30,
    data=Teacher(units=2, noise=0.1, second_layer=(1.5, -0.5)),
    network=TwoLayer(width=3, second_layer_start=(1.0, -2.0, 0.5)),
    training=OnePass(learning_rate=3.0),
)
GAUSSIANS = Problem(
    dimension=12,
    data=TwoGaussians(contrast=0.6, signal=5),
    network=TwoLayer(width=7, activation="tanh", second_layer_start=1.5, bias_start=0.3),
    training=OnePass(learning_rate=6.0),
)
DECAY = 2.0
TRAINED = {"network.second_layer": "trained", "training.second_layer_rate": 4.0}
NOISE = {"training.inverse_temperature": 0.5, "training.weight_decay": 1.0}


def jump(problem):
    return {"training.schedule": {"kind": "steps", "times": [20 * problem.time_step], "factors": [0.25]}}


CASES = {
    "plain": (TEACHER, {}),
    "batch": (TEACHER, {"training.batch": 4}),
    "large batch": (TEACHER, {"training.batch": 20}),
    "decay": (TEACHER, {"training.weight_decay": DECAY}),
    "trained": (TEACHER, {**TRAINED, "training.second_layer_decay": 1.0}),
    "spherical": (TEACHER, {"training.spherical": True, "training.batch": 2, "training.weight_decay": DECAY}),
    "schedule": (TEACHER, {**TRAINED, **jump(TEACHER)}),
    "link": (TEACHER, {"data": MultiIndex(link="staircase-2", noise=0.1)}),
    "offsets": (
        TEACHER,
        {"network.trained": ALL, "network.bias_start": -0.4, "network.scaling": "sqrt", "training.weight_decay": DECAY},
    ),
    "fixed offsets": (TEACHER, {"network.bias_start": 0.5}),
    "frozen first layer": (TEACHER, {**TRAINED, "network.trained": ("second-layer",)}),
    "noise": (TEACHER, {**TRAINED, **NOISE, **jump(TEACHER), "network.scaling": "sum", "training.batch": 2}),
    "noise on the sphere": (TEACHER, {**NOISE, "training.spherical": True}),
    "Gaussians: first layer, isotropic": (GAUSSIANS, {"data.signal": None}),
    "Gaussians: all": (GAUSSIANS, {"network.trained": ALL, "training.weight_decay": DECAY}),
    "Gaussians: bias only": (GAUSSIANS, {"network.trained": ("bias",), "training.weight_decay": DECAY}),
    "Gaussians: second layer only": (GAUSSIANS, {"network.trained": ("second-layer",), "training.weight_decay": DECAY}),
    "Gaussians: batch and schedule": (
        GAUSSIANS,
        {
            "network.trained": ("second-layer", "first-layer"),
            "training.batch": 4,
            "training.weight_decay": DECAY,
            **jump(GAUSSIANS),
        },
    ),
    "Gaussians: noise": (GAUSSIANS, {"network.trained": ALL, **NOISE}),
    "Gaussians: sphere": (GAUSSIANS, {"training.spherical": True}),
}
GATING = ("plain", "batch", "spherical", "schedule", "offsets")


@pytest.mark.parametrize("name", gating(CASES, GATING))
def test_blocks_are_textbook_sgd(name, monkeypatch):
    for home, risk in (
        (directions, "risk"),
        (directions, "offset_risk"),
        (gaussians, "neuron_risk"),
    ):  # tested elsewhere; half of the compilation
        monkeypatch.setattr(home, risk, lambda *_: jnp.zeros(()))
    base, changes = CASES[name]
    problem = base.replace(**changes)
    start, key = start_of(problem), jax.random.key(7)
    sgd, m = VectorSGD(), model(problem)
    advance = jax.jit(lambda state, times: sgd.advance(m, state, times)[1])
    found = advance(sgd.begin(m, start, REPLICAS, key), jnp.asarray(STEPS) * problem.time_step)
    path = on_the_same_samples(problem, start, STEPS[-1], key, REPLICAS - 1, REPLICAS)
    letters = found.keys() - {"risk"}
    assert letters == path[0].keys() - (set() if m.offsets or base is GAUSSIANS else {"bias"})
    for i, step in enumerate(STEPS):
        for letter in letters:
            np.testing.assert_allclose(
                found[letter][i, -1], path[step][letter], rtol=1e-5, atol=1e-6, err_msg=f"{letter} after {step} steps"
            )
    moves = {"first-layer": "r1" if base is GAUSSIANS else "M", "bias": "bias", "second-layer": "a"}
    for part, letter in moves.items():
        moved = np.abs(found[letter][-1] - found[letter][0]).max() if letter in found else 0.0
        assert (moved > 1e-2) == (part in problem.network.trained), f"{letter} moved by {moved}"


def test_vectors_are_needed():
    start = start_of(TEACHER)
    with pytest.raises(AssertionError, match="among the needs of sgd"):
        VectorSGD().begin(model(TEACHER), Start(start.overlaps, None, start.bias), 1, jax.random.key(0))


@pytest.mark.parametrize("batch", [1, 20])
def test_the_price_counts_blocks_that_are_walked_again_at_saved_times(batch, monkeypatch):
    """A saved time within a block costs its beginning once more, which is most of a short run with many saved times."""
    walked = []

    def through_block(self, model, network, block, key, active):
        jax.debug.callback(lambda: walked.append(1))
        return network

    monkeypatch.setattr(VectorSGD, "through_block", through_block)
    problem = TEACHER.replace(**{"training.batch": batch, "run.points": 9, "run.until": 40 * TEACHER.time_step})
    sgd, found = VectorSGD(), model(problem)
    state = sgd.begin(found, start_of(problem), 1, jax.random.key(0))
    sgd.advance(found, state, jnp.asarray(problem.times))
    jax.effects_barrier()
    long = problem.replace(**{"run.until": 10**6 * TEACHER.time_step, "run.points": 2})

    def a_sample(one, samples):
        looks = len(one.times) * model(one).look_seconds(one.run.replicas)
        return (sgd.cost(one, model(one)).seconds - COMPILING - looks) / samples

    taken = len(walked) * sgd.steps_per_block(found)
    assert taken > problem.steps(problem.run.until)
    assert a_sample(problem, taken * batch) == pytest.approx(a_sample(long, 10**6 * batch), rel=1e-3)
