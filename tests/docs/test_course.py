"""The course: its chapters run and print what their pages say, exercises have right answers, notebooks are whole."""

import importlib.util
import re
import shutil
import tomllib
from itertools import pairwise
from pathlib import Path

import matplotlib
import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

import dimfree as df
from dimfree.course.check import exercises

DOCS = Path(__file__).parents[2] / "docs"
SECTIONS = ("The idea", "Run it", "One experiment to change", "When the theory fails", "Exercises")
matplotlib.use("Agg")


def module(name: str):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


course, live_pages = module("course"), module("live_pages")
CHAPTERS = course.chapters()
NAMES = [chapter.stem for chapter in CHAPTERS]
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def chapter_of(name: str) -> Path:
    return DOCS / "learn" / f"{name}.md"


def alike(shown: str, printed: str) -> bool:
    """Equal words, and numbers equal to two per cent or to one unit of the last digit that is shown."""
    words = [NUMBER.sub("#", text).split() for text in (shown, printed)]
    numbers = list(zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=False))
    unit = [10.0 ** -len(one.partition(".")[2]) if "e" not in one else 0.0 for one, _ in numbers]
    return words[0] == words[1] and all(
        abs(float(one) - float(other)) <= max(0.02 * abs(float(one)), 1.001 * step)
        for (one, other), step in zip(numbers, unit, strict=True)
    )


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("risk 0.0171", "risk 0.0172", True),
        ("risk 0.0171", "risk 0.0191", False),
        ("risk 0.0171", "loss 0.0171", False),
        ("M = -0.000", "M = 0.000", True),
        ("5 of 7", "5", False),
    ],
)
def test_what_counts_as_the_same_output(shown, printed, same):
    assert alike(shown, printed) == same


# Pages


@pytest.mark.parametrize("name", NAMES)
def test_a_chapter_has_a_question_a_figure_an_experiment_and_exercises(name):
    text = chapter_of(name).read_text(encoding="utf-8")
    assert text.startswith(f"# {int(name[:2])}. ")
    assert re.search(r"^# .*\n\n\*\*Question\.\*\* [^?]*\?", text)
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert [one for one in headings if one in SECTIONS] == list(SECTIONS)
    assert "](figures/" in text
    named = re.findall(r"^\*\*Exercise `([^`]+)`\.\*\*", text, re.MULTILINE)
    assert len(named) >= 3
    assert text.count("<details>\n<summary>Answer</summary>\n\n") == text.count("\n\n</details>\n") == len(named)
    answers = [part.content for part in course.parts(chapter_of(name)) if part.answer and part.kind == "code"]
    assert [course.CHECKED.search(one)[1] for one in answers] == named
    assert named == [exercise for exercise, row in exercises().items() if row.chapter == name]


def test_every_exercise_has_a_chapter_and_every_chapter_a_line_in_the_contents():
    assert {row.chapter for row in exercises().values()} == set(NAMES)
    contents = (DOCS / "learn" / "index.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\((\d\d-[\w-]+)\.md\)", contents) == NAMES


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub and MyST make it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("name", NAMES)
def test_links_to_sections_of_the_theory_and_figures_lead_somewhere(name):
    text = chapter_of(name).read_text(encoding="utf-8")
    for target, anchor in re.findall(r"\]\(([^)#:]+)(?:#([^)]*))?\)", text):
        page = DOCS / "learn" / target
        assert page.is_file(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {slug(heading) for heading in headings}, f"{target} has no heading {anchor}"


def test_live_pages_have_problems_that_load_and_controls_that_exist():
    framed = {}
    for chapter in CHAPTERS:
        found = re.findall(r'<iframe src="live/([\w-]+)\.html#embed=([^"]+)"', chapter.read_text(encoding="utf-8"))
        framed |= {page: keys.split(",") for page, keys in found}
    assert set(framed) == {path.stem for path in live_pages.PROBLEMS.glob("*.toml")}
    for page, keys in framed.items():
        problem = df.load(live_pages.PROBLEMS / f"{page}.toml")
        known = tomllib.loads(df.dumps(problem))
        for key in keys:
            section, _, field = key.rpartition(".")
            assert field in (known[section] if section else known), f"{page} has no {key}"


@pytest.mark.slow
def test_a_live_page_is_written_once(tmp_path, monkeypatch):
    shutil.copy(live_pages.PROBLEMS / "01-noise.toml", tmp_path)
    monkeypatch.setattr(live_pages, "PROBLEMS", tmp_path)
    live_pages.write(tmp_path)
    (page,) = tmp_path.glob("*.html")
    first = page.stat().st_mtime_ns
    assert "<script" in page.read_text(encoding="utf-8")
    live_pages.write(tmp_path)
    assert page.stat().st_mtime_ns == first


# Exercises


@pytest.mark.parametrize("name", list(exercises()))
def test_a_right_answer_passes_and_a_wrong_one_fails(name):
    value, error = exercises()[name].value, exercises()[name].error
    for inside in (value, value - 0.99 * error, np.array([value + 0.99 * error])):
        assert df.check(name, inside)
    for outside in (value - 1.01 * error, value + 1.01 * error, float("nan"), float("inf"), ...):
        assert not df.check(name, outside)
    assert 0 < error <= 0.05 * abs(value)


def test_an_answer_is_one_sentence():
    assert repr(df.check("noise-floor", 1 / 60)) == "right: 0.01667 is within 0.0001 of the value 0.0166667."
    assert str(df.check("batch-floor", 0.004167)) == (
        "not yet: 0.004167 is off by 0.00083, and 3e-05 is allowed; "
        "hint: a batch of 4 divides the noise term, not the gradient, by 4: also in 2R + Δ."
    )
    assert str(df.check("noise-floor", float("nan"))).startswith(
        "not yet: nan is no finite number, and 0.0001 is allowed"
    )
    assert str(df.check("noise-floor", ...)) == "not yet: put your number in the place of the three dots."


def test_an_unknown_exercise_and_an_answer_that_is_no_number_are_refused():
    with pytest.raises(df.ProblemError, match=r"the course has no exercise 'noise-flor'; did you mean 'noise-floor'\?"):
        df.check("noise-flor", 1.0)
    for given in ("one half", [1.0, 2.0], np.ones(2), None):
        with pytest.raises(df.ProblemError, match=r"the answer to 'noise-floor' must be one number, and \w+ was given"):
            df.check("noise-floor", given)


# Code


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_chapter_prints_what_its_page_says_and_its_answers_are_right(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parts = course.parts(chapter_of(name))
    after_code = [following for part, following in pairwise(parts) if part.kind == "code"]
    for (part, printed, names), following in zip(course.run(chapter_of(name), answers=True), after_code, strict=True):
        expected = following.content if following.kind == "output" else ""
        assert alike(expected, printed.rstrip()), f"the page says\n{expected}\nand the code prints\n{printed}"
        if part.answer:
            exercise = exercises()[course.CHECKED.search(part.content)[1]]
            assert abs(float(names["answer"]) - exercise.value) <= 0.3 * exercise.error
    written = re.findall(r"\]\(figures/([^)]+)\)", chapter_of(name).read_text(encoding="utf-8"))
    assert written
    assert all((tmp_path / figure).stat().st_size > 5000 for figure in written)


# Notebooks


@pytest.mark.parametrize("name", NAMES)
def test_notebooks_are_valid_and_the_student_sees_no_answer(name):
    parts = course.parts(chapter_of(name))
    code = [part.content for part in parts if part.kind == "code"]
    hidden = [part.content for part in parts if part.answer]
    student, teacher = (course.notebook(chapter_of(name), answers=answers) for answers in (False, True))
    for book in (student, teacher):
        nbformat.validate(book)
        text = "\n".join(cell.source for cell in book.cells if cell.cell_type == "markdown")
        assert not re.search(r"<(details|summary|iframe)|\]\([^)]*\.md|!\[", text)
        assert "## Exercises" in text
    assert [cell.source for cell in teacher.cells if cell.cell_type == "code"] == code
    seen = "\n".join(cell.source for cell in student.cells)
    assert not [one for one in hidden if one in seen]
    blanks = [cell.source for cell in student.cells if "answer = ..." in cell.source]
    assert len(blanks) == sum(row.chapter == name for row in exercises().values())


def test_notebooks_are_the_same_in_every_build(tmp_path):
    for folder in ("one", "two"):
        course.write_notebooks(tmp_path / folder)
    written = {path.name: path.read_bytes() for path in (tmp_path / "one").iterdir()}
    assert len(written) == 2 * len(CHAPTERS)
    assert written == {path.name: path.read_bytes() for path in (tmp_path / "two").iterdir()}


def test_a_built_chapter_links_to_its_notebooks(tmp_path):
    course.write_notebooks(tmp_path / "notebooks")
    source = ["# A title\n"]
    course.offer(None, "learn/02-committee", source)
    linked = re.findall(r'href="([^"]+)"', source[0])
    assert linked == ["notebooks/02-committee.ipynb", "notebooks/02-committee-answers.ipynb"]
    assert all((tmp_path / path).is_file() for path in linked)
    course.offer(None, "learn/index", other := ["# Another\n"])
    assert other == ["# Another\n"]


@pytest.mark.slow
def test_a_students_notebook_runs_and_says_what_is_missing(tmp_path):
    book = course.notebook(chapter_of("01-noise"), answers=False)
    NotebookClient(book, timeout=None, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = ["".join(one.get("text", "") for one in cell.get("outputs", [])) for cell in book.cells]
    assert sum("put your number in the place of the three dots" in text for text in printed) == 3
