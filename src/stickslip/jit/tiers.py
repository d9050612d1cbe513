"""Machine code in two tiers: made quickly at first, optimised as soon as that pays.

LLVM takes some 0.8 s to optimise the module of a mechanism, and 0.05 s to write it without.  Both run the operations of
the text in its order, so that both give equal bits; optimised code is two to three times as fast.  Most runs are short:
a motion of 20,000 steps takes 0.01 s either way.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from stickslip.jit import cpu, objects
from stickslip.jit.making import making

PATIENCE = 0.25
"""Seconds that quick code may run in a process before it is replaced: a third of what optimising it takes."""

Function = Callable[..., Any]


class Tiers:
    """A function of machine code, quick or optimised.

    text : LLVM IR
    load : makes a Python function of object code
    at_once : the work to come is long: optimise now
    """

    def __init__(self, text: str, load: Callable[[bytes], Function], at_once: bool) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._spent = 0.0
        code = objects.built(text) if at_once or cpu.reorders_sums(text) else objects.read(objects.name_of(text))
        self.is_quick = code is None
        self._text = text if code is None else ""  # to optimise it later
        self.function = load(objects.built_quickly(text) if code is None else code)

    @property
    def best(self) -> Function:
        """What to call: the machine code itself where it is optimised, else `patient`, which watches its time."""
        return self.patient if self.is_quick else self.function

    def patient(self, *args: Any) -> Any:
        """Run the code; optimise it before that where quick code has run long enough."""
        if not self.is_quick:
            return self.function(*args)
        if self._spent > PATIENCE:
            self.optimise()
        begin = time.perf_counter()
        found = self.function(*args)
        self._spent += time.perf_counter() - begin
        return found

    def optimise(self) -> None:
        """Take optimised code from now on, made here where nobody has made it yet."""
        with self._lock:
            if self.is_quick:
                with making():
                    self.function = self._load(objects.built(self._text))
                self.is_quick, self._text = False, ""
