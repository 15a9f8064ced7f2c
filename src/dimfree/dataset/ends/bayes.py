"""What no learner can beat with a Gaussian teacher: signs, and real labels with outliers (docs/theory/static.md, a and d)."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import optimistix as optx
from jaxtyping import Array, Float

from dimfree.dataset.outliers import Mixture
from dimfree.gaussian.residual_channel import label_information
from dimfree.gaussian.sign_channel import sign_information
from dimfree.programs.compiled import quick_program

_LOWEST, _HIGHEST = 1e-9, 18.0  # range of atanh sqrt(q/rho)
_TOLERANCE, _STEPS = 1e-15, 200
_NEAR, _POLISHED, _POLISHING = 1e-5, 1e-13, 8
_NO_NOISE = 1e-12  # a variance that replaces 0, by which one cannot divide

Information = Callable[[Float[Array, ""], Any], Float[Array, ""]]  # the conjugate of q at x, from a task's numbers


class BayesEnd(NamedTuple):
    """The overlap of two draws from the posterior (which is that with the teacher), and its conjugate."""

    q: Float[Array, ""]
    qhat: Float[Array, ""]


@quick_program
def bayes_optimal(alpha: Float[Array, ""], rho: Float[Array, ""], Delta: Float[Array, ""]) -> BayesEnd:
    """Labels sign(z + sqrt(Delta) noise), z = w*.x/sqrt(d), w* Gaussian of variance rho a coordinate."""

    def qhat(x: Float[Array, ""], numbers: tuple[Array, Array, Array]) -> Float[Array, ""]:
        alpha, rho, Delta = numbers
        gap = (rho / jnp.cosh(x) ** 2 + Delta) / (rho + Delta)
        return alpha * sign_information(gap) / (rho + Delta)

    numbers = (alpha, rho, Delta)
    return _end(qhat, _bisected(qhat, numbers, _TOLERANCE), numbers)


@quick_program
def bayes_real_labels(
    alpha: Float[Array, ""], rho: Float[Array, ""], hidden: Float[Array, ""], law: Mixture
) -> BayesEnd:
    """Labels of two kinds, y = slope (z + sqrt(hidden) noise) + sqrt(variance) noise with their shares."""

    def qhat(x: Float[Array, ""], numbers: tuple[Array, Array, Array, Mixture]) -> Float[Array, ""]:
        alpha, rho, hidden, law = numbers
        variance = law.slope**2 * (rho / jnp.cosh(x) ** 2 + hidden) + jnp.maximum(law.variance, _NO_NOISE)
        return alpha * label_information(law.share, law.slope, jnp.sqrt(variance), rho * jnp.tanh(x) ** 2)

    numbers = (alpha, rho, hidden, law)
    near, excess = _bisected(qhat, numbers, _NEAR), partial(_excess, qhat)
    solver: optx.Newton[Array, Array, None] = optx.Newton(rtol=_POLISHED, atol=_POLISHED)
    x = optx.root_find(excess, solver, near, args=numbers, max_steps=_POLISHING, throw=False).value
    return _end(qhat, x, numbers)


def _excess(qhat: Information, x: Float[Array, ""], numbers: Any) -> Float[Array, ""]:
    """The unknown is x = atanh sqrt(q/rho), in which neither end loses digits: sinh² x = rho qhat, rho the second number."""
    return jnp.arcsinh(jnp.sqrt(numbers[1] * qhat(x, numbers))) - x


def _bisected(qhat: Information, numbers: Any, tolerance: float) -> Float[Array, ""]:
    bracket = {"lower": _LOWEST, "upper": _HIGHEST}
    solver: Any = optx.Bisection(tolerance, tolerance, flip=True)  # type: ignore[call-arg]
    middle, excess = jnp.ones_like(numbers[0]), partial(_excess, qhat)
    return optx.root_find(excess, solver, middle, args=numbers, options=bracket, max_steps=_STEPS, throw=False).value


def _end(qhat: Information, x: Float[Array, ""], numbers: Any) -> BayesEnd:
    return BayesEnd(numbers[1] * jnp.tanh(x) ** 2, qhat(x, numbers))
