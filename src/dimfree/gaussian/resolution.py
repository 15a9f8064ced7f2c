"""How finely a smooth function has to be sampled: nodes per unit of its argument, measured once for every function.

The trapezoidal rule with step h is wrong by what the integrand holds at the frequency 2 pi/h (docs/theory/committee.md, section
3.2). A function of s x has there what the function itself holds at 2 pi/(s h): its step shrinks like 1/s, and the product
s h that is small enough is a property of the function alone.
"""

from functools import lru_cache
from math import pi

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.functions.activation import Activation, Polynomial
from dimfree.programs.compiled import brief_program

_SPREAD = 2.0  # standard deviation of the argument for which the spectrum is computed
_REACH = 9.0
_FINEST = 1 / 128
_LOST = {2: 1e-11, 4: 1e-9}  # share of a product of 2 or 4 factors that may lie beyond the frequency of the nodes


@lru_cache(maxsize=128)
def resolution(f: Activation, power: int) -> float:
    """Nodes per unit that products of `power` factors f, f', f'' need; 0 for polynomials, which every step integrates."""
    if isinstance(f, Polynomial):
        return 0.0
    x = np.arange(-_REACH, _REACH, _FINEST)
    with jax.ensure_compile_time_eval():
        value, slope, curvature = np.asarray(_derivatives(f, jax.device_put(_SPREAD * x)))
    pairs = np.stack([value**2, slope**2, value * curvature])
    integrands = (pairs if power == 2 else np.stack([pairs[0] * pairs[1], pairs[1] ** 2])) * np.exp(-0.5 * x**2)
    spectra = np.abs(np.fft.rfft(integrands, axis=1)) / np.maximum(
        np.sum(np.abs(integrands), axis=1, keepdims=True), 1e-300
    )
    frequency = 2 * pi * np.fft.rfftfreq(len(x), _FINEST)[np.any(spectra > _LOST[power], axis=0)]
    return float(frequency.max(initial=0.0)) / (2 * pi * _SPREAD)


@brief_program
def _derivatives(f: Activation, x: Float[Array, " n"]) -> Float[Array, "3 n"]:
    return jnp.stack([f(x), f.derivative(x), f.second_derivative(x)])
