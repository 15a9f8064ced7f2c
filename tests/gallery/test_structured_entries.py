"""Claims of the figures of structured inputs: true on right data, false when one ingredient is wrong."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from dimfree.gallery.digits import CASES, Digits
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
    return xr.Dataset({name: (("law", "point"), x) for name, x in values.items()}, attrs={"dimension": 10**6})


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


def measured_digits(common=1.0, below=1.0, above=100.0):
    """Rows whose risk is this many times that of theory at the end."""
    time = np.array([0.0, 1.0, 6.0])
    tree = {}
    for case, end in zip(CASES, (common, below, above), strict=True):
        theory = 0.3 * np.exp(-time / 5)[:, None]
        rows = theory * np.array([1.0, 1.0, end])[:, None] * np.array([[0.9, 1.1]])
        for name, risk in (("rows", rows), ("linear-mean", theory)):
            tree[f"{case}/{name}"] = xr.Dataset({"risk": (("time", "replica"), risk)}, {"time": time})
    return xr.DataTree.from_dict(tree)


def test_digits_agree_below_the_limit_of_the_rows_and_diverge_above():
    entry = Digits()
    assert all(verdicts(entry, measured_digits()))
    assert verdicts(entry, measured_digits(common=1.2, above=2.0))[:3] == [False, True, False]
    assert verdicts(Digits(isotropic=True), measured_digits())[:2] == [False, False]
    figure = Figure(layout="constrained")
    entry.draw(measured_digits(), figure)
    assert len(figure.axes) == 1


@pytest.mark.slow
def test_digits_are_measured():
    entry = Digits()
    data = entry.measure(False, lambda text, fraction: None)
    assert all(verdicts(entry, data))
    assert verdicts(Digits(isotropic=True), data)[:2] == [False, False]
