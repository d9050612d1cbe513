"""Text of LLVM IR: a module with its functions, constants and declarations, and one function while it is written."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from stickslip.jit.values import ELEMENTS, View, literal

REGISTERS = re.compile(r"%v\d+")
LOOPS = ("disable", "full")
"""Hints to LLVM about loops: not to unroll them, or to write them out whole."""


NO_VECTORS = "; no vectors\n"
"""First line of the text of a module in which registers of several numbers gain nothing: see `cpu.build`."""
Operator = Callable[["Writer", str, str], str]
"""Writes an operation on two floats, in registers; returns the register of its result."""
Numbered = tuple[int, Callable[["Writer", Any], str]]
"""A kernel that is called by a number: how many arguments it takes; writes the call, returns the result's register."""


class Module:
    """Text of one LLVM module: its functions in the order in which they were finished, callees first."""

    def __init__(self, short_loops: bool = False) -> None:
        self.functions: list[str] = []
        self.declarations: dict[str, str] = {}  # name -> declaration
        self._constants: dict[str, str] = {}  # definition -> name
        self.external: set[str] = set()  # names of C functions that the text calls
        self._loops: list[int] = []  # notes of loops: numbers of words of `LOOPS`
        self._short_loops = short_loops
        self.longest_unrolled = 0  # turns of the longest loop that LLVM has to write out
        self.has_records = False  # it reads or writes fields of records
        self.on_card = False  # the text is for many threads of a card: see `gpu`
        self.numbered: dict[int, Numbered] | None = None  # see `addresses`; None: `call_address` takes addresses
        self.operators: dict[str, Operator] = {}  # "pow" for x**y, and "fmod" for x % y where there is no C library

    def text(self) -> str:
        """The whole module."""
        constants = [f"{name} = private unnamed_addr constant {body}" for body, name in self._constants.items()]
        notes = [f'!{k} = !{{!"llvm.loop.unroll.{word}"}}' for k, word in enumerate(LOOPS)] if self._loops else []
        notes += [f"!{k} = distinct !{{!{k}, !{word}}}" for k, word in enumerate(self._loops, len(LOOPS))]
        whole = "\n".join([*constants, *sorted(self.declarations.values()), *self.functions, *notes]) + "\n"
        return f"{NO_VECTORS}{whole}" if self.has_records or self._short_loops else whole

    @property
    def predicts(self) -> bool:
        """Whether a number that meets a bound, as a spring that only pushes, is chosen by a branch (`functions`)."""
        return self._short_loops and not self.on_card

    @property
    def words(self) -> str:
        """Words for LLVM on each function.

        A loop that copies two or three numbers one by one is left as it is.  LLVM would copy them by one wide load,
        which has to wait until the numbers, stored one by one just before, have left the processor's queue.
        """
        return ' "no-builtin-memcpy" "no-builtin-memset"' if self._short_loops and not self.on_card else ""

    def loop_note(self, turns: int | None) -> str:
        """Note for a loop: one of unknown length is not unrolled, copies of its body cost more time than they save."""
        if turns is None and not self._short_loops:
            return self._note(LOOPS.index("disable"))
        return self._note(LOOPS.index("full")) if turns is not None and turns <= self.longest_unrolled else ""

    def _note(self, word: int) -> str:
        self._loops.append(word)
        return f", !llvm.loop !{len(LOOPS) + len(self._loops) - 1}"

    def declare(self, name: str, result: str, arguments: Sequence[str], *, external: bool = False) -> str:
        """Declare an intrinsic or a C function; return its name."""
        self.declarations[name] = f"declare {result} @{name}({', '.join(arguments)})"
        if external:
            self.external.add(name)
        return name

    def external_data(self, name: str) -> None:
        """Declare something that lies outside the module."""
        self.declarations[name] = f"@{name} = external global i8"

    def constant(self, values: np.ndarray) -> View:
        """A table of numbers that nobody may write."""
        element = ELEMENTS[values.dtype]
        kind = element.kind
        cells = [
            f"{element.type} {int(x) if element.type == 'i8' else literal(kind, x)}" for x in values.ravel().tolist()
        ] or [f"{element.type} zeroinitializer"]
        body = f"[{len(cells)} x {element.type}] [{', '.join(cells)}], align 8"
        name = self._constants.setdefault(body, f"@table.{hashlib.sha256(body.encode()).hexdigest()[:16]}")
        strides = tuple(int(np.prod(values.shape[k + 1 :], dtype=int)) * values.itemsize for k in range(values.ndim))
        return View(values.dtype, name, values.shape, strides, read_only=True, packed=True)


class Writer:
    """Text of one LLVM function: instructions in blocks, and slots on the stack."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.lines: list[str] = []
        self.slots: list[str] = []
        self.ended = False  # the block has ended: what follows is never reached, and left out
        self.reorder_sums = False  # sums may be reordered, so that loops over them use vector registers
        self.watched: str | None = None  # where it is noted that an index was outside its axis (`watch`)
        self._count = 0

    def name(self) -> str:
        """A register that is not used yet."""
        self._count += 1
        return f"%v{self._count}"

    def label(self) -> str:
        """A label that is not used yet."""
        self._count += 1
        return f"L{self._count}"

    def do(self, instruction: str) -> None:
        """Write an instruction without a result."""
        if not self.ended:
            self.lines.append(f"  {instruction}")

    def value(self, instruction: str) -> str:
        """Write an instruction; return the register of its result."""
        name = self.name()
        self.do(f"{name} = {instruction}")
        return name

    def jump(self, label: str) -> None:
        """End the block: go on at the label."""
        self.do(f"br label %{label}")
        self.ended = True

    def turn(self, head: str, turns: int | None = None) -> None:
        """End the body of a loop: go on at its head; `turns`: how often it turns, where the translator knows that.

        Where sums may be reordered, copies of the body decide their order: that stays as it has always been.
        """
        if not self.ended:
            note = "" if turns is None and self.reorder_sums else self.module.loop_note(turns)
            self.do(f"br label %{head}{note}")
            self.ended = True

    def branch(self, condition: str, yes: str, no: str) -> None:
        """End the block: go on at one of two labels."""
        self.do(f"br i1 {condition}, label %{yes}, label %{no}")
        self.ended = True

    def begin(self, label: str) -> None:
        """Begin a block; what stands before it falls through."""
        if not self.ended:
            self.jump(label)
        self.lines.append(f"{label}:")
        self.ended = False

    def slot(self, type_: str, count: int | None = None) -> str:
        """Room on the stack for one value or `count` of them; return its address."""
        name = self.name()
        room = type_ if count is None else f"[{count} x {type_}]"
        self.slots.append(f"  {name} = alloca {room}, align 8")
        return name

    def registers(self) -> set[str]:
        """All registers that the text names."""
        return set(REGISTERS.findall("\n".join(self.lines)))

    @contextmanager
    def aside(self) -> Iterator[list[str]]:
        """Collect what is written inside in a list of its own, to be put in place later."""
        before, self.lines = self.lines, []
        part = self.lines
        try:
            yield part
        finally:
            self.lines = before

    def call(
        self, result: str, name: str, arguments: Sequence[tuple[str, str]], declare: dict[str, Any] | None = None
    ) -> str:
        """Call a function of the module, or one that `declare` (see `Module.declare`) brings in."""
        if declare is not None:
            self.module.declare(name, result, [type_ for type_, _ in arguments], **declare)
        given = ", ".join(f"{type_} {text}" for type_, text in arguments)
        return self.value(f"call {result} @{name}({given})")

    def define(self, head: str) -> None:
        """Finish the function and put it into the module; `head` has linkage, result, name and parameters."""
        body = [*self.slots, "  br label %begin", "begin:", *self.lines]
        words = self.module.words
        self.module.functions.append(f"define {head} nounwind{words} {{\nentry:\n" + "\n".join(body) + "\n}\n")
