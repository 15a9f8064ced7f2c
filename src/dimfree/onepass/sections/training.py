"""The training rule."""

from typing import ClassVar, Literal

from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from dimfree.problem.schedule import Schedule
from dimfree.problem.section import Section


class OnePass(Section):
    """SGD that sees every sample once.

    Time is counted in units of the base learning rate: t = steps * learning_rate / (width * dimension), also while a
    schedule changes the rate. Both decays are per unit of that time; `weight_decay` acts on the first layer and its offsets,
    `second_layer_decay` on the second layer. The second layer moves at second_layer_rate * learning_rate / dimension, so that
    both layers move on the same time scale. `inverse_temperature` adds Gaussian noise of variance
    2 * time / inverse_temperature to every trained parameter: offsets, second layer, and weights divided by sqrt(dimension).
    """

    title: ClassVar[str] = "[training]"
    kind: Literal["one-pass"] = "one-pass"
    learning_rate: PositiveFloat = 1.0
    schedule: Schedule | None = None
    scheduled: Literal["gradient", "everything"] = "gradient"  # "everything": decay and noise follow the schedule too
    batch: PositiveInt = 1
    second_layer_rate: NonNegativeFloat = 1.0
    weight_decay: NonNegativeFloat = 0.0
    second_layer_decay: NonNegativeFloat | Literal["same"] = 0.0  # "same": that of the first layer
    spherical: bool = False
    inverse_temperature: PositiveFloat | None = None
