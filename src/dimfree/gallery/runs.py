"""Several comparisons as one piece of work: one tree of results, one fraction of work done, one price."""

from collections.abc import Mapping
from typing import NamedTuple

import xarray as xr

from dimfree.comparison.compare import compare
from dimfree.description import Description
from dimfree.errors import DimfreeError
from dimfree.gallery.entry import Watcher
from dimfree.problem.problem import Problem


class Case(NamedTuple):
    """One problem, and the descriptions that run from its start."""

    problem: Problem
    descriptions: tuple[Description, ...]

    @property
    def seconds(self) -> float:
        """What its runs will take."""
        return sum(description.cost(self.problem).seconds for description in self.descriptions)


def run_cases(cases: Mapping[str, Case], watch: Watcher) -> xr.DataTree:
    """Run every case; the tree holds case/description."""
    total, done, trees = price(cases), 0.0, {}
    for name, case in cases.items():
        prices = {one.name: one.cost(case.problem).seconds for one in case.descriptions}
        finished = dict.fromkeys(prices, 0.0)

        def told(which: str, reached: float) -> None:
            finished[which] = prices[which] * reached / case.problem.run.until  # noqa: B023
            watch(f"{name}: {which}", min(1.0, (done + sum(finished.values())) / total))  # noqa: B023

        comparison = compare(case.problem, only=case.descriptions, budget=float("inf"), watch=told)
        if comparison.left_out:
            raise DimfreeError(" ".join(f"{left.name}: {left.reason}" for left in comparison.left_out))
        trees[name] = comparison.tree
        done += case.seconds
    return xr.DataTree(children=trees)


def price(cases: Mapping[str, Case]) -> float:
    """CPU seconds of all cases."""
    return sum(case.seconds for case in cases.values())
