"""The application and the options that commands share."""

import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from dimfree._version import __version__
from dimfree.errors import CodeError, DimfreeError, DimfreeWarning

_NO_MEMORY = ("RESOURCE_EXHAUSTED", "Out of memory")  # how compiled programs report it
_FIRST = ("compare", "solve", "simulate", "sweep", "show", "plot", "new")


class _Group(TyperGroup):
    """Commands whose errors are one sentence and an exit code, not a traceback."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The commands in the order of the help: the most common ones first."""
        names = super().list_commands(ctx)
        return [*(name for name in _FIRST if name in names), *(name for name in names if name not in _FIRST)]

    def invoke(self, ctx: Any) -> Any:
        """Run the command; warnings are printed and do not end it."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always", DimfreeWarning)
                warnings.showwarning = _say_warnings(warnings.showwarning)
                return super().invoke(ctx)
        except DimfreeError as failure:
            sentence = str(failure)
            if isinstance(failure, CodeError):  # its message names the Python argument, not the option
                sentence = sentence.replace("allow_code=True", "--allow-code")
            _complain(sentence)
            raise typer.Exit(failure.exit_code) from None
        except (MemoryError, RuntimeError) as failure:
            if isinstance(failure, RuntimeError) and not any(words in str(failure) for words in _NO_MEMORY):
                raise
            _complain("memory ran out; make the problem smaller, or end other programs.")
            raise typer.Exit(1) from None
        except BrokenPipeError:  # the program that reads our output has ended
            raise
        except OSError as failure:
            _complain(f"the output could not be written: {failure.strerror}.")
            raise typer.Exit(1) from None


def _complain(sentence: str) -> None:
    """Print a sentence on stderr: broken between words on a terminal, on one line for programs that read it."""
    from dimfree.comparison.text import wrapped

    text = f"dimfree: {sentence}"
    typer.echo(wrapped(text) if sys.stderr.isatty() else text, err=True)


def _say_warnings(otherwise: Any) -> Any:
    """Print each warning of dimfree once, as one sentence, and all other warnings as Python does."""
    said: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if not issubclass(category, DimfreeWarning):
            otherwise(message, category, *where, **more)
        elif str(message) not in said:
            said.add(str(message))
            _complain(str(message))

    return show


def _version(wanted: bool) -> bool:
    if wanted:
        typer.echo(f"dimfree {__version__}")
        raise typer.Exit
    return wanted


app = typer.Typer(
    cls=_Group, no_args_is_help=True, help="What will SGD do? Real training side by side with its limit theories."
)


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def description_names(incomplete: str) -> list[str]:
    """The names of descriptions that begin with the letters typed so far."""
    from dimfree.registry import names

    return [name for name in names() if name.startswith(incomplete)]


def data_kinds(incomplete: str) -> list[str]:
    """The kinds of data that begin with the letters typed so far."""
    from dimfree.registry import settings

    return [kind for one in settings() for kind in one.kinds("data") if kind.startswith(incomplete)]


ProblemFile = Annotated[
    Path | None, typer.Argument(help="The problem, a TOML file. Default: the embedded problem.", show_default=False)
]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="<key=value>",
        help="Change one key of the problem, as in training.learning_rate=0.5; may be repeated.",
    ),
]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of all random numbers; equal seeds give equal results.")]
Out = Annotated[Path, typer.Option("--out", help="Folder for figures and results.")]
AllowCode = Annotated[
    bool,
    typer.Option(
        "--allow-code", help="Allow the problem to name functions as module:function. Importing them runs their code."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress and print no report.")]
By = Annotated[
    str | None,
    typer.Option(
        "--with",
        metavar="<name>",
        help="The description to run, by name. Default: the main one of the setting.",
        autocompletion=description_names,
    ),
]
