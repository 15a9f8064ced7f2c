"""Learning curves: the error against samples per dimension, in theory and from real learners on drawn or real data.

docs/theory/static.md. For a table of real samples the theory is that of Gaussian features with the table's covariances;
how far it is from real learners is reported, and need not be small.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Float
from rich.table import Table as TextTable

from dimfree.dataset.ends.diagnosis import misfits, remarks
from dimfree.dataset.ends.end_model import EndModel
from dimfree.dataset.ends.optimal_ridge import Best, optimal_ridge
from dimfree.dataset.ends.optimal_threshold import optimal_threshold
from dimfree.dataset.ends.source import Pool
from dimfree.dataset.ends.table import width_of
from dimfree.dataset.features import Table
from dimfree.dataset.problem import DataSetProblem
from dimfree.dataset.real.fitted import Fitted, fit_once
from dimfree.errors import ProblemError, RefusalError
from dimfree.functions.loss import loss
from dimfree.functions.residual_loss import Huber
from dimfree.machine import duration
from dimfree.problem import Problem
from dimfree.progress import PartWatcher, nobody
from dimfree.questions.answer import Answer
from dimfree.questions.curves.lines import Line, learned, lines
from dimfree.questions.curves.own_table import LEARNERS, Learner, advice
from dimfree.questions.curves.question import QUESTION
from dimfree.setting import model_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Numbers = Float[np.ndarray, " n"]
_MOST = 1000  # points of a curve; the theory is solved at all of them together
SEEN = ("risk", "train_loss")
_LARGEST = 8.0  # samples per dimension, unless the table has fewer


@dataclass(frozen=True, eq=False, repr=False)
class Curve(Answer[DataSetProblem]):
    """Theories as lines; and at the requested numbers of samples, the theory for the given ridge beside fits."""

    samples: Numbers
    lines: dict[str, Line]
    theory: dict[str, Numbers]  # by SEEN
    best: Best
    measured: dict[str, Float[np.ndarray, "n seeds"]]  # by the names in SEEN; empty without fits
    remarks: tuple[str, ...]
    advice: str = ""  # about the ridge of a table; empty for data that are drawn

    @property
    def is_real(self) -> bool:
        """Whether the samples are those of a table."""
        return isinstance(self.problem.data, Table)

    def error_bars(self, name: str) -> tuple[Numbers, Numbers]:
        """Mean over the data sets and its standard error."""
        values = self.measured[name]
        count = values.shape[1]
        return values.mean(axis=1), values.std(axis=1, ddof=1) / np.sqrt(count) if count > 1 else np.full(
            len(values), np.nan
        )

    def z_scores(self, name: str = "risk") -> Numbers:
        """How many standard errors the fits lie above the theory."""
        mean, error = self.error_bars(name)
        return (mean - self.theory[name]) / error

    def said(self) -> Iterator[TextTable | str]:
        """The best ridge (for a user's table), a row per number of samples, then remarks."""
        p = self.problem
        if self.advice:
            yield self.advice
        table = TextTable(title=f"Learning curve: {p.data.kind}, {p.training.loss} loss, dimension {p.dimension}")
        learner = LEARNERS.get(p.training.loss) if self.is_real else None
        best = ("ridge*" if learner is None else f"{learner.argument}*", *self._threshold("thr*"), "error*")
        counted = ("rows", "samples") if self.is_real else ("samples",)
        apart = (
            ("off by",) if self.is_real else ("off by", "z")
        )  # for a user's table the theory itself is inexact, so that standard errors say little
        for heading in (*counted, *best, "theory", "fitted", *apart, "train", "fitted"):
            table.add_column(heading, justify="right")
        for number in range(len(self.samples)):
            table.add_row(*self._row(number, learner))
        yield table
        meaning = f"{best[0]} is the best ridge in theory, error* what it reaches"
        if self.best.threshold is not None:
            meaning = f"{best[0]} and {best[1]} are the best ridge and threshold in theory, error* what they reach"
        yield (
            f"Samples are per dimension; {meaning}; theory, fitted and train "
            f"(the loss on the data set) are for {self._own}."
        )
        yield from self.remarks

    def _threshold(self, said: str) -> tuple[str, ...]:
        """Words about the threshold, where the loss has one."""
        return () if self.best.threshold is None else (said,)

    @property
    def _own(self) -> str:
        """The ridge of the problem, and its threshold if the loss has one, in words."""
        training = self.problem.training
        return " and ".join([f"ridge {training.weight_decay:g}", *self._threshold(f"threshold {training.threshold:g}")])

    def _rows(self, number: int) -> int:
        return round(self.samples[number] * self.problem.dimension)

    def _row(self, number: int, learner: Learner | None) -> tuple[str, ...]:
        counted = (*([str(self._rows(number))] if self.is_real else []), f"{self.samples[number]:.3g}")
        ridge = float(self.best.lambda_[number])
        best = ridge if learner is None else learner.number(self.problem, ridge)
        shown: dict[str, tuple[str, ...]] = dict.fromkeys(SEEN, ("", "") if self.is_real else ("", "", ""))
        for name in self.measured:
            mean, error = (one[number] for one in self.error_bars(name))
            theory = self.theory[name][number]
            z = () if self.is_real else (f"{(mean - theory) / error:+.1f}",)
            shown[name] = (_with_error(mean, error), f"{100 * (mean / theory - 1):+.1f} %", *z)
        theory = {name: f"{values[number]:.4f}" for name, values in self.theory.items()}
        threshold = () if self.best.threshold is None else (f"{self.best.threshold[number]:.3g}",)
        errors = (f"{best:.3g}", *threshold, f"{self.best.risk[number]:.4f}", theory["risk"], *shown["risk"])
        return (*counted, *errors, theory["train_loss"], shown["train_loss"][0].split("(")[0])

    def values(self) -> dict[str, object]:
        """Numbers at the requested samples, and every line."""
        found: dict[str, object] = {
            "samples": self.samples,
            "theory": self.theory,
            "best_ridge": self.best.lambda_,
            "best_risk": self.best.risk,
            "lines": {
                name: {"label": one.label, "samples": one.samples, "values": one.values}
                for name, one in self.lines.items()
            },
            "advice": self.advice,
            "remarks": list(self.remarks),
        }
        if self.best.threshold is not None:
            found["best_threshold"] = self.best.threshold
        for name in self.measured:
            mean, error = self.error_bars(name)
            found[f"fitted_{name}"] = {"mean": mean, "error": error, "z": self.z_scores(name)}
        return found

    def datasets(self) -> dict[str, xr.Dataset]:
        """The requested numbers of samples, and one dataset per line."""
        at = {name: ("samples", values) for name, values in self.theory.items()}
        at |= {"best_ridge": ("samples", self.best.lambda_), "best_risk": ("samples", self.best.risk)}
        if self.best.threshold is not None:
            at["best_threshold"] = ("samples", self.best.threshold)
        fits = {f"fitted_{name}": (("samples", "seed"), values) for name, values in self.measured.items()}
        found = {"curve": xr.Dataset(at | fits, {"samples": self.samples})}
        for name, one in self.lines.items():
            found[name] = xr.Dataset(
                {"values": ("samples", one.values)}, {"samples": one.samples}, {"label": one.label}
            )
        return found

    def draw(self, figure: "Figure") -> None:
        """Error and training loss against samples."""
        from dimfree.questions.curves.figure import draw_curve

        draw_curve(self, figure)


def curve(
    problem: Problem | str | Path | None = None,
    *,
    samples: Sequence[float] | None = None,
    smallest: float = 0.5,
    largest: float | None = None,
    points: int = 8,
    seeds: int = 8,
    features: str | None = None,
    labels: str | None = None,
    width: int | None = None,
    seed: int | None = None,
    budget: float = 300.0,
    watch: PartWatcher = nobody,
) -> Curve:
    """The learning curve of a problem's loss and weight decay, over samples per dimension.

    Arguments:
        problem: a teacher, covariates, random features or a table, or the path of a TOML file; its own number
            of samples is not used
        samples: numbers of samples per dimension
        smallest, largest, points: without `samples`: that many numbers in this range; for a table it ends at
            all of its rows, or at as many as the budget has time for
        seeds: number of data sets for each number of samples
        features, labels: files of your own table, or features="digits"
        width: learn from this many random ReLU features of the columns
        seed: instead of the problem's own
        budget: seconds that all fits may take together
        watch: called with the name of what runs and the share of all work that is done

        print(df.curve(samples=[1, 2, 4], seeds=4).summary())
    """
    chosen = _tabled(QUESTION.settled(problem, seed), features, labels, width)
    if samples is not None or largest is not None:
        _asked(samples, smallest, largest or _LARGEST, points)
    model = model_of(chosen)
    assert isinstance(model, EndModel)
    if model.task is None:
        raise RefusalError("no theory says where training on the sphere ends; set training.spherical = false.")
    why_no_fits = Fitted().refuses(chosen, model)
    fitted = 0 if why_no_fits else seeds
    asked = _asked(samples, smallest, largest or _most(model, smallest), points)
    if samples is None and largest is None and isinstance(model.source, Pool):
        while asked[-1] > max(_LARGEST, smallest) and _price(chosen, model, asked, fitted) > budget:
            asked = _asked(None, smallest, max(asked[-1] / 2, _LARGEST), points)
    _within(budget, chosen, model, asked, fitted)
    watch("theory", 0.0)
    theory = learned(model.task, asked)
    best = (optimal_threshold if isinstance(model.task.loss, Huber) else optimal_ridge)(model.task, asked)
    known = lines(model, asked, best)
    measured = {} if why_no_fits or not seeds else fits(model, asked, seeds, chosen.run.seed, watch)
    said = (*remarks(model), *misfits(model), *([f"No fits: {why_no_fits}"] if why_no_fits and seeds else []))
    first = advice(chosen, model, asked[-1], best, float(theory["risk"][-1])) if isinstance(model.source, Pool) else ""
    watch("done", 1.0)
    return Curve(chosen, asked, known, {name: theory[name] for name in SEEN}, best, measured, said, first)


def _most(model: EndModel, smallest: float) -> float:
    """The default for the largest number of samples per dimension: all rows of a table."""
    rows = len(model.source.y) / model.dimension if isinstance(model.source, Pool) else _LARGEST
    return max(rows, smallest)


def _asked(samples: Sequence[float] | None, smallest: float, largest: float, points: int) -> Numbers:
    if samples is None and not 0 < smallest <= largest < np.inf:
        raise ProblemError(f"samples from {smallest:g} to {largest:g} are not a range; give 0 < smallest <= largest.")
    if points > _MOST or (samples is not None and len(samples) > _MOST):
        raise ProblemError(f"a curve has at most {_MOST} points; give fewer.")
    asked = np.geomspace(smallest, largest, points) if samples is None else np.asarray(samples, dtype=float)
    if asked.ndim != 1 or not len(asked) or not (asked > 0).all() or not np.isfinite(asked).all():
        raise ProblemError(f"samples = {samples} are not positive numbers of samples per dimension; give at least one.")
    return np.unique(asked)


def _tabled(problem: DataSetProblem, features: str | None, labels: str | None, width: int | None) -> DataSetProblem:
    """The problem with the given table as its data."""
    if features is None:
        if labels is not None or width is not None:
            raise ProblemError("labels and width belong to a table; name its features, too.")
        return problem
    data = Table(
        features=Path(features), labels=None if labels is None else Path(labels), activation="relu" if width else None
    )
    dimension = width or width_of(data, loss(problem.training.loss, problem.training.width).of_residual)
    return DataSetProblem(dimension=dimension, data=data, training=problem.training, run=problem.run)


def _price(problem: DataSetProblem, model: EndModel, samples: Numbers, seeds: int) -> float:
    """Seconds of all fits."""
    each = problem.replace(**{"run.replicas": max(seeds, 1)})
    return sum(Fitted().cost(each, _at(model, alpha)).seconds for alpha in samples) if seeds else 0.0


def _within(budget: float, problem: DataSetProblem, model: EndModel, samples: Numbers, seeds: int) -> None:
    price = _price(problem, model, samples, seeds)
    if price > budget:
        raise RefusalError(
            f"{seeds} fits at each of {len(samples)} numbers of samples would take about {duration(price)}, more than the "
            f"budget of {duration(budget)}; raise the budget, or lower dimension, largest, points or seeds."
        )


def _at(model: EndModel, alpha: float) -> EndModel:
    return eqx.tree_at(lambda one: one.task.alpha, model, jnp.asarray(alpha, dtype=float))


def fits(
    model: EndModel, samples: Numbers, seeds: int, seed: int, watch: PartWatcher
) -> dict[str, Float[np.ndarray, "n seeds"]]:
    """Fit real learners; fit number r at a number of samples depends only on the seed, on the place of that number, and on r."""
    found: dict[str, list[list[float]]] = {name: [] for name in SEEN}
    work = samples / samples.sum()
    for place, alpha in enumerate(samples):
        watch(f"{alpha:.3g} samples per dimension", float(work[:place].sum()))
        done = [fit_once(_at(model, alpha), np.random.default_rng([seed, place, r])) for r in range(seeds)]
        for name in SEEN:
            found[name].append([fit[name] for fit in done])
    return {name: np.array(rows) for name, rows in found.items()}


def _with_error(mean: float, error: float) -> str:
    """As 0.0850(11): four digits after the point, and the error in units of the last digit."""
    return f"{mean:.4f}({max(1, round(1e4 * error))})" if np.isfinite(error) else f"{mean:.4f}"
