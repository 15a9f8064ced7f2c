"""SGD on vectors in blocks is textbook SGD on the same samples."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from naive_sgd import naive_sgd, start_of

from dimfree.onepass.model import model
from dimfree.onepass.start import Start
from dimfree.onepass.sections import MultiIndex, Teacher, TwoLayer
from dimfree.problem import Problem
from dimfree.onepass.real.vectors import VectorSGD

STEPS = (0, 1, 15, 16, 37)
REPLICAS = 3
BASE = Problem(
    dimension=30,
    data=Teacher(units=2, noise=0.1, second_layer=(1.5, -0.5)),
    network=TwoLayer(width=3, second_layer_start=(1.0, -2.0, 0.5)),
).replace(**{"training.learning_rate": 3.0})
JUMP = 20 * BASE.time_step
DECAY = 2.0
TRAINED = {"network.second_layer": "trained", "training.second_layer_rate": 4.0}


CASES = {
    "plain": {},
    "batch": {"training.batch": 4},
    "large batch": {"training.batch": 20},
    "decay": {"training.weight_decay": DECAY},
    "trained": {**TRAINED, "training.second_layer_decay": 1.0},
    "spherical": {"training.spherical": True, "training.batch": 2, "training.weight_decay": DECAY},
    "schedule": {**TRAINED, "training.schedule": {"kind": "steps", "times": [JUMP], "factors": [0.25]}},
    "link": {"data": MultiIndex(link="staircase-2", noise=0.1)},
}


@pytest.mark.parametrize("name", CASES)
def test_blocks_are_textbook_sgd(name):
    problem = BASE.replace(**CASES[name])
    start, key = start_of(problem), jax.random.key(7)
    sgd, m = VectorSGD(), model(problem)
    advance = jax.jit(lambda state, times: sgd.advance(m, state, times)[1])
    found = advance(sgd.begin(m, start, REPLICAS, key), jnp.asarray(STEPS) * problem.time_step)

    def rate(t: float) -> float:
        return 0.25 if name == "schedule" and t > JUMP - 1e-9 else 1.0

    path = naive_sgd(problem, start, STEPS[-1], key, REPLICAS - 1, REPLICAS, rate)
    for i, step in enumerate(STEPS):
        for letter, expected in path[step].items():
            actual = getattr(found, letter)[i, REPLICAS - 1]
            np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6, err_msg=f"{letter} after {step} steps")
    moved = np.abs(np.asarray(found.Q[-1] - found.Q[0])).max()
    assert moved > 1e-2, "the test must move the weights"


def test_vectors_are_needed():
    start = start_of(BASE)
    with pytest.raises(ValueError, match="vectors=True"):
        VectorSGD().begin(model(BASE), Start(start.overlaps, None), 1, jax.random.key(0))
