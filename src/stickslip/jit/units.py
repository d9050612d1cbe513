"""Kernels with machine code of their own: built once, kept on disk, and shared by all that call them.

A unit has one function that others call by a name.  The name holds the hash of the unit's text, in which the names of
all units stand that it calls: a changed kernel changes the names of all its callers.  Addresses are known where a unit
is loaded, in each process anew, callees first.

A unit is loaded up to twice: as soon as there is machine code of it and of all that it calls, and once more where all
of that is optimised (`tiers`).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import threading
import zlib
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import llvmlite.binding as llvm

from stickslip.jit import cpu, objects
from stickslip.jit.values import Value

ENTRY = "entry"
"""Name of the one function of an object that others can see."""


MOST_BUILDERS = 8


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_builders: tuple[int, ThreadPoolExecutor] | None = None


def builders() -> ThreadPoolExecutor:
    """Threads that build units while the kernels that call them are still written: LLVM works outside Python's lock.

    They belong to one process: a child that was forked has none of them, also where a signal ended what it does first.
    """
    global _builders
    found = _builders
    if found is None or found[0] != os.getpid():
        found = (os.getpid(), ThreadPoolExecutor(min(cores(), MOST_BUILDERS), "stickslip kernels"))
        _builders = found
    return found[1]


class Code:
    """A text of LLVM IR, and its machine code in two tiers (`tiers`)."""

    def __init__(self, text: str) -> None:
        self._text: str | bytes = text
        self._optimised = b""  # kept from where it is made to where it is loaded

    @property
    def text(self) -> str:
        """LLVM IR."""
        return self._text if isinstance(self._text, str) else zlib.decompress(self._text).decode()

    def pack(self) -> None:
        """Keep the text in a tenth of its room: optimised code is loaded, and hardly anybody asks for it any more."""
        if isinstance(self._text, str):
            self._text = zlib.compress(self._text.encode(), 1)

    @property
    def is_packed(self) -> bool:
        """Whether the text takes little room."""
        return isinstance(self._text, bytes)

    def optimise(self) -> None:
        """Make optimised code."""
        self._optimised = self._optimised or objects.built(self.text)

    def code(self, soon: bool) -> tuple[bytes, bool]:
        """Machine code, and whether it is optimised; `soon`: code that is not optimised does."""
        if soon and not self._optimised:
            return objects.soonest(self.text)
        self.optimise()
        made, self._optimised = self._optimised, b""
        return made, True


class Unit(Code):
    """Text of a kernel for arguments of some types.

    type : LLVM's type of the result; empty where none but translated callers need it (`translations`)
    result : as callers take it
    needs : units that it calls
    word : of the kernel, for readers of the text
    """

    def __init__(self, text: str, type: str, result: Value, needs: tuple[Unit, ...], word: str) -> None:
        super().__init__(text)
        self.type, self.result, self.needs, self.word = type, result, needs, word
        self._address = 0  # of optimised code that calls optimised code alone
        self._first_address = 0  # of any other code
        self._begun: Future[tuple[bytes, bool]] | None = None
        self._lock = threading.Lock()

    @functools.cached_property
    def name(self) -> str:
        """Name by which others call it."""
        return f"stickslip.{self.word}.{hashlib.sha256(self.text.encode()).hexdigest()[:24]}"

    @property
    def is_begun(self) -> bool:
        """Whether there is machine code of it, or a thread makes it."""
        return bool(self._address or self._first_address or self._begun)

    @property
    def is_optimised(self) -> bool:
        """Whether optimised code of it and of all that it calls is loaded."""
        return bool(self._address)

    def begin(self, soon: bool) -> Unit:
        """Build it in another thread; `soon`: code that is not optimised does, and any that is there already."""
        if soon and self.is_begun:
            return self
        with contextlib.suppress(RuntimeError):  # Python is about to end: then it is built where it is needed
            self._begun = builders().submit(self.code, soon)
        return self

    def wait(self) -> None:
        """Wait for the thread that builds it."""
        begun = self._begun
        if begun is not None:
            wait([begun])

    def address(self, soon: bool = False) -> int:
        """Address of its machine code, loaded where that has not been done; `soon` as for `begin`."""
        with self._lock:
            found = self._address or (self._first_address if soon else 0)
            if not found:
                code, optimised = self.code(soon) if self._begun is None else self._begun.result()
                self._begun = None
                if not (soon or optimised):  # it was begun for others, who are content with less
                    code, optimised = self.code(soon)
                found = load(code, self.needs, soon)
                if optimised and all(unit.is_optimised for unit in self.needs):
                    self._address = found
                    _ = self.name  # made of the text
                    self.pack()
                else:
                    self._first_address = found
        return found


_loading = threading.Lock()
"""Names of units mean one tier of their machine code while code is loaded that calls them."""


def load(code: bytes, needs: Iterable[Unit], soon: bool) -> int:
    """Load object code that calls some units; return the address of its function."""
    given = [(unit.name, unit.address(soon)) for unit in needs]
    with _loading:
        for name, address in given:
            llvm.add_symbol(name, address)
        return cpu.load(code, ENTRY)


def all_of(needs: Iterable[Unit]) -> list[Unit]:
    """Units, and the units that they call, each once."""
    found: dict[str, Unit] = {}
    waiting = list(needs)
    while waiting:
        unit = waiting.pop()
        if unit.name not in found:
            found[unit.name] = unit
            waiting += unit.needs
    return list(found.values())


_by_name: dict[str, Unit] = {}


def one(unit: Unit) -> Unit:
    """The unit of this process with the text of `unit`: machine code is loaded once, whoever calls it."""
    found = _by_name.setdefault(unit.name, unit)
    if unit.type:  # one that was read from disk has none
        found.type, found.result = unit.type, unit.result
    return found


known: dict[Any, Unit | None] = {}
"""Units by kernel and types of the arguments; None while one is written."""
writing = threading.RLock()
"""Units are written by one thread at a time."""


def _finish() -> None:
    """Wait for builds under way: after a fork, LLVM's lock would belong to a thread that no longer exists."""
    for unit in list(_by_name.values()):
        unit.wait()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_finish)
