"""Kernels for cards whose arguments lie in a slab: a block of bytes for each thread, with all arrays and numbers.

A thread copies its slab into memory of its own, runs the kernel there, and copies the slab back.  A card lays the own
memory of neighbours word by word side by side, so that a warp that does one thing reads whole lines.

Sizes of the arrays are known to the translator.  Arrays that a kernel makes of other sizes come from an arena, which is
a stack: the last one made is the first given back.  A thread whose arena is full ends at once, and its slab stays as it
was; so does its row of what was told, from where the host sees that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.jit import gpu, memory, objects
from stickslip.jit.cpu import Target
from stickslip.jit.errors import KernelError
from stickslip.jit.kernel import plain
from stickslip.jit.scope import Callee
from stickslip.jit.translate import Body, Program
from stickslip.jit.units import ENTRY
from stickslip.jit.values import Bundle, Constant, Scalar, Value, View
from stickslip.jit.writer import Writer

BLOCK = 32
"""Threads of a block: as many as the table of their arenas has rows."""
WORD = 8
_TAKE, _GIVE = "arena.take", "arena.give"
_HEAD = 16  # bytes before an array: where the array before it begins, and whether it was given back
_PLACE = f"""
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %place = getelementptr inbounds [{BLOCK} x ptr], ptr addrspace(3) @arena.base, i64 0, i32 %tid
  %base = load ptr, ptr addrspace(3) %place, align 8
  %top.place = getelementptr inbounds i8, ptr %base, i64 8
  %newest = load i64, ptr %base, align 8"""
_ARENA = f"""
@arena.base = internal unnamed_addr addrspace(3) global [{BLOCK} x ptr] undef, align 8
declare void @llvm.nvvm.exit()
define internal ptr @{_TAKE}(i64 %size) nounwind noinline {{
entry:{_PLACE}
  %top = load i64, ptr %top.place, align 8
  %more = add i64 %size, {_HEAD + WORD - 1}
  %whole = and i64 %more, -{WORD}
  %after = add i64 %top, %whole
  %fits = icmp ule i64 %after, ROOM
  br i1 %fits, label %yes, label %no
no:
  call void @llvm.nvvm.exit()
  unreachable
yes:
  %head = getelementptr inbounds i8, ptr %base, i64 %top
  %flag = getelementptr inbounds i8, ptr %head, i64 8
  store i64 %newest, ptr %head, align 8
  store i64 0, ptr %flag, align 8
  store i64 %top, ptr %base, align 8
  store i64 %after, ptr %top.place, align 8
  %found = getelementptr inbounds i8, ptr %head, i64 {_HEAD}
  ret ptr %found
}}
define internal void @{_GIVE}(ptr %room) nounwind noinline {{
entry:
  %none = icmp eq ptr %room, null
  br i1 %none, label %end, label %some
some:
  %own = getelementptr inbounds i8, ptr %room, i64 -{_HEAD - 8}
  store i64 1, ptr %own, align 8{_PLACE}
  br label %look
look:
  %last = phi i64 [ %newest, %some ], [ %before, %back ]
  %empty = icmp eq i64 %last, 0
  br i1 %empty, label %end, label %ask
ask:
  %head = getelementptr inbounds i8, ptr %base, i64 %last
  %flag = getelementptr inbounds i8, ptr %head, i64 8
  %given = load i64, ptr %flag, align 8
  %is_back = icmp eq i64 %given, 1
  br i1 %is_back, label %back, label %end
back:
  %before = load i64, ptr %head, align 8
  store i64 %before, ptr %base, align 8
  store i64 %last, ptr %top.place, align 8
  br label %look
end:
  ret void
}}
"""
"""An arena begins with the places of its newest array (0: none) and of its top; a table tells where arenas begin."""


@dataclass(frozen=True)
class Field:
    """An array, or a float, of the arguments: where it begins in a slab [bytes]; `shape` None: a float."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...] | None
    begin: int


class Layout:
    """Where the arrays and floats of a kernel's arguments lie in a slab.

    Whole numbers, truths and None are known to the translator: slabs of one layout agree in them.

    Attributes
    ----------
    kept : bytes that a slab has between two launches.
    size : bytes with those arrays that need no values at the beginning of a launch.
    """

    def __init__(self, arguments: Sequence[Any], scratch: Sequence[Any] = ()) -> None:
        self.size = 0
        self.fields: list[Field] = []
        self._scratch = {id(array) for array in scratch}
        self._waiting: list[tuple[int, np.ndarray]] = []
        self._tree = tuple(self._of(argument) for argument in arguments)
        self.kept = self.size
        for number, array in self._waiting:
            self.fields[number] = Field(array.dtype, array.shape, self._room(array.nbytes))

    def _room(self, count: int) -> int:
        begin, self.size = self.size, self.size + -(-count // WORD) * WORD
        return begin

    def _of(self, argument: Any) -> Any:
        """The arguments with numbers of fields in place of arrays and floats."""
        if isinstance(argument, tuple):
            names = tuple(getattr(type(argument), "_fields", ()))
            return Bundle(tuple(self._of(item) for item in argument), names)
        if isinstance(argument, np.ndarray):
            array = plain(argument)
            if id(argument) in self._scratch:
                self._waiting.append((len(self.fields), array))
                self.fields.append(Field(array.dtype, array.shape, 0))
            else:
                self.fields.append(Field(array.dtype, array.shape, self._room(array.nbytes)))
            return len(self.fields) - 1
        if isinstance(argument, float | np.floating):
            self.fields.append(Field(np.dtype(np.float64), None, self._room(WORD)))
            return len(self.fields) - 1
        return Constant(plain(argument))

    def pack(self, arguments: Sequence[Any], slab: np.ndarray) -> None:
        """Write arguments of this layout into a slab, (kept,) bytes; ValueError where they have another layout."""
        leaves = [leaf for argument in arguments for leaf in _leaves(argument)]
        known = [item for tree in self._tree for item in _known(tree)]
        kinds = [None if isinstance(leaf, np.ndarray | float | np.floating) else plain(leaf) for leaf in leaves]
        if len(leaves) != len(known) or any(
            isinstance(item, Constant) and (type(item.value), item.value) != (type(kind), kind)
            for item, kind in zip(known, kinds, strict=True)
        ):
            raise ValueError("the arguments have another layout.")
        for leaf, item in zip(leaves, known, strict=True):
            if isinstance(item, Constant):
                continue
            field = self.fields[item]
            if np.shape(leaf) != (field.shape or ()):
                raise ValueError("the arguments have another layout.")
            if field.begin < self.kept:
                self._place(slab, field)[...] = leaf

    def _place(self, slabs: np.ndarray, field: Field) -> np.ndarray:
        """A field of one slab (kept,), or of many (n, kept), as an array that shares their memory."""
        shape, dtype = field.shape or (), field.dtype
        strides = tuple(int(np.prod(shape[k + 1 :], dtype=int)) * dtype.itemsize for k in range(len(shape)))
        if slabs.ndim == 2:
            shape, strides = (len(slabs), *shape), (slabs.strides[0], *strides)
        return np.ndarray(shape, dtype, slabs, field.begin, strides)

    def views(self, slabs: np.ndarray) -> tuple[Any, ...]:
        """The fields of one slab, or of many, by the places of the arguments: nested tuples, without their names.

        Constants are as they are; what is not kept has no view, and is None.
        """

        def of(item: Any) -> Any:
            if isinstance(item, Bundle):
                return tuple(of(inner) for inner in item.items)
            if isinstance(item, Constant):
                return item.value
            field = self.fields[item]
            return self._place(slabs, field) if field.begin < self.kept else None

        return tuple(of(tree) for tree in self._tree)

    def values(self, writer: Writer, own: str) -> tuple[Value, ...]:
        """The arguments as values of the language, in the slab at the address `own`."""

        def of(item: Any) -> Value:
            if isinstance(item, Bundle):
                return Bundle(tuple(of(inner) for inner in item.items), item.names)
            if isinstance(item, Constant):
                return item
            field = self.fields[item]
            place = memory.offset(writer, own, field.begin)
            if field.shape is None:
                return memory.load(writer, field.dtype, place)
            strides = memory.packed_strides(writer, field.shape, field.dtype.itemsize)
            return View(field.dtype, place, field.shape, strides, packed=True)

        return tuple(of(tree) for tree in self._tree)


def _leaves(argument: Any) -> Iterator[Any]:
    if isinstance(argument, tuple):
        for item in argument:
            yield from _leaves(item)
    else:
        yield argument


def _known(item: Any) -> Iterator[Any]:
    if isinstance(item, Bundle):
        for inner in item.items:
            yield from _known(inner)
    else:
        yield item


def text(
    kernel: Callee,
    layout: Layout,
    rows: Sequence[Any],
    numbers: Sequence[Any],
    called: Mapping[int, Callee],
    arena: int,
) -> tuple[str, str]:
    """LLVM IR of a launched kernel on slabs, and the kinds of its parameters, as `gpu.text` has them.

    The kernel takes the arguments in a slab, its own row of each array of `rows`, and numbers.  A launch has the slabs,
    (threads, kept) bytes, the arrays (threads, ...) and the numbers.

    rows, numbers : samples, of which the types count.
    called : kernels that `call_address` calls by these numbers.
    arena : bytes for arrays of unknown size.
    """
    program = Program(whole=True, numbered=called)
    program.module.on_card = True
    writer = Writer(program.module)
    parameters: list[str] = []
    kinds = ""

    def new(type_: str) -> str:
        parameters.append(f"{type_} %p{len(parameters)}")
        return parameters[-1].split()[-1]

    def array(dtype: np.dtype[Any], axes: int) -> View:
        nonlocal kinds
        kinds += "a" + "l" * axes
        pointer, dims = new("ptr"), tuple(new("i64") for _ in range(axes))
        return View(dtype, pointer, dims, memory.packed_strides(writer, dims, dtype.itemsize), packed=True)

    slabs = array(np.dtype(np.int64), 2)
    arrays = [array(sample.dtype, sample.ndim) for sample in rows]
    values: list[Value] = []
    for sample in numbers:
        is_float = isinstance(sample, float)
        values.append(Scalar("float" if is_float else "int", new("double" if is_float else "i64")))
        kinds += "f" if is_float else "i"
    thread = gpu.thread_number(writer)
    some, end = writer.label(), writer.label()
    writer.branch(writer.value(f"icmp slt i64 {thread.text}, {slabs.dims[0]}"), some, end)
    writer.begin(some)
    _begin_arena(writer, arena)
    own = writer.slot("i64", layout.size // WORD)
    outside = memory.part(writer, slabs, (thread,))
    assert isinstance(outside, View)
    _copy(writer, own, outside.pointer, layout.kept)
    given = [memory.part(writer, each, (thread,)) for each in arrays]
    Body(program, writer).inline(kernel, (*layout.values(writer, own), *given, *values))  # type: ignore[arg-type]
    _copy(writer, outside.pointer, own, layout.kept)
    writer.begin(end)
    writer.do("ret void")
    writer.define(f"ptx_kernel void @{ENTRY}({', '.join(parameters)})")
    return _with_arena(program, kernel.python.__name__, arena), kinds


def _copy(writer: Writer, to: str, start: str, size: int) -> None:
    """Copy bytes, word by word."""

    def one(index: tuple[Scalar, ...]) -> None:
        place = writer.value(f"mul nsw i64 {index[0].text}, {WORD}")
        source = memory.offset(writer, start, 0, [place])
        word = writer.value(f"load i64, ptr {source}, align {WORD}")
        writer.do(f"store i64 {word}, ptr {memory.offset(writer, to, 0, [place])}, align {WORD}")

    memory.for_each(writer, (size // WORD,), one)


def _begin_arena(writer: Writer, size: int) -> None:
    """Make the empty arena of a thread, and write down where it is."""
    arena = writer.slot("i64", size // WORD)
    writer.do(f"store i64 0, ptr {arena}, align {WORD}")
    writer.do(f"store i64 {_HEAD}, ptr {memory.offset(writer, arena, WORD)}, align {WORD}")
    tid = writer.call("i32", "llvm.nvvm.read.ptx.sreg.tid.x", [], {})
    place = f"getelementptr inbounds [{BLOCK} x ptr], ptr addrspace(3) @arena.base, i64 0, i32 {tid}"
    writer.do(f"store ptr {arena}, ptr addrspace(3) {writer.value(place)}, align {WORD}")


def _with_arena(program: Program, name: str, arena: int) -> str:
    """The text of a module with the functions of the arena in place of those of the C library."""
    for word in ("malloc", "free"):
        program.module.declarations.pop(word, None)
    program.require_alone(name, ("llvm.trap",))
    written = program.module.text()
    for word, own in (("malloc", _TAKE), ("free", _GIVE)):
        written = re.sub(rf"(call \w+) @{word}\(", rf"\1 @{own}(", written)
    return written + _ARENA.replace("ROOM", str(arena))


@dataclass(frozen=True)
class OnSlabs:
    """A kernel with all that its text is made of; see `text`."""

    kernel: Callee
    layout: Layout
    rows: tuple[Any, ...]
    numbers: tuple[Any, ...]
    called: Mapping[int, Callee]
    arena: int

    def launched(self, capability: int) -> gpu.Launched:
        """PTX for a card, from disk where it is there."""
        card: Target = gpu.target(capability)
        written, kinds = text(self.kernel, self.layout, self.rows, self.numbers, self.called, self.arena)
        if not self.layout.kept:
            raise KernelError("a slab must not be empty.")
        name = objects.name_of(written, card, f"ptx {gpu.OPTIMISATION}, floats in a table, slabs")
        return gpu.Launched(objects.kept(name, lambda: gpu.build(written, card).encode()).decode(), kinds)
