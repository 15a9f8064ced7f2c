"""Noisy SGD forgets its start: stationary laws of two solvable models, of ramp neurons, and what the temperature costs.

docs/theory/mean-field.md, section c, with noise of variance 2 eps/beta. Solvable are neurons <theta, x> and <theta, x>²; on two
Gaussians the law of r is proportional to r^(d-1) exp(-beta psi), which Langevin particles reach, and R - inf R is of order
d/beta.
"""

from collections.abc import Callable
from math import inf, sqrt
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dimfree.functions.ramps import RAMP
from dimfree.gallery.entry import Claim, Entry, Watcher
from dimfree.gallery.two_gaussians import RISK
from dimfree.theory.finite_volume import cells
from dimfree.theory.noisy import bath, excess_risk, gibbs, langevin
from dimfree.theory.radial import quantile_radii, two_gaussians
from dimfree.theory.solvable import linear_law, quadratic_variance

_D, _DELTA, _KAPPA, _BETA, _DECAY, _UNTIL = 40, 0.8, 0.8, 80.0, 0.1, 60.0
_BETAS = np.array([1e3, 1e4, 1e5, 1e6])
_TARGET = np.array([1.0, -0.5, 0.25])
Force = Callable[[np.ndarray], np.ndarray]


def linear_force(theta: np.ndarray) -> np.ndarray:
    """Minus grad Psi of neurons <theta, x> with labels <b, x>: the same for all."""
    return np.broadcast_to(_TARGET - theta.mean(axis=0), theta.shape)


def quadratic_force(theta: np.ndarray) -> np.ndarray:
    """Minus grad Psi of neurons <theta, x>² with labels |x|²/2."""
    D = theta.shape[1]
    S, B = theta.T @ theta / len(theta), 0.5 * np.eye(D)
    A = np.trace(S - B) * np.eye(D) + 2 * (S - B)
    return -2 * theta @ A


class NoisySGD(Entry[xr.Dataset]):
    """Noisy neurons of both solvable models, Langevin particles and Gibbs law of the norms, and the excess risk."""

    name: ClassVar[str] = "noisy-sgd"
    title: ClassVar[str] = "Noisy dynamics: stationary laws, and the price of a temperature"
    cites: ClassVar[tuple[str, ...]] = ("mei2018", "mei2019")
    linear: Force = linear_force
    quadratic: Force = quadratic_force
    neurons: int = 20_000
    heat: float = 1.0  # factor of the temperature of all noise; the theory is for 1

    def measure(self, full: bool, watch: Watcher) -> xr.Dataset:
        """`full` has four times as many neurons and particles."""
        count = (4 if full else 1) * self.neurons
        watch("solvable models", 0.0)
        linear = self._walk(self.linear, 0.5, 4.0, 8.0, 0.01, count)
        quadratic = self._walk(self.quadratic, 0.3, 5.0, 1.0, 0.001, count)
        watch("Gibbs law", 0.6)
        field, edges = two_gaussians(RAMP, _DELTA, float(_D)), cells(5.0, 250)
        law = gibbs(field, bath(_D, _BETA, _DECAY), edges)
        start = quantile_radii(_KAPPA, count // 10, float(_D))
        warm = bath(_D, _BETA / self.heat, _DECAY)
        r, risk = langevin(field, warm, start, jnp.array([_UNTIL]), jnp.asarray(0.02), jax.random.key(1))
        watch("price of a temperature", 0.9)
        excess = excess_risk(field, _D, _BETAS, edges)
        variables = {
            "linear": (("neuron", "coordinate"), linear),
            "quadratic": (("neuron", "coordinate"), quadratic),
            "r": ("particle", np.asarray(r[0])),
            "mass": ("cell", np.asarray(law.mass)),
            "risk": ("account", np.array([float(risk[0]), float(law.risk)])),
            "excess": ("beta", np.asarray(excess.excess)),
        }
        centres = 0.5 * (np.asarray(edges)[1:] + np.asarray(edges)[:-1])
        return xr.Dataset(variables, {"cell": centres, "beta": _BETAS, "account": ["langevin", "gibbs"]})

    def claims(self, data: xr.Dataset) -> tuple[Claim, ...]:
        """Variances are the closed ones, particles have the Gibbs law, the excess falls like 1/beta."""
        law = linear_law(_TARGET, 0.5, 4.0, inf, np.zeros(3), 1.0)
        s = quadratic_variance(0.5, 3, 0.3, 5.0, inf, 1.0)
        means = float(np.abs(data["linear"].mean("neuron") - law.mean).max())
        r, mass, centres = data["r"].values, data["mass"].values, data["cell"].values
        sigmas = float((r.mean() - mass @ centres) / (r.std() / sqrt(r.size)))
        slope = np.polyfit(np.log(_BETAS), np.log(data["excess"].values), 1)[0]
        langevin_risk, gibbs_risk = data["risk"].values
        return (
            Claim("linear model: largest error of the mean of theta", means, 0.0, 0.015),
            Claim(
                "linear model: variance over the closed one, 0.5", _variance(data, "linear") / law.variance, 0.98, 1.02
            ),
            Claim(
                "quadratic model: variance over the closed one, 0.5093", _variance(data, "quadratic") / s, 0.98, 1.02
            ),
            Claim("mean norm of Langevin particles minus Gibbs law in standard errors", sigmas, -4.0, 4.0),
            Claim("risk R of Langevin particles minus Gibbs law", float(langevin_risk - gibbs_risk), -0.02, 0.02),
            Claim("R - inf R falls at least like 1/beta: fitted exponent", float(slope), -inf, -0.8),
            Claim("largest (R - inf R) beta/d", float((data["excess"].values * _BETAS / _D).max()), 0.0, 1.0),
        )

    def draw(self, data: xr.Dataset, figure: Figure) -> None:
        """Coordinates of theta, norms, and the excess risk."""
        figure.set_size_inches(12, 3.9)
        solvable, radial, price = figure.subplots(1, 3)
        centre = linear_law(_TARGET, 0.5, 4.0, inf, np.zeros(3), 1.0).mean[0]
        laws = (
            ("linear", centre, 0.5, "#1f78b4"),
            ("quadratic", 0.0, quadratic_variance(0.5, 3, 0.3, 5.0, inf, 1.0), "#d95f02"),
        )
        for name, mean, variance, colour in laws:
            values = data[name].values[:, 0]
            x = np.linspace(values.min(), values.max(), 200)
            solvable.hist(values, 50, density=True, color=colour, alpha=0.3, label=f"{name}: neurons")
            normal = np.exp(-((x - mean) ** 2) / (2 * variance)) / sqrt(2 * np.pi * variance)
            solvable.plot(x, normal, color=colour, label=f"{name}: closed law")
        solvable.set(xlabel=r"first coordinate of $\theta$", ylabel="density", ylim=(0, 0.95))
        solvable.legend(fontsize=7, ncols=2)
        centres, mass = data["cell"].values, data["mass"].values
        radial.hist(data["r"].values, 40, density=True, color="grey", alpha=0.5, label="Langevin particles")
        radial.plot(centres, mass / np.diff(centres)[0], color="#d95f02", label="Gibbs law")
        radial.set(
            xlabel="norm $r = |w|$", ylabel="density", title=rf"d = {_D}, $\beta$ = {_BETA:g}, $\lambda$ = {_DECAY:g}"
        )
        radial.legend()
        excess = data["excess"].values
        price.plot(_D / _BETAS, excess, "o", color="black", label="Gibbs law")
        price.plot(_D / _BETAS, excess[-1] * _BETAS[-1] / _BETAS, "--", color="grey", label=r"$\propto d/\beta$")
        price.set(xscale="log", yscale="log", xlabel=r"$d/\beta$", ylabel=f"{RISK} minus inf $R$")
        price.legend()
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        """Proportional to the neurons, after compilation."""
        return 15.0 + (4 if full else 1) * 1.5e-3 * self.neurons

    def _walk(self, force: Force, decay: float, beta: float, until: float, eps: float, count: int) -> np.ndarray:
        """Neurons in three dimensions from N(0, 1) at a time."""
        rng = np.random.default_rng(0)
        theta = rng.normal(size=(count, 3))
        spread = sqrt(2 * eps * self.heat / beta)
        for _ in range(round(until / eps)):
            theta = theta + eps * (force(theta) - decay * theta) + spread * rng.normal(size=theta.shape)
        return theta


def _variance(data: xr.Dataset, name: str) -> float:
    return float(data[name].var("neuron").mean())
