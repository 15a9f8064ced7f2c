"""Several comparisons as one piece of work: one tree of results, one fraction of work done, one price."""

from collections.abc import Mapping
from typing import NamedTuple

import xarray as xr

from dimfree.comparison.compare import compare
from dimfree.description import AnyDescription
from dimfree.errors import DimfreeError
from dimfree.problem import Problem
from dimfree.progress import PartWatcher
from dimfree.results.record import cost_of


class Case(NamedTuple):
    """One problem, and the descriptions that run from its start."""

    problem: Problem
    descriptions: tuple[AnyDescription, ...]

    @property
    def seconds(self) -> float:
        """The predicted seconds of all of its runs."""
        return sum(self.prices.values())

    @property
    def prices(self) -> dict[str, float]:
        """The predicted seconds of each run."""
        return {one.title: cost_of(one, self.problem).seconds for one in self.descriptions}


def run_cases(cases: Mapping[str, Case], watch: PartWatcher) -> xr.DataTree:
    """Run every case; the tree holds case/description."""
    total, before, trees = price(cases), 0.0, {}
    for name, case in cases.items():
        prices = case.prices
        finished = dict.fromkeys(prices, 0.0)

        def report(title: str, done: float) -> None:
            finished[title] = prices[title] * done  # noqa: B023
            watch(f"{name}: {title}", min(1.0, (before + sum(finished.values())) / total))  # noqa: B023

        comparison = compare(case.problem, only=case.descriptions, budget=float("inf"), watch=report)
        if comparison.left_out:
            raise DimfreeError(" ".join(f"{left.name}: {left.reason}" for left in comparison.left_out))
        trees[name] = comparison.tree
        before += sum(prices.values())
    return xr.DataTree(children=trees)


def price(cases: Mapping[str, Case]) -> float:
    """CPU seconds of all cases."""
    return sum(case.seconds for case in cases.values())
