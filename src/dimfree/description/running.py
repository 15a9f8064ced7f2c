"""The loop that runs a dynamics: times in chunks of one shape, so that one compilation serves all; replicas in groups."""

from collections.abc import Iterator, Mapping
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from dimfree.description.contract import Ask, Dynamics, M, Observed, Piece, Reached, S, Values, X
from dimfree.programs.compiled import brief_program, keep_programs, program, quick_program
from dimfree.programs.spread import spread

keep_programs()  # every module that compiles programs imports this file

_TOGETHER, _MOST = 8, 8  # replicas that make a group worth its overhead, and the largest number of groups


def chunks(one: Dynamics[M, S, X], model: M, start: S, ask: Ask, size: int) -> Iterator[tuple[list[X], Piece]]:
    """Run a dynamics through the asked times, `size` of them in a call.

    Yields the states of all groups of replicas after each call, and what was observed as a piece of an account.
    """
    count, size = len(ask.times), min(size, len(ask.times))
    states = [begin(one, model, start, group.replicas, group.key) for group in _groups(ask)]
    if ask.reached.upto:
        states = jax.tree.unflatten(jax.tree.structure(states), ask.reached.state)
    for first in range(ask.reached.upto, count, size):
        asked = ask.times[first : first + size]
        padded = jax.device_put(np.pad(asked, (0, size - len(asked)), mode="edge"))
        _ADVANCED[one.real].prepare(one, model, states[0], padded)
        found = spread(partial(_advance_group, one, model, padded), states)
        states, seen = [state for state, _ in found], [seen for _, seen in found]
        joined = {name: np.concatenate([group[name] for group in seen], axis=1) for name in seen[0]}
        values = {name: x[: len(asked), : ask.replicas] for name, x in joined.items()}
        reached = Reached(first + len(asked), tuple(jax.tree.leaves(states)))
        yield states, Piece(values, "time", reached.upto / count, reached)


def _groups(ask: Ask) -> list[Ask]:
    """Replicas in equal groups, each with its key: random numbers depend on how many replicas there are, never on the cores."""
    count = min(_MOST, -(-ask.replicas // _TOGETHER))
    if count == 1:
        return [ask]
    size = -(-ask.replicas // count)  # the same for all groups, so that one program fits; the excess is dropped
    return [ask._replace(replicas=size, key=jax.random.fold_in(ask.key, number)) for number in range(count)]


def begun(one: Dynamics[M, S, X], model: M, start: S, replicas: int, key: Key[Array, ""]) -> X:
    """The state that `begin` makes, in the types of those that `advance` makes."""
    state: X = jax.tree.map(_as_computed, one.begin(model, start, replicas, key))
    return state


def _as_computed(leaf: object) -> object:
    """Numbers in the type that `advance` returns: a constant of a weaker type would make jax compile twice."""
    if not isinstance(leaf, jax.Array) or jnp.issubdtype(leaf.dtype, jax.dtypes.extended):
        return leaf
    return jax.lax.convert_element_type(leaf, leaf.dtype)


def advanced(one: Dynamics[M, S, X], model: M, state: X, times: Float[Array, " t"]) -> tuple[X, Observed]:
    """The state after some times and what was observed there, as a function that can be compiled for any dynamics."""
    return one.advance(model, state, times)


def ran(
    one: Dynamics[M, S, X], model: M, start: S, times: Float[Array, " t"], key: Key[Array, ""]
) -> tuple[X, Observed]:
    """The last state of a run without replicas, and what was observed at all times."""
    return one.advance(model, begun(one, model, start, 1, key), times)


begin = brief_program(begun)
run = program(ran)  # all times in one call: it takes longer to compile than `advance` and a third of the time to run
_ADVANCED = {False: quick_program(advanced), True: program(advanced)}  # True for experiments, whose loops are long


def advance(one: Dynamics[M, S, X], model: M, state: X, times: Float[Array, " t"]) -> tuple[X, Observed]:
    """The same as `advanced`, by the compiled program."""
    return _ADVANCED[one.real](one, model, state, times)


def _advance_group(
    one: Dynamics[M, S, X], model: M, times: Float[Array, " t"], state: X
) -> tuple[X, Mapping[str, Values]]:
    """Run one group of replicas; returns NumPy arrays, because jax's would be returned before they are computed."""
    state, seen = advance(one, model, state, times)
    return state, {name: np.asarray(x) for name, x in seen.items()}
