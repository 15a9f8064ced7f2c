"""`dimfree reproduce`: one figure of the source documents, with an exit code that says whether its claims hold."""

import json
from pathlib import Path
from textwrap import fill
from typing import Annotated

import typer

from dimfree.cli.app import Json, Quiet, app
from dimfree.cli.shell import prepare, progress_of_parts, say, tell
from dimfree.errors import ProblemError


def _figures(incomplete: str) -> list[str]:
    from dimfree.gallery.shelf import names

    return [name for name in names() if name.startswith(incomplete)]


@app.command()
def reproduce(
    name: Annotated[
        str | None, typer.Argument(help="The name of a figure; --list shows all names.", autocompletion=_figures)
    ] = None,
    listing: Annotated[bool, typer.Option("--list", help="List the figures and exit.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Use the sizes of the original figure, which is slow.")] = False,
    out: Annotated[Path, typer.Option("--out", help="Folder for data, figure and claims.")] = Path("dimfree-results"),
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Reproduce one figure of the literature; the exit code is 0 only if its claims hold."""
    if listing:
        _list(as_json)
        return
    if name is None:
        raise ProblemError("no figure was named; `dimfree reproduce --list` shows all names.")
    from dimfree.gallery.shelf import entry

    prepare(out)
    chosen = entry(name)
    from dimfree.gallery.reproduce import reproduce as run
    from dimfree.machine import duration

    say(f"{name}: about {duration(chosen.seconds(full))}", quiet or as_json)
    with progress_of_parts(quiet or as_json) as watch:
        done = run(chosen, out, full, watch)
    if as_json:
        typer.echo(json.dumps(done.to_dict(), indent=2))
    else:
        tell(done.summary(), hanging=6)
    say("\n".join(f"{kind + ':':<10}{path}" for kind, path in done.files._asdict().items()), quiet or as_json)
    if not done.holds:
        raise typer.Exit(1)


def _list(as_json: bool) -> None:
    """Print two lines for a figure: its cost and its title. They come from a table, so that no figure is imported."""
    from dimfree.gallery.shelf import shelved
    from dimfree.machine import duration

    if as_json:
        rows = [
            {"name": name, "title": one.title, "seconds": one.seconds, "full_seconds": one.full_seconds}
            for name, one in shelved().items()
        ]
        typer.echo(json.dumps(rows, indent=2))
        return
    longest = max(map(len, shelved())) + 2
    typer.echo(f"{'name':<{longest}}{'takes':<16}with --full")
    for name, one in shelved().items():
        typer.echo(f"{name:<{longest}}{duration(one.seconds):<16}{duration(one.full_seconds)}")
        typer.echo(fill(one.title, 80, initial_indent="    ", subsequent_indent="    "))
