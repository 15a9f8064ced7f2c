"""The application and the options that commands share."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from dimfree.errors import DimfreeError

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


def description_names(incomplete: str) -> list[str]:
    """Descriptions whose names begin so."""
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
