"""How each error between the coupled dynamics scales with width, step and dimension (docs/theory/mean-field.md, a and g).

For every error: the mean over seeds, least squares of its logarithm on the logarithm of the swept quantity, and a
standard error from leaving out one seed at a time, because all points of a sweep share the seeds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Float
from rich.table import Table

from dimfree.errors import ProblemError
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.sections import GaussianStart
from dimfree.progress import PartWatcher, nobody
from dimfree.questions.answer import Answer
from dimfree.questions.couplings.answer import QUANTITIES, couplings
from dimfree.readings.power_laws import Fit, fit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Point = tuple[int, float, int]  # width, step, dimension


class Sweep(NamedTuple):
    """The errors at the last time while one of width, step and dimension is varied."""

    axis: str
    values: Float[np.ndarray, " x"]
    errors: Float[np.ndarray, "7 x s"]  # in the order of couplings.QUANTITIES

    @property
    def fits(self) -> dict[str, Fit]:
        """The slope of every error."""
        return {name: fit(self.values, error) for name, error in zip(QUANTITIES, self.errors, strict=True)}

    def dataset(self) -> xr.Dataset:
        """The errors as a dataset, each under its name."""
        dims = ("quantity", self.axis, "seed")
        return xr.Dataset({"error": (dims, self.errors)}, {"quantity": list(QUANTITIES), self.axis: self.values})


@dataclass(frozen=True, eq=False, repr=False)
class Slopes(Answer[OnePassProblem]):
    """All sweeps around one problem."""

    sweeps: tuple[Sweep, ...]

    def said(self) -> Iterator[Table]:
        """One row per error, one column per sweep."""
        p = self.problem
        title = f"Slopes around width {p.network.width}, step {p.time_step:.3g}, dimension {p.dimension}"
        table = Table(title=title, title_justify="left")
        table.add_column("error")
        for sweep in self.sweeps:
            low, high = sweep.values[0], sweep.values[-1]
            table.add_column(f"{sweep.axis} {low:g} to {high:g}", justify="right")
        for name in QUANTITIES:
            fits = [sweep.fits[name] for sweep in self.sweeps]
            table.add_row(name, *(f"{one.value:.3f} ± {one.standard_error:.3f}" for one in fits))
        yield table

    def values(self) -> dict[str, object]:
        """Errors and slopes of every sweep."""
        return {
            sweep.axis: {
                "values": sweep.values.tolist(),
                "errors": dict(zip(QUANTITIES, sweep.errors.mean(axis=2).tolist(), strict=True)),
                "slopes": {name: one._asdict() for name, one in sweep.fits.items()},
            }
            for sweep in self.sweeps
        }

    def datasets(self) -> dict[str, xr.Dataset]:
        """One dataset per sweep."""
        return {sweep.axis: sweep.dataset() for sweep in self.sweeps}

    def draw(self, figure: "Figure") -> None:
        """Errors against the swept quantity, with their power laws."""
        from dimfree.questions.couplings.figure import draw_slopes

        draw_slopes(self, figure)


def slopes(
    problem: OnePassProblem,
    until: float | None = None,
    *,
    widths: Sequence[int] = (),
    steps: Sequence[float] = (),
    dimensions: Sequence[int] = (),
    seeds: int = 4,
    law: GaussianStart | None = None,
    sgd: VectorSGD = VectorSGD(),  # noqa: B008
    watch: PartWatcher = nobody,
) -> Slopes:
    """Sweep width, step and dimension one at a time, with the other two as in the problem; other arguments as in `couplings`.

    `watch` is called with the point that is being measured, and the share of all points that is done.
    """
    if seeds < 2:
        raise ProblemError(f"seeds = {seeds} was given; an error bar needs at least 2.")
    base = (problem.network.width, problem.time_step, problem.dimension)
    asked = {"width": widths, "step": steps, "dimension": dimensions}
    places: dict[str, list[Point]] = {}
    for place, (axis, values) in enumerate(asked.items()):
        if len(values) == 1:
            raise ProblemError(f"one {axis} was given; a slope needs at least 2.")
        if values:
            places[axis] = [(*base[:place], value, *base[place + 1 :]) for value in values]  # type: ignore[misc]
    points = list(dict.fromkeys(point for several in places.values() for point in several))
    found = {}
    for n, point in enumerate(points):
        watch("width {}, step {:.3g}, dimension {}".format(*point), n / len(points))
        run = couplings(at(problem, *point), until, seeds=seeds, points=1, law=law, sgd=sgd, budget=inf)
        found[point] = run.errors[:, :, -1]
    sweeps = (
        Sweep(axis, np.array(asked[axis], dtype=float), np.stack([found[point] for point in several], axis=1))
        for axis, several in places.items()
    )
    return Slopes(problem, tuple(sweeps))


def at(problem: OnePassProblem, width: int, step: float, dimension: int) -> OnePassProblem:
    """The problem at another width, step eps and dimension; the learning rate follows."""
    rate = step * width * dimension
    return problem.replace(dimension=dimension, **{"network.width": width, "training.learning_rate": rate})
