"""How much data does a learner need?"""

from typing import TYPE_CHECKING

from dimfree.questions.question import Option, Question

if TYPE_CHECKING:
    from dimfree.dataset.problem import DataSetProblem

QUESTION: "Question[DataSetProblem]" = Question(
    name="curve",
    help="Report how much data a learner needs: error against samples, in theory and by scikit-learn, also on your own table.",
    asked="learning curves",
    about="a data set whose labels can be learned by a convex loss",
    problem="dimfree.dataset.problem:DataSetProblem",
    answer="dimfree.questions.curves.answer:curve",
    kinds=("sign-teacher", "linear-teacher", "covariates", "random-features", "table"),
    options={
        "smallest": Option("Smallest number of samples per dimension.", float, 0.5),
        "largest": Option("Largest number of samples per dimension. Default: 8, or all rows of a table.", float),
        "points": Option("At how many numbers of samples learners are fitted.", int, 8, 1),
        "seeds": Option("Number of data sets for each number of samples; 0 computes the theory only.", int, 8, 0),
        "features": Option(
            "Your table: a .npy or .csv file of samples x features, or 'digits' for scikit-learn's.", str
        ),
        "labels": Option("The file with the labels of the table.", str),
        "width": Option("Learn from this many random ReLU features of the table instead of its columns.", int, None, 1),
        "budget": Option("Seconds to spend on all fits.", float, 300.0),
    },
    embedded={"data.kind": "sign-teacher", "training.weight_decay": 0.1},
    sketch="dimfree.questions.curves.sketch:sketch",
)
