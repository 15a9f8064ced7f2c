"""The section [training]: the training rule of one-pass SGD."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, model_validator

from dimfree.problem.loss import CROSS_ENTROPY, NEED_SIGNS, Clip, Clipping, Hinge, Loss, loss_name
from dimfree.problem.schedule import Schedule
from dimfree.problem.section import Section


def _is_nothing(value: float | bool) -> bool:
    return not value


class OnePass(Section):
    """SGD that sees every sample once.

    Time is counted in units of the base learning rate: t = steps * learning_rate / (width * dimension), also while a
    schedule changes the rate. Both decays are per unit of that time; `weight_decay` acts on the first layer and its offsets,
    `second_layer_decay` on the second layer. The second layer moves at second_layer_rate * learning_rate / dimension, so that
    both layers move on the same time scale. `inverse_temperature` adds Gaussian noise of variance
    2 * time / inverse_temperature to every trained parameter: offsets, second layer, and weights divided by sqrt(dimension).

    With `momentum` (heavy ball, or Nesterov's rule, in the form of PyTorch) learning_rate is that of a fresh gradient, and time
    counts the rate learning_rate / (1 - momentum) at which it moves weights in the end; decay goes through the velocity. A
    schedule acts on fresh gradients, not on velocities (as in Keras; PyTorch multiplies both).

    `loss` is a name, {kind = "hinge", margin = 0.0}, {kind = "huber", threshold = 0.5}, or a function (f, y) -> loss of your own;
    "cross-entropy" is that of networks with several outputs. `clip` bounds errors, {error = 1.0}, or gradients, {norm = 0.3}.
    """

    title: ClassVar[str] = "[training]"
    kind: Literal["one-pass"] = "one-pass"
    learning_rate: PositiveFloat = 1.0
    schedule: Schedule | None = None
    scheduled: Literal["gradient", "everything"] = "gradient"  # "everything": decay and noise follow the schedule too
    batch: int = Field(default=1, gt=0, le=10**12)
    second_layer_rate: NonNegativeFloat = 1.0
    weight_decay: NonNegativeFloat = 0.0
    second_layer_decay: NonNegativeFloat | Literal["same"] = 0.0  # "same": that of the first layer
    spherical: bool = False
    inverse_temperature: PositiveFloat | None = None
    momentum: Annotated[float, Field(exclude_if=_is_nothing)] = 0.0  # left out of the text of problems without it
    nesterov: Annotated[bool, Field(exclude_if=_is_nothing)] = False
    loss: Loss = "square"
    clip: Clipping = "none"

    @model_validator(mode="after")
    def _consistent(self) -> "OnePass":
        if not 0 <= self.momentum < 1:
            raise ValueError("momentum must be at least 0 and below 1.")
        with_momentum = {
            "spherical = true": self.spherical,
            "inverse_temperature": self.inverse_temperature is not None,
        }
        for name, given in with_momentum.items():
            if self.momentum and given:
                raise ValueError(f"momentum together with {name} is not derived; leave one of them out.")
        if self.needs_outputs and isinstance(self.clip, Clip) and self.clip.error is not None:
            raise ValueError(
                "clip = {error = ...} bounds one number per sample, and the cross-entropy loss has one for every output, all "
                "below 1; leave it out, or clip gradients by {norm = 0.3}."
            )
        return self

    @property
    def needs_signs(self) -> bool:
        """Whether the loss is one of labels +1 and -1."""
        return isinstance(self.loss, Hinge) or self.loss in NEED_SIGNS

    @property
    def needs_outputs(self) -> bool:
        """Whether the loss is one of several outputs."""
        return self.loss == CROSS_ENTROPY

    @property
    def beyond_square(self) -> str | None:
        """A loss that is not the square loss, or clipping, in words; None if there is nothing of the kind."""
        if self.loss != "square":
            return f"the {loss_name(self.loss)} loss"
        return None if self.clip == "none" else "clipping"

    @property
    def effective_rate(self) -> float:
        """How far a sample moves the weights in the end."""
        return self.learning_rate / (1 - self.momentum)
