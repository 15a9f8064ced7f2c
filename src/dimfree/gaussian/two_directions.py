"""Neurons with random directions in two subspaces: their average kernel (docs/theory/mean-field.md, equations (b.12) and (b.13)).

The parts of a preactivation in subspaces of dimensions D1 and D2 have the standard deviations tau1 and tau2, in polar
coordinates tau and phi. By Mehler's formula two neurons have the kernel sum_n h_n(tau, b) h_n(tau', b') rho^n with
h_n = E sigma(tau g + b) he_n(g), he_n orthonormal, and rho = cos phi cos phi' alpha1 + sin phi sin phi' alpha2. The average
over the cosines alpha of the two angles keeps their even powers, of moments m_j(D) = E alpha^{2j}: with n = 2m it is

    sum_m h_n h_n' B_m,   B_m(phi, phi') = sum_{j+k=m} binom(n, 2j) m_j(D1) m_k(D2) (cos phi cos phi')^2j (sin phi sin phi')^2k.

B_m is a cosine polynomial in 2 phi and in 2 phi', so the sum over all pairs of neurons factors. At D1 = D2 = inf only m = 0 is
left. What the series leaves out falls like the moments: their product is below 1e-10, or m > 64 in few dimensions.
"""

from functools import lru_cache
from math import inf, pi
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import gammaln, xlogy

from dimfree.functions.activation import Activation
from dimfree.gaussian.directions import check_dimension, mean
from dimfree.gaussian.even_orders import from_slopes, slopes
from dimfree.gaussian.nodes import Table, Vector

_LEAST = 1e-10  # terms with smaller m_j(D1) m_k(D2) are left out
_MOST = 64  # the longest series


@lru_cache(maxsize=64)
def angular_table(sizes: tuple[float, float]) -> Table:
    """K with B_m = sum_{c,c'} K_mcc' cos(2c phi) cos(2c' phi'); the second dimension may be 0, each may be inf."""
    for size in sizes[: 2 if sizes[1] else 1]:
        check_dimension(size)
    one, two = (_cosine_moments(size) for size in sizes)
    largest = [max(one[: m + 1] * two[m::-1]) for m in range(_MOST + 1)]
    count = int(np.count_nonzero(np.array(largest) > _LEAST))
    phi = pi / 2 * (np.arange(count) + 0.5) / count
    to_waves = np.cos(2 * np.outer(np.arange(count), phi)) * np.where(np.arange(count) > 0, 2, 1)[:, None] / count
    waves = [to_waves @ _factors(m, one, two, phi) for m in range(count)]
    return np.stack([wave @ wave.T for wave in waves])


def _cosine_moments(size: float) -> Vector:
    """m_j = prod_{i<j} (2i + 1)/(D + 2i); only the zeroth is left at D = inf, or where there is no direction."""
    i = np.arange(_MOST)
    ratios = np.zeros(_MOST) if size in (0, inf) else (2 * i + 1) / (size + 2 * i)
    return np.concatenate([[1.0], np.cumprod(ratios)])


def _factors(m: int, one: Vector, two: Vector, phi: Vector) -> Table:
    """The factors of the terms of B_m at the angles: angle, j."""
    j = np.arange(m + 1)
    ways = gammaln(2 * m + 1) - gammaln(2 * j + 1) - gammaln(2 * (m - j) + 1)
    shape = xlogy(2 * j, np.cos(phi)[:, None]) + xlogy(2 * (m - j), np.sin(phi)[:, None])
    return np.exp(0.5 * ways + shape) * np.sqrt(one[: m + 1] * two[m::-1])


class Polar(NamedTuple):
    """Neurons in polar coordinates: h_n at n = 0, 2, .. with derivatives, cos(2c phi) with derivatives, cos phi, sin phi."""

    value: Float[Array, "m ..."]
    by_shift: Float[Array, "m ..."]
    by_scale: Float[Array, "m ..."]
    over_scale: Float[Array, "m ..."]  # h_n/tau; left at zero for n = 0, where nothing depends on the angle
    waves: Float[Array, "m ..."]
    waves_by_angle: Float[Array, "m ..."]
    one: Float[Array, "..."]
    two: Float[Array, "..."]


def polar(
    sigma: Activation, tau1: Float[Array, "..."], tau2: Float[Array, "..."], b: Float[Array, "..."], count: int
) -> Polar:
    """The first `count` even orders of neurons, and where they stand."""
    tau1, tau2, b = jnp.broadcast_arrays(tau1, tau2, b)
    tau, phi = jnp.hypot(tau1, tau2), jnp.arctan2(tau2, tau1)
    m = np.arange(count).reshape(-1, *[1] * tau.ndim)
    orders = from_slopes(mean(sigma, tau, b).value, slopes(sigma, tau, b, 2 * count), tau)
    waves = jnp.cos(2 * m * phi), jnp.sin(2 * m * phi) * (-2 * m)
    return Polar(*orders, *waves, jnp.cos(phi), jnp.sin(phi))
