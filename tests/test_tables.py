"""Tables of numbers that users bring."""

import warnings

import numpy as np
import pytest

from dimfree.errors import ProblemError
from dimfree.tables import read_table


def test_names_above_many_columns_are_read_without_a_warning(tmp_path):
    """So many that pandas reads the rows in pieces, the first of which has the names in it."""
    columns, rows = 2048, 1100
    file = tmp_path / "wide.csv"
    file.write_text("\n".join([",".join(f"c{k}" for k in range(columns)), *[",".join("7" * columns)] * rows]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read_table(file)
    assert found.shape == (rows, columns)
    assert (found == 7).all()


@pytest.mark.parametrize(
    "text", ["1,2\n3,4\n", "# a comment\n1,2\n3,4\n", "a,b\n1,2\n3,4\n", "a,1\n1,2\n3,4\n", "a #1,b\n1,2\n3,4\n"]
)
def test_text_with_and_without_names(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    np.testing.assert_array_equal(read_table(tmp_path / "t.csv"), [[1.0, 2.0], [3.0, 4.0]])


def test_words_below_numbers_are_refused(tmp_path):
    (tmp_path / "t.csv").write_text("1,2\n3,four\n")
    with pytest.raises(ProblemError, match=r"is no table of numbers .*four"):
        read_table(tmp_path / "t.csv")
