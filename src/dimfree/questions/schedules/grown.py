"""Real SGD along a schedule of batches, in stretches of one batch each (docs/theory/schedules.md, section 2)."""

from collections.abc import Sequence
from math import lcm
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from dimfree.description import AnyDescription
from dimfree.description.running import advance, begin
from dimfree.errors import RefusalError
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.blocked import AtBlock, Blocked, BlockedSGD
from dimfree.onepass.start import Start
from dimfree.questions.schedules.grid import Vector
from dimfree.questions.schedules.runs import factors_at
from dimfree.setting import model_of

_LARGEST = 4  # as a power of 2, of the batch of the problem


class Grown(NamedTuple):
    """Final risks of SGD along batches that grow, over starts and replicas, and how many steps that took."""

    batches: Vector  # of all stretches
    samples: Vector  # at their ends
    steps: int
    ends: Float[np.ndarray, "starts r"]


def grown(
    problem: OnePassProblem, one: AnyDescription, starts: Sequence[object], key: jax.Array, replicas: int
) -> Grown:
    """SGD with batches of 1, 2, 4, 8 or 16 times that of the problem, where its schedule falls to 1/batch of its largest rate.

    Per sample the rate is that of the schedule at any batch, and so is the time that a sample takes.
    """
    assert isinstance(one, BlockedSGD)  # as all that confirm schedules
    training, base = problem.training, problem.training.batch
    sizes = [base * 2**n for n in range(_LARGEST + 1)]
    run = {size: one.twin(model_of(_with_batch(problem, size))) for size in sizes}
    unit = lcm(*(size * _blocked(run[size][0]).steps_per_block(run[size][1]) for size in sizes))
    total = round(problem.steps(problem.run.until) * base / unit)
    if total < 2:
        raise RefusalError(f"batches that grow need at least {2 * unit} samples; raise run.until.")
    dt = problem.time_step / base * unit  # the time of a unit of samples
    assert training.schedule is not None
    factors = factors_at(training.schedule, (np.arange(total) + 0.5) * dt)
    wanted = base * 2 ** np.clip(np.floor(np.log2(factors.max() / np.maximum(factors, 1e-300))), 0, _LARGEST)
    ends = np.append(np.flatnonzero(np.diff(wanted)) + 1, total)
    found = []
    for number, start in enumerate(starts):
        assert isinstance(start, Start)
        own, first = jax.random.fold_in(key, number), 0
        state, risk = begin(*run[base], start, replicas, own), np.empty(0)
        for stretch, end in enumerate(ends):
            size = int(wanted[first])
            dynamics, model = run[size]
            block = first * unit // (size * _blocked(dynamics).steps_per_block(model))
            at = AtBlock(state.network, jax.device_put(np.asarray(block)), jax.random.fold_in(own, stretch))
            state, seen = advance(dynamics, model, at, jax.device_put(np.array([end * dt])))
            first, risk = int(end), np.asarray(seen["risk"])[-1]
        found.append(risk)
    lengths = np.diff(np.append(0, ends)) * unit
    chosen = wanted[ends - 1]
    return Grown(chosen, ends * unit, int(np.sum(lengths / chosen)), np.stack(found))


def _with_batch(problem: OnePassProblem, size: int) -> OnePassProblem:
    """With another batch, and the same rate per sample."""
    rate = problem.training.learning_rate * size / problem.training.batch
    return problem.replace(**{"training.batch": size, "training.learning_rate": rate})


def _blocked(dynamics: object) -> Blocked[Any, Any]:
    assert isinstance(dynamics, Blocked)
    return dynamics
