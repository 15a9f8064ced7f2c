"""A teacher fitted to true labels: ridge regression first, then a few erf units, kept only if held-out rows say so.

Rows are those of docs/theory/structured.md, section 3, in the eigenbasis: centred, of mean square norm 1; labels have mean 0 and
variance 1. All choices (ridge, decay, when to stop, how many units) are made on validation rows.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq, minimize
from scipy.special import erf, expit

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


class Measure(NamedTuple):
    """What a teacher is fitted by: a function of outputs and labels, its derivative in the output, and what is left as noise."""

    value: Callable[[Vector, Vector], Vector]
    slope: Callable[[Vector, Vector], Vector]
    variance: Callable[[float], float]  # of the Gaussian noise that leaves so much in the mean


def _huber(f: Vector, y: Vector) -> Vector:
    far = np.abs(y - f)
    return np.where(far <= 1, far**2, 2 * far - 1)


def _variance_of_huber(left: float) -> float:
    """The variance at which Gaussian noise leaves this in the mean; that grows from 0 without end."""

    def leaves(deviation: float) -> float:
        at = 1 / deviation  # of the threshold, in standard deviations
        within = float(erf(at / np.sqrt(2)))
        return deviation**2 * within + 2 * deviation * float(np.exp(-(at**2) / 2)) / np.sqrt(2 * np.pi) - (1 - within)

    return float(brentq(lambda deviation: leaves(deviation) - left, 1e-6, 10 + 10 * left)) ** 2


SQUARES = Measure(lambda f, y: (y - f) ** 2, lambda f, y: 2 * (f - y), lambda left: left)
HUBER = Measure(
    _huber, lambda f, y: 2 * np.clip(f - y, -1.0, 1.0), _variance_of_huber
)  # as SQUARES up to a residual of 1
LOGISTIC = Measure(  # of labels -1 and +1, which are drawn, and need no noise
    lambda f, y: np.logaddexp(0.0, -y * f), lambda f, y: -y * expit(-y * f), lambda left: 0.0
)
MEASURES = {"square": SQUARES, "huber": HUBER, "logistic": LOGISTIC}  # by the name of a loss


class Halves(NamedTuple):
    """Rows and labels to fit with, and to choose by."""

    x: Rows
    y: Vector
    x_held: Rows
    y_held: Vector
    measure: Measure = SQUARES

    @property
    def learnt(self) -> tuple[Rows, Vector, Measure]:
        """What is fitted."""
        return self.x, self.y, self.measure

    @property
    def held(self) -> tuple[Rows, Vector, Measure]:
        """What is chosen by."""
        return self.x_held, self.y_held, self.measure

    @property
    def nothing(self) -> float:
        """What the best constant leaves on the rows to choose by."""
        mean = float(self.y.mean())
        constant = 2 * float(np.arctanh(mean)) if self.measure is LOGISTIC else mean
        return float(self.measure.value(np.full(len(self.y_held), constant), self.y_held).mean())


class Teacher(NamedTuple):
    """f*(x) = c + sum_r a_r sigma_r(w_r.x + b_r), sigma_r the identity or erf."""

    w: Float[np.ndarray, "k d"]
    a: Float[np.ndarray, " k"]
    straight: tuple[bool, ...]  # which units are linear; these have no offset
    b: Float[np.ndarray, " k"]
    c: float

    @property
    def units(self) -> int:
        """How many."""
        return len(self.a)

    @property
    def linear(self) -> bool:
        """Whether it is a ridge regression."""
        return all(self.straight)

    def __call__(self, x: Rows) -> Vector:
        return _seen(x @ self.w.T + self.b, self.straight) @ self.a + self.c

    def errors(self, x: Rows, y: Vector, measure: Measure = SQUARES) -> Vector:
        """Squared, or as another measure says, of every row."""
        return measure.value(self(x), y)


class Fit(NamedTuple):
    """The teacher that was chosen, others beside it, and what they leave unexplained."""

    teacher: Teacher
    ridge: Teacher
    lambda_: float  # of the ridge, for the mean of squares of rows of mean square norm 1
    offsets: Teacher | None  # as many units with offsets, where the chosen ones have none
    train: float  # what the teacher leaves: residual variance, or another measure
    validation: float
    noise: float  # the variance that theory takes for the labels' noise
    nothing: float  # what a constant leaves on validation rows
    tried: dict[str, float]  # what every teacher leaves on validation rows, by name
    per_unit: float  # samples per dimension and unit
    why_linear: str  # empty where units were kept


def label_noise(fitted_to: float, fresh: float) -> float:
    """What labels leave about the true function, from what a fit leaves on the rows it was fitted to, and on others.

    A fit of m numbers to n rows leaves (1 - m/n) of it on the former, and (1 + m/n) on the latter, to first order in m/n: the
    second counts the fit's own error as noise, and theory, whose network learns that error as well, would count it twice.
    """
    return (fitted_to + fresh) / 2


def fitted(halves: Halves, seed: int, watch: PartWatcher = nobody, *, offsets: bool = False) -> Fit:
    """Ridge, then as many erf units as there are samples for; with offsets, then a linear unit beside the best of them, too."""
    n, d = halves.x.shape
    ridge, lambda_ = _ridge(halves)
    ridge_errors = ridge.errors(*halves.held)
    tried, best, best_errors = {"linear": float(ridge_errors.mean())}, ridge, ridge_errors
    chance = np.random.default_rng(seed)
    known = [k for k in range(1, MOST_UNITS + 1) if n / (k * d) >= _FEWEST]
    for k in known:
        watch(f"fitting {k} erf units", k / (MOST_UNITS + 2))
        units = _units(halves, k, ridge, chance, offsets=offsets)
        errors = units.errors(*halves.held)
        tried[f"erf {k}"] = float(errors.mean())
        if errors.mean() < best_errors.mean():
            best, best_errors = units, errors
    if offsets and not best.linear and n / ((best.units + 1) * d) >= _FEWEST:
        watch("fitting a linear unit beside them", (MOST_UNITS + 1) / (MOST_UNITS + 2))
        both = _beside(halves, best, ridge)
        errors = both.errors(*halves.held)
        tried[f"linear and erf {best.units}"] = float(errors.mean())
        if errors.mean() < best_errors.mean():
            best, best_errors = both, errors
    gain = ridge_errors - best_errors
    error = float(gain.std(ddof=1) / np.sqrt(len(gain)))
    why = ""
    if not known:
        why = f"{n} rows are fewer than {_FEWEST:g} for each of {d} dimensions, too few to fit a unit"
    elif best.linear or gain.mean() <= _BEYOND * error:
        why = "no erf units beat ridge regression on validation rows by more than the error of the comparison"
    chosen, beside = ridge if why else best, None
    if known and not why and not offsets:
        beside = _units(halves, chosen.units, ridge, chance, offsets=True)
        tried[f"erf {chosen.units}, offsets"] = float(beside.errors(*halves.held).mean())
    train, validation = (float(chosen.errors(*rows).mean()) for rows in (halves.learnt, halves.held))
    noise = halves.measure.variance(label_noise(train, validation))
    per_unit = n / (chosen.units * d)
    return Fit(chosen, ridge, lambda_, beside, train, validation, noise, halves.nothing, tried, per_unit, why)


def _ridge(halves: Halves) -> tuple[Teacher, float]:
    """Every ridge from one singular-value decomposition, the best one on validation rows; of classes it is fitted on."""
    U, s, Vt = np.linalg.svd(halves.x, full_matrices=False)
    along, n, d = U.T @ halves.y, len(halves.y), halves.x.shape[1]
    lambdas = _RIDGES / d
    W = Vt.T @ (s[:, None] / (s[:, None] ** 2 + n * lambdas) * along[:, None])
    errors = np.mean((halves.y_held[:, None] - halves.x_held @ W) ** 2, axis=0)
    best = int(np.argmin(errors))
    ridge = Teacher(W[:, best][None], np.ones(1), (True,), np.zeros(1), 0.0)
    if halves.measure is not SQUARES:
        classes = halves.measure is LOGISTIC
        ridge = _best(halves, (_descended(halves, ridge, decay, offsets=classes) for decay in _DECAYS))
        ridge = ridge._replace(w=ridge.w * ridge.a[:, None], a=np.ones(1))
    return ridge, float(lambdas[best])


def _units(halves: Halves, k: int, ridge: Teacher, chance: np.random.Generator, *, offsets: bool) -> Teacher:
    """The best of all decays and starts on validation rows."""
    starts = _STARTS[halves.x.size > _CHEAP]
    begun = ((decay, _start(halves.x, k, ridge, chance)) for decay in _DECAYS for _ in range(starts))
    return _best(halves, (_descended(halves, start, decay, offsets=offsets) for decay, start in begun))


def _beside(halves: Halves, units: Teacher, ridge: Teacher) -> Teacher:
    """The same units and a linear one, which begins as half of the ridge."""
    start = Teacher(
        np.concatenate([ridge.w / 2, units.w]),
        np.concatenate([[1.0], units.a / 2]),
        (True, *units.straight),
        np.concatenate([[0.0], units.b]),
        units.c,
    )
    return _best(halves, (_descended(halves, start, decay, offsets=True) for decay in _DECAYS))


def _best(halves: Halves, found: Iterable[Teacher]) -> Teacher:
    return min(found, key=lambda one: float(one.errors(*halves.held).mean()))


def _start(x: Rows, k: int, ridge: Teacher, chance: np.random.Generator) -> Teacher:
    """Units between the direction of the ridge and random ones; both have preactivations of variance about one half."""
    given, free = ridge.w[0], chance.standard_normal((k, x.shape[1]))
    along = np.std(x @ given)
    free = 0.7 * free / np.maximum(np.std(x @ free.T, axis=0), 1e-12)[:, None]
    w = (0.5 / along if along > 0 else 0.0) * given + free
    return Teacher(w, np.full(k, 1 / k), (False,) * k, np.zeros(k), 0.0)


def _descended(halves: Halves, start: Teacher, decay: float, *, offsets: bool) -> Teacher:
    """The measure with weight decay by a quasi-Newton method; what is best on validation rows along the way is kept."""
    x, y, (k, d) = halves.x, halves.y, start.w.shape
    z, root, straight = x * np.sqrt(d), np.sqrt(d), start.straight  # so that weights have the size of labels
    bent, measure = ~np.array(straight), halves.measure

    def taken(numbers: Vector) -> Teacher:
        v, a, b, c = np.split(numbers, [k * d, k * d + k, k * d + 2 * k])
        return Teacher(root * v.reshape(k, d), a, straight, b, float(c[0]))

    def loss(numbers: Vector) -> tuple[float, Vector]:
        v, a, b, c = np.split(numbers, [k * d, k * d + k, k * d + 2 * k])
        W = v.reshape(k, d)
        fields = z @ W.T + b
        seen, slope = _seen(fields, straight), np.where(bent, np.sqrt(2 / np.pi) * np.exp(-(fields**2) / 2), 1.0)
        f = seen @ a + c[0]
        e = measure.slope(f, y) / 2
        pulled = e[:, None] * slope * a / len(y)
        parts = (
            (pulled.T @ z + decay * W).ravel(),
            seen.T @ e / len(y),
            offsets * bent * pulled.sum(0),
            offsets * np.array([e.mean()]),
        )
        return float(np.mean(measure.value(f, y)) + decay * np.sum(W**2)) / 2, np.concatenate(parts)

    best, since = [(np.inf, start)], [0]

    def look(numbers: Vector) -> None:
        now = taken(numbers)
        risk = float(now.errors(*halves.held).mean())
        since[0] += 1
        if risk < best[0][0]:
            best[:], since[:] = [(risk, now)], [0]
        elif since[0] > _PATIENCE:
            raise StopIteration

    first = np.concatenate([(start.w / root).ravel(), start.a, start.b, [start.c]])
    look(first)
    minimize(loss, first, jac=True, method="L-BFGS-B", callback=look, options={"maxiter": _STEPS, "maxcor": 20})
    return best[0][1]


def _seen(fields: Float[np.ndarray, "n k"], straight: tuple[bool, ...]) -> Float[np.ndarray, "n k"]:
    """What the units make of their fields: dimfree's erf, of x/sqrt(2), or nothing."""
    found: Float[np.ndarray, "n k"] = np.where(straight, fields, erf(fields / np.sqrt(2)))
    return found
