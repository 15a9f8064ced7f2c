"""Tables as people have them, piece by piece: CSV with names, Parquet, .npy, .npz, pandas, and scikit-learn's own.

A piece is a pandas frame of some of the rows with all columns, the target among them, so that no table need fit into memory.
"""

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Shaped

from dimfree.arrays import read_archive
from dimfree.errors import ProblemError, in_one_line, suggest
from dimfree.files import check_regular
from dimfree.tables import BUNDLED, opening_comments, read_table

if TYPE_CHECKING:
    from pandas import DataFrame

PIECE = 2_000_000  # numbers of a piece
_BESIDE = 200  # files of a folder, one of which may have been meant
_ARCHIVED = ("X", "y")  # the arrays of an .npz file

AnyTable = Shaped[np.ndarray, "..."]
Column = Shaped[np.ndarray, " n"]


class Source(NamedTuple):
    """Where a table is read from, as often as needed."""

    name: str
    target: str  # the column that is learned
    pieces: Callable[[], "Iterator[DataFrame]"]


def source(features: Any, target: Any) -> Source:
    """The table that was given as a file, a name, a frame or an array; the target is a column, or labels of their own."""
    import pandas

    if isinstance(features, pandas.DataFrame):
        return _labelled("the frame", lambda: _cut(features), target)
    if not isinstance(features, str | Path):
        return _labelled("the array", lambda: _cut(_framed(np.asarray(features))), target)
    if str(features) in BUNDLED:
        frame = _bundled(str(features))
        return _labelled(str(features), lambda: _cut(frame), "target" if target is None else target)
    file = Path(features)
    if not file.exists():
        beside = [str(one) for one in islice(file.parent.glob(f"*{file.suffix}"), _BESIDE)] if file.suffix else []
        meant = get_close_matches(str(file), beside, n=1) or BUNDLED
        raise ProblemError(f"there is no file {str(file)!r}, and no data set of that name; {suggest(str(file), meant)}")
    try:
        check_regular(file)
    except OSError as failure:
        raise ProblemError(f"{str(file)!r} cannot be read: {failure.strerror}; give a file.") from None
    match file.suffix:
        case ".npy":
            return _labelled(file.name, lambda: _mapped(file), target)
        case ".npz":
            X, y = read_archive(file, _ARCHIVED, "features").values()
            return _labelled(file.name, lambda: _cut(_framed(X)), y if target is None else target)
        case ".parquet":
            return _labelled(file.name, lambda: _parquet(file), target)
        case _:
            return _labelled(file.name, lambda: _text(file), target)


def _labelled(name: str, pieces: "Callable[[], Iterator[DataFrame]]", target: Any) -> Source:
    """The source with its target as a column: one that it has, a file of labels, or an array of them."""
    first = next(iter(pieces()), None)
    if first is None or not len(first):
        raise ProblemError(f"{name} has no rows; give at least a few dozen of them.")
    columns = list(first.columns)
    if twice := [one for one in dict.fromkeys(columns) if columns.count(one) > 1]:
        raise ProblemError(f"{name} has more than one column named {twice[0]!r}; give every column a name of its own.")
    target = str(target) if isinstance(target, int) else target
    if isinstance(target, str) and target in columns:
        return Source(name, target, pieces)
    if target is None:
        raise ProblemError(f"which column of {name} is learned was not said; give target, one of: {_few(columns)}.")
    if isinstance(target, str | Path):
        if not Path(target).is_file():
            raise ProblemError(
                f"{name} has no column {str(target)!r}, and there is no such file; {suggest(str(target), columns)}"
            )
        labels, word = np.squeeze(read_table(Path(target))), Path(target).stem
    else:
        labels, word = np.squeeze(np.asarray(target)), "labels"
    if labels.ndim != 1:
        raise ProblemError(f"labels have shape {labels.shape}; give one label per row.")
    word = word if word not in columns else f"{word} (labels)"
    return Source(name, word, lambda: _joined(pieces(), word, labels))


def _joined(pieces: "Iterator[DataFrame]", word: str, labels: Column) -> "Iterator[DataFrame]":
    at = 0
    for piece in pieces:
        end = at + len(piece)
        if end > len(labels):
            raise ProblemError(f"there are {len(labels)} labels and more rows; give one label per row.")
        yield piece.assign(**{word: labels[at:end]})
        at = end
    if at != len(labels):
        raise ProblemError(f"there are {at} rows and {len(labels)} labels; give one label per row.")


def _few(names: list[str], most: int = 8) -> str:
    return ", ".join(map(str, names[:most])) + (", ..." if len(names) > most else "")


def _rows(columns: int) -> int:
    return max(1, PIECE // max(columns, 1))


def _cut(frame: "DataFrame") -> "Iterator[DataFrame]":
    step = _rows(frame.shape[1])
    for at in range(0, len(frame), step):
        yield frame.iloc[at : at + step].rename(columns=str)


def _framed(X: AnyTable) -> "DataFrame":
    import pandas

    if X.ndim != 2:
        raise ProblemError(f"features have shape {X.shape}; give samples x features.")
    return pandas.DataFrame(X, columns=[f"x{number}" for number in range(X.shape[1])])


def _bundled(name: str) -> "DataFrame":
    from sklearn import datasets

    frame = getattr(datasets, BUNDLED[name])(as_frame=True).frame
    if name == "digits":  # whether the digit is even
        frame["target"] = np.where(frame["target"] % 2 == 0, "even", "odd")
    return frame


def _opened(file: Path) -> AnyTable:
    try:
        X: AnyTable = np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as failure:
        raise ProblemError(
            f"the file {str(file)!r} is no array of numbers ({in_one_line(failure)}); write one with np.save."
        ) from None
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ProblemError(f"{file.name} has shape {X.shape} and type {X.dtype}; give numbers, samples x features.")
    return X


def _mapped(file: Path) -> "Iterator[DataFrame]":
    """Opened anew for every piece: what was read of a mapped file stays in memory until it is closed."""
    rows, columns = _opened(file).shape
    step = _rows(columns)
    for at in range(0, rows, step):
        yield _framed(np.array(_opened(file)[at : at + step]))


def _parquet(file: Path) -> "Iterator[DataFrame]":
    import pandas

    try:
        from pyarrow.parquet import ParquetFile
    except ImportError:
        try:
            yield from _cut(pandas.read_parquet(file))
        except ImportError:
            raise ProblemError(
                f"reading {file.name} needs a package that knows Parquet; pip install pyarrow, or save the table as .csv."
            ) from None
        return
    with ParquetFile(file) as opened:
        for batch in opened.iter_batches(batch_size=_rows(opened.metadata.num_columns)):
            yield batch.to_pandas().rename(columns=str)


def _text(file: Path) -> "Iterator[DataFrame]":
    """Text with commas, semicolons or tabs; the first line has names unless all of it is numbers."""
    import pandas

    try:
        skipped = opening_comments(file)
        first = pandas.read_csv(file, header=None, skiprows=skipped, nrows=1)
        between = ","
        if first.shape[1] == 1:
            between = next((mark for mark in ";\t" if mark in str(first.iloc[0, 0])), ",")
            first = pandas.read_csv(file, header=None, skiprows=skipped, nrows=1, sep=between)
        named = first.dtypes.map(lambda kind: kind.kind not in "fiub").any()
        names = None if named else [f"x{number}" for number in range(first.shape[1])]
        reader = pandas.read_csv(
            file,
            sep=between,
            header=0 if named else None,
            names=names,
            skiprows=skipped,
            chunksize=_rows(first.shape[1]),
            skipinitialspace=True,
            low_memory=False,
        )
        with reader:
            for piece in reader:
                yield piece.rename(columns=str)
    except pandas.errors.EmptyDataError:
        return
    except (OSError, ValueError) as failure:
        raise ProblemError(
            f"{file.name} is no table of text with commas ({in_one_line(failure)}); check its lines."
        ) from None
