"""The loss of a one-pass rule, with clipping."""

import jax
from jaxtyping import Array, Float

from dimfree.functions.clipped_loss import ClippedLoss
from dimfree.functions.sample_loss import SampleLoss
from dimfree.functions.written_loss import written_loss
from dimfree.onepass.sections.training import OnePass
from dimfree.problem.loss import Clip


def sample_loss(training: OnePass, *, classes: bool) -> SampleLoss:
    """The loss of a training rule, its error clipped if that is asked for; `classes`, labels are +1 and -1."""
    loss = written_loss(training.loss, classes)
    if isinstance(training.clip, Clip) and training.clip.error is not None:
        return ClippedLoss(loss, jax.device_put(training.clip.error))
    return loss


def norm_limit(training: OnePass) -> Float[Array, ""] | None:
    """The norm above which gradients are shortened."""
    clip = training.clip
    return jax.device_put(clip.norm) if isinstance(clip, Clip) and clip.norm is not None else None
