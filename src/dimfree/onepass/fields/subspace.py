"""Labels that depend on a few directions: distributional dynamics of (a, b, s, r) (docs/theory/mean-field.md, (f.2) to (f.4)).

x ~ N(0, I_d), y = phi(z) with z the k coordinates of x in the subspace, neurons a sigma(<w, x> + b), s the part of w in the
subspace and r the norm of the rest, whose direction is uniform. The risk is R = E(y - f)² without label noise, twice the
committee's, and the time is the same (section 0). f depends on z, over which is averaged on nodes, and at finite d on the norm of
the rest of x. There it is a sum of parts along orthogonal polynomials of that norm, f_m(z) = int a h_2m(r, <s, z> + b), and

    R = E_z (y - f_0)² + sum_{m>0} m_m(d - k) E_z f_m²

with the moments m_m of the cosine of a random angle, which fall like d^-m: a few orders are exact at every d, a traced number.
"""

from collections.abc import Callable
from math import inf, sqrt
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
from scipy.special import gammainccinv

from dimfree.errors import ProblemError
from dimfree.functions.activation import Activation
from dimfree.gaussian.directions import check_dimension
from dimfree.gaussian.even_orders import EvenOrders, cosine_moments, even_orders
from dimfree.gaussian.nodes import trapezoid
from dimfree.gaussian.one_point import split_rule
from dimfree.onepass.fields.field import Field

ORDERS = 8  # orders kept; they leave out less than 1e-9 of the risk for d >= 20, and 1e-4 at d = 4
_TOGETHER = 16384  # neurons times nodes evaluated together; bounds the memory at any number of them
_SPACING = {1: 0.25, 2: 0.35, 3: 0.6}  # distance of nodes for smooth labels, by the number of directions
_BEYOND = 1e-9  # the share of E|z|^(2 degree) that may lie outside the ball of nodes
_PIECE = {1: 32, 2: 20, 3: 12}  # nodes between two kinks


class SubspaceNeurons(eqx.Module):
    """One particle per neuron: second layer, offset, weights in the subspace, norm of the rest."""

    a: Float[Array, "*t n"]
    b: Float[Array, "*t n"]
    s: Float[Array, "*t n k"]
    r: Float[Array, "*t n"]


class Plane(eqx.Module):
    """A rule for z in the subspace."""

    z: Float[Array, "m k"]
    weights: Float[Array, " m"]


class SubspaceField(Field):
    """Nodes z with labels and weights, and the moments m_m of as many orders as are kept."""

    sigma: Activation
    plane: Plane
    labels: Float[Array, " m"]
    moments: Float[Array, " orders"]
    mass: Float[Array, " n"] | None  # None: equal shares
    train_a: bool = eqx.field(static=True)
    train_b: bool = eqx.field(static=True)
    train_w: bool = eqx.field(static=True)

    def terms(self, particles: SubspaceNeurons) -> tuple[SubspaceNeurons, Float[Array, ""]]:
        """a' = E[(y - f) sigma], b' = a E[(y - f) sigma'], s' = a E[(y - f) sigma' z], r' = a E[(y - f) sigma' g]."""
        a, still = particles.a, jax.tree.map(jnp.zeros_like, particles)
        nodes = _grouped((self.plane.z, self.labels, self.plane.weights), max(1, _TOGETHER // a.size))

        @jax.checkpoint
        def add(total: tuple[SubspaceNeurons, Array], group: tuple[Array, Array, Array]) -> tuple[Any, None]:
            return jax.tree.map(jnp.add, total, self._part(particles, *group)), None

        (pull, risk), _ = jax.lax.scan(add, (still, jnp.zeros(())), nodes)
        return SubspaceNeurons(
            pull.a if self.train_a else still.a,
            a * pull.b if self.train_b else still.b,
            a[:, None] * pull.s if self.train_w else still.s,
            a * pull.r if self.train_w else still.r,
        ), risk

    def _part(
        self,
        particles: SubspaceNeurons,
        z: Float[Array, "g k"],
        labels: Float[Array, " g"],
        weights: Float[Array, " g"],
    ) -> tuple[SubspaceNeurons, Float[Array, ""]]:
        """The contribution of some nodes to the forces on neurons with a = 1, and to the risk; axes are order, node, neuron."""
        at = self.seen(particles, z)
        error = (-(at.value @ self._shared(particles.a))).at[0].add(labels)
        force = self.moments[:, None] * weights * error
        shift = jnp.einsum("mg,mgn->gn", force, at.by_shift)
        pull = SubspaceNeurons(
            jnp.einsum("mg,mgn->n", force, at.value),
            jnp.sum(shift, axis=0),
            shift.T @ z,
            jnp.einsum("mg,mgn->n", force, at.by_scale),
        )
        return pull, jnp.sum(force * error)

    def seen(self, particles: SubspaceNeurons, z: Float[Array, "g k"]) -> EvenOrders:
        """What some nodes see of every neuron with a = 1, averaged over the rest of x."""
        return even_orders(self.sigma, particles.r, z @ particles.s.T + particles.b, self.moments.size)

    def output(self, particles: SubspaceNeurons) -> Float[Array, " m"]:
        """f at every node, averaged over the rest of x."""
        share = self._shared(particles.a)
        (groups,) = _grouped((self.plane.z,), max(1, _TOGETHER // share.size))
        found: Array = jax.lax.map(lambda z: self.seen(particles, z).value[0] @ share, groups)
        return found.reshape(-1)[: self.labels.size]

    def _shared(self, a: Float[Array, " n"]) -> Float[Array, " n"]:
        return a / a.size if self.mass is None else self.mass * a

    def projected(self, particles: SubspaceNeurons) -> SubspaceNeurons:
        """The nearest particles whose norm is not negative."""
        return eqx.tree_at(lambda p: p.r, particles, jnp.maximum(particles.r, 0.0))


def smooth_plane(k: int, degree: int = 1) -> Plane:
    """Equidistant nodes in a ball, spectrally accurate for smooth labels that grow like |z|^degree."""
    points, weights = trapezoid(_SPACING[k], k, sqrt(2 * gammainccinv(degree + k / 2, _BEYOND)))
    return Plane(jnp.asarray(points), jnp.asarray(weights))


def split_plane(breaks: Float[Array, "k b"], count: int | None = None) -> Plane:
    """Nodes for labels that have kinks on the planes z_r = breaks_r or z_r = 0: `count` of them between two."""
    k = len(breaks)
    axes, shares = split_rule(breaks, count or _PIECE[k])
    points = jnp.stack(jnp.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, k)
    weights = jnp.stack(jnp.meshgrid(*shares, indexing="ij"), axis=-1).reshape(-1, k)
    return Plane(points, jnp.prod(weights, axis=1))


def subspace(
    sigma: Activation,
    labels: Callable[[Float[Array, "m k"]], Float[Array, " m"]],
    plane: Plane,
    *,
    d: float = inf,
    train_a: bool = True,
    train_b: bool = False,
    train_w: bool = True,
    orders: int = ORDERS,
) -> SubspaceField:
    """The problem y = labels(z) in d dimensions (inf allowed), for neurons of equal shares."""
    k = plane.z.shape[1]
    if not d > k:
        raise ProblemError(f"a subspace of dimension k = {k} in d = {d:g} was given; give 1 <= k < d.")
    check_dimension(d - k)
    moments = cosine_moments(jnp.asarray(float(d - k)), 1 if d == inf else orders)
    return SubspaceField(sigma, plane, labels(plane.z), moments, None, train_a, train_b, train_w)


def _grouped(nodes: tuple[Array, ...], size: int) -> tuple[Array, ...]:
    """Nodes in groups of `size`; the last group is filled up with nodes of weight zero."""
    count = len(nodes[0])
    size = min(size, count)
    padded = (jnp.pad(x, ((0, -count % size), *[(0, 0)] * (x.ndim - 1))) for x in nodes)
    return tuple(x.reshape(-1, size, *x.shape[1:]) for x in padded)
