"""The problem of telling two centred Gaussians apart by one-pass SGD, noisy or not, of neurons with all their parameters.

docs/theory/mean-field.md, sections b and c, in words: contrast is Delta, signal s0, scale kappa, weight_decay lambda and
inverse_temperature beta. Inputs and weights are in the canonical scaling of section 0: x = x_sheet/sqrt(d), w = sqrt(d) w_sheet.
"""

from typing import ClassVar, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, field_validator, model_validator

from dimfree.problem.activation import Activation, PiecewiseLinear
from dimfree.problem.section import Section
from dimfree.problem.problem import Problem
from dimfree.problem.run import Run
from dimfree.onepass.sections.start import GaussianStart
from dimfree.onepass.sections.training import Schedule

Part = Literal["first-layer", "bias", "second-layer"]
RAMP = PiecewiseLinear(knots=(0.5, 1.5), values=(-2.5, 7.5))


class TwoGaussians(Section):
    """Labels +1 and -1, equally likely, and centred inputs of variance (1 + label * contrast)²/dimension.

    With `signal` only so many coordinates are that telling; the others have variance 1/dimension in both classes.
    """

    title: ClassVar[str] = "[data]"
    kind: Literal["two-gaussians"] = "two-gaussians"
    contrast: float = Field(default=0.8, gt=0, lt=1)
    signal: PositiveInt | None = None


class Neurons(Section):
    """f(x) = (1/width) sum_i a_i activation(w_i.x + b_i), of which the parts named in `trained` learn."""

    title: ClassVar[str] = "[network]"
    width: PositiveInt = 400
    activation: Activation = RAMP
    trained: tuple[Part, ...] = Field(default=("first-layer",), min_length=1)
    second_layer_start: float = 1.0
    bias_start: float = 0.0

    @field_validator("trained")
    @classmethod
    def _in_order(cls, trained: tuple[Part, ...]) -> tuple[Part, ...]:
        """However the parts are listed, it is the same network."""
        parts: tuple[Part, ...] = ("first-layer", "bias", "second-layer")
        return tuple(part for part in parts if part in trained)


class NoisyOnePass(Section):
    """SGD that sees every sample once: all parameters move by learning_rate/(width * dimension) times their gradient.

    That is one step of time, t = steps * learning_rate/(width * dimension). Parameters are those of section 0: offsets, second
    layer, and weights divided by sqrt(dimension). `weight_decay` pulls them to zero at this rate, and `inverse_temperature`
    adds Gaussian noise of variance 2 * time/inverse_temperature to each. A schedule scales gradient, decay and noise alike.
    """

    title: ClassVar[str] = "[training]"
    kind: Literal["one-pass"] = "one-pass"
    learning_rate: PositiveFloat = 0.32
    schedule: Schedule | None = None
    batch: PositiveInt = 1
    weight_decay: NonNegativeFloat = 0.0
    inverse_temperature: PositiveFloat | None = None


class TwoGaussiansProblem(Problem):
    """Everything that decides what SGD on two centred Gaussians will do."""

    family: ClassVar[str] = "two Gaussians"
    dimension: PositiveInt = 40
    data: TwoGaussians = TwoGaussians()
    network: Neurons = Neurons()
    training: NoisyOnePass = NoisyOnePass()
    start: GaussianStart = GaussianStart(scale=0.8)
    run: Run = Run(until=10.0, replicas=2, points=21, spacing="linear")

    @model_validator(mode="after")
    def _consistent(self) -> "TwoGaussiansProblem":
        if self.signal > self.dimension:
            raise ValueError(
                f"data.signal = {self.signal} coordinates do not fit into dimension {self.dimension}; "
                "lower data.signal or raise dimension."
            )
        return self

    @property
    def signal(self) -> int:
        """How many coordinates tell the classes apart: all of them unless the data say otherwise."""
        return self.data.signal or self.dimension

    @property
    def time_step(self) -> float:
        """learning_rate / (width * dimension), the step of section 0."""
        return self.training.learning_rate / (self.network.width * self.dimension)
