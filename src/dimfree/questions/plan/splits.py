"""One way to part the rows: 60 % to learn from, 20 % to choose by, 20 % to be measured on at the very end.

What the rows then amount to is an ordinary problem with files: rows and true labels, of which the last are held out, and a
teacher fitted to the labels (docs/theory/structured.md, section 3).
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from dimfree.errors import ProblemError
from dimfree.onepass.inputs.covariance import Features
from dimfree.onepass.inputs.spectrum import Spectrum, dimension_of, spectrum
from dimfree.onepass.problem import OnePassProblem
from dimfree.problem import Problem
from dimfree.questions.plan.columns import Columns
from dimfree.questions.plan.table import Table
from dimfree.questions.plan.teacher import LOGISTIC, SQUARES, Fit, Halves, Measure, Teacher
from dimfree.temporary_arrays import array_file

_LEARNT, _CHOSEN_BY = 0.6, 0.2

Rows = Float[np.ndarray, "_ _"]
Places = Int[np.ndarray, " _"]


@dataclass(frozen=True)
class Split:
    """Rows by what they are for, and their moments."""

    table: Table
    columns: Columns
    learnt: Places
    chosen_by: Places
    measured_on: Places

    def rows(self, places: Places) -> Rows:
        """Columns that vary, as they were given."""
        return self.table.X[np.ix_(places, self.columns.varies)]

    def covariance(self, *held: Places) -> Features:
        """Rows to learn from, then those held out."""
        places = np.concatenate([self.learnt, *held])
        return Features(
            file=array_file(self.rows(places)),
            labels=array_file(self.table.y[places]),
            scale=self.columns.scale,
            held_out=len(places) - len(self.learnt),
        )

    def spectrum(self) -> Spectrum:
        """That of the rows to learn from; the others are held out."""
        given = self.covariance(self.chosen_by, self.measured_on)
        return spectrum(given, dimension_of(given) or 0)

    def halves(self, measure: Measure = SQUARES) -> tuple[Halves, Halves]:
        """In the eigenbasis: rows to learn from beside those to choose by, and beside those that are measured on.

        Labels have mean 0 and variance 1, or are the classes -1 and +1.
        """
        pool = self.spectrum().pool
        assert pool is not None
        assert pool.held is not None
        assert pool.labels is not None
        assert pool.held.labels is not None
        count = len(self.chosen_by)
        rows = pool.held.rows
        y, labels = (pool.classes, pool.held.classes) if measure is LOGISTIC else (pool.labels, pool.held.labels)
        assert y is not None
        assert labels is not None
        one, other = (Halves(pool.rows, y, rows[at], labels[at], measure) for at in (slice(count), slice(count, None)))
        return one, other

    def problem(self, base: OnePassProblem, fit: Fit, *, final: bool) -> OnePassProblem:
        """The problem of the fitted teacher; its risk is measured on the rows to choose by, or finally on the last ones."""
        given, teacher, found = (
            self.covariance(self.measured_on if final else self.chosen_by),
            fit.teacher,
            self.spectrum(),
        )
        words = tuple("linear" if one else "erf" for one in teacher.straight)
        overlap = (teacher.w * found.coordinates) @ teacher.w.T / found.dimension
        data = {
            "kind": "teacher",
            "units": teacher.units,
            "activation": words[0] if len({*words}) == 1 else words,
            "bias": tuple(teacher.b.tolist()) if teacher.b.any() else (),
            "constant": teacher.c,
            "second_layer": tuple(teacher.a.tolist()),
            "scaling": "sum",
            "overlap": tuple(map(tuple, ((overlap + overlap.T) / 2).tolist())),
            "noise": fit.noise,
            **({"labels": "logistic"} if base.training.needs_signs else {}),
            "covariance": given.model_dump(),
            "directions": {"file": array_file(in_columns(teacher, found))},
        }
        made = Problem(data=data, network=base.network, training=base.training, start=base.start, run=base.run)
        assert isinstance(made, OnePassProblem)
        return made


def in_columns(teacher: Teacher, found: Spectrum) -> Float[np.ndarray, "k d"]:
    """The teacher's weights for the columns of the table, scaled as the covariance says."""
    return teacher.w @ np.asarray(found.basis).T


def splits(table: Table, columns: Columns, count: int, seed: int) -> list[Split]:
    """So many ways to part the rows; of classes every part has its share."""
    found = []
    for number in range(count):
        order = _order(table, np.random.default_rng([seed, number]))
        first, second = round(_LEARNT * len(order)), round((_LEARNT + _CHOSEN_BY) * len(order))
        parts = (order[:first], order[first:second], order[second:])
        if table.classes is not None and any(np.ptp(table.y[part]) == 0 for part in parts):
            raise ProblemError(
                f"there are too few rows of class {table.classes[1] if np.mean(table.y) < 0 else table.classes[0]} to have some "
                "among those that are learned from, chosen by and measured on; give more of them."
            )
        found.append(Split(table, columns, *parts))
    return found


def _order(table: Table, chance: np.random.Generator) -> Places:
    """All rows in random order; of classes each is spread evenly."""
    order = chance.permutation(len(table.y))
    if table.classes is None:
        return order
    place = np.empty(len(order))
    for sign in (-1.0, 1.0):
        mine = table.y[order] == sign
        place[mine] = (np.arange(mine.sum()) + 0.5) / mine.sum()
    return order[np.argsort(place, kind="stable")]


def kept(problem: OnePassProblem, folder: Path, name: str) -> tuple[OnePassProblem, dict[str, Path]]:
    """The problem with its arrays in files of a folder, named by what they are; it finds them from wherever it is read."""
    data = problem.data.model_dump()
    wanted = {
        "features": data["covariance"]["file"],
        "labels": data["covariance"]["labels"],
        "teacher": data["directions"]["file"],
    }
    files = {}
    for what, file in wanted.items():
        files[what] = folder / f"{name}-{what}.npy"
        np.save(files[what], np.load(file))
    data["covariance"] |= {"file": files["features"].resolve(), "labels": files["labels"].resolve()}
    data["directions"]["file"] = files["teacher"].resolve()
    return problem.replace(data=data), files
