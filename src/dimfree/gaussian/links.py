"""Single-index links: Hermite coefficients, information exponent, and how fast SGD on the sphere leaves zero overlap.

Everything here is at unit norms (docs/theory/committee.md, section 7). Coefficients are found by adaptive quadrature, which
needs no list of kinks or jumps, so that a link such as sign(z) is allowed.
"""

from collections.abc import Callable
from math import factorial, sqrt

import jax
import numpy as np
from jaxtyping import Array, Float
from numpy.polynomial.hermite_e import hermevander
from scipy.integrate import cubature

from dimfree.errors import ProblemError
from dimfree.functions import Activation, activation
from dimfree.functions.few_lengths import on_vectors
from dimfree.gaussian.nodes import Vector
from dimfree.problem.activation import Written

Link = Written | Activation
_HIGHEST = 20
_REACH = 12.0
_PANELS = [[x] for x in (-6.0, -3.0, -1.0, 0.0, 1.0, 3.0, 6.0)]  # the panels that the adaptive rule starts from
_ACCURACY = 1e-9  # accuracy of the coefficients, relative to the norm of the link


def hermite_coefficients(link: Link, count: int = _HIGHEST + 1) -> Vector:
    """c_j = E[link(z) He_j(z)] / sqrt(j!) for j below `count`, so that the squares sum to E[link(z)²]."""
    return _expand(link, count)[0]


def information_exponent(link: Link, activation: Link | None = None, tolerance: float = 1e-7) -> int:
    """The lowest degree j >= 1 whose coefficient (times the activation's, if given) is not zero.

    Zero means below `tolerance` relative to the norm of the link (and of the activation).
    """
    c, norm = _expand(link, _HIGHEST + 1)
    present = np.abs(c[1:]) > tolerance * norm
    if not present.any() and norm**2 - c[0] ** 2 <= _ACCURACY * norm**2:
        raise ProblemError(
            "the link is constant: it has no Hermite component of positive degree, so nothing is learned."
        )
    if activation is not None:
        b, b_norm = _expand(activation, _HIGHEST + 1)
        present = np.abs(c * b)[1:] > tolerance * norm * b_norm
    if not present.any():
        whose = "the link has" if activation is None else "the link and the activation share"
        raise ProblemError(
            f"{whose} no Hermite component of degree 1 to {_HIGHEST} above {tolerance:g} of the norm; "
            "SGD cannot find its direction, so choose another link or activation."
        )
    return int(np.argmax(present)) + 1


def _expand(link: Link, count: int) -> tuple[Vector, float]:
    """Normalised coefficients, and the norm of the link."""
    f = on_points(link if callable(link) else activation(link))
    scale = _rough_norm(f)
    if scale == 0:
        return np.zeros(count), 0.0
    norms = np.sqrt([float(factorial(j)) for j in range(count)])

    def integrand(x: Float[np.ndarray, "n 1"]) -> Float[np.ndarray, "n outputs"]:
        z = x[:, 0]
        g = f(z)[:, None] / scale
        weight = np.exp(-0.5 * x**2) / sqrt(2 * np.pi)
        return np.concatenate([g * hermevander(z, count - 1) / norms, g**2], axis=1) * weight

    found = cubature(integrand, [-_REACH], [_REACH], rtol=0, atol=1e-12, max_subdivisions=1000, points=_PANELS)
    if not (found.error < _ACCURACY).all():
        raise ProblemError(
            f"the Hermite coefficients of the link could not be found to {_ACCURACY:g}; it varies or grows too fast."
        )
    return scale * found.estimate[:-1], scale * sqrt(found.estimate[-1])


def _rough_norm(f: Callable[[Vector], Vector]) -> float:
    """The norm of a link to a few digits, which sets the scale of the tolerances."""
    grid = np.linspace(-_REACH, _REACH, 4001) + 1.234e-4
    values = f(grid)
    if not np.isfinite(values).all():
        raise ProblemError(
            f"the link is not finite at z = {grid[~np.isfinite(values)][0]:.4g}; it must be finite for all z."
        )
    return sqrt(np.average(values**2, weights=np.exp(-0.5 * grid**2)))


def on_points(function: Callable[..., Array], name: str = "link") -> Callable[[Vector], Vector]:
    """The function on NumPy vectors, each number on its own; `name` is how errors call it."""
    if not callable(function):
        raise ProblemError(
            f"the {name} is {function!r}, which is not a function; give one, or its name as module:function."
        )
    each = on_vectors(jax.vmap(function))

    def on_points(x: Vector) -> Vector:
        try:
            values = each(x)
        except Exception as failure:
            raise ProblemError(
                f"the {name} does not run on a jax array ({type(failure).__name__}); write it with jax.numpy functions."
            ) from None
        if values.shape != x.shape:
            raise ProblemError(
                f"the {name} makes an array of shape {values.shape[1:]} from one number; it must make one number."
            )
        return values

    return on_points
