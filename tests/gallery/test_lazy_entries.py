"""The claims of the figures of the lazy limit hold, and each fails when an ingredient is wrong."""

from typing import ClassVar

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

import dimfree as df
from dimfree.gallery import shelf
from dimfree.gallery.kernels_lose import KernelsLose
from dimfree.gallery.lazy_to_rich import LazyToRich

ENTRIES = {one.name: one for one in (LazyToRich, KernelsLose)}


class Frozen(df.experiments.NetworkFlow):
    """Wrong on purpose: what is called the network is seen at a tenth of the time."""

    name: ClassVar[str] = "frozen"

    def advance(self, model, state, times):
        return super().advance(model, state, times / 10)


def silent(text, fraction):
    """Nobody watches."""


def failing(entry, data):
    return {number for number, claim in enumerate(entry.claims(data)) if not claim.holds}


@pytest.mark.slow
def test_the_shelf_knows_them_and_what_they_take():
    for name, cls in ENTRIES.items():
        entry = shelf.entry(name)
        assert type(entry) is cls
        assert entry.seconds(False) > 0
        assert entry.seconds(False) < entry.seconds(True)


def made_up(power, rich=0.007):
    """A sweep whose movement falls with this power beyond gamma N = 10, and distances with twice that."""
    x = 10.0 ** np.linspace(0, 4, 9)
    fall = np.minimum(1.0, 10 / x)[:, None] ** power * np.ones((9, 2))
    risk = np.where(x < 10, rich, 0.06)[:, None] * np.ones((9, 2))
    both = {
        "movement": fall,
        "kernel_change": 5 * fall**2,
        "gap": fall**2,
        "risk": risk,
        "linear_risk": 0.06 + 0 * risk,
    }
    sides = {f"lemma_{k}_{side}": fall * (1 + (side == "right")) for k in (1, 2, 3) for side in ("left", "right")}
    data = {name: (("scale", "network"), values) for name, values in (both | sides).items()}
    return xr.Dataset(data | {"width": 60, "violated": 0, "certain_from": 10.0}, {"scale": x / 60})


def test_powers_and_features_are_judged():
    entry = LazyToRich()
    assert failing(entry, made_up(1.0)) == set()
    assert failing(entry, made_up(0.5)) == {0, 1, 2}
    assert failing(entry, made_up(1.0, rich=0.06)) == {4}
    assert failing(entry, made_up(1.0).assign(violated=1)) == {6}
    figure = Figure()
    entry.draw(made_up(1.0), figure)
    assert all(axes.get_ylabel() for axes in figure.axes)


def losing(network, kernel, power=2.0):
    """Errors that are these functions of the number of points; a kernel that needs d^power of them."""
    n = np.array([25.0, 50.0, 100.0, 200.0])
    table = lambda values: (("samples", "seed"), np.repeat(values[:, None], 2, axis=1))  # noqa: E731
    data = {"network": table(network(n)), "kernel": table(kernel(n)), "silent": table(0.25 + 0 * n)}
    lazy = {"lazy_network": ("seed", kernel(n[2]) * np.ones(2)), "lazy_linearised": ("seed", kernel(n[2]) * np.ones(2))}
    d, share = np.array([10.0, 20.0, 40.0]), np.array([0.5, 1.0])
    left = 0.06 / (share * d[:, None] ** 2 / (20.0 ** (2 - power) * d[:, None] ** power))
    by_dimension = {"kernel_left": (("dimension", "share", "seed"), np.repeat(left[..., None], 2, axis=2))}
    told = {"samples": n.astype(int), "dimension": d.astype(int), "share": share}
    return xr.Dataset(data | lazy | by_dimension | {"between": 100, "d": 20}, told)


def test_kernels_lose_only_if_they_are_slower():
    entry = KernelsLose()
    slow = lambda n: 2.0 / n  # noqa: E731
    assert failing(entry, losing(lambda n: 1e3 / n**3, slow)) == set()
    assert failing(entry, losing(slow, slow)) == {0, 2, 4}
    assert failing(entry, losing(lambda n: 1e3 / n**3, lambda n: 1e3 / n**3)) == {1, 2, 4}
    assert failing(entry, losing(lambda n: 1e3 / n**3, slow, power=1.5)) == {3}
    figure = Figure()
    entry.draw(losing(slow, slow), figure)
    assert all(axes.get_ylabel() for axes in figure.axes)


@pytest.mark.slow
@pytest.mark.parametrize("name", ENTRIES)
def test_claims_hold(name):
    entry = ENTRIES[name]()
    assert failing(entry, entry.measure(False, silent)) == set()


@pytest.mark.slow
def test_other_data_sets_show_the_same():
    entry = KernelsLose(first_seed=3, samples=(50, 100, 200), seeds=2)
    assert failing(entry, entry.measure(False, silent)) == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (LazyToRich(flow=Frozen()), {1, 5}),  # never near its linearisation
        (KernelsLose(link="linear", samples=(25, 50, 100), seeds=1), {1, 2, 3}),  # kernels learn straight lines
        (KernelsLose(output_scale=10.0, samples=(25, 50, 100), seeds=1), {0, 2, 4}),  # a lazy network in its place
    ],
    ids=["frozen", "linear", "lazy"],
)
def test_a_wrong_ingredient_fails(wrong, expected):
    assert failing(wrong, wrong.measure(False, silent)) >= expected
