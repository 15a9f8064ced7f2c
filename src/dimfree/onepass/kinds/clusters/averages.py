"""What drives the overlaps on clusters, and risks and errors there (docs/theory/losses.md, equations (3.2) and (3.3))."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.functions.activation import Polynomial
from dimfree.onepass.kinds.clusters.points import Line, Points, Rule
from dimfree.states.overlaps import Overlaps, factor

if TYPE_CHECKING:
    from dimfree.onepass.kinds.clusters.model import ClusterModel

_TINY = 1e-300


class Driving(NamedTuple):
    """D = E[c uᵀ] = [H | Psi^M], E[c cᵀ |x|²] and Psi^a."""

    D: Float[Array, "p n"]
    Var: Float[Array, "p p"]
    Psia: Float[Array, " p"]


class Judged(NamedTuple):
    """The risk E l(f, y), and how often the sign of f is wrong, both for labels as they are drawn."""

    risk: Float[Array, ""]
    test_error: Float[Array, ""]


class _Cluster(NamedTuple):
    """One cluster: its share of the inputs, and pi, S, v, y of it."""

    weight: Float[Array, ""]
    S: Float[Array, " k"]
    v: Float[Array, ""]
    y: Float[Array, ""]


def driving(model: "ClusterModel", state: Overlaps, rule: Rule, *, finite: bool = False) -> Driving:
    """Equation (3.2); with `finite`, |x|² is that of the dimension of the model, equation (3.3), and not v."""
    if is_linear(model):
        return _of_linear(model, state, rule, finite)
    p, order = model.width, jnp.argsort(jnp.abs(state.a))  # of the unit along which jumps are looked for last
    ordered = Overlaps(state.Q[order][:, order], state.M[order], state.a[order])
    back = jnp.argsort(order)

    def one(cluster: _Cluster) -> Driving:
        at = _At(model, ordered, cluster)
        points = at.line(test=False).points(rule)
        values, slopes = model.activation(points.fields), model.activation.derivative(points.fields)
        length = jnp.sqrt(jnp.sum((ordered.a * slopes) ** 2, axis=1)) / p
        e, e2 = at.errors(values @ ordered.a / p, length)
        w = points.weights
        c, cx = (w * e) @ slopes, (slopes * (w * e)[:, None]).T @ points.x
        D = ordered.a[:, None] * (jnp.outer(c, at.mean) + jnp.sqrt(cluster.v) * cx @ at.A[:, :p].T)
        size = at.squares(points) if finite else cluster.v
        Var = jnp.outer(ordered.a, ordered.a) * ((slopes * (w * e2 * size)[:, None]).T @ slopes)
        return Driving(D, Var, (w * e) @ values)

    D, Var, Psia = _over_clusters(model, one)
    return Driving(jnp.concatenate([D[back][:, :p][:, back], D[back][:, p:]], axis=1), Var[back][:, back], Psia[back])


def judged(model: "ClusterModel", state: Overlaps, bias: Float[Array, " p"] | None, rule: Rule) -> Judged:
    """Risk and error of one network; the latter jumps where its output changes its sign."""
    shift = jnp.zeros(model.width) if bias is None else bias
    if is_linear(model):
        b = state.a / model.width
        shift, state = (b @ shift)[None], _effective(state)
    order = jnp.argsort(jnp.abs(state.a))
    ordered = Overlaps(state.Q[order][:, order], state.M[order], state.a[order])

    def one(cluster: _Cluster) -> Judged:
        at = _At(model, ordered, cluster)
        line = at.line(test=True)
        points = line._replace(mu=line.mu + shift[order]).points(rule)
        f, w = model.activation(points.fields) @ ordered.a / ordered.a.size, points.weights
        wrong = w @ (0.5 * (1 - jnp.sign(cluster.y * f)))
        flip = model.mixture.flip
        right, other = (w @ model.loss(f, sign * cluster.y * jnp.ones_like(f)) for sign in (1.0, -1.0))
        return Judged((1 - flip) * right + flip * other, flip + (1 - 2 * flip) * wrong)

    found: Judged = _over_clusters(model, one)
    return found


def is_linear(model: "ClusterModel") -> bool:
    """Whether a unit is its field, so that the whole network is one field."""
    return isinstance(model.activation, Polynomial) and model.activation.coefficients == (0.0, 1.0)


class _At(NamedTuple):
    """A network at one cluster, with its students in the order in which they are integrated."""

    model: "ClusterModel"
    state: Overlaps
    cluster: _Cluster

    @property
    def Omega(self) -> Float[Array, "n n"]:
        """How preactivations covary at v = 1, students first."""
        return self.state.covariance(self.model.P)

    @property
    def A(self) -> Float[Array, "n n"]:
        """A Aᵀ = Omega."""
        return factor(self.Omega, self.Omega.shape[-1])

    @property
    def mean(self) -> Float[Array, " n"]:
        """Omega (0, S), equation (3.1)."""
        return self.Omega[:, self.state.a.size :] @ self.cluster.S

    def line(self, *, test: bool) -> Line:
        """The fields of the students, and the outputs at which errors turn or jump, or signs change."""
        p, loss = self.state.a.size, self.model.loss
        levels: list[Array] = [jnp.zeros(())] if test or loss.along == "margin" else []  # around which losses turn
        labels = (self.cluster.y, -self.cluster.y)  # of which one is flipped
        levels += [y * place if loss.along == "margin" else y - place for place in loss.jumps for y in labels]
        wanted = jnp.stack(levels) if levels else jnp.zeros(0)
        L = jnp.sqrt(self.cluster.v) * self.A[:p, :p]
        return Line(self.model.activation, self.state.a, self.mean[:p], L, wanted, test or bool(loss.jumps))

    def errors(self, f: Float[Array, " n"], length: Float[Array, " n"]) -> tuple[Array, Array]:
        """E[e] and E[e²] over the label; `length` is that of a sigma'/p, which clipping by norm looks at (section 4)."""
        flip, limit = self.model.mixture.flip, self.model.clip_norm
        both = [self.model.loss.error(f, sign * self.cluster.y * jnp.ones_like(f)) for sign in (1.0, -1.0)]
        if limit is not None:
            norm = length * jnp.sqrt(self.cluster.v)
            both = [e * jnp.minimum(1.0, limit / jnp.maximum(jnp.abs(e) * norm, _TINY)) for e in both]
        right, wrong = both
        return (1 - flip) * right + flip * wrong, (1 - flip) * right**2 + flip * wrong**2

    def squares(self, points: Points) -> Float[Array, " n"]:
        """E[|x|²] given the fields: inside the span of the weights it follows from the fields, outside from the law (3.3)."""
        p, d, v = self.state.a.size, self.model.dimension, self.cluster.v
        h = self.A[p:].T @ self.cluster.S
        inside = jnp.sum((h[:p] + jnp.sqrt(v) * points.x) ** 2, axis=1) + jnp.sum(h[p:] ** 2)
        return (inside + v * (d - p)) / d


def _over_clusters(model: "ClusterModel", one: Callable[[_Cluster], Any]) -> Any:
    """The sum over clusters, each by its weight."""
    m = model.mixture
    found = jax.lax.map(one, _Cluster(m.weights, m.S, m.v, m.y))
    return jax.tree.map(lambda x: jnp.tensordot(m.weights, x, axes=1), found)


def _effective(state: Overlaps) -> Overlaps:
    """A linear network as one unit of second layer 1: its output."""
    b = state.a / state.a.size
    return Overlaps((b @ state.Q @ b)[None, None], (b @ state.M)[None], jnp.ones(1))


def _of_linear(model: "ClusterModel", state: Overlaps, rule: Rule, finite: bool) -> Driving:
    """Errors depend on the output alone, which explains all fields as far as they matter (section 2, rung 1)."""
    p, single, Omega = model.width, _effective(state), state.covariance(model.P)
    b = jnp.concatenate([state.a / p, jnp.zeros(model.units)])
    share = Omega @ b / jnp.maximum(single.Q[0, 0], _TINY)  # of the output in every field
    length = jnp.sqrt(jnp.sum(state.a**2)) / p

    def one(cluster: _Cluster) -> Driving:
        at = _At(model, single, cluster)
        points = at.line(test=False).points(rule)
        f, w = points.fields[:, 0], points.weights
        e, e2 = at.errors(f, jnp.full_like(f, length))
        mean = Omega[:, p:] @ cluster.S
        along = (w @ e) * mean + (w @ (e * (f - mean @ b))) * share
        size = at.squares(points) if finite else cluster.v
        return Driving(jnp.outer(state.a, along), jnp.outer(state.a, state.a) * (w @ (e2 * size)), along[:p])

    found: Driving = _over_clusters(model, one)
    return found
