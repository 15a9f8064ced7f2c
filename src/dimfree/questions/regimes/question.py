"""Which limit is a problem near?"""

from typing import TYPE_CHECKING

from dimfree.questions.question import Question

if TYPE_CHECKING:
    from dimfree.onepass.problem import OnePassProblem

QUESTION: "Question[OnePassProblem]" = Question(
    name="regime",
    help="Report in words which limit a problem is near, and what a wider network or a smaller step would change.",
    asked="regimes",
    about="fresh samples of a teacher",
    problem="dimfree.onepass.problem:OnePassProblem",
    answer="dimfree.questions.regimes.answer:regime",
    kinds=("teacher", "multi-index"),
    quick=True,
    plane="dimfree.questions.regimes.plane:plane",
)
