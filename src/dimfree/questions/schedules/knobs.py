"""What is optimised, and within which bounds.

The rate along the run; two numbers that enter linearly and so need bounds; batch and momentum, of which a few values are tried.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dimfree.errors import ProblemError, suggest
from dimfree.onepass.problem import OnePassProblem
from dimfree.questions.schedules.grid import Bounds

RATE = "learning_rate"
NUMBERS = {  # knobs that are one number for the whole run, and what enters linearly
    "second_layer_rate": ("the second layer's rate", "0:10"),
    "weight_decay": ("weight decay", "0:1"),
}
VALUES = {  # knobs of which a few values are tried, and their usual bounds
    "batch": (1.0, 64.0),
    "momentum": (0.0, 0.95),
}


class Knobs(NamedTuple):
    """Bounds of the rate, if they were given, and of every number that may be turned; batches and momenta to try.

    Batches are `asked` for if their bounds were given.
    """

    rate: Bounds | None
    numbers: dict[str, Bounds]
    batches: tuple[int, ...] = ()
    momenta: tuple[float, ...] = ()
    asked: bool = False


def knobs_of(
    problem: OnePassProblem, names: Sequence[str] | str, bounds: Mapping[str, Bounds] | Bounds | str | None
) -> Knobs:
    """Knobs and bounds in any spelling: ["learning_rate"], "learning-rate,weight-decay"; (0.01, 3), "0.01:3,weight_decay=0:1"."""
    chosen = [name.strip().replace("-", "_") for name in (names.split(",") if isinstance(names, str) else names)]
    for name in chosen:
        if name not in (RATE, *NUMBERS, *VALUES):
            raise ProblemError(f"there is no knob {name!r}; {suggest(name, (RATE, *NUMBERS, *VALUES))}")
    given = _bounds(bounds)
    for name in given:
        if name not in chosen and name != RATE:
            raise ProblemError(
                f"bounds of {name} were given, which is not among the knobs; ask for the knobs {RATE},{name}."
            )
    for name in chosen:
        if name in NUMBERS and name not in given:
            what, example = NUMBERS[name]
            raise ProblemError(
                f"{what} enters linearly, so its best value is a bound; give its bounds, as in {name}={example}."
            )
    if "second_layer_rate" in chosen and "second-layer" not in problem.network.trained:
        raise ProblemError(
            "second_layer_rate is a knob of a second layer that learns; put 'second-layer' into network.trained."
        )
    boxes = {name: given.get(name, usual) for name, usual in VALUES.items() if name in chosen}
    return Knobs(
        given.get(RATE),
        {name: given[name] for name in NUMBERS if name in chosen},
        _batches(*boxes["batch"]) if "batch" in boxes else (),
        _momenta(*boxes["momentum"]) if "momentum" in boxes else (),
        "batch" in given,
    )


def _batches(low: float, high: float) -> tuple[int, ...]:
    """Powers of 2, and the smallest one."""
    first = max(1, round(low))
    return tuple(sorted({first, *(2**n for n in range(31) if first <= 2**n <= high)}))


def _momenta(low: float, high: float) -> tuple[float, ...]:
    """Each with half of the distance from 1 of the one before, and the largest one."""
    if high >= 1:
        raise ProblemError(
            f"the bounds {low:g}:{high:g} of momentum reach 1, where nothing is forgotten; give one below 1."
        )
    return tuple(sorted({*(1 - 0.5**n for n in range(11) if low <= 1 - 0.5**n <= high), low, high}))


def _bounds(given: Mapping[str, Bounds] | Bounds | str | None) -> dict[str, Bounds]:
    if given is None:
        return {}
    if isinstance(given, str):
        parts = [part.rpartition("=") for part in given.split(",")]
        pairs = {(name.strip().replace("-", "_") or RATE): _pair(text) for name, _, text in parts}
    else:
        pairs = dict(given) if isinstance(given, Mapping) else {RATE: given}
    for name, (low, high) in pairs.items():
        if not (low < high and (low > 0 if name == RATE else low >= 0)):
            raise ProblemError(
                f"the bounds {low:g}:{high:g} of {name} are not a range of {'positive' if name == RATE else 'non-negative'} "
                "numbers; write the smaller one first, as in 0.01:3."
            )
    return pairs


def _pair(text: str) -> Bounds:
    low, _, high = text.partition(":")
    try:
        return float(low), float(high)
    except ValueError:
        raise ProblemError(f"bounds {text!r} are not two numbers; write them as 0.01:3.") from None
