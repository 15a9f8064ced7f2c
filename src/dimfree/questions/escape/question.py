"""How many samples does it take to find the target?"""

from typing import TYPE_CHECKING

from dimfree.questions.question import Option, Question

if TYPE_CHECKING:
    from dimfree.onepass.problem import OnePassProblem

QUESTION: "Question[OnePassProblem]" = Question(
    name="complexity",
    help="Report how many samples SGD needs to find the target: information and generative exponent, leap, rate.",
    asked="sample complexities",
    about="fresh samples of a teacher",
    problem="dimfree.onepass.problem:OnePassProblem",
    answer="dimfree.questions.escape.answer:sample_complexity",
    kinds=("teacher", "multi-index"),
    options={"threshold": Option("The share of the initial risk that must be lost.", float, 0.5)},
    quick=True,
)
