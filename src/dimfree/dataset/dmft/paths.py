"""Path DMFT of multi-pass SGD for any loss: forward stepping in Volterra form (docs/theory/dmft.md, sections 2 and 3).

P paths of one sample's pre-activation h are advanced together with the weights that they imply (weights.py) and, where
asked, with the responses (response.py). Weights cost O(P T²) in time and O(P T) in memory and need the force alone;
responses cost O(P T³) and O(P T²), need the curvature of the loss, and make error bars a few times smaller.

Paths of one ensemble share their fluctuations, so error bars come from independent ensembles only.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Float64, Key
from threadpoolctl import threadpool_limits

from dimfree.dataset.dmft.basis import Basis
from dimfree.dataset.dmft.floats import Floats
from dimfree.dataset.dmft.response import BAND, Response
from dimfree.dataset.dmft.weights import Weights
from dimfree.dataset.multi_pass_model import MultiPassModel
from dimfree.errors import DivergenceError, ProblemError
from dimfree.machine import refuse_above_memory


class PathDMFT(NamedTuple):
    """Averages of every ensemble (first axis) at times 0 to T in steps; two-time functions have the later time first."""

    m: Float64[np.ndarray, "e n"]
    C: Float64[np.ndarray, "e n n"]  # full overlap, symmetric
    M: Float64[np.ndarray, "e n n"]  # correlation of the force, symmetric
    train_loss: Float64[np.ndarray, "e n"]
    train_accuracy: Float64[np.ndarray, "e n"]
    generalisation_error: Float64[np.ndarray, "e n"]
    R: Float64[np.ndarray, "e n n"] | None  # R[t, s] = (1/N) tr dw(t)/dw(s+1), zero unless s < t
    K: Float64[np.ndarray, "e n n"] | None  # response of the force, zero unless s <= t


def mean_and_error(values: Float64[np.ndarray, "ensemble *rest"]) -> tuple[np.ndarray, np.ndarray]:
    """The mean over ensembles and its standard error."""
    return values.mean(axis=0), values.std(axis=0, ddof=1) / len(values) ** 0.5


def fewest_paths(steps: int) -> int:
    """The smallest number of paths: each step uses two directions of their space, most of which must stay free."""
    return 4 * (steps + 4)


def memory(steps: int, paths: int, ensembles: int = 4, responses: bool = True) -> float:
    """Bytes: the basis of one ensemble, the derivative process (float32, lower triangle), all averages."""
    derivatives = 2.0 * paths * steps * (steps + BAND) if responses else 0.0
    return 24.0 * paths * (steps + 2) + derivatives + 8.0 * (5 * ensembles + 8) * (steps + 1) ** 2


def solve_paths(
    model: MultiPassModel,
    steps: int,
    key: Key[Array, ""],
    paths: int = 4000,
    ensembles: int = 4,
    responses: bool = True,
) -> PathDMFT:
    """Step all ensembles forward, one after another."""
    solved = [solve_ensemble(model, steps, key, paths, ensembles, responses, number) for number in range(ensembles)]
    return PathDMFT(**{name: _stacked([getattr(one, name) for one in solved]) for name in PathDMFT._fields})


def solve_ensemble(
    model: MultiPassModel,
    steps: int,
    key: Key[Array, ""],
    paths: int,
    ensembles: int,
    responses: bool,
    number: int,
) -> PathDMFT:
    """Step one of the ensembles forward; the first axis of the result has one entry."""
    if ensembles < 2:
        raise ProblemError(f"{ensembles} ensembles give no error bar; use at least 2, better 4.")
    if paths < fewest_paths(steps):
        raise ProblemError(
            f"{paths} paths are too few for {steps} steps; use at least {fewest_paths(steps)}, better 4000."
        )
    needed, way_out = memory(steps, paths, ensembles, responses), "use fewer paths or fewer steps"
    if responses:
        way_out += ", or leave out the responses"
    refuse_above_memory(needed, f"the DMFT of {steps} steps with {paths} paths", way_out)
    seed = np.asarray(jax.random.key_data(jax.random.split(key, ensembles)))[number]
    with threadpool_limits(1):  # one thread: several would wait for each other longer than these products take
        found = _Ensemble(model, steps + 1, paths, np.random.default_rng(seed), responses).solve()
    alone: dict[str, Any] = {name: None if values is None else values[None] for name, values in found.items()}
    return PathDMFT(**alone)


class _Ensemble:
    """P paths, the weights that they imply and, where asked, the responses."""

    def __init__(
        self, model: MultiPassModel, times: int, paths: int, rng: np.random.Generator, responses: bool
    ) -> None:
        self.model, self.times, self.rng, self.n = model, times, rng, Floats.of(model)
        basis = Basis(3 * times + 4 if self.n.temperature else 2 * times + 4, paths)
        zeta = basis.row(basis.normal(rng))
        self.weights = Weights(self.n, model.spherical, times, basis, rng)
        self.response = Response(self.n, times, paths) if responses else None
        # if the curvature is unbounded, derivatives of single paths explode and dominate K
        self.calm = model.task != "phase-retrieval"
        noise = basis.row(basis.normal(rng)) if model.has_teacher else np.zeros(paths)
        self.c = self._clusters(paths)
        self.y = model.label(jnp.asarray(self.c), jnp.asarray(zeta), jnp.asarray(noise))
        self.signal: Float64[np.ndarray, " P"] = self.c + self.n.Delta**0.5 * zeta
        self.s: Bool[np.ndarray, " P"] = np.zeros(paths, bool)
        self.s[rng.permutation(paths)[: _rounded(self.n.b * paths, rng)]] = True

    def _clusters(self, paths: int) -> Float64[np.ndarray, " P"]:
        """The clusters c of all samples, in exact proportions; for two clusters the gauge y = c = 1 (3.2)."""
        if self.model.task != "three-clusters":
            return np.zeros(paths) if self.model.has_teacher else np.ones(paths)
        middle = _rounded(self.n.rho0 * paths, self.rng)
        return np.concatenate([np.zeros(middle), np.where(np.arange(paths - middle) % 2, -1.0, 1.0)])

    def solve(self) -> dict[str, Any]:
        """Take all steps, and return what PathDMFT keeps of one ensemble."""
        w, seen = self.weights, np.empty((2, self.times))
        for t in range(self.times):
            h = jnp.asarray(w.m[t] * self.signal + w.field(t))  # (H1)
            seen[:, t] = _value_and_accuracy(self.model, self.y, h)
            if not np.isfinite(seen[0, t]):
                raise DivergenceError(
                    f"the paths diverge at step {t} with eta = {self.n.eta:g}; lower eta (try {self.n.eta / 4:.2g})."
                )
            with np.errstate(over="ignore", invalid="ignore"):  # the error shows at the next step
                self._close(t, h)
        error = np.asarray(self.model.generalisation_error(jnp.asarray(w.m), jnp.asarray(w.C.diagonal())))
        weights = {"m": w.m, "C": w.C, "M": w.M, "generalisation_error": error}
        responses = {"R": self.response.R, "K": self.response.K} if self.response else {"R": None, "K": None}
        return weights | responses | {"train_loss": seen[0], "train_accuracy": seen[1]}

    def _close(self, t: int, h: Float[Array, " P"]) -> None:
        """The force at step t, what it does to weights and responses, and the batch of the next step."""
        w, active = self.weights, self.n.gradient_scale * self.s
        f = active * np.asarray(_force(self.model, self.y, h))
        pull, reaction = float(f @ self.signal / f.size), w.write(t, f)
        if self.response:
            K = self.response.of_force(t, active * np.asarray(_curvature(self.model, self.y, h)))
            if self.calm:  # Stein's lemma has less noise than the sampled averages (3.2)
                reaction = w.remembered(t, K)
                if not self.model.has_teacher:
                    pull = float(f @ self.c / f.size + self.n.Delta * K @ w.m[: t + 1])
        nu = w.step(t, pull, reaction)
        if self.response:
            self.response.step(t, nu)
        self._draw_batch()

    def _draw_batch(self) -> None:
        """One step of the chains, with as many flips as expected (3.2)."""
        inside, outside = np.flatnonzero(self.s), np.flatnonzero(~self.s)
        for group, probability in ((inside, self.n.leave), (outside, self.n.enter)):
            flips = self.rng.permutation(group)[: _rounded(probability * group.size, self.rng)]
            self.s[flips] = ~self.s[flips]


@jax.jit
def _value_and_accuracy(model: MultiPassModel, y: Float[Array, " P"], h: Float[Array, " P"]) -> Float[Array, " 2"]:
    return jnp.stack([model.value(y, h).mean(), model.accuracy(y, h).mean()])


@jax.jit
def _force(model: MultiPassModel, y: Float[Array, " P"], h: Float[Array, " P"]) -> Float[Array, " P"]:
    return model.force(y, h)


@jax.jit
def _curvature(model: MultiPassModel, y: Float[Array, " P"], h: Float[Array, " P"]) -> Float[Array, " P"]:
    return model.curvature(y, h)


def _stacked(ensembles: list[Any]) -> Any:
    return None if ensembles[0] is None else np.concatenate(ensembles)


def _rounded(expected: float, rng: np.random.Generator) -> int:
    """An integer with this mean."""
    return int(np.floor(expected + rng.random()))
