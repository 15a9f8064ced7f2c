"""Dynamical mean-field theory of multi-pass SGD as a description: of one unit, or of a two-layer network."""

from collections.abc import Mapping
from typing import ClassVar

from jaxtyping import Array, Key

from dimfree.dataset.committee.model import CommitteeModel
from dimfree.dataset.committee.start import CommitteeStart
from dimfree.dataset.committee.theory import SeveralUnits
from dimfree.dataset.dmft.one_unit import OneUnit
from dimfree.dataset.revisited import Account, RevisitedModel
from dimfree.description import Cost, Memory, Times, Values
from dimfree.problem import Problem


class DMFT(Memory[RevisitedModel, CommitteeStart | None]):
    """The limit of infinite dimension at a fixed number of samples per dimension and of steps.

    For networks of several units, `paths` and `ensembles` are lower limits: the number of paths is chosen so that their bias
    is small, up to 32,000, and there are at least 12 ensembles. Responses of nonlinear units are computed only on request.
    """

    name: ClassVar[str] = "dmft"
    summary: ClassVar[str] = (
        "multi-pass SGD in infinite dimension: dynamical mean-field theory, exact for the square loss of linear units"
    )
    cites: ClassVar[tuple[str, ...]] = ("mignacco2020", "gerbelot2024")
    models: ClassVar[type[RevisitedModel]] = RevisitedModel
    stochastic: ClassVar[bool] = True  # paths are drawn, unless every average closes
    paths: int = 4000
    ensembles: int = 4
    responses: bool | None = None  # whether R and K are computed; None: where they cost little, up to 200 steps

    def _theory(self, model: RevisitedModel) -> Account:
        if isinstance(model, CommitteeModel):
            return SeveralUnits(self.paths, self.ensembles, self.responses)
        return OneUnit(self.paths, self.ensembles, self.responses)

    def refuses(self, problem: Problem, model: RevisitedModel) -> str | None:
        """Refuse responses that do not exist, and rates that diverge, naming the largest stable rate."""
        return self._theory(model).refuses(problem, model)

    def cost(self, problem: Problem, model: RevisitedModel) -> Cost:
        return self._theory(model).cost(problem, model)

    def accuracy(self, problem: Problem, model: RevisitedModel) -> float:
        """Allow for the fluctuations of one data set in the dimension of the simulation."""
        return float(problem.dimension) ** -0.5

    def leaves_open(self, problem: Problem, model: RevisitedModel) -> str:
        """The accuracy depends on the dimension of the simulation."""
        return f"at dimension {problem.dimension:,}"

    def replicas(self, model: RevisitedModel, asked: int) -> int:
        """Ensembles of paths are the replicas: their spread is the error bar of the theory. An exact solution is a single one."""
        return self._theory(model).replicas(model, asked)

    def at_once(self, model: RevisitedModel) -> bool:
        """Ensembles of networks share the cores."""
        return isinstance(model, CommitteeModel)

    def replica(
        self, model: RevisitedModel, start: CommitteeStart | None, times: Times, key: Key[Array, ""], number: int
    ) -> Mapping[str, Values]:
        """Solve one ensemble of paths."""
        return self._theory(model).replica(model, start, times, key, number)

    def warns(self, problem: Problem, model: RevisitedModel, seen: Mapping[str, Values]) -> tuple[str, ...]:
        """Warn of the bias of few paths."""
        return self._theory(model).warns(problem, model)
