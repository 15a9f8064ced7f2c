"""The regimes of SGD: rate/width = d^(-s) with s above, at and below zero (docs/theory/committee.md, section 4).

Width 4 and two teacher units throughout, so kappa = 0 and delta = s. The start has the same overlaps at every dimension, so
that only the noise of the steps depends on the dimension. Each regime has its own clock: t where the gradient survives,
t' = t rate/width where only the noise does, and the number of steps where nothing deterministic is left.
"""

from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dimfree.description import AnyDescription
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.sections import OnePass, OverlapStart, TwoLayer
from dimfree.problem import Run
from dimfree.progress import PartWatcher
from dimfree.readings.power_laws import power

_WIDTH, _NOISE = 4, 0.1
_M = np.array([[0.5, 0.1], [0.1, 0.5]] * 2)
_Q = _M @ _M.T + np.diag(1 - np.sum(_M**2, axis=1))
_STEPS = 30  # of SGD where no clock is left
_INF = float("inf")


class Family(NamedTuple):
    """Growing dimension at one exponent."""

    s: float
    dimensions: tuple[int, ...]
    until: float  # on the family's own clock
    replicas: int
    title: str


FAMILIES = {
    "perfect": Family(0.5, (16, 64, 256), 400.0, 8, "perfect learning"),
    "plateau": Family(0.0, (64, 256, 1024), 60.0, 32, "Saad–Solla, a plateau"),
    "bad": Family(-0.25, (64, 256, 1024), 4.0, 64, "bad learning"),
    "none": Family(-0.75, (64, 256, 1024), float(_STEPS), 256, "no deterministic limit"),
}


class Regimes(Entry[xr.DataTree]):
    """Four families of growing dimension."""

    name: ClassVar[str] = "regimes"
    title: ClassVar[str] = "Regimes: rate/width = d^(-s); perfect learning, a plateau, bad learning, no limit"
    cites: ClassVar[tuple[str, ...]] = ("saad1995", "veiga2022")
    theory: AnyDescription = HighDimensional()
    exponents: tuple[float, ...] = tuple(family.s for family in FAMILIES.values())

    def families(self, full: bool) -> dict[str, Family]:
        """The families of problems; `full` adds a dimension four times larger to each."""
        return {
            name: family._replace(
                s=s, dimensions=(*family.dimensions, 4 * family.dimensions[-1]) if full else family.dimensions
            )
            for (name, family), s in zip(FAMILIES.items(), self.exponents, strict=True)
        }

    def cases(self, full: bool) -> dict[str, Case]:
        """Every family at its dimensions, and perfect learning once more with twice the label noise."""
        cases: dict[str, Case] = {}
        sgd: AnyDescription = OverlapChain()
        for name, family in self.families(full).items():
            runs = (sgd,) if name == "none" else (self.theory, sgd)
            cases |= {f"{name}-{d}": Case(_problem(family, d), runs) for d in family.dimensions}
        family = self.families(full)["perfect"]
        noisy = _problem(family, family.dimensions[-1]).replace(**{"data.noise": 2 * _NOISE})
        return cases | {"noisy": Case(noisy, (sgd,))}

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        """Risk and overlaps along all runs."""
        return run_cases(self.cases(full), watch)

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """How the risk, the overlaps with the teacher and the scatter change with the dimension."""
        late = {name: _per_dimension(data, name, _late_risk) for name in FAMILIES}
        largest = f"plateau-{max(late['plateau'])}"
        noisy = _late_risk(_sgd(data, "noisy")) / late["perfect"][max(late["perfect"])]
        theory = _late_risk(data[f"{largest}/{self.theory.title}"].to_dataset())
        start = float(_sgd(data, largest)["risk"].values[0, 0])
        return (
            Claim("s = 1/2: the final risk falls like d^x, x", _slope(late["perfect"]), -0.6, -0.4),
            Claim("s = 1/2: final risk with twice the label noise over once", noisy, 1.8, 2.2),
            Claim("s = 0: the final risk does not depend on d, d^x, x", _slope(late["plateau"]), -0.1, 0.1),
            Claim(
                "s = 0: final risk of the theory over that of SGD", theory / _late_risk(_sgd(data, largest)), 0.97, 1.03
            ),
            Claim("s = 0: runs scatter like d^x, x", _slope(_per_dimension(data, "plateau", _scatter)), -0.65, -0.35),
            Claim(
                "s = -1/4: on the clock of the noise M moves like d^x, x",
                _slope(_per_dimension(data, "bad", _moved)),
                -0.3,
                -0.2,
            ),
            Claim("s = -1/4: final risk over the risk of the start", late["bad"][max(late["bad"])] / start, 1.1, _INF),
            Claim("s = -3/4: runs scatter like d^x, x", _slope(_per_dimension(data, "none", _scatter)), -0.1, 0.3),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Draw one panel per family, on its own clock."""
        figure.set_size_inches(13, 3.7)
        panels = figure.subplots(1, 4)
        for axes, (name, family) in zip(panels, FAMILIES.items(), strict=True):
            self._draw_family(data, axes, name, family)
        panels[0].set_ylabel("population risk (without label noise)")
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        return price(self.cases(full))

    def _draw_family(self, data: xr.DataTree, axes: Axes, name: str, family: Family) -> None:
        for d, colour in zip(_dimensions(data, name), ("#9ecae1", "#4292c6", "#084594", "black"), strict=False):
            clock, label = _clock(name, d ** (-family.s), d)
            sgd = _sgd(data, f"{name}-{d}").isel(time=slice(1, None))
            low, high = sgd["risk"].quantile([0.1, 0.9], "replica").values
            axes.fill_between(sgd["time"] * clock, low, high, color=colour, alpha=0.25, lw=0)
            axes.plot(
                sgd["time"][::2] * clock,
                sgd["risk"].mean("replica")[::2],
                "o",
                color=colour,
                mfc="white",
                ms=3.5,
                label=f"d = {d:,}",
            )
            if self.theory.title in data[f"{name}-{d}"]:
                limit = data[f"{name}-{d}/{self.theory.title}"].to_dataset().isel(time=slice(1, None), replica=0)
                axes.plot(limit["time"] * clock, limit["risk"], color=colour, lw=1)
        scale = "linear" if name == "none" else "log"
        axes.set(xscale=scale, yscale="log", xlabel=label, title=f"s = {family.s:g}: {family.title}")
        axes.legend(title="dots: SGD (band: 80 %)" + ("" if name == "none" else f"\nlines: {self.theory.title}"))


def _problem(family: Family, d: int) -> OnePassProblem:
    weight = d ** (-family.s)
    clock = 1.0 if family.s >= 0 else 1 / weight if family.s > -0.5 else weight / d
    return OnePassProblem(
        dimension=d,
        data=Teacher(units=2, noise=_NOISE),
        network=TwoLayer(width=_WIDTH),
        training=OnePass(learning_rate=_WIDTH * weight),
        start=OverlapStart(Q=_Q.tolist(), M=_M.tolist()),
        run=Run(
            until=family.until * clock,
            replicas=family.replicas,
            points=_STEPS + 1 if family.s <= -0.5 else 60,
            spacing="linear" if family.s <= -0.5 else "log",
        ),
    )


def _clock(name: str, weight: float, d: int) -> tuple[float, str]:
    """The factor by which t is multiplied on the axis, and the name of the axis."""
    return {"bad": (weight, "time of the noise $t'=t\\,\\gamma/p$"), "none": (d / weight, "steps")}.get(
        name, (1.0, "time $t$")
    )


def _sgd(data: xr.DataTree, case: str) -> xr.Dataset:
    return data[f"{case}/chain"].to_dataset()


def _dimensions(data: xr.DataTree, name: str) -> list[int]:
    return sorted(int(case.removeprefix(f"{name}-")) for case in data.children if case.startswith(f"{name}-"))


def _per_dimension(data: xr.DataTree, name: str, number: Callable[[xr.Dataset], float]) -> dict[int, float]:
    return {d: number(_sgd(data, f"{name}-{d}")) for d in _dimensions(data, name)}


def _late_risk(run: xr.Dataset) -> float:
    """The mean over replicas and the second half of the time."""
    return float(run["risk"].sel(time=slice(run["time"][-1] / 2, None)).mean())


def _scatter(run: xr.Dataset) -> float:
    """The relative standard deviation between replicas of the trace of Q at the end."""
    trace = np.trace(run["Q"].values[-1], axis1=-2, axis2=-1)
    return float(trace.std(ddof=1) / trace.mean())


def _moved(run: xr.Dataset) -> float:
    """The mean change of the entries of M from start to end."""
    M = run["M"].mean("replica").values
    return float(np.abs(M[-1] - M[0]).mean())


def _slope(values: dict[int, float]) -> float:
    return power(list(values), list(values.values()))
