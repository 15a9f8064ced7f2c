"""The claims of the figures of learning curves hold, and each fails when an ingredient is wrong."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from dimfree.gallery import shelf
from dimfree.gallery.covariate_digits import CovariateLogistic, CovariateRidge
from dimfree.gallery.double_descent import DoubleDescent
from dimfree.gallery.perceptron import Perceptron
from dimfree.gallery.robust import Robust

ENTRIES = {one.name: one for one in (Perceptron, DoubleDescent, Robust, CovariateRidge, CovariateLogistic)}


def silent(text, fraction):
    """Nobody watches."""


def failing(entry, data):
    return {number for number, claim in enumerate(entry.claims(data)) if not claim.holds}


def scattered(values, shift=0.0):
    """Fits around these values."""
    return values[:, None] * (1 + shift + 0.01 * np.linspace(-1, 1, 8))


def line(x, values):
    return xr.Dataset({"values": ("samples", values)}, {"samples": x}, {"label": "a line"})


def perceptron(shift=0.0, bayes=1.0, power=-1.0, bound=3.0):
    x, fine = np.array([1.0, 10.0, 100.0]), np.geomspace(1, 100, 20)
    at = {"risk": 0.101 / x, "best_risk": 0.1005 / x}
    data = {name: ("samples", values) for name, values in at.items()}
    data["fitted"] = (("samples", "seed"), scattered(0.101 / x, shift))
    lines = {"bayes": bayes * 0.1 * fine**power, "rademacher-bound": bound / fine, "ridge": 0.101 / fine}
    return xr.DataTree.from_dict(
        {"curve": xr.Dataset(data, {"samples": x})} | {name: line(fine, values) for name, values in lines.items()}
    )


def test_curves_of_the_perceptron_are_judged():
    entry = Perceptron()
    assert failing(entry, perceptron()) == set()
    assert failing(entry, perceptron(shift=0.05)) == {0}
    assert failing(entry, perceptron(bayes=1.1)) == {1, 2}
    assert failing(entry, perceptron(bayes=0.9)) == {2}
    assert failing(entry, perceptron(power=-0.8)) >= {3}
    assert failing(entry, perceptron(bound=0.2)) == {4}
    drawn(entry, perceptron())


def descent(peak=3.0, height=0.3, tail=0.02, rise=0.0, shift=0.0):
    x = np.unique([*np.geomspace(0.3, 12, 40), 0.3, 3.0, 12.0])
    risk = np.where(x < 2, 0.2 / (1 + x), tail + 0.02 / x) + height * np.exp(-((np.log(x / peak) / 0.15) ** 2))
    best = 0.2 / (1 + x) + rise * x
    fitted = np.array([0.3, 3.0, 12.0])
    theory = risk[np.searchsorted(x, fitted)]
    return xr.Dataset(
        {
            "risk": ("features", risk),
            "best": ("features", best),
            "fitted": (("fits", "seed"), scattered(theory, shift)),
        },
        {"features": x, "fits": fitted},
    )


def test_a_second_descent_is_judged():
    entry = DoubleDescent()
    assert failing(entry, descent()) == set()
    assert failing(entry, descent(peak=5.0)) == {0}
    assert failing(entry, descent(height=0.0)) >= {0}
    assert failing(entry, descent(tail=0.2)) >= {2}
    assert failing(entry, descent(rise=0.1)) == {3}
    assert failing(entry, descent(shift=0.05)) == {4}
    drawn(entry, descent())


def robust(shift=0.0, bayes=1.0, huber=1.1, square=4.0, absolute=1.4, price=1.5, clean=1.0):
    x = np.array([1.0, 4.0, 16.0])
    risks = {"bayes": bayes, "huber": huber, "square": square, "absolute": absolute}
    data = {name: ("samples", 0.1 * factor / x) for name, factor in risks.items()}
    data |= {
        f"{name}_clean": ("samples", 0.1 * factor / x)
        for name, factor in (("square", 1.0), ("huber", clean), ("absolute", price))
    }
    fitted = [scattered(data[name][1], shift) for name in ("square", "huber", "absolute")]
    coordinates = {"samples": x, "fits": x, "loss": ["square", "huber", "absolute"]}
    return xr.Dataset(data | {"fitted": (("loss", "fits", "seed"), np.array(fitted))}, coordinates)


def test_robust_losses_are_judged():
    entry = Robust()
    assert failing(entry, robust()) == set()
    assert failing(entry, robust(shift=0.05)) == {0, 1, 2}
    assert failing(entry, robust(bayes=1.15)) == {3, 4}
    assert failing(entry, robust(bayes=0.9)) == {4}
    assert failing(entry, robust(absolute=1.05)) == {5}
    assert failing(entry, robust(square=2.0)) == {6, 7}
    assert failing(entry, robust(price=1.3)) == {8}
    assert failing(entry, robust(clean=1.01)) == {9}
    drawn(entry, robust())


def digits(shift=0.0, power=-0.3, images=-0.3, strength=1.3):
    x = np.array([1.0, 2.0, 4.0])
    theory = 0.3 * x**power
    data = {"risk": ("samples", theory), "strength": strength}
    data["gaussian"] = (("samples", "seed"), scattered(0.9 * theory, shift))
    data["gaussian_theory"] = (("samples", "table"), scattered(0.9 * theory))
    data["fitted_risk"] = (("samples", "seed"), scattered(0.1 * x**images))
    return xr.DataTree.from_dict({"curve": xr.Dataset(data, {"samples": x}), "ridge": line(x, theory)})


@pytest.mark.parametrize("entry", [CovariateRidge(), CovariateLogistic()], ids=lambda one: one.name)
def test_digits_are_judged_by_their_theory_and_not_by_the_gap(entry):
    assert failing(entry, digits()) == set()
    assert failing(entry, digits(shift=0.05)) == {0}
    assert failing(entry, digits(power=0.1)) == {1}
    assert failing(entry, digits(images=0.1)) == {2}
    assert failing(entry, digits(strength=2.0)) == {3}
    drawn(entry, digits())


def drawn(entry, data):
    figure = Figure()
    entry.draw(data, figure)
    assert all(axes.get_ylabel() for axes in figure.axes)


def test_the_shelf_knows_them_and_what_they_take():
    for name, cls in ENTRIES.items():
        assert type(shelf.entry(name)) is cls
        assert 0 < shelf.entry(name).seconds(False) < shelf.entry(name).seconds(True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (Perceptron(), set()),
        (Perceptron(noise=0.5, samples=(1.0, 10.0, 60.0)), {0}),  # fits of noisier labels
        (CovariateRidge(moment=0.8), {0}),  # another moment of the labels than the table's
        (CovariateLogistic(moment=np.sqrt(2 / np.pi)), {0}),  # E[y v] of classes in the place of E[z v]
        (CovariateLogistic(seed=2), set()),
        (DoubleDescent(fitted_ridge=0.1), {4}),
        (Robust(fitted_fraction=0.25, samples=(1.0, 16.0)), {0, 1, 2}),  # more outliers in the data than in theory
    ],
    ids=["perceptron", "noise", "ridge", "classes", "another-seed", "descent", "outliers"],
)
def test_a_wrong_ingredient_fails(wrong, expected):
    assert failing(wrong, wrong.measure(False, silent)) == expected
