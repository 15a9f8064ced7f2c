"""A server of the lab under 2,000 hostile messages: how long an honest page waits beside them, and how much memory grows.

These are no ratios: milliseconds and megabytes, which two quiet cores are held to. Messages are those of the tests.
"""

import random
import sys
from collections import Counter
from pathlib import Path

from clock import Bar

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "lab"))

from hostile import forget_peak, peak, siege
from serving import asked, running, tiny

from dimfree.lab.shelf import plain_problem

BARS = {
    "lab_honest_ms": Bar(True, 1000),  # the longest of 40 answers
    "lab_hostile_megabytes": Bar(True, 100),
}


def ratios(smoke: bool) -> dict[str, float]:
    """The table of this subject."""
    with running(tiny()) as client:
        with client.enter().socket() as socket:  # what a first answer compiles is no growth
            for number, ask in enumerate(("hello", "controls", "solve", "simulate")):
                asked(socket, id=number, ask=ask, problem=plain_problem(tiny()))
        before = forget_peak()
        served = list(siege(client, random.Random(2000), 50 if smoke else 2000, Counter()))
        return {
            "lab_honest_ms": 1000 * max(one.seconds for one in served),
            "lab_hostile_megabytes": (peak() - before) / 1e6,
        }
