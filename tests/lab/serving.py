"""A real server of the lab in a thread, and a client that can also do what no browser does."""

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import NamedTuple

import uvicorn
from websockets.sync.client import ClientConnection, connect

import dimfree as df
from dimfree.lab import serve
from dimfree.lab.guard import Door, door
from dimfree.lab.server import application

TOKEN = "a-token-of-tests"
TINY = {"data": {"kind": "given-points"}, "network": {"width": 4}, "run": {"until": 2.0, "points": 5, "replicas": 2}}
UPGRADE = {
    "connection": "Upgrade",
    "upgrade": "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
}


def tiny(**changes: object) -> df.Problem:
    return df.Problem(**TINY).replace(**changes)


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    content: bytes


class Client:
    """What speaks to a server; with `cookie` it has shown its token."""

    def __init__(self, through: Door) -> None:
        self.host, self.port = through.host, through.port
        self.origin, self.name = f"http://{through.host}:{through.port}", through.cookie
        self.cookie: str | None = None

    def enter(self) -> "Client":
        self.cookie = f"{self.name}={TOKEN}"
        return self

    def get(self, path: str, method: str = "GET", **headers: str) -> Answer:
        """One request, with the path as it is given; an empty header is left out."""
        sent = {"host": f"{self.host}:{self.port}", "cookie": self.cookie or ""}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = HTTPConnection(self.host, self.port, timeout=300)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in sent.items():
                if value:
                    connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.headers), answer.read())
        finally:
            connection.close()

    def upgrade(self, path: str = "/socket", **headers: str) -> int:
        """The status of a request for a websocket: 101 if it is let in."""
        return self.get(path, **{"origin": self.origin, **UPGRADE, **headers}).status

    def socket(self) -> ClientConnection:
        """A websocket as a page of the server opens it."""
        return connect(
            f"ws://{self.host}:{self.port}/socket",
            origin=self.origin,
            additional_headers={"Cookie": self.cookie or ""},
            max_size=None,
            compression=None,
            close_timeout=2,
        )


def asked(socket: ClientConnection, **message: object) -> list[dict]:
    """All answers to one message."""
    socket.send(json.dumps(message))
    if message["ask"] in ("solve", "simulate"):
        return answers(socket, message["id"])
    return [json.loads(socket.recv(timeout=300))]


def answers(socket: ClientConnection, number: object) -> list[dict]:
    """The answers with this number, up to the last."""
    found: list[dict] = []
    while not found or found[-1]["part"] != "done":
        one = json.loads(socket.recv(timeout=300))
        if one["id"] == number:
            found.append(one)
    return found


@contextmanager
def running(problem: df.Problem) -> Iterator[Client]:
    """A server on a free port of this machine; the client has not shown its token."""
    listening = serve.listen(serve.LOOPBACK, 0)
    through = door(serve.LOOPBACK, listening.getsockname()[1], TOKEN)
    server = uvicorn.Server(serve.config(application(problem, through)))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])), daemon=True)
    thread.start()
    try:
        yield Client(through)
    finally:
        server.should_exit = True
        thread.join(60)
        listening.close()
    assert not thread.is_alive()
