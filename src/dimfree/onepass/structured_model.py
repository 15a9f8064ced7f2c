"""Inputs with a covariance: the model that overlaps of every eigenvalue describe, and the observables of its networks."""

from math import sqrt
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float32, PyTree

from dimfree.description import Observed
from dimfree.functions.label_law import Signs
from dimfree.gaussian.any_loss.ladder import task_of
from dimfree.gaussian.any_loss.task import Task
from dimfree.onepass.directions import TargetModel, overlap_risks, teacher_observables
from dimfree.onepass.inputs.quadrature import MOST_LEVELS
from dimfree.onepass.law import Pool, RowsLaw, StructuredLaw, TeacherLaw, level_of
from dimfree.onepass.weights import Network
from dimfree.states.blocks import Blocks

MOST_BLOCKS = 32  # results have the overlaps of each eigenvalue if there are at most this many


class StructuredModel(TargetModel):
    """Inputs with a covariance (docs/theory/structured.md); P of the target is that of its preactivations."""

    about: ClassVar[str] = (
        "fresh samples of a structured covariance, or with momentum, for which it is not derived (use ode, chain or sgd)"
    )
    few: tuple[int | None, ...] = eqx.field(static=True)  # d_b, when so small that it is a shape in overlap space
    on_rows: bool = eqx.field(static=True)  # whether inputs are the rows of the pool, or Gaussian
    s: Float[Array, " b"]  # eigenvalues
    multiplicities: Float[Array, " b"]  # d_b
    roots: Float32[Array, " d"] | None  # sqrt of the eigenvalue of every coordinate, unless there are too many
    pool: Pool | None  # the user's rows

    @property
    def law(self) -> TeacherLaw:
        """Gaussian inputs of this covariance, or the rows."""
        if not self.on_rows:
            return StructuredLaw(self.target, self.Delta, self.labels, self.roots)
        assert self.pool is not None, "the description that draws rows refuses problems without them"
        return RowsLaw(self.target, self.Delta, self.labels, self.pool)

    @property
    def task(self) -> Task:
        """Gradients are as long as inputs: |x|² is the mean eigenvalue, and (4.1) of docs/theory/losses.md divides by |x|."""
        limit = None if self.clip_norm is None else self.clip_norm / jnp.sqrt(jnp.sum(self.rho * self.s))
        return task_of(self, limit)

    @property
    def gaussian(self) -> "StructuredModel":
        """The same with Gaussian inputs of this covariance, which is what limits describe."""
        return self

    @property
    def vectors(self) -> int:
        """The number of vectors in overlap space: students, their velocities if there is momentum, and teachers."""
        return (2 if self.momentum else 1) * self.width + self.units

    @property
    def rho(self) -> Float[Array, " b"]:
        """The share of every eigenvalue."""
        return self.multiplicities / self.dimension

    @property
    def fluctuation(self) -> float:
        """Fluctuations are shared by as many directions as the effective rank (section 1.4)."""
        weights = np.asarray(self.multiplicities)
        rank = (np.asarray(self.s) @ weights) ** 2 / (np.asarray(self.s) ** 2 @ weights)
        return sqrt(float(self.effective_rate) / (self.width * rank * self.batch))

    @property
    def largest_step(self) -> float:
        """dt s_max, which the equations assume to be small (section 1.4)."""
        return float(self.time_step) * float(np.max(np.asarray(self.s)))

    @property
    def levels(self) -> "StructuredModel":
        """This model itself."""
        return self

    @property
    def rows_only(self) -> str | None:
        """Refuse classes that were given with the rows, unless a law was fitted to them: they are no function of inputs."""
        own = self.pool is not None and self.pool.labels is not None and isinstance(self.labels, Signs)
        return "labels of ±1 that were given with rows have no Gaussian theory; use rows." if own else None

    @property
    def too_large(self) -> str | None:
        """Refuse more coordinates than can be drawn one by one."""
        if self.roots is not None:
            return None
        d = int(self.dimension)
        return f"vectors of dimension {d} with a covariance do not fit; lower dimension, or use chain."

    def look(self, network: Network) -> PyTree[Float[Array, "r ..."]]:
        """Overlaps for every eigenvalue, measured on the vectors."""
        return level_overlaps(self, network), network.scalars.bias.T

    def risks(self, network: Network) -> Float[Array, " r"]:
        return overlap_risks(self, level_overlaps(self, network).fields(self.units), network.scalars.bias.T)

    def observe(self, looks: PyTree[Float[Array, "t r ..."]]) -> Observed:
        return structured_observables(self, *looks)


def level_overlaps(model: StructuredModel, network: Network) -> Blocks:
    """Overlaps of students and teachers for every eigenvalue; all of them as one block where they are many."""
    d, teachers, count = network.students.shape[-1], network.teachers, model.s.size
    level = level_of(model.multiplicities, d)

    def one(W: Float[Array, "p d"]) -> Float[Array, "b n n"]:
        every = jnp.concatenate([W, teachers])
        if count <= MOST_BLOCKS:
            return jnp.stack([(every * (level == number)) @ every.T for number in range(count)])
        # two nodes stand for many levels: Sigma, and the identity, which no preactivation sees
        seen = (every * model.s[level]) @ every.T
        return jnp.stack([seen, every @ every.T - seen])

    Omega = jax.lax.map(one, network.students) / d
    shown = (model.s, model.rho) if count <= MOST_BLOCKS else (jnp.array([1.0, 0.0]), jnp.zeros(2))
    replicas = network.students.shape[0]
    s, rho = (jnp.broadcast_to(x, (replicas, x.size)) for x in shown)
    return Blocks(Omega, jnp.moveaxis(network.scalars.a, -1, 0), s, rho, jnp.zeros(replicas))


def structured_observables(
    model: StructuredModel, blocks: Blocks, bias: Float[Array, "t r p"] | None = None
) -> Observed:
    """The same with overlaps of preactivations, Euclidean ones of students, and those of every eigenvalue if there are few."""
    p, k, Omega = blocks.width, model.units, blocks.Omega
    seen = teacher_observables(model, blocks.fields(k), bias) | {"Q_plain": blocks.plain(k).Q}
    if model.s.size > MOST_BLOCKS:
        return seen
    return seen | {"Q_block": Omega[..., :p, :p], "M_block": Omega[..., :p, -k:]}


def node_observables(model: StructuredModel, blocks: Blocks) -> Observed:
    """The same for equations, whose blocks are nodes of a quadrature if there are very many eigenvalues."""
    seen = structured_observables(model, blocks)
    return seen | ({"quadrature_error": blocks.error} if model.s.size > MOST_LEVELS else {})
