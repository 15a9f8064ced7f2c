"""What the figures on two Gaussians share: the problem and the risk in the letters of the documents, and how runs are drawn."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dimfree.onepass.fields.radial import RadialField
from dimfree.onepass.kinds.gaussians.section import TwoGaussians
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.sections import GaussianStart, OnePass, TwoLayer
from dimfree.problem import Run
from dimfree.problem.activation import PiecewiseLinear

RAMP = PiecewiseLinear(knots=(0.5, 1.5), values=(-2.5, 7.5))
DIP_RAMP = PiecewiseLinear(knots=(0.0, 0.5, 1.5), values=(-2.5, -4.0, 7.5))
TRUNCATED_RELU = PiecewiseLinear(knots=(0.0, 1.0), values=(0.0, 1.0))
RISK = r"risk $R = E(y-f)^2$"
_RAMPS = TwoLayer(activation=RAMP)
TIME = r"time $t$ = steps × $\varepsilon$"
THEORY, REAL = "#d95f02", "black"


def two_gaussians_problem(
    d: int,
    N: int,
    Delta: float,
    eps: float,
    kappa: float,
    until: float,
    *,
    replicas: int = 2,
    points: int = 21,
    signal: int | None = None,
    network: TwoLayer = _RAMPS,
) -> OnePassProblem:
    """Letters of docs/theory/mean-field.md, section b; a given network is taken at width N."""
    return OnePassProblem(
        dimension=d,
        data=TwoGaussians(contrast=Delta, signal=signal),
        network=network.model_copy(update={"width": N}),
        training=OnePass(learning_rate=eps * N * d),
        start=GaussianStart(scale=kappa),
        run=Run(until=until, replicas=replicas, points=points, spacing="linear"),
    )


def smooth(problem: OnePassProblem) -> OnePassProblem:
    """The same run from the same start, with so many saved times that the curve of a theory looks like one."""
    return problem.replace(**{"run.points": 10 * (problem.run.points - 1) + 1})


def risk(run: xr.Dataset) -> Any:
    """R = E(y - f)² of the documents, twice the canonical risk, at (time, replica)."""
    return 2 * run["risk"].values


def risk_at_random_directions(run: xr.Dataset, field: RadialField) -> Any:
    """R of many neurons with the norms of the run and random directions, at (time, replica)."""
    return np.array([[float(field.terms(jnp.asarray(norms))[1]) for norms in now] for now in run["r1"].values])


def means(run: xr.Dataset, letter: str) -> Any:
    """The mean over the neurons of one of their letters, at (time, replica)."""
    return run[letter].mean("unit").values


def deviation(sgd: xr.Dataset, theory: xr.Dataset, letter: str) -> float:
    """The largest distance over time of the mean over neurons and replicas from that of the theory."""
    beside = theory.sel(time=sgd["time"], method="nearest")
    return float(np.abs(means(sgd, letter).mean(axis=1) - means(beside, letter)[:, 0]).max())


def draw_pair(
    axes: Axes, sgd: xr.Dataset, theory: xr.Dataset, value: Any, colour: str, label: str, marker: str = "o"
) -> None:
    """The theory as a line; real SGD as markers at the mean, with bars from the lowest to the highest replica."""
    curve, runs = value(theory)[:, 0], value(sgd)
    mean = runs.mean(axis=1)
    axes.plot(theory["time"], curve, color=colour, lw=1.5, label=f"{label}: PDE" if label else "PDE")
    bars = np.abs(np.stack([runs.min(axis=1), runs.max(axis=1)]) - mean)
    axes.errorbar(
        sgd["time"],
        mean,
        bars,
        fmt=marker,
        color=colour if label else REAL,
        mfc="white",
        ms=4,
        lw=1,
        label=f"{label}: SGD" if label else "SGD",
    )
