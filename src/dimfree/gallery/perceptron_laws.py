"""Three rules of the online perceptron, and the laws by which their errors fall.

docs/theory/losses.md, section 1.4. A linear unit learns the sign of a linear teacher from fresh samples. With a learning rate
of 1 its test error falls like (2 pi alpha)^(-1/2) by the Hebb rule (correlation loss), like 0.278 alpha^(-1/3) by the
perceptron rule (hinge loss of margin 0), and like 3/(2 alpha) by the AdaTron rule (squared hinge loss of margin 0), alpha
being the number of samples per dimension. The ODE is solved to 12 digits: late in the AdaTron rule the angle to the teacher
is a small difference of overlaps.
"""

from math import pi, sqrt
from typing import ClassVar, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dimfree.description import AnyDescription
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.one_unit import ADATRON, HEBB, PERCEPTRON, Loss, mean_and_error, of, one_unit, spaced
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.onepass.real.chain import OverlapChain
from dimfree.progress import PartWatcher


class _Rule(NamedTuple):
    """One rule, and the law of its test error: prefactor times alpha to the exponent."""

    loss: Loss
    prefactor: float
    exponent: float
    formula: str
    colour: str
    marker: str


_RULES = {
    "Hebb": _Rule(HEBB, 1 / sqrt(2 * pi), -1 / 2, r"$(2\pi\alpha)^{-1/2}$", "#1b9e77", "o"),
    "perceptron": _Rule(
        PERCEPTRON,
        (4 * pi * sqrt(2 * pi) / 3) ** (1 / 3) / (pi * sqrt(2 * pi)),
        -1 / 3,
        r"$0.278\,\alpha^{-1/3}$",
        "#d95f02",
        "s",
    ),
    "AdaTron": _Rule(ADATRON, 3 / 2, -1.0, r"$3/(2\alpha)$", "#7570b3", "^"),
}


class PerceptronLaws(Entry[xr.DataTree]):
    """Test errors of three rules beside their laws."""

    name: ClassVar[str] = "perceptron-laws"
    title: ClassVar[str] = "The online perceptron: three rules, three laws of the test error"
    cites: ClassVar[tuple[str, ...]] = ("biehl1994", "saad1995")
    theory: AnyDescription = HighDimensional(rtol=1e-12, atol=1e-14)
    seed: int = 0

    def cases(self, full: bool) -> dict[str, Case]:
        """SGD and the ODE of every rule at learning rate 1, for which time is the number of samples per dimension."""
        samples = spaced(1.0, 1e4, 41) if full else spaced(1.0, 1e3, 31)
        descriptions = (OverlapChain(), self.theory)
        return {
            name: Case(
                one_unit(rule.loss, 1.0, samples, data={"labels": "sign"}, dimension=1000, replicas=8, seed=self.seed),
                descriptions,
            )
            for name, rule in _RULES.items()
        }

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        return run_cases(self.cases(full), watch)

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """Prefactors and exponents at the end, and that SGD is there, too."""
        return tuple(claim for name, rule in _RULES.items() for claim in self._claims(data, name, rule))

    def _claims(self, data: xr.DataTree, name: str, rule: _Rule) -> tuple[Claim, ...]:
        theory, chain = (of(data, name, one)["test_error"] for one in (self.theory.title, "chain"))
        alpha, error = theory["time"].values, theory.mean("replica").values
        law = rule.prefactor * alpha**rule.exponent
        local = float(np.diff(np.log(np.maximum(error[-2:], 1e-300)))[0] / np.diff(np.log(alpha[-2:]))[0])
        where = f"at {alpha[-1]:.0f} samples per dimension"
        return (
            Claim(
                f"{name}: test error of the {self.theory.title} over the law {where}", error[-1] / law[-1], 0.99, 1.01
            ),
            Claim(f"{name}: its exponent there", local, rule.exponent - 0.005, rule.exponent + 0.005),
            Claim(f"{name}: SGD's over the law", float(chain[-1].mean()) / law[-1], 0.95, 1.05),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Test errors with their laws, and what is left after division by them."""
        figure.set_size_inches(10.0, 4.2)
        errors, ratios = figure.subplots(1, 2)
        for name, rule in _RULES.items():
            theory, chain = (of(data, name, one)["test_error"] for one in (self.theory.title, "chain"))
            alpha, curve = theory["time"].values, theory.mean("replica").values
            law = rule.prefactor * alpha**rule.exponent
            mean, bar = mean_and_error(chain)
            errors.plot(alpha, law, ":", color="grey")
            for axes, unit in ((errors, 1.0), (ratios, law)):
                axes.plot(alpha, curve / unit, "-", color=rule.colour)
                axes.errorbar(
                    alpha[::2],
                    (mean / unit)[::2],
                    (bar / unit)[::2],
                    fmt=rule.marker,
                    color=rule.colour,
                    mfc="white",
                    label=f"{name}, {rule.formula}",
                )
        errors.set(xscale="log", yscale="log", ylabel="test error")
        errors.set_title(f"SGD (symbols), {self.theory.title} (lines), laws (dotted)")
        ratios.axhline(1.0, color="grey", ls=":")
        ratios.set(xscale="log", ylim=(0.3, 1.2), ylabel="test error over the law", title="the same over the laws")
        for axes in (errors, ratios):
            axes.set_xlabel(r"samples per dimension $\alpha$")
            axes.legend()
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        return price(self.cases(full))
