"""Targets of the fuzzer: for each reader its first inputs, the words of its format, and the check of any input."""

from __future__ import annotations

import atexit
import io
import json
import os
import shutil
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

import stickslip as ss
from stickslip import library
from stickslip.io.friction_files import read_friction_problem, write_friction_problem
from stickslip.io.load import load
from stickslip.io.models.expressions import FUNCTIONS, ExpressionError, parse, text_of
from stickslip.io.models.file import model_from_text, model_text
from stickslip.io.models.imports import imported
from stickslip.io.models.toml_text import key_lines
from stickslip.io.models.xml_text import parse_xml
from stickslip.io.stream import save
from stickslip.page import service as page_service
from stickslip.page.server import Handler, Server
from stickslip.page.service import Service
from tests.io.models.robots import MJCF, SDF, URDF

SECONDS = 2.0  # of the processor; what takes a second on an idle machine


def answers(function: Callable[[Any], Any], content: Any) -> Any:
    """Call a reader: whatever it returns, or None for a ValueError of one line; within the time."""
    begin = time.process_time()
    try:
        result = function(content)
    except ValueError as error:
        assert "\n" not in str(error) and str(error), repr(error)
        result = None
    taken = time.process_time() - begin
    assert taken < SECONDS, f"{taken:.1f} s"
    return result


class Target(NamedTuple):
    """`run` raises for an input that is not answered as it should be."""

    run: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]
    words: list[bytes]


def _words(text: str) -> list[bytes]:
    return [word.encode() for word in text.split()]


# -- expressions -------------------------------------------------------------------------------------------------------

_NAMES = {name: sp.Symbol(name) for name in ("x", "y", "v", "m", "t")}
EXPRESSIONS = """m*v**2/2
sin(x + y)/(1 + exp(-x))
max(x - 3*max(0, min(y, m)), y - 0.015)
piecewise(x**2, x < 0 and y >= 2, sqrt(abs(x)), not (x == y) or t > 3, -x)
-x**-2*atan2(y, 2.5e-3) + mod(t, 1/3)
heaviside(x)*floor(y) - sign(t)*2**0.5 + pi
((((x))))*(y - (m/(v + 1)))
erf(x)*sinc(t)*sech(y) + 1e308*1e-308
2**(2**(1/2)) + x**64*y**-64
min(1, 2, 3)*max(1/3, 0.1, pi)*atanh(1/2)""".splitlines()


def read_expression(data: bytes) -> None:
    """What can be parsed can be written and read again, to the same expression; tried with one in eight."""

    def twice(text: str) -> None:
        first = parse(text, _NAMES).expression
        if sum(data) % 8:
            return
        try:
            written = text_of(first)
        except ExpressionError:  # products of powers beyond the limits, numbers with more digits than a double
            return
        assert parse(written, _NAMES).expression == first

    answers(twice, data.decode("utf-8", "replace"))


# -- texts -------------------------------------------------------------------------------------------------------------

DISC = """stickslip = 1
kind = "scene"
name = "disc"
dim = 2
[run]
dt = 1e-3
t_end = 0.1
[[bodies]]
name = "disc"
shape = { type = "circle", radius = 0.1 }
mass = 1.0
position = [0.0, 0.1]
[[joints]]
type = "revolute"
b = "disc"
at = [0.0, 0.0]
"""


@cache
def model_texts() -> tuple[str, ...]:
    """A mechanism with a drawing, one with a force and definitions, and a scene."""
    gear = replace(library.gear_rattle(), drawing=None)
    return (model_text(library.bouncing_ball()), model_text(gear), DISC)


def read_model_text(text: str) -> Any:
    """A model with a step, or one line."""
    model = answers(lambda content: model_from_text(content, "any.toml"), text)
    if model is not None:
        assert model.scenario.dt > 0
        answers(_drawn, model.scenario)
    return model


def _drawn(scenario: Any) -> None:
    """Draw the start of a model, as pictures and page do."""
    if isinstance(scenario, library.Scenario) and scenario.drawing is not None:
        scenario.drawing(scenario.q0, 0.0, scenario.parameters)


def hostile_model(data: bytes) -> None:
    """A valid model file with one large or deep piece, chosen and sized by the bytes."""
    choice, size = data[0] if data else 0, 1 + int.from_bytes(data[1:3], "big")
    base = model_texts()[choice // 16 % 3]
    key = ".".join(["a"] * (size % 2000 + 1))
    pieces = [
        f"{key} = 1",
        f"[{key}]",
        "\n".join(f"k{i} = {i}" for i in range(size)),
        "\n".join(f"a.b.c.d.k{i} = {i}" for i in range(size)),
        "x = " + "[" * size + "]" * size,
        "x = " + "{a=" * size + "1" + "}" * size,
        "x = [" + "1.5," * size + "]",
        "x = [" + '"",' * size + "]",
        "x = " + "9" * size,
        'x = "' + "\\n" * size + '"',
        'x = """' + 'a""' * size,
        "#\n" * size,
        "[[contacts]]\n" * (size % 5000),
    ]
    places = [  # products, sums, towers and nests of functions in the place of an energy
        "*".join(f"erf(y*{i} + 1)" for i in range(size % 80 + 1)),
        "*".join(f"max(y - {i}, {i}*y, 0)" for i in range(size % 40 + 1)),
        "+".join(f"sin(v*{i})*y" for i in range(size % 60 + 1)),
        "v**2*" + "exp(" * (size % 31) + "y" + ")" * (size % 31),
        "v**2*(2 + sin(exp(1e200*y)))**" + str(size % 70),
    ]
    kind = choice % (len(pieces) + len(places))
    if kind < len(pieces):
        text = f"{base}\n{pieces[kind]}\n"
    else:
        text = model_texts()[0].replace('kinetic = "', f'kinetic = "{places[kind - len(pieces)]} + ')
    read_model_text(text)


def read_model_bytes(data: bytes) -> None:
    read_model_text(data.decode("utf-8", "replace"))


def read_lines(text: str) -> None:
    """Where TOML is valid, the scanner finds each key, and never fails."""
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, ValueError, RecursionError):
        answers(key_lines, text)
        return
    lines = key_lines(text)
    assert all((key,) in lines or any(path[0] == key for path in lines) for key in content if key.isascii())


def read_robot(data: bytes) -> None:
    answers(lambda content: imported(parse_xml(content, "any.xml")), data)


# -- binary files ------------------------------------------------------------------------------------------------------


@cache
def _folder() -> Path:
    """A folder in memory where there is one: files are written thousands of times a second."""
    memory = Path("/dev/shm")
    folder = tempfile.mkdtemp(prefix="stickslip-fuzz", dir=memory if os.access(memory, os.W_OK) else None)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def read_file(reader: Callable[[Path], Any], name: str, data: bytes) -> None:
    path = _folder() / name
    path.write_bytes(data)
    answers(reader, path)
    assert not [file for file in _folder().iterdir() if file.suffix == ".part"]


@cache
def trajectory_bytes() -> bytes:
    path = _folder() / "seed.nc"
    save(library.bouncing_ball().simulate(t_end=0.05, engine="reference"), path)
    return path.read_bytes()


@cache
def friction_bytes(suffix: str) -> bytes:
    path = _folder() / f"seed{suffix}"
    W = np.eye(6) + 0.1
    write_friction_problem(ss.FrictionProblem(W, np.array([-1.0, 0.2, 0.1, 0.5, 0, 0]), [0.5, 0.3], dim=3), path)
    return path.read_bytes()


# -- requests ----------------------------------------------------------------------------------------------------------

_PORT = 8000
_RUN = {"system": "bouncing_ball", "set": {"mass": 2.0}, "start": {"v": 1.0}, "dt": 0.01, "t_end": 0.05}


def request(method: str, path: str, body: bytes = b"", **headers: str) -> bytes:
    head = {
        "Host": f"127.0.0.1:{_PORT}",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
    } | headers
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body


def requests() -> list[bytes]:
    return [
        request("GET", "/"),
        request("GET", "/api/library"),
        request("GET", "/api/system?woodpecker"),
        request("POST", "/api/run", json.dumps(_RUN).encode()),
        request("POST", "/api/export", json.dumps({"system": "bouncing_ball", "t_end": 0.01}).encode()),
        request("HEAD", "/") + request("GET", "/api/library", Origin=f"http://127.0.0.1:{_PORT}"),
    ]


class _Wire(io.BytesIO):
    """The two ends of a connection: what the client sent, and what it got."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.sent = bytearray()

    def makefile(self, *_: Any) -> _Wire:
        return self

    def settimeout(self, _: float) -> None: ...

    def recv_into(self, buffer: Any) -> int:
        return self.readinto(buffer)

    def sendall(self, data: Any) -> None:
        self.sent += bytes(data)


@cache
def _server() -> Any:
    """The server's answers without its processes."""
    found = SimpleNamespace(service=Service(), port=_PORT, waits=lambda _: None, works=lambda _: None)
    found.names = lambda: Server.names(found)
    found.workers = found.service  # runs are computed here
    return found


@contextmanager
def _short_runs() -> Iterator[None]:
    """A changed request may ask for a run: it stays short."""
    before = page_service.MOST_STEPS, page_service.MOST_SECONDS
    page_service.MOST_STEPS, page_service.MOST_SECONDS = 20, 0.5
    try:
        yield
    finally:
        page_service.MOST_STEPS, page_service.MOST_SECONDS = before


def serve(data: bytes) -> None:
    """Every request gets a status line; none makes the server fail."""
    wire = _Wire(data)
    begin = time.process_time()
    with _short_runs():
        Handler(wire, ("127.0.0.1", 1), _server())  # type: ignore[arg-type]
    taken = time.process_time() - begin
    assert taken < SECONDS, f"{taken:.1f} s"
    answer = bytes(wire.sent)
    assert b"Traceback" not in answer and b" 500 " not in answer.split(b"\r\n")[0], answer[:400]
    assert not answer or answer.startswith((b"HTTP/1.", b"<!DOCTYPE", b"{")), answer[:100]


def _texts(texts: Iterable[str]) -> Callable[[], list[bytes]]:
    return lambda: [text.encode() for text in texts]


TARGETS = {
    "expressions": Target(
        read_expression,
        _texts(EXPRESSIONS),
        [f"{name}(".encode() for name in FUNCTIONS]
        + _words("piecewise( ** * / + - ( ) , < <= == and or not x pi 1e999"),
    ),
    "models": Target(
        read_model_bytes,
        lambda: [text.encode() for text in model_texts()],
        [
            *_words(
                '"x" "" [] {} [[contacts]] [run] [forces] [equations] [drawing] [[drawing.shapes]] "sin(y)**64" "y/0"'
            ),
            *_words("''' \"\"\" [[[[ = # \\u0000"),
            *(b"\n", b"\x00", "é".encode()),
        ],
    ),
    "hostile": Target(hostile_model, lambda: [bytes([choice, 40, choice]) for choice in range(54)], []),
    "lines": Target(
        lambda data: read_lines(data.decode("utf-8", "replace")),
        lambda: [text.encode() for text in model_texts()],
        [*_words("[ ] [[ ]] { } = , . ' \" ''' \"\"\" # \\ a.b"), b"\n", b"\r\n"],
    ),
    "robots": Target(
        read_robot,
        _texts([MJCF, URDF, SDF]),
        _words(
            '<body> </body> <!-- --> &lt; &x; <!DOCTYPE <![CDATA[ ]]> type="ball" size="" <joint/> <geom/> <default>'
        ),
    ),
    "friction": Target(
        lambda data: read_file(read_friction_problem, "any.hdf5", data),
        lambda: [friction_bytes(".hdf5")],
        [b"\xff" * 8, b"\0" * 8],
    ),
    "dat": Target(
        lambda data: read_file(read_friction_problem, "any.dat", data),
        lambda: [friction_bytes(".dat")],
        _words("-1 1e999 nan 99999999999 :"),
    ),
    "trajectories": Target(
        lambda data: read_file(load, "any.nc", data), lambda: [trajectory_bytes()], [b"\xff" * 8, b"\0" * 8]
    ),
    "requests": Target(
        serve,
        requests,
        [
            *_words("GET POST HTTP/1.1 HTTP/0.9 Host: Origin: Content-Length: /../../etc/passwd %2e%2e woodpecker"),
            *_words("dt t_end set start null true 1e400 {} ["),
            *(b"\r\n", b"\r\n\r\n"),
        ],
    ),
}
