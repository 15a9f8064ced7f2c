"""The nodes that stand for very many eigenvalues at the start of a problem (docs/theory/structured.md, section 2)."""

import jax

from dimfree.onepass.inputs.quadrature import MOST_LEVELS
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.start import draw_start
from dimfree.states.blocks import Blocks

_LOOKED_AT = 5000  # for at most this many eigenvalues nodes are found within a second


def nodes_of(problem: OnePassProblem) -> Blocks | None:
    """The nodes of the signal, then of the noise; None where all eigenvalues are used, or are too many."""
    if not MOST_LEVELS < len(problem.spectrum.values) <= _LOOKED_AT:
        return None
    return draw_start(problem, jax.random.key(problem.run.seed), vectors=True).blocks
