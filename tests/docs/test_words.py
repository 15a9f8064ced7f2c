"""Every name that the program knows is explained in the docs, and every figure has its place in the index."""

import re
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

import dimfree as df
from dimfree.questions.question import questions
from dimfree.registry import names

DOCS = Path(__file__).parents[2] / "docs"
PAGES = "\n".join(path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md")))
GLOSSARY = (DOCS / "glossary.md").read_text(encoding="utf-8")
INDEX = (DOCS / "figures-index.md").read_text(encoding="utf-8")
QUOTED = re.compile(r"`([^`\n]+)`")


def known():
    """Own names, by what they are names of; those of plug-ins are documented elsewhere."""
    own = [one for one in df.settings() if one.problem.__module__.startswith("dimfree.")]
    yield "description", [name for one in own for name in one.descriptions if name in names()]
    yield "kind of data", [kind for one in own for kind in one.kinds("data")]
    yield "observable", [name for one in own for name in one.variables]
    yield "question", [f"dimfree {one.name}" for one in questions()]


def quoted(text):
    """What stands in backticks, and for a command with options the command alone."""
    found = {*QUOTED.findall(text)}
    return found | {" ".join(one.split()[:2]) for one in found if one.startswith("dimfree ")}


@pytest.mark.parametrize(("what", "every"), [pytest.param(*one, id=one[0]) for one in known()])
def test_every_name_is_explained_on_some_page(what, every):
    missing = sorted({*every} - quoted(PAGES))
    assert not missing, f"no page of docs/ names the {what} {', '.join(missing)}; docs/glossary.md has a place for it"


@pytest.mark.parametrize("word", ["order parameter", "teacher", "overlap", "plateau", "annealed", "quenched", "replica",
    "temperature", "mean field", "lazy", "rich", "information exponent", "leap", "committee"])  # fmt: skip
def test_the_glossary_has_the_words_that_newcomers_ask_for(word):
    assert re.search(rf"^\| [^|]*\b{word}\b[^|]*\|", GLOSSARY, re.MULTILINE)


def test_the_index_and_the_shelf_name_the_same_figures():
    shelf = {*tomllib.loads(files("dimfree.gallery").joinpath("shelf.toml").read_text(encoding="utf-8"))}
    sweeps = {"committee-phase-diagram"}
    named = {name for name in QUOTED.findall(INDEX) if re.fullmatch(r"[a-z0-9-]+", name)} - sweeps
    assert named - shelf == set(), "entries that do not exist"
    assert shelf - named == set(), "entries without a line in docs/figures-index.md"


def test_every_figure_has_an_entry_or_a_reason():
    for row in re.findall(
        r"^\| (?!figure|statement|---)(.*) \|$", INDEX.partition("## Entries that no")[0], re.MULTILINE
    ):
        figure, answer = row.split(" | ")
        assert QUOTED.search(answer) or answer.startswith("none: "), figure
