"""An orthonormal basis of functions of the path, grown row by row (docs/theory/dmft.md, section 3.5).

Everything that a path is made of lies in its span, so that averages of products are products of coordinates: exactly so,
whatever the number of paths.
"""

import numpy as np
from jaxtyping import Float64

_DROP = 1e-10  # a new part smaller than this, relative to the whole, is rounding
_AGAIN = 0.1  # a new part smaller than this has lost digits to cancellation, and is projected once more


class Basis:
    """Rows with <row_i row_j> = delta_ij, where < > is the mean over the paths; row 0 is the constant 1."""

    def __init__(self, most: int, paths: int) -> None:
        self._rows: Float64[np.ndarray, "most P"] = np.empty((most, paths))
        self._rows[0] = 1.0
        self.size, self.most, self.paths = 1, most, paths

    def combine(self, coordinates: Float64[np.ndarray, "*p size"]) -> Float64[np.ndarray, "*p P"]:
        """The function with these coordinates, or one for each row of them."""
        return coordinates @ self._rows[: self.size]

    def split(self, function: Float64[np.ndarray, " P"]) -> tuple[Float64[np.ndarray, " size"], np.ndarray, float]:
        """The coordinates of a function, and the direction and norm of what they leave; the norm is zero if that is rounding."""
        known, rest = self._rows[: self.size], function
        whole = norm = _norm(function)
        coordinates = np.zeros(self.size)
        for _ in range(2):
            before, along = norm, known @ rest / self.paths
            coordinates, rest = coordinates + along, rest - along @ known
            norm = _norm(rest)
            if norm > _AGAIN * before:
                break
        if not norm > _DROP * whole:
            return coordinates, rest, 0.0
        return coordinates, rest / norm, norm

    def row(self, number: int) -> Float64[np.ndarray, " P"]:
        """One of the functions."""
        return self._rows[number]

    def add(self, direction: Float64[np.ndarray, " P"]) -> int:
        """A new row, orthogonal to all others; returns its number."""
        self._rows[self.size] = direction
        self.size += 1
        return self.size - 1

    def normal(self, rng: np.random.Generator) -> int:
        """A new row of standard normals, independent of all others; returns its number."""
        return self.add(self.split(rng.standard_normal(self.paths))[1])

    def write(self, functions: Float64[np.ndarray, "p P"]) -> Float64[np.ndarray, "p size"]:
        """Coordinates of several functions, for which the basis grows by what is new in them."""
        coordinates, rest = self._split_all(functions)
        whole = np.linalg.norm(functions) / self.paths**0.5
        _, sizes, directions = np.linalg.svd(rest / self.paths**0.5, full_matrices=False)
        new = directions[sizes > _DROP * whole] * self.paths**0.5
        if not len(new):
            return coordinates
        return np.concatenate([coordinates, rest @ self._add_all(new).T / self.paths], axis=1)

    def normals(self, count: int, rng: np.random.Generator) -> list[int]:
        """New rows of standard normals, independent of all others and of each other; returns their numbers."""
        rest = self._split_all(rng.standard_normal((count, self.paths)))[1]
        self._add_all(np.linalg.qr(rest.T)[0].T * self.paths**0.5)
        return list(range(self.size - count, self.size))

    def _split_all(self, functions: Float64[np.ndarray, "p P"]) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and rests of several functions at once, by matrix products, which cost less than products of vectors."""
        known, rest = self._rows[: self.size], functions
        coordinates, norms = np.zeros((len(functions), self.size)), np.linalg.norm(functions, axis=1)
        for _ in range(2):
            before, along = norms, rest @ known.T / self.paths
            coordinates, rest = coordinates + along, rest - along @ known
            norms = np.linalg.norm(rest, axis=1)
            if (norms > _AGAIN * before).all():
                break
        return coordinates, rest

    def _add_all(self, directions: Float64[np.ndarray, "r P"]) -> Float64[np.ndarray, "r P"]:
        first, self.size = self.size, self.size + len(directions)
        self._rows[first : self.size] = directions
        return self._rows[first : self.size]


def _norm(function: Float64[np.ndarray, " P"]) -> float:
    return float(np.sqrt(function @ function / function.size))
