"""What every command does besides its own work: read the problem, prepare jax, show progress, print messages."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from dimfree.errors import OutputError
from dimfree.progress import PartWatcher, Watcher, bars, one_bar

if TYPE_CHECKING:
    from dimfree.problem import Problem


class Given(NamedTuple):
    """The options of a command that choose and change its problem."""

    file: Path | None
    changes: list[str] | None
    seed: int | None
    allow_code: bool
    replicas: int | None = None

    def problem(self, otherwise: "Callable[[], Problem] | None" = None) -> "Problem":
        """The problem in the file, changed by the options; without a file, the given default or else the embedded problem."""
        from dimfree.problem import Problem, load
        from dimfree.problem.code import with_code
        from dimfree.problem.toml import parse_override, with_overrides

        base = load(self.file, allow_code=self.allow_code) if self.file else (otherwise or Problem)()
        changes = dict(parse_override(text) for text in self.changes or ())
        numbers = {"run.seed": self.seed, "run.replicas": self.replicas}
        changes |= {key: value for key, value in numbers.items() if value is not None}
        return with_code(with_overrides(base, changes), self.allow_code, [_here()]) if changes else base

    def functions(self, options: dict[str, object]) -> dict[str, object]:
        """The options with functions in place of the paths that name them."""
        from dimfree.problem.activation import PATH
        from dimfree.problem.code import allowed_function

        return {
            name: allowed_function(name, value, self.allow_code, [_here()])
            if isinstance(value, str) and PATH.fullmatch(value)
            else value
            for name, value in options.items()
        }


def _here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise OutputError("the current folder does not exist any more; change to another one.") from None


def prepare(out: Path | None = None) -> None:
    """Do what must happen before jax is imported: make the folder for results, and choose the compilation cache."""
    if out:
        from dimfree.files import writable

        writable(out)
    from dimfree.machine import check_platform
    from dimfree.programs.folder import WORTH_KEEPING, programs_folder

    # A compiled solver that reports errors by a host callback cannot be cached, so that is off; dimfree checks its
    # results itself.
    os.environ.setdefault("EQX_ON_ERROR", "nan")
    if cache := programs_folder():
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache))
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", str(WORTH_KEEPING))
    check_platform()


@contextmanager
def progress(silent: bool) -> Iterator[Watcher]:
    """One bar per description, with the time left; on a terminal only."""
    with bars(not silent and sys.stderr.isatty()) as watch:
        yield watch


def tell(text: str, hanging: int = 2) -> None:
    """Print an answer in words on stdout, with lines broken between words to fit a terminal."""
    from dimfree.comparison.text import wrapped

    typer.echo(wrapped(text, hanging))


def say(text: str, quiet: bool) -> None:
    """Print a message on stderr."""
    if not quiet:
        typer.echo(text, err=True)


@contextmanager
def progress_of_parts(silent: bool) -> Iterator[PartWatcher]:
    """One bar over all work, with the time left; on a terminal only."""
    with one_bar(not silent and sys.stderr.isatty()) as watch:
        yield watch
