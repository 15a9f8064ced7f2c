"""What no learner can beat: the Bayes-optimal perceptron with a Gaussian teacher (docs/theory/static.md, section a)."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import optimistix as optx
from jaxtyping import Array, Float

from dimfree.gaussian.sign_channel import sign_information
from dimfree.programs.compiled import quick_program

_LOWEST, _HIGHEST = 1e-9, 18.0  # of atanh sqrt(q/rho)
_TOLERANCE, _STEPS = 1e-15, 200


class BayesEnd(NamedTuple):
    """The overlap of two draws from the posterior (which is that with the teacher), and its conjugate."""

    q: Float[Array, ""]
    qhat: Float[Array, ""]


@quick_program
def bayes_optimal(alpha: Float[Array, ""], rho: Float[Array, ""], Delta: Float[Array, ""]) -> BayesEnd:
    """Labels sign(z + sqrt(Delta) noise), z = w*.x/sqrt(d), w* Gaussian of variance rho a coordinate.

    The unknown is x = atanh sqrt(q/rho), in which neither end loses digits: sinh² x = rho qhat. It is bracketed.
    """

    def qhat(x: Float[Array, ""], numbers: tuple[Array, Array, Array]) -> Float[Array, ""]:
        alpha, rho, Delta = numbers
        gap = (rho / jnp.cosh(x) ** 2 + Delta) / (rho + Delta)
        return alpha * sign_information(gap) / (rho + Delta)

    def excess(x: Float[Array, ""], numbers: tuple[Array, Array, Array]) -> Float[Array, ""]:
        return jnp.arcsinh(jnp.sqrt(numbers[1] * qhat(x, numbers))) - x

    numbers = (alpha, rho, Delta)
    bracket = {"lower": _LOWEST, "upper": _HIGHEST}
    solver: Any = optx.Bisection(_TOLERANCE, _TOLERANCE, flip=True)  # type: ignore[call-arg]
    middle = jnp.ones_like(alpha)
    x = optx.root_find(excess, solver, middle, args=numbers, options=bracket, max_steps=_STEPS, throw=False).value
    return BayesEnd(rho * jnp.tanh(x) ** 2, qhat(x, numbers))
