"""Losses l(f, y) of one sample and their errors e = -dl/df, which gradients of all parameters are multiples of.

docs/theory/losses.md, sections 0 and 4. Numbers (margin, threshold) are leaves, so that other values compile nothing anew.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.functions.loss import Hinge, Logistic

Coordinate = Literal["margin", "residual"]  # y f, or y - f

_NEVER = 1e-30  # the smallest share whose logarithm is taken: a position so far out is never reached


class SampleLoss(eqx.Module):
    """A loss of an output f and a label y, applied elementwise; several outputs lie along the last axis of f."""

    name: eqx.AbstractClassVar[str]
    along: eqx.AbstractClassVar[Coordinate]  # in which jumps are fixed places
    signs: ClassVar[bool] = False  # whether labels must be +1 or -1
    bounded: ClassVar[bool] = False  # whether errors are bounded whatever f and y are
    knows_jumps: ClassVar[bool] = True  # whether `jumps` are all there are

    @abstractmethod
    def __call__(self, f: Float[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
        """The value."""

    @abstractmethod
    def error(self, f: Float[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
        """e = -dl/df."""

    def errors_of_classes(self, f: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """The errors of the labels +1 and -1."""
        return self.error(f, jnp.ones_like(f)), self.error(f, -jnp.ones_like(f))

    @property
    def jumps(self) -> tuple[Float[Array, ""], ...]:
        """Where the error jumps or bends: values of y f or of y - f, as `along` says."""
        return ()

    @property
    def smooth(self) -> bool:
        """Whether the error neither jumps nor bends anywhere."""
        return self.knows_jumps and not self.jumps

    @property
    def continuous(self) -> bool:
        """Whether the error jumps nowhere; it may bend."""
        return self.smooth

    def reaching(self, threshold: Float[Array, ""]) -> tuple[Float[Array, ""], ...] | None:
        """Where along its coordinate |e| passes a threshold continuously; None if that depends on more than the coordinate."""
        return None


class ResidualLoss(SampleLoss):
    """A function of y - f."""

    along: ClassVar[Coordinate] = "residual"

    @abstractmethod
    def of_residual(self, r: Float[Array, "..."]) -> Float[Array, "..."]:
        """The value at y - f = r."""

    @abstractmethod
    def slope(self, r: Float[Array, "..."]) -> Float[Array, "..."]:
        """Its derivative, which is the error itself."""

    def __call__(self, f: Float[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
        return self.of_residual(y - f)

    def error(self, f: Float[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
        """The derivative at the residual."""
        return self.slope(y - f)


class SquareLoss(ResidualLoss):
    """(y - f)²/2."""

    name: ClassVar[str] = "square"

    def of_residual(self, r: Float[Array, "..."]) -> Float[Array, "..."]:
        """r²/2."""
        return 0.5 * r**2

    def slope(self, r: Float[Array, "..."]) -> Float[Array, "..."]:
        """The residual."""
        return r

    def reaching(self, threshold: Float[Array, ""]) -> tuple[Float[Array, ""], ...]:
        """On both sides."""
        return -threshold, threshold


class AbsoluteLoss(ResidualLoss):
    """|y - f|, whose error is a sign."""

    name: ClassVar[str] = "absolute"
    bounded: ClassVar[bool] = True

    def of_residual(self, r: Float[Array, "..."]) -> Float[Array, "..."]:
        """|r|."""
        return jnp.abs(r)

    def slope(self, r: Float[Array, "..."]) -> Float[Array, "..."]:
        """The sign of the residual."""
        return jnp.sign(r)

    @property
    def jumps(self) -> tuple[Float[Array, ""], ...]:
        """At residual 0."""
        return (jnp.zeros(()),)

    def reaching(self, threshold: Float[Array, ""]) -> tuple[Float[Array, ""], ...]:
        """Nowhere but at the jump."""
        return ()


class HuberLoss(ResidualLoss):
    """r²/2 up to the threshold, and a straight line beyond: the square loss with its error clipped."""

    name: ClassVar[str] = "huber"
    bounded: ClassVar[bool] = True
    threshold: Float[Array, ""]

    def of_residual(self, r: Float[Array, "..."]) -> Float[Array, "..."]:
        """Parabola and lines."""
        inside = jnp.minimum(jnp.abs(r), self.threshold)
        return inside * (jnp.abs(r) - 0.5 * inside)

    def slope(self, r: Float[Array, "..."]) -> Float[Array, "..."]:
        """The residual, clipped."""
        return jnp.clip(r, -self.threshold, self.threshold)

    @property
    def jumps(self) -> tuple[Float[Array, ""], ...]:
        """Where the lines begin."""
        return -self.threshold, self.threshold

    @property
    def continuous(self) -> bool:
        """The error only bends there."""
        return True

    def reaching(self, threshold: Float[Array, ""]) -> tuple[Float[Array, ""], ...]:
        """On both sides, unless the lines begin before."""
        least = jnp.minimum(threshold, self.threshold)
        return -least, least


class MarginLoss(SampleLoss):
    """A function of y f for labels +1 and -1."""

    along: ClassVar[Coordinate] = "margin"
    signs: ClassVar[bool] = True

    @abstractmethod
    def of_margin(self, m: Float[Array, "..."]) -> Float[Array, "..."]:
        """The value at y f = m."""

    @abstractmethod
    def slope(self, m: Float[Array, "..."]) -> Float[Array, "..."]:
        """Its derivative."""

    def __call__(self, f: Float[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
        return self.of_margin(y * f)

    def error(self, f: Float[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
        """Minus the slope at the margin, times the label."""
        return -y * self.slope(y * f)


class LogisticLoss(MarginLoss):
    """ln(1 + e^-m)."""

    name: ClassVar[str] = "logistic"
    bounded: ClassVar[bool] = True

    def of_margin(self, m: Float[Array, "..."]) -> Float[Array, "..."]:
        """The value, without overflow."""
        return Logistic()(m)

    def slope(self, m: Float[Array, "..."]) -> Float[Array, "..."]:
        """-1/(1 + e^m), without overflow."""
        return Logistic().derivative(m)

    def errors_of_classes(self, f: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        return -self.slope(f), -self.slope(f) - 1  # from one exponential

    def reaching(self, threshold: Float[Array, ""]) -> tuple[Float[Array, ""], ...]:
        """m = ln(1/threshold - 1); errors never reach 1."""
        return (jnp.log(jnp.maximum(1 / threshold - 1, _NEVER)),)


class ExponentialLoss(MarginLoss):
    """e^-m."""

    name: ClassVar[str] = "exponential"

    def of_margin(self, m: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.exp(-m)

    def slope(self, m: Float[Array, "..."]) -> Float[Array, "..."]:
        """-e^-m."""
        return -jnp.exp(-m)

    def reaching(self, threshold: Float[Array, ""]) -> tuple[Float[Array, ""], ...]:
        """m = -ln threshold."""
        return (-jnp.log(threshold),)


class HingeLoss(MarginLoss):
    """max(0, margin - m); at margin 0 the perceptron's."""

    name: ClassVar[str] = "hinge"
    bounded: ClassVar[bool] = True
    margin: Float[Array, ""]

    def of_margin(self, m: Float[Array, "..."]) -> Float[Array, "..."]:
        """The hinge of margin one, shifted."""
        return Hinge()(m - self.margin + 1)

    def slope(self, m: Float[Array, "..."]) -> Float[Array, "..."]:
        """-1 below the margin, 0 from it on."""
        return Hinge().derivative(m - self.margin + 1)

    @property
    def jumps(self) -> tuple[Float[Array, ""], ...]:
        """At the margin."""
        return (self.margin,)

    def reaching(self, threshold: Float[Array, ""]) -> tuple[Float[Array, ""], ...]:
        """Nowhere but at the jump."""
        return ()


class SquaredHingeLoss(MarginLoss):
    """max(0, margin - m)²/2; at margin 0, for a linear network, AdaTron."""

    name: ClassVar[str] = "squared-hinge"
    margin: Float[Array, ""]

    def of_margin(self, m: Float[Array, "..."]) -> Float[Array, "..."]:
        return 0.5 * jnp.maximum(self.margin - m, 0.0) ** 2

    def slope(self, m: Float[Array, "..."]) -> Float[Array, "..."]:
        """Linear below the margin, 0 from it on."""
        return -jnp.maximum(self.margin - m, 0.0)

    @property
    def jumps(self) -> tuple[Float[Array, ""], ...]:
        """The margin, where the error bends."""
        return (self.margin,)

    def reaching(self, threshold: Float[Array, ""]) -> tuple[Float[Array, ""], ...]:
        """As far below the margin."""
        return (self.margin - threshold,)


class CorrelationLoss(SampleLoss):
    """-y f, whose error is the label: Hebb's rule."""

    name: ClassVar[str] = "correlation"
    along: ClassVar[Coordinate] = "margin"

    def __call__(self, f: Float[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
        return -y * f

    def error(self, f: Float[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
        """The label."""
        return y * jnp.ones_like(f)


class FunctionLoss(SampleLoss):
    """A jax.numpy function (f, y) -> loss of the user's, with the places where its error jumps or bends."""

    title: str = eqx.field(static=True)
    function: Callable[..., Array] = eqx.field(static=True)
    coordinate: Coordinate = eqx.field(static=True)
    declared: tuple[float, ...] = eqx.field(static=True)

    @property
    def name(self) -> str:  # type: ignore[override]
        """As the user calls it."""
        return self.title

    @property
    def along(self) -> Coordinate:  # type: ignore[override]
        """As declared."""
        return self.coordinate

    def __call__(self, f: Float[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
        return self.function(f, y)

    def error(self, f: Float[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
        """Minus the derivative of the loss; as no average is differentiated, jumps of the derivative do no harm."""
        return -jax.jvp(lambda at: self.function(at, y), (f,), (jnp.ones_like(f),))[1]

    @property
    def jumps(self) -> tuple[Float[Array, ""], ...]:
        """As declared."""
        return tuple(jnp.asarray(place) for place in self.declared)
