"""Momentum on a data set: of linear units, whose theory is exact, and of two erf units, whose theory is solved by paths.

docs/theory/committee-dmft.md, section 5.7. Markers are real training.
"""

from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dimfree.dataset.dmft.description import DMFT
from dimfree.dataset.real.multi_pass import MultiPassSGD
from dimfree.gallery.agreement import COLOURS, LINES, draw_pair, largest, values_of
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.linear_networks import ERF_STEPS, erf_units, linear_units
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.progress import PartWatcher

_STEP = "step"


class MomentumOnData(Entry[xr.DataTree]):
    """How many steps training takes, against the momentum."""

    name: ClassVar[str] = "momentum-on-data"
    title: ClassVar[str] = "Momentum on a data set: faster up to 0.8, slower beyond"
    cites: ClassVar[tuple[str, ...]] = ("gerbelot2024",)
    rate: float = 0.8
    dimension: int = 400
    seeds: int = 12
    momenta: tuple[float, ...] = (0.0, 0.5, 0.8, 0.9)
    bent: tuple[float, ...] = (0.0, 0.7)  # of two erf units

    def cases(self, full: bool) -> dict[str, Case]:
        """Theory and experiment of each; `full` has four times the data sets."""
        real = {"dimension": self.dimension, "run.replicas": self.seeds * (4 if full else 1)}
        problems = {str(beta): linear_units(1.3, 0.0, 0.5, 100, self.rate, momentum=beta) for beta in self.momenta}
        problems |= {f"erf {beta}": erf_units(0.05, 0.5, momentum=beta) for beta in self.bent}
        return {name: Case(problem.replace(**real), (MultiPassSGD(), DMFT())) for name, problem in problems.items()}

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        return run_cases(self.cases(full), watch)

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """The numbers of section 5.7."""
        steps = {beta: self.steps_until(data, beta) for beta in self.momenta}
        return (
            *(
                Claim(f"steps until the risk is below 0.01 with momentum {beta:g}", steps[beta], known, known)
                for beta, known in ((0.0, 42), (0.5, 21), (0.8, 17), (0.9, 35))
            ),
            Claim(
                "real training against the theory after 20 steps, in standard errors: largest",
                max(self.deviation(data, beta) for beta in self.momenta),
                0.0,
                4.0,
            ),
            *self._erf_claims(data),
        )

    def _erf_claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """Momentum is faster at first, and ends at a higher risk."""
        plain, heavy = (values_of(data, f"erf {beta}/dmft", "risk").mean(axis=1) for beta in self.bent)
        return (
            Claim(
                "two erf units: risk after 5 steps with momentum 0.7 over that without", heavy[5] / plain[5], 0.69, 0.74
            ),
            Claim("two erf units: risk after 40 steps with momentum 0.7", float(heavy[-1]), 0.0380, 0.0387),
            Claim("the same over that without momentum", float(heavy[-1] / plain[-1]), 1.23, 1.31),
            Claim(
                "two erf units: real training against dmft, in standard errors: largest of risk and loss",
                largest(data, tuple(f"erf {beta}" for beta in self.bent), "dmft", ("risk", "train_loss")),
                0.0,
                4.5,
            ),
        )

    def steps_until(self, data: xr.DataTree, beta: float) -> int:
        """The first step at which the risk is below 0.01."""
        return int(np.argmax(values_of(data, f"{beta}/dmft", "risk")[:, 0] < 0.01))

    def deviation(self, data: xr.DataTree, beta: float) -> float:
        """The deviation at one early step; those at late steps are tiny and skewed."""
        real, exact = values_of(data, f"{beta}/multi-pass", "risk")[20], values_of(data, f"{beta}/dmft", "risk")[20, 0]
        return float(abs(real.mean() - exact) / (real.std(ddof=1) / len(real) ** 0.5))

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Draw risks against time."""
        figure.set_size_inches(11, 4.4)
        axes, bent = figure.subplots(1, 2)
        for number, beta in enumerate(self.momenta):
            exact, real = (
                values_of(data, f"{beta}/dmft", "risk")[:, 0],
                values_of(data, f"{beta}/multi-pass", "risk").mean(axis=1),
            )
            colour, at = COLOURS[number], np.arange(2 + number, len(real), 6)
            axes.plot(exact, LINES[number], color=colour, label=f"momentum {beta:g}")
            axes.plot(at, real[at], "o", mfc="none", color=colour, ms=4)
        axes.axhline(0.01, color="0.5", lw=0.8)
        axes.set(yscale="log", xlabel=_STEP, ylabel="risk (lines: theory; markers: real training)", ylim=(1e-6, 1))
        axes.legend(title="linear units, no noise")
        for number, beta in enumerate(self.bent):
            pair = (data[f"erf {beta}/{name}"].to_dataset() for name in ("multi-pass", "dmft"))
            real, limit = (run.assign_coords(time=np.arange(ERF_STEPS + 1)) for run in pair)
            draw_pair(bent, real, limit, "risk", COLOURS[3 * number], f"momentum {beta:g}", 3 * number)
        bent.set(yscale="log", xlabel=_STEP, ylabel="risk (± 2 s.e.)")
        bent.legend(title="erf units, noisy labels")
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        """The sum over all runs."""
        return price(self.cases(full))
