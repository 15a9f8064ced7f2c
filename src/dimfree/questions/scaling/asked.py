"""What a scaling law is asked about: a power law, a problem, or a table of the user's own; and over which budgets."""

from pathlib import Path
from typing import Any

from dimfree.errors import ProblemError, suggest
from dimfree.onepass.inputs.covariance import Covariance
from dimfree.onepass.inputs.own_rows import OWN_LABELS
from dimfree.onepass.kinds.projection.section.behind import ProjectedData
from dimfree.onepass.kinds.projection.section.own import Projected
from dimfree.onepass.kinds.projection.section.power_law import PerSize, PowerLaw
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.projected.companion import critical_rate
from dimfree.problem import Problem
from dimfree.questions.scaling.question import QUESTION
from dimfree.questions.scaling.what_if import SCHEDULES
from dimfree.tables import BUNDLED

SHAPES = ("constant", *SCHEDULES)
FLOPS = 6  # for every parameter and sample: 2 to predict, 4 to learn
_RATE = 0.5  # over the trace, unless a problem has its own
_OF_CRITICAL = 0.4  # the share of the critical rate that a table has at most
_SMALLEST = 4  # size for which a table's rate is stable
_RANGES = {"power-law": "1e4:1e10", "projected": "1e2:1e6"}  # of compute
_LEAST = {"power-law": 1e3, "projected": 1e2}


def asked_problem(
    problem: Problem | str | Path | None,
    seed: int | None,
    alpha: float | None,
    beta: float | None,
    features: Any,
    labels: Any,
    width: int | None,
) -> OnePassProblem:
    """The problem with all that was asked for in its place; rates that are not given are a share of the trace."""
    exponents = {f"data.{name}": value for name, value in (("alpha", alpha), ("beta", beta)) if value is not None}
    found, example = QUESTION.settled(problem, seed), QUESTION.example()
    _check_plain(found)
    own_data, own_rate = found.data != example.data, found.training.learning_rate != example.training.learning_rate
    if features is not None:
        if own_data or exponents:
            raise ProblemError(
                "a table has its own spectrum and target; leave out the problem's data, alpha and beta, or the table."
            )
        return _of_table(found, own_rate, features, labels, width)
    if labels is not None or width is not None:
        raise ProblemError("labels and width belong to a table; name its features, too.")
    if exponents and not isinstance(found.data, PowerLaw):
        raise ProblemError(
            f"alpha and beta are those of power laws, and data.kind is {found.data.kind!r}; leave them out."
        )
    if own_data or not exponents:
        return found.replace(**exponents) if exponents else found
    few = {"data.inputs": PerSize(per_size=4.0)} if alpha is not None and 2 * alpha <= 1 else {}
    found = found.replace(**exponents, **few)
    rate = _RATE * (1 - found.training.momentum) / trace(found)
    return found if own_rate else found.replace(**{"training.learning_rate": rate})


def check_schedule(name: str) -> None:
    """A shape that ends at 0, or does not change."""
    if name not in SHAPES:
        raise ProblemError(f"schedule = {name!r} was given; {suggest(name, SHAPES)}")


def _check_plain(problem: OnePassProblem) -> None:
    """What would change the risk, and no equation of the question has."""
    training = problem.training
    if training.schedule is not None:
        raise ProblemError(
            "training.schedule ends at one time, and budgets end at many; leave it out, and give the question a schedule: "
            "cosine, linear or wsd."
        )
    if training.weight_decay or training.second_layer_decay or training.inverse_temperature is not None:
        raise ProblemError(
            "scaling laws are worked out for SGD without decay and without noise on the weights; leave training.weight_decay, "
            "second_layer_decay and inverse_temperature out."
        )


def trace(problem: OnePassProblem) -> float:
    """Of the inputs before the projection."""
    assert isinstance(problem.data, ProjectedData)
    return problem.data.population(problem.dimension).trace


def budgets(kind: str, compute: str | tuple[float, float] | None, flops: float | None) -> tuple[float, float]:
    """The first and the last one."""
    if flops is not None:
        least = FLOPS * 10 * _LEAST[kind]
        if not least <= flops <= 1e24:
            raise ProblemError(f"budget_flops = {flops:g} was given; give a number from {least:g} to 1e24.")
        return flops / FLOPS / 10, flops / FLOPS * 10
    given = _RANGES[kind] if compute is None else compute
    try:
        first, last = map(float, given.split(":") if isinstance(given, str) else given)
    except (ValueError, TypeError):
        raise ProblemError(f"compute = {given!r} is no range; give two numbers, as in 1e4:1e10.") from None
    if not first >= _LEAST[kind] or not 100 * first <= last <= 1e24:
        raise ProblemError(
            f"compute from {first:g} to {last:g} was given; give a range of at least two decades between {_LEAST[kind]:g} and "
            "1e24, so that exponents can be measured."
        )
    return first, last


def _of_table(problem: OnePassProblem, own_rate: bool, features: Any, labels: Any, width: int | None) -> OnePassProblem:
    """Rows without numbers are dropped; the rate, if it is not given, is stable for every size."""
    named = isinstance(features, str | Path) and str(features) in BUNDLED
    if labels is None and not named:
        raise ProblemError("there are features without labels; name a file of labels, too, or the table 'digits'.")
    rows = Covariance.features(features, OWN_LABELS if labels is None else labels, missing="drop", width=width)
    data = Projected(covariance=rows)
    v = data.inputs_of(_SMALLEST)
    if v <= 4 * _SMALLEST:
        raise ProblemError(
            f"the table has {v} columns that vary, too few for a law of sizes; give more than {4 * _SMALLEST}."
        )
    training = problem.training
    limit = critical_rate(data.population(_SMALLEST), _SMALLEST, training.batch, training.momentum)
    rate = training.learning_rate if own_rate else min(_RATE * (1 - training.momentum), _OF_CRITICAL * limit)
    return problem.replace(**{"data": data, "dimension": min(32, v // 2), "training.learning_rate": rate})
