"""All descriptions by name: dimfree's own, and those that other packages add through an entry point."""

import importlib
from functools import lru_cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from dimfree.errors import ProblemError, suggest

if TYPE_CHECKING:
    from dimfree.description import Description

GROUP = "dimfree.descriptions"
_OWN = {
    "sgd": "dimfree.onepass.real.vectors:VectorSGD",
    "chain": "dimfree.onepass.real.chain:OverlapChain",
    "ode": "dimfree.onepass.limits.ode:HighDimensional",
    "gradient-flow": "dimfree.onepass.limits.ode:GradientFlow",
    "mean-field": "dimfree.onepass.limits.wide:MeanField",
    "dimensionless": "dimfree.onepass.limits.wide:Dimensionless",
    "diffusion": "dimfree.onepass.limits.diffusion:Diffusion",
    "multi-pass": "dimfree.dataset.real.multi_pass:MultiPassSGD",
    "dmft": "dimfree.dataset.dmft.description:DMFT",
    "neurons": "dimfree.onepass.real.neurons:NeuronSGD",
    "pde": "dimfree.onepass.limits.pde:DistributionalDynamics",
}


def names() -> tuple[str, ...]:
    """The registered names, experiments first; importing nothing heavy."""
    return (*_OWN, *(point.name for point in entry_points(group=GROUP)))


@lru_cache(maxsize=64)
def description(name: str) -> "Description":
    """The description of this name."""
    if name in _OWN:
        module, _, cls = _OWN[name].partition(":")
        own: Description = getattr(importlib.import_module(module), cls)()
        return own
    for point in entry_points(group=GROUP, name=name):
        foreign: Description = point.load()()
        return foreign
    raise ProblemError(f"there is no description {name!r}; {suggest(name, names())}")


def descriptions() -> "dict[str, Description]":
    """Every registered description."""
    return {name: description(name) for name in names()}
