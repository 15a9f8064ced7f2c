"""The leap of a sum of Hermite products: how many new directions SGD must find at once (docs/theory/committee.md, section 7).

A function of signs is a sum of products of degree one in each coordinate, and the same algorithm finds its leap: it is a merged
staircase if that is 1 (docs/theory/mean-field.md, section d).

The target is h = sum_n coefficients[n] prod_r He_{terms[n][r]}(z_r). The coordinate leap takes the axes z_r for granted. The
subspace leap does not: isotropic inputs have no axes. Rotations act on h as on the plain polynomial
H(x) = sum_n coefficients[n] prod_r x_r^{terms[n][r]}, because Hermite tensors rotate like products of coordinates, so that
no quadrature is needed.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.polynomial import polynomial as poly

from dimfree.errors import ProblemError

Terms = Sequence[Sequence[int]]
_Expansion = dict[tuple[int, ...], float]
_Vector = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
_SMALL = 1e-9  # relative to the largest coefficient; a smaller one counts as zero


class Leap(NamedTuple):
    """The largest of the degrees at which new directions were found, and all of them in order of discovery."""

    leap: int
    sequence: tuple[int, ...]

    @property
    def sample_exponent(self) -> int:
        """The n of d^n samples that SGD needs, up to logarithms (heuristic)."""
        return max(self.leap - 1, 1)

    def samples(self, dimension: int) -> int:
        """d^max(leap - 1, 1): the order of the number of samples, up to logarithms (heuristic)."""
        return dimension**self.sample_exponent


def coordinate_leap(terms: Terms, coefficients: Sequence[float] | None = None) -> Leap:
    """The leap along the axes, found greedily, which is optimal: by the term with the lowest degree in new coordinates."""
    remaining, found, sequence = set(_expansion(terms, coefficients)), set[int](), []
    while remaining:
        cost, term = min((sum(s for r, s in enumerate(term) if r not in found), term) for term in remaining)
        remaining.remove(term)
        found |= {r for r, s in enumerate(term) if s}
        if cost:
            sequence.append(cost)
    return Leap(max(sequence), tuple(sequence))


class Staircase(NamedTuple):
    """How much of a function of signs steps of one new coordinate reach: what the dimension-free dynamics can learn."""

    leap: int
    sequence: tuple[int, ...]
    reached: tuple[int, ...]  # coordinates in the closure of steps by at most one new coordinate
    unreached: tuple[tuple[int, ...], ...]  # supports outside of it

    @property
    def merged(self) -> bool:
        """Whether the supports can be ordered so that each adds at most one new coordinate."""
        return self.leap <= 1


def staircase(supports: Sequence[Sequence[int]], coefficients: Sequence[float] | None = None) -> Staircase:
    """The leap of a sum of products of coordinates, and what the closure under single new coordinates leaves out."""
    weights = [1.0] * len(supports) if coefficients is None else list(coefficients)
    coordinates = sorted({i for support in supports for i in support})
    if any(len(set(support)) < len(support) for support in supports):
        raise ProblemError(
            f"a support in {[list(s) for s in supports]} names a coordinate twice; the square of a sign is 1."
        )
    terms = [[int(i in support) for i in coordinates] for support in supports]
    expansion = _expansion(terms, weights)
    kept = [tuple(i for i, on in zip(coordinates, term, strict=True) if on) for term in expansion]
    covered = set[int]()
    while new := [support for support in kept if len({*support} - covered) == 1]:
        covered.update(*new)
    unreached = tuple(support for support in kept if not {*support} <= covered)
    return Staircase(*coordinate_leap(terms, weights), tuple(sorted(covered)), unreached)


def subspace_leap(terms: Terms, coefficients: Sequence[float] | None = None) -> Leap:
    """The leap in any basis, found greedily: the part of lowest degree in undiscovered directions reveals its directions."""
    sequence, _ = _discovered(_expansion(terms, coefficients))
    return Leap(max(sequence), tuple(sequence))


def directions(terms: Terms, coefficients: Sequence[float] | None = None) -> int:
    """How many directions a target depends on, in whatever basis."""
    return _discovered(_expansion(terms, coefficients))[1].shape[1]


def _discovered(expansion: _Expansion) -> tuple[list[int], _Vector]:
    """The degrees at which new directions are found, and the subspace that is found in the end."""
    k = len(next(iter(expansion)))
    found, sequence = np.zeros((k, 0)), []
    while (step := _next_directions(expansion, found)) is not None:
        degree, new = step
        found = np.linalg.qr(np.concatenate([found, new], axis=1))[0]
        sequence.append(degree)
    return sequence, found


def _expansion(terms: Terms, coefficients: Sequence[float] | None) -> _Expansion:
    """The terms of positive degree, equal ones added up, zero ones dropped."""
    weights = [1.0] * len(terms) if coefficients is None else list(coefficients)
    if len(weights) != len(terms):
        raise ProblemError(f"{len(weights)} coefficients for {len(terms)} terms; give one per term.")
    if len({len(term) for term in terms}) > 1:
        raise ProblemError("all terms need the same length, one degree per direction.")
    if any(degree < 0 for term in terms for degree in term):
        raise ProblemError(f"a degree in terms {[list(term) for term in terms]} is negative; degrees start at 0.")
    total: _Expansion = {}
    for term, weight in zip(terms, weights, strict=True):
        total[tuple(term)] = total.get(tuple(term), 0.0) + weight
    largest = max(map(abs, total.values()), default=0.0)
    kept = {term: weight for term, weight in total.items() if sum(term) and abs(weight) > _SMALL * largest}
    if not kept:
        raise ProblemError("the target is constant: no term of positive degree has a coefficient, so it has no leap.")
    return kept


def _next_directions(expansion: _Expansion, found: _Vector) -> tuple[int, _Vector] | None:
    """The lowest degree L of H in the directions beyond `found`, and those that this part depends on.

    With x = u + t v, u in the found subspace and v beyond it, the part of degree L is the coefficient of t^L, and its
    gradient in v is the coefficient of t^(L-1) of grad H(u + t v). Gradients at random points span what it depends on.
    """
    k, rng = found.shape[0], np.random.default_rng(0)
    beyond = np.eye(k) - found @ found.T
    points = rng.normal(size=(2, 4 * k + 4, k)) / np.sqrt(k)
    gradients = np.stack(
        [_gradient_along(expansion, found @ found.T @ u, beyond @ v) for u, v in zip(*points, strict=True)]
    )
    scale = max(map(abs, expansion.values()))
    for L, part in enumerate(np.moveaxis(gradients, 1, 0) @ beyond, start=1):
        _, size, rows = np.linalg.svd(part)
        rank = int(np.sum(size > _SMALL * scale))
        if rank:
            return L, rows[:rank].T
    return None


def _gradient_along(expansion: _Expansion, u: _Vector, v: _Vector) -> _Vector:
    """Coefficients in t (rows) of grad H(u + t v)."""
    gradient = np.zeros((max(map(sum, expansion)), len(u)))
    for term, weight in expansion.items():
        for r, lowered, factor in _derivatives(term):
            product = np.array([weight * factor])
            for s, degree in enumerate(lowered):
                product = poly.polymul(product, poly.polypow([u[s], v[s]], degree))
            gradient[: len(product), r] += product
    return gradient


def _derivatives(term: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...], int]]:
    """Coordinate, exponents and factor of each partial derivative of a monomial."""
    for r, degree in enumerate(term):
        if degree:
            yield r, (*term[:r], degree - 1, *term[r + 1 :]), degree
