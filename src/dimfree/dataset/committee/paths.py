"""DMFT of a network on a data set by paths in coordinates (docs/theory/committee-dmft.md, section 3.2).

P paths of one sample's pre-activations are advanced together with the weights that they imply: O(P T² p²) in time, O(P T p) in
memory, for any activation and loss, kinks included. Paths of one ensemble share their fluctuations, so that error bars come from
independent ensembles only; their bias is about alpha p T/P.
"""

from math import ceil
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float64, Key
from threadpoolctl import threadpool_limits

from dimfree.dataset.committee.batches import Batches
from dimfree.dataset.committee.forces import curvature, forces
from dimfree.dataset.committee.frame import Frame
from dimfree.dataset.committee.model import CommitteeModel
from dimfree.dataset.committee.response import PATHS, Response
from dimfree.dataset.committee.start import CommitteeStart
from dimfree.dataset.dmft.basis import Basis
from dimfree.errors import DivergenceError, ProblemError, RefusalError
from dimfree.machine import refuse_above_memory

FEWEST = 4000
_PER_BIAS = 100.0  # paths per alpha p T, for a bias of one per cent


class CommitteeDMFT(NamedTuple):
    """Averages at times 0 to T in steps."""

    M: Float64[np.ndarray, "n p k"]
    Q: Float64[np.ndarray, "n p p"]
    a: Float64[np.ndarray, "n p"]
    train_loss: Float64[np.ndarray, " n"]
    train_error: Float64[np.ndarray, " n"]  # how often the sign of the output is not that of the label
    C: Float64[np.ndarray, "n n p p"]  # W(t) W(t')^T/d
    R: Float64[np.ndarray, "n n p p"] | None  # responses of weights and forces, where they were asked for
    K: Float64[np.ndarray, "n n p p"] | None
    bias: Float64[np.ndarray, "n p"]


def default_paths(model: CommitteeModel, steps: int) -> int:
    """The number of paths for which the bias alpha p T/P is at most one per cent (trap 7), at least 4000."""
    return max(FEWEST, ceil(_PER_BIAS * float(model.alpha) * model.width * steps))


def bias(model: CommitteeModel, steps: int, paths: int) -> float:
    """Roughly by what share the noise kernel is too large with so many paths (trap 7)."""
    return float(model.alpha) * model.width * steps / paths


def fewest_paths(model: CommitteeModel, steps: int) -> int:
    """The smallest number of paths; with fewer, functions of the path would fill the space in which they lie."""
    return 2 * _rows(model, steps + 1)


def memory(model: CommitteeModel, steps: int, paths: int, *, responses: bool = False) -> float:
    """Bytes: the basis, what is computed of one step, and the coefficients at all steps; derivatives of the paths."""
    rows, p = _rows(model, steps + 1), model.width
    known = 8.0 * paths * (rows + 12 * p) + 8.0 * rows * (rows + 2 * p * (steps + 1)) + 8.0 * (p * (steps + 1)) ** 2
    return known + (2.0 * min(paths, PATHS) * (p * (steps + 4)) ** 2 if responses else 0.0)


def solve_paths(
    model: CommitteeModel,
    start: CommitteeStart,
    steps: int,
    key: Key[Array, ""],
    paths: int,
    *,
    responses: bool = False,
) -> CommitteeDMFT:
    """One ensemble of paths, step by step; `responses` adds R and K, for forces that jump nowhere."""
    model.check(start, steps)
    if responses and not model.smooth:
        raise RefusalError(no_response(model))
    if paths < (least := fewest_paths(model, steps)):
        raise ProblemError(f"{paths} paths are too few for {steps} steps of {model.width} units; use at least {least}.")
    what = f"the DMFT of {steps} steps with {paths} paths of {model.width} units"
    refuse_above_memory(memory(model, steps, paths, responses=responses), what, "use fewer paths or fewer steps")
    with threadpool_limits(1):  # threads wait for each other longer than these products take
        return _Ensemble(model, start, steps + 1, key, paths, responses).solve()


def no_response(model: CommitteeModel) -> str:
    """Why forces that jump have no response, in one sentence."""
    jumps = f"{model.activation.name} units bend" if model.activation.kinks else "the slope of the loss jumps"
    return (
        f"responses need forces that jump nowhere, and {jumps}; choose smooth units and a smooth loss (such as erf, and huber), "
        "or leave responses out."
    )


def _rows(model: CommitteeModel, times: int) -> int:
    """The most rows of the basis: 1, teachers, noise, the start, and at every step new forces and new normals."""
    return 2 + model.units + model.width * (1 + times * (3 if float(model.temperature) else 2))


class _Ensemble:
    """P paths, and the weights and the second layer that they imply."""

    def __init__(
        self, model: CommitteeModel, start: CommitteeStart, times: int, key: Key[Array, ""], paths: int, responses: bool
    ) -> None:
        self.response = Response(model, times) if responses else None
        seed = np.asarray(jax.random.key_data(key)).tolist()
        self.model, self.times, self.rng = model, times, np.random.default_rng(seed)
        self.alpha, self.lambda_, self.beta = float(model.alpha), float(model.lambda_), float(model.beta)
        self.T, self.rates, P = float(model.temperature), model.rates(times), np.asarray(model.target.P)
        p, k = start.M.shape
        basis = Basis(_rows(model, times), paths)
        self.zeta = np.stack([basis.row(number) for number in basis.normals(k, self.rng)])
        noise = basis.row(basis.normal(self.rng))
        self.frame = Frame(p, times, self.T > 0, basis, self.rng)
        self.root = np.linalg.cholesky(P)
        self.m, self.a, self.b = np.zeros((times, p, k)), np.zeros((times, p)), np.zeros((times, p))
        self.m[0], self.a[0], self.b[0], self.frame.A[0, :, :p] = start.along(P), start.a, start.b, start.rest(P)
        self.norms = np.diag(start.Q)
        fields = jnp.asarray((self.root @ self.zeta).T)
        self.y = model.draw_labels(fields, jnp.asarray(noise), jax.random.fold_in(key, 1))
        self.batches = Batches(model, paths, self.rng, exact=True)
        self.v_A, self.v_m = np.zeros_like(self.frame.A[0]), np.zeros((p, k))
        self.v_a, self.v_b = np.zeros((2, p))

    def solve(self) -> CommitteeDMFT:
        """All steps."""
        frame, seen = self.frame, np.empty((2, self.times))
        for t in range(self.times):
            h = self.m[t] @ self.zeta + frame.field(t, self.alpha) + self.b[t, :, None]  # (6)
            a, h = jnp.asarray(self.a[t]), jnp.asarray(h)
            now = forces(self.model, a, h, self.y)
            seen[:, t] = now.loss, now.wrong
            if not np.isfinite(seen[0, t]):
                eta = float(self.model.eta)
                raise DivergenceError(
                    f"the paths diverge at step {t} with eta = {eta:g}; lower eta (try {eta / 4:.2g})."
                )
            active = self.model.gradient_scale * self.batches.at(t)
            if self.response:
                few = slice(min(PATHS, len(active)))
                self.response.see(t, active[few] * np.asarray(curvature(self.model, a, h[:, few], self.y[few])))
            if t + 1 < self.times:
                with np.errstate(over="ignore", invalid="ignore"):  # seen at the next step
                    self._step(t, active, np.asarray(now.f), np.asarray(now.on_a))
        A, m = frame.A, self.m
        C = np.einsum("tij,ukj->tuik", A, A, optimize=True) + np.einsum("tir,ukr->tuik", m, m)
        Q = np.einsum("ttij->tij", C)
        R, K = (self.response.R, self.response.K) if self.response else (None, None)
        return CommitteeDMFT(m @ self.root.T, Q, self.a, seen[0], seen[1], C, R, K, self.b)

    def _step(
        self, t: int, active: Float64[np.ndarray, " P"], f: Float64[np.ndarray, "p P"], on_a: Float64[np.ndarray, "p P"]
    ) -> None:
        """Equations (7), (8) and (3): weights, second layer and offsets from the old ones."""
        model, frame, eta, alpha = self.model, self.frame, self.rates[t], self.alpha
        f, paths, A = f * active, f.shape[1], frame.A
        reaction = frame.write(t, f)
        self.v_A = self.beta * self.v_A - eta * (self.lambda_ * A[t] + alpha**0.5 * frame.L[t])
        self.v_A[:, : reaction.shape[1]] -= eta * alpha * reaction
        if self.T:
            self.v_A[:, frame.heat(len(f))] += (2 * self.T * eta) ** 0.5 * np.eye(len(f))
        self.v_m = self.beta * self.v_m - eta * (self.lambda_ * self.m[t] + alpha * f @ self.zeta.T / paths)
        A[t + 1], self.m[t + 1] = A[t] + self.v_A, self.m[t] + self.v_m
        nu = np.ones(len(f))
        if model.spherical:
            nu = (self.norms / ((A[t + 1] ** 2).sum(axis=1) + (self.m[t + 1] ** 2).sum(axis=1))) ** 0.5
            A[t + 1], self.m[t + 1] = nu[:, None] * A[t + 1], nu[:, None] * self.m[t + 1]
        if self.response:
            self.response.step(t, nu)
        if model.train_a:
            pull = float(model.lambda_a) * self.a[t] + alpha * on_a @ active / paths
            self.v_a = self.beta * self.v_a - eta * float(model.eta_a) * pull
        if model.train_b:
            self.v_b = self.beta * self.v_b - eta * (self.lambda_ * self.b[t] + alpha * f.mean(axis=1))
        self.a[t + 1], self.b[t + 1] = self.a[t] + self.v_a, self.b[t] + self.v_b
