"""Dynamics between a network and its mean-field limit, from one start (docs/theory/mean-field.md, section a).

PDE: a cloud that carries the law rho_t of a neuron. ND: the neurons of a network as test particles, which feel rho_t and do not
act on it. PD: the neurons in their own field, gradient flow on the population risk. GD: explicit Euler of PD with step eps.
Conventions are the canonical ones: time and eps = gamma/(p d) are the sheet's, weights are sqrt(d) times the sheet's, and the
risk is half of the sheet's. The rho_0 is a Gaussian, and the second layer stays as it is.
"""

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.gaussian.closure import xi_rule
from dimfree.gaussian.directions import norm_rule
from dimfree.gaussian.moments import cross_terms, gradient_terms, second_moment
from dimfree.gaussian.nodes import gauss_hermite
from dimfree.gaussian.two_point.ladder import two_point, two_point_seconds
from dimfree.onepass.directions import TeacherModel
from dimfree.onepass.fields.field import Descent, Field, solve
from dimfree.states.overlaps import Overlaps, factor

_ALONG, _REST = 16, 5  # points of the cloud in each teacher direction, and in the norm of the rest
ANGLES = 6  # nodes for the angle between the parts of two neurons that are orthogonal to the teacher


class Neurons(eqx.Module):
    """Neurons as a rotation-invariant law sees them: overlaps M with the teacher, norm r of the rest (over sqrt(d))."""

    M: Float[Array, "*t n k"]
    r: Float[Array, "*t n"]


class Cloud(NamedTuple):
    """A Gauss rule for rho_0. Its weights stay with its points, so that it remains a rule for rho_t."""

    points: Neurons
    weights: Float[Array, " c"]


def gaussian_cloud(
    P: Float[Any, "k k"],
    d: float | Float[Array, ""],
    scale: float | Float[Array, ""],
    along: int = _ALONG,
    rest: int = _REST,
) -> Cloud:
    """rho_0 of weights with standard deviation `scale`: normal along the teacher, chi with d - k degrees of freedom across."""
    k, d = len(P), jnp.asarray(d, dtype=float)
    z, z_weights = gauss_hermite(along, k)
    x, x_weights = norm_rule(d - k, rest)
    M = scale / jnp.sqrt(d) * z @ factor(jnp.asarray(P), k).T
    r = scale * jnp.sqrt((d - k) / d) * x
    points = Neurons(jnp.repeat(M, rest, axis=0), jnp.tile(r, len(M)))
    return Cloud(points, jnp.outer(z_weights, x_weights).ravel())


class CloudField(Field):
    """-grad Psi(theta; rho_t) for neurons of which the first are the cloud, and half of the risk R(rho_t)."""

    canonical: ClassVar[float] = 1.0
    model: TeacherModel
    weights: Float[Array, " c"]
    a: Float[Array, ""] | Float[Array, " n"]  # one second layer for all neurons, or one for each
    inverse: Float[Array, "k k"]  # P^-1
    angles: tuple[Float[Array, " x"], Float[Array, " x"]]  # a rule for the angle between two orthogonal parts

    def terms(self, particles: Neurons) -> tuple[Neurons, Float[Array, ""]]:
        """Velocities; the risk is that of the cloud."""
        sigma, target, c = self.model.activation, self.model.target, self.weights.size
        M, r, a = particles.M, particles.r, jnp.broadcast_to(self.a, particles.r.shape)
        b = a[:c] * self.weights
        C, free = M @ self.inverse @ M[:c].T, jnp.outer(r, r[:c])
        Q = jnp.sum(M @ self.inverse * M, axis=1) + r**2

        def at(node: tuple[Array, Array]) -> tuple[Array, ...]:
            pair = two_point(sigma, sigma, Q[:, None], C + node[0] * free, Q[None, :c])
            B = pair.B * b
            return tuple(node[1] * x for x in (pair.kappa @ b, pair.A @ b, B @ M[:c], node[0] * (B @ r[:c])))

        kappa, A, BM, Br = (jnp.sum(x, axis=0) for x in jax.lax.map(at, self.angles))
        cross = cross_terms(sigma, target, jnp.diag(Q), M)
        alpha = cross.curvature - A
        dM = alpha[:, None] * M + cross.gradient @ target.P - BM
        twice = second_moment(target) - b @ (2 * cross.value - kappa)[:c]
        return Neurons(a[:, None] * dM, a * (alpha * r - Br)), 0.5 * twice

    def squares(self, particles: Neurons) -> Neurons:
        """The squared overlaps M P^-1 M along the teacher, and the squared norm of the rest."""
        return Neurons(particles.M @ self.inverse * particles.M, particles.r**2)


def cloud_field(
    model: TeacherModel, weights: Float[Array, " c"], a: Float[Array, ""] | Float[Array, " n"]
) -> CloudField:
    """The field of a cloud with these weights at the dimension of the model."""
    angles = xi_rule(model.dimension - model.units, ANGLES)
    return CloudField(model, weights, a, _inverse(model.target.P), angles)


class NetworkField(Field):
    """-grad of the population risk in the weights, times p d: by Stein's lemma a combination of the weights, J [W; W*]."""

    canonical: ClassVar[float] = 1.0
    model: TeacherModel
    second_layer: Float[Array, " p"]
    teachers: Float[Array, "k d"]

    def overlaps(self, weights: Float[Array, "p d"]) -> Overlaps:
        """The overlaps, measured on the vectors."""
        d = weights.shape[1]
        return Overlaps(weights @ weights.T / d, weights @ self.teachers.T / d, self.second_layer)

    def terms(self, particles: Float[Array, "p d"]) -> tuple[Float[Array, "p d"], Float[Array, ""]]:
        """The velocity of every neuron in the field of all, itself included."""
        found = gradient_terms(self.model, self.overlaps(particles))
        return found.J @ jnp.concatenate([particles, self.teachers]), found.risk


def nonlinear_dynamics(
    model: TeacherModel, cloud: Cloud, a: Float[Array, ""], tests: Neurons, times: Float[Array, " t"], step: float
) -> Descent:
    """PDE and ND together, on one grid of time steps: the first particles of the result are the cloud."""
    field = cloud_field(model, cloud.weights, a)
    return solve(field, jax.tree.map(lambda x, y: jnp.concatenate([x, y]), cloud.points, tests), times, step)


def cloud_seconds(model: TeacherModel, cloud: Cloud, tests: int) -> float:
    """What one evaluation of the field takes, for the cloud and so many test particles."""
    size = cloud.weights.size
    return (size + tests) * size * ANGLES * two_point_seconds(model.activation)


def particle_dynamics(
    field: NetworkField, weights: Float[Array, "p d"], times: Float[Array, " t"], step: float
) -> Descent:
    """PD."""
    return solve(field, weights, times, step)


def gradient_descent(
    field: NetworkField, weights: Float[Array, "p d"], times: Float[Array, " t"]
) -> Float[Array, "t p d"]:
    """GD: the weights after rint(t/eps) steps of size exactly eps."""
    eps = field.model.time_step

    def to_next(carry: tuple[Array, Array], time: Array) -> tuple[tuple[Array, Array], Array]:
        done, weights = carry
        due = jnp.rint(time / eps).astype(int)
        weights = jax.lax.fori_loop(done, due, lambda _, W: W + eps * field.terms(W)[0], weights)
        return (due, weights), weights

    return jax.lax.scan(to_next, (jnp.zeros((), dtype=int), weights), times)[1]


def split(
    weights: Float[Array, "p d"], teachers: Float[Array, "k d"], P: Float[Array, "k k"]
) -> tuple[Neurons, Float[Array, "p d"]]:
    """What the mean field moves of a network, and the unit vectors of the orthogonal parts, which it leaves alone."""
    d = weights.shape[1]
    M = weights @ teachers.T / d
    rest = weights - M @ _inverse(P) @ teachers
    r = jnp.linalg.norm(rest, axis=1)
    return Neurons(M, r / jnp.sqrt(1.0 * d)), rest / r[:, None]


def joined(
    neurons: Neurons, directions: Float[Array, "p d"], teachers: Float[Array, "k d"], P: Float[Array, "k k"]
) -> Float[Array, "*t p d"]:
    """The weights of a network from its two parts."""
    return neurons.M @ _inverse(P) @ teachers + jnp.sqrt(1.0 * teachers.shape[1]) * neurons.r[..., None] * directions


def _inverse(P: Float[Array, "k k"]) -> Float[Array, "k k"]:
    """The inverse of P; directions in which a singular P vanishes are left out."""
    return jnp.linalg.pinv(P, hermitian=True)
