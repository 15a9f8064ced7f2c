"""The figure of a scaling law from a sweep over sizes: risk against compute = size * steps, and the lowest for every budget."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Float

from dimfree.errors import ProblemError
from dimfree.readings.frontier import Frontier, lowest
from dimfree.readings.power_laws import Fit, power
from dimfree.sweeps.scales import axis_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Vector = Float[np.ndarray, " _"]
_BUDGETS = 40
_FEWEST = 5  # budgets with a best size, for an exponent
_LEARNT = 0.5  # of the lowest first risk: above it nothing has been learnt that exponents could be read off
_COLOUR = "#d95f02"


class Measured(NamedTuple):
    """The frontier of the mean over replicas, and the exponents of its best size and of its risk with jackknife errors."""

    frontier: Frontier
    size: Fit
    risk: Fit


def measured_frontier(sizes: Vector, steps: Vector, values: Float[np.ndarray, "d t r"]) -> Measured | None:
    """From curves of all sizes and replicas at these steps; None if too few budgets have a best size."""
    compute = np.geomspace(sizes.max() * steps[0], sizes.max() * steps[-1], _BUDGETS)  # small sizes may end first
    found, count = _frontier(sizes, steps, values, compute), values.shape[2]
    learnt = found.risk < _LEARNT * values[:, 0].mean(axis=1).min()
    if learnt.sum() < _FEWEST:
        return None
    compute = compute[learnt]
    found = _frontier(sizes, steps, values, compute)
    errors = (0.0, 0.0)
    if count > 1:
        left = [_exponents(_frontier(sizes, steps, np.delete(values, k, axis=2), compute)) for k in range(count)]
        errors = tuple(np.sqrt((count - 1) * np.var(left, axis=0)))
    p, q = map(Fit, _exponents(found), errors)
    return Measured(found, p, q)


def draw_frontier(figure: "Figure", data: xr.Dataset, values: xr.DataArray, titles: Sequence[str], x: str) -> None:
    """A panel for every account: a thin curve for every size, and the frontier below them with its exponents."""
    if "step" not in values.dims:
        raise ProblemError("a frontier counts steps, and the points of the sweep share times; set steps in its file.")
    sizes, steps = data[x].values.astype(float), values["step"].values[1:]
    figure.set_size_inches(1.0 + 4.6 * len(titles), 4.2)
    panels = np.atleast_1d(figure.subplots(1, len(titles)))
    for axes, title in zip(panels, titles, strict=True):
        one = values.sel(description=title).transpose(x, "step", "replica").values[:, 1:]
        runs = np.isfinite(one).all(axis=(0, 1))
        if not runs.any():
            raise ProblemError(f"{title} has no numbers at some values of {x}; leave these values or the account out.")
        _draw_panel(axes, sizes, steps, one[:, :, runs], axis_name(data[x]))
        axes.set(xscale="log", yscale="log", xlabel=f"compute = {axis_name(data[x])} × steps", title=title)
    panels[0].set_ylabel(str(values.name))


def _draw_panel(axes: "Axes", sizes: Vector, steps: Vector, values: Float[np.ndarray, "d t r"], name: str) -> None:
    from matplotlib import colormaps

    top = max(np.log(sizes.max() / sizes.min()), 1e-9)
    for size, curve in zip(sizes, values, strict=True):
        colour = colormaps["viridis"](0.9 * np.log(size / sizes.min()) / top)
        axes.plot(size * steps, curve.mean(axis=1), color=colour, lw=0.9)
    found = measured_frontier(sizes, steps, values)
    if found is None:
        axes.plot([], [], " ", label="the best size is at an end of the list:\nthere is no frontier")
    else:
        risk, size = (f"C^{sign * fit.value:.2f}{_error(fit)}" for sign, fit in ((-1, found.risk), (1, found.size)))
        label = f"frontier: risk ~ {risk},\n{name} ~ {size}"
        axes.plot(found.frontier.compute, found.frontier.risk, color=_COLOUR, lw=2.4, label=label)
    axes.legend(frameon=False, title=f"{name} {sizes.min():g} (dark) to {sizes.max():g} (light)", title_fontsize=9)


def _error(found: Fit) -> str:
    return f" (± {found.standard_error:.2f})" if found.standard_error else ""


def _frontier(sizes: Vector, steps: Vector, values: Float[np.ndarray, "d t r"], compute: Vector) -> Frontier:
    """Between saved steps along straight lines of logarithms."""
    means, logs = np.log(values.mean(axis=2)), np.log(compute)
    risks = [
        np.exp(np.interp(logs, np.log(size * steps), mean, left=np.nan, right=np.nan))
        for size, mean in zip(sizes, means, strict=True)
    ]
    return lowest(sizes, np.array(risks), compute)


def _exponents(found: Frontier) -> tuple[float, float]:
    """Of the best size, and of the risk with its sign changed."""
    held = np.isfinite(found.size)
    if held.sum() < 2:
        return np.nan, np.nan
    C = found.compute[held]
    return power(C, found.size[held]), -power(C, found.risk[held])
