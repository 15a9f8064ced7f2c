"""How long phase retrieval on the sphere stays at mediocrity: closed exit times (docs/theory/committee.md, section 6).

Student and teacher are squares, one teacher direction, rows of unit norm, second layers one; time is the canonical
t = steps * learning_rate / (width * dimension). The exit time is the first t with risk <= (1 - threshold) * (risk at the
start). A start enters through mu_0 = d sum_j m_j² and tau_0 = d sum_{j != l} Q_jl².
"""

from math import exp, expm1, inf, log, log1p, pi, sin, sqrt
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.integrate import quad
from scipy.special import digamma

from dimfree.errors import ProblemError

_LARGEST_BLOCK = 2_000_000  # numbers held in memory while starts are drawn


class Estimate(NamedTuple):
    """A value and its standard error; the error is zero where the value is not sampled."""

    value: float
    standard_error: float


class _Starts(NamedTuple):
    mu_0: Float[np.ndarray, " n"]
    tau_0: Float[np.ndarray, " n"]
    chi_squared: Float[np.ndarray, " n"]  # sum of the squared components along the teacher before normalisation


def escape_rate(learning_rate: float, width: int, noise: float) -> float:
    """The number c: |m|² grows like exp(8 c t) near m = 0. Escape needs c > 0."""
    if not (learning_rate >= 0 and width >= 1 and noise >= 0):
        raise ProblemError(
            f"learning rate {learning_rate:g}, width {width} and noise {noise:g} were given; "
            "the width must be at least 1, and none may be negative."
        )
    return 1 - learning_rate * _slowdown(width, noise)


def annealed(threshold: float, learning_rate: float, width: int, noise: float, dimension: int) -> float:
    """Equation (6.3): the exit time of the average start, mu_0 = p and tau_0 = p (p - 1)."""
    _check(threshold, dimension)
    c, p = _positive_rate(learning_rate, width, noise), width
    return log((p + 1) * (threshold * dimension + 1 - threshold) / (2 * p)) / (8 * c)


def given(
    mu_0: float, tau_0: float, threshold: float, learning_rate: float, width: int, noise: float, dimension: int
) -> float:
    """Equation (6.2): the exit time of one start, by linear growth of mu and without tau at the exit."""
    _check(threshold, dimension)
    c = _positive_rate(learning_rate, width, noise)
    if mu_0 < 0 or tau_0 < 0:
        raise ProblemError(f"mu_0 = {mu_0:g} and tau_0 = {tau_0:g} were given; sums of squares cannot be negative.")
    if mu_0 == 0:
        raise ProblemError(_NEVER)
    level = _exit_level(np.array([mu_0], dtype=float), np.array([tau_0], dtype=float), threshold, width, dimension)
    return log(level[0] / (2 * mu_0 * width)) / (8 * c)


def quenched(
    threshold: float,
    learning_rate: float,
    width: int,
    noise: float,
    dimension: int,
    draws: int | None = None,
    seed: int = 0,
) -> Estimate:
    """Equation (6.2) averaged over uniform starts: exact for width 1, otherwise by Monte Carlo over the law of the overlaps."""
    _check(threshold, dimension)
    c = _positive_rate(learning_rate, width, noise)
    if width == 1:
        return Estimate(_mean_log_width_one(threshold, dimension) / (8 * c), 0.0)
    count = max(200, min(20_000, 20_000_000 // width**2)) if draws is None else draws
    if count < 3:
        raise ProblemError(f"draws = {count} was given; an error bar needs at least 3.")
    starts = _draw_starts(np.random.default_rng(seed), width, dimension, count)
    level = _exit_level(starts.mu_0, starts.tau_0, threshold, width, dimension)
    # log of a chi-squared variable with p degrees of freedom is close to log mu_0, and its mean is known
    mean = _controlled_mean(
        np.log(level / (2 * starts.mu_0 * width)), np.log(starts.chi_squared), digamma(width / 2) + log(2)
    )
    return Estimate(mean.value / (8 * c), mean.standard_error / (8 * c))


def logistic(start: float, threshold: float, learning_rate: float, noise: float) -> float:
    """Equation (6.4): width 1, from m² = start, saturation included; infinite when noise keeps m² below the exit."""
    _check(threshold, 2)
    r = 8 * _positive_rate(learning_rate, 1, noise)
    if start == 0:
        raise ProblemError(_NEVER)
    if not 0 < start < 1:
        raise ProblemError(
            f"the start m² = {start:g} was given; a squared overlap of unit vectors lies between 0 and 1."
        )
    s_end = r / (8 * (1 - 6 * learning_rate))
    s_exit = threshold + (1 - threshold) * start
    return log(s_exit * (s_end - start) / (start * (s_end - s_exit))) / r if s_exit < s_end else inf


def second_moment(mu_0: float, time: float, learning_rate: float, width: int, noise: float) -> float:
    """Equation (6.7): E[mu(t)] while the overlaps are small, noise of the steps included; also for c <= 0."""
    c, p = escape_rate(learning_rate, width, noise), width
    source = 4 * learning_rate * (10 - 6 / p + 8 / p**2 + noise)
    growth = expm1(8 * c * time)
    return mu_0 * (1 + growth) + source * (growth / (8 * c) if c else time)


_NEVER = (
    "a start exactly at m = 0 never escapes without the noise of the steps; "
    "start at a positive overlap, or use the diffusion or the chain."
)


def _slowdown(width: int, noise: float) -> float:
    return (1 + 1 / width + 4 / width**2 + noise / 2) / width


def _positive_rate(learning_rate: float, width: int, noise: float) -> float:
    c = escape_rate(learning_rate, width, noise)
    if c > 0:
        return c
    raise ProblemError(
        f"learning rate {learning_rate:g} is too large to escape: the rate c = {c:.4g} must be positive; "
        f"stay below {1 / _slowdown(width, noise):.4g} at width {width} and noise {noise:g}."
    )


def _check(threshold: float, dimension: int) -> None:
    if not 0 < threshold < 1:
        raise ProblemError(
            f"threshold = {threshold:g} was given; the part of the risk to be lost must lie between 0 and 1."
        )
    if dimension < 2:
        raise ProblemError(f"dimension = {dimension} was given; there is nothing to escape from below dimension 2.")


def _exit_level(
    mu_0: Float[np.ndarray, " n"], tau_0: Float[np.ndarray, " n"], threshold: float, width: int, dimension: int
) -> Float[np.ndarray, " n"]:
    """The value of 2 p mu at the exit."""
    p = width
    level = threshold * p * (p + 1) * dimension + (2 * mu_0 * p - tau_0) * (1 - threshold)
    if (level > 0).all():
        return level
    raise ProblemError(
        f"threshold * dimension = {threshold * dimension:.3g} is too small for the exit formula: without tau a start has "
        "exited before its overlap grows; raise the threshold or integrate the ODE."
    )


def _mean_log_width_one(threshold: float, dimension: int) -> float:
    """E log[(T + (1 - T) s)/s] with s = sin²(theta), theta of density cos^(d-2): s has the law Beta(1/2, (d-1)/2)."""
    d, T = dimension, threshold
    reach = min(sqrt(d) * pi / 2, 40.0)

    def weight(u: float) -> float:
        return exp(
            0.5 * (d - 2) * log1p(-min(sin(u / sqrt(d)) ** 2, 1 - 1e-16))
        )  # a power of cos loses digits at large d

    def weighted_log(u: float) -> float:
        return weight(u) * log(T + (1 - T) * sin(u / sqrt(d)) ** 2)

    near = min(sqrt(T * d), reach / 2)  # the logarithm bends here
    total, average = (
        quad(f, 0, reach, points=[near], epsabs=1e-13, epsrel=1e-12, limit=200)[0] for f in (weight, weighted_log)
    )
    return float(digamma(d / 2) - digamma(0.5) + average / total)


def _draw_starts(rng: np.random.Generator, width: int, dimension: int, draws: int) -> _Starts:
    """Overlaps of `width` uniform unit vectors with each other and with a fixed one, from their exact law (section 1.2)."""
    block = max(1, _LARGEST_BLOCK // width**2)
    parts = [_draw_block(rng, width, dimension, min(block, draws - done)) for done in range(0, draws, block)]
    return _Starts(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _draw_block(rng: np.random.Generator, width: int, dimension: int, draws: int) -> _Starts:
    """Gaussian vectors by their coordinates in a frame: along the fixed vector, and Bartlett's factor for the rest."""
    along, freedom, diagonal = rng.standard_normal((draws, width)), dimension - 1, np.arange(width)
    rest = rng.standard_normal((draws, width, min(width, freedom)))
    if freedom >= width:
        rest = np.tril(rest, -1)
        rest[:, diagonal, diagonal] = np.sqrt(rng.chisquare(freedom - diagonal, (draws, width)))
    vectors = np.concatenate([along[:, :, None], rest], axis=2)
    vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
    Q = vectors @ np.swapaxes(vectors, 1, 2)
    Q[:, diagonal, diagonal] = 0.0
    mu_0, tau_0 = (dimension * np.sum(part**2, axis=axes) for part, axes in ((vectors[:, :, 0], 1), (Q, (1, 2))))
    return _Starts(mu_0, tau_0, np.sum(along**2, axis=1))


def _controlled_mean(
    values: Float[np.ndarray, " n"], control: Float[np.ndarray, " n"], control_mean: float
) -> Estimate:
    """The mean of the values, with what the control variate's known mean explains taken out of the noise."""
    spread = control - control_mean
    slope = np.cov(values, control)[0, 1] / np.var(control, ddof=1)
    residual = values - slope * spread
    return Estimate(float(residual.mean()), float(residual.std(ddof=1) / sqrt(len(values))))
