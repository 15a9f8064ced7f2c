"""From problem to model: whatever the scalings, the canonical model is the network that the user wrote."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.polynomial import hermite_e

from dimfree.onepass.directions import TeacherModel
from dimfree.onepass.kinds.gaussians.model import TwoGaussiansModel
from dimfree.onepass.kinds.gaussians.section import TwoGaussians
from dimfree.onepass.kinds.teacher.section import MultiIndex, Teacher
from dimfree.onepass.model import model, teacher_model
from dimfree.onepass.real.block import Samples, run_block
from dimfree.onepass.rule import block_steps, second_layer
from dimfree.onepass.sections import OnePass, TwoLayer
from dimfree.onepass.weights import Scalars
from dimfree.problem import PowerDecay, Problem

FACTOR = {"mean": lambda n: 1 / n, "sqrt": lambda n: n**-0.5, "sum": lambda n: 1.0}
scalings = pytest.mark.parametrize("scaling", FACTOR)
A_USER = (0.5, -1.25, 2.0)


def problem_with(scaling: str) -> Problem:
    return Problem(
        dimension=40,
        data=Teacher(units=2, second_layer=(1.5, -0.5), activation="tanh", scaling=scaling),
        network=TwoLayer(width=3, second_layer="trained", second_layer_start=A_USER, scaling=scaling),
        training=OnePass(learning_rate=0.8, second_layer_rate=1.7),
    )


@scalings
def test_student_is_the_network_of_the_user(scaling):
    problem, fields = problem_with(scaling), np.array([0.3, -1.1, 0.7])
    sigma = model(problem).activation(jnp.asarray(fields))
    canonical = jnp.mean(second_layer(problem) * sigma)
    assert float(canonical) == pytest.approx(FACTOR[scaling](3) * np.dot(A_USER, sigma), rel=1e-14)


@scalings
def test_teacher_is_the_network_of_the_user(scaling):
    fields = np.array([[0.3, -1.1], [2.0, 0.1]])
    label = model(problem_with(scaling)).target(jnp.asarray(fields))
    np.testing.assert_allclose(label, FACTOR[scaling](2) * np.tanh(fields) @ [1.5, -0.5], rtol=1e-13)


@scalings
def test_one_step_is_the_gradient_step_of_the_user(scaling):
    """f = s sum_i a_i sigma(w_i.x), loss (y-f)²/2, rate gamma on w and second_layer_rate gamma/d on a."""
    problem = problem_with(scaling)
    s, gamma, d = FACTOR[scaling](3), 0.8, 40
    fields, label, a = np.array([0.3, -1.1, 0.7]), 0.9, np.array(A_USER)
    m = model(problem)
    sigma, slope = m.activation(jnp.asarray(fields)), m.activation.derivative(jnp.asarray(fields))
    error = label - s * np.dot(a, sigma)
    w_push = gamma * error * s * a * slope  # times x
    a_new = a + 1.7 * gamma / d * error * s * sigma

    samples = Samples(jnp.asarray(fields)[None, :, None], jnp.full((1, 1), label), jnp.ones((1, 1, 1)))
    state = Scalars(second_layer(problem)[:, None], jnp.zeros((3, 1)), jnp.ones((3, 1)))
    progress = run_block(m, samples, state, jnp.asarray(0), jnp.asarray(1))
    np.testing.assert_allclose(progress.coefficients[0, :, 0], w_push, rtol=1e-12)
    np.testing.assert_allclose(progress.scalars.a[:, 0] / (3 * s), a_new, rtol=1e-12)


def test_second_layer_starts():
    start = lambda written: second_layer(Problem(network=TwoLayer(width=3, second_layer_start=written))).tolist()  # noqa: E731
    assert start(2.0) == [2.0, 2.0, 2.0]
    assert start("signs") == [1.0, -1.0, 1.0]
    assert start((1.0, 2.0, 3.0)) == [1.0, 2.0, 3.0]


def test_multi_index_label():
    data = MultiIndex(terms=((1, 0), (2, 3)), coefficients=(0.5, -2.0))
    z = np.array([[0.4, -1.2], [1.3, 0.2]])
    he2, he3 = (hermite_e.hermeval(z[:, r], [0] * (r + 2) + [1]) for r in (0, 1))
    label = model(Problem(data=data)).target(jnp.asarray(z))
    np.testing.assert_allclose(label, 0.5 * z[:, 0] - 2 * he2 * he3, rtol=1e-13)


def test_numbers_do_not_change_the_structure():
    numbers = {"dimension": 700, "data.noise": 0.5, "training.learning_rate": 3, "training.weight_decay": 0.1}
    one, other = model(Problem()), model(Problem().replace(**numbers))
    assert jax.tree.structure(one) == jax.tree.structure(other)
    assert all(leaf.dtype == jnp.float64 for leaf in jax.tree.leaves(other))
    assert float(other.time_step) == pytest.approx(3 / (4 * 700))
    decaying = Problem(training=OnePass(schedule=PowerDecay()))
    assert jax.tree.structure(model(decaying)) != jax.tree.structure(one)


def test_dimension_is_a_shape_only_when_smaller_than_a_block():
    of = lambda d, batch=1: model(Problem(dimension=d, training=OnePass(batch=batch))).few_dimensions  # noqa: E731
    assert of(4 + 2 + 16) is None
    assert of(4 + 2 + 15) == 21
    assert of(4 + 2 + 32, batch=32) is None
    assert of(4 + 2 + 31, batch=32) == 37


@pytest.mark.parametrize(("batch", "steps"), [(1, 16), (4, 4), (5, 3), (16, 1), (100, 1)])
def test_blocks_are_of_about_sixteen_samples(batch, steps):
    assert block_steps(batch) == steps


def test_the_kind_of_data_decides_of_the_model():
    teacher, gaussians = model(Problem()), model(Problem(data=TwoGaussians(contrast=0.4, signal=7)))
    assert isinstance(teacher, TeacherModel)
    assert isinstance(gaussians, TwoGaussiansModel)
    assert (gaussians.size, gaussians.signal, float(gaussians.Delta)) == (40, 7, 0.4)
    with pytest.raises(AssertionError, match="two-gaussians has no teacher"):
        teacher_model(Problem(data=TwoGaussians()))


@pytest.mark.parametrize(("same", "expected"), [("same", 0.3), (0.1, 0.1)])
def test_the_second_layer_may_decay_like_the_first(same, expected):
    m = model(Problem(training=OnePass(weight_decay=0.3, second_layer_decay=same)))
    assert (float(m.omega), float(m.omega_a)) == (0.3, expected)


def test_what_learns_and_what_shakes_is_structure():
    network = TwoLayer(trained=("bias", "second-layer"))
    m = model(Problem(network=network, training=OnePass(inverse_temperature=4.0)))
    assert (m.train_w, m.train_b, m.train_a, m.offsets, m.noisy) == (False, True, True, True, True)
    assert float(m.temperature) == 0.25
    assert float(m.beta_eff) == 4.0
    plain = model(Problem())
    assert (plain.train_w, plain.train_b, plain.train_a, plain.offsets, plain.noisy) == (True, *[False] * 4)
    assert model(Problem(network=TwoLayer(bias_start=0.1))).offsets


@pytest.mark.parametrize(("scheduled", "pace"), [("gradient", 1.0), ("everything", 0.5)])
def test_decay_and_noise_follow_the_schedule_if_asked_for(scheduled, pace):
    training = OnePass(scheduled=scheduled, schedule=PowerDecay(scale=2.0, exponent=1.0))
    m = model(Problem(training=training))
    half = jnp.asarray(round(2.0 / float(m.time_step)))
    assert [float(x) for x in m.rates(half, jnp.asarray(True))] == pytest.approx([0.5, pace])
    assert [float(x) for x in m.rates(half, jnp.asarray(False))] == [0.0, 0.0]
