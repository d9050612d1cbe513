"""Lines of a run on the terminal while its kernels are compiled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from stickslip.jit.making import Clock, running

FIRST_TIME = "compiling, some seconds the first time"


@contextmanager
def announced(name: str, show: bool) -> Iterator[None]:
    """Say on stderr that the kernels of a run are prepared."""
    if not show:
        yield
        return
    from rich.console import Console

    text = f"preparing the kernels of {name}"
    with Console(stderr=True).status(text) as line, running(Clock(lambda: line.update(f"{text} ({FIRST_TIME})"))):
        yield
