"""Questions at the command line: records that fit their functions, problems of their own setting, files, refusals."""

import json
from inspect import signature

import numpy as np
import pytest
from made_up_answers import ANSWERS
from typer.testing import CliRunner

import dimfree as df
from dimfree.cli.commands import app
from dimfree.questions.question import questions
from dimfree.registry import imported

QUESTIONS = {one.name: one for one in questions()}
MADE_UP = {type(one).__name__: one for one in ANSWERS}


def invoke(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


def test_what_one_may_ask():
    assert set(QUESTIONS) == {
        "regime",
        "exit-times",
        "complexity",
        "fluctuations",
        "couplings",
        "temperature",
        "stopping",
        "laziness",
        "spectral",
        "curve",
        "optimise",
        "scaling",
        "plan",
    }


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS.keys())
def test_a_record_fits_its_function(question):
    """The command line repeats defaults, because reading them off the function would import jax for --help."""
    arguments = signature(imported(question.answer)).parameters
    assert {name: option.default for name, option in question.options.items()} == {
        name: arguments[name].default for name in question.options
    }
    assert arguments["problem"].default is None
    assert getattr(df, question.answer.partition(":")[2]) is imported(question.answer)
    assert question.help.endswith(".")


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS.keys())
def test_a_question_is_about_its_own_example(question):
    example = question.example()
    assert question.settled(None) == example
    assert question.settled(None, seed=5).run.seed == 5
    assert question.settled(example) is example


FOREIGN = [
    (name, kind)
    for name, question in QUESTIONS.items()
    for kind in ("two-clusters", "two-gaussians", "teacher")
    if kind not in (question.kinds or (question.example().data.kind,))
]


@pytest.mark.parametrize(("name", "kind"), FOREIGN)
def test_problems_of_another_setting_are_refused_in_one_sentence(name, kind, tmp_path, monkeypatch):
    question = QUESTIONS[name]
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "problem.toml"
    file.write_text(f'[data]\nkind = "{kind}"\n')
    by_change = invoke(name, "--set", f"data.kind={kind}")
    by_file = invoke(name, str(file))
    for result in (by_change, by_file):
        assert result.exit_code == 3, result.output
        *before, sentence = result.stderr.splitlines()
        assert not before or (result is by_change and "left behind: " in before[0]), (
            "a change names what it leaves behind"
        )
        assert sentence.startswith(
            f"dimfree: {question.asked} are about training on {question.about}, and this problem is"
        )
        assert "; set data.kind = '" in sentence


@pytest.fixture
def caught(monkeypatch):
    """The answering functions replaced: what they were asked, and an answer that costs nothing."""
    asked = []

    def stand_in(answer):
        def function(problem, watch=None, **options):
            asked.append((problem, options))
            return answer

        return function

    for path, kind in (
        ("dimfree.questions.exit_times.answer.exit_times", "Exits"),
        ("dimfree.questions.temperature.answer.temperature", "Temperature"),
    ):
        monkeypatch.setattr(path, stand_in(MADE_UP[kind]))
    return asked


def test_options_seeds_and_changes_reach_the_function(caught, tmp_path):
    changes = ("--set", "dimension=77", "--seed", "3", "--out", str(tmp_path))
    result = invoke("exit-times", "--threshold", "0.3", "--replicas", "9", *changes)
    assert result.exit_code == 0, result.output
    ((problem, options),) = caught
    assert (problem.dimension, problem.run.seed) == (77, 3)
    assert options == {"threshold": 0.3, "replicas": 9, "horizon": None, "budget": 300.0}
    assert "Time to lose 10 % of the risk" in result.stdout
    assert str(tmp_path / "exit-times.png") in result.stderr
    assert sorted(one.name for one in tmp_path.iterdir()) == ["exit-times.nc", "exit-times.png"]


def test_a_file_is_read_and_json_is_data_alone(caught, tmp_path):
    file = tmp_path / "problem.toml"
    file.write_text('dimension = 31\n[data]\nkind = "sign-teacher"\n')
    result = invoke("temperature", str(file), "--seed", "4", "--json", "--out", str(tmp_path))
    ((problem, options),) = caught
    assert (problem.dimension, problem.data.kind, problem.run.seed) == (31, "sign-teacher", 4)
    assert options["seeds"] == 0
    found = json.loads(result.stdout)
    assert found["results"] == str(tmp_path / "temperature.nc")
    assert found["accounts"]["dmft"]["lag"] == [0.0, 1.0, 2.0, 3.0]
    assert result.stderr == ""


def test_numbers_outside_are_usage_errors(caught, tmp_path):
    assert invoke("temperature", "--seeds", "-1", "--out", str(tmp_path)).exit_code == 2
    assert caught == []


@pytest.mark.slow
def test_the_seed_counts_without_a_file(tmp_path):
    """Paths of dmft are random: their seed is that of the command line, also for the embedded problem."""

    def response(seed: str) -> list[float]:
        changes = ("--set", "run.until=1.2", "--set", "training.loss=logistic")
        arguments = (*changes, "--seed", seed, "--json", "--out", str(tmp_path))
        found = json.loads(invoke("temperature", *arguments).stdout)
        assert found["problem"]["run"]["seed"] == int(seed)
        return found["accounts"]["dmft"]["Delta_C"]

    one, again, other = response("1"), response("1"), response("2")
    assert one == again
    assert not np.allclose(one, other, rtol=1e-6)


def test_quick_answers_write_only_on_demand(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("regime", "complexity"):
        assert QUESTIONS[name].quick
        result = invoke(name)
        assert result.exit_code == 0, result.output
        assert result.stdout
        assert result.stderr == ""
        assert list(tmp_path.iterdir()) == []
    result = invoke(
        "complexity",
        "--set",
        "data.kind=multi-index",
        "--set",
        "data.link=parity-2",
        "--out",
        "found",
        "--set",
        "network.activation=relu",
    )
    assert "information exponent   2" in result.stdout
    assert sorted(one.name for one in (tmp_path / "found").iterdir()) == ["complexity.nc", "complexity.png"]
