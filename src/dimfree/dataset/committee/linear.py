"""DMFT of linear units with the square loss, exactly and without paths (docs/theory/committee-dmft.md, section 4).

Every average closes, for any teacher, with momentum, Langevin noise and a trained second layer, as long as a sample's membership
in batches is a chain of two states. Row t of all two-time functions follows from earlier rows, at a cost of O(t² p²).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64
from threadpoolctl import threadpool_limits

from dimfree.dataset.committee.model import CommitteeModel
from dimfree.dataset.committee.start import CommitteeStart
from dimfree.dataset.committee.taught import label_moments
from dimfree.errors import RefusalError


class LinearDMFT(NamedTuple):
    """Times 0 to T in steps; two-time functions have the later time first."""

    M: Float64[np.ndarray, "n p k"]
    Q: Float64[np.ndarray, "n p p"]
    a: Float64[np.ndarray, "n p"]
    train_loss: Float64[np.ndarray, " n"]
    C: Float64[np.ndarray, "n n p p"]  # W(t) W(t')^T/d
    R: Float64[np.ndarray, "n n p p"]  # response of the weights to a kick, zero unless t' < t
    K: Float64[np.ndarray, "n n p p"]  # response of the forces, zero unless t' <= t
    k: Float64[np.ndarray, "n n"]  # K(t,t') = u(t) u(t')^T k(t,t')
    N: Float64[np.ndarray, "n n"]  # <phi(t) phi(t')>, symmetric


def solve_linear(model: CommitteeModel, start: CommitteeStart, steps: int) -> LinearDMFT:
    """The trajectory of `steps` steps."""
    if not model.linear:
        raise RefusalError(
            f"the exact solution needs linear units, the square loss of values and full, vanilla or persistent batches off the "
            f"sphere, not {model.activation.name} units with the {model.loss.name} loss and {model.protocol} batches; use paths."
        )
    model.check(start, steps)
    rows = _Rows(model, start, steps + 1)
    with threadpool_limits(1), np.errstate(over="ignore", invalid="ignore"):  # a diverging run is shown as such
        for t in range(steps + 1):
            rows.advance(t)
    return rows.solution()


class _Rows:
    """All averages up to the current time."""

    def __init__(self, model: CommitteeModel, start: CommitteeStart, times: int) -> None:
        self.model, self.times, P = model, times, np.asarray(model.target.P)
        p, k = start.M.shape
        self.alpha, self.b, self.g = float(model.alpha), float(model.b), model.gradient_scale
        self.eta, self.lambda_, self.beta = model.rates(times), float(model.lambda_), float(model.beta)
        kappa = 1 - model.enter / self.b
        self.p11 = self.b + (1 - self.b) * kappa ** np.arange(times)
        self.root, self.C0 = np.linalg.cholesky(P), start.rest(P) @ start.rest(P)
        self.yz, self.yy = label_moments(model)
        self.m, self.a, self.u = np.zeros((times, p, k)), np.zeros((times, p)), np.zeros((times, p))
        self.C, self.R = np.zeros((2, times, times, p, p))
        self.rho, self.Rt = np.zeros((times, p, p)), np.zeros((times, times, p))  # Rt = R(t,r) u(r)
        self.k, self.N, self.qq = np.zeros((3, times, times))  # N lower, then both
        self.train_loss = np.zeros(times)
        self.m[0], self.a[0], self.rho[0] = start.along(P), start.a, np.eye(p)
        self.v_R, self.v_rho = np.zeros((times, p, p)), np.zeros((p, p))
        self.v_m, self.v_a = np.zeros((p, k)), np.zeros(p)

    def advance(self, t: int) -> None:
        """Overlaps and kernels at t, and the responses, m and a at t + 1."""
        now, past = slice(t + 1), slice(t)
        self.u[t] = self.a[t] / len(self.a[t])
        self._write_overlaps(t)
        hq = self.C[t, now] @ self.u[now, :, None]  # <h0(t) q(s)> up to the labels' part
        hq = hq[..., 0] - self.m[t] @ self.yz
        missed = np.einsum("sir,si->sr", self.m[now], self.u[now])  # m^T u
        self.qq[t, now] = hq @ self.u[t] - missed @ self.yz + self.yy
        self.qq[now, t] = self.qq[t, now]
        stays, eta = self.p11[t:0:-1], self.eta[past]  # of times 0 to t - 1
        kick = eta * (self.Rt[t, past] @ self.u[t])  # eta Rh(t, r)
        self.k[t, past] = -self.g * (kick * stays) @ self.k[past, past]  # (L1)
        self.k[t, t] = self.g * self.b
        Fq = self.k[now, now] @ self.qq[t, now]  # (L2)
        late = self.p11[t - np.maximum.outer(np.arange(t), np.arange(t))]
        kept = kick @ (late * self.N[past, past])
        self.N[t, past] = self.N[past, t] = self.g * (stays * Fq[past] - kept)  # (L3)
        equal = self.b * self.qq[t, t] - 2 * (kick * stays) @ Fq[past] + kept @ kick
        self.N[t, t] = self.g**2 * equal  # (L4)
        forces = kick @ self.N[past, past]
        self.train_loss[t] = 0.5 * (self.qq[t, t] - 2 * kick @ Fq[past] + forces @ kick)
        if t + 1 < self.times:
            pull_m = self.k[t, now] @ (missed - self.yz)  # (L5)
            pull_a = self.k[t, now] @ hq - (eta * self.N[t, past]) @ self.Rt[t, past]
            self._step(t, pull_m, pull_a)

    def _write_overlaps(self, t: int) -> None:
        """C(t,.) by (W4)."""
        now, past, eta = slice(t + 1), slice(t), self.eta[:t]
        R, Rt = self.R[t, past], self.Rt[t, past]
        noise = self.alpha * np.einsum("ri,r,rs,s->si", Rt, eta, self.N[past, past], eta, optimize=True)
        C = self.rho[t] @ self.C0 @ np.swapaxes(self.rho[now], 1, 2)
        C += np.einsum("ri,srj->sij", noise, self.Rt[now, past], optimize=True)
        if temperature := float(self.model.temperature):
            heat = 2 * temperature * eta
            C += np.einsum("r,ril,srjl->sij", heat, R, self.R[now, past], optimize=True)
        C += np.einsum("ik,sjk->sij", self.m[t], self.m[now])
        self.C[t, now], self.C[now, t] = C, np.swapaxes(C, 1, 2)

    def _step(self, t: int, pull_m: Float64[np.ndarray, " k"], pull_a: Float64[np.ndarray, " p"]) -> None:
        """(W1), (W2), (8) and (3), with the velocity of each."""
        now, eta, u, model = slice(t + 1), self.eta[t], self.u[t], self.model
        remembered = self.alpha * self.k[t, now]
        weighed = remembered[:, None] * self.u[now]  # alpha k(t, r) u(r)
        to_rho = np.outer(u, np.einsum("ri,rij->j", weighed, self.rho[now]))
        to_R = np.einsum("i,rl,rslj->sij", u, weighed, self.R[now, now], optimize=True)
        self.v_rho = self.beta * self.v_rho - eta * (self.lambda_ * self.rho[t] + to_rho)
        self.v_R[now] = self.beta * self.v_R[now] - eta * (self.lambda_ * self.R[t, now] + to_R)
        self.v_R[t] = np.eye(len(u))
        self.rho[t + 1], self.R[t + 1, now] = self.rho[t] + self.v_rho, self.R[t, now] + self.v_R[now]
        self.Rt[t + 1, now] = np.einsum("rij,rj->ri", self.R[t + 1, now], self.u[now])
        self.v_m = self.beta * self.v_m - eta * (self.lambda_ * self.m[t] + self.alpha * np.outer(u, pull_m))
        self.m[t + 1] = self.m[t] + self.v_m
        if model.train_a:
            pull = float(model.lambda_a) * self.a[t] + self.alpha * pull_a / len(u)
            self.v_a = self.beta * self.v_a - eta * float(model.eta_a) * pull
        self.a[t + 1] = self.a[t] + self.v_a

    def solution(self) -> LinearDMFT:
        """The averages."""
        Q = np.einsum("ttij->tij", self.C)
        K = np.einsum("ti,sj,ts->tsij", self.u, self.u, self.k)
        return LinearDMFT(self.m @ self.root.T, Q, self.a, self.train_loss, self.C, self.R, K, self.k, self.N)
