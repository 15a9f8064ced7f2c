"""SGD behind a random projection, drawn in the eigenbasis of the projection: exact in law (docs/theory/scaling.md, section 0)."""

from typing import Any, ClassVar

from dimfree.description import Cost, Dynamics
from dimfree.onepass.projected_model import ProjectedModel
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.start import Start
from dimfree.problem import Problem


class EigenbasisSGD(VectorSGD):
    """Given the projection, its features and the label are Gaussian, and so nothing else has to be drawn."""

    name: ClassVar[str] = "sgd-eigenbasis"
    summary: ClassVar[str] = (
        "real SGD behind a projection, drawn in its eigenbasis: exact in law, at the cost of its size"
    )
    models: ClassVar[type[ProjectedModel]] = ProjectedModel

    def cost(self, problem: Problem, model: Any) -> Cost:
        """Without the inputs that are projected."""
        return super().cost(problem, model.in_eigenbasis)

    def twin(self, model: Any) -> tuple[Dynamics[Any, Start, Any], ProjectedModel]:
        """SGD on vectors, with another law of the same inputs and labels."""
        return VectorSGD(), model.in_eigenbasis
