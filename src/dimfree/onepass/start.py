"""Starts: as weight vectors, or at any dimension directly as overlaps from their exact law."""

from zipfile import BadZipFile

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from dimfree.errors import ProblemError
from dimfree.gaussian.overlaps import Overlaps, factor
from dimfree.gaussian.particles import MOST_PAIRS, Particles
from dimfree.onepass.model import second_layer
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.sections import GaussianStart, OverlapStart, SphereStart, TwoGaussians, WeightsStart

_AS_VECTORS = 50_000_000  # numbers; starts are drawn as weight vectors up to this size


class Start(eqx.Module):
    """Where training begins: overlaps, offsets, and weight vectors (students first) when they were drawn.

    Networks wider than MOST_PAIRS, and networks without a teacher, have one particle per unit instead of overlaps between all
    pairs.
    """

    measured: Overlaps | Particles
    weights: Float[Array, "n d"] | None
    bias: Float[Array, " p"]
    scale: Float[Array, ""] | None = None  # of the law that it was drawn from, if that is a Gaussian

    @property
    def overlaps(self) -> Overlaps:
        """Overlaps between all pairs."""
        assert isinstance(self.measured, Overlaps), "overlaps between all pairs are among the needs of whoever asks"
        return self.measured

    @property
    def norms(self) -> Float[Array, " p"]:
        """Q_ii."""
        if isinstance(self.measured, Overlaps):
            return jnp.diagonal(self.measured.Q)
        assert self.weights is not None
        return jnp.sum(self.weights[: self.bias.size] ** 2, axis=1) / self.weights.shape[1]


def shared_start(problem: OnePassProblem, key: Key[Array, ""], needs: frozenset[str]) -> Start:
    """A start for all descriptions; as vectors while these are small, whoever runs, and always when somebody needs them."""
    size = problem.dimension * (problem.network.width + problem.data.units)
    return draw_start(problem, key, vectors="vectors" in needs or size <= _AS_VECTORS)


def why_no_start(problem: OnePassProblem, needs: frozenset[str]) -> str | None:
    """Overlaps between all pairs of units do not fit into memory over time when there are many."""
    p = problem.network.width
    if p <= MOST_PAIRS or not problem.data.units or not needs & {"vectors", "pairs"}:
        return None
    return (
        f"overlaps between all pairs of {p} units do not fit into memory over time; use dimensionless, which is "
        f"linear in the width, or lower network.width to {MOST_PAIRS}."
    )


def draw_start(problem: OnePassProblem, key: Key[Array, ""], *, vectors: bool) -> Start:
    """A start of the problem. With `vectors` the overlaps are those measured on the weights that were drawn."""
    bias = jnp.full(problem.network.width, problem.network.bias_start)
    scale = jnp.asarray(problem.start.scale) if isinstance(problem.start, GaussianStart) else None
    if isinstance(problem.data, TwoGaussians):
        measured, weights = _measured(problem, _weights(problem, key))
        return Start(measured, weights, bias, scale)
    match problem.start:
        case GaussianStart() | SphereStart() if problem.network.width > MOST_PAIRS:
            return Start(draw_particles(problem, key), None, bias, scale)
        case GaussianStart() | SphereStart() if not vectors:
            return Start(_overlaps_law(problem, problem.start, key), None, bias, scale)
        case OverlapStart():  # the given overlaps, not those of the weights up to rounding
            overlaps = _given(problem, problem.start)
            return Start(overlaps, embed(overlaps, problem) if vectors else None, bias, scale)
        case _:
            measured, weights = _measured(problem, _weights(problem, key))
            return Start(measured, weights, bias, scale)


def _weights(problem: OnePassProblem, key: Key[Array, ""]) -> Float[Array, "n d"]:
    match problem.start:
        case GaussianStart() | SphereStart():
            return _drawn(problem, problem.start, key)
        case OverlapStart():
            return embed(_given(problem, problem.start), problem)
        case WeightsStart():
            return _loaded(problem, problem.start)


def _given(problem: OnePassProblem, start: OverlapStart) -> Overlaps:
    M = jnp.asarray(start.M, dtype=float).reshape(problem.network.width, problem.data.units)
    return Overlaps(jnp.asarray(start.Q), M, second_layer(problem))


def embed(overlaps: Overlaps, problem: OnePassProblem) -> Float[Array, "n d"]:
    """Weights with exactly these overlaps; isotropic inputs cannot tell them from any others (section 1.2)."""
    n, d = problem.network.width + problem.data.units, problem.dimension
    A = factor(overlaps.covariance(jnp.asarray(problem.teacher_overlap)), min(n, d))
    return jnp.sqrt(1.0 * d) * jnp.pad(A, ((0, 0), (0, d - A.shape[1])))


def _drawn(problem: OnePassProblem, start: GaussianStart | SphereStart, key: Key[Array, ""]) -> Float[Array, "n d"]:
    k, d = problem.data.units, problem.dimension
    if k == 0:
        return _students(problem, start, key)
    student_key, teacher_key = jax.random.split(key)
    directions = jnp.linalg.qr(jax.random.normal(teacher_key, (d, k)))[0].T
    W_star = jnp.sqrt(1.0 * d) * factor(jnp.asarray(problem.teacher_overlap), k) @ directions
    return jnp.concatenate([_students(problem, start, student_key), W_star])


def _students(problem: OnePassProblem, start: GaussianStart | SphereStart, key: Key[Array, ""]) -> Float[Array, "p d"]:
    W = jax.random.normal(key, (problem.network.width, problem.dimension))
    if isinstance(start, SphereStart):
        W = W * jnp.sqrt(problem.dimension / jnp.sum(W**2, axis=1, keepdims=True))
    return start.scale * W


def _measured(
    problem: OnePassProblem, weights: Float[Array, "n d"]
) -> tuple[Overlaps | Particles, Float[Array, "n d"]]:
    p, d, a = problem.network.width, problem.dimension, second_layer(problem)
    W, W_star = weights[:p], weights[p:]
    if isinstance(problem.data, TwoGaussians):
        return Particles(jnp.zeros((p, 0)), jnp.sum(W**2, axis=1) / d, a), weights
    return Overlaps(W @ W.T / d, W @ W_star.T / d, a), weights


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


def wishart(key: Key[Array, ""], size: int, freedom: int) -> Float[Array, "size size"]:
    """A Wishart matrix: Z Zᵀ for `freedom` Gaussian columns, by Bartlett's factor when they are many (section 1.2)."""
    if freedom < size:
        Z = jax.random.normal(key, (size, freedom))
        return Z @ Z.T
    below_key, diagonal_key = jax.random.split(key)
    chi = jnp.sqrt(jax.random.chisquare(diagonal_key, freedom - jnp.arange(1.0 * size)))
    T = jnp.tril(jax.random.normal(below_key, (size, size)), -1) + jnp.diag(chi)
    return T @ T.T


def _loaded(problem: OnePassProblem, start: WeightsStart) -> Float[Array, "n d"]:
    shapes = {"W": (problem.network.width, problem.dimension)}
    if problem.data.units:
        shapes["Wstar"] = (problem.data.units, problem.dimension)
    try:
        with open(start.file, "rb") as file:
            archive = np.load(file)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise ValueError("it holds a single array")
            found = {name: np.asarray(archive[name], dtype=float) for name in shapes if name in archive}
    except FileNotFoundError:
        raise ProblemError(f"[start] names the file {str(start.file)!r}, which does not exist.") from None
    except (OSError, ValueError, EOFError, BadZipFile) as failure:
        raise ProblemError(
            f"[start] names the file {str(start.file)!r}, which is not a readable .npz archive ({failure})."
        ) from None
    for name, shape in shapes.items():
        if name not in found:
            raise ProblemError(
                f"the start file {str(start.file)!r} has no array {name!r}; it needs {' and '.join(shapes)}."
            )
        if found[name].shape != shape:
            raise ProblemError(
                f"{name} in {str(start.file)!r} has shape {found[name].shape}; this problem needs {shape}."
            )
        if not np.isfinite(found[name]).all():
            raise ProblemError(f"{name} in {str(start.file)!r} has entries that are not finite.")
    if not problem.data.units:
        return jnp.asarray(found["W"])
    P = found["Wstar"] @ found["Wstar"].T / problem.dimension
    if not np.allclose(P, problem.teacher_overlap, rtol=0, atol=1e-6):
        raise ProblemError(
            f"Wstar in {str(start.file)!r} has overlaps {np.round(P, 4).tolist()}, but data.overlap says "
            f"{problem.teacher_overlap.tolist()}; set data.overlap to the overlaps of the file."
        )
    return jnp.asarray(np.concatenate([found["W"], found["Wstar"]]))
