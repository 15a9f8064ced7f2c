"""A start as the page knows it: the arrays by name that descriptions begin with, without weight vectors."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.extend.core import Literal

from dimfree.errors import DimfreeError
from dimfree.lab.export.module import shaped


class Reading(NamedTuple):
    """What a function reads of a start."""

    names: list[str]
    shapes: list[Any]
    call: Callable[..., Any]  # the function, of leaves of a model and of these arrays alone


class SharedStart:
    """The arrays of a start, by the names of their fields; those that no description reads are left out."""

    def __init__(self, start: Any) -> None:
        found = jax.tree_util.tree_leaves_with_path(start)
        self._tree: Any = jax.tree.structure(start)
        self._names = [_name(path) for path, _ in found]
        if len(set(self._names)) < len(self._names):
            raise DimfreeError(f"two arrays of a start have one name: {', '.join(self._names)}.")
        self._arrays = [array for _, array in found]
        self.default: dict[str, list[float]] = {}  # of the arrays that are read, flat

    def reads(self, call: Callable[[Any, Any], Any], leaves: list[Any]) -> Reading:
        """What a function of the leaves of a model and of the start reads of the latter."""
        shapes = [shaped(np.shape(one), one.dtype) for one in self._arrays]
        traced = jax.make_jaxpr(lambda leaves, *arrays: call(leaves, jax.tree.unflatten(self._tree, arrays)))(
            leaves, *shapes
        ).jaxpr
        read = {atom for one in traced.eqns for atom in one.invars if not isinstance(atom, Literal)}
        read |= {atom for atom in traced.outvars if not isinstance(atom, Literal)}
        places = [place for place, atom in enumerate(traced.invars[len(leaves) :]) if atom in read]
        for place in places:
            self.default[self._names[place]] = np.asarray(self._arrays[place], dtype=float).ravel().tolist()

        def of_these(leaves: list[Any], *arrays: Any) -> Any:
            every: list[Any] = [np.zeros(one.shape, one.dtype) for one in shapes]
            for place, array in zip(places, arrays, strict=True):
                every[place] = array
            return call(leaves, jax.tree.unflatten(self._tree, every))

        return Reading([self._names[place] for place in places], [shapes[place] for place in places], of_these)


def _name(path: Any) -> str:
    return str(getattr(path[-1], "name", path[-1]))
