"""Loops over `prange`: a turn becomes a function of its own, which threads call (`parallel`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stickslip.jit import memory, parallel, passing, syntax
from stickslip.jit.arithmetic import binary, convert
from stickslip.jit.errors import KernelError
from stickslip.jit.scope import Loop, Missing, Names, Scope
from stickslip.jit.statements import Statements
from stickslip.jit.values import Constant, Scalar, Value, kind_of
from stickslip.jit.writer import Writer

PRIVATE = "belongs to one turn of a loop over prange: give it a value there"


class Turns(Statements):
    """Writes loops whose turns threads share."""

    def shared(self, statement: ast.For, arguments: list[Value]) -> None:
        if not 1 <= len(arguments) <= 2 or any(kind_of(value) not in ("int", "bool") for value in arguments):
            raise KernelError("prange takes one or two whole numbers.")
        assert isinstance(statement.target, ast.Name)
        first: Value = Constant(0) if len(arguments) == 1 else arguments[0]
        turns = binary(self.writer, ast.Sub(), arguments[-1], first)
        own = syntax.stored_names(statement)
        outside = dict(self._used(statement, own))
        given = [part for value in (first, *outside.values()) for part in passing.given(passing.loose(value))]
        room = self.writer.slot("i64", max(1, len(given)))
        for k, (type_, text) in enumerate(given):
            self.writer.do(f"store {type_} {text}, ptr {memory.offset(self.writer, room, 8 * k)}, align 8")
        name = self._function(statement, first, outside, own)
        unit = parallel.share()
        self.program.units[unit.name] = unit
        self.writer.module.declare(unit.name, "void", ["ptr", "ptr", "i64"])
        count = convert(self.writer, turns, "int")
        self.writer.do(f"call void @{unit.name}(ptr @{name}, ptr {room}, i64 {count})")
        self.scope.names |= {name: Missing(PRIVATE) for name in own}

    def _used(self, statement: ast.For, own: set[str]) -> Iterator[tuple[str, Value]]:
        """Names of the kernel that a turn reads, with their values."""
        read = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        for name in sorted(read - own):
            if not isinstance(self.scope.names.get(name, Missing("")), Missing):
                yield name, self.read(name)

    def _function(self, statement: ast.For, first: Value, outside: dict[str, Value], own: set[str]) -> str:
        """Write the function that does turns %first .. %last - 1, its names in the memory at %context."""
        assert isinstance(statement.target, ast.Name)
        source, writer = self.scope.source, Writer(self.writer.module)
        writer.reorder_sums = self.writer.reorder_sums
        inner = type(self)(self.program, writer)
        count = 0

        def new(type_: str) -> str:
            nonlocal count
            place = memory.offset(writer, "%context", 8 * count)
            count += 1
            return writer.value(f"load {type_}, ptr {place}, align 8")

        start = passing.received(writer, passing.loose(first), new)
        names: Names = {name: passing.received(writer, passing.loose(value), new) for name, value in outside.items()}
        names |= {name: Missing(PRIVATE) for name in own}
        inner.scope = Scope(source, names, writer.label(), depth=1, in_turn=True)
        counter = writer.slot("i64")
        writer.do(f"store i64 %first, ptr {counter}, align 8")
        head, inside, again, end = (writer.label() for _ in range(4))
        writer.begin(head)
        k = writer.value(f"load i64, ptr {counter}, align 8")
        writer.branch(writer.value(f"icmp slt i64 {k}, %last"), inside, end)
        writer.begin(inside)
        inner.assign_scalar(statement.target.id, binary(writer, ast.Add(), start, Scalar("int", k)))
        inner.turn(statement.body, Loop(again, ""))
        writer.begin(again)
        following = writer.value(f"add nsw i64 {writer.value(f'load i64, ptr {counter}, align 8')}, 1")
        writer.do(f"store i64 {following}, ptr {counter}, align 8")
        writer.jump(head)
        writer.begin(end)
        for slot in inner.scope.heap:
            memory.free(writer, slot)
        writer.do("ret void")
        name = f"turns.{len(writer.module.functions)}.{source.function.__name__}"
        writer.define(f"internal void @{name}(ptr %context, i64 %first, i64 %last)")
        return name
