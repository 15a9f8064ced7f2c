"""One command per question, built from its record: it reads the problem, asks, writes files and prints the answer."""

import json
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dimfree.cli.app import AllowCode, Json, Out, Overrides, ProblemFile, Quiet, Seed, app
from dimfree.cli.shell import Given, prepare, progress_of_parts, say, tell
from dimfree.files import together
from dimfree.questions.question import Option, Question, questions

if TYPE_CHECKING:
    from dimfree.problem import Problem

_OutIfWanted = Annotated[
    Path | None, typer.Option("--out", help="Folder for the figure and the results. Default: write no files.")
]


def _register(question: "Question[Problem]") -> None:
    def command(
        file: Path | None,
        change: list[str] | None,
        seed: int | None,
        out: Path | None,
        as_json: bool,
        quiet: bool,
        allow_code: bool,
        **options: object,
    ) -> None:
        given = Given(file, change, seed, allow_code)
        problem = given.problem(question.example)
        prepare(out)
        with progress_of_parts(quiet or as_json) as watch:
            answer = question.ask(problem, watch, **given.functions(options))
        files = {}
        if out:
            with together():
                files = answer.files(out, question.name)
        paths = {kind: str(path) for kind, path in files.items()}
        if as_json:
            typer.echo(json.dumps(answer.to_dict() | paths | {"files": paths}, indent=2))
        else:
            tell(answer.summary())
            if files:
                say("\n".join(f"{kind + ':':<10}{path}" for kind, path in paths.items()), quiet)
        if answer.exit_code:
            raise typer.Exit(answer.exit_code)

    command.__signature__ = _signature(question)  # type: ignore[attr-defined]
    app.command(question.name, help=question.help)(command)


def _signature(question: "Question[Problem]") -> Signature:
    """The options of the question, and those that all commands have."""
    given: dict[str, tuple[Any, object]] = {"file": (ProblemFile, None), "change": (Overrides, None)}
    given |= {name: (_annotation(name, one), one.default) for name, one in question.options.items()}
    out = (_OutIfWanted, None) if question.quick else (Out, Path("dimfree-results"))
    given |= {
        "seed": (Seed, None),
        "out": out,
        "as_json": (Json, False),
        "quiet": (Quiet, False),
        "allow_code": (AllowCode, False),
    }
    kind = Parameter.POSITIONAL_OR_KEYWORD
    return Signature([Parameter(name, kind, annotation=a, default=default) for name, (a, default) in given.items()])


def _annotation(name: str, option: Option) -> Any:
    kind = option.kind if option.default is not None else option.kind | None
    flag = option.flag or name.replace("_", "-")
    return Annotated[kind, typer.Option(f"--{flag}", help=option.help, min=option.smallest)]


for _question in questions():
    _register(_question)
