"""Work on many small problems, shared among threads: compiled kernels let other threads run meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from numba import get_num_threads

OPERATIONS_PER_THREAD = 100_000  # fewer, counted roughly, are done before a thread has started


def in_threads(work: Callable[[int, int], None], k: int, operations: int) -> None:
    """work(start, stop) over k problems, in as many threads as `numba.set_num_threads` allows and as pay off.

    Numba's own parallel loop would take twenty seconds to compile.
    """
    threads = min(get_num_threads(), k * operations // OPERATIONS_PER_THREAD)
    if threads < 2:
        work(0, k)
        return
    chunks = 8 * threads
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(work, i * k // chunks, (i + 1) * k // chunks) for i in range(chunks)]:
            done.result()
