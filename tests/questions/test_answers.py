"""Every answer has one shape: words, plain data, a file that says where it came from, a figure."""

import io
import json

import pytest
from made_up_answers import ANSWERS, PROBLEM
from rich.console import Console

import dimfree as df
from dimfree.questions.answer import Answer
from dimfree.questions.exit_times.answer import Exits
from dimfree.questions.temperature.answer import Temperature
from dimfree.results.store import load


def kinds(cls: type) -> list[type]:
    return [one for child in cls.__subclasses__() for one in (child, *kinds(child))]


def test_every_kind_of_answer_is_tried():
    assert {type(one) for one in ANSWERS} == set(kinds(Answer))


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda one: type(one).__name__)
def test_one_shape(answer, tmp_path):
    text = answer.summary()
    assert text == text.strip("\n")
    assert text
    assert repr(answer) == text
    data = answer.to_dict()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data["problem"] == answer.problem.model_dump(mode="json")
    tree = load(answer.save(tmp_path / "answer.nc"))
    assert df.loads(tree.attrs["problem"]) == answer.problem
    assert tree.attrs["digest"] == answer.problem.digest
    assert tree.attrs["seed"] == 7
    assert {"created_at", "dimfree_version"} <= tree.attrs.keys()
    assert set(tree.children) == set(answer.datasets())
    assert any(len(child.data_vars) for child in tree.children.values())
    if answer.to_dict().get("C", 0) is not None:  # nothing deviates: there is no logarithm to draw
        answer.plot(tmp_path / "answer.png")
        assert (tmp_path / "answer.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda one: type(one).__name__)
def test_a_terminal_shows_the_same_words(answer):
    console = Console(width=80, file=io.StringIO(), color_system=None)
    console.print(answer)
    shown, said = (" ".join(text.split()) for text in (console.file.getvalue(), answer.summary()))
    assert shown == said


def test_words_in_brackets_are_no_markup():
    exits, temperature = (one for one in ANSWERS if isinstance(one, Exits | Temperature))
    assert "left out: diffusion: it needs [start] of another kind." in exits.summary()
    assert "no closed form: the loss is [data] of another kind." in temperature.summary()


def test_sentences_are_not_broken_into_lines():
    assert len(df.regime(PROBLEM).summary().splitlines()) == 1


def test_what_is_infinite_is_no_number_in_json():
    infinite = ANSWERS[3].to_dict()
    assert infinite["samples"] is None
    assert infinite["admissible_rate"] == 0.1


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("couplings", {"points": 10**12}, "points = 1000000000000 were asked for"),
        ("laziness", {"scales": 10**10}, "scales = 10000000000 were asked for"),
        ("optimise", {"starts": 10**8}, "starts = 100000000 were asked for"),
        ("temperature", {"window": float("inf")}, "the window is inf"),
        ("spectral", {"seeds": 10**10}, "10000000000 experiments would take about"),
    ],
)
def test_what_is_too_much_is_refused_before_it_is_made(name, options, sentence):
    with pytest.raises(df.DimfreeError, match=sentence):
        getattr(df, name)(**options)
