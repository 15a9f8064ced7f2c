"""What expectations need to know about a student and its target; they depend on neither problems nor training rules."""

from typing import Protocol, runtime_checkable

from jaxtyping import Array, Float

from dimfree.functions.activation import Activation
from dimfree.functions.label_law import LabelLaw
from dimfree.functions.sample_loss import SampleLoss
from dimfree.functions.target import Target


@runtime_checkable
class Learner(Protocol):
    """A network of `width` units of one activation that learns a target with label noise of variance Delta."""

    @property
    def width(self) -> int: ...
    @property
    def units(self) -> int: ...
    @property
    def activation(self) -> Activation: ...
    @property
    def target(self) -> Target: ...
    @property
    def Delta(self) -> Float[Array, ""]: ...
    @property
    def dimension(self) -> Float[Array, ""]: ...


@runtime_checkable
class LossLearner(Learner, Protocol):
    """A learner with any loss, whose labels follow any law."""

    @property
    def loss(self) -> SampleLoss: ...
    @property
    def labels(self) -> LabelLaw: ...


@runtime_checkable
class Stepper(Learner, Protocol):
    """A learner and what decides the size of its steps."""

    @property
    def batch(self) -> int: ...
    @property
    def train_a(self) -> bool: ...
    @property
    def spherical(self) -> bool: ...
    @property
    def gamma(self) -> Float[Array, ""]: ...
    @property
    def eta_a(self) -> Float[Array, ""]: ...
