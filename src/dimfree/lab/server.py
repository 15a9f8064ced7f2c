"""The server of the lab: the page, its socket, and downloads; behind the guard, and with bounds on what one page may take."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket

from dimfree.comparison.compare import compared
from dimfree.errors import ProblemError
from dimfree.lab import page
from dimfree.lab.admission import admission_of
from dimfree.lab.export.script import chain_script
from dimfree.lab.guard import Door, Guard
from dimfree.lab.live import BUDGET
from dimfree.lab.session import Lab, Session, said_of
from dimfree.problem import Problem
from dimfree.progress import nobody

MOST_SOCKETS = 16  # pages at once
_TRY_AGAIN = 1013  # RFC 6455
_FORMS = {
    "netcdf": ("comparison.nc", "application/x-netcdf"),
    "figure": ("comparison.png", "image/png"),
}
_DRAWING = Lock()  # neither matplotlib nor the writing of several files at once may be used by two threads


def application(problem: Problem, through: Door) -> ASGIApp:
    """The application that answers for a problem, and for all that its page makes of it."""
    lab = Lab(problem, admission_of(problem))
    sockets = set[WebSocket]()

    async def socket(one: WebSocket) -> None:
        if len(sockets) >= MOST_SOCKETS:
            await one.close(_TRY_AGAIN, f"at most {MOST_SOCKETS} pages can be open at once; close one.")
            return
        sockets.add(one)
        try:
            await Session(lab, one).run()
        finally:
            sockets.discard(one)

    async def download(request: Request) -> Response:
        form = request.path_params["form"]
        if form not in _FORMS:
            return PlainTextResponse("only netcdf and figure can be downloaded.\n", 404)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(lab.running, _downloaded, lab, form, request.query_params.get("problem", ""))

    async def magnifier(request: Request) -> Response:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(lab.running, _magnifier, lab, request.query_params.get("problem", ""))

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        lab.close()

    routes = [
        Route("/", _page),
        Route("/download/{form}", download),
        Route("/magnifier", magnifier),
        Route("/{name}", _asset),
        WebSocketRoute("/socket", socket),
    ]
    return Guard(Starlette(routes=routes, lifespan=lifespan), through)


async def _page(request: Request) -> Response:
    return HTMLResponse(page.served())


async def _asset(request: Request) -> Response:
    found = page.asset(request.path_params["name"])
    if found is None:
        return PlainTextResponse("there is no such file.\n", 404)
    return Response(found[0], media_type=found[1])


def _downloaded(lab: Lab, form: str, text: str) -> Response:
    """What `dimfree compare` writes for the problem, or a sentence."""
    name, kind = _FORMS[form]
    try:
        problem = lab.admission.problem(_parsed(text))
        with _DRAWING, TemporaryDirectory() as folder:
            comparison, path = compared(problem, {}, None, BUDGET, nobody, None), Path(folder) / name
            if form == "netcdf":
                comparison.save(path)
            else:
                comparison.plot(path)
            headers = {"content-disposition": f'attachment; filename="{name}"'}
            return Response(path.read_bytes(), media_type=kind, headers=headers)
    except Exception as failure:  # whatever fails is a sentence, and the server goes on
        return PlainTextResponse(f"{said_of(failure)}\n", 422)


def _magnifier(lab: Lab, text: str) -> Response:
    """A worker that shows one step of SGD of the problem, or says why it cannot."""
    try:
        script = page.magnifier(chain_script(lab.admission.problem(_parsed(text))))
    except Exception as failure:  # as above
        script = page.refusing(said_of(failure))
    return Response(script, media_type="text/javascript; charset=utf-8")


def _parsed(text: str) -> object:
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        raise ProblemError("the address ends with ?problem= and the problem as JSON.") from None
    return found
