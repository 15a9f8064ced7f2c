"""The law of inputs in clusters: which cluster, where it lies, which label (docs/theory/losses.md, section 3)."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Float32, Int, Key

from dimfree.functions.label_law import Source
from dimfree.onepass.law import Centre, Law
from dimfree.random_numbers import normals, uniforms


class Mixture(eqx.Module):
    """pi, S, v and y of every cluster, and how often a label is drawn wrong."""

    weights: Float[Array, " c"]
    S: Float[Array, "c k"]
    v: Float[Array, " c"]
    y: Float[Array, " c"]  # a class, or the number of one
    flip: Float[Array, ""]

    def chosen(self, hidden: Float[Array, "b r"]) -> tuple[Int[Array, "b r"], Float[Array, "b r"]]:
        """A cluster for every uniform number, and where in the share of that cluster the number lies, which is uniform again."""
        below, ends = hidden.astype(float), jnp.cumsum(self.weights)
        cluster = jnp.minimum(jnp.searchsorted(ends, below, side="right"), self.weights.size - 1)
        return cluster, (below - (ends - self.weights)[cluster]) / self.weights[cluster]


class ClusterLaw(Law):
    """x = Bᵀ S/d + sqrt(v) z and y of the cluster, equation (3.1); one number says which cluster, and whether y is flipped."""

    mixture: Mixture

    def draw(
        self, key: Key[Array, ""], replicas: int, count: int, dimension: int
    ) -> tuple[Float32[Array, "r b d"], Float[Array, "b r"]]:
        """Standard normals, which are moved to the clusters afterwards."""
        input_key, hidden_key = jax.random.split(key)
        X = normals(input_key, replicas * count * dimension).reshape(replicas, count, dimension)
        return X, self.hidden(hidden_key, count * replicas).reshape(count, replicas)

    def hidden(self, key: Key[Array, ""], count: int) -> Float[Array, " count"]:
        """Uniform numbers."""
        return uniforms(key, count)

    @property
    def source(self) -> Source:
        """Uniform numbers."""
        return "uniform"

    def centre(self, hidden: Float[Array, "b r"]) -> Centre:
        """The mean of each input's cluster."""
        cluster, _ = self.mixture.chosen(hidden)
        return Centre(jnp.moveaxis(self.mixture.S[cluster], -1, 1), jnp.sqrt(self.mixture.v)[cluster])

    def label(self, teachers: Float[Array, "b k r"], hidden: Float[Array, "b r"]) -> Float[Array, "b r"]:
        """The class of the cluster, or the wrong one."""
        cluster, uniform = self.mixture.chosen(hidden)
        return jnp.where(uniform < self.mixture.flip, -1.0, 1.0) * self.mixture.y[cluster]


class OutputsLaw(ClusterLaw):
    """The same with classes 0, 1, ..., of which a label that is drawn wrong is any other one."""

    classes: int = eqx.field(static=True)

    def label(self, teachers: Float[Array, "b k r"], hidden: Float[Array, "b r"]) -> Float[Array, "b r"]:
        """The class of the cluster, or any of the others with equal probability."""
        cluster, uniform = self.mixture.chosen(hidden)
        flip = self.mixture.flip
        further = 1 + jnp.minimum(
            jnp.floor((self.classes - 1) * uniform / jnp.where(flip > 0, flip, 1.0)), self.classes - 2
        )
        return jnp.mod(self.mixture.y[cluster] + jnp.where(uniform < flip, further, 0.0), self.classes)
