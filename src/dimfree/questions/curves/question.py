"""How much data does a learner need?"""

from typing import TYPE_CHECKING

from dimfree.questions.question import Option, Question

if TYPE_CHECKING:
    from dimfree.dataset.problem import DataSetProblem

QUESTION: "Question[DataSetProblem]" = Question(
    name="curve",
    help="Say how much data a learner needs: error against samples, in theory and by scikit-learn, also on a table of yours.",
    asked="learning curves",
    about="a data set whose labels can be learned by a convex loss",
    problem="dimfree.dataset.problem:DataSetProblem",
    answer="dimfree.questions.curves.answer:curve",
    kinds=("sign-teacher", "linear-teacher", "covariates", "random-features", "table"),
    options={
        "smallest": Option("Fewest samples per dimension.", float, 0.5),
        "largest": Option("Most samples per dimension; 8, or all rows of a table.", float),
        "points": Option("Numbers of samples at which learners are fitted.", int, 8, 1),
        "seeds": Option("Data sets per number of samples; 0 for theory alone.", int, 8, 0),
        "features": Option("A table: a .npy or .csv file of samples x features, or 'digits'.", str),
        "labels": Option("The file of its labels.", str),
        "width": Option("As many random ReLU features of the table instead of its columns.", int, None, 1),
        "budget": Option("Seconds that all fits may take.", float, 300.0),
    },
    embedded={"data.kind": "sign-teacher", "training.weight_decay": 0.1},
)
