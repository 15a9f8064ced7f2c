"""Losses as problems write them, and the checks of a user's own loss."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from dimfree.errors import ProblemError, type_and_first_line
from dimfree.functions.cross_entropy import CrossEntropyLoss
from dimfree.functions.sample_loss import (
    AbsoluteLoss,
    CorrelationLoss,
    ExponentialLoss,
    FunctionLoss,
    HingeLoss,
    HuberLoss,
    LogisticLoss,
    SampleLoss,
    SquaredHingeLoss,
    SquareLoss,
)
from dimfree.functions.understand import jumps
from dimfree.problem.code import function_at
from dimfree.problem.loss import CROSS_ENTROPY, Hinge, Huber, UserLoss, loss_name

_Vector = np.ndarray[tuple[int], np.dtype[np.float64]]
_OnVectors = Callable[[_Vector], _Vector]
_CLASSES, _VALUES = (1.0, -1.0), (1.3, -0.4)  # labels at which a user's own loss is checked
_NEAR = 1e-6  # how close a place must be to a declared one

_SIMPLE: dict[str, Callable[[], SampleLoss]] = {
    "square": SquareLoss,
    "logistic": LogisticLoss,
    "exponential": ExponentialLoss,
    "absolute": AbsoluteLoss,
    "correlation": CorrelationLoss,
    CROSS_ENTROPY: CrossEntropyLoss,
}


def written_loss(written: Any, classes: bool) -> SampleLoss:
    """The loss that a problem writes; `classes`, labels are +1 and -1."""
    match written:
        case str() if written in _SIMPLE:
            return _SIMPLE[written]()
        case "hinge" | "squared-hinge":
            return written_loss(Hinge(kind=written), classes)
        case "huber":
            return written_loss(Huber(kind=written), classes)
        case Hinge():
            kind = HingeLoss if written.kind == "hinge" else SquaredHingeLoss
            return kind(jax.device_put(written.margin))
        case Huber():
            return HuberLoss(jax.device_put(written.threshold))
        case UserLoss():
            return user_loss(written, classes)
        case _:
            return user_loss(UserLoss(function=written), classes)


def user_loss(written: UserLoss, classes: bool) -> FunctionLoss:
    """A function (f, y) -> loss, once it is known to be finite and to jump nowhere but where that was declared."""
    name, given = loss_name(written), written.function
    function = function_at(given, "loss") if isinstance(given, str) else given
    loss = FunctionLoss(name, function, written.along, written.jumps)
    _check(loss, _CLASSES if classes else _VALUES)
    return loss


def _check(loss: FunctionLoss, labels: tuple[float, ...]) -> None:
    """Refuse a loss that is not finite and continuous, or whose error jumps or bends where that was not declared."""

    def bend(f: Array, y: Array) -> Array:
        return jax.jvp(lambda at: loss.error(at, y), (f,), (jnp.ones_like(f),))[1]

    value, error, turn = (jax.jit(one) for one in (loss.__call__, loss.error, bend))
    for label in labels:
        seen = [partial(_at_label, one, label) for one in (value, error, turn)]
        _check_values(loss, label, *seen[:2])
        for one, does in zip(seen[1:], ("jumps", "bends"), strict=True):
            _check_declared(loss, label, jumps(one), does)


def _at_label(function: Callable[[Array, Array], Array], label: float, f: _Vector) -> _Vector:
    """On NumPy vectors of outputs, at one label."""
    return np.asarray(function(jnp.asarray(f), jnp.full(f.shape, label)), dtype=float)


def _check_values(loss: FunctionLoss, label: float, value: _OnVectors, error: _OnVectors) -> None:
    f = np.linspace(-20, 20, 401)
    try:
        values, errors = value(f), error(f)
    except Exception as failure:
        raise ProblemError(
            f"the loss {loss.name} does not run on jax arrays ({type_and_first_line(failure)}); "
            "write it with jax.numpy functions of (f, y)."
        ) from None
    if values.shape != f.shape:
        raise ProblemError(f"the loss {loss.name} is not elementwise; it must map each pair (f, y) on its own.")
    finite = np.isfinite(values) & np.isfinite(errors)
    if not finite.all():
        raise ProblemError(
            f"the loss {loss.name} or its derivative is not finite at f = {f[~finite][0]:g}, y = {label:g}; it must be "
            "finite for all f."
        )
    if torn := jumps(value):
        raise ProblemError(
            f"the loss {loss.name} itself jumps at f = {torn[0]:.4g} for y = {label:g}, which no gradient sees; make it "
            "continuous."
        )


def _check_declared(loss: FunctionLoss, label: float, places: list[float], does: str) -> None:
    for at in places:
        place = label * at if loss.along == "margin" else label - at
        if not any(abs(place - declared) < _NEAR for declared in loss.declared):
            raise ProblemError(
                f"the error -dl/df of the loss {loss.name} {does} at f = {at:.4g} for y = {label:g}; declare it: loss = "
                f'{{function = "{loss.name}", along = "{loss.along}", jumps = [{place:.4g}]}}, or along = the other of '
                '"margin" (y f) and "residual" (y - f).'
            )
