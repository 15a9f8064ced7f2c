"""Commands about dimfree itself: new, list, cite, verify, doctor."""

import json
from pathlib import Path
from typing import Annotated

import typer

from dimfree.cli.app import Json, app, data_kinds, description_names
from dimfree.cli.shell import prepare, say, tell
from dimfree.errors import OutputError, ProblemError


@app.command()
def new(
    file: Annotated[Path, typer.Argument(help="Where to write the problem.")] = Path("problem.toml"),
    kind: Annotated[
        str | None,
        typer.Option("--data", help="The kind of data; `dimfree list` shows all kinds.", autocompletion=data_kinds),
    ] = None,
    training: Annotated[
        str | None, typer.Option("--training", help="The kind of training, where data have several, as multi-pass.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a commented problem to start from."""
    from dimfree.files import replacing
    from dimfree.problem import Problem, dumps
    from dimfree.registry import setting_of

    if file.exists() and not force:
        raise OutputError(f"{str(file)!r} exists already; choose another name, or replace it with --force.")
    given = {"data": kind, "training": training}
    problem = Problem(**{section: {"kind": one} for section, one in given.items() if one})
    setting = setting_of(problem)
    text = setting.commented_problem()
    if problem != setting.problem():  # the comments of the template are about the first kind of data
        text = f"# A dimfree problem, every key spelled out. `dimfree show FILE` says what it is.\n\n{dumps(problem)}"
    with replacing(file) as temporary:
        temporary.write_text(text, encoding="utf-8")
    typer.echo(str(file))


@app.command("list")
def list_(as_json: Json = False) -> None:
    """List the settings with their kinds of data, losses and descriptions, and all named activations."""
    prepare()
    from dimfree.lab.fields import named
    from dimfree.problem.activation import NAMES
    from dimfree.registry import descriptions, settings

    found = descriptions()
    losses = {
        one.name: tuple(
            dict.fromkeys(name for each in one.problem.sections("training") for name in named(each, "loss"))
        )
        for one in settings()
    }
    if as_json:
        kinds = {one.name: one.kinds("data") for one in settings()}
        summaries = {name: one.summary for name, one in found.items()}
        activations = [*NAMES, "he0 .. he19"]
        listed = {"descriptions": summaries, "data": kinds, "losses": losses, "activations": activations}
        typer.echo(json.dumps(listed, indent=2))
        return
    for setting in settings():
        own = [name for name in found if name in setting.descriptions]
        again = ", ".join(name for name in setting.descriptions if name not in own)
        kinds_of_loss = f"; losses: {', '.join(losses[setting.name])}" if losses[setting.name] else ""
        tell(f"training on {setting.name}; data: {', '.join(setting.kinds('data'))}{kinds_of_loss}")
        lines = [f"  {name:<15}{found.pop(name).summary}" for name in own] + ([f"  {again}, as above"] if again else [])
        tell("\n".join(lines) + "\n", hanging=17)
    for name, one in found.items():  # descriptions that other packages add to a setting
        tell(f"{name:<17}{one.summary}", hanging=17)
    tell(f"activations: {', '.join(NAMES)}, he0 .. he19, or your own as module:function")


@app.command()
def cite(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names of descriptions. Default: all.", autocompletion=description_names)
    ] = None,
) -> None:
    """Print BibTeX for dimfree and for the descriptions used."""
    prepare()
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
    prepare()
    from dimfree.reference.check import check_folder

    outcomes = check_folder(data)
    if not outcomes:
        raise ProblemError(f"there is no reference item in {str(data)!r}; give a folder of reference files (.json).")
    failed = [outcome for outcome in outcomes if outcome.problem]
    if as_json:
        typer.echo(json.dumps([outcome._asdict() for outcome in outcomes], indent=2))
    else:
        for outcome in outcomes:
            tell(f"{'FAIL' if outcome.problem else 'ok':<6}{outcome.name:<32}{outcome.problem or ''}", hanging=6)
    say(f"{len(outcomes) - len(failed)} of {len(outcomes)} reference items agree.", as_json)
    if failed:
        raise typer.Exit(1)


@app.command()
def doctor() -> None:
    """Report on this installation: versions, precision, cores, memory, speed."""
    prepare()
    from dimfree.machine import report
    from dimfree.programs.compiled import where_kept

    typer.echo(report(where_kept()))
