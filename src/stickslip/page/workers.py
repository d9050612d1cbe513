"""The processes that compute runs for the page: some ready, more where many run at once, replaced where they grow.

A run that does not end in its time, or whose client left, costs its process: whatever a kernel does, the next run
finds another one.  Processes grow, by machine code of system after system.  Where they have grown by too much together,
those that have most go on with kinds of runs that they have done, so that sliders stay quick, and are replaced when
something new is asked for, or when they have been idle for a while.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from stickslip.page import service as services
from stickslip.page.service import ClientGone, Service
from stickslip.page.worker import (
    ANSWER,
    COMPILES,
    FAILED,
    HEADER,
    PREPARES,
    READY,
    RUNS,
    STOPPED,
    WRONG,
)

KEPT = 2
"""Processes that stay when there is nothing to do."""
IDLE_SECONDS = 30.0  # after which one that is too many, or too large, is ended
MOST = 6
"""Processes at a time; further runs wait."""
MOST_GROWTH = 50_000_000
"""Bytes by which processes may grow after their start, on average; two have room for solids in space and a dozen
mechanisms."""
GRACE = 1.0  # seconds before the end of its time from which a run ends at the next end of a piece
MOST_PREPARING = 30.0  # seconds before and after a simulation: the model, the payload
MOST_STARTING, MOST_COMPILING = 120.0, 300.0  # seconds
_LOOK = 0.05  # seconds between two looks at the clock and the client
_STOPPING = 0.5  # seconds in which a run that nobody waits for may end by itself

STARTS = b"-"  # what a new process does until it is ready
_ENDS = (ANSWER, WRONG, FAILED, STOPPED)
_BROKEN = b""


class TooLong(ValueError):
    """A run that was ended inside a piece: there is nothing of it to show."""


class Abandoned(ClientGone):
    """Nobody waits for this run, but its kernels are being compiled: they are wanted by the next one."""


class Failed(RuntimeError):
    """A run that failed by a mistake of ours, in the words of its process."""


class Process:
    """One worker, seen from the server."""

    def __init__(self, service: Service) -> None:
        options: dict[str, Any] = {"process_group": 0} if os.name == "posix" else {}  # Ctrl-C is the server's
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "stickslip.page.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            **options,
        )
        self.pid = self._process.pid
        self.kinds: set[Any] = set()  # of runs that it has done: their machine code is there
        self.since = time.monotonic()  # when it became idle
        self.memory = self.first_memory = 0
        self.ready = False
        self._number = 0
        self._frames: queue.Queue[tuple[bytes, bytes]] = queue.Queue()
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()
        settings = {
            "first": service.first,
            "files": [str(path) for path in service.paths],
            "seconds": services.MOST_SECONDS - GRACE,
            "steps": services.MOST_STEPS,
        }
        self._send(settings)

    @property
    def growth(self) -> int:
        return max(0, self.memory - self.first_memory)

    def answer(self, path: str, request: Any, gone: Callable[[], bool]) -> bytes:
        """Compute an answer here; where the process does not end the run in its time, or nobody waits, it is killed."""
        self._number += 1
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
        while True:
            letter, content = self._next(_LOOK)
            now = time.monotonic()
            spent[phase] += now - last
            last = now
            if letter in spent:
                phase = letter
            elif letter == READY:  # of the start, or after the answer before
                self._note(content)
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

    def end(self) -> None:
        """Kill the process, whatever it does."""
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()

    def alive(self) -> bool:
        return self._process.poll() is None

    def settle(self) -> None:
        """Take what came since the last answer: how much memory the process has."""
        letter, content = self._next(0.0)
        while letter == READY:
            self._note(content)
            letter, content = self._next(0.0)

    def wind_up(self, seconds: float) -> None:
        """Wait for the end of a run that was told to stop; where it does not come, end the process."""
        phase, end = COMPILES, time.monotonic() + seconds
        while time.monotonic() < end:
            letter, content = self._next(_LOOK)
            if letter == READY:
                self._note(content)
            elif letter in _ENDS or letter == _BROKEN:
                return
            elif letter is not None and letter != COMPILES and phase == COMPILES:
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

    def _note(self, content: bytes) -> None:
        self.memory = int(content)
        self.first_memory = self.first_memory or self.memory
        self.ready = True

    def _next(self, seconds: float) -> tuple[bytes | None, bytes]:
        try:
            frame = self._frames.get(timeout=seconds) if seconds > 0.0 else self._frames.get_nowait()
        except queue.Empty:
            return None, b""
        if frame[0] == _BROKEN:
            self._frames.put(frame)  # for whoever asks next
        return frame

    def _send(self, message: Any) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # a process that has ended says so by its last frame
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def _listen(self) -> None:
        pipe = self._process.stdout
        assert pipe is not None
        with contextlib.suppress(OSError, ValueError):
            while len(header := pipe.read(HEADER.size)) == HEADER.size:
                letter, length = HEADER.unpack(header)
                content = pipe.read(length)
                if len(content) < length:
                    break
                self._frames.put((letter, content))
        self._frames.put((_BROKEN, b""))


class Workers:
    """Hands requests to processes; several at a time."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._idle: list[Process] = []
        self._busy: list[Process] = []
        self._compiling: list[Process] = []  # of the busy ones, those that nobody waits for
        self._closed = False
        self._keeper: threading.Thread | None = None
        self._changed = threading.Condition(threading.RLock())

    def start(self) -> None:
        """Have some processes ready."""
        with self._changed:
            self._fill()

    def pids(self) -> list[int]:
        with self._changed:
            return [process.pid for process in (*self._idle, *self._busy)]

    def answer(self, path: str, request: Any, gone: Callable[[], bool]) -> bytes:
        """What a process sends back for a request; ValueError where the request is wrong or takes too long."""
        process = self._take(_kind(request), gone)
        try:
            answer = process.answer(path, request, gone)
        except Abandoned:
            threading.Thread(target=self._let_compile, args=(process,), daemon=True).start()
            raise
        except BaseException:
            self._give_back(process)
            raise
        self._give_back(process)
        return answer

    def close(self) -> None:
        """End all processes."""
        with self._changed:
            self._closed = True
            every, self._idle = [*self._idle, *self._busy], []
            self._changed.notify_all()
        for process in every:
            process.end()

    def _take(self, kind: Any, gone: Callable[[], bool]) -> Process:
        with self._changed:
            while True:
                if self._closed or gone():
                    raise ClientGone("the page is closed")
                if not any(kind in process.kinds for process in self._compiling):
                    process = self._choose(kind)
                    if process is not None:
                        process.kinds.add(kind)
                        self._busy.append(process)
                        self._fill()
                        return process
                self._changed.wait(_LOOK)

    def _choose(self, kind: Any) -> Process | None:
        """An idle process that has done this kind of run; else another one; else a new one.

        Before something new is done, processes that have grown by too much together are ended, whoever waits then for
        their successors: otherwise many clients, who leave none idle for long, make all of them grow without end.
        """
        for process in [process for process in self._idle if not process.alive()]:
            self._idle.remove(process)
            process.end()
        same = [process for process in self._idle if kind in process.kinds]
        while not same and (large := self._too_large()) is not None:
            self._idle.remove(large)
            large.end()
        fits = same or sorted(self._idle, key=lambda process: not process.ready)
        if not fits:
            return Process(self._service) if len(self._busy) < MOST else None
        self._idle.remove(fits[0])
        return fits[0]

    def _too_large(self) -> Process | None:
        """The idle process that has grown most, where all together have grown by too much; None where none has."""
        for process in self._idle:
            process.settle()
        every = (*self._idle, *self._busy)
        too_large = sum(process.growth for process in every) > MOST_GROWTH * max(KEPT, len(every))
        grown = [process for process in self._idle if process.growth > 0]
        return max(grown, key=lambda process: process.growth) if grown and too_large else None

    def _let_compile(self, process: Process) -> None:
        """Let a process that nobody waits for end its compilation; whoever asks for its system waits for it."""
        with self._changed:
            self._compiling.append(process)
        process.wind_up(MOST_COMPILING)
        with self._changed:
            self._compiling.remove(process)
            self._give_back(process)

    def _give_back(self, process: Process) -> None:
        with self._changed:
            self._busy.remove(process)
            if self._closed or not process.alive():
                process.end()
            else:
                process.since = time.monotonic()
                self._idle.append(process)
            self._fill()
            self._changed.notify_all()

    def _look_after(self) -> None:
        """End processes that are too many or too large, once nobody has needed them for a while."""
        with self._changed:
            while not self._closed:
                old = [process for process in self._idle if time.monotonic() - process.since > IDLE_SECONDS]
                large = self._too_large()
                ended = [large] if large is not None and large in old else old[: max(0, len(self._idle) - KEPT)]
                for process in ended:
                    self._idle.remove(process)
                    process.end()
                self._fill()
                self._changed.wait(1.0)

    def _fill(self) -> None:
        """Start a process where too few are left, or none is ready for the next run; one after the other."""
        known = (*self._idle, *self._busy)
        few = len(known) < KEPT or (not self._idle and len(known) < MOST)
        if few and not self._closed and all(process.ready for process in known):
            self._idle.append(Process(self._service))
        if self._keeper is None and self._idle and not self._closed:
            self._keeper = threading.Thread(target=self._look_after, daemon=True)
            self._keeper.start()


def _kind(request: Any) -> Any:
    """What decides which machine code a run needs, roughly."""
    if not isinstance(request, dict):
        return None
    return str(request.get("system"))[:200], str(request.get("stepper"))[:60]


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
