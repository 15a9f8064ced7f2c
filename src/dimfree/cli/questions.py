"""Commands that answer one question about a problem: its regime, its exit times, its complexity, its temperature."""

import json
from pathlib import Path
from typing import Annotated

import typer

from dimfree.cli.app import Json, Out, Overrides, ProblemFile, Quiet, Seed, app
from dimfree.cli.shell import one_pass_problem, prepare, problem_of, progress_over, say
from dimfree.errors import RefusalError


@app.command()
def regime(
    file: ProblemFile = None,
    change: Overrides = None,
    out: Annotated[Path | None, typer.Option("--out", help="Folder for the phase diagram.")] = None,
) -> None:
    """Say in words which limit a problem is near, and what a wider network or a smaller step would change."""
    problem = one_pass_problem(file, change, None, "regimes")
    from dimfree.questions.regimes.answer import explain

    typer.echo(explain(problem))
    if out:
        prepare(out)
        from dimfree.questions.regimes.figure import draw_regimes

        typer.echo(f"figure:  {draw_regimes(problem, out / 'regimes.png')}", err=True)


@app.command("exit-times")
def exit_times(
    file: ProblemFile = None,
    change: Overrides = None,
    threshold: Annotated[float, typer.Option("--threshold", help="The part of the risk to be lost.")] = 0.1,
    replicas: Annotated[int, typer.Option("--replicas", help="Random starts, each with its own run of SGD.")] = 600,
    budget: Annotated[float, typer.Option("--budget", help="Seconds that SGD may take.")] = 300.0,
    seed: Seed = None,
    out: Out = Path("dimfree-results"),
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say when SGD and its limits leave mediocrity: the first time at which the risk has lost a part."""
    problem = one_pass_problem(file, change, seed, "exit times")
    prepare(out)
    from dimfree.questions.exit_times.answer import exit_times as measure

    with progress_over(problem, quiet or as_json) as watch:
        found = measure(problem, threshold, replicas, budget=budget, watch=watch)
    results, figure = found.save(out / "exit-times.nc"), found.plot(out / "exit-times.png")
    if as_json:
        typer.echo(json.dumps(found.to_dict() | {"results": str(results), "figure": str(figure)}, indent=2))
    else:
        typer.echo(found.summary())
        say(f"figure:  {figure}\nresults: {results}", quiet)


@app.command()
def complexity(file: ProblemFile = None, change: Overrides = None, as_json: Json = False) -> None:
    """Say how many samples SGD needs to find the target: information exponent, leap, admissible rate."""
    problem = one_pass_problem(file, change, None, "sample complexities")
    prepare()
    from dimfree.questions.escape.answer import sample_complexity

    found = sample_complexity(problem)
    typer.echo(json.dumps(found._asdict(), indent=2) if as_json else found.summary())


@app.command()
def temperature(
    file: ProblemFile = None,
    change: Overrides = None,
    window: Annotated[
        float | None, typer.Option("--window", help="The last part of the run, in units of time.")
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", min=0, help="Pairs of simulated twins; 0 for theory alone.")] = 0,
    seed: Seed = None,
    out: Out = Path("dimfree-results"),
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say how hot SGD on a data set is: response against correlation in the last part of the run."""
    from dimfree.dataset.problem import DataSetProblem

    problem = DataSetProblem() if file is None and not change else problem_of(file, change, seed)
    if not isinstance(problem, DataSetProblem):
        raise RefusalError(
            f"temperatures are about training on a data set, and this problem is training on {problem.family}; "
            "set data.kind = 'two-clusters'."
        )
    prepare(out)
    from dimfree.questions.temperature.answer import temperature as measure

    found = measure(problem, window=window, seeds=seeds)
    results, figure = found.save(out / "temperature.nc"), found.plot(out / "temperature.png")
    if as_json:
        typer.echo(json.dumps(found.to_dict() | {"results": str(results), "figure": str(figure)}, indent=2))
    else:
        typer.echo(found.summary())
        say(f"figure:  {figure}\nresults: {results}", quiet)
