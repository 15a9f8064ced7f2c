"""How hot is SGD on a data set?"""

from typing import TYPE_CHECKING

from dimfree.questions.question import Option, Question

if TYPE_CHECKING:
    from dimfree.dataset.problem import DataSetProblem

QUESTION: "Question[DataSetProblem]" = Question(
    name="temperature",
    help="Measure the temperature of SGD on a data set: response against correlation in the last part of the run.",
    asked="temperatures",
    about="a data set",
    problem="dimfree.dataset.problem:DataSetProblem",
    answer="dimfree.questions.temperature.answer:temperature",
    also=("dimfree.dataset.committee.problem:NetworkProblem",),
    kinds=("two-clusters", "three-clusters", "linear-teacher", "sign-teacher", "phase-retrieval"),
    options={
        "window": Option("How much of the end of the run to use, in units of time. Default: the second half.", float),
        "seeds": Option("Number of pairs of simulated twins; 0 computes the theory only.", int, 0, 0),
        "budget": Option("Seconds to spend in all.", float, 300.0),
    },
    embedded={
        "data.samples": 3.0,
        "training.loss": "square",
        "training.batch_fraction": 0.3,
        "training.weight_decay": 0.1,
        "run.until": 60.0,
    },
)
