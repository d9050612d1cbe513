"""A process that computes runs, seen from the server: how it is started, asked, watched and ended.

Where Linux tells processes apart by descriptors, it is forked from a `Mother`; elsewhere it is started anew.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import IO, Any, Protocol

from stickslip.page import service as services
from stickslip.page.service import ClientGone, Service
from stickslip.page.worker import (
    ANSWER,
    COMPILES,
    FAILED,
    HEADER,
    MOST_NAME,
    PREPARES,
    READY,
    RUNS,
    STOPPED,
    WRONG,
)

GRACE = 1.0  # seconds before the end of its time from which a run ends at the next end of a piece
MOST_PREPARING = 30.0  # seconds before and after a simulation: the model, the payload
MOST_STARTING, MOST_COMPILING = 120.0, 300.0  # seconds
LOOK = 0.05  # seconds between two looks at the clock and the client
_STOPPING = 0.5  # seconds in which a run that nobody waits for may end by itself
_KILLED = 10.0  # seconds in which a process that was killed is gone

STARTS = b"-"  # what a new process does until it is ready
_ENDS = (ANSWER, WRONG, FAILED, STOPPED)
_BROKEN = b""


class TooLong(ValueError):
    """A run that was ended inside a piece: there is nothing of it to show."""


class Abandoned(ClientGone):
    """Nobody waits for this run, but its kernels are being compiled: they are wanted by the next one."""


class Failed(RuntimeError):
    """A run that failed by a mistake of ours, in the words of its process."""


class Vanished(Failed):
    """The process had ended before it began with the request: another one can answer it."""


def readable(descriptor: Any, seconds: float) -> bool:
    """Whether something can be read from a descriptor, or its end has come, within some time."""
    if not hasattr(select, "poll"):
        return bool(select.select([descriptor], [], [], seconds)[0])
    waiting = select.poll()  # `select` knows descriptors below 1024 only
    waiting.register(descriptor, select.POLLIN)
    return bool(waiting.poll(seconds * 1e3))


class Line(Protocol):
    """The way to a process and back."""

    pid: int
    """Number of the process; 0 before it is known."""
    requests: IO[bytes]
    """Stream that the process reads."""

    def frames(self) -> IO[bytes]:
        """Answer that the process writes, once it is there."""

    def alive(self) -> bool: ...

    def kill(self) -> None:
        """End the process at once, and wait for its end."""


def _popen(module: str, **pipes: Any) -> subprocess.Popen[bytes]:
    """A module of ours as a process, with the paths of this one."""
    options: dict[str, Any] = {"process_group": 0} if os.name == "posix" else {}  # Ctrl-C is the server's
    return subprocess.Popen(
        [sys.executable, "-P", "-m", f"stickslip.page.{module}"],
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        **pipes,
        **options,
    )


class Started:
    """The way to a process that was started anew."""

    def __init__(self) -> None:
        self._process = _popen("worker", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None
        self.pid, self.requests = self._process.pid, self._process.stdin

    def frames(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout

    def alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()
        for pipe in (self.requests, self.frames()):
            with contextlib.suppress(OSError):
                pipe.close()


class Forked:
    """The way to a process that a mother forks."""

    def __init__(self, connection: socket.socket) -> None:
        self.pid = 0
        self.requests: IO[bytes] = connection.makefile("wb")
        self._connection = connection
        self._descriptor = -1  # of the process: unlike its number, it never means another one
        self._ended = False
        self._lock = threading.Lock()

    def frames(self) -> IO[bytes]:
        header, descriptors, _, _ = socket.recv_fds(self._connection, HEADER.size, 1)
        if not descriptors:
            raise ConnectionError("the process has ended before it began")
        with self._lock:
            _, self.pid = HEADER.unpack(header)
            self._descriptor = descriptors[0]
            if self._ended:
                self._kill()
        return self._connection.makefile("rb")

    def alive(self) -> bool:
        with self._lock:
            return not self._ended and (self._descriptor < 0 or not readable(self._descriptor, 0.0))

    def kill(self) -> None:
        with self._lock:
            self._ended = True
            self._kill()
            with contextlib.suppress(OSError):
                self._connection.shutdown(socket.SHUT_RDWR)  # a child that is not there yet ends by it
        for end in (self.requests, self._connection):
            with contextlib.suppress(OSError):
                end.close()

    def _kill(self) -> None:
        if self._descriptor < 0:
            return
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)
        readable(self._descriptor, _KILLED)
        os.close(self._descriptor)
        self._descriptor = -1


class Nursery:
    """Where processes come from: a mother, started with the first of them and anew where she has ended."""

    def __init__(self) -> None:
        self._mother: subprocess.Popen[bytes] | None = None
        self._way: socket.socket | None = None
        self._lock = threading.Lock()
        self.forks = _can_fork()

    def pids(self) -> list[int]:
        return [] if self._mother is None else [self._mother.pid]

    def new(self, name: str) -> Line:
        """The way to a new process, for runs of the system of this name."""
        if not self.forks:
            return Started()
        word = name.encode()[:MOST_NAME] or b"-"
        ours, theirs = socket.socketpair()
        with self._lock, theirs:
            try:
                socket.send_fds(self._to_mother(), [word], [theirs.fileno()])
            except OSError:  # she has ended just now
                self._end()
                socket.send_fds(self._to_mother(), [word], [theirs.fileno()])
        return Forked(ours)

    def start(self) -> None:
        """Have the mother begin."""
        if self.forks:
            with self._lock:
                self._to_mother()

    def close(self) -> None:
        """End the mother; her children end with her."""
        with self._lock:
            self._end()

    def _to_mother(self) -> socket.socket:
        if self._mother is not None and self._mother.poll() is not None:
            self._end()
        if self._way is None:
            self._way, hers = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)  # a message stays one
            with hers:
                self._mother = _popen("mother", stdin=hers.fileno(), stdout=subprocess.DEVNULL)
        return self._way

    def _end(self) -> None:
        if self._way is not None and self._mother is not None:
            self._way.close()
            try:
                self._mother.wait(_KILLED)
            except subprocess.TimeoutExpired:
                self._mother.kill()
                self._mother.wait()
        self._way = self._mother = None


def _can_fork() -> bool:
    """Whether a process that was forked can be told from all others for good: on Linux since 5.3."""
    if not (sys.platform == "linux" and hasattr(os, "pidfd_open")):
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return False
    return True


class Process:
    """One process that computes runs of one system, whose machine code it keeps.

    `tell` is called whenever it is ready for the next request.
    """

    def __init__(self, service: Service, nursery: Nursery, kind: str, tell: Callable[[Process], None]) -> None:
        self._line = nursery.new(kind)
        self._tell = tell
        self.kind, self.begun = kind, time.monotonic()
        self.memory = self.most_memory = self.first_memory = 0
        self.path, self.ready = "", False
        self._number = 0
        self._frames: queue.Queue[tuple[bytes, bytes]] = queue.Queue()
        settings = {
            "first": service.first,
            "files": [str(path) for path in service.paths],
            "seconds": services.MOST_SECONDS - GRACE,
            "steps": services.MOST_STEPS,
        }
        self._send(settings)
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def pid(self) -> int:
        return self._line.pid

    @property
    def growth(self) -> int:
        """Bytes that it keeps since its start."""
        return max(0, self.memory - self.first_memory)

    @property
    def most(self) -> int:
        """Bytes that it has needed for its last answer beyond those of its start, some of them for a while."""
        return max(0, self.most_memory - self.first_memory)

    @property
    def was_asked(self) -> bool:
        """Whether it has had something to do."""
        return self._number > 0

    def alive(self) -> bool:
        return self._line.alive()

    def end(self) -> None:
        """Kill the process, whatever it does."""
        self._line.kill()

    def answer(self, path: str, request: Any, gone: Callable[[], bool]) -> bytes:
        """Compute an answer here; where the process does not end the run in its time, or nobody waits, it is killed."""
        self._number += 1
        self.path = path
        try:
            self._send({"number": self._number, "path": path, "request": request})
        except RecursionError:
            raise ValueError("the request is nested too deeply.") from None
        limits = {
            STARTS: MOST_STARTING,
            PREPARES: MOST_PREPARING,
            RUNS: services.MOST_SECONDS,
            COMPILES: MOST_COMPILING,
        }
        spent = dict.fromkeys(limits, 0.0)
        phase, last = PREPARES if self.ready else STARTS, time.monotonic()
        begun = False
        while True:
            letter, content = self._next(LOOK)
            now = time.monotonic()
            spent[phase] += now - last
            last = now
            if letter in spent:
                phase, begun = letter, True
            elif letter == _BROKEN and not begun:
                self.end()
                raise Vanished("the process had ended before it began with this run")
            elif letter is not None:
                return self._ended(letter, content)
            if gone():
                self._send({"stop": self._number})
                if phase == COMPILES:
                    raise Abandoned("the client left")
                self.wind_up(_STOPPING)
                raise ClientGone("the client left")
            if spent[phase] > limits[phase]:
                self.end()
                raise TooLong(_too_long(phase, request))

    def wind_up(self, seconds: float) -> None:
        """Wait for the end of a run that was told to stop; where it does not come, end the process."""
        phase, end = COMPILES, time.monotonic() + seconds
        while time.monotonic() < end:
            letter, _ = self._next(LOOK)
            if letter in _ENDS or letter == _BROKEN:
                return
            if letter is not None and letter != COMPILES and phase == COMPILES:
                phase, end = letter, min(end, time.monotonic() + _STOPPING)
        self.end()

    def _ended(self, letter: bytes, content: bytes) -> bytes:
        if letter == ANSWER:
            return content
        if letter == WRONG:
            raise ValueError(content.decode())
        if letter == _BROKEN:
            self.end()
            raise Failed("the process that computed this run has ended; the next run gets another one")
        raise Failed(content.decode())

    def _next(self, seconds: float) -> tuple[bytes | None, bytes]:
        try:
            frame = self._frames.get(timeout=seconds)
        except queue.Empty:
            return None, b""
        if frame[0] == _BROKEN:
            self._frames.put(frame)  # for whoever asks next
        return frame

    def _send(self, message: Any) -> None:
        with contextlib.suppress(OSError, ValueError):  # a process that has ended says so by its last frame
            self._line.requests.write(json.dumps(message).encode() + b"\n")
            self._line.requests.flush()

    def _listen(self) -> None:
        with contextlib.suppress(OSError, ValueError), self._line.frames() as frames:
            while len(header := frames.read(HEADER.size)) == HEADER.size:
                letter, length = HEADER.unpack(header)
                content = frames.read(length)
                if len(content) < length:
                    break
                if letter == READY:
                    self._note(content)
                else:
                    self._frames.put((letter, content))
        self._frames.put((_BROKEN, b""))

    def _note(self, content: bytes) -> None:
        self.memory, self.most_memory = map(int, content.split())
        self.first_memory = self.first_memory or self.memory
        self.ready = True
        self._tell(self)


def _too_long(phase: bytes, request: Any) -> str:
    name = str(request.get("system"))[:60] if isinstance(request, dict) else "NAME"
    command = f"`stickslip run {name} --out run.nc` has no such limit"
    if phase == COMPILES:
        return f"the page gives up what compiles for {MOST_COMPILING:g} s; {command}."
    if phase == RUNS:
        limit = f"{services.MOST_SECONDS:g} s"
        return (
            f"the page ends a run after {limit}, and this one was inside a step then, so that nothing of it can be "
            f"shown; choose another stepper or other values; {command}."
        )
    return f"the page gives up what cannot be prepared or shown within {MOST_PREPARING:g} s; {command}."
