"""Growing batch and learning rate together changes nothing but the number of steps (docs/theory/schedules.md, section 2).

Per sample only rate/batch matters as the dimension grows. At finite d the batch itself enters real SGD by one term, of
order rate (1 - 1/batch)/d: early in a run the risk of batch B is above that of batch 1 in proportion to (B - 1)/d. Runs of
one seed see the same samples in the same order whatever the batch, so that they are compared pair by pair.
"""

from typing import ClassVar

import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib.figure import Figure

from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.optimal_schedule import committee
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.chain import OverlapChain
from dimfree.problem import HoldThenPower
from dimfree.progress import PartWatcher

_LOOKS = (("black", "o", "-"), ("#1f78b4", "s", "--"), ("#d95f02", "^", ":"))
_EARLY = 10.0  # a time at which all runs are still on the plateau, so that they scatter little
_SMALL = (100, 400)  # dimensions that are small enough to show the term of order 1/d
_SHORT_RUNS = 1024


class BatchIsRate(Entry[xr.DataTree]):
    """The noisy committee under one schedule with batches of 1, 4 and 16; the rate goes like batch^power."""

    name: ClassVar[str] = "batch-is-rate"
    title: ClassVar[str] = "Batch and rate grown together: the same curve in samples, with fewer steps"
    cites: ClassVar[tuple[str, ...]] = ("smith2018",)
    batches: tuple[int, ...] = (1, 4, 16)
    until: float = 100.0
    power: float = 1.0
    seed: int = 0

    def cases(self, full: bool) -> dict[str, Case]:
        """Long runs at one dimension, and many short ones at two smaller dimensions."""
        times = tuple(np.linspace(0, self.until, 41)[1:].tolist())
        long = {
            f"batch {batch}": Case(
                self._problem(4000 if full else 1000, batch, times, 32), (OverlapChain(), HighDimensional())
            )
            for batch in self.batches
        }
        runs = _SHORT_RUNS * (4 if full else 1)
        short = {
            _short(d, batch): Case(self._problem(d, batch, (_EARLY,), runs), (OverlapChain(),))
            for d in _SMALL
            for batch in self.batches
        }
        return long | short

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        """The chain for every batch, and the ODE beside the long runs."""
        return run_cases(self.cases(full), watch)

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """Equal curves of SGD in samples, and what is left of the batch at finite dimension."""
        most, middle = self.batches[-1], self.batches[1]
        long = [data.children[f"batch {batch}"] for batch in self.batches]
        ends = np.array([np.log(_sgd(one)[-1]).mean() for one in long])
        over = [float(_sgd(one)[-1].mean() / _ode(one)[-1]) for one in long]
        wide, narrow = (_excess(data, d, most) for d in _SMALL)
        exponent = float(np.log(narrow / wide) / np.log(_SMALL[1] / _SMALL[0])) if min(wide, narrow) > 0 else np.nan
        share = wide / _excess(data, _SMALL[0], middle)
        expected = (most - 1) / (middle - 1)
        return (
            Claim("largest log ratio of final risks of SGD between two batches", float(np.ptp(ends)), 0.0, 0.1),
            Claim("smallest final risk of SGD over that of the ODE, of all batches", min(over), 0.93, 1.15),
            Claim("largest final risk of SGD over that of the ODE, of all batches", max(over), 0.93, 1.15),
            Claim(f"early excess risk of batch {most} over batch 1 goes like d^x, x", exponent, -1.2, -0.8),
            Claim(
                f"early excess risk of batch {most} over that of batch {middle}, divided by {expected:g}",
                float(share / expected),
                0.75,
                1.35,
            ),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """The same curve in samples; different ones in steps; what is left at finite dimension."""
        figure.set_size_inches(13, 4.2)
        samples, steps, small = figure.subplots(1, 3)
        for number, (batch, (colour, marker, line)) in enumerate(zip(self.batches, _LOOKS, strict=False)):
            tree = data.children[f"batch {batch}"]
            time, risk = tree.children["chain"].to_dataset()["time"].values, _sgd(tree).mean(axis=1)
            for axes, x in ((samples, 2 * time), (steps, 2 * time / batch)):
                axes.plot(x, _ode(tree), line, color=colour, lw=1)
                at = slice(number, None, len(self.batches))  # equal curves must not hide each other
                axes.plot(x[at], risk[at], marker, color=colour, mfc="white", ms=4, label=f"batch {batch}")
            if batch > 1:
                small.plot(
                    _SMALL, [_excess(data, d, batch) for d in _SMALL], marker, color=colour, mfc="white",
                    label=f"batch {batch}",
                )  # fmt: skip
                top = _excess(data, _SMALL[0], batch)
                small.plot(_SMALL, [top * _SMALL[0] / d for d in _SMALL], line, color=colour, lw=1)
        samples.set(yscale="log", ylabel="risk (lines: ode; markers: SGD)", xlabel="samples per dimension")
        steps.set(yscale="log", xlabel="steps per dimension")
        small.set(xscale="log", xlabel="dimension $d$", ylabel="log risk over that of batch 1 (lines: 1/d)")
        small.set_title(f"SGD after {2 * _EARLY:g} samples per dimension")
        small.set_xticks(_SMALL, [str(d) for d in _SMALL])
        small.set_xticks([], minor=True)
        samples.legend()
        small.legend()
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        return price(self.cases(full))

    def _problem(self, dimension: int, batch: int, times: tuple[float, ...], runs: int) -> OnePassProblem:
        """With the base rate in proportion to the batch, equal times are equal samples; the schedule has the rest."""
        schedule = HoldThenPower(top=1.2164 * batch ** (self.power - 1), hold=42.65, exponent=4.63)
        return committee(1e-2, times[-1]).replace(
            **{
                "dimension": dimension,
                "training.schedule": schedule,
                "training.batch": batch,
                "training.learning_rate": 1.0 * batch,
                "run.replicas": runs,
                "run.times": times,
                "run.seed": self.seed,
            }
        )


def _short(d: int, batch: int) -> str:
    return f"d {d}, batch {batch}"


def _ode(tree: xr.DataTree) -> Float[np.ndarray, " t"]:
    return np.asarray(tree.children["ode"].to_dataset()["risk"].values[:, 0])


def _sgd(tree: xr.DataTree) -> Float[np.ndarray, "t r"]:
    return np.asarray(tree.children["chain"].to_dataset()["risk"].values)


def _excess(data: xr.DataTree, d: int, batch: int) -> float:
    """By how much the mean log risk of the short runs is above that of batch 1."""
    one, other = (np.log(_sgd(data.children[_short(d, size)])[-1]).mean() for size in (batch, 1))
    return float(one - other)
