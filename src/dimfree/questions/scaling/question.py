"""How large a model, how much data, which rate, for a budget of compute?"""

from typing import TYPE_CHECKING

from dimfree.questions.question import Option, Question

if TYPE_CHECKING:
    from dimfree.onepass.problem import OnePassProblem

QUESTION: "Question[OnePassProblem]" = Question(
    name="scaling",
    help="Find how size, data and rate trade off for a budget of compute, with local and asymptotic exponents.",
    asked="scaling laws",
    about="inputs behind a random projection",
    problem="dimfree.onepass.problem:OnePassProblem",
    answer="dimfree.questions.scaling.answer:scaling",
    kinds=("power-law", "projected"),
    structured=True,
    options={
        "alpha": Option("Exponent of the inputs instead of the problem's: variances j^(-2 alpha).", float),
        "beta": Option("Exponent of the target instead of the problem's: coefficients j^(-beta).", float),
        "features": Option(
            "Your table: a .npy or .csv file of samples x features, or 'digits' for scikit-learn's.", str
        ),
        "labels": Option("The file with the labels of the table.", str),
        "width": Option("Take this many random ReLU features of the table instead of its columns.", int, None, 1),
        "compute": Option("Range of compute, size * batch * steps; left out, 1e4:1e10, of tables 1e2:1e6.", str),
        "schedule": Option(
            "Rate from the first step to the last of every budget: constant, cosine, linear or wsd (falls in the last fifth).",
            str,
            "constant",
        ),
        "largest": Option("Largest size of the list; left out, as large as the compute needs.", float),
        "budget_flops": Option("One budget in flops, 6 for every parameter and sample: a one-line answer.", float),
        "seeds": Option("Projections per size for real SGD; 0 for theory alone.", int, 0, 0),
    },
    embedded={"data.kind": "power-law", "data.inputs": {"per_size": 1000.0}},
)
