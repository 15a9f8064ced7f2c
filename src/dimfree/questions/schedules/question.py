"""Which learning-rate schedule is best?"""

from typing import TYPE_CHECKING

from dimfree.questions.question import Option, Question

if TYPE_CHECKING:
    from dimfree.onepass.problem import OnePassProblem

QUESTION: "Question[OnePassProblem]" = Question(
    name="optimise",
    help="Find the best learning-rate schedule by theory, certify it, and confirm it with real SGD.",
    asked="schedules",
    about="fresh samples of a teacher, or behind a random projection",
    problem="dimfree.onepass.problem:OnePassProblem",
    answer="dimfree.questions.schedules.optimise:optimise",
    kinds=("teacher", "multi-index", "power-law", "projected"),
    structured=True,
    options={
        "knobs": Option(
            "What may be changed: learning-rate, second-layer-rate, weight-decay, batch, momentum (separated by commas).",
            str,
            "learning-rate",
            flag="knob",
        ),
        "knots": Option("Number of knots of the best schedule.", int, 33, 4),
        "starts": Option("Number of random starts to average over. Default: 8, or 1 for a given start.", int, None, 1),
        "bounds": Option("Bounds of the learning rate, and of other knobs, as in 0.01:3,weight_decay=0:1.", str),
        "against": Option(
            "Families to compare with: exponential, power, cosine, hold-power, greedy (separated by commas). Default: all.",
            str,
        ),
        "objective": Option("What to minimise over the starts: mean-log, mean or worst.", str, "mean-log"),
        "by": Option(
            "The theory: linear-mean, for linear networks on inputs with a covariance; equivalent or projected-mean, behind a "
            "random projection; or ode. Default: the first that holds.",
            str,
        ),
        "confirm": Option(
            "The experiment that confirms the result: rows, projected-rows, sgd-eigenbasis, chain, sgd or none. Default: the "
            "first that the problem has.",
            str,
        ),
        "replicas": Option("Number of runs of that experiment.", int, 32, 1),
        "export": Option("Also write the schedule as a script: optax, torch or none.", str, "none"),
        "budget": Option("Seconds to spend in all.", float, 300.0),
    },
    embedded={
        "dimension": 1000,
        "data": {"kind": "teacher", "units": 2, "scaling": "sum", "noise": 0.01},
        "network": {"width": 2, "scaling": "sum"},
        "start": {"kind": "gaussian", "scale": 0.5},
        "run": {"until": 100.0},
    },
)
