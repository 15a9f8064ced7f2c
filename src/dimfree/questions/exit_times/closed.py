"""Whether the closed formulas apply to a problem, and the exit times they give (docs/theory/committee.md, section 6)."""

from typing import NamedTuple

from dimfree.comparison.budget import LeftOut
from dimfree.errors import ProblemError
from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.sections import SphereStart
from dimfree.questions.exit_times.formulas import Estimate, annealed, quenched


class Closed(NamedTuple):
    """What the formulas say, and which do not apply."""

    estimates: dict[str, Estimate]
    left_out: tuple[LeftOut, ...]


def closed_times(problem: OnePassProblem, threshold: float) -> Closed:
    """Annealed and quenched times where they apply; a learning rate that never escapes is an error, not an absence."""
    reason = _not_phase_retrieval(problem)
    if reason:
        return Closed({}, (LeftOut("annealed", reason), LeftOut("quenched", reason)))
    rule = (threshold, problem.training.learning_rate, problem.network.width, problem.data.noise, problem.dimension)
    found = {"annealed": Estimate(annealed(*rule), 0.0)}
    try:
        return Closed(found | {"quenched": quenched(*rule)}, ())
    except ProblemError as failure:
        return Closed(found, (LeftOut("quenched", str(failure)),))


def _not_phase_retrieval(problem: OnePassProblem) -> str | None:
    data, network, training = problem.data, problem.network, problem.training
    squares = isinstance(data, Teacher) and data.activation == network.activation == "square" and data.units == 1
    squares = squares and not getattr(data, "unlike", False)
    plain = network.second_layer_start == 1.0 == getattr(data, "second_layer", None) and network.scaling == "mean"
    rows_alone = network.trained == ("first-layer",) and not network.has_offsets
    if not (squares and plain and rows_alone and (problem.teacher_overlap == 1).all()):
        return "the formulas are for phase retrieval: square activations, one teacher unit, second layers fixed at 1."
    if not training.spherical or problem.start != SphereStart():
        return 'the formulas are for the unit sphere: set training.spherical = true and start.kind = "sphere" with scale 1.'
    if training.batch > 1 or training.schedule is not None:
        return "the formulas are for one sample a step at a constant rate: set training.batch = 1 and no schedule."
    return None
