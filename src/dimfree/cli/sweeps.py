"""`dimfree sweep`: a grid of problems, resumable, here or on a cluster."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dimfree.cli.app import AllowCode, Json, Overrides, Quiet, Seed, app
from dimfree.cli.shell import prepare, progress, say, tell
from dimfree.errors import ProblemError

if TYPE_CHECKING:
    from dimfree.sweeps.status import Status


def _shipped(incomplete: str) -> list[str]:
    from dimfree.sweeps.toml import shipped

    return [name for name in shipped() if name.startswith(incomplete)]


@app.command()
def sweep(
    file: Annotated[
        str | None,
        typer.Argument(
            help="The sweep, a TOML file, or a name from --list.", autocompletion=_shipped, show_default=False
        ),
    ] = None,
    change: Overrides = None,
    seed: Seed = None,
    store: Annotated[
        Path | None, typer.Option("--store", help="Folder for the results. Default: named after the file.")
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option("--processes", help="Number of worker processes. Default: compute in this process.", min=1),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", help="Compute with Dask: local, slurm, or tcp://HOST:PORT of a scheduler."),
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Compute failed points again.")] = False,
    show: Annotated[
        bool, typer.Option("--status", help="Report the progress of the sweep, and compute nothing.")
    ] = False,
    export: Annotated[
        Path | None,
        typer.Option("--export", help="Write the finished points to this netCDF file, and compute nothing."),
    ] = None,
    listing: Annotated[bool, typer.Option("--list", help="List the sweeps that come with dimfree, and exit.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    allow_code: AllowCode = False,
) -> None:
    """Compute a grid of problems; run the same command again to continue after an interruption."""
    if listing:
        _list(as_json)
        return
    if file is None:
        raise ProblemError("no sweep was named; give a file, or a name that `dimfree sweep --list` shows.")
    where = store or (Path(file) if Path(file).is_dir() else Path(Path(file).stem + ".zarr"))
    prepare()
    if show or export:
        _look(where, show, export, as_json, quiet)
        return
    from dimfree.problem.toml import parse_override
    from dimfree.sweeps.run import engine, run
    from dimfree.sweeps.status import status_of
    from dimfree.sweeps.store import Store
    from dimfree.sweeps.toml import read_sweep

    changes = dict(parse_override(text) for text in change or ()) | ({} if seed is None else {"run.seed": seed})
    found = read_sweep(file, changes, allow_code=allow_code)
    by = engine(processes, cluster, found.slurm)
    with progress(quiet or as_json) as watch:
        data = run(found.sweep, Store(where), by, retry, watch)
    done = status_of(data)
    _say(done, where, as_json)
    if done.failed:
        raise typer.Exit(1)


def _look(where: Path, show: bool, export: Path | None, as_json: bool, quiet: bool) -> None:
    from dimfree.sweeps.status import export as write
    from dimfree.sweeps.status import open_sweep, status

    if export:
        write(open_sweep(where), export)
        say(str(export), quiet or as_json)
    if show:
        _say(status(where), where, as_json)


def _say(done: "Status", where: Path, as_json: bool) -> None:
    if as_json:
        counts = {"points": done.points, "finished": done.finished, "failed": done.failed, "missing": done.missing}
        typer.echo(json.dumps({"store": str(where), **counts, "failures": done.failures}, indent=2))
    else:
        tell(f"{where}: {done}")


def _list(as_json: bool) -> None:
    from dimfree.sweeps.toml import shipped

    found = shipped()
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    for name, title in found.items():
        tell(f"{name:<28}{title}", hanging=28)
