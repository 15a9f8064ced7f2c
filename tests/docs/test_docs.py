"""Every Python block of the README and the docs runs."""

import re
from pathlib import Path

import matplotlib
import pytest
from markdown_it import MarkdownIt
from typer.main import get_command

from dimfree.cli.commands import app

ROOT = Path(__file__).parents[2]
GATING = ("README.md", "extend.md", "problem.md", "results.md")  # the other pages run in the second stage
WRITTEN = (
    "reference/api",
    "reference/generated",
    "gallery/entries",
)  # when the site is built, which checks all its links
matplotlib.use("Agg")


def blocks():
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        found = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
        if page.name == "extend.md":  # one file, explained piece by piece
            found = ["\n".join(found)]
        for number, block in enumerate(found):
            later = () if page.name in GATING else pytest.mark.slow
            yield pytest.param(block, id=f"{page.name}-{number}", marks=later)


@pytest.mark.parametrize("block", list(blocks()))
def test_block_runs(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "documentation", "exec"), {"__name__": "documentation"})


def test_every_command_has_a_line():
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert {*re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE)} == {*get_command(app).commands}


def test_local_links_lead_somewhere():
    """Links to pages that the site generates are checked by docs/check_links.py when it is built."""
    pages = {*(ROOT / "docs").rglob("*.md")} - {ROOT / "docs" / name for name in ("index.md", "reference/index.md")}
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *pages):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            there = (page.parent / target).resolve()
            if "/" in target or target.endswith(".md"):
                written = any(there.is_relative_to(ROOT / "docs" / folder) for folder in WRITTEN)
                assert written or there.exists(), f"{page.name} links to {target}"


def test_no_row_of_a_table_is_cut_off_by_a_bar_in_a_formula():
    """A bar ends a cell, in a formula too, unless a backslash stands before it."""
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))):
        bars = None
        for number, line in enumerate(
            re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S).split("\n")
        ):
            found = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else None
            assert found is None or bars in (None, found), f"{page.name}, table row {number}: {line[:80]}"
            bars = found


MATH = re.compile(r"\$\$.*?\$\$|(?<![\\$])\$[^$\n]+\$", re.DOTALL)
PAGES = [
    ROOT / "README.md",
    *(path for path in sorted((ROOT / "docs").rglob("*.md")) if not path.is_relative_to(ROOT / "docs/reference")),
]


def lost(text):
    """Places where Markdown takes a star or an underscore of a formula for emphasis, or a bracket for HTML."""
    for block in MarkdownIt("commonmark").enable("table").parse(MATH.sub("formula", text)):
        pieces = block.children or []
        for before, piece, after in zip([None, *pieces], pieces, [*pieces[1:], None], strict=False):
            words = (before.content if before else ""), (after.content if after else "")
            inside = piece.type.endswith(("em_open", "strong_open")) and re.search(r"[\w)\]²^∂∇]$", words[0])
            ends = piece.type.endswith(("em_close", "strong_close")) and re.match(r"[\wᵀ²^{(=]", words[1])
            if inside or ends or piece.type == "html_inline":
                yield f"{words[0][-20:]}|{piece.markup or piece.content}|{words[1][:20]}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_formulas_keep_their_letters(page):
    assert not list(lost(page.read_text(encoding="utf-8")))


NAMED = re.compile(r"(?<![\w/])(?:tests|benchmarks|src/dimfree)/[\w/.-]+\.(?:py|json|toml)\b")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_of_the_repository_that_a_page_names_exist(page):
    assert not [name for name in NAMED.findall(page.read_text(encoding="utf-8")) if not (ROOT / name).exists()]


SHEET = ROOT / "docs" / "theory" / "mean-field.md"
CITED = re.compile(r"theory/mean-field\.md, (?:equations? )?((?:\([a-i]\.\d+\)(?: to | and )?)+)")
NUMBER = re.compile(r"\([a-i]\.\d+\)")


def test_equations_of_the_mean_field_sheet_are_counted_by_section_and_cited_ones_exist():
    for section in re.split(r"^## ", SHEET.read_text(encoding="utf-8"), flags=re.M)[1:]:
        own = NUMBER.findall(section)
        assert own == [f"({section[0]}.{n})" for n in range(1, len(own) + 1)]
    known = set(NUMBER.findall(SHEET.read_text(encoding="utf-8")))
    cited = {
        number
        for path in (ROOT / "src").rglob("*.py")
        for citation in CITED.findall(path.read_text(encoding="utf-8"))
        for number in NUMBER.findall(citation)
    }
    assert len(cited) > 15
    assert cited <= known


@pytest.mark.parametrize("text", ["W*x and W*y", "with <y zeta> of", "∂_t q(τ_+)"])
def test_a_lost_letter_would_be_seen(text):
    assert list(lost(text))
