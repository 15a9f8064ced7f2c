"""The one place where names become functions."""

from functools import lru_cache
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
from numpy.polynomial import hermite_e

from dimfree.errors import ProblemError, suggest
from dimfree.functions.activation import Activation, Erf, General, PiecewiseLinear, Polynomial
from dimfree.functions.ramps import RAMPS
from dimfree.functions.understand import understand
from dimfree.problem.activation import HERMITE_NAME, Hermite
from dimfree.problem.activation import PiecewiseLinear as WrittenPiecewiseLinear
from dimfree.problem.activation import Polynomial as WrittenPolynomial
from dimfree.problem.code import function_at

_BUILT_IN: dict[str, Activation] = {
    "erf": Erf(),
    "relu": PiecewiseLinear(0.0, 0.0, (1.0,), kinks=(0.0,), name="relu"),
    "leaky-relu": PiecewiseLinear(0.0, 0.01, (0.99,), kinks=(0.0,), name="leaky-relu"),
    "hard-tanh": PiecewiseLinear(-1.0, 0.0, (1.0, -1.0), kinks=(-1.0, 1.0), name="hard-tanh"),
    "linear": Polynomial((0.0, 1.0), name="linear"),
    "square": Polynomial((0.0, 0.0, 1.0), name="square"),
    **RAMPS,
    # with the properties that `understand` would find by compiling four functions for each
    "tanh": General(function=jnp.tanh, step=1 / 8, name="tanh"),
    "sigmoid": General(function=jax.nn.sigmoid, step=1 / 4, name="sigmoid"),
    "softplus": General(function=jax.nn.softplus, step=1 / 3, name="softplus"),
    "sin": General(function=jnp.sin, step=1 / 3, name="sin"),
    "cos": General(function=jnp.cos, step=1 / 3, name="cos"),
}


@lru_cache(maxsize=256)
def activation(written: Any) -> Activation:
    """The activation that a problem names: a built-in, coefficients, a `module:function` path or a callable."""
    match written:
        case Activation():
            return written
        case str() if written in _BUILT_IN:
            return _BUILT_IN[written]
        case str() if ":" in written:
            return understand(function_at(written), written)
        case str() if not HERMITE_NAME.fullmatch(written):
            raise ProblemError(f"there is no activation {written!r}; {suggest(written, (*_BUILT_IN, 'he3'))}")
        case str():
            return _hermite((0.0,) * int(written[2:]) + (1.0,), written)
        case Hermite():
            return _hermite(written.hermite, "hermite")
        case WrittenPolynomial():
            return Polynomial(written.polynomial, name="polynomial")
        case WrittenPiecewiseLinear():
            return _interpolated(written)
        case _:
            return understand(written, getattr(written, "__name__", "function"))


def _hermite(coefficients: tuple[float, ...], name: str) -> Polynomial:
    return Polynomial(tuple(float(c) for c in hermite_e.herme2poly(coefficients)), name=name)


def _interpolated(written: WrittenPiecewiseLinear) -> PiecewiseLinear:
    knots, values = written.knots, written.values
    corners = pairwise(zip(knots, values, strict=True))
    inner = [(right - left) / (b - a) for (a, left), (b, right) in corners]
    bends = tuple(right - left for left, right in pairwise([written.left_slope, *inner, written.right_slope]))
    constant = values[0] - written.left_slope * knots[0]
    return PiecewiseLinear(constant, written.left_slope, bends, kinks=knots, name="piecewise-linear")
