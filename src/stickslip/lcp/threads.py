"""Work on many small problems, shared among threads: compiled kernels let other threads run meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from stickslip.checks import whole_number
from stickslip.jit.parallel import most_threads

OPERATIONS_PER_THREAD = 100_000  # a rough count; fewer operations are done before a thread has started
_limit: int | None = None


def get_threads() -> int:
    """Most threads that a solver takes unless its call gives a number.

    This is the number given to `set_threads`, or else the number of cores that this process may use.
    """
    return most_threads() if _limit is None else _limit


def set_threads(count: int | None) -> None:
    """Let solvers take at most `count` threads; None stands for the number of cores.

    No result depends on the number of threads.  ValueError unless `count` is None or a whole number >= 1.
    """
    global _limit
    if count is not None:
        whole_number(count, "threads")
    _limit = count


def in_threads(work: Callable[[int, int], None], k: int, operations: int) -> None:
    """Call work(start, stop) for ranges that cover k problems of about `operations` operations each.

    The ranges are shared among threads: at most `get_threads()`, and no more than have OPERATIONS_PER_THREAD to do.
    """
    threads = min(get_threads(), k * operations // OPERATIONS_PER_THREAD)
    if threads < 2:
        work(0, k)
        return
    chunks = 8 * threads
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(work, i * k // chunks, (i + 1) * k // chunks) for i in range(chunks)]:
            done.result()
