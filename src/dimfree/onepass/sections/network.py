"""The section [network]: the two-layer network."""

from typing import Any, ClassVar, Literal

from pydantic import Field, PositiveInt, field_validator, model_validator

from dimfree.problem.activation import Activation
from dimfree.problem.section import Section

Scaling = Literal["mean", "sqrt", "sum"]
Part = Literal["first-layer", "bias", "second-layer"]
_PARTS: tuple[Part, ...] = ("first-layer", "bias", "second-layer")


class TwoLayer(Section):
    """f(x) = s sum_i a_i activation(w_i.x + b_i), with s = 1/width ("mean"), 1/sqrt(width) ("sqrt") or 1 ("sum").

    The parts named in `trained` learn; second_layer = "trained" or "fixed" is a short way to have the second layer among them.
    A second layer of "signs" starts at +1, -1, +1, ..., a "uniform" one at equally likely values between -1 and 1, in order.
    """

    title: ClassVar[str] = "[network]"
    width: PositiveInt = 4
    activation: Activation = "erf"
    trained: tuple[Part, ...] = Field(default=("first-layer",), min_length=1)
    second_layer_start: float | Literal["signs", "uniform"] | tuple[float, ...] = 1.0
    bias_start: float = 0.0
    scaling: Scaling = "mean"

    @classmethod
    def spelled(cls, values: dict[str, Any]) -> dict[str, Any]:
        """The short way to have the second layer among the parts that learn."""
        parts = values.get("trained", ("first-layer",))
        if "second_layer" not in values or not isinstance(parts, list | tuple):
            return values
        given = values["second_layer"]
        if given not in ("fixed", "trained"):
            raise ValueError(f"second_layer is {given!r}; choose 'fixed' or 'trained'.")
        rest = {key: value for key, value in values.items() if key != "second_layer"}
        others = [part for part in parts if part != "second-layer"]
        return {**rest, "trained": [*others, *(["second-layer"] if given == "trained" else [])]}

    @field_validator("trained")
    @classmethod
    def _in_order(cls, trained: tuple[Part, ...]) -> tuple[Part, ...]:
        """However the parts are listed, it is the same network."""
        return tuple(part for part in _PARTS if part in trained)

    @model_validator(mode="after")
    def _consistent(self) -> "TwoLayer":
        if isinstance(self.second_layer_start, tuple) and len(self.second_layer_start) != self.width:
            raise ValueError(
                f"second_layer_start has {len(self.second_layer_start)} entries for width {self.width}; give one per unit."
            )
        if "second-layer" not in self.trained and self.starts_at_zero:
            raise ValueError(
                f"second_layer_start = {self.second_layer_start!r} is 0 for every unit and stays so, so that nothing can be "
                "learned; give a value that is not 0, or put 'second-layer' into trained."
            )
        return self

    @property
    def starts_at_zero(self) -> bool:
        """Whether the second layer is 0 for every unit at the start."""
        match self.second_layer_start:
            case "signs":
                return False
            case "uniform":
                return self.width == 1
            case tuple(given):
                return not any(given)
            case value:
                return value == 0

    @property
    def second_layer(self) -> Literal["fixed", "trained"]:
        """Whether the second layer learns."""
        return "trained" if "second-layer" in self.trained else "fixed"

    @property
    def alike(self) -> bool:
        """Whether all units begin with one value of the second layer."""
        given = self.second_layer_start
        return not isinstance(given, str) and (not isinstance(given, tuple) or len(set(given)) == 1)

    @property
    def has_offsets(self) -> bool:
        """Whether neurons have an offset b that is not zero or may become so."""
        return "bias" in self.trained or self.bias_start != 0


def prefactor(scaling: Scaling, width: int) -> float:
    """The factor s in front of the sum over hidden units."""
    return {"mean": 1.0 / width, "sqrt": width**-0.5, "sum": 1.0}[scaling]
