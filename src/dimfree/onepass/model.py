"""What a OnePassProblem becomes for the numerical rooms: static structure (one trace each) and numbers (a pytree).

The canonical convention (docs/theory/committee.md, section 0) is reached here: whatever the scaling of the two networks,
f = (1/p) sum_i a_i sigma(lambda_i) and f* = (1/k) sum_r a*_r sigma*(lambda*_r) from here on.
"""

from functools import lru_cache

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.functions.activation import Activation
from dimfree.functions.named import activation
from dimfree.functions.schedule import Schedule, schedule
from dimfree.functions.target import Committee, HermiteLink, Target
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.sections import MultiIndex
from dimfree.onepass.sections.network import prefactor


class Model(eqx.Module):
    """Student, target and training rule in canonical letters; a pytree whose leaves are the numbers."""

    width: int = eqx.field(static=True)
    batch: int = eqx.field(static=True)
    trained: bool = eqx.field(static=True)
    spherical: bool = eqx.field(static=True)
    few_dimensions: int | None = eqx.field(static=True)  # d, when so small that it is a shape in overlap space
    activation: Activation
    target: Target
    schedule: Schedule
    dimension: Float[Array, ""]
    gamma: Float[Array, ""]
    Delta: Float[Array, ""]
    eta_a: Float[Array, ""]
    omega: Float[Array, ""]
    omega_a: Float[Array, ""]

    @property
    def units(self) -> int:
        """k, the number of teacher directions."""
        return self.target.units

    @property
    def time_step(self) -> Float[Array, ""]:
        """dt = gamma / (p d)."""
        return self.gamma / (self.width * self.dimension)


@lru_cache(maxsize=64)
def model(problem: OnePassProblem) -> Model:
    """The model of a problem."""
    training, network = problem.training, problem.network
    blocked = block_steps(training.batch) * training.batch
    stretch = network.width * prefactor(network.scaling, network.width)  # a = stretch * (the user's second layer)
    return Model(
        width=network.width,
        batch=training.batch,
        trained=network.second_layer == "trained",
        spherical=training.spherical,
        few_dimensions=problem.dimension if problem.dimension < network.width + problem.data.units + blocked else None,
        activation=activation(network.activation),
        target=_target(problem),
        schedule=schedule(training.schedule),
        dimension=jnp.asarray(float(problem.dimension)),
        gamma=jnp.asarray(training.learning_rate),
        Delta=jnp.asarray(problem.data.noise),
        eta_a=jnp.asarray(training.second_layer_rate * stretch**2),
        omega=jnp.asarray(training.weight_decay),
        omega_a=jnp.asarray(training.second_layer_decay),
    )


def block_steps(batch: int) -> int:
    """How many steps of SGD are taken as one block: about sixteen samples, at least one step."""
    return max(1, 16 // batch)


def second_layer(problem: OnePassProblem) -> Float[Array, " p"]:
    """The canonical second layer at the start."""
    network = problem.network
    match network.second_layer_start:
        case "signs":
            a = 1.0 - 2.0 * (np.arange(network.width) % 2)
        case given:
            a = np.broadcast_to(np.asarray(given, dtype=float), (network.width,))
    return jnp.asarray(a * network.width * prefactor(network.scaling, network.width))


def _target(problem: OnePassProblem) -> Target:
    data = problem.data
    P = jnp.asarray(problem.teacher_overlap)
    if isinstance(data, MultiIndex):
        terms, coefficients = data.expansion
        return HermiteLink(terms, jnp.asarray(coefficients), P)
    stretch = data.units * prefactor(data.scaling, data.units)
    a_star = np.broadcast_to(np.asarray(data.second_layer, dtype=float), (data.units,)) * stretch
    return Committee(activation(data.activation), jnp.asarray(a_star), P)
