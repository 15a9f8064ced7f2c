"""A loss whose errors are clipped: a rule of training that wraps any other loss (docs/theory/losses.md, section 4)."""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.functions.sample_loss import Coordinate, SampleLoss


class ClippedLoss(SampleLoss):
    """Another loss whose errors are clipped to [-threshold, threshold] (section 4); its value stays what it was."""

    inner: SampleLoss
    threshold: Float[Array, ""]
    bounded: ClassVar[bool] = True

    @property
    def name(self) -> str:  # type: ignore[override]
        """That of the loss."""
        return self.inner.name

    @property
    def along(self) -> Coordinate:  # type: ignore[override]
        """That of the loss."""
        return self.inner.along

    @property
    def signs(self) -> bool:  # type: ignore[override]
        """That of the loss."""
        return self.inner.signs

    @property
    def knows_jumps(self) -> bool:  # type: ignore[override]
        """Whether it is known where clipping begins."""
        return self.inner.knows_jumps and self.inner.reaching(self.threshold) is not None

    def __call__(self, f: Float[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
        """The value before clipping, which changes steps and not what is reported."""
        return self.inner(f, y)

    def error(self, f: Float[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
        """The error, clipped."""
        return self._clipped(self.inner.error(f, y))

    def errors_of_classes(self, f: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """Both errors, clipped."""
        up, down = self.inner.errors_of_classes(f)
        return self._clipped(up), self._clipped(down)

    def _clipped(self, e: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.clip(e, -self.threshold, self.threshold)

    @property
    def jumps(self) -> tuple[Float[Array, ""], ...]:
        """Those of the loss, and where clipping begins."""
        return (*self.inner.jumps, *(self.inner.reaching(self.threshold) or ()))
