"""How well would a spectral estimator do with the samples that SGD uses?"""

from typing import TYPE_CHECKING

from dimfree.questions.question import Option, Question

if TYPE_CHECKING:
    from dimfree.onepass.problem import OnePassProblem

QUESTION: "Question[OnePassProblem]" = Question(
    name="spectral",
    help="Compare SGD with a spectral estimator and a linear filter of preprocessed labels, in theory and experiment.",
    asked="spectral estimators",
    about="fresh samples of a teacher",
    problem="dimfree.onepass.problem:OnePassProblem",
    answer="dimfree.questions.spectral.answer:spectral",
    kinds=("teacher", "multi-index"),
    options={
        "link": Option(
            "Use this link, for the teacher and for the student of SGD: he3, relu, tanh, ..., module:function.", str
        ),
        "samples": Option("Numbers of samples per dimension, separated by commas. Default: 0.25 to 8.", str),
        "preprocessing": Option(
            "A function of the label, as module:function, to try in addition to the best one.", str
        ),
        "seeds": Option("Number of experiments; 0 computes the theory only.", int, 8, 0),
        "budget": Option("Seconds to spend on the experiments.", float, 120.0),
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
