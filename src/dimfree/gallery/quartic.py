"""Projected gradient descent on quartic neurons learns a quartic of one direction from far fewer samples than kernels need.

Theorem 4 of the notes (Mahankali et al. 2023, informal): with polynomial width, O(d^3.1) samples are enough for certain p of
degree four, y = p(<w*, x>), Gaussian inputs. The neurons are he_2 + he_4 of unit weights, f their mean, and p = mu_2 he_2 + mu_4
he_4: mu_2 and mu_4 are the moments that s = <u, w*> must reach. All steps go over the same n samples; risks are exact, from
overlaps. Gaussian inputs leave a floor of order 1/d (neurons that point anywhere still see |x|²), so that a run is judged by the
share of what the same network gains in as many steps on the population.
"""

from math import log, sqrt
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float, Real
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dimfree.gallery.entry import Claim, Entry
from dimfree.gaussian.components import overlap_components
from dimfree.onepass.directions import TeacherModel
from dimfree.onepass.kinds.teacher.time_scales import single_index
from dimfree.onepass.model import teacher_model
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.sections import TwoLayer
from dimfree.problem.activation import Hermite
from dimfree.progress import PartWatcher
from dimfree.readings.power_laws import power
from dimfree.states.overlaps import Overlaps

_SECOND, _FOURTH = 0.3, 0.15  # mu_2 and mu_4; the theorem asks for mu_4 > 1.1 mu_2² and both small
_NEURON = Hermite(hermite=(0.0, 0.0, 1 / sqrt(2), 0.0, 1 / sqrt(24)))  # he_2 + he_4, orthonormal
_STEP, _STEPS = 0.1, 150
_LEARNED = 0.75  # of what the population lets the same network gain
_THEOREM, _KERNELS = 3.1, 4.0  # exponents of the samples that are enough, and that any kernel needs for degree four
_INF = float("inf")
_MARKERS = ("o", "s", "^", "D")
Data = tuple[Float[Array, "n d"], Float[Array, " n"]]


class Path(NamedTuple):
    """Risks after every step, the start included, and the last weights."""

    risk: Float[Array, " t"]
    weights: Float[Array, "m d"]


def quartic_model(
    width: int, dimension: int, phi: tuple[float, ...] = (0.0, 0.0, _SECOND, 0.0, _FOURTH)
) -> TeacherModel:
    """Quartic neurons and their target, phi in the orthonormal Hermite basis."""
    network = TwoLayer(width=width, activation=_NEURON)
    return teacher_model(OnePassProblem(dimension=dimension, data=single_index(phi), network=network))


def unit_rows(key: jax.Array, width: int, dimension: int) -> Float[Array, "m d"]:
    """Weights uniform on the sphere; the direction w* is the first axis."""
    return _normalised(jax.random.normal(key, (width, dimension)))


def samples(model: TeacherModel, key: jax.Array, count: int, dimension: int) -> Data:
    """Gaussian inputs and their labels."""
    X = jax.random.normal(key, (count, dimension))
    return X, model.target(X[:, :1])


@eqx.filter_jit
def descend(model: TeacherModel, weights: Float[Array, "m d"], data: Data | None, steps: int) -> Path:
    """Projected gradient descent on the samples, or without any on the population: step along the tangent, back to the sphere."""

    def loss(U: Array) -> Array:
        if data is None:
            return exact_risk(model, U)
        X, y = data
        return 0.5 * jnp.mean((y - jnp.mean(model.activation(X @ U.T), axis=1)) ** 2)

    def step(U: Array, _: None) -> tuple[Array, Array]:
        before, slope = jax.value_and_grad(loss)(U)
        force = -model.width * slope
        tangent = force - jnp.sum(force * U, axis=1, keepdims=True) * U
        return _normalised(U + _STEP * tangent), before if data is None else exact_risk(model, U)

    last, risks = jax.lax.scan(step, weights, None, length=steps)
    return Path(jnp.append(risks, exact_risk(model, last)), last)


def exact_risk(model: TeacherModel, U: Float[Array, "m d"]) -> Float[Array, ""]:
    """The population risk of unit weights, second layer 1: neurons and target have no degree above four."""
    return jnp.sum(overlap_components(model, Overlaps(U @ U.T, U[:, :1], jnp.ones(U.shape[0]))))


def _normalised(U: Float[Array, "m d"]) -> Float[Array, "m d"]:
    return U / jnp.linalg.norm(U, axis=1, keepdims=True)


class Quartic(Entry[xr.Dataset]):
    """Samples, width and steps that projected gradient descent takes, against d."""

    name: ClassVar[str] = "quartic"
    title: ClassVar[str] = "Projected gradient descent on quartic neurons learns a quartic of one direction"
    cites: ClassVar[tuple[str, ...]] = ("mahankali2023",)
    phi: tuple[float, ...] = (0.0, 0.0, _SECOND, 0.0, _FOURTH)
    dimensions: tuple[int, ...] = (12, 24, 48)
    exponents: tuple[float, ...] = (1.25, 1.5, 1.75, 2.0, 2.25)  # n = 2 d^exponent
    neurons: int = 4  # per dimension, while samples are counted
    widths: tuple[int, ...] = (20, 40, 80, 160, 640)  # the last one stands for infinity
    longer: tuple[int, ...] = (20, 40, 80, 160, 320, 640)  # dimensions at which steps on the population are counted
    seeds: int = 2
    seed: int = 0  # the first of them

    def measure(self, full: bool, watch: PartWatcher) -> xr.Dataset:
        """Everything, one path after another; `full` at a larger dimension too."""
        dimensions = (*self.dimensions, 2 * self.dimensions[-1]) if full else self.dimensions
        done, total = 0, len(dimensions) + 2

        def report(what: str) -> None:
            nonlocal done
            done += 1
            watch(what, done / total)

        share, fourth, seeds = [], [], range(self.seed, self.seed + self.seeds)
        for d in dimensions:
            rows = [self._with_samples(d, seed) for seed in seeds]
            share.append([row[0] for row in rows])
            fourth.append([row[1] for row in rows])
            report(f"samples, d = {d}")
        ends = [[self._population(m, self.dimensions[1], seed).risk[-1] for seed in seeds] for m in self.widths]
        report("widths")
        steps = [[self._steps(d, seed) for seed in seeds] for d in self.longer]
        report("steps")
        return xr.Dataset(
            {
                "share": (("d", "seed", "exponent"), np.array(share)),
                "fourth": (("d", "seed", "exponent"), np.array(fourth)),
                "end": (("width", "seed"), np.array(ends)),
                "steps": (("longer", "seed"), np.array(steps)),
            },
            {
                "d": list(dimensions),
                "exponent": list(self.exponents),
                "width": list(self.widths),
                "longer": list(self.longer),
            },
        )

    def claims(self, data: xr.Dataset) -> tuple[Claim, ...]:
        """Samples like a power of d far below the kernels', an excess that falls like 1/m or faster, steps like log d."""
        d, needed, most = data["d"].values, self._needed(data), f"2 d^{self.exponents[-1]:g} samples"
        steps, log_d = data["steps"].mean("seed").values, np.log(data["longer"].values)
        growth = (steps[-1] - steps[-3]) / (log_d[-1] - log_d[-3]), (steps[2] - steps[0]) / (log_d[2] - log_d[0])
        excess, width = self._excess(data), data["width"].values[:-1]
        share = data["share"].mean("seed").values[:, -1]
        fourth = data["fourth"].mean("seed").values[:, -1]
        return (
            Claim("samples for 3/4 of the population's gain grow like d^x, x", _slope(d, needed), 1.0, 2.2),
            Claim(f"share of the population's gain from {most}, smallest of all d", float(share.min()), _LEARNED, 1.1),
            Claim(f"mean s^4 over mu_4 from {most}, smallest of all d", float(fourth.min()), 0.6, 1.2),
            Claim(
                "excess risk over the widest network goes like m^x, x at least as fast as 1/m",
                _slope(width, excess),
                -1.7,
                -0.95,
            ),
            Claim("steps on the population grow like d^x, x", _slope(data["longer"].values, steps), 0.0, 0.4),
            Claim(
                "steps per log d at the largest dimensions over those at the smallest",
                float(growth[0] / growth[1]),
                0.6,
                1.8,
            ),
        )

    def draw(self, data: xr.Dataset, figure: Figure) -> None:
        """Share learned against samples, samples, width and steps."""
        figure.set_size_inches(14, 3.8)
        learned, needed, wide, long = figure.subplots(1, 4)
        for n, d in enumerate(data["d"].values):
            share = data["share"].sel(d=d)
            x = 2 * d ** data["exponent"].values
            error = share.std("seed", ddof=1) / sqrt(self.seeds)
            learned.errorbar(
                x, share.mean("seed"), error, fmt=f"{_MARKERS[n]}-", color=f"C{n}", mfc="white", ms=4, lw=1,
                label=f"d = {d}",
            )  # fmt: skip
        learned.axhline(_LEARNED, color="grey", ls=":")
        learned.set(xscale="log", xlabel="samples $n$", ylabel="share of the population's gain", ylim=(None, 1.05))
        learned.legend()
        d, found = data["d"].values.astype(float), self._needed(data)
        needed.plot(d, found, "o", color="black", mfc="white", label=f"3/4 learned, width {self.neurons}d")
        needed.plot(
            d,
            found[0] * (d / d[0]) ** _slope(d, found),
            "-",
            color="black",
            lw=1,
            label=f"$d^{{{_slope(d, found):.2f}}}$",
        )
        needed.plot(d, found[0] * (d / d[0]) ** _THEOREM, "--", color="#d95f02", lw=1, label="$d^{3.1}$ (theorem)")
        needed.plot(d, found[0] * (d / d[0]) ** _KERNELS, ":", color="#7570b3", label="$d^4$ (kernels)")
        _marked(needed, d, "dimension $d$", "samples $n$")
        needed.set_yscale("log")
        needed.legend(fontsize=7)
        width, excess = data["width"].values[:-1], self._excess(data)
        wide.plot(
            width,
            excess,
            "o",
            color="black",
            mfc="white",
            label=f"over width {self.widths[-1]}, d = {self.dimensions[1]}",
        )
        slope = _slope(width, excess)
        wide.plot(
            width, excess[0] * (width / width[0]) ** slope, "-", color="black", lw=1, label=f"$m^{{{slope:.2f}}}$"
        )
        wide.plot(width, excess[0] * width[0] / width, "--", color="grey", label=r"$\propto 1/m$")
        _marked(wide, width, "width $m$", "excess of the last risk")
        wide.set_yscale("log")
        wide.legend(fontsize=7)
        steps = data["steps"]
        long.errorbar(
            steps["longer"], steps.mean("seed"), steps.std("seed", ddof=1) / sqrt(self.seeds), fmt="o", color="black",
            mfc="white", label=f"3/4 of the gain, step {_STEP:g}",
        )  # fmt: skip
        line = np.polynomial.Polynomial.fit(np.log(self.longer), steps.mean("seed"), 1)
        long.plot(self.longer, line(np.log(self.longer)), "--", color="grey", label=r"$a + b\,\log d$")
        _marked(long, np.array(self.longer), "dimension $d$", "steps on the population")
        long.legend(fontsize=7)
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        """Products of samples and weights, and one compilation for every size."""
        sizes = (*self.dimensions, 2 * self.dimensions[-1]) if full else self.dimensions
        products = sum(2 * d**x * d * self.neurons * d for d in sizes for x in self.exponents)
        programs = len(sizes) * (len(self.exponents) + 1) + len(self.widths) + len(self.longer)
        return 0.8e-9 * _STEPS * self.seeds * products + 2.5 * programs

    def _population(self, width: int, d: int, seed: int) -> Path:
        model = quartic_model(width, d, self.phi)
        return descend(model, unit_rows(jax.random.key(seed), width, d), None, _STEPS)

    def _with_samples(self, d: int, seed: int) -> tuple[list[float], list[float]]:
        """For every n the share of the population's gain, and the mean of s^4 over mu_4."""
        width = self.neurons * d
        model, best, shares, fourth = quartic_model(width, d, self.phi), self._population(width, d, seed).risk, [], []
        for x in self.exponents:
            data = samples(model, jax.random.fold_in(jax.random.key(seed), round(100 * x)), round(2 * d**x), d)
            path = descend(model, unit_rows(jax.random.key(seed), width, d), data, _STEPS)
            shares.append(float((best[0] - path.risk[-1]) / (best[0] - best[-1])))
            fourth.append(float(jnp.mean(path.weights[:, 0] ** 4) / _FOURTH))
        return shares, fourth

    def _steps(self, d: int, seed: int) -> float:
        """How many steps on the population reach 3/4 of its gain, with a fraction of a step."""
        risks = np.asarray(self._population(self.widths[2], d, seed).risk)
        goal = risks[0] - _LEARNED * (risks[0] - risks[-1])
        first = int(np.argmax(risks < goal))
        return first - float((goal - risks[first]) / (risks[first - 1] - risks[first]))

    def _needed(self, data: xr.Dataset) -> Float[np.ndarray, " d"]:
        """Where the mean share first crosses 3/4, by lines in log n; infinite if it does not."""
        found = []
        for d, share in zip(data["d"].values, data["share"].mean("seed").values, strict=True):
            log_n = log(2) + np.array(self.exponents) * log(d)
            at = int(np.argmax(share >= _LEARNED))
            if share[at] < _LEARNED or at == 0:
                found.append(_INF if share[at] < _LEARNED else float(np.exp(log_n[0])))
                continue
            part = (_LEARNED - share[at - 1]) / (share[at] - share[at - 1])
            found.append(float(np.exp(log_n[at - 1] + part * (log_n[at] - log_n[at - 1]))))
        return np.array(found)

    def _excess(self, data: xr.Dataset) -> Float[np.ndarray, " w"]:
        ends = data["end"].mean("seed").values
        return np.asarray(ends[:-1] - ends[-1])


def _slope(x: Real[np.ndarray, " n"], y: Float[np.ndarray, " n"]) -> float:
    if not np.all((y > 0) & np.isfinite(y)):
        return float("nan")
    return power(x, y)


def _marked(axes: Axes, sizes: Real[np.ndarray, " n"], what: str, label: str) -> None:
    axes.set(xscale="log", xlabel=what, ylabel=label)
    axes.set_xticks(sizes, [f"{x:.0f}" for x in sizes])
    axes.set_xticks([], minor=True)
