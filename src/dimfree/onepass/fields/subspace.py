"""Labels that depend on a few directions: distributional dynamics of (a, b, s, r) (docs/theory/mean-field.md, section f).

x ~ N(0, I_d), y = phi(z) with z the k coordinates of x in the subspace, neurons a sigma(<w, x> + b), s the part of w in the
subspace and r the norm of the rest, whose direction is uniform. The risk is R = E(y - f)² without label noise, twice the
committee's, and the time is the same (section 0). f depends on z and, at finite d, on the norm of the rest of x: both are
averaged on nodes.
"""

from collections.abc import Callable
from math import inf, isinf

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.errors import ProblemError
from dimfree.functions.activation import Activation
from dimfree.gaussian.nodes import gauss_hermite
from dimfree.gaussian.one_point import split_rule
from dimfree.gaussian.directions import Mean, check_dimension, chi_gauss, mean
from dimfree.onepass.fields.field import Field

_CHUNK = 256  # nodes averaged together; bounds the memory at any number of them


class SubspaceNeurons(eqx.Module):
    """One particle per neuron: second layer, offset, weights in the subspace, norm of the rest."""

    a: Float[Array, "*t n"]
    b: Float[Array, "*t n"]
    s: Float[Array, "*t n k"]
    r: Float[Array, "*t n"]


class SubspaceField(Field):
    """Nodes z_m of the subspace and x_m of the scaled norm of the rest, with labels y_m and weights w_m."""

    sigma: Activation
    z: Float[Array, "m k"]
    x: Float[Array, " m"]
    labels: Float[Array, " m"]
    weights: Float[Array, " m"]
    rest: float = eqx.field(static=True)  # d - k
    train_a: bool = eqx.field(static=True)
    train_b: bool = eqx.field(static=True)
    train_w: bool = eqx.field(static=True)

    def averages(self, particles: SubspaceNeurons) -> Mean:
        """E sigma(<s, z> + b + r x g) of all neurons at all nodes, nodes first."""

        def at(node: tuple[Array, Array]) -> Mean:
            return mean(self.sigma, particles.r * node[1], particles.s @ node[0] + particles.b, self.rest)

        return jax.lax.map(at, (self.z, self.x), batch_size=min(_CHUNK, self.x.size))

    def output(self, particles: SubspaceNeurons) -> Float[Array, " m"]:
        """f at every node."""
        return self.averages(particles).value @ particles.a / particles.a.size

    def terms(self, particles: SubspaceNeurons) -> tuple[SubspaceNeurons, Float[Array, ""]]:
        """a' = E[(y - f) sigma], b' = a E[(y - f) sigma'], s' = a E[(y - f) sigma' z], r' = a E[(y - f) sigma' g]."""
        at, a = self.averages(particles), particles.a
        error = self.labels - at.value @ a / a.size
        force = self.weights * error
        still = jax.tree.map(jnp.zeros_like, particles)
        slope = force[:, None] * at.by_shift
        return SubspaceNeurons(
            force @ at.value if self.train_a else still.a,
            a * jnp.sum(slope, axis=0) if self.train_b else still.b,
            a[:, None] * (slope.T @ self.z) if self.train_w else still.s,
            a * ((force * self.x) @ at.by_scale) if self.train_w else still.r,
        ), jnp.sum(self.weights * error**2)

    def projected(self, particles: SubspaceNeurons) -> SubspaceNeurons:
        """A norm is not negative."""
        return eqx.tree_at(lambda p: p.r, particles, jnp.maximum(particles.r, 0.0))


def subspace(
    sigma: Activation,
    labels: Callable[[Float[Array, "m k"]], Float[Array, " m"]],
    k: int,
    *,
    d: float = inf,
    train_a: bool = True,
    train_b: bool = False,
    train_w: bool = True,
    breaks: tuple[float, ...] = (),
    count: int = 32,
    norms: int = 6,
) -> SubspaceField:
    """The problem y = labels(z) in d dimensions (inf allowed).

    Smooth labels use `count` Gauss-Hermite nodes per direction; labels with kinks on the planes z_r = breaks use `count` nodes
    between two breaks. The norm of the rest has `norms` nodes.
    """
    if k < 1 or not d > k:
        raise ProblemError(f"a subspace of dimension k = {k} in d = {d:g} was given; give 1 <= k < d.")
    check_dimension(d - k)
    points, weights = _product_rule(breaks, count, k) if breaks else gauss_hermite(count, k)
    x, w = chi_gauss(float(d - k), norms)
    z = np.repeat(points, len(x), axis=0)
    total = np.outer(weights, w).ravel()
    return SubspaceField(
        sigma,
        jnp.asarray(z),
        jnp.asarray(np.tile(x, len(points))),
        labels(jnp.asarray(z)),
        jnp.asarray(total),
        inf if isinf(d) else float(d - k),
        train_a,
        train_b,
        train_w,
    )


def _product_rule(breaks: tuple[float, ...], count: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    axis, weight = (np.asarray(x) for x in split_rule(jnp.asarray(breaks), count))
    points = np.stack(np.meshgrid(*[axis] * k, indexing="ij"), axis=-1).reshape(-1, k)
    return points, np.stack(np.meshgrid(*[weight] * k, indexing="ij"), axis=-1).reshape(-1, k).prod(axis=1)
