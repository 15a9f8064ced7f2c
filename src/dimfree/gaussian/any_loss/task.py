"""What averages of a loss depend on beside the overlaps: they know neither problems nor training rules."""

import equinox as eqx
from jaxtyping import Array, Float

from dimfree.functions.activation import Activation
from dimfree.functions.label_law import LabelLaw
from dimfree.functions.sample_loss import SampleLoss
from dimfree.functions.target import Target


class Task(eqx.Module):
    """Students of one activation that learn labels of a target by a loss (docs/theory/losses.md, section 0)."""

    activation: Activation
    target: Target
    loss: SampleLoss
    labels: LabelLaw
    Delta: Float[Array, ""]  # variance of Gaussian label noise, squared scale of Student noise
    norm: Float[Array, ""] | None = None  # theta of (4.1), at which gradients of single samples are clipped

    @property
    def units(self) -> int:
        """k."""
        return self.target.units
