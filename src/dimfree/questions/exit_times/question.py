"""How long does training stay at mediocrity?"""

from typing import TYPE_CHECKING

from dimfree.questions.question import Option, Question

if TYPE_CHECKING:
    from dimfree.onepass.problem import OnePassProblem

QUESTION: "Question[OnePassProblem]" = Question(
    name="exit-times",
    help="Say when SGD and its limits leave mediocrity: the first time at which the risk has lost a part.",
    asked="exit times",
    about="fresh samples of a teacher",
    problem="dimfree.onepass.problem:OnePassProblem",
    answer="dimfree.questions.exit_times.answer:exit_times",
    kinds=("teacher", "multi-index"),
    options={
        "threshold": Option("The part of the risk to be lost.", float, 0.1),
        "replicas": Option("Random starts, each with its own run of SGD.", int, 600),
        "horizon": Option("How long SGD is followed; left out, five times the slowest exit of the ODE.", float),
        "budget": Option("Seconds that SGD may take.", float, 300.0),
    },
)
