"""The time in which kernels are made, reported to listeners.

A kernel is made at its first call with arguments of new types: translated, and built or read from disk.  Kernels that
it calls are made within this time.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator


class Clock:
    """Time in which kernels of this process were made [s]; `begins` and `ends` are called around each."""

    def __init__(self, begins: Callable[[], None] = lambda: None, ends: Callable[[], None] = lambda: None) -> None:
        self.begins, self.ends = begins, ends
        self._depth, self._since, self._total = 0, 0.0, 0.0
        self._lock = threading.Lock()

    @property
    def seconds(self) -> float:
        """The time so far."""
        return self._total + (time.perf_counter() - self._since if self._depth else 0.0)

    def start(self) -> None:
        """A kernel is begun; of several at once the first one counts."""
        with self._lock:
            self._depth += 1
            first = self._depth == 1
            if first:
                self._since = time.perf_counter()
        if first:
            self.begins()

    def stop(self) -> None:
        """A kernel is done, or refused."""
        with self._lock:
            self._depth -= 1
            last = self._depth == 0
            if last:
                self._total += time.perf_counter() - self._since
        if last:
            self.ends()


_running: list[Clock] = []


def run(clock: Clock) -> Clock:
    """Let a clock run until the process ends."""
    _running.append(clock)
    return clock


@contextlib.contextmanager
def running(clock: Clock) -> Iterator[Clock]:
    """Let a clock run inside this block."""
    run(clock)
    try:
        yield clock
    finally:
        _running.remove(clock)


@contextlib.contextmanager
def making() -> Iterator[None]:
    """Kernels are made inside this block."""
    clocks = list(_running)
    for clock in clocks:
        clock.start()
    try:
        yield
    finally:
        for clock in clocks:
            clock.stop()
