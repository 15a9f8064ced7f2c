"""Double descent: the error of random features against their number, at a fixed number of samples per input.

docs/theory/static.md, section b: without ridge the error peaks where there are as many features as samples, and falls again
beyond; at the best ridge there is no peak.
"""

from typing import Any, ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dimfree.dataset.ends.end_model import EndModel
from dimfree.dataset.ends.optimal_ridge import optimal_ridge
from dimfree.dataset.ends.solve import solved
from dimfree.dataset.features import RandomFeatures
from dimfree.dataset.problem import DataSetProblem, MultiPass
from dimfree.dataset.real.fitted import fit_once
from dimfree.gallery.agreement import largest_z
from dimfree.gallery.entry import Claim, Entry
from dimfree.progress import PartWatcher
from dimfree.questions.curves.figure import LOOKS, draw_fits, readable, readable_risk
from dimfree.setting import model_of

_SAMPLES = 3.0  # per input
_FITTED = (0.3, 0.8, 1.5, 2.2, 3.0, 4.0, 8.0)  # features per input
_SIGMAS = 4.0  # standard errors that the largest of seven differences may have


class DoubleDescent(Entry[xr.Dataset]):
    """Risk against features per input, almost without ridge and at the best one."""

    name: ClassVar[str] = "double-descent"
    title: ClassVar[str] = "Double descent: random features peak where they are as many as the samples"
    cites: ClassVar[tuple[str, ...]] = ("loureiro2021",)
    ridge: float = 1e-4
    fitted_ridge: float = 1e-4  # of the fits; theory has its own

    def problem(self, per_input: float, ridge: float, inputs: int) -> DataSetProblem:
        """As many samples per input at every number of features."""
        data = RandomFeatures(per_input=per_input, samples=_SAMPLES / per_input, labels="linear", noise=0.1)
        training = MultiPass(loss="square", weight_decay=ridge)
        return DataSetProblem(dimension=max(1, round(per_input * inputs)), data=data, training=training)

    def measure(self, full: bool, watch: PartWatcher) -> xr.Dataset:
        """Theory at many numbers of features, fits at some."""
        inputs, seeds = (400, 20) if full else (200, 8)
        fine = np.unique([*np.geomspace(_FITTED[0], _FITTED[-1], 160), *_FITTED])
        rows = []
        for number, r in enumerate(fine):
            watch("theory", 0.5 * number / len(fine))
            model = _model(self.problem(float(r), self.ridge, inputs))
            assert model.task is not None
            best = optimal_ridge(model.task, np.array([float(model.task.alpha)]), (1e-3, 1e2))
            rows.append((float(solved(model.task).risk), best.risk[0]))
        measured = []
        for number, r in enumerate(_FITTED):
            watch(f"{r:g} features per input", 0.5 + 0.5 * number / len(_FITTED))
            model = _model(self.problem(r, self.fitted_ridge, inputs))
            fits = [fit_once(model, np.random.default_rng([0, number, k]))["risk"] for k in range(seeds)]
            measured.append(fits)
        risk, best_risk = np.array(rows).T
        return xr.Dataset(
            {
                "risk": ("features", risk),
                "best": ("features", best_risk),
                "fitted": (("fits", "seed"), np.array(measured)),
            },
            {"features": fine, "fits": np.array(_FITTED)},
        )

    def claims(self, data: xr.Dataset) -> tuple[Claim, ...]:
        """A peak at as many features as samples, a second descent, no peak at the best ridge, and fits on the line."""
        x, risk, best = data["features"].values, data["risk"].values, data["best"].values
        peak = int(np.argmax(risk))
        before = risk[: max(peak, 1)].min()
        theory = risk[np.searchsorted(x, data["fits"].values)]
        return (
            Claim("features per sample at the peak", float(x[peak] / _SAMPLES), 0.9, 1.1),
            Claim("height of the peak over the lowest error before it", float(risk[peak] / before), 2.0, np.inf),
            Claim("error with the most features over the lowest before the peak", float(risk[-1] / before), 0.0, 1.0),
            Claim(
                "at the best ridge more features never hurt: largest rise", float(np.diff(best).max()), -np.inf, 1e-6
            ),
            Claim(
                "fits are off the theory by at most so many standard errors",
                largest_z(data["fitted"].values, theory),
                0.0,
                _SIGMAS,
            ),
        )

    def draw(self, data: xr.Dataset, figure: Figure) -> None:
        figure.set_size_inches(6.6, 4.4)
        axes, x = figure.subplots(), data["features"].values
        axes.plot(x, data["risk"], label=f"theory, ridge {self.ridge:g}", **LOOKS["ridge"])
        axes.plot(x, data["best"], "--", color=LOOKS["optimal-ridge"]["color"], label="theory, best ridge")
        draw_fits(axes, data["fits"].values, data["fitted"].values)
        axes.axvline(_SAMPLES, color="grey", lw=0.8, ls=":")
        axes.set(xlabel="features per input", ylabel="half the mean square error", title=self.title)
        readable(axes, x)
        readable_risk(axes)
        place: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "va": "bottom", "fontsize": 8}
        axes.annotate(" as many as samples", (_SAMPLES, 0.02), **place)
        axes.legend()

    def seconds(self, full: bool) -> float:
        """Mostly best ridges, and fits when full."""
        return 400.0 if full else 60.0


def _model(problem: DataSetProblem) -> EndModel:
    model = model_of(problem)
    assert isinstance(model, EndModel)
    return model
