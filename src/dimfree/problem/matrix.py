"""Matrices of numbers in a problem, and what makes one of them a covariance."""

import numpy as np

Matrix = tuple[tuple[float, ...], ...]


def check_covariance(given: "np.ndarray[tuple[int, ...], np.dtype[np.object_]]", size: int, name: str) -> None:
    """Complain unless the matrix is a covariance: square of the given size, symmetric, positive semi-definite."""
    if given.shape != (size, size):
        raise ValueError(f"{name} has shape {given.shape}; it must be {size} x {size}.")
    matrix = given.astype(float)
    if not np.allclose(matrix, matrix.T, rtol=0, atol=1e-9):
        raise ValueError(f"{name} is not symmetric; largest difference {np.abs(matrix - matrix.T).max():.2g}.")
    smallest = float(np.linalg.eigvalsh(matrix).min())
    if smallest < -1e-8 * max(1.0, float(np.abs(matrix).max())):
        raise ValueError(
            f"{name} is not positive semi-definite: its smallest eigenvalue is {smallest:.3g}; no weights have these overlaps."
        )
