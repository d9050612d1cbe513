"""What a run says and how it counts its time while kernels are compiled."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event

FIRST_TIME = "compiling, some half a minute the first time"


class CompileClock(event.Listener):
    """Time that Numba spends on compiling [s]; kernels that come from the cache take none of it.

    Functions that a function calls are compiled within its own compilation: only the outermost one counts.
    """

    def __init__(self, begins: Callable[[], None], ends: Callable[[], None]) -> None:
        self.seconds = 0.0
        self._begins, self._ends = begins, ends
        self._depth, self._since = 0, 0.0

    def on_start(self, event: Any) -> None:
        self._depth += 1
        if self._depth == 1:
            self._since = time.perf_counter()
            self._begins()

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._since
            self._ends()


@contextmanager
def compile_clock(
    begins: Callable[[], None] = lambda: None, ends: Callable[[], None] = lambda: None
) -> Iterator[CompileClock]:
    """Count what is compiled inside; `begins` and `ends` are called around each compilation."""
    clock = CompileClock(begins, ends)
    with event.install_listener("numba:compile", clock):
        yield clock


@contextmanager
def announced(name: str, show: bool) -> Iterator[None]:
    """Say on stderr that the kernels of a run are prepared."""
    if not show:
        yield
        return
    from rich.console import Console

    text = f"preparing the kernels of {name}"
    with Console(stderr=True).status(text) as line, compile_clock(lambda: line.update(f"{text} ({FIRST_TIME})")):
        yield
