"""Problems whose neurons learn a few directions, and what is seen of their law; shared by its tests."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import dimfree as df
from dimfree.onepass.limits.pde import DistributionalDynamics

TEACHER = df.Problem(
    dimension=30,
    data=df.Teacher(units=1, overlap=((4.0,),), noise=0.01),
    network=df.TwoLayer(width=1000),
    training=df.OnePass(learning_rate=15.0),  # eps = 5e-4
)
STAIRCASE = df.Problem(
    dimension=30,
    data=df.MultiIndex(link="staircase-2", noise=0.0),
    network=df.TwoLayer(width=1000, activation="relu", second_layer_start="signs", second_layer="trained"),
    training=df.OnePass(learning_rate=15.0),
)
ALL = {"network.trained": ("first-layer", "bias", "second-layer"), "network.bias_start": 0.3}
PDE, OWN = DistributionalDynamics(particles=80), DistributionalDynamics(own_start=True)
KEY = jax.random.key(1)


def started(problem, seed=0):
    return df.extend.model(problem), df.extend.draw_start(problem, jax.random.key(seed), vectors=True)


def seen(one, problem, times, seed=0, replicas=1):
    m, start = started(problem, seed)
    state = one.begin(m, start, replicas, jax.random.key(seed + 1))
    state, found = eqx.filter_jit(one.advance)(m, state, jnp.asarray(times))
    assert one.failure(m, state) is None
    return {name: np.asarray(values) for name, values in found.items()}


def average(found, name):
    """Over the law of the neurons, for every replica."""
    share = found.get("mass", np.full(found["a"].shape, 1 / found["a"].shape[2]))
    values = found[name].reshape(*found["a"].shape, -1)
    return np.einsum("trn,trnk->trk", share, values)


def whole_steps(problem, times):
    return np.rint(np.asarray(times) / problem.time_step) * problem.time_step
