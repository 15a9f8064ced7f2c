"""Robust regression: Huber's loss between the square and the absolute loss, over samples per dimension, with outliers.

docs/theory/static.md, section d: at the best ridge and threshold Huber's loss is no worse than the square and the absolute loss,
and is near the best possible learner. Without outliers a high threshold is best, and the absolute loss has up to pi/2 times the
error of the square loss.
"""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dimfree.dataset.ends.end_model import EndModel
from dimfree.dataset.ends.optimal_ridge import Best, optimal_ridge
from dimfree.dataset.ends.optimal_threshold import optimal_threshold
from dimfree.dataset.ends.task import Task
from dimfree.dataset.features import Outliers
from dimfree.dataset.problem import DataSetProblem, LinearTeacher, MultiPass
from dimfree.dataset.real.fitted import fit_once
from dimfree.functions.loss import loss
from dimfree.functions.residual_loss import Huber
from dimfree.gallery.agreement import COLOURS, LINES, MARKS, largest_z
from dimfree.gallery.entry import Claim, Entry
from dimfree.progress import PartWatcher
from dimfree.questions.curves.figure import LOOKS, draw_fits, readable, readable_risk
from dimfree.questions.curves.lines import best_risks
from dimfree.setting import model_of

_LOSSES = ("square", "huber", "absolute")
_SAMPLES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
_FINE = 21  # points of a line
_SIGMAS = 4.0  # standard errors that the largest of six differences may have


class Robust(Entry[xr.Dataset]):
    """Risk against samples per dimension, of every loss at its best ridge and threshold, with and without outliers."""

    name: ClassVar[str] = "robust"
    title: ClassVar[str] = "Robust regression: Huber's loss between square and absolute, with outliers"
    cites: ClassVar[tuple[str, ...]] = ("vilucchio2023",)
    fraction: float = 0.1  # of outliers, in theory
    fitted_fraction: float = 0.1  # the same in the data that are fitted
    samples: tuple[float, ...] = eqx.field(default=_SAMPLES, static=True)
    seed: int = 0

    def problem(self, fraction: float, dimension: int) -> DataSetProblem:
        """A linear teacher with noise, and outliers whose labels do not depend on the teacher."""
        data = LinearTeacher(noise=0.5, outliers=Outliers(fraction=fraction, slope=0.0, variance=20.0))
        return DataSetProblem(dimension=dimension, data=data, training=MultiPass(loss="huber"))

    def measure(self, full: bool, watch: PartWatcher) -> xr.Dataset:
        """Lines of theory, and fits at the numbers that are best in theory."""
        dimension, seeds = (500, 24) if full else (150, 12)
        fine = np.unique([*np.geomspace(self.samples[0], self.samples[-1], _FINE), *self.samples])
        spoiled = _task(_model(self.problem(self.fraction, dimension)))
        clean = _task(_model(self.problem(0.0, dimension)))
        found: dict[str, tuple[str, np.ndarray]] = {}
        fitted = []
        for number, name in enumerate(_LOSSES):
            watch(f"theory of the {name} loss", 0.1 * number)
            best = _best(spoiled, name, fine)
            found[f"{name}"] = ("samples", best.risk)
            found[f"{name}_ridge"] = ("samples", best.lambda_)
            found[f"{name}_clean"] = ("samples", _best(clean, name, fine).risk)
            if best.threshold is not None:
                found["threshold"] = ("samples", best.threshold)
            watch(f"fits of the {name} loss", 0.3 + 0.2 * number)
            fitted.append(self._fits(name, fine, best, dimension, seeds))
        found["bayes"] = ("samples", best_risks(spoiled, fine))
        fits = {"fitted": (("loss", "fits", "seed"), np.array(fitted))}
        return xr.Dataset(found | fits, {"samples": fine, "fits": np.array(self.samples), "loss": list(_LOSSES)})

    def _fits(self, name: str, fine: np.ndarray, best: Best, dimension: int, seeds: int) -> list[list[float]]:
        """The risks of real fits; all losses see the same data."""
        model = _model(self.problem(self.fitted_fraction, dimension))
        rows = []
        for place, (alpha, at) in enumerate(zip(self.samples, np.searchsorted(fine, self.samples), strict=True)):
            ell = loss(name, 1.0 if best.threshold is None else float(best.threshold[at]))
            asked = _task(model).losing(ell).at(jnp.asarray(alpha), jnp.asarray(best.lambda_[at]))
            one = eqx.tree_at(lambda model: model.task, model, asked)
            rows.append([fit_once(one, np.random.default_rng([self.seed, place, r]))["risk"] for r in range(seeds)])
        return rows

    def claims(self, data: xr.Dataset) -> tuple[Claim, ...]:
        """Fits lie on the theory; Bayes is below all, Huber below both others; what outliers cost, and what robustness costs."""
        at = np.searchsorted(data["samples"].values, data["fits"].values)
        risks = {name: data[name].values for name in (*_LOSSES, "bayes")}
        others = np.minimum(risks["square"], risks["absolute"])
        fits = (
            Claim(
                f"{name} fits are off the theory by at most so many standard errors",
                largest_z(data["fitted"].sel(loss=name).values, risks[name][at]),
                0.0,
                _SIGMAS,
            )
            for name in _LOSSES
        )
        huber, price = risks["huber"], data["absolute_clean"].values / data["square_clean"].values
        return (
            *fits,
            Claim("no loss beats Bayes: smallest ratio of errors", float((huber / risks["bayes"]).min()), 1.0, np.inf),
            Claim("Huber is near Bayes: largest ratio of errors", float((huber / risks["bayes"]).max()), 1.0, 1.2),
            Claim(
                "Huber is no worse than square and absolute: largest ratio of errors",
                float((huber / others).max()),
                0.0,
                1 + 1e-6,
            ),
            Claim("square over Huber, at the most samples", float(risks["square"][-1] / huber[-1]), 2.0, np.inf),
            Claim(
                "square over absolute, at the most samples",
                float(risks["square"][-1] / risks["absolute"][-1]),
                1.5,
                np.inf,
            ),
            Claim("without outliers, absolute over square at the most samples", float(price[-1]), 1.45, np.pi / 2),
            Claim(
                "without outliers Huber is the square loss: largest ratio of errors",
                float((data["huber_clean"] / data["square_clean"]).max()),
                1 - 1e-6,
                1 + 1e-6,
            ),
        )

    def draw(self, data: xr.Dataset, figure: Figure) -> None:
        """Errors with outliers, and the price of robustness without them."""
        figure.set_size_inches(9.6, 4.6)
        left, right = figure.subplots(1, 2, width_ratios=(3, 2))
        x, looks = data["samples"].values, zip(_LOSSES, COLOURS, LINES, MARKS, strict=False)
        for name, colour, line, marker in looks:
            label = f"{name}, best ridge{' and threshold' if name == 'huber' else ''}"
            left.plot(x, data[name], line, color=colour, lw=1.6, label=label)
            fitted_by = "SciPy" if name == "huber" else "scikit-learn"
            draw_fits(left, data["fits"].values, data["fitted"].sel(loss=name).values, fitted_by, colour, marker)
            right.plot(x, data[f"{name}_clean"] / data["square_clean"], line, color=colour, lw=1.6, label=name)
        left.plot(x, data["bayes"], label="Bayes-optimal", **LOOKS["bayes"])
        left.set(
            xlabel="samples per dimension",
            ylabel="half the mean square error",
            title=f"with {100 * self.fraction:g} % outliers",
        )
        right.axhline(np.pi / 2, color="grey", lw=0.8, ls=":")
        right.annotate(" π/2", (x[0], np.pi / 2), va="bottom", fontsize=8)
        right.set(xlabel="samples per dimension", ylabel="error over that of the square loss", title="without outliers")
        for axes in (left, right):
            readable(axes, x)
            axes.legend(fontsize=8)
        readable_risk(left)
        right.set_ylim(0.95, 1.65)
        figure.suptitle(self.title, fontsize=11)

    def seconds(self, full: bool) -> float:
        """Half the theory, half the fits."""
        return 300.0 if full else 60.0


def _best(task: Task, name: str, samples: np.ndarray) -> Best:
    """The best ridge, and threshold where the loss has one."""
    asked = task.losing(loss(name))
    return optimal_threshold(asked, samples) if isinstance(asked.loss, Huber) else optimal_ridge(asked, samples)


def _task(model: EndModel) -> Task:
    assert model.task is not None
    return model.task


def _model(problem: DataSetProblem) -> EndModel:
    model = model_of(problem)
    assert isinstance(model, EndModel)
    return model
