"""Growing batch and learning rate together changes nothing but the number of steps (docs/theory/schedules.md, section 2).

Per sample only rate/batch matters as the dimension grows: the ODE says so exactly, real SGD up to terms of order 1/d.
"""

from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dimfree.gallery.entry import Claim, Entry, Watcher
from dimfree.gallery.optimal_schedule import committee
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.onepass.real.chain import OverlapChain
from dimfree.problem import HoldThenPower

_COLOURS = ("black", "#1f78b4", "#d95f02")


class BatchIsRate(Entry[xr.DataTree]):
    """The noisy committee under one schedule with batches of 1, 4 and 16, the rate in proportion."""

    name: ClassVar[str] = "batch-is-rate"
    title: ClassVar[str] = "Batch and rate grown together: the same curve in samples, with fewer steps"
    cites: ClassVar[tuple[str, ...]] = ("smith2018",)
    batches: tuple[int, ...] = (1, 4, 16)
    until: float = 100.0

    def cases(self, full: bool) -> dict[str, Case]:
        """Time is samples per dimension over the width, whatever the batch."""
        schedule = HoldThenPower(top=1.2164, hold=42.65, exponent=4.63)
        base = committee(1e-2, self.until).replace(
            **{
                "dimension": 4000 if full else 1000,
                "training.schedule": schedule,
                "run.replicas": 32,
                "run.times": tuple(np.linspace(0, self.until, 41)[1:].tolist()),
            }
        )
        both = (OverlapChain(), HighDimensional())
        return {
            f"batch {batch}": Case(
                base.replace(**{"training.batch": batch, "training.learning_rate": 1.0 * batch}), both
            )
            for batch in self.batches
        }

    def measure(self, full: bool, watch: Watcher) -> xr.DataTree:
        """Chain and ODE for every batch."""
        return run_cases(self.cases(full), watch)

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """Equal by the ODE; equal within errors by SGD."""
        first, *others = (data.children[f"batch {batch}"] for batch in self.batches)
        ode = max(float(np.abs(_ode(one) / _ode(first) - 1).max()) for one in others)
        scores = [abs(_score(one, first)) for one in others]
        return (
            Claim("largest relative difference of the ODE at equal samples", ode, 0.0, 1e-8),
            Claim("largest deviation of SGD at the end, in standard errors", max(scores), 0.0, 4.0),
            Claim("final risk of SGD over that of the ODE", _ends(first).mean() / _ode(first)[-1], 0.95, 1.1),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """The same curve in samples; different ones in steps."""
        figure.set_size_inches(9.6, 4.2)
        panels = figure.subplots(1, 2, sharey=True)
        for number, (batch, colour) in enumerate(zip(self.batches, _COLOURS, strict=False)):
            tree = data.children[f"batch {batch}"]
            chain = tree.children["chain"].to_dataset()
            time, risk = chain["time"].values, chain["risk"].mean("replica").values
            for axes, x in zip(panels, (2 * time, 2 * time / batch), strict=True):
                axes.plot(x, _ode(tree), color=colour, lw=1)
                at = slice(number, None, len(self.batches))  # equal curves must not hide each other
                axes.plot(x[at], risk[at], "o", color=colour, mfc="white", ms=4, label=f"batch {batch}, rate {batch}")
        panels[0].set(yscale="log", ylabel="risk (lines: ode; circles: SGD)", xlabel="samples per dimension")
        panels[1].set(xlabel="steps per dimension")
        panels[0].legend(frameon=False)
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        """All runs."""
        return price(self.cases(full))


def _ode(tree: xr.DataTree) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.asarray(tree.children["ode"].to_dataset()["risk"].values[:, 0])


def _ends(tree: xr.DataTree) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.asarray(tree.children["chain"].to_dataset()["risk"].values[-1])


def _score(one: xr.DataTree, other: xr.DataTree) -> float:
    a, b = np.log(_ends(one)), np.log(_ends(other))
    return float((a.mean() - b.mean()) / np.hypot(a.std(ddof=1), b.std(ddof=1)) * np.sqrt(len(a)))
