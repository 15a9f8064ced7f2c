"""Learning curves of real images: digits seen through ReLU features, and tables of Gaussian rows with the same covariance.

docs/theory/static.md, section c. The theory reads a table: its covariance, and how features and labels go together. On
tables of Gaussian rows it is exact: what it computes from the rows of some tables must agree with fits to fresh rows. The
theory is not given the teacher of these tables. How far real images are from the theory is measured and shown, and not
claimed: ridge regression has the predicted shape, a few per cent off; the error of logistic regression is overestimated,
because no sign of a Gaussian has as strong a linear part as these labels.
"""

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dimfree.dataset.ends.diagnosis import signal
from dimfree.dataset.ends.end_model import EndModel
from dimfree.dataset.ends.source import GaussianSource, Pool
from dimfree.dataset.ends.table import estimated, moments_of
from dimfree.dataset.features import Table
from dimfree.dataset.problem import DataSetProblem, MultiPass
from dimfree.gallery.agreement import mean_and_error
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.perceptron import lines_of
from dimfree.progress import PartWatcher
from dimfree.questions.curves.answer import curve, fits
from dimfree.questions.curves.figure import draw_fits, draw_lines, readable, readable_risk
from dimfree.questions.curves.lines import learned
from dimfree.setting import model_of

_SAMPLES = (0.5, 1.0, 2.0, 4.0, 8.0)
_SIGMAS = 4.0  # combined standard errors that the largest of four differences may have
_ENOUGH = 1.0  # samples per feature from which on 200 features are near the limit: at 0.5 errors are 3 % smaller
_TABLES, _ROWS = 4, 40_000  # of Gaussian rows, from which theory reads what it needs
_SEEN = 0.8  # part of the variance of the Gaussian teacher that is linear in the features


class CovariateRidge(Entry[xr.DataTree]):
    """Ridge regression on digits: only second moments enter."""

    name: ClassVar[str] = "covariate-ridge"
    title: ClassVar[str] = "Ridge regression on digits through ReLU features"
    cites: ClassVar[tuple[str, ...]] = ("loureiro2021", "pedregosa2011")
    loss: ClassVar[str] = "square"
    strength: tuple[float, float] = eqx.field(default=(0.0, np.pi / 2), static=True)  # where R² pi/2 must lie
    seed: int = eqx.field(default=1, static=True)
    moment: float = 1.0  # by which theory mistakes E[z v], z being the field behind the labels

    def problem(self, full: bool) -> DataSetProblem:
        """Even against odd digits."""
        data = Table(activation="relu")
        return DataSetProblem(dimension=200, data=data, training=MultiPass(loss=self.loss, weight_decay=0.1))

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        """Theory and fits: of images, and of Gaussian rows."""
        problem = self.problem(full)
        model = model_of(problem)
        assert isinstance(model, EndModel)
        assert isinstance(model.source, Pool)
        seeds = 40 if full else 10
        found = curve(problem, samples=_SAMPLES, seeds=seeds, watch=watch)
        law = _law(model)
        predictions = [self._read(law, found.samples, np.random.default_rng([self.seed, k])) for k in range(_TABLES)]
        drawn = fits(law, found.samples, seeds, self.seed, watch)["risk"]
        sets = found.datasets()
        at = sets["curve"].assign(
            gaussian=(("samples", "seed"), drawn),
            gaussian_theory=(("samples", "table"), np.stack(predictions, axis=1)),
            strength=signal(model.source),
        )
        return xr.DataTree.from_dict(sets | {"curve": at})

    def _read(self, law: EndModel, samples: Any, rng: np.random.Generator) -> Any:
        """Errors that theory expects of a table, of which it sees rows and labels."""
        assert law.task is not None
        (v, y), _ = law.source.draw(law.task, _ROWS, law.dimension, rng)
        covariates = estimated(Pool(jnp.asarray(v), jnp.asarray(y), False, moments_of(v, y)), law.task.labels)
        mistaken = eqx.tree_at(lambda one: one.phi2, covariates, self.moment**2 * covariates.phi2)
        return learned(eqx.tree_at(lambda one: one.covariates, law.task, mistaken), samples)["risk"]

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """Numbers and shape of the theory; nothing about how near the images are."""
        at = data["curve"].to_dataset()
        theory, images = at["risk"].values, at["fitted_risk"].values.mean(axis=1)
        enough = at.sel(samples=slice(_ENOUGH, None))
        (mean, error), (expected, own) = (
            mean_and_error(enough[name].values) for name in ("gaussian", "gaussian_theory")
        )
        low, high = self.strength
        return (
            Claim(
                "fits of Gaussian rows are off what theory reads from tables of them by at most so many standard errors",
                float(np.max(np.abs(mean - expected) / np.hypot(error, own))),
                0.0,
                _SIGMAS,
            ),
            Claim("the theory falls with samples: largest rise", float(np.diff(theory).max()), -np.inf, 0.0),
            Claim("so does the error on images: largest rise", float(np.diff(images).max()), -np.inf, 0.0),
            Claim("linear part of the labels, R² pi/2", float(at["strength"]), low, high),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Draw one panel, with the gaps in its title."""
        figure.set_size_inches(6.8, 5.4)
        axes, at = figure.subplots(), data["curve"].to_dataset()
        x = at["samples"].values
        draw_lines(axes, {"ridge": lines_of(data)["ridge"]})
        draw_fits(axes, x, at["fitted_risk"].values, "digits")
        gaussian = at["gaussian_theory"].values.mean(axis=1)
        axes.plot(x, gaussian, "--", color="#1b9e77", lw=1.4, label="theory, Gaussian rows with a teacher")
        draw_fits(axes, x, at["gaussian"].values, "Gaussian rows", "#1b9e77", "s")
        off = 100 * (at["fitted_risk"].values.mean(axis=1) / at["risk"].values - 1)
        gaps = f"digits are off the theory by {off.min():+.1f} to {off.max():+.1f} %"
        what = "half the mean square error" if self.loss == "square" else "error"
        axes.set(xlabel="samples per feature", ylabel=f"{what} on the whole table", title=f"{self.title}\n{gaps}")
        readable(axes, x)
        readable_risk(axes)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2, frameon=False)

    def seconds(self, full: bool) -> float:
        """Mostly the theory at the best ridge."""
        return 150.0 if full else 60.0


class CovariateLogistic(CovariateRidge):
    """Logistic regression on digits: the Gaussian teacher is not valid for these labels, and this is seen."""

    name: ClassVar[str] = "covariate-logistic"
    title: ClassVar[str] = "Logistic regression on digits: a Gaussian teacher is not valid for these labels"
    loss: ClassVar[str] = "logistic"
    strength: tuple[float, float] = eqx.field(default=(1.0, np.pi / 2), static=True)


def _law(images: EndModel) -> EndModel:
    """Gaussian rows with the covariance of the images, labelled along the direction that explains the images' labels best."""
    assert isinstance(images.source, Pool)
    found = images.source.moments
    omega = np.asarray(found.omega)
    weights = np.divide(np.asarray(found.along), omega, where=omega > 0, out=np.zeros(len(omega)))
    theta = np.sqrt(len(omega) * _SEEN / (weights**2 @ omega)) * weights
    return eqx.tree_at(lambda one: one.source, images, GaussianSource(found.omega, jnp.asarray(theta), jnp.ones(())))
