"""The problem of the lazy limit: a finite data set, a two-layer network with an output scale, gradient flow on the square loss.

docs/theory/mean-field.md, section h, in words: network.output_scale is gamma in g(x) = gamma sum_i a_i sigma(w_i.x), so that
1/width is the mean-field scale and 1/sqrt(width) the lazy one. Inputs have coordinates of variance 1/dimension.
"""

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, field_validator, model_validator

from dimfree.problem.activation import Activation
from dimfree.problem.problem import Problem
from dimfree.problem.run import Run
from dimfree.problem.section import Section

Part = Literal["first-layer", "second-layer"]
_PARTS: tuple[Part, ...] = ("first-layer", "second-layer")
_EXAMPLE = {
    "inputs": ((1.0, 0.0), (0.0, 1.0), (0.8, 0.6), (-0.6, 0.8), (0.28, -0.96), (0.96, -0.28)),
    "labels": (1.0, -1.0, 0.5, -0.5, 1.0, 0.8),
}
_CLOCK = 1_000_000  # gradient flow has no steps; saved times are whole multiples of the run's length divided by this


class DrawnPoints(Section):
    """Inputs drawn once, labelled by link(sqrt(d) u.x) of one direction u plus noise of variance `noise`; u is the first axis.

    Inputs are N(0, I/d), or uniform on the unit sphere; link = "linear" is a linear target. Held-out labels have no noise.
    """

    title: ClassVar[str] = "[data]"
    kind: Literal["drawn-points"] = "drawn-points"
    samples: PositiveInt = 20
    held_out: PositiveInt = 200
    law: Literal["gaussian", "sphere"] = "gaussian"
    link: Activation = "hard-tanh"
    noise: NonNegativeFloat = 0.0
    seed: int = Field(default=0, ge=0, lt=2**63)  # seed of the data set; run.seed is the seed of the networks


class GivenPoints(Section):
    """Inputs and labels that are given: as rows and numbers, or as arrays X (points x dimension) and y in an .npz file.

    The last `held_out` points are not trained on. Without inputs and without a file there are six points in the plane.
    """

    title: ClassVar[str] = "[data]"
    kind: Literal["given-points"] = "given-points"
    held_out: PositiveInt = 1
    file: Path | None = None  # an .npz file with arrays X and y
    inputs: tuple[tuple[float, ...], ...] = ()
    labels: tuple[float, ...] = ()  # one per row of inputs

    @classmethod
    def spelled(cls, values: dict[str, Any]) -> dict[str, Any]:
        """The values with six example points if none are given."""
        return values if {"file", "inputs", "labels"} & values.keys() else {**values, **_EXAMPLE}

    @model_validator(mode="after")
    def _one_source(self) -> "GivenPoints":
        if (self.file is None) == (not self.inputs):
            raise ValueError("give the points either as inputs and labels, or in a file.")
        lengths = {len(row) for row in self.inputs}
        if len(lengths) > 1:
            raise ValueError(f"inputs have rows of {sorted(lengths)} numbers; give all of them the same dimension.")
        if len(self.inputs) != len(self.labels):
            raise ValueError(f"there are {len(self.inputs)} inputs and {len(self.labels)} labels; give one per input.")
        return self


class ScaledTwoLayer(Section):
    """g(x) = gamma sum_i a_i activation(w_i.x), with gamma the `output_scale`.

    It is a number, or "mean-field" (1/width), or "lazy" (1/sqrt(width)).
    """

    title: ClassVar[str] = "[network]"
    width: PositiveInt = 200
    activation: Activation = "erf"  # of all units
    output_scale: float | Literal["mean-field", "lazy"] = "lazy"
    trained: tuple[Part, ...] = Field(default=_PARTS, min_length=1)  # the layers that learn

    @field_validator("trained")
    @classmethod
    def _in_order(cls, trained: tuple[Part, ...]) -> tuple[Part, ...]:
        """Sort the parts, so that their order does not matter."""
        return tuple(part for part in _PARTS if part in trained)

    @model_validator(mode="after")
    def _admissible(self) -> "ScaledTwoLayer":
        if self.gamma <= 0:
            raise ValueError(
                f"output_scale = {self.gamma:g} is not positive; give 1/width = {1 / self.width:.3g} for the mean-field scale, "
                f"1/sqrt(width) = {self.width**-0.5:.3g} for the lazy one, or more."
            )
        if self.width % 2:
            raise ValueError(
                f"width = {self.width} is odd, but units start in pairs of opposite output; set width = {self.width + 1}."
            )
        return self

    @property
    def gamma(self) -> float:
        """The output scale as a number."""
        named = {"mean-field": 1 / self.width, "lazy": self.width**-0.5}
        return named[self.output_scale] if isinstance(self.output_scale, str) else self.output_scale


class FullGradientFlow(Section):
    """theta' = -grad L with L = |g(X) - y|²/2, a sum over the points; time is gamma² width times that of this flow."""

    title: ClassVar[str] = "[training]"
    kind: Literal["gradient-flow"] = "gradient-flow"


class PairedStart(Section):
    """Gaussian weights for half of the units; each of them has a twin of opposite a, so that g = 0 at the start."""

    title: ClassVar[str] = "[start]"
    kind: Literal["paired"] = "paired"
    scale: PositiveFloat = 1.0
    second_layer_scale: PositiveFloat = 1.0


class LazyProblem(Problem):
    """Everything that decides what gradient flow of a scaled network on a finite data set will do."""

    time_units: ClassVar[str] = "output_scale² * width * time of the gradient flow"
    shares_start: ClassVar[bool] = False
    dimension: int = Field(default=6, gt=0, le=10**6)
    data: Annotated[DrawnPoints | GivenPoints, Field(discriminator="kind")] = DrawnPoints()
    network: ScaledTwoLayer = ScaledTwoLayer()
    training: FullGradientFlow = FullGradientFlow()
    start: PairedStart = PairedStart()
    run: Run = Run(until=100.0, points=41)

    @classmethod
    def left_out(cls, values: dict[str, Any]) -> dict[str, Any]:
        """The dimension of points that are given as rows."""
        data = values.get("data")
        given = isinstance(data, dict) and data.get("kind") == GivenPoints.model_fields["kind"].default
        rows = GivenPoints.spelled(data).get("inputs") if given and isinstance(data, dict) else None
        return {"dimension": len(rows[0])} if isinstance(rows, list | tuple) and rows and _is_row(rows[0]) else {}

    @model_validator(mode="after")
    def _own_starts(self) -> "LazyProblem":
        if self.run.starts > 1:
            raise ValueError(
                f"run.starts = {self.run.starts}, but every replica is a network with a start of its own; leave run.starts out."
            )
        return self

    @property
    def time_step(self) -> float:
        """The unit of which all saved times are whole multiples."""
        return self.run.until / _CLOCK

    @property
    def remedy(self) -> str:
        """What to change when numbers become too large; gradient flow itself cannot diverge."""
        return "lower the labels or start.scale"


def _is_row(row: object) -> bool:
    return isinstance(row, list | tuple) and len(row) > 0
