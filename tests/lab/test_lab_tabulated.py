"""Theories as a table over one number: values where they are needed, an error that holds, and the page that reads it off."""

import re
from itertools import pairwise
from math import exp, log

import numpy as np
import pytest
from in_node import answered
from lab_user import last_risks, settle, slider, wait_for_curve

import dimfree as df
from dimfree.errors import ProblemError, RefusalError
from dimfree.lab import tabulated
from dimfree.lab.saved import page_of, save_page
from dimfree.lab.tabulated import axis_of, mixed, table_of

KEY = "training.weight_decay"
LINEAR = df.Problem(
    dimension=100,
    data={"kind": "linear-teacher"},
    training={"loss": "square", "weight_decay": 0.1},
    run={"until": 4.0, "points": 9, "replicas": 2},
)
TIMES = [0.0, 0.5, 1.0, 2.0]
READ = """(script, given) => {
    globalThis.values = { short: x => String(x), same: (a, b) => JSON.stringify(a) === JSON.stringify(b),
                          get: (problem, path) => path.split('.').reduce((at, key) => at[key], problem) };
    return given.problems.map(one => script.parts(given.table, one, given.made, given.paths)[0]); }"""


def risk(x: float) -> list[float]:
    """Of a theory that bends where x is small, and refuses from x = 0.3 on."""
    return [0.5 * exp(-t / (0.02 + x)) + x**2 for t in TIMES]


@pytest.fixture
def one_theory(monkeypatch):
    def solved(problem, accounts, stop):
        x = problem.training.weight_decay
        if x >= 0.3:
            yield {"part": "refusal", "name": "bent", "sentence": "it is too large."}
            return
        seen = {"m": {"dims": [], "shape": [], "values": [[x * t] for t in TIMES]}}
        many = {"C": {"dims": ["s"], "shape": [80], "values": [[0.0] * 80 for _ in TIMES]}}
        yield {"part": "curve", "name": "bent", "times": TIMES, "risk": {"mean": risk(x)}, "observables": seen | many}

    monkeypatch.setattr(tabulated, "solved", solved)
    monkeypatch.setattr(tabulated, "prepared", lambda problem: problem)


def with_decay(x: float) -> dict:
    return {"training": {"weight_decay": x}, "data": {"noise": 0.0}}


def test_between_its_values_a_table_is_as_good_as_it_says(one_theory):
    axis = axis_of(LINEAR, f"{KEY}=0.001:0.9")
    table = table_of(LINEAR, axis, ["bent", "another"])
    (theory,) = table["theories"]
    at, errors = table["at"], theory["errors"]
    assert 0.1 in at
    assert max(error for error in errors if error is not None) < 0.01
    steps = [log(high / low) for low, high in pairwise(at)]
    assert max(steps) > 3 * min(steps)  # values are close where they are needed
    rng = np.random.default_rng(4)
    cells = rng.choice([j for j, error in enumerate(errors) if error], size=8)
    asked = [at[j] * (at[j + 1] / at[j]) ** rng.uniform() for j in cells]
    asked += [at[2], 0.28, 0.31, 2.0]
    given = {
        "table": table,
        "made": with_decay(0.1),
        "problems": [*map(with_decay, asked), with_decay(0.2) | {"data": {"noise": 1.0}}],
        "paths": [KEY, "data.noise"],
    }
    *told, moved = answered("tabulated.js", READ, given)
    for x, cell, curve in zip(asked, cells, told, strict=False):
        off = np.abs(np.array(curve["risk"]["mean"]) / risk(x) - 1).max()
        assert off < 1.5 * errors[cell] + 1e-5  # it is measured in the middle; risks have six digits
        assert curve["times"] == TIMES
        assert [row[0] for row in curve["observables"]["m"]["values"]] == pytest.approx(
            [x * t for t in TIMES], rel=1e-5
        )
        assert curve["observables"].keys() == {"m"}
        assert re.fullmatch(r"from a table, off by (less than )?[\d.e-]+ %", curve["note"])
    exactly, near, above, outside = told[len(cells) :]
    assert exactly == theory["curves"][2] | {"note": "from a table", "milliseconds": 0}
    assert near["part"] in ("curve", "refusal")
    assert above == {"part": "refusal", "name": "bent", "sentence": "it is too large."}
    assert "from 0.001 to 0.9" in outside["sentence"]
    assert "set data.noise back to 0" in moved["sentence"]


def test_a_change_of_the_theory_between_two_values_is_seen(one_theory):
    """The check of the error can fail: with a table that is only made of its ends it is large."""
    low, high = (tabulated._node(LINEAR, axis_of(LINEAR, KEY), x, ["bent"]) for x in (0.001, 0.2))
    middle = tabulated._node(LINEAR, axis_of(LINEAR, KEY), (0.001 * 0.2) ** 0.5, ["bent"])
    assert tabulated._error("bent", low, middle, high) > 0.5


def test_the_page_mixes_curves_as_python_does():
    rng = np.random.default_rng(8)
    one, other = (
        {
            "a": rng.normal(size=4).tolist(),
            "b": {"c": [None, 1.0, 0.0], "d": ["x"]},
            "e": abs(rng.normal(size=3)).tolist(),
        }
        for _ in range(2)
    )
    other["b"]["c"] = [2.0, None, 3.0]
    found = answered("tabulated.js", "(script, [one, other]) => script.mixed(one, other, 0.3)", [one, other])
    expected = mixed(one, other, 0.3)
    assert found["b"] == expected["b"] == {"c": [None, None, pytest.approx(0.9)], "d": ["x"]}
    assert found["a"] == pytest.approx(expected["a"], rel=1e-14)
    assert found["e"] == pytest.approx(np.exp(0.7 * np.log(one["e"]) + 0.3 * np.log(other["e"])), rel=1e-13)


@pytest.mark.parametrize(
    "asked", ["network.width", "nothing", f"{KEY}=1:2", f"{KEY}=0.2:0.05", f"{KEY}=a:b", f"{KEY}=0.1"]
)
def test_what_no_table_can_be_about_is_refused(asked):
    with pytest.raises(ProblemError, match=r"a table is"):
        axis_of(LINEAR, asked)


def test_ends_that_are_not_given_lie_around_the_number():
    axis = axis_of(LINEAR, KEY)
    assert (axis.low, axis.value, axis.high) == (0.025, 0.1, 0.4)


def test_a_problem_of_which_nothing_can_be_written_needs_a_table():
    with pytest.raises(RefusalError, match=r"the page cannot be saved: .* ask for a table of its theories"):
        page_of(LINEAR)


@pytest.mark.slow
def test_a_saved_page_of_a_data_set_shows_its_theories(tab, tmp_path):
    save_page(LINEAR, tmp_path / "page.html", KEY)
    assert (tmp_path / "page.html").stat().st_size < 150_000
    page = tab((tmp_path / "page.html").as_uri())
    wait_for_curve(page, "dmft")
    before = last_risks(page)["static"]
    slider(page, KEY).focus()
    for _ in range(60):
        page.keyboard.press("ArrowRight")
    page.wait_for_function("() => lab.problem().training.weight_decay > 0.12")
    settle(page)
    decay = page.evaluate("() => lab.problem().training.weight_decay")
    shown = last_risks(page)
    assert shown["static"] != before
    for name in ("dmft", "static"):
        there = df.solve(LINEAR.replace(**{KEY: decay}), name).risk.values.ravel()[-1]  # static is one number
        assert shown[name] == pytest.approx(there, rel=0.02)
    assert page.locator("#legend", has_text="from a table, off by").count() == 1
    page.get_by_text("SGD was not run.").wait_for()
    assert page.locator('[data-path="training.learning_rate"] input[type="range"]').count() == 0
