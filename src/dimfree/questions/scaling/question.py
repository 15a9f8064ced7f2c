"""How large a model, how much data, which rate, for a budget of compute?"""

from typing import TYPE_CHECKING

from dimfree.questions.question import Option, Question

if TYPE_CHECKING:
    from dimfree.onepass.problem import OnePassProblem

QUESTION: "Question[OnePassProblem]" = Question(
    name="scaling",
    help="Say how size, data and rate trade off for a budget of compute, with local and asymptotic exponents.",
    asked="scaling laws",
    about="power laws behind a random projection",
    problem="dimfree.onepass.problem:OnePassProblem",
    answer="dimfree.questions.scaling.answer:scaling",
    kinds=("power-law",),
    options={
        "alpha": Option("Exponent of the inputs instead of the problem's: variances j^(-2 alpha).", float),
        "beta": Option("Exponent of the target instead of the problem's: coefficients j^(-beta).", float),
        "compute": Option("Range of compute, size * batch * steps, as 1e4:1e10.", str, "1e4:1e10"),
        "largest": Option("Largest size of the list; left out, as large as the compute needs.", float),
        "budget_flops": Option("One budget in flops, 6 for every parameter and sample: a one-line answer.", float),
        "seeds": Option("Projections per size for real SGD; 0 for theory alone.", int, 0, 0),
    },
    embedded={"data.kind": "power-law", "data.inputs": {"per_size": 1000.0}},
)
