"""The law of the neurons that learn a function of a few directions (docs/theory/mean-field.md, sections a and f).

From the canonical convention to the sheet: P = A Aᵀ, coordinates z of the teacher's span in which the label is f*(A z), weights
s = (the part of w in the span)/sqrt(d) with M = s Aᵀ, r = |the rest of w|/sqrt(d) with Q_ii = |s|² + r², the same time, and R is
twice the risk. A Gaussian start is a Gauss rule in s and r, whose weights are the shares of its particles, with both halves of
the law of the second layer at every point, unless it is one value.
"""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.functions.activation import Activation, Erf, PiecewiseLinear, Polynomial
from dimfree.functions.target import Committee, HermiteLink, Target
from dimfree.gaussian.even_orders import cosine_moments
from dimfree.onepass.directions import TeacherModel
from dimfree.onepass.fields.cloud import ANGLES, Neurons, cloud_field, gaussian_cloud
from dimfree.onepass.fields.form import Form, Kept, equal, quantiles, repeated_in_time
from dimfree.onepass.fields.subspace import (
    ORDERS,
    Plane,
    SubspaceNeurons,
    smooth_plane,
    split_plane,
)
from dimfree.onepass.fields.subspace_trained import subspace_trained
from dimfree.onepass.fields.trained import Trained
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.start import Start
from dimfree.states.overlaps import factor
from dimfree.states.particles import Particles, particles

MOST_DIRECTIONS = 3
_PAIRED = 2  # a cloud of pairs is affordable for at most this many directions
_LAYERS = 2  # values of the second layer at every point: the halves of its law
_REST = {1: 5, 2: 3, 3: 3}  # points in the norm of the rest, by the number of directions


class _GaussForm(Form[TeacherModel]):
    """The law of a start is a Gauss rule."""

    def refuses(self, problem: OnePassProblem, model: TeacherModel) -> str | None:
        """Refuse more than a few independent directions, and noise on the weights."""
        k = model.units
        if k > MOST_DIRECTIONS:
            return (
                f"nodes in {k} directions are too many; lower data.units to {MOST_DIRECTIONS}, or use mean-field or "
                "dimensionless."
            )
        if problem.dimension < k + 2:
            return f"directions orthogonal to {k} teacher units need two dimensions to be random in; raise dimension to {k + 2}."
        if model.noisy:
            return "it is derived without noise on the weights; leave out training.inverse_temperature, or use sgd."
        if np.linalg.matrix_rank(problem.teacher_overlap) < k:
            return "the directions of the teacher are not independent; lower data.units, or change data.overlap."
        return None

    def size(self, model: TeacherModel, alike: bool, count: int) -> int:
        """How many points the Gauss rule of at most `count` has."""
        along, rest = _points(model.units, count)
        return (1 if alike else _LAYERS) * along**model.units * rest


class CloudForm(_GaussForm):
    """Only the first layer is trained, and pair kernels are closed: a particle is (M, r), and nothing is averaged on nodes."""

    step: ClassVar[float] = 0.1

    def law(self, model: TeacherModel, start: Start, count: int) -> tuple[Neurons, Kept]:
        points, mass = _gauss(model, start, count)
        return _as_cloud(model, points), Kept(mass, points.a)

    def own(self, model: TeacherModel, start: Start) -> tuple[Neurons, Kept]:
        """The overlaps of the neurons."""
        points = _measured(model, start)
        return _as_cloud(model, points), Kept(equal(model.width), points.a)

    def field(self, model: TeacherModel, kept: Kept) -> Trained:
        """The exact field of a cloud."""
        decays = Neurons(jnp.reshape(model.omega, (1, 1)), jnp.reshape(model.omega, 1))
        return Trained(cloud_field(model, kept.mass, kept.a), Neurons(jnp.ones((1, 1)), jnp.ones(1)), decays, kept.mass)

    def observe(self, model: TeacherModel, kept: Kept, particles: Neurons) -> dict[str, Float[Array, "t n ..."]]:
        """Overlaps, and what does not move."""
        overlaps = Particles(particles.M, particles.r**2, repeated_in_time(kept.a, len(particles.r)))
        return _overlaps(model, kept, overlaps)

    def seconds(self, model: TeacherModel, count: int) -> float:
        """Count all pairs of particles at all angles."""
        return 5e-4 + 1e-8 * ANGLES * count**2


class SubspaceForm(_GaussForm):
    """Everything else: a particle is (a, b, s, r), and the span of the teacher is averaged on nodes."""

    step: ClassVar[float] = 0.1

    def refuses(self, problem: OnePassProblem, model: TeacherModel) -> str | None:
        """Refuse labels with kinks that nodes cannot be placed at."""
        P = problem.teacher_overlap
        if why := super().refuses(problem, model):
            return why
        if kinks(model.target) and np.any(np.diag(np.diagonal(P)) != P):
            return (
                "its nodes meet kinks of the labels along orthogonal directions only; set data.overlap = 'orthonormal', or use "
                "mean-field."
            )
        return None

    def law(self, model: TeacherModel, start: Start, count: int) -> tuple[SubspaceNeurons, Kept]:
        points, mass = _gauss(model, start, count)
        return points, Kept(mass, points.a)

    def own(self, model: TeacherModel, start: Start) -> tuple[SubspaceNeurons, Kept]:
        """The neurons of the network as particles, with all of their numbers."""
        points = _measured(model, start)
        return points, Kept(equal(model.width), points.a)

    def field(self, model: TeacherModel, kept: Kept) -> Trained:
        """The field, in which only what is trained moves and decays."""
        plane, A = _plane(model.target), factor(model.target.P, model.units)
        moments = cosine_moments(model.dimension - model.units, ORDERS)
        return subspace_trained(model, kept, plane, model.target(plane.z @ A.T), moments)

    def observe(
        self, model: TeacherModel, kept: Kept, particles: SubspaceNeurons
    ) -> dict[str, Float[Array, "t n ..."]]:
        """Overlaps, second layer, and offsets if there are any."""
        M = particles.s @ factor(model.target.P, model.units).T
        seen = _overlaps(model, kept, Particles(M, particles.r**2, particles.a))
        return seen | ({"bias": particles.b} if model.offsets else {})

    def seconds(self, model: TeacherModel, count: int) -> float:
        """Count all particles at all nodes, in all orders."""
        return 5e-4 + _plane(model.target).weights.size * count * _order_seconds(model.activation)


def teacher_form(model: TeacherModel) -> CloudForm | SubspaceForm:
    """Pairs of particles where these are cheap, else nodes in the teacher's span."""
    bare = model.train_w and not (model.train_a or model.offsets)
    return CloudForm() if bare and model.units <= _PAIRED and has_closed_pairs(model) else SubspaceForm()


def has_closed_pairs(model: TeacherModel) -> bool:
    """Whether pair kernels of the network, and of the network with its target, cost next to nothing."""
    return all(isinstance(one, Erf | Polynomial) for one in (model.activation, *model.target.functions))


def kinks(target: Target) -> tuple[float, ...]:
    """Where the functions of single directions that labels are made of bend."""
    return tuple(kink for one in target.functions for kink in one.kinks)


def _points(k: int, count: int) -> tuple[int, int]:
    """Points along each direction, an even number because one in the middle might stay there, and in the norm of the rest."""
    rest = _REST[k]
    along = int((count / (_LAYERS * rest)) ** (1 / k) + 1e-9)
    return max(2, along - along % 2), rest


def _gauss(model: TeacherModel, start: Start, count: int) -> tuple[SubspaceNeurons, Float[Array, " n"]]:
    assert start.scale is not None, "the law of the start is asked for Gaussian starts only"
    points, weights = gaussian_cloud(np.eye(model.units), model.dimension, start.scale, *_points(model.units, count))
    layers = 1 if start.alike else _LAYERS
    a = jnp.repeat(quantiles(start.measured.a, layers), weights.size)
    s, r = jnp.tile(points.M, (layers, 1)), jnp.tile(points.r, layers)
    return SubspaceNeurons(a, jnp.full(a.size, start.bias[0]), s, r), jnp.tile(weights / layers, layers)


def _measured(model: TeacherModel, start: Start) -> SubspaceNeurons:
    measured, P = start.measured, model.target.P
    found = measured if isinstance(measured, Particles) else particles(start.overlaps, P)
    present = found.q > 0
    r = jnp.where(present, jnp.sqrt(jnp.where(present, found.q, 1.0)), 0.0)  # its gradient at 0 is 0
    return SubspaceNeurons(found.a, start.bias, found.along(P), r)


def _as_cloud(model: TeacherModel, points: SubspaceNeurons) -> Neurons:
    return Neurons(points.s @ factor(model.target.P, model.units).T, points.r)


def _overlaps(model: TeacherModel, kept: Kept, found: Particles) -> dict[str, Float[Array, "t n ..."]]:
    mass = repeated_in_time(kept.mass, len(found.a))
    return {"M": found.M, "Q_diagonal": found.norms(model.target.P), "a": found.a, "mass": mass}


def _plane(target: Target) -> Plane:
    """Nodes placed by where the labels bend, or by how fast they grow."""
    bends = kinks(target)
    if not bends:
        return smooth_plane(target.units, _degree(target))
    return split_plane(jnp.asarray([x for x in bends if x != 0]) / jnp.sqrt(jnp.diagonal(target.P))[:, None])


def _degree(target: Target) -> int:
    match target:
        case HermiteLink():
            return max(sum(term) for term in target.terms)
        case Committee(activation=Polynomial() as link):
            return link.degree
        case _:
            return 1


def _order_seconds(sigma: Activation) -> float:
    """Roughly what all orders of one neuron at one node cost."""
    match sigma:
        case Erf() | Polynomial():
            return 1.5e-7
        case PiecewiseLinear():
            return 1.5e-7 * len(sigma.kinks)
        case _:
            return 1e-4 if sigma.kinks else 1e-6
