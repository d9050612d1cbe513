"""Statements of a kernel: assignments, branches, loops, results."""

from __future__ import annotations

import ast
import contextlib
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np

from stickslip.jit import elementwise, memory, syntax
from stickslip.jit.arithmetic import binary, convert
from stickslip.jit.calls import Calls
from stickslip.jit.errors import KernelError
from stickslip.jit.expressions import Merged
from stickslip.jit.parallel import prange
from stickslip.jit.scope import Loop, Missing, Names, Slot, Slots, joined
from stickslip.jit.values import (
    REGISTER,
    Constant,
    Record,
    Scalar,
    Value,
    View,
    in_words,
    is_of_numbers,
    items_of,
    kind_of,
    numbers_in,
)


class Statements(Calls):
    """Writes statements of kernels into one LLVM function."""

    def statements(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            if self.writer.ended:
                return
            source = self.scope.source
            try:
                getattr(self, f"do_{type(statement).__name__}")(statement)  # `syntax` refuses all others
            except KernelError as problem:
                raise problem.at(source, statement) from None

    def do_Pass(self, statement: ast.Pass) -> None:
        """Nothing to do."""

    def do_Expr(self, statement: ast.Expr) -> None:
        if not isinstance(statement.value, ast.Constant):  # a docstring
            self.expression(statement.value)

    def do_Assign(self, statement: ast.Assign) -> None:
        value = self.expression(statement.value)
        for target in statement.targets:
            self.assign(target, value)

    def do_AnnAssign(self, statement: ast.AnnAssign) -> None:
        if statement.value is not None:
            self.assign(statement.target, self.expression(statement.value))

    def assign(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.bind(target.id, value)
        elif isinstance(target, ast.Tuple):
            items = items_of(value)
            if items is None or len(items) != len(target.elts):
                raise KernelError(f"{len(target.elts)} names take a tuple of as many values, got {in_words(value)}.")
            # all values are read before the first name changes: a, b = b, a
            for name, item in zip(target.elts, items, strict=True):
                self.assign(name, item)
        elif isinstance(target, ast.Subscript):
            self.put(self.selected(target), value)
        elif isinstance(target, ast.Attribute):
            holder = self.expression(target.value)
            if not isinstance(holder, Record):
                raise KernelError(f"only fields of records can be assigned, got {in_words(holder)}.")
            memory.require_writable(holder)
            self.put(self.address_of_field(holder, target.attr), value)
        else:
            raise KernelError("this cannot be assigned to.")

    def address_of_field(self, record: Record, name: str) -> View | tuple[np.dtype[Any], str]:
        fields = record.dtype.fields
        if fields is None or name not in fields:
            raise KernelError(f"there is no field {name!r} in this record.")
        dtype, shift = fields[name][:2]
        if dtype.shape:
            view = memory.field(self.writer, record, name)
            assert isinstance(view, View)
            return view
        return dtype, memory.offset(self.writer, record.pointer, int(shift))

    def selected(self, node: ast.Subscript) -> View | tuple[np.dtype[Any], str]:
        """The part of an array, or the entry, that a subscript on the left of an assignment selects."""
        holder = self.expression(node.value)
        if not isinstance(holder, View):
            raise KernelError(f"only elements of arrays can be assigned, got {in_words(holder)}.")
        memory.require_writable(holder)
        found = memory.part(self.writer, holder, self.index(node.slice))
        if isinstance(found, Record):
            raise KernelError("a record is assigned field by field.")
        return found if isinstance(found, View) else (holder.dtype, found)

    def put(self, place: View | tuple[np.dtype[Any], str], value: Value) -> None:
        if isinstance(place, View):
            memory.fill(self.writer, place, value)
        else:
            memory.store(self.writer, *place, value)

    def do_AugAssign(self, statement: ast.AugAssign) -> None:
        target = statement.target
        if isinstance(target, ast.Name):
            old = self.read(target.id)
            if isinstance(old, View):
                self.change_all(old, statement)
                return
            self.bind(target.id, binary(self.writer, statement.op, old, self.expression(statement.value)))
            return
        if isinstance(target, ast.Subscript):
            place = self.selected(target)
        else:
            holder = self.expression(target.value)
            if not isinstance(holder, Record):
                raise KernelError(f"only fields of records can be assigned, got {in_words(holder)}.")
            memory.require_writable(holder)
            place = self.address_of_field(holder, target.attr)
        if isinstance(place, View):
            self.change_all(place, statement)
            return
        loaded = memory.load(self.writer, *place)
        memory.store(self.writer, *place, binary(self.writer, statement.op, loaded, self.expression(statement.value)))

    def change_all(self, array: View, statement: ast.AugAssign) -> None:
        """`array += value`, in place."""
        value = self.expression(statement.value)

        def operation(a: Value, b: Value) -> Constant | Scalar:
            return binary(self.writer, statement.op, a, b)

        if isinstance(value, View):  # parts of one array may overlap: all is read before the first is written
            memory.fill(self.writer, array, self.operated(operation, array, value))
        else:
            elementwise.write(self.writer, array, operation, (array, value))

    def do_Return(self, statement: ast.Return) -> None:
        scope = self.scope
        if scope.in_turn:
            raise KernelError("`return` inside a loop over prange is not in the language.")
        value: Value = Constant(None) if statement.value is None else self.expression(statement.value)
        last = scope.source.tree.body[-1] is statement and len(scope.source.returns) == 1
        if last:
            scope.result = value
        elif not (isinstance(value, Constant) and value.value is None):
            self.keep_result(value)
        elif scope.result_slots is not None:
            raise KernelError("some paths return a value and others none.")
        if not last:
            self.writer.jump(scope.result_label)

    def keep_result(self, value: Value) -> None:
        """Put one of several results where the end of the kernel finds it."""
        scope = self.scope
        parts, nesting = numbers_in(value)
        if scope.result_slots is None:
            kinds = [kind_of(item) for item in parts]
            if None in kinds:
                raise KernelError("arrays are returned by the only `return`, at the end of the kernel.")
            scope.result_slots = [Slot(kind, self.writer.slot(REGISTER[kind])) for kind in kinds]  # type: ignore[arg-type,index]
            scope.nesting = nesting
        if nesting != scope.nesting:
            raise KernelError("all results have the same number of values.")
        for slot, item in zip(scope.result_slots, parts, strict=True):
            if slot.kind != "float" and kind_of(item) == "float":
                raise KernelError(
                    f"the first result is of kind {slot.kind} and this one float: write 0.0 in place of 0."
                )
            self.writer.do(
                f"store {REGISTER[slot.kind]} {convert(self.writer, item, slot.kind)}, ptr {slot.pointer}, align 8"
            )

    def do_If(self, statement: ast.If) -> None:
        condition = self.condition(statement.test)
        if isinstance(condition, Constant):
            self.statements(statement.body if condition.value else statement.orelse)
            return
        yes, no, end = self.writer.label(), self.writer.label(), self.writer.label()
        self.writer.branch(condition.text, yes, no)
        before = dict(self.scope.names)
        ways: list[tuple[list[str], Names | None]] = []  # text and names at the end of each; None: it ends elsewhere
        self.scope.depth += 1
        for label, body in ((yes, statement.body), (no, statement.orelse)):
            self.scope.names = dict(before)
            with self.writer.aside() as part:
                self.writer.begin(label)
                self.statements(body)
            ways.append((part, None if self.writer.ended else self.scope.names))
            self.writer.ended = True
        self.scope.depth -= 1
        reached = [names for _, names in ways if names is not None]
        merged = self.merged_arrays(*reached) if len(reached) == 2 else {}
        for part, names in ways:
            self.writer.lines += part
            self.writer.ended = names is None
            if names is not None:
                for name, (slots, _) in merged.items():
                    self.keep(slots, names[name])  # type: ignore[arg-type]
                self.writer.jump(end)
        if reached:
            self.writer.begin(end)
            self.scope.names = joined(reached)
            self.scope.names |= {name: chosen() for name, (_, chosen) in merged.items()}

    def merged_arrays(self, one: Names, two: Names) -> dict[str, Merged]:
        """Slots of names that stand for different arrays, or tuples with arrays, at the ends of two branches."""
        found: dict[str, Merged] = {}
        for name in sorted(one.keys() & two.keys()):
            a, b = one[name], two[name]
            if a != b and not isinstance(a, (Slot, Slots, Missing)) and not isinstance(b, (Slot, Slots, Missing)):
                with contextlib.suppress(KernelError):  # what cannot be joined has no value behind the branches
                    found[name] = self.merge(a, b)
        return found

    def do_While(self, statement: ast.While) -> None:
        head, inside, end = self.writer.label(), self.writer.label(), self.writer.label()
        before = self.enter_loop(statement)
        self.writer.begin(head)
        condition = self.condition(statement.test)
        endless = isinstance(condition, Constant) and bool(condition.value)
        if isinstance(condition, Constant):
            self.writer.jump(inside if endless else end)
        else:
            self.writer.branch(condition.text, inside, end)
        self.writer.begin(inside)
        loop = Loop(head, end)
        self.turn(statement.body, loop)
        self.require_one_tuple(before, loop)
        if not self.writer.ended:
            self.writer.jump(head)
        self.leave(loop, [] if endless else [before])

    def do_For(self, statement: ast.For) -> None:
        if not isinstance(statement.target, (ast.Name, ast.Tuple)):
            raise KernelError("a loop counts in a name.")
        call = statement.iter
        if isinstance(call, ast.Call):
            function = self.expression(call.func)
            counts = isinstance(function, Constant) and function.value in (range, prange)
            if counts and isinstance(statement.target, ast.Name):
                if call.keywords:
                    raise KernelError("range takes one to three whole numbers.")
                ends = [self.expression(argument) for argument in call.args]
                if function == Constant(prange):
                    self.shared(statement, ends)
                else:
                    self.count(statement, *ends)
                return
        value = self.expression(call)
        if isinstance(value, View):
            self.count(statement, memory.size_value(value.dims[0]), over=value)
            return
        items = items_of(value)
        if items is None:
            raise KernelError("a loop runs over range(...), a tuple or an array.")
        self.each(statement, items)

    @abstractmethod
    def shared(self, statement: ast.For, arguments: list[Value]) -> None:
        """A loop over prange(arguments); see `turns.Turns`."""

    def each(self, statement: ast.For, items: tuple[Value, ...]) -> None:
        """Write the body once for every value of a tuple."""
        loop = Loop("", self.writer.label())
        for item in items:
            loop.again, loop.at_continue = self.writer.label(), []
            self.scope.depth += 1
            self.assign(statement.target, item)
            self.scope.depth -= 1
            self.turn(statement.body, loop)
            ways = [*loop.at_continue, *([] if self.writer.ended else [self.scope.names])]
            if not ways:  # every way leaves the loop
                self.leave(loop, [])
                return
            self.writer.begin(loop.again)
            self.scope.names = joined(ways)
        self.leave(loop, [self.scope.names])

    def count(self, statement: ast.For, *arguments: Value, over: View | None = None) -> None:
        """A loop over range(arguments), or over the elements of an array of this length."""
        if not 1 <= len(arguments) <= 3:
            raise KernelError("range takes one to three whole numbers.")
        first, last = (Constant(0), arguments[0]) if len(arguments) == 1 else (arguments[0], arguments[1])
        step = arguments[2] if len(arguments) == 3 else Constant(1)
        if not (isinstance(step, Constant) and kind_of(step) == "int" and step.value != 0):
            raise KernelError("the step of range is a number in the source, not zero.")
        for item in (first, last):
            if kind_of(item) not in ("int", "bool"):
                raise KernelError(f"range takes whole numbers, got {in_words(item)}.")
        writer = self.writer
        counter, stop = writer.slot("i64"), convert(writer, last, "int")
        writer.do(f"store i64 {convert(writer, first, 'int')}, ptr {counter}, align 8")
        head, inside, again, end = (writer.label() for _ in range(4))
        before = self.enter_loop(statement)
        writer.begin(head)
        i = writer.value(f"load i64, ptr {counter}, align 8")
        writer.branch(writer.value(f"icmp {'slt' if step.value > 0 else 'sgt'} i64 {i}, {stop}"), inside, end)
        writer.begin(inside)
        self.scope.depth += 1
        if over is None:
            assert isinstance(statement.target, ast.Name)
            self.assign_scalar(statement.target.id, Scalar("int", i))
        else:
            found = memory.part(writer, over, (Scalar("int", i),))
            self.assign(statement.target, memory.load(writer, over.dtype, found) if isinstance(found, str) else found)
        self.scope.depth -= 1
        loop = Loop(again, end)
        self.turn(statement.body, loop)
        self.require_one_tuple(before, loop)
        writer.begin(again)
        following = writer.value(f"add nsw i64 {writer.value(f'load i64, ptr {counter}, align 8')}, {step.value}")
        writer.do(f"store i64 {following}, ptr {counter}, align 8")
        known = isinstance(first, Constant) and isinstance(last, Constant)
        turns = len(range(first.value, last.value, step.value)) if known else None  # type: ignore[union-attr]
        writer.turn(head, turns)
        self.leave(loop, [before])

    def enter_loop(self, loop: ast.For | ast.While) -> Names:
        """Names before a loop: those of arrays that change in it must get their value anew in every turn."""
        changed = syntax.stored_names(loop)
        for name in sorted(changed):  # the text is one for all processes
            binding = self.scope.names.get(name)
            if binding is not None and not isinstance(binding, (Slot, Slots, Missing)):
                if kind_of(binding) is not None:
                    self.assign_scalar(name, binding)
                elif is_of_numbers(binding):
                    self.assign_tuple(name, binding)
                else:
                    reason = "stands for different arrays in different turns of a loop: take another name in it"
                    if all(kind_of(item) is not None for item in items_of(binding) or (binding,)):
                        reason = "is a struct, which a loop cannot change: give its numbers names of their own"
                    self.scope.names[name] = Missing(reason)
        return dict(self.scope.names)

    def require_one_tuple(self, before: Names, loop: Loop) -> None:
        """Tuples of numbers that a loop changes are tuples of one form where the next turn begins."""
        for names in (*loop.at_continue, *([] if self.writer.ended else [self.scope.names])):
            for name, binding in before.items():
                if isinstance(binding, Slots) and names.get(name) != binding:
                    raise KernelError(f"{name} stands for tuples of different forms: take another name in the loop.")

    def turn(self, body: list[ast.stmt], loop: Loop) -> None:
        """Write the body of a loop."""
        self.scope.depth += 1
        self.scope.loops.append(loop)
        self.statements(body)
        self.scope.loops.pop()
        self.scope.depth -= 1

    def leave(self, loop: Loop, ways: list[Names]) -> None:
        """Go on behind a loop; `ways` are the names where it ends by itself."""
        ends = [*ways, *loop.at_break]
        if not ends:  # nobody gets here
            self.writer.ended = True
            return
        self.writer.begin(loop.end)
        self.scope.names = joined(ends)

    def do_Break(self, statement: ast.Break) -> None:
        loop = self.scope.loops[-1]
        if not loop.end:
            raise KernelError("`break` out of a loop over prange is not in the language.")
        loop.at_break.append(dict(self.scope.names))
        self.writer.jump(loop.end)

    def do_Continue(self, statement: ast.Continue) -> None:
        loop = self.scope.loops[-1]
        loop.at_continue.append(dict(self.scope.names))
        self.writer.jump(loop.again)
