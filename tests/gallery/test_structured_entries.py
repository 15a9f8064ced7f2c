"""Claims of the figures of structured inputs: true on right data, false when one ingredient is wrong."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from dimfree.gallery.digits import CASES, Digits
from dimfree.gallery.plateau_spectrum import FLAT, PlateauSpectrum, passage, plateau
from dimfree.gallery.power_law import LAWS, REAL, PowerLaw, predicted


def verdicts(entry, data):
    return [claim.holds for claim in entry.claims(data)]


def made_up(window, sgd, ratio=0.7, late=1.0, steeper=0.0):
    """Risks that fall like these powers of the steps, of the theory and of SGD; at the end SGD is `late` times the theory.

    SGD's risks may fall by a `steeper` power. Runs scatter half as much at the last step as at the first.
    """
    steps = {"window": np.geomspace(1e2, 1e8, 41), "sgd": np.geomspace(1e2, 4e3, 12)}
    tree = {}
    for name, powers in (("window", window), ("sgd", sgd)):
        exact = steps[name] ** -np.array(powers)[:, None]
        values = {"steps": np.tile(steps[name], (len(powers), 1)), "exact": exact, "ode": ratio * exact}
        tree[name] = xr.Dataset({k: (("law", "point"), x) for k, x in values.items()}, attrs={"dimension": 2000})
    scattered = 0.1 * np.linspace(1, 0.5, len(steps["sgd"]))[:, None] * np.linspace(-1, 1, 64)
    fallen = (steps["sgd"] / steps["sgd"][-1])[:, None] ** -steeper
    real = tree["sgd"]["exact"].values[..., None] * (1 + scattered) * fallen
    real[:, -1] *= late
    return xr.DataTree.from_dict(tree | {"sgd": tree["sgd"].assign(sgd=(("law", "point", "replica"), real))})


SIGNAL = {law: (law[1] - 1) / law[0] for law in LAWS}  # what sampling noise would leave alone
RIGHT = [predicted(*law)[0] for law in LAWS], [predicted(*law)[0] for law in REAL]


def failing(entry, data):
    return {number for number, holds in enumerate(verdicts(entry, data)) if not holds}


def test_exponents_of_the_theory_and_others():
    entry = PowerLaw()
    assert failing(entry, made_up(*RIGHT)) == set()
    noise = {number for number, law in enumerate(LAWS) if predicted(*law)[1] == "sampling noise"}
    assert failing(entry, made_up([SIGNAL[law] for law in LAWS], RIGHT[1])) == noise
    real_noise = {len(LAWS) + n for n, law in enumerate(REAL) if predicted(*law)[1] == "sampling noise"}
    assert failing(entry, made_up(RIGHT[0], [SIGNAL[law] for law in REAL])) == real_noise
    power, after = len(LAWS) + len(REAL), len(LAWS) + len(REAL) + 1
    assert failing(entry, made_up(*RIGHT, steeper=0.2)) == {power}
    assert after in failing(entry, made_up(*RIGHT, late=1.05))
    assert failing(entry, made_up(*RIGHT, ratio=0.95)) == {after + 2, after + 4}
    within_errors = 0.99  # 64 runs that scatter by 6 % have a mean with an error of 0.7 %
    assert failing(entry, made_up(*RIGHT, ratio=within_errors)) == set(range(after + 1, after + 5))
    figure = Figure(layout="constrained")
    entry.draw(made_up(*RIGHT), figure)
    assert [len(axes.lines) for axes in figure.axes] == [3 * len(LAWS), 4 * len(REAL)]


@pytest.mark.slow
def test_exponents_are_measured_and_without_sampling_noise_the_theory_lacks_one_branch():
    entry = PowerLaw(seed=1)
    data = entry.measure(False, lambda text, fraction: None)
    assert failing(entry, data) == set()
    wrong = PowerLaw(sampling_noise=False, seed=1)
    blind = wrong.measure(False, lambda text, fraction: None)  # the runs of SGD are the same ones
    noise = {number for number, law in enumerate(LAWS) if predicted(*law)[1] == "sampling noise"}
    assert failing(wrong, blind) >= noise | {len(LAWS) + len(REAL), len(LAWS) + len(REAL) + 1}


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


def plateaus(sgd, ode=None):
    """One run of SGD, and of the ODE, by the number of levels."""
    tree = {f"{L}/chain": one.to_dataset(name="risk") for L, one in sgd.items()}
    return xr.DataTree.from_dict(tree | {f"{L}/ode": one.to_dataset(name="risk") for L, one in (ode or sgd).items()})


def test_plateaus_that_dissolve_and_others():
    entry = PlateauSpectrum(levels=(1, 4, 16))
    long, half, gone = stepped(50.0, 63.0, 80.0), stepped(15.0, 25.0, 60.0), stepped(1.0, 8.0, 60.0)
    right = plateaus({1: long, 4: half, 16: gone})
    assert failing(entry, right) == set()
    assert failing(entry, plateaus({1: long, 4: long, 16: long})) == {1, 2, 3, 4}
    assert failing(entry, plateaus({1: long, 4: half, 16: gone}, {1: half, 4: half, 16: gone})) == {5}
    figure = Figure(layout="constrained")
    entry.draw(right, figure)
    assert len(figure.axes) == 2


@pytest.mark.slow
@pytest.mark.parametrize(("alike", "wrong"), [(False, set()), (True, {1, 2, 3})], ids=["differ", "alike"])
def test_the_plateau_of_sgd_dissolves_unless_all_eigenvalues_are_alike(alike, wrong):
    entry = PlateauSpectrum(levels=(1, 16), alike=alike, seed=1)
    assert failing(entry, entry.measure(False, lambda text, fraction: None)) == wrong
