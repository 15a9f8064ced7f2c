"""Adapter for phase retrieval on the sphere: the registered ODE is equation (6.1) of the committee sheet, and its exit."""

from typing import Any

import jax.numpy as jnp

from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.onepass.model import teacher_model
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.sections import OnePass, TwoLayer
from dimfree.questions.exit_times.event import exit_events
from dimfree.reference.committee import rhs, trajectory
from dimfree.states.overlaps import Overlaps

Values = dict[str, Any]


def pr(inputs: Values) -> Values:
    """The velocity at the start, the risk along the way, the final overlaps and the exit time."""
    as_committee = inputs | {
        "activation": "square",
        "M0": [[m] for m in inputs["m0"]],
        "P": [[1.0]],
        "spherical": True,
    }
    velocity, path = rhs(as_committee), trajectory(as_committee)
    return {
        "dm": velocity["dM"][:, 0],
        "dQ": velocity["dQ"],
        "risk": path["risk"],
        "m_final": path["M_final"][:, 0],
        "Q_final": path["Q_final"],
        "t_exit_ode": _exit(inputs),
    }


def _exit(inputs: Values) -> float:
    p = len(inputs["m0"])
    problem = OnePassProblem(
        data=Teacher(units=1, activation="square", noise=inputs["Delta"]),
        network=TwoLayer(width=p, activation="square"),
        training=OnePass(learning_rate=inputs["gamma"], spherical=True),
    )
    Q, M = jnp.asarray(inputs["Q0"]), jnp.asarray(inputs["m0"])[:, None]
    starts = Overlaps(Q[None], M[None], jnp.ones((1, p)))
    ode = HighDimensional(rtol=1e-10, atol=1e-12)
    return float(exit_events(teacher_model(problem), starts, inputs["T"], inputs["t"][-1], ode)[0])
