"""Starts: as weight vectors, or at any dimension directly as overlaps from their exact law."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.linalg.lapack import dgeqrf, dorgqr

from dimfree.errors import ProblemError
from dimfree.machine import refuse_above_memory
from dimfree.onepass.inputs.quadrature import MOST_LEVELS
from dimfree.onepass.kind import kind_of
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.rule import second_layer
from dimfree.onepass.sections import GaussianStart, OverlapStart, SphereStart, WeightsStart
from dimfree.onepass.structured_start import drawn_blocks, drawn_weights, measured_blocks, reduced_blocks, summed_blocks
from dimfree.onepass.weights_file import loaded_weights
from dimfree.programs.compiled import brief_program, program
from dimfree.random_numbers import wishart
from dimfree.states.blocks import Blocks
from dimfree.states.overlaps import Overlaps, factor
from dimfree.states.particles import MOST_PAIRS, Particles

_AS_VECTORS = 50_000_000  # numbers; starts are drawn as weight vectors up to this size
_COPIES = 3  # of the weights, while a start is drawn
_ONE_GENERATOR = 2_000_000  # numbers; up to this size students and teachers are drawn together


class Start(eqx.Module):
    """Where training begins: overlaps, offsets, and weight vectors (students first) when they were drawn.

    Networks wider than MOST_PAIRS, and networks without a teacher, have one particle per unit instead of overlaps between all
    pairs; on structured inputs there are overlaps for every eigenvalue, and weights are in the eigenbasis.
    """

    measured: Overlaps | Particles | Blocks
    weights: Float[Array, "n d"] | None
    bias: Float[Array, " p"]
    scale: Float[Array, ""] | None = None  # the scale of the law that it was drawn from, if that is a Gaussian
    alike: bool = eqx.field(default=False, static=True)  # whether all units begin with one value of the second layer

    def only(self, needs: frozenset[str]) -> "Start":
        """Without weight vectors, whose shape depends on the dimension, unless they are needed or all that there is."""
        if "vectors" in needs or isinstance(self.measured, Particles):
            return self
        return Start(self.measured, None, self.bias, self.scale, self.alike)

    @property
    def overlaps(self) -> Overlaps:
        """Overlaps between all pairs."""
        assert isinstance(self.measured, Overlaps), (
            "only descriptions that need overlaps between all pairs ask for them"
        )
        return self.measured

    @property
    def blocks(self) -> Blocks:
        """Overlaps for every eigenvalue."""
        assert isinstance(self.measured, Blocks), "structured inputs have a start of their own"
        return self.measured

    @property
    def norms(self) -> Float[Array, " p"]:
        """Q_ii."""
        if isinstance(self.measured, Overlaps):
            return jnp.diagonal(self.measured.Q)
        if isinstance(self.measured, Blocks):
            return jnp.diagonal(jnp.sum(self.measured.Omega, axis=0))[: self.bias.size]
        assert self.weights is not None
        return jnp.sum(self.weights[: self.bias.size] ** 2, axis=1) / self.weights.shape[1]


def shared_start(problem: OnePassProblem, key: Key[Array, ""], needs: frozenset[str]) -> Start:
    """A start for all descriptions; as vectors if they are small, or if a description needs them."""
    size = problem.dimension * (problem.network.width + problem.data.units)
    vectors = "vectors" in needs or size <= _AS_VECTORS
    return draw_start(problem, key, vectors=vectors, nodes="pairs" in needs)


def why_no_start(problem: OnePassProblem, needs: frozenset[str]) -> str | None:
    """Overlaps between all pairs of units do not fit into memory over time when there are many."""
    p = problem.network.width
    if p <= MOST_PAIRS or not problem.data.units or not needs & {"vectors", "pairs"}:
        return None
    return (
        f"overlaps between all pairs of {p} units do not fit into memory over time; use dimensionless, which is "
        f"linear in the width, or lower network.width to {MOST_PAIRS}."
    )


def draw_start(problem: OnePassProblem, key: Key[Array, ""], *, vectors: bool, nodes: bool = True) -> Start:
    """A start of the problem. With `vectors` the overlaps are those measured on the weights that were drawn.

    Very many eigenvalues are reduced to `nodes`, from which equations start, only if these are asked for: it takes long.
    """
    return kind_of(problem).start_of(problem, key, vectors, nodes)


def weights_start(problem: OnePassProblem, key: Key[Array, ""], vectors: bool, nodes: bool) -> Start:
    """Where no teacher is drawn, a start is always one of weights."""
    return _start(problem, *_measured(problem, _weights(problem, key)))


def directions_start(problem: OnePassProblem, key: Key[Array, ""], vectors: bool, nodes: bool) -> Start:
    """Students and teachers, or their overlaps; for every eigenvalue where inputs have a covariance, or weights velocities."""
    if problem.structured and not problem.correlated:
        at_rest = problem.replace(**{"training.momentum": 0.0})
        return _as_one_block(problem, directions_start(at_rest, key, vectors, nodes))
    if problem.structured:
        return _start(problem, *_structured(problem, key, vectors, nodes))
    match problem.start:
        case GaussianStart() | SphereStart() if problem.network.width > MOST_PAIRS:
            return _start(problem, draw_particles(problem, key), None)
        case GaussianStart() | SphereStart() if not vectors:
            return _start(problem, _overlaps_law(problem, problem.start, key), None)
        case OverlapStart():  # the given overlaps, not those of the weights up to rounding
            overlaps = _given(problem, problem.start)
            return _start(problem, overlaps, embed(overlaps, problem) if vectors else None)
        case _:
            return _start(problem, *_measured(problem, _weights(problem, key)))


def _start(
    problem: OnePassProblem, measured: Overlaps | Particles | Blocks, weights: Float[Array, "n d"] | None
) -> Start:
    """The start, with offsets and second layer added."""
    bias = jax.device_put(np.full(problem.network.width, problem.network.bias_start))
    scale = jax.device_put(problem.start.scale) if isinstance(problem.start, GaussianStart) else None
    return Start(measured, weights, bias, scale, problem.network.alike)


def _as_one_block(problem: OnePassProblem, start: Start) -> Start:
    """Isotropic inputs are inputs of one eigenvalue."""
    Omega = start.overlaps.covariance(jax.device_put(problem.teacher_overlap))
    one = Blocks(Omega[None], start.overlaps.a, jnp.ones(1), jnp.ones(1), jnp.zeros(()))
    return Start(one, start.weights, start.bias, start.scale, start.alike)


def _structured(
    problem: OnePassProblem, key: Key[Array, ""], vectors: bool, nodes: bool
) -> tuple[Blocks, Float[Array, "n d"] | None]:
    """A start level by level; as vectors, too, if a description needs them or all levels are small."""
    a, found = second_layer(problem), problem.spectrum
    match problem.start:
        case GaussianStart() | SphereStart() as start:
            anywhere = problem.given_teachers is None and not problem.directions
            if not vectors and anywhere and len(found.values) <= MOST_LEVELS:
                return drawn_blocks(problem, start, a, key), None
            weights = drawn_weights(problem, start, key)
        case WeightsStart() as start:
            weights = jnp.asarray(found.into_eigenbasis(np.asarray(loaded_weights(problem, start))))
        case OverlapStart():
            raise ProblemError("start.kind = 'overlaps' says nothing of the eigenvalues of a covariance.")
    if len(found.values) <= MOST_LEVELS:
        return measured_blocks(problem, weights, a), weights
    return (reduced_blocks if nodes else summed_blocks)(problem, weights, a), weights


def typical_overlaps(problem: OnePassProblem) -> Overlaps | None:
    """The expected overlaps of a start, without drawing it; None if they are in a file."""
    p, k, start = problem.network.width, problem.data.units, problem.start
    match start:
        case OverlapStart():
            return _given(problem, start)
        case GaussianStart() | SphereStart():
            Q = np.diag(
                np.full(p, start.scale * start.scale)
            )  # which may be infinite, where a power would raise an error
            return Overlaps(jax.device_put(Q), jax.device_put(np.zeros((p, k))), second_layer(problem))
        case WeightsStart():
            return None


def _weights(problem: OnePassProblem, key: Key[Array, ""]) -> Float[Array, "n d"]:
    vectors, d = problem.network.width + problem.data.units, problem.dimension
    refuse_above_memory(
        _COPIES * 8.0 * vectors * d, f"{vectors} weight vectors in {d} dimensions", "lower dimension or network.width"
    )
    match problem.start:
        case GaussianStart() | SphereStart():
            return _drawn(problem, problem.start, key)
        case OverlapStart():
            return embed(_given(problem, problem.start), problem)
        case WeightsStart():
            return loaded_weights(problem, problem.start)


def _given(problem: OnePassProblem, start: OverlapStart) -> Overlaps:
    M = np.reshape(np.asarray(start.M, dtype=float), (problem.network.width, problem.data.units))
    return Overlaps(jax.device_put(np.asarray(start.Q)), jax.device_put(M), second_layer(problem))


def embed(overlaps: Overlaps, problem: OnePassProblem) -> Float[Array, "n d"]:
    """Weights with exactly these overlaps; isotropic inputs cannot tell them from any others (section 1.2)."""
    n, d = problem.network.width + problem.data.units, problem.dimension
    A = factor(overlaps.covariance(jnp.asarray(problem.teacher_overlap)), min(n, d))
    return jnp.sqrt(1.0 * d) * jnp.pad(A, ((0, 0), (0, d - A.shape[1])))


def _drawn(problem: OnePassProblem, start: GaussianStart | SphereStart, key: Key[Array, ""]) -> Float[Array, "n d"]:
    p, k, d, sphere = problem.network.width, problem.data.units, problem.dimension, isinstance(start, SphereStart)
    P, traced = problem.teacher_overlap, isinstance(key, jax.core.Tracer)
    if k and not (sphere or traced) and max(p, k) * d <= _ONE_GENERATOR and np.array_equal(P, np.eye(k)):
        return _drawn_at_any_dimension(key, start.scale, (p, k, d))
    return _draw(key, jax.device_put(P), jax.device_put(start.scale), (p, k, d), sphere)


def _drawn_at_any_dimension(key: Key[Array, ""], scale: float, sizes: tuple[int, int, int]) -> Float[Array, "n d"]:
    """What `_draw` gives for orthonormal teachers, to the last bit, by a program that serves many dimensions.

    A number of the generator depends on its key and its place alone, jax takes its QR decomposition from the same library, and
    all that is left are products with one number.
    """
    p, k, d = sizes
    drawn, free = np.asarray(_two_rows(key, 1 << (max(p, k) * d - 1).bit_length()))
    reflections, tau, _, _ = dgeqrf(free[: d * k].reshape(d, k))
    directions, _, _ = dorgqr(reflections, tau)
    return jax.device_put(np.concatenate([scale * drawn[: p * d].reshape(p, d), np.sqrt(1.0 * d) * directions.T]))


@program
def _two_rows(key: Key[Array, ""], count: int) -> Float[Array, "2 count"]:
    return jax.vmap(lambda one: jax.random.normal(one, (count,)))(jax.random.split(key))


@program
def _draw(
    key: Key[Array, ""], P: Float[Array, "k k"], scale: Float[Array, ""], sizes: tuple[int, int, int], sphere: bool
) -> Float[Array, "n d"]:
    """Students, then teachers, as one program: a start is met before anything else is compiled."""
    p, k, d = sizes
    if k == 0:
        return _students(jax.random.normal(key, (p, d)), scale, sphere)
    student_key, teacher_key = jax.random.split(key)
    drawn, free = _two_normals((student_key, teacher_key), ((p, d), (d, k)))
    W_star = jnp.sqrt(1.0 * d) * factor(P, k) @ jnp.linalg.qr(free)[0].T
    return jnp.concatenate([_students(drawn, scale, sphere), W_star])


def _students(drawn: Float[Array, "p d"], scale: Float[Array, ""], sphere: bool) -> Float[Array, "p d"]:
    if sphere:
        drawn = drawn * jnp.sqrt(drawn.shape[1] / jnp.sum(drawn**2, axis=1, keepdims=True))
    return scale * drawn


def _two_normals(
    keys: tuple[Key[Array, ""], Key[Array, ""]], shapes: tuple[tuple[int, int], tuple[int, int]]
) -> tuple[Float[Array, "p d"], Float[Array, "d k"]]:
    """What `jax.random.normal` gives for each key and shape, by one generator while that wastes little.

    A number depends on its key and its place alone, and the generator is what takes longest to compile.
    """
    counts = [rows * columns for rows, columns in shapes]
    if max(counts) > _ONE_GENERATOR:
        return jax.random.normal(keys[0], shapes[0]), jax.random.normal(keys[1], shapes[1])
    drawn = jax.vmap(lambda key: jax.random.normal(key, (max(counts),)))(jnp.stack(keys))
    return drawn[0, : counts[0]].reshape(shapes[0]), drawn[1, : counts[1]].reshape(shapes[1])


def _measured(
    problem: OnePassProblem, weights: Float[Array, "n d"]
) -> tuple[Overlaps | Particles, Float[Array, "n d"]]:
    p, a = problem.network.width, second_layer(problem)
    if not problem.data.units:  # no overlaps with a teacher
        return Particles(jnp.zeros((p, 0)), _squares(weights), a), weights
    Q, M = _products(weights, p)
    return Overlaps(Q, M, a), weights


@brief_program
def _squares(W: Float[Array, "p d"]) -> Float[Array, " p"]:
    return jnp.sum(W**2, axis=1) / W.shape[1]


@brief_program
def _products(weights: Float[Array, "n d"], p: int) -> tuple[Float[Array, "p p"], Float[Array, "p k"]]:
    W, W_star, d = weights[:p], weights[p:], weights.shape[1]
    return W @ W.T / d, W @ W_star.T / d


def _overlaps_law(problem: OnePassProblem, start: GaussianStart | SphereStart, key: Key[Array, ""]) -> Overlaps:
    """The overlaps of independent Gaussian rows with a fixed teacher: coordinates along it, and a Wishart rest."""
    p, k, d = problem.network.width, problem.data.units, problem.dimension
    along_key, rest_key = jax.random.split(key)
    along = jax.random.normal(along_key, (p, k))
    Q = (along @ along.T + wishart(rest_key, p, d - k)) / d
    M = along @ factor(jnp.asarray(problem.teacher_overlap), k).T / jnp.sqrt(1.0 * d)
    norm = 1 / jnp.sqrt(jnp.diagonal(Q)) if isinstance(start, SphereStart) else jnp.ones(p)
    scale = start.scale * norm
    return Overlaps(Q * jnp.outer(scale, scale), M * scale[:, None], second_layer(problem))


def draw_particles(problem: OnePassProblem, key: Key[Array, ""]) -> Particles:
    """A Gaussian or spherical start as particles from their exact law, at a cost linear in the width."""
    start = problem.start
    if not isinstance(start, GaussianStart | SphereStart):
        raise TypeError(f"a start of kind {start.kind!r} is given, not drawn; pass its overlaps to begin.")
    p, k, d = problem.network.width, problem.data.units, problem.dimension
    along_key, rest_key = jax.random.split(key)
    along = jax.random.normal(along_key, (p, k))
    rest = jax.random.chisquare(rest_key, d - k, (p,))
    norms = (jnp.sum(along**2, axis=1) + rest) / d if isinstance(start, SphereStart) else jnp.ones(p)
    scale = start.scale / jnp.sqrt(norms * d)
    M = scale[:, None] * along @ factor(jnp.asarray(problem.teacher_overlap), k).T
    return Particles(M, scale**2 * rest, second_layer(problem))
