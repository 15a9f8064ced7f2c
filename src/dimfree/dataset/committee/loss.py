"""The losses of data sets as functions l(F, y) of the output of a network."""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.functions.convex import Loss
from dimfree.functions.loss import loss
from dimfree.functions.sample_loss import (
    AbsoluteLoss,
    Coordinate,
    HingeLoss,
    HuberLoss,
    LogisticLoss,
    MarginLoss,
    ResidualLoss,
    SampleLoss,
    SquareLoss,
)


class ConvexMargin(MarginLoss):
    """A convex function of y F."""

    name: ClassVar[str] = "margin"
    inner: Loss

    def of_margin(self, m: Float[Array, "..."]) -> Float[Array, "..."]:
        """Its value."""
        return self.inner(m)

    def slope(self, m: Float[Array, "..."]) -> Float[Array, "..."]:
        """Its derivative."""
        return self.inner.derivative(m)


class ConvexResidual(ResidualLoss):
    """A convex and even function of y - F, written as one of u = 1 - (y - F)."""

    name: ClassVar[str] = "residual"
    along: ClassVar[Coordinate] = "residual"
    inner: Loss

    def of_residual(self, r: Float[Array, "..."]) -> Float[Array, "..."]:
        """Its value."""
        return self.inner(1 - r)

    def slope(self, r: Float[Array, "..."]) -> Float[Array, "..."]:
        """Its derivative in the residual."""
        return -self.inner.derivative(1 - r)


def network_loss(name: str, width: float) -> SampleLoss:
    """The loss with this name of data-set problems; averages over fresh samples know most of them by a class of their own."""
    number = jnp.asarray(width, dtype=float)
    known: dict[str, SampleLoss] = {
        "square": SquareLoss(),
        "logistic": LogisticLoss(),
        "hinge": HingeLoss(jnp.ones(())),
        "absolute": AbsoluteLoss(),
        "huber": HuberLoss(number),
    }
    if name in known:
        return known[name]
    convex = loss(name, width)
    return ConvexResidual(convex) if convex.of_residual else ConvexMargin(convex)
