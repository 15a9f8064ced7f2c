"""What the figures on the hypercube share: the problem in the letters of the theory sheet, and how runs are drawn."""

from collections.abc import Mapping
from math import inf
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dimfree.onepass.kinds.hypercube.section import Hypercube
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.sections import OnePass, TwoLayer
from dimfree.problem import Run

RISK = r"risk $R = E(h-f)^2$"
TIME = r"time $t$ = steps × $\eta$"
COLOURS = ("#1f78b4", "#d95f02", "#33a02c", "#6a3d9a")
_T = {2: 12.71, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262}  # Student, 95 %


def hypercube_problem(
    coefficients: Mapping[str, float],
    d: int,
    N: int,
    eta: float,
    batch: int,
    until: float,
    *,
    offset: float = -0.5,
    xi_a: float = 1.0,
    runs: int = 1,
    points: int = 161,
) -> OnePassProblem:
    """Letters of docs/theory/mean-field.md, section d: sigmoids with an offset, a from -1 to 1, every run from its own start."""
    return OnePassProblem(
        dimension=d,
        data=Hypercube(coefficients=dict(coefficients)),
        network=TwoLayer(
            width=N,
            activation="sigmoid",
            bias_start=offset,
            trained=("first-layer", "second-layer"),
            second_layer_start="uniform",
        ),
        training=OnePass(learning_rate=eta * N * d, batch=batch, second_layer_rate=xi_a),
        run=Run(until=until, replicas=runs, starts=runs, points=points, spacing="linear"),
    )


def risk(run: xr.Dataset) -> Any:
    """R = E(h - f)² of the sheet, twice the canonical risk, at (time, replica)."""
    return 2 * run["risk"].values


def distance(run: xr.Dataset, theory: xr.Dataset, until: float = inf) -> float:
    """The largest distance up to a time of the mean R of runs from that of a theory, which may have more saved times."""
    seen = run.isel(time=run["time"].values <= until)
    beside = theory.sel(time=seen["time"], method="nearest")
    return float(np.abs(risk(seen).mean(axis=1) - risk(beside).mean(axis=1)).max())


def draw_band(axes: Axes, time: Any, values: Any, colour: str, label: str) -> None:
    """The mean of the runs as markers, with the 95 % interval of that mean as a band."""
    runs, mean = values.shape[1], values.mean(axis=1)
    half = _T[runs] * values.std(axis=1, ddof=1) / np.sqrt(runs)
    axes.fill_between(time, mean - half, mean + half, color=colour, alpha=0.25, lw=0)
    axes.plot(time[::2], mean[::2], "o", color=colour, mfc="white", ms=3.5, mew=0.9, label=label)
