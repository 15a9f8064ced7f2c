"""The phase diagram as data: what a page needs to draw it and to move the problem's point (docs/theory/committee.md, section 4).

`lab/page/phase.js` follows it: coordinates are x and y of width = dimension^x and learning rate/batch = dimension^(-y).
"""

from typing import NamedTuple

from dimfree.problem import Problem
from dimfree.questions.regimes.formulas import ORDER_ONE, exponents
from dimfree.questions.regimes.question import QUESTION

TITLE = "Regimes of one-pass SGD as the dimension grows, by s = x + y"


class Region(NamedTuple):
    """How a regime is shown."""

    colour: str
    name: str
    meaning: str


REGIONS = {
    "gradient_flow": Region("#c7e9c0", "perfect learning", "only the gradient acts"),
    "saad_solla": Region("#9ecae1", "Saad–Solla, a plateau", "gradient and noise act together"),
    "noise_dominated": Region("#fdd0a2", "bad learning", "noise outruns the gradient"),
    "no_ode": Region("#d9d9d9", "no deterministic limit", "one step is as large as the network"),
}


def plane(problem: Problem) -> dict[str, object]:
    """The axes, the regions and the numbers that decide where the problem lies; an error where there is no such diagram."""
    chosen = QUESTION.settled(problem)
    d, p, batch = chosen.dimension, chosen.network.width, chosen.training.batch
    exponents(d, p, chosen.training.learning_rate, batch)  # raises an error where exponents are undefined
    rate = "learning rate / batch" if batch > 1 else "learning rate"
    return {
        "title": TITLE,
        "x": {"label": "x, where width = dimensionˣ", "path": "network.width"},
        "y": {"label": f"y, where {rate} = dimension⁻ʸ", "path": "training.learning_rate"},
        "numbers": {
            "dimension": d,
            "network.width": p,
            "training.learning_rate": chosen.training.learning_rate,
            "training.batch": batch,
        },
        "factor": ORDER_ONE,
        "regions": {name: region._asdict() for name, region in REGIONS.items()},
    }
