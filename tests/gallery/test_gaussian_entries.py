"""The claims of the figures on two Gaussians hold, and each fails when an ingredient of the figure is wrong."""

from typing import ClassVar

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from dimfree.gallery import shelf
from dimfree.gallery.gaussian_histogram import GaussianHistogram
from dimfree.gallery.gaussian_relu import GaussianReLU
from dimfree.gallery.kappa_dichotomy import KappaDichotomy
from dimfree.gallery.noisy_sgd import NoisySGD
from dimfree.gallery.risk_vs_delta import RiskVersusDelta
from dimfree.gallery.solvable import quadratic_variance
from dimfree.gallery.solvable_models import linear_force, quadratic_force
from dimfree.gallery.truncated_relu import TruncatedReLU
from dimfree.onepass.limits.pde import DistributionalDynamics
from dimfree.onepass.real.vectors import VectorSGD

ENTRIES = {
    one.name: one for one in (GaussianHistogram, GaussianReLU, KappaDichotomy, RiskVersusDelta, NoisySGD, TruncatedReLU)
}


class Frozen(DistributionalDynamics):
    """Wrong on purpose: time runs a hundred times too slowly."""

    name: ClassVar[str] = "frozen"

    def advance(self, model, state, times):
        return super().advance(model, state, times / 100)


class Hasty(VectorSGD):
    """Wrong on purpose: it makes twice as many steps as said."""

    def twin(self, model):
        return self, model

    def advance(self, model, state, times):
        return super().advance(model, state, 2 * times)


def silent(text, fraction):
    """Nobody watches."""


def failing(entry, data):
    return {number for number, claim in enumerate(entry.claims(data)) if not claim.holds}


def test_every_entry_is_on_the_shelf_and_says_what_it_takes():
    for name, cls in ENTRIES.items():
        entry = shelf.entry(name)
        assert type(entry) is cls
        assert entry.seconds(False) > 0
        assert entry.seconds(False) < entry.seconds(True)


def truncated(entry, reached, inf_R=0.766):
    """Runs whose risk falls linearly from inf R + 2 eta to inf R + eta at `reached`(d)."""
    tree = {}
    for d in entry.dimensions:
        time = np.linspace(0, 40, 401)
        R = inf_R + entry.eta * (2 - time / reached(d))
        tree[f"{d}/sgd"] = xr.Dataset(
            {"risk": (("time", "replica"), np.repeat(R[:, None] / 2, 4, axis=1))}, {"time": time}
        )
    found = xr.DataTree.from_dict(tree)
    for d in entry.dimensions:
        found[str(d)].attrs = {"inf_R": inf_R, "d": d, "eps": entry.step(d)}
    return found


def test_samples_are_proportional_to_the_dimension_only_if_the_time_is_fixed():
    entry = TruncatedReLU()
    assert failing(entry, truncated(entry, lambda d: 20.0)) == set()
    assert failing(entry, truncated(entry, lambda d: 2.0 * d**0.5)) == {1, 2}
    assert 0 in failing(entry, truncated(entry, lambda d: 60.0))
    assert 3 in failing(entry, truncated(entry, lambda d: 20.0, inf_R=0.99))
    unscaled = TruncatedReLU(scaled=False)
    assert failing(unscaled, truncated(unscaled, lambda d: 20.0)) == {2}


def test_solvable_forces_are_balanced_at_their_laws():
    rng = np.random.default_rng(0)
    theta = rng.normal(size=(200_000, 3))
    s = quadratic_variance(0.5, 3, 0.3, 5.0, np.inf, 1.0)
    drift = quadratic_force(np.sqrt(s) * theta) - 0.3 * np.sqrt(s) * theta
    np.testing.assert_allclose((drift * np.sqrt(s) * theta).mean(), -1 / 5.0, rtol=0.05)
    np.testing.assert_allclose(linear_force(theta + np.array([1.0, -0.5, 0.25]))[0], 0, atol=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("name", ENTRIES)
def test_claims_hold_and_the_figure_is_drawn(name):
    entry = ENTRIES[name]()
    data = entry.measure(False, silent)
    assert failing(entry, data) == set()
    figure = Figure(layout="constrained")
    entry.draw(data, figure)
    assert all(axes.lines or axes.patches for axes in figure.axes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (GaussianHistogram(theory=Frozen(), eps=2e-4, width=100), {0, 1, 2, 3, 4}),
        (GaussianHistogram(sgd=Hasty(), eps=2e-4, width=100), {3, 4}),
        (GaussianReLU(theory=Frozen(own_start=True)), {0, 1, 2, 3, 4, 5, 6, 7}),
        (KappaDichotomy(scales=(0.4, 0.1)), {0, 1, 2}),
        (RiskVersusDelta(minimum=lambda Delta, d: 0.0), {0, 1}),
        (NoisySGD(heat=2.0, neurons=4000), {1, 2, 3, 5, 6}),
        (NoisySGD(linear=lambda theta: -theta, neurons=4000), {0}),
        (TruncatedReLU(rate=2.0, dimensions=(25, 50)), {0}),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, set) else None,
)
def test_claims_fail_with_a_wrong_ingredient(wrong, expected):
    assert failing(wrong, wrong.measure(False, silent)) >= expected
