"""The losses of data sets as functions l(F, y) of the output of a network."""

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.functions.convex import Loss
from dimfree.functions.loss import loss
from dimfree.functions.sample_loss import Coordinate, HuberLoss, MarginLoss, ResidualLoss, SampleLoss
from dimfree.functions.written_loss import written_loss


class ConvexMargin(MarginLoss):
    """A convex function of y F."""

    inner: Loss

    @property
    def name(self) -> str:  # type: ignore[override]
        """As problems call it."""
        return self.inner.name

    def of_margin(self, m: Float[Array, "..."]) -> Float[Array, "..."]:
        """Its value."""
        return self.inner(m)

    def slope(self, m: Float[Array, "..."]) -> Float[Array, "..."]:
        """Its derivative."""
        return self.inner.derivative(m)

    @property
    def continuous(self) -> bool:
        """As the function says."""
        return self.inner.smooth


class ConvexResidual(ResidualLoss):
    """A convex and even function of y - F, written as one of u = 1 - (y - F)."""

    along: ClassVar[Coordinate] = "residual"
    inner: Loss

    @property
    def name(self) -> str:  # type: ignore[override]
        """As problems call it."""
        return self.inner.name

    def of_residual(self, r: Float[Array, "..."]) -> Float[Array, "..."]:
        """Its value."""
        return self.inner(1 - r)

    def slope(self, r: Float[Array, "..."]) -> Float[Array, "..."]:
        """Its derivative in the residual."""
        return -self.inner.derivative(1 - r)

    @property
    def continuous(self) -> bool:
        """As the function says."""
        return self.inner.smooth


def network_loss(written: Any, width: float, *, classes: bool) -> SampleLoss:
    """The loss of a problem, with the width that data sets give beside its name."""
    match written:
        case "huber":
            return HuberLoss(jnp.asarray(width, dtype=float))
        case "smooth-hinge" | "insensitive":
            convex = loss(written, width)
            return ConvexResidual(convex) if convex.of_residual else ConvexMargin(convex)
        case _:
            return written_loss(written, classes)
