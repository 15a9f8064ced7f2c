"""The best schedule behind a projection: its slope by differences, its certificate, and that no known form ends lower."""

import numpy as np
import pytest

from dimfree.onepass.projected.best_schedule import best_schedule, final_risk
from dimfree.onepass.projected.companion import critical_rate
from dimfree.onepass.projected.measures import equivalent
from dimfree.onepass.projected.population import power_law
from dimfree.onepass.projected.schedules import rates
from dimfree.onepass.projected.step_by_step import stepwise_risks

POPULATION, SIZE = power_law(0.7, 1.2, 6400), 64
MEASURES, LIMIT = equivalent(POPULATION, SIZE), critical_rate(POPULATION, SIZE)


def test_the_slope_is_that_of_differences_and_the_risk_that_of_steps():
    gammas, step = 0.3 * LIMIT * rates("cosine", 40), 1e-6
    risk, slopes = final_risk(MEASURES, gammas, 2, 0.05)
    np.testing.assert_allclose(
        risk, stepwise_risks(MEASURES, gammas, np.full(40, 2), 0.05, np.array([40]))[0], rtol=1e-12
    )
    for one in np.eye(40)[[0, 20, 39]]:
        up, down = (final_risk(MEASURES, gammas + sign * step * one, 2, 0.05)[0] for sign in (1, -1))
        np.testing.assert_allclose(slopes @ one, (up - down) / (2 * step), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_the_best_schedule_is_certified_and_below_every_known_form(noise):
    steps = 200
    found = best_schedule(MEASURES, LIMIT, 1, noise, steps)
    assert found.certified
    assert not found._replace(slope=0.1).certified
    for name in ("constant", "cosine", "linear", "wsd"):
        ends = [
            stepwise_risks(MEASURES, share * LIMIT * rates(name, steps), np.ones(steps), noise, np.array([steps]))[0]
            for share in np.geomspace(0.02, 0.95, 16)
        ]
        assert found.risk < 0.99 * min(ends)
    assert found.rates[-1] < 0.3 * found.rates.max()  # it falls at the end
    assert found.rates[0] < 0.5 * found.rates.max()  # and rises at the start
