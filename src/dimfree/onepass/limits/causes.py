"""Why the equations of a limit blow up, if not by the size of the steps: which number of the problem is too large."""

from collections.abc import Iterator

import jax
import numpy as np

from dimfree.onepass.overlap_model import DirectionsModel
from dimfree.onepass.problem import EXTREME


def why_no_first_step(model: DirectionsModel, state: object, largest: float) -> str:
    """The reason, and what to change, as the end of a sentence; from overlaps above `largest` there is no way back."""
    overlaps, second_layer = _sizes(state)
    if not overlaps < largest:
        return f"overlaps above {largest:g} never come back; start from smaller weights, such as a lower start.scale."
    numbers = {**dict(_numbers(model)), "network.second_layer_start": second_layer}
    name = max(numbers, key=lambda one: numbers[one])
    return f"overlaps change faster than numbers can follow; lower {name}, which is {numbers[name]:.3g}."


def extreme_number(model: DirectionsModel) -> str | None:
    """The largest number of a problem, if it is absurdly large, and what to do about it, as the end of a sentence."""
    numbers = {name: value for name, value in _numbers(model) if name != "training.learning_rate"}
    name = max(numbers, key=lambda one: numbers[one])
    return f"lower {name}, which is {numbers[name]:.3g}" if numbers[name] > EXTREME else None


def _sizes(state: object) -> tuple[float, float]:
    """The largest overlap, and the largest entry of the second layer."""
    overlaps, second_layer = [0.0], [0.0]
    for path, leaf in jax.tree_util.tree_leaves_with_path(state):
        is_second_layer = isinstance(path[-1], jax.tree_util.GetAttrKey) and path[-1].name == "a"
        (second_layer if is_second_layer else overlaps).append(float(np.max(np.abs(np.asarray(leaf)), initial=0.0)))
    return max(overlaps), max(second_layer)


def _numbers(model: DirectionsModel) -> Iterator[tuple[str, float]]:
    """What velocities grow with, by the names that a problem has for it."""
    yield "training.learning_rate", float(model.gamma)
    yield "training.weight_decay", float(model.omega)
    if model.train_a:
        yield "training.second_layer_rate", float(model.eta_a)
        yield "training.second_layer_decay", float(model.omega_a)
    yield from model.numbers()
