"""How long does training stay at mediocrity?"""

from typing import TYPE_CHECKING

from dimfree.questions.question import Option, Question

if TYPE_CHECKING:
    from dimfree.onepass.problem import OnePassProblem

QUESTION: "Question[OnePassProblem]" = Question(
    name="exit-times",
    help="Report when SGD and its limits leave mediocrity: the first time at which the risk has lost a given share.",
    asked="exit times",
    about="fresh samples of a teacher",
    problem="dimfree.onepass.problem:OnePassProblem",
    answer="dimfree.questions.exit_times.answer:exit_times",
    kinds=("teacher", "multi-index"),
    options={
        "threshold": Option("The share of the initial risk that must be lost.", float, 0.1),
        "replicas": Option("Number of random starts, each with its own run of SGD.", int, 600),
        "horizon": Option("How long to follow SGD. Default: five times the slowest exit of the ODE.", float),
        "budget": Option("Seconds to spend on SGD.", float, 300.0),
    },
)
