"""What would a spectral estimator do with the samples of SGD?"""

from typing import TYPE_CHECKING

from dimfree.questions.question import Option, Question

if TYPE_CHECKING:
    from dimfree.onepass.problem import OnePassProblem

QUESTION: "Question[OnePassProblem]" = Question(
    name="spectral",
    help="Say what beats SGD: spectral estimator and linear filter of preprocessed labels, theory beside experiment.",
    asked="spectral estimators",
    about="fresh samples of a teacher",
    problem="dimfree.onepass.problem:OnePassProblem",
    answer="dimfree.questions.spectral.answer:spectral",
    kinds=("teacher", "multi-index"),
    options={
        "link": Option("Another link, also for the student of SGD: he3, relu, tanh, ..., module:function.", str),
        "samples": Option("Samples per dimension, separated by commas; left out, 0.25 to 8.", str),
        "preprocessing": Option("A function of the label, module:function, to try beside the best one.", str),
        "seeds": Option("Experiments; 0 for the theory alone.", int, 8, 0),
        "budget": Option("Seconds that the experiments may take.", float, 120.0),
    },
    embedded={
        "dimension": 500,
        "data.units": 1,
        "data.activation": "he3",
        "data.noise": 0.0,
        "network.width": 1,
        "network.activation": "he3",
        "training.spherical": True,
    },
)
