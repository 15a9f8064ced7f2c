"""How a loss and clipping are written in a problem (docs/problem.md)."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, PositiveFloat, model_validator

from dimfree.errors import suggest
from dimfree.problem.activation import PATH, written_function
from dimfree.problem.section import Section

CROSS_ENTROPY = "cross-entropy"  # of networks with several outputs
NAMES = (
    "square",
    "logistic",
    "hinge",
    "squared-hinge",
    "exponential",
    "absolute",
    "huber",
    "correlation",
    CROSS_ENTROPY,
)
NEED_SIGNS = frozenset({"logistic", "hinge", "squared-hinge", "exponential"})


class Hinge(Section):
    """max(0, margin - y f), or with kind = "squared-hinge" half its square."""

    title: ClassVar[str] = "[training.loss]"
    kind: Literal["hinge", "squared-hinge"]
    margin: float = 1.0


class Huber(Section):
    """(y - f)²/2 up to a residual of `threshold`, and a straight line beyond."""

    title: ClassVar[str] = "[training.loss]"
    kind: Literal["huber"]
    threshold: PositiveFloat = 1.0


class UserLoss(Section):
    """A jax.numpy function (f, y) -> loss, and where its error -dl/df jumps or bends: at these margins y f or residuals y - f."""

    title: ClassVar[str] = "[training.loss]"
    function: Annotated[str | Callable[..., Any], PlainSerializer(written_function, when_used="json")]
    jumps: tuple[float, ...] = ()
    along: Literal["margin", "residual"] = "margin"


class Clip(Section):
    """Errors clipped to [-error, error], or gradients of the first layer whose norm is above `norm` shortened to it.

    The norm is that of the mean gradient of a batch, before the learning rate, with inputs of squared norm about 1.
    """

    title: ClassVar[str] = "[training.clip]"
    error: PositiveFloat | None = None
    norm: PositiveFloat | None = None

    @model_validator(mode="after")
    def _consistent(self) -> "Clip":
        if (self.error is None) == (self.norm is None):
            raise ValueError("give one number: {error = 1.0} clips errors, {norm = 0.3} gradients.")
        return self


def read_loss(value: Any) -> Any:
    """A loss with its default number is its name, so that one problem has one digest."""
    if isinstance(value, str):
        if value in NAMES or PATH.fullmatch(value):
            return value
        raise ValueError(
            f"there is no loss {value!r}; {suggest(value, NAMES)} "
            "A jax.numpy function (f, y) -> loss of your own can be named as 'module:function'."
        )
    if isinstance(value, dict):
        value = _read_table(value)
    return value.kind if isinstance(value, Hinge | Huber) and value == type(value)(kind=value.kind) else value


def _read_table(value: dict[str, Any]) -> Any:
    kind = value.get("kind")
    if "function" in value:
        return UserLoss(**value)
    if kind in ("hinge", "squared-hinge"):
        return Hinge(**value)
    if kind == "huber":
        return Huber(**value)
    if kind in NAMES:
        if len(value) > 1:
            raise ValueError(f"the loss {kind!r} has no number; write loss = {kind!r}.")
        return kind
    if isinstance(kind, str):
        return read_loss(kind)
    raise ValueError("a loss given as a table needs the key 'kind' or 'function'.")


def write_loss(value: Any) -> Any:
    """As it stands in a file."""
    return value.model_dump(mode="json") if isinstance(value, Section) else written_function(value)


def _read_clip(value: Any) -> Any:
    if value == "none" or isinstance(value, Clip):
        return value
    if isinstance(value, dict):
        return Clip(**value)
    raise ValueError(f'clip = {value!r} is not known; write "none", {{error = 1.0}} or {{norm = 0.3}}.')


Loss = Annotated[
    str | Hinge | Huber | UserLoss | Callable[..., Any],
    BeforeValidator(read_loss),
    PlainSerializer(write_loss, when_used="json"),
    Field(exclude_if=lambda value: value == "square", examples=[*NAMES]),
]
Clipping = Annotated[
    Literal["none"] | Clip,
    BeforeValidator(_read_clip),
    Field(exclude_if=lambda value: value == "none", examples=["none", {"error": 1.0}, {"norm": 0.3}]),
]


def loss_name(written: Any) -> str:
    """What a loss is called in a sentence."""
    match written:
        case str():
            return written
        case Hinge() | Huber():
            return written.kind
        case UserLoss():
            return loss_name(written.function)
        case _:
            return str(getattr(written, "__name__", "function"))
