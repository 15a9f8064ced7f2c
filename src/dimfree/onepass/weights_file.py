"""A start from a file of weights; a file that does not fit is refused in one sentence."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.arrays import read_archive
from dimfree.errors import ProblemError
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.sections import WeightsStart


def loaded_weights(problem: OnePassProblem, start: WeightsStart) -> Float[Array, "n d"]:
    """Students, then teachers, in the coordinates of the file."""
    shapes = {"W": (problem.network.width, problem.dimension)}
    if problem.data.units:
        shapes["Wstar"] = (problem.data.units, problem.dimension)
    found = read_archive(start.file, list(shapes), "[start]")
    for name, shape in shapes.items():
        if found[name].shape != shape:
            raise ProblemError(
                f"{name} in {str(start.file)!r} has shape {found[name].shape}; this problem needs {shape}."
            )
        if not np.isfinite(found[name]).all():
            raise ProblemError(f"{name} in {str(start.file)!r} has entries that are not finite.")
    if not problem.data.units:
        return jnp.asarray(found["W"])
    P = _teacher_overlap(problem, found["Wstar"])
    if not np.allclose(P, problem.teacher_overlap, rtol=0, atol=1e-6):
        raise ProblemError(
            f"Wstar in {str(start.file)!r} has overlaps {np.round(P, 4).tolist()}, but data.overlap says "
            f"{problem.teacher_overlap.tolist()}; set data.overlap to the overlaps of the file."
        )
    return jnp.asarray(np.concatenate([found["W"], found["Wstar"]]))


def _teacher_overlap(
    problem: OnePassProblem, W_star: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """That of preactivations."""
    if not problem.structured:
        return W_star @ W_star.T / problem.dimension
    w, s = problem.spectrum.into_eigenbasis(W_star), problem.spectrum.coordinates
    return (w * s) @ w.T / problem.dimension
