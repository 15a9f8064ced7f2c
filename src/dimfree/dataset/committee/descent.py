"""Real training of a network on a finite data set, step by step (docs/theory/committee-dmft.md, sections 1.1 and 1.2).

Inputs are isotropic, so that teachers and start may lie along coordinate axes, where their overlaps are exact. Inputs are kept in
float32 and weights in float64: rounding moves observables a thousand times less than another draw of the data.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float32, Float64, Int, Key
from threadpoolctl import threadpool_limits

from dimfree.dataset.committee.batches import Batches
from dimfree.dataset.committee.forces import Forces, forces
from dimfree.dataset.committee.model import CommitteeModel
from dimfree.dataset.committee.protocol import IN_GROUPS
from dimfree.dataset.committee.start import CommitteeStart
from dimfree.errors import DivergenceError, ProblemError
from dimfree.machine import refuse_above_memory


class Push(NamedTuple):
    """A constant field on every weight from a step on: `field` times a sign of its own, the same in every run of a data set."""

    since: int
    field: float


class CommitteeRun(NamedTuple):
    """Observables of one data set at the asked steps."""

    M: Float64[np.ndarray, "t p k"]
    Q: Float64[np.ndarray, "t p p"]
    a: Float64[np.ndarray, "t p"]
    train_loss: Float64[np.ndarray, " t"]
    train_error: Float64[np.ndarray, " t"]
    C: Float64[np.ndarray, "t t p p"]
    along: Float64[np.ndarray, "t p"]  # W s/d, s being the signs of a push
    bias: Float64[np.ndarray, "t p"]


def run_memory(model: CommitteeModel, times: int) -> float:
    """Bytes: inputs, what is computed of all samples in a step, and weights at the asked steps."""
    n, p = float(model.alpha) * model.d, model.width
    return 4.0 * n * model.d * (1.25 if model.protocol in IN_GROUPS else 1) + 48.0 * n * p + 8.0 * model.d * p * times


def run_network(
    model: CommitteeModel,
    start: CommitteeStart,
    at: Int[np.ndarray, " t"],
    key: Key[Array, ""],
    push: Push | None = None,
) -> CommitteeRun:
    """One data set, at the steps `at`, which rise; runs with one key have the same data, batches and noise."""
    model.check(start, int(at[-1]))
    if model.d < model.width + model.units:
        raise ProblemError(
            f"{model.width} units and {model.units} teachers do not fit into dimension {model.d}; raise dimension."
        )
    refuse_above_memory(run_memory(model, len(at)), "the data set", "lower dimension or data.samples")
    with (
        threadpool_limits(1),
        np.errstate(over="ignore", invalid="ignore"),
    ):  # one core each; a run that diverges is refused
        return _Run(model, start, key, push).solve(at)


class _Run:
    """Weights, second layer and offsets on one data set, with their velocities."""

    def __init__(self, model: CommitteeModel, start: CommitteeStart, key: Key[Array, ""], push: Push | None) -> None:
        self.push, self.signs = push, np.where(np.asarray(jax.random.bits(key, (model.width, model.d))) % 2, 1.0, -1.0)
        self.model, p, k, d = model, model.width, model.units, model.d
        self.rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).tolist())
        n, P = max(1, round(float(model.alpha) * d)), np.asarray(model.target.P)
        self.x: Float32[np.ndarray, "n d"] = self.rng.standard_normal((n, d), dtype=np.float32)
        self.root, self.norms, self.a = np.linalg.cholesky(P), np.diag(start.Q), start.a.astype(float)
        teacher = jnp.asarray(self.x[:, :k].astype(float) @ self.root.T)
        noise = jnp.asarray(self.rng.standard_normal(n))
        self.y = np.asarray(model.draw_labels(teacher, noise, jax.random.fold_in(key, 1)))
        self.W, self.V, self.b = np.zeros((p, d)), np.zeros((p, d)), np.broadcast_to(start.b, p).astype(float)
        self.v_a, self.v_b = np.zeros((2, p))
        self.W[:, :k], self.W[:, k : k + p] = d**0.5 * start.along(P), d**0.5 * start.rest(P)
        self.batches = Batches(model, n, self.rng, exact=False)

    def solve(self, at: Int[np.ndarray, " t"]) -> CommitteeRun:
        """Take all steps, and observe at those that were asked for."""
        weights, seen, rates = [], [], self.model.rates(int(at[-1]) + 1)
        for done, eta in enumerate(rates):
            everything = None
            if done in at:
                everything = self._forces(self.x, self.y)
                if not np.isfinite(everything.loss):
                    raise DivergenceError(
                        f"multi-pass SGD diverges before step {done} with eta = {rates[0]:g}; lower eta (try {rates[0] / 4:.2g})."
                    )
                weights.append(self.W)
                seen.append((self.a, float(everything.loss), float(everything.wrong), self.b))
            if done < len(rates) - 1:
                self._step(done, float(eta), everything)
        W, k, d = np.stack(weights), self.model.units, self.model.d
        C = np.einsum("tin,ujn->tuij", W, W, optimize=True) / d
        a, loss, wrong, b = (np.stack(values) for values in zip(*seen, strict=True))
        M, along = W[..., :k] @ self.root.T / d**0.5, np.einsum("tin,in->ti", W, self.signs) / d
        return CommitteeRun(M, np.einsum("ttij->tij", C), a, loss, wrong, C, along, b)

    def _forces(self, x: Float32[np.ndarray, "m d"], y: Float64[np.ndarray, " m"]) -> Forces:
        h = (x @ (self.W / self.model.d**0.5).astype(np.float32).T).T.astype(float) + self.b[:, None]
        return forces(self.model, jnp.asarray(self.a), jnp.asarray(h), jnp.asarray(y))

    def _step(self, t: int, eta: float, everything: Forces | None) -> None:
        """Equations (2) and (3); the forces on all samples are known at steps that are observed."""
        model, beta, d = self.model, float(self.model.beta), self.model.d
        inside = self.batches.at(t)
        x, y = self.x, self.y
        if model.protocol in IN_GROUPS:
            x, y, inside = x[inside], y[inside], inside[inside]
            everything = None
        now = self._forces(x, y) if everything is None else everything
        active = (model.gradient_scale * inside).astype(float)
        f = np.asarray(now.f) * active
        gradient = (f.astype(np.float32) @ x).astype(float) / d**0.5
        self.V = beta * self.V - eta * (float(model.lambda_) * self.W + gradient)
        if self.push and t >= self.push.since:
            self.V += eta * self.push.field * self.signs
        if temperature := float(model.temperature):
            self.V += (2 * temperature * eta) ** 0.5 * self.rng.standard_normal(self.W.shape)
        if model.train_a:
            pull = float(model.lambda_a) * self.a + np.asarray(now.on_a) @ active / d
            self.v_a = beta * self.v_a - eta * float(model.eta_a) * pull
        if model.train_b:
            self.v_b = beta * self.v_b - eta * (float(model.lambda_) * self.b + f.sum(axis=1) / d)
        self.W, self.a, self.b = self.W + self.V, self.a + self.v_a, self.b + self.v_b
        if model.spherical:
            self.W = self.W * np.sqrt(self.norms * d / (self.W**2).sum(axis=1))[:, None]
