"""How wide, which rate, which batch, which schedule, for a table of your own?"""

from typing import TYPE_CHECKING

from dimfree.questions.question import Option, Question

if TYPE_CHECKING:
    from dimfree.onepass.problem import OnePassProblem

QUESTION: "Question[OnePassProblem]" = Question(
    name="plan",
    help="Plan training on your own table: width, rate, batch and schedule by theory, checked by real SGD on held-out rows.",
    asked="plans",
    about="fresh samples of a teacher",
    problem="dimfree.onepass.problem:OnePassProblem",
    answer="dimfree.questions.plan.answer:plan",
    kinds=("teacher",),
    options={
        "features": Option(
            "The table: .csv with names, .parquet, .npy, .npz (X and y), or a data set of scikit-learn such as diabetes.",
            str,
            "digits",
        ),
        "target": Option("What is learned: the name of a column, or a file of labels.", str),
        "columns": Option("Columns to learn from, separated by commas. Default: all others.", str),
        "one_hot": Option(
            "What to do with words: 'yes' makes a column of 0 and 1 of every kind, or one of two kinds.", str
        ),
        "impute": Option("Fill in missing values by the mean, median or most_frequent of their column.", str),
        "positive": Option("The class that counts as +1, against all others.", str),
        "scale": Option(
            "'common' divides all columns by one number, 'each' by their own. Default: as the table needs.", str
        ),
        "budget": Option("Samples to draw. Default: five times the rows to learn from.", float),
        "compute": Option(
            "Instead of samples, multiplications of a run: two for each weight and sample. Wider networks draw fewer samples.",
            float,
        ),
        "loss": Option("square, huber, or for two classes logistic. Default: square.", str),
        "offsets": Option("'yes' fits a teacher whose units have offsets.", str),
        "widths": Option("Widths among which theory chooses.", str, "2,4,8"),
        "batch": Option("Samples a step. Default: up to 32, as stability allows.", int, None, 1),
        "splits": Option("Ways to part the rows.", int, 3, 1),
        "seeds": Option("Runs for each of them.", int, 4, 2),
    },
    embedded={"network.scaling": "sum", "network.width": 4, "start.scale": 0.5},
)
