"""Path DMFT of multi-pass SGD for any smooth loss: forward stepping in Volterra form (docs/theory/dmft.md, sections 2 and 3).

P paths of one sample's pre-activation h are advanced together with the averages M, K and d that close the equations of the
weights (dmft_rows). Row t+1 of the response R needs K(t,.), and so all of row t: rows cannot be grouped into matrix-matrix
products, and each one reads the past of the derivative process once. This is written in NumPy because shapes grow with t:
masks of a fixed shape, as jit needs, would triple the work.

Paths of one ensemble share their fluctuations, so error bars come from independent ensembles only.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float32, Float64, Key

from dimfree.errors import DivergenceError, ProblemError
from dimfree.functions.memory import refuse_above_memory
from dimfree.functions.multi_pass import MultiPassModel
from dimfree.theory.dmft_rows import NoiseFactor, Numbers, Weights

_BAND = 16  # columns s of the derivative process stored together; only rows from the first of them on are kept


class PathDMFT(NamedTuple):
    """Averages of every ensemble (first axis) at times 0 to T in steps; two-time functions have the later time first."""

    m: Float64[np.ndarray, "e n"]
    C: Float64[np.ndarray, "e n n"]  # full overlap, symmetric
    R: Float64[np.ndarray, "e n n"]  # R[t, s] = (1/N) tr dw(t)/dw(s+1), zero unless s < t
    K: Float64[np.ndarray, "e n n"]  # response of the force, zero unless s <= t
    M: Float64[np.ndarray, "e n n"]  # correlation of the force, symmetric
    train_loss: Float64[np.ndarray, "e n"]
    train_accuracy: Float64[np.ndarray, "e n"]
    generalisation_error: Float64[np.ndarray, "e n"]


def mean_and_error(values: Float64[np.ndarray, "ensemble *rest"]) -> tuple[np.ndarray, np.ndarray]:
    """The mean over ensembles and its standard error."""
    return values.mean(axis=0), values.std(axis=0, ddof=1) / len(values) ** 0.5


def memory(model: MultiPassModel, steps: int, paths: int, ensembles: int = 4) -> float:
    """Bytes: the derivative process of one ensemble (float32, lower triangle), five rows of paths a step, all averages."""
    return paths * steps * (2.0 * (steps + _BAND) + 40) + 8.0 * (5 * ensembles + 6) * (steps + 1) ** 2


def solve_paths(
    model: MultiPassModel, steps: int, key: Key[Array, ""], paths: int = 4000, ensembles: int = 4
) -> PathDMFT:
    """Step all ensembles forward, one after another."""
    if ensembles < 2:
        raise ProblemError(f"{ensembles} ensembles give no error bar; use at least 2, better 4.")
    if paths < 4 * (steps + 4):
        raise ProblemError(f"{paths} paths are too few for {steps} steps; use at least {4 * (steps + 4)}, better 4000.")
    needed = memory(model, steps, paths, ensembles)
    refuse_above_memory(needed, f"the DMFT of {steps} steps with {paths} paths", "use fewer paths or fewer steps")
    seeds = np.asarray(jax.random.key_data(jax.random.split(key, ensembles)))
    solved = [_Ensemble(model, steps + 1, paths, np.random.default_rng(seed)).solve() for seed in seeds]
    return PathDMFT(*(np.stack(values) for values in zip(*solved, strict=True)))


class _Ensemble:
    """P paths and the weights that they imply."""

    def __init__(self, model: MultiPassModel, times: int, paths: int, rng: np.random.Generator) -> None:
        self.model, self.times, self.rng, self.n = model, times, rng, Numbers.of(model)
        n = self.n
        self.weights = Weights(n, model.spherical, times)
        # Langevin's noise acts on the weights like a force (section 3.1)
        self.factor = NoiseFactor(times, paths, 2 * n.temperature / (n.eta * n.alpha * n.Delta))
        self.basis: Float64[np.ndarray, "rows P"] = np.empty((times + 4, paths))  # orthonormal
        self.rows = 0
        self.response = _Response(times, paths)
        self.f: Float64[np.ndarray, "n P"] = np.empty((times, paths))
        self.xi: Float64[np.ndarray, "n P"] = np.empty((times, paths))
        self._draw_samples(paths)

    def _draw_samples(self, paths: int) -> None:
        """What stays the same along a path; the first rows of the basis are 1, zeta and the Gaussian of the start."""
        model, n = self.model, self.n
        self.basis[0], self.rows = 1.0, 1
        self.c = np.zeros(paths) if model.has_teacher else np.ones(paths)  # two clusters: the gauge y = c = 1
        if model.task == "three-clusters":
            middle = _rounded(n.rho0 * paths, self.rng)
            outer = np.where(np.arange(paths - middle) % 2, -1.0, 1.0)
            self.c = np.concatenate([np.zeros(middle), outer])
        self.zeta, self.g0 = self._normal(), self._normal()
        noise = self._normal() if model.has_teacher else np.zeros(paths)
        self.y = model.label(jnp.asarray(self.c), jnp.asarray(self.zeta), jnp.asarray(noise))
        self.s = np.zeros(paths, bool)
        self.s[self.rng.permutation(paths)[: _rounded(n.b * paths, self.rng)]] = True

    def _normal(self) -> Float64[np.ndarray, " P"]:
        """Standard normals, made orthogonal to all earlier ones: empirical covariances are exact (3.2)."""
        earlier = self.basis[: self.rows]
        paths = earlier.shape[1]
        fresh = self.rng.standard_normal(paths)
        fresh -= (earlier @ fresh / paths) @ earlier
        fresh /= np.sqrt(fresh @ fresh / paths)
        self.basis[self.rows] = fresh
        self.rows += 1
        return fresh

    def solve(self) -> tuple[np.ndarray, ...]:
        """The rows of PathDMFT."""
        w, seen = self.weights, np.empty((2, self.times))
        for t in range(self.times):
            value, accuracy, force, curvature = _local(self.model, self.y, jnp.asarray(self._preactivations(t)))
            seen[:, t] = value, accuracy
            if not np.isfinite(seen[0, t]):
                raise DivergenceError(
                    f"the paths diverge at step {t} with eta = {self.n.eta:g}; lower eta (try {self.n.eta / 4:.2g})."
                )
            with np.errstate(over="ignore", invalid="ignore"):  # seen at the next step
                self._close(t, np.asarray(force), np.asarray(curvature))
        error = self.model.generalisation_error(jnp.asarray(w.m), jnp.asarray(w.C.diagonal()))
        return w.m, w.C, w.R, w.K, w.M, *seen, np.asarray(error)

    def _preactivations(self, t: int) -> Float64[np.ndarray, " P"]:
        """(H1)."""
        n, w, past = self.n, self.weights, self.weights.R[t, :t]
        G = w.rho[t] * n.c0**0.5 * self.g0 - n.eta * (n.alpha * n.Delta) ** 0.5 * (past @ self.xi[:t])
        signal = w.m[t] * (self.c + n.Delta**0.5 * self.zeta)
        return signal + n.Delta**0.5 * G - n.Delta * n.eta * (past @ self.f[:t])

    def _close(self, t: int, force: Float64[np.ndarray, " P"], curvature: Float64[np.ndarray, " P"]) -> None:
        """(H2)-(H4) at step t, the noise xi(t), row t+1 of the weights, and the batch of the next step."""
        n, w, paths = self.n, self.weights, force.size
        active = n.gradient_scale * self.s
        self.f[t] = f = active * force
        w.M[t, : t + 1] = w.M[: t + 1, t] = self.f[: t + 1] @ f / paths
        w.K[t, : t + 1] = self.response.row(t, -n.Delta * n.eta * w.R[t, :t], active * curvature)
        if self.model.has_teacher:
            w.d[t] = self.zeta @ f / paths - w.K[t, : t + 1] @ w.m[: t + 1]
        else:
            w.d[t] = self.c @ f / paths
        self._draw_noise(t)
        w.close_row(t)
        self._draw_batch()

    def _draw_noise(self, t: int) -> None:
        """xi(t) given the past, with covariance M."""
        first = self.rows - self.factor.rank
        earlier, new = self.factor.row(t, self.f[t])
        self.xi[t] = earlier @ self.basis[first : self.rows]
        if new:
            self.xi[t] += new * self._normal()

    def _draw_batch(self) -> None:
        """One step of the chains, with as many flips as expected (3.2)."""
        inside, outside = np.flatnonzero(self.s), np.flatnonzero(~self.s)
        for group, probability in ((inside, self.n.leave), (outside, self.n.enter)):
            flips = self.rng.permutation(group)[: _rounded(probability * group.size, self.rng)]
            self.s[flips] = ~self.s[flips]


class _Response:
    """The derivative process f'(r) D(r,s) of every path: float32, in bands of columns s that keep rows r >= s only."""

    def __init__(self, times: int, paths: int) -> None:
        self.times, self.paths = times, paths
        self.bands: list[Float32[np.ndarray, "rows columns P"]] = []

    def row(self, t: int, kernel: Float64[np.ndarray, " t"], slope: Float64[np.ndarray, " P"]) -> np.ndarray:
        """K(t,.) by step 4 of section 3.1, where the kernel is -Delta eta R(t,.) and the slope f'(t)."""
        if t % _BAND == 0:
            rows = self.times - t
            self.bands.append(np.zeros((rows, min(_BAND, rows), self.paths), np.float32))
        kernel32, slope32, K = kernel.astype(np.float32), slope.astype(np.float32), np.empty(t + 1)
        for number, band in enumerate(self.bands):
            first = number * _BAND
            past, new = band[: t - first].reshape(t - first, band[0].size), band[t - first]
            np.matmul(kernel32[first:], past, out=new.reshape(-1))
            new *= slope32
            K[first : first + len(new)] = new.mean(axis=1, dtype=float)[: t + 1 - first]
        new[t - first] = slope32
        K[t] = slope.mean()
        return K


@jax.jit
def _local(
    model: MultiPassModel, y: Float[Array, " P"], h: Float[Array, " P"]
) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, " P"], Float[Array, " P"]]:
    return model.value(y, h).mean(), model.accuracy(y, h).mean(), model.force(y, h), model.curvature(y, h)


def _rounded(expected: float, rng: np.random.Generator) -> int:
    """An integer with this mean."""
    return int(np.floor(expected + rng.random()))
