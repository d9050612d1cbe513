"""Kernels with machine code of their own: built once, kept on disk, and shared by all that call them.

A unit has one function that others call by a name.  The name holds the hash of the unit's text, in which the names of
all units stand that it calls: a changed kernel changes the names of all its callers.  Addresses are known where a unit
is loaded, in each process anew, callees first.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

import llvmlite.binding as llvm

from stickslip.jit import cpu, objects
from stickslip.jit.values import Value

ENTRY = "entry"
"""Name of the one function of an object that others can see."""


MOST_BUILDERS = 8


def _new_builders() -> ThreadPoolExecutor:
    """Threads that build units while the kernels that call them are still written: LLVM works outside Python's lock."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return ThreadPoolExecutor(min(cores, MOST_BUILDERS), "stickslip kernels")


_builders = _new_builders()


@dataclass
class Unit:
    """Text of a kernel for arguments of some types."""

    text: str  # empty once it is loaded
    type: str  # LLVM's type of the result
    result: Value  # as callers take it
    needs: tuple[Unit, ...]
    word: str  # of the kernel, for readers of the text
    name: str = field(init=False)  # by which others call it
    _address: int = 0
    _code: Future[bytes] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.name = f"stickslip.{self.word}.{hashlib.sha256(self.text.encode()).hexdigest()[:24]}"

    def begin(self) -> Unit:
        """Build it in another thread."""
        with contextlib.suppress(RuntimeError):  # Python is about to end: then it is built where it is needed
            self._code = _builders.submit(objects.built, self.text)
        return self

    def wait(self) -> None:
        """Wait for the thread that builds it."""
        if self._code is not None:
            wait([self._code])

    def address(self) -> int:
        """Address of its machine code, loaded where that has not been done."""
        with self._lock:
            if not self._address:
                for unit in self.needs:
                    unit.address()
                code = objects.built(self.text) if self._code is None else self._code.result()
                self._address, self._code, self.text = cpu.load(code, ENTRY), None, ""
                llvm.add_symbol(self.name, self._address)
        return self._address


known: dict[Any, Unit | None] = {}
"""Units by kernel and types of the arguments; None while one is written."""
writing = threading.RLock()
"""Units are written by one thread at a time."""


def _finish() -> None:
    """Wait for builds under way: after a fork, LLVM's lock would belong to a thread that no longer exists."""
    for unit in list(known.values()):
        if unit is not None:
            unit.wait()


def _begin_anew() -> None:
    global _builders
    _builders = _new_builders()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_finish, after_in_child=_begin_anew)
