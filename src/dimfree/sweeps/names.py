"""Which names axes may have: an axis becomes a dimension of the results, which have other dimensions and observables."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress

from dimfree.description import AnyDescription
from dimfree.errors import DimfreeError, ProblemError
from dimfree.problem import Problem
from dimfree.registry import setting_of, settings
from dimfree.sweeps.axes import Axis

_OF_EVERY_SWEEP = ("description", "failure", "time", "time_", "step", "step_", "replica")


def check_names(problem: Problem, axes: Sequence[Axis], descriptions: Sequence[AnyDescription]) -> None:
    """Refuse an axis whose name results use otherwise, or that no results file could have."""
    names = [name for axis in axes for name in axis.coordinates]
    for name, count in Counter(names).items():
        if count > 1:
            raise ProblemError(f"two axes are called {name!r}, or vary a key of that name; rename one of them.")
    taken = {*_OF_EVERY_SWEEP, *_observed(descriptions)}
    for axis in axes:
        if "/" in axis.name:
            raise ProblemError(f"the axis {axis.name!r} has a slash in its name; rename it without one.")
        if not axis.name.strip(". ") or not axis.name.isprintable():
            raise ProblemError(f"an axis is called {axis.name!r}; give it a name of printed letters.")
        if axis.name in taken or (axis.name not in axis.keys and axis.name in _scales(problem)):
            raise ProblemError(
                f"an axis cannot be called {axis.name!r}, because results have a dimension or an observable of that name; "
                f"rename it, for example to 'my_{axis.name}'."
            )


def _observed(descriptions: Sequence[AnyDescription]) -> Iterator[str]:
    """The names of observables and their dimensions in all settings: an axis may lead from one setting to another."""
    for variables in (*(one.variables for one in settings()), *(one.variables for one in descriptions)):
        for name, variable in variables.items():
            yield from (name, *variable.dims)


def _scales(problem: Problem) -> tuple[str, ...]:
    """What indices of observables stand for."""
    with suppress(DimfreeError):  # running the problem gives the same error
        return tuple(setting_of(problem).scales_of(problem))
    return ()
