"""Where between the mean-field limit and real SGD does an error come from?"""

from typing import TYPE_CHECKING

from dimfree.questions.question import Option, Question

if TYPE_CHECKING:
    from dimfree.onepass.problem import OnePassProblem

QUESTION: "Question[OnePassProblem]" = Question(
    name="couplings",
    help="Say where between SGD and its mean-field limit an error comes from: width, step or samples.",
    asked="couplings",
    about="fresh samples of a teacher",
    problem="dimfree.onepass.problem:OnePassProblem",
    answer="dimfree.questions.couplings.answer:couplings",
    kinds=("teacher", "multi-index"),
    options={
        "until": Option("How long to train; left out, run.until.", float),
        "seeds": Option("Starts, each with all five dynamics.", int, 4, 1),
        "points": Option("Times at which they are compared.", int, 8, 1),
        "budget": Option("Seconds that all may take.", float, 300.0),
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
