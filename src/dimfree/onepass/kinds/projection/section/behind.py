"""What is projected at random: eigenvalues of inputs, coefficients of the target (docs/theory/scaling.md, section 0)."""

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float

from dimfree.onepass.kind import DataSection
from dimfree.problem.start import GaussianStart

if TYPE_CHECKING:
    from dimfree.onepass.inputs.spectrum import Pool
    from dimfree.onepass.problem import OnePassProblem
    from dimfree.onepass.projected.population import Population

_MOST_DRAWN = 200_000_000  # numbers of a projection


class Modes(NamedTuple):
    """Every input by itself: its variance, and the target's coefficient."""

    h: Float[np.ndarray, " v"]
    b: Float[np.ndarray, " v"]


class ProjectedData(DataSection):
    """Data of one linear unit that sees `dimension` random mixtures W^T x of inputs x; entries of W have variance 1/dimension."""

    embedded: ClassVar[dict[str, Any]] = {
        "dimension": 128,
        "network": {"width": 1, "activation": "linear"},
        "training": {"learning_rate": 0.15},
        "run": {"until": 6.0, "replicas": 64, "points": 31},
    }
    linear_momentum: ClassVar[bool] = True
    units: ClassVar[int] = 0  # no directions are drawn with a start

    def inputs_of(self, size: float) -> int:
        """v, the number of inputs for a projection to this many features."""
        raise NotImplementedError

    def population(self, size: float) -> "Population":
        """The variances and energies that are projected to this size, in as few nodes as they need."""
        raise NotImplementedError

    def modes(self, size: int) -> Modes:
        """The variances and coefficients that are projected to this size, one by one."""
        raise NotImplementedError

    @property
    def label_noise(self) -> float:
        """Delta, the variance of labels that no linear function of all inputs has."""
        return self.noise

    @property
    def pool(self) -> "Pool | None":
        """The rows that inputs are from, if there are any."""
        return None

    def check(self, problem: "OnePassProblem") -> None:
        """Refuse as many features as inputs, projections too large to draw, and networks other than one linear unit."""
        v, network = self.inputs_of(problem.dimension), problem.network
        if problem.dimension >= v:
            raise ValueError(
                f"size {problem.dimension} is not below inputs {v}: nothing is hidden; lower dimension, raise the number of "
                'inputs, or use kind = "teacher" with a covariance and linear-mean.'
            )
        if v * problem.dimension > _MOST_DRAWN:
            raise ValueError(
                f"a projection of {v} inputs to {problem.dimension} features is too large to be drawn; lower dimension or "
                "data.inputs, or ask dimfree scaling, which draws none."
            )
        plain = (network.width, network.activation, network.trained) == (1, "linear", ("first-layer",))
        if not plain or network.bias_start or network.second_layer_start != 1.0 or network.outputs > 1:
            raise ValueError(
                f'kind = {self.kind!r} is about one linear unit; set network.width = 1 and network.activation = "linear", and '
                "leave out the other keys of [network]."
            )
        if problem.training.nesterov:
            raise ValueError("the mean behind a projection is worked out for plain momentum; leave nesterov out.")
        if problem.start != GaussianStart() or problem.training.spherical:
            raise ValueError(
                "weights behind a projection begin at 0 and are not kept on a sphere; leave out [start] and training.spherical."
            )
