"""Adapter for the noise of the diffusion, of the committee sheet, section 6."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from dimfree.gaussian.increments import increments, rule
from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.model import teacher_model
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.sections import OnePass, TwoLayer
from dimfree.states.overlaps import Overlaps

Values = dict[str, Any]


def pr_noise_cov(inputs: Values) -> Values:
    """Covariances (6.5) of phase retrieval on the sphere, at width 1 and 2."""
    narrow = [_covariance(inputs, np.eye(1), [[m]]) for m in inputs["m_p1"]]
    wide = _covariance(inputs, inputs["Q_p2"], [[m] for m in inputs["m_p2"]])
    return {"Sigma_p1": [float(Sigma[0, 0]) for Sigma in narrow], "Sigma_p2": wide.tolist()}


def _covariance(inputs: Values, Q: Any, M: Any) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
    width = len(Q)
    m = teacher_model(
        OnePassProblem(
            data=Teacher(units=1, activation="square", noise=inputs["Delta"]),
            network=TwoLayer(width=width, activation="square"),
            training=OnePass(learning_rate=inputs["gamma"], spherical=True),
        )
    )
    state = Overlaps(jnp.asarray(Q), jnp.asarray(M), jnp.ones(width))
    return np.asarray(eqx.filter_jit(increments)(m, jnp.ones(()), state, rule(m)).covariance)
