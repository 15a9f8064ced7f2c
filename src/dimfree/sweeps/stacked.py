"""Many points at once: theories of one structure that differ in numbers only are run by one program.

A point's numbers are the same as if it were solved alone, up to rounding and the tolerance of the solver. The sweep decides
which points are computed together, not the engine, so that every engine gives the same bits.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PyTree

from dimfree.comparison.run import own_key, starts_of
from dimfree.description import AnyDescription, Dynamics, Evolution, Model, Piece, Values
from dimfree.description.running import advanced, begun
from dimfree.errors import DimfreeError, DivergenceError
from dimfree.problem import Problem
from dimfree.programs.compiled import quick_program
from dimfree.results.record import join, refuse
from dimfree.setting import model_of, speaking

MOST = 16  # points computed together; more are hardly faster, and leave fewer batches for several processes
_SMALL = 1e6  # bytes; a point with larger arrays runs at full speed alone
_LARGEST_START = 1e7  # bytes
Theory = Evolution[Model, object, Any]
Runner = Dynamics[Model, object, Any]
Seen = dict[str, Values]


def structure(problem: Problem, one: AnyDescription) -> Hashable | None:
    """What points must have in common to be computed together; None for a point that is computed alone.

    Memoryless accounts of one replica can be stacked; experiments differ in the lengths of their loops.
    """
    if not isinstance(one, Evolution) or problem.run.starts > 1:
        return None
    try:
        refuse(problem, one)
        model = model_of(problem)
    except DimfreeError:  # computing the point gives the same error
        return None
    if one.replicas(model, 2) > 1:
        return None
    small = speaking(one).cost(problem, model).memory <= _SMALL
    return (one.title, problem.dimension, len(problem.times), _form(model)) if small else None


def stacked(one: AnyDescription, problems: Sequence[Problem]) -> list[Seen | DimfreeError] | None:
    """The observables of every point, or its error; None if the starts of the points cannot be stacked."""
    assert isinstance(one, Evolution)
    first = starts_of(problems[0], (one,))
    if sum(leaf.nbytes for leaf in jax.tree.leaves(eqx.filter(first, eqx.is_array))) > _LARGEST_START:
        return None
    starts = [*first, *(starts_of(problem, (one,))[0] for problem in problems[1:])]
    if len({_form(start) for start in starts}) > 1:
        return None
    runners = [one.twin(model_of(problem)) for problem in problems]
    given = [(model, start) for (_, model), start in zip(runners, starts, strict=True)]
    keys = [own_key(problem, one.title) for problem in problems]
    pieces = list(_pieces(one, runners[0][0], problems, given, keys))
    return [_joined(problem, one, [part[number] for part in pieces]) for number, problem in enumerate(problems)]


def _joined(problem: Problem, one: AnyDescription, parts: Sequence[Piece | DimfreeError]) -> Seen | DimfreeError:
    def until_it_fails() -> Iterator[Piece]:
        for part in parts:
            if isinstance(part, DimfreeError):
                raise part
            yield part

    try:
        return join(problem, one, until_it_fails())
    except DimfreeError as failure:
        return failure


def _pieces(
    one: Theory, runner: Runner, problems: Sequence[Problem], given: Sequence[Any], keys: Sequence[Key[Array, ""]]
) -> Iterator[list[Piece | DimfreeError]]:
    """Advance all points, chunk after chunk, as a single account is advanced."""
    models, starts = _together(given)
    times = np.stack([problem.times for problem in problems])
    count, size = times.shape[1], min(one.chunk, times.shape[1])
    state = _begin(runner, models, starts, jnp.stack(keys))
    for first in range(0, count, size):
        asked = times[:, first : first + size]
        padded = np.pad(asked, ((0, 0), (0, size - asked.shape[1])), mode="edge")
        state, seen = _advance(runner, models, state, jax.device_put(padded))
        values = {name: np.asarray(x)[:, : asked.shape[1]] for name, x in seen.items()}
        here = jax.tree.map(lambda x: np.asarray(x) if _is_number(x) else x, state)
        done = (first + asked.shape[1]) / count
        yield [
            _failure(one, problem, here, number) or Piece({k: x[number] for k, x in values.items()}, "time", done)
            for number, problem in enumerate(problems)
        ]


def _failure(one: Theory, problem: Problem, state: Any, number: int) -> DivergenceError | None:
    why = one.failure(model_of(problem), jax.tree.map(lambda x: x[number] if eqx.is_array(x) else x, state))
    return DivergenceError(why) if why else None


def _together(trees: Sequence[PyTree[Any]]) -> PyTree[Any]:
    """Several trees of one structure as one, whose arrays have the points as their first axis."""
    return jax.tree.map(lambda *xs: jax.device_put(np.stack(xs)) if eqx.is_array(xs[0]) else xs[0], *trees)


def _is_number(leaf: object) -> bool:
    return isinstance(leaf, jax.Array) and not jnp.issubdtype(leaf.dtype, jax.dtypes.extended)


def _form(tree: PyTree[Any]) -> Hashable:
    """The structure of a tree with the shapes and types of its arrays."""
    dynamic, static = eqx.partition(tree, eqx.is_array)
    leaves, shape = jax.tree.flatten(dynamic)
    constants, rest = jax.tree.flatten(static)
    return shape, rest, tuple(constants), tuple((leaf.shape, str(leaf.dtype)) for leaf in leaves)


@quick_program
def _begin(one: Runner, models: Model, starts: PyTree[Any], keys: Key[Array, " n"]) -> PyTree[Any]:
    return eqx.filter_vmap(lambda model, start, key: begun(one, model, start, 1, key))(models, starts, keys)


@quick_program
def _advance(
    one: Runner, models: Model, states: PyTree[Any], times: Float[Array, "n t"]
) -> tuple[PyTree[Any], dict[str, Float[Array, "n t r ..."]]]:
    return eqx.filter_vmap(lambda model, state, at: advanced(one, model, state, at))(models, states, times)
