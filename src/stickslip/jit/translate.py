"""From the syntax tree of a kernel to LLVM IR.

Kernels marked `inline` are written in place of their calls, so that arrays, tuples and constants are passed for
nothing.  Kernels marked `apart` have machine code of their own, which all callers share.  Other kernels become
functions of the module, one for every combination of argument types.

A scalar name has a slot on the stack, which LLVM turns into registers; its kind is that of its first assignment.
Names of arrays and tuples are resolved here: such a name stands for one array at each place of the source.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from stickslip.jit import functions, memory, passing, syntax, units
from stickslip.jit.errors import KernelError
from stickslip.jit.scope import Callee, Scope
from stickslip.jit.turns import Turns
from stickslip.jit.values import Bundle, Constant, Record, Scalar, Value, View, kind_of, nested
from stickslip.jit.writer import Module, Writer

EVERYWHERE = re.compile(
    r"llvm\.(nvvm\.|expect\.|(fabs|sqrt|copysign|floor|ceil|trunc|roundeven)\.f64$|fptosi\.sat\.|mem(cpy|set|move)\.)"
)
"""Functions without a body that every target has; those of NVVM are asked for on a card only."""


@dataclass
class Made:
    """A function of the module: its name, LLVM's type of its result, and the result; None while it is written.

    reads : which registers of its arguments it takes; empty: all of them.
    """

    name: str
    type: str = "void"
    result: Value | None = None
    reads: tuple[bool, ...] = ()

    def taken(self, arguments: tuple[Value, ...]) -> list[tuple[str, str]]:
        """LLVM types and registers that a call passes."""
        given = [part for argument in arguments for part in passing.given(argument)]
        return [part for part, read in zip(given, self.reads, strict=True) if read] if self.reads else given


class Program:
    """A module of functions that kernels became; each is written once per combination of argument types.

    short_loops : loops of unknown length may be unrolled as well, and sines are shared (`functions.SHARED`).
    whole : kernels marked `apart` become functions of the module as well: nothing outside it is called.
    soon : units that it calls are built without optimising, where they are not there yet.
    out_of_line : names of kernels that work on copies of the arrays they are given: the arrays themselves have no
        address then, and may live in registers around the call.
    numbered : kernels that `call_address` calls by these numbers, where functions have no addresses.  For a card with
        them (scenes), kernels marked `apart` stay functions, which keeps the module small.
    """

    def __init__(
        self,
        short_loops: bool = False,
        *,
        whole: bool = False,
        soon: bool = False,
        out_of_line: Collection[str] = (),
        numbered: Mapping[int, Callee] | None = None,
    ) -> None:
        self.module, self.out_of_line = Module(short_loops), out_of_line
        self.shared = functions.SHARED if short_loops else ()
        self.whole, self.soon = whole, soon
        self.units: dict[str, units.Unit] = {}  # that the module calls, by name
        self._made: dict[Any, Made] = {}
        if numbered is not None:
            self.module.numbered = {
                number: (callee.python.__code__.co_argcount, functools.partial(self.call, callee))
                for number, callee in numbered.items()
            }
        for function in (math.pow, math.fmod):
            own = self.instead_of(function)
            if own is not function:
                self.module.operators[function.__name__] = functools.partial(self.operate, own)

    def operate(self, callee: Callee, writer: Writer, x: str, y: str) -> str:
        """Call a kernel of two floats; return the register of its result."""
        return self.call(callee, writer, (Scalar("float", x), Scalar("float", y)))

    def call(self, callee: Callee, writer: Writer, arguments: tuple[Value, ...]) -> str:
        """Call a kernel whose result is a number; return the register of its result."""
        made = self.function(callee, arguments)
        assert made.result is not None
        given = ", ".join(f"{type_} {text}" for type_, text in made.taken(arguments))
        found = passing.taken(writer, made.type, f"@{made.name}({given})", made.result, [])
        assert isinstance(found, Scalar)
        return found.text

    def function(self, callee: Callee, arguments: tuple[Value, ...], private: frozenset[int] = frozenset()) -> Made:
        """The function for arguments of these types, written where it is not there yet; `private` as for `define`."""
        if callee.apart and not self.whole:
            return self.called_unit(unit_of(callee, arguments, self.soon))
        key = (callee, tuple(passing.type_of(argument) for argument in arguments), private)
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = Made(f"{callee.python.__name__}.{len(self._made)}")
            made.type, made.result, made.reads = self.define(callee, arguments, made.name, "internal", private)
        elif made.result is None:
            raise KernelError(f"{callee.python.__name__} calls itself: write a loop.")
        return made

    def define(
        self,
        callee: Callee,
        arguments: tuple[Value, ...],
        name: str,
        linkage: str,
        private: frozenset[int] = frozenset(),
    ) -> tuple[str, Value, tuple[bool, ...]]:
        """Write a function; returns LLVM's type of its result, the result, and which registers it takes.

        A function of the module takes what it reads of its structs: an array whose address nobody gets may live in
        registers around the call.  `private`: numbers of registers with addresses that no other one leads to.
        """
        writer = Writer(self.module)
        parameters: list[str] = []

        def new(type_: str) -> str:
            word = " noalias" if len(parameters) in private else ""
            parameters.append(f"{type_}{word} {writer.name()}")
            return parameters[-1].split()[-1]

        body = Body(self, writer)
        inner = tuple(passing.received(writer, argument, new) for argument in arguments)
        result = body.inline(callee, passing.of_caller(inner))
        type_, result = passing.returned(writer, result, body.heap)
        reads: tuple[bool, ...] = ()
        if linkage == "internal":
            read = writer.registers()
            reads = tuple(parameter.split()[-1] in read for parameter in parameters)
            parameters = [parameter for parameter, is_read in zip(parameters, reads, strict=True) if is_read]
        words = " willreturn memory(none)" if callee.python.__name__ in self.shared else ""
        words += " noinline" if callee.contained and not self.module.on_card else ""
        words += " noinline" if callee.apart and self.module.on_card and self.module.numbered is not None else ""
        writer.define(f"{linkage} {type_} @{name}({', '.join(parameters)}){words}")
        return type_, result, reads

    def instead_of(self, function: Any) -> Any:
        """The kernel that takes the place of a function, or the function itself."""
        if not isinstance(function, Hashable):
            return function
        found = functions.OWN_OF_EXACT.get(function, function) if self.whole else function
        return functions.OWN.get(function, found)

    def require_alone(self, name: str, brought: Collection[str] = ()) -> None:
        """Raise where the module needs what there is on the CPU alone: a C library, and kernels outside it.

        brought : functions of a library that the target brings itself.
        """
        missing = sorted(word for word in self.module.declarations if not (EVERYWHERE.match(word) or word in brought))
        if missing or self.units:
            words = {"malloc": "arrays of unknown or large size, or as results", "free": ""}
            found = [word for word in dict.fromkeys(words.get(word, word) for word in missing) if word]
            raise KernelError(f"{name} needs what there is on the CPU alone: {', '.join(found) or 'prange'}.")

    def called_unit(self, unit: units.Unit) -> Made:
        """A unit as a function of the module."""
        self.units[unit.name] = unit
        return Made(unit.name, unit.type, unit.result)


def unit_of(callee: Callee, arguments: tuple[Value, ...], soon: bool = False) -> units.Unit:
    """The unit of a kernel for arguments of these types; `soon`: built without optimising, if it is not there yet."""
    key = (callee, tuple(passing.type_of(argument) for argument in arguments))
    with units.writing:
        if key not in units.known:
            units.known[key] = None
            try:
                program = Program(soon=soon)
                type_, result, _ = program.define(callee, arguments, units.ENTRY, "")
                needs = tuple(program.units.values())
                made = units.Unit(program.module.text(), type_, result, needs, callee.python.__name__)
                units.known[key] = units.one(made).begin(soon)
            finally:
                if units.known[key] is None:
                    del units.known[key]
        unit = units.known[key]
    if unit is None:
        raise KernelError(f"{callee.python.__name__} calls itself: write a loop.")
    return unit


class Body(Turns):
    """Writes kernels into one LLVM function.

    heap : slots that the function frees at its end.  without_calls : a kernel is written that asks for it.
    """

    heap: list[str]
    without_calls = False

    def outermost(self, callee: Callee, arguments: tuple[Value, ...]) -> Value:
        """Write a kernel, or the call of its unit, as all that a function does."""
        if not callee.apart:
            return self.inline(callee, arguments)
        self.scope = Scope(syntax.read(callee.python), {}, "")
        result = self.call(callee, arguments)
        self.heap = self.scope.heap
        return result

    def inline(self, callee: Callee, arguments: tuple[Value, ...]) -> Value:
        """Write a kernel's body here; return its result."""
        source = syntax.read(callee.python)
        if len(arguments) != len(source.parameters):
            raise KernelError(
                f"{callee.python.__name__} takes {len(source.parameters)} arguments, got {len(arguments)}."
            )
        writer, outer, sums, calls = self.writer, self.scope, self.writer.reorder_sums, self.without_calls
        self.without_calls = calls or callee.without_calls
        self.scope = Scope(source, {}, writer.label())
        writer.reorder_sums = callee.reorder_sums
        for name, argument in zip(source.parameters, arguments, strict=True):
            if source.stores[name] and kind_of(argument) is not None:
                self.assign_scalar(name, argument)
            else:
                self.scope.names[name] = argument
        self.statements(source.tree.body)
        scope = self.scope
        if not writer.ended and scope.result_slots is not None:
            raise KernelError("some paths end without `return`.", source.place(source.tree))
        writer.begin(scope.result_label)
        result = scope.result
        if scope.result_slots is not None:
            result = nested(iter([self.load(slot) for slot in scope.result_slots]), scope.nesting)
        self.scope, writer.reorder_sums, self.without_calls = outer, sums, calls
        if outer is None:
            self.heap = scope.heap  # `passing.returned` frees it
        elif scope.heap and result is not None and _has_memory(result):
            outer.heap += scope.heap
        else:
            for slot in scope.heap:
                memory.free(writer, slot)
        return Constant(None) if result is None else result

    def call(self, callee: Callee, arguments: tuple[Value, ...]) -> Value:
        """Call a kernel, in place or as a function of the module."""
        on_card = self.program.module.on_card
        contained = callee.contained and not on_card  # see `marks.contained`
        alone = self.without_calls and on_card
        if callee.inline and not contained and (alone or callee.python.__name__ not in self.program.shared):
            return self.inline(callee, arguments)
        if callee.apart:
            arguments = tuple(passing.loose(argument) for argument in arguments)
        elsewhere = callee.apart and not self.program.whole
        copies: list[tuple[str, str, int]] = []
        private: frozenset[int] = passing.private(self.writer, arguments) if contained else frozenset()
        made = self.program.function(callee, arguments, private)
        assert made.result is not None
        if contained or callee.python.__name__ in self.program.out_of_line:
            read = {register for _, register in made.taken(arguments)}
            arguments, copies = memory.with_copies(self.writer, arguments, read)
        given = made.taken(arguments)
        if elsewhere:
            self.writer.module.declare(made.name, made.type, [type_ for type_, _ in given])
        call = f"@{made.name}({', '.join(f'{type_} {text}' for type_, text in given)})"
        result = passing.taken(self.writer, made.type, call, made.result, self.scope.heap, arguments)
        for own, copy, size in copies:
            memory.copy_bytes(self.writer, own, copy, size)
        return result


def _has_memory(value: Value) -> bool:
    """Whether a value refers to an array."""
    if isinstance(value, Bundle):
        return any(_has_memory(item) for item in value.items)
    return isinstance(value, (View, Record))
