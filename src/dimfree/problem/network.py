"""The section [network]: the two-layer network, of fresh samples and of data sets alike."""

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, PositiveInt, field_validator, model_validator

from dimfree.problem.activation import Activation
from dimfree.problem.matrix import Matrix
from dimfree.problem.section import Section

Scaling = Literal["mean", "sqrt", "sum"]
Part = Literal["first-layer", "bias", "second-layer"]
_PARTS: tuple[Part, ...] = ("first-layer", "bias", "second-layer")


class TwoLayer(Section):
    """f(x) = s sum_i a_i activation(w_i.x + b_i), with s = 1/width ("mean"), 1/sqrt(width) ("sqrt") or 1 ("sum").

    The parts named in `trained` learn; second_layer = "trained" or "fixed" is a short way to have the second layer among them.
    A second layer of "signs" starts at +1, -1, +1, ..., a "uniform" one at equally likely values between -1 and 1, in order.

    With `outputs` above 1 the second layer is a matrix, outputs x width. If it is given by one number per unit, units
    belong to the outputs in turn: the first unit to the first output only, and so on; signs change after every round.
    """

    title: ClassVar[str] = "[network]"
    width: PositiveInt = 4
    activation: Activation = "erf"
    trained: tuple[Part, ...] = Field(default=("first-layer",), min_length=1)
    outputs: Annotated[PositiveInt, Field(exclude_if=lambda given: given == 1)] = 1
    second_layer_start: float | Literal["signs", "uniform"] | tuple[float, ...] | Matrix = 1.0
    bias_start: float = 0.0
    scaling: Scaling = "mean"  # the factor in front of the sum over units

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
        """Sort the parts, so that their order does not matter."""
        return tuple(part for part in _PARTS if part in trained)

    @model_validator(mode="after")
    def _consistent(self) -> "TwoLayer":
        given = self.second_layer_start
        if matrix := self.start_matrix:
            self._check_matrix(matrix)
        elif isinstance(given, tuple) and len(given) != self.width:
            raise ValueError(f"second_layer_start has {len(given)} entries for width {self.width}; give one per unit.")
        if "second-layer" not in self.trained and self.starts_at_zero:
            raise ValueError(
                f"second_layer_start = {self.second_layer_start!r} is 0 for every unit and stays so, so that nothing can be "
                "learned; give a value that is not 0, or put 'second-layer' into trained."
            )
        return self

    def _check_matrix(self, matrix: Matrix) -> None:
        if self.outputs == 1:
            raise ValueError(
                "second_layer_start is a matrix, outputs x width, and the network has one output; give one number per unit, or "
                f"set outputs = {len(matrix)}."
            )
        lengths = sorted({len(row) for row in matrix})
        if len(matrix) != self.outputs or lengths != [self.width]:
            shape = f"{len(matrix)} rows of {' or '.join(map(str, lengths))} numbers"
            raise ValueError(
                f"second_layer_start has {shape}; give {self.outputs} rows of {self.width} numbers (outputs x width)."
            )
        if "second-layer" not in self.trained and len({*matrix}) == 1:
            raise ValueError(
                "second_layer_start has the same row for every output and stays so, so that all outputs are equal and nothing "
                "can be learned; give rows that differ, or put 'second-layer' into trained."
            )

    @property
    def start_matrix(self) -> Matrix:
        """The second layer at the start where it is given for every output; empty where it is not."""
        given = self.second_layer_start
        rows = given if isinstance(given, tuple) else ()
        return tuple(row for row in rows if isinstance(row, tuple))

    @property
    def starts_at_zero(self) -> bool:
        """Whether the second layer is 0 for every unit at the start."""
        match self.second_layer_start:
            case "signs":
                return False
            case "uniform":
                return self.width == 1
            case tuple(given):
                return not any(any(one) if isinstance(one, tuple) else one for one in given)
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
        several = isinstance(given, str) or self.outputs > 1
        return not several and (not isinstance(given, tuple) or len(set(given)) == 1)

    @property
    def has_offsets(self) -> bool:
        """Whether neurons have an offset b that is not zero or may become so."""
        return "bias" in self.trained or self.bias_start != 0


def prefactor(scaling: Scaling, width: int) -> float:
    """The factor s in front of the sum over hidden units."""
    return {"mean": 1.0 / width, "sqrt": width**-0.5, "sum": 1.0}[scaling]


def canonical_layer(network: TwoLayer) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
    """The second layer at the start in the convention f = (1/width) sum_i a_i activation(...), whatever the scaling is.

    For several outputs it has a row for each, and units count for them in turn.
    """
    match network.second_layer_start:
        case "signs":
            a = 1.0 - 2.0 * (np.arange(network.width) // network.outputs % 2)
        case "uniform":
            a = (2 * np.arange(network.width) + 1) / network.width - 1
        case given:
            a = np.broadcast_to(np.asarray(given, dtype=float), (*np.shape(given)[:-1], network.width))
    if network.outputs > 1 and a.ndim == 1:
        a = np.where(np.arange(network.width) % network.outputs == np.arange(network.outputs)[:, None], a, 0.0)
    return np.asarray(a * network.width * prefactor(network.scaling, network.width), dtype=float)
