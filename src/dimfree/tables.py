"""Tables of numbers that users give: .npy and .csv files, and by name the data sets that come with scikit-learn."""

from itertools import takewhile
from pathlib import Path

import numpy as np
from jaxtyping import Float

from dimfree.arrays import read_array
from dimfree.errors import ProblemError, in_one_line
from dimfree.files import check_regular
from dimfree.machine import refuse_above_memory

BUNDLED = {  # name -> scikit-learn's loader
    "digits": "load_digits",
    "breast-cancer": "load_breast_cancer",
    "diabetes": "load_diabetes",
    "iris": "load_iris",
    "wine": "load_wine",
}

Table = Float[np.ndarray, "..."]
_PER_BYTE = (
    8  # bytes of memory per byte of text: a number takes at least two bytes of text, and is held twice while it is read
)


def bundled(name: str) -> tuple[Float[np.ndarray, "n k"], Float[np.ndarray, " n"]]:
    """Features and targets of a data set that comes with scikit-learn."""
    from sklearn import datasets

    X, y = getattr(datasets, BUNDLED[name])(return_X_y=True)
    return np.asarray(X, dtype=float), np.asarray(y, dtype=float)


def read_table(file: Path) -> Table:
    """The numbers in a .npy file, or in a text file with commas between numbers; a first line of names is skipped."""
    try:
        found = _text(file) if file.suffix != ".npy" else read_array(file)
    except (OSError, ValueError, TypeError) as failure:
        raise ProblemError(
            f"the file {str(file)!r} is no table of numbers in .npy or .csv format ({in_one_line(failure)}); "
            "write plain numbers, as np.save does."
        ) from None
    if not found.size:
        raise ProblemError(f"the file {str(file)!r} is empty; give at least two samples.")
    return found


def opening_comments(file: Path) -> int:
    """How many lines at the top of a text file begin with #; further down a # belongs to a word."""
    with file.open(encoding="utf-8", errors="replace") as lines:
        return sum(1 for _ in takewhile(lambda line: line.lstrip().startswith("#"), lines))


def mixed_columns(x: Float[np.ndarray, "n k"], count: int, seed: int) -> Float[np.ndarray, "n m"]:
    """F x/sqrt(k) for a random F: `count` mixtures of columns, of which features can be made."""
    F = np.random.default_rng(seed).standard_normal((count, x.shape[1]))
    return np.asarray(x @ F.T / np.sqrt(x.shape[1]))


def _text(file: Path) -> Table:
    import pandas

    check_regular(file)
    refuse_above_memory(
        _PER_BYTE * file.stat().st_size, f"reading the table {str(file)!r}", "give a smaller one, or a .npy file"
    )
    try:
        skipped = opening_comments(file)
        first = pandas.read_csv(file, header=None, skiprows=skipped, nrows=1)
    except pandas.errors.EmptyDataError:
        return np.zeros(0)
    named = first.dtypes.map(lambda kind: kind.kind not in "fiub").any()
    # not in pieces: pandas warns if the pieces of a column look like different types
    found = pandas.read_csv(file, header=0 if named else None, skiprows=skipped, low_memory=False)
    return found.to_numpy(dtype=float)
