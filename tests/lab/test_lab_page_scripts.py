"""Scripts of the page that need no browser: the saved times of a problem, the address of a problem, its text."""

import pytest
from in_node import answered

import dimfree as df

RUNS = [
    {},
    {"run.until": 3.0, "run.points": 7, "run.spacing": "linear"},
    {"run.until": 0.01},
    {"run.until": 0.0125, "run.points": 4, "run.spacing": "linear"},  # 15 steps: halves are rounded to even numbers
    {"dimension": 5000, "training.learning_rate": 0.07, "run.points": 200},
    {"run": {"times": [0.5, 2.0, 7.5]}},
]


def test_saved_times_are_those_of_python():
    problems = [df.Problem().replace(**change) for change in RUNS]
    given = [[one.model_dump(mode="json")["run"], one.time_step] for one in problems]
    found = answered(
        "saved_times.js", "(script, data) => data.map(([run, step]) => script.savedTimes(run, step))", given
    )
    for one, times in zip(problems, found, strict=True):
        assert times == pytest.approx(one.times, rel=1e-14, abs=0)
