"""The page's server over plain HTTP: what it answers, what it refuses, and that nothing ends it."""

import contextlib
import http.client
import importlib.util
import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stickslip import library
from stickslip.io.models.file import model_text
from stickslip.mechanisms.steppers.moreau_jean import MoreauJean
from stickslip.page import mother
from stickslip.page import process as process_module
from stickslip.page import service as service_module
from stickslip.page import workers as workers_module
from stickslip.page.entries import PAGE_STEPPERS, LibraryEntry, entry_names
from stickslip.page.server import HOST, MOST_BODY, MOST_CONNECTIONS, Handler, Server
from stickslip.page.service import MOST_STEPS, ClientGone, Service
from tests.page.conftest import serving
from tests.thinned import examples, thinned

RUN = {"system": "bouncing_ball", "dt": 0.01, "t_end": 0.6}


def test_the_page_is_one_file_that_asks_nothing_of_the_network(ask):
    status, headers, text = ask("GET", "/")
    assert status == 200 and headers["Content-Type"].startswith("text/html")
    assert "default-src 'none'" in text and "connect-src 'self'" in text
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "http://" not in text and "https://" not in text and " src=" not in text
    assert "@" not in text.split("<style>")[0]  # every mark of the template was filled


def test_port_80_may_be_left_out_of_the_name():
    names = {port: Server.names(SimpleNamespace(port=port)) for port in (80, 8000)}
    assert names[80] == ("127.0.0.1:80", "localhost:80", "127.0.0.1", "localhost")
    assert names[8000] == ("127.0.0.1:8000", "localhost:8000")


def test_the_library_is_offered(ask):
    status, _, catalogue = ask("GET", "/api/library")
    names = [entry["name"] for entry in catalogue["systems"]]
    assert status == 200 and set(library.names()) <= set(names) and catalogue["first"] == "woodpecker"


def test_a_run_comes_with_its_certificate(ask):
    status, _, run = ask("POST", "/api/run", RUN)
    assert status == 200 and run["system"] == "bouncing_ball"
    assert run["numbers"]["certificate"]["failed_steps"] == 0
    assert run["method"]["steps"] == 60 and run["impacts"]["total"] == 1
    expected = library.bouncing_ball().simulate(dt=0.01, t_end=0.6)
    assert run["numbers"]["energy"]["end"] == pytest.approx(expected.energy.total[-1])


def test_parameters_and_start_reach_the_run(ask):
    higher = ask("POST", "/api/run", {**RUN, "set": {"height": 2.0}})[2]
    thrown = ask("POST", "/api/run", {**RUN, "start": {"v": 3.0}})[2]
    heavy = ask("POST", "/api/run", {**RUN, "set": {"mass": 2.0}})[2]
    energy = {name: run["numbers"]["energy"]["start"] for name, run in (("h", higher), ("v", thrown), ("m", heavy))}
    assert energy["h"] == pytest.approx(2.0 * 9.81) and energy["m"] == pytest.approx(2.0 * 9.81)
    assert energy["v"] == pytest.approx(9.81 + 4.5)


def test_an_export_is_the_page_with_the_run_inside(ask):
    status, headers, text = ask("POST", "/api/export", RUN)
    assert status == 200 and headers["Content-Type"].startswith("text/html")
    inside = text.split('id="data">')[1].split("</script>")[0]
    assert json.loads(inside)["system"] == "bouncing_ball" and "connect-src 'none'" in text


WRONG = [
    ({"system": "woodpeker"}, "did you mean 'woodpecker'"),
    ({"system": 7}, "system must be the name"),
    ({"system": "../../etc/passwd"}, "unknown library entry"),
    ({"system": "/etc/passwd"}, "unknown library entry"),
    ([], "must be an object"),
    ({**RUN, "sett": {}}, "did you mean 'set'"),
    ({**RUN, "set": 3}, "set must map names"),
    ({**RUN, "set": {"fricton": 1}}, "unknown parameter"),
    ({**RUN, "set": {"mass": "heavy"}}, "mass must be a number"),
    ({**RUN, "set": {"mass": True}}, "mass must be a number"),
    ({**RUN, "set": {"mass": -1.0}}, "mass"),
    ({**RUN, "set": {"restitution": 10**400}}, "restitution must be finite"),
    ({**RUN, "start": {"z": 1.0}}, "unknown coordinate"),
    ({**RUN, "start": [1]}, "start must map"),
    ({**RUN, "dt": 0.0}, "dt must be positive"),
    ({**RUN, "dt": 1e-9, "t_end": 1e9}, "too many for the page"),
    ({**RUN, "stepper": "event driven"}, "stepper must be one of"),
    ({"system": "cube_stack", "stepper": "event-driven"}, "stepper must be one of moreau-midpoint, moreau-jean"),
    ({**RUN, "stepper": {}}, "stepper must be one of"),
    ({"system": "impacting_bar", "set": {"velocity": [1.0]}}, "velocity must be 3 numbers"),
    ({"system": "newton_cradle", "set": {"balls": 2.5}}, "balls must be a whole number"),
    ({"system": "newton_cradle", "set": {"balls": 10**6}}, "balls must lie between 1 and 7 on the page"),
    ({"system": "poured_spheres", "set": {"spheres": 10**9}}, "spheres must lie between"),
]


@pytest.mark.parametrize(("request_", "message"), WRONG, ids=lambda x: str(x)[:40])
def test_wrong_requests_get_one_clear_line(ask, request_, message):
    status, _, answer = ask("POST", "/api/run", request_)
    assert status == 400 and message in answer["error"] and "\n" not in answer["error"]


@pytest.mark.parametrize(
    ("method", "path", "headers", "raw", "status"),
    [
        ("GET", "/etc/passwd", {}, None, 404),
        ("GET", "/../../etc/passwd", {}, None, 404),
        ("GET", "/api/system?..%2f..%2fetc%2fpasswd", {}, None, 400),
        ("GET", "/", {"Host": "evil.example"}, None, 421),
        ("GET", "/api/library", {"Host": "evil.example:80"}, None, 421),
        ("GET", "/api/library", {"Origin": "http://evil.example"}, None, 403),
        ("GET", "/api/library", {"Origin": "null"}, None, 403),
        ("GET", "/api/library", {"Sec-Fetch-Site": "cross-site"}, None, 403),
        ("POST", "/api/run", {"Origin": "http://127.0.0.1:1"}, b"{}", 403),
        ("POST", "/api/run", {"Content-Type": "text/plain"}, b"{}", 415),
        ("POST", "/api/run", {}, b"{nonsense", 400),
        ("POST", "/api/run", {}, b'{"system": NaN}', 400),
        ("POST", "/api/run", {}, b"[" * 60_000, 400),
        ("POST", "/api/run", {}, b"\xff\xfe", 400),
        ("POST", "/api/run", {}, b" " * (MOST_BODY + 1), 413),
        ("POST", "/api/run", {"Content-Length": "x"}, b"", 400),
        ("POST", "/nowhere", {}, b"{}", 404),
        ("PUT", "/", {}, b"", 501),
        ("DELETE", "/api/run", {}, None, 501),
    ],
)
def test_what_is_refused(ask, method, path, headers, raw, status):
    answer = ask(method, path, headers=headers, raw=raw)
    assert answer[0] == status
    assert ask("GET", "/api/library")[0] == 200


def test_own_names_are_accepted(ask, server):
    for name in (f"localhost:{server.port}", f"127.0.0.1:{server.port}"):
        assert ask("GET", "/api/library", headers={"Host": name, "Origin": f"http://{name}"})[0] == 200


def exchanged(server, text):
    """Answer of the server to these bytes, until it closes the connection or is silent for a while."""
    with socket.create_connection((HOST, server.port), timeout=2) as client:
        client.sendall(text)
        answer = b""
        with contextlib.suppress(TimeoutError, ConnectionError):
            while part := client.recv(65536):
                answer += part
            return answer, True
        return answer, False


SMUGGLED = "GET /api/library HTTP/1.1\r\nHost: {host}\r\n\r\n"
FRAMES = {
    "two lengths": ("POST /api/run", "Content-Length: 2\r\nContent-Length: 60", 400),
    "two equal lengths": ("POST /api/run", "Content-Length: 2\r\nContent-Length: 2", 400),
    "a list of lengths": ("POST /api/run", "Content-Length: 2, 2", 400),
    "length and chunks": ("POST /api/run", "Content-Length: 2\r\nTransfer-Encoding: chunked", 400),
    "chunks": ("POST /api/run", "Transfer-Encoding: chunked", 411),
    "no length": ("POST /api/run", "X: y", 411),
    "negative": ("POST /api/run", "Content-Length: -2", 400),
    "signed": ("POST /api/run", "Content-Length: +2", 400),
    "hexadecimal": ("POST /api/run", "Content-Length: 0x2", 400),
    "other digits": ("POST /api/run", "Content-Length: ²", 400),
    "huge": ("POST /api/run", "Content-Length: 99999999999999999999", 413),
    "folded": ("POST /api/run", "X: y\r\n z\r\nContent-Length: 2", 400),
    "folded length": ("POST /api/run", "Content-Length:\r\n 2", 400),
    "blank before the colon": ("POST /api/run", "Content-Length : 2", 400),
    "no colon": ("POST /api/run", "Content-Length: 2\r\nnonsense", 400),
    "zero byte": ("POST /api/run", "X: a\0b\r\nContent-Length: 2", 400),
    "bare return": ("POST /api/run", "X: a\rContent-Length: 9\r\nContent-Length: 2", 400),
    "body of a GET": ("GET /api/library", "Content-Length: 2", 400),
    "chunks of a GET": ("GET /api/library", "Transfer-Encoding: chunked", 400),
    "body of a HEAD": ("HEAD /", "Content-Length: 2", 400),
    "body of a PUT": ("PUT /", "Content-Length: 2", 501),
}


@pytest.mark.parametrize("name", FRAMES)
def test_where_a_request_ends_is_beyond_doubt(server, name):
    """One answer, and the connection is closed: what follows is never taken for a request."""
    line, headers, status = FRAMES[name]
    host = f"{HOST}:{server.port}"
    text = f"{line} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n{headers}\r\n\r\n{{}}"
    answer, closed = exchanged(server, (text + SMUGGLED.format(host=host)).encode())
    assert closed and answer.startswith(f"HTTP/1.1 {status} ".encode()), answer[:200]
    assert answer.count(b"HTTP/1.1 ") == 1 and b"Connection: close" in answer


def test_requests_in_a_row_are_answered_one_by_one(server):
    host = f"{HOST}:{server.port}"
    empty = f"GET /api/library HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n"
    wrong = f"POST /api/run HTTP/1.1\r\nHost: {host}\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{{}}"
    last = f"GET /api/library HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    answer, closed = exchanged(server, (empty + wrong + last).encode())
    assert closed and [part[:3] for part in answer.split(b"HTTP/1.1 ")[1:]] == [b"200", b"415", b"200"]


def test_only_the_loopback_interface_listens(server):
    assert server.server_address[0] == "127.0.0.1"


def test_clients_that_vanish_or_talk_nonsense_do_no_harm(ask, server):
    request = json.dumps(RUN).encode()
    head = f"POST /api/run HTTP/1.1\r\nHost: {HOST}:{server.port}\r\nContent-Type: application/json\r\n".encode()
    for text in (
        b"",
        b"\x00\xff" * 500,
        b"GET / HTTP/1.1\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"A" * 70_000,
        head + f"Content-Length: {len(request)}\r\n\r\n".encode() + request[:5],  # half a request
        head + f"Content-Length: {len(request)}\r\n\r\n".encode() + request,  # gone before the answer
        head + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    ):
        with socket.create_connection((HOST, server.port), timeout=5) as client:
            client.sendall(text)
    assert ask("GET", "/api/library")[0] == 200


def test_silent_connections_do_not_block_others_forever(ask, server):
    idle = [socket.create_connection((HOST, server.port), timeout=5) for _ in range(MOST_CONNECTIONS // 2)]
    assert ask("GET", "/api/library")[0] == 200
    for client in idle:
        client.close()


@pytest.mark.parametrize("connections", [60, pytest.param(3000, marks=pytest.mark.slow)])
def test_who_sends_at_once_is_served_whatever_others_hold_open(ask, server, connections):
    """Many connections that are silent or send half a header: the longest silent ones give way."""
    resource = pytest.importorskip("resource", reason="no limits on this platform")
    held = []
    try:
        for i in range(min(connections, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 300)):
            client = socket.create_connection((HOST, server.port), timeout=5)
            with contextlib.suppress(OSError):
                client.sendall(b"GET / HTTP/1.1\r\nX-Slow: " if i % 2 else b"")
            held.append(client)
            if i % 100 == 49:
                assert ask("GET", "/api/library")[0] == 200
        assert len([thread for thread in threading.enumerate() if "process_request" in thread.name]) <= MOST_CONNECTIONS
    finally:
        for client in held:
            client.close()


def test_a_request_that_drips_is_given_up(monkeypatch):
    """Each byte comes in time, the request does not: the place is free again for others."""
    monkeypatch.setattr(Handler, "timeout", 0.3)
    with serving() as server, socket.create_connection((HOST, server.port), timeout=5) as client:
        with pytest.raises(ConnectionError):
            for byte in b"GET / HTTP/1.1\r\nX-Slow: " + b"a" * 100:
                client.sendall(bytes([byte]))
                time.sleep(0.02)
        with socket.create_connection((HOST, server.port), timeout=5) as other:
            other.sendall(f"GET /api/library HTTP/1.1\r\nHost: {HOST}:{server.port}\r\n\r\n".encode())
            assert other.recv(15) == b"HTTP/1.1 200 OK"


def test_who_never_reads_an_answer_is_given_up(monkeypatch):
    """The answers do not fit into what the system keeps for a client: the place is free again for others."""
    monkeypatch.setattr(Handler, "timeout", 0.3)
    with serving() as server, socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        client.connect((HOST, server.port))
        client.sendall(f"GET / HTTP/1.1\r\nHost: {HOST}:{server.port}\r\n\r\n".encode() * 100)
        until = time.monotonic() + 60
        for taken in (True, False):
            while (server._places._value < MOST_CONNECTIONS) is not taken and time.monotonic() < until:
                time.sleep(0.002)
        assert server._places._value == MOST_CONNECTIONS and not server._waiting


def test_who_vanishes_in_the_middle_of_an_answer_does_no_harm(ask, server):
    for _ in range(5):
        with socket.create_connection((HOST, server.port), timeout=5) as client:
            client.sendall(f"GET / HTTP/1.1\r\nHost: {HOST}:{server.port}\r\n\r\n".encode())
            assert client.recv(100)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closed by a reset
    assert ask("GET", "/api/library")[0] == 200


def test_one_foreign_origin_among_others_is_enough(server):
    own = f"http://{HOST}:{server.port}"
    lines = f"Host: {HOST}:{server.port}\r\nOrigin: {own}\r\nOrigin: http://evil.example\r\n\r\n"
    with socket.create_connection((HOST, server.port), timeout=5) as client:
        client.sendall(f"GET /api/library HTTP/1.1\r\n{lines}".encode())
        assert client.recv(12) == b"HTTP/1.1 403"


def test_two_tabs_do_not_disturb_each_other(ask):
    """Requests that overlap in time each get their own run."""
    found = {}

    def tab(mass):
        found[mass] = [
            ask("POST", "/api/run", {**RUN, "set": {"mass": mass}})[2]["numbers"]["energy"]["start"] for _ in range(4)
        ]

    tabs = [threading.Thread(target=tab, args=(mass,)) for mass in (1.0, 2.0, 3.0)]
    for thread in tabs:
        thread.start()
    for thread in tabs:
        thread.join()
    assert found == {mass: [pytest.approx(9.81 * mass)] * 4 for mass in (1.0, 2.0, 3.0)}


def test_a_run_that_takes_too_long_is_shown_as_far_as_it_came(monkeypatch):
    monkeypatch.setattr(service_module, "MOST_SECONDS", -1.0)
    run = Service().run({**RUN, "dt": 1e-4})
    assert not run["complete"] and run["status"].startswith("interrupted at t = ")
    assert 0 < run["method"]["steps"] < 6000
    assert "stickslip run bouncing_ball --out run.nc" in run["notes"][0]


LONG_PIECE = {"system": "impact_oscillator", "stepper": "event-driven", "set": {"frequency": 1e9}}
"""A billion periods of the drive per second: its first piece takes minutes."""


def ends(pid, seconds=60.0):
    """Whether a process ends within some time; who has ended and is nobody's child any more counts, too."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with contextlib.suppress(OSError):
            stat = Path(f"/proc/{pid}/stat")
            if not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        time.sleep(0.05)
    return False


def post(server, request, seconds=120.0):
    connection = http.client.HTTPConnection(HOST, server.port, timeout=seconds)
    connection.request("POST", "/api/run", json.dumps(request), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_a_run_that_cannot_be_stopped_holds_up_nobody(monkeypatch):
    """A run in the middle of a piece is ended when its time is over or its client has gone, while other tabs go on.

    The time that it gets is five times that of an ordinary run here: a busy machine needs more for both.
    """
    monkeypatch.setattr(process_module, "GRACE", -600.0)  # no run ends by itself
    with serving() as server:
        assert post(server, RUN)[1]["complete"]
        begin = time.monotonic()
        assert post(server, RUN)[1]["complete"]
        limit = round(max(0.8, 5.0 * (time.monotonic() - begin)), 1)
        found = []
        with monkeypatch.context() as short:
            short.setattr(service_module, "MOST_SECONDS", limit)
            tab = threading.Thread(target=lambda: found.append(post(server, LONG_PIECE)))
            tab.start()
            others = 0
            while tab.is_alive():
                complete = post(server, RUN)[1].get("complete", False)
                others += complete and tab.is_alive()
        status, answer = found[0]
        assert others > 0 and status == 400
        assert f"the page ends a run after {limit:g} s, and this one was inside a step then" in answer["error"]
        client = http.client.HTTPConnection(HOST, server.port, timeout=60)
        client.request("POST", "/api/run", json.dumps(LONG_PIECE), {"Content-Type": "application/json"})
        until = time.monotonic() + 60
        while not any(process.ready for process in server.workers._busy) and time.monotonic() < until:
            time.sleep(0.01)
        (busy,) = [process.pid for process in server.workers._busy]
        client.close()  # the tab goes
        assert busy and ends(busy)
        assert post(server, RUN)[1]["complete"]
        left = server.workers.pids()
    assert left and all(ends(pid) for pid in left)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_processes_end_with_their_server(how):
    command = [sys.executable, "-c", "import stickslip.cli as c; c.main(['view', '--no-browser'])"]
    options = {"process_group": 0, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **options) as server:
        server.stderr.readline()  # its address
        children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
        server.send_signal(how)
        server.wait(20)
    assert children and all(ends(pid) for pid in children)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_processes_that_something_else_ends_are_replaced(server):
    """Those that compute, and the one from which they are forked."""
    nursery = server.workers._nursery
    if not nursery.forks:
        pytest.skip("no process is forked here")
    assert post(server, RUN)[1]["complete"]
    before = server.workers.pids()
    assert len(before) > 1 and before[0] == nursery.pids()[0]
    for pid in before:
        os.kill(pid, signal.SIGKILL)
        assert ends(pid)
    assert post(server, RUN)[1]["complete"]
    assert not set(before) & set(server.workers.pids())


def test_where_nothing_can_be_forked_a_process_is_started(monkeypatch):
    monkeypatch.setattr(process_module, "_can_fork", lambda: False)
    with serving() as server:
        assert post(server, RUN)[1]["complete"] and post(server, RUN)[1]["complete"]
        (only,) = server.workers.pids()
        assert server.workers._idle[0].pid == only


def test_the_first_process_of_all_learns_what_children_share(monkeypatch):
    """Machine code of scenes is loaded for the second child of a scene: the first one may have to make it."""
    learnt = []
    monkeypatch.setattr(mother, "_scenes", set())
    monkeypatch.setattr(mother, "_learn_more", lambda: learnt.append("modules"))
    monkeypatch.setattr(mother, "_learn_scenes", lambda: learnt.append("scenes"))
    for name, expected in (("bouncing_ball", []), ("cradle", ["modules"]), ("arch", ["modules", "scenes"])):
        learnt.clear()
        mother._learn(name)
        assert learnt == expected
    assert all(importlib.util.find_spec(name) for name in mother.MORE)


@pytest.mark.slow
def test_children_of_scenes_share_their_machine_code():
    """Of 30 million bytes of machine code and modules, the second child of a scene has none for itself."""
    service, nursery, told = Service(), process_module.Nursery(), []
    if not nursery.forks:
        pytest.skip("nothing is forked here")
    for name in ("billiards", "cube_stack"):
        process = process_module.Process(service, nursery, name, told.append)
        request = {"system": name, "t_end": 20 * LibraryEntry(name).scenario.dt}
        count = 2 + len(told)  # ready, and ready again
        process.answer("/api/run", request, present)
        until = time.monotonic() + 60
        while len(told) < count and time.monotonic() < until:
            time.sleep(0.01)
        growth = process.growth
        process.end()
    nursery.close()
    assert 0 < growth < 30e6


class Fake:
    """A process that computes nothing."""

    made = 0

    def __init__(self, service, nursery, kind, tell):
        Fake.made += 1
        self.pid, self.kind, self.growth, self.most, self.lives, self.tell = Fake.made, kind, 0, 0, True, tell
        self.was_asked, self.begun = True, time.monotonic()

    def alive(self):
        return self.lives

    def end(self):
        self.lives = False

    def answer(self, path, request, gone):
        return str(self.pid).encode()


@pytest.fixture
def workers(monkeypatch):
    monkeypatch.setattr(workers_module, "Process", Fake)
    monkeypatch.setattr(workers_module, "TURN", 0.0)
    monkeypatch.setattr(workers_module, "SHARE", 0.0)
    monkeypatch.setattr(workers_module, "USUAL", workers_module.MOST_TOGETHER // workers_module.MOST)
    monkeypatch.setattr(workers_module, "Nursery", lambda: SimpleNamespace(pids=list, close=lambda: None))
    return workers_module.Workers(SimpleNamespace(required=lambda request: request["system"]))


def present():
    return False


def test_a_process_does_one_system_and_few_are_kept(workers):
    def ask(system):
        return workers.answer("/api/run", {"system": system}, present)

    first = ask("a")
    assert [ask("a") for _ in range(3)] == [first] * 3
    others = [ask(f"b{k}") for k in range(workers_module.MOST - 1)]
    assert ask("a") == first and len({first, *others}) == workers_module.MOST == len(workers.pids())
    ask("new")
    assert len(workers.pids()) == workers_module.MOST and int(others[0]) not in workers.pids()  # idle longest
    assert ask("a") == first
    workers.close()
    with pytest.raises(ClientGone):
        ask("b")


def test_a_process_that_has_grown_is_ended_when_it_is_idle(workers):
    process = workers._take("a", present)
    process.growth = workers_module.MOST_GROWTH + 1
    process.tell(process)
    assert process.lives  # it has something to do
    workers._give_back(process)
    process.tell(process)
    assert not process.lives and not workers.pids()


def test_all_processes_together_have_a_share_of_memory(workers):
    """Processes that need much are fewer, but one system leaves room for another whatever it needs."""
    first = [workers._take(f"a{k}", present) for k in range(workers_module.MOST)]
    for process in first[: workers_module.SURE]:
        process.most = workers_module.MOST_TOGETHER
        process.tell(process)
    for process in first:
        workers._give_back(process)
    assert len(workers.pids()) <= workers_module.SURE
    busy = [workers._take(f"a{k}", present) for k in range(workers_module.SURE)]
    waits = threading.Thread(target=lambda: workers._take("b", present), daemon=True)
    waits.start()
    until = time.monotonic() + 20
    while not workers._queue and time.monotonic() < until:
        time.sleep(0.002)
    assert workers._queue and len(workers.pids()) == workers_module.SURE
    workers._give_back(busy[0])  # ended in favour of the one that waits
    waits.join(20)
    assert not busy[0].lives and len(workers.pids()) == workers_module.SURE
    workers.close()


def test_a_new_process_counts_as_much_as_the_last_one_of_its_system(workers):
    """It has needed nothing yet when it is ready; what its system needs is known from the one before it."""
    process = workers._take("a", present)
    process.most = 90_000_000
    process.tell(process)
    process.end()
    workers._give_back(process)
    process = workers._take("a", present)
    process.was_asked = False
    process.tell(process)
    assert workers._need("a") == 90_000_000 and workers._need("b") == workers_module.USUAL
    process.was_asked, process.most = True, 0  # its first answer takes little, and does not let more of them in
    process.tell(process)
    assert workers._need("a") == 81_000_000
    workers.close()


def test_what_processes_of_a_system_keep_counts_for_long(workers):
    """Machine code that stays: fifty answers later it still counts, while what an answer took is forgotten."""
    process = workers._take("a", present)
    process.growth, process.most = 45_000_000, 90_000_000
    process.tell(process)
    process.growth = process.most = 20_000_000  # another process, which has done one of the steppers
    for _ in range(50):
        process.tell(process)
    assert 25_000_000 < workers._need("a") < 45_000_000
    workers.close()


def test_idle_processes_make_room_for_a_page_of_a_run(workers):
    """It takes LLVM, and as much memory as one or two systems."""
    for k in range(workers_module.MOST):
        workers.answer("/api/run", {"system": f"a{k}"}, present)
    seen = []
    last = workers._idle[-1]
    last.answer = lambda *_: seen.append(len(workers.pids())) or b""
    workers.answer("/api/export", {"system": last.kind}, present)
    spent = sum([workers_module.USUAL] * seen[0], workers_module.EXPORTING)
    assert workers_module.SURE <= seen[0] < workers_module.MOST and spent <= workers_module.MOST_TOGETHER
    assert workers._idle[-1] is last and not workers._exporting
    workers.close()


def test_more_systems_than_places_take_turns(workers, monkeypatch):
    """A process is not given up after every answer: it stays for its system until its turn is over."""
    monkeypatch.setattr(workers_module, "TURN", 1e9)
    for k in range(workers_module.MOST):
        workers.answer("/api/run", {"system": f"a{k}"}, present)
    made, found = Fake.made, []
    waits = threading.Thread(target=lambda: found.append(workers._take("b", present)), daemon=True)
    waits.start()
    until = time.monotonic() + 20
    while not workers._queue and time.monotonic() < until:
        time.sleep(0.002)
    for k in range(workers_module.MOST):  # who waits holds up nobody whose process is there
        workers.answer("/api/run", {"system": f"a{k}"}, present)
    assert Fake.made == made and not found
    monkeypatch.setattr(workers_module, "TURN", 0.0)
    waits.join(20)
    assert [process.kind for process in found] == ["b"] and len(workers.pids()) == workers_module.MOST
    workers.close()


def test_a_process_that_was_long_on_its_way_stays_longer(workers, monkeypatch):
    """On a busy machine turns of 1.5 s would go into loading machine code; a compilation gives no claim to minutes."""
    monkeypatch.setattr(workers_module, "TURN", 1.5)
    monkeypatch.setattr(workers_module, "SHARE", 3.0)
    process = workers._take("a", present)
    workers._give_back(process)
    first = workers._first[process]
    for way, turn in ((0.1, 1.5), (2.0, 6.0), (100.0, workers_module.LONGEST_TURN)):
        process.begun = first - way
        assert workers._turn_ends(process) == pytest.approx(first + turn)
    workers.close()


def test_who_comes_first_is_served_first(workers):
    """More requests than processes: they wait in their order, and who leaves gives way."""
    busy = [workers._take(f"a{k}", present) for k in range(workers_module.MOST)]
    assert len(workers.pids()) == workers_module.MOST
    served, left = [], []

    def client(k):
        with contextlib.suppress(ClientGone):
            workers._take(f"b{k}", lambda: k in left)
            served.append(k)

    threads = []
    for k in range(4):
        threads.append(threading.Thread(target=client, args=(k,), daemon=True))
        threads[-1].start()
        until = time.monotonic() + 20
        while len(workers._queue) <= k and time.monotonic() < until:
            time.sleep(0.002)
    left.append(1)
    threads[1].join(20)
    for count in range(1, 4):
        workers._give_back(busy.pop(0))
        until = time.monotonic() + 20
        while len(served) < count and time.monotonic() < until:
            time.sleep(0.002)
    assert served == [0, 2, 3] and len(workers.pids()) == workers_module.MOST
    workers.close()


def test_many_requests_for_one_system_leave_room_for_others(workers):
    """However many wait for one system, a request for another one gets a process at once."""

    def one():
        with contextlib.suppress(ClientGone):
            workers._take("a", present)

    same = [threading.Thread(target=one, daemon=True) for _ in range(30)]
    for thread in same:
        thread.start()
    until = time.monotonic() + 20
    while len(workers._queue) + len(workers._busy) < len(same) and time.monotonic() < until:
        time.sleep(0.002)
    assert [process.kind for process in workers._busy] == ["a"] * workers_module.MOST_ALIKE
    others = [f"b{k}" for k in range(workers_module.MOST - workers_module.MOST_ALIKE)]
    assert [workers._take(kind, present).kind for kind in others] == others
    other = threading.Thread(target=lambda: workers._take("d", present), daemon=True)
    other.start()
    while len(workers._queue) < len(same) - workers_module.MOST_ALIKE + 1 and time.monotonic() < until:
        time.sleep(0.002)
    workers._give_back(workers._busy[0])
    other.join(20)
    assert not other.is_alive() and workers._busy[-1].kind == "d"
    workers.close()
    for thread in same:
        thread.join(20)


def test_a_compilation_is_finished_for_whoever_asks_next(workers, monkeypatch):
    """The client leaves while kernels are made: the process goes on, and the next request for its system waits."""
    done = threading.Event()

    def abandoned(self, path, request, gone):
        raise process_module.Abandoned("the client left")

    with monkeypatch.context() as leaving:
        leaving.setattr(Fake, "answer", abandoned)
        leaving.setattr(Fake, "wind_up", lambda self, seconds: done.wait(20), raising=False)
        with pytest.raises(ClientGone):
            workers.answer("/api/run", {"system": "a"}, present)
        until = time.monotonic() + 20
        while not workers._compiling and time.monotonic() < until:
            time.sleep(0.002)
        (compiling,) = workers._compiling
    found = []
    next_one = threading.Thread(target=lambda: found.append(workers._take("a", present)), daemon=True)
    next_one.start()
    assert workers._take("b", present) is not compiling  # others need not wait
    assert not found
    done.set()
    next_one.join(20)
    assert found == [compiling]
    workers.close()


LINES = {
    "HTTP/0.9": (b"GET /\r\n\r\n", 421),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    "one word": (b"nonsense\r\n\r\n", 400),
    "chunks that are none": (
        b"POST /api/run HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\n{}\r\n0\r\n\r\n",
        411,
    ),
    "a long line": (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", 414),
    "a long header": (b"GET / HTTP/1.1\r\nX: " + b"a" * 70_000 + b"\r\n\r\n", 431),
    "many headers": (b"GET / HTTP/1.1\r\n" + b"".join(b"X%d: y\r\n" % k for k in range(200)) + b"\r\n", 431),
}


@pytest.mark.parametrize("name", LINES)
def test_what_is_no_request_gets_a_status_and_the_connection_is_closed(server, name):
    text, status = LINES[name]
    answer, closed = exchanged(server, text)
    assert closed and answer.startswith(f"HTTP/1.1 {status} ".encode()) and answer.count(b"HTTP/1.1 ") == 1


KINDS = [
    *[("POST", "/api/run", {**RUN, "set": {"mass": mass}}, 200) for mass in (1.0, 2.0)],
    ("POST", "/api/export", RUN, 200),
    ("POST", "/api/run", {"system": "woodpeker"}, 400),
    ("POST", "/api/run", {**RUN, "set": {"mass": -1.0}}, 400),
    ("POST", "/api/run", {**RUN, "dt": 0.0}, 400),
    ("GET", "/", None, 200),
    ("GET", "/api/library", None, 200),
    ("GET", "/api/system?woodpecker", None, 200),
    ("GET", "/nothing", None, 404),
]


def memory(server):
    """Bytes of the server and its processes together, and how many they are.

    A page of memory that several processes share counts once (Linux's "proportional set size").
    """
    pids, total = [os.getpid(), *server.workers.pids()], 0
    for pid in pids:
        with contextlib.suppress(OSError):  # it may have ended just now
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return total, len(pids)


needs_memory = pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="reads memory in /proc")


@needs_memory
@pytest.mark.parametrize("times", [4, pytest.param(1000, marks=pytest.mark.slow)])
def test_memory_stays_whatever_is_asked(ask, server, times):
    """Requests of all kinds, ten at a time: server and processes together do not grow."""

    def all_kinds():
        for method, path, body, status in KINDS:
            assert ask(method, path, body)[0] == status

    all_kinds()
    before, _ = memory(server)
    for _ in range(times):
        all_kinds()
    grown = memory(server)[0] - before
    print(f"\n{times * len(KINDS)} requests: {before / 1e6:.0f} MB before, {grown / 1e6:+.0f} MB")
    assert grown < 50e6


STEPS = 40  # of a short run


def visit(order):
    """Requests of a tab that shows one entry for a while, with one stepper and many moves of a slider."""
    entry = LibraryEntry(order.choice(entry_names()))
    stepper, dt = order.choice(entry.steppers), entry.scenario.dt

    def short(**others):
        return {"system": entry.name, "t_end": order.randint(STEPS // 2, STEPS) * dt, "stepper": stepper, **others}

    page = [("GET", "/"), ("GET", "/api/library"), ("GET", f"/api/system?{entry.name}")]
    yield from ((method, path, None, 200) for method, path in page)
    yield from (("POST", "/api/run", short(), 200) for _ in range(13))
    yield "POST", "/api/export", short(), 200
    yield "POST", "/api/run", short(set={"nonsense": 1.0}), 400
    yield "POST", "/api/run", short(stepper="no such"), 400
    yield "GET", "/nothing", None, 404


MOST_MEMORY = 700e6
"""Bytes of the server and its processes at any moment; 4 runs of 10,000 requests had 576 to 610 MB at most."""


@pytest.mark.slow
@needs_memory
@pytest.mark.parametrize("clients", [1, 8])
def test_memory_stays_with_many_systems(ask, server, clients):
    """10,000 requests of all systems and steppers, by one client and by eight: memory is flat within 50 MB.

    Medians of tenths are compared with that of the first one.  A reading now and then is 100 MB above them, whatever
    the tenth: three processes at work, and one that was begun for another system.  No reading may reach `MOST_MEMORY`.
    """
    count, order = int(os.environ.get("STICKSLIP_REQUESTS", "10000")), random.Random(1)
    for entry in map(LibraryEntry, entry_names()):
        for stepper in entry.steppers:  # compiled, where it was not
            body = {"system": entry.name, "stepper": stepper, "t_end": entry.scenario.dt}
            assert ask("POST", "/api/run", body)[0] == 200
    seen, done, wrong, begin = [], [], [], time.monotonic()

    def client():
        while len(done) < count:
            for method, path, body, status in visit(order):
                answered, _, text = ask(method, path, body)
                done.append(path)
                if answered != status and "has no such limit" not in str(text):  # of time, as on a machine that is busy
                    wrong.append((path, body, answered, str(text)[:300]))

    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        time.sleep(0.25)
        total, processes = memory(server)
        seen.append((len(done), total, processes))
        if len(seen) % 120 == 0:
            print(
                f"{len(done)} {total / 1e6:.0f} MB, {processes} processes, {time.monotonic() - begin:.0f} s", flush=True
            )
    assert not wrong, wrong[:5]
    tenths = [[total for number, total, _ in seen if k <= 10 * number / count < k + 1] for k in range(10)]
    usual = [float(np.median(values)) for values in tenths if values]
    largest = max(total for _, total, _ in seen)
    print(
        f"{len(done)} requests: medians of tenths {[round(x / 1e6) for x in usual]} MB, at most {largest / 1e6:.0f} MB"
    )
    assert max(processes for *_, processes in seen) <= workers_module.MOST + 2
    assert max(usual) - usual[0] < 50e6 and largest < MOST_MEMORY


def test_times_beyond_all_bounds_are_answered(ask):
    status, _, answer = ask("POST", "/api/run", {**RUN, "t_end": 1e308, "dt": 1e306})
    assert status == 400 and "the motion grows beyond all bounds" in answer["error"]


@pytest.mark.parametrize("stepper", PAGE_STEPPERS)
def test_no_request_asks_for_more_steps_than_allowed(stepper):
    with pytest.raises(ValueError, match="too many for the page"):
        Service().run({**RUN, "dt": 0.6 / (1.01 * MOST_STEPS), "stepper": stepper})


def test_the_event_driven_judge_is_offered(ask):
    steppers = ask("GET", "/api/system?bouncing_ball")[2]["steppers"]
    assert steppers == list(PAGE_STEPPERS) and "event-driven" in steppers
    run = ask("POST", "/api/run", {**RUN, "stepper": "event-driven"})[2]
    assert run["complete"] and run["method"]["stepper"] == "event-driven"
    assert run["impacts"]["total"] == 1


def test_a_run_that_nobody_waits_for_ends(ask):
    """The client leaves after the first look: the run stops, and the next one is not kept waiting."""
    looks = []

    def gone():
        looks.append(time.monotonic())
        return len(looks) > 1

    service = Service()
    begin = time.monotonic()
    with pytest.raises(ClientGone, match=r"interrupted at t = "):
        service.run({"system": "bouncing_ball", "dt": 1e-4, "t_end": 20.0, "stepper": "event-driven"}, gone)
    assert len(looks) == 2 and time.monotonic() - begin < 20.0
    assert service.run(RUN)["complete"]


def test_the_server_sees_a_client_that_left():
    ours, theirs = socket.socketpair()
    handler = SimpleNamespace(connection=ours)
    assert not Handler._gone(handler)
    theirs.sendall(b"POST")  # the next request of a client that is still there
    assert not Handler._gone(handler)
    ours.recv(4)
    theirs.close()
    assert Handler._gone(handler)
    ours.close()
    assert Handler._gone(handler)


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "ball.toml"
    path.write_text(model_text(library.bouncing_ball(restitution=0.3)))
    return path


def test_a_model_file_has_sliders_and_its_picture(model):
    service = Service(None, [model])
    assert service.first == "ball.toml"
    assert service.catalogue()["systems"][0] == {"name": "ball.toml", "kind": "model"}
    described = service.describe("ball.toml")
    sliders = {control["key"]: control["value"] for control in described["controls"]}
    assert sliders["restitution"] == 0.3 and {"mass", "dt", "t_end", "y", "v"} <= set(sliders)
    run = service.run({**RUN, "system": "ball.toml", "set": {"restitution": 0.9}})
    assert run["parameters"]["restitution"] == 0.9 and run["complete"]
    assert run["motion"]["kind"] == "plane"  # the library's ball has the same names
    with pytest.raises(ValueError, match=r"ball\.toml: unknown parameter 'restituton'"):
        service.run({**RUN, "system": "ball.toml", "set": {"restituton": 0.9}})


def test_a_model_file_is_read_again_when_it_has_changed(model):
    service = Service(None, [model])
    before = service.run({**RUN, "system": "ball.toml"})["parameters"]["restitution"]
    model.write_text(model_text(library.bouncing_ball(restitution=0.75, mass=2.0)))
    after = service.run({**RUN, "system": "ball.toml"})["parameters"]["restitution"]
    assert (before, after) == (0.3, 0.75)
    model.write_text("stickslip = 1")
    with pytest.raises(ValueError, match=r"ball\.toml"):
        service.describe("ball.toml")
    model.unlink()
    with pytest.raises(ValueError, match=r"ball\.toml cannot be read"):
        service.describe("ball.toml")


def test_options_of_a_model_file_hold_unless_another_stepper_is_asked_for(model):
    text = model.read_text()
    model.write_text(text.replace("[run]", '[run]\nstepper = "moreau-jean"\ntheta = 1.0'))
    service = Service(None, [model])
    assert service.describe("ball.toml")["stepper"] == "moreau-jean"
    entry = service.models["ball.toml"]
    assert entry.options(None)["stepper"] == MoreauJean(theta=1.0) == entry.options("moreau-jean")["stepper"]
    assert entry.options("event-driven")["stepper"] == "event-driven"


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ("system", "set", "start", "dt", "t_end", "stepper", "x")


@pytest.fixture(scope="module")
def service():
    """One service, with one process behind it, for all that is asked."""
    return Service()


@thinned
@settings(max_examples=examples(10, 100))
@given(st.dictionaries(st.sampled_from(FIELDS), values, max_size=5) | values)
def test_nonsense_is_a_value_error(service, request_):
    """Anything but a value error would be our mistake, not the request's."""
    with pytest.raises(ValueError):
        service.run(request_)
