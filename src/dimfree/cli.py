"""The command line. Data goes to stdout, talk to stderr; heavy imports wait until a command needs them."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from dimfree.errors import DimfreeError, OutputError, RefusalError

if TYPE_CHECKING:
    from dimfree.problem import Problem

INTERRUPTED = 130


class _Group(TyperGroup):
    """Commands whose errors are one sentence and an exit code, not a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except DimfreeError as failure:
            typer.echo(f"dimfree: {failure}", err=True)
            raise typer.Exit(failure.exit_code) from None
        except KeyboardInterrupt:
            typer.echo("dimfree: interrupted; nothing was written.", err=True)
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(cls=_Group, no_args_is_help=True, help="What will SGD do? Real training beside its limit theories.")


def _names(incomplete: str) -> list[str]:
    from dimfree.registry import names

    return [name for name in names() if name.startswith(incomplete)]


ProblemFile = Annotated[
    Path | None, typer.Argument(help="A problem in TOML; left out, the embedded default.", show_default=False)
]
Overrides = Annotated[list[str] | None, typer.Option("--set", help="Change one key: training.learning_rate=0.5.")]
Seed = Annotated[int | None, typer.Option("--seed", help="Same seed, same numbers.")]
Out = Annotated[Path, typer.Option("--out", help="Folder for figures and results.")]
Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no talk.")]


@app.command()
def compare(
    file: ProblemFile = None,
    change: Overrides = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Only these descriptions.", autocompletion=_names)
    ] = None,
    budget: Annotated[float, typer.Option("--budget", help="Seconds; what does not fit is left out.")] = 120.0,
    fan: Annotated[
        int | None, typer.Option("--fan", min=2, help="Replicas of the overlap chain, for its spread.")
    ] = None,
    seed: Seed = None,
    out: Out = Path("dimfree-results"),
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Put real SGD and every limit that applies side by side."""
    problem = _problem(file, change, seed)
    _prepare(out)
    from dimfree.comparison.compare import compare as run

    with _progress(problem, quiet or as_json) as watch:
        comparison = run(problem, only=only, budget=budget, fan=fan, watch=watch)
    results, figure = comparison.save(out / "comparison.nc"), comparison.plot(out / "comparison.png")
    if as_json:
        typer.echo(json.dumps(comparison.to_dict() | {"results": str(results), "figure": str(figure)}, indent=2))
    else:
        typer.echo(comparison.summary())
        _say(f"figure:  {figure}\nresults: {results}", quiet)


@app.command()
def solve(
    file: ProblemFile = None,
    change: Overrides = None,
    by: Annotated[str, typer.Option("--with", help="The theory.", autocompletion=_names)] = "ode",
    seed: Seed = None,
    out: Out = Path("dimfree-results"),
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Solve one limit theory."""
    _run_one(file, change, by, seed, out, as_json, quiet)


@app.command()
def simulate(
    file: ProblemFile = None,
    change: Overrides = None,
    by: Annotated[
        str, typer.Option("--with", help="sgd on vectors, or chain in overlap space.", autocompletion=_names)
    ] = "sgd",
    seed: Seed = None,
    out: Out = Path("dimfree-results"),
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run real SGD."""
    _run_one(file, change, by, seed, out, as_json, quiet)


def _run_one(
    file: Path | None, change: list[str] | None, name: str, seed: int | None, out: Path, as_json: bool, quiet: bool
) -> None:
    problem = _problem(file, change, seed)
    _prepare(out)
    from dimfree.comparison.compare import compare as run
    from dimfree.registry import description

    refusal = description(name).refuses(problem)
    if refusal:
        raise RefusalError(f"{name} refuses: {refusal}")
    with _progress(problem, quiet or as_json) as watch:
        comparison = run(problem, only=[name], budget=float("inf"), watch=watch)
    results, figure = comparison.save(out / f"{name}.nc"), comparison.plot(out / f"{name}.png")
    data = comparison.tree[name].to_dataset()
    risk = data["risk"].mean("replica").values.tolist()
    times = data["time"].values.tolist()
    if as_json:
        found = {"description": name, "time": times, "risk": risk, "results": str(results), "figure": str(figure)}
        typer.echo(json.dumps(found, indent=2))
        return
    for t, value in zip(times, risk, strict=True):
        typer.echo(f"{t:.6g}\t{value:.6g}")
    _say(f"columns: time, risk\nfigure:  {figure}\nresults: {results}", quiet)


@app.command()
def show(file: ProblemFile = None, change: Overrides = None, as_json: Json = False) -> None:
    """Say what a problem is, which descriptions apply, which refuse and why, and what each would cost."""
    problem = _problem(file, change, None)
    _prepare()
    from dimfree.comparison.budget import duration, machine_factor
    from dimfree.functions import model
    from dimfree.gaussian.variance import rung
    from dimfree.problem import dumps
    from dimfree.registry import descriptions

    rows: list[dict[str, Any]] = []
    for name, description in descriptions().items():
        refusal, cost = description.refuses(problem), description.cost(problem)
        seconds = cost.seconds * machine_factor()
        rows.append(
            {"description": name, "refuses": refusal, "steps": cost.steps, "seconds": seconds, "memory": cost.memory}
        )
    if as_json:
        typer.echo(
            json.dumps(
                {"problem": problem.model_dump(mode="json"), "digest": problem.digest, "descriptions": rows}, indent=2
            )
        )
        return
    typer.echo(dumps(problem))
    for row in rows:
        price = f"about {duration(row['seconds'])}, {row['steps']:.3g} steps, {row['memory'] / 1e6:.3g} MB"
        typer.echo(f"{row['description']:<15}{'refuses: ' + row['refuses'] if row['refuses'] else price}")
    typer.echo(f"\nThe variance term of the ode stands on the rung {rung(model(problem))!r} (docs/accuracy.md).")


@app.command()
def regime(file: ProblemFile = None, change: Overrides = None) -> None:
    """Say in words which limit a problem is near, and what a wider network or a smaller step would change."""
    from dimfree.theory.regimes import explain

    typer.echo(explain(_problem(file, change, None)))


@app.command()
def new(
    file: Annotated[Path, typer.Argument(help="Where to write the problem.")] = Path("problem.toml"),
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a commented problem to start from."""
    from importlib.resources import files

    from dimfree.results.store import replacing

    if file.exists() and not force:
        raise OutputError(f"{str(file)!r} exists already; choose another name, or replace it with --force.")
    with replacing(file) as temporary:
        temporary.write_text(
            files("dimfree.problem").joinpath("template.toml").read_text(encoding="utf-8"), encoding="utf-8"
        )
    typer.echo(str(file))


@app.command("list")
def list_(as_json: Json = False) -> None:
    """List the descriptions and the activations that have names."""
    _prepare()
    from dimfree.problem.activation import NAMES
    from dimfree.registry import descriptions

    summaries = {name: description.summary for name, description in descriptions().items()}
    if as_json:
        typer.echo(json.dumps({"descriptions": summaries, "activations": [*NAMES, "he0 .. he19"]}, indent=2))
        return
    for name, summary in summaries.items():
        typer.echo(f"{name:<15}{summary}")
    typer.echo(f"\nactivations: {', '.join(NAMES)}, he0 .. he19, or your own as module:function")


@app.command()
def cite(
    names: Annotated[
        list[str] | None, typer.Argument(help="Descriptions; all when left out.", autocompletion=_names)
    ] = None,
) -> None:
    """Print BibTeX for dimfree and for the descriptions used."""
    _prepare()
    from dimfree.registry import description, descriptions
    from dimfree.results.citations import bibliography

    used = [description(name) for name in names] if names else list(descriptions().values())
    typer.echo(bibliography(key for one in used for key in one.cites))


@app.command()
def verify(
    data: Annotated[Path | None, typer.Option("--data", help="Another folder of reference files.")] = None,
    as_json: Json = False,
) -> None:
    """Check the shipped reference numbers on this machine."""
    _prepare()
    from dimfree.reference.check import check_folder

    outcomes = check_folder(data)
    failed = [outcome for outcome in outcomes if outcome.problem]
    if as_json:
        typer.echo(json.dumps([outcome._asdict() for outcome in outcomes], indent=2))
    else:
        for outcome in outcomes:
            typer.echo(f"{'FAIL' if outcome.problem else 'ok':<6}{outcome.name:<32}{outcome.problem or ''}")
    _say(f"{len(outcomes) - len(failed)} of {len(outcomes)} reference items agree.", as_json)
    if failed:
        raise typer.Exit(1)


@app.command()
def doctor() -> None:
    """Say what this installation is: versions, precision, cores, memory, speed."""
    _prepare()
    from dimfree.results.doctor import report

    typer.echo(report())


def _problem(file: Path | None, change: list[str] | None, seed: int | None) -> "Problem":
    from dimfree.problem import Problem, load
    from dimfree.problem.toml import parse_override, with_overrides

    problem = load(file) if file else Problem()
    changes = dict(parse_override(text) for text in change or ())
    if seed is not None:
        changes["run.seed"] = seed
    return with_overrides(problem, changes) if changes else problem


def _prepare(out: Path | None = None) -> None:
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
def _progress(problem: "Problem", silent: bool) -> Iterator[Any]:
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


def _say(text: str, quiet: bool) -> None:
    if not quiet:
        typer.echo(text, err=True)


def main() -> None:
    """The console script."""
    app(prog_name="dimfree")
