"""Controls are made from the models: of every setting and kind, at their ends there is a problem; the page can change all."""

import json
from operator import attrgetter

import pytest

import dimfree as df
from dimfree.errors import ProblemError
from dimfree.lab.admission import admission_of
from dimfree.lab.changes import changed
from dimfree.lab.controls import controls_of
from dimfree.lab.shelf import hello_of, plain_problem
from stages import gating

KINDS = [(kind, training) for one in df.settings() for kind in one.kinds("data") for training in one.kinds("training")]
GATES = [
    ("teacher", "one-pass"),
    ("hypercube", "one-pass"),
    ("two-clusters", "multi-pass"),
    ("given-points", "gradient-flow"),
]
TYPES = {"number", "integer", "choice", "flag", "numbers", "text"}


def by_path(problem: df.Problem) -> dict[str, dict]:
    return {one["path"]: one for one in controls_of(problem)}


@pytest.mark.parametrize(("kind", "training"), gating(KINDS, GATES))
def test_controls_of_every_kind_have_a_problem_at_their_ends(kind, training):
    problem = df.Problem(data={"kind": kind}, training={"kind": training})
    found = controls_of(problem)
    assert len({one["path"] for one in found}) == len(found)
    json.dumps(found, allow_nan=False)
    for one in found:
        assert one["type"] in TYPES
        assert one["label"]
        assert one["help"], one["path"]
        if one["type"] in ("number", "integer"):
            assert one["min"] <= one["value"] <= one["max"]
            assert one["min"] < one["max"]
            for end in (one["min"], one["max"]):
                assert isinstance(end, int) == (one["type"] == "integer")
                changed(problem, {one["path"]: end})
            assert one["scale"] == "linear" or one["min"] > 0


@pytest.mark.parametrize(("kind", "training"), gating(KINDS, GATES))
def test_every_choice_makes_a_problem_or_says_what_it_does_not_go_with(kind, training):
    """The model has an example of all that another kind needs."""
    problem = df.Problem(data={"kind": kind}, training={"kind": training})
    choices = [
        (one, choice["value"]) for one in controls_of(problem) if one["type"] == "choice" for choice in one["choices"]
    ]
    assert all(one["value"] in [choice["value"] for choice in one["choices"]] for one, _ in choices)
    made = {(one["path"], str(value)): made_or_said(problem, one["path"], value) for one, value in choices}
    said = [what for what in made.values() if isinstance(what, str)]
    assert all("needs a value" not in sentence and sentence.endswith((".", ".)")) for sentence in said)
    besides = [
        what for (path, _), what in made.items() if not path.startswith("network.")
    ]  # a kind may be about one network
    assert sum(isinstance(what, str) for what in besides) < len(besides) / 2
    for (path, value), what in made.items():
        if path.endswith(".kind") and value != "None" and isinstance(what, df.Problem):
            assert attrgetter(path)(what) == value


def made_or_said(problem: df.Problem, path: str, value: object) -> df.Problem | str:
    try:
        return changed(problem, {path: value})
    except ProblemError as failure:
        return str(failure)


def test_numbers_that_span_decades_are_moved_on_a_logarithmic_scale():
    found = by_path(df.Problem())
    rate, momentum = found["training.learning_rate"], found["training.momentum"]
    assert rate["scale"] == "log"
    assert rate["max"] / rate["min"] >= 100
    assert (momentum["scale"], momentum["min"]) == ("linear", 0.0)
    assert found["dimension"]["live"]
    assert not found["network.width"]["live"]


def test_activations_come_with_their_curves():
    choices = by_path(df.Problem())["network.activation"]["choices"]
    relu = next(one for one in choices if one["value"] == "relu")["curve"]
    assert len(relu["x"]) == len(relu["y"])
    assert relu["y"] == [max(0.0, x) for x in relu["x"]]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ({"hermite": [0.0, 0.0, 1.0]}, lambda x: x**2 - 1),
        ({"knots": [0.0, 1.0], "values": [0.0, 2.0]}, lambda x: 2 * min(max(x, 0.0), 1.0)),
        ({"polynomial": [0.0, 0.0, 1e308]}, lambda x: 1e308 * x**2 if abs(x) <= 1.25 else None),
    ],
)
def test_an_activation_without_a_name_is_drawn_too(written, value):
    control = by_path(df.Problem(network={"activation": written}))["network.activation"]
    (curve,) = [one["curve"] for one in control["choices"] if one["value"] == control["value"]]
    assert curve["y"] == pytest.approx([value(x) for x in curve["x"]], abs=2e-3)


def test_every_problem_of_the_lists_is_one_that_a_page_may_ask_for():
    listed, admission = hello_of(df.Problem(), served=True), admission_of(df.Problem())
    problems = [one["problem"] for name in ("settings", "gallery", "presets") for one in listed[name]]
    assert len(problems) > 30
    for problem in problems:
        assert plain_problem(admission.problem(problem)) == problem


def test_values_that_another_kind_fills_in_do_not_count_as_given():
    """A page sends every key; what nobody changed must not stand in the way of another kind, nor lose what it needs."""
    admission = admission_of(df.Problem())
    data = {"data.kind": "clusters"}
    assert changed(admission.problem(plain_problem(df.Problem())), data) == changed(df.Problem(), data)
    projected = df.Problem(data={"kind": "projected"}, training={"learning_rate": 0.05})
    assert admission.problem(plain_problem(projected)) == projected


def test_a_number_that_other_keys_fix_has_no_control():
    assert "data.flip" not in by_path(df.Problem())
    assert by_path(df.Problem(data={"labels": "sign"}))["data.flip"]["max"] <= 0.45


def test_integers_of_which_some_are_allowed_are_moved_in_their_steps():
    width = by_path(df.Problem(data={"kind": "drawn-points"}))["network.width"]
    assert width["step"] == 2
    assert width["min"] % 2 == 0


def test_an_end_at_which_there_is_no_problem_is_drawn_in():
    found = by_path(df.Problem(dimension=12, data={"units": 11}, run={"until": 3.0}))
    assert found["dimension"]["min"] == 11
    wrong = {"dimension": 10}
    with pytest.raises(ProblemError):
        changed(df.Problem(dimension=12, data={"units": 11}), wrong)


def test_the_largest_numbers_have_sliders_too():
    decay = by_path(df.Problem(data={"kind": "linear-teacher"}, training={"weight_decay": 1e308}))
    json.dumps(list(decay.values()), allow_nan=False)
    assert decay["training.weight_decay"]["max"] == 1e308
    both = by_path(df.Problem(data={"kind": "hypercube", "coefficients": {"1": 1.7e308}}))
    json.dumps(list(both.values()), allow_nan=False)


def test_help_is_what_the_template_says():
    assert by_path(df.Problem())["training.batch"]["help"] == "number of fresh samples per step"


def test_the_same_data_can_be_trained_on_in_another_setting():
    control = by_path(df.Problem())["training.kind"]
    assert [one["value"] for one in control["choices"]] == ["one-pass", "multi-pass"]
    assert control["main"]
    revisited = changed(df.Problem(dimension=50), {"training.kind": "multi-pass"})
    assert (revisited.dimension, revisited.data.kind, revisited.training.kind) == (50, "teacher", "multi-pass")
    assert by_path(revisited)["data.samples"]
    assert changed(revisited, {"training.kind": "one-pass"}) == df.Problem(dimension=50)
    assert "training.kind" not in by_path(df.Problem(data={"kind": "two-clusters"}))


def test_another_setting_keeps_dimension_and_run():
    problem = df.Problem(dimension=123, run={"seed": 5})
    made = changed(problem, {"data.kind": "two-clusters"})
    assert (made.dimension, made.run.seed, made.data.kind) == (123, 5, "two-clusters")
    assert (
        changed(
            df.Problem(training={"schedule": {"kind": "power"}}), {"training.schedule.kind": None}
        ).training.schedule
        is None
    )
