"""Four-point term of erf students with any target whose risk is known (docs/theory/committee.md, section 3.4).

sigma'(u_i) sigma'(u_j) only tilts the Gaussian law of preactivations, so that E[sigma'_i sigma'_j E_0²] is twice the risk at the
tilted overlaps, times E[sigma'_i sigma'_j].
"""

from math import pi

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.gaussian.learner import Learner
from dimfree.gaussian.moments import risk
from dimfree.states.overlaps import Overlaps

MOST_STUDENTS = 16  # beyond, points cost less than all pairs


def variance_tilted(model: Learner, state: Overlaps) -> Float[Array, "p p"]:
    """Psi^Var, pair by pair of students."""
    p = model.width
    Omega = state.covariance(model.target.P)
    i, j = np.triu_indices(p)

    def one(pair: tuple[Array, Array]) -> Array:
        first, second = pair
        column, other = Omega[first], Omega[second]
        q, c = 1 + Omega[first, first], Omega[first, second]
        det = q * (1 + Omega[second, second]) - c**2
        rest = other - column * (c / q)
        tilted = Omega - jnp.outer(column, column) / q - jnp.outer(rest, rest) * (q / det)
        taught = eqx.tree_at(lambda m: m.target.P, model, tilted[p:, p:])
        squares = 2 * risk(taught, Overlaps(tilted[:p, :p], tilted[:p, p:], state.a))
        return 2 / pi / jnp.sqrt(det) * (squares + model.Delta)

    found: Array = jax.lax.map(one, (jnp.asarray(i), jnp.asarray(j)), batch_size=MOST_STUDENTS)
    whole = jnp.zeros((p, p)).at[i, j].set(found).at[j, i].set(found)
    return jnp.outer(state.a, state.a) * whole


def tilted_seconds(model: Learner) -> float:
    """Roughly what one evaluation costs: 64 nodes for every pair of units with offsets, and of a student with one."""
    p, k = model.width, model.units
    return p * (p + 1) / 2 * (p + k) * (k * 3e-7 + 5e-9 * p)
