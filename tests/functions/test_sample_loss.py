"""Losses of one sample: errors are derivatives, jumps are where they are said to be, and special cases meet."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dimfree.functions.clipped_loss import ClippedLoss
from dimfree.functions.label_law import GaussianValues, LogisticClasses, Signs, StudentValues
from dimfree.functions.sample_loss import (
    AbsoluteLoss,
    CorrelationLoss,
    ExponentialLoss,
    FunctionLoss,
    HingeLoss,
    HuberLoss,
    LogisticLoss,
    SquaredHingeLoss,
    SquareLoss,
)

OWN = FunctionLoss("own", lambda f, y: jnp.log(jnp.cosh(y - f)), "residual", ())
LOSSES = [
    SquareLoss(),
    AbsoluteLoss(),
    HuberLoss(jnp.asarray(0.6)),
    LogisticLoss(),
    ExponentialLoss(),
    HingeLoss(jnp.asarray(0.3)),
    SquaredHingeLoss(jnp.asarray(0.3)),
    CorrelationLoss(),
    OWN,
]
F = jnp.asarray(np.random.default_rng(1).uniform(-3, 3, 40))
Y = jnp.asarray(np.where(np.random.default_rng(2).random(40) < 0.5, 1.0, -1.0))


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_the_error_is_minus_the_derivative_of_the_loss(loss):
    step = 1e-6
    slope = (np.asarray(loss(F + step, Y)) - np.asarray(loss(F - step, Y))) / (2 * step)
    np.testing.assert_allclose(loss.error(F, Y), -slope, atol=2e-8)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("clipped", [False, True])
def test_errors_of_both_classes_are_those_of_each(loss, clipped):
    loss = ClippedLoss(loss, jnp.asarray(0.4)) if clipped else loss
    far = jnp.concatenate([F, jnp.array([-800.0, -40.0, 40.0, 800.0])]) if loss.bounded else F
    for y, found in zip((1.0, -1.0), loss.errors_of_classes(far), strict=True):
        np.testing.assert_allclose(found, loss.error(far, jnp.full_like(far, y)), rtol=0, atol=3e-16)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("threshold", [None, 0.4], ids=["unclipped", "clipped"])
def test_errors_jump_or_bend_where_they_are_said_to(loss, threshold):
    if threshold is not None:
        loss = ClippedLoss(loss, jnp.asarray(threshold))
    if not loss.knows_jumps:
        pytest.skip("it does not claim to know")
    for y in (1.0, -1.0):

        def error(f, y=y):
            return np.asarray(loss.error(jnp.asarray(f), jnp.full(np.shape(f), y)))

        grid = np.linspace(-4, 4, 1601) + 1.23e-4
        turns = np.abs(np.diff(error(grid), 2))
        at = grid[1:-1][turns > 1e-3 + 20 * np.median(turns)]
        said = np.array([float(place) for place in loss.jumps])
        places = y * at if loss.along == "margin" else y - at
        assert all(np.min(np.abs(said - place), initial=np.inf) < 0.01 for place in places)
        for place in said[np.abs(said) < 3] if threshold is None else ():  # clipping may take some away
            here, h = y * place if loss.along == "margin" else y - place, 1e-4
            e = error(here + h * np.array([-2, -1, 1, 2]))
            assert abs(e[2] - e[1]) > 0.1 or abs((e[3] - e[2]) - (e[1] - e[0])) > 0.1 * h


def test_losses_do_not_overflow():
    far, one = jnp.array([-1e4, 1e4]), jnp.ones(2)
    np.testing.assert_allclose(LogisticLoss()(far, one), [1e4, 0.0])
    np.testing.assert_allclose(LogisticLoss().error(far, one), [1.0, 0.0])
    assert np.isfinite(jax.grad(lambda f: LogisticLoss()(f, one[0]))(far[0]))


def test_clipping_the_square_loss_is_the_huber_loss():
    clipped = ClippedLoss(SquareLoss(), jnp.asarray(0.6))
    np.testing.assert_array_equal(clipped.error(F, Y), HuberLoss(jnp.asarray(0.6)).error(F, Y))
    np.testing.assert_array_equal(clipped(F, Y), SquareLoss()(F, Y))  # what is reported stays
    np.testing.assert_array_equal(HuberLoss(jnp.asarray(1e9)).error(F, Y), SquareLoss().error(F, Y))


def test_a_hinge_beyond_all_outputs_is_the_correlation_loss():
    np.testing.assert_array_equal(HingeLoss(jnp.asarray(100.0)).error(F, Y), CorrelationLoss().error(F, Y))


def test_small_outputs_see_the_logistic_loss_as_a_square_loss_of_doubled_labels():
    f = 1e-3 * F
    np.testing.assert_allclose(LogisticLoss().error(f, Y), (2 * Y - f) / 4, atol=1e-9)


KEY = jax.random.key(3)
COUNT = 200_000


@pytest.mark.parametrize(
    ("law", "Delta", "chance"),
    [
        (Signs(jnp.asarray(0.1), blurred=False), 0.0, [0.1, 0.5, 0.9]),
        (Signs(jnp.asarray(0.2), blurred=True), 0.25, [0.2 + 0.6 * 0.0807567, 0.5, 0.2 + 0.6 * 0.9192433]),
        (LogisticClasses(jnp.asarray(2.0)), 0.0, [1 / (1 + np.exp(1.4)), 0.5, 1 / (1 + np.exp(-1.4))]),
    ],
    ids=["flips", "probit", "logistic"],
)
def test_classes_have_the_probabilities_of_their_law(law, Delta, chance):
    f_star = jnp.array([-0.7, 0.0, 0.7])
    np.testing.assert_allclose(law.P_plus(f_star, jnp.asarray(Delta)), chance, atol=1e-6)
    hidden = law.hidden(KEY, COUNT).reshape(-1, 1)
    seen = np.asarray(law.label(f_star, hidden, jnp.asarray(Delta)))
    assert set(np.unique(seen)) == {-1.0, 1.0}
    z = ((seen > 0).mean(axis=0) - chance) / np.sqrt(np.multiply(chance, 1 - np.array(chance)) / COUNT)
    assert np.abs(z).max() < 4.5


def test_student_noise_has_the_distribution_of_student():
    from scipy.stats import kstest, t

    for degrees in (1.5, 3.0):
        seen = StudentValues(jnp.asarray(degrees)).hidden(KEY, 20_000)
        assert kstest(np.asarray(seen), t(degrees).cdf).pvalue > 1e-4


def test_gaussian_values_are_what_they_were_before_there_were_other_laws():
    from dimfree.random_numbers import normals

    law = GaussianValues()
    np.testing.assert_array_equal(law.hidden(KEY, 10), normals(KEY, 10))
    np.testing.assert_array_equal(law.label(jnp.asarray(2.0), jnp.array([1.0, -1.0]), jnp.asarray(0.25)), [2.5, 1.5])
