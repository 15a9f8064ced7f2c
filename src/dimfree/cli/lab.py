"""`dimfree lab`: a page whose sliders change a problem, from a local server or as a file that needs no server."""

from pathlib import Path
from typing import Annotated

import typer

from dimfree.cli.app import AllowCode, Overrides, ProblemFile, Seed, app
from dimfree.cli.shell import Given, prepare, say
from dimfree.errors import ProblemError


@app.command()
def lab(
    file: ProblemFile = None,
    change: Overrides = None,
    seed: Seed = None,
    host: Annotated[
        str,
        typer.Option(
            "--host",
            help="The address to listen on. Any address but the default lets other machines reach the page.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", help="The port to listen on; 0 chooses a free one.", min=0, max=65535)
    ] = 0,
    save: Annotated[
        Path | None,
        typer.Option("--save", help="Write the page to this file and exit; the file needs no server."),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            "--table",
            help="With --save: theories that cannot be written come as a table over this number (KEY or KEY=LOW:HIGH).",
        ),
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")] = False,
    allow_code: AllowCode = False,
) -> None:
    """Open a page with sliders that change the problem; theories and SGD follow them."""
    problem = Given(file, change, seed, allow_code).problem()
    if table is not None and save is None:
        raise ProblemError("a table is part of a saved page; add --save FILE.")
    prepare(save.parent if save is not None else None)
    if save is not None:
        from dimfree.lab.saved import save_page

        save_page(problem, save, table)
        say(f"wrote {save}", False)
        return
    from dimfree.lab.serve import serve

    serve(problem, host, port, not no_browser, lambda text: say(text, False))
