"""Adapter for trajectories of the mean-field and dimensionless limits (docs/theory/committee.md, section 5)."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dimfree.onepass.directions import TeacherModel
from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.limits.wide import Dimensionless, MeanField, WideNetwork
from dimfree.onepass.model import teacher_model
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.sections import OnePass, TwoLayer
from dimfree.onepass.start import Start
from dimfree.reference.committee import trained
from dimfree.states.particles import Particles

Values = dict[str, Any]
_NODES = 64


def mf_trajectory(inputs: Values) -> Values:
    """Risk along the limit, and the final particles; no dimension means d to infinity."""
    q = np.array(inputs["q0"], dtype=float)
    a = jnp.broadcast_to(jnp.asarray(inputs.get("a", inputs.get("a0", 1.0)), dtype=float), q.shape)
    start = Particles(jnp.asarray(inputs["M0"], dtype=float), jnp.asarray(q), a)
    self_term = inputs.get("self_term", True)
    limit: WideNetwork = (
        Dimensionless(rtol=1e-10, atol=1e-12, self_term=self_term)
        if inputs.get("d") is None
        else MeanField(rtol=1e-10, atol=1e-12, self_term=self_term, nodes=_NODES)
    )
    risk, last = _solved(limit, _model(inputs), start, jnp.asarray(inputs["t"], dtype=float))
    return {"risk": risk, "M_final": last.M, "q_final": last.q, "a_final": last.a}


@eqx.filter_jit
def _solved(limit: WideNetwork, m: TeacherModel, start: Particles, times: jax.Array) -> tuple[jax.Array, Particles]:
    begun = limit.begin(m, Start(start, None, jnp.zeros(m.width)), 1, jax.random.key(0))
    last, observed = limit.advance(m, begun, times)
    return observed["risk"][:, 0], last.state


def _model(inputs: Values) -> TeacherModel:
    P = np.atleast_2d(np.array(inputs["P"], dtype=float))
    data = Teacher(
        units=len(P),
        activation=inputs.get("teacher_activation", inputs["activation"]),
        second_layer=inputs.get("astar", 1.0),
        overlap=P.tolist(),
    )
    network = TwoLayer(width=len(inputs["q0"]), activation=inputs["activation"], trained=trained(inputs))
    training = OnePass(
        second_layer_rate=inputs.get("eta_a", 0.0),
        weight_decay=inputs.get("decay", 0.0),
        second_layer_decay=inputs.get("decay_a", 0.0),
    )
    # the dimensionless limit does not look at the dimension, but a problem has one
    return teacher_model(
        OnePassProblem(dimension=inputs.get("d") or 1000, data=data, network=network, training=training)
    )
