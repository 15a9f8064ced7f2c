"""Points and weights for averages over the p preactivations of a network, given the cluster of the input.

docs/theory/losses.md, section 2: the label of a cluster is known, so that p fields are left whatever the number of directions is.
They are lambda = mu + L x with standard normal x: nested panels while p is small, cut where activations bend and, along the last
unit, where the integrand jumps; fixed Sobol points above, with the last unit on panels where anything jumps.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float
from numpy.polynomial import polynomial

from dimfree.functions.activation import Activation, Polynomial
from dimfree.gaussian.any_loss.panels import panels
from dimfree.gaussian.any_loss.preimages import limits, preimages, standardised
from dimfree.gaussian.points import normal_points

MOST_NESTED = 3  # panels are nested for at most this many units
_REAL = 1e-9  # a root with a smaller imaginary part counts as real
_SOBOL, _OUTER = 2**12, 2**9  # points, each with its mirror image; the second where each has a line of panels


class Rule(NamedTuple):
    """How fine: `nodes` for each panel, and which scrambling of Sobol points."""

    nodes: int
    scramble: int = 0


class Points(NamedTuple):
    """Standard coordinates with weights, and the fields there."""

    x: Float[Array, "n p"]
    weights: Float[Array, " n"]
    fields: Float[Array, "n p"]


class Line(NamedTuple):
    """The fields of one cluster: lambda = mu + L x, the second layer, and outputs at which the integrand turns, or `jumps`."""

    sigma: Activation
    a: Float[Array, " p"]
    mu: Float[Array, " p"]
    L: Float[Array, "p p"]
    levels: Float[Array, " q"]
    jumps: bool

    def points(self, rule: Rule) -> Points:
        """The points of the given rule."""
        p, x, weights = self.a.size, jnp.zeros((1, 0)), jnp.ones(1)
        if p > MOST_NESTED:
            half = jnp.asarray(normal_points(p - self.jumps, fixed_points(p, jumps=self.jumps) // 2, rule.scramble))
            x = jnp.concatenate([half, -half])
            weights = jnp.full(x.shape[0], 1 / x.shape[0])
        while x.shape[1] < p:
            nodes, w = panels(self._cuts(x), rule.nodes)
            x = jnp.concatenate([jnp.repeat(x, nodes.shape[1], axis=0), nodes.reshape(-1, 1)], axis=1)
            weights = (weights[:, None] * w).reshape(-1)
        return Points(x, weights, self.mu + x @ self.L.T)

    def _cuts(self, x: Float[Array, "b j"]) -> Float[Array, "b m"]:
        """The cuts along the next coordinate."""
        j, count, p, sigma = x.shape[1], x.shape[0], self.a.size, self.sigma
        mean, scale = (self.mu[j] + x @ self.L[j, :j])[:, None], self.L[j, j]
        bends = jnp.asarray(sigma.kinks or (0.0,), dtype=float)
        cuts = [standardised(jnp.broadcast_to(bends, (count, len(bends))), mean, scale)]
        if self.levels.size and j >= p - 2:
            known = sigma(self.mu[:j] + x @ self.L[:j, :j].T) @ self.a[:j]
            wanted = p * self.levels - known[:, None]
            if j == p - 1:
                cuts.append(preimages(sigma, wanted / _divisor(self.a[-1]), mean, scale))
            else:  # where the last unit begins or ceases to reach a level
                ends = [*map(jnp.asarray, limits(sigma)), *(sigma(jnp.asarray(turn)) for turn in _turns(sigma))]
                starts = [(wanted - self.a[-1] * end) / _divisor(self.a[-2]) for end in ends]
                cuts += [preimages(sigma, one, mean, scale) for one in starts]
        return jnp.concatenate(cuts, axis=1)


def _turns(sigma: Activation) -> tuple[float, ...]:
    """Where an activation may stop growing, so that the number of fields with a given value changes."""
    if not isinstance(sigma, Polynomial):
        return sigma.kinks
    roots = polynomial.polyroots(polynomial.polyder(sigma.coefficients))
    return tuple(float(root.real) for root in roots if abs(root.imag) < _REAL)


def fixed_points(fields: int, *, jumps: bool) -> int:
    """How many fixed points there are, mirror images counted; none for few fields, whose panels are nested."""
    return 0 if fields <= MOST_NESTED else 2 * (_OUTER if jumps else _SOBOL)


def points_of(sigma: Activation, fields: int, rule: Rule) -> int:
    """About how many points a rule has."""
    each = rule.nodes * (1 + max(1, len(sigma.kinks)))
    return each**fields if fields <= MOST_NESTED else 2 * _OUTER * (each + 2 * rule.nodes)


def _divisor(a: Float[Array, ""]) -> Float[Array, ""]:
    return jnp.where(a == 0, jnp.nan, a)
