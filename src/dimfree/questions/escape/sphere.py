"""How fast SGD on the sphere leaves zero overlap, for single Hermite links (docs/theory/committee.md, section 7)."""

from math import atanh, factorial, log, log1p

import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.errors import ProblemError
from dimfree.gaussian.variance.ladder import variance
from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.model import teacher_model
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.sections import TwoLayer
from dimfree.states.overlaps import Overlaps

_HIGHEST = 20


def hermite_drift(
    m: Float[Array, "..."] | float, degree: int, learning_rate: float, noise: float
) -> Float[Array, "..."]:
    """dm/dt of equation (7.1): student and teacher He_degree on the sphere, width 1.

    The variance term is a Gauss-Hermite average of a polynomial, hence exact; label noise adds E[sigma'²] = degree degree!.
    """
    _check_degree(degree)
    slope = degree * factorial(degree)
    name = f"he{degree}"
    noiseless = teacher_model(
        OnePassProblem(data=Teacher(units=1, activation=name, noise=0.0), network=TwoLayer(width=1, activation=name))
    )

    def drift(overlap: Array) -> Array:
        state = Overlaps(jnp.ones((1, 1)), overlap[None, None], jnp.ones(1))
        spread = variance(noiseless, state)[0, 0] + noise * slope
        return slope * overlap ** (degree - 1) * (1 - overlap**2) - 0.5 * learning_rate * overlap * spread

    return jnp.vectorize(drift)(jnp.asarray(m, dtype=float))


def escape_time(start: float, end: float, degree: int) -> float:
    """The time that gradient flow on He_degree takes from overlap `start` to `end`: integral of dm over the drift."""
    _check_degree(degree)
    if not 0 <= start <= end < 1:
        raise ProblemError(f"the overlaps {start:g} to {end:g} were given; they must satisfy 0 <= start <= end < 1.")
    if start == 0 and degree > 1:
        raise ProblemError(
            f"a start exactly at m = 0 never escapes without noise: the drift of He_{degree} vanishes there; "
            "give a positive start, typically 1/sqrt(dimension)."
        )
    n = degree - 1
    return (_primitive(end, n) - _primitive(start, n)) / (degree * factorial(degree))


def _primitive(m: float, n: int) -> float:
    """A primitive of 1 / (m^n (1 - m²)), by 1/(m^n (1 - m²)) = 1/m^n + 1/(m^(n-2) (1 - m²))."""
    match n:
        case -1:
            return -0.5 * log1p(-(m**2))
        case 0:
            return atanh(m)
        case 1:
            return log(m) + _primitive(m, -1)
        case _:
            return m ** (1 - n) / (1 - n) + _primitive(m, n - 2)


def _check_degree(degree: int) -> None:
    if not 1 <= degree < _HIGHEST:
        raise ProblemError(
            f"a Hermite link of degree {degree} was given; the degree must be between 1 and {_HIGHEST - 1}."
        )
