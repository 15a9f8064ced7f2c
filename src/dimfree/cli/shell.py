"""What commands do around their work: read the problem, prepare jax, show progress, talk."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from dimfree.problem import Problem


def problem_of(file: Path | None, change: list[str] | None, seed: int | None, replicas: int | None = None) -> "Problem":
    """The problem of a file (or the embedded default) with single keys changed."""
    from dimfree.problem import Problem, load

    return changed(load(file) if file else Problem(), change, seed, replicas)


def changed(problem: "Problem", change: list[str] | None, seed: int | None, replicas: int | None = None) -> "Problem":
    """The same with what `--set`, `--seed` and `--replicas` say."""
    from dimfree.problem.toml import parse_override, with_overrides

    changes = dict(parse_override(text) for text in change or ())
    changes |= {key: value for key, value in (("run.seed", seed), ("run.replicas", replicas)) if value is not None}
    return with_overrides(problem, changes) if changes else problem


def prepare(out: Path | None = None) -> None:
    """What must happen before jax is imported: the compilation cache, and user modules beside the problem."""
    if out:
        from dimfree.files import writable

        writable(out)
    sys.path.insert(0, os.getcwd())
    # With host callbacks for errors a compiled solve cannot be cached; dimfree checks its results itself.
    os.environ.setdefault("EQX_ON_ERROR", "nan")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "dimfree" / "xla"
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.3")


@contextmanager
def progress(silent: bool) -> Iterator[Any]:
    """A bar per description with the time left, on a terminal only."""
    if silent or not sys.stderr.isatty():
        yield lambda title, done: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description:<14}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}

        def watch(title: str, done: float) -> None:
            if title not in tasks:
                tasks[title] = bars.add_task(title, total=1.0)
            bars.update(tasks[title], completed=done)

        yield watch


def say(text: str, quiet: bool) -> None:
    """Talk, on stderr."""
    if not quiet:
        typer.echo(text, err=True)


@contextmanager
def progress_of_parts(silent: bool) -> Iterator[Any]:
    """One bar over all work with the time left, on a terminal only."""
    if silent or not sys.stderr.isatty():
        yield lambda text, fraction: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:<32}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("starting", total=1.0)
        yield lambda text, fraction: progress.update(task, description=text, completed=fraction)
