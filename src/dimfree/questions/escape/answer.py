"""What SGD needs to find a target: exponents, leap, largest rate, samples (docs/theory/committee.md, section 7)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import factorial, isfinite, nan, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import xarray as xr

from dimfree.errors import ProblemError
from dimfree.functions.leap import Leap, Terms, coordinate_leap, directions, subspace_leap
from dimfree.gaussian.labels import generative_exponent
from dimfree.gaussian.links import hermite_coefficients
from dimfree.onepass.kinds.teacher.section import MultiIndex, Teacher
from dimfree.onepass.model import teacher_model
from dimfree.onepass.problem import OnePassProblem
from dimfree.problem import Problem
from dimfree.questions.answer import Answer
from dimfree.questions.escape.link import link_of, one_function, shared_exponent
from dimfree.questions.escape.question import QUESTION
from dimfree.questions.escape.single import admissible_rate, is_single, predicted_time, shrinks
from dimfree.questions.exit_times.event import check_threshold

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Expansion = tuple[tuple[tuple[int, ...], ...], tuple[float, ...]]
_UNBOUNDED = "unbounded"  # what is reported where no number of samples is enough
_NOTHING = 1e-7  # share of the norm below which a component of the activation counts as zero
_HIGHEST = 8  # degree up to which a teacher's link is expanded for its leap


@dataclass(frozen=True, eq=False, repr=False)
class SampleComplexity(Answer[OnePassProblem]):
    """What SGD needs to find the directions of a target."""

    exponent: int  # information exponent: lowest degree that target and activation share
    generative: int | None  # generative exponent, of the best function of the labels; None for several directions
    leap: int
    subspace_leap: int
    admissible_rate: (
        float | None
    )  # the largest rate at which m = d^(-1/2) grows; None without such a rate, or off the sphere, or beyond width 1
    order: str  # how the samples grow with the dimension, from the degrees that activation and target share
    samples: float | None  # predicted by the ODE at this rate from m = d^(-1/2); infinite if it never escapes
    reason: str | None = None  # why no number of samples is enough

    def said(self) -> Iterator[str]:
        """One line per number."""
        yield f"information exponent   {self.exponent}"
        if self.generative is not None:
            yield f"generative exponent    {self.generative}"
        yield f"leap of the target     {self.leap} by coordinates, {self.subspace_leap} by subspaces"
        yield f"samples                {self.order}"
        if self.admissible_rate is not None:
            yield f"learning rate below    {self.admissible_rate:.4g} for the overlap to grow from d^(-1/2)"
        if self.samples is not None and isfinite(self.samples):
            yield f"predicted samples      {self.samples:.3g} at this learning rate and dimension"
        elif self.samples is not None:
            yield f"predicted samples      none: it does not leave before run.until = {self.problem.run.until:g}"
        if self.reason:
            yield f"No number of samples is enough: {self.reason}."

    def values(self) -> dict[str, object]:
        """The numbers."""
        return {
            "exponent": self.exponent,
            "generative_exponent": self.generative,
            "leap": self.leap,
            "subspace_leap": self.subspace_leap,
            "admissible_rate": self.admissible_rate,
            "order": self.order,
            "reason": self.reason,
            "samples": self.samples,
        }

    def datasets(self) -> dict[str, xr.Dataset]:
        """The numbers as variables; nan where there is no prediction."""
        numbers = {
            "exponent": self.exponent,
            "generative_exponent": nan if self.generative is None else self.generative,
            "leap": self.leap,
            "subspace_leap": self.subspace_leap,
            "admissible_rate": nan if self.admissible_rate is None else self.admissible_rate,
            "samples": nan if self.samples is None else self.samples,
        }
        return {"complexity": xr.Dataset(numbers, attrs={"order": self.order})}

    def draw(self, figure: "Figure") -> None:
        """Draw how much of the label's and of the activation's variance lies at every Hermite degree."""
        from dimfree.questions.escape.figure import draw_degrees

        draw_degrees(self, figure)


def sample_complexity(problem: Problem | str | Path | None = None, threshold: float = 0.5) -> SampleComplexity:
    """Exponents, leaps, admissible rate and predicted samples of a target at this dimension.

    Arguments:
        problem: a Problem, or the path of a TOML file; without it, the embedded problem
        threshold: the share of the initial risk that must be lost for a direction to count as found

        print(df.sample_complexity(df.Problem(data=df.MultiIndex(link="staircase-3"))).summary())
    """
    chosen = QUESTION.settled(problem)
    check_threshold(threshold)
    terms, coefficients = expansion(chosen)
    single = is_single(chosen)
    shown = _shown(chosen, terms, coefficients)
    reason = (shrinks(chosen) if single else None) or shown.hidden
    return SampleComplexity(
        chosen,
        shown.exponent,
        generative_exponent(link_of(chosen)) if chosen.data.units == 1 else None,
        coordinate_leap(terms, coefficients).leap,
        subspace_leap(terms, coefficients).leap,
        admissible_rate(chosen) if single and reason is None else None,
        _UNBOUNDED if reason else _order(shown.leap),
        predicted_time(chosen, threshold) * chosen.dimension / chosen.training.learning_rate if single else None,
        reason,
    )


class _Shown(NamedTuple):
    """The part of a target that an activation can learn: degrees that the activation lacks do not appear in its gradient."""

    exponent: int  # the lowest degree
    leap: Leap
    hidden: str | None  # why some directions can never be found


def _shown(problem: OnePassProblem, terms: Terms, coefficients: Sequence[float]) -> _Shown:
    """For one direction the lowest shared degree decides; for several, the subspace leap of all terms of shared degrees."""
    if problem.data.units == 1:
        exponent = shared_exponent(problem)
        return _Shown(exponent, Leap(exponent, (exponent,)), None)
    own = hermite_coefficients(problem.network.activation, max(map(sum, terms)) + 1)
    offsets = teacher_model(problem).offsets
    seen = {
        term: weight
        for term, weight in zip(terms, coefficients, strict=True)
        if offsets or abs(own[sum(term)]) > _NOTHING * np.linalg.norm(own)
    }
    if not any(map(sum, seen)):
        raise ProblemError(
            f"target and activation share no Hermite component up to degree {max(map(sum, terms))}, so that SGD cannot "
            "find its directions; choose another target or activation."
        )
    there, found = directions(terms, coefficients), directions(tuple(seen), tuple(seen.values()))
    hidden = f"the activation shows {found} of {there} directions" if found < there else None
    exponent = min(sum(term) for term in seen if sum(term))
    return _Shown(exponent, subspace_leap(tuple(seen), tuple(seen.values())), hidden)


def _order(found: Leap) -> str:
    """How the samples grow with the dimension, up to logarithms beyond leap 2."""
    return "d log d" if found.leap == 2 else f"d^{found.sample_exponent}"


def expansion(problem: OnePassProblem) -> Expansion:
    """The target in Hermite products of orthonormal directions."""
    data = problem.data
    if isinstance(data, MultiIndex):
        return data.expansion
    assert isinstance(data, Teacher), "the question is about teachers and multi-index targets only"
    if (problem.teacher_overlap != np.eye(data.units)).any():
        raise ProblemError("the teacher's directions overlap; leaps are defined for orthonormal directions.")
    c = hermite_coefficients(one_function(data), _HIGHEST + 1)
    weights = np.broadcast_to(np.asarray(data.second_layer, dtype=float), (data.units,))
    found = {
        tuple(degree * (s == r) for s in range(data.units)): weights[r] * c[degree] / sqrt(factorial(degree))
        for r in range(data.units)
        for degree in range(1, _HIGHEST + 1)
        if abs(c[degree]) > 1e-9
    }
    return tuple(found), tuple(found.values())
