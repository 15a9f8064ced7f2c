"""Equations as a module: where they start, their right-hand side, what is seen of them."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from dimfree.description import Block, Drawn, Draws, Flow
from dimfree.lab.export.module import Function, Written, shaped, write_module
from dimfree.lab.export.start import SharedStart
from dimfree.lab.export.values import Unsupported

FLOAT = jnp.float64


class Split:
    """A model as arrays, whose numbers may change, and the rest, which is written."""

    def __init__(self, model: Any) -> None:
        arrays, self.static = eqx.partition(model, eqx.is_array)
        self.leaves: list[Any] = jax.tree.leaves(arrays)
        self._tree: Any = jax.tree.structure(arrays)
        self.shapes = [(one.shape, one.dtype) for one in self.leaves]

    def model(self, leaves: list[Any]) -> Any:
        """The model with other numbers."""
        return eqx.combine(jax.tree.unflatten(self._tree, leaves), self.static)

    def same(self, other: "Split") -> bool:
        """Whether another model differs in numbers alone."""
        equal = self._tree == other._tree and self.shapes == other.shapes
        return equal and bool(eqx.tree_equal(self.static, other.static))


def _vector(size: int) -> Any:
    return shaped((size,), FLOAT)


def _number(kind: Any = FLOAT) -> Any:
    return shaped((), kind)


def _flat(tree: Any) -> Any:
    return ravel_pytree(tree)[0]


def write_flow(one: Flow[Any, Any, Any], split: Split, start: SharedStart) -> tuple[Written, list[str], list[str]]:
    """The module, the names of the arrays of the start that `begin` reads, and those of the observables."""
    initial = start.reads(lambda leaves, given: one.initial(split.model(leaves), given), split.leaves)
    example = jax.eval_shape(initial.call, split.leaves, *initial.shapes)
    zeros = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), example)
    if any(not jnp.issubdtype(x.dtype, jnp.floating) for x in jax.tree.leaves(zeros)):
        raise Unsupported("its state holds more than numbers")
    if one.stiff(split.model(split.leaves), zeros):
        raise Unsupported("its second layer learns so fast that explicit steps would be too many")
    flat, state_of = ravel_pytree(zeros)

    def observe(leaves: list[Any], y: Any) -> Any:
        return one.observe(split.model(leaves), jax.tree.map(lambda x: x[None, None], state_of(y)))

    functions = {
        "begin": Function(lambda *given: _flat(initial.call(*given)), tuple(initial.shapes)),
        "rhs": Function(
            lambda leaves, t, y: _flat(one.velocity(split.model(leaves), t, state_of(y))),
            (_number(), _vector(flat.size)),
        ),
        "size": Function(lambda leaves, y: one.size(state_of(y)), (_vector(flat.size),)),
        "observe": Function(observe, (_vector(flat.size),)),
        "jumps": Function(lambda leaves: one.jumps(split.model(leaves)), ()),
    }
    seen = jax.eval_shape(observe, split.leaves, flat)
    return write_module(split.leaves, functions), initial.names, sorted(seen)


def write_chain(
    one: Drawn[Any, Any, Any], split: Split, start: SharedStart, block: Block
) -> tuple[Written, list[str], list[str]]:
    """The same for steps of SGD, with their draws as inputs."""
    enter = start.reads(lambda leaves, given: one.enter(split.model(leaves), given), split.leaves)
    example = jax.eval_shape(enter.call, split.leaves, *enter.shapes)
    flat, state_of = ravel_pytree(jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), example))

    def through(
        leaves: list[Any], y: Any, normals: Any, uniforms: Any, chi_squares: Any, first: Any, active: Any
    ) -> Any:
        draws = Draws(normals, uniforms, chi_squares)
        return _flat(one.through(split.model(leaves), state_of(y), draws, first, active))

    def freedom(leaves: list[Any]) -> Any:
        found = one.block(split.model(leaves))
        assert isinstance(found, Block)
        return found.freedom

    def observe(leaves: list[Any], y: Any) -> Any:
        return one.seen(split.model(leaves), state_of(y))

    drawn = (_vector(block.normals), _vector(block.uniforms), _vector(block.freedom.size))
    functions = {
        "begin": Function(lambda *given: _flat(enter.call(*given)), tuple(enter.shapes)),
        "block": Function(through, (_vector(flat.size), *drawn, _number(jnp.int64), _number(jnp.int64))),
        "freedom": Function(freedom, ()),
        "pace": Function(lambda leaves: one.pace(split.model(leaves)), ()),
        "observe": Function(observe, (_vector(flat.size),)),
    }
    seen = jax.eval_shape(observe, split.leaves, flat)
    return write_module(split.leaves, functions), enter.names, sorted(seen)
