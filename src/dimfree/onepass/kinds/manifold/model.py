"""A hidden manifold in the letters of its sheet, and the risk of real networks on it.

Inputs are features of hidden variables, which the teacher sees themselves. Features are Gaussian only in a limit, so that the
risk of a real network is measured on test inputs, the same at all times and in all replicas. To reduce the sampling error, a
quadratic form of the preactivations is subtracted from every loss; its mean is known, because overlaps are. With the slopes of
the Gaussian risk as coefficients this removes most of the fluctuations, and all of them for linear networks. What is left is
`risk_error`.
"""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Float32, Key, PyTree

from dimfree.description import Observed
from dimfree.functions.activation import Activation, Polynomial
from dimfree.functions.features import FEATURES
from dimfree.onepass.directions import overlap_risk
from dimfree.onepass.kinds.manifold.numbers import manifold_of
from dimfree.onepass.kinds.manifold.section import HiddenManifold
from dimfree.onepass.kinds.teacher.model import structured_model
from dimfree.onepass.law import TeacherLaw
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.structured_model import StructuredModel, level_overlaps
from dimfree.onepass.weights import Network
from dimfree.random_numbers import normals
from dimfree.states.overlaps import Overlaps

_FEW = 50  # features of fewer hidden variables are visibly not Gaussian
_PARTS, _TOGETHER = 16, 1024  # test inputs, and how many of them are in memory together
_SEED = 20200611  # seed of the test inputs

Moments = tuple[Float[Array, "*r p p"], Float[Array, "*r p k"], Float[Array, "*r k k"]]


class Latent(NamedTuple):
    """How inputs come from hidden variables z: features(z directions) times a matrix, and teachers z.teacher."""

    directions: Float32[Array, "D d"]
    basis: Float32[Array, "d d"]  # into the eigenbasis, and to the variance of inputs
    teachers: Float[Array, "k D"]


class ManifoldLaw(TeacherLaw):
    """Features of hidden Gaussian variables, which the target sees itself (docs/theory/structured.md, section 1.3)."""

    features: Activation
    latent: Latent

    def draw(
        self, key: Key[Array, ""], replicas: int, count: int, dimension: int
    ) -> tuple[Float32[Array, "r b d"], Float[Array, "b r"]]:
        """Inputs, and labels, because these depend on what inputs do not tell."""
        input_key, noise_key = jax.random.split(key)
        raw, teachers = self.seen(input_key, replicas, count)
        noise = self.hidden(noise_key, count * replicas).reshape(count, replicas)
        return jax.lax.map(lambda one: one @ self.latent.basis, raw), super().label(teachers, noise)

    def seen(
        self, key: Key[Array, ""], replicas: int, count: int
    ) -> tuple[Float32[Array, "r b d"], Float[Array, "b k r"]]:
        """Features before they are turned into the eigenbasis, and the fields of the teacher."""
        size = self.latent.directions.shape[0]
        Z = normals(key, replicas * count * size).reshape(replicas, count, size)
        raw = jax.lax.map(lambda z: self.features(z @ self.latent.directions), Z)
        return raw, jnp.moveaxis(Z.astype(float) @ self.latent.teachers.T, 0, -1)

    def label(self, teachers: Float[Array, "b k r"], hidden: Float[Array, "b r"]) -> Float[Array, "b r"]:
        return hidden


class ManifoldModel(StructuredModel):
    """Inputs that are features of hidden variables; P of the target is that of what it sees, explained by inputs or not."""

    about: ClassVar[str] = "fresh samples of a hidden manifold (use ode or sgd)"
    features: Activation
    latent: Latent

    @property
    def law(self) -> ManifoldLaw:
        """The law that draws hidden variables, their features and their labels."""
        return ManifoldLaw(self.target, self.Delta, self.labels, self.features, self.latent)

    @property
    def gaussian(self) -> StructuredModel:
        """The same model with Gaussian inputs of the same covariance: equations need no more than P of the target."""
        return StructuredModel(**_shared(self))

    @property
    def hidden_labels(self) -> str | None:
        """Say that labels are functions of the hidden variables."""
        return "labels of a hidden manifold depend on more than it follows; use sgd or ode."

    @property
    def draw_seconds(self) -> float:
        """Count two products with matrices."""
        latent, d = self.latent.directions.shape
        return 6e-11 * d * (d + latent)

    def cautions(self) -> Iterator[str]:
        """Warn of few hidden variables: features that are not linear are Gaussian only with many of them (section 1.3)."""
        latent = self.latent.directions.shape[0]
        if latent < _FEW and not isinstance(self.features, Polynomial):
            yield (
                f"features of {latent} hidden variables are not Gaussian, which they are taken for, at any dimension (late risks "
                f"of erf networks on signs {200 / latent:.0f} to {300 / latent:.0f} % off); trust sgd, or raise data.latent."
            )

    def look(self, network: Network) -> PyTree[Float[Array, "r ..."]]:
        """Overlaps, and the risk on test inputs."""
        blocks, bias = level_overlaps(self, network), network.scalars.bias.T
        return blocks, bias, manifold_risk(self, network.students, blocks.fields(self.units), bias)

    def look_seconds(self, replicas: int) -> float:
        """Count the overlaps, and the test inputs."""
        return super().look_seconds(replicas) + manifold_seconds(self, replicas)

    def risks(self, network: Network) -> Float[Array, " r"]:
        """The risk on test inputs."""
        found = level_overlaps(self, network).fields(self.units)
        return manifold_risk(self, network.students, found, network.scalars.bias.T)["risk"]

    def observe(self, looks: PyTree[Float[Array, "t r ..."]]) -> Observed:
        """Overlaps, and the risk that was measured."""
        blocks, bias, risk = looks
        seen = super().observe((blocks, bias))
        seen.pop("components", None)  # those of Gaussian inputs
        return seen | risk


def _shared(one: StructuredModel) -> dict[str, Any]:
    """What a model has in common with that of Gaussian inputs."""
    return {field.name: getattr(one, field.name) for field in fields(StructuredModel)}


def manifold_model(problem: OnePassProblem) -> ManifoldModel:
    """The model of a problem: that of Gaussian inputs, and with it how inputs and labels are really made."""
    data, found = problem.data, manifold_of(problem)
    assert isinstance(data, HiddenManifold)
    latent = Latent(*jax.device_put((found.directions, found.basis, found.latent_teachers)))
    return ManifoldModel(**_shared(structured_model(problem)), features=FEATURES[data.features], latent=latent)


def manifold_seconds(model: ManifoldModel, replicas: int) -> float:
    """What test inputs cost at one look at all networks."""
    latent, d = model.latent.directions.shape
    return _PARTS * _TOGETHER * d * (1e-10 * latent + 5e-10 * model.width * replicas)


def manifold_risk(
    model: ManifoldModel, students: Float[Array, "r p d"], fields: Overlaps, bias: Float[Array, "r p"]
) -> dict[str, Float[Array, " r"]]:
    """E(f* - f)²/2 of every network, and its standard error."""
    known = (fields.Q, fields.M, jnp.broadcast_to(model.target.P, (*bias.shape[:1], *model.target.P.shape)))
    slopes = jax.lax.map(lambda one: _slopes(model, *one), (fields, bias))
    mean = sum(jnp.sum(slope * moment, axis=(1, 2)) for slope, moment in zip(slopes, known, strict=True))
    turned = model.latent.basis.astype(float) @ jnp.moveaxis(students, -1, 0).reshape(students.shape[-1], -1)

    def part(key: Key[Array, ""]) -> Float[Array, "b r"]:
        raw, teachers = model.law.seen(key, 1, _TOGETHER)
        u = (raw[0] @ turned / jnp.sqrt(1.0 * turned.shape[0])).reshape(_TOGETHER, *bias.shape)
        t = teachers[..., 0]
        f = jnp.mean(fields.a * model.activation(u + bias), axis=-1)
        lost = (model.target(t)[:, None] - f) ** 2 / 2
        return lost - _quadratic(slopes, u, t)

    rest = jax.lax.map(part, jax.random.split(jax.random.key(_SEED), _PARTS)).reshape(_PARTS * _TOGETHER, -1)
    return {"risk": mean + jnp.mean(rest, axis=0), "risk_error": jnp.std(rest, axis=0, ddof=1) / len(rest) ** 0.5}


def _slopes(model: ManifoldModel, fields: Overlaps, bias: Float[Array, " p"]) -> Moments:
    """How the risk of Gaussian fields changes with their second moments."""

    def risk(moments: Moments) -> Float[Array, ""]:
        Q, M, P = moments
        return overlap_risk(eqx.tree_at(lambda one: one.target.P, model, P), Overlaps(Q, M, fields.a), bias)

    return jax.grad(risk)((fields.Q, fields.M, model.target.P))


def _quadratic(slopes: Moments, u: Float[Array, "b r p"], t: Float[Array, "b k"]) -> Float[Array, "b r"]:
    students, cross, teachers = slopes
    return (
        jnp.einsum("rij,bri,brj->br", students, u, u)
        + jnp.einsum("rik,bri,bk->br", cross, u, t)
        + jnp.einsum("rkl,bk,bl->br", teachers, t, t)
    )
