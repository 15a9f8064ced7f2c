"""Inputs that are features of a few hidden variables, which the teacher sees itself."""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from dimfree.onepass.inputs.spectrum import Spectrum
from dimfree.onepass.kinds.teacher.section import TeacherNetwork
from dimfree.problem.start import GaussianStart, SphereStart

if TYPE_CHECKING:
    from dimfree.onepass.problem import OnePassProblem

_MOST_FEATURES = 5_000  # their covariance is a full matrix, which must be diagonalised


class HiddenManifold(TeacherNetwork):
    """Inputs are features of a few hidden Gaussian variables, and the teacher sees these variables, not the features.

    With `latent` variables z, x_i = features(F_i.z/sqrt(latent)) over sqrt(dimension), of variance 1/dimension. The directions F,
    at random, and the teacher's are drawn from run.seed: all starts share them.
    """

    any_loss: ClassVar[bool] = False
    kind: Literal["hidden-manifold"] = "hidden-manifold"
    latent: Annotated[int, Field(ge=1, le=10_000)] = 150
    features: Literal["sign", "erf", "tanh", "linear"] = "sign"  # the function of hidden variables

    def check(self, problem: "OnePassProblem") -> None:
        """Check that sizes fit, and that the start brings no teacher."""
        if self.units > self.latent:
            raise ValueError(
                f"{self.units} independent teacher directions do not fit into data.latent = {self.latent}; "
                "lower data.units or raise data.latent."
            )
        if problem.dimension > _MOST_FEATURES:
            raise ValueError(
                f"dimension = {problem.dimension} features of a hidden manifold have a covariance that is too large to be "
                f"diagonalised; lower dimension to at most {_MOST_FEATURES}."
            )
        if not isinstance(problem.start, GaussianStart | SphereStart):
            raise ValueError(
                f"start.kind = {problem.start.kind!r} brings overlaps with a teacher, and that of a hidden manifold sees other "
                "variables; choose 'gaussian' or 'sphere'."
            )

    @property
    def correlated(self) -> bool:
        """True: features are correlated."""
        return True

    @property
    def unusual(self) -> str | None:
        return "a hidden manifold"

    def spectrum(self, problem: "OnePassProblem") -> Spectrum:
        """The spectrum of the features."""
        from dimfree.onepass.kinds.manifold.numbers import manifold_of  # with Gaussian averages, which need jax

        return manifold_of(problem).spectrum

    def given_teachers(self, problem: "OnePassProblem") -> np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None:
        """The part of the teacher that inputs explain."""
        from dimfree.onepass.kinds.manifold.numbers import manifold_of  # as above

        return manifold_of(problem).teachers
