"""The claims of the figures on the hypercube hold, and each fails when an ingredient of the figure is wrong."""

from typing import ClassVar

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from dimfree.gallery import shelf
from dimfree.gallery.hypercube import hypercube_problem
from dimfree.gallery.not_a_staircase import NotAStaircase
from dimfree.gallery.staircase import StaircaseEntry
from dimfree.onepass.limits.pde import DistributionalDynamics, OwnStart
from dimfree.onepass.real.vectors import VectorSGD

ENTRIES = {one.name: one for one in (StaircaseEntry, NotAStaircase)}


class Frozen(OwnStart):
    """Wrong on purpose: time runs too slowly."""

    name: ClassVar[str] = "pde-own-start"

    def advance(self, model, state, times):
        return super().advance(model, state, times / 2)


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


def test_the_problem_has_the_letters_of_the_sheet():
    problem = hypercube_problem({"1": 1.0}, 50, 20, 0.1, 30, 5.0, xi_a=2.0, runs=4)
    assert problem.time_step == pytest.approx(0.1)
    assert (problem.training.batch, problem.run.starts, problem.training.second_layer_rate) == (30, 4, 2.0)


def run_of(time, R, fourier, u, replicas=1):
    """Made-up numbers, the same in all replicas."""
    axes = ("time", "replica")
    repeat = lambda x: np.repeat(np.asarray(x)[:, None], replicas, axis=1)  # noqa: E731
    return xr.Dataset(
        {
            "risk": (axes, repeat(R) / 2),
            "fourier": ((*axes, "support"), repeat(fourier)),
            "u_mean": ((*axes, "coordinate"), repeat(u)),
        },
        {"time": time},
    )


def climbing(delays, gaps, found=(5.0, 10.0, 15.0, 20.0)):
    """A risk that falls to 0 at t = 100; SGD and theories from starts differ from the DF-PDE at t = 50 by `gaps`."""
    time = np.linspace(0, 100, 41)
    fourier = np.stack([np.clip(time / 100, 0, 1)] * 4, axis=1)
    u = np.stack([time / (2 * at) for at in found], axis=1)
    R = 4 * (1 - time / 100)
    off = (time == 50.0).astype(float)
    tree = {"law/pde": run_of(time, R, fourier, u), "sgd/sgd": run_of(time, R - gaps[0] * off - delays, fourier, u, 3)}
    for more, gap in zip((1, 10, 100), gaps, strict=True):
        tree[f"start-{more}/pde-own-start"] = run_of(time, R - gap * off, fourier, u)
    return xr.DataTree.from_dict(tree)


def test_a_staircase_is_climbed_only_with_the_right_ingredients():
    entry = StaircaseEntry()
    assert failing(entry, climbing(0.0, (0.3, 0.1, 0.05))) == set()
    assert failing(entry, climbing(0.2, (0.3, 0.1, 0.05))) == {0, 1, 5}
    assert failing(entry, climbing(0.0, (0.3, 0.3, 0.3))) == {2, 3}
    assert failing(entry, climbing(0.0, (0.3, 0.1, 0.05), found=(5.0, 10.0, 20.0, 15.0))) == {6}
    assert failing(entry, climbing(0.0, (0.3, 0.1, 0.05), found=(5.0, 10.0, 15.0, 200.0))) == {6}


def escaping(entry, when, height=1.0, reached=0.0, mended=0.7):
    """Plateaus that are left at `when`(d)."""
    time = np.linspace(0, 60, 601)
    flat = np.zeros((len(time), 3))
    u = np.full((len(time), 3), reached)
    left = lambda at: np.where(time < at, 1.0, 0.5)  # noqa: E731
    tree = {
        "law/pde": run_of(time, np.full(len(time), height), flat[:, :2], u),
        "mended/pde": run_of(time, flat[:, 0], flat + mended, u),
    }
    for d in entry.dimensions:
        tree[f"start-{d}/pde-own-start"] = run_of(time, left(when(d)), flat[:, :2], u)
    for d in entry.real:
        tree[f"sgd-{d}/sgd"] = run_of(time, left(when(d)), flat[:, :2], u, 4)
    return xr.DataTree.from_dict(tree)


def test_a_plateau_is_one_only_with_the_right_ingredients():
    entry, slowly = NotAStaircase(), lambda d: 15 + 3 * np.log(d)
    assert failing(entry, escaping(entry, slowly)) == set()
    assert failing(entry, escaping(entry, slowly, height=0.9)) == {0}
    assert failing(entry, escaping(entry, slowly, reached=1e-3)) == {1}
    assert failing(entry, escaping(entry, slowly, mended=0.1)) == {2}
    assert failing(entry, escaping(entry, lambda d: 30.0)) >= {4}
    assert failing(entry, escaping(entry, lambda d: d / 300)) >= {5}
    assert failing(entry, escaping(entry, lambda d: 100.0)) >= {4}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENTRIES)
def test_claims_hold_and_the_figure_is_drawn(name):
    entry = ENTRIES[name]()
    data = entry.measure(False, silent)
    assert failing(entry, data) == set()
    figure = Figure(layout="constrained")
    entry.draw(data, figure)
    assert all(axes.lines for axes in figure.axes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (StaircaseEntry(own=Frozen(), runs=2), {0, 2}),
        (StaircaseEntry(sgd=Hasty(), runs=2), {0, 1}),
        (StaircaseEntry(supports=("1", "1,2,3,4"), runs=2), {6}),  # no staircase
        (NotAStaircase(own=Frozen(), dimensions=(100, 200), runs=2), {3}),
        (NotAStaircase(supports=("1", "1,2", "1,2,3"), dimensions=(100, 200), runs=2), {1}),
        (NotAStaircase(pde=OwnStart(label="pde"), dimensions=(100, 200), runs=2), {0, 1}),
        (NotAStaircase(pde=DistributionalDynamics(), mended=("1", "1,2,3"), dimensions=(100, 200), runs=2), {2}),
    ],
)
def test_claims_fail_with_a_wrong_ingredient(wrong, expected):
    assert failing(wrong, wrong.measure(False, silent)) >= expected
