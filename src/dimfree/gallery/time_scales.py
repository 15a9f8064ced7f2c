"""Two learning rates: a single-index target is learned degree by degree, on time scales that separate as eps goes to 0.

docs/theory/mean-field.md, section e. eps = first-layer rate / second-layer rate. Three accounts of m = 10 units: the mean-field
form (r_ij = s_i s_j for all i, j, start s = 0), the exact closed system at d = 400 from a network's start, and SGD from it.
"""

from math import sqrt
from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.special import ndtri

from dimfree.description import AnyDescription
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.onepass.kinds.teacher.time_scales import measured_time_scale, predicted_time_scale, single_index
from dimfree.onepass.limits.ode import GradientFlow
from dimfree.onepass.limits.wide import Dimensionless
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.sections import OnePass, OverlapStart, SphereStart, TwoLayer
from dimfree.problem import Run
from dimfree.progress import PartWatcher
from dimfree.readings.power_laws import power

_PHI = (1.0, -1.0, 2 / 3)  # He_0 - He_1 + (2/3) He_2, read in the orthonormal basis
_SIGMA_1 = 0.5  # of ReLU
_UNTIL, _STEP, _BATCH = 3.0, 2e-5, 50
_SGD_UNTIL = 0.5  # by then all degrees are learned at eps = 1e-3
_COLOURS = "#d95f02", "#7570b3", "#1b9e77"
_INF = float("inf")


class TimeScales(Entry[xr.DataTree]):
    """Component risks at two ratios, and the time scales over six decades of them."""

    name: ClassVar[str] = "time-scales"
    title: ClassVar[str] = "Two learning rates: a single-index target is learned degree by degree"
    cites: ClassVar[tuple[str, ...]] = ("berthier2024",)
    exact: AnyDescription = GradientFlow()
    wide: AnyDescription = Dimensionless(atol=1e-12, self_term=False, label="mean-field form")
    sgd: AnyDescription = VectorSGD()
    ratios: tuple[float, ...] = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
    shown: tuple[float, float] = (1e-3, 1e-6)
    dimension: int = 400
    width: int = 10
    # The second layer's rate is eps**rate times that of the first layer; published displays disagree on the sign.
    rate: float = -1.0

    def problem(self, eps: float, points: int, own_start: bool, until: float = _UNTIL) -> OnePassProblem:
        """From s = 0, or from a network's own overlaps with the target; times are logarithmic."""
        m, d = self.width, self.dimension
        there = SphereStart() if own_start else OverlapStart(Q=np.eye(m).tolist(), M=np.zeros((m, 1)).tolist())
        return OnePassProblem(
            dimension=d,
            data=single_index(_PHI),
            network=TwoLayer(
                width=m,
                activation="relu",
                trained=("first-layer", "second-layer"),
                second_layer_start=tuple(ndtri((np.arange(m) + 0.5) / m).tolist()),
            ),
            training=OnePass(
                learning_rate=_STEP * m * d, batch=_BATCH, second_layer_rate=float(eps**self.rate), spherical=True
            ),
            start=there,
            run=Run(times=tuple(np.geomspace(min(eps, 1e-4), until, points).tolist()), replicas=4),
        )

    def cases(self, full: bool) -> dict[str, Case]:
        """The mean-field form at all ratios, the exact system at two, SGD at the larger of them; `full`: more runs."""
        cases = {f"wide-{eps:g}": Case(self.problem(eps, 511, own_start=False), (self.wide,)) for eps in self.ratios}
        for eps in self.shown:
            cases[f"exact-{eps:g}"] = Case(self.problem(eps, 511, own_start=True), (self.exact,))
        both = self.problem(self.shown[0], 15, own_start=True, until=_SGD_UNTIL)
        both = both.replace(**{"run.replicas": 16}) if full else both
        cases["sgd"] = Case(both, (self.sgd, self.exact))
        return cases

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        """Components of all accounts."""
        return run_cases(self.cases(full), watch)

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """SGD is on the exact system, the mean-field form is not, and the time scales have their exponents."""
        sgd, exact = (data[f"sgd/{one.title}"].to_dataset() for one in (self.sgd, self.exact))
        off = np.abs(_parts(sgd) - _parts(exact)).max(axis=0)
        gap = np.abs(self._risk(data, "exact", self.exact) - self._risk(data, "wide", self.wide)).max()
        eps = np.array(self.ratios)
        t = self._scales(data)
        slope_0 = power(eps, t[:, 0])
        slope_1 = power(eps, t[:, 1] / np.log(1 / eps))
        per_log = np.diff(t[-2:, 1] / np.sqrt(eps[-2:]))[0] / np.diff(np.log(1 / eps[-2:]))[0]
        slope_2 = np.diff(np.log(t[-2:, 2]))[0] / np.diff(np.log(eps[-2:]))[0]
        wait = float((t[:, 1:] / t[:, :-1]).min())
        small = self.shown[1]
        slow = data[f"exact-{small:g}/{self.exact.title}"].to_dataset()
        later = measured_time_scale(slow["time"].values, _parts(slow)[:, 1]) / t[self.ratios.index(small), 1]
        return (
            *(
                Claim(f"largest deviation of degree {k} of SGD from the exact system", float(off[k]), 0, 0.006)
                for k in range(3)
            ),
            Claim(
                f"largest distance of the mean-field form from the exact risk, m = {self.width}", float(gap), 0.03, 0.2
            ),
            Claim("degree 0 is learned at eps^x, x", float(slope_0), 0.99, 1.01),
            Claim("degree 1 at eps^x log(1/eps), x", float(slope_1), 0.49, 0.53),
            Claim(
                "its time over sqrt(eps) grows per log(1/eps) by 1/(4 sigma_1 |phi_1|) = 0.5",
                float(per_log),
                0.48,
                0.53,
            ),
            Claim("degree 2 at eps^x, x between the two smallest eps", float(slope_2), 0.235, 0.275),
            Claim("each degree is learned later than the one before, by a factor of at least", wait, 1.2, _INF),
            Claim(
                f"degree 1 at eps = {small:g}: time of the exact system over that of the mean-field form",
                float(later),
                10,
                50,
            ),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Three components at two ratios, and the time scales."""
        figure.set_size_inches(13, 6.2)
        panels = figure.subplots(2, 4)
        for row, eps in zip(panels, self.shown, strict=True):
            for k in range(3):
                self._draw_component(row[k], data, eps, k)
            row[0].set_ylabel(rf"$\varepsilon = 10^{{{round(np.log10(eps))}}}$" + "\ncomponent of the risk")
        panels[0, 0].legend(fontsize=7)
        for k in range(3):
            panels[0, k].set_title(f"degree {k}")
            panels[1, k].set_xlabel("time $t$")
        self._draw_scales(panels[0, 3], data)
        self._draw_local(panels[1, 3], data)
        figure.suptitle(
            f"{self.title}\nReLU, m = {self.width}, "
            r"$\varphi = \mathrm{he}_0 - \mathrm{he}_1 + \frac{2}{3}\mathrm{he}_2$, "
            r"$\varepsilon$ = first-layer rate / second-layer rate"
        )

    def seconds(self, full: bool) -> float:
        return price(self.cases(full))

    def _draw_component(self, axes: Axes, data: xr.DataTree, eps: float, k: int) -> None:
        wide = data[f"wide-{eps:g}/{self.wide.title}"].to_dataset()
        exact = data[f"exact-{eps:g}/{self.exact.title}"].to_dataset()
        axes.plot(wide["time"][1:], _parts(wide)[1:, k], "--", color=_COLOURS[k], label="mean-field form, $s_i(0) = 0$")
        axes.plot(
            exact["time"][1:], _parts(exact)[1:, k], "-", color=_COLOURS[k], label=f"exact system, d = {self.dimension}"
        )
        if eps == self.shown[0]:
            sgd = data[f"sgd/{self.sgd.title}"].to_dataset()
            values = sgd["components"].values[1:, :, k]
            error = values.std(axis=1, ddof=1) / sqrt(values.shape[1])
            axes.errorbar(
                sgd["time"][1:], values.mean(axis=1), error, fmt="o", color="black", mfc="white", ms=3.5, lw=0.8,
                label=f"SGD, mean of {values.shape[1]}",
            )  # fmt: skip
        axes.axvline(
            measured_time_scale(wide["time"].values, _parts(wide)[:, k]),
            color="grey",
            ls=":",
            lw=1,
            label="1/4 left, mean-field form",
        )
        axes.set(xscale="log", ylim=(0, None))

    def _draw_scales(self, axes: Axes, data: xr.DataTree) -> None:
        t = self._scales(data)
        fine = np.geomspace(min(self.ratios), max(self.ratios), 60)
        labels = (
            r"$\varepsilon$",
            r"$\sqrt{\varepsilon}\,\log(1/\varepsilon)/(4\sigma_1|\varphi_1|)$",
            r"$\varepsilon^{1/4}$",
        )
        for k in range(3):
            line = np.array([predicted_time_scale(x, k, _SIGMA_1, _PHI[1]) for x in fine])
            anchor = 1.0 if k == 1 else t[-1, k] / line[0]  # only the scale of degree 1 comes with its constant
            axes.plot(fine, anchor * line, color=_COLOURS[k], lw=1, label=labels[k])
            axes.plot(self.ratios, t[:, k], "o", color=_COLOURS[k], mfc="white", ms=4.5)
        axes.set(
            xscale="log",
            yscale="log",
            xlabel=r"$\varepsilon$",
            ylabel="time when 1/4 is left",
            title="time scales (mean-field form)",
        )
        axes.legend(fontsize=7, loc="lower right")

    def _draw_local(self, axes: Axes, data: xr.DataTree) -> None:
        eps, t = np.array(self.ratios), self._scales(data)
        between = np.sqrt(eps[1:] * eps[:-1])
        for k, (scale, goal) in enumerate(
            ((np.ones_like(eps), 1.0), (np.log(1 / eps), 0.5), (np.ones_like(eps), 0.25))
        ):
            slopes = np.diff(np.log(t[:, k] / scale)) / np.diff(np.log(eps))
            axes.plot(between, slopes, "o-", color=_COLOURS[k], mfc="white", ms=4.5, lw=1, label=f"degree {k}")
            axes.axhline(goal, color=_COLOURS[k], ls=":", lw=1)
        axes.set(
            xscale="log",
            xlabel=r"$\varepsilon$",
            title="their slopes (degree 1: after the log)",
            ylabel="local exponent",
            ylim=(0, 1.1),
        )
        axes.legend(fontsize=7, loc="center", bbox_to_anchor=(0.5, 0.7))

    def _scales(self, data: xr.DataTree) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        rows = []
        for eps in self.ratios:
            run = data[f"wide-{eps:g}/{self.wide.title}"].to_dataset()
            rows.append([measured_time_scale(run["time"].values, _parts(run)[:, k]) for k in range(3)])
        return np.array(rows)

    def _risk(self, data: xr.DataTree, kind: str, one: AnyDescription) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        run = data[f"{kind}-{self.shown[0]:g}/{one.title}"].to_dataset()
        return np.asarray(run["risk"].values[1:, 0])


def _parts(run: xr.Dataset) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Components by time and degree, mean over replicas."""
    return np.asarray(run["components"].mean("replica").values)
