"""Noisy SGD forgets its start: stationary laws of two solvable models and of ramp neurons, and what a temperature costs.

docs/theory/mean-field.md, section c, with noise of variance 2 eps/beta. On two Gaussians the law of r is proportional to
r^(d-1) exp(-beta psi). It is reached by Langevin particles and by real noisy SGD, whose risk is higher by O(1/N): by less than
for independent neurons of that law, because neurons that repel each other fluctuate less. R - inf R is at most of order d/beta.
At beta = 40 and lambda = 0.1 the law has one hump and is reached by t = 30; at beta = 80 it has two, which takes t > 400.
"""

from math import inf, sqrt
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dimfree.description import AnyDescription
from dimfree.functions.ramps import RAMP
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.radial_laws.finite_volume import cells
from dimfree.gallery.radial_laws.noisy import excess_risk, gibbs, langevin
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.gallery.solvable import linear_law, quadratic_variance
from dimfree.gallery.solvable_models import LINEAR, QUADRATIC, TARGET, Force, linear_force, quadratic_force, walk
from dimfree.gallery.two_gaussians import REAL, RISK, THEORY, risk, two_gaussians_problem
from dimfree.gaussian.neuron_risk import output_moments
from dimfree.onepass.fields.langevin import bath
from dimfree.onepass.fields.radial import RadialField, quantile_radii, two_gaussians
from dimfree.onepass.model import model
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.progress import PartWatcher

_D, _DELTA, _KAPPA, _BETA, _DECAY = 40, 0.8, 0.8, 40.0, 0.1
_UNTIL, _SETTLED = 40.0, 25.0
_BALL = 5.0  # neurons without decay are confined to norms below this, as their potential is bounded
_BETAS = np.array([1e2, 3e2, 1e3, 3e3, 1e4, 3e4, 1e5])
_FITTED = 1e3  # up to here temperatures fix the constant of the bound
_ENSEMBLES = 8


class NoisySGD(Entry[xr.Dataset]):
    """Noisy neurons of both solvable models; Langevin particles, real SGD and Gibbs law of ramp neurons; the excess risk."""

    name: ClassVar[str] = "noisy-sgd"
    title: ClassVar[str] = "Noisy SGD: stationary laws, and the price of a temperature"
    cites: ClassVar[tuple[str, ...]] = ("mei2018", "mei2019")
    linear: Force = linear_force
    quadratic: Force = quadratic_force
    sgd: AnyDescription = VectorSGD()
    neurons: int = 20_000
    heat: float = 1.0  # factor of the temperature of all noise; the theory is for 1

    def problem(self, full: bool) -> OnePassProblem:
        """Real noisy SGD. Batches keep the noise of the samples small beside the noise that is added."""
        width, eps = (400, 5e-4) if full else (200, 1e-3)
        problem = two_gaussians_problem(_D, width, _DELTA, eps, _KAPPA, _UNTIL, points=9)
        rule = {"batch": 10, "weight_decay": _DECAY, "inverse_temperature": _BETA / self.heat}
        return problem.replace(**{f"training.{key}": value for key, value in rule.items()})

    def cases(self, full: bool) -> dict[str, Case]:
        """One run."""
        return {"sgd": Case(self.problem(full), (self.sgd,))}

    def measure(self, full: bool, watch: PartWatcher) -> xr.Dataset:
        """`full` has four times as many neurons and particles, and real SGD of twice the width at half the step."""
        count = (4 if full else 1) * self.neurons
        watch("solvable models", 0.0)
        solvable = {
            "linear": walk(self.linear, LINEAR._replace(beta=LINEAR.beta / self.heat), count),
            "quadratic": walk(self.quadratic, QUADRATIC._replace(beta=QUADRATIC.beta / self.heat), count),
        }
        watch("stationary law", 0.3)
        field, edges = two_gaussians(RAMP, _DELTA, float(_D)), cells(6.0, 300)
        law = gibbs(field, bath(_D, _BETA, _DECAY), edges)
        r, risks = _ensembles(field, _BETA / self.heat, count // (10 * _ENSEMBLES))
        excess = excess_risk(field, _D, _BETAS, cells(_BALL, 250)).excess
        run = run_cases(self.cases(full), lambda text, fraction: watch(text, 0.5 + 0.5 * fraction))[
            "sgd/sgd"
        ].to_dataset()
        run = run.sel(time=slice(_SETTLED, None))
        centres = 0.5 * np.asarray(edges[1:] + edges[:-1])
        variables: dict[str, Any] = {
            **{name: (("neuron", "coordinate"), theta) for name, theta in solvable.items()},
            "langevin": (("ensemble", "particle"), r),
            "langevin_risk": ("ensemble", risks),
            "sgd": (("replica", "unit"), run["r1"].values[-1]),
            "sgd_risk": ("settled", risk(run).ravel()),
            "mass": ("cell", np.asarray(law.mass)),
            "gibbs_risk": float(law.risk),
            "independent_risk": _independent_risk(field, centres, law.mass),
            "excess": ("beta", np.asarray(excess)),
            "beta_eff": float(model(self.problem(full)).beta_eff),
        }
        return xr.Dataset(variables, {"cell": centres, "beta": _BETAS})

    def claims(self, data: xr.Dataset) -> tuple[Claim, ...]:
        """Laws are the closed ones, Langevin particles and SGD have the Gibbs law, the price is at most linear in d/beta."""
        law = linear_law(TARGET, LINEAR.decay, LINEAR.beta, inf, np.zeros(3), 1.0)
        s = quadratic_variance(0.5, 3, QUADRATIC.decay, QUADRATIC.beta, inf, 1.0)
        # the mean of interacting linear neurons relaxes at the rate 1 + lambda
        error = sqrt(1 / (LINEAR.beta * (1 + LINEAR.decay) * data.sizes["neuron"]))
        means = float(np.abs(data["linear"].mean("neuron") - law.mean).max()) / error
        risks = data["langevin_risk"].values
        sigmas = (risks.mean() - data["gibbs_risk"]) / (risks.std(ddof=1) / sqrt(risks.size))
        added = (data["sgd_risk"].mean() - data["gibbs_risk"]) * data.sizes["unit"]
        constant, far = _constant(data), 5.4  # Student's t of eight ensembles is beyond with probability 0.001
        return (
            Claim("linear model: largest error of the mean of theta, in standard errors", means, 0.0, 4.0),
            Claim(
                "linear model: variance over the closed one, 0.5", _variance(data, "linear") / law.variance, 0.98, 1.02
            ),
            Claim(
                "quadratic model: variance over the closed one, 0.5093", _variance(data, "quadratic") / s, 0.98, 1.02
            ),
            Claim("mean norm of Langevin particles minus Gibbs law, in standard errors", _z(data, "langevin"), -4, 4),
            Claim("risk R of Langevin particles minus Gibbs law, in standard errors", float(sigmas), -far, far),
            Claim("beta_eff = 2c/v of noisy SGD", float(data["beta_eff"]), _BETA, _BETA),
            Claim("mean norm of noisy SGD minus Gibbs law, in standard errors", _z(data, "sgd"), -4, 4),
            Claim(
                "N (R_N of noisy SGD minus R of Gibbs law), over that of independent neurons of this law",
                float(added / data["independent_risk"]),
                0.0,
                1.0,
            ),
            Claim(
                f"largest (R - inf R)/(C d/beta) at beta > {_FITTED:g}, with C = {constant:.2g} the smallest up to there",
                float((_in_units(data)[_FITTED < _BETAS] / constant).max()),
                0.0,
                1.0,
            ),
        )

    def draw(self, data: xr.Dataset, figure: Figure) -> None:
        """Draw coordinates of theta, norms, and the excess risk."""
        figure.set_size_inches(12, 3.9)
        solvable, radial, price = figure.subplots(1, 3)
        _draw_solvable(data, solvable)
        centres, mass = data["cell"].values, data["mass"].values
        bins = np.linspace(1.5, 5.5, 41).tolist()
        radial.hist(data["sgd"].values.ravel(), bins[::2], density=True, color=REAL, alpha=0.25, label="noisy SGD")
        particles = data["langevin"].values.ravel()
        radial.hist(particles, bins, density=True, histtype="step", color="#1f78b4", label="Langevin particles")
        radial.plot(centres, mass / np.diff(centres)[0], color=THEORY, label="Gibbs law")
        beta = rf"$\beta_\mathrm{{eff}}$ = {float(data['beta_eff']):g}"
        radial.set(xlabel="norm $r = |w|$", ylabel="density", xlim=(1.5, 5.5), ylim=(0, 1.35))
        radial.set_title(rf"d = {_D}, {beta}, $\lambda$ = {_DECAY:g}")
        radial.legend()
        x = _D / _BETAS
        price.plot(x, data["excess"], "o", color=REAL, mfc="white", label="Gibbs law")
        price.plot(x, _constant(data) * x, "--", color="grey", label=rf"bound: {_constant(data):.2g} $d/\beta$")
        price.set(xscale="log", yscale="log", xlabel=r"$d/\beta$", ylabel=r"$R(\rho_\beta)$ minus inf $R$")
        price.set_title(f"{RISK}, norms below {_BALL:g}")
        price.legend()
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        """Proportional to the neurons, after compilation, and real SGD."""
        return 15.0 + (4 if full else 1) * 1.5e-3 * self.neurons + price(self.cases(full))


def _ensembles(field: RadialField, beta: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Norms and risks at the end of independent ensembles of Langevin particles."""
    start, around = quantile_radii(_KAPPA, count, float(_D)), bath(_D, beta, _DECAY)
    runs = [
        langevin(field, around, start, jnp.array([_UNTIL]), jnp.asarray(0.02), key)
        for key in jax.random.split(jax.random.key(1), _ENSEMBLES)
    ]
    return np.array([r[0] for r, _ in runs]), np.array([risk[0] for _, risk in runs])


def _independent_risk(field: RadialField, centres: Any, mass: Any) -> float:
    """N (E R_N - R) of N independent neurons of a law: the variance of one neuron's output (section a)."""
    r, one = jnp.asarray(centres), jnp.ones(1)

    def square(tau: Array) -> Array:
        return output_moments(RAMP, one, 0 * one, tau[None, None], 1)[1]

    squares = 0.5 * (jax.vmap(square)((1 + _DELTA) * r) + jax.vmap(square)((1 - _DELTA) * r))
    return float(mass @ squares - field.weights @ field.output(r, mass) ** 2)


def _z(data: xr.Dataset, name: str) -> float:
    """The mean norm minus that of the Gibbs law over its standard error."""
    r = data[name].values
    return float((r.mean() - data["mass"].values @ data["cell"].values) / (r.std() / sqrt(r.size)))


def _in_units(data: xr.Dataset) -> np.ndarray:
    return np.asarray(data["excess"].values * _BETAS / _D)


def _constant(data: xr.Dataset) -> float:
    """The smallest constant C for which R - inf R <= C d/beta at the warmer temperatures."""
    return float(_in_units(data)[_BETAS <= _FITTED].max())


def _variance(data: xr.Dataset, name: str) -> float:
    return float(data[name].var("neuron").mean())


def _draw_solvable(data: xr.Dataset, axes: Axes) -> None:
    laws = (
        ("linear", linear_law(TARGET, LINEAR.decay, LINEAR.beta, inf, np.zeros(3), 1.0).mean[0], 0.5, "#1f78b4"),
        ("quadratic", 0.0, quadratic_variance(0.5, 3, QUADRATIC.decay, QUADRATIC.beta, inf, 1.0), THEORY),
    )
    for name, mean, variance, colour in laws:
        values = data[name].values[:, 0]
        x = np.linspace(values.min(), values.max(), 200)
        axes.hist(values, 50, density=True, color=colour, alpha=0.3, label=f"{name}: neurons")
        normal = np.exp(-((x - mean) ** 2) / (2 * variance)) / sqrt(2 * np.pi * variance)
        axes.plot(x, normal, color=colour, label=f"{name}: closed law")
    axes.set(xlabel=r"first coordinate of $\theta$", ylabel="density", ylim=(0, 0.85))
    axes.set_title("two solvable models")
    axes.legend(fontsize=7, ncols=2, loc="upper center")
