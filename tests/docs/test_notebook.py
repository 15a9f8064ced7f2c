"""The notebook of the docs, executed: nothing fails, and what it shows is there."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = pytest.mark.slow  # summaries, tables and figures in HTML are tested with the answers that have them
NOTEBOOK = Path(__file__).parents[2] / "docs" / "first-steps.ipynb"


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    book = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") for cell in book.cells), "it is kept without outputs"
    folder = tmp_path_factory.mktemp("notebook")
    NotebookClient(book, timeout=None, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    nbformat.write(book, folder / "executed.ipynb")
    return {cell.source: cell.outputs for cell in book.cells if cell.cell_type == "code"}


def shown(cells, source: str, kind: str) -> list[str]:
    outputs = next(outputs for code, outputs in cells.items() if source in code)
    return [part["data"][kind] for part in outputs if kind in part.get("data", {})]


def test_a_comparison_is_shown_as_table_verdict_and_figure(cells):
    (page,) = shown(cells, "df.compare(", "text/html")[-1:]
    assert "<table>" in page
    assert "Closest to chain: ode." in page
    assert "data:image/png;base64," in page
    assert shown(cells, "df.open(", "text/html")


def test_a_summary_is_text_and_a_figure_is_inline(cells):
    (text,) = next(outputs for code, outputs in cells.items() if "summary()" in code)
    assert "the reference" in text["text"]
    assert shown(cells, "comparison.plot()", "image/png")


def test_numbers_come_as_a_table(cells):
    (table,) = shown(cells, "to_dataframe", "text/html")
    assert "gradient-flow" in table
