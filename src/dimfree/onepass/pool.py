"""The user's rows compared with Gaussian inputs of the same covariance: how far they differ, and up to which rate
training is stable.

docs/theory/structured.md, sections 1.6 and 3. Limits of stability are those of a linear network of the problem's width and
second layer.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from math import isinf

import jax
import numpy as np
from jaxtyping import Float

from dimfree.description import Values
from dimfree.functions.named import activation
from dimfree.onepass.inputs.covariance import Features
from dimfree.onepass.inputs.spectrum import Spectrum
from dimfree.onepass.linear_mean import critical_rate, is_linear, learning_rate_of_unit_rate
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.structured_model import StructuredModel
from dimfree.problem import Problem

_STRAY = 3.0  # variance of the norms, over a Gaussian's, above which it is reported
_NEAR = 0.8  # above this share of a limit of stability, the noise of steps is several times larger than far below it
_APART = 0.05  # relative difference of two risks of one network above which it is reported
_DOMINATED = 0.5  # share of the variance in one direction above which `show` mentions it
_OFTEN = 1.5  # if rows are drawn more often than this on average, that is reported
_STABLE = "with this width and second layer a linear network is stable up to learning_rate"
_AFFORDABLE = 3e8  # multiplications per pass over all rows above which their limit of stability is not computed

_ROUGHLY = 1e-3  # relative error of a limit of which a share is taken
_WITHIN = 3.0  # standard deviations of a preactivation

GAUSSIAN = "risk_if_gaussian"  # name of the observable

Rows = Float[np.ndarray, "N d"]


def norm_variance_ratio(found: Spectrum) -> float:
    """Var |x|² over that of a Gaussian, 2 tr Sigma²/d²."""
    assert found.pool is not None
    squares = np.sum(found.pool.rows**2, axis=1)
    return float(squares.var() * found.dimension**2 / (2 * found.values**2 @ found.multiplicities))


def pool_critical_rate(rows: Rows, batch: int = 1, tolerance: float = 1e-12) -> float:
    """The stability limit for batches of rows: 1 over the largest eigenvalue of L^-1 ((1 - 1/m) S . S + T/m), in the eigenbasis.

    A step of a batch of m turns D into D - h L D + h² ((1 - 1/m) S D S + T D/m): pairs of different rows see the covariance S.
    """
    from scipy.sparse import linalg  # slow to import, and rarely needed

    moments = np.mean(rows**2, axis=0)
    live = moments > 1e-12 * moments.max()
    x, scale = rows[:, live], np.sqrt(np.add.outer(moments[live], moments[live]))
    d = int(live.sum())

    def symmetric(vector: Float[np.ndarray, " D"]) -> Float[np.ndarray, " D"]:
        """The same between L^-1/2: L D = S D + D S and S D S are multiplications here, T D = mean (x.Dx) x xᵀ."""
        D = vector.reshape(d, d) / scale
        weights = np.einsum("ni,ni->n", x @ D, x) / len(x)
        pairs = (1 - 1 / batch) * np.outer(moments[live], moments[live]) * D
        found: Float[np.ndarray, " D"] = (((x * weights[:, None]).T @ x / batch + pairs) / scale).ravel()
        return found

    operator = linalg.LinearOperator((d * d, d * d), matvec=symmetric, dtype=float)
    if d == 1:
        return float(1 / symmetric(np.ones(1))[0])
    start = np.eye(d).ravel()  # the same answer in every process
    return float(1 / linalg.eigsh(operator, k=1, which="LA", v0=start, return_eigenvectors=False, tol=tolerance)[0])


def says_of_rows(problem: Problem, model: StructuredModel, seen: Mapping[str, Values]) -> Iterator[str]:
    """Why training on rows may differ from Gaussian theory, from the rows themselves and from a run on them."""
    assert isinstance(problem, OnePassProblem)
    yield from _far_norms(problem)
    yield from _above_the_limit(problem, model)
    yield from _fields_apart(seen)
    yield from _revisited(problem)


def _far_norms(problem: OnePassProblem) -> Iterator[str]:
    """Warn of rows with enormous norms."""
    ratio = norm_variance_ratio(problem.spectrum)
    if ratio > _STRAY:
        pool, gaussian = critical_rates(problem)
        given = getattr(problem.data, "covariance", None)
        each = isinstance(given, Features) and given.scale == "each"
        advice = 'Try scale = "common"' if each else "Look at the rows of largest norm"
        yield (f"rows have a norm variance {ratio:.2g} times that of a Gaussian{_limits(pool, gaussian)}. {advice}.")


def _limits(pool: float | None, gaussian: float) -> str:
    """Both limits of stability, as the end of a sentence; a second layer of zeros has none."""
    if isinf(gaussian):
        return ""
    where = f"{gaussian:.2g} on Gaussians" if pool is None else f"{pool:.2g} on these rows, {gaussian:.3g} on Gaussians"
    return f"; {_STABLE} {where}"


def _above_the_limit(problem: OnePassProblem, model: StructuredModel) -> Iterator[str]:
    """Warn of a rate at which a linear network with the square loss diverges on these rows, or nearly does."""
    if not is_linear(model) or not model.plain:
        return
    (pool, gaussian), rate = critical_rates(problem), problem.training.learning_rate
    if pool is not None and rate > _NEAR * pool:
        does = "diverges" if rate > pool else "nearly diverges"
        yield (
            f"{_STABLE} {pool:.2g} on these rows ({gaussian:.3g} on Gaussians), and learning_rate is {rate:.2g}: the mean risk "
            f"on the rows {does}; lower learning_rate below {_NEAR * pool:.2g}."
        )


def _fields_apart(seen: Mapping[str, Values]) -> Iterator[str]:
    """Warn where one network has different risks on the rows and on Gaussian inputs: its preactivations are not Gaussian."""
    if GAUSSIAN not in seen:
        return
    measured, gaussian = (float(seen[name][0].mean()) for name in ("risk", GAUSSIAN))
    off = measured / gaussian - 1 if gaussian > 0 else 0.0
    if abs(off) > _APART:
        yield (
            "a network has another risk on these rows than on Gaussian inputs of the same covariance, by more than "
            f"{100 * _APART:.0f} % at a start (risk_if_gaussian): its preactivations are not Gaussian; believe rows, not theory."
        )


def _revisited(problem: OnePassProblem) -> Iterator[str]:
    """Warn of a pool whose rows are drawn more than once, unless risks are measured on others."""
    assert problem.spectrum.pool is not None
    if problem.spectrum.pool.held is not None:
        return
    count = len(problem.spectrum.pool.rows)
    drawn = problem.steps(problem.run.until) * problem.training.batch / count
    if drawn > _OFTEN:
        yield (
            f"each of the {count} rows is drawn {drawn:.2g} times on average: the risk is that on these rows, not on fresh ones; "
            "give more rows, or read it as such."
        )


def said_of_inputs(problem: OnePassProblem) -> Iterator[str]:
    """What is known of a covariance, and of the rows that it is from, before anything runs."""
    found, (pool, gaussian) = problem.spectrum, critical_rates(problem)
    stable = "" if isinf(gaussian) else f"; {_STABLE} {gaussian:.4g} on Gaussians"
    yield (
        f"Inputs have {len(found.values)} distinct eigenvalues, trace {found.mean * found.dimension:.4g}, the largest "
        f"{found.largest:.3g}, effective rank {found.effective_rank:.3g}; largest eigenvalue times step is "
        f"{problem.time_step * found.largest:.2g}{stable}."
    )
    yield from _dominated(problem)
    if found.pool is None:
        return
    rows = found.pool.rows
    limit = "" if pool is None or isinf(pool) else f"; {_STABLE} {pool:.4g} on them"
    yield (
        f"There are {len(rows)} rows: their norm variance is {norm_variance_ratio(found):.2g} times that of a Gaussian, the "
        f"largest squared norm {np.sum(rows**2, axis=1).max():.2g}{limit}."
    )
    yield from found.pool.left_out()


def _dominated(problem: OnePassProblem) -> Iterator[str]:
    """Say that one direction has most of the variance, what that does to the others, and how to change it."""
    found, d = problem.spectrum, problem.dimension
    trace = found.mean * d
    if d == 1 or found.largest <= _DOMINATED * trace:
        return
    others = (trace - found.largest) / (d - 1)
    slower = f", and the others learn {found.largest / others:.2g} times more slowly on average" if others > 0 else ""
    given = getattr(problem.data, "covariance", None)
    common = isinstance(given, Features) and given.scale == "common"
    advice = 'Try data.covariance.scale = "each"' if common else "Rescale the inputs, or leave this direction out"
    yield (
        f"One direction has {100 * found.largest / trace:.0f} % of the variance: it limits the learning rate{slower}. {advice}."
    )


def stable_rate(problem: OnePassProblem) -> float | None:
    """Up to which learning_rate a network of this width and activation is stable on its rows; None without rows.

    A linear network's limit, over the largest squared derivative of the activation within three standard deviations. Of very many
    rows a part is looked at, whose limit is on average lower than that of all of them.
    """
    pool = problem.spectrum.pool
    if pool is None:
        return None
    slopes = activation(problem.network.activation).derivative(jax.device_put(np.linspace(-_WITHIN, _WITHIN, 61)))
    return _stable_rate(problem, problem.stamps) / float(np.max(np.abs(np.asarray(slopes)))) ** 2


@lru_cache(maxsize=16)
def _stable_rate(problem: OnePassProblem, stamps: tuple[tuple[int, int], ...]) -> float:
    found, batch = problem.spectrum, problem.training.batch
    assert found.pool is not None
    rows = found.pool.rows[: max(2 * found.dimension, int(_AFFORDABLE / found.dimension**2))]
    return learning_rate_of_unit_rate(problem) * pool_critical_rate(rows, batch, _ROUGHLY)


def critical_rates(problem: OnePassProblem) -> tuple[float | None, float]:
    """Up to which learning_rate a linear network of this width and second layer is stable, on the rows and on Gaussian inputs.

    The first is None if there are too many rows.
    """
    return _critical_rates(problem, problem.stamps)


@lru_cache(maxsize=16)
def _critical_rates(problem: OnePassProblem, stamps: tuple[tuple[int, int], ...]) -> tuple[float | None, float]:
    found = problem.spectrum
    unit = learning_rate_of_unit_rate(problem)
    gaussian = unit * critical_rate(found.values, found.multiplicities, problem.training.batch)
    small = found.pool is not None and found.pool.rows.size * found.dimension <= _AFFORDABLE
    if found.pool is None or not small:
        return None, gaussian
    return unit * pool_critical_rate(found.pool.rows, problem.training.batch), gaussian
