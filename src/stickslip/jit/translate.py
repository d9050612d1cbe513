"""From the syntax tree of a kernel to LLVM IR.

Kernels marked `inline` are written in place of their calls, so that arrays, tuples and constants are passed for
nothing.  Other kernels become functions of the module, one for every combination of argument types.

A scalar name has a slot on the stack, which LLVM turns into registers; its kind is that of its first assignment.
Names of arrays and tuples are resolved here: such a name stands for one array at each place of the source.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stickslip.jit import memory, syntax
from stickslip.jit.arithmetic import convert
from stickslip.jit.errors import KernelError
from stickslip.jit.scope import Callee, Scope
from stickslip.jit.statements import Statements
from stickslip.jit.values import (
    REGISTER,
    Bundle,
    Constant,
    Kind,
    Record,
    Scalar,
    Value,
    View,
    in_words,
    items_of,
    kind_of,
    literal,
)
from stickslip.jit.writer import Module, Writer


@dataclass
class Made:
    """A function of the module: its name, and kinds of its results; None while it is written."""

    name: str
    kinds: tuple[Kind, ...] | None = None
    is_tuple: bool = False


class Program:
    """A module of functions that kernels became; each is written once per combination of argument types."""

    def __init__(self) -> None:
        self.module = Module()
        self._made: dict[Any, Made] = {}

    def function(self, callee: Callee, arguments: tuple[Value, ...]) -> Made:
        """The function for arguments of these types, written where it is not there yet."""
        key = (callee, tuple(_type_of(argument) for argument in arguments))
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = Made(f"{callee.python.__name__}.{len(self._made)}")
            writer = Writer(self.module)
            parameters: list[str] = []
            inner = tuple(_parameter(writer, argument, parameters) for argument in arguments)
            result = Body(self, writer).inline(callee, inner)
            made.kinds, made.is_tuple = result_kinds(result, callee.python.__name__)
            type_ = _return(writer, result, made.kinds)
            writer.define(f"internal {type_} @{made.name}({', '.join(parameters)})")
        elif made.kinds is None:
            raise KernelError(f"{callee.python.__name__} calls itself: write a loop.")
        return made


def _type_of(value: Value) -> Any:
    """What a function is specialised by."""
    if isinstance(value, Constant):
        return "float" if kind_of(value) == "float" else ("constant", type(value.value), value.value)
    if isinstance(value, Scalar):
        return value.kind
    if isinstance(value, View):
        sizes = tuple(size if isinstance(size, int) else "?" for size in (*value.dims, *value.strides))
        return ("view", value.dtype, len(value.dims), sizes, value.read_only)
    if isinstance(value, Record):
        return ("record", value.dtype, value.read_only)
    return ("tuple", value.names, tuple(_type_of(item) for item in value.items))


def _parameter(writer: Writer, value: Value, parameters: list[str]) -> Value:
    """Value inside a function that belongs to an argument outside; adds LLVM's parameters for it."""

    def new(type_: str) -> str:
        name = writer.name()
        parameters.append(f"{type_} {name}")
        return name

    if isinstance(value, Scalar):
        return Scalar(value.kind, new(REGISTER[value.kind]))
    if isinstance(value, Constant):
        return Scalar("float", new("double")) if kind_of(value) == "float" else value
    if isinstance(value, View):
        pointer = new("ptr")
        dims = tuple(size if isinstance(size, int) else new("i64") for size in value.dims)
        strides = tuple(size if isinstance(size, int) else new("i64") for size in value.strides)
        return View(value.dtype, pointer, dims, strides, value.read_only)
    if isinstance(value, Record):
        return Record(value.dtype, new("ptr"), value.read_only)
    return Bundle(tuple(_parameter(writer, item, parameters) for item in value.items), value.names)


def _given(value: Value) -> list[tuple[str, str]]:
    """LLVM's arguments for a value, in the order of `_parameter`."""
    if isinstance(value, Scalar):
        return [(REGISTER[value.kind], value.text)]
    if isinstance(value, Constant):
        return [("double", literal("float", value.value))] if kind_of(value) == "float" else []
    if isinstance(value, View):
        sizes = [("i64", size) for size in (*value.dims, *value.strides) if isinstance(size, str)]
        return [("ptr", value.pointer), *sizes]
    if isinstance(value, Record):
        return [("ptr", value.pointer)]
    return [given for item in value.items for given in _given(item)]


def result_kinds(result: Value, name: str) -> tuple[tuple[Kind, ...], bool]:
    """Kinds of the numbers that a kernel returns, and whether they are a tuple."""
    if isinstance(result, Constant) and result.value is None:
        return (), False
    items = items_of(result)
    kinds = tuple(kind_of(item) for item in ((result,) if items is None else items))
    if None in kinds:
        raise KernelError(f"{name} returns numbers or tuples of numbers; mark it inline to return {in_words(result)}.")
    return kinds, items is not None  # type: ignore[return-value]


def _return(writer: Writer, result: Value, kinds: tuple[Kind, ...]) -> str:
    """End a function with its results in a structure; return the structure's type."""
    if not kinds:
        writer.do("ret void")
        return "void"
    type_ = "{ " + ", ".join(REGISTER[kind] for kind in kinds) + " }"
    text = "undef"
    for k, (item, kind) in enumerate(zip(items_of(result) or (result,), kinds, strict=True)):
        number = convert(writer, item, kind)
        text = writer.value(f"insertvalue {type_} {text}, {REGISTER[kind]} {number}, {k}")
    writer.do(f"ret {type_} {text}")
    return type_


class Body(Statements):
    """Writes kernels into one LLVM function."""

    def inline(self, callee: Callee, arguments: tuple[Value, ...]) -> Value:
        """Write a kernel's body here; return its result."""
        source = syntax.read(callee.python)
        if len(arguments) != len(source.parameters):
            raise KernelError(
                f"{callee.python.__name__} takes {len(source.parameters)} arguments, got {len(arguments)}."
            )
        writer, outer, sums = self.writer, self.scope, self.writer.reorder_sums
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
            loaded = tuple(self.load(slot) for slot in scope.result_slots)
            result = Bundle(loaded) if scope.result_is_tuple else loaded[0]
        self.scope, writer.reorder_sums = outer, sums
        if scope.heap and result is not None and _has_memory(result):
            if outer is None:
                raise KernelError(
                    "a new array cannot be returned: pass it in and write to it.", source.place(source.tree)
                )
            outer.heap += scope.heap
        else:
            for slot in scope.heap:
                memory.free(writer, slot)
        return Constant(None) if result is None else result

    def call(self, callee: Callee, arguments: tuple[Value, ...]) -> Value:
        """Call a kernel, in place or as a function of the module."""
        if callee.inline:
            return self.inline(callee, arguments)
        made = self.program.function(callee, arguments)
        assert made.kinds is not None
        given = ", ".join(f"{type_} {text}" for argument in arguments for type_, text in _given(argument))
        if not made.kinds:
            self.writer.do(f"call void @{made.name}({given})")
            return Constant(None)
        type_ = "{ " + ", ".join(REGISTER[kind] for kind in made.kinds) + " }"
        found = self.writer.value(f"call {type_} @{made.name}({given})")
        items = tuple(
            Scalar(kind, self.writer.value(f"extractvalue {type_} {found}, {k}")) for k, kind in enumerate(made.kinds)
        )
        return Bundle(items) if made.is_tuple else items[0]


def _has_memory(value: Value) -> bool:
    """Whether a value refers to an array."""
    if isinstance(value, Bundle):
        return any(_has_memory(item) for item in value.items)
    return isinstance(value, (View, Record))
