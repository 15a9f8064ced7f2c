"""Adapters for items of losses of one sample, and of one step of SGD with them (docs/theory/losses.md, sections 0 and 1)."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.loss import sample_loss
from dimfree.onepass.model import model
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.block import Progress, Samples, run_block
from dimfree.onepass.rule import OnePassModel
from dimfree.onepass.sections import OnePass, TwoLayer
from dimfree.onepass.weights import Scalars

Values = dict[str, Any]


def values(inputs: Values) -> Values:
    """Losses and errors of pairs (f, y)."""
    loss = sample_loss(OnePass(loss=inputs["loss"]), classes=True)
    f, y = (jnp.asarray(inputs[name], dtype=float) for name in ("f", "y"))
    return {"loss": loss(f, y), "error": loss.error(f, y)}


def sgd_step(inputs: Values) -> Values:
    """One step on a batch that is given, second layer included."""
    W, X, a = (np.array(inputs[name], dtype=float) for name in ("W", "X", "a"))
    y, (p, d), batch = jnp.asarray(inputs["y"], dtype=float), W.shape, len(X)
    training = OnePass(
        learning_rate=inputs["gamma"], batch=batch, second_layer_rate=inputs["eta_a"], loss=inputs["loss"]
    )
    problem = OnePassProblem(
        dimension=d,
        data=Teacher(units=1, labels="sign" if training.needs_signs else "value"),
        network=TwoLayer(width=p, activation=inputs["activation"], trained=("first-layer", "second-layer")),
        training=training,
    )
    m, fields = model(problem), jnp.asarray(X @ W.T)
    samples = Samples(fields[..., None], y[:, None], jnp.asarray(X @ X.T)[..., None])
    scalars = Scalars(jnp.asarray(a)[:, None], jnp.zeros((p, 1)), jnp.ones((p, 1)))
    progress = _stepped(m, samples, scalars)
    C, pi = progress.coefficients[..., 0], progress.factor
    error = m.error(y, jnp.mean(a * m.activation(fields), axis=1))
    return {"W": pi * (W + C.T @ X), "a": progress.scalars.a[:, 0], "error": error}


@eqx.filter_jit
def _stepped(m: OnePassModel, samples: Samples, scalars: Scalars) -> Progress:
    return run_block(m, samples, scalars, jax.device_put(0), jax.device_put(1))
