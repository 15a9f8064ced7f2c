"""Networks of several outputs on clusters: what drives them, and risks and errors (docs/theory/losses.md, (1.5) and (3.2))."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.gaussian.outputs.averages import Driving, Head, Seen, driving, flipped, mean_loss, wrong_share
from dimfree.gaussian.points import normal_points
from dimfree.onepass.kinds.clusters.averages import Judged
from dimfree.onepass.kinds.clusters.points import Line, Rule
from dimfree.states.overlaps import Overlaps, factor

if TYPE_CHECKING:
    from dimfree.onepass.kinds.clusters.model import ClusterModel

_COUNTED = 2**12  # fixed points at which wrong labels are counted


def outputs_driving(model: "ClusterModel", state: Overlaps, rule: Rule, *, finite: bool = False) -> Driving:
    """The sum over clusters; with `finite`, |x|² is that of the dimension of the model, equation (3.3), and not v."""
    head = Head(model.activation, state.a, model.loss, model.clip_norm)

    def one(cluster: tuple[Array, ...]) -> Driving:
        return driving(head, _seen(model, state, cluster, _points(rule), None, finite))

    found: Driving = _over_clusters(model, one)
    return found


def outputs_judged(model: "ClusterModel", state: Overlaps, bias: Float[Array, " p"] | None, rule: Rule) -> Judged:
    """Risk and error of one network; the latter is counted at fixed points, as it jumps where two outputs are equal."""
    head = Head(model.activation, state.a, model.loss)
    smooth = _counted if model.offsets else _points(rule)  # offsets move the places at which activations bend

    def one(cluster: tuple[Array, ...]) -> Judged:
        seen = _seen(model, state, cluster, smooth, bias, False)
        counted = _seen(model, state, cluster, _counted, bias, False)
        return Judged(mean_loss(head, seen), wrong_share(head, counted))

    found: Judged = _over_clusters(model, one)
    return found


_Points = Callable[["ClusterModel", Array, Array], tuple[Array, Array]]


def _points(rule: Rule) -> _Points:
    """Standard coordinates of the fields of the students, and weights: panels are cut where activations bend."""

    def at(model: "ClusterModel", mu: Float[Array, " p"], L: Float[Array, "p p"]) -> tuple[Array, Array]:
        found = Line(model.activation, jnp.zeros_like(mu), mu, L, jnp.zeros(0), jumps=False).points(rule)
        return found.x, found.weights

    return at


def _counted(model: "ClusterModel", mu: Float[Array, " p"], L: Float[Array, "p p"]) -> tuple[Array, Array]:
    return jnp.asarray(normal_points(mu.size, _COUNTED)), jnp.full(_COUNTED, 1 / _COUNTED)


def _seen(
    model: "ClusterModel",
    state: Overlaps,
    cluster: tuple[Array, ...],
    points: _Points,
    bias: Float[Array, " p"] | None,
    finite: bool,
) -> Seen:
    """The fields of the students with their known label, and E[lambda* | lambda], which is linear in these fields."""
    S, v, y = cluster
    p, Omega = model.width, state.covariance(model.P)
    A, mean = factor(Omega, Omega.shape[0]), Omega[:, p:] @ S
    x, weights = points(model, mean[:p], jnp.sqrt(v) * A[:p, :p])
    u = mean + jnp.sqrt(v) * x @ A[:, :p].T
    own = (y == jnp.arange(model.outputs)).astype(float)
    chances = jnp.broadcast_to(flipped(own, model.mixture.flip, jnp.ones(1)), (x.shape[0], model.outputs))
    size = v
    if finite:
        h, d = A[p:].T @ S, model.dimension
        inside = jnp.sum((h[:p] + jnp.sqrt(v) * x) ** 2, axis=1) + jnp.sum(h[p:] ** 2)
        size = (inside + v * (d - p)) / d
    students = u[:, :p] if bias is None else u[:, :p] + bias
    return Seen(weights, students, chances, chances[..., None] * u[:, None, p:], size)


def _over_clusters(model: "ClusterModel", one: Callable[[tuple[Array, ...]], Any]) -> Any:
    m = model.mixture
    found = jax.lax.map(one, (m.S, m.v, m.y))
    return jax.tree.map(lambda x: jnp.tensordot(m.weights, x, axes=1), found)
