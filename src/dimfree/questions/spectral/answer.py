"""Estimators that preprocess labels, beside SGD: their thresholds and overlaps, predicted and measured.

docs/theory/spectral.md. The information exponent of a link decides how many samples SGD needs, the generative exponent
how many are needed at all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Float
from rich.table import Table

from dimfree.errors import ProblemError, RefusalError
from dimfree.gaussian.labels import generative_exponent
from dimfree.gaussian.level_sets import level_sets
from dimfree.gaussian.links import information_exponent
from dimfree.gaussian.preprocessing import Preprocessing
from dimfree.machine import duration
from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.problem import OnePassProblem
from dimfree.problem import Problem
from dimfree.problem.activation import Written
from dimfree.progress import PartWatcher, nobody
from dimfree.questions.answer import Answer
from dimfree.questions.escape.link import label_of
from dimfree.questions.spectral.descent import Descent, descent
from dimfree.questions.spectral.estimators import Estimator, estimators
from dimfree.questions.spectral.experiment import LARGEST, Target, measured_overlaps, seconds
from dimfree.questions.spectral.question import QUESTION

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SAMPLES = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 8.0)
_POINTS = 60  # points of a line in the figure
_SEES = {
    1: "a vector of preprocessed labels shows the direction",
    2: "a matrix of preprocessed labels shows the direction",
}


class Outcome(NamedTuple):
    """One estimator: its threshold, the samples for a squared overlap of 1/2, overlaps by theory and experiment."""

    name: str
    threshold: float  # samples per dimension; infinite: never
    half: float  # samples per dimension for a squared overlap of 1/2
    predicted: Float[np.ndarray, " sample"]
    measured: Float[np.ndarray, "sample seed"]
    curve: Float[np.ndarray, "2 point"]  # samples per dimension and predicted overlaps, finely

    @property
    def error(self) -> Float[np.ndarray, " sample"]:
        """The standard error of the measured mean; nan with fewer than two seeds."""
        seeds = self.measured.shape[1]
        return self.measured.std(axis=1, ddof=1) / np.sqrt(seeds) if seeds > 1 else np.full(len(self.predicted), np.nan)


@dataclass(frozen=True, eq=False, repr=False)
class Spectral(Answer[OnePassProblem]):
    """Exponents, estimators, and the samples that SGD needs."""

    information: int
    generative: int
    samples: Float[np.ndarray, " sample"]  # per dimension
    outcomes: tuple[Outcome, ...]
    sgd: Descent | str  # or a sentence that says why there is no count

    def said(self) -> Iterator[Table | str]:
        """Exponents, SGD, thresholds; then overlaps, a row per number of samples."""
        d = self.problem.dimension
        yield f"information exponent   {self.information}"
        seen = _SEES.get(
            self.generative, "no vector or matrix of preprocessed labels shows the direction in O(d) samples"
        )
        yield f"generative exponent    {self.generative}: {seen}"
        if isinstance(self.sgd, str):
            yield f"SGD                    no count: {self.sgd}"
        else:
            yield (
                f"SGD                    {self.sgd.order} samples; by its ODE {self.sgd.samples:.3g} d to lose half of the risk, "
                f"at dimension {d} and learning rate {self.sgd.learning_rate:.2g}, half of the largest"
            )
        for one in self.outcomes:
            yield f"{one.name:<22} {_in_words(one)}"
        if self.outcomes:
            yield self._table()

    def _table(self) -> Table:
        seeds = self.outcomes[0].measured.shape[1]
        averaged = f", mean of {seeds} with standard error" if seeds > 1 else ""
        table = Table(title=f"Squared overlap with the direction, dimension {self.problem.dimension}{averaged}")
        table.add_column("samples/d", justify="right")
        for one in self.outcomes:
            table.add_column(f"{one.name}: theory", justify="right")
            if seeds:
                table.add_column("experiment", justify="right")
        for number, alpha in enumerate(self.samples):
            cells = [cell for one in self.outcomes for cell in _cells(one, number)]
            table.add_row(f"{alpha:.4g}", *cells)
        return table

    def values(self) -> dict[str, object]:
        """Everything."""
        return {
            "information_exponent": self.information,
            "generative_exponent": self.generative,
            "samples": self.samples,
            "sgd": self.sgd,
            "estimators": {
                one.name: {
                    "threshold": one.threshold,
                    "half": one.half,
                    "predicted": one.predicted,
                    "measured": one.measured,
                    "standard_error": one.error,
                }
                for one in self.outcomes
            },
        }

    def datasets(self) -> dict[str, xr.Dataset]:
        """One dataset for exponents and SGD, and one for each estimator."""
        sgd = {} if isinstance(self.sgd, str) else {f"sgd_{name}": x for name, x in self.sgd._asdict().items()}
        exponents = xr.Dataset({"information_exponent": self.information, "generative_exponent": self.generative} | sgd)
        return {"exponents": exponents} | {
            one.name.replace(" ", "-"): xr.Dataset(
                {
                    "predicted": ("samples", one.predicted),
                    "measured": (("samples", "seed"), one.measured),
                    "threshold": one.threshold,
                    "half": one.half,
                    "curve": ("finely", one.curve[1]),
                },
                {"samples": self.samples, "finely": one.curve[0]},
            )
            for one in self.outcomes
        }

    def draw(self, figure: "Figure") -> None:
        """Overlaps against samples, with thresholds and SGD."""
        from dimfree.questions.spectral.figure import draw_overlaps

        draw_overlaps(self, figure)


def spectral(
    problem: Problem | str | Path | None = None,
    *,
    link: Written | None = None,
    samples: Sequence[float] | str | None = None,
    preprocessing: Preprocessing | None = None,
    seeds: int = 8,
    seed: int | None = None,
    budget: float = 120.0,
    watch: PartWatcher = nobody,
) -> Spectral:
    """Compare estimators that preprocess labels on a target of one direction, and count the samples that SGD needs.

    Arguments:
        problem: a Problem with one direction, or the path of a TOML file; without it, the one of
            docs/spectral.md
        link: the link to use instead, for the teacher and its student
        samples: numbers of samples per dimension, as a list or as text such as "0.5,1,2"
        preprocessing: a jax.numpy function of the label to try beside the best one
        seeds: number of experiments
        seed: instead of the problem's own
        budget: CPU seconds that the experiments may take together
        watch: called with the name of what runs and the share of all work that is done

        print(df.spectral(link="he4", samples=[1, 2], seeds=2).summary())
    """
    chosen, alphas = _chosen(problem, link, seed), _samples(samples)
    label, noise, d = label_of(chosen), chosen.data.noise, chosen.dimension
    generative = generative_exponent(label)
    found = estimators(label, noise, preprocessing)
    count = seeds if found else 0
    counts = [max(1, round(alpha * d)) for alpha in alphas]
    _check_cost(d, seconds(d, counts, sum(not one.linear for one in found), count), budget, count)
    runs = [(chosen.run.seed, number) for number in range(count)]
    target = Target(level_sets(label).value, noise, d)
    measured = measured_overlaps(target, found, counts, runs, watch)
    outcomes = tuple(
        Outcome(
            one.name,
            one.threshold,
            one.samples_for(0.5),
            np.array([one.overlap(count / d) for count in counts]),
            overlaps,
            _curve(one, alphas),
        )
        for one, overlaps in zip(found, measured, strict=True)
    )
    return Spectral(chosen, information_exponent(label), generative, np.array(alphas), outcomes, _sgd(chosen))


def _chosen(problem: Problem | str | Path | None, link: Written | None, seed: int | None) -> OnePassProblem:
    """The problem with this link and seed; refuses several directions."""
    chosen = QUESTION.settled(problem, seed)
    if link is not None:
        same = Teacher(units=1, activation=link, noise=chosen.data.noise)
        chosen = chosen.replace(data=same, **{"network.activation": link})
    if chosen.data.units != 1:
        raise ProblemError(
            f"the target has {chosen.data.units} directions; thresholds and overlaps are for one, so set data.units = 1."
        )
    return chosen


def _samples(given: Sequence[float] | str | None) -> tuple[float, ...]:
    """Samples per dimension in increasing order."""
    parts = _SAMPLES if given is None else given.split(",") if isinstance(given, str) else given
    try:
        found = tuple(sorted({float(part) for part in parts}))
    except (TypeError, ValueError):
        raise ProblemError(
            f"samples = {given!r} are not numbers; give samples per dimension such as '0.5,1,2'."
        ) from None
    if not found or not all(0 < alpha < inf for alpha in found):
        raise ProblemError(f"samples = {given!r} were given; samples per dimension must be positive numbers.")
    return found


def _check_cost(dimension: int, price: float, budget: float, seeds: int) -> None:
    if seeds and dimension > LARGEST:
        raise RefusalError(
            f"dimension {dimension} is too large for a dense eigensolver; lower it to {LARGEST}, or ask for the theory alone "
            "with seeds = 0."
        )
    if price > budget:
        raise RefusalError(
            f"{seeds} experiments would take about {duration(price)}, more than the budget of {duration(budget)}; raise "
            "the budget, or lower dimension, samples or seeds."
        )


def _curve(one: Estimator, alphas: Sequence[float]) -> Float[np.ndarray, "2 point"]:
    """The theory on a fine axis, with its threshold on it."""
    axis = np.geomspace(alphas[0], alphas[-1], _POINTS)
    axis = np.sort(np.append(axis, np.clip(one.threshold, axis[0], axis[-1])))
    return np.stack([axis, [one.overlap(float(alpha)) for alpha in axis]])


def _sgd(problem: OnePassProblem) -> Descent | str:
    try:
        return descent(problem)
    except ProblemError as reason:
        return str(reason)


def _in_words(one: Outcome) -> str:
    if one.threshold == inf:
        return "never sees the direction"
    begins = (
        f"sees the direction from {one.threshold:.4g} d samples on" if one.threshold else "sees the direction at once"
    )
    return begins + (f", squared overlap 1/2 at {one.half:.4g} d" if one.half < inf else "")


def _cells(one: Outcome, number: int) -> list[str]:
    seeds = one.measured.shape[1]
    error = f" ± {one.error[number]:.2g}" if seeds > 1 else ""
    return [f"{one.predicted[number]:.4f}", *([f"{one.measured[number].mean():.4f}{error}"] if seeds else [])]
