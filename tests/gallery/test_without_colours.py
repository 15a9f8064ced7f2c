"""Figures that can be read without colours, and curves that do not lie in the frame."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from dimfree.drawing import from_zero
from dimfree.gallery.digits import CASES, Digits
from dimfree.gallery.mixtures import MixturePersistent, MixtureVanilla, ThreeClustersEntry

TIME = np.linspace(0.0, 4.0, 33)


def clusters(entry):
    """SGD and theory of every case, the same but for their level."""
    found = {}
    for number, case in enumerate((*entry.names, "vanilla")):
        fall = (0.5 / (1 + number + TIME))[:, None] * np.array([0.9, 1.0, 1.1])
        C = fall[:, :, None] * np.ones((1, 1, len(TIME)))
        data = dict.fromkeys(("risk", "train_loss", "m"), (("time", "replica"), fall))
        run = xr.Dataset(data | {"C": (("time", "replica", "time_"), C)}, {"time": TIME})
        found |= {f"{case}/multi-pass": run, f"{case}/{entry.theory.title}": run.isel(replica=[1])}
    return xr.DataTree.from_dict(found)


def rows():
    found = {}
    for number, case in enumerate(CASES):
        fall = (0.5 / (1 + number + TIME))[:, None] * np.array([0.9, 1.0, 1.1])
        run = xr.Dataset({"risk": (("time", "replica"), fall)}, {"time": TIME})
        found |= {f"{case}/rows": run, f"{case}/linear-mean": run.isel(replica=[1])}
    return xr.DataTree.from_dict(found)


@pytest.mark.parametrize("entry", [Digits(), MixtureVanilla(), MixturePersistent(), ThreeClustersEntry()], ids=str)
def test_cases_differ_by_line_and_marker(entry):
    figure = Figure()
    entry.draw(rows() if isinstance(entry, Digits) else clusters(entry), figure)
    handles = figure.axes[0].get_legend_handles_labels()[0]
    looks = [(str(one._dash_pattern), one.get_marker()) for one in handles]
    assert len({line for line, _ in looks}) == len(looks)
    assert len({marker for _, marker in looks}) == len(looks)
    for axes in figure.axes:
        drawn = {(str(one._dash_pattern), one.get_marker()) for one in axes.lines if len(one.get_xdata())}
        assert {line for line, marker in looks} <= {line for line, _ in drawn}
        assert {marker for line, marker in looks} <= {marker for _, marker in drawn}
        assert axes.get_ylabel() not in [one.get_label() for one in handles]


@pytest.mark.parametrize("values", [[0.5, 0.5], [0.5001, 0.4998], [3.0, 0.1]])
def test_a_constant_curve_lies_below_the_frame(values):
    axes = Figure().subplots()
    axes.plot([0, 1], values)
    from_zero(axes)
    low, high = axes.get_ylim()
    assert low == 0
    assert high >= 1.04 * max(values)


def test_nothing_above_zero_is_drawn_too():
    axes = Figure().subplots()
    axes.plot([0, 1], [0.0, 0.0])
    from_zero(axes)
    assert axes.get_ylim()[1] > 0
