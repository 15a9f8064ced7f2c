"""The bound on the fluctuations of SGD, e^(C t) sqrt(gamma/(p d)), with the smallest C that the data allow.

docs/theory/committee.md, section 2: E |Omega_sgd - Omega_ode| stays below this curve for every entry of Omega. The theorem does
not say what C is, so C is fitted here: the curve is an upper bound on these data, not a prediction.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr
from jaxtyping import Float

from dimfree.comparison.compare import compare
from dimfree.comparison.comparison import Comparison
from dimfree.errors import ProblemError, RefusalError
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.chain import OverlapChain
from dimfree.problem import Problem
from dimfree.progress import PartWatcher, nobody, of_all
from dimfree.questions.answer import Answer
from dimfree.questions.bounds.question import QUESTION

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class FluctuationBound(Answer[OnePassProblem]):
    """The measured deviation after the start, and the fitted constants of its bound."""

    reference: str  # real SGD
    theory: str
    times: Float[np.ndarray, " t"]
    deviation: Float[np.ndarray, " t"]  # the largest entry of |Omega_sgd - Omega_theory|, mean over replicas
    prefactor: float  # sqrt(gamma/(p d))
    C: float  # the smallest for which the bound holds at all times

    @property
    def curve(self) -> Float[np.ndarray, " t"]:
        """e^(C t) sqrt(gamma/(p d))."""
        return np.exp(self.C * self.times) * self.prefactor

    @property
    def label(self) -> str:
        """The name of the curve in legends and reports."""
        return f"fitted C = {self.C:.3g}, an upper bound, not a prediction"

    def said(self) -> Iterator[str]:
        """The largest deviation, and the bound."""
        worst = int(np.argmax(self.deviation))
        yield (
            f"Overlaps of {self.reference} differ from those of {self.theory} by at most {self.deviation[worst]:.3g}, at "
            f"t = {self.times[worst]:.3g} (largest entry, mean over replicas)."
        )
        yield f"They stay below e^(C t) sqrt(learning_rate/(width * dimension)) = e^(C t) {self.prefactor:.3g}: {self.label}."

    def values(self) -> dict[str, object]:
        """The curves and the constant."""
        return {
            "reference": self.reference,
            "theory": self.theory,
            "prefactor": self.prefactor,
            "C": self.C,
            "time": self.times.tolist(),
            "deviation": self.deviation.tolist(),
        }

    def datasets(self) -> dict[str, xr.Dataset]:
        """Deviation and bound against time."""
        columns = {"deviation": ("time", self.deviation), "bound": ("time", self.curve)}
        about = {"reference": self.reference, "theory": self.theory, "prefactor": self.prefactor, "C": self.C}
        return {"fluctuations": xr.Dataset(columns, {"time": self.times}, about)}

    def draw(self, figure: "Figure") -> None:
        """Deviation and bound against time."""
        figure.set_size_inches(5.4, 4.0)
        axes = figure.subplots()
        label = f"{self.reference} minus {self.theory}, mean over replicas"
        axes.plot(self.times, self.deviation, "o", color="black", mfc="white", ms=4, label=label)
        axes.plot(self.times, self.curve, color="#d95f02", label=r"$e^{Ct}\sqrt{\gamma/(pd)}$: " + self.label)
        axes.set(xscale="log", yscale="log", xlabel="time $t$", ylabel="largest deviation of an overlap")
        figure.legend(loc="outside upper center", frameon=False)


def fluctuations(
    problem: Problem | str | Path | None = None,
    *,
    until: float | None = None,
    replicas: int | None = None,
    seed: int | None = None,
    budget: float = 120.0,
    watch: PartWatcher = nobody,
) -> FluctuationBound:
    """Run SGD in overlap space and the ODE from the same start, and fit the bound on the distance between them.

    Arguments:
        problem: a Problem, or the path of a TOML file; without it, the embedded problem
        until, replicas, seed: instead of the problem's own
        budget: CPU seconds that both may take together
        watch: called with the name of what runs and the share of all work that is done

        print(df.fluctuations(df.Problem(dimension=200), until=2.0, replicas=4).summary())
    """
    chosen, both = QUESTION.settled(problem, seed), (OverlapChain(), HighDimensional())
    comparison = compare(chosen, until=until, replicas=replicas, only=both, budget=budget, watch=of_all(watch, 2))
    for left in comparison.left_out:
        raise RefusalError(f"{left.name} is left out: {left.reason}")
    return bound(comparison)


def bound(comparison: Comparison, theory: str = HighDimensional.name) -> FluctuationBound:
    """Fit C to the deviation of real SGD from a theory of the overlaps."""
    reference = _reference(comparison, theory)
    sgd, limit = comparison.tree[reference].to_dataset(), comparison.tree[theory].to_dataset()
    largest = [np.abs(sgd[name].values - limit[name].values).max(axis=(2, 3)) for name in ("Q", "M")]
    deviation = np.maximum(*largest).mean(axis=1)[1:]
    times = sgd["time"].values[1:]
    problem = comparison.problem
    assert isinstance(problem, OnePassProblem), "only one-pass problems have overlaps Q and M"
    prefactor = float(np.sqrt(problem.time_step))
    with np.errstate(divide="ignore"):  # without a deviation every C is large enough
        C = float(np.max(np.log(deviation / prefactor) / times))
    return FluctuationBound(problem, reference, theory, times, deviation, prefactor, C)


def _reference(comparison: Comparison, theory: str) -> str:
    reference = comparison.reference
    for name in (reference, theory):
        if name is None or name not in comparison.names:
            raise ProblemError(
                f"the bound compares real SGD with {theory!r}, and this comparison holds only "
                f"{', '.join(comparison.names)}; run both."
            )
        if "Q" not in comparison.tree[name]:
            raise ProblemError(f"{name} kept no overlaps Q between all pairs of units; the bound needs them.")
    assert reference is not None
    return reference
