"""Progress with the time left, on a terminal or in a notebook: a bar for every account, or one bar over all work."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Watcher = Callable[[str, float], None]  # takes the title of an account and the share of that account that is done
PartWatcher = Callable[[str, float], None]  # takes the part that is being done and the share of all work that is done
ShareWatcher = Callable[[float], None]  # takes the share of the work that is done


def nobody(title: str, done: float) -> None:
    """A watcher that shows nothing."""


def unseen(done: float) -> None:
    """A watcher of a share that shows nothing."""


def of_all(watch: PartWatcher, accounts: int) -> Watcher:
    """A watcher of several accounts, which counts each as an equal part of the whole work."""
    shares: dict[str, float] = {}

    def watched(title: str, done: float) -> None:
        shares[title] = done
        watch(title, sum(shares.values()) / accounts)

    return watched


@contextmanager
def bars(shown: bool) -> Iterator[Watcher]:
    """Show a bar for every title while the block runs, if `shown`."""
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


@contextmanager
def one_bar(shown: bool) -> Iterator[PartWatcher]:
    """Show one bar over all work while the block runs, if `shown`; it is named after the part that is being done."""
    if not shown:
        yield nobody
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:<32}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as display:
        task = display.add_task("starting", total=1.0)
        yield lambda part, done: display.update(task, description=part, completed=done)
