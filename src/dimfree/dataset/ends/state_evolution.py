"""Convex losses on labels of a teacher: the fixed point of state evolution (docs/theory/static.md, sections a, b and d).

Damped iteration comes near the fixed point, Newton's method polishes it in (log V, log q, atanh R), R being the overlap with
what decides the label, noise included. Derivatives pass through implicitly; vmap over samples and ridge is one call.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optimistix as optx
from jaxtyping import Array, Float

from dimfree.dataset.ends.ridge import ridge
from dimfree.dataset.ends.task import Task
from dimfree.gaussian.residual_channel import Residuals, residuals
from dimfree.gaussian.sign_channel import Fields, fields

_DAMPING, _NEAR, _ITERATIONS = 0.2, 1e-3, 2000
_POLISHED, _POLISHING = 1e-12, 30
_SHORT = 0.01  # share of the squared length of the weights that the square loss finds

Unknown = Float[Array, " 3"]  # log V, log q, atanh R


class EndPoint(NamedTuple):
    """Order parameters at the minimum, their conjugates, and what follows from them."""

    V: Float[Array, ""]
    q: Float[Array, ""]
    m: Float[Array, ""]
    Vhat: Float[Array, ""]
    qhat: Float[Array, ""]
    mhat: Float[Array, ""]
    norm: Float[Array, ""]  # |w|²/d
    train_loss: Float[Array, ""]  # mean over the samples, without ridge
    train_accuracy: Float[Array, ""]
    left: Float[Array, ""]  # the largest violation of the equations, relative in V and q


class _Hats(NamedTuple):
    V: Float[Array, ""]
    q: Float[Array, ""]
    m: Float[Array, ""]


def state_evolution(task: Task) -> EndPoint:
    """The minimum in infinite dimension; whether it was found is seen at `left`."""
    frozen = jax.lax.stop_gradient(task)
    near = optx.fixed_point(
        lambda x, asked: _turned(asked, x)[0],
        optx.FixedPointIteration(rtol=_NEAR, atol=_NEAR, damp=_DAMPING),
        _beginning(frozen),
        args=frozen,
        max_steps=_ITERATIONS,
        throw=False,
    ).value
    return polished(task, near)


def polished(task: Task, near: Unknown) -> EndPoint:
    """The fixed point beside a guess."""
    x = optx.root_find(
        lambda x, asked: _turned(asked, x)[0] - x,
        optx.Newton(rtol=_POLISHED, atol=_POLISHED),
        jax.lax.stop_gradient(near),
        args=task,
        max_steps=_POLISHING,
        throw=False,
    ).value
    again, hats, seen = _turned(task, x)
    V, q, R = _overlaps(x)
    cov = task.covariates
    G = 1 / (task.lambda_ + hats.V * cov.omega)
    norm = hats.q * cov.mean(cov.omega * G**2) + hats.m**2 * cov.along_teacher(G**2)
    m = R * jnp.sqrt(q * task.label_variance)
    return EndPoint(V, q, m, *hats, norm, *on_data(task, seen), jnp.max(jnp.abs(again - x)))


def on_data(task: Task, seen: Fields | Residuals) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Mean loss on the data set, and the part of it that is classified correctly, which is 1 for real labels."""
    if isinstance(seen, Residuals):
        return jnp.sum(task.law.share * seen.loss), jnp.ones_like(task.alpha)
    return jnp.sum(seen.weight * task.loss(seen.h)), jnp.sum(jnp.where(seen.h > 0, seen.weight, 0.0))


def _beginning(task: Task) -> Unknown:
    """A first guess: for signs the largest margin at a small ridge and a short vector at a large one; else the square loss."""
    if task.labels == "linear":
        V, q, m, *_ = ridge(task)
        q, R = _SHORT * q, m / jnp.sqrt(q * task.label_variance)  # near the labels no force may be left
        return jnp.stack([jnp.log(V), jnp.log(q), jnp.arctanh(R)])
    V = task.covariates.mean(task.covariates.omega) / (task.lambda_ + task.alpha / 4)
    length = 1 + task.alpha / (1 + task.alpha * task.lambda_)
    return jnp.stack([jnp.log(V), 2 * jnp.log(length), separating(task)])


def separating(task: Task) -> Float[Array, ""]:
    """atanh of the overlap of a classifier whose error falls like 1/(2 alpha)."""
    seen = jnp.sqrt(task.covariates.explained / task.label_variance)
    return jnp.arctanh(jnp.cos(jnp.pi / (2 + 2 * task.alpha)) * seen)


def _overlaps(x: Unknown) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
    return jnp.exp(x[0]), jnp.exp(x[1]), jnp.tanh(x[2])


def _turned(task: Task, x: Unknown) -> tuple[Unknown, _Hats, Fields | Residuals]:
    """One iteration: from V, q and R to the conjugates and back."""
    V, q, R = _overlaps(x)
    hats, seen = _of_signs(task, V, q, R) if task.labels == "sign" else _of_real_labels(task, V, q, R)
    cov = task.covariates
    G = 1 / (task.lambda_ + hats.V * cov.omega)
    V = cov.mean(cov.omega * G)
    m = hats.m * cov.along_teacher(G)
    q = hats.q * cov.mean((cov.omega * G) ** 2) + hats.m**2 * cov.along_teacher(cov.omega * G**2)
    overlap = jnp.arctanh(m / jnp.sqrt(q * task.label_variance))
    return jnp.stack([jnp.log(V), jnp.log(q), overlap]), hats, seen


def _of_signs(
    task: Task, V: Float[Array, ""], q: Float[Array, ""], R: Float[Array, ""]
) -> tuple[_Hats, Fields | Residuals]:
    """The conjugates (with hats); that of V by Stein's lemma, which holds for losses with kinks, too."""
    seen = fields(task.loss, V, q, R)
    force = (seen.h - seen.omega) / V
    along = task.alpha * jnp.sum(seen.slope * force)
    stiffness = (R * along - task.alpha * jnp.sum(seen.weight * seen.xi * force)) / jnp.sqrt(q)
    hats = _Hats(stiffness, task.alpha * jnp.sum(seen.weight * force**2), along / jnp.sqrt(task.label_variance))
    return hats, seen


def _of_real_labels(
    task: Task, V: Float[Array, ""], q: Float[Array, ""], R: Float[Array, ""]
) -> tuple[_Hats, Fields | Residuals]:
    """The conjugates of section d; a force depends on the residual alone, so its derivative in z is slope times that in y."""
    law, m = task.law, R * jnp.sqrt(q * task.label_variance)
    seen = residuals(task.loss, V, task.spreads(m, q))
    stiff = law.share * seen.stiffness
    averages = (jnp.sum(stiff), jnp.sum(law.share * seen.square), jnp.sum(stiff * law.slope))
    return _Hats(*(task.alpha * one for one in averages)), seen
