"""Where an activation takes a value: by a closed inverse where there is one, else along a grid."""

from functools import lru_cache
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtri
from jaxtyping import Array, Float

from dimfree.functions.activation import Activation, Erf, PiecewiseLinear, Polynomial
from dimfree.gaussian.any_loss.panels import crossings

_MOST = 4  # places along a line at which a function without a closed inverse is looked for
_FAR, _WIDE = 1e3, 10.0


def preimages(
    sigma: Activation, values: Float[Array, "b q"], mean: Float[Array, "b 1"], scale: Float[Array, ""]
) -> Float[Array, "b m"]:
    """All x with sigma(mean + scale x) equal to one of the values; nan where there is none."""
    closed = _inverse(sigma, values)
    if closed is not None:
        return standardised(closed, mean, scale)
    columns = [
        crossings(lambda x, v=values[:, i, None]: sigma(mean + scale * x) - v, values.shape[0], _MOST)  # type: ignore[misc]
        for i in range(values.shape[1])
    ]
    return jnp.concatenate(columns, axis=1)


def standardised(
    fields: Float[Array, "b m"], mean: Float[Array, "b 1"], scale: Float[Array, ""]
) -> Float[Array, "b m"]:
    """Fields as multiples of their standard deviation; not a number where they cannot vary."""
    return jnp.where(scale > 0, (fields - mean) / jnp.where(scale > 0, scale, 1.0), jnp.nan)


@lru_cache(maxsize=64)
def limits(sigma: Activation) -> tuple[float, ...]:
    """The finite limits of an activation far out."""
    with jax.ensure_compile_time_eval():
        near, far = (np.asarray(sigma(jnp.array([-x, x]))) for x in (0.5 * _FAR, _FAR))
    return tuple(
        float(y) for x, y in zip(near, far, strict=True) if np.isfinite(y) and abs(x - y) <= 1e-9 * (1 + abs(y))
    )


@lru_cache(maxsize=64)
def rises_between_limits(sigma: Activation) -> bool:
    """Whether an activation rises from a negative limit to a positive one, as far as a grid shows."""
    with jax.ensure_compile_time_eval():
        values = np.asarray(sigma(jnp.linspace(-_WIDE, _WIDE, 401)))
    return len(limits(sigma)) == 2 and values[0] < 0 < values[-1] and bool(np.all(np.diff(values) >= 0))


@lru_cache(maxsize=64)
def turns_at_zero(sigma: Activation) -> bool:
    """Whether an activation has one sign on either side of zero, as far as a grid shows."""
    with jax.ensure_compile_time_eval():
        signs = np.sign(np.asarray(sigma(jnp.linspace(-_WIDE, _WIDE, 401))))
    left, right = signs[:200], signs[201:]
    return bool(np.all(left == left[0]) and np.all(right == right[0]) and left[0] != right[0])


@lru_cache(maxsize=64)
def is_odd(sigma: Activation) -> bool:
    """Whether an activation of -x is minus that of x, as far as a grid shows."""
    with jax.ensure_compile_time_eval():
        values = np.asarray(sigma(jnp.linspace(-_WIDE, _WIDE, 401)))
    return bool(np.allclose(values, -values[::-1], rtol=1e-14, atol=1e-14 * np.max(np.abs(values))))


def _inverse(sigma: Activation, v: Float[Array, "b q"]) -> Float[Array, "b m"] | None:
    match sigma:
        case Erf():
            inside = jnp.abs(v) < 1
            return jnp.where(inside, ndtri(jnp.where(inside, (1 + v) / 2, 0.5)), jnp.nan)
        case Polynomial(coefficients=(c, slope)):
            return (v - c) / slope
        case Polynomial(coefficients=(c, slope, bend)) if bend:
            root = slope**2 - 4 * bend * (c - v)
            root = jnp.sqrt(jnp.where(root >= 0, root, jnp.nan))
            return jnp.concatenate([(-slope - root) / (2 * bend), (-slope + root) / (2 * bend)], axis=1)
        case PiecewiseLinear():
            return _of_pieces(sigma, v)
        case _ if sigma.name == "tanh":
            inside = jnp.abs(v) < 1
            return jnp.where(inside, jnp.arctanh(jnp.where(inside, v, 0.0)), jnp.nan)
        case _:
            return None


def _of_pieces(sigma: PiecewiseLinear, v: Float[Array, "b q"]) -> Float[Array, "b m"]:
    found, constant, slope = [], sigma.constant, sigma.slope
    edges = [-np.inf, *sigma.kinks, np.inf]
    for number, (left, right) in enumerate(pairwise(edges)):
        if slope:
            x = (v - constant) / slope
            found.append(jnp.where((x >= left) & (x <= right), x, jnp.nan))
        if number < len(sigma.bends):
            constant, slope = constant - sigma.bends[number] * right, slope + sigma.bends[number]
    return jnp.concatenate(found, axis=1) if found else jnp.full((v.shape[0], 1), jnp.nan)
