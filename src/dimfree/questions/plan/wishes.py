"""What a user may wish of a plan, and the refusals: networks, losses, budgets and choices."""

from collections.abc import Sequence

from dimfree.errors import ProblemError
from dimfree.onepass.problem import OnePassProblem
from dimfree.problem.loss import CROSS_ENTROPY
from dimfree.questions.plan.question import QUESTION
from dimfree.questions.plan.teacher import MEASURES

_EPOCHS, _LEAST, _LONGEST = 5.0, 0.1, 1000  # of the default budget, and of the smallest and the largest
_ACTIVATIONS = ("erf", "linear")
_FREE = {  # keys of a problem that a plan takes over, or sets
    "network": {"activation", "width"},
    "training": {"learning_rate", "batch", "schedule", "loss"},
    "start": {"scale"},
}


def plain(base: OnePassProblem) -> OnePassProblem:
    """Refuse networks, starts and training that neither the search nor the script knows; the plan sets the rest itself."""
    usual = QUESTION.example()
    if base.network.activation not in _ACTIVATIONS:
        raise ProblemError(
            f"plans are for networks of erf or linear units, and network.activation is {str(base.network.activation)!r}; choose "
            "one of these, or set another one in the plan.toml that is written."
        )
    for section, free in _FREE.items():
        given, known = (getattr(one, section).model_dump() for one in (base, usual))
        for key in sorted({*given, *known} - free):
            if given.get(key) != known.get(key):
                raise ProblemError(
                    f"plans are for plain SGD of a sum of units from a Gaussian start, and {section}.{key} is "
                    f"{given.get(key)!r} instead of {known.get(key)!r}; leave it out, or set it in the plan.toml that is written."
                )
    return base


def learning_by(base: OnePassProblem, loss: str | None) -> OnePassProblem:
    """The problem with this loss."""
    if loss == CROSS_ENTROPY:
        raise ProblemError(
            "loss = 'cross-entropy' is that of several classes at once, for which there are no plans; of two classes it is the "
            "logistic loss: choose logistic, with one class as positive."
        )
    if loss is not None and loss not in MEASURES:
        raise ProblemError(
            f"loss = {loss!r} is not planned for; choose square, huber, or for two classes logistic, and compare plan.toml with "
            "another training.loss."
        )
    if loss != "logistic":
        return base if loss is None else base.replace(**{"training.loss": loss})
    return base.replace(**{"data.labels": "logistic", "data.noise": 0.0, "training.loss": loss})


def samples_at(
    widths: Sequence[int], budget: float | None, compute: float | None, rows: int, dimension: int
) -> dict[int, int]:
    """How many are drawn at each width: between a tenth of an epoch and a thousand of them."""
    if budget is not None and compute is not None:
        raise ProblemError("budget and compute both say how many samples are drawn; leave one of them out.")
    name, given = ("budget", budget) if compute is None else ("compute", compute)
    each = {width: 1 if compute is None else 2 * width * dimension for width in widths}
    total = _EPOCHS * rows if given is None else given
    least, most = _LEAST * rows * max(each.values()), _LONGEST * rows * min(each.values())
    if not least <= total <= most:
        what = "samples was given" if compute is None else "multiplications was given"
        raise ProblemError(
            f"{name} = {total:g} {what}, and there are {rows} rows to learn from; give from {least:.0f} to {most:.0f}."
        )
    return {width: round(total / one) for width, one in each.items()}


def check_batch(batch: int | None, rows: int) -> None:
    """Refuse batches larger than the rows to learn from."""
    if batch is not None and not 1 <= batch <= rows:
        raise ProblemError(
            f"batch = {batch} was given, and there are {rows} rows to learn from; give from 1 to {rows}."
        )


def yes(name: str, given: str | bool | None) -> bool:
    """Yes or no, as the command line or Python says it."""
    known = {None: False, False: False, True: True, "no": False, "yes": True}
    if given not in known:
        raise ProblemError(f"{name} = {given!r} was given; say yes or no.")
    return known[given]


def listed(columns: str | Sequence[str] | None) -> tuple[str, ...]:
    """Names of columns."""
    if columns is None:
        return ()
    return tuple(one.strip() for one in columns.split(",")) if isinstance(columns, str) else tuple(columns)


def widths_of(given: str | Sequence[int]) -> tuple[int, ...]:
    """Widths to choose from."""
    try:
        found = tuple(int(one) for one in (given.split(",") if isinstance(given, str) else given))
    except ValueError:
        raise ProblemError(f"widths = {given!r} are no whole numbers; give some, as in 2,4,8.") from None
    if not found or min(found) < 1 or max(found) > 64:
        raise ProblemError(f"widths = {given!r} were given; give at least one, from 1 to 64.")
    return found
