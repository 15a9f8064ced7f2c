"""Any spectrum and target, or rows and labels of the user, behind a random projection (docs/theory/scaling.md, section 0)."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Float
from pydantic import NonNegativeFloat, model_validator

from dimfree.errors import ProblemError
from dimfree.onepass.inputs.covariance import (
    AnyCovariance,
    Features,
    Isotropic,
    Power,
    spelled_covariance,
)
from dimfree.onepass.inputs.spectrum import Pool, Spectrum, dimension_of, spectrum
from dimfree.onepass.kinds.projection.section.behind import Modes, ProjectedData
from dimfree.tables import read_table

if TYPE_CHECKING:
    from dimfree.onepass.projected.population import Population

_VANISHING = 1e-12  # of the largest eigenvalue: directions in which inputs do not vary


class Projected(ProjectedData):
    """Inputs of a given covariance, and a target of a given direction or the labels of rows, seen through a random projection.

    A network of one linear unit sees `dimension` features xi = W^T x, where W has independent entries of variance 1/dimension,
    drawn from run.seed; its weights begin at 0. With covariance = {file = "X.npy", labels = "y.npy"} inputs and target are those
    of rows: the target is the best linear fit to the labels, and what it leaves is label noise. Otherwise `target` is a file of
    one coefficient for every input, and `noise` the variance of the label noise.
    """

    kind: Literal["projected"] = "projected"
    covariance: AnyCovariance = Features(file=Path("digits"), labels=Path("target"))
    target: Path | None = None  # a file of coefficients, one per input
    noise: NonNegativeFloat = 0.0

    @classmethod
    def spelled(cls, values: dict[str, Any]) -> dict[str, Any]:
        """If a file of rows is given, the covariance is theirs."""
        return spelled_covariance(super().spelled(values))

    @classmethod
    def left_out(cls, values: dict[str, Any]) -> dict[str, Any]:
        """By default there are half as many features as the digits have pixels."""
        return {**super().left_out(values), "dimension": 32, "training": {"learning_rate": 0.5}}

    @model_validator(mode="after")
    def _one_target(self) -> "Projected":
        if isinstance(self.covariance, Isotropic | Power):
            raise ValueError(
                f"covariance = {self.covariance.kind!r} does not say how many inputs there are; give a spectrum, a matrix, "
                'levels with multiplicities or features, or use kind = "power-law".'
            )
        learnt = isinstance(self.covariance, Features) and self.covariance.labels is not None
        if learnt == (self.target is not None):
            raise ValueError(
                "the target is either that of the labels of rows or a file of coefficients; give covariance.labels or target, "
                "one of the two."
            )
        if learnt and self.noise:
            raise ValueError("the label noise is what the best linear fit leaves of the labels; leave noise out.")
        return self

    @property
    def inputs(self) -> Spectrum:
        """The covariance before the projection."""
        return _spectrum(self.covariance)

    @property
    def pool(self) -> Pool | None:
        """Rows with labels; of rows without labels nothing but the covariance is used."""
        found = self.inputs.pool
        return found if found is not None and found.labels is not None else None

    @property
    def label_noise(self) -> float:
        """The given variance, or what the best linear fit leaves unexplained."""
        return self.noise if self.pool is None else self.inputs.linear_teacher[1]

    def inputs_of(self, size: float) -> int:
        """The number of directions in which inputs vary."""
        return int(np.sum(self._varying))

    def modes(self, size: int) -> Modes:
        """In the eigenbasis, x ~ N(0, Sigma/v)."""
        found, varying = self.inputs, self._varying
        return Modes((found.coordinates / found.dimension)[varying], self._coefficients()[varying])

    def rows(self) -> Float[np.ndarray, "n v"]:
        """The rows of the pool, along the directions in which inputs vary."""
        assert self.pool is not None
        return self.pool.rows[:, self._varying]

    def population(self, size: float) -> "Population":
        """The population of all modes; no nodes stand for several of them."""
        from dimfree.onepass.projected.population import levels

        h, b = self.modes(round(size))
        return levels(h, h * b**2, np.ones(len(h)))

    @property
    def _varying(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        values = self.inputs.coordinates
        return np.asarray(values > _VANISHING * values.max())

    def _coefficients(self) -> Float[np.ndarray, " v"]:
        """b in the eigenbasis."""
        found = self.inputs
        if self.target is None:
            return found.linear_teacher[0]
        given = np.squeeze(read_table(self.target))
        if given.shape != (found.dimension,) or not np.isfinite(given).all():
            raise ProblemError(
                f"{self.target.name} has shape {given.shape} and there are {found.dimension} inputs; give one finite coefficient "
                "for every input."
            )
        b = found.into_eigenbasis(given[None])[0]
        if not np.any(b[self._varying]):
            raise ProblemError(
                f"all coefficients in {self.target.name} are 0, so that there is nothing to learn; give others."
            )
        return b


def _spectrum(covariance: AnyCovariance) -> Spectrum:
    dimension = dimension_of(covariance)
    if dimension is None:
        raise ProblemError(
            "shares of directions do not say how many inputs there are; give multiplicities, one per value."
        )
    return spectrum(covariance, dimension)
