"""SGD behind a random projection on other inputs than genuine ones (docs/theory/scaling.md, section 0).

Drawn in the eigenbasis of the projection inputs are the same in law; rows of the user's own have the same covariance.
"""

from typing import Any, ClassVar

from dimfree.description import Cost, Dynamics
from dimfree.onepass.projected_model import ProjectedModel
from dimfree.onepass.real.vectors import VectorSGD, walker
from dimfree.onepass.start import Start
from dimfree.problem import Problem


class EigenbasisSGD(VectorSGD):
    """Real SGD behind a projection: given that, features and label are Gaussian, so that nothing else needs to be drawn."""

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
        return walker(model), model.in_eigenbasis


class ProjectedRows(VectorSGD):
    """Rows drawn with replacement: their risk depends on second moments alone, and so it is that of Gaussian inputs."""

    name: ClassVar[str] = "projected-rows"
    summary: ClassVar[str] = "real SGD behind a projection on the rows of your own data, drawn with replacement"
    models: ClassVar[type[ProjectedModel]] = ProjectedModel

    def refuses(self, problem: Problem, model: Any) -> str | None:
        """Rows with labels are needed."""
        if model.rows is None:
            return "there are no rows to draw; set data.covariance = {file = 'X.npy', labels = 'y.npy'}, or use sgd."
        return super().refuses(problem, model)

    def cost(self, problem: Problem, model: Any) -> Cost:
        """Without the inputs that are projected."""
        return super().cost(problem, model.on_rows)

    def twin(self, model: Any) -> tuple[Dynamics[Any, Start, Any], ProjectedModel]:
        """SGD on vectors, with another law of inputs and labels."""
        return walker(model), model.on_rows
