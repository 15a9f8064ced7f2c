"""A problem followed by the equations of the limit, on a grid of times: what any rates lead to."""

from dataclasses import dataclass
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.description import AnyDescription
from dimfree.onepass.limits.caution import unresolved
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.programs.compiled import quick_program
from dimfree.questions.schedules.certificate import Conditions
from dimfree.questions.schedules.grid import Bounds, Vector
from dimfree.questions.schedules.parts import Followed, State, critical, dot, parts
from dimfree.questions.schedules.search import Course
from dimfree.questions.schedules.walk import Steered, greedy_factors, steered


@dataclass
class Equations(Course):
    """The overlap equations, or those of every eigenvalue, on their grid."""

    model: Followed
    starts: State  # with a leading axis

    theory: ClassVar[AnyDescription] = HighDimensional()
    said: ClassVar[str] = "the ODE"
    where: ClassVar[str] = "In the limit"

    def seen(self, factors: Vector, numbers: Vector | None = None) -> Steered:
        """Everything about one walk."""
        chosen = self.numbers if numbers is None else numbers
        steps, given, others = jax.device_put((np.diff(self.grid.times), factors, chosen))
        return steered(self.model, self.starts, steps, given, others, self.kind)

    def conditions(self, factors: Vector, numbers: Vector) -> Conditions:
        """Ratio and H at the beginning of every step of the grid."""
        seen, model = self.seen(factors, numbers), self._model_with(numbers)
        slopes = np.asarray(_slopes(model, seen.states, seen.costates))
        used = factors[:-1:2]
        hamiltonian = slopes[:, 0] + used * slopes[:, 1] + used**2 * slopes[:, 2]
        ratio = -slopes[:, 1] / (2 * slopes[:, 2]) / used
        return Conditions(self.grid.times[:-1], ratio, hamiltonian, bool((slopes[:, 2] > 0).all()))

    def greedy(self, box: Bounds) -> Vector:
        """By equation (1.1)."""
        steps = jax.device_put(np.diff(self.grid.times))
        return np.asarray(greedy_factors(self.model, self.starts, steps, jnp.asarray(box), self.kind))

    def critical(self) -> float:
        """A/B of equation (1.1)."""
        return float(critical(self.model, self.starts, self.kind))

    def unresolved(self, risks: Vector) -> bool:
        """Whether a risk is lost in differences of averages."""
        seen = {"risk": risks[None]}
        return next(unresolved(self.model.model, seen, HighDimensional().rtol), None) is not None

    def _model_with(self, numbers: Vector) -> Followed:
        eta_a, omega = jax.device_put(tuple(numbers))
        return eqx.tree_at(lambda m: (m.model.eta_a, m.model.omega), self.model, (eta_a, omega))


@quick_program
def _slopes(model: Followed, states: State, costates: State) -> Float[Array, "n 3"]:
    """lambda·F0, lambda·F1 and lambda·F2 at every state."""

    def one(now: tuple[State, State]) -> Array:
        return jnp.stack([dot(now[1], part) for part in parts(model, now[0])])

    return jax.lax.map(one, (states, costates))
