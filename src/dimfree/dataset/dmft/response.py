"""Responses of the path DMFT by the derivative process (docs/theory/dmft.md, step 4 of section 3.1).

Row t+1 of R needs K(t,.), and so all of row t: rows cannot be grouped into matrix-matrix products, and each one reads the
past of the derivative process once. This is written in NumPy because shapes grow with t: masks of a fixed shape, as jit
needs, would triple the work.
"""

import numpy as np
from jaxtyping import Float32, Float64

from dimfree.dataset.dmft.floats import Floats

BAND = 16  # columns s of the derivative process stored together; only rows from the first of them on are kept


class Response:
    """R, K and f'(r) D(r,s) of every path: float32, in bands of columns s that keep rows r >= s only."""

    def __init__(self, n: Floats, times: int, paths: int) -> None:
        self.n, self.times, self.paths = n, times, paths
        self.R, self.K = np.zeros((2, times, times))
        self.bands: list[Float32[np.ndarray, "rows columns P"]] = []

    def of_force(self, t: int, slope: Float64[np.ndarray, " P"]) -> Float64[np.ndarray, " t"]:
        """K(t,.), from f'(t) on the paths."""
        self.K[t, : t + 1] = self._row(t, -self.n.Delta * self.n.eta * self.R[t, :t], slope)
        return self.K[t, : t + 1]

    def step(self, t: int, nu: float) -> None:
        """R(t+1,.) by (W2); nu keeps the weights on the sphere."""
        if t + 1 == self.times:
            return
        n, last = self.n, slice(t + 1)
        remembered = n.eta * n.alpha * n.Delta * self.K[t, last] @ self.R[last, last]
        row = (1 - n.eta * n.lambda_) * self.R[t, last] - remembered
        row[t] = 1.0
        self.R[t + 1, last] = nu * row

    def _row(self, t: int, kernel: Float64[np.ndarray, " t"], slope: Float64[np.ndarray, " P"]) -> np.ndarray:
        if t % BAND == 0:
            rows = self.times - t
            self.bands.append(np.zeros((rows, min(BAND, rows), self.paths), np.float32))
        kernel32, slope32, K = kernel.astype(np.float32), slope.astype(np.float32), np.empty(t + 1)
        for number, band in enumerate(self.bands):
            first = number * BAND
            past, new = band[: t - first].reshape(t - first, band[0].size), band[t - first]
            np.matmul(kernel32[first:], past, out=new.reshape(-1))
            new *= slope32
            K[first : first + len(new)] = new.mean(axis=1, dtype=float)[: t + 1 - first]
        new[t - first] = slope32
        K[t] = slope.mean()
        return K
