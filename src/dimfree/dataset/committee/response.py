"""Responses of a network by the derivative process (docs/theory/committee-dmft.md, equations (5) and (W2)).

D(t,s) = dh(t)/dP(s) of every path is a p x p matrix, and so are K(t,s) = <J(t) D(t,s)> and R(t,s): they are multiplied in the
order written. Derivatives follow the forces, so that these must not jump. O(P T³ p³) in time, 2 P T² p² bytes.
"""

import numpy as np
from jaxtyping import Float32, Float64

from dimfree.dataset.committee.model import CommitteeModel

PATHS = 4000  # at most this many paths of an ensemble have derivatives: those of more scatter little less


class Response:
    """R(t,s) of the weights to a kick of their update at s, and K(t,s) of the forces to a shift of the fields at s."""

    def __init__(self, model: CommitteeModel, times: int) -> None:
        p = model.width
        self.alpha, self.lambda_, self.beta = float(model.alpha), float(model.lambda_), float(model.beta)
        self.rates = model.rates(times)
        self.R, self.K = np.zeros((2, times, times, p, p))
        self.velocity = np.zeros((times, p, p))
        self.JD: list[Float32[np.ndarray, "s p p P"]] = []  # J(r) D(r,s) of the paths, one array for each r

    def see(self, t: int, J: Float64[np.ndarray, "p p P"]) -> None:
        """D(t,.) and K(t,.), from J(t) = df(t)/dh(t) on the paths."""
        p, slope = len(J), J.astype(np.float32)
        D = np.zeros((t + 1, *slope.shape), np.float32)
        D[t] = np.eye(p, dtype=np.float32)[..., None]
        for r, past in enumerate(self.JD):
            D[: r + 1] -= np.einsum("ik,skjP->sijP", (self.rates[r] * self.R[t, r]).astype(np.float32), past)
        self.JD.append(np.einsum("ikP,skjP->sijP", slope, D))
        self.K[t, : t + 1] = self.JD[t].mean(axis=-1, dtype=float)

    def step(self, t: int, nu: Float64[np.ndarray, " p"]) -> None:
        """R(t+1,.) by (W2); nu keeps the units on their spheres."""
        now = slice(t + 1)
        pull = self.lambda_ * self.R[t, now] + self.alpha * np.einsum("rik,rskj->sij", self.K[t, now], self.R[now, now])
        self.velocity[now] = self.beta * self.velocity[now] - self.rates[t] * pull
        self.velocity[t] = np.eye(len(nu))
        self.R[t + 1, now] = nu[:, None] * (self.R[t, now] + self.velocity[now])
