"""The properties of a user's function: where it bends, whether it is piecewise linear, how finely to sample it."""

from collections.abc import Callable
from itertools import accumulate
from math import sqrt
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dimfree.errors import ProblemError, type_and_first_line
from dimfree.functions.activation import Activation, General, PiecewiseLinear, Polynomial
from dimfree.functions.few_lengths import OnVectors, Vector, on_vectors

_REACH = 20.0  # larger preactivations have no weight
_STEPS = (1 / 3, 1 / 4, 1 / 5, 1 / 6, 1 / 8, 1 / 12, 1 / 16, 1 / 32)
_SUSPECTS, _WINDOWS = 256, 64
_FASTEST = 50.0  # the largest ratio of slope to size that quadrature resolves


class _Derivatives(NamedTuple):
    function: Callable[..., jax.Array]
    value: OnVectors
    slope: OnVectors
    curvature: OnVectors
    third: OnVectors


def understand(function: Callable[..., jax.Array], name: str) -> Activation:
    """The activation that a plain jax.numpy function is."""
    f = _derivatives(function)
    _check(f, name)
    _check_growth(f, name)
    torn = jumps(f.value)
    if torn:
        raise ProblemError(f"the activation {name} jumps at x = {torn[0]:.4g}; it must be continuous.")
    everywhere = f.value(np.linspace(-_REACH, _REACH, 401))
    if np.ptp(everywhere) == 0:
        return Polynomial((float(everywhere[0]),), name=name)
    kinks = _distinct([*jumps(f.slope), *jumps(f.curvature), *jumps(f.third)])
    linear = _as_piecewise_linear(f, kinks, name)
    return linear or General(function=function, kinks=kinks, step=_trapezoid_step(f, name), name=name)


def _derivatives(function: Callable[..., jax.Array]) -> _Derivatives:
    """Value and three derivatives as compiled functions of NumPy vectors."""

    def along(f: Callable[[jax.Array], jax.Array]) -> Callable[[jax.Array], jax.Array]:
        return lambda x: jax.jvp(f, (x,), (jnp.ones_like(x),))[1]

    return _Derivatives(
        function, *(on_vectors(f) for f in accumulate([function, along, along, along], lambda f, _: along(f)))
    )


def _check(f: _Derivatives, name: str) -> None:
    """Refuse a function that does not act on each number by itself, or is not finite."""
    probe = np.array([-2.3, 0.4, 1.7])
    if _is_complex(f.function, probe):
        raise ProblemError(f"the activation {name} returns complex numbers; it must be real for all x.")
    try:
        together = f.value(probe)
        apart = np.concatenate([f.value(probe[i : i + 1]).ravel() for i in range(3)])
        everywhere = np.linspace(-_REACH, _REACH, 401)  # 0 and the other round numbers among them
        finite = np.isfinite(f.value(everywhere)).all() and np.isfinite(f.slope(everywhere)).all()
    except Exception as failure:
        raise ProblemError(
            f"the activation {name} does not run on a jax array ({type_and_first_line(failure)}); "
            "write it with jax.numpy functions that map each number on its own."
        ) from None
    if not finite:
        raise ProblemError(
            f"the activation {name} or its derivative is not finite for all |x| <= {_REACH:g}; it must be finite for all x."
        )
    if together.shape != probe.shape or not np.allclose(together, apart, rtol=1e-12, atol=1e-12):
        raise ProblemError(f"the activation {name} is not elementwise; it must map each number on its own.")


def _is_complex(function: Callable[..., jax.Array], probe: Vector) -> bool:
    try:
        # behind a lambda: jax crashes when it is given a function without weak references (NumPy's) for a second time
        seen = jax.eval_shape(lambda x: function(x), jnp.asarray(probe))  # noqa: PLW0108
        return bool(jnp.issubdtype(seen.dtype, jnp.complexfloating))
    except Exception:  # calling it gives the error
        return False


def _check_growth(f: _Derivatives, name: str) -> None:
    """Gaussian averages of squares must exist at every variance that training may reach."""
    x = np.linspace(0.5 * _REACH, _REACH, 9)
    x = np.concatenate([-x, x])
    if (np.log(np.abs(f.value(x)) + 1e-300) > 0.2 * x**2).any():
        raise ProblemError(
            f"the activation {name} grows like a Gaussian or faster, so that its Gaussian averages do not exist."
        )


def jumps(f: OnVectors) -> list[float]:
    """Where f jumps: intervals across which its difference does not shrink when they do."""
    grid = np.linspace(-_REACH, _REACH, 8193) + 1.234e-4  # off the round numbers, where kinks often are
    values = f(grid)
    scale = max(1.0, float(np.abs(values[np.abs(grid) < 6]).max()))
    suspects = _unusual(np.diff(values))
    left, right = grid[suspects], grid[suspects + 1]
    for _ in range(34):
        middle = 0.5 * (left + right)
        f_middle = f(middle)
        in_left = np.abs(f_middle - f(left)) > np.abs(f(right) - f_middle)
        left, right = np.where(in_left, left, middle), np.where(in_left, middle, right)
    persists = np.abs(f(right) - f(left)) > 1e-4 * scale
    return [_snapped(x) for x in (0.5 * (left + right)[persists]).tolist()]


def _unusual(differences: Vector) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
    """The differences that are farthest from the median of their window, so that fast growth elsewhere hides none."""
    windows = differences.reshape(_WINDOWS, -1)
    odd = np.abs(windows - np.median(windows, axis=1, keepdims=True))
    best = np.argsort(-odd, axis=1)[:, : _SUSPECTS // _WINDOWS]
    return (best + np.arange(_WINDOWS)[:, None] * windows.shape[1]).ravel()


def _snapped(x: float) -> float:
    """Bisection is good to 1e-12; a kink that close to a round number is that number."""
    return round(x, 6) + 0.0 if abs(x - round(x, 6)) < 1e-11 else x


def _distinct(places: list[float]) -> tuple[float, ...]:
    """In increasing order, each once."""
    ordered = sorted(places)
    return tuple(x for x, before in zip(ordered, [-np.inf, *ordered], strict=False) if x - before > 1e-8)


def _as_piecewise_linear(f: _Derivatives, kinks: tuple[float, ...], name: str) -> PiecewiseLinear | None:
    """The same function with closed expectations, when its slope is constant between the kinks."""
    edges = np.array([-_REACH, *kinks, _REACH])
    inside = edges[:-1, None] + np.diff(edges)[:, None] * np.array([0.1, 0.37, 0.5, 0.81])
    slopes = f.slope(inside.ravel()).reshape(inside.shape)
    if not kinks or np.ptp(slopes, axis=1).max() > 1e-12:
        return None
    first = float(slopes[0, 0])
    constant = float(f.value(np.array(kinks))[0]) - first * kinks[0]
    bends: list[float] = np.diff(slopes[:, 0]).tolist()
    return PiecewiseLinear(constant, first, tuple(bends), kinks=kinks, name=name)


def _trapezoid_step(f: _Derivatives, name: str) -> float:
    """The coarsest trapezoidal rule that integrates the function and its slope at preactivation variance 4."""

    def moments(step: float) -> Vector:
        x = np.arange(-9, 9 + step / 2, step)
        weight = np.exp(-0.5 * x**2) * step / sqrt(2 * np.pi)
        value, slope = f.value(2 * x), f.slope(2 * x)
        return np.asarray(np.stack([value**2, value * x, slope**2, slope]) @ weight)

    reference = moments(1 / 64)
    scale = max(1.0, float(np.abs(reference).max()))
    if reference[2] > _FASTEST**2 * reference[0]:
        raise ProblemError(
            f"the activation {name} varies too fast: its slope is {sqrt(reference[2] / reference[0]):.0f} times its size, where "
            f"{_FASTEST:.0f} can be averaged; make it slower."
        )
    tolerance = 1e-10 * scale
    return next((step for step in _STEPS if np.abs(moments(step) - reference).max() <= tolerance), _STEPS[-1])
