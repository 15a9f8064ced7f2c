"""Student's law for any degrees of freedom nu: distribution function and partial moments (docs/theory/losses.md, section 4.1).

With h = z/sqrt(nu + z²) the upper tail is (1 - h²)^(nu/2) R(h) over its value at 0. R and the smooth part A of the second
moment are analytic in h and in nu, so that one table of Chebyshev coefficients holds each of them for all z and all nu.
"""

from collections.abc import Callable
from functools import cache
from math import pi, sqrt
from typing import TypeVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.polynomial import chebyshev
from scipy.special import roots_jacobi

_Table = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
_Number = TypeVar("_Number", Array, _Table)
_TERMS = 26  # of a table, in either variable
_FEW, _CURVE, _MIDDLE = 2.0, 3.0, sqrt(1 / pi)  # n0, kappa_0 and beta_0 of section 4.1
_CLOSED = 3.0  # degrees of freedom from which the second moment is closed without cancellation


class Student:
    """The law of scale one, for z of either sign."""

    def __init__(self, nu: Float[Array, ""]) -> None:
        """Sum the tables up for these degrees of freedom."""
        tau = jnp.sqrt(_FEW / (nu + _FEW))
        self.nu, (self._kappa, self._beta) = nu, _bent(tau)
        self._terms = _across(_ratios(), 2 * tau - 1)
        self._peak = 0.5 / (jnp.sqrt(nu) * self._ratio(jnp.zeros(())))  # F'(0)

    def _ratio(self, h: Float[Array, "..."]) -> Float[Array, "..."]:
        """R(h)."""
        s = h * (1 + self._kappa) / (h + self._kappa)
        return _sum(self._terms, 2 * s - 1) / (self.nu * (h + self._beta))

    def _heights(self, z: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."], Float[Array, "..."]]:
        """h and 1 - h of |z|, and ln(1 + z²/nu) = -ln(1 - h²)."""
        z = jnp.abs(z)
        root = jnp.sqrt(self.nu + z**2)
        return z / root, self.nu / (root * (root + z)), jnp.log1p(z**2 / self.nu)

    def density(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        """F'."""
        return self._peak * jnp.exp(-0.5 * (self.nu + 1) * jnp.log1p(z**2 / self.nu))

    def below(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        """F."""
        h, _, L = self._heights(z)
        tail = self._peak * jnp.sqrt(self.nu) * jnp.exp(-0.5 * self.nu * L) * self._ratio(h)
        return jnp.where(z > 0, 1 - tail, tail)

    def first(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        """The integral of t F'(t) from 0 to z, which is even in z."""
        half = 0.5 * jnp.log1p(z**2 / self.nu)
        return self._peak * self.nu * half * _relative((1 - self.nu) * half)

    def second(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        """The integral of t² F'(t) from 0 to z."""
        nu, (_, g, L) = self.nu, self._heights(z)
        edge = self._peak * nu * z * jnp.exp(-0.5 * (nu - 1) * L)  # z (nu + z²) F'(z)
        closed = (nu * (self.below(z) - 0.5) - edge) / jnp.where(nu > _CLOSED, nu - 2, 1.0)
        few = jnp.minimum(nu, _CLOSED)
        terms = _across(_smooth_parts(), 2 * few / _CLOSED - 1)
        smooth = (jnp.sum(terms) - g ** (few / 2) * _sum(terms, 2 * g - 1)) * 2 / few  # all polynomials are 1 at g = 1
        area = 0.5 * L * _relative((1 - few / 2) * L) - smooth
        low = jnp.sign(z) * self._peak * nu**1.5 * area
        return jnp.where(nu > _CLOSED, closed, low)


def _relative(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """(e^x - 1)/x."""
    small = jnp.abs(x) < 1e-300
    return jnp.where(small, 1.0, jnp.expm1(x) / jnp.where(small, 1.0, x))


def _bent(tau: _Number) -> tuple[_Number, _Number]:
    """kappa and beta: h = kappa s/(1 + kappa - s), and R is about 1/(nu (h + beta))."""
    return _CURVE / sqrt(_FEW) * tau, tau * (_MIDDLE + (1 - _MIDDLE) * tau)


def _across(table: _Table, place: Float[Array, ""]) -> Float[Array, " n"]:
    """Coefficients along the second variable, at one place of the first."""
    first = [jnp.ones(()), place]
    for _ in range(table.shape[0] - 2):
        first.append(2 * place * first[-1] - first[-2])
    return jnp.stack(first) @ jnp.asarray(table)


def _sum(terms: Float[Array, " n"], x: Float[Array, "..."]) -> Float[Array, "..."]:
    """A sum of Chebyshev polynomials, by Clenshaw's rule."""
    ahead, now = jnp.zeros_like(x), jnp.zeros_like(x)
    for i in range(terms.size - 1, 0, -1):
        ahead, now = now, terms[i] + 2 * x * now - ahead
    return terms[0] + x * now - ahead


def _tabulated(function: Callable[[_Table, _Table], _Table]) -> _Table:
    """Chebyshev coefficients of a function of two variables in [-1, 1]."""
    nodes = chebyshev.chebpts1(_TERMS)
    inverse = np.linalg.inv(chebyshev.chebvander(nodes, _TERMS - 1))
    table: _Table = inverse @ function(nodes[:, None], nodes[None, :]) @ inverse.T
    return table


@cache
def _ratios() -> _Table:
    """Of nu (h + beta) R(h), R = int_0^inf (cosh u + h sinh u)^-nu du, over tau and s."""
    edges = np.concatenate([[0.0], np.geomspace(1e-3, 60.0, 30)])
    t, w = np.polynomial.legendre.leggauss(16)
    widths = np.diff(edges)[:, None]
    v, w = (edges[:-1, None] + widths * (t + 1) / 2).ravel(), (widths * w / 2).ravel()

    def scaled(x: _Table, y: _Table) -> _Table:
        tau, s = (1 + x) / 2, (1 + y) / 2
        kappa, beta = _bent(tau)
        nu, h = _FEW * (1 / tau**2 - 1), kappa * s / (1 + kappa - s)
        scale = (1 / (nu * h + np.sqrt(nu)) * np.maximum(1.0, 1 / np.sqrt(nu)))[..., None]
        g = ((1 + kappa) * (1 - s) / (1 + kappa - s))[..., None]
        u = scale * v
        powers = np.exp(-nu[..., None] * (u + np.log1p(g / 2 * np.expm1(-2 * u))))
        found: _Table = nu * (h + beta) * np.sum(scale * w * powers, axis=-1)
        return found

    return _tabulated(scaled)


@cache
def _smooth_parts() -> _Table:
    """Of nu/2 A(g), A = int_0^1 x^(nu/2 - 1) (1 - g x) (2 - g x)^(nu/2 - 2) dx, over nu up to three and g."""

    def scaled(x: _Table, y: _Table) -> _Table:
        rows = []
        for a in (1 + x[:, 0]) * _CLOSED / 4:
            t, w = roots_jacobi(30, 0.0, a - 1)  # of weight (1 + t)^(a - 1)
            at = (1 + y.T) / 2 * (1 + t) / 2
            rows.append(a * np.sum(w / 2**a * (1 - at) * (2 - at) ** (a - 2), axis=1))
        return np.stack(rows)

    return _tabulated(scaled)
