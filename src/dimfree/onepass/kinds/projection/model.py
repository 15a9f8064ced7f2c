"""Data behind a drawn projection in the letters of their sheet, and the weights of 0 that training starts from."""

import jax
import numpy as np
from jaxtyping import Array, Float, Key

from dimfree.onepass.kinds.projection.section.behind import ProjectedData
from dimfree.onepass.kinds.projection.section.own import Projected
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.projected.measures import drawn
from dimfree.onepass.projected_model import Hidden, ProjectedModel, Rows, Spectrum
from dimfree.onepass.rule import rule_of, second_layer
from dimfree.onepass.start import Start
from dimfree.states.particles import Particles

_DRAW = 20240515  # folded into the key, so that these numbers differ from all others of the same seed


def projected_model(problem: OnePassProblem) -> ProjectedModel:
    """The model of a problem, with a projection drawn from the seed of the run."""
    data, d = problem.data, problem.dimension
    assert isinstance(data, ProjectedData)
    rng = np.random.default_rng((_DRAW, problem.run.seed))
    return model_behind(problem, rng.standard_normal((data.inputs_of(d), d)) / np.sqrt(d))


def model_behind(problem: OnePassProblem, W: Float[np.ndarray, "v d"]) -> ProjectedModel:
    """The model of a problem with a given projection."""
    data, d = problem.data, problem.dimension
    assert isinstance(data, ProjectedData)
    h, b = data.modes(d)
    found, roots = drawn(h, b, W), np.sqrt(h)
    mixed = ((roots[:, None] * W) @ found.basis).astype(np.float32)
    return ProjectedModel(
        **rule_of(problem),
        Delta=jax.device_put(data.label_noise),
        unreached=jax.device_put(found.Delta_W),
        eigenvalues=jax.device_put(found.eigenvalues.copy()),
        best=jax.device_put(found.theta),
        spectrum=Spectrum(*jax.device_put(tuple(data.population(d)))),
        hidden=Hidden(*jax.device_put((mixed, roots * b))),
        rows=_rows(data, W @ found.basis),
    )


def _rows(data: ProjectedData, seen: Float[np.ndarray, "v d"]) -> Rows | None:
    """Rows of the user's own as the network sees them."""
    if not isinstance(data, Projected) or data.pool is None:
        return None
    return Rows(*jax.device_put(((data.rows() @ seen).astype(np.float32), data.pool.labels)))


def zero_start(problem: OnePassProblem, key: Key[Array, ""], vectors: bool, nodes: bool) -> Start:
    """The start at weights of 0, for which nothing is drawn."""
    zeros, a = np.zeros((1, problem.dimension)), second_layer(problem)
    measured = Particles(jax.device_put(np.zeros((1, 0))), jax.device_put(np.zeros(1)), a)
    return Start(measured, jax.device_put(zeros), jax.device_put(np.zeros(1)), None, True)
