"""Power-law random features (docs/theory/scaling.md, section 0)."""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, NonNegativeFloat, PositiveInt

from dimfree.onepass.kinds.projection.section.behind import Modes, ProjectedData
from dimfree.problem.section import Section

if TYPE_CHECKING:
    from dimfree.onepass.problem import OnePassProblem
    from dimfree.onepass.projected.population import Population

_STEEPEST = 5.0  # beyond it variances of many inputs are 0 in rounding


class PerSize(Section):
    """So many inputs for every feature that the network sees."""

    title: ClassVar[str] = "[data.inputs]"
    per_size: float = Field(gt=1)


class PowerLaw(ProjectedData):
    """Inputs with variances j^(-2 alpha), and labels sum_j j^(-beta) x_j plus noise, seen through a random projection.

    A network of one linear unit sees `dimension` features xi = W^T x of the `inputs` x, where W has independent entries of
    variance 1/dimension, drawn from run.seed. Its weights begin at 0. `inputs` is a number, or {per_size = 8}: that many for
    every feature.
    """

    kind: Literal["power-law"] = "power-law"
    alpha: Annotated[float, Field(gt=0, le=_STEEPEST)] = 0.7  # the j-th input has variance j^(-2 alpha)
    beta: float = 1.2  # the j-th input counts j^(-beta) in the label
    inputs: PositiveInt | PerSize = PerSize(per_size=8.0)
    noise: NonNegativeFloat = 0.0

    def inputs_of(self, size: float) -> int:
        """The number of inputs, given as it is or for every feature."""
        return round(self.inputs.per_size * size) if isinstance(self.inputs, PerSize) else self.inputs

    def population(self, size: float) -> "Population":
        """A few hundred nodes for any number of inputs."""
        from dimfree.onepass.projected.population import power_law

        return power_law(self.alpha, self.beta, self.inputs_of(size))

    def modes(self, size: int) -> Modes:
        """The variances and coefficients of all inputs."""
        j = np.arange(1.0, self.inputs_of(size) + 1)
        return Modes(j ** (-2 * self.alpha), j**-self.beta)

    def check(self, problem: "OnePassProblem") -> None:
        """Refuse targets of infinite energy, too."""
        if 2 * (self.alpha + self.beta) <= 1:
            raise ValueError(
                f"alpha + beta = {self.alpha + self.beta:g}: the target's energy diverges with inputs and there is no power law; "
                "choose alpha + beta above 0.5."
            )
        super().check(problem)
