"""The sentences about a best schedule: certificates, a verdict, and warnings."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dimfree.errors import ProblemError
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.onepass.problem import OnePassProblem
from dimfree.questions.schedules.batches import BatchSchedule
from dimfree.questions.schedules.certificate import Certificate
from dimfree.questions.schedules.optimum import SHARE, Tried
from dimfree.questions.schedules.survival import WORTH, survival

if TYPE_CHECKING:
    from dimfree.questions.schedules.answer import Schedules

_STILL = 0.9  # a run that ends with more than this share of its risk at half time is on a plateau
_CERTAIN = {"pontryagin_error": 0.02, "hamiltonian_spread": 0.02, "knots_doubled_gain": 0.01, "starts_spread": 1e-3}


def certified(found: Certificate) -> str:
    """All certificates in one line."""
    return (
        f"Certificates: Pontryagin's rate within {100 * found.pontryagin_error:.2g} %, H constant within "
        f"{100 * found.hamiltonian_spread:.2g} %, twice the knots gain {100 * found.knots_doubled_gain:.2g} %, "
        f"first guesses agree within {100 * found.starts_spread:.1g} %, grid and solver within {100 * found.grid_error:.1g} %."
    )


def verdict(best: "Schedules") -> str:
    """What a schedule is worth here: one sentence about the limit, and one about real SGD where it ran."""
    real = survival(best)
    if best.gain() < WORTH:
        return "A constant rate is as good as any schedule." + (f" {real.said}" if real and not real.survives else "")
    return _in_the_limit(best) + (f" {real.said}" if real else "")


def _in_the_limit(best: "Schedules") -> str:
    said, family = (
        f"{best.hunt.course.where} the best schedule ends {best.gain():.3g} times below the best constant rate",
        best.family,
    )
    if family is None:
        return said + "."
    left = best.gain("optimal", family)
    if left < WORTH:
        return f"{said}, and {family} does as well."
    return f"{said}; {family} gets within {100 * (left - 1):.2g} % of it."


def whole(floor: float) -> str:
    """Which risks true labels have on rows, where theory knows those above its teacher."""
    return (
        f"Risks of SGD are whole ones of true labels: {floor:.4g} of them is what the teacher of theory leaves, and gains of "
        "SGD are those of the whole."
    )


def in_batches(found: BatchSchedule, best: "Schedules") -> str:
    """What growing batches would save, and where they end if the theory takes their steps."""
    share, taken = 1 - found.steps / found.plain_steps, best.in_batches()
    ends = "" if taken is None else f" They end at a risk of {taken:.4g}, by {best.hunt.course.said}."
    return (
        f"As a growing batch at a constant rate (from {found.batch.min():.0f} to {found.batch.max():.0f}) the same samples take "
        f"{found.steps:.3g} steps instead of {found.plain_steps:.3g}: {100 * share:.0f} % fewer in sequence.{ends}"
    )


def warnings(best: "Schedules") -> Iterator[str]:
    """Warnings: bounds that the optimum touches, conditions that fail, risks that are not resolved, gains that do not survive."""
    found, rate = best.certificate, best.hunt.problem.training.learning_rate
    for side, bound in zip(("lower", "upper"), best.hunt.box, strict=True):
        if share := found.active_bounds.get(f"learning_rate {side}"):
            allowed, cap = "large" if side == "upper" else "small", best.hunt.capped and side == "upper"
            what = f" ({SHARE:g} of the limit of stability of the rows)" if cap else ""
            yield (
                f"the optimum lies on the bound {rate * bound:.3g}{what} for {100 * share:.2g} % of the run; "
                f"{'' if cap else 'widen its bounds, or '}read this as 'as {allowed} as allowed'."
            )
    for name, value in best.turned.items():
        for side in ("lower", "upper"):
            if found.active_bounds.get(f"{name} {side}"):
                allowed = "large" if side == "upper" else "small"
                yield f"the best {name} is its bound {value:.3g}; widen its bounds, or read this as 'as {allowed} as allowed'."
    if not found.converged:
        yield "the search has not converged; start it from another training.schedule, or use fewer knots."
    needed = {
        name: most for name, most in _CERTAIN.items() if best.hunt.course.conserves or name != "hamiltonian_spread"
    }
    failed = [name.replace("_", " ") for name, most in needed.items() if not getattr(found, name) <= most]
    if failed:
        yield f"not certain to be the optimum ({', '.join(failed)}); use more knots."
    rtol, end = HighDimensional().rtol, best.schedules["optimal"].risks[-1]
    if best.hunt.course.unresolved(end):
        yield f"the risk ({end.min():.1g}) is below what rtol = {rtol:g} resolves; shorten run.until or lower rtol."
    real = survival(best)
    if real and real.advice:
        yield real.advice


def check_plateau(problem: OnePassProblem, best: Tried, half: int) -> None:
    """Refuse a run that stays on a plateau under every schedule: it has no meaningful optimum."""
    risks = best.risks
    if (risks[-1] > _STILL * risks[half]).all():
        raise ProblemError(
            f"every schedule ends on the plateau (risk {risks[-1].min():.3g} at the end of every start); raise run.until "
            f"(try {4 * problem.run.until:g}), or start less symmetric."
        )
