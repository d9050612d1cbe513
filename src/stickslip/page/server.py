"""HTTP on the loopback interface: the page, the library, and runs.

    GET  /              the page
    GET  /api/library   what can be chosen
    GET  /api/glances   pictures of everything that can be chosen, at its start
    GET  /api/system?NAME   sliders of an entry
    POST /api/run       a run, as the page shows it
    POST /api/grab      the start that follows when a body is grabbed and moved
    POST /api/export    a run as a page that works from disk

A request must be addressed to this server's own name, so that no other site can be made to point here.  A request with
an `Origin` must come from its own page, so that no other site can ask.  The end of a request must be beyond doubt.
Bodies are small, answers are bounded by `Service`, and runs are computed by other processes (`Workers`).
"""

from __future__ import annotations

import contextlib
import http.client
import http.server
import io
import json
import re
import socket
import threading
import time
import urllib.parse
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from stickslip import library
from stickslip.page.document import page
from stickslip.page.process import readable
from stickslip.page.service import Service, as_json
from stickslip.page.workers import Workers

HOST = "127.0.0.1"
MOST_BODY = 65_536  # bytes of a request
MOST_CONNECTIONS = 32
TIMEOUT = 20.0  # seconds that a silent client may keep a connection
_MAKING_ROOM = 0.5  # seconds in which a connection that is given up for a new one ends
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")  # in the value of a header, line breaks of folded ones among them


class Refused(Exception):
    """A request that is not answered, with the HTTP status that says why."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class Server(http.server.ThreadingHTTPServer):
    """The page's server; port 0 takes a free one.  `url` is its address."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, service: Service, port: int = 0) -> None:
        self.service = service
        self.workers = Workers(service)
        self._places = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._waiting: dict[socket.socket, float] = {}  # connections whose request is not there yet, and since when
        super().__init__((HOST, port), Handler)

    def server_close(self) -> None:
        super().server_close()
        self.workers.close()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}/"

    def names(self) -> tuple[str, ...]:
        """Values of `Host` that mean this server; clients leave out port 80, which HTTP implies."""
        hosts = (HOST, "localhost")
        return (*(f"{host}:{self.port}" for host in hosts), *(hosts if self.port == http.client.HTTP_PORT else ()))

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._places.acquire(blocking=False) and not self._make_room():
            self.shutdown_request(request)  # too many at work; a browser tries again
            return
        self.waits(request)
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.works(request)
            self._places.release()

    def waits(self, connection: socket.socket) -> None:
        """A connection is silent, or sends its request."""
        self._waiting[connection] = time.monotonic()

    def works(self, connection: socket.socket) -> None:
        """The request of a connection is there."""
        self._waiting.pop(connection, None)

    def _make_room(self) -> bool:
        """Give up the connection that has kept us waiting longest, for a new one: who sends at once is served."""
        waiting = sorted(list(self._waiting.items()), key=lambda item: item[1])
        for connection, _ in waiting[:1]:
            self.works(connection)
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            return self._places.acquire(timeout=_MAKING_ROOM)
        return False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that vanished is nobody's concern; other errors were answered by the handler."""


class Wire(io.RawIOBase):
    """Reader of a client's request, which must be complete in time: a client that drips bytes loses its connection."""

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self.connection, self.seconds = connection, seconds
        self.begin()

    def begin(self) -> None:
        """A request begins."""
        self.end = time.monotonic() + self.seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self.end - time.monotonic()
        if left <= 0.0:
            raise TimeoutError("the request took too long")
        self.connection.settimeout(left)
        return self.connection.recv_into(buffer)


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection."""

    server: Server
    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.0"  # every answer has a status, also that to a line that is no request
    server_version = "stickslip"
    sys_version = ""
    timeout = TIMEOUT

    def setup(self) -> None:
        super().setup()
        self._wire = Wire(self.connection, self.timeout)
        self.rfile = io.BufferedReader(self._wire)

    def handle_one_request(self) -> None:
        self._wire.begin()
        self.server.waits(self.connection)
        super().handle_one_request()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the terminal belongs to the user."""

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_HEAD(self) -> None:
        self._answer(self._get)

    def do_POST(self) -> None:
        self._answer(self._post)

    # -- what is asked -------------------------------------------------------------------------------------------

    def _get(self) -> tuple[bytes, str]:
        path, _, query = self.path.partition("?")
        if path == "/":
            return page().encode(), "text/html; charset=utf-8"
        if path == "/api/library":
            return _json(self.server.service.catalogue())
        if path == "/api/glances":
            return self._computed(path, {"system": library.names()[0]}), "application/json"
        if path == "/api/system":
            return self._computed(path, {"system": urllib.parse.unquote(query)[:200]}), "application/json"
        raise Refused(HTTPStatus.NOT_FOUND, "there is no such page here.")

    def _post(self) -> tuple[bytes, str]:
        kinds = {
            "/api/run": "application/json",
            "/api/grab": "application/json",
            "/api/export": "text/html; charset=utf-8",
        }
        body = self._body()
        if self.path not in kinds:
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such page here.")
        if self.headers.get_content_type() != "application/json":
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "a request must be application/json.")
        try:
            request = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
        except (ValueError, RecursionError):
            raise Refused(HTTPStatus.BAD_REQUEST, "the request is not JSON.") from None
        return self._computed(self.path, request), kinds[self.path]

    def _computed(self, path: str, request: Any) -> bytes:
        self.server.works(self.connection)
        return self.server.workers.answer(path, request, self._gone)

    def _require_frame(self) -> None:
        """Refuse a request whose end two readers could see in different places; what follows it is not read."""
        self.close_connection, kept = True, self.close_connection
        values = [value for _, value in self.headers.raw_items()]
        if self.headers.defects or self.headers.get_payload() or any(_CONTROL.search(value) for value in values):
            raise Refused(HTTPStatus.BAD_REQUEST, "a header must be one line, NAME: VALUE.")
        lengths = self.headers.get_all("Content-Length", [])
        if len(lengths) > 1 or (lengths and "Transfer-Encoding" in self.headers):
            raise Refused(HTTPStatus.BAD_REQUEST, "a request must say once how long it is.")
        if lengths and not (lengths[0].isascii() and lengths[0].isdigit()):
            raise Refused(HTTPStatus.BAD_REQUEST, "Content-Length must be a whole number.")
        if self.command == "POST" and not lengths:
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "a request must say how long it is.")
        if self.command != "POST" and ("Transfer-Encoding" in self.headers or lengths not in ([], ["0"])):
            raise Refused(HTTPStatus.BAD_REQUEST, "only a POST may have a body.")
        if lengths and (len(lengths[0]) > 9 or int(lengths[0]) > MOST_BODY):
            raise Refused(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a request may have {MOST_BODY} bytes, got {lengths[0]:.20}."
            )
        self.close_connection = kept

    def _body(self) -> bytes:
        length = int(self.headers["Content-Length"])
        body = self.rfile.read(length)
        if len(body) < length:
            self.close_connection = True
            raise Refused(HTTPStatus.BAD_REQUEST, "the request ended early.")
        return body

    def _gone(self) -> bool:
        """Whether the client has closed its side: nobody waits for the answer."""
        try:
            return readable(self.connection, 0.0) and self.connection.recv(1, socket.MSG_PEEK) == b""
        except (OSError, ValueError):
            return True

    # -- how it is answered --------------------------------------------------------------------------------------

    def _answer(self, find: Callable[[], tuple[bytes, str]]) -> None:
        try:
            self._require_frame()
            self._check_names()
            content, kind = find()
            self._send(HTTPStatus.OK, content, kind)
        except Refused as refusal:
            self._send(refusal.status, *_json({"error": str(refusal)}))
        except ValueError as error:  # the request was wrong
            self._send(HTTPStatus.BAD_REQUEST, *_json({"error": " ".join(str(error).split())}))
        except (ConnectionError, TimeoutError):
            self.close_connection = True
        except Exception as error:  # the computation failed: say so, and go on serving
            message = f"{type(error).__name__}: {' '.join(str(error).split())}"
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, *_json({"error": message}))

    def _check_names(self) -> None:
        """Refuse requests under another name, and those that another site's page makes."""
        names = self.server.names()
        if self.headers.get_all("Host", []) not in [[name] for name in names]:
            self.close_connection = True
            raise Refused(HTTPStatus.MISDIRECTED_REQUEST, "this server answers to 127.0.0.1 and localhost only.")
        own = [f"http://{name}" for name in names]
        if any(origin not in own for origin in self.headers.get_all("Origin", [])):
            self.close_connection = True
            raise Refused(HTTPStatus.FORBIDDEN, "pages of other sites get no answer here.")
        if self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin") and self.path.startswith("/api/"):
            self.close_connection = True
            raise Refused(HTTPStatus.FORBIDDEN, "pages of other sites get no answer here.")

    def _send(self, status: HTTPStatus, content: bytes, kind: str) -> None:
        try:
            self.connection.settimeout(self.timeout)  # for the whole answer
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            if self.close_connection:
                self.send_header("Connection", "close")
            for name, value in _SAFETY.items():
                self.send_header(name, value)
            if kind.startswith("text/html"):
                self.send_header("Content-Security-Policy", _frame_policy())
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)
        except (ConnectionError, TimeoutError):  # the client went away
            self.close_connection = True


_SAFETY = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def _frame_policy() -> str:
    """Header for what a policy inside the page cannot say: nobody may show it in a frame."""
    return "frame-ancestors 'none'"


def _json(value: Any) -> tuple[bytes, str]:
    return as_json(value), "application/json"


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")
