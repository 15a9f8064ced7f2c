"""Power-law random features (docs/theory/scaling.md, section 0)."""

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt

from dimfree.onepass.kind import DataSection
from dimfree.problem.section import Section
from dimfree.problem.start import GaussianStart

if TYPE_CHECKING:
    from dimfree.onepass.problem import OnePassProblem

_MOST_DRAWN = 200_000_000  # numbers of a projection


class PerSize(Section):
    """So many inputs for every feature that the network sees."""

    title: ClassVar[str] = "[data.inputs]"
    per_size: float = Field(gt=1)


class PowerLaw(DataSection):
    """Inputs with variances j^(-2 alpha), and labels sum_j j^(-beta) x_j plus noise, seen through a random projection.

    A network of one linear unit sees `dimension` features xi = W^T x of the `inputs` x, where W has independent entries of
    variance 1/dimension, drawn from run.seed. Its weights begin at 0. `inputs` is a number, or {per_size = 8}: that many for
    every feature.
    """

    embedded: ClassVar[dict[str, Any]] = {
        "dimension": 128,
        "network": {"width": 1, "activation": "linear"},
        "training": {"learning_rate": 0.15},
        "run": {"until": 6.0, "replicas": 64, "points": 31},
    }
    kind: Literal["power-law"] = "power-law"
    alpha: PositiveFloat = 0.7
    beta: float = 1.2
    inputs: PositiveInt | PerSize = PerSize(per_size=8.0)
    noise: NonNegativeFloat = 0.0
    units: ClassVar[int] = 0  # no directions are drawn with a start

    def inputs_of(self, size: float) -> int:
        """v, for a projection to so many features."""
        return round(self.inputs.per_size * size) if isinstance(self.inputs, PerSize) else self.inputs

    def check(self, problem: "OnePassProblem") -> None:
        """A target of finite energy, a projection that hides something, and the one network that it is about."""
        v, network = self.inputs_of(problem.dimension), problem.network
        if 2 * (self.alpha + self.beta) <= 1:
            raise ValueError(
                f"alpha + beta = {self.alpha + self.beta:g}: the target's energy diverges with inputs and there is no power law; "
                "choose alpha + beta above 0.5."
            )
        if problem.dimension >= v:
            raise ValueError(
                f"size {problem.dimension} is not below inputs {v}: nothing is hidden; lower dimension, raise data.inputs, or "
                'use kind = "teacher" with a covariance.'
            )
        if v * problem.dimension > _MOST_DRAWN:
            raise ValueError(
                f"a projection of {v} inputs to {problem.dimension} features is too large to be drawn; lower dimension or "
                "data.inputs, or ask dimfree scaling, which draws none."
            )
        plain = (network.width, network.activation, network.trained) == (1, "linear", ("first-layer",))
        if not plain or network.bias_start or network.second_layer_start != 1.0 or network.outputs > 1:
            raise ValueError(
                "kind = 'power-law' is about one linear unit; set network.width = 1 and network.activation = \"linear\", and "
                "leave out the other keys of [network]."
            )
        if problem.start != GaussianStart() or problem.training.spherical:
            raise ValueError(
                "weights behind a projection begin at 0 and are not kept on a sphere; leave out [start] and training.spherical."
            )
