"""Which process computes which run: each does one system, a few stay ready, and no system has all of them.

A run that does not end in its time, or whose client left, costs its process: whatever a kernel does, the next run
finds another one.  A process does the runs of one system, whose machine code it keeps, so that sliders are quick; for
another system another process is forked, and the one that was idle longest is ended.  All of them together have a
share of memory: where systems need much, fewer processes work at a time.  So memory does not depend on what is asked
for, nor on the number of clients.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from stickslip.page.process import LOOK, MOST_COMPILING, Abandoned, Nursery, Process, Vanished
from stickslip.page.service import ClientGone, Service

MOST = 6
"""Processes at a time, idle ones among them; further runs wait for their turn."""
MOST_ALIKE = 2
"""Of these, processes of one system: many requests for it leave room for others."""
MOST_GROWTH = 100_000_000
"""Bytes by which a process may grow after its start and stay; a system with all its steppers takes 25 to 55 million."""
USUAL = 33_000_000
"""Bytes by which a process is taken to grow before one of its system has: scenes take 10 to 25, mechanisms 25 to 45."""
MOST_TOGETHER = 4 * USUAL
"""Bytes by which all processes together may grow: four mechanisms, or six scenes.

It is less than most mixtures of six would take, so that memory differs little between what is asked for.
"""
EXPORTING = 50_000_000
"""Bytes that a process needs besides while it makes a page of a run: LLVM, which writes code for browsers."""
FORGETS = 0.9
"""Share of what a system has needed for an answer that counts after its next one: compiling it counts for a while."""
KEEPS = 0.99
"""Share of what a process of a system has kept between answers that counts after its next one."""
MOST_VANISHED = MOST + 1
"""Processes that may turn out to have ended before one request is told so: all of them, and the one that forks them."""
SURE = MOST_ALIKE + 1
"""Processes that may be there whatever they need: those of one system leave one for the others."""
TURN = 1.5
"""Seconds from its first answer in which a process stays for its system, where others wait for its place.

A new process takes half a second to load machine code, a run a twentieth: more systems than places take turns.  On a
busy machine all of it takes longer: see `SHARE`.
"""
SHARE, LONGEST_TURN = 3.0, 10.0
"""A process stays this many times as long as it took to its first answer, but no more seconds than this."""


@dataclass(eq=False)
class _Turn:
    """A request that waits for a process."""

    kind: str
    process: Process | None = None


class Workers:
    """Hands requests to processes; several at a time."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._nursery = Nursery()
        self._queue: list[_Turn] = []  # in the order of arrival
        self._idle: list[Process] = []  # the one that was idle longest first
        self._busy: list[Process] = []
        self._first: dict[Process, float] = {}  # when each gave its first answer
        self._needed: dict[str, int] = {}  # bytes that answers for each system have taken at most, of late
        self._kept: dict[str, int] = {}  # bytes by which processes of each system have grown at most
        self._compiling: list[Process] = []  # of the busy ones, those that nobody waits for
        self._exporting: list[Process] = []  # of the busy ones, those that make a page of a run
        self._closed = False
        self._changed = threading.Condition(threading.RLock())

    def start(self) -> None:
        """Have the first process of all begin, which takes seconds."""
        self._nursery.start()

    def pids(self) -> list[int]:
        """Numbers of all processes."""
        with self._changed:
            return [*self._nursery.pids(), *(process.pid for process in (*self._idle, *self._busy) if process.pid)]

    def answer(self, path: str, request: Any, gone: Callable[[], bool]) -> bytes:
        """Answer of a process to a request; ValueError where the request is wrong or takes too long.

        A process that something else ended while it was idle is replaced, and the request goes to the next one.
        """
        for _ in range(MOST_VANISHED):
            try:
                return self._answer_once(path, request, gone)
            except Vanished:
                continue
        return self._answer_once(path, request, gone)

    def _answer_once(self, path: str, request: Any, gone: Callable[[], bool]) -> bytes:
        process = self._take(self._service.required(request), gone)
        try:
            with self._exports(process) if path == "/api/export" else contextlib.nullcontext():
                answer = process.answer(path, request, gone)
        except Abandoned:
            threading.Thread(target=self._let_compile, args=(process,), daemon=True).start()
            raise
        except BaseException:
            self._give_back(process)
            raise
        self._give_back(process)
        return answer

    @contextlib.contextmanager
    def _exports(self, process: Process) -> Iterator[None]:
        """A process makes a page of a run in this block: idle ones make room for what that takes."""
        with self._changed:
            self._exporting.append(process)
            self._make_room()
        try:
            yield
        finally:
            with self._changed:
                self._exporting.remove(process)

    def close(self) -> None:
        """End all processes."""
        with self._changed:
            self._closed = True
            every, self._idle = [*self._idle, *self._busy], []
            self._changed.notify_all()
        for process in every:
            process.end()
        self._nursery.close()

    def _take(self, kind: str, gone: Callable[[], bool]) -> Process:
        turn = _Turn(kind)
        with self._changed:
            self._queue.append(turn)
            try:
                while not self._closed and not gone():
                    self._hand_out()
                    if turn.process is not None:
                        return turn.process
                    self._changed.wait(LOOK)
            finally:
                if turn in self._queue:
                    self._queue.remove(turn)
        raise ClientGone("the page is closed")

    def _hand_out(self) -> None:
        """Give processes to those who wait."""
        while any(self._serve(turn) for turn in self._in_turn()):
            self._changed.notify_all()

    def _serve(self, turn: _Turn) -> bool:
        """Give a process to a request, where there is one for it."""
        turn.process = self._choose(turn.kind)
        if turn.process is None:
            return False
        self._queue.remove(turn)
        self._busy.append(turn.process)
        return True

    def _in_turn(self) -> list[_Turn]:
        """Who comes next: the system of which least is at work, and of its requests the first.

        Who waits for a system that is being compiled for nobody, or has its share of processes, lets all others pass.
        """
        waits = {process.kind for process in self._compiling}
        at_work = Counter(process.kind for process in self._busy)
        fit = [turn for turn in self._queue if turn.kind not in waits and at_work[turn.kind] < MOST_ALIKE]
        return sorted(fit, key=lambda turn: at_work[turn.kind])

    def _choose(self, kind: str) -> Process | None:
        """An idle process that has done this system, else a new one, in place of the one that was idle longest.

        A process whose turn is not over keeps its place.
        """
        for process in [process for process in self._idle if not process.alive()]:
            self._let_go(process)
        for process in reversed(self._idle):
            if process.kind == kind:
                self._idle.remove(process)
                return process
        now = time.monotonic()
        for process in [process for process in self._idle if self._turn_ends(process) <= now]:
            if self._crowded(kind):
                self._let_go(process)
        if self._crowded(kind):
            return None
        return Process(self._service, self._nursery, kind, self._look_at)

    def _turn_ends(self, process: Process) -> float:
        first = self._first[process]
        return first + max(TURN, min(SHARE * (first - process.begun), LONGEST_TURN))

    def _let_go(self, process: Process) -> None:
        self._idle.remove(process)
        self._first.pop(process)
        process.end()

    def _crowded(self, *more: str) -> bool:
        """Whether there are, with some more, too many processes, or too little memory for them."""
        every = [*self._idle, *self._busy]
        grown = sum(self._need(process.kind) for process in every) + EXPORTING * len(self._exporting)
        return len(every) + len(more) > MOST or (
            len(every) + len(more) > SURE and grown + sum(map(self._need, more)) > MOST_TOGETHER
        )

    def _need(self, kind: str) -> int:
        """Bytes that a process of a system is taken to need: as many as those before it."""
        return max(self._kept.get(kind, USUAL), self._needed.get(kind, 0))

    def _make_room(self) -> None:
        """End idle processes, the one that was idle longest first, until there is room for all others."""
        while self._idle and self._crowded():
            self._let_go(self._idle[0])

    def _look_at(self, process: Process) -> None:
        """End a process that is ready for more, and idle, but has grown by too much; or another one in its favour."""
        with self._changed:
            if process.was_asked:  # a new one has needed nothing yet
                self._needed[process.kind] = max(process.most, int(FORGETS * self._needed.get(process.kind, 0)))
                self._kept[process.kind] = max(process.growth, int(KEEPS * self._kept.get(process.kind, 0)))
            if process.growth > MOST_GROWTH and process in self._idle:
                self._let_go(process)
            self._make_room()

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
                self._first.pop(process, None)
                process.end()
            else:
                self._first.setdefault(process, time.monotonic())
                self._idle.append(process)
                self._make_room()
            self._hand_out()
            self._changed.notify_all()
