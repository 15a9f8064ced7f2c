"""Margins on labels of which a tenth is wrong: hinge losses of margin 0, 0.5 and 1, and the logistic loss.

docs/theory/losses.md, sections 0 and 1.3. A linear unit learns the sign of a linear teacher at one learning rate. Steps of a
fixed size keep it above the lowest error, the share of wrong labels; the larger the margin, the longer the weights and the
smaller a step beside them, so that errors end lower. A margin is a learning rate in other units: hinge losses of one ratio
of margin and rate end at one error.
"""

from typing import ClassVar, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dimfree.description import AnyDescription
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.one_unit import PERCEPTRON, Loss, mean_and_error, of, one_unit, spaced
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.onepass.real.chain import OverlapChain
from dimfree.progress import PartWatcher

_FLIP = 0.1
_LATE = 5  # saved times at the end over which errors are averaged
_COMPILING = 5.0  # seconds of one program
_INF = float("inf")


class _Rule(NamedTuple):
    """A loss, its learning rate, and how it is drawn."""

    loss: Loss
    rate: float
    colour: str
    marker: str


_RULES = {
    "hinge 0": _Rule(PERCEPTRON, 0.5, "#d95f02", "s"),
    "hinge 0.5": _Rule({"kind": "hinge", "margin": 0.5}, 0.5, "#a6761d", "D"),
    "hinge 1": _Rule("hinge", 0.5, "#1b9e77", "o"),
    "hinge 0.5, half the rate": _Rule({"kind": "hinge", "margin": 0.5}, 0.25, "#666666", "v"),
    "logistic": _Rule("logistic", 0.5, "#7570b3", "^"),
}


class Margin(Entry[xr.DataTree]):
    """Test errors of losses with and without a margin, under flips."""

    name: ClassVar[str] = "margin"
    title: ClassVar[str] = "Margins under label flips: a margin is a smaller learning rate"
    cites: ClassVar[tuple[str, ...]] = ("biehl1994", "saad1995")
    theory: AnyDescription = HighDimensional()
    seed: int = 0

    def cases(self, full: bool) -> dict[str, Case]:
        """SGD and the ODE of every loss, from one start."""
        samples, replicas = spaced(1.0, 400.0, 27), 128 if full else 32
        data: dict[str, object] = {"labels": "sign", "flip": _FLIP}
        return {
            name: Case(
                one_unit(
                    rule.loss,
                    rule.rate,
                    samples,
                    data=data,
                    dimension=1000,
                    replicas=replicas,
                    seed=100 * self.seed + number,
                ),
                (OverlapChain(), self.theory),
            )
            for number, (name, rule) in enumerate(_RULES.items())
        }

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        return run_cases(self.cases(full), watch)

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """The ODE is right about every loss; the order of their errors; and that a margin acts like a smaller learning rate."""
        real, predicted = ({name: _end(of(data, name, one)) for name in _RULES} for one in ("chain", self.theory.title))
        apart = max((predicted[name] - real[name] for name in _RULES), key=abs)
        lowest = float(of(data, "logistic", "chain")["bayes_error"][0, 0])
        scaled = real["hinge 0.5, half the rate"] - real["hinge 1"]
        return (
            Claim(f"test error of the {self.theory.title} minus SGD's at the end, the largest", apart, -0.002, 0.002),
            Claim("SGD: margin 0 minus margin 0.5", real["hinge 0"] - real["hinge 0.5"], 0.06, _INF),
            Claim("SGD: margin 0.5 minus margin 1", real["hinge 0.5"] - real["hinge 1"], 0.015, _INF),
            Claim("SGD: margin 1 minus logistic", real["hinge 1"] - real["logistic"], 0.008, _INF),
            Claim("SGD: logistic minus the lowest error", real["logistic"] - lowest, 0.04, 0.06),
            Claim("SGD: margin 0.5 at half the rate minus margin 1", scaled, -0.002, 0.002),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Test errors in per cent against samples."""
        figure.set_size_inches(7.0, 4.6)
        axes = figure.subplots()
        for name, rule in _RULES.items():
            theory, chain = (of(data, name, one)["test_error"] for one in (self.theory.title, "chain"))
            alpha = theory["time"].values / rule.rate
            mean, bar = mean_and_error(chain)
            axes.plot(alpha, 100 * theory.mean("replica"), "-", color=rule.colour)
            axes.errorbar(
                alpha[::2], 100 * mean[::2], 100 * bar[::2], fmt=rule.marker, color=rule.colour, mfc="white", label=name
            )
        lowest = 100 * float(of(data, "logistic", "chain")["bayes_error"][0, 0])
        axes.axhline(lowest, color="black", ls="--", label=f"lowest, {lowest:.3g} %")
        axes.set(xscale="log", ylim=(0, 50), xlabel=r"samples per dimension $\alpha$", ylabel="test error in per cent")
        axes.set_title(
            f"{self.title}\nSGD (symbols) and {self.theory.title} (lines), learning rate 0.5, 10 % flips", fontsize=10
        )
        axes.legend(loc="upper right", ncols=2)

    def seconds(self, full: bool) -> float:
        """Count all runs; cases of one loss share their programs, which are compiled once."""
        return price(self.cases(full)) - 6 * _COMPILING


def _end(run: xr.Dataset) -> float:
    return float(np.mean(run["test_error"].values[-_LATE:]))
