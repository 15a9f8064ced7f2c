"""The density of r on cells: an independent check of the particles, and the numbers behind plots of densities.

docs/theory/mean-field.md, equation (b.1): d_t rho-bar = d_r(rho-bar psi'), upwind flux at the faces, no flux at the two ends. The
scheme is of first order and smears; the particles of `radial` are the reference.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import chdtr

from dimfree.errors import ProblemError
from dimfree.gaussian.directions import check_dimension
from dimfree.onepass.fields.radial import RadialField

_COURANT = 0.5  # the share of a cell that the fastest mass may cross in a step


class CellLaw(eqx.Module):
    """The mass in each cell at a time, and its risk."""

    mass: Float[Array, "*t n"]
    time: Float[Array, "*t"]
    risk: Float[Array, "*t"]


def cells(r_max: float, count: int) -> Float[Array, " e"]:
    """The edges of equal cells on [0, r_max]."""
    if not (r_max > 0 and count >= 2):
        raise ProblemError(f"{count} cells up to r = {r_max:g} were asked for; give r_max > 0 and at least 2 cells.")
    return jnp.linspace(0.0, r_max, count + 1)


def chi_mass(kappa: float, d: float, edges: Float[Any, " e"]) -> Float[Array, " n"]:
    """The mass of the start w ~ N(0, kappa²/d I) in each cell."""
    check_dimension(d)
    cumulative = chdtr(d, d * (np.asarray(edges) / kappa) ** 2)
    return jnp.asarray(np.diff(cumulative) / cumulative[-1])


@eqx.filter_jit
def solve_density(
    field: RadialField, edges: Float[Array, " e"], mass: Float[Array, " n"], times: Float[Array, " t"]
) -> CellLaw:
    """The masses at `times`; the time step follows the fastest mass."""
    centres, width = 0.5 * (edges[1:] + edges[:-1]), edges[1] - edges[0]
    value, slope = field.features(centres)[0], field.features(edges[1:-1])[1]

    def stepped(carry: tuple[Array, Array], until: Array) -> tuple[Array, Array]:
        mass, time = carry
        velocity = slope @ (field.weights * (field.labels - mass @ value))
        fastest = jnp.maximum(jnp.max(jnp.abs(velocity)), 1e-12)
        step = jnp.minimum(_COURANT * width / fastest, until - time)
        flux = jnp.maximum(velocity, 0.0) * mass[:-1] + jnp.minimum(velocity, 0.0) * mass[1:]
        change = -jnp.diff(flux, prepend=0.0, append=0.0) * step / width
        return mass + change, jnp.where(time + step < until, time + step, until)

    def to_next(carry: tuple[Array, Array], until: Array) -> tuple[tuple[Array, Array], CellLaw]:
        mass, time = jax.lax.while_loop(lambda now: now[1] < until, lambda now: stepped(now, until), carry)
        return (mass, time), CellLaw(mass, time, field.risk(mass @ value))

    return jax.lax.scan(to_next, (mass, jnp.zeros(())), times)[1]
