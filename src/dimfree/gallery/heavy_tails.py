"""Label noise with heavy tails: what clipping the errors gains, and what it costs under Gaussian noise.

docs/theory/losses.md, section 4. A linear unit learns a linear teacher from noisy values. The squared distance D of their
weights falls at a speed proportional to rate times kappa_1 and stays near rate kappa_2/(2 kappa_1), so that losses are
compared at equal speed: there the floors are in the ratio of kappa_2/kappa_1². Under Student noise of 3 degrees of freedom
Huber's loss has half of the floor of the square loss, under Gaussian noise a slightly higher one. Without a variance, at
1.5 degrees, the square loss has no limit: D grows like d^(1/3), because a sum of squares of index 3/4 grows like n^(4/3).
"""

from functools import partial
from math import log
from typing import ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dimfree.description import AnyDescription
from dimfree.functions.sample_loss import AbsoluteLoss, HuberLoss, SampleLoss, SquareLoss
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.one_unit import Loss, mean_and_error, of, one_unit
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.gaussian.any_loss.averages import error_over_noise, sensitivity
from dimfree.gaussian.any_loss.noise import Noise
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.chain import OverlapChain
from dimfree.progress import PartWatcher

_SPEED = 0.1  # learning rate times kappa_1
_EQUAL_RATE = 0.3
_SAMPLES = tuple(5.0 * i for i in range(1, 21))  # per dimension
_LATE = 13  # saved times at the end, from 40 samples per dimension on
_THRESHOLD, _SCALE, _VARIANCE = 0.5, 0.4, 0.3  # of Huber's loss, of Student noise, of Gaussian noise
_SMALL, _LARGE = 100, 800  # dimensions between which the exponent of D is measured
_COMPILING = 5.0  # seconds of one program
_INF = float("inf")
_LOSSES: dict[str, tuple[Loss, SampleLoss, str, str]] = {  # as problems write it, its functions, colour and symbol
    "square": ("square", SquareLoss(), "#d95f02", "s"),
    "huber": ({"kind": "huber", "threshold": _THRESHOLD}, HuberLoss(jnp.asarray(_THRESHOLD)), "#1b9e77", "o"),
    "absolute": ("absolute", AbsoluteLoss(), "#7570b3", "^"),
}
_PAIRS = (("gaussian", "square"), ("gaussian", "huber"), ("3", "square"), ("3", "huber"), ("3", "absolute"))


class HeavyTails(Entry[xr.DataTree]):
    """Floors of three losses under Gaussian noise and under Student noise with and without a variance."""

    name: ClassVar[str] = "heavy-tails"
    title: ClassVar[str] = "Heavy tails: clipped errors help exactly where the noise has them"
    cites: ClassVar[tuple[str, ...]] = ("huber1964", "saad1995")
    theory: AnyDescription = HighDimensional()
    equal: Literal["speed", "rate"] = "speed"
    seed: int = 0

    def cases(self, full: bool) -> dict[str, Case]:
        """SGD and the ODE, which squares of noise without a variance do not have."""
        one = partial(_problem, equal=self.equal)
        both: tuple[AnyDescription, ...] = (OverlapChain(), self.theory)
        found = dict[str, Case]()
        runs = 128 if full else 32
        for number, (law, loss) in enumerate(_PAIRS):
            problem = one(law, loss, dimension=400, replicas=runs, seed=100 * self.seed + number)
            found[f"{law}, {loss}"] = Case(problem, both[:1] if (law, loss) == ("gaussian", "square") else both)
        for number, (loss, dimension) in enumerate((x, d) for x in ("square", "absolute") for d in (_SMALL, _LARGE)):
            replicas = 4 * runs if loss == "square" else runs
            problem = one("1.5", loss, dimension=dimension, replicas=replicas, seed=100 * self.seed + 50 + number)
            alone = loss == "square" or dimension == _SMALL
            found[f"1.5, {loss}, {dimension}"] = Case(problem, both[:1] if alone else both)
        return found

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        return run_cases(self.cases(full), watch)

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """Efficiencies against the square loss, what SGD and the ODE have in common, and divergence without a variance."""
        title = self.theory.title
        ends = {f"{law}, {loss}": _floor(data, f"{law}, {loss}", "chain") for law, loss in _PAIRS}
        robust = ("gaussian, huber", "3, huber", "3, absolute", f"1.5, absolute, {_LARGE}")
        far = max((_deviation(data, name, title) for name in robust), key=abs)
        grown = {
            loss: log(_median(data, f"1.5, {loss}, {_LARGE}") / _median(data, f"1.5, {loss}, {_SMALL}"))
            / log(_LARGE / _SMALL)
            for loss in ("square", "absolute")
        }
        ratios = {
            name: ends[f"{name[0]}, square"] / ends[f"{name[0]}, {name[1]}"]
            for name in (("3", "huber"), ("3", "absolute"), ("gaussian", "huber"))
        }
        best = {name: efficiency(*name) for name in ratios}
        return (
            Claim(f"floors of SGD minus the {title}'s in standard errors, the largest", far, -5.0, 5.0),
            Claim("Student 3: floor of the square loss over Huber's", ratios["3", "huber"], 1.6, 2.3),
            Claim("Student 3: the same over kappa_2/kappa_1²", ratios["3", "huber"] / best["3", "huber"], 0.85, 1.15),
            Claim("Student 3: floor of the square loss over the absolute's", ratios["3", "absolute"], 1.2, 1.9),
            Claim("Gaussian: floor of the square loss over Huber's", ratios["gaussian", "huber"], 0.83, 0.94),
            Claim("Student 1.5: exponent of the square loss's D in d", grown["square"], 0.15, 0.5),
            Claim("Student 1.5: that of the absolute loss", grown["absolute"], -0.04, 0.04),
            Claim(
                "Student 1.5: median D of the square loss over the absolute's",
                _median(data, f"1.5, square, {_LARGE}") / _median(data, f"1.5, absolute, {_LARGE}"),
                3.0,
                _INF,
            ),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """D against samples, efficiencies against degrees of freedom, and single runs without a variance."""
        figure.set_size_inches(12.5, 4.2)
        falling, gains, wild = figure.subplots(1, 3)
        self._draw_floors(data, falling)
        self._draw_gains(data, gains)
        _draw_wild(data, wild)
        figure.suptitle(self.title)

    def _draw_floors(self, data: xr.DataTree, axes: Axes) -> None:
        for loss, (_, _, colour, marker) in _LOSSES.items():
            name = f"3, {loss}"
            expected, real = (_distance(of(data, name, one)) for one in (self.theory.title, "chain"))
            mean, bar = mean_and_error(real)
            axes.plot(_SAMPLES, expected.mean("replica"), "-", color=colour)
            axes.errorbar(_SAMPLES, mean, bar, fmt=marker, color=colour, mfc="white", label=loss)
        axes.set(yscale="log", xlabel=r"samples per dimension $\alpha$", ylabel=r"$D=|w-w^*|^2/d$")
        axes.set_title(f"Student 3, equal {self.equal}: SGD (symbols), {self.theory.title}", fontsize=10)
        axes.legend()

    def _draw_gains(self, data: xr.DataTree, axes: Axes) -> None:
        degrees = np.geomspace(2.05, 30.0, 60)
        for loss in ("huber", "absolute"):
            colour, marker = _LOSSES[loss][2:]
            axes.plot(degrees, [efficiency(str(nu), loss) for nu in degrees], "-", color=colour, label=loss)
            real = _floor(data, "3, square", "chain") / _floor(data, f"3, {loss}", "chain")
            axes.plot(3.0, real, marker, color=colour, mfc="white")
        axes.axhline(1.0, color="grey", ls=":")
        axes.set(
            xscale="log", ylim=(0, 4), xlabel="degrees of freedom of the noise", ylabel="efficiency against square"
        )
        axes.set_title(r"$\mathrm{Var}\,\kappa_1^2/\kappa_2$ (lines), floors of SGD (symbols)", fontsize=10)
        axes.set_xticks([2, 3, 5, 10, 30], ["2", "3", "5", "10", "30"])
        axes.minorticks_off()
        axes.legend()

    def seconds(self, full: bool) -> float:
        """Count all runs; cases of one loss share their programs, which are compiled once."""
        return price(self.cases(full)) - _COMPILING


def _draw_wild(data: xr.DataTree, axes: Axes) -> None:
    drawn = {("square", _SMALL): "--", ("square", _LARGE): "-", ("absolute", _SMALL): "--", ("absolute", _LARGE): "-"}
    for (loss, dimension), style in drawn.items():
        seen = _distance(of(data, f"1.5, {loss}, {dimension}", "chain"))
        colour = _LOSSES[loss][2]
        axes.plot(_SAMPLES, seen.median("replica"), style, color=colour, label=f"{loss}, d = {dimension}")
        if dimension == _LARGE:
            low, high = (seen.quantile(q, "replica") for q in (0.1, 0.9))
            axes.fill_between(_SAMPLES, low, high, color=colour, alpha=0.2, lw=0)
    axes.set(yscale="log", xlabel=r"samples per dimension $\alpha$", ylabel=r"$D$: median, 80 % of the runs")
    axes.set_title("Student 1.5: SGD", fontsize=10)
    axes.legend(fontsize=8, loc="center right")


def _noise(law: str) -> Noise:
    if law == "gaussian":
        return Noise(jnp.sqrt(jnp.asarray(_VARIANCE)))
    return Noise(jnp.asarray(_SCALE), jnp.asarray(float(law)))


@jax.jit
def _kappas(noise: Noise) -> Float[jax.Array, "n 2"]:
    zero = jnp.zeros(())
    found = [(sensitivity(f, noise), error_over_noise(f, noise, zero, zero)[1]) for _, f, _, _ in _LOSSES.values()]
    return jnp.stack([jnp.stack(pair) for pair in found])


def _kappa(law: str, loss: str) -> tuple[float, float]:
    kappa_1, kappa_2 = np.asarray(_kappas(_noise(law)))[list(_LOSSES).index(loss)]
    return float(kappa_1), float(kappa_2)


def efficiency(law: str, loss: str) -> float:
    """Var kappa_1²/kappa_2: the floor of the square loss over that of another one, at equal small speeds."""
    kappa_1, kappa_2 = _kappa(law, loss)
    return float(_noise(law).variance) * kappa_1**2 / kappa_2


def _problem(
    law: str, loss: str, *, equal: Literal["speed", "rate"], dimension: int, replicas: int, seed: int
) -> OnePassProblem:
    """One loss under one noise."""
    rate = _SPEED / _kappa(law, loss)[0] if equal == "speed" else _EQUAL_RATE
    gaussian = law == "gaussian"
    data: dict[str, object] = {"noise": _VARIANCE if gaussian else _SCALE**2}
    data |= {} if gaussian else {"noise_law": {"student": float(law)}}
    sizes = {"dimension": dimension, "replicas": replicas, "seed": seed}
    return one_unit(_LOSSES[loss][0], rate, _SAMPLES, data=data, **sizes, Q=1.3, M=1.0)


def _distance(run: xr.Dataset) -> xr.DataArray:
    """D = Q - 2 M + P."""
    return (run["Q"] - 2 * run["M"].squeeze("teacher", drop=True)).squeeze(("unit", "unit_"), drop=True) + 1.0


def _late(data: xr.DataTree, name: str, one: str) -> Float[np.ndarray, "t r"]:
    found = _distance(of(data, name, one)).transpose("time", "replica").values[-_LATE:]
    return np.asarray(found)


def _floor(data: xr.DataTree, name: str, one: str) -> float:
    return float(_late(data, name, one).mean())


def _median(data: xr.DataTree, name: str) -> float:
    return float(np.median(_late(data, name, "chain")))


def _deviation(data: xr.DataTree, name: str, title: str) -> float:
    """Of SGD's floor from the ODE's, in standard errors over replicas."""
    runs = _late(data, name, "chain").mean(axis=0)
    return float((runs.mean() - _floor(data, name, title)) / (runs.std(ddof=1) / np.sqrt(runs.size)))
