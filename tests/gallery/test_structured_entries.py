"""Claims of the figures of structured inputs: true on right data, false when one ingredient is wrong."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from dimfree.gallery.power_law import LAWS, PowerLaw, predicted

NOISE = [predicted(*law)[1] == "sampling noise" for law in LAWS]


def verdicts(entry, data):
    return [claim.holds for claim in entry.claims(data)]


def made_up(exponents, ratios):
    """Risks that fall like these powers of the steps."""
    steps = np.tile(np.geomspace(1e2, 1e8, 41), (len(LAWS), 1))
    exact = steps ** -np.array(exponents)[:, None]
    ode = exact * np.array(ratios)[:, None]
    values = {"steps": steps, "exact": exact, "ode": ode}
    return xr.Dataset({name: (("law", "point"), x) for name, x in values.items()})


def test_exponents_of_the_theory_and_others():
    entry, right = PowerLaw(), [predicted(*law)[0] for law in LAWS]
    ratios = [0.782 if law == (1.5, 4.0) else 0.598 if law == (2.0, 5.0) else 1.0 for law in LAWS]
    data = made_up(right, ratios)
    assert all(verdicts(entry, data))
    assert (
        verdicts(entry, made_up([(b - 1) / a for a, b in LAWS], [1.0] * len(LAWS)))
        == [not x for x in NOISE] + [False] * 2
    )
    figure = Figure(layout="constrained")
    entry.draw(data, figure)
    assert len(figure.axes[0].lines) == 3 * len(LAWS)


@pytest.mark.slow
@pytest.mark.parametrize("sampling_noise", [True, False])
def test_exponents_are_measured_and_without_sampling_noise_one_branch_is_missing(sampling_noise):
    entry = PowerLaw(sampling_noise=sampling_noise)
    found = verdicts(entry, entry.measure(False, lambda text, fraction: None))
    assert found == ([True] * (len(LAWS) + 2) if sampling_noise else [not x for x in NOISE] + [False] * 2)
