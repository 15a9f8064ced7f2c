"""Which problems a page may ask for: no code, no files but those of the command line, and nothing that is too large.

What is plain data becomes a problem here and nowhere else.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from math import isinf
from pathlib import Path
from typing import Any, NamedTuple

from dimfree.errors import ProblemError
from dimfree.lab.fields import holds, sections_below
from dimfree.lab.shelf import plain_problem
from dimfree.problem import Problem
from dimfree.problem.activation import written_function
from dimfree.problem.section import Section
from dimfree.registry import settings

DEEPEST = 12  # tables inside tables
MOST_VALUES = 20_000
LONGEST_WORD = 200
LARGEST_WHOLE = 100_000  # of integers that the model does not bound: widths, batches, replicas
MOST_OF_RUN = {"run.points": 2_000, "run.starts": 64}  # each of which is drawn or solved on its own


class Admission(NamedTuple):
    """What the problem of the command line names: the page may name it again, and nothing else of the kind."""

    code: Mapping[str, Any]  # functions by their paths
    files: frozenset[str]

    def problem(self, values: object) -> Problem:
        """The problem that a page describes, or an error in one sentence."""
        if not isinstance(values, dict):
            raise ProblemError("a problem is a table of its keys, as in its TOML file.")
        self.check(values)
        given = self._with_code(values)
        found = Problem(**given)
        if named := next((path for path in _files(found) if str(path) not in self.files | _own_files()), None):
            raise _file_error(str(named))
        _check_sizes(found, "")
        return _as_if_left_out(found)

    def check(self, values: Mapping[str, Any]) -> None:
        """Raise an error for what no part of a problem may be, before anything looks at it."""
        _check_shape(values)
        for key, word in _words(values):
            if ":" in word and word not in self.code:
                raise ProblemError(
                    f"{key or 'a key'} = {word!r} names code, which a page may not run; open it from a problem file if you "
                    "trust it."
                )
            if key.rpartition(".")[2] in _file_keys() and word not in self.files | _own_files() | _known_words():
                raise _file_error(word)

    def _with_code(self, values: Any) -> Any:
        match values:
            case dict():
                return {key: self._with_code(value) for key, value in values.items()}
            case list():
                return [self._with_code(value) for value in values]
            case str():
                return self.code.get(values, values)
            case _:
                return values


def admission_of(problem: Problem) -> Admission:
    """What a page may name because the problem of the command line does."""
    code = {written_function(value): value for value in _values(problem) if callable(value)}
    return Admission(code, frozenset(str(path) for path in _files(problem)))


def _file_error(word: str) -> ProblemError:
    return ProblemError(
        f"{word!r} names a file, which a page may not read; give a problem file that names it to `dimfree lab`."
    )


def _check_shape(values: Any) -> None:
    """Refuse what is nested too deeply, has too many values, or words that are too long."""
    left, level = MOST_VALUES, [values]
    for _ in range(DEEPEST):
        inner = list[Any]()
        for one in level:
            match one:
                case dict():
                    if any(not isinstance(key, str) or len(key) > LONGEST_WORD for key in one):
                        raise ProblemError(f"keys of a problem are words of at most {LONGEST_WORD} characters.")
                    inner += one.values()
                case list():
                    inner += one
                case str() if len(one) > LONGEST_WORD:
                    raise ProblemError(f"words in a problem have at most {LONGEST_WORD} characters on a page.")
                case _:
                    pass
        left -= len(inner)
        if left < 0:
            raise ProblemError(f"a page may give at most {MOST_VALUES:,} values; write a problem file for more.")
        if not inner:
            return
        level = inner
    raise ProblemError(f"a problem has at most {DEEPEST} tables inside each other.")


def _words(values: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """All words with the key that each belongs to."""
    match values:
        case dict():
            for name, value in values.items():
                yield "", name  # which names no file, but must not name code
                yield from _words(value, name)
        case list():
            for value in values:
                yield from _words(value, key)
        case str():
            yield key, values


def _check_sizes(section: Section, prefix: str) -> None:
    """Refuse integers that take memory and are larger than a page needs; `dimension` and seeds have bounds of their own."""
    for name in type(section).model_fields:
        value = getattr(section, name)
        if isinstance(value, Section):
            _check_sizes(value, f"{prefix}{name}.")
        elif isinstance(value, int) and not isinstance(value, bool):
            largest = MOST_OF_RUN.get(f"{prefix}{name}", LARGEST_WHOLE)
            if value > largest and (isinf(holds(type(section), name).high) or largest < LARGEST_WHOLE):
                raise ProblemError(
                    f"{prefix}{name} = {value} is more than a page may ask for, {largest:,}; use `dimfree compare`."
                )


def _as_if_left_out(problem: Problem) -> Problem:
    """The same problem, in which values that its kind of data fills in do not count as given: another kind fills in others."""
    values = plain_problem(problem)
    usual = plain_problem(Problem(data={"kind": values["data"]["kind"]}))
    lean = Problem(**_without(values, usual))
    return lean if lean == problem else problem


def _without(values: dict[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    """Sections without values that are as usual, but always with their kinds; a table inside a section stays whole or goes."""
    kept = dict[str, Any]()
    for key, value in values.items():
        other = usual.get(key)
        if isinstance(value, dict) and isinstance(other, dict) and value.get("kind") == other.get("kind"):
            if inner := {name: one for name, one in value.items() if name == "kind" or one != other.get(name)}:
                kept[key] = inner
        elif value != other:
            kept[key] = value
    return kept


def _values(section: Section) -> Iterator[Any]:
    for name in type(section).model_fields:
        value = getattr(section, name)
        if isinstance(value, Section):
            yield from _values(value)
        else:
            yield value


def _files(section: Section) -> list[Path]:
    return [value for value in _values(section) if isinstance(value, Path)]


def _every_section() -> set[type[Section]]:
    return {one for setting in settings() for one in sections_below(setting.problem)}


@cache
def _file_keys() -> frozenset[str]:
    """The keys under which some section names a file."""
    return frozenset(name for one in _every_section() for name in one.model_fields if Path in holds(one, name).types)


@cache
def _own_files() -> frozenset[str]:
    """Names that stand where files may stand and are data that come with dimfree's libraries: the defaults of the models."""
    defaults = [field.default for one in _every_section() for field in one.model_fields.values()]
    inside = [value for one in defaults if isinstance(one, Section) for value in _values(one)]
    return frozenset(str(value) for value in [*defaults, *inside] if isinstance(value, Path))


@cache
def _known_words() -> frozenset[str]:
    """Words that a key, which names a file in some sections, has in others."""
    return frozenset(
        word
        for one in _every_section()
        for name in one.model_fields
        if name in _file_keys()
        for word in holds(one, name).words
    )
