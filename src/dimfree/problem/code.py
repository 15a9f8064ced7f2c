"""Code that a problem names as `module:function`: importing runs it, so that files may name code only where it is allowed."""

import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dimfree.errors import CodeError, ProblemError, type_and_first_line
from dimfree.problem.activation import PATH
from dimfree.problem.section import Section

if TYPE_CHECKING:
    from dimfree.problem.problem import Problem


def function_at(path: str, what: str = "activation", folders: Sequence[Path] = ()) -> Callable[..., Any]:
    """The function that a path module:function leads to; modules in `folders` are found after all others.

    `what` says in errors what the function is for.
    """
    module, _, name = path.partition(":")
    try:
        with _searched_too(folders):
            found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (Exception, SystemExit) as failure:  # a module may raise anything while it is imported
        raise ProblemError(
            f"the {what} {path!r} cannot be imported ({type_and_first_line(failure)}); "
            "give an importable module and a function in it."
        ) from None
    if not callable(found):
        raise ProblemError(f"the {what} {path!r} is not a function but a {type(found).__name__}.")
    function: Callable[..., Any] = found
    return function


def with_code(problem: "Problem", allowed: bool, folders: Sequence[Path] = ()) -> "Problem":
    """The problem with functions in place of the paths that name them; an error if it names any and code is not allowed."""
    named = {key: allowed_function(key, path, allowed, folders) for key, path in _paths(problem, "")}
    return problem.replace(**named) if named else problem


def allowed_function(key: str, path: str, allowed: bool, folders: Sequence[Path] = ()) -> Callable[..., Any]:
    """The function that a key names by its path; an error when code is not allowed."""
    if not allowed:
        raise CodeError(
            f"{key} = {path!r} names code, which a problem file may run only where you allow it; "
            "if you trust it, add allow_code=True."
        )
    return function_at(path, key.rpartition(".")[2], folders)


def _paths(section: Section, prefix: str) -> Iterator[tuple[str, str]]:
    for name in type(section).model_fields:
        value = getattr(section, name)
        if isinstance(value, Section):
            yield from _paths(value, f"{prefix}{name}.")
        elif isinstance(value, str) and PATH.fullmatch(value):
            yield f"{prefix}{name}", value


@contextmanager
def _searched_too(folders: Sequence[Path]) -> Iterator[None]:
    """Search these folders too, after all others: a module in them must not take the place of an installed one."""
    before = list(sys.path)
    sys.path.extend(str(folder) for folder in folders if str(folder) not in before)
    try:
        yield
    finally:
        sys.path[:] = before
