"""Learning curves of real images: digits seen through ReLU features, and Gaussian features with the same covariances.

docs/theory/static.md, section c. The theory is about Gaussian features: on these its fits must lie. How far real images are
from it is measured and shown, and claimed by nobody: ridge regression has the shape and is off by some per cent; the error of
logistic regression is overestimated, because no sign of a Gaussian has as strong a linear part as these labels.
"""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dimfree.dataset.features import Table
from dimfree.dataset.learning_curves.diagnosis import signal
from dimfree.dataset.learning_curves.model import EndModel
from dimfree.dataset.learning_curves.source import GaussianSource
from dimfree.dataset.problem import DataSetProblem, MultiPass
from dimfree.gallery.agreement import largest_z
from dimfree.gallery.entry import Claim, Entry, Watcher
from dimfree.gallery.perceptron import lines_of
from dimfree.questions.curves.answer import curve, fits
from dimfree.questions.curves.figure import draw_fits, draw_lines, readable, readable_risk
from dimfree.setting import model_of

_SAMPLES = (0.5, 1.0, 2.0, 4.0, 8.0)
_SIGMAS = 4.0  # standard errors that the largest of five differences may have


class CovariateRidge(Entry[xr.DataTree]):
    """Ridge regression on digits: only second moments enter."""

    name: ClassVar[str] = "covariate-ridge"
    title: ClassVar[str] = "Ridge regression on digits through ReLU features"
    cites: ClassVar[tuple[str, ...]] = ("loureiro2021", "pedregosa2011")
    loss: ClassVar[str] = "square"
    strength: tuple[float, float] = eqx.field(default=(0.0, np.pi / 2), static=True)  # where R² pi/2 must lie
    stretch: float = 1.0  # of the Gaussian teacher that is fitted; theory knows of none

    def problem(self, full: bool) -> DataSetProblem:
        """Even against odd digits."""
        data = Table(activation="relu")
        return DataSetProblem(dimension=200, data=data, training=MultiPass(loss=self.loss, weight_decay=0.1))

    def measure(self, full: bool, watch: Watcher) -> xr.DataTree:
        """The theory, fits of images, and fits of Gaussian features with their covariances."""
        problem = self.problem(full)
        model = model_of(problem)
        assert isinstance(model, EndModel)
        seeds = 40 if full else 10
        found = curve(problem, samples=_SAMPLES, seeds=seeds, watch=watch)
        gaussian = fits(_gaussian(model, self.stretch), found.samples, seeds, 1, watch)["risk"]
        sets = found.datasets()
        at = sets["curve"].assign(gaussian=(("samples", "seed"), gaussian), strength=signal(model))
        return xr.DataTree.from_dict(sets | {"curve": at})

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """Numbers and shape of the theory; nothing about how near the images are."""
        at = data["curve"].to_dataset()
        theory, images = at["risk"].values, at["fitted_risk"].values.mean(axis=1)
        low, high = self.strength
        return (
            Claim(
                "Gaussian features are off the theory by at most so many standard errors",
                largest_z(at["gaussian"].values, theory),
                0.0,
                _SIGMAS,
            ),
            Claim("the theory falls with samples: largest rise", float(np.diff(theory).max()), -np.inf, 0.0),
            Claim("so does the error on images: largest rise", float(np.diff(images).max()), -np.inf, 0.0),
            Claim("linear part of the labels, R² pi/2", float(at["strength"]), low, high),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """One panel; the gaps stand over it."""
        figure.set_size_inches(6.8, 4.6)
        axes, at = figure.subplots(), data["curve"].to_dataset()
        x = at["samples"].values
        draw_lines(axes, {"ridge": lines_of(data)["ridge"]})
        draw_fits(axes, x, at["fitted_risk"].values, "digits")
        draw_fits(axes, x, at["gaussian"].values, "Gaussian, same covariances", "#1b9e77")
        off = 100 * (at["fitted_risk"].values.mean(axis=1) / at["risk"].values - 1)
        gaps = f"digits are off the theory by {off.min():+.1f} to {off.max():+.1f} %"
        what = "half the mean square error" if self.loss == "square" else "error"
        axes.set(xlabel="samples per feature", ylabel=f"{what} on the whole table", title=f"{self.title}\n{gaps}")
        readable(axes, x)
        readable_risk(axes)
        axes.legend()

    def seconds(self, full: bool) -> float:
        """Mostly the theory at the best ridge."""
        return 120.0 if full else 45.0


class CovariateLogistic(CovariateRidge):
    """Logistic regression on digits: the Gaussian teacher is not valid for these labels, and this is seen."""

    name: ClassVar[str] = "covariate-logistic"
    title: ClassVar[str] = "Logistic regression on digits: a Gaussian teacher is not valid for these labels"
    loss: ClassVar[str] = "logistic"
    strength: tuple[float, float] = eqx.field(default=(1.0, np.pi / 2), static=True)


def _gaussian(model: EndModel, stretch: float) -> EndModel:
    """The same task with Gaussian features in the eigenbasis of the table's covariance."""
    assert model.task is not None
    cov = model.task.covariates
    omega, phi2 = np.asarray(cov.omega), np.asarray(cov.phi2)
    theta = stretch * np.sqrt(len(omega) * phi2) / np.where(omega > 0, omega, 1.0)
    return eqx.tree_at(lambda one: one.source, model, GaussianSource(cov.omega, jnp.asarray(theta), cov.rho))
