"""Averages of any loss over all preactivations: what drives the overlaps, the risk, and the errors of classes.

docs/theory/losses.md, equations (1.2), (1.4) and section 1.3.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.functions.activation import Polynomial
from dimfree.functions.clipped_loss import ClippedLoss
from dimfree.functions.label_law import Classes, Signs, StudentValues
from dimfree.functions.sample_loss import AbsoluteLoss, CorrelationLoss, HuberLoss, SampleLoss, SquareLoss
from dimfree.gaussian.any_loss.noise import Noise
from dimfree.gaussian.any_loss.plane import Plane, is_plane
from dimfree.gaussian.any_loss.points import Averaging, Points, Rule
from dimfree.gaussian.any_loss.posterior import unsheared
from dimfree.gaussian.any_loss.task import Task
from dimfree.states.overlaps import Overlaps


class Averages(NamedTuple):
    """D = E[c uᵀ] = [H | Psi^M], Psi^Var and Psi^a of equation (1.2)."""

    D: Float[Array, "p n"]
    Var: Float[Array, "p p"]
    Psia: Float[Array, " p"]


class Errors(NamedTuple):
    """The risk E l(f, y), and for classes the test error and the error against the sign of f*."""

    risk: Float[Array, ""]
    test_error: Float[Array, ""]
    clean_error: Float[Array, ""]


def is_linear(task: Task) -> bool:
    """Whether a student is a field itself, so that the whole network is one."""
    return isinstance(task.activation, Polynomial) and task.activation.coefficients == (0.0, 1.0)


def averages(task: Task, state: Overlaps, rule: Rule, points: Float[Array, "b j"] | None = None) -> Averages:
    """Equation (1.2), at other fixed points if they are given; a linear network of any width is one effective field.

    Psi^Var is infinite for unbounded errors of values whose noise has no variance.
    """
    found = (
        _of_linear(task, state, rule, points) if _is_one_field(task, state) else _of_fields(task, state, rule, points)
    )
    if isinstance(task.labels, StudentValues) and isinstance(task.loss, SquareLoss | CorrelationLoss):
        return found._replace(Var=jnp.where(jnp.isinf(noise_of(task).variance), jnp.inf, found.Var))
    return found


def _of_fields(task: Task, state: Overlaps, rule: Rule, points: Float[Array, "b j"] | None) -> Averages:
    """The same over every unit; of a variance that is infinite the finite part."""
    if is_plane(task, state.a.shape[0], rule):
        plane = Plane(task, state, rule)
        return Averages(*plane.sums(lambda chosen: _driving(plane, chosen)))
    at = Averaging(task, state, rule, test=False)
    D, Var, Psia = at.sums(lambda chosen: _driving(at, chosen), points)
    back = jnp.argsort(at.order)
    p = at.p
    D = jnp.concatenate([D[back][:, :p][:, back], unsheared(D[back][:, p:], at.shear)], axis=1)
    return Averages(D, Var[back][:, back], Psia[back])


def errors(task: Task, state: Overlaps, rule: Rule) -> Errors:
    """Risk and errors, for saved times: their integrands jump where the output changes its sign.

    Where labels are not signs of f* itself, their panels are not cut where f* changes its sign, or blur it: `loss_errors` then
    asks for the clean error apart.
    """
    if is_linear(task) and state.a.shape[0] > 1:
        state = _effective(state)
    at = Averaging(task, state, rule, test=isinstance(task.labels, Classes))
    return Errors(*at.sums(lambda points: _judged(task, points)))


def lengthened(task: Task, state: Overlaps, rule: Rule) -> Float[Array, "p p"]:
    """E[c cᵀ (uᵀ Omega^-1 u - r)], of which the mean of a step at finite d needs 1/d (equation 1.4)."""
    at = Averaging(task, state, Rule(rule.nodes, rule.sobol, all_fields=True), test=False)

    def terms(points: Points) -> Array:
        e2 = _of_errors(task, points, at.a, at.p)[1]
        S, w = _stacked(points.slopes, e2).reshape(at.p, -1), points.weights * e2 * (points.length - at.dimension)
        return jnp.outer(at.a, at.a) * ((S * w.reshape(-1)) @ S.T)

    back = jnp.argsort(at.order)
    found: Array = at.sums(terms)
    return found[back][:, back]


def _driving(at: Averaging | Plane, points: Points) -> tuple[Array, Array, Array]:
    e1, e2, e_last = (points.weights * e for e in _of_errors(at.task, points, at.a, at.p))
    slopes, V, U = points.slopes, _stacked(points.values, e1), _stacked(points.students, e1)
    if (
        not isinstance(slopes, list) and slopes.shape[-1] < e1.shape[-1]
    ):  # constant along rays: sums along these come first
        drift, last, variance = (jnp.sum(e, axis=-1, keepdims=True) for e in (e1 * U, e_last, e2))
    else:
        slopes, drift, last, variance = _stacked(slopes, e1), e1 * U, e_last, e2
    S, drift, V = (x.reshape(at.p, -1) for x in (slopes, drift, V))
    seen = [S @ drift.T]
    if at.k > 1:
        seen.append(S * e1.reshape(-1) @ _stacked(points.teachers[: at.k - 1], e1).reshape(at.k - 1, -1).T)
    D = at.a[:, None] * jnp.concatenate([*seen, (S @ last.reshape(-1))[:, None]], axis=1)
    return D, jnp.outer(at.a, at.a) * ((S * variance.reshape(-1)) @ S.T), V @ e1.reshape(-1)


def _stacked(parts: list[Array] | Array, like: Array) -> Float[Array, "q b n"]:
    """An array of all parts, each along all points."""
    return jnp.stack([jnp.broadcast_to(part, like.shape) for part in parts]) if isinstance(parts, list) else parts


def _judged(task: Task, points: Points) -> tuple[Array, Array, Array]:
    """Sums of losses and of wrong signs; f = 0 is half wrong (section 0)."""
    w, f, none = points.weights, points.f, jnp.zeros(())
    if not isinstance(task.labels, Classes):
        assert points.f_star is not None
        return jnp.sum(w * _mean_loss(task, f, points.f_star)), none, none
    plus, right = _chances(task, points)
    up = 0.5 * (1 + jnp.sign(f))
    risk = jnp.sum(w * (plus * task.loss(f, jnp.ones(())) + (1 - plus) * task.loss(f, -jnp.ones(()))))
    test, clean = (jnp.sum(w * (chance * (1 - up) + (1 - chance) * up)) for chance in (plus, right))
    return risk, test, clean


def _chances(task: Task, points: Points) -> tuple[Array, Array]:
    """The probabilities of y = +1 and of f* > 0."""
    assert isinstance(task.labels, Classes)
    if points.f_star is None:
        assert isinstance(task.labels, Signs)
        return task.labels.flip + (1 - 2 * task.labels.flip) * points.right, points.right
    return task.labels.P_plus(points.f_star, task.Delta) + 0 * points.f, points.right


def _of_errors(task: Task, points: Points, a: Array, p: int) -> tuple[Array, Array, Array]:
    """E[e], E[e²] and E[e lambda*_k] at every point, the label integrated out."""
    f = points.f
    if isinstance(task.labels, Classes):
        (plus, _), last = _chances(task, points), points.last
        if points.f_star is None:
            assert isinstance(task.labels, Signs)
            last = task.labels.flip * points.mean_last + (1 - 2 * task.labels.flip) * last
        else:
            last = plus * points.mean_last
        up, down = (_bounded(task, points, e, a, p) for e in task.loss.errors_of_classes(f))
        e1 = plus * up + (1 - plus) * down
        return e1, plus * up**2 + (1 - plus) * down**2, last * up + (points.mean_last - last) * down
    assert points.f_star is not None
    e1, e2 = error_over_noise(task.loss, noise_of(task), points.f_star + 0 * f, points.f_star - f)
    e2 = jnp.where(jnp.isinf(e2), 0.0, e2)  # infinity times a weight of zero would be no number
    return e1, e2, e1 * points.mean_last


def _bounded(task: Task, points: Points, e: Array, a: Array, p: int) -> Array:
    """The error as (4.1) clips it, if it does."""
    if task.norm is None:
        return e
    length = jnp.sqrt(sum(((a[i] * slope) ** 2 for i, slope in enumerate(points.slopes)), jnp.zeros_like(e)))
    return e * jnp.minimum(1.0, p * task.norm / jnp.maximum(jnp.abs(e) * length, 1e-300))


def noise_of(task: Task) -> Noise:
    """The noise of values."""
    freedom = task.labels.degrees if isinstance(task.labels, StudentValues) else None
    return Noise(jnp.sqrt(task.Delta), freedom)


def error_over_noise(loss: SampleLoss, noise: Noise, f_star: Array, r: Array) -> tuple[Array, Array]:
    """E[e] and E[e²] over the noise of values (section 1.1); a loss for which they are not closed is refused before."""
    match loss:
        case SquareLoss():
            return r, r**2 + noise.variance
        case CorrelationLoss():
            return f_star, f_star**2 + noise.variance
        case AbsoluteLoss():
            return noise.sign(r), jnp.ones_like(r)
        case HuberLoss(threshold=theta):
            return noise.clipped(r, theta), noise.clipped_square(r, theta)
        case ClippedLoss(inner=SquareLoss(), threshold=theta):
            return noise.clipped(r, theta), noise.clipped_square(r, theta)
        case ClippedLoss(inner=AbsoluteLoss(), threshold=theta):
            least = jnp.minimum(theta, 1.0)
            return least * noise.sign(r), least**2 * jnp.ones_like(r)
        case ClippedLoss(inner=HuberLoss(threshold=own), threshold=theta):
            least = jnp.minimum(theta, own)
            return noise.clipped(r, least), noise.clipped_square(r, least)
        case _:
            raise NotImplementedError(loss.name)


def sensitivity(loss: SampleLoss, noise: Noise) -> Float[Array, ""]:
    """kappa_1 = E psi'(zeta) of section 4: how fast errors of the outputs are unlearned, for errors psi of a residual."""
    zero = jnp.zeros(())
    match loss:
        case SquareLoss():
            return jnp.ones(())
        case AbsoluteLoss():
            return 2 * noise.density(zero) / noise.scale
        case HuberLoss(threshold=theta) | ClippedLoss(inner=SquareLoss(), threshold=theta):
            return noise.below(theta) - noise.below(-theta)
        case _:
            raise NotImplementedError(loss.name)


def _mean_loss(task: Task, f: Array, f_star: Array) -> Array:
    noise, loss, r = noise_of(task), task.loss, f_star - f
    match loss.inner if isinstance(loss, ClippedLoss) else loss:
        case SquareLoss():
            return 0.5 * (r**2 + noise.variance)
        case AbsoluteLoss():
            return noise.distance(r)
        case HuberLoss(threshold=theta):
            return noise.huber(r, theta)
        case CorrelationLoss():
            return -f_star * f
        case _:
            raise NotImplementedError(loss.name)


def sampled_fields(task: Task, state: Overlaps, rule: Rule) -> int:
    """Over how many coordinates the fixed points of `averages` are spread."""
    one = _effective(state) if _is_one_field(task, state) else state
    return Averaging(task, one, rule, test=False).sampled_fields


def _is_one_field(task: Task, state: Overlaps) -> bool:
    """Whether the output of several units is one field, and gradients are clipped by nothing else."""
    return is_linear(task) and task.norm is None and state.a.shape[0] > 1


def _effective(state: Overlaps) -> Overlaps:
    """The network of a linear activation as one unit of second layer 1: f itself."""
    b = state.a / state.a.shape[0]
    return Overlaps((b @ state.Q @ b)[None, None], (b @ state.M)[None], jnp.ones(1))


def _of_linear(task: Task, state: Overlaps, rule: Rule, points: Float[Array, "b j"] | None) -> Averages:
    """E[e u] of all fields is that of (f, lambda*), which explain them as far as e depends on them (section 2, rung 1)."""
    one = _effective(state)
    few = averages(task, one, rule, points)
    seen = one.covariance(task.target.P)
    b = state.a / state.a.shape[0]
    onto = jnp.concatenate(
        [
            jnp.concatenate([(b @ state.Q)[None], (b @ state.M)[None]], axis=1),
            jnp.concatenate([state.M.T, task.target.P], axis=1),
        ]
    )
    along = few.D[0] @ jnp.linalg.pinv(seen, hermitian=True) @ onto
    p = state.a.shape[0]
    return Averages(jnp.outer(state.a, along), jnp.outer(state.a, state.a) * few.Var[0, 0], along[:p])
