"""How lazy is training on given points?"""

from typing import TYPE_CHECKING

from dimfree.questions.question import Option, Question

if TYPE_CHECKING:
    from dimfree.lazy.problem import LazyProblem

QUESTION: "Question[LazyProblem]" = Question(
    name="laziness",
    help="Report how lazy a network is: check the lemmas of the lazy limit on runs, from the mean-field scale upwards.",
    asked="questions of laziness",
    about="given points",
    problem="dimfree.lazy.problem:LazyProblem",
    answer="dimfree.questions.laziness.answer:laziness",
    options={
        "decades": Option("How far to sweep output_scale * width upwards from 1, in powers of ten.", float, 2.5),
        "scales": Option("Number of output scales in the sweep.", int, 6, 2),
        "networks": Option("Number of independent starts.", int, 4, 1),
        "budget": Option("Seconds to spend in all.", float, 300.0),
    },
    embedded={
        "data.link": {"knots": [-0.5, 0.5], "values": [-1.0, 1.0]},
        "network.activation": "tanh",
        "network.width": 60,
        "start.scale": 0.3,
        "start.second_layer_scale": 0.3,
    },
)
