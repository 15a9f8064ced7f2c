"""Escape against the dimension: the plan before it starts, the fit of slopes, the table of sample complexities."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dimfree as df
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.onepass.model import teacher_model
from dimfree.questions.escape.answer import sample_complexity
from dimfree.questions.escape.scaling import Point, Scaling, escape_plan, escape_scaling, weighted_slope
from dimfree.questions.escape.single import admissible_rate, beginning
from dimfree.questions.escape.sphere import escape_time


def single(link, rate: float, dimension: int = 100, noise: float = 0.0, **changes) -> df.Problem:
    problem = df.Problem(
        dimension=dimension,
        data=df.Teacher(units=1, activation=link, noise=noise),
        network=df.TwoLayer(width=1, activation=link),
        training=df.OnePass(learning_rate=rate, spherical=True),
    )
    return problem.replace(**changes) if changes else problem


def test_slopes_and_their_errors():
    x, rng = np.array([0.0, 1.0, 2.0, 4.0]), np.random.default_rng(0)
    error = np.array([0.1, 0.2, 0.1, 0.3])
    slopes = [weighted_slope(x, 3 - 2 * x + error * rng.normal(size=4), error) for _ in range(400)]
    values, errors = np.array(slopes).T
    assert values.mean() == pytest.approx(-2, abs=4.5 * errors[0] / 20)
    assert values.std() == pytest.approx(errors[0], rel=0.2)


@pytest.mark.parametrize(("exponent", "times"), [(1, lambda d: 0 * d + 2), (3, lambda d: d**0.5)])
def test_fits_of_exact_powers(exponent, times):
    d = np.array([100.0, 400.0, 1600.0])
    plan = tuple(Point(int(one), one ** (-(exponent - 1) // 2 / 2), 1.0, 1.0, 1.0) for one in d)
    rates = np.array([point.learning_rate for point in plan])
    noise = np.array([[0.9, 1.1, 1.0]])
    scaling = Scaling(df.Problem(), exponent, plan, times(d)[:, None] * noise)
    assert scaling.time_fit().value == pytest.approx(scaling.time_fit().expected)
    expected = np.polyfit(np.log(d), np.log(times(d) * d / rates), 1)[0]
    assert scaling.sample_fit().value == pytest.approx(expected)


@pytest.fixture(scope="module")
def cubic_plan():
    return escape_plan(single("he3", 1e-6), (100, 10_000), replicas=10)


@pytest.mark.slow
def test_the_plan_of_exponent_three_follows_the_table(cubic_plan):
    """Without variance the time is the integral of section 7 from 1/sqrt(d) to where half of the risk is lost."""
    exponent, points = cubic_plan
    assert exponent == 3
    for point in points:
        assert point.predicted == pytest.approx(escape_time(point.dimension**-0.5, 0.5 ** (1 / 3), 3), rel=2e-3)
    assert points[1].learning_rate == pytest.approx(points[0].learning_rate / 10)
    assert points[1].steps / points[0].steps == pytest.approx(1e4, rel=0.05)
    assert points[1].seconds > 1e3 * points[0].seconds


@pytest.mark.slow
def test_the_admissible_rate_of_phase_retrieval_is_that_of_its_exit_formula():
    assert admissible_rate(single("square", 0.05, 10**6, 0.3)) == pytest.approx(1 / (6 + 0.15), rel=1e-5)


@pytest.mark.slow
def test_a_rate_beyond_it_is_refused_with_the_largest_one():
    with pytest.raises(
        df.ProblemError, match=r"learning rate 12 is too large to escape at dimension 100: .* stay below 11\."
    ):
        escape_plan(single("he1", 12.0), (100,))


def test_only_one_direction_and_one_unit():
    with pytest.raises(df.ProblemError, match="the scaling is for one unit and one direction on the sphere"):
        escape_plan(df.Problem(), (100,))


def test_offsets_are_not_part_of_it():
    with pytest.raises(df.ProblemError, match="without offsets and noise on the weights"):
        escape_plan(single("he1", 0.5, **{"network.bias_start": 0.3}), (100,))
    assert sample_complexity(single("square", 0.05, 1000, **{"network.bias_start": 0.3})).admissible_rate is None


@pytest.mark.slow
def test_sample_complexity_of_one_direction():
    found = sample_complexity(single("square", 0.05, 1000))
    assert (found.exponent, found.leap, found.subspace_leap, found.order) == (2, 2, 2, "d log d")
    assert found.admissible_rate == pytest.approx(1 / 6)
    r = 8 * (1 - 6 * 0.05)  # logistic growth of m² from 1/d to 1/2
    assert found.samples == pytest.approx(np.log(0.5005 * 0.999 / (0.001 * 0.4995)) / r * 1000 / 0.05, rel=1e-4)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (df.MultiIndex(terms=((1, 0), (0, 1), (1, 1))), (1, 1, 2, "d log d")),
        (df.MultiIndex(link="parity-3"), (3, 3, 3, "d^2")),
        (df.MultiIndex(link="staircase-3"), (1, 1, 1, "d^1")),
        (df.Teacher(units=2, activation="he3"), (3, 3, 3, "d^2")),
    ],
)
def test_sample_complexity_of_several_directions(data, expected):
    """An activation with an offset, or with components of all these degrees, shows all of the target."""
    for network in ({"network.bias_start": 0.3}, {"network.activation": {"hermite": [0, 1, 1, 1]}}):
        found = sample_complexity(df.Problem(data=data).replace(**network))
        assert (found.exponent, found.leap, found.subspace_leap, found.order) == expected
        assert found.admissible_rate is found.samples is found.reason is None


@pytest.mark.parametrize(
    ("target", "activation", "exponent", "order"),
    [
        ("tanh", "he3", 3, "d^2"),  # the first degree of the target is lost on it
        ("tanh", "erf", 1, "d^1"),
        ({"hermite": [0, 1, 1]}, "square", 2, "d log d"),
    ],
)
def test_samples_are_counted_by_what_target_and_activation_share(target, activation, exponent, order):
    problem = df.Problem(data=df.Teacher(units=1, activation=target), network=df.TwoLayer(activation=activation))
    found = sample_complexity(problem)
    assert (found.exponent, found.leap, found.order) == (exponent, 1, order)


def test_an_odd_activation_sees_odd_terms_of_several_directions_only():
    """z1 + z1 z2 + z1 z2 z3 without the middle term: two new directions at once. z1 + z2 + z1 z2: only one of two."""
    found = sample_complexity(df.Problem(data=df.MultiIndex(link="staircase-3")))
    assert (found.subspace_leap, found.order) == (1, "d log d")
    found = sample_complexity(df.Problem(data=df.MultiIndex(terms=((1, 0), (0, 1), (1, 1)))))
    assert (found.subspace_leap, found.order) == (2, "unbounded")
    assert "No number of samples is enough: the activation shows 1 of 2 directions." in found.summary()
    with pytest.raises(df.ProblemError, match="target and activation share no Hermite component up to degree 2"):
        sample_complexity(df.Problem(data=df.MultiIndex(terms=((2, 0), (0, 2)))))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("link", "activation", "weight"), [("tanh", "he3", 1.0), ("he1", "he1", -1.0), ("square", "square", 1.0)]
)
def test_below_the_admissible_rate_the_overlap_grows_and_above_it_shrinks(link, activation, weight):
    """The third degree of tanh is negative: it is overlaps below zero that grow."""
    problem = single(link, 1e-3, 1000).replace(
        **{"network.activation": activation, "data.second_layer": weight, "data.scaling": "sum"}
    )
    largest = admissible_rate(problem)
    assert largest > 0
    for share, grows in ((0.9, True), (1.1, False)):
        here = problem.replace(**{"training.learning_rate": share * largest})
        first = jax.tree.map(lambda x: x[0], beginning(here, 1.0, 1))
        velocity = HighDimensional().velocity(teacher_model(here), jnp.zeros(()), first).M
        assert bool(velocity[0, 0] * first.M[0, 0] > 0) is grows


@pytest.mark.slow
def test_where_the_overlap_shrinks_at_any_rate_there_is_none():
    problem = single("square", 0.05, 1000, **{"data.second_layer": -1.0, "data.scaling": "sum"})
    found = sample_complexity(problem)
    assert found.admissible_rate is None
    assert found.order == "unbounded"
    assert "opposite signs at degree 2" in found.summary()
    assert "inf" not in found.summary().split()
    with pytest.raises(
        df.ProblemError, match="no learning rate lets the overlap grow: label and network have opposite"
    ):
        admissible_rate(problem)


def test_leaps_need_orthonormal_directions():
    with pytest.raises(df.ProblemError, match="orthonormal"):
        sample_complexity(df.Problem(data=df.Teacher(units=2, overlap=((1.0, 0.5), (0.5, 1.0)))))


@pytest.mark.slow
def test_exponent_one_is_measured_in_no_time():
    found = escape_scaling(single("he1", 0.5), (100, 1000), replicas=64)
    assert np.isfinite(found.times).all()
    predicted = np.array([point.predicted for point in found.plan])
    assert (np.abs(found.means - predicted) < 4.5 * found.errors + 0.03 * predicted).all()
    fit = found.time_fit()
    assert abs(fit.value - fit.expected) < 0.05
