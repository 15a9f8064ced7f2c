"""Momentum is a rate, unless it remembers as many steps as there are dimensions: then learning is of second order.

docs/theory/structured.md, section 4.1: two erf units learn a teacher of one unit, on inputs with two eigenvalues. At equal
Gamma = gamma/(1 - beta) runs of any fixed beta agree with plain SGD of the rate Gamma, up to a deviation in proportion to 1/d.
With 1 - beta = theta Gamma/(p d) velocities matter at any d, and the exact chain agrees with the equations for weights and
velocities.
"""

from typing import ClassVar

import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dimfree.description import AnyDescription
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.onepass.inputs.covariance import Levels
from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.sections import GaussianStart, OnePass, TwoLayer
from dimfree.problem import Run
from dimfree.progress import PartWatcher

RATE, THETA, WIDTH = 1.5, 2.0, 2  # Gamma, at which rate velocities relax, and units
BETAS = (0.0, 0.5, 0.9)
SIZES = {100: 2048, 400: 1024, 1600: 512}  # dimensions, with as many replicas as show the deviation
EXPECTED = {100: (0.027, 0.043), 400: (0.005, 0.013), 1600: (0.0, 0.005)}  # the deviation of beta = 0.9 from the rate
COMMON = 400  # the dimension of the collapse
_TIMES = tuple(0.125 * 2 ** (quarter / 4) for quarter in range(25))
_EARLY = 0.5  # the time at which the deviation is largest
_COLOURS = ("black", "#1f78b4", "#d95f02")


class Momentum(Entry[xr.DataTree]):
    """The chain with momentum, plain SGD of the same rate, and the equations of second order."""

    name: ClassVar[str] = "momentum"
    title: ClassVar[str] = "Momentum is a rate, unless it remembers as many steps as there are dimensions"
    cites: ClassVar[tuple[str, ...]] = ("lee2022",)
    rate: float = RATE  # of the SGD that momentum is compared with
    equations: AnyDescription = HighDimensional()

    def cases(self, full: bool) -> dict[str, Case]:
        """Several beta in one dimension, beta = 0.9 in several, and theta = 2; `full` has four times the replicas."""
        more, chain, d = 4 if full else 1, (OverlapChain(),), max(SIZES)
        remembering = problem(d, 1 - THETA * RATE / (WIDTH * d), 128 * more)
        return {
            **{f"rate at {d}": Case(problem(d, 0.0, 1, self.rate), (HighDimensional(),)) for d in SIZES},
            **{f"beta {beta:g}": Case(problem(COMMON, beta, 256 * more), chain) for beta in BETAS},
            **{f"beginning at {d}": Case(_beginning(problem(d, BETAS[-1], R * more)), chain) for d, R in SIZES.items()},
            "second order": Case(remembering, (*chain, self.equations)),
        }

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        return run_cases(self.cases(full), watch)

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """Runs of different beta collapse, the better the larger the dimension; with theta of order one they do not."""
        collapse = [float(np.abs(deviation(data, f"beta {beta:g}", COMMON)).max()) for beta in BETAS]
        early = {d: float(_early(deviation(data, f"beginning at {d}", d))) for d in SIZES}
        slope = np.log(early[100] / early[400]) / np.log(4) if min(early.values()) > 0 else np.nan
        mean, error, ode = _second_order(data)
        rate = _risk(data, f"rate at {max(SIZES)}", "ode").isel(replica=0)
        return (
            Claim("largest deviation of beta = 0, 0.5, 0.9 from SGD of the rate, d = 400", max(collapse), 0.0, 0.02),
            *(Claim(f"deviation of beta = 0.9 at t = 0.5, d = {d}", early[d], *EXPECTED[d]) for d in SIZES),
            Claim("its exponent in 1/d, from d = 100 to 400", float(slope), 0.8, 1.25),
            Claim(
                "theta = 2: largest deviation of the chain from the ode",
                float(np.abs(mean / ode - 1).max()),
                0.0,
                0.015,
            ),
            Claim("the same in standard errors", float(np.abs((mean - ode) / error).max()), 0.0, 4.0),
            Claim(
                "theta = 2: risk at t = 1 over that of SGD of the rate",
                float(_at(mean, 1.0) / _at(rate, 1.0)),
                1.15,
                1.4,
            ),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """The collapse, deviations against the dimension, and second order beside the rate."""
        figure.set_size_inches(12.0, 4.3)
        left, middle, right = figure.subplots(1, 3)
        _draw_collapse(data, left)
        _draw_deviations(data, middle)
        _draw_second_order(data, right)
        about = rf"two erf units learn one, two eigenvalues, $\Gamma=\gamma/(1-\beta)={RATE:g}$; empty: exact chain, lines: ode"
        figure.suptitle(f"{self.title}\n{about}", fontsize=10)

    def seconds(self, full: bool) -> float:
        return price(self.cases(full))


def problem(d: int, beta: float, replicas: int, rate: float = RATE) -> OnePassProblem:
    """Of this momentum and effective rate."""
    levels = Levels(values=(2.0, 0.5), shares=(0.25, 0.75), normalise=False)
    return OnePassProblem(
        dimension=d,
        data=Teacher(units=1, noise=0.02, covariance=levels),
        network=TwoLayer(width=WIDTH),
        training=OnePass(learning_rate=rate * (1 - beta), momentum=beta),
        start=GaussianStart(scale=1.0),
        run=Run(until=_TIMES[-1], times=_TIMES, replicas=replicas),
    )


def _beginning(whole: OnePassProblem) -> OnePassProblem:
    """Up to twice the time of the largest deviation."""
    times = tuple(time for time in _TIMES if time < 2.1 * _EARLY)
    return whole.replace(**{"run.times": times, "run.until": times[-1]})


def deviation(data: xr.DataTree, case: str, d: int) -> xr.DataArray:
    """How far the mean of the chain is from the ODE of the rate, relative to it."""
    chain = _risk(data, case, "chain").mean("replica")
    return chain / _risk(data, f"rate at {d}", "ode").values[: chain.sizes["time"], 0] - 1


def _at(one: xr.DataArray, time: float) -> xr.DataArray:
    return one.sel(time=time, method="nearest")


def _early(one: xr.DataArray) -> xr.DataArray:
    return _at(one, _EARLY)


def _risk(data: xr.DataTree, case: str, account: str) -> xr.DataArray:
    return data[case][account].to_dataset()["risk"].isel(time=slice(1, None))


def _second_order(data: xr.DataTree) -> tuple[xr.DataArray, xr.DataArray, Float[np.ndarray, " t"]]:
    """Mean of the chain, its error, and the equations."""
    chain = _risk(data, "second order", "chain")
    error = chain.std("replica", ddof=1) / np.sqrt(chain.sizes["replica"])
    return chain.mean("replica"), error, _risk(data, "second order", "ode").values[:, 0]


def _draw_collapse(data: xr.DataTree, axes: Axes) -> None:
    rate = _risk(data, f"rate at {COMMON}", "ode")
    axes.plot(rate["time"], rate[:, 0], color="0.6", lw=1.2, label=r"SGD of the rate $\Gamma$")
    for number, (beta, colour) in enumerate(zip(BETAS, _COLOURS, strict=True)):
        mean = _risk(data, f"beta {beta:g}", "chain").mean("replica")[number :: len(BETAS)]
        axes.plot(mean["time"], mean, "o", color=colour, mfc="white", ms=5, label=rf"$\beta$ = {beta:g}")
    axes.set(xscale="log", yscale="log", xlabel=r"time $t$ = steps × $\Gamma/(pd)$", ylabel="risk")
    _plain_ticks(axes)
    axes.set_title(f"any fixed momentum, d = {COMMON}", fontsize=10)
    axes.legend(frameon=False, fontsize=8)


def _draw_deviations(data: xr.DataTree, axes: Axes) -> None:
    sizes = np.array([*SIZES])
    for d in SIZES:
        risk = _early(_risk(data, f"beginning at {d}", "chain"))
        mean = float(_early(deviation(data, f"beginning at {d}", d)))
        error = float(risk.std("replica", ddof=1) / risk.mean("replica") / np.sqrt(risk.sizes["replica"]))
        axes.errorbar([d], [100 * mean], [100 * error], fmt="o", color=_COLOURS[-1], mfc="white", capsize=3)
    theta = (1 - BETAS[-1]) * WIDTH * sizes / RATE
    axes.plot(sizes, 50 / theta, color="0.6", lw=1.2, label=r"$0.5/\theta$, $\theta=(1-\beta)pd/\Gamma$")
    axes.set(xscale="log", yscale="log", xlabel="dimension $d$", ylabel=rf"% above SGD of the rate, $t$ = {_EARLY:g}")
    axes.set_xticks(sizes, [str(d) for d in SIZES])
    axes.set_yticks([0.2, 0.5, 1, 2, 4], ["0.2", "0.5", "1", "2", "4"])
    axes.minorticks_off()
    axes.set_title(rf"what is left of $\beta$ = {BETAS[-1]:g} falls like 1/d", fontsize=10)
    axes.legend(frameon=False, fontsize=8)


def _draw_second_order(data: xr.DataTree, axes: Axes) -> None:
    mean, error, ode = _second_order(data)
    rate = _risk(data, f"rate at {max(SIZES)}", "ode")
    axes.plot(rate["time"], rate[:, 0], color="0.6", lw=1.2, label=r"SGD of the rate $\Gamma$")
    axes.plot(mean["time"], ode, color=_COLOURS[1], lw=1.2, label=rf"second order, $\theta$ = {THETA:g}")
    axes.errorbar(mean["time"], mean, error, fmt="o", color=_COLOURS[1], mfc="white", ms=5)
    axes.set(xscale="log", yscale="log", xlabel="time $t$")
    _plain_ticks(axes)
    beta = 1 - THETA * RATE / (WIDTH * max(SIZES))
    axes.set_title(rf"$\beta$ = {beta:.5f}, d = {max(SIZES)}", fontsize=10)
    axes.legend(frameon=False, fontsize=8)


def _plain_ticks(axes: Axes) -> None:
    """Label axes of less than two decades with plain numbers."""
    for set_ticks, ticks in ((axes.set_xticks, (0.125, 0.5, 2, 8)), (axes.set_yticks, (0.02, 0.05, 0.1, 0.2))):
        set_ticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
