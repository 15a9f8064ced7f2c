"""From the words of a two-Gaussians problem to the letters of docs/theory/mean-field.md: structure and numbers."""

from functools import lru_cache

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from dimfree.functions.activation import Activation
from dimfree.functions.named import activation
from dimfree.functions.schedule import Schedule, schedule
from dimfree.onepass.gaussians_problem import Neurons, TwoGaussiansProblem


class NeuronModel(eqx.Module):
    """Neurons a sigma(<w, x> + b) on two centred Gaussians; a pytree whose leaves are the numbers."""

    width: int = eqx.field(static=True)  # N
    dimension: int = eqx.field(static=True)  # d
    signal: int = eqx.field(static=True)  # s0
    batch: int = eqx.field(static=True)
    train_w: bool = eqx.field(static=True)
    train_b: bool = eqx.field(static=True)
    train_a: bool = eqx.field(static=True)
    noisy: bool = eqx.field(static=True)
    only_norms: bool = eqx.field(static=True)  # neurons sigma(<w, x>) on isotropic data: the norms of w say it all
    activation: Activation
    schedule: Schedule
    Delta: Float[Array, ""]
    time_step: Float[Array, ""]  # eps
    decay: Float[Array, ""]  # lambda
    variance: Float[Array, ""]  # v: a step of size eps adds noise of variance v eps

    @property
    def isotropic(self) -> bool:
        """Whether all directions are equally telling."""
        return self.signal == self.dimension

    @property
    def beta_eff(self) -> Float[Array, ""]:
        """2c/v with the drift -c eps grad Psi of a step, here c = 1: the beta of the Gibbs weight exp(-beta Psi) (section c)."""
        return 2 / self.variance

    def step_size(self, step: Int[Array, "..."], active: Bool[Array, "..."]) -> Float[Array, "..."]:
        """s_k = eps xi(k eps), zero for steps that are not taken."""
        return jnp.where(active, self.schedule(step * self.time_step) * self.time_step, 0.0)


@lru_cache(maxsize=64)
def neuron_model(problem: TwoGaussiansProblem) -> NeuronModel:
    """The letters of a problem."""
    network, training = problem.network, problem.training
    beta = training.inverse_temperature
    plain = Neurons(width=network.width, activation=network.activation)
    return NeuronModel(
        width=network.width,
        dimension=problem.dimension,
        signal=problem.signal,
        batch=training.batch,
        train_w="first-layer" in network.trained,
        train_b="bias" in network.trained,
        train_a="second-layer" in network.trained,
        noisy=beta is not None,
        only_norms=problem.signal == problem.dimension and network == plain,
        activation=activation(network.activation),
        schedule=schedule(training.schedule),
        Delta=jnp.asarray(problem.data.contrast),
        time_step=jnp.asarray(problem.time_step),
        decay=jnp.asarray(training.weight_decay),
        variance=jnp.asarray(2 / beta if beta is not None else 0.0),
    )
