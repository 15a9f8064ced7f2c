"""The one place where names become functions."""

import importlib
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
from numpy.polynomial import hermite_e

from dimfree.errors import ProblemError
from dimfree.functions.activation import Activation, Erf, PiecewiseLinear, Polynomial
from dimfree.functions.ramps import RAMPS
from dimfree.functions.understand import understand
from dimfree.problem.activation import Hermite
from dimfree.problem.activation import PiecewiseLinear as WrittenPiecewiseLinear
from dimfree.problem.activation import Polynomial as WrittenPolynomial

_CLOSED: dict[str, Activation] = {
    "erf": Erf(),
    "relu": PiecewiseLinear(0.0, 0.0, (1.0,), kinks=(0.0,), name="relu"),
    "leaky-relu": PiecewiseLinear(0.0, 0.01, (0.99,), kinks=(0.0,), name="leaky-relu"),
    "hard-tanh": PiecewiseLinear(-1.0, 0.0, (1.0, -1.0), kinks=(-1.0, 1.0), name="hard-tanh"),
    "linear": Polynomial((0.0, 1.0), name="linear"),
    "square": Polynomial((0.0, 0.0, 1.0), name="square"),
    **RAMPS,
}
_SMOOTH: dict[str, Callable[..., jax.Array]] = {
    "tanh": jnp.tanh,
    "sigmoid": jax.nn.sigmoid,
    "softplus": jax.nn.softplus,
    "sin": jnp.sin,
    "cos": jnp.cos,
}


@lru_cache(maxsize=256)
def activation(written: Any) -> Activation:
    """The activation that a problem names: a built-in, coefficients, a `module:function` path or a callable."""
    match written:
        case Activation():
            return written
        case str() if written in _CLOSED:
            return _CLOSED[written]
        case str() if written in _SMOOTH:
            return understand(_SMOOTH[written], written)
        case str() if ":" in written:
            return understand(_imported(written), written)
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


def _imported(path: str) -> Callable[..., jax.Array]:
    module, _, name = path.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as failure:
        raise ProblemError(
            f"the activation {path!r} cannot be imported ({failure}); give an importable module and a function in it."
        ) from None
    if not callable(found):
        raise ProblemError(f"the activation {path!r} is not a function but a {type(found).__name__}.")
    function: Callable[..., jax.Array] = found
    return function
