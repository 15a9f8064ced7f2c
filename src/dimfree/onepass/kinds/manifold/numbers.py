"""A hidden manifold in numbers: the covariance of features, the teacher that inputs can explain, and what it leaves.

docs/theory/structured.md, section 1.3. Labels depend on hidden variables z, inputs are features of them: x and the fields of the
teacher are correlated, and the best linear prediction w*.x of a field leaves a part of it that no student sees.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float32

from dimfree.functions.features import FEATURES
from dimfree.gaussian.feature_covariance import feature_covariance, feature_slope
from dimfree.onepass.inputs.spectrum import Spectrum, diagonalised
from dimfree.onepass.kinds.manifold.section import HiddenManifold
from dimfree.onepass.problem import OnePassProblem

_DRAW = 20200611  # folded into the key, so that these numbers differ from all others of the same seed

Matrix = Float[np.ndarray, "_ _"]


class Manifold(NamedTuple):
    """Inputs are features(z directions) basis in the eigenbasis, times sqrt(d); the teacher's fields are z.latent_teachers."""

    spectrum: Spectrum
    directions: Float32[np.ndarray, "D d"]
    basis: Float32[np.ndarray, "d d"]
    latent_teachers: Float[np.ndarray, "k D"]
    teachers: Float[np.ndarray, "k d"]  # w* = Sigma^-1 phi, in the eigenbasis
    residual: Float[np.ndarray, "k k"]  # P_res


def manifold_of(problem: OnePassProblem) -> Manifold:
    """The manifold of a problem."""
    data = problem.data
    assert isinstance(data, HiddenManifold)
    return manifold(data.features, data.teacher_overlap, data.latent, problem.dimension, problem.run.seed)


def manifold(features: str, overlap: Matrix, latent: int, dimension: int, seed: int) -> Manifold:
    """The same numbers for the same seed."""
    return _manifold(features, tuple(map(tuple, overlap.tolist())), latent, dimension, seed)


@lru_cache(maxsize=4)
def _manifold(
    features: str, overlap: tuple[tuple[float, ...], ...], latent: int, dimension: int, seed: int
) -> Manifold:
    P, phi, rng = np.array(overlap), FEATURES[features], np.random.default_rng((_DRAW, seed))
    F = rng.standard_normal((dimension, latent))
    F /= np.linalg.norm(F, axis=1, keepdims=True)  # rows of norm 1: preactivations F z are standard
    w = _root(P) @ np.linalg.qr(rng.standard_normal((latent, len(P))))[0].T
    size = float(feature_covariance(phi, np.ones(1))[0])  # E[features²], divided out so that the trace is d
    correlations = F @ F.T
    np.fill_diagonal(correlations, 1.0)  # features with kinks would amplify rounding here
    found = diagonalised(feature_covariance(phi, correlations) / size)
    basis = np.asarray(found.basis)
    seen = np.sqrt(dimension / size) * feature_slope(phi) * (w @ F.T) @ basis
    teachers = found.explained(seen)
    residual = P - (teachers * found.coordinates) @ teachers.T / dimension
    return Manifold(found, F.T.astype(np.float32), (basis / np.sqrt(size)).astype(np.float32), w, teachers, residual)


def _root(P: Matrix) -> Matrix:
    """The symmetric root of a positive semi-definite matrix."""
    values, vectors = np.linalg.eigh(P)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
