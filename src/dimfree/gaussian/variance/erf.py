"""Four-point term of the overlap ODE for erf: the exact sum while it is cheap, exact parts plus samples beyond.

Both paths are differentiable and vmappable; docs/theory/committee.md, section 3.3.
"""

from jaxtyping import Array, Float

from dimfree.gaussian.variance.erf_exact import variance_erf_exact
from dimfree.gaussian.variance.erf_wide import variance_erf_wide, variance_erf_wide_error

__all__ = ["variance_erf", "variance_erf_exact", "variance_erf_wide", "variance_erf_wide_error", "widest_exact"]

_WIDEST_EXACT = 64  # both paths take about the same time there


def widest_exact() -> int:
    """Return the largest width at which `variance_erf` uses the closed form."""
    return _WIDEST_EXACT


def variance_erf(
    Omega: Float[Array, "n n"], v: Float[Array, " n"], a: Float[Array, " p"], Delta: Float[Array, ""]
) -> Float[Array, "p p"]:
    """Return a_i a_j E[g'(u_i) g'(u_j) (E0^2 + Delta)], u ~ N(0, Omega) with the p students first, E0 = sum_l v_l g(u_l)."""
    path = variance_erf_exact if a.shape[0] <= _WIDEST_EXACT else variance_erf_wide
    return path(Omega, v, a, Delta)
