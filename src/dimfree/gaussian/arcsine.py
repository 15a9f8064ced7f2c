"""An arcsine made of plain arithmetic, so that XLA vectorises it and fuses it into the loop that needs it.

The four-point term of the overlap ODE (docs/theory/committee.md, section 3.3) is a sum of O(p^2 (p+k)^2) arcsines. The
library call that XLA emits for a float64 `asin` on the CPU is scalar and costs more than all the rest of that sum.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

# (arcsin(s)/s - 1)/s^2 as a polynomial in z = s^2 on [0, 1/4]: the interpolant at the 12 Chebyshev nodes of the interval,
# computed from the Taylor series in exact rational arithmetic, then rounded. Its error times z is below 6e-17.
_COEFFICIENTS = (
    0.1666666666666665,
    0.07500000000020764,
    0.044642857103423646,
    0.03038194736709848,
    0.02237204763174451,
    0.017355259955786323,
    0.013929652902326633,
    0.011875494382636924,
    0.007802949477353317,
    0.016035514349148825,
    -0.010749050339697811,
    0.028169218060881417,
)


@jax.custom_jvp
def arcsine(x: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """Return arcsin(x) to a few units in the last place; |x| > 1 (a rounding error of the caller) counts as 1.

    Above 1/2 the half-angle identity arcsin|x| = pi/2 - 2 arcsin sqrt((1-|x|)/2) brings the argument back to [0, 1/2].
    Both cases share one polynomial and are picked by a select, never by a branch.
    """
    size = jnp.minimum(jnp.abs(x), 1.0)
    large = size > 0.5
    z = jnp.where(large, 0.5 * (1.0 - size), size * size)
    s = jnp.where(large, jnp.sqrt(z), size)
    series = jnp.full_like(z, _COEFFICIENTS[-1])
    for c in _COEFFICIENTS[-2::-1]:
        series = series * z + c
    angle = s + s * (z * series)
    return jnp.copysign(jnp.where(large, 0.5 * np.pi - 2.0 * angle, angle), x)


@arcsine.defjvp
def _arcsine_jvp(
    primals: tuple[Float[Array, "*s"]], tangents: tuple[Float[Array, "*s"]]
) -> tuple[Float[Array, "*s"], Float[Array, "*s"]]:
    """Differentiate to 1/sqrt(1-x^2), kept finite at the ends so that a zero tangent stays zero there."""
    (x,), (dx,) = primals, tangents
    cosine = jnp.maximum((1.0 - x) * (1.0 + x), 1e-30)
    return arcsine(x), dx * jax.lax.rsqrt(cosine)
