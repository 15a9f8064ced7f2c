"""The bound on the fluctuations of SGD, e^(C t) sqrt(gamma/(p d)), with the smallest C that the data allow.

docs/theory/committee.md, section 2: E |Omega_sgd - Omega_ode| stays below this curve in the largest entry. The theorem does
not say what C is, so C is fitted here: the curve is an upper bound on these data, not a prediction.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dimfree.comparison.compare import Comparison
from dimfree.errors import ProblemError
from dimfree.onepass.problem import OnePassProblem
from dimfree.results.store import save_figure


class Bound(NamedTuple):
    """The measured deviation after the start, and the fitted constants of its bound."""

    times: Float[np.ndarray, " t"]
    deviation: Float[np.ndarray, " t"]  # the largest entry of |Omega_sgd - Omega_theory|, mean over replicas
    prefactor: float  # sqrt(gamma/(p d))
    C: float  # the smallest for which the bound holds at all times
    theory: str

    @property
    def curve(self) -> Float[np.ndarray, " t"]:
        """e^(C t) sqrt(gamma/(p d))."""
        return np.exp(self.C * self.times) * self.prefactor

    @property
    def label(self) -> str:
        """What the curve is, for a legend or a report."""
        return f"fitted C = {self.C:.3g}, an upper bound, not a prediction"

    def plot(self, path: str | Path) -> Path:
        """Draw deviation and bound against time into a file."""
        import matplotlib
        from matplotlib.figure import Figure

        from dimfree.onepass.figure import style

        with matplotlib.rc_context(style()):
            figure = Figure(figsize=(5.4, 4.0), layout="constrained")
            axes = figure.subplots()
            label = f"SGD minus {self.theory}, mean over replicas"
            axes.plot(self.times, self.deviation, "o", color="black", mfc="white", ms=4, label=label)
            axes.plot(self.times, self.curve, color="#d95f02", label=r"$e^{Ct}\sqrt{\gamma/(pd)}$: " + self.label)
            axes.set(xscale="log", yscale="log", xlabel="time $t$", ylabel=r"largest deviation of an overlap")
            figure.legend(loc="outside upper center", frameon=False)
            save_figure(lambda temporary: figure.savefig(temporary, dpi=160), Path(path))
        return Path(path)


def bound(comparison: Comparison, theory: str = "ode") -> Bound:
    """Fit C to the deviation of real SGD from a theory of the overlaps."""
    reference = _reference(comparison, theory)
    sgd, limit = comparison.tree[reference].to_dataset(), comparison.tree[theory].to_dataset()
    largest = [np.abs(sgd[name].values - limit[name].values).max(axis=(2, 3)) for name in ("Q", "M")]
    deviation = np.maximum(*largest).mean(axis=1)[1:]
    times = sgd["time"].values[1:]
    assert isinstance(comparison.problem, OnePassProblem)
    prefactor = float(np.sqrt(comparison.problem.time_step))
    with np.errstate(divide="ignore"):  # where nothing deviates any C will do
        C = float(np.max(np.log(deviation / prefactor) / times))
    return Bound(times, deviation, prefactor, C, theory)


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
