"""When should training on a data set stop, and what is it worth to use samples again?"""

from typing import TYPE_CHECKING

from dimfree.questions.question import Option, Question

if TYPE_CHECKING:
    from dimfree.dataset.committee.problem import NetworkProblem

QUESTION: "Question[NetworkProblem]" = Question(
    name="stopping",
    help="Report when to stop training a network on a data set, what that gains, and what using samples again buys.",
    asked="times to stop",
    about="a data set with a two-layer network",
    problem="dimfree.dataset.committee.problem:NetworkProblem",
    answer="dimfree.questions.stopping.answer:stopping",
    options={
        "seeds": Option("Number of simulated data sets; 0 computes the theory only.", int, 0, 0),
        "budget": Option("Seconds to spend in all.", float, 300.0),
    },
    embedded={
        "data.units": 1,
        "data.noise": 0.5,
        "network.width": 2,
        "training.learning_rate": 2.0,
        "training.batch_fraction": 0.25,
        "start": {"kind": "overlaps", "Q": [[1.0, 0.0], [0.0, 1.0]], "M": [[0.3], [0.1]]},
        "run.until": 80.0,
        "run.points": 41,
    },
)
