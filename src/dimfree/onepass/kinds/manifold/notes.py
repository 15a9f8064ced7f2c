"""What `dimfree show` says about a hidden manifold."""

import numpy as np

from dimfree.onepass.kinds.manifold.numbers import Manifold, manifold_of
from dimfree.onepass.notes import said_of_directions
from dimfree.onepass.problem import OnePassProblem

_NOTHING = 1e-9  # a smaller share of a variance is rounding


def said_of_manifold(problem: OnePassProblem) -> str:
    """How much of the teacher no student can see, and the remarks on any covariance."""
    return f"{said_of_sight(manifold_of(problem))} {said_of_directions(problem)}"


def said_of_sight(found: Manifold) -> str:
    """How much of what the teacher sees no student can see."""
    latent, d = found.directions.shape
    share = np.trace(found.residual) / np.sum(found.latent_teachers**2)
    unseen = f"a share of {share:.2g}" if share > _NOTHING else "nothing"
    return (
        f"Inputs are {d} features of {latent} hidden variables; of the variance of the teacher's preactivations {unseen} is out "
        "of sight for every student."
    )
