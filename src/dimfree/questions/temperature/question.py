"""How hot is SGD on a data set?"""

from typing import TYPE_CHECKING

from dimfree.questions.question import Option, Question

if TYPE_CHECKING:
    from dimfree.dataset.problem import DataSetProblem

QUESTION: "Question[DataSetProblem]" = Question(
    name="temperature",
    help="Say how hot SGD on a data set is: response against correlation in the last part of the run.",
    asked="temperatures",
    about="a data set",
    problem="dimfree.dataset.problem:DataSetProblem",
    answer="dimfree.questions.temperature.answer:temperature",
    kinds=("two-clusters", "three-clusters", "linear-teacher", "sign-teacher", "phase-retrieval"),
    options={
        "window": Option("The last part of the run, in units of time; left out, its second half.", float),
        "seeds": Option("Pairs of simulated twins; 0 for theory alone.", int, 0, 0),
        "budget": Option("Seconds that all may take.", float, 300.0),
    },
    embedded={
        "data.samples": 3.0,
        "training.loss": "square",
        "training.batch_fraction": 0.3,
        "training.weight_decay": 0.1,
        "run.until": 60.0,
    },
)
