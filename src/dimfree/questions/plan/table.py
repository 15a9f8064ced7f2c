"""A table made ready to learn from: numbers alone, none missing, classes as +1 and -1; and what must be said of it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float

from dimfree.errors import ProblemError, suggest
from dimfree.questions.plan.moments import Moments, Sample
from dimfree.questions.plan.pieces import Source, source

if TYPE_CHECKING:
    from pandas import DataFrame, Series

IMPUTED = ("mean", "median", "most_frequent")  # strategies of scikit-learn
MOST = 8_000_000  # numbers of the rows that are fitted and trained on; moments are those of all rows
_KINDS = 500  # of words in a column, above which it is more likely a name or a text
_NAMED = 5  # columns that a sentence names
_LIKE_CLASSES = 10  # different whole numbers of a target, up to which they may be classes
_FEWEST = 40  # rows
_LARGEST = 1e100  # value


class Wish(NamedTuple):
    """How a table is to be read."""

    columns: tuple[str, ...] = ()  # all but the target, if empty
    one_hot: bool = False
    impute: str | None = None
    positive: str | None = None  # the class that is +1


class Table(NamedTuple):
    """Rows as numbers, their labels, and the moments of all rows, the label last."""

    name: str
    target: str
    columns: tuple[str, ...]
    X: Float[np.ndarray, "n k"]
    y: Float[np.ndarray, " n"]
    classes: tuple[str, str] | None  # words of -1 and +1
    moments: Moments
    said: tuple[str, ...]


class _Seen:
    """What a first look at all rows finds."""

    def __init__(self, most: int, seed: int) -> None:
        self.rows = 0
        self.missing: dict[str, int] = {}
        self.kinds: dict[str, set[str]] = {}  # of columns with words
        self.sample: Sample | None = None
        self.most, self.seed = most, seed

    def add(self, piece: "DataFrame") -> None:
        self.sample = self.sample or Sample(max(_FEWEST, self.most // max(piece.shape[1], 1)), self.seed)
        self.rows += len(piece)
        for name in piece:
            self.missing[name] = self.missing.get(name, 0) + int(piece[name].isna().sum())
            if piece[name].dtype.kind not in "fiub":
                self.kinds.setdefault(name, set()).update(map(str, piece[name].dropna().unique()[: 2 * _KINDS]))
        self.sample.add(piece)


def read(features: Any, target: Any, wish: Wish, seed: int, most: int = MOST) -> Table:
    """The table that was given; at most `most` numbers of it are kept as rows."""
    if wish.impute is not None and wish.impute not in IMPUTED:
        raise ProblemError(f"impute = {wish.impute!r} is not known; {suggest(wish.impute, IMPUTED)}")
    given, seen = source(features, target), _Seen(most, seed)
    chosen = _chosen(given, wish)
    for piece in given.pieces():
        seen.add(piece[[*chosen, given.target]])
    if seen.rows < _FEWEST:
        raise ProblemError(f"{given.name} has {seen.rows} rows; give at least {_FEWEST}, so that some can be held out.")
    _check(given, wish, seen, chosen)
    assert seen.sample is not None
    kept = seen.sample.rows()
    labels = _Labels(kept[given.target], given.target, wish.positive, seen.kinds.get(given.target))
    encoder = _Encoder(kept, chosen, seen, wish.impute)
    moments = Moments(len(encoder.names) + 1)
    whole = len(kept) == seen.rows
    for piece in [kept] if whole else given.pieces():
        moments.add(np.column_stack([encoder(piece), labels(piece[given.target])]))
    said = (*_said_of_reading(given, seen, wish, len(kept)), *labels.said)
    X, y = encoder(kept), labels(kept[given.target])
    return Table(given.name, given.target, encoder.names, X, y, labels.classes, moments, said)


def _chosen(given: Source, wish: Wish) -> list[str]:
    known = [name for name in next(iter(given.pieces())).columns if name != given.target]
    for name in wish.columns:
        if name not in known:
            raise ProblemError(f"{given.name} has no column {name!r} beside the target; {suggest(name, known)}")
    chosen = list(wish.columns) or known
    if not chosen:
        raise ProblemError(f"{given.name} has no column beside {given.target!r}; give features to learn from.")
    return chosen


def _check(given: Source, wish: Wish, seen: _Seen, chosen: list[str]) -> None:
    """Refuse what is missing, and words, unless it is said what to do with them."""
    if lost := seen.missing[given.target]:
        raise ProblemError(
            f"{lost} of {seen.rows} rows have no {given.target!r}; remove them: there is nothing to learn."
        )
    missing = {name: seen.missing[name] for name in chosen if seen.missing[name]}
    if empty := [name for name, count in missing.items() if count == seen.rows]:
        raise ProblemError(f"column {empty[0]!r} has no value at all; leave it out, by naming the others as columns.")
    if missing and wish.impute is None:
        raise ProblemError(
            f"{sum(missing.values())} values are missing ({_counted(missing)}); remove their rows, or fill them in with "
            f"impute = {IMPUTED[0]!r} ({', '.join(IMPUTED[1:])}), as scikit-learn does."
        )
    words = {name: len(seen.kinds[name]) for name in chosen if name in seen.kinds}
    for name in words:
        if commas := [kind for kind in seen.kinds[name] if "," in kind and _is_number(kind.replace(",", ".", 1))]:
            raise ProblemError(
                f"column {name!r} has numbers with a comma ({min(commas)}); write them with a point, as pandas.read_csv(..., "
                "decimal=',') reads them."
            )
    for name in () if wish.one_hot else words:
        odd = [kind for kind in sorted(seen.kinds[name]) if not _is_number(kind)]
        if 0 < len(odd) < words[name] / 2:
            raise ProblemError(
                f"column {name!r} has numbers, and {', '.join(map(repr, odd[:_NAMED]))}{', ...' if len(odd) > _NAMED else ''}; "
                "write numbers with a point, and leave missing values empty."
            )
    if words and not wish.one_hot:
        have, them = ("column has", "it") if len(words) == 1 else ("columns have", "them")
        raise ProblemError(
            f"{len(words)} {have} words ({_counted(words, 'kinds')}); make columns of 0 and 1 of {them} with one_hot, or name "
            "the others as columns."
        )
    if many := [name for name, count in words.items() if count > _KINDS]:
        raise ProblemError(
            f"column {many[0]!r} has more than {_KINDS} different words, as names or texts have; leave it out, by naming the "
            "others as columns."
        )


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _counted(found: dict[str, int], unit: str = "") -> str:
    named = [f"{name}: {count}{' ' + unit if unit else ''}" for name, count in list(found.items())[:_NAMED]]
    return ", ".join(named) + (", ..." if len(found) > _NAMED else "")


class _Encoder:
    """Frames as numbers: words as columns of 0 and 1, what is missing filled in by scikit-learn's rule from the kept rows."""

    def __init__(self, kept: "DataFrame", chosen: list[str], seen: _Seen, impute: str | None) -> None:
        self.words = {name: sorted(seen.kinds[name]) for name in chosen if name in seen.kinds}
        self.numbers = [name for name in chosen if name not in self.words]
        for name, found in self.words.items():
            if len(found) == 2 and not seen.missing[name]:  # the other column would say the same
                self.words[name] = found[1:]
        kinds = [f"{name}={kind}" for name, found in self.words.items() for kind in found]
        self.names = (*self.numbers, *kinds)
        self.imputer = None
        if impute is not None and self.numbers:
            from sklearn.impute import SimpleImputer

            self.imputer = SimpleImputer(strategy=impute, keep_empty_features=True).fit(self._plain(kept))

    def _plain(self, frame: "DataFrame") -> Float[np.ndarray, "n k"]:
        return frame[self.numbers].to_numpy(dtype=float, na_value=np.nan)

    def __call__(self, frame: "DataFrame") -> Float[np.ndarray, "n k"]:
        plain = self._plain(frame)
        parts = [plain if self.imputer is None else np.asarray(self.imputer.transform(plain))]
        for name, found in self.words.items():
            given = frame[name].astype(str).to_numpy()
            parts.append((given[:, None] == np.array(found)[None]).astype(float))
        rows = np.concatenate(parts, axis=1)
        if not np.isfinite(rows).all():
            raise ProblemError(
                f"{int((~np.isfinite(rows)).sum())} values are not finite numbers; remove or replace them."
            )
        if (largest := float(np.abs(rows).max(initial=0.0))) > _LARGEST:
            raise ProblemError(
                f"a value of {largest:.1g} was given, whose square is no number; give at most {_LARGEST:g}."
            )
        return rows


class _Labels:
    """Targets as numbers: two classes as -1 and +1, anything else as it is."""

    def __init__(self, target: "Series", name: str, positive: str | None, words: set[str] | None) -> None:
        self.name = name
        self.classes: tuple[str, str] | None = None
        self.said: tuple[str, ...] = ()
        found = sorted(words) if words is not None else sorted(map(_spelled, target.unique()))
        if positive is not None:
            if positive not in found:
                raise ProblemError(f"{name!r} is never {positive!r}; {suggest(positive, found[:20])}")
            others = [one for one in found if one != positive]
            self.classes = (others[0] if len(others) == 1 else f"not {positive}", positive)
        elif len(found) == 2:
            self.classes = (found[0], found[1])
        elif words is not None:
            raise ProblemError(
                f"{name!r} has {len(found)} classes ({', '.join(found[:_NAMED])}{', ...' if len(found) > _NAMED else ''}), and a "
                "plan is for numbers or two classes; name one of them as positive, against all others."
            )
        if len(found) < 2:
            raise ProblemError(f"{name!r} is {found[0]} in all rows; there is nothing to learn.")
        if self.classes is not None:
            self.said = tuple(_said_of_classes(self(target), self.classes, name))
        elif len(found) <= _LIKE_CLASSES and np.all(self(target) % 1 == 0):
            self.said = (
                f"{name} has only {len(found)} values, all whole numbers, and is learned as a number; if these are classes, name "
                "one of them as positive, against all others.",
            )

    def __call__(self, target: "Series") -> Float[np.ndarray, " n"]:
        if self.classes is None:
            found: Float[np.ndarray, " n"] = target.to_numpy(dtype=float)
            if lost := int((~np.isfinite(found)).sum()):
                raise ProblemError(f"{lost} values of {self.name!r} are not finite numbers; remove these rows.")
            return found
        return np.where(target.map(_spelled).to_numpy() == self.classes[1], 1.0, -1.0)


def _spelled(value: Any) -> str:
    """A value of the target as a word: 1.0 and 1 are one class."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _said_of_reading(given: Source, seen: _Seen, wish: Wish, kept: int) -> Iterator[str]:
    if kept < seen.rows:
        yield (
            f"Of {seen.rows} rows, {kept} were drawn at random to fit and to train on; moments of columns are those of all rows."
        )
    if not wish.impute:
        return
    words = {name: count for name, count in seen.missing.items() if count and name in seen.kinds}
    if lost := sum(seen.missing.values()) - sum(words.values()):
        yield f"{lost} missing values were filled in by the {wish.impute.replace('_', ' ')} of their column."
    if words:
        yield f"{sum(words.values())} missing words ({_counted(words)}) count as none of the kinds of their column."


def _said_of_classes(y: Float[np.ndarray, " n"], classes: tuple[str, str], name: str) -> Iterator[str]:
    share = float(np.mean(y > 0))
    rarer, count = (classes[1], int(np.sum(y > 0))) if share <= 0.5 else (classes[0], int(np.sum(y < 0)))
    yield f"{name} is a class: {classes[1]} counts as +1 ({100 * share:.3g} % of rows), {classes[0]} as -1."
    if min(share, 1 - share) < 0.05:
        yield (
            f"Only {count} rows are of class {rarer}: always to say the other class is right in "
            f"{100 * max(share, 1 - share):.3g} % of rows. Judge by the risk, and mind that about {max(1, count // 5)} such rows "
            "are held out."
        )
