"""What all problems share: a dimension, a run, a clock, TOML overrides and a content hash."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any, ClassVar, TypeVar, get_args

import numpy as np
from pydantic import Field, model_validator

from dimfree.files import check_regular
from dimfree.problem.run import Run
from dimfree.problem.section import Section

_COUNTED = 2**63  # steps that a 64-bit integer can count
AnyProblem = TypeVar("AnyProblem", bound="Problem")
_UNREADABLE = "unreadable"


class Problem(Section):
    """Everything that decides what SGD will do.

    `dimension` is the number of inputs. `data` says what inputs and labels are, as in df.Teacher(units=2); `network` what learns
    from them, df.TwoLayer(width=4); `training` by which rule, df.OnePass(learning_rate=0.5); `start` where the weights begin,
    df.GaussianStart(); and `run` how long and how often, df.Run(until=50, replicas=16). Sections that are left out are those of
    the embedded problem. A section may also be a dict with the keys of a problem file.

    The data and the training rule decide which setting the problem belongs to: fresh samples, a finite data set, or given points.
    """

    title: ClassVar[str] = "the problem"
    time_units: ClassVar[str]
    shares_start: ClassVar[bool] = True  # whether all replicas share one start, unless run.starts asks for more
    dimension: int = Field(default=300, gt=0, le=10**15)
    run: Run = Run()

    def __new__(cls: type[AnyProblem], /, **values: Any) -> AnyProblem:
        """Make the problem of the setting that the data and the training rule belong to."""
        from dimfree.registry import problem_class

        chosen: Any = problem_class(values) if cls is Problem else cls
        made: AnyProblem = super().__new__(chosen)
        return made

    def __init__(self, /, **values: Any) -> None:
        """Keys that are left out have the values of the embedded problem, or those that the kind of data fills in."""
        given = as_tables(values)
        own = {
            n: written(field.default)
            for n, field in type(self).model_fields.items()
            if isinstance(field.default, Section)
        }
        meant = filled(type(self).left_out(given), own)
        complete = filled(given, {name: meant[name] for name in meant if name in given or meant[name] != own.get(name)})
        super().__init__(**complete)
        forget(self, given, complete)

    @model_validator(mode="after")
    def _takes_a_step(self: AnyProblem) -> AnyProblem:
        if self.time_step == 0 or self.run.until / self.time_step >= _COUNTED:
            raise ValueError(
                f"run.until = {self.run.until:g} takes more steps than can be counted ({_COUNTED:.1e}), at "
                f"{self.time_step:.4g} a step ({self.time_units}); lower run.until, or raise training.learning_rate."
            )
        if self.run.until < (1 - 1e-9) * self.time_step:
            raise ValueError(
                f"run.until = {self.run.until:g} ends before the first step, which takes a time of {self.time_step:.4g} "
                f"({self.time_units}); raise run.until to at least that."
            )
        return self

    @classmethod
    def left_out(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Values, as nested tables, for keys that were left out and should not have the defaults of their sections."""
        return {}

    @classmethod
    def sections(cls, name: str) -> tuple[type[Section], ...]:
        """The sections of this name that such a problem may have, one for each kind."""
        annotation = cls.model_fields[name].annotation
        choices = get_args(annotation) or (annotation,)
        return tuple(one for one in choices if isinstance(one, type) and issubclass(one, Section))

    @property
    def time_step(self) -> float:
        """The time that one step takes; every setting has its own clock."""
        raise NotImplementedError

    @property
    def remedy(self) -> str:
        """Say what to change when training blows up, as the end of a sentence."""
        return "lower training.learning_rate"

    @property
    def unusual(self) -> str | None:
        """A property of this problem that most theories are not derived for, in words; None if it has none."""
        return None

    @property
    def stamps(self) -> tuple[tuple[int, int], ...]:
        """When the files that the problem names were last written, and their sizes: models of other files are out of date."""
        found = [path.stat() for path in _files(self) if path.exists()]
        return tuple((one.st_mtime_ns, one.st_size) for one in found)

    def steps(self, time: float) -> int:
        """How many steps of SGD reach this time."""
        return round(time / self.time_step)

    @property
    def times(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """The saved times, from 0 to `run.until`, each a whole number of steps.

        Times that were asked for are kept as they are, so that runs with other steps have the same ones; SGD is looked at after
        the whole number of steps that is nearest.
        """
        if self.run.times is not None:
            return np.array([0.0, *self.run.times])
        until = float(self.steps(self.run.until))
        if self.run.spacing == "linear":
            wished = np.linspace(0, until, self.run.points)
        else:
            first = min(max(1.0, until * 2e-4), until)
            wished = np.concatenate([[0], np.geomspace(until, first, self.run.points - 1)[::-1]])
        return np.unique(np.rint(wished)) * self.time_step

    def replace(self: AnyProblem, **changes: Any) -> AnyProblem:
        """A copy with dotted keys changed, e.g. replace(**{"training.learning_rate": 0.5})."""
        from dimfree.problem.toml import with_overrides

        changed: AnyProblem = with_overrides(self, changes)
        return changed

    @property
    def digest(self) -> str:
        """A content hash: equal problems have equal digests, on every machine; of files the content counts, not the name."""
        values, contents = self.model_dump(mode="json"), {str(path): _content(path) for path in _files(self)}
        values = _without_names(values, {name for name, content in contents.items() if content != _UNREADABLE})
        values["files"] = [contents[str(path)] for path in _files(self)]
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


# `Problem(...)` takes the sections of every setting, and each may be left out; pydantic's signature has only the shared ones.
_SECTIONS = ("dimension", "data", "network", "training", "start", "run")
Problem.__signature__ = Signature([Parameter(name, Parameter.KEYWORD_ONLY, default=...) for name in _SECTIONS])


def as_tables(values: Mapping[str, Any]) -> dict[str, Any]:
    """Sections as tables of the keys that were given."""
    return {key: written(value) if isinstance(value, Section) else value for key, value in values.items()}


def written(section: Section) -> dict[str, Any]:
    """The keys of a section that were given, without its defaults, but always with its kind."""
    given = {
        name: getattr(section, name) for name in section.model_fields_set | ({"kind"} & {*type(section).model_fields})
    }
    return {name: written(value) if isinstance(value, Section) else value for name, value in given.items()}


def filled(values: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """Fill in keys that values or sections leave out; a section of another kind has other keys, and is left alone."""
    complete = {**defaults, **values}
    for name, table in defaults.items():
        given = values.get(name)
        if isinstance(table, dict) and isinstance(given, dict):
            other = "kind" in table and given.get("kind", table["kind"]) != table["kind"]
            complete[name] = given if other else {**table, **given}
    return complete


def forget(section: Section, given: dict[str, Any], complete: dict[str, Any]) -> None:
    """Do not count keys that were filled in as given: another kind of data may fill in other values."""
    section.__pydantic_fields_set__.difference_update(complete.keys() - given.keys())
    for name, value in complete.items():
        inner, inner_given = getattr(section, name, None), given.get(name)
        if isinstance(inner, Section) and isinstance(value, dict) and isinstance(inner_given, dict):
            forget(inner, inner.spelled(inner_given), inner.spelled(value))


def _files(section: Section) -> Iterator[Path]:
    for name in sorted(type(section).model_fields):
        value = getattr(section, name)
        if isinstance(value, Section):
            yield from _files(value)
        elif isinstance(value, Path):
            yield value


def _without_names(values: Any, names: set[str]) -> Any:
    """The same without the names of files; a name that is not a file, such as "digits", stays."""
    if isinstance(values, dict):
        return {key: _without_names(value, names) for key, value in values.items()}
    return None if isinstance(values, str) and values in names else values


def _content(path: Path) -> str:
    try:
        check_regular(path)
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:  # an error follows where the file is read
        return _UNREADABLE
