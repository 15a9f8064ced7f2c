"""Scalar functions with their known properties, which decide which Gaussian expectations have a closed form."""

from abc import abstractmethod
from collections.abc import Callable
from functools import lru_cache
from math import sqrt

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erf
from jaxtyping import Array, Float
from numpy.polynomial import chebyshev
from numpy.polynomial import polynomial as poly
from scipy.special import erfcx

_MIDDLE, _TAIL_DEGREE = 3.5, 22  # of the tail of erf: 1e-15 of one everywhere
_FAR = 700.0  # the largest exponent that is taken: infinities have no derivatives


class Activation(eqx.Module):
    """A scalar function applied elementwise, with its derivatives and the points where they jump."""

    name: str = eqx.field(default="function", static=True, kw_only=True)
    kinks: tuple[float, ...] = eqx.field(default=(), static=True, kw_only=True)

    @property
    def is_constant(self) -> bool:
        """Whether it has the same value everywhere."""
        return False

    @abstractmethod
    def __call__(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """The value."""

    def derivative(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """The first derivative, where it exists."""
        return _elementwise_derivative(self.__call__, x)

    def with_derivative(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """Value and first derivative, for averages over many points."""
        return self(x), self.derivative(x)

    def second_derivative(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """The second derivative, where it exists (the jumps of the first are not in it)."""
        return _elementwise_derivative(self.derivative, x)


class Erf(Activation):
    """erf(x / sqrt(2)), for which every expectation that dimfree needs has a closed form."""

    name: str = eqx.field(default="erf", static=True, kw_only=True)

    def __call__(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return erf(x / sqrt(2.0))

    def derivative(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """sqrt(2/pi) exp(-x²/2)."""
        return sqrt(2 / np.pi) * jnp.exp(-0.5 * x**2)

    def with_derivative(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """Both from one exponential: 1 - exp(-y²/2) erfcx(y/sqrt(2)) at y = |x|, to 1e-15 of one, in less time.

        In single precision the two functions of XLA take less.
        """
        if x.dtype == jnp.float32:
            return self(x), self.derivative(x)
        y, growth = jnp.where(x < 0, -x, x), jnp.exp(jnp.minimum(0.5 * x**2, _FAR))  # y: |x| with a slope at 0
        tail = _in_four_parts(_scaled_tail(), (y - _MIDDLE) / (y + _MIDDLE)) / growth
        return jnp.where(x < 0, tail - 1, 1 - tail), sqrt(2 / np.pi) / growth


class Polynomial(Activation):
    """sum_j coefficients[j] x^j."""

    coefficients: tuple[float, ...] = eqx.field(static=True)

    @property
    def is_constant(self) -> bool:
        """Whether there is nothing but the first coefficient."""
        return not any(self.coefficients[1:])

    @property
    def degree(self) -> int:
        """The degree."""
        return len(self.coefficients) - 1

    def __call__(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """The value, by Horner's rule."""
        return _horner(self.coefficients, x)

    def derivative(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """The derivative, again by Horner's rule."""
        return _horner(tuple(float(c) for c in poly.polyder(self.coefficients)), x)


class PiecewiseLinear(Activation):
    """constant + slope x + sum_j bends[j] (x - kinks[j])_+ ."""

    constant: float = eqx.field(static=True)
    slope: float = eqx.field(static=True)
    bends: tuple[float, ...] = eqx.field(static=True)

    @property
    def is_constant(self) -> bool:
        """Whether it never bends from a slope of zero."""
        return not self.slope and not any(self.bends)

    @property
    def is_relu(self) -> bool:
        """Whether this is max(x, 0) itself."""
        return (self.constant, self.slope, self.kinks, self.bends) == (0.0, 0.0, (0.0,), (1.0,))

    def __call__(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        hinges = [bend * jnp.maximum(x - kink, 0.0) for kink, bend in zip(self.kinks, self.bends, strict=True)]
        return sum(hinges, self.constant + self.slope * x)

    def derivative(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """The slope of the piece (the left one at a kink)."""
        steps = [jnp.where(x > kink, bend, 0.0) for kink, bend in zip(self.kinks, self.bends, strict=True)]
        return sum(steps, jnp.full_like(x, self.slope))


class General(Activation):
    """Any function written in jax.numpy; kinks and the quadrature step it needs are found by `functions.inspect`."""

    function: Callable[[Array], Array] = eqx.field(static=True)
    step: float = eqx.field(static=True)

    def __call__(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return self.function(x)


def _elementwise_derivative(f: Callable[[Array], Array], x: Array) -> Array:
    return jax.jvp(f, (x,), (jnp.ones_like(x),))[1]


@lru_cache(maxsize=1)
def _scaled_tail() -> tuple[float, ...]:
    """erfcx(y/sqrt(2)) as a polynomial of (y - c)/(y + c), which lies between -1 and 1, interpolated at Chebyshev points."""
    q = np.cos(np.pi * (np.arange(200) + 0.5) / 200)
    values = erfcx(_MIDDLE * (1 + q) / (1 - q) / sqrt(2))
    return tuple(float(c) for c in chebyshev.cheb2poly(chebyshev.chebfit(q, values, _TAIL_DEGREE)))


def _in_four_parts(coefficients: tuple[float, ...], x: Array) -> Array:
    """A polynomial as four of x⁴, which a processor computes side by side."""
    square = x * x
    even, odd, second, third = (_horner(coefficients[i::4], square * square) for i in range(4))
    return even + odd * x + square * (second + third * x)


def _horner(coefficients: tuple[float, ...], x: Array) -> Array:
    result = jnp.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = result * x + coefficient
    return result
