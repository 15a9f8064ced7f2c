"""`dimfree` itself shows verbs and what problems are written with; former names go on working, with a sentence."""

import ast
import inspect
import pydoc
import subprocess
import sys
from pathlib import Path

import pytest

import dimfree as df
from dimfree.former_names import FORMER
from dimfree.registry import description

LONGEST_HELP = 520  # lines; every argument of a function has one


def typed_names():
    """What type checkers see: names and the modules that they are imported from."""
    tree = ast.parse(Path(df.__file__).read_text(encoding="utf-8"))
    block = next(
        node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    return {alias.asname or alias.name: (node.module, alias.name) for node in block.body for alias in node.names}


def test_type_checkers_see_the_names_that_python_has():
    typed = typed_names()
    assert {*typed} == {*dir(df)} - {"__version__"}
    for shown, (module, name) in typed.items():
        assert getattr(sys.modules.get(module) or __import__(module, fromlist=[name]), name) is getattr(df, shown)


def test_help_begins_with_every_public_name_and_is_short():
    shown = pydoc.plain(pydoc.render_doc(df))
    assert shown.count("\n") < LONGEST_HELP
    first = df.__doc__
    assert not [name for name in dir(df) if name not in first and name != "__version__"]


@pytest.mark.parametrize("name", FORMER)
def test_a_former_name_says_where_it_is_now_and_works(name, monkeypatch):
    assert name not in dir(df)
    monkeypatch.delitem(vars(df), name, raising=False)
    place = f"dimfree.{FORMER[name]}.{name}"
    with pytest.warns(df.DimfreeDeprecation, match=rf"^dimfree\.{name} is now {place};") as said:
        found = getattr(df, name)
    assert found is getattr(getattr(df, FORMER[name]), name)
    assert len(said) == 1
    assert getattr(df, name) is found  # without a second warning, which would be an error here


@pytest.mark.parametrize(
    "line",
    [
        "dimfree.Variable; dimfree.Variable",
        "from dimfree import Variable",
        "dimfree.Problem(data={'kind': 'three-clusters', 'door': 0.4})",
        "dimfree.loads('[data]\\nkind = \"three-clusters\"\\ndoor = 0.4')",
    ],
)
def test_the_warning_points_once_at_the_line_that_has_the_former_name(line, tmp_path):
    (tmp_path / "mine.py").write_text(f"import dimfree\n\n{line}\n", encoding="utf-8")
    run = [sys.executable, str(tmp_path / "mine.py")]
    said = subprocess.run(run, check=True, capture_output=True, text=True).stderr
    assert said.count("DimfreeDeprecation") == said.count("mine.py:3:") == 1


def test_a_former_description_says_what_it_is_called_now():
    with pytest.warns(df.DimfreeDeprecation, match=r"^the description 'neurons' is now 'sgd';"):
        assert description("neurons") == df.experiments.VectorSGD()


def test_an_unknown_name_is_an_error_that_imports_nothing():
    code = "import sys, dimfree\nassert not hasattr(dimfree, 'Techer')\nassert not {'jax', 'pydantic'} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_signature_of_a_problem_shows_its_sections():
    assert [*inspect.signature(df.Problem).parameters] == ["dimension", "data", "network", "training", "start", "run"]
    assert {*inspect.signature(df.Problem).parameters} == {*df.extend.OnePassProblem.model_fields}
