"""The course: a chapter's one file becomes the page, a student's notebook without answers and a teacher's with them.

    python docs/course.py notebooks FOLDER    # NAME.ipynb and NAME-answers.ipynb of every chapter
    python docs/course.py run [NAME ...]      # run the chapters: writes their figures and what their code prints anew

A chapter is Markdown. Its ```python blocks are the code, a ```text block right after one is what it prints, and what stands
between <details> and </details> is an answer, whose code ends with `df.check("exercise", answer)`. As a Sphinx extension this
module writes the notebooks into learn/notebooks of the built site and links them below each chapter.
"""

import contextlib
import io
import os
import re
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from PIL import Image

LEARN = Path(__file__).parent / "learn"
FIGURES = LEARN / "figures"
OFFERED = {"": "for students", "-answers": "with the answers"}  # the ends of the notebooks' names
CHECKED = re.compile(r'df\.check\("([^"]+)"')
_LINK = re.compile(r"(?<!!)\[([^]]+)\]\((?:\.\./)?([^)#:]+\.md)(?:#[^)]*)?\)")
_PICTURE = re.compile(r"^!\[.*\]\(.*\)$\n?", re.MULTILINE)
_LIVE = re.compile(r"^## Move it\n.*?(?=^## )", re.MULTILINE | re.DOTALL)
_TAGS = re.compile(r"^</?(details|summary).*$\n?", re.MULTILINE)


class Part(NamedTuple):
    """A piece of a chapter."""

    kind: str  # text, code, or output: what the code before it prints
    content: str
    answer: bool  # hidden on the page, and missing in the student's notebook


def chapters() -> list[Path]:
    """The files of the course, in order."""
    return sorted(LEARN.glob("[0-9][0-9]-*.md"))


def parts(chapter: Path) -> list[Part]:
    """The pieces of a chapter, in order."""
    found: list[Part] = []
    blocks = re.split(
        r"^(```(?:python|text)\n.*?^```$\n?|</?details>$\n?)", chapter.read_text("utf-8"), flags=re.M | re.S
    )
    hidden = False
    for block in blocks:
        if block.startswith(("<details>", "</details>")):
            hidden = block.startswith("<details>")
        elif block.startswith("```"):
            language, content = block.removeprefix("```").rstrip().removesuffix("```").split("\n", 1)
            found.append(Part("code" if language == "python" else "output", content.rstrip(), hidden))
        elif text := _TAGS.sub("", block).strip():
            found.append(Part("text", text, hidden))
    return found


def notebook(chapter: Path, answers: bool) -> nbformat.NotebookNode:
    """The chapter as a notebook: with the answers, or with a cell to fill in where each of them stands."""
    cells = []
    for hidden, group in groupby(parts(chapter), key=lambda part: part.answer):
        shown = [part for part in group if part.kind != "output"]
        if hidden and not answers:
            name = CHECKED.search("\n".join(part.content for part in shown))[1]
            cells.append(new_code_cell(f'answer = ...  # your number\nprint(df.check("{name}", answer))'))
            continue
        if hidden:
            cells.append(new_markdown_cell("**Answer**"))
        cells += [_cell(part) for part in shown]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"  # nbformat would draw one at random: the same file in every build
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})


def _cell(part: Part) -> nbformat.NotebookNode:
    return new_code_cell(part.content) if part.kind == "code" else new_markdown_cell(_alone(part.content))


def _alone(text: str) -> str:
    """Text that stands without the site: no live page, no picture (the code draws it), links as names of files."""
    return _LINK.sub(r"\1 (docs/\2)", _PICTURE.sub("", _LIVE.sub("", text))).strip()


def write_notebooks(folder: Path) -> None:
    """Write both notebooks of every chapter."""
    folder.mkdir(parents=True, exist_ok=True)
    for chapter in chapters():
        for end in OFFERED:
            nbformat.write(notebook(chapter, answers=bool(end)), folder / f"{chapter.stem}{end}.ipynb")


def run(chapter: Path, answers: bool) -> Iterator[tuple[Part, str, dict[str, Any]]]:
    """Run the code of a chapter in the working directory: every piece, what it printed, and the names that are known then."""
    names: dict[str, Any] = {"__name__": "chapter"}
    for part in parts(chapter):
        if part.kind == "code" and (answers or not part.answer):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(part.content, chapter.name, "exec"), names)
            yield part, printed.getvalue(), names


def refresh(chapter: Path) -> None:
    """Run a chapter, which writes its figures into the working directory, and renew what its page says that it prints."""
    text = chapter.read_text("utf-8")
    for part, printed, _ in run(chapter, answers=True):
        print(f"--- {chapter.stem}\n{printed}", end="", flush=True)
        code = f"```python\n{part.content}\n```\n"
        shown = f"{code}\n```text\n{printed.rstrip()}\n```\n" if printed else code
        text = re.sub(
            re.escape(code) + r"(\n```text\n.*?^```\n)?", lambda _, new=shown: new, text, count=1, flags=re.M | re.S
        )
    chapter.write_text(text, "utf-8")
    for figure in re.findall(r"\]\(figures/([^)]+)\)", text):
        shrink(Path(figure))


def shrink(figure: Path) -> None:
    """Make a figure small enough for a repository: at most 1200 pixels wide, in 64 colours."""
    with Image.open(figure) as image:
        small = image.convert("RGB")
    small.thumbnail((1200, 1200), Image.Resampling.LANCZOS)
    small.quantize(64).save(figure, optimize=True)


def offer(app: Any, page: str, source: list[str]) -> None:
    """Sphinx calls this for every page that it reads: below a chapter stand links to its notebooks."""
    name = page.removeprefix("learn/")
    if name in {chapter.stem for chapter in chapters()}:
        links = (f'<a href="notebooks/{name}{end}.ipynb" download>{who}</a>' for end, who in OFFERED.items())
        source[0] += f"\n---\n\nThis chapter as a notebook: {', '.join(links)}.\n"


def setup(app: Any) -> dict[str, bool]:
    """Sphinx calls this: write the notebooks beside the pages when these are built."""
    app.connect("source-read", offer)
    app.connect(
        "build-finished", lambda app, failed: failed or write_notebooks(Path(app.outdir) / "learn" / "notebooks")
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def main() -> None:
    """Do what the command line asks for."""
    match sys.argv[1:]:
        case ["notebooks", folder]:
            write_notebooks(Path(folder))
        case ["run", *names]:
            os.chdir(FIGURES)
            for chapter in chapters():
                if not names or chapter.stem in names:
                    refresh(chapter)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
