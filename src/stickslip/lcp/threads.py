"""Work on many small problems, shared among threads: compiled kernels let other threads run meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from stickslip.jit.parallel import most_threads

OPERATIONS_PER_THREAD = 100_000  # fewer, counted roughly, are done before a thread has started
_limit: int | None = None


def get_threads() -> int:
    """Most threads that a solver takes unless it is told a number: `set_threads`, or the cores of this process."""
    return most_threads() if _limit is None else _limit


def set_threads(count: int | None) -> None:
    """Let solvers take at most so many threads; None: as many as there are cores.  No result depends on it."""
    global _limit
    if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
        raise ValueError(f"threads must be a whole number >= 1 or None, got {count!r}.")
    _limit = count


def in_threads(work: Callable[[int, int], None], k: int, operations: int) -> None:
    """work(start, stop) over k problems, in as many threads as `set_threads` allows and as pay off."""
    threads = min(get_threads(), k * operations // OPERATIONS_PER_THREAD)
    if threads < 2:
        work(0, k)
        return
    chunks = 8 * threads
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(work, i * k // chunks, (i + 1) * k // chunks) for i in range(chunks)]:
            done.result()
