"""Warnings about limits of one-pass SGD: how large the terms are that a limit leaves out, where that can be known."""

from collections.abc import Iterator, Mapping

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.description import Times, Values
from dimfree.gaussian.increments import Rule, lengthening, rule, spreads
from dimfree.gaussian.moments import second_moment
from dimfree.onepass.directions import TargetModel, TeacherModel
from dimfree.onepass.overlap_model import DirectionsModel
from dimfree.onepass.structured_model import StructuredModel
from dimfree.programs.compiled import brief_program
from dimfree.states.overlaps import Overlaps

BADLY = 1.5  # a spread that is wrong by more than this factor is refused
SLIGHTLY = 1.1  # a spread that is wrong by more than this factor is reported
APART = 1.25  # a risk that is wrong by more than this factor is reported
_LARGE = 0.05  # eigenvalue times step at which the terms beyond the ode reach a per cent
_LOST = 10  # a risk below this number times rtol times E[f*²] is lost to cancellation
_POINTS = 3000  # sample points of the Gaussian averages here; both orders use the same points
_LOOKS = 6  # how many of the saved times are checked for their spread


def too_few_dimensions(model: DirectionsModel) -> Iterator[str]:
    """Below d = p + k weights cannot have all overlaps, and inputs have no part outside of their span."""
    d, n = int(model.dimension), model.width + model.units
    if d < n:
        yield (
            f"dimension {d} is below the {n} directions of width and teacher units, where a limit of large dimension "
            f"says little; raise dimension to several times {n}, or use sgd or chain."
        )


def large_eigenvalue(model: StructuredModel) -> Iterator[str]:
    """Steps along the largest eigenvalue that are not small, however large the dimension (docs/theory/structured.md, 1.4)."""
    if model.largest_step > _LARGE:
        yield (
            f"largest eigenvalue times step is {model.largest_step:.2g}: the ode keeps an error at every dimension (2-5 % seen "
            "for erf, 20-40 % for linear networks ruled by sampling noise); trust chain or sgd."
        )


def unresolved(model: DirectionsModel, seen: Mapping[str, Values], rtol: float) -> Iterator[str]:
    """A risk is a difference of averages of the size of E[f*²], each of which is known to about rtol."""
    if model.taught is None or not model.plain:
        return
    resolved, smallest = _LOST * rtol * float(_second_moment(model.taught.target)), float(np.min(seen["risk"]))
    if smallest < resolved:
        yield (
            f"risks below {resolved:.1g} are lost to cancellation at rtol = {rtol:g}, and the smallest is {smallest:.2g}; "
            "lower rtol."
        )


def overstatement(model: TeacherModel, state: Overlaps, rate: float = 1.0) -> float:
    """The factor by which the leading order in 1/d overstates the spread of M or of norms that one step adds; the worse one."""
    ratios = np.asarray(_ratios(model, jax.device_put(rate), state, rule(model, _POINTS)))
    known = ratios[np.isfinite(ratios) & (ratios > 0)]  # weights that do not move have no spread
    return float(known[np.argmax(np.abs(np.log(known)))]) if known.size else 1.0


def refused_spread(model: TeacherModel, state: Overlaps) -> str | None:
    """Why the noise of a step is not known well enough at this state, in one sentence."""
    if few := next(too_few_dimensions(model), None):
        return few
    factor = overstatement(model, state)
    return _sentence(factor, "at the start") if abs(np.log(factor)) > np.log(BADLY) else None


def misstated_spread(model: TeacherModel, seen: Mapping[str, Values], times: Times) -> Iterator[str]:
    """The worst of a few mean states along the run, if its factor is worth a warning."""
    chosen = np.unique(np.linspace(0, len(times) - 1, _LOOKS).round().astype(int))
    rates = np.asarray(_rates(model, jax.device_put(times[chosen]))).tolist()
    factors = [overstatement(model, _mean(seen, i), rate) for i, rate in zip(chosen.tolist(), rates, strict=True)]
    worst = int(np.argmax(np.abs(np.log(factors))))
    if abs(np.log(factors[worst])) > np.log(SLIGHTLY):
        yield _sentence(factors[worst], f"at t = {times[chosen[worst]]:.3g}")


def exposure(model: TargetModel, seen: Mapping[str, Values], times: Times) -> float:
    """By how much the next order in 1/d could change the logarithm of the risk by the end, if nothing relaxed."""
    if len(times) < 2:
        return 0.0
    states = Overlaps(*jax.device_put([seen[name][:, 0] for name in ("Q", "M", "a")]))
    rates = _lengthenings(model, jax.device_put(times), states, rule(model, _POINTS))
    return float(np.trapezoid(np.asarray(rates) / np.maximum(seen["risk"][:, 0], np.finfo(float).tiny), times))


def risk_apart(dimension: int, uncorrected: Values, corrected: Values, times: Times) -> Iterator[str]:
    """Where a risk with the terms of order 1/d is far from the one that was computed."""
    lost = ~np.isfinite(corrected)
    if lost.any():
        yield _near_the_edge(dimension, f"diverges before t = {times[int(np.argmax(lost))]:.3g}")
        return
    change = np.log(np.maximum(corrected, np.finfo(float).tiny) / np.maximum(uncorrected, np.finfo(float).tiny))
    worst = int(np.argmax(np.abs(change)))
    if abs(change[worst]) > np.log(APART):
        yield _near_the_edge(dimension, f"is {np.exp(change[worst]):.2g} times as large at t = {times[worst]:.3g}")


def _near_the_edge(dimension: int, what: str) -> str:
    return (
        f"with the terms of order 1/dimension that this limit leaves out of the mean step, the mean risk {what} at dimension "
        f"{dimension}; lower training.learning_rate, raise dimension, or use sgd or chain."
    )


def _sentence(factor: float, when: str) -> str:
    much = f"{factor:.2g} times" if factor > 1 else f"only {factor:.2g} times"
    return (
        f"the leading order in 1/dimension makes the spread of one step {when} {much} what it is; raise dimension, lower "
        "training.learning_rate, or use chain, which is exact."
    )


def _mean(seen: Mapping[str, Values], time: int) -> Overlaps:
    return Overlaps(*jax.device_put([seen[name][time].mean(axis=0) for name in ("Q", "M", "a")]))


_second_moment = brief_program(second_moment)


@brief_program
def _rates(model: TeacherModel, times: Float[Array, " t"]) -> Float[Array, " t"]:
    return model.schedule(times)


@brief_program
def _ratios(model: TeacherModel, rate: Float[Array, ""], state: Overlaps, nodes: Rule) -> Float[Array, " part"]:
    found = spreads(model, rate, state, nodes)
    return jnp.sqrt(found.leading / found.exact)


@brief_program
def _lengthenings(model: TargetModel, times: Float[Array, " t"], states: Overlaps, nodes: Rule) -> Float[Array, " t"]:
    found: Array = jax.lax.map(lambda at: lengthening(model, model.schedule(at[0]), at[1], nodes), (times, states))
    return found
