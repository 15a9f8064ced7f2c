"""The risk of real networks on a hidden manifold, from test inputs: features are Gaussian in the limit only.

The test inputs are the same at all times and in all replicas. From every loss a quadratic form of the preactivations is
subtracted whose mean is known, because overlaps are: with the slopes of the Gaussian risk as its coefficients it takes most
of the fluctuations away, and for linear networks all of them. What is left is the sampling error `risk_error`.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from dimfree.gaussian.overlaps import Overlaps
from dimfree.onepass.model import ManifoldModel
from dimfree.onepass.observe import overlap_risk
from dimfree.onepass.rule import OnePassModel

_PARTS, _TOGETHER = 16, 1024  # test inputs, and how many of them are there at a time
_SEED = 20200611  # of the test inputs

Moments = tuple[Float[Array, "*r p p"], Float[Array, "*r p k"], Float[Array, "*r k k"]]


def manifold_seconds(model: OnePassModel, replicas: int) -> float:
    """What one look at all networks costs; nothing where inputs are none of a manifold."""
    if not isinstance(model, ManifoldModel):
        return 0.0
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
