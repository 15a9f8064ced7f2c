"""All settings and descriptions by name: dimfree's own, and those that other packages add through entry points.

A plug-in that cannot be loaded, or whose name is taken, causes a warning that names its package, and no other harm.
"""

import importlib
import warnings
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from dimfree.errors import PluginWarning, ProblemError, deprecated, suggest, type_and_first_line

if TYPE_CHECKING:
    from dimfree.description import AnyDescription
    from dimfree.problem import Problem
    from dimfree.setting import Setting

SETTINGS_GROUP, DESCRIPTIONS_GROUP = "dimfree.settings", "dimfree.descriptions"
_OWN = (
    "dimfree.onepass.setting:SETTING",
    "dimfree.dataset.setting:SETTING",
    "dimfree.dataset.committee.setting:SETTING",
    "dimfree.lazy.setting:SETTING",
)
_ALIASES = {"neurons": "sgd"}  # names of earlier versions, and what they are called now


def imported(path: str) -> Any:
    """What a path module:name leads to."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


@lru_cache(maxsize=1)
def settings() -> "tuple[Setting, ...]":
    """Every kind of training that dimfree knows; the first is that of the embedded problem."""
    found: dict[str, Setting] = {one.name: one for one in map(imported, _OWN)}
    for point in entry_points(group=SETTINGS_GROUP):
        one: Setting | None = _loaded(point)
        if one is None:
            continue
        taken = next((other for other in found.values() if _clashes(one, other)), None)
        if taken is not None:
            _warn(
                point, f"it is ignored, because its name or one of its kinds of data already belongs to {taken.name!r}"
            )
        else:
            found[one.name] = one
    return tuple(found.values())


def plugged_in(group: str, taken: set[str], names: Callable[[Any], Collection[str]]) -> list[Any]:
    """What other packages add under an entry point; what cannot be loaded or has a taken name is left out, with a warning."""
    found = []
    for point in entry_points(group=group):
        one = _loaded(point)
        if one is None:
            continue
        if clash := taken & {*names(one)}:
            _warn(point, f"it is ignored, because {min(clash)!r} already belongs to another kind")
            continue
        taken = taken | {*names(one)}
        found.append(one)
    return found


def setting_of(problem: "Problem") -> "Setting":
    """The setting whose problem this is."""
    for one in settings():
        if isinstance(problem, one.problem):
            return one
    raise ProblemError(f"a {type(problem).__name__} belongs to no setting; register one under {SETTINGS_GROUP!r}.")


def problem_class(values: Mapping[str, Any]) -> "type[Problem]":
    """The class of the problem whose data and training have these kinds; sections are tables or objects."""
    data, training = (_kind(values.get(section)) for section in ("data", "training"))
    by_data = _owners("data", data) if data is not None else settings()
    by_training = _owners("training", training) if training is not None else settings()
    both = [one for one in by_data if one in by_training]
    if not both:
        fitting = " or ".join(dict.fromkeys(repr(kind) for one in by_data for kind in one.kinds("training")))
        others = ", ".join(dict.fromkeys(kind for one in by_training for kind in one.kinds("data")))
        raise ProblemError(
            f"[training] got kind = {training!r}, which does not go with [data] kind = {data!r}; "
            f"set training.kind = {fitting}, or data.kind to one of: {others}."
        )
    complete = [one for one in both if {*values} <= {*one.problem.model_fields}]  # those that have all given sections
    return (complete or both)[0].problem


def class_near(problem: "Problem", kinds: Mapping[str, Mapping[str, Any]]) -> "type[Problem]":
    """The class of a problem in which these kinds are changed: its own if that knows them, or one that knows its data too."""
    own = setting_of(problem)
    if all(table["kind"] in own.kinds(section) for section, table in kinds.items()):
        return own.problem
    try:
        return problem_class({"data": getattr(problem, "data", None), **kinds})
    except ProblemError:  # no setting knows these data with that training
        return problem_class(kinds)


def names() -> tuple[str, ...]:
    """The names of all descriptions, setting by setting, experiments first. Nothing heavy is imported."""
    return tuple(_paths())


@lru_cache(maxsize=256)
def description(name: str) -> "AnyDescription":
    """The description of this name."""
    paths = _paths()
    if name in _ALIASES:
        deprecated(f"the description {name!r}", repr(_ALIASES[name]))
        name = _ALIASES[name]
    if name not in paths:
        raise ProblemError(f"there is no description {name!r}; {suggest(name, paths)}")
    path = paths[name]
    found: AnyDescription = imported(path)() if isinstance(path, str) else path.load()()
    return found


def descriptions() -> "dict[str, AnyDescription]":
    """Every description that can be loaded."""
    found: dict[str, AnyDescription] = {}
    for name, path in _paths().items():
        one = description(name) if isinstance(path, str) else _alone(name)
        if one is not None:
            found[name] = one
    return found


def candidates(problem: "Problem") -> "list[AnyDescription]":
    """Every description that applies to this kind of problem: those of its setting, and those that other packages add to it."""
    setting = setting_of(problem)
    model, foreign = setting.model_of(problem), [n for n, path in _paths().items() if not isinstance(path, str)]
    found = [description(name) for name in setting.descriptions if name in _paths()]
    found += [one for name in foreign if (one := _alone(name)) is not None]
    return [one for one in found if isinstance(model, one.models)]


def _alone(name: str) -> "AnyDescription | None":
    path = _paths()[name]
    assert not isinstance(path, str)
    cls = _loaded(path)
    return None if cls is None else description(name)


@lru_cache(maxsize=1)
def _paths() -> dict[str, str | EntryPoint]:
    """The path of every description: first those of the settings, then those that other packages add to settings."""
    found: dict[str, str | EntryPoint] = {}
    for setting in settings():
        for name, path in setting.descriptions.items():
            if found.get(name, path) != path:
                _warn_of(
                    f"the setting {setting.name!r}", f"its description {name!r} is ignored, because the name is taken"
                )
            else:
                found[name] = path
    for point in entry_points(group=DESCRIPTIONS_GROUP):
        if point.name in found:
            _warn(point, f"it is ignored, because the name already belongs to {_whose(found[point.name])}")
        else:
            found[point.name] = point
    return found


def _kind(section: object) -> str | None:
    kind = section.get("kind") if isinstance(section, Mapping) else getattr(section, "kind", None)
    return None if kind is None else str(kind)


def _owners(section: str, kind: str) -> "tuple[Setting, ...]":
    """The settings that know this kind of data or training."""
    owners = tuple(one for one in settings() if kind in one.kinds(section))
    if not owners:
        known = dict.fromkeys(kind for one in settings() for kind in one.kinds(section))
        raise ProblemError(f"[{section}] got kind = {kind!r}; {suggest(kind, known)}")
    return owners


def _clashes(one: "Setting", other: "Setting") -> bool:
    return one.name == other.name or bool({*one.kinds("data")} & {*other.kinds("data")})


def _loaded(point: EntryPoint) -> Any:
    try:
        return point.load()
    except Exception as failure:  # another package may raise anything, and must not end every command
        _warn(point, f"it cannot be loaded ({type_and_first_line(failure)})")
        return None


def _warn(point: EntryPoint, what: str) -> None:
    _warn_of(f"the plug-in {point.name!r} of {_whose(point)}", what)


def _warn_of(whose: str, what: str) -> None:
    warnings.warn(f"{whose}: {what}.", PluginWarning, stacklevel=2)


def _whose(path: str | EntryPoint) -> str:
    if isinstance(path, str):
        return path.partition(":")[0].partition(".")[0]
    return path.dist.name if path.dist is not None else path.value
