"""Claims of the figures of scaling laws: true as they are, false when an ingredient is wrong."""

import pytest
from matplotlib.figure import Figure

from dimfree.gallery.scaling_batch import ScalingBatch
from dimfree.gallery.scaling_chinchilla import ScalingChinchilla
from dimfree.gallery.scaling_digits import ScalingDigits
from dimfree.gallery.scaling_frontier_sgd import ScalingFrontierSGD
from dimfree.gallery.scaling_phases import ScalingPhases
from dimfree.gallery.scaling_schedules import ScalingSchedules
from dimfree.progress import nobody


def failing(entry):
    data = entry.measure(False, nobody)
    entry.draw(data, Figure(layout="constrained"))
    return [claim.statement for claim in entry.claims(data) if not claim.holds]


@pytest.mark.slow
def test_phases_need_the_noise_of_the_steps_and_exponents_that_are_measured():
    entry = ScalingPhases()
    data = entry.measure(False, nobody)
    assert all(claim.holds for claim in entry.claims(data))
    wrong = [claim.statement for claim in ScalingPhases(measured=False).claims(data) if not claim.holds]
    assert wrong == ["p in phase IVa at C = 1e6, asymptotically 0.5"]
    entry = ScalingPhases(kernel=False)
    missed = {claim.statement: claim.value for claim in entry.claims(entry.measure(False, nobody)) if not claim.holds}
    assert abs(missed["p in phase III at C = 1e10"] - 0.63) < 0.02  # docs/theory/scaling.md, section 8
    assert abs(missed["q in phase III at C = 1e10"] - 0.73) < 0.02


@pytest.mark.slow
def test_the_frontier_needs_many_projections():
    assert failing(ScalingFrontierSGD()) == []
    assert "SGD over the frontier at C = 30000, size 256" in failing(ScalingFrontierSGD(projections=1))


@pytest.mark.slow
def test_digits_need_their_spectrum():
    assert failing(ScalingDigits()) == []
    assert "largest |mean of drawn projections/equivalent - 1|" in failing(ScalingDigits(isotropic=True))


@pytest.mark.slow
def test_samples_per_parameter_need_the_noise_of_the_steps():
    assert failing(ScalingChinchilla()) == []
    entry = ScalingChinchilla(kernel=False)
    flat, growth = entry.claims(entry.measure(False, nobody))
    assert flat.value > 2
    assert growth.holds


@pytest.mark.slow
def test_critical_batches_need_the_noise_of_the_steps():
    assert failing(ScalingBatch()) == []
    assert any(statement.startswith("III") for statement in failing(ScalingBatch(kernel=False)))


@pytest.mark.slow
def test_schedules_need_a_base_rate_of_their_own():
    entry = ScalingSchedules()
    data = entry.measure(False, nobody)
    assert all(claim.holds for claim in entry.claims(data))
    assert not all(claim.holds for claim in ScalingSchedules(tuned=False).claims(data))
