"""Points for two units that learn the sign of one direction: panels of angles, and on every ray radii.

docs/theory/losses.md, section 2, rungs 2 and 4, in polar coordinates of the plane of both preactivations. Where a unit is zero,
where the label changes and where the output of a piecewise linear network is zero are rays through the origin, at which wedges
are cut whatever the angles between them are: units that are nearly parallel only make a wedge narrow. The label and
saturating units change within a layer along their ray, whose width at radius one is its `softness`: nodes are as dense there.
"""

from collections.abc import Callable
from math import pi

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.functions.activation import PiecewiseLinear
from dimfree.functions.clipped_loss import ClippedLoss
from dimfree.functions.sample_loss import CorrelationLoss, MarginLoss, ResidualLoss
from dimfree.functions.target import Committee
from dimfree.gaussian.any_loss.levels import shifts
from dimfree.gaussian.any_loss.points import Points, Rule, Sums
from dimfree.gaussian.any_loss.posterior import Posterior, is_sign_of_direction
from dimfree.gaussian.any_loss.preimages import is_odd, turns_at_zero
from dimfree.gaussian.any_loss.task import Task
from dimfree.gaussian.nodes import gauss_legendre
from dimfree.states.overlaps import Overlaps

_REACH = 7.5  # the largest radius
_MORE_RADII = 6  # than angles of half a wedge
_NARROW, _WIDE = 1e-5, 1e3  # the least softness that is followed, and one that is never seen
_STEEP = 2.0  # outputs within which errors of smooth losses turn
_SAME = 1e-13  # of a variance: what rounding leaves of a unit that the other one explains


def is_plane(task: Task, width: int, rule: Rule) -> bool:
    """Whether everything that jumps or bends does so on rays, or at one radius of every ray."""
    return (
        (width, task.units) == (2, 1)
        and not rule.sobol
        and not rule.all_fields
        and task.norm is None
        and is_sign_of_direction(task)
        and isinstance(task.target, Committee)
        and turns_at_zero(task.target.activation)
        and (_is_homogeneous(task) or not (task.activation.kinks or task.loss.jumps))
    )


class Plane:
    """One task of two units at one state."""

    p, k = 2, 1

    def __init__(self, task: Task, state: Overlaps, rule: Rule) -> None:
        self.task, self.rule, self.a = task, rule, state.a
        first, second, label, self.s = _directions(state.Q, state.M[:, 0], task.target.P[0, 0])
        self.fields = jnp.stack([first, second, label])  # of a point (cos, sin) at radius one
        self.posterior = Posterior(task, jnp.zeros((1, 0)))

    def sums(self, terms: Callable[[Points], Sums]) -> Sums:
        """The sum of `terms`, which are weighted sums over points."""
        angles, weights = self._angles()
        fields = self.fields @ jnp.stack([jnp.cos(angles), jnp.sin(angles)])
        if _is_odd(self.task):  # then so are errors, and every average has equal parts from opposite rays
            weights = weights / pi
        else:
            fields, weights = jnp.concatenate([fields, -fields], axis=1), jnp.tile(weights, 2) / (2 * pi)
        r, w = self._radii(fields)
        students, mu = fields[:2, :, None] * r, fields[2, :, None] * r
        sigma = self.task.activation
        if _is_homogeneous(self.task):
            values, slopes = sigma(students), sigma.derivative(fields[:2, :, None])  # slopes are constant along a ray
        else:
            values, slopes = sigma.with_derivative(students)
        f = 0.5 * (self.a[0] * values[0] + self.a[1] * values[1])
        right, last = self.posterior(mu, self.s)
        weights = weights[:, None] * w
        return terms(Points(weights, students, values, slopes, f, [], right, last, mu, None, r**2))

    def _angles(self) -> tuple[Float[Array, " b"], Float[Array, " b"]]:
        """Of half the plane, from both ends of every wedge between rays: the nearer a layer, the denser."""
        directions, softness = self._rays()
        at = jnp.mod(_angle(directions) + 0.5 * pi, pi)
        apart = jnp.abs(at[:, None] - at)
        apart = jnp.minimum(apart, pi - apart)
        scale = jnp.sqrt(jnp.min(jnp.clip(softness, _NARROW, _WIDE) ** 2 + apart**2, axis=1))
        at, scale = jax.lax.sort((at, scale), num_keys=1)
        half = 0.5 * jnp.diff(at, append=at[:1] + pi)[:, None]
        t, w = gauss_legendre(self.rule.nodes)
        found = []
        for start, side, own in ((at, 1.0, scale), (at + 2 * half[:, 0], -1.0, jnp.roll(scale, -1))):
            length = jnp.arcsinh(half / own[:, None])
            step = own[:, None] * jnp.sinh(length * t)
            density = jnp.sqrt(own[:, None] ** 2 + step**2) * length * w
            found.append((start[:, None] + side * step, density))
        angles, weights = (jnp.concatenate([one.reshape(-1) for one in both]) for both in zip(*found, strict=True))
        return angles, weights

    def _rays(self) -> tuple[Float[Array, "q 2"], Float[Array, " q"]]:
        """Directions whose zeros are rays, with the softness of these."""
        task, units, label = self.task, self.fields[:2], self.fields[2]
        jumps = shifts(task, test=False)
        if not _is_homogeneous(task):
            directions, soft = [*units], [1 / _length(units[0]), 1 / _length(units[1])]
        else:
            assert isinstance(task.activation, PiecewiseLinear)
            left, right = task.activation.slope, task.activation.slope + task.activation.bends[0]
            pairs = [(1.0, 0.0), (0.0, 1.0), (right, right)] + ([(left, right), (right, left)] if left else [])
            directions = [one * self.a[0] * units[0] + other * self.a[1] * units[1] for one, other in pairs]
            level = sum(jnp.abs(jump) for jump in jumps) / len(jumps) if jumps else jnp.asarray(_STEEP)
            soft = [2 * level / _length(one) for one in directions]
            if not jumps:
                soft[:2] = [jnp.asarray(_WIDE)] * 2
        return jnp.stack([*directions, label]), jnp.stack(
            [*soft, jnp.squeeze(self.posterior.spread(self.s)) / _length(label)]
        )

    def _radii(self, fields: Float[Array, "3 b"]) -> tuple[Float[Array, "#b n"], Float[Array, "#b n"]]:
        """Nodes and weights, denser near the origin, on panels that are cut where the error jumps."""
        t, w = gauss_legendre(self.rule.nodes + _MORE_RADII)
        t, w = t**2, 2 * t * w
        if not self.task.loss.jumps:
            fixed = _REACH * t[None]
            return jnp.asarray(fixed), jnp.asarray(_REACH * w * fixed * np.exp(-0.5 * fixed**2))
        f = 0.5 * (self.a @ self.task.activation(fields[:2]))[:, None]
        levels = jnp.stack(shifts(self.task, test=False))
        cuts = jnp.where(f * levels > 0, levels / jnp.where(f == 0, 1.0, f), _REACH)
        ends = jnp.full_like(f, _REACH)
        edges = jnp.concatenate([0 * ends, jnp.sort(jnp.minimum(cuts, _REACH), axis=1), ends], axis=1)
        widths = jnp.diff(edges, axis=1)[..., None]
        r = edges[:, :-1, None] + widths * t
        weights = widths * w * r * jnp.exp(-0.5 * r**2)
        return r.reshape(r.shape[0], -1), weights.reshape(r.shape[0], -1)


def _directions(
    Q: Float[Array, "2 2"], M: Float[Array, " 2"], P: Float[Array, ""]
) -> tuple[Array, Array, Array, Array]:
    """Rows of the Cholesky factor of both units and the mean of the label's direction, and what is left of its width."""
    length = jnp.sqrt(jnp.where(Q[0, 0] > 0, Q[0, 0], 1.0))
    along = jnp.where(Q[0, 0] > 0, Q[0, 1] / length, 0.0)
    rest = Q[1, 1] - along**2
    free = rest > _SAME * Q[1, 1]
    across = jnp.sqrt(jnp.where(free, rest, 1.0))
    first = jnp.where(Q[0, 0] > 0, M[0] / length, 0.0)
    second = jnp.where(free, (M[1] - along * first) / across, 0.0)
    left = P - first**2 - second**2
    s = jnp.where(left > _SAME * P, jnp.sqrt(jnp.where(left > _SAME * P, left, 1.0)), 0.0)
    zero = jnp.zeros(())
    units = jnp.stack([jnp.where(Q[0, 0] > 0, length, zero), zero]), jnp.stack([along, jnp.where(free, across, zero)])
    return *units, jnp.stack([first, second]), s


def _angle(vectors: Float[Array, "q 2"]) -> Float[Array, " q"]:
    """Of each vector, 0 of one that has no direction."""
    there = jnp.any(vectors != 0, axis=1)
    return jnp.arctan2(vectors[:, 1], jnp.where(there, vectors[:, 0], 1.0))


def _length(vector: Float[Array, " 2"]) -> Float[Array, ""]:
    """Of a vector, never zero."""
    return jnp.sqrt(jnp.maximum(jnp.sum(vector**2), 1e-300))


def _is_homogeneous(task: Task) -> bool:
    """Whether outputs are in proportion to the radius on every ray."""
    sigma = task.activation
    return isinstance(sigma, PiecewiseLinear) and (sigma.constant, sigma.kinks) == (0.0, (0.0,))


def _is_odd(task: Task) -> bool:
    """Whether opposite fields have opposite outputs, labels and errors."""
    loss = task.loss.inner if isinstance(task.loss, ClippedLoss) else task.loss
    known = isinstance(loss, MarginLoss | ResidualLoss | CorrelationLoss)
    assert isinstance(task.target, Committee)
    return known and is_odd(task.activation) and is_odd(task.target.activation)
