"""Activations written twice: as a user hands them to dimfree, and in NumPy with derivatives taken by hand."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.polynomial import Polynomial, hermite_e
from scipy.special import erf, expit

OnArrays = Callable[[np.ndarray], np.ndarray]


class Plain(NamedTuple):
    """What dimfree is told, and value, slope and curvature between the kinks, with the jump of the slope at each kink."""

    written: Any
    value: OnArrays
    slope: OnArrays
    curvature: OnArrays
    bends: dict[float, float] = {}  # noqa: RUF012
    polynomial: bool = False

    @property
    def kinks(self) -> list[float]:
        """Where pieces end."""
        return sorted(self.bends)


def _bell(x: np.ndarray) -> np.ndarray:
    return np.sqrt(2 / np.pi) * np.exp(-(x**2) / 2)


def _nothing(x: np.ndarray) -> np.ndarray:
    return np.zeros_like(x)


def _sech2(x: np.ndarray) -> np.ndarray:
    return 4 * np.exp(-2 * np.abs(x)) / (1 + np.exp(-2 * np.abs(x))) ** 2


def _sigmoid_slope(x: np.ndarray) -> np.ndarray:
    return expit(x) * expit(-x)


def _of_coefficients(written: Any, coefficients: np.ndarray) -> Plain:
    f = Polynomial(coefficients)
    return Plain(written, f, f.deriv(), f.deriv(2), polynomial=True)


def _hermite(coefficients: list[float], name: str | None = None) -> Plain:
    return _of_coefficients(name or {"hermite": coefficients}, hermite_e.herme2poly(coefficients))


def hinges(written: Any, constant: float, slope: float, bends: dict[float, float]) -> Plain:
    """constant + slope x + sum of bend (x - kink)_+ ."""
    return Plain(
        written,
        lambda x: sum((bend * np.maximum(x - kink, 0) for kink, bend in bends.items()), constant + slope * x),
        lambda x: sum((bend * (x > kink) for kink, bend in bends.items()), np.full_like(x, slope)),
        _nothing,
        bends,
    )


NAMED = {
    "erf": Plain("erf", lambda x: erf(x / np.sqrt(2)), _bell, lambda x: -x * _bell(x)),
    "tanh": Plain("tanh", np.tanh, _sech2, lambda x: -2 * np.tanh(x) * _sech2(x)),
    "sigmoid": Plain("sigmoid", expit, _sigmoid_slope, lambda x: _sigmoid_slope(x) * (1 - 2 * expit(x))),
    "softplus": Plain("softplus", lambda x: np.logaddexp(0, x), expit, _sigmoid_slope),
    "sin": Plain("sin", np.sin, np.cos, lambda x: -np.sin(x)),
    "cos": Plain("cos", np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x)),
    "relu": hinges("relu", 0.0, 0.0, {0.0: 1.0}),
    "leaky-relu": hinges("leaky-relu", 0.0, 0.01, {0.0: 0.99}),
    "hard-tanh": hinges("hard-tanh", -1.0, 0.0, {-1.0: 1.0, 1.0: -1.0}),
    "linear": _of_coefficients("linear", np.array([0.0, 1.0])),
    "square": _of_coefficients("square", np.array([0.0, 0.0, 1.0])),
    "he2": _hermite([0.0, 0.0, 1.0], "he2"),
    "he3": _hermite([0.0, 0.0, 0.0, 1.0], "he3"),
}


def custom_polynomial(rng: np.random.Generator) -> Plain:
    """sum_j c_j x^j of degree 1 to 3."""
    coefficients = rng.normal(size=rng.integers(2, 5))
    return _of_coefficients({"polynomial": coefficients.tolist()}, coefficients)


def custom_hermite(rng: np.random.Generator) -> Plain:
    """sum_j c_j He_j(x) of degree 1 to 3."""
    return _hermite(rng.normal(size=rng.integers(2, 5)).tolist())


def custom_knots(rng: np.random.Generator) -> Plain:
    """Piecewise linear through random points, with random slopes outside."""
    knots = np.cumsum(rng.uniform(0.2, 1.5, size=rng.integers(1, 5))) - rng.uniform(0, 3)
    values, (left, right) = rng.normal(size=knots.size), rng.normal(size=2)
    slopes = np.array([left, *(np.diff(values) / np.diff(knots)), right])
    bends = dict(zip(knots.tolist(), np.diff(slopes).tolist(), strict=True))
    written = {"knots": knots.tolist(), "values": values.tolist(), "left_slope": left, "right_slope": right}
    return hinges(written, values[0] - left * knots[0], left, bends)


def user_softplus(rng: np.random.Generator) -> Plain:
    """log(1 + e^(s x))/s, smooth, of a random sharpness."""
    s = float(rng.uniform(0.5, 3.0))
    return Plain(
        lambda x: jnp.logaddexp(0.0, s * x) / s,
        lambda x: np.logaddexp(0, s * x) / s,
        lambda x: expit(s * x),
        lambda x: s * _sigmoid_slope(s * x),
    )


def user_wave(rng: np.random.Generator) -> Plain:
    """sin(f x + phase) with a slope: smooth, not odd, wavy."""
    f, phase, tilt = rng.uniform(0.3, 2.0), rng.uniform(0, 2 * np.pi), rng.normal()
    return Plain(
        lambda x: jnp.sin(f * x + phase) + tilt * x,
        lambda x: np.sin(f * x + phase) + tilt * x,
        lambda x: f * np.cos(f * x + phase) + tilt,
        lambda x: -(f**2) * np.sin(f * x + phase),
    )


def user_swish(rng: np.random.Generator) -> Plain:
    """x/(1 + e^(-s x))."""
    s = float(rng.uniform(0.5, 2.0))
    return Plain(
        lambda x: x * jax.nn.sigmoid(s * x),
        lambda x: x * expit(s * x),
        lambda x: expit(s * x) + s * x * _sigmoid_slope(s * x),
        lambda x: s * _sigmoid_slope(s * x) * (2 + s * x * (1 - 2 * expit(s * x))),
    )


def user_hinges(rng: np.random.Generator) -> Plain:
    """Piecewise linear, but written as a function: dimfree has to find that out."""
    at, bend, tilt = float(rng.uniform(-2, 2)), float(rng.normal()), float(rng.normal())
    return hinges(
        lambda x: jnp.abs(x - at) + bend * jnp.maximum(x - at - 1.0, 0.0) + tilt * x,
        at,
        tilt - 1.0,
        {at: 2.0, at + 1.0: bend},
    )


def user_cut(rng: np.random.Generator) -> Plain:
    """max(tanh(s x), -level): bent where it is cut, curved elsewhere."""
    s, level = float(rng.uniform(0.5, 1.5)), float(rng.uniform(0.1, 0.8))
    kink = -float(np.arctanh(level)) / s
    return Plain(
        lambda x: jnp.maximum(jnp.tanh(s * x), -level),
        lambda x: np.maximum(np.tanh(s * x), -level),
        lambda x: np.where(x > kink, s * _sech2(s * x), 0.0),
        lambda x: np.where(x > kink, -2 * s**2 * np.tanh(s * x) * _sech2(s * x), 0.0),
        {kink: s * (1 - level**2)},
    )


def user_elu(rng: np.random.Generator) -> Plain:
    """x above a random place, and slope * (e^(x - place) - 1) + place below it."""
    at, slope = float(rng.uniform(-1, 1)), float(rng.uniform(0.2, 2.0))

    def tail(x: np.ndarray) -> np.ndarray:
        return slope * np.exp(np.minimum(x - at, 0))

    return Plain(
        lambda x: jnp.where(x > at, x, slope * jnp.expm1(jnp.minimum(x - at, 0.0)) + at),
        lambda x: np.where(x > at, x, slope * np.expm1(np.minimum(x - at, 0)) + at),
        lambda x: np.where(x > at, 1.0, tail(x)),
        lambda x: np.where(x > at, 0.0, tail(x)),
        {at: 1 - slope},
    )


DRAWN: dict[str, Callable[[np.random.Generator], Plain]] = {
    one.__name__.replace("_", " "): one
    for one in (
        custom_polynomial,
        custom_hermite,
        custom_knots,
        user_softplus,
        user_wave,
        user_swish,
        user_hinges,
        user_cut,
        user_elu,
    )
}
NAMES = (*NAMED, *DRAWN)


def function(name: str, rng: np.random.Generator) -> Plain:
    """The function of that name, with random numbers in it if it has any."""
    return DRAWN[name](rng) if name in DRAWN else NAMED[name]


def in_dimfree(plain: Plain) -> Any:
    """The activation as a problem would give it to the numerical rooms."""
    from dimfree.functions import activation
    from dimfree.onepass.sections import TwoLayer

    return activation(TwoLayer(activation=plain.written).activation)
