"""How values go from one LLVM function to another: as arguments, and as results.

A value becomes some LLVM registers: an array is its address and those lengths that the translator does not know, with
strides where it has gaps.  Values that the translator knows are not passed: the function is written for them.

A function that returns new arrays hands over their memory: its caller frees them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from stickslip.jit import memory
from stickslip.jit.errors import KernelError
from stickslip.jit.values import (
    ARGUMENT,
    REGISTER,
    STACK,
    Bundle,
    Constant,
    Record,
    Scalar,
    Value,
    View,
    kind_of,
    literal,
)
from stickslip.jit.writer import Writer

New = Callable[[str], str]
"""Makes the register of the next part of a value; takes its LLVM type."""


def type_of(value: Value) -> Any:
    """Type of a value with all that the translator knows about it: a function is written for each of these types."""
    if isinstance(value, Constant):
        return "float" if kind_of(value) == "float" else ("constant", type(value.value), value.value)
    if isinstance(value, Scalar):
        return value.kind
    if isinstance(value, View):
        sizes = value.dims if value.packed else (*value.dims, *value.strides)
        known = tuple(size if isinstance(size, int) else "?" for size in sizes)
        return ("view", value.dtype, len(value.dims), known, value.packed, value.read_only)
    if isinstance(value, Record):
        return ("record", value.dtype, value.read_only)
    return ("tuple", value.names, tuple(type_of(item) for item in value.items))


def received(writer: Writer, value: Value, new: New) -> Value:
    """The value that `value` becomes inside a called function; `new` gives its registers in turn."""
    if isinstance(value, Scalar):
        return Scalar(value.kind, new(REGISTER[value.kind]))
    if isinstance(value, Constant):
        return Scalar("float", new("double")) if kind_of(value) == "float" else value
    if isinstance(value, View):
        pointer = new("ptr")
        dims = tuple(size if isinstance(size, int) else new("i64") for size in value.dims)
        if value.packed:
            strides = memory.packed_strides(writer, dims, value.dtype.itemsize)
        else:
            strides = tuple(size if isinstance(size, int) else new("i64") for size in value.strides)
        return View(value.dtype, pointer, dims, strides, value.read_only, value.packed)
    if isinstance(value, Record):
        return Record(value.dtype, new("ptr"), value.read_only)
    return Bundle(tuple(received(writer, item, new) for item in value.items), value.names)


def given(value: Value) -> list[tuple[str, str]]:
    """LLVM types and registers of a value, in the order of `received`."""
    if isinstance(value, Scalar):
        return [(REGISTER[value.kind], value.text)]
    if isinstance(value, Constant):
        return [("double", literal("float", value.value))] if kind_of(value) == "float" else []
    if isinstance(value, View):
        sizes = value.dims if value.packed else (*value.dims, *value.strides)
        return [("ptr", value.pointer), *(("i64", size) for size in sizes if isinstance(size, str))]
    if isinstance(value, Record):
        return [("ptr", value.pointer)]
    return [part for item in value.items for part in given(item)]


def private(writer: Writer, arguments: tuple[Value, ...]) -> frozenset[int]:
    """Numbers of those registers of the arguments that are addresses of whole arrays of the caller, each passed once.

    Nothing else that is passed leads to such an array, unless a part of an array on the stack is passed, too.
    """
    slots = memory.own_slots(writer)
    for argument in arguments:
        for place in places_in(argument):
            if place.pointer not in slots and (isinstance(place, Record) or place.home == STACK):
                return frozenset()
    texts = [text for argument in arguments for _, text in given(argument)]
    return frozenset(k for k, text in enumerate(texts) if text in slots and texts.count(text) == 1)


def loose(value: Value) -> Value:
    """A value whose known whole numbers and truths are passed at run time, so that one function serves all."""
    kind = kind_of(value)
    if isinstance(value, Constant) and kind in ("int", "bool"):
        return Scalar(kind, literal(kind, value.value))
    if isinstance(value, Bundle):
        return replace(value, items=tuple(loose(item) for item in value.items))
    if isinstance(value, Constant) and isinstance(value.value, tuple):
        names = tuple(getattr(type(value.value), "_fields", ()))
        return Bundle(tuple(loose(Constant(item)) for item in value.value), names)
    return value


def by_address(value: Value) -> Value:
    """A value as a function takes it that is called by its address: nothing in it is known but the types."""
    value = loose(value)
    if isinstance(value, View):
        if not value.packed:
            raise KernelError("a function that is called by its address takes arrays without gaps.")
        return replace(value, dims=tuple(str(size) for size in value.dims))
    if isinstance(value, Bundle):
        return replace(value, items=tuple(by_address(item) for item in value.items))
    return value


def places_in(value: Value) -> Iterator[View | Record]:
    """The arrays and records of a value."""
    if isinstance(value, View | Record):
        yield value
    elif isinstance(value, Bundle):
        for item in value.items:
            yield from places_in(item)


def arrays_in(value: Value) -> Iterator[View]:
    """The arrays of a value."""
    return (place for place in places_in(value) if isinstance(place, View))


def off_the_stack(writer: Writer, value: Value, heap: list[str]) -> Value:
    """A result whose arrays outlive the function: arrays on the stack are copied to the heap."""
    if isinstance(value, View) and value.home == STACK:
        shape = Bundle(tuple(memory.size_value(size) for size in value.dims))
        copy, slot = memory.new_array(writer, shape, value.dtype, on_heap=True)
        assert slot is not None
        heap.append(slot)
        memory.fill(writer, copy, value)
        return copy
    if isinstance(value, Bundle):
        return replace(value, items=tuple(off_the_stack(writer, item, heap) for item in value.items))
    return value


def of_caller(arguments: tuple[Value, ...]) -> tuple[Value, ...]:
    """Arguments inside a function, with their numbers as homes of their arrays: a result may be a part of one."""
    count = 0

    def marked(value: Value) -> Value:
        nonlocal count
        if isinstance(value, View):
            count += 1
            return replace(value, home=f"{ARGUMENT}{count - 1}")
        if isinstance(value, Bundle):
            return replace(value, items=tuple(marked(item) for item in value.items))
        return value

    return tuple(marked(argument) for argument in arguments)


def homes(value: Value) -> list[str]:
    """Slots of the memory that the arrays of a result have, each once; not those of its caller's arrays."""
    found = dict.fromkeys(view.home for view in arrays_in(value))
    return [home for home in found if home and not home.startswith(ARGUMENT)]


def at_home(value: Value, slots: dict[str, str], model: Value) -> Value:
    """A result with the slots of its new owner; `model` has those of the function that made it."""
    if isinstance(value, View) and isinstance(model, View):
        return replace(value, home=slots.get(model.home, ""))
    if isinstance(value, Bundle) and isinstance(model, Bundle):
        items = tuple(at_home(item, slots, of) for item, of in zip(value.items, model.items, strict=True))
        return replace(value, items=items)
    return value


def returned(writer: Writer, result: Value, heap: list[str]) -> tuple[str, Value]:
    """End a function; returns LLVM's type of its result, and the result as its callers have to take it."""
    result = off_the_stack(writer, result, heap)
    handed = homes(result)
    parts = [*given(result), *(("ptr", writer.value(f"load ptr, ptr {slot}, align 8")) for slot in handed)]
    for slot in heap:
        if slot not in handed:
            memory.free(writer, slot)
    if not parts:
        writer.do("ret void")
        return "void", result
    type_ = "{ " + ", ".join(part for part, _ in parts) + " }"
    text = "undef"
    for k, (part, register) in enumerate(parts):
        text = writer.value(f"insertvalue {type_} {text}, {part} {register}, {k}")
    writer.do(f"ret {type_} {text}")
    return type_, result


def taken(
    writer: Writer, type_: str, call: str, model: Value, heap: list[str], arguments: tuple[Value, ...] = ()
) -> Value:
    """Result of a call of a function that returned `model`; `call` is the call behind its type.  New memory: `heap`.

    A part of an array among the arguments has the home of that array.
    """
    if type_ == "void":
        writer.do(f"call void {call}")
        return model
    found = writer.value(f"call {type_} {call}")
    count = 0

    def new(_: str) -> str:
        nonlocal count
        count += 1
        return writer.value(f"extractvalue {type_} {found}, {count - 1}")

    value = received(writer, model, new)
    slots = {home: memory.owned(writer, new("ptr")) for home in homes(model)}
    heap += slots.values()
    given_homes = (view.home for argument in arguments for view in arrays_in(argument))
    slots |= {f"{ARGUMENT}{k}": home for k, home in enumerate(given_homes)}
    return at_home(value, slots, model)
