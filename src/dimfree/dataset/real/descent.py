"""Multi-pass SGD on a finite data set: the real thing (docs/theory/dmft.md, section 1).

Seeds run one after another, each with its own data: one data matrix fits a cache where all of them would not, which is
twice as fast as running them side by side. The matrix is kept in float32, weights and forces in float64: rounding moves
observables by 1e-6, a thousand times less than another draw of the data.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr
from jaxtyping import Array, Bool, Float, Float32, Int, Key

from dimfree.dataset.multi_pass_model import MultiPassModel
from dimfree.errors import DivergenceError, ProblemError
from dimfree.machine import refuse_above_memory
from dimfree.random_numbers import normals


class DatasetRuns(NamedTuple):
    """Observables of every seed (first axis) at the asked steps."""

    m: Float[np.ndarray, "seed time"]
    C: Float[np.ndarray, "seed time time"]
    train_loss: Float[np.ndarray, "seed time"]
    train_accuracy: Float[np.ndarray, "seed time"]
    generalisation_error: Float[np.ndarray, "seed time"]


class Dataset(NamedTuple):
    """M inputs and labels, the start, and the signs of a field.

    The direction v is (1, ..., 1): the noise is isotropic, so that nothing is lost.
    """

    x: Float32[Array, "M N"]
    y: Float[Array, " M"]
    w: Float[Array, " N"]
    signs: Float[Array, " N"]


class Columns(NamedTuple):
    """Runs on the same data from the same start: the batches of each run, and the step at which its field is switched on."""

    chain: tuple[int, ...]
    since: Int[Array, " k"]
    field: Float[Array, ""]


class _State(NamedTuple):
    W: Float[Array, "k N"]
    h: Float[Array, "k M"]
    s: Bool[Array, "chains M"]
    t: Int[Array, ""]


class _Observed(NamedTuple):
    """Observables of all runs; C and `moved` compare each run with the first one."""

    m: Float[np.ndarray, "seed k time"]
    C: Float[np.ndarray, "seed k time time"]
    moved: Float[np.ndarray, "seed k time"]
    train_loss: Float[np.ndarray, "seed k time"]
    train_accuracy: Float[np.ndarray, "seed k time"]
    generalisation_error: Float[np.ndarray, "seed k time"]


def simulate_dataset(
    model: MultiPassModel, dimension: int, steps: Sequence[int], key: Key[Array, ""], seeds: int, first: int = 0
) -> DatasetRuns:
    """Independent runs number `first` and following, each with its own data, start and batches."""
    seen = _run(model, dimension, steps, key, seeds, Columns((0,), jnp.zeros(1, int), jnp.zeros(())), first)
    return DatasetRuns(*(getattr(seen, name)[:, 0] for name in DatasetRuns._fields))


def replica_overlap(
    model: MultiPassModel, dimension: int, steps: Sequence[int], key: Key[Array, ""], seeds: int
) -> Float[np.ndarray, "seed time time"]:
    """C12(t,t') of two runs with the same data and start but their own batches (section 4.2)."""
    return _run(model, dimension, steps, key, seeds, Columns((0, 1), jnp.zeros(2, int), jnp.zeros(()))).C[:, 1]


def response(
    model: MultiPassModel,
    dimension: int,
    steps: Sequence[int],
    key: Key[Array, ""],
    seeds: int,
    since: Sequence[int],
    field: float = 1e-2,
) -> Float[np.ndarray, "seed since time"]:
    """chi(t,s) of section 5 for every s in `since`: twins with the same batches, pushed by a field of random signs.

    A constant push H from step s on moves the weights along it by H chi(t,s). With the same key, the run that is pushed is
    the one of `simulate_dataset`.
    """
    if not field > 0:
        raise ProblemError(f"the field is {field:g}, it must be positive and small; try 0.01.")
    never = np.iinfo(np.int64).max
    columns = Columns((0,) * (1 + len(since)), jnp.asarray([never, *since]), jnp.asarray(field, float))
    return _run(model, dimension, steps, key, seeds, columns).moved[:, 1:] / field


def dataset_memory(model: MultiPassModel, dimension: int, times: int, seeds: int, runs: int = 1) -> float:
    """Bytes: one data matrix and what it is drawn from, weights at the asked steps, and the overlaps of every seed."""
    matrix = 8.0 * float(model.alpha) * dimension**2
    return matrix + 8.0 * runs * times * (2 * dimension + seeds * (times + 5))


def _run(
    model: MultiPassModel,
    dimension: int,
    steps: Sequence[int],
    key: Key[Array, ""],
    seeds: int,
    columns: Columns,
    first: int = 0,
) -> _Observed:
    """Every seed in turn; numbers of seed i depend on the key and on i alone."""
    gaps, samples = np.diff(np.asarray(steps, dtype=int), prepend=0), round(float(model.alpha) * dimension)
    if not len(gaps) or gaps[0] < 0 or np.any(gaps[1:] <= 0):
        raise ProblemError(f"the asked steps are {list(steps)}, they must be at least one, from 0 on, and increase.")
    if samples < 1 or dimension < 2:
        raise ProblemError(f"dimension {dimension} at alpha = {float(model.alpha):g} leaves no data; raise dimension.")
    if seeds < 1:
        raise ProblemError(f"{seeds} seeds were asked for; ask for at least 1.")
    needed = dataset_memory(model, dimension, len(gaps), seeds, len(columns.chain))
    refuse_above_memory(needed, f"a data set in dimension {dimension}", "lower dimension, alpha or the number of steps")
    seen = []
    for seed in range(first, first + seeds):
        data_key, steps_key = seed_keys(key, seed)
        drawn = dataset_normals(data_key, samples, dimension)
        # fetched at once, because several unfinished seeds would keep all of their data in memory
        seen.append(jax.device_get(_one_seed(model, dimension, drawn, jnp.asarray(gaps), steps_key, columns)))
        _check_finite(seen[-1], steps, float(model.eta))
    return _Observed(*(np.stack(values) for values in zip(*seen, strict=True)))


def _check_finite(observables: tuple[Float[np.ndarray, "..."], ...], steps: Sequence[int], eta: float) -> None:
    lost = ~np.isfinite(observables[_Observed._fields.index("train_loss")]).all(axis=0)
    if lost.any():
        raise DivergenceError(
            f"multi-pass SGD diverges before step {steps[int(np.argmax(lost))]} with eta = {eta:g}; "
            f"lower eta (try {eta / 4:.2g})."
        )


def seed_keys(key: Key[Array, ""], seed: int) -> Key[Array, " 2"]:
    """Where the randomness of one seed comes from: its data and start, and its steps."""
    return jax.random.split(jax.random.fold_in(key, seed))


@partial(jax.jit, static_argnums=(1, 2))
def dataset_normals(key: Key[Array, ""], samples: int, dimension: int) -> Float32[Array, " count"]:
    """All that is drawn before the first step; on its own, since most models share its compilation."""
    return normals(key, samples * dimension + samples + 2 * dimension)


@eqx.filter_jit
def _one_seed(
    model: MultiPassModel,
    N: int,
    drawn: Float32[Array, " count"],
    gaps: Int[Array, " time"],
    steps_key: Key[Array, ""],
    columns: Columns,
) -> tuple[Float[Array, "..."], ...]:
    """Observables in the order of `_Observed`."""
    data = dataset(model, N, drawn)
    W = jnp.broadcast_to(data.w, (len(columns.chain), N))
    s = jnp.zeros((max(columns.chain) + 1, len(data.y)), bool)
    state = _State(W, _preactivations(data, W), s, jnp.zeros((), int))

    def step(_: Array, state: _State) -> _State:
        batch_key, noise_key = jax.random.split(jax.random.fold_in(steps_key, state.t))
        state = state._replace(s=_next_batch(model, state, batch_key))
        W = _update(model, data, state, columns, noise_key)
        return state._replace(W=W, h=_preactivations(data, W), t=state.t + 1)

    def observe(state: _State, gap: Int[Array, ""]) -> tuple[_State, Any]:
        state = jax.lax.fori_loop(0, gap, step, state)
        loss, accuracy = model.value(data.y, state.h), model.accuracy(data.y, state.h)
        return state, (state.W, loss.mean(axis=1), accuracy.mean(axis=1))

    W, loss, accuracy = jax.lax.scan(observe, state, gaps)[1]
    m, C = W.mean(axis=2), jnp.einsum("tn,ukn->ktu", W[:, 0], W) / N
    moved = jnp.einsum("tkn,n->kt", W - W[:, :1], data.signs) / N
    error = model.generalisation_error(m, jnp.einsum("tkn,tkn->tk", W, W) / N)
    return (m.T, C, moved, loss.T, accuracy.T, error.T)


def dataset(model: MultiPassModel, N: int, drawn: Float32[Array, " count"]) -> Dataset:
    """Inputs around their clusters or labelled by a teacher; a start with exactly m = m0 and |w_perp|² = c0 N.

    Fluctuations of the start would pollute everything after it.
    """
    M = (len(drawn) - 2 * N) // (N + 1)
    z, (g, signs) = drawn[: M * N].reshape(M, N), drawn[-2 * N :].astype(float).reshape(2, N)
    noise = drawn[M * N : -2 * N].astype(float)
    across = g - g.mean()
    w = model.m0 + across * jnp.sqrt(model.c0 * N) / jnp.linalg.norm(across)
    x, y = _labelled(model, z, noise)
    return Dataset(x, y, w, jnp.where(signs < 0, -1.0, 1.0))


def _labelled(
    model: MultiPassModel, z: Float32[Array, "M N"], noise: Float[Array, " M"]
) -> tuple[Float32[Array, "M N"], Float[Array, " M"]]:
    M, N = z.shape
    if model.has_teacher:
        return z, model.label(jnp.zeros(M), z.sum(axis=1, dtype=float) / jnp.sqrt(N), noise)
    middle, u = model.rho0 if model.task == "three-clusters" else 0.0, ndtr(noise)
    c = jnp.where(u < middle, 0.0, jnp.where(u < (1 + middle) / 2, 1.0, -1.0))
    x = (c / jnp.sqrt(N)).astype(jnp.float32)[:, None] + jnp.sqrt(model.Delta).astype(jnp.float32) * z
    return x, model.label(c, jnp.zeros(M), jnp.zeros(M))


def _preactivations(data: Dataset, W: Float[Array, "k N"]) -> Float[Array, "k M"]:
    scaled = (W / jnp.sqrt(W.shape[1])).astype(jnp.float32)
    return (data.x @ scaled.T).T.astype(float)


def _update(
    model: MultiPassModel, data: Dataset, state: _State, columns: Columns, key: Key[Array, ""]
) -> Float[Array, "k N"]:
    """Equation (1), with the push of the field and the noise of Langevin; runs with equal batches have equal noise."""
    W, N = state.W, state.W.shape[1]
    chain = jnp.asarray(columns.chain)
    f = jnp.where(state.s[chain], model.force(data.y, state.h), 0.0)
    gradient = (f.astype(jnp.float32) @ data.x).astype(float) * (model.gradient_scale / jnp.sqrt(N))
    push = jnp.where(state.t >= columns.since, columns.field, 0.0)[:, None] * data.signs
    noise = normals(key, state.s.shape[0] * N).reshape(-1, N).astype(float)[chain]
    W = W - model.eta * (model.lambda_ * W + gradient - push) + jnp.sqrt(2 * model.temperature * model.eta) * noise
    if model.spherical:
        W = W * (jnp.sqrt(model.start_norm) * jnp.sqrt(N) / jnp.linalg.norm(W, axis=1, keepdims=True))
    return W


def _next_batch(model: MultiPassModel, state: _State, key: Key[Array, ""]) -> Bool[Array, "chains M"]:
    """One step of every sample's chain, from its stationary law on (section 1.2)."""
    inside = jnp.where(state.t == 0, model.b, jnp.where(state.s, 1 - model.leave, model.enter))
    return jax.random.uniform(key, (state.s.size,), jnp.float32).reshape(state.s.shape) < inside
