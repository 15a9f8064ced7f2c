"""What commands do around their work: read the problem, prepare jax, show progress, talk."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dimfree.errors import RefusalError

if TYPE_CHECKING:
    from dimfree.onepass.problem import OnePassProblem
    from dimfree.problem.problem import Problem


def problem_of(file: Path | None, change: list[str] | None, seed: int | None) -> "Problem":
    """The problem of a file (or the embedded default) with single keys changed."""
    from dimfree.onepass.problem import OnePassProblem
    from dimfree.problem import load
    from dimfree.problem.toml import parse_override, with_overrides

    problem = load(file) if file else OnePassProblem()
    changes = dict(parse_override(text) for text in change or ())
    if seed is not None:
        changes["run.seed"] = seed
    return with_overrides(problem, changes) if changes else problem


def one_pass_problem(file: Path | None, change: list[str] | None, seed: int | None, asked: str) -> "Problem":
    """The same, for questions about one-pass SGD only."""
    from dimfree.onepass.problem import OnePassProblem

    problem = problem_of(file, change, seed)
    if not isinstance(problem, OnePassProblem):
        raise RefusalError(
            f"{asked} are about training on fresh samples, and this problem is training on {problem.family}."
        )
    return problem


def prepare(out: Path | None = None) -> None:
    """What must happen before jax is imported: the compilation cache, and user modules beside the problem."""
    if out:
        from dimfree.results.store import writable

        writable(out)
    sys.path.insert(0, os.getcwd())
    # With host callbacks for errors a compiled solve cannot be cached; dimfree checks its results itself.
    os.environ.setdefault("EQX_ON_ERROR", "nan")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "dimfree" / "xla"
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.3")


@contextmanager
def progress_over(problem: "Problem", silent: bool) -> Iterator[Any]:
    """A bar per description with the time left, on a terminal only."""
    if silent or not sys.stderr.isatty():
        yield lambda name, reached: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description:<14}"),
        BarColumn(),
        TextColumn("t = {task.completed:.4g}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        tasks: dict[str, Any] = {}

        def watch(name: str, reached: float) -> None:
            if name not in tasks:
                tasks[name] = progress.add_task(name, total=float(problem.times[-1]))
            progress.update(tasks[name], completed=reached)

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
