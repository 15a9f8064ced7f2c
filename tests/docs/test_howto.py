"""Every how-to page is a story that runs from its first block to its last, and prints what it shows.

A block `python` runs, and a block `text` after it is what it prints; a block whose first line is a comment with a file's name
is that file. In a block `console`, lines after `$ dimfree` are what the command prints; three dots stand for any text. Blocks
`sh` are not run.
"""

import contextlib
import doctest
import io
import re
import shlex
import sys
from pathlib import Path

import matplotlib
import pytest
from typer.testing import CliRunner

from dimfree.cli.commands import app

PAGES = sorted((Path(__file__).parents[2] / "docs" / "howto").glob("*.md"))
GATING = ("cite.md",)  # the other pages run in the second stage
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"# (?P<name>[\w-]+\.(py|toml))\n")
matplotlib.use("Agg")


def blocks(page: Path):
    """What a page claims and what there is: pairs of texts, in the order of its blocks."""
    names: dict[str, object] = {"__name__": "how-to"}
    printed = None
    for kind, block in FENCE.findall(page.read_text(encoding="utf-8")):
        if found := FILE.match(block):
            Path(found["name"]).write_text(block, encoding="utf-8")
        elif kind == "python":
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(compile(block, page.name, "exec"), names)
            printed = output.getvalue()
        elif kind == "text" and printed is not None:
            yield block, printed
            printed = None
        elif kind == "console":
            for command, _, expected in (
                one.partition("\n") for one in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
            ):
                program, *arguments = shlex.split(command, comments=True)
                assert program == "dimfree", f"{page.name} runs {program}"
                done = CliRunner().invoke(app, arguments)
                assert done.exit_code == 0, f"{page.name}: {command}: {done.output}"
                if expected:
                    yield expected, done.stdout


@pytest.mark.parametrize(
    "page", [pytest.param(one, id=one.name, marks=() if one.name in GATING else pytest.mark.slow) for one in PAGES]
)
def test_a_page_prints_what_it_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    known = {*sys.modules}
    try:
        for expected, printed in blocks(page):
            same = doctest.OutputChecker().check_output(
                expected, printed, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            )
            assert same, f"{page.name} shows\n{expected}\nand there is\n{printed}"
    finally:
        for name in {*sys.modules} - known:
            if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
                del sys.modules[name]


def test_every_page_has_a_question_and_something_that_runs():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert text.startswith("# "), page.name
        assert any(kind in ("python", "console") for kind, _ in FENCE.findall(text)), page.name
