"""Kernels in the letters of the continuous-time equations (docs/theory/dmft.md, section 2.1)."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from dimfree.dataset.dmft.floats import Floats


class Kernels(NamedTuple):
    """Two-time functions have the later time first."""

    lambda_hat: Float64[np.ndarray, "*e n"]  # effective regularisation
    memory: Float64[np.ndarray, "*e n n"]  # M_R, zero unless s < t
    noise: Float64[np.ndarray, "*e n n"]  # M_C


def kernels(n: Floats, K: Float64[np.ndarray, "*e n n"], M: Float64[np.ndarray, "*e n n"]) -> Kernels:
    """From the response K and the correlation M of the force at all steps."""
    strength = n.alpha * n.Delta
    return Kernels(
        lambda_hat=n.lambda_ + strength * np.diagonal(K, axis1=-2, axis2=-1),
        memory=-strength * np.tril(K, -1) / n.eta,
        noise=strength * M,
    )
