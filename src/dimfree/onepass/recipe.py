"""What a page without Python needs to draw the very start of a seed: sizes, numbers, and which of them a reader may change.

`lab/page/start.js` follows the recipe: the same keys, normals and overlaps as `start.py`, for starts drawn as vectors.
"""

import jax.numpy as jnp
import numpy as np

from dimfree.onepass.inputs.quadrature import MOST_LEVELS
from dimfree.onepass.kind import kind_of
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.rule import second_layer
from dimfree.onepass.sections import GaussianStart, OverlapStart, SphereStart
from dimfree.onepass.start import typical_overlaps
from dimfree.problem.network import prefactor
from dimfree.setting import Recipe
from dimfree.states.overlaps import factor
from dimfree.states.particles import MOST_PAIRS

_MOST = 5_000_000  # numbers of a start that a page can draw while a reader waits
_LARGEST_SEED = 2**53  # integers up to this are exact in JavaScript


def recipe(problem: OnePassProblem) -> Recipe | str:
    """How to draw the start of a problem, or why a page cannot, in one sentence."""
    made: Recipe | str = kind_of(problem).recipe_of(problem)
    return made


def directions_recipe(problem: OnePassProblem) -> Recipe | str:
    """Students and teachers that are drawn, or overlaps that are given."""
    if why := _why_not(problem):
        return why
    p, k, start, network = problem.network.width, problem.data.units, problem.start, problem.network
    common: Recipe = {
        "width": p,
        "units": k,
        "second_layer": np.asarray(second_layer(problem)).tolist(),
        "stretch": p * prefactor(network.scaling, p),
        "bias": network.bias_start,
    }
    live = ["network.bias_start"] if network.has_offsets else []
    if isinstance(network.second_layer_start, float):
        live.append("network.second_layer_start")
    if isinstance(start, OverlapStart):
        given = typical_overlaps(problem)
        assert given is not None
        return common | {
            "kind": "given",
            "Q": np.asarray(given.Q).tolist(),
            "M": np.asarray(given.M).tolist(),
            "live": live,
        }
    assert isinstance(start, GaussianStart | SphereStart)
    drawn: Recipe = {
        "kind": start.kind,
        "dimension": problem.dimension,
        "seed": problem.run.seed,
        "scale": start.scale,
        "teacher_factor": np.asarray(factor(jnp.asarray(problem.teacher_overlap), k)).tolist(),
        "most": _MOST,
        "too_many": f"a page draws starts of at most {_MOST:,} weights; lower the dimension.",
        "live": ["run.seed", "start.scale", *live, *([] if problem.correlated else ["dimension"])],
    }
    if problem.correlated:
        found = problem.spectrum
        drawn["levels"] = list(zip(found.values.tolist(), found.multiplicities.tolist(), strict=True))
    return common | drawn


def _why_not(problem: OnePassProblem) -> str | None:
    """What a page cannot draw, in one sentence."""
    p, start, run = problem.network.width, problem.start, problem.run
    size = problem.dimension * (p + problem.data.units)
    if run.starts > 1:
        return f"run.starts = {run.starts} asks for several starts, and a page without a server has one; leave it out."
    if not isinstance(start, GaussianStart | SphereStart | OverlapStart):
        return f"start.kind = {start.kind!r} is a file, which a page without a server has not; use a drawn start."
    if p > MOST_PAIRS:
        return f"a page draws overlaps between all pairs of at most {MOST_PAIRS} units; lower network.width from {p}."
    if isinstance(start, OverlapStart):
        return None
    if size > _MOST:
        return f"the start has {size:.3g} weights, and a page draws at most {_MOST:,}; lower the dimension."
    if run.seed > _LARGEST_SEED:
        return f"run.seed = {run.seed} is not an integer that JavaScript can hold; choose one up to 2**53."
    if not problem.correlated:
        return None
    if problem.directions or problem.given_teachers is not None:
        return "a page draws teachers in random directions, and those of this problem are given; use the server."
    if (levels := len(problem.spectrum.values)) > MOST_LEVELS:
        return f"a page draws starts of at most {MOST_LEVELS} eigenvalues, and there are {levels}; use the server."
    return None
