"""The last direction of a target, integrated out: what the other fields say of a sign label (docs/theory/losses.md, 2.1).

Given all other fields the last one is Gaussian with mean mu and standard deviation s. A sign changes at boundaries b_i of it,
so that the probability of +1 and the mean of the field where the label is +1 are sums of Phi and phi at (mu - b_i)/s.

A committee of bounded units changes its sign along one direction only while the others leave it a choice, and averages over
the others bend where that ends. Along a line on which every unit rises it always changes its sign, once: `shear` says how far
the other directions move along such a line while the last one moves by one, and coordinates are those of the sheared directions.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.functions.activation import Erf, Polynomial
from dimfree.functions.label_law import Signs
from dimfree.functions.target import Committee, HermiteLink, Target, UnlikeUnits
from dimfree.gaussian.any_loss.panels import REACH, between, crossings
from dimfree.gaussian.any_loss.preimages import preimages, rises_between_limits, turns_at_zero
from dimfree.gaussian.any_loss.task import Task

_MOST = 8  # boundaries of a target without a closed inverse
_FAR = 1e3  # standard deviations at which a boundary lies that is not there
_THIN = 1e-9  # of its standard deviation: the least width that a conditional law has


def is_sign_of_direction(task: Task) -> bool:
    """Whether the last direction can be integrated out: signs without noise, or with noise after a linear function of it."""
    return isinstance(task.labels, Signs) and (not task.labels.blurred or _linear_in_last(task))


def _linear_in_last(task: Task) -> bool:
    match task.target:
        case Committee(activation=Polynomial(degree=1)):
            return True
        case HermiteLink(terms=terms):
            return all(term[-1] <= 1 for term in terms)
        case _:
            return False


def shear_of(task: Task) -> Float[Array, " k"] | None:
    """How far every direction before the last moves, on a line along which f* rises, while the last one moves by one.

    None where nothing is moved: but for several bounded units that rise, the last direction alone is integrated out.
    """
    target = task.target
    if not isinstance(target, Committee) or target.units == 1 or not rises_between_limits(target.activation):
        return None
    return jnp.sign(target.second_layer[:-1] * target.second_layer[-1])


def sheared_overlaps(
    M: Float[Array, "p k"], P: Float[Array, "k k"], shear: Float[Array, " k1"] | None
) -> tuple[Float[Array, "p k"], Float[Array, "k k"]]:
    """Overlaps with lambda*_r - shear_r lambda*_k in the place of every direction lambda*_r before the last."""
    if shear is None:
        return M, P
    back = jnp.eye(P.shape[0]).at[:-1, -1].set(-shear)
    return M @ back.T, back @ P @ back.T


def unsheared(means: Float[Array, "p k"], shear: Float[Array, " k1"] | None) -> Float[Array, "p k"]:
    """Averages with lambda* itself, from those with the sheared directions."""
    return means if shear is None else means.at[:, :-1].add(means[:, -1:] * shear)


class Posterior:
    """The law of a sign given all fields but the last direction of the target."""

    def __init__(self, task: Task, before: Float[Array, "b k"], shear: Float[Array, " k"] | None = None) -> None:
        """Find the boundaries for these values of the (sheared) directions before the last."""
        assert isinstance(task.labels, Signs)
        self.flip, self.blur = task.labels.flip, task.Delta if task.labels.blurred else None
        self.width = jnp.sqrt(task.target.P[-1, -1])
        self.edges, self.values = (x.astype(before.dtype) for x in _boundaries(task, before, self.width, shear))
        ends = (jnp.full_like(self.edges[:, :1], x) for x in (0.0, 1.0))
        if self.blur is not None:  # f* = c + slope times the last field, and noise shifts its boundary
            c, upper = (along_last(task.target, before, end)[:, 0] for end in ends)
            self.slope = upper - c

    def __call__(self, mu: Float[Array, "b n"], s: Float[Array, ""]) -> tuple[Float[Array, "b n"], Float[Array, "b n"]]:
        """The probability that f* > 0, and E[lambda* 1(f* > 0)], flips left out."""
        spread = self.spread(jnp.maximum(s, _THIN * self.width))
        probability, mean = self.values[:, :1] + 0 * mu, 0 * mu
        for i in range(self.edges.shape[1]):
            z, step = (mu - self.edges[:, i, None]) / spread, (self.values[:, i + 1] - self.values[:, i])[:, None]
            value, slope = Erf().with_derivative(z)  # 2 Phi - 1, and 2 phi
            probability = probability + step * 0.5 * (1 + value)
            mean = mean + step * 0.5 * slope
        return probability, mu * probability + s**2 / spread * mean

    def spread(self, s: Float[Array, ""]) -> Float[Array, "#b 1"] | Float[Array, ""]:
        """Over how much of mu the law of a sign changes at a boundary."""
        if self.blur is None:
            return s
        return jnp.sqrt(s**2 + self.blur / jnp.maximum(self.slope**2, 1e-300))[:, None]

    def layer(self, s: Float[Array, ""]) -> Float[Array, "b m"]:
        """Between which mu the law changes: every boundary and both ends of its layer."""
        spread = self.spread(s)
        return jnp.concatenate([self.edges - 6 * spread, self.edges, self.edges + 6 * spread], axis=1)


def along_last(
    target: Target, before: Float[Array, "b k"], last: Float[Array, "b m"], shear: Float[Array, " k"] | None = None
) -> Float[Array, "b m *outputs"]:
    """f* where the last direction has these values and the others have theirs, or move along with it."""
    every = jnp.broadcast_to(before[:, None, :], (*last.shape, before.shape[1]))
    if shear is not None:
        every = every + shear * last[..., None]
    return target(jnp.concatenate([every, last[..., None]], axis=-1))


def _boundaries(
    task: Task, before: Float[Array, "b k"], width: Float[Array, ""], shear: Float[Array, " k"] | None
) -> tuple[Float[Array, "b m"], Float[Array, "b m1"]]:
    """Where f* may change its sign along the last direction, in order, and (1 + sign f*)/2 between these places."""
    target, count = task.target, before.shape[0]
    match target:
        case Committee() if target.units == 1 and turns_at_zero(target.activation):
            sides = jnp.broadcast_to(width * jnp.array([-1.0, 1.0]), (count, 2))
            return jnp.zeros((count, 1)), 0.5 * (1 + jnp.sign(along_last(target, before, sides)))
        case Committee() if shear is not None:
            rise = jnp.sign(target.second_layer[-1])
            ends = (jnp.full((count, 1), end, before.dtype) for end in (-REACH, REACH))
            edges = width * between(lambda x: rise * along_last(target, before, width * x, shear), *ends)
        case Committee():
            others = target.activation(before) @ target.second_layer[:-1] if target.units > 1 else jnp.zeros(count)
            level = (-others / target.second_layer[-1])[:, None]
            found = width * preimages(target.activation, level, jnp.zeros((count, 1)), width)
            kinks = jnp.broadcast_to(
                jnp.asarray(target.activation.kinks, dtype=float), (count, len(target.activation.kinks))
            )
            edges = jnp.concatenate([found, kinks], axis=1)
        case HermiteLink():
            edges = _of_polynomial(target, before, width)
        case UnlikeUnits():
            edges = width * crossings(lambda x: along_last(target, before, width * x), count, _MOST)
    far = _FAR * width
    edges = jnp.sort(jnp.clip(jnp.nan_to_num(edges, nan=jnp.inf), -far, far), axis=1)
    probes = jnp.concatenate(
        [edges[:, :1] - width, 0.5 * (edges[:, 1:] + edges[:, :-1]), edges[:, -1:] + width], axis=1
    )
    return edges, 0.5 * (1 + jnp.sign(along_last(task.target, before, probes, shear)))


def _of_polynomial(target: HermiteLink, before: Float[Array, "b k"], width: Float[Array, ""]) -> Float[Array, "b m"]:
    """Roots along the last direction: closed up to degree 2, else along a grid."""
    degree, count = max(term[-1] for term in target.terms), before.shape[0]
    if degree > 2:
        return width * crossings(lambda x: along_last(target, before, width * x), count, _MOST)
    low, middle, high = along_last(target, before, jnp.broadcast_to(jnp.array([-1.0, 0.0, 1.0]), (count, 3))).T
    slope, bend = (high - low) / 2, (high + low) / 2 - middle
    if degree < 2:
        return (-middle / jnp.where(slope == 0, jnp.nan, slope))[:, None]
    root = jnp.sqrt(jnp.where(slope**2 >= 4 * bend * middle, slope**2 - 4 * bend * middle, jnp.nan))
    flat = jnp.where(bend == 0, jnp.nan, bend)
    line_root = jnp.where(bend == 0, -middle / jnp.where(slope == 0, jnp.nan, slope), jnp.nan)
    return jnp.stack([(-slope - root) / (2 * flat), (-slope + root) / (2 * flat), line_root], axis=1)
