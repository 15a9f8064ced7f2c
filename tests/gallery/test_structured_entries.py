"""Claims of the figures of structured inputs: true on right data, false when one ingredient is wrong."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from dimfree.gallery.digits import CASES, Digits
from dimfree.gallery.plateau_spectrum import FLAT, PlateauSpectrum, passage, plateau
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


def stepped(flat, until, end):
    """Risks at these times before, on and after a plateau, whose ends are sharp."""
    time = np.geomspace(0.1, 120.0, 2000)
    knots = [0.1, 1.0, until - flat, until, end, 120.0]
    levels = [0.19, 0.0126 if flat else 0.05, 0.0126, 0.0124, 1e-3, 1e-4]
    risk = np.exp(np.interp(np.log(time), np.log(knots), np.log(levels)))
    return xr.DataArray(np.stack([risk, risk], axis=1), {"time": time}, ("time", "replica"))


def test_a_plateau_is_where_the_risk_hardly_falls():
    one = stepped(flat=50.0, until=60.0, end=80.0)
    np.testing.assert_allclose(plateau(one), 60 - 1.0, rtol=0.02)  # it begins at once here
    np.testing.assert_allclose(passage(one, 1e-3), 80, rtol=0.01)
    assert (passage(one, 1e-2) > 60).all()
    assert np.isinf(passage(one, 1e-6)).all()
    time = one["time"]
    falling = xr.DataArray((0.1 * time ** -(FLAT + 0.01)).values[:, None], {"time": time}, ("time", "replica"))
    assert plateau(falling) == 0


def test_plateaus_that_last_as_on_isotropic_inputs_are_told():
    entry, isotropic = PlateauSpectrum(), stepped(flat=53.0, until=63.0, end=84.0).to_dataset(name="risk")
    data = xr.DataTree.from_dict({f"{L}/ode": isotropic for L in entry.levels})
    late = [claim.holds for claim in entry.claims(data) if "1e-3" in claim.statement]
    assert late == [True, True, False, False, False]
    figure = Figure(layout="constrained")
    entry.draw(data, figure)
    assert len(figure.axes) == 2


@pytest.mark.slow
def test_the_plateau_dissolves_unless_all_eigenvalues_are_alike():
    entry = PlateauSpectrum(levels=(1, 4, 16))
    assert all(verdicts(entry, entry.measure(False, lambda text, fraction: None)))
    alike = PlateauSpectrum(levels=(4, 16), alike=True)
    assert not any(verdicts(alike, alike.measure(False, lambda text, fraction: None)))
