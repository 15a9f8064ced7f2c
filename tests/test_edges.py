"""What people try at the edges: each is answered in one sentence, and nothing that makes no sense is accepted."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner

import dimfree as df
from dimfree.cli.commands import app

runner = CliRunner()


def told(*arguments: str, code: int = 2) -> str:
    result = runner.invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    lines = [line for line in result.stderr.splitlines() if line]
    assert len(lines) == 1, result.stderr
    assert len(lines[0]) < 500
    return lines[0]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a = " + "[" * 5000 + "]" * 5000, "is nested too deeply to be a problem."),
        ("dimension = " + "9" * 5000, "is not valid TOML: Exceeds the limit (4300 digits)"),
        ("dimension = 1" + "0" * 400, "input should be less than or equal to 1000000000000000"),
        ("dimension = 1e400", "dimension = inf: input should be a finite number."),
        ("dimension = true", "dimension = True is not a number; write it without quotes"),
        ('dimension = "300"', "dimension = '300' is not a number; write it without quotes"),
        ("[network]\nwidth = true", "[network]: width = True is not a number"),
        ("[training]\nlearning_rate = 1e-320", "takes more steps than can be counted"),
        ("[training]\nlearning_rate = 1e300", "ends before the first step"),
        ("[run]\nseed = 18446744073709551616", "seed = 18446744073709551616: input should be less than"),
        ("[network]\nactivation = 'he0'", "network.activation (he0) is constant, so that nothing can be learned"),
        ("[network]\nactivation = {polynomial = [2.0]}", "is constant, so that nothing can be learned"),
    ],
)
def test_files_at_the_edge(text, sentence, tmp_path):
    file = tmp_path / "problem.toml"
    file.write_text(text)
    assert sentence in told("show", str(file))


def test_a_byte_order_mark_is_no_mistake(tmp_path):
    file = tmp_path / "problem.toml"
    file.write_text("\ufeffdimension = 30", encoding="utf-8")
    assert df.load(file).dimension == 30


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (lambda x: 0 * x + 1.0, "is constant, so that nothing can be learned"),
        (lambda x: x * 1j, "returns complex numbers; it must be real"),
        (lambda x: {}["a"], r"does not run on a jax array \(KeyError: 'a'\)"),
        (lambda x: jnp.exp(x**2), "grows like a Gaussian or faster"),
        (lambda x: jnp.sin(1000 * x), "varies too fast"),
    ],
)
def test_activations_that_are_none(function, sentence):
    with pytest.raises(df.ProblemError, match=sentence):
        df.extend.model(df.Problem(network=df.TwoLayer(activation=function)))


CALLS = {
    "df.compare({'dimension': 30})": "the problem is a dict; write df.Problem",
    "df.compare(3)": "the problem is a int; give a df.Problem",
    "df.compare(only=[df.theories.HighDimensional])": "give the object HighDimensional(...)",
    "df.compare(only='od')": "there is no description 'od'; did you mean 'ode'?",
    "df.compare(only=[])": "no description was asked for",
    "df.compare(budget=float('nan'))": "budget = nan is not a number of seconds",
    "df.compare(budget='long')": "budget = 'long' is not a number of seconds",
    "df.extend.activation('nope')": "there is no activation 'nope'",
    "df.compare(seed=-1)": "seed = -1: input should be greater than or equal to 0",
    "df.compare(replicas=0)": "replicas = 0: input should be greater than 0",
}


def test_calls_at_the_edge():
    """In a process of their own: here, types are checked before dimfree sees them."""
    program = """
import json, sys
import dimfree as df
for call in json.load(sys.stdin):
    try:
        eval(call)
    except df.ProblemError as failure:
        print(failure)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], input=json.dumps([*CALLS]), capture_output=True, text=True, check=True
    )
    said = done.stdout.splitlines()
    assert len(said) == len(CALLS), done
    for sentence, expected in zip(said, CALLS.values(), strict=True):
        assert expected in sentence


def test_complex_weights(tmp_path):
    np.savez(tmp_path / "start.npz", W=np.zeros((4, 30), complex), Wstar=np.zeros((2, 30)))
    changes = ("--set", "dimension=30", "--set", "start.kind=weights", "--set", f"start.file={tmp_path / 'start.npz'}")
    assert "its numbers are of type complex128, not real" in told("simulate", *changes, "--out", str(tmp_path))


def test_weights_too_large_for_numbers(tmp_path):
    wild = ("--set", "dimension=30", "--set", "start.scale=1e200", "--set", "run.until=0.1", "--with", "ode")
    assert "the ode cannot start: overlaps above 1e+06 never come back" in told(
        "solve", *wild, "--out", str(tmp_path), code=1
    )


NUMBERS = {
    "data.noise": 1e308,
    "training.weight_decay": 1e300,
    "network.second_layer_start": 1e200,
    "data.second_layer": 1e200,
}


@pytest.mark.parametrize("name", NUMBERS)
def test_the_number_that_is_too_large_is_named(name, tmp_path):
    """By equations that cannot take a step; what a run of SGD may blow up by is asked of the problem."""
    wild = ("--set", "dimension=30", "--set", f"{name}={NUMBERS[name]:g}", "--set", "run.until=0.1", "--with", "ode")
    said = told("solve", *wild, "--out", str(tmp_path), code=1)
    assert f"lower {name}, which is {NUMBERS[name]:.3g}" in said
    assert "start.scale" not in said
    problem = df.Problem(dimension=30).replace(**{name: NUMBERS[name]})
    assert problem.remedy == f"lower {name}, which is {NUMBERS[name]:.3g}"


@pytest.mark.parametrize(("content", "sentence"), [("{broken", "is not a reference file"), ("[]", "it holds a list")])
def test_reference_files_that_are_none(content, sentence, tmp_path):
    (tmp_path / "x.json").write_text(content)
    assert sentence in told("verify", "--data", str(tmp_path))


def test_nothing_to_verify_is_no_success(tmp_path):
    assert "there is no reference item in" in told("verify", "--data", str(tmp_path))


def test_version_and_the_order_of_help():
    assert runner.invoke(app, ["--version"]).stdout == f"dimfree {df.__version__}\n"
    listed = re.findall(r"^│ (\S+) ", runner.invoke(app, ["--help"]).stdout.partition("Commands")[2], re.MULTILINE)
    assert listed[0] == "compare"


def in_shell(command: str, folder, **environment: str) -> "subprocess.CompletedProcess[str]":
    called = command.replace("dimfree", f"{sys.executable} -m dimfree")
    return subprocess.run(
        ["bash", "-c", called], capture_output=True, text=True, check=False, cwd=folder, env=os.environ | environment
    )


@pytest.mark.parametrize(
    ("command", "environment", "sentence"),
    [
        pytest.param(
            "dimfree list > /dev/full",
            {},
            "dimfree: the output could not be written: No space left on device.",
            marks=pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full"),
        ),
        pytest.param(
            "rmdir ../gone; dimfree solve",
            {},
            "the output folder 'dimfree-results' cannot be written to",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "dimfree solve --set run.until=0.1",
            {"JAX_PLATFORMS": "cuda"},
            "dimfree: jax cannot start with JAX_PLATFORMS = 'cuda' here",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_surroundings_at_the_edge(command, environment, sentence, tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    done = in_shell(command, folder, **environment)
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith(sentence) or sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path):
    done = in_shell("dimfree list | head -1", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_figures_are_listed_in_columns():
    head, *rows = runner.invoke(app, ["reproduce", "--list"]).stdout.splitlines()
    for heading in ("takes", "with --full"):
        at = head.index(heading)
        assert all(row[at - 2 : at] == "  " and row[at] != " " for row in rows if not row.startswith(" "))
    assert json.loads(runner.invoke(app, ["reproduce", "--list", "--json"]).stdout)
