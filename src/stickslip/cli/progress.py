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
    with staged_bar(what, total) as (advance, _):
        yield advance


@contextmanager
def staged_bar(what: str, total: float) -> Iterator[tuple[Callable[[float], None], Callable[[str], None]]]:
    """A bar, and behind it stages of unknown length: the second function takes the name of the stage that begins."""
    if not sys.stderr.isatty():
        yield lambda done: None, lambda line: None
        return
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(console=Console(stderr=True), transient=True)
    task, begin = bar.add_task(what, total=total), time.perf_counter()

    def advance(done: float) -> None:
        if time.perf_counter() - begin > _PATIENCE:
            bar.start()
        bar.update(task, completed=done)

    def tell(line: str) -> None:
        bar.start()
        bar.update(task, description=line, total=None)

    try:
        yield advance, tell
    finally:
        bar.stop()
