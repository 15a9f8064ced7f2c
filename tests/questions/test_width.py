"""Everything that is printed fits a terminal of 80 columns, and what goes into a file has no escape codes."""

import re

import numpy as np
import pytest
import xarray as xr
from made_up_answers import ANSWERS
from rich.table import Table
from typer.testing import CliRunner

import dimfree as df
from dimfree.cli.commands import app
from dimfree.comparison.budget import LeftOut
from dimfree.comparison.comparison import Comparison
from dimfree.comparison.text import plain_text, wrapped

runner = CliRunner()
WIDTH = 80
TIME = np.geomspace(0.1, 500.0, 40)
LONG = "it needs 1.51e+04 steps, about 17 seconds, and 14 seconds of the budget are left; raise the budget."


def too_long(text):
    return [line for line in text.splitlines() if len(line) > WIDTH]


def account(risk, real):
    attrs = {
        "real": int(real),
        "scatters": int(real),
        "accuracy": 0.3,
        "leaves_open": "at width 4",
        "cpu_seconds": 12.3,
        "warnings": LONG,
    }
    return xr.Dataset({"risk": (("time", "replica"), risk)}, {"time": TIME}, attrs)


@pytest.fixture
def comparison():
    """Six accounts with the longest numbers and sentences that there are."""
    mean, rng = np.exp(-TIME / 20) + 3e-5, np.random.default_rng(0)
    theories = {
        "gradient-flow": mean * np.where(TIME > 90, 1e-3, 1.2),
        "infinite-width": -mean * 1e3,
        "dimensionless": mean * np.where(TIME > 300, np.nan, 1.2),
        "pde-own-start": mean * 1.25,
        "bayes-optimal": mean * 12345.678,
    }
    accounts = {"network-flow": account(mean[:, None] * np.exp(0.1 * rng.standard_normal((40, 16))), True)}
    accounts |= {name: account(risk[:, None], False) for name, risk in theories.items()}
    return Comparison(df.Problem(), xr.DataTree.from_dict(accounts), (LeftOut("diffusion", LONG),))


def test_a_comparison(comparison):
    text = comparison.summary()
    assert not too_long(text)
    assert all(name in text for name in comparison.names)
    assert "impossible: its risk is " in text
    assert "…" not in text
    words = " ".join(text.split())
    assert all(sentence in words for sentence in comparison.verdicts().values())
    assert all(grade in text for grade in comparison.grades().values())


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda one: type(one).__name__)
def test_the_tables_of_every_answer(answer):
    tables = plain_text(part for part in answer.said() if isinstance(part, Table))
    assert not too_long(tables)
    assert "…" not in tables, "nothing is cut off"
    assert not too_long(wrapped(answer.summary())), "what the command prints"


def test_no_escape_codes(comparison, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    for text in (comparison.summary(), *(answer.summary() for answer in ANSWERS)):
        assert "\x1b" not in text


@pytest.mark.parametrize(
    "command",
    [
        "list",
        "show",
        "show --set data.kind=hypercube",
        "show --set data.kind=table --set dimension=61",
        "show --set data.kind=drawn-points",
        "sweep --list",
        "reproduce --list",
        "regime",
        "complexity",
    ],
)
def test_commands(command):
    done = runner.invoke(app, command.split())
    assert done.exit_code == 0, done.output
    assert done.stdout
    assert not too_long(done.stdout)


def test_words_are_kept_whole_and_numbers_stay_with_what_they_are_of():
    text = "chain  " + "holds until t = 168, then 84 % too low; " * 4
    lines = wrapped(text, hanging=7).splitlines()
    assert len(lines) > 1
    assert all(line.startswith(" " * 7) for line in lines[1:])
    assert not any(re.search(r"(t|=|\d)$", line) for line in lines[:-1])
    assert " ".join(" ".join(lines).split()) == " ".join(text.split())
    assert wrapped("short\n\n") == "short\n\n"


QUICK = ("--set", "dimension=50", "--set", "run.until=0.5", "--set", "run.points=4", "--quiet")


def test_lists_are_written_with_commas(tmp_path):
    done = runner.invoke(app, ["compare", *QUICK, "--only", "ode,gradient-flow", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert re.findall(r"^ ([a-z-]+) ", done.stdout, re.MULTILINE) == ["description", "ode", "gradient-flow"]
    assert not too_long(done.stdout)


def test_columns_have_names(tmp_path):
    done = runner.invoke(app, ["solve", *QUICK, "--out", str(tmp_path)])
    head, *rows = done.stdout.splitlines()
    assert head.split("\t") == ["time", "risk"]
    assert [len(row.split("\t")) for row in rows] == [2] * 4
