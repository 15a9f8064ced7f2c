"""Full-batch and vanilla SGD with the square loss from the spectrum of the data (docs/theory/dmft.md, section 4.3).

A second route to the two-cluster trajectories of `square`: contour integrals of resolvents for the mean, a Volterra
equation for the noise of the batches. It shares no equation with the closure.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float

from dimfree.dataset.multi_pass_model import MultiPassModel
from dimfree.dataset.spectrum import require_vanilla, resolvent, top
from dimfree.errors import RefusalError

_TIGHT = 1.1  # radius of the contour over the radius of the spectrum; a wider contour loses digits


class SpectralSolution(NamedTuple):
    """Times 0 to T in steps."""

    m: Float[Array, " n"]
    C: Float[Array, " n"]
    C12: Float[Array, " n"]  # overlap of two runs with the same data and start
    train_loss: Float[Array, " n"]
    generalisation_error: Float[Array, " n"]


def solve_spectral(model: MultiPassModel, steps: int) -> SpectralSolution:
    """The trajectory of `steps` steps from m(0) = 0."""
    require_vanilla(model, "the spectral solution")
    if model.has_teacher or float(model.temperature) > 0 or float(model.m0) != 0:
        raise RefusalError(
            "the spectral solution is for two clusters at temperature 0 from m0 = 0, "
            f"not for {model.task} at temperature {float(model.temperature):g} from m0 = {float(model.m0):g}; "
            "use the exact closure."
        )
    return _solved(model, steps)


@eqx.filter_jit
def _solved(model: MultiPassModel, steps: int) -> SpectralSolution:
    alpha, rate = model.alpha, model.eta * model.gradient_scale * model.b
    z, measure = _contour(model, 4 * steps + 800)
    k = 1 - model.eta * model.lambda_ - rate * z
    p = k ** jnp.arange(steps + 1)[:, None]
    q = rate * (jnp.cumsum(p, axis=0) - p)
    g = resolvent(model, z)
    D = 1 + (model.Delta + alpha) * g

    def average(F: Complex[Array, "t z"], Gamma: Complex[Array, " z"]) -> Float[Array, " t"]:
        return jnp.real(F @ (Gamma * measure))

    m = alpha * average(q, g / D)
    C_det = model.c0 * average(p**2, g) + alpha * average(q**2, 1 - 1 / D)
    A_det = model.c0 / alpha * average(p**2, z * g) + average((1 - z * q) ** 2, -1 / (z * D))
    S = (model.eta * model.gradient_scale) ** 2 * model.b * (1 - model.b)
    to_A, to_C = (_past(S * average(p**2, kernel)) for kernel in (z**2 * g / alpha, z * g))
    A = jax.scipy.linalg.solve_triangular(jnp.eye(steps + 1) - to_A, A_det, lower=True)
    C = C_det + to_C @ A
    return SpectralSolution(m, C, C_det, A / 2, model.generalisation_error(m, C))


def _contour(model: MultiPassModel, points: int) -> tuple[Complex[Array, " z"], Complex[Array, " z"]]:
    """Points on a circle around the spectrum, and the weights of -(1/2 pi i) times the integral along it."""
    centre = top(model) / 2
    radius = _TIGHT * centre * jnp.exp(2j * jnp.pi * (jnp.arange(points) + 0.5) / points)
    return centre + radius, -radius / points


def _past(kernel: Float[Array, " n"]) -> Float[Array, "n n"]:
    """The matrix kernel(t - 1 - r) for r < t."""
    times = jnp.arange(len(kernel))
    lag = times[:, None] - times - 1
    return jnp.where(lag >= 0, kernel[jnp.maximum(lag, 0)], 0.0)
