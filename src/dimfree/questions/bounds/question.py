"""How far are runs of SGD from their limit?"""

from typing import TYPE_CHECKING

from dimfree.questions.question import Option, Question

if TYPE_CHECKING:
    from dimfree.onepass.problem import OnePassProblem

QUESTION: "Question[OnePassProblem]" = Question(
    name="fluctuations",
    help="Measure how far SGD is from the ODE, and fit the constant of the bound on that distance.",
    asked="fluctuations around the ODE",
    about="fresh samples of a teacher",
    problem="dimfree.onepass.problem:OnePassProblem",
    answer="dimfree.questions.bounds.fluctuations:fluctuations",
    kinds=("teacher", "multi-index"),
    options={
        "until": Option("How long to train. Default: run.until.", float),
        "replicas": Option("Number of runs of SGD. Default: run.replicas.", int, None, 1),
        "budget": Option("Seconds to spend in all.", float, 120.0),
    },
)
