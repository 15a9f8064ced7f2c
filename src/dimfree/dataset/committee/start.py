"""Where the training of a network on a data set begins: overlaps, which every run has exactly.

Random starts would have fluctuations of order d^(-1/2), which pollute everything after them (docs/theory/committee-dmft.md, 6).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from dimfree.errors import ProblemError

_ROUNDING = 1e-9


class CommitteeStart(NamedTuple):
    """M = W W*^T/d, Q = W W^T/d, the second layer and the offsets at time 0."""

    M: Float64[np.ndarray, "p k"]
    Q: Float64[np.ndarray, "p p"]
    a: Float64[np.ndarray, " p"]
    b: Float64[np.ndarray, "..."] = np.zeros(())  # one for all units, or one each

    def along(self, P: Float64[np.ndarray, "k k"]) -> Float64[np.ndarray, "p k"]:
        """m = M chol(P)^-T: overlaps with orthonormal directions that span the teachers."""
        return np.linalg.solve(np.linalg.cholesky(P), self.M.T).T

    def rest(self, P: Float64[np.ndarray, "k k"]) -> Float64[np.ndarray, "p p"]:
        """A symmetric root of C0 = Q - M P^-1 M^T, the overlaps of what is orthogonal to the teachers."""
        if np.linalg.eigvalsh(P)[0] < _ROUNDING:
            raise ProblemError("the overlaps P of the teachers are singular; give teachers that are independent.")
        m = self.along(P)
        values, vectors = np.linalg.eigh(self.Q - m @ m.T)
        if values[0] < -_ROUNDING * max(1.0, float(np.abs(self.Q).max())):
            raise ProblemError(
                f"the start is impossible: Q - M P^-1 M^T has the eigenvalue {values[0]:.3g}, and no weights have such "
                "overlaps; lower start.M or raise start.Q."
            )
        return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
