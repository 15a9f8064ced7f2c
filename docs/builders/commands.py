"""The page of the command line, read off the commands."""

import inspect
import typing
from typing import Any

import typer
from builders.markdown import code, table, text

from dimfree.cli.commands import app


def page() -> str:
    """Every command: what it does, its arguments and its options."""
    parts = [
        "# Options of every command",
        "Written from the program; `dimfree COMMAND --help` says the same. Exit codes: 0 fine, 1 failure, 2 wrong usage or "
        "problem, 3 a description refuses, 130 interrupted.",
    ]
    found = {info.name or info.callback.__name__.replace("_", "-"): info.callback for info in app.registered_commands}
    for name in typer.main.get_command(app).list_commands(None):
        callback = found[name]
        parts.append(f"## `dimfree {name}`")
        parts += [text(" ".join(block.split())) for block in inspect.cleandoc(callback.__doc__ or "").split("\n\n")]
        rows = [row(one) for one in inspect.signature(callback, eval_str=True).parameters.values()]
        parts.append(table(("argument or option", "default", "meaning"), rows))
    return "\n\n".join(parts) + "\n"


def row(parameter: inspect.Parameter) -> tuple[str, str, str]:
    """How one argument or option is written, its default, and its help."""
    hint = parameter.annotation
    info = next(one for one in hint.__metadata__ if hasattr(one, "param_decls"))
    written = parameter.name.upper()
    if isinstance(info, typer.models.OptionInfo):
        names = [
            one for one in (info.default, *(info.param_decls or ())) if isinstance(one, str)
        ]  # as typer keeps them
        written = ", ".join(names or [f"--{parameter.name.replace('_', '-')}"])
        is_flag = bool in (hint.__origin__, *typing.get_args(hint.__origin__))
        written += "" if is_flag else f" {(info.metavar or _value(hint.__origin__)).strip('<>').upper()}"
    default = parameter.default
    shown = "" if default in (None, False, parameter.empty) else code(str(getattr(default, "value", default)))
    return code(written), shown, text(info.help or "")


def _value(kind: Any) -> str:
    parts = [one for one in (typing.get_args(kind) or (kind,)) if one is not type(None)]
    return getattr(parts[0], "__name__", "text").upper()
