"""The cost of a run, announced before it starts: memory, room on the disk, time."""

from __future__ import annotations

import os
import shutil
import time
import warnings
from collections.abc import Callable
from pathlib import Path

LONG = 600.0
"""Runs that would take longer than this [s] are announced."""
_SHARE = 0.8  # of the memory that is free
_TRIAL_SECONDS, _TRIAL_STEPS = 0.05, 64


def available_memory() -> int:
    """Bytes that this process may still take: what the machine has free, and no more than its control group allows."""
    free = _meminfo() or _physical()
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        try:
            free = min(free, int(Path(limit).read_text()) - int(Path(used).read_text()))
        except (OSError, ValueError):  # another system, or "max"
            continue
    return max(free, 0)


def _meminfo() -> int:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, StopIteration):
        return 0


def _physical() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 2**33


def require_memory(size: float, what: str, helps: str) -> None:
    """Raise MemoryError, before anything is allocated, where it would take more than there is."""
    free = available_memory()
    if size > _SHARE * free:
        raise MemoryError(f"{what} would take {in_bytes(size)} of memory, and {in_bytes(free)} are free; {helps}.")


def require_disk(size: float, out: str | Path, every: int, held: int = 0) -> None:
    """Raise ValueError where the file of a run would not fit on its disk.

    held : bytes that a run which goes on has on the disk already; it records as often as it began to
    """
    try:
        folder = Path(os.path.realpath(out)).parent
        free = shutil.disk_usage(folder).free
    except (OSError, TypeError, ValueError):
        return  # the writer says what is wrong with the name or the folder
    if size - held > free and held:
        raise ValueError(
            f"{out} would grow by {in_bytes(size - held)}, and {in_bytes(free)} are free in {folder}; free some space."
        )
    if size - held > free:
        raise ValueError(
            f"{out} would take {in_bytes(size)}, and {in_bytes(free)} are free in {folder}; record less often, with "
            f"every={every * int(size / max(free, 1) + 1)} or more."
        )


def tell_time(name: str, steps: int, trial: Callable[[int], None], safe: bool) -> None:
    """Warn before a run that would take more than `LONG`; `trial` does some steps that count for nothing."""
    count, begin = _TRIAL_STEPS, time.perf_counter()
    trial(count)
    elapsed = time.perf_counter() - begin
    while elapsed < _TRIAL_SECONDS and count < steps // 1000:  # a short trial measures the call, not the steps
        count *= 8
        begin = time.perf_counter()
        trial(count)
        elapsed = time.perf_counter() - begin
    seconds = steps * elapsed / count
    if seconds > LONG:
        helps = "a run that is cut short goes on with resume=True" if safe else "give out= to be able to go on later"
        warnings.warn(
            f"{steps:.3g} steps of {name} will take about {in_time(seconds)} ({count / elapsed:.2g} steps/s); {helps}",
            RuntimeWarning,
            stacklevel=5,
        )


def in_bytes(size: float) -> str:
    """A size in words."""
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size / 1e3:.3g} kB"


def in_time(seconds: float) -> str:
    """A duration in words."""
    for unit, scale in (("years", 3.156e7), ("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * scale or unit == "min":
            return f"{seconds / scale:.2g} {unit}"
    return f"{seconds:.2g} s"
