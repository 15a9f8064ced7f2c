"""Warnings about the Gaussian averages of a run, whose errors are estimated at a few of its states."""

from collections.abc import Iterator, Mapping

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.description import Times, Values
from dimfree.functions.activation import Activation, General
from dimfree.gaussian.two_point.ladder import two_point_error
from dimfree.gaussian.variance.ladder import variance_error, variance_is_exact, variance_method
from dimfree.onepass.directions import TargetModel
from dimfree.onepass.overlap_model import DirectionsModel
from dimfree.programs.compiled import brief_program
from dimfree.states.overlaps import Overlaps

_KERNELS = 1e-8  # a larger relative error of the two-point kernels causes a warning
_CURVE, _AMPLIFIED = (
    1e-3,
    5,
)  # the same for curves of other losses, and how much the errors of velocities grow along a curve (losses.md, 2)
_QUADRATURE, _SAMPLED = 1e-4, 1e-2  # the same for the variance term, relative to its norm (docs/accuracy.md)


def inexact_kernels(model: TargetModel, variances: Values, times: Times) -> Iterator[str]:
    """Whether the nodes of smooth functions were enough for the largest variance of a run; closed forms cost nothing."""
    smooth = _without_closed_forms(model)
    if not smooth:
        return
    largest = np.max(variances.reshape(len(times), -1), axis=1)
    worst = int(np.argmax(largest))
    error = float(_kernel_error(smooth, jax.device_put(max(largest[worst], np.max(np.asarray(model.target.P))))))
    if error > _KERNELS:
        yield (
            f"the kernels of {smooth[0].name} are wrong by about {error:.1g} of their size at t = {times[worst]:.3g}, where the "
            f"largest preactivations have variance {largest[worst]:.3g}; choose a less steep activation or a smaller start."
        )


def inexact_variance(model: TargetModel, seen: Mapping[str, Values], times: Times) -> Iterator[str]:
    """The largest estimated error of the variance term at the first, the last and the largest state; nothing if it is exact."""
    if variance_is_exact(model):
        return
    norms = np.max(np.diagonal(seen["Q"][:, 0], axis1=-2, axis2=-1), axis=-1)
    chosen = np.array([0, int(np.argmax(norms)), len(times) - 1])
    states = Overlaps(*jax.device_put([seen[name][chosen, 0] for name in ("Q", "M", "a")]))
    errors = np.asarray(_variance_errors(model, states))
    worst, by_quadrature = int(np.argmax(errors)), variance_method(model) == "smooth"
    if errors[worst] > (_QUADRATURE if by_quadrature else _SAMPLED):
        how = "by quadrature" if by_quadrature else "sampled at fixed points"
        yield (
            f"the variance of the steps, {how}, is wrong by about {100 * errors[worst]:.1g} % at "
            f"t = {times[chosen[worst]]:.3g}; compare with chain, which has no such error, or choose smaller norms."
        )


def average_details(model: DirectionsModel, seen: Mapping[str, Values], times: Times) -> dict[str, str | int | float]:
    """How averages of other losses are computed and how well, as attributes of an account."""
    if (made := model.averaged) is None:
        return {}
    said: dict[str, str | int | float] = {"quadrature": made.rung, "quadrature_fields": made.fields}
    return said | {"quadrature_nodes": made.nodes, "quadrature_error": averages_error(model, seen, times)}


def inexact_averages(model: DirectionsModel, seen: Mapping[str, Values], times: Times) -> Iterator[str]:
    """The largest estimated error of averages of other losses, at the first, the last and the largest state."""
    if (made := model.averaged) is None:
        return
    error = averages_error(model, seen, times)
    if _AMPLIFIED * error > _CURVE:
        jumps = ", with jumps" if made.jumps else ""
        yield (
            f"averages over {made.fields} fields{jumps}; estimated error {error:.1g} of the right-hand side, and of curves "
            f"about {_AMPLIFIED} times that; chain has none."
        )


def averages_error(model: DirectionsModel, seen: Mapping[str, Values], times: Times) -> float:
    """The same error as a number."""
    norms = np.max(np.diagonal(seen["Q"][:, 0], axis1=-2, axis2=-1), axis=-1)
    chosen = np.array([0, int(np.argmax(norms)), len(times) - 1])
    names = ("Q", "M", "a" if model.outputs == 1 else "A")
    states = Overlaps(*jax.device_put([seen[name][chosen, 0] for name in names]))
    return float(np.max(np.asarray(_average_errors(model, states))))


def _without_closed_forms(model: TargetModel) -> tuple[Activation, ...]:
    """The functions whose kernels are sums over nodes."""
    every = (model.activation, *model.target.functions)
    if any(f.kinks for f in every):
        return ()
    return tuple(dict.fromkeys(f for f in every if isinstance(f, General)))


@brief_program
def _kernel_error(functions: tuple[Activation, ...], largest: Float[Array, ""]) -> Float[Array, ""]:
    """The kernels of units of the largest variance with themselves."""
    return jnp.max(jnp.stack([two_point_error(f, f, largest, largest, largest) for f in functions]))


@brief_program
def _average_errors(model: DirectionsModel, states: Overlaps) -> Float[Array, " t"]:
    found: Array = jax.lax.map(model.average_error, states)
    return found


@brief_program
def _variance_errors(model: TargetModel, states: Overlaps) -> Float[Array, " t"]:
    found: Array = jax.lax.map(lambda state: variance_error(model, state), states)
    return found
