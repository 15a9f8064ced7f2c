"""The law of the data in the form that real SGD needs: it draws inputs and labels them.

Inputs are drawn times sqrt(d) and in float32, because the draw is the bottleneck; labels and what is seen are in float64.
"""

from abc import abstractmethod
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Float32, Int, Key

from dimfree.functions.label_law import LabelLaw, Source
from dimfree.functions.target import Target
from dimfree.random_numbers import normals


class Centre(NamedTuple):
    """The centre and the width of each input of a block: x = Bᵀ S/d + sqrt(v) z, B the directions."""

    S: Float[Array, "b k r"]
    root: Float[Array, "b r"]  # sqrt(v)


class Law(eqx.Module):
    """The joint law of inputs and labels; the label may depend on a few directions, the teachers."""

    @abstractmethod
    def draw(
        self, key: Key[Array, ""], replicas: int, count: int, dimension: int
    ) -> tuple[Float32[Array, "r b d"], Float[Array, "b r"]]:
        """Draw inputs times sqrt(d), and the other random numbers that labels depend on."""

    def hidden(self, key: Key[Array, ""], count: int) -> Float[Array, " count"]:
        """Draw only the other random numbers that labels depend on, one for each, where inputs are not drawn."""
        return normals(key, count)

    @property
    def source(self) -> Source:
        """Where the numbers that `hidden` draws come from."""
        return "normal"

    @abstractmethod
    def label(self, teachers: Float[Array, "b k r"], hidden: Float[Array, "b r"]) -> Float[Array, "b r"]:
        """Make labels from the preactivations of the teachers and the other random numbers."""

    def centre(self, hidden: Float[Array, "b r"]) -> Centre | None:
        """Where inputs are moved to after they were drawn; None where all of them stay around 0."""
        return None


class TeacherLaw(Law):
    """Isotropic Gaussian inputs; y = f*(lambda*) + sqrt(Delta) z (docs/theory/committee.md, section 0), or what `labels` say."""

    target: Target
    Delta: Float[Array, ""]
    labels: LabelLaw

    def draw(
        self, key: Key[Array, ""], replicas: int, count: int, dimension: int
    ) -> tuple[Float32[Array, "r b d"], Float[Array, "b r"]]:
        """Standard normal inputs, and what is random in labels."""
        input_key, noise_key = jax.random.split(key)
        X = normals(input_key, replicas * count * dimension).reshape(replicas, count, dimension)
        return X, self.hidden(noise_key, count * replicas).reshape(count, replicas)

    def hidden(self, key: Key[Array, ""], count: int) -> Float[Array, " count"]:
        """Draw what is random in labels."""
        return self.labels.hidden(key, count)

    @property
    def source(self) -> Source:
        return self.labels.source

    def label(self, teachers: Float[Array, "b k r"], hidden: Float[Array, "b r"]) -> Float[Array, "b r"]:
        """Make labels from the target, by the law of labels."""
        return self.labels.label(self.target(jnp.swapaxes(teachers, 1, 2)), hidden, self.Delta)


class StructuredLaw(TeacherLaw):
    """The same with coordinates of variance s/d, level by level (docs/theory/structured.md, section 0)."""

    roots: Float32[Array, " d"] | None  # sqrt(s) of every coordinate, where these are drawn

    def draw(
        self, key: Key[Array, ""], replicas: int, count: int, dimension: int
    ) -> tuple[Float32[Array, "r b d"], Float[Array, "b r"]]:
        """Standard normals, stretched."""
        X, noise = super().draw(key, replicas, count, dimension)
        roots = self.roots
        assert roots is not None, "a description that draws inputs needs coordinates"
        return jax.lax.map(
            lambda x: x * roots, X
        ), noise  # in a loop of its own: fused into the draw it would cost four times more


class Pool(NamedTuple):
    """The user's rows in the eigenbasis, of mean square norm 1, and their labels if these are learned."""

    rows: Float[Array, "N d"]
    labels: Float[Array, " N"] | None
    held_rows: Float[Array, "H d"] | None = None  # which are never drawn
    held_labels: Float[Array, " H"] | None = None

    @property
    def seen(self) -> tuple[Float[Array, "n d"], Float[Array, " n"] | None]:
        """Rows and labels on which risks are measured: those that are held out, or all."""
        return (self.rows, self.labels) if self.held_rows is None else (self.held_rows, self.held_labels)


class RowsLaw(TeacherLaw):
    """The user's rows, drawn with replacement (section 3); labels are those of the rows, or those of the target."""

    pool: Pool

    def draw(
        self, key: Key[Array, ""], replicas: int, count: int, dimension: int
    ) -> tuple[Float32[Array, "r b d"], Float[Array, "b r"]]:
        """Draw rows, with their labels or with label noise."""
        row_key, noise_key = jax.random.split(key)
        chosen = jax.random.randint(row_key, (replicas, count), 0, self.pool.rows.shape[0])
        X = (self.pool.rows[chosen] * jnp.sqrt(1.0 * dimension)).astype(jnp.float32)
        if self.pool.labels is not None:
            return X, self.pool.labels[chosen].T
        return X, self.hidden(noise_key, count * replicas).reshape(count, replicas)

    def label(self, teachers: Float[Array, "b k r"], hidden: Float[Array, "b r"]) -> Float[Array, "b r"]:
        """The labels of the rows, or those of the target."""
        return super().label(teachers, hidden) if self.pool.labels is None else hidden


def level_of(multiplicities: Float[Array, " b"], dimension: int) -> Int[Array, " d"]:
    """The level of every coordinate."""
    return jnp.searchsorted(jnp.cumsum(multiplicities), jnp.arange(dimension), side="right")
