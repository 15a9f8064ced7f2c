"""Who may connect to the server: only a browser that was given the token, on a page of this server.

A token in the address becomes a cookie that scripts cannot read and other sites cannot send. A request is refused without it,
with the name of another host (a site whose name was pointed here), or from the page of another site.
"""

from hmac import compare_digest
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dimfree.errors import DimfreeError

_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self' {sockets}; "
        "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}
_POLICY_VIOLATION = 1008  # RFC 6455
_MISDIRECTED, _FORBIDDEN, _NO_METHOD = 421, 403, 405


class Door(NamedTuple):
    """Where the server listens, and the secret that opens it."""

    host: str
    port: int
    token: str
    names: frozenset[str]  # hosts by which it may be called
    any_address: bool  # whether it may be called by any number: it listens on all of them

    @property
    def cookie(self) -> str:
        """The name of the cookie: cookies do not know ports, and two servers must not take each other's."""
        return f"dimfree-lab-{self.port}"

    @property
    def address(self) -> str:
        """What the user opens."""
        return f"http://{_bracketed(self.host)}:{self.port}/?token={self.token}"

    def admits_host(self, given: str) -> bool:
        """Whether the host of a request is this server."""
        name, _, port = given.rpartition(":")
        if not port.isdecimal() or int(port) != self.port:
            name, port = given, ""
            if self.port != 80:
                return False
        return name.lower() in self.names or (self.any_address and _is_address(name.strip("[]")))

    def knows(self, token: str) -> bool:
        """Whether this is the secret; it takes as long for one that is nearly right."""
        return compare_digest(token.encode(), self.token.encode())


def door(host: str, port: int, token: str, own_names: tuple[str, ...] = ()) -> Door:
    """The door of a server; on all addresses (0.0.0.0, ::) it is called by any of them, or by the machine's own names."""
    everywhere = _is_address(host) and ip_address(host).is_unspecified
    names = {"localhost", "127.0.0.1", "[::1]", _bracketed(host).lower(), *(name.lower() for name in own_names)}
    return Door("127.0.0.1" if everywhere else host, port, token, frozenset(names), everywhere)


class RefusedError(DimfreeError):
    """A request is not let in."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Guard:
    """The application behind its door."""

    def __init__(self, app: ASGIApp, through: Door) -> None:
        self._app, self._door = app, through

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or refuse it in one sentence."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        is_socket = scope["type"] == "websocket"
        try:
            answer = self._checked(scope, is_socket)
        except RefusedError as failure:
            if is_socket:
                await send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": str(failure)})
                return
            answer = PlainTextResponse(f"{failure}\n", failure.status)
        sending = send if is_socket else self._closed(scope, send)
        await (answer or self._app)(scope, receive, sending)

    def _checked(self, scope: Scope, is_socket: bool) -> Response | None:
        """The answer that sets the cookie; None if the request may go on to the application."""
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if len(headers.getlist("host")) != 1 or not self._door.admits_host(host):
            raise RefusedError(_MISDIRECTED, "this server is called by the address that `dimfree lab` printed.")
        if not is_socket and scope["method"] not in ("GET", "HEAD"):
            raise RefusedError(_NO_METHOD, "this server is only read from.")
        if (origin is None and is_socket) or (origin is not None and origin.lower() != f"http://{host.lower()}"):
            raise RefusedError(_FORBIDDEN, "pages of other sites may not use this server.")
        if headers.get("sec-fetch-site", "none") in ("cross-site", "same-site") and (
            is_socket or headers.get("sec-fetch-mode") != "navigate"
        ):
            raise RefusedError(_FORBIDDEN, "pages of other sites may not use this server.")
        if self._door.knows(cookie_parser(headers.get("cookie", "")).get(self._door.cookie, "")):
            return None
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])
        if is_socket or scope["path"] != "/" or len(given) != 1 or not self._door.knows(given[0]):
            raise RefusedError(_FORBIDDEN, "open the address that `dimfree lab` printed, with its token.")
        entered = RedirectResponse("/", 303)
        entered.set_cookie(self._door.cookie, self._door.token, path="/", httponly=True, samesite="strict")
        return entered

    def _closed(self, scope: Scope, send: Send) -> Send:
        """Send with headers that keep the page from loading, sending to, or being shown inside of anything else."""
        host = Headers(scope=scope).get("host", "")
        sockets = f"ws://{host}" if self._door.admits_host(host) else ""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value.format(sockets=sockets)
            await send(message)

        return sending


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
