"""A server of the page in this process, and plain requests to it."""

import http.client
import json
import threading
from contextlib import contextmanager

import pytest

from stickslip.page.server import HOST, Server
from stickslip.page.service import Service


@contextmanager
def serving(*files, first=None):
    server = Server(Service(first, files))
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.02), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


@pytest.fixture(scope="module")
def server():
    with serving() as running:
        yield running


@pytest.fixture
def ask(server):
    """Send one request; returns status, headers, and the body as JSON where it is JSON."""

    def ask(method, path, body=None, headers=None, raw=None):
        connection = http.client.HTTPConnection(HOST, server.port, timeout=300)
        sent = {"Content-Type": "application/json", **(headers or {})} if method == "POST" else dict(headers or {})
        content = raw if raw is not None else (None if body is None else json.dumps(body).encode())
        connection.request(method, path, content, sent)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        kind = answer.headers.get("Content-Type", "")
        return answer.status, answer.headers, json.loads(text) if kind == "application/json" else text.decode()

    return ask
