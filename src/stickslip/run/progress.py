"""The progress bar of a run: it appears after two seconds, and announces kernels that are compiled on the way."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

from stickslip.bars import new_bar
from stickslip.jit.making import Clock, running
from stickslip.run.compiling import FIRST_TIME


@contextlib.contextmanager
def progress_bar(
    wanted: bool | Callable[[int], None] | None, name: str, steps: int, first: int = 0
) -> Iterator[Callable[[int], None]]:
    """A bar that appears after two seconds, or the caller's own; called with the number of steps done.

    first : steps done before.  Kernels that are compiled on the way are announced; the rate leaves their time out.
    """
    if callable(wanted):
        yield wanted
        return
    bar = new_bar(wanted, rate=True)
    if bar is None:
        yield lambda step: None
        return
    task = bar.add_task(name, total=steps, rate="")
    begin = time.perf_counter()
    shown = False

    def appear() -> None:
        nonlocal shown
        bar.start()
        shown = True

    def compiling() -> None:
        bar.update(task, rate=FIRST_TIME)
        appear()

    def advance(step: int) -> None:
        elapsed = time.perf_counter() - begin
        if not shown and elapsed > 2.0:
            appear()
        if shown:
            rate = (step - first) / max(elapsed - clock.seconds, 1e-9)
            bar.update(task, completed=step, rate=f"{rate:.2g} steps/s")

    try:
        with running(Clock(compiling)) as clock:
            yield advance
    finally:
        if shown:
            bar.stop()
