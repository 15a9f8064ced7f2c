"""Yardsticks for where training ends: the largest margin, and the Bayes-optimal learner, which no learner beats."""

from collections.abc import Mapping
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.dataset.ends.bayes import bayes_optimal, bayes_real_labels
from dimfree.dataset.ends.end_model import EndModel
from dimfree.dataset.ends.max_margin import max_margin
from dimfree.dataset.ends.solve import SETTLED, solved
from dimfree.dataset.ends.task import Task
from dimfree.description import Cost, Stationary
from dimfree.functions.loss import Square
from dimfree.problem import Problem
from dimfree.setting import Variable

_TEACHERS = "set data.kind = 'sign-teacher'"
_NO_NOISE = 1e-12  # a ridge that replaces 0, by which one cannot divide


class MaxMargin(Stationary[EndModel, None]):
    """The limit of vanishing weight decay on data that can be separated (docs/theory/static.md, section a)."""

    name: ClassVar[str] = "max-margin"
    summary: ClassVar[str] = "the classifier of the largest margin: where training ends as weight decay goes to zero"
    cites: ClassVar[tuple[str, ...]] = ("aubin2020",)
    models: ClassVar[type[EndModel]] = EndModel
    variables: ClassVar[Mapping[str, Variable]] = {
        "margin": Variable(("time", "replica"), "1", "smallest y h over all samples, for weights with |w|² = d")
    }

    def refuses(self, problem: Problem, model: EndModel) -> str | None:
        """Refuse labels other than signs, weight decay, and data that cannot be separated."""
        if model.task is None or model.task.labels != "sign":
            return f"margins are known for labels that are the sign of a teacher; {_TEACHERS}."
        if float(model.task.lambda_) > 0:
            return "the largest margin is reached as weight decay goes to zero; set training.weight_decay = 0."
        if not float(max_margin(model.task).left) <= SETTLED:
            return "these data cannot be separated, so that there is no margin; lower data.samples or the noise."
        return None

    def cost(self, problem: Problem, model: EndModel) -> Cost:
        """The cost is that of a fixed point of three numbers."""
        return Cost(1.5, 1, 0.0)

    def accuracy(self, problem: Problem, model: EndModel) -> float:
        """The fluctuations of one data set in the dimension of the simulation."""
        return float(problem.dimension) ** -0.5

    def leaves_open(self, problem: Problem, model: EndModel) -> str:
        """The dimension."""
        return f"at dimension {problem.dimension:,}"

    def solve(self, model: EndModel) -> Mapping[str, Float[Array, ""]]:
        """The shortest weights with margins of one; none of the samples is lost."""
        assert model.task is not None
        end = max_margin(model.task)
        return {"risk": model.task.risk(end.m, end.q), "m": end.m, "norm": end.norm, "margin": end.norm**-0.5}


class BayesOptimal(Stationary[EndModel, None]):
    """The error of the best possible learner: the mean over the posterior of a Gaussian teacher."""

    name: ClassVar[str] = "bayes-optimal"
    summary: ClassVar[str] = "the smallest error that any learner can have on these data, in infinite dimension"
    cites: ClassVar[tuple[str, ...]] = ("barbier2019",)
    models: ClassVar[type[EndModel]] = EndModel

    def refuses(self, problem: Problem, model: EndModel) -> str | None:
        """Refuse teachers about which more is known than their variance."""
        if model.task is None:
            return f"the best learner is known for independent features and a sign or linear teacher; {_TEACHERS}."
        return why_not_best(model.task)

    def cost(self, problem: Problem, model: EndModel) -> Cost:
        """A root in one number."""
        return Cost(1.0, 1, 0.0)

    def solve(self, model: EndModel) -> Mapping[str, Float[Array, ""]]:
        """The posterior mean, whose norm is its overlap."""
        assert model.task is not None
        return best_learner(model.task)


def why_not_best(task: Task) -> str | None:
    """Why the best learner of a task is not known, if it is not."""
    if task.covariates.omega.size > 1:
        return f"the best learner is known for independent features and a sign or linear teacher; {_TEACHERS}."
    if task.outliers is not None and float(task.outliers.slope) < 0:
        return (
            f"with outliers of slope {float(task.outliers.slope):g} the equation of the best learner may have several "
            "solutions; set data.outliers.slope to 0 or more."
        )
    return None


def best_learner(task: Task) -> Mapping[str, Float[Array, ""]]:
    """For linear labels without outliers it is ridge regression with the noise as ridge (relative to the teacher's weights)."""
    cov = task.covariates
    hidden = cov.rho - cov.explained + task.Delta
    known = cov.explained
    if task.outliers is not None:
        q = bayes_real_labels(task.alpha, known, cov.rho - known, task.law).q
        return {"risk": task.risk(q, q), "m": q, "norm": q / jnp.sum(cov.omega)}
    if task.labels == "linear":
        ridge = jnp.maximum(hidden / known, _NO_NOISE) * jnp.sum(cov.omega)
        end = solved(task.at(task.alpha, ridge).losing(Square()))
        return {"risk": end.risk, "m": end.m, "norm": end.norm}
    q = bayes_optimal(task.alpha, known, hidden).q
    return {"risk": task.risk(q, q), "m": q, "norm": q / jnp.sum(cov.omega)}
