"""Adapter for reference numbers of two learning rates (docs/theory/mean-field.md, equation (e.3)): the mean-field form.

eps = first-layer rate / second-layer rate, so that training.second_layer_rate = 1/eps. The form r_ij = s_i s_j for all i, j is
the dimensionless limit on the sphere without the interaction of a unit with itself.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import ndtri

from dimfree.errors import ProblemError
from dimfree.gaussian.components import particle_components
from dimfree.onepass.directions import TeacherModel
from dimfree.onepass.kinds.teacher.time_scales import single_index
from dimfree.onepass.limits.wide import Dimensionless
from dimfree.onepass.model import teacher_model
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.sections import OnePass, SphereStart, TwoLayer
from dimfree.onepass.start import Start
from dimfree.states.particles import Particles

Values = dict[str, Any]
_INIT, _FORM = "a_i=normal quantile((i-1/2)/m), s_i=0", "mean-field r_ij=s_i s_j for all i,j"


def bmz(inputs: Values) -> Values:
    """Risk, its components and the mean second layer along the flow, and the last overlaps with the target."""
    for name, known in (("init", _INIT), ("form", _FORM)):
        if inputs.get(name, known) != known:
            raise ProblemError(f"{name} is {inputs[name]!r}; the schema has {known!r}.")
    m, times = inputs["m"], jnp.asarray(inputs["times"], dtype=float)
    a = jnp.asarray(ndtri((np.arange(m) + 0.5) / m))
    start = Particles(jnp.zeros((m, 1)), jnp.ones(m), a)
    limit = Dimensionless(rtol=1e-8, atol=1e-12, self_term=False)
    risk, states = _solved(limit, _model(inputs), start, times)
    parts = _components(_model(inputs), states, inputs.get("degrees", len(inputs["phi"])))
    return {"risk": risk, "components": parts, "mean_a": jnp.mean(states.a, axis=1), "s_last": states.M[-1, :, 0]}


@eqx.filter_jit
def _solved(
    limit: Dimensionless, model: TeacherModel, start: Particles, times: jax.Array
) -> tuple[jax.Array, Particles]:
    begun = limit.begin(model, Start(start, None, jnp.zeros(model.width)), 1, jax.random.key(0))
    _, states = limit.integrate(model, begun, times)
    return limit.observe(model, states)["risk"][:, 0], jax.tree.map(lambda x: x[:, 0], states)


@eqx.filter_jit
def _components(model: TeacherModel, states: Particles, count: int) -> jax.Array:
    return jax.vmap(lambda state: particle_components(model, state, jnp.ones(1), False, count))(states)


def _model(inputs: Values) -> TeacherModel:
    network = TwoLayer(width=inputs["m"], activation=inputs["activation"], trained=("first-layer", "second-layer"))
    training = OnePass(spherical=True, second_layer_rate=1 / inputs["eps"])
    return teacher_model(
        OnePassProblem(data=single_index(inputs["phi"]), network=network, training=training, start=SphereStart())
    )
