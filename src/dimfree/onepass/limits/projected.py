"""The mean of SGD behind a random projection: exactly for the one that is drawn, and without it (docs/theory/scaling.md)."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

import jax.numpy as jnp
import numpy as np

from dimfree.description import Ask, Cost, Description, Piece, Values
from dimfree.functions.schedule import Constant
from dimfree.onepass.projected.mean_risk import critical_rate, mean_risks
from dimfree.onepass.projected.measures import Measures, equivalent
from dimfree.onepass.projected.step_by_step import stepwise_risks
from dimfree.onepass.projected_model import ProjectedModel
from dimfree.onepass.start import Start
from dimfree.problem import Problem

_MOST_STEPS = 5_000_000  # the most steps of a schedule, which are computed one by one


class ProjectedMean(Description[ProjectedModel, Start]):
    """The mean risk for the same projection that real SGD uses: by equation (1.3), or step by step along a schedule."""

    name: ClassVar[str] = "projected-mean"
    summary: ClassVar[str] = "the exact mean of SGD behind the random projection that was drawn"
    cites: ClassVar[tuple[str, ...]] = ("paquette2024", "maloney2022")
    models: ClassVar[type[ProjectedModel]] = ProjectedModel

    def measures(self, model: ProjectedModel) -> Measures:
        """The measures of signal and noise for the projection that was drawn."""
        return model.measures()

    def refuses(self, problem: Problem, model: ProjectedModel) -> str | None:
        """Refuse anything but plain SGD."""
        if model.spherical or model.noisy or float(model.omega):
            return "it is exact for plain SGD; leave out decay, noise on the weights and spherical = true."
        steps = problem.steps(problem.run.until)
        if _step_by_step(model) and steps > _MOST_STEPS:
            return (
                f"it takes the {steps} steps of a schedule or of momentum one by one; lower run.until to at most {_MOST_STEPS} "
                "steps."
            )
        return None

    def cost(self, problem: Problem, model: ProjectedModel) -> Cost:
        """Roots of an equation with a term for every eigenvalue; along a schedule, or with momentum, every step."""
        d, steps = model.eigenvalues.size, problem.steps(problem.run.until)
        walked = steps * (2e-5 + 1e-8 * d) if _step_by_step(model) else 0.0
        return Cost(0.5 + 3e-7 * d**2 + walked, len(problem.times), 60.0 * d**2)

    def warns(self, problem: Problem, model: ProjectedModel, seen: Mapping[str, Values]) -> tuple[str, ...]:
        """Warn of a rate above the limit of stability."""
        limit, rate = critical_rate(self.measures(model), model.batch), float(model.gamma)
        if rate <= limit or _step_by_step(model):
            return ()
        return (
            f"learning_rate {rate:g} is above the limit of stability {limit:.3g}, and the mean risk grows without end: choose "
            f"below {limit / 2:.2g} for a margin.",
        )

    def account(self, model: ProjectedModel, start: Start, ask: Ask) -> Iterator[Piece]:
        """Compute all times in one step."""
        found, gamma, Delta = self.measures(model), float(model.gamma), float(model.Delta)
        steps = np.rint(ask.times / float(model.time_step)).astype(int)
        if _step_by_step(model):
            factors = np.asarray(model.schedule(jnp.arange(int(steps[-1])) * model.time_step))
            batches, beta = np.full(len(factors), model.batch), float(model.beta)
            risks = stepwise_risks(found, gamma * factors, batches, Delta, steps, beta)
        else:
            risks = mean_risks(found, gamma, model.batch, Delta, steps)
        yield Piece({"risk": risks[:, None]}, "time", 1.0)


def _step_by_step(model: ProjectedModel) -> bool:
    """Whether rates change, or velocities are carried on: then no formula has all times at once."""
    return model.momentum or not isinstance(model.schedule, Constant)


class Equivalent(ProjectedMean):
    """The same for the deterministic equivalent, which knows the spectrum of the inputs and the size alone."""

    name: ClassVar[str] = "equivalent"
    summary: ClassVar[str] = (
        "the mean of SGD behind a random projection by its deterministic equivalent: no matrix is drawn"
    )

    def measures(self, model: ProjectedModel) -> Measures:
        """The two measures, from the population."""
        return equivalent(model.population(), float(model.dimension))
