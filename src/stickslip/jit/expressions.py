"""Expressions of a kernel: names, numbers, tuples, parts of arrays, choices and calls."""

from __future__ import annotations

import ast
import builtins
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.jit import elementwise, memory
from stickslip.jit.arithmetic import binary, compare, convert, truth, unary
from stickslip.jit.errors import KernelError
from stickslip.jit.scope import Callee, Missing, Scope, Slot, Slots, as_callee
from stickslip.jit.values import (
    ARGUMENT,
    REGISTER,
    STACK,
    Bundle,
    Constant,
    Kind,
    Record,
    Scalar,
    Value,
    View,
    in_words,
    is_of_numbers,
    items_of,
    kind_of,
    literal,
    nested,
    numbers_in,
)
from stickslip.jit.writer import Writer

if TYPE_CHECKING:
    from stickslip.jit.translate import Program


Merged = tuple[list[tuple[str, str]], Callable[[], Value]]
"""LLVM types and slots for either of two values, and what reads the chosen one."""


class Expressions(ABC):
    """Writes expressions of kernels into one LLVM function."""

    def __init__(self, program: Program, writer: Writer) -> None:
        self.program, self.writer = program, writer
        self.scope: Scope = None  # type: ignore[assignment]

    @abstractmethod
    def call(self, callee: Callee, arguments: tuple[Value, ...]) -> Value:
        """Call a kernel; see `translate.Body`."""

    # -- names ---------------------------------------------------------------------------------------------------------

    def load(self, slot: Slot) -> Scalar:
        return Scalar(slot.kind, self.writer.value(f"load {REGISTER[slot.kind]}, ptr {slot.pointer}, align 8"))

    def assign_scalar(self, name: str, value: Value) -> None:
        """Give a scalar name its next value; the first one decides the kind."""
        kind = kind_of(value)
        assert kind is not None
        slot = self.scope.slots.get(name)
        if slot is None:
            slot = self.scope.slots[name] = Slot(kind, self.writer.slot(REGISTER[kind]))
        self.store(name, slot, value)
        self.scope.names[name] = slot

    def store(self, name: str, slot: Slot, value: Value) -> None:
        """Put a number of a name where it lies."""
        kind = kind_of(value)
        if slot.kind != kind and not (slot.kind == "float" or (slot.kind == "int" and kind == "bool")):
            raise KernelError(
                f"{name} is of kind {slot.kind} since its first assignment and cannot become {kind}: "
                "begin with 0.0 in place of 0, or take another name."
            )
        text = convert(self.writer, value, slot.kind)
        self.writer.do(f"store {REGISTER[slot.kind]} {text}, ptr {slot.pointer}, align 8")

    def assign_tuple(self, name: str, value: Value) -> None:
        """Give a name that changes its next tuple of numbers; each number lies in a slot of its own."""
        numbers, nesting = numbers_in(value)
        held = self.scope.tuples.get((name, nesting))
        if held is None:
            kinds = [kind_of(number) for number in numbers]
            slots = tuple(Slot(kind, self.writer.slot(REGISTER[kind])) for kind in kinds if kind is not None)
            held = self.scope.tuples[name, nesting] = Slots(slots, nesting)
        for slot, number in zip(held.slots, numbers, strict=True):
            self.store(name, slot, number)
        self.scope.names[name] = held

    def bind(self, name: str, value: Value) -> None:
        """Give a name its value; `_` takes values of any kind where nobody reads it."""
        if name == "_" and name not in self.scope.source.loads:
            return
        single = name in self.scope.source.single and self.scope.depth == 0
        changes = self.scope.source.stores[name] > 1 or isinstance(self.scope.names.get(name), Slots)
        if changes and is_of_numbers(value):
            self.assign_tuple(name, value)
        elif single or kind_of(value) is None:
            self.scope.names[name] = value
        else:
            self.assign_scalar(name, value)

    def read(self, name: str) -> Value:
        binding = self.scope.names.get(name)
        if isinstance(binding, Missing):
            raise KernelError(f"{name} {binding.reason}.")
        if isinstance(binding, Slot):
            return self.load(binding)
        if isinstance(binding, Slots):
            return nested(iter([self.load(slot) for slot in binding.slots]), binding.nesting)
        if binding is not None:
            return binding
        if name in self.scope.source.stores:
            raise KernelError(f"{name} may have no value here: give it one before.")
        return self.outside(name)

    def outside(self, name: str) -> Value:
        """A name of the kernel's module, or of Python."""
        function = self.scope.source.function
        names = function.__globals__
        if function.__closure__ and name in function.__code__.co_freevars:
            cell = function.__closure__[function.__code__.co_freevars.index(name)]
            return self.known(cell.cell_contents)
        if name in names:
            return self.known(names[name])
        if hasattr(builtins, name):
            return Constant(getattr(builtins, name))
        raise KernelError(f"{name} is not known.")

    def known(self, value: Any) -> Value:
        """A Python object as a value."""
        if isinstance(value, np.ndarray):
            return self.program.module.constant(np.ascontiguousarray(value))
        if isinstance(value, np.generic):
            return Constant(value.item())
        return Constant(value)

    # -- expressions ---------------------------------------------------------------------------------------------------

    def expression(self, node: ast.expr) -> Value:
        method, source = getattr(self, f"of_{type(node).__name__}", None), self.scope.source
        try:
            if method is None:
                raise KernelError(f"{type(node).__name__} is not in the language.")
            found: Value = method(node)
            return found
        except KernelError as problem:
            raise problem.at(source, node) from None
        except (TypeError, ValueError, ArithmeticError) as problem:  # of values that the translator knows
            raise KernelError(f"this has no value: {problem}.", source.place(node)) from None

    def condition(self, node: ast.expr) -> Constant | Scalar:
        """An expression where Python asks for its truth."""
        if isinstance(node, ast.BoolOp):
            return self.short_circuit(node, self.condition)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.condition(node.operand)
            if isinstance(inner, Constant):
                return Constant(not inner.value)
            return Scalar("bool", self.writer.value(f"xor i1 {inner.text}, true"))
        source, value = self.scope.source, self.expression(node)
        try:
            return truth(self.writer, value)
        except KernelError as problem:
            raise problem.at(source, node) from None

    def truth_of(self, node: ast.expr) -> Constant | Scalar:
        """A part of `a and b` whose value is asked for: Python returns one of both, so it has to be a truth."""
        if isinstance(node, ast.BoolOp):
            return self.short_circuit(node, self.truth_of)
        source, value = self.scope.source, self.expression(node)
        if kind_of(value) != "bool":
            problem = KernelError(f"`and` and `or` join conditions, got {in_words(value)}: write a comparison.")
            raise problem.at(source, node)
        return truth(self.writer, value)

    def short_circuit(self, node: ast.BoolOp, part: Callable[[ast.expr], Constant | Scalar]) -> Constant | Scalar:
        """`and`, `or`: what follows a decision is not computed."""
        parts = [functools.partial(part, operand) for operand in node.values]
        return self.decided(parts, isinstance(node.op, ast.Or))

    def decided(self, parts: Sequence[Callable[[], Constant | Scalar]], stops_at: bool) -> Constant | Scalar:
        """The truth of the first part that is `stops_at`, or of the last; parts behind it are not computed."""
        slot: str | None = None
        end = ""
        for position, part in enumerate(parts):
            found = part()
            last = position == len(parts) - 1
            if isinstance(found, Constant) and not last and bool(found.value) != stops_at:
                continue  # decides nothing
            if slot is None:
                if isinstance(found, Constant):
                    return Constant(bool(found.value))
                if last:
                    return found
                slot, end = self.writer.slot("i1"), self.writer.label()
            text = literal("bool", found.value) if isinstance(found, Constant) else found.text
            self.writer.do(f"store i1 {text}, ptr {slot}")
            if last or isinstance(found, Constant):
                break
            more = self.writer.label()
            self.writer.branch(text, end if stops_at else more, more if stops_at else end)
            self.writer.begin(more)
        self.writer.begin(end)
        return Scalar("bool", self.writer.value(f"load i1, ptr {slot}"))

    def of_Constant(self, node: ast.Constant) -> Value:
        return Constant(node.value)

    def of_Name(self, node: ast.Name) -> Value:
        return self.read(node.id)

    def of_Tuple(self, node: ast.Tuple) -> Value:
        items: list[Value] = []
        for element in node.elts:
            if isinstance(element, ast.Starred):
                inner = items_of(self.expression(element.value))
                if inner is None:
                    raise KernelError("only a tuple can be unpacked by *.")
                items += inner
            else:
                items.append(self.expression(element))
        if all(isinstance(item, Constant) for item in items):
            return Constant(tuple(item.value for item in items))  # type: ignore[union-attr]
        return Bundle(tuple(items))

    def of_List(self, node: ast.List) -> Value:
        """A list that nobody changes is a tuple."""
        return self.of_Tuple(ast.copy_location(ast.Tuple(node.elts, node.ctx), node))

    def of_Attribute(self, node: ast.Attribute) -> Value:
        holder, name = self.expression(node.value), node.attr
        if isinstance(holder, View) and name == "shape":
            sizes = tuple(memory.size_value(size) for size in holder.dims)
            known = all(isinstance(size, Constant) for size in sizes)
            return Constant(holder.dims) if known else Bundle(sizes)
        if isinstance(holder, View) and name == "size":
            size: Value = Constant(1)
            for length in holder.dims:
                size = binary(self.writer, ast.Mult(), size, memory.size_value(length))
            return size
        if isinstance(holder, View) and name == "ndim":
            return Constant(len(holder.dims))
        if isinstance(holder, (View, Record)):
            return memory.field(self.writer, holder, name)
        if isinstance(holder, Bundle):
            if name not in holder.names:
                raise KernelError(f"this tuple has no {name!r}; its names: {', '.join(holder.names) or 'none'}.")
            return holder.items[holder.names.index(name)]
        if isinstance(holder, Constant) and hasattr(holder.value, name):
            return self.known(getattr(holder.value, name))
        raise KernelError(f"{in_words(holder)} has no {name!r}.")

    def index(self, node: ast.expr) -> tuple[Any, ...]:
        """Indices and slices of a subscript."""
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        found: list[Any] = []
        for item in parts:
            if isinstance(item, ast.Slice):
                found.append(slice(*self.ends_of(item)))
                continue
            value = self.expression(item)
            found += items_of(value) or (value,)
        return tuple(found)

    def ends_of(self, item: ast.Slice) -> list[Value | None]:
        """The two ends of a slice, None where it has none."""
        if item.step is not None:
            raise KernelError("slices with a step are not in the language: write a loop.")
        return [None if end is None else self.expression(end) for end in (item.lower, item.upper)]

    def of_Subscript(self, node: ast.Subscript) -> Value:
        holder = self.expression(node.value)
        if isinstance(holder, View):
            found = memory.part(self.writer, holder, self.index(node.slice))
            return memory.load(self.writer, holder.dtype, found) if isinstance(found, str) else found
        items = items_of(holder)
        if items is None:
            raise KernelError(
                f"{in_words(holder)} has no elements here: give its numbers names, or make them an array."
            )
        if isinstance(node.slice, ast.Slice):
            ends = self.ends_of(node.slice)
            if not all(end is None or isinstance(end, Constant) for end in ends):
                raise KernelError("a tuple is cut at numbers that the translator knows.")
            cut = slice(*(None if end is None else end.value for end in ends))  # type: ignore[union-attr]
            return Bundle(items[cut])
        index = self.expression(node.slice)
        if isinstance(index, Constant):
            try:
                return items[index.value]
            except (IndexError, TypeError):
                raise KernelError(f"a tuple of {len(items)} values has no element {index.value!r}.") from None
        if isinstance(holder, Constant) and all(kind_of(item) is not None for item in items):
            kinds = {kind_of(item) for item in items}
            numbers = np.array(holder.value, dtype=np.float64 if "float" in kinds else np.int64)
            table = self.program.module.constant(numbers)
            place = memory.part(self.writer, table, (index,))
            assert isinstance(place, str)
            return memory.load(self.writer, table.dtype, place)
        raise KernelError("a tuple is indexed by a number that the translator knows, unless all of it are constants.")

    def of_UnaryOp(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            return self.condition(node)
        return self.operated(lambda number: unary(self.writer, node.op, number), self.expression(node.operand))

    def of_BinOp(self, node: ast.BinOp) -> Value:
        left, right = self.expression(node.left), self.expression(node.right)
        if isinstance(node.op, ast.Add) and items_of(left) is not None and items_of(right) is not None:
            return Bundle((*items_of(left), *items_of(right)))  # type: ignore[misc]
        return self.operated(lambda *numbers: binary(self.writer, node.op, *numbers), left, right)

    def operated(self, operation: elementwise.Operation, *values: Value) -> Value:
        """Result of an operation on numbers, or a new array of its results on the elements of arrays."""
        if any(isinstance(value, View) for value in values):
            return elementwise.apply(self.writer, self.allocate, operation, values)
        return operation(*values)

    def of_BoolOp(self, node: ast.BoolOp) -> Value:
        return self.short_circuit(node, self.truth_of)

    def of_Compare(self, node: ast.Compare) -> Value:
        left = self.expression(node.left)
        if len(node.ops) == 1:
            return compare(self.writer, node.ops[0], left, self.expression(node.comparators[0]))
        if any(self.may_write(part) for later in node.comparators[1:] for part in ast.walk(later)):
            known = [left]

            def pair(op: ast.cmpop, comparator: ast.expr) -> Constant | Scalar:
                known.append(self.expression(comparator))
                return compare(self.writer, op, *known[-2:])

            chain = zip(node.ops, node.comparators, strict=True)
            return self.decided([functools.partial(pair, *link) for link in chain], False)
        result: Value = Constant(True)
        for op, comparator in zip(node.ops, node.comparators, strict=True):  # nothing here changes anything
            right = self.expression(comparator)
            one = compare(self.writer, op, left, right)
            result = binary(self.writer, ast.BitAnd(), result, one)
            left = right
        return result

    def may_write(self, node: ast.AST) -> bool:
        """Whether a part of an expression is a call that may change arrays: of a kernel."""
        if not isinstance(node, ast.Call):
            return False
        function = self.expression(node.func) if isinstance(node.func, ast.Name) else None
        return isinstance(function, Constant) and as_callee(function.value) is not None

    def of_IfExp(self, node: ast.IfExp) -> Value:
        condition = self.condition(node.test)
        if isinstance(condition, Constant):
            return self.expression(node.body if condition.value else node.orelse)
        writer = self.writer
        yes, no, end = writer.label(), writer.label(), writer.label()
        writer.branch(condition.text, yes, no)
        found: list[Value] = []
        parts: list[list[str]] = []
        for label, choice in ((yes, node.body), (no, node.orelse)):
            with writer.aside() as part:
                writer.ended = True
                writer.begin(label)
                found.append(self.expression(choice))
            parts.append(part)
        slots, chosen = self.merge(found[0], found[1])
        for part, value in zip(parts, found, strict=True):
            writer.lines += part
            writer.ended = False
            self.keep(slots, value)
            writer.jump(end)
        writer.begin(end)
        return chosen()

    def merge(self, a: Value, b: Value) -> Merged:

        writer = self.writer
        if kind_of(a) is not None and kind_of(b) is not None:
            kinds = {kind_of(a), kind_of(b)}
            kind: Kind = "float" if "float" in kinds else "bool" if kinds == {"bool"} else "int"
            slot = Slot(kind, writer.slot(REGISTER[kind]))
            return [(REGISTER[kind], slot.pointer)], lambda: self.load(slot)
        if isinstance(a, View) and isinstance(b, View) and a.dtype == b.dtype and len(a.dims) == len(b.dims):
            return self.merge_views(a, b)
        if isinstance(a, Record) and isinstance(b, Record) and a.dtype == b.dtype:
            pointer, read_only = writer.slot("ptr"), a.read_only or b.read_only
            return [("ptr", pointer)], lambda: Record(
                a.dtype, writer.value(f"load ptr, ptr {pointer}, align 8"), read_only
            )
        items, others = items_of(a), items_of(b)
        if items is not None and others is not None and len(items) == len(others):
            merged = [self.merge(x, y) for x, y in zip(items, others, strict=True)]
            names = a.names if isinstance(a, Bundle) else ()
            return [slot for slots, _ in merged for slot in slots], lambda: Bundle(
                tuple(chosen() for _, chosen in merged), names
            )
        raise KernelError(f"a choice between {in_words(a)} and {in_words(b)} is not in the language.")

    def merge_views(self, a: View, b: View) -> Merged:
        writer = self.writer
        slots = [("ptr", writer.slot("ptr"))]
        sizes: list[Any] = []
        for x, y in zip((*a.dims, *a.strides), (*b.dims, *b.strides), strict=True):
            same = x == y and isinstance(x, int)
            sizes.append(x if same else None)
            slots.append(("i64", "" if same else writer.slot("i64")))

        def chosen() -> Value:
            pointer = writer.value(f"load ptr, ptr {slots[0][1]}, align 8")
            read = tuple(
                writer.value(f"load i64, ptr {slot}, align 8") if size is None else size
                for size, (_, slot) in zip(sizes, slots[1:], strict=True)
            )
            n = len(a.dims)
            own = any(home and not home.startswith(ARGUMENT) for home in (a.home, b.home))
            home = a.home if a.home == b.home else STACK if own else ""
            return View(a.dtype, pointer, read[:n], read[n:], a.read_only or b.read_only, a.packed and b.packed, home)

        return slots, chosen

    def keep(self, slots: list[tuple[str, str]], value: Value) -> None:
        """Write a value into the slots that `merge` made."""
        for (type_, slot), text in zip(slots, self.parts(value, [type_ for type_, _ in slots]), strict=True):
            if slot:
                self.writer.do(f"store {type_} {text}, ptr {slot}, align 8")

    def parts(self, value: Value, types: list[str]) -> list[str]:
        """Registers of a value, in the order of the slots that `merge` made for it, which have these types."""
        if isinstance(value, View):
            return [value.pointer, *(str(size) for size in (*value.dims, *value.strides))]
        if isinstance(value, Record):
            return [value.pointer]
        items = items_of(value)
        if items is None:
            kinds: dict[str, Kind] = {type_: kind for kind, type_ in REGISTER.items()}  # type: ignore[misc]
            return [convert(self.writer, value, kinds[types[0]])]
        found: list[str] = []
        for item in items:
            found += self.parts(item, types[len(found) :])
        return found

    def allocate(self, shape: Value, dtype: np.dtype[Any]) -> View:
        view, slot = memory.new_array(self.writer, shape, dtype)
        if slot is not None:
            self.scope.heap.append(slot)
        return view
