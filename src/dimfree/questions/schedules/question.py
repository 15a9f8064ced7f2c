"""Which learning-rate schedule is best?"""

from typing import TYPE_CHECKING

from dimfree.questions.question import Option, Question

if TYPE_CHECKING:
    from dimfree.onepass.problem import OnePassProblem

QUESTION: "Question[OnePassProblem]" = Question(
    name="optimise",
    help="Find the best learning-rate schedule through the theory, certify it, and confirm it by real SGD.",
    asked="schedules",
    about="fresh samples of a teacher",
    problem="dimfree.onepass.problem:OnePassProblem",
    answer="dimfree.questions.schedules.optimise:optimise",
    kinds=("teacher", "multi-index"),
    options={
        "knobs": Option(
            "What may be turned: learning-rate, second-layer-rate, weight-decay (commas between).",
            str,
            "learning-rate",
            flag="knob",
        ),
        "knots": Option("Knots of the optimum.", int, 33, 4),
        "starts": Option(
            "Drawn starts over which is averaged; left out, 8, or 1 for a start that is given.", int, None, 1
        ),
        "bounds": Option("Of the rate, and of other knobs: 0.01:3,weight_decay=0:1.", str),
        "against": Option(
            "Families: exponential, power, cosine, hold-power, greedy (commas between); left out, all.", str
        ),
        "objective": Option("Over starts: mean-log, mean or worst.", str, "mean-log"),
        "confirm": Option("By which real SGD: chain, sgd or none.", str, "chain"),
        "replicas": Option("Of real SGD.", int, 32, 1),
        "export": Option("A script beside the other files: optax, torch or none.", str, "none"),
        "budget": Option("Seconds that all may take.", float, 300.0),
    },
    embedded={
        "dimension": 1000,
        "data": {"kind": "teacher", "units": 2, "scaling": "sum", "noise": 0.01},
        "network": {"width": 2, "scaling": "sum"},
        "start": {"kind": "gaussian", "scale": 0.5},
        "run": {"until": 100.0},
    },
)
