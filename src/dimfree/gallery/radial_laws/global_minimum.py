"""The smallest risk over all laws of r, and how far a law is from it (docs/theory/mean-field.md, section b).

The risk is a convex quadratic of the law, so on a grid of radii it is a non-negative least squares problem with total mass one.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.optimize import nnls

from dimfree.errors import ProblemError
from dimfree.onepass.fields.radial import RadialField

_HEAVY = 1e4  # how much more the total mass counts than the fit
_PRESENT = 1e-9  # masses below this are no support


class Minimum(NamedTuple):
    """The smallest risk on a grid, and the law that has it."""

    risk: float
    r: Float[Array, " n"]
    mass: Float[Array, " n"]


class Stationarity(NamedTuple):
    """What a law of r violates: nothing at a global minimum, only the slope is zero at a stationary point of the flow."""

    slope: float  # the largest |psi'| on the support; at r = 0 only a force outwards counts
    spread: float  # how much psi differs between points of the support
    below: float  # how much lower psi is somewhere else on the grid than its average on the law

    @property
    def gap(self) -> float:
        """By convexity the risk is at most this much above the smallest risk on the grid."""
        return 2 * self.below


def default_grid() -> Float[Array, " n"]:
    """Fine radii up to 6, where activations of unit scale turn, then a geometric tail up to 200."""
    return jnp.asarray(np.concatenate([np.linspace(0.01, 6, 600), np.geomspace(6.05, 200, 80)]))


def global_minimum(field: RadialField, grid: Float[Any, " n"]) -> Minimum:
    """inf R over all laws on the grid."""
    r = jnp.asarray(grid, dtype=float)
    if r.size == 0 or not bool(jnp.all(r >= 0)):
        raise ProblemError("the grid of radii is empty or has negative entries; give radii r >= 0.")
    root = np.sqrt(np.asarray(field.weights))
    rows = root[:, None] * np.asarray(field.features(r)[0]).T
    heavy = _HEAVY * max(1.0, float(np.abs(rows).max()))
    matrix, goal = np.vstack([rows, np.full(r.size, heavy)]), np.append(root * np.asarray(field.labels), heavy)
    mass = nnls(matrix, goal, maxiter=50 * r.size)[0]
    mass = jnp.asarray(mass / mass.sum())
    return Minimum(float(field.risk(field.output(r, mass))), r, mass)


def stationarity(
    field: RadialField, r: Float[Array, " n"], mass: Float[Array, " n"], grid: Float[Array, " g"]
) -> Stationarity:
    """psi' = 0 on the support and psi >= its value there off it, tested on a grid."""
    output = field.output(r, mass)
    (psi, slope), present = field.psi(output, r), mass > _PRESENT
    held = jnp.where(r > 0, jnp.abs(slope), jnp.maximum(-slope, 0.0))
    spread = jnp.max(jnp.where(present, psi, -jnp.inf)) - jnp.min(jnp.where(present, psi, jnp.inf))
    below = jnp.maximum(mass @ psi - jnp.min(field.psi(output, grid)[0]), 0.0)
    return Stationarity(float(jnp.max(jnp.where(present, held, 0.0))), float(spread), float(below))
