"""Every public name has a page with what it takes and an example, and the examples run."""

import doctest
import inspect
import re
import sys
import textwrap
from pathlib import Path

import matplotlib
import pytest

import dimfree

DOCS = Path(__file__).parents[2] / "docs"
sys.path.append(str(DOCS))
matplotlib.use("Agg")

from builders import api, keys, names  # noqa: E402

SETUP = "import dimfree as df\nproblem = df.Problem(dimension=50, run=df.Run(until=2.0, points=9, replicas=4))\n"
MADE = {  # what examples find in their folder
    "open": 'df.compare(problem, only=["ode"]).save("comparison.nc")\n',
    "open_sweep": 'df.sweep(problem, {"training.learning_rate": [0.5, 1.0]}, store="sweep.zarr")\n',
    "plot_sweep": 'df.sweep(problem, {"training.learning_rate": [0.5, 1.0]}, store="sweep.zarr")\n',
}


def code_of(found) -> str:
    """The indented example of a docstring, without prompts."""
    blocks = re.split(r"\n\s*\n", inspect.cleandoc(found.__doc__ or ""))
    return "\n".join(textwrap.dedent(one) for one in blocks if one.startswith("    ") and ">>>" not in one)


def with_code():
    return {name: found for name, found in names.public().items() if inspect.isroutine(found) and code_of(found)}


def test_every_public_name_has_a_page_with_an_example():
    pages = api.pages(DOCS)
    for name, found in names.public().items():
        page = pages[f"{api.FOLDER}/{names.group_of(name)}/{names.bare(name)}.md"]
        assert f"dimfree.{name}" in page
        assert "```pycon" in page or code_of(found), f"{name} has no example; add one to docs/reference/examples.md."
        assert len(api.first_sentence(found)) > 10, f"{name} says nothing of itself."
        taken = inspect.isroutine(found) and names.arguments(found)
        assert "## Arguments" in page or not taken
    listed = "".join(pages[f"{api.FOLDER}/{group}/index.md"] for group in names.GROUPS)
    assert all(f"[`{name}`]" in listed for name in names.public())


def test_every_argument_is_explained():
    for name, found in names.public().items():
        if inspect.isroutine(found) and not name.startswith("extend."):
            silent = [one.name for one in names.arguments(found) if not one.meaning]
            assert not silent, f"{name}: {silent}; its docstring needs a block 'Arguments:' that names them"


def test_a_block_of_arguments_is_read():
    said, meanings = names.described(
        "Do it.\n\nArguments:\n    a, b: two: of\n        them\n    c: third\n\n    code()\n"
    )
    assert meanings == {"a": "two: of them", "b": "two: of them", "c": "third"}
    assert said == "Do it.\n\n\n    code()\n"


def test_examples_are_of_public_names():
    assert set(api.examples(DOCS)) <= {names.bare(name) for name in names.public()}


@pytest.mark.slow
def test_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = names.spelled((DOCS / "reference" / "examples.md").read_text(encoding="utf-8")).replace("```", "\n")
    session = doctest.DocTestParser().get_doctest(text, {}, "examples.md", None, 0)
    said = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    assert runner.run(session, out=said.append).failed == 0, "".join(said)
    assert len(session.examples) > 100


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(with_code().keys() - {"optimise"}))  # minutes: docs/schedules.md runs that call
def test_code_in_a_docstring_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    example = code_of(with_code()[name])
    exec(compile(SETUP + MADE.get(name, "") + example, name, "exec"), {"__name__": "documentation"})


def test_prompts_in_docstrings_run():
    prompted = {name: found for name, found in names.public().items() if ">>>" in (found.__doc__ or "")}
    for name, found in prompted.items():
        session = doctest.DocTestParser().get_doctest(inspect.cleandoc(found.__doc__), {"df": dimfree}, name, None, 0)
        said = []
        assert doctest.DocTestRunner(verbose=False).run(session, out=said.append).failed == 0, "".join(said)


def test_every_key_of_a_problem_says_what_it_means():
    for section in {section for _, _, section in keys.places()}:
        silent = [key for key, meaning, *_ in keys.rows(section) if key != "`kind`" and not meaning]
        assert not silent, (
            f"{section.__name__}: {silent}; write a comment beside the key, or in the problem of dimfree new."
        )
