"""Commands that run descriptions: compare, solve, simulate, show, plot."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dimfree.cli.app import AllowCode, By, Json, Out, Overrides, ProblemFile, Quiet, Seed, app, description_names
from dimfree.cli.shell import Given, prepare, progress, say, tell
from dimfree.errors import ProblemError
from dimfree.files import together

if TYPE_CHECKING:
    import xarray as xr

    from dimfree.pages import Page
    from dimfree.problem import Problem


@app.command()
def compare(
    file: ProblemFile = None,
    change: Overrides = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="<names>",
            help="Run only these descriptions, as in chain,ode.",
            autocompletion=description_names,
        ),
    ] = None,
    budget: Annotated[
        float, typer.Option("--budget", help="Seconds to spend; descriptions that would take longer are left out.")
    ] = 60.0,
    replicas: Annotated[
        list[str] | None,
        typer.Option(
            "--replicas",
            metavar="<number>",
            help="Number of independent runs, or NAME=NUMBER for one description.",
        ),
    ] = None,
    seed: Seed = None,
    out: Out = Path("dimfree-results"),
    as_json: Json = False,
    quiet: Quiet = False,
    allow_code: AllowCode = False,
) -> None:
    """Run real SGD and every theory that applies, and compare them."""
    everywhere, each = _replicas(replicas or [])
    problem = Given(file, change, seed, allow_code, everywhere).problem()
    prepare(out)
    from dimfree.comparison.compare import compared
    from dimfree.results.checkpoint import checkpoints_in

    with checkpoints_in(out / "checkpoints") as kept:
        with progress(quiet or as_json) as watch:
            chosen = None if only is None else [name for names in only for name in names.split(",") if name]
            comparison = compared(problem, each, chosen, budget, watch, kept)
        with together():
            results, figure = comparison.save(out / "comparison.nc"), out / "comparison.png"
            comparison.plot(figure)
    if as_json:
        typer.echo(json.dumps(comparison.to_dict() | {"results": str(results), "figure": str(figure)}, indent=2))
    else:
        tell(comparison.summary())
        say(f"figure:  {figure}\nresults: {results}", quiet)


def _replicas(given: list[str]) -> tuple[int | None, dict[str, int]]:
    """The numbers of replicas that the options ask for: one for all descriptions, and those for single descriptions."""
    everywhere, each = None, {}
    for text in given:
        title, separator, number = text.rpartition("=")
        if not re.fullmatch(r"0*[1-9][0-9]{0,17}", number):
            raise ProblemError(
                f"--replicas got {text!r}; write a number such as 16, or NAME=NUMBER for one description."
            )
        if separator:
            each[title] = int(number)
        else:
            everywhere = int(number)
    return everywhere, each


@app.command()
def solve(
    file: ProblemFile = None,
    change: Overrides = None,
    by: By = None,
    seed: Seed = None,
    out: Out = Path("dimfree-results"),
    as_json: Json = False,
    quiet: Quiet = False,
    allow_code: AllowCode = False,
) -> None:
    """Solve one limit theory; `dimfree simulate` runs real SGD instead."""
    from dimfree.registry import setting_of

    problem = Given(file, change, seed, allow_code).problem()
    _run_one(problem, by or setting_of(problem).theory, out, as_json, quiet)


@app.command()
def simulate(
    file: ProblemFile = None,
    change: Overrides = None,
    by: By = None,
    seed: Seed = None,
    out: Out = Path("dimfree-results"),
    as_json: Json = False,
    quiet: Quiet = False,
    allow_code: AllowCode = False,
) -> None:
    """Run real SGD, or another experiment; `dimfree solve` computes what a theory predicts."""
    from dimfree.registry import setting_of

    problem = Given(file, change, seed, allow_code).problem()
    _run_one(problem, by or setting_of(problem).simulation, out, as_json, quiet)


def _run_one(problem: "Problem", by: str, out: Path, as_json: bool, quiet: bool) -> None:
    prepare(out)
    from dimfree.comparison.comparison import alone
    from dimfree.comparison.run import run_one
    from dimfree.plain_data import plain
    from dimfree.results.checkpoint import checkpoints_in

    with checkpoints_in(out / "checkpoints") as kept:
        with progress(quiet or as_json) as watch:
            data = run_one(problem, by, watch, kept)
        found, title = alone(problem, data), data.attrs["title"]
        with together():
            written = {"results": str(found.save(out / f"{title}.nc"))}
            if "time" in data.dims:
                written["figure"] = str(out / f"{title}.png")
                found.plot(written["figure"])
    if as_json:
        typer.echo(json.dumps(plain({"description": data.attrs["description"], **_numbers(data), **written}), indent=2))
        return
    _print_numbers(data)
    say("\n".join(f"{kind + ':':<10}{path}" for kind, path in written.items()), quiet)


def _numbers(data: "xr.Dataset") -> dict[str, Any]:
    if "time" not in data.dims:
        return {str(name): values.values.tolist() for name, values in data.data_vars.items()}
    return {"time": data["time"].values.tolist(), "risk": data["risk"].mean("replica").values.tolist()}


def _print_numbers(data: "xr.Dataset") -> None:
    """Print the numbers in columns separated by tabs, below a line with the names of the columns."""
    found = _numbers(data)
    if "time" not in found:
        typer.echo("quantity\tvalue")
        for name, value in found.items():
            typer.echo(f"{name}\t{value:.6g}" if isinstance(value, float) else f"{name}\t{value}")
        return
    typer.echo("time\trisk")
    for t, value in zip(found["time"], found["risk"], strict=True):
        typer.echo(f"{t:.6g}\t{value:.6g}")


@app.command()
def plot(
    file: Annotated[
        Path, typer.Argument(help="A results file written by compare, solve or simulate, or the store of a sweep.")
    ],
    observable: Annotated[
        str | None, typer.Option("--observable", help="Draw only this observable, for every description that has it.")
    ] = None,
    kind: Annotated[
        str | None, typer.Option("--kind", help="The kind of figure for a sweep: map, curves or slopes.")
    ] = None,
    style: Annotated[str, typer.Option("--style", help="paper, or talk with larger type.")] = "paper",
    size: Annotated[
        tuple[float, float] | None, typer.Option("--size", help="Width and height in inches: --size 8 5.")
    ] = None,
    dpi: Annotated[
        int | None, typer.Option("--dpi", help="Dots per inch. Default: 160, and 80 for an animation.")
    ] = None,
    background: Annotated[
        str, typer.Option("--background", help="The background: white, transparent or dark.")
    ] = "white",
    panels: Annotated[bool, typer.Option("--panels", help="Write every panel to a numbered file of its own.")] = False,
    animation: Annotated[
        Path | None,
        typer.Option("--animate", help="Write an animation to this .gif, .webp or .mp4 file instead of a figure."),
    ] = None,
    frames: Annotated[int, typer.Option("--frames", help="The largest number of frames of an animation.")] = 100,
    out: Annotated[Path | None, typer.Option("--out", help="The file to write. Default: next to the results.")] = None,
) -> None:
    """Draw the figure of a results file again, or one of its observables; works on a sweep that is still running."""
    prepare()
    from dimfree.animation import FILM
    from dimfree.pages import PAPER, Page

    path = out or (file if file.name else file.resolve()).with_suffix(".png")
    page = Page(style, size, dpi or (FILM if animation else PAPER).dpi, panels, background).checked()
    if animation is not None:
        _animate(file, animation, observable, frames, page)
        return
    if file.is_dir():
        from dimfree.sweeps.figure import plot_sweep
        from dimfree.sweeps.status import open_sweep

        asked = {"observable": observable, "kind": kind}
        given = {name: word for name, word in asked.items() if word is not None}
        figure = plot_sweep(open_sweep(file), path, page, **given)
    else:
        from dimfree.comparison.comparison import opened

        figure = opened(file).plot(path, observable=observable, page=page)
    typer.echo("\n".join(map(str, page.files(path, figure))))


def _animate(file: Path, animation: Path, observable: str | None, frames: int, page: "Page") -> None:
    if file.is_dir():
        raise ProblemError(f"{str(file)!r} is the store of a sweep, which cannot be animated; give a results file.")
    from dimfree.comparison.comparison import opened

    with progress(False) as watch:
        opened(file).animate(
            animation, observable=observable, frames=frames, page=page, watch=lambda done: watch("frames", done)
        )
    typer.echo(str(animation))


@app.command()
def show(
    file: ProblemFile = None, change: Overrides = None, as_json: Json = False, allow_code: AllowCode = False
) -> None:
    """Print a problem, the descriptions that apply, those that refuse and why, and what each would cost."""
    problem = Given(file, change, None, allow_code).problem()
    prepare()
    from dimfree.machine import duration
    from dimfree.problem import dumps
    from dimfree.registry import candidates, setting_of
    from dimfree.results.record import cost_of
    from dimfree.setting import why_not

    rows: list[dict[str, Any]] = []
    for one in candidates(problem):
        refusal = why_not(one, problem)
        row: dict[str, Any] = {"description": one.name, "refuses": refusal}
        if refusal is None:
            cost = cost_of(one, problem)
            row |= {"steps": cost.steps, "seconds": cost.seconds, "memory": cost.memory}
        rows.append(row)
    remark = setting_of(problem).remark(problem)
    if as_json:
        found = {"problem": problem.model_dump(mode="json"), "digest": problem.digest, "descriptions": rows}
        typer.echo(json.dumps(found | {"remark": remark}, indent=2))
        return
    typer.echo(dumps(problem))
    tell("Every description, and the time, steps and memory that it would take:", hanging=0)
    for row in rows:
        answer = f"refuses: {row['refuses']}"
        if row["refuses"] is None:
            answer = f"about {duration(row['seconds'])}, {row['steps']:.3g} steps, {row['memory'] / 1e6:.3g} MB"
        tell(f"{row['description']:<15}{answer}", hanging=15)
    if remark:
        tell(f"\n{remark}", hanging=0)
