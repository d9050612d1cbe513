"""Arrays and records: addresses of elements, loads and stores, views of parts, and room for new arrays.

Indices are not checked, and negative ones do not count from the end: both would cost time in every access.  An index
that is known to the translator is checked where the length is known, too, and counts from the end where it is negative.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from stickslip.jit.arithmetic import convert
from stickslip.jit.errors import KernelError
from stickslip.jit.values import (
    ELEMENTS,
    REGISTER,
    STACK,
    Bundle,
    Constant,
    Record,
    Scalar,
    Size,
    Value,
    View,
    in_words,
    kind_of,
)
from stickslip.jit.writer import Writer

STACK_BYTES = 65536
"""Largest array that lies on the stack; larger ones, and those of unknown length, are taken from the heap."""


def size_value(size: Size) -> Constant | Scalar:
    """A length or stride as a number of the language."""
    return Constant(size) if isinstance(size, int) else Scalar("int", size)


def size_of(writer: Writer, value: Value, what: str) -> Size:
    """A whole number as a length."""
    if kind_of(value) != "int":
        raise KernelError(f"{what} must be a whole number, got {in_words(value)}.")
    return int(value.value) if isinstance(value, Constant) else convert(writer, value, "int")


def product(writer: Writer, a: Size, b: Size) -> Size:
    """Product of two sizes; folded where both are known."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if 1 in (a, b):
        return b if a == 1 else a
    return writer.value(f"mul nsw i64 {a}, {b}")


def difference(writer: Writer, a: Size, b: Size) -> Size:
    """Difference of two sizes; folded where both are known."""
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    return a if b == 0 else writer.value(f"sub nsw i64 {a}, {b}")


def count_of(writer: Writer, dims: tuple[Size, ...]) -> Size:
    """Number of elements of a shape."""
    count: Size = 1
    for size in dims:
        count = product(writer, count, size)
    return count


def share(writer: Writer, count: Size, rest: Size) -> Size:
    """Length of an axis, where the other ones have `rest` of `count` elements; 0 where `rest` is."""
    if isinstance(count, int) and isinstance(rest, int):
        return count // rest if rest else 0
    if rest == 1:
        return count
    nothing = writer.value(f"icmp eq i64 {rest}, 0")
    return writer.value(f"sdiv i64 {count}, {writer.value(f'select i1 {nothing}, i64 1, i64 {rest}')}")


def first_if_fits(writer: Writer, dims: tuple[Size, ...], count: Size) -> Size:
    """First length of a shape for an array of `count` elements; 0 unless they fit.

    No length is negative or larger than the count, which keeps their product from wrapping around.
    """
    nothing = writer.value(f"icmp eq i64 {count}, 0")
    largest = writer.value(f"select i1 {nothing}, i64 {2**63 - 1}, i64 {count}")
    fits, product_ = "true", "1"
    for size in dims:
        fits = writer.value(f"and i1 {fits}, {writer.value(f'icmp ule i64 {size}, {largest}')}")
        product_ = writer.value(f"mul i64 {product_}, {size}")
    fits = writer.value(f"and i1 {fits}, {writer.value(f'icmp eq i64 {product_}, {count}')}")
    return writer.value(f"select i1 {fits}, i64 {dims[0]}, i64 0")


def packed_strides(writer: Writer, dims: tuple[Size, ...], itemsize: int) -> tuple[Size, ...]:
    """Strides of an array without gaps, the last axis fastest [bytes]."""
    strides: list[Size] = []
    stride: Size = itemsize
    for size in reversed(dims):
        strides.insert(0, stride)
        stride = product(writer, stride, size)
    return tuple(strides)


def part(writer: Writer, view: View, index: tuple[Value | slice, ...]) -> View | Record | str:
    """Selection by an index: a view of the rest, a record, or the address of an element.

    A slice in `index` has values (or None) as its ends, and keeps its axis.
    """
    if len(index) > len(view.dims):
        raise KernelError(f"{len(index)} indices for {in_words(view)}.")
    dims: list[Size] = []
    strides: list[Size] = []
    known, terms = 0, []
    for axis, item in enumerate(index):
        size, stride = view.dims[axis], view.strides[axis]
        if isinstance(item, slice):
            first, length = _ends(writer, item, size)
            dims.append(length)
            strides.append(stride)
        else:
            first = size_of(writer, item, "an index")
            if isinstance(first, int) and isinstance(size, int) and not -size <= first < size:
                raise KernelError(f"index {first} is outside an axis of length {size}.")
            if isinstance(first, int) and first < 0:
                first = difference(writer, size, -first)
        step = product(writer, first, stride)
        if isinstance(step, int):
            known += step
        else:
            terms.append(step)
    pointer = offset(writer, view.pointer, known, terms)
    dims += view.dims[len(index) :]
    strides += view.strides[len(index) :]
    if dims:
        packed = view.packed and not any(isinstance(item, slice) for item in index[:-1])
        return View(view.dtype, pointer, tuple(dims), tuple(strides), view.read_only, packed, view.home)
    if view.dtype.fields is not None:
        writer.module.has_records = True
        return Record(view.dtype, pointer, view.read_only)
    return pointer


def _ends(writer: Writer, item: slice, size: Size) -> tuple[Size, Size]:
    """First index and length of a slice; its ends are taken as they are, without a check against the axis.

    An end that is known to the translator counts from the end where it is negative.
    """
    first: Size = 0 if item.start is None else size_of(writer, item.start, "the beginning of a slice")
    last: Size = size if item.stop is None else size_of(writer, item.stop, "the end of a slice")
    first = difference(writer, size, -first) if isinstance(first, int) and first < 0 else first
    last = difference(writer, size, -last) if isinstance(last, int) and last < 0 else last
    if isinstance(first, int) and isinstance(last, int) and not 0 <= first <= last:
        raise KernelError(f"a slice from {first} to {last} is empty, or outside its axis.")
    if isinstance(size, int) and isinstance(last, int) and last > size:
        raise KernelError(f"a slice up to {last} is beyond an axis of length {size}.")
    return first, difference(writer, last, first)


def offset(writer: Writer, pointer: str, known: int, terms: list[str] | tuple[str, ...] = ()) -> str:
    """Address some bytes behind another one."""
    total: str | None = None
    for term in terms:
        total = term if total is None else writer.value(f"add nsw i64 {total}, {term}")
    if known:
        total = str(known) if total is None else writer.value(f"add nsw i64 {total}, {known}")
    return pointer if total is None else writer.value(f"getelementptr inbounds i8, ptr {pointer}, i64 {total}")


def field(writer: Writer, value: View | Record, name: str) -> Value:
    """A field of a structured array, as an array of all its elements, or of one record."""
    fields = value.dtype.fields
    if fields is None or name not in fields:
        known = ", ".join(value.dtype.names or ()) or "none"
        raise KernelError(f"there is no field {name!r} in {in_words(value)}; fields: {known}.")
    writer.module.has_records = True
    dtype, shift = fields[name][:2]
    pointer = offset(writer, value.pointer, int(shift))
    base, shape = (dtype.base, dtype.shape)
    inner = packed_strides(writer, tuple(shape), base.itemsize)
    if isinstance(value, View):
        return View(base, pointer, (*value.dims, *shape), (*value.strides, *inner), value.read_only)
    if shape:
        return View(base, pointer, tuple(shape), inner, value.read_only, packed=True)
    if base.fields is not None:
        return Record(base, pointer, value.read_only)
    return load(writer, base, pointer)


def load(writer: Writer, dtype: np.dtype[Any], pointer: str) -> Scalar:
    """Number at an address."""
    element = element_of(dtype)
    raw = writer.value(f"load {element.type}, ptr {pointer}, align {dtype.itemsize}")
    if element.kind == "bool":
        return Scalar("bool", writer.value(f"icmp ne i8 {raw}, 0"))
    if element.type in ("double", "i64"):
        return Scalar(element.kind, raw)
    return Scalar("int", writer.value(f"{'sext' if element.signed else 'zext'} {element.type} {raw} to i64"))


def store(writer: Writer, dtype: np.dtype[Any], pointer: str, value: Value) -> None:
    """Write a number to an address; a float never into a whole number, without int(...)."""
    element = element_of(dtype)
    number = convert(writer, value, element.kind)
    if element.kind == "bool":
        number = writer.value(f"zext i1 {number} to i8")
    elif element.type not in ("double", "i64"):
        number = writer.value(f"trunc i64 {number} to {element.type}")
    writer.do(f"store {element.type} {number}, ptr {pointer}, align {dtype.itemsize}")


def element_of(dtype: np.dtype[Any]) -> Any:
    """How numbers of a type lie in memory."""
    if dtype not in ELEMENTS:
        raise KernelError(f"arrays of {dtype} are not in the language; known: {', '.join(map(str, ELEMENTS))}.")
    return ELEMENTS[dtype]


def require_writable(value: View | Record) -> None:
    """Constants of a module are shared by all calls."""
    if value.read_only:
        raise KernelError("this array is a constant of its module, or read-only: copy it before you write to it.")


def new_array(writer: Writer, shape: Value, dtype: np.dtype[Any], on_heap: bool = False) -> tuple[View, str | None]:
    """An array without values: on the stack where it is small and of known size, unless it is wanted `on_heap`.

    Returns the array and, where it lies on the heap, the slot of the address that has to be freed; the slot is null
    before the array is made.  An array that is made in every turn of a loop takes the place of the one before.
    """
    dims = _shape(writer, shape)
    element_of(dtype)
    strides = packed_strides(writer, dims, dtype.itemsize)
    count = count_of(writer, dims)
    if isinstance(count, int) and count * dtype.itemsize <= STACK_BYTES and not on_heap:
        words = max(1, math.ceil(count * dtype.itemsize / 8))
        return View(dtype, writer.slot("i64", words), dims, strides, packed=True, home=STACK), None
    total = product(writer, count, dtype.itemsize)
    room = writer.call("ptr", "malloc", [("i64", str(total))], {"external": True})
    slot = owned(writer, room)
    return View(dtype, room, dims, strides, packed=True, home=slot), slot


def owned(writer: Writer, room: str) -> str:
    """Slot of an address that has to be freed; what the last turn of a loop left in it is freed now."""
    slot = writer.slot("ptr")
    writer.slots.append(f"  store ptr null, ptr {slot}, align 8")
    free(writer, slot)
    writer.do(f"store ptr {room}, ptr {slot}, align 8")
    return slot


def free(writer: Writer, slot: str) -> None:
    """Give an array on the heap back, where there is one."""
    room = writer.value(f"load ptr, ptr {slot}, align 8")
    writer.module.declare("free", "void", ["ptr"], external=True)
    writer.do(f"call void @free(ptr {room})")
    writer.do(f"store ptr null, ptr {slot}, align 8")


def _shape(writer: Writer, shape: Value) -> tuple[Size, ...]:
    items = (shape,) if kind_of(shape) is not None else None
    if isinstance(shape, Bundle):
        items = shape.items  # type: ignore[assignment]
    elif isinstance(shape, Constant) and isinstance(shape.value, tuple):
        items = tuple(Constant(item) for item in shape.value)  # type: ignore[assignment]
    if items is None:
        raise KernelError(f"a shape is a whole number or a tuple of them, got {in_words(shape)}.")
    return tuple(size_of(writer, item, "a length") for item in items)


def for_each(writer: Writer, dims: tuple[Size, ...], body: Any) -> None:
    """Loops over all indices of a shape; `body(index)` writes what is done for one of them."""
    index: list[Scalar] = []

    def level(axis: int) -> None:
        if axis == len(dims):
            body(tuple(index))
            return
        counter = writer.slot("i64")
        writer.do(f"store i64 0, ptr {counter}")
        head, inside, end = writer.label(), writer.label(), writer.label()
        writer.begin(head)
        i = writer.value(f"load i64, ptr {counter}")
        writer.branch(writer.value(f"icmp slt i64 {i}, {dims[axis]}"), inside, end)
        writer.begin(inside)
        index.append(Scalar("int", i))
        level(axis + 1)
        index.pop()
        writer.do(f"store i64 {writer.value(f'add nsw i64 {i}, 1')}, ptr {counter}")
        turns = dims[axis]
        writer.turn(head, turns if isinstance(turns, int) else None)
        writer.begin(end)

    level(0)


def extreme(writer: Writer, view: View, largest: bool) -> Scalar:
    """`.max()` or `.min()` of all elements, of which there is one at least; not a number where one of them is."""
    element = element_of(view.dtype)
    if element.kind == "bool":
        raise KernelError("the largest of truths is not in the language: write a loop.")
    type_, order = REGISTER[element.kind], "gt" if largest else "lt"
    slot, zero = writer.slot(type_), tuple(Scalar("int", "0") for _ in view.dims)

    def number(index: tuple[Scalar, ...]) -> str:
        place = part(writer, view, index)
        assert isinstance(place, str)
        return load(writer, view.dtype, place).text

    writer.do(f"store {type_} {number(zero)}, ptr {slot}, align 8")

    def one(index: tuple[Scalar, ...]) -> None:
        x, best = number(index), writer.value(f"load {type_}, ptr {slot}, align 8")
        if element.kind == "float":  # one that is not a number wins, and stays
            better = writer.value(f"fcmp u{order} double {x}, {best}")
            stays = writer.value(f"fcmp uno double {best}, {best}")
            better = writer.value(f"select i1 {stays}, i1 false, i1 {better}")
        else:
            better = writer.value(f"icmp s{order} i64 {x}, {best}")
        chosen = writer.value(f"select i1 {better}, {type_} {x}, {type_} {best}")
        writer.do(f"store {type_} {chosen}, ptr {slot}, align 8")

    for_each(writer, view.dims, one)
    return Scalar(element.kind, writer.value(f"load {type_}, ptr {slot}, align 8"))


def fill(writer: Writer, view: View, value: Value) -> None:
    """Write a number to every element, or copy an array of equal axes.

    Parts of one array may overlap: a copy to higher addresses begins at the end, as if all were read first.
    """
    require_writable(view)
    if isinstance(value, View) and len(value.dims) != len(view.dims):
        raise KernelError(f"{in_words(value)} cannot be copied to {in_words(view)}.")
    if isinstance(value, View):
        for have, want in zip(value.dims, view.dims, strict=True):
            if isinstance(have, int) and isinstance(want, int) and have != want:
                raise KernelError(f"an axis of length {have} cannot be copied to one of length {want}.")

    backwards: str | None = None
    if isinstance(value, View):
        backwards = writer.value(f"icmp ugt ptr {view.pointer}, {value.pointer}")

    def one(index: tuple[Scalar, ...]) -> None:
        if backwards is not None:
            index = tuple(_mirrored(writer, backwards, i, size) for i, size in zip(index, view.dims, strict=True))
        target = part(writer, view, index)
        assert isinstance(target, str)
        if isinstance(value, View):
            source = part(writer, value, index)
            assert isinstance(source, str)
            store(writer, view.dtype, target, load(writer, value.dtype, source))
        else:
            store(writer, view.dtype, target, value)

    for_each(writer, view.dims, one)


def _mirrored(writer: Writer, backwards: str, i: Scalar, size: Size) -> Scalar:
    """Index i, or the one as far from the end."""
    last = size - 1 if isinstance(size, int) else writer.value(f"sub nsw i64 {size}, 1")
    mirrored = writer.value(f"sub nsw i64 {last}, {i.text}")
    return Scalar("int", writer.value(f"select i1 {backwards}, i64 {mirrored}, i64 {i.text}"))


def copy_bytes(writer: Writer, to: str, start: str, size: int) -> None:
    """Copy some bytes to another place."""
    name = writer.module.declare("llvm.memcpy.p0.p0.i64", "void", ["ptr", "ptr", "i64", "i1"])
    writer.do(f"call void @{name}(ptr align 8 {to}, ptr align 8 {start}, i64 {size}, i1 false)")


def own_slots(writer: Writer) -> set[str]:
    """Addresses of all that the function has on its stack."""
    return {line.split()[0] for line in writer.slots if " = alloca " in line}


def with_copies(
    writer: Writer, values: tuple[Value, ...], read: set[str]
) -> tuple[tuple[Value, ...], list[tuple[str, str, int]]]:
    """Values with copies of those arrays on the stack whose addresses are `read`, and what was copied.

    That is: address, address of the copy, bytes.  An array of which only a part is passed is left as it is, and so are
    all others: parts might overlap.
    """
    slots = own_slots(writer)
    copies: dict[str, tuple[str, int]] = {}

    def on_stack(value: Value) -> bool:
        return isinstance(value, View) and value.home == STACK and value.pointer in read

    def whole(value: Value) -> bool:
        if isinstance(value, Bundle):
            return all(map(whole, value.items))
        return not on_stack(value) or value.pointer in slots  # type: ignore[union-attr]

    def copied(value: Value) -> Value:
        if isinstance(value, Bundle):
            return replace(value, items=tuple(map(copied, value.items)))
        if not on_stack(value):
            return value
        assert isinstance(value, View)
        if value.pointer not in copies:
            size = math.prod(int(n) for n in value.dims) * value.dtype.itemsize
            copies[value.pointer] = (writer.slot("i64", max(1, math.ceil(size / 8))), size)
            copy_bytes(writer, copies[value.pointer][0], value.pointer, size)
        return replace(value, pointer=copies[value.pointer][0])

    if not all(map(whole, values)):
        return values, []
    return tuple(map(copied, values)), [(own, copy, size) for own, (copy, size) in copies.items()]
