"""Points of standard normal coordinates and their weights, by the rungs of docs/theory/losses.md, section 2.

Where everything is smooth, few coordinates have a lattice, of which the trapezoidal rule is exact up to exp(-2 pi distance/step)
with the distance of the nearest singularity; where activations bend, nested panels are cut there; many coordinates, or labels
that jump, have fixed Sobol points.
"""

from functools import lru_cache

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import gammainccinv

from dimfree.gaussian.any_loss.panels import panels
from dimfree.gaussian.any_loss.preimages import standardised
from dimfree.gaussian.points import normal_points

_TAIL = 1e-10  # the probability that a lattice leaves out
_SHORT = (-2.5, 0.0, 2.5)  # cuts of a coordinate along which nothing bends


class Rule(eqx.Module):
    """How averages are computed: by a lattice of this `step`, by `nodes` for each panel, or at `sobol` fixed points."""

    step: float = eqx.field(default=0.0, static=True)
    nodes: int = eqx.field(default=0, static=True)
    sobol: int = eqx.field(default=0, static=True)
    scramble: int = eqx.field(default=0, static=True)

    def points(
        self, L: Float[Array, "m m"], bends: tuple[tuple[float, ...], ...]
    ) -> tuple[Float[Array, "b n"], Float[Array, " b"]]:
        """Points and weights for fields L x; `bends` are the places at which something bends, for every field."""
        fields = len(bends)
        if self.sobol:
            return jnp.asarray(normal_points(fields, self.sobol, self.scramble)), jnp.full(self.sobol, 1 / self.sobol)
        if self.step:
            x, weights = lattice(fields, self.step)
            return jnp.asarray(x), jnp.asarray(weights)
        return nested(L, bends, self.nodes)


@lru_cache(maxsize=16)
def lattice(fields: int, step: float) -> tuple[Float[np.ndarray, "b n"], Float[np.ndarray, " b"]]:
    """The points of a cubic lattice in a ball, with Gaussian weights that add up to 1."""
    radius = float(np.sqrt(2 * gammainccinv(fields / 2, _TAIL)))
    line = step * np.arange(-int(radius / step), int(radius / step) + 1)
    x, squares = np.zeros((1, 0)), np.zeros(1)
    for _ in range(fields):
        squares = (squares[:, None] + line**2).ravel()
        x = np.concatenate([np.repeat(x, len(line), axis=0), np.tile(line, len(x))[:, None]], axis=1)
        x, squares = x[squares <= radius**2], squares[squares <= radius**2]
    weights = np.exp(-0.5 * squares)
    return x, weights / weights.sum()


def nested(
    L: Float[Array, "m m"], bends: tuple[tuple[float, ...], ...], nodes: int
) -> tuple[Float[Array, "b n"], Float[Array, " b"]]:
    """One coordinate after the other, on panels that are cut where its field takes one of its places."""
    x, weights = jnp.zeros((1, 0)), jnp.ones(1)
    for j, places in enumerate(bends):
        mean, count = (x @ L[j, :j])[:, None], x.shape[0]
        cuts = [jnp.broadcast_to(jnp.asarray(_SHORT), (count, len(_SHORT)))]
        if places:
            cuts = [standardised(jnp.broadcast_to(jnp.asarray(places), (count, len(places))), mean, L[j, j])]
        more, w = panels(jnp.concatenate(cuts, axis=1), nodes)
        x = jnp.concatenate([jnp.repeat(x, more.shape[1], axis=0), more.reshape(-1, 1)], axis=1)
        weights = (weights[:, None] * w).reshape(-1)
    return x, weights
