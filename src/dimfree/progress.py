"""Progress with the time left, on a terminal or in a notebook: one bar per title."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Watcher = Callable[[str, float], None]  # is told what is being done and which share of it is done


def nobody(title: str, done: float) -> None:
    """Whom progress does not matter to."""


@contextmanager
def bars(shown: bool) -> Iterator[Watcher]:
    """A bar for everything that is told of, while the block runs; none of them when they are not to be shown."""
    if not shown:
        yield nobody
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskID,
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
    with Progress(*columns, console=Console(stderr=True), transient=True) as display:
        tasks: dict[str, TaskID] = {}

        def watch(title: str, done: float) -> None:
            if title not in tasks:
                tasks[title] = display.add_task(title, total=1.0)
            display.update(tasks[title], completed=done)

        yield watch
