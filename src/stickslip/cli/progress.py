"""Progress on stderr, for commands that take a while; nothing where stderr is no terminal."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_PATIENCE = 2.0  # seconds before a bar appears


@contextmanager
def status_line(first: str) -> Iterator[Callable[[str], None]]:
    """Say what is computed now."""
    if not sys.stderr.isatty():
        yield lambda what: None
        return
    from rich.console import Console

    with Console(stderr=True).status(first) as status:
        yield lambda what: status.update(what)


@contextmanager
def progress_bar(what: str, total: float) -> Iterator[Callable[[float], None]]:
    """A bar that appears after two seconds; called with what is done of `total`."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(console=Console(stderr=True), transient=True)
    task, begin = bar.add_task(what, total=total), time.perf_counter()

    def advance(done: float) -> None:
        if time.perf_counter() - begin > _PATIENCE:
            bar.start()
        bar.update(task, completed=done)

    try:
        yield advance
    finally:
        bar.stop()
