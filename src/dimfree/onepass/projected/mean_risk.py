"""The mean risk of one-pass SGD at a constant rate, at all times at once (docs/theory/scaling.md, equation (1.3)).

Roots of the secular equation are found by their distance from the nearer pole, which keeps relative accuracy on spectra
that fall over twenty orders of magnitude. Nothing here asks for a small rate; rates above the limit of stability grow.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Num

from dimfree.onepass.projected.companion import widening
from dimfree.onepass.projected.measures import Measures

Vector = Float[np.ndarray, " _"]
_BISECTIONS = 64
_SMALLEST = 1e-100  # distance of a root from its pole, over the distance of the poles
_NEAR = 1e-3  # pairs of a node and a root at which differences of powers would lose digits
_AT_ONCE = 100_000  # such pairs
_LARGEST_EXPONENT = 700.0


class Shares(NamedTuple):
    """Twice the risk in parts: what nothing reaches, what is not yet learnt, and the noise of the steps."""

    capacity: Vector
    unlearnt: Vector
    step_noise: Vector

    @property
    def risk(self) -> Vector:
        """E[(b x - f)²]/2."""
        return (self.capacity + self.unlearnt + self.step_noise) / 2


class Roots(NamedTuple):
    """Roots eta of the secular equation as a pole and an offset, and their weights c² times gamma²/batch."""

    pole: Vector
    offset: Vector
    weight: Vector

    @property
    def eta(self) -> Vector:
        """The roots themselves."""
        return self.pole + self.offset


def decay(x: Vector, gamma: float, batch: float) -> Vector:
    """delta(x): by which share the mean square of the error along an eigenvalue falls in a step."""
    return 2 * gamma * x - gamma**2 * (1 + 1 / batch) * x**2


def mean_shares(measures: Measures, gamma: float, batch: float, Delta: float, steps: Num[np.ndarray, " t"]) -> Shares:
    """The parts of the mean risk after so many steps, which may be any real numbers."""
    delta, roots = decay(measures.x, gamma, batch), secular_roots(measures, gamma, batch)
    r = np.asarray(steps, dtype=float)
    powers, eta = _powers(delta, r), roots.eta
    kept = _powers(eta, r)
    safe = np.where(eta == 0, 1.0, eta)
    constant = np.where(eta == 0, r[:, None], -np.expm1(_bounded(r[:, None] * np.log1p(-eta))) / safe)
    gap = (delta - roots.pole[:, None]) - roots.offset[:, None]  # of every node from every root
    near = np.abs(gap) < _NEAR * np.abs(delta)
    far = np.where(near, 0.0, 1 / np.where(near, 1.0, gap))
    spread = kept * (far @ measures.f) @ roots.weight - powers * (roots.weight @ far) @ measures.f
    pairs = np.argwhere(near)
    for root, node in (part.T for part in np.array_split(pairs, 1 + len(pairs) // _AT_ONCE)):
        spread += _quotients(eta[root], gap[root, node], r) @ (roots.weight[root] * measures.f[node])
    noise = (measures.Delta_W + Delta) * (constant @ roots.weight) + spread
    return Shares(np.full(len(r), measures.Delta_W), powers @ measures.f, noise)


def mean_risks(measures: Measures, gamma: float, batch: float, Delta: float, steps: Num[np.ndarray, " t"]) -> Vector:
    """The mean risk after so many steps."""
    return mean_shares(measures, gamma, batch, Delta, steps).risk


def forcing_and_kernel(
    measures: Measures, gamma: float, batch: float, steps: Num[np.ndarray, " t"]
) -> tuple[Vector, Vector]:
    """F and K of the Volterra equation (1.2)."""
    r = np.asarray(steps, dtype=float)
    F = measures.Delta_W + _powers(decay(measures.x, gamma, batch), r) @ measures.f
    return F, gamma**2 / batch * _powers(decay(measures.y, gamma, batch), r) @ measures.k


def chi(measures: Measures, gamma: float, batch: float, momentum: float = 0.0) -> float:
    """The sum over all times of the kernel, infinite where an eigenvalue itself is unstable."""
    moved = gamma / (1 - momentum)
    left = 2 - moved * widening(batch, momentum) * measures.y
    if left.min() <= 0:
        return np.inf
    return float(moved / batch * np.sum(measures.k / measures.y / left))


def critical_rate(measures: Measures, batch: float, momentum: float = 0.0) -> float:
    """The rate at which chi = 1; with very many samples a step, that at which the largest eigenvalue becomes unstable."""
    from scipy.optimize import brentq  # slow to import, and rarely needed

    steepest = 2 * (1 - momentum) / (widening(batch, momentum) * float(measures.y.max())) * (1 - 1e-12)
    if chi(measures, steepest, batch, momentum) <= 1:
        return steepest
    return float(
        brentq(lambda gamma: chi(measures, gamma, batch, momentum) - 1, steepest * 1e-12, steepest, rtol=1e-13)
    )


def steps_to(measures: Measures, gamma: float, batch: float, Delta: float, target: float) -> float:
    """The real number of steps after which the mean risk first is down to a target; infinite if it never is."""
    from scipy.optimize import brentq  # slow to import, and rarely needed

    roots = np.concatenate([decay(measures.x, gamma, batch), secular_roots(measures, gamma, batch).eta])
    slowest = float(np.abs(roots).min())
    grid = np.concatenate([[0.0], np.geomspace(1e-2, 100 / slowest, 400)])
    below = np.flatnonzero(mean_risks(measures, gamma, batch, Delta, grid) <= target)
    if not len(below):
        return np.inf
    if below[0] == 0:
        return 0.0

    def excess(logarithm: float) -> float:
        return float(mean_risks(measures, gamma, batch, Delta, np.exp([logarithm]))[0]) - target

    early, late = np.log(grid[below[0] - 1 : below[0] + 1]) if below[0] > 1 else (np.log(1e-9), np.log(grid[1]))
    return float(np.exp(brentq(excess, early, late, rtol=1e-12)))


def secular_roots(measures: Measures, gamma: float, batch: float) -> Roots:
    """All roots eta of 1 = sum of rho k/(delta - eta): one below the first pole, one between every two."""
    delta, k = _poles(decay(measures.y, gamma, batch), gamma**2 / batch * measures.k)
    below = np.concatenate([[min(delta[0], 0.0) - k.sum()], delta[:-1]])
    gap = delta - below
    upper = np.ones(len(delta), bool)
    upper[1:] = (
        _sum(delta, k, delta[1:], -gap[1:] / 2) < 1
    )  # the sum rises from pole to pole: the root is in the upper half
    pole, sign = np.where(upper, delta, below), np.where(upper, -1.0, 1.0)
    low, high = np.log(gap * _SMALLEST), np.log(np.where(np.arange(len(gap)) == 0, gap, gap / 2))
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        beyond = _sum(delta, k, pole, sign * np.exp(middle)) < 1
        further = beyond ^ upper  # from an upper pole downwards the sum falls, from a lower one upwards it rises
        low, high = np.where(further, middle, low), np.where(further, high, middle)
    offset = sign * np.exp((low + high) / 2)
    slope = np.concatenate([np.sum(k / part**2, axis=1) for part in _gaps(delta, pole, offset)])
    return Roots(pole, offset, 1 / slope)


def _poles(delta: Vector, k: Vector) -> tuple[Vector, Vector]:
    """Poles in rising order; those that coincide up to rounding are put together."""
    order = np.argsort(delta)
    delta, k = delta[order], k[order]
    new = np.concatenate([[True], np.diff(delta) > 4e-16 * np.abs(delta[1:])])
    return delta[new], np.add.reduceat(k, np.flatnonzero(new))


def _sum(delta: Vector, k: Vector, pole: Vector, offset: Vector) -> Vector:
    """Sum over j of k_j/(delta_j - eta) for every eta = pole + offset."""
    return np.concatenate([(1 / part) @ k for part in _gaps(delta, pole, offset)])


def _gaps(delta: Vector, pole: Vector, offset: Vector) -> "list[Float[np.ndarray, 'l j']]":
    """delta_j - eta_l without cancellation, a few rows at a time."""
    blocks = np.array_split(np.arange(len(pole)), 1 + len(pole) * len(delta) // 300_000)
    return [(delta - pole[rows, None]) - offset[rows, None] for rows in blocks]


def _bounded(exponent: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    return np.minimum(exponent, _LARGEST_EXPONENT)


def _powers(delta: Vector, r: Vector) -> Float[np.ndarray, "t n"]:
    """(1 - delta)^r."""
    return np.exp(_bounded(r[:, None] * np.log1p(-delta)))


def _quotients(eta: Vector, gap: Vector, r: Vector) -> Float[np.ndarray, "t n"]:
    """((1 - eta)^r - (1 - delta)^r)/(delta - eta) where the two are close: the larger power, times what the other lacks."""
    ratio = np.log1p(-gap / (1 - eta))
    larger = np.exp(_bounded(r[:, None] * (np.log1p(-eta) + np.maximum(ratio, 0))))
    lacking = -np.expm1(-np.abs(r[:, None] * ratio)) / np.where(gap == 0, 1.0, np.abs(gap))
    return larger * np.where(gap == 0, r[:, None] / (1 - eta), lacking)
