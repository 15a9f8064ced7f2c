"""What learns: the two-layer network."""

from typing import ClassVar, Literal

from pydantic import PositiveInt, model_validator

from dimfree.problem.activation import Activation
from dimfree.problem.section import Section

Scaling = Literal["mean", "sqrt", "sum"]


class TwoLayer(Section):
    """f(x) = s sum_i a_i activation(w_i.x), with s = 1/width ("mean"), 1/sqrt(width) ("sqrt") or 1 ("sum")."""

    title: ClassVar[str] = "[network]"
    width: PositiveInt = 4
    activation: Activation = "erf"
    second_layer: Literal["fixed", "trained"] = "fixed"
    second_layer_start: float | Literal["signs"] | tuple[float, ...] = 1.0
    scaling: Scaling = "mean"

    @model_validator(mode="after")
    def _consistent(self) -> "TwoLayer":
        if isinstance(self.second_layer_start, tuple) and len(self.second_layer_start) != self.width:
            raise ValueError(
                f"second_layer_start has {len(self.second_layer_start)} entries for width {self.width}; give one per unit."
            )
        return self


def prefactor(scaling: Scaling, width: int) -> float:
    """The factor s in front of the sum over hidden units."""
    return {"mean": 1.0 / width, "sqrt": width**-0.5, "sum": 1.0}[scaling]
