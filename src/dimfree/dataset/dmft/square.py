"""Multi-pass SGD with the square loss, exactly and without sampling (docs/theory/dmft.md, sections 2 and 4).

Every average of the dynamical mean-field theory closes, for full batch, vanilla and persistent SGD at finite step. Row t of
all two-time functions follows from earlier rows, at a cost of O(t²): nothing is iterated. This is written in NumPy because
shapes grow with t: masks of a fixed shape, as jit needs, would triple the work and compile for every number of steps.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float64
from threadpoolctl import threadpool_limits

from dimfree.dataset.dmft.floats import Floats
from dimfree.dataset.multi_pass_model import MultiPassModel
from dimfree.errors import RefusalError
from dimfree.functions.loss import Square


class SquareSolution(NamedTuple):
    """Times 0 to T in steps; two-time functions have the later time first."""

    m: Float64[np.ndarray, " n"]
    C: Float64[np.ndarray, "n n"]  # full overlap, symmetric
    C12: Float64[np.ndarray, "n n"]  # overlap of two runs with the same data and start, but other noise
    R: Float64[np.ndarray, "n n"]  # R[t, s] = (1/N) tr dw(t)/dw(s+1), zero unless s < t
    K: Float64[np.ndarray, "n n"]  # response of the force, zero unless s <= t
    M: Float64[np.ndarray, "n n"]  # correlation of the force, symmetric
    train_loss: Float64[np.ndarray, " n"]
    generalisation_error: Float64[np.ndarray, " n"]


class _Now(NamedTuple):
    """Sums over times r < t of the responses at time t, in which they are linear."""

    R: Float64[np.ndarray, " t"]
    rho: float
    m: float
    forces: Float64[np.ndarray, " t"]  # sum_r R(t, r) M(r, .)
    kept: Float64[np.ndarray, " t"]  # sum_r R(t, r) P11(t - max(r, .)) M(r, .)


def solve(model: MultiPassModel, steps: int) -> SquareSolution:
    """The trajectory of `steps` steps; two clusters or a linear teacher."""
    if not isinstance(model.loss, Square) or model.task not in ("two-clusters", "linear-teacher"):
        raise RefusalError(
            f"the exact solution needs the square loss with two clusters or a linear teacher, "
            f"not the {model.loss.name} loss with {model.task}; use the path solver."
        )
    rows = _Rows(model, steps + 1)
    # one thread: they wait for each other longer than these products take; a diverging run is shown as such
    with threadpool_limits(1), np.errstate(over="ignore", invalid="ignore"):
        for t in range(steps + 1):
            rows.advance(t)
    return rows.solution()


class _Rows:
    """All averages up to the current time; C and C12 are those orthogonal to v."""

    def __init__(self, model: MultiPassModel, times: int) -> None:
        self.model, self.n = model, Floats.of(model)
        self.p11 = np.asarray(model.p11(jnp.arange(times)))
        self.m, self.rho, self.d, self.train_loss = np.zeros((4, times))
        self.R, self.C, self.C12, self.K, self.M, self.M12 = np.zeros((6, times, times))  # M: lower triangle
        self.rho[0] = 1.0

    def advance(self, t: int) -> None:
        """One step: from all averages before time t and the responses at t to the responses at t + 1."""
        stays = self.p11[t:0:-1]  # of times 0 to t - 1
        now = self._present(t, stays)
        self._write_overlaps(t, now)
        self._write_kernels(t, now, stays)
        if t + 1 == len(self.m):
            return
        n, last = self.n, slice(t + 1)
        shrink, pull = 1 - n.eta * n.lambda_, n.eta * n.alpha * n.Delta * self.K[t, last]
        self.rho[t + 1] = shrink * self.rho[t] - pull @ self.rho[last]  # (W1)
        self.R[t + 1, last] = shrink * self.R[t, last] - pull @ self.R[last, last]  # (W2)
        self.R[t + 1, t] = 1.0

    def _present(self, t: int, stays: Float64[np.ndarray, " t"]) -> _Now:
        """m(t) of (W3) and the forces so far; on the sphere, after projection: |w| is deterministic."""
        n, R, rho, M = self.n, self.R[t, :t], self.rho[t], self.M[:t, :t]
        # r <= r' from rows of the lower triangle, r > r' from columns
        diagonal, sooner = M.diagonal(), M @ R
        later, later_kept = R @ M - R * diagonal, (R * stays) @ M - R * stays * diagonal
        m = rho * n.m0 - n.eta * n.alpha * R @ self.d[:t]
        now = _Now(R, rho, m, sooner + later, stays * sooner + later_kept)
        if not self.model.spherical or t == 0:
            return now
        nu = n.start_norm**0.5 * (m**2 + n.c0 * rho**2 + self._kicks(now) @ R) ** -0.5
        return _Now(*(nu * one for one in now))

    def _kicks(self, now: _Now) -> Float64[np.ndarray, " t"]:
        """sum_r R(t, r) [...] of (W4)."""
        n = self.n
        return n.eta**2 * n.alpha * n.Delta * now.forces + 2 * n.temperature * n.eta * now.R

    def _write_overlaps(self, t: int, now: _Now) -> None:
        """m(t), C(t, .) and C12(t, .)."""
        n, upto = self.n, slice(t + 1)
        self.R[t, :t], self.rho[t], self.m[t] = now.R, now.rho, now.m
        start, R = n.c0 * now.rho * self.rho[upto], self.R[upto, :t]
        M12 = n.eta**2 * n.alpha * n.Delta * now.R @ self.M12[:t, :t]
        self.C[t, upto] = self.C[upto, t] = start + R @ self._kicks(now)  # (W4)
        self.C12[t, upto] = self.C12[upto, t] = start + R @ M12

    def _write_kernels(self, t: int, now: _Now, stays: Float64[np.ndarray, " t"]) -> None:
        """K(t, .), d(t), M(t, .), M12(t, .) and the training loss."""
        n, upto, R = self.n, slice(t + 1), now.R
        a, b, kick = n.gradient_scale, n.b, n.Delta * n.eta
        self.K[t, :t], self.K[t, t] = -a * kick * (R * stays) @ self.K[:t, :t], a * b  # (S1)
        k, K = self.K[t, upto], self.K[upto, upto]
        Q = self._errors(np.eye(1, t + 1, t)[0], self.C[t, upto])
        F, M12 = K @ Q, K @ self._errors(k, k @ self.C12[upto, upto])  # (S2), and section 4.2
        equal_time = b * Q[t] - 2 * kick * (R * stays) @ F[:t] + kick**2 * now.kept @ R  # (S4)
        self.M[t, :t], self.M[t, t] = a * (stays * F[:t] - kick * now.kept), a**2 * equal_time  # (S3)
        self.M12[t, upto] = self.M12[upto, t] = M12
        self.d[t] = -n.seen_slope * k.sum() if self.model.has_teacher else k @ (self.m[upto] - 1)
        self.train_loss[t] = 0.5 * (Q[t] - 2 * kick * R @ F[:t] + kick**2 * now.forces @ R)

    def _errors(self, k: Float64[np.ndarray, " t"], kC: Float64[np.ndarray, " t"]) -> Float64[np.ndarray, " t"]:
        """k Q for weights k of times, given k C_perp; Q is the correlation of residuals that never met their batches."""
        n, missed = self.n, self.n.seen_slope - self.m[: k.size]
        overlap = kC if self.model.has_teacher else kC + (k @ self.m[: k.size]) * self.m[: k.size]
        return (k @ missed) * missed + n.Delta * overlap + n.seen_noise * k.sum()

    def solution(self) -> SquareSolution:
        """The averages with the signal."""
        signal = self.m[:, None] * self.m
        M, C = self.M + np.tril(self.M, -1).T, self.C + signal
        error = self.model.generalisation_error(jnp.asarray(self.m), jnp.asarray(C.diagonal()))
        return SquareSolution(
            m=self.m,
            C=C,
            C12=self.C12 + signal,
            R=self.R,
            K=self.K,
            M=M,
            train_loss=self.train_loss,
            generalisation_error=np.asarray(error),
        )
