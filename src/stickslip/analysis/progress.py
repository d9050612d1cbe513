"""The option `progress` of all analyses, and its bars on stderr.

None     a bar or a line on stderr or in the notebook, if the work takes longer than two seconds; nothing in files
True     a bar or a line also if stderr is no terminal
False    nothing
function is called with the progress: the number of runs, the share of the way, or the name of the stage
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from stickslip.bars import new_bar
from stickslip.interrupts import dropped
from stickslip.trajectory import Trajectory

Progress = bool | Callable[..., None] | None
_PATIENCE = 2.0  # seconds before a bar appears


def not_interrupted(run: Trajectory) -> Trajectory:
    """The run; KeyboardInterrupt where Ctrl-C has ended it, or came too late for that, but in time for the analysis.

    A run returns what there is, and an analysis needs all.
    """
    if dropped() or (not run.complete and run.status.startswith("interrupted")):
        raise KeyboardInterrupt(run.status)
    return run


@contextmanager
def reported(progress: Progress, what: str, total: float | None = None) -> Iterator[Callable[[float | str], None]]:
    """A function to call with the amount done of `total`, or with the name of a stage of unknown length.

    what : words beside the bar
    """
    if callable(progress):
        yield progress
        return
    bar = new_bar(progress)
    if bar is None:
        yield lambda done: None
        return
    task, begin = bar.add_task(what, total=total), time.perf_counter()

    def report(done: float | str) -> None:
        if isinstance(done, str):
            bar.update(task, description=done, total=None)
        else:
            bar.update(task, completed=done)
        if time.perf_counter() - begin > _PATIENCE:
            bar.start()

    try:
        yield report
    finally:
        bar.stop()
