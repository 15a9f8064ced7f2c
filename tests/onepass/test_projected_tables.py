"""Tables of docs/theory/scaling.md, number by number: final risks of schedules, limits and critical batches, local exponents."""

import numpy as np
import pytest

import dimfree as df
from dimfree.gallery.frontiers import exponents_at, frontier, inputs_of
from dimfree.onepass.projected.companion import capacity, critical_rate
from dimfree.onepass.projected.measures import equivalent
from dimfree.onepass.projected.population import power_law
from dimfree.onepass.projected.schedules import rates
from dimfree.onepass.projected.step_by_step import stepwise_risks
from dimfree.questions.scaling.theory import Law
from dimfree.questions.scaling.what_if import critical_batch

STEPS = 4000
# alpha, beta, size, label noise: the capacity, and (final risk, base rate over the critical one) of every schedule
SCHEDULES = {
    (0.75, 0.3, 512, 0.0): (3.51e-3, {"constant": (6.53e-3, 0.35), "cosine": (5.24e-3, 0.8), "wsd": (4.98e-3, 0.65)}),
    (0.75, 0.3, 512, 0.1): (3.51e-3, {"constant": (1.18e-2, 0.1), "linear": (7.85e-3, 0.5), "wsd": (8.47e-3, 0.2)}),
    (1.0, 0.7, 256, 0.0): (5.17e-5, {"constant": (2.06e-4, 0.5), "linear": (1.62e-4, 0.9), "wsd": (1.29e-4, 0.9)}),
    (1.0, 0.7, 256, 0.1): (5.17e-5, {"constant": (1.71e-3, 0.035), "cosine": (7.88e-4, 0.2), "wsd": (1.02e-3, 0.06)}),
    (0.7, 1.2, 1024, 0.0): (1.75e-4, {"constant": (3.02e-4, 0.2), "cosine": (2.78e-4, 0.5), "wsd": (2.58e-4, 0.5)}),
    (0.7, 1.2, 1024, 0.1): (1.75e-4, {"constant": (1.05e-3, 0.012), "cosine": (8.45e-4, 0.035), "wsd": (8.9e-4, 0.02)}),
    (0.4, 0.8, 1024, 0.0): (1.02e-2, {"constant": (1.40e-2, 0.1), "wsd": (1.37e-2, 0.2)}),
}
# the critical rate at batch 1, 8, 64, 1024, and the critical batch at targets of 0.03, 0.003, 0.0003 of the first risk
BATCHES = {
    (0.7, 1.2): ((0.480, 1.55, 1.91, 1.95), (12, 17, 27)),
    (1.0, 0.7): ((0.611, 1.58, 1.92, 1.95), (8.7, 8.5, 8.4)),
    (0.4, 0.8): ((0.065, 0.51, 1.89, 1.94), (90,)),
}
# local p and q at 1e6 and 1e10
LOCAL = {
    (0.75, 0.3): ((0.411, 0.429), (0.400, 0.4385)),
    (0.4, 0.3): ((0.506, 0.181), (0.499, 0.1961)),
    (0.2, 0.8): ((0.538, 0.160), (0.575, 0.196)),
    (1.0, 0.7): ((0.410, 0.7025), (0.407, 0.7058)),
    (0.7, 1.2): ((0.531, 0.662), (0.499, 0.6420)),
    (0.4, 0.8): ((0.603, 0.417), (0.586, 0.426)),
    (0.27, 0.8): ((0.582, 0.255), (0.592, 0.297)),
}


@pytest.mark.slow
@pytest.mark.parametrize("given", SCHEDULES)
def test_schedules_end_where_the_sheet_says(given):
    (alpha, beta, size, noise), (_, ends) = given, SCHEDULES[given]
    population = power_law(alpha, beta, inputs_of(alpha, size))
    found, limit = equivalent(population, size), critical_rate(population, size)
    for name, (risk, share) in ends.items():
        gammas = share * limit * rates(name, STEPS)
        end = stepwise_risks(found, gammas, np.ones(STEPS), noise, np.array([STEPS]))[0]
        np.testing.assert_allclose(end, risk, rtol=5e-3, err_msg=name)


@pytest.mark.parametrize("point", BATCHES)
def test_the_limit_of_stability_saturates_as_the_batch_grows(point):
    population = power_law(*point, inputs_of(point[0], 4096))
    found = [critical_rate(population, 4096, batch) for batch in (1, 8, 64, 1024)]
    np.testing.assert_allclose(found, BATCHES[point][0], rtol=0.012)


@pytest.mark.slow
@pytest.mark.parametrize("point", BATCHES)
def test_critical_batches_are_those_of_the_sheet(point):
    """Four rates are tried for every batch there and here, which leaves some per cent of the samples open."""
    alpha, beta = point
    law = Law(df.PowerLaw(alpha=alpha, beta=beta, inputs=int(inputs_of(alpha, 4096))), 0.5, 1)
    first = law.population(4096).energy / 2
    found = [critical_batch(law, 4096, target * first) for target in (0.03, 0.003, 0.0003)]
    expected = BATCHES[point][1]
    np.testing.assert_allclose(found[: len(expected)], expected, rtol=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("point", LOCAL)
def test_local_exponents_are_those_that_the_sheet_measured(point):
    """Of sizes spaced like those there: in phase Ic sizes between them move p by 0.03, because the minimum is flat."""
    found = frontier(*point, np.geomspace(1e4, 10**10.5, 14), kernel=True)
    seen = [exponents_at(found, C) for C in (1e6, 1e10)]
    np.testing.assert_allclose(seen, LOCAL[point], atol=0.01)


def test_capacity_is_the_part_that_the_table_of_schedules_gives():
    for (alpha, beta, size, _), (reach, _) in SCHEDULES.items():
        found = capacity(power_law(alpha, beta, inputs_of(alpha, size)), size)[1] / 2
        np.testing.assert_allclose(found, reach, rtol=5e-3)
