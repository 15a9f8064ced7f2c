import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dimfree as df
from dimfree.onepass.limits.mean_step import mean_step


@pytest.mark.slow
@pytest.mark.parametrize(("activation", "batch"), [("erf", 1), ("relu", 3)])
def test_mean_of_one_real_step(activation, batch):
    """Equation (1.5) against many exact steps at d = 8, where its 1/d terms are large."""
    p = df.Problem(
        dimension=8,
        data=df.Teacher(units=1, activation=activation, noise=0.2),
        network=df.TwoLayer(width=2, activation=activation),
        training=df.OnePass(learning_rate=4.0, batch=batch),
    )
    model, start = df.extend.model(p), df.extend.draw_start(p, jax.random.key(1), vectors=False)

    @eqx.filter_jit
    def overlaps(model, start, times):  # without the risks of all replicas
        seen = df.experiments.OverlapChain().run(model, start, times, jax.random.key(2), 60_000)
        return {name: seen[name] for name in ("M", "Q")}

    found = overlaps(model, start, jnp.asarray([p.time_step]))
    expected = eqx.filter_jit(mean_step)(model, start.overlaps)
    for name in ("M", "Q"):
        increments = np.asarray(found[name])[0] - np.asarray(getattr(start.overlaps, name))
        error = increments.std(axis=0) / np.sqrt(len(increments))
        z = (increments.mean(axis=0) - np.asarray(getattr(expected, name))) / error
        assert (np.abs(z) < 4.5).all(), (name, z)
