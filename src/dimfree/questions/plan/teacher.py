"""A teacher fitted to true labels: ridge regression first, then a few erf units, kept only if held-out rows say so.

Rows are those of docs/theory/structured.md, section 3, in the eigenbasis: centred, of mean square norm 1; labels have mean 0 and
variance 1. All choices (ridge, decay, when to stop, how many units) are made on validation rows.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dimfree.progress import PartWatcher, nobody

MOST_UNITS = 4
ENOUGH = 5.0  # samples per dimension and unit at which units of dimfree's own model are found again with overlap 0.9
_FEWEST = 3.0  # the same, below which more units are not tried
_DECAYS = (1e-5, 1e-3, 1e-2)
_RIDGES = np.geomspace(1e-6, 1e3, 28)
_STEPS = 300
_STARTS, _CHEAP = (4, 2), 200_000  # for tables of at most so many numbers, and above
_PATIENCE = 40  # steps without a gain on validation rows, after which a fit stops
_BEYOND = 1.0  # standard errors by which units must beat the ridge on validation rows

Rows = Float[np.ndarray, "_ _"]
Vector = Float[np.ndarray, " _"]


class Halves(NamedTuple):
    """Rows and labels to fit with, and to choose by."""

    x: Rows
    y: Vector
    x_held: Rows
    y_held: Vector


class Teacher(NamedTuple):
    """f*(x) = c + sum_r a_r sigma(w_r.x + b_r), sigma the identity or erf; offsets b and c only in a fit beside the theory."""

    w: Float[np.ndarray, "k d"]
    a: Float[np.ndarray, " k"]
    linear: bool
    b: Float[np.ndarray, " k"] | None = None
    c: float = 0.0

    @property
    def units(self) -> int:
        """How many."""
        return len(self.a)

    def __call__(self, x: Rows) -> Vector:
        fields = x @ self.w.T
        if self.linear:
            return fields @ self.a
        return _erf(fields + (0.0 if self.b is None else self.b)) @ self.a + self.c

    def errors(self, x: Rows, y: Vector) -> Vector:
        """Squared, of every row."""
        return (y - self(x)) ** 2


class Fit(NamedTuple):
    """The teacher that was chosen, the others beside it, and what they leave unexplained."""

    teacher: Teacher
    ridge: Teacher
    lambda_: float  # of the ridge, for the mean of squares of rows of mean square norm 1
    offsets: Teacher | None  # the same number of units with offsets, which no theory here knows
    train: float  # residual variance of the teacher
    validation: float
    tried: dict[str, float]  # residual variance on validation rows by name
    per_unit: float  # samples per dimension and unit
    why_linear: str  # empty where units were kept


def fitted(halves: Halves, seed: int, watch: PartWatcher = nobody) -> Fit:
    """Ridge, then as many units as there are samples for."""
    n, d = halves.x.shape
    ridge, lambda_ = _ridge(halves)
    ridge_errors = ridge.errors(halves.x_held, halves.y_held)
    tried, best, best_errors = {"linear": float(ridge_errors.mean())}, ridge, ridge_errors
    chance = np.random.default_rng(seed)
    known = [k for k in range(1, MOST_UNITS + 1) if n / (k * d) >= _FEWEST]
    for k in known:
        watch(f"fitting {k} erf units", k / (MOST_UNITS + 1))
        units = _units(halves, k, ridge, chance, offsets=False)
        errors = units.errors(halves.x_held, halves.y_held)
        tried[f"erf {k}"] = float(errors.mean())
        if errors.mean() < best_errors.mean():
            best, best_errors = units, errors
    gain = ridge_errors - best_errors
    error = float(gain.std(ddof=1) / np.sqrt(len(gain)))
    why = ""
    if not known:
        why = f"{n} rows are fewer than {_FEWEST:g} for each of {d} dimensions, too few to fit a unit"
    elif best.linear or gain.mean() <= _BEYOND * error:
        why = "no erf units beat ridge regression on validation rows by more than the error of the comparison"
    chosen = ridge if why else best
    offsets = None
    if known and not why:
        offsets = _units(halves, chosen.units, ridge, chance, offsets=True)
        tried[f"erf {chosen.units}, offsets"] = float(offsets.errors(halves.x_held, halves.y_held).mean())
    left = [float(chosen.errors(*rows).mean()) for rows in (halves[:2], halves[2:])]
    return Fit(chosen, ridge, lambda_, offsets, left[0], left[1], tried, n / (chosen.units * d), why)


def _ridge(halves: Halves) -> tuple[Teacher, float]:
    """Every ridge from one singular-value decomposition; the best one on validation rows."""
    U, s, Vt = np.linalg.svd(halves.x, full_matrices=False)
    along, n, d = U.T @ halves.y, len(halves.y), halves.x.shape[1]
    lambdas = _RIDGES / d
    W = Vt.T @ (s[:, None] / (s[:, None] ** 2 + n * lambdas) * along[:, None])
    errors = np.mean((halves.y_held[:, None] - halves.x_held @ W) ** 2, axis=0)
    best = int(np.argmin(errors))
    return Teacher(W[:, best][None], np.ones(1), linear=True), float(lambdas[best])


def _units(halves: Halves, k: int, ridge: Teacher, chance: np.random.Generator, *, offsets: bool) -> Teacher:
    """The best of all decays and starts on validation rows."""
    found = [
        _descended(halves, _start(halves.x, k, ridge, chance), decay, offsets=offsets)
        for decay in _DECAYS
        for _ in range(_STARTS[halves.x.size > _CHEAP])
    ]
    return min(found, key=lambda one: float(one.errors(halves.x_held, halves.y_held).mean()))


def _start(x: Rows, k: int, ridge: Teacher, chance: np.random.Generator) -> Teacher:
    """Units between the direction of the ridge and random ones; both have preactivations of variance about one half."""
    given, free = ridge.w[0], chance.standard_normal((k, x.shape[1]))
    along = np.std(x @ given)
    free = 0.7 * free / np.maximum(np.std(x @ free.T, axis=0), 1e-12)[:, None]
    w = (0.5 / along if along > 0 else 0.0) * given + free
    return Teacher(w, np.full(k, 1 / k), linear=False, b=np.zeros(k))


def _descended(halves: Halves, start: Teacher, decay: float, *, offsets: bool) -> Teacher:
    """Least squares with weight decay by a quasi-Newton method; what is best on validation rows along the way is kept."""
    from scipy.optimize import minimize  # slow to import

    x, y, (k, d) = halves.x, halves.y, start.w.shape
    z, root = x * np.sqrt(d), np.sqrt(d)  # so that weights have the size of labels

    def taken(numbers: Vector) -> Teacher:
        v, a, b, c = np.split(numbers, [k * d, k * d + k, k * d + 2 * k])
        return Teacher(
            root * v.reshape(k, d), a, linear=False, b=b if offsets else None, c=float(c[0]) if offsets else 0.0
        )

    def loss(numbers: Vector) -> tuple[float, Vector]:
        v, a, b, c = np.split(numbers, [k * d, k * d + k, k * d + 2 * k])
        W = v.reshape(k, d)
        fields = z @ W.T + b
        seen, slope = _erf(fields), np.sqrt(2 / np.pi) * np.exp(-(fields**2) / 2)
        e = seen @ a + c[0] - y
        pulled = e[:, None] * slope * a / len(y)
        free = 1.0 if offsets else 0.0
        parts = (
            (pulled.T @ z + decay * W).ravel(),
            seen.T @ e / len(y),
            free * pulled.sum(0),
            free * np.array([e.mean()]),
        )
        return float(np.mean(e**2) + decay * np.sum(W**2)) / 2, np.concatenate(parts)

    best, since = [(np.inf, start)], [0]

    def look(numbers: Vector) -> None:
        now = taken(numbers)
        risk = float(now.errors(halves.x_held, halves.y_held).mean())
        since[0] += 1
        if risk < best[0][0]:
            best[:], since[:] = [(risk, now)], [0]
        elif since[0] > _PATIENCE:
            raise StopIteration

    first = np.concatenate([(start.w / root).ravel(), start.a, np.zeros(k + 1)])
    look(first)
    minimize(loss, first, jac=True, method="L-BFGS-B", callback=look, options={"maxiter": _STEPS, "maxcor": 20})
    return best[0][1]


def _erf(fields: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
    """dimfree's erf, of x/sqrt(2)."""
    from scipy.special import erf

    found: Float[np.ndarray, "n k"] = erf(fields / np.sqrt(2))
    return found
