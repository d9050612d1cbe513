"""Machine code in two tiers: made quickly at first, optimised as soon as that pays.

LLVM takes some 0.8 s to optimise the module of a mechanism, and 7 s for the units of a scene; it takes 0.05 s and 0.9 s
to write them without.  Both run the operations of the text in its order, so that both give equal bits; optimised code
is two to three times as fast.  Most runs are short: a motion of 20,000 steps takes 0.01 s either way.

Threads optimise while quick code runs on.  What they have made is on disk, for other processes, too.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from stickslip.jit import units
from stickslip.jit.making import making
from stickslip.jit.units import Code, Unit

PATIENCE = 0.25
"""Seconds that quick code of one PIECE may run in a process before threads optimise it: a third of their time."""
PIECE = 500_000
"""Letters of a text; what is shorter counts as one, and what is longer as so many."""
MOST_THREADS = 8

Function = Callable[..., Any]


class Optimising:
    """Builds optimised machine code in threads of its own, fewer than there are cores.

    Python waits for these threads where it ends: each stops behind the piece that it has begun.
    """

    def __init__(self, pieces: Iterable[Code]) -> None:
        self._left = sorted(pieces, key=lambda piece: len(piece.text))  # the longest one first
        self._stopped = False
        count = max(1, min(len(self._left), MOST_THREADS, units.cores() - 1))
        self._threads = [threading.Thread(target=self._work, name="stickslip optimises") for _ in range(count)]
        _under_way.add(self)
        for thread in self._threads:
            thread.start()

    def _work(self) -> None:
        while self._left and not self._stopped and threading.main_thread().is_alive():
            try:
                piece = self._left.pop()
            except IndexError:  # another thread was faster
                return
            piece.optimise()

    @property
    def is_over(self) -> bool:
        """Whether the threads have ended."""
        return not any(thread.is_alive() for thread in self._threads)

    @property
    def is_done(self) -> bool:
        """Whether all is optimised."""
        return self.is_over and not self._left

    def join(self) -> None:
        """Wait for the threads."""
        for thread in self._threads:
            thread.join()

    def stop(self) -> None:
        """Wait for what is under way; leave the rest."""
        self._stopped = True
        self.join()


_under_way: weakref.WeakSet[Optimising] = weakref.WeakSet()


def _stop_all() -> None:
    """After a fork, locks of LLVM would belong to threads that no longer exist; who needs them begins anew."""
    for one in list(_under_way):
        one.stop()
    _under_way.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_stop_all)


class Tiers:
    """A function of machine code, quick or optimised.

    text : LLVM IR
    needs : units that it calls
    load : makes a Python function of object code; takes also whether units that are not optimised do
    at_once : the work to come is long: optimise now
    """

    def __init__(
        self, text: str, needs: tuple[Unit, ...], load: Callable[[bytes, bool], Function], at_once: bool
    ) -> None:
        self._own, self._needs, self._load = Code(text), needs, load
        self._lock = threading.Lock()
        self._spent, self._patience = 0.0, PATIENCE
        self._optimising: Optimising | None = None
        code, optimised = self._own.code(soon=not at_once)
        self.function = load(code, not at_once)
        self.is_quick = not (optimised and all(unit.is_optimised for unit in needs))
        if not self.is_quick:
            self._own.pack()

    @property
    def best(self) -> Function:
        """Function to call: the machine code itself where it is optimised, else `patient`, which watches its time."""
        return self.patient if self.is_quick else self.function

    def patient(self, *args: Any) -> Any:
        """Run the code; take optimised code before that where threads have made it, and call them where it is time."""
        if not self.is_quick:
            return self.function(*args)
        if self._spent > self._patience:
            self._look()
        begin = time.perf_counter()
        found = self.function(*args)
        self._spent += time.perf_counter() - begin
        return found

    def optimise(self) -> None:
        """Take optimised code from now on, made here where nobody has made it yet."""
        with self._lock:
            if self.is_quick:
                self._optimising = None
                with making():
                    for unit in units.all_of(self._needs):
                        if not unit.is_optimised:
                            unit.begin(soon=False)
                    self.function = self._load(self._own.code(soon=False)[0], False)
                self.is_quick = False
                self._own.pack()

    def _look(self) -> None:
        """Call threads that optimise the code where it has run for long enough; take it where they are done."""
        begun = self._optimising
        if begun is not None and begun.is_done:
            self.optimise()
        elif (begun is None or begun.is_over) and self._lock.acquire(blocking=False):  # another thread looks, too
            self._call_threads()
            self._lock.release()

    def _call_threads(self) -> None:
        if self.is_quick and (self._optimising is None or self._optimising.is_over):
            pieces = [self._own, *(unit for unit in units.all_of(self._needs) if not unit.is_optimised)]
            self._patience = PATIENCE * max(1.0, sum(len(piece.text) for piece in pieces) / PIECE)
            if self._spent > self._patience:
                self._optimising = Optimising(pieces)
