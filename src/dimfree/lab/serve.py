"""Running the server: a free port on this machine only, unless the user asks for another address."""

import secrets
import socket
import webbrowser
from collections.abc import Callable
from importlib.util import find_spec
from ipaddress import ip_address
from threading import Timer
from typing import TYPE_CHECKING

from dimfree.errors import OutputError, ProblemError
from dimfree.problem import Problem

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

LOOPBACK = "127.0.0.1"
_NEEDED = ("starlette", "uvicorn", "websockets")
_MOST_CONNECTIONS = 64
_LARGEST = 2_000_000  # bytes of a message; a longer one ends its connection
_SOON = 0.5  # seconds until the browser is opened
_EXPOSED = (
    "warning: on {host} everybody in reach who has the address with its token can run computations on this machine, with the "
    "memory and the cores of this user, and read the files that the problem names; traffic is not encrypted."
)


def serve(problem: Problem, host: str, port: int, browser: bool, say: Callable[[str], None]) -> None:
    """Serve the page of a problem until the process is ended; `say` prints its address."""
    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        raise ProblemError(f"dimfree lab needs the package {missing[0]!r}; pip install 'dimfree[lab]'.")
    import uvicorn

    from dimfree.lab.guard import door
    from dimfree.lab.server import application

    with listen(host, port) as listening:
        found = listening.getsockname()[1]
        through = door(host, found, secrets.token_urlsafe(32), (socket.gethostname(), socket.getfqdn()))
        if not is_loopback(host):
            say(_EXPOSED.format(host=host))
        say(f"dimfree lab: {through.address}\nCtrl-C ends it.")
        if browser:
            opening = Timer(_SOON, webbrowser.open, [through.address])
            opening.daemon = True
            opening.start()
        uvicorn.Server(config(application(problem, through))).run(sockets=[listening])


def config(app: "ASGIApp") -> "uvicorn.Config":
    """How the server runs: silently, and with bounds on connections and on the size of messages."""
    import uvicorn

    return uvicorn.Config(
        app,
        log_level="critical",
        access_log=False,
        server_header=False,
        limit_concurrency=_MOST_CONNECTIONS,
        ws_max_size=_LARGEST,
        ws_max_queue=8,
        timeout_keep_alive=30,
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def listen(host: str, port: int) -> socket.socket:
    """A socket on an address; on port 0 the system chooses one that is free."""
    try:
        family, _, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(where)
        listening.listen()
    except (OSError, OverflowError, UnicodeError) as failure:
        raise OutputError(
            f"nothing can listen on {host}:{port} ({getattr(failure, 'strerror', None) or failure}); choose another port."
        ) from None
    return listening
