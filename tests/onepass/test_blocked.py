"""The path depends on the key alone: not on the times at which it is watched, nor on how the work is cut."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from naive_sgd import start_of

from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.model import model
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.sections import OnePass, TwoLayer
from dimfree.problem import Problem

COUNTS = (0, 1, 7, 16, 17, 50, 128, 129, 300)  # in, at and across the ends of blocks
PROBLEM = Problem(
    dimension=12,
    data=Teacher(units=1, noise=0.1),
    network=TwoLayer(width=2, second_layer="trained"),
    training=OnePass(learning_rate=3.0),
)


class Runner:
    """A description of the problem with its compiled `advance`."""

    def __init__(self, description):
        self.description, self.model, self.start = description, model(PROBLEM), start_of(PROBLEM)
        self.advance = jax.jit(lambda state, times: description.advance(self.model, state, times))

    def begin(self, seed: int = 5):
        return self.description.begin(self.model, self.start, 4, jax.random.key(seed))

    def at(self, state, counts):
        return self.advance(state, jnp.asarray(counts) * PROBLEM.time_step)


@pytest.fixture(scope="module", params=[VectorSGD(), OverlapChain()], ids=lambda description: description.name)
def runner(request) -> Runner:
    return Runner(request.param)


@pytest.fixture(scope="module")
def whole(runner) -> dict[str, jax.Array]:
    return runner.at(runner.begin(), COUNTS)[1]


def assert_equal(one: dict[str, jax.Array], other: dict[str, jax.Array]) -> None:
    for letter in ("Q", "M", "a", "risk"):
        np.testing.assert_array_equal(one[letter], other[letter], err_msg=letter)


def part(seen: dict[str, jax.Array], which) -> dict[str, jax.Array]:
    return {letter: x[which] for letter, x in seen.items()}


@pytest.mark.parametrize("i", range(len(COUNTS)))
def test_one_time_alone_sees_the_same_path(runner, whole, i):
    alone = runner.at(runner.begin(), [COUNTS[i]])[1]
    assert_equal(part(alone, slice(0, 1)), part(whole, slice(i, i + 1)))


def test_chunks_walk_the_same_path(runner, whole):
    state = runner.begin()
    for i, count in enumerate(COUNTS):
        state, chunk = runner.at(state, [count])
        assert_equal(chunk, part(whole, slice(i, i + 1)))
    _, again = runner.at(state, [COUNTS[-1]])
    assert_equal(again, chunk)


def test_a_second_chunk_is_not_compiled_again(runner):
    state = runner.begin()
    after = jax.eval_shape(lambda s: runner.at(s, [1])[0], state)
    assert [leaf.weak_type for leaf in jax.tree.leaves(after)] == [
        getattr(leaf, "weak_type", False) for leaf in jax.tree.leaves(state)
    ]


def test_steps_differ_and_keys_differ(runner, whole):
    Q = np.asarray(whole["Q"])
    assert all((np.abs(Q[i + 1] - Q[i]).max(axis=(1, 2)) > 0).all() for i in range(len(COUNTS) - 1))
    other = runner.at(runner.begin(seed=6), COUNTS)[1]
    assert (np.abs(np.asarray(other["Q"][-1]) - Q[-1]).max(axis=(1, 2)) > 0).all()
    assert (np.abs(Q[-1, 1:] - Q[-1, :-1]).max(axis=(1, 2)) > 0).all()  # replicas are independent


@pytest.mark.parametrize("rounding", [1e-9, -1e-9])
def test_times_within_rounding_of_a_step_are_that_step(runner, whole, rounding):
    times = jnp.asarray(COUNTS) * PROBLEM.time_step * (1 + rounding)
    assert_equal(runner.advance(runner.begin(), times)[1], whole)
