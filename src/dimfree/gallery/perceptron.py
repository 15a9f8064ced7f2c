"""The perceptron's learning curves: logistic regression, the best learner, and what Rademacher complexities promise.

docs/theory/static.md, section a: at the best ridge logistic regression is hardly worse than Bayes; both fall like 1/alpha, while
bounds that hold for every classifier are far above.
"""

from typing import ClassVar

import equinox as eqx
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dimfree.dataset.ends.end_model import EndModel
from dimfree.dataset.problem import DataSetProblem, MultiPass, SignTeacher
from dimfree.gallery.agreement import largest_z
from dimfree.gallery.entry import Claim, Entry
from dimfree.progress import PartWatcher
from dimfree.questions.curves.answer import curve, fits
from dimfree.questions.curves.figure import draw_fits, draw_lines, readable, readable_risk
from dimfree.questions.curves.lines import TRAINING, Line
from dimfree.readings.power_laws import power
from dimfree.setting import model_of

_SAMPLES = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
_SIGMAS = 4.0  # standard errors that the largest of seven differences may have


class Perceptron(Entry[xr.DataTree]):
    """Errors against samples per dimension: theory as lines, fits as markers."""

    name: ClassVar[str] = "perceptron"
    title: ClassVar[str] = "The perceptron: logistic regression, Bayes, and Rademacher bounds against samples"
    cites: ClassVar[tuple[str, ...]] = ("aubin2020", "abbara2020", "barbier2019")
    noise: float = 0.0  # on the labels that are fitted; theory knows of none
    samples: tuple[float, ...] = eqx.field(default=_SAMPLES, static=True)

    def problem(self, full: bool) -> DataSetProblem:
        """A sign teacher and the logistic loss."""
        training = MultiPass(loss="logistic", weight_decay=0.01)
        return DataSetProblem(dimension=1000 if full else 200, data=SignTeacher(), training=training)

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        """Measure all lines, and fits on data of their own."""
        problem = self.problem(full)
        found = curve(problem, samples=self.samples, seeds=0, watch=watch)
        model = model_of(problem.replace(**{"data.noise": self.noise}))
        assert isinstance(model, EndModel)
        measured = fits(model, found.samples, 10, problem.run.seed, watch)["risk"]
        sets = found.datasets()
        return xr.DataTree.from_dict(sets | {"curve": sets["curve"].assign(fitted=(("samples", "seed"), measured))})

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """Fits lie on the theory; Bayes is below, hardly; bounds are far above."""
        at, bayes = data["curve"].to_dataset(), lines_of(data)["bayes"]
        fitted, risk = at["fitted"].values, at["risk"].values
        best = at["best_risk"].values / np.exp(
            np.interp(np.log(at["samples"]), np.log(bayes.samples), np.log(bayes.values))
        )
        slope = power(bayes.samples[-8:], bayes.values[-8:])
        bound = lines_of(data)["rademacher-bound"].values[-1]
        return (
            Claim("fits are off the theory by at most so many standard errors", largest_z(fitted, risk), 0.0, _SIGMAS),
            Claim("no ridge beats Bayes: smallest ratio of errors", float(best.min()), 1 - 1e-4, np.inf),
            Claim("the best ridge is near Bayes: largest ratio of errors", float(best.max()), 1.0, 1.01),
            Claim("Bayes falls like 1/samples: slope at the end", float(slope), -1.05, -0.9),
            Claim("the Rademacher bound over the error, at the most samples", float(bound / risk[-1]), 5.0, np.inf),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        figure.set_size_inches(6.8, 4.8)
        axes, at = figure.subplots(), data["curve"].to_dataset()
        draw_lines(axes, lines_of(data))
        draw_fits(axes, at["samples"].values, at["fitted"].values)
        axes.set(xlabel="samples per dimension", ylabel="error on fresh samples", title=self.title)
        readable(axes, at["samples"].values)
        readable_risk(axes)
        axes.legend()

    def seconds(self, full: bool) -> float:
        """Mostly the fits."""
        return 900.0 if full else 45.0


def lines_of(data: xr.DataTree) -> dict[str, Line]:
    """The lines of a stored curve."""
    names = [name for name in data.children if name not in ("curve", TRAINING)]
    return {
        name: Line(str(one.attrs["label"]), one["samples"].values, one["values"].values)
        for name, one in ((name, data[name].to_dataset()) for name in names)
    }
