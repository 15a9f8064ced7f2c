"""Features of Gaussian variables: how they covary with each other, and with the variables (docs/theory/structured.md, 1.3)."""

from math import pi, sqrt

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.polynomial import Chebyshev

from dimfree.functions.activation import Activation, General
from dimfree.functions.features import Sign
from dimfree.gaussian.arcsine import arcsine
from dimfree.gaussian.one_point import hermite_moments
from dimfree.gaussian.two_point.ladder import two_point
from dimfree.programs.compiled import brief_program

_DEGREE = 128  # degree of the polynomial in the correlation

Values = Float[np.ndarray, "..."]


def feature_covariance(features: Activation, correlation: Values) -> Values:
    """E[features(u) features(v)] of standard u and v with these correlations."""
    c = np.clip(correlation, -1.0, 1.0)
    if isinstance(features, General):  # interpolated: one quadrature for every pair would take minutes
        nodes = Chebyshev.basis(_DEGREE + 1).roots()
        return np.asarray(Chebyshev.fit(nodes, _kernel(features, jax.device_put(nodes)), _DEGREE, domain=[-1, 1])(c))
    return np.asarray(_kernel(features, jax.device_put(c)))


@brief_program
def _kernel(features: Activation, c: Float[Array, "..."]) -> Float[Array, "..."]:
    if isinstance(features, Sign):
        return 2 / pi * arcsine(c)
    one = jnp.ones(())
    return two_point(features, features, one, c, one).kappa


def feature_slope(features: Activation) -> float:
    """E[u features(u)] of a standard u."""
    return sqrt(2 / pi) if isinstance(features, Sign) else float(hermite_moments(features, jnp.ones(()), 2)[1])
