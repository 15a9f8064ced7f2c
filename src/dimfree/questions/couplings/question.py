"""Which step between the mean-field limit and real SGD causes an error?"""

from typing import TYPE_CHECKING

from dimfree.questions.question import Option, Question

if TYPE_CHECKING:
    from dimfree.onepass.problem import OnePassProblem

QUESTION: "Question[OnePassProblem]" = Question(
    name="couplings",
    help="Split the error of the mean-field limit into its causes: finite width, finite step size, noisy samples.",
    asked="couplings",
    about="fresh samples of a teacher",
    problem="dimfree.onepass.problem:OnePassProblem",
    answer="dimfree.questions.couplings.answer:couplings",
    kinds=("teacher", "multi-index"),
    options={
        "until": Option("How long to train. Default: run.until.", float),
        "seeds": Option("Number of starts; all five dynamics run from each.", int, 4, 1),
        "points": Option("Number of times at which the dynamics are compared.", int, 8, 1),
        "budget": Option("Seconds to spend in all.", float, 300.0),
    },
    # gradient descent takes as many steps as SGD, and a cloud in two directions is slow: the problem of docs/couplings.md
    embedded={
        "dimension": 30,
        "data.units": 1,
        "network.width": 50,
        "training.learning_rate": 15.0,
        "run.until": 4.0,
    },
)
