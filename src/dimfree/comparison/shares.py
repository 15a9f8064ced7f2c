"""Observables that are shares of all samples, such as test errors: where they end, in words."""

from collections.abc import Iterator, Mapping

import xarray as xr

from dimfree.comparison.chance import Table, own_error
from dimfree.problem import Problem
from dimfree.registry import setting_of


def shares_at_the_end(problem: Problem, accounts: Mapping[str, xr.Dataset]) -> Iterator[str]:
    """Their last values in per cent, with errors over replicas; a value that all accounts share is given once."""
    shares = [name for name, variable in setting_of(problem).variables.items() if variable.share]
    for name in shares:
        ends = {title: _per_cent(data[name].values) for title, data in accounts.items() if name in data}
        if not ends:
            continue
        words = name.replace("_", " ")
        if len({*ends.values()}) == 1:
            yield f"{words}: {next(iter(ends.values()))}."
        else:
            yield f"{words} at the end: {', '.join(f'{title} {end}' for title, end in ends.items())}."


def _per_cent(values: Table) -> str:
    """The mean over replicas at the last time."""
    error = 100 * float(own_error(values)[-1])
    return f"{100 * float(values[-1].mean()):.3g}{f' ± {error:.1g}' if error else ''} %"
