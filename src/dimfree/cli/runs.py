"""Commands that run descriptions: compare, solve, simulate, show."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from dimfree.cli.app import Json, Out, Overrides, ProblemFile, Quiet, Seed, app, description_names
from dimfree.cli.shell import prepare, problem_of, progress_over, say
from dimfree.errors import RefusalError


@app.command()
def compare(
    file: ProblemFile = None,
    change: Overrides = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Only these descriptions.", autocompletion=description_names)
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
    problem = problem_of(file, change, seed)
    prepare(out)
    from dimfree.comparison.compare import compare as run

    with progress_over(problem, quiet or as_json) as watch:
        comparison = run(problem, only=only, budget=budget, fan=fan, watch=watch)
    results, figure = comparison.save(out / "comparison.nc"), comparison.plot(out / "comparison.png")
    if as_json:
        typer.echo(json.dumps(comparison.to_dict() | {"results": str(results), "figure": str(figure)}, indent=2))
    else:
        typer.echo(comparison.summary())
        say(f"figure:  {figure}\nresults: {results}", quiet)


@app.command()
def solve(
    file: ProblemFile = None,
    change: Overrides = None,
    by: Annotated[str, typer.Option("--with", help="The theory.", autocompletion=description_names)] = "ode",
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
        str, typer.Option("--with", help="sgd on vectors, or chain in overlap space.", autocompletion=description_names)
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
    problem = problem_of(file, change, seed)
    prepare(out)
    from dimfree.comparison.compare import compare as run
    from dimfree.registry import description

    refusal = description(name).refusal(problem)
    if refusal:
        raise RefusalError(f"{name} refuses: {refusal}")
    with progress_over(problem, quiet or as_json) as watch:
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
    say(f"columns: time, risk\nfigure:  {figure}\nresults: {results}", quiet)


@app.command()
def show(file: ProblemFile = None, change: Overrides = None, as_json: Json = False) -> None:
    """Say what a problem is, which descriptions apply, which refuse and why, and what each would cost."""
    problem = problem_of(file, change, None)
    prepare()
    from dimfree.comparison.budget import duration, machine_factor
    from dimfree.onepass.model import model
    from dimfree.gaussian.variance.ladder import rung
    from dimfree.onepass.problem import OnePassProblem
    from dimfree.problem import dumps
    from dimfree.registry import descriptions

    rows: list[dict[str, Any]] = []
    for name, description in descriptions().items():
        if description.family != problem.family:
            continue
        refusal = description.refusal(problem)
        row: dict[str, Any] = {"description": name, "refuses": refusal}
        if refusal is None:
            cost = description.cost(problem)
            row |= {"steps": cost.steps, "seconds": cost.seconds * machine_factor(), "memory": cost.memory}
        rows.append(row)
    if as_json:
        typer.echo(
            json.dumps(
                {"problem": problem.model_dump(mode="json"), "digest": problem.digest, "descriptions": rows}, indent=2
            )
        )
        return
    typer.echo(dumps(problem))
    for row in rows:
        answer = f"refuses: {row['refuses']}"
        if row["refuses"] is None:
            answer = f"about {duration(row['seconds'])}, {row['steps']:.3g} steps, {row['memory'] / 1e6:.3g} MB"
        typer.echo(f"{row['description']:<15}{answer}")
    if isinstance(problem, OnePassProblem):
        typer.echo(f"\nThe variance term of the ode stands on the rung {rung(model(problem))!r} (docs/accuracy.md).")
