"""SGD on the digits beside Gaussian theory: right with one scale for all pixels, wrong where each pixel has its own.

docs/theory/structured.md, section 3: scikit-learn's 1797 images, a linear network that learns whether a digit is even. The exact
mean of Gaussian inputs with the same covariance is known, and both limits of stability before anything runs. Pixels that are
almost always blank have enormous values once each is divided by its own spread: SGD on these rows diverges far below the
Gaussian limit.
"""

from typing import ClassVar

import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib.figure import Figure

from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.onepass.inputs.covariance import Features
from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.limits.linear import LinearNetwork
from dimfree.onepass.pool import critical_rates
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.rows import RowsSGD
from dimfree.onepass.sections import OnePass, TwoLayer
from dimfree.problem import Run
from dimfree.progress import PartWatcher

CASES = {"common": ("common", 0.2), "below": ("each", 0.03), "above": ("each", 0.12)}  # scale and learning rate
_TIMES = (0.4, 1.0, 2.0, 4.0, 6.0)
_LOOKS = {  # colour, line, marker
    "common": ("#1f78b4", "-", "o", "one scale for all pixels"),
    "below": ("#33a02c", "--", "s", "each pixel, below the limit of the rows"),
    "above": ("#e31a1c", "-.", "^", "each pixel, above it"),
}


class Digits(Entry[xr.DataTree]):
    """SGD on the rows, and its exact mean on Gaussian inputs of the same covariance, or on isotropic ones."""

    name: ClassVar[str] = "digits"
    title: ClassVar[str] = "SGD on digits beside Gaussian inputs of the same covariance"
    cites: ClassVar[tuple[str, ...]] = ("goldt2022",)
    isotropic: bool = False  # whether theory forgets the covariance

    def cases(self, full: bool) -> dict[str, Case]:
        """The three cases of `CASES`; `full` has four times as many replicas."""
        return {
            name: Case(problem(scale, rate, 192 if full else 48), (RowsSGD(), LinearNetwork()))
            for name, (scale, rate) in CASES.items()
        }

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        return run_cases(self.cases(full), watch)

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """Agreement below the limit of stability of the rows, divergence above it, and where that limit is."""
        ratios = {name: self.ratio(data, name) for name in CASES}
        limits = {scale: critical_rates(problem(scale, 0.2, 1)) for scale in ("common", "each")}
        common, each = limits["common"], limits["each"]
        assert common[0] is not None
        assert each[0] is not None
        return (
            Claim("largest deviation of rows from theory, one scale for all", _worst(ratios["common"]), 0.0, 0.1),
            Claim("the same with a scale for each pixel, rate 0.03", _worst(ratios["below"]), 0.0, 0.1),
            Claim(
                "rows over theory at t = 6 with a scale for each pixel, rate 0.12",
                float(ratios["above"][-1]),
                10.0,
                np.inf,
            ),
            Claim("limit of stability of rows, one scale for all", common[0], 1.88, 1.90),
            Claim("the same of Gaussian inputs", common[1], 1.71, 1.73),
            Claim("limit of stability of rows, a scale for each pixel", each[0], 0.059, 0.061),
            Claim("the same of Gaussian inputs", each[1], 1.80, 1.82),
        )

    def ratio(self, data: xr.DataTree, case: str) -> Float[np.ndarray, " t"]:
        """Mean risk of the rows over that of theory, after the start."""
        rows = data[f"{case}/rows"].to_dataset()["risk"].mean("replica").values[1:]
        return rows / self.theory(data, case)[1:]

    def theory(self, data: xr.DataTree, case: str) -> Float[np.ndarray, " t"]:
        """The exact mean of Gaussian inputs; isotropic ones relax at one rate from the same start."""
        expected = data[f"{case}/linear-mean"].to_dataset()["risk"]
        if not self.isotropic:
            return expected.values[:, 0]
        gamma, start = CASES[case][1], float(expected[0, 0])
        return start * np.exp(-(2 - gamma) * expected["time"].values)

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Mean risks with error bars, and theory."""
        figure.set_size_inches(7.5, 4.6)
        axes = figure.subplots()
        for case, (colour, line, marker, label) in _LOOKS.items():
            risk = data[f"{case}/rows"].to_dataset()["risk"].isel(time=slice(1, None))
            error = risk.std("replica") / np.sqrt(risk.sizes["replica"])
            named = f"{label}: rows, rate {CASES[case][1]:g}"
            axes.errorbar(risk["time"], risk.mean("replica"), error, fmt=marker, color=colour, mfc="white", capsize=3)
            axes.plot(risk["time"], self.theory(data, case)[1:], line, color=colour)
            axes.plot([], [], line, marker=marker, color=colour, mfc="white", label=named)
        axes.set(yscale="log", xlabel="time $t$ = steps × rate / dimension", ylabel="excess risk on all rows")
        what = "lines: exact mean of Gaussian inputs"
        axes.legend(frameon=False, title=what, fontsize=8, title_fontsize=8, handlelength=4)
        figure.suptitle(f"{self.title}\nlinear network, even or odd, 1797 rows", fontsize=10)

    def seconds(self, full: bool) -> float:
        return price(self.cases(full))


def problem(scale: str, rate: float, replicas: int) -> OnePassProblem:
    """One linear unit, from a small start, that learns whether a digit is even."""
    features = Features(file="digits", scale=scale, labels="target")
    return OnePassProblem(
        data=Teacher(units=1, activation="linear", covariance=features),
        network=TwoLayer(width=1, activation="linear"),
        training=OnePass(learning_rate=rate),
        run=Run(until=_TIMES[-1], times=_TIMES, replicas=replicas),
    )


def _worst(ratio: Float[np.ndarray, " t"]) -> float:
    return float(np.max(np.abs(ratio - 1)))
