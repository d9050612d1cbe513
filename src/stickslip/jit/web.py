"""Kernels for browsers: LLVM IR of the translator as a WebAssembly module of its own, without imports.

    made = web.module(kernel, samples)      # made.code: bytes for WebAssembly.instantiate
    image = made.image(*arguments)          # bytes: the block of arguments, and behind it their arrays

A page copies the image to address `made.room` of the exported `memory`, calls the exported `run(room)`, and finds
results and changed arrays where the image had room for them (`made.found` reads them in Python):

    const { exports } = (await WebAssembly.instantiate(code)).instance;
    new Uint8Array(exports.memory.buffer).set(image, room);
    exports.run(room, room + image.length);

Memory: tables of the kernel from address 0, then the stack (`STACK`), then `room`, which is the caller's; where it
needs more pages than there are, it calls `memory.grow` first.  Arrays that the kernel makes as it runs lie behind the
second address; kernels without such arrays take no notice of it (`HEAP`).  The block has eight bytes for each number,
little end first: an array is its address and its lengths, a number or truth is itself (float64, int64), a tuple its
items; results follow.  Arrays have no gaps; bytes lie as in NumPy.  Operations are those of the CPU, in their order:
`mathematics`.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.jit import objects
from stickslip.jit.cpu import Target, described, optimised
from stickslip.jit.errors import KernelError
from stickslip.jit.handing import Results
from stickslip.jit.kernel import Kernel, plain, signature
from stickslip.jit.making import making
from stickslip.jit.translate import Program
from stickslip.jit.units import ENTRY

TARGET = Target(
    "wasm32-unknown-unknown",
    "generic",
    "+bulk-memory,+bulk-memory-opt,+nontrapping-fptoint,+sign-ext,+mutable-globals,+multivalue",
)
OPTIMISATION = 3
STACK = 1 << 20
"""Bytes of the stack."""
PAGE = 65536
RUN, MEMORY = "run", "memory"
"""Names of what a module exports."""
MAGIC = b"\0asm\1\0\0\0"
CUSTOM, IMPORT, MEMORIES, GLOBALS, EXPORT, CODE, DATA, DATA_COUNT = 0, 2, 5, 6, 7, 10, 11, 12
ORDER = (1, IMPORT, 3, 4, MEMORIES, GLOBALS, EXPORT, 8, 9, DATA_COUNT, CODE, DATA)
"""Kinds of sections in the order that the standard wants."""
SYMBOLS, FUNCTION = 8, 0

HEAP = f"""
; Pieces are powers of two, from 32 bytes on; those that were given back wait in a list of their size.  The exponent
; stands 16 bytes before the room that is given, the next piece of the list in the room itself.
@lists = internal global [64 x ptr] zeroinitializer, align 16
@top = internal global i64 0, align 8

define void @{ENTRY}(ptr %slots, i32 %behind) {{
  %from = zext i32 %behind to i64
  %more = add i64 %from, 15
  %start = and i64 %more, -16
  store i64 %start, ptr @top, align 8
  call void @llvm.memset.p0.i64(ptr @lists, i8 0, i64 256, i1 false)
  call void @inside(ptr %slots)
  ret void
}}

define internal noalias ptr @give_room(i64 %size) noinline {{
  %over = add i64 %size, 32 ; 32 bytes at least, also for an array of no length
  %zeros = call i64 @llvm.ctlz.i64(i64 %over, i1 true)
  %exponent = sub i64 63, %zeros
  %needed = add i64 %size, 16
  %power = shl i64 1, %exponent
  %small = icmp ult i64 %power, %needed
  %one = zext i1 %small to i64
  %class = add i64 %exponent, %one
  %bytes = shl i64 1, %class
  %list = getelementptr ptr, ptr @lists, i64 %class
  %waiting = load ptr, ptr %list, align 4
  %none = icmp eq ptr %waiting, null
  br i1 %none, label %fresh, label %again
again:
  %next = load ptr, ptr %waiting, align 4
  store ptr %next, ptr %list, align 4
  ret ptr %waiting
fresh:
  %place = load i64, ptr @top, align 8
  %end = add i64 %place, %bytes
  store i64 %end, ptr @top, align 8
  %pages = call i32 @llvm.wasm.memory.size.i32(i32 0)
  %wide = zext i32 %pages to i64
  %have = shl i64 %wide, 16
  %enough = icmp ule i64 %end, %have
  br i1 %enough, label %give, label %grow
grow:
  %lack = sub i64 %end, %have
  %rounded = lshr i64 %lack, 16
  %ahead = add i64 %rounded, 16
  %wanted = trunc i64 %ahead to i32
  %grown = call i32 @llvm.wasm.memory.grow.i32(i32 0, i32 %wanted)
  %refused = icmp eq i32 %grown, -1
  br i1 %refused, label %full, label %give
full:
  call void @llvm.trap()
  unreachable
give:
  %head = inttoptr i64 %place to ptr
  store i64 %class, ptr %head, align 8
  %room = getelementptr i8, ptr %head, i64 16
  ret ptr %room
}}

define internal void @take_room(ptr %room) noinline {{
  %nothing = icmp eq ptr %room, null
  br i1 %nothing, label %done, label %keep
keep:
  %head = getelementptr i8, ptr %room, i64 -16
  %class = load i64, ptr %head, align 8
  %list = getelementptr ptr, ptr @lists, i64 %class
  %next = load ptr, ptr %list, align 4
  store ptr %next, ptr %room, align 4
  store ptr %room, ptr %list, align 4
  br label %done
done:
  ret void
}}
"""
"""Room for arrays that a kernel makes as it runs, in a module that has no library."""
_OF_LLVM = (
    "declare i64 @llvm.ctlz.i64(i64, i1)",
    "declare i32 @llvm.wasm.memory.size.i32(i32)",
    "declare i32 @llvm.wasm.memory.grow.i32(i32, i32)",
    "declare void @llvm.trap()",
    "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
)
"""What the text above calls."""


@dataclass(frozen=True)
class WebKernel:
    """A kernel as a WebAssembly module, for arguments of some types.

    Attributes
    ----------
    code : the module.
    room : first address that belongs to the caller.
    arguments : number of eight-byte numbers of the block that are arguments; the results follow.
    results : kinds of the results, "float", "int" or "bool".
    """

    code: bytes
    room: int
    arguments: int
    results: tuple[str, ...]
    _signature: tuple[Any, ...]
    _python: Results

    def image(self, *args: Any) -> bytes:
        """The block of arguments for address `room`, room for the results, and the arrays behind it."""
        args = tuple(map(plain, args))
        if tuple(map(signature, args)) != self._signature:
            raise KernelError("these arguments are of other types than those that the module was made for.")
        block, arrays = self._places(args)
        return struct.pack(f"<{len(block)}q", *block) + bytes(8 * len(self.results)) + b"".join(arrays)

    def _places(self, args: tuple[Any, ...]) -> tuple[list[int], list[bytes]]:
        """Bits of the arguments, with addresses for their arrays; and the bytes of those, padded to whole numbers."""
        place = self.room + 8 * (self.arguments + len(self.results))
        block: list[int] = []
        arrays: list[bytes] = []
        for part in parts(args):
            if isinstance(part, np.ndarray):
                content = part.tobytes()
                arrays.append(content + bytes(-len(content) % 8))
                block += (place, *part.shape)
                place += len(arrays[-1])
            else:
                block.append(_bits(part))
        return block, arrays

    def places(self, *args: Any) -> dict[str, tuple[int, int]]:
        """Where the numbers and arrays of arguments begin in their image, and how many bytes they have.

        Names are those of the fields of named tuples, and numbers of other places: "0/options/dt".
        """
        places: dict[str, tuple[int, int]] = {}
        at, content = 0, 8 * (self.arguments + len(self.results))
        for name, part in _named_parts(tuple(map(plain, args))):
            if isinstance(part, np.ndarray):
                places[name] = (content, part.nbytes)
                content += part.nbytes + -part.nbytes % 8
                at += 8 * (1 + part.ndim)
            else:
                places[name] = (at, 8)
                at += 8
        return places

    def found(self, image: bytes, *args: Any) -> tuple[Any, list[np.ndarray]]:
        """The result in an image after the run, and the arrays; `args` are the arguments that it was made from."""
        format_ = "<" + "".join("d" if kind == "float" else "q" for kind in self.results)
        numbers = zip(struct.unpack_from(format_, image, 8 * self.arguments), self.results, strict=True)
        result = self._python.python(bool(x) if kind == "bool" else x for x, kind in numbers)
        arrays: list[np.ndarray] = []
        place = 8 * (self.arguments + len(self.results))
        for part in parts(tuple(map(plain, args))):
            if isinstance(part, np.ndarray):
                arrays.append(np.frombuffer(image, part.dtype, part.size, place).reshape(part.shape))
                place += part.nbytes + -part.nbytes % 8
        return result, arrays


def parts(argument: Any) -> Iterator[Any]:
    """Arrays and numbers of an argument, in order."""
    return (part for _, part in _named_parts(argument))


def _named_parts(argument: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Arrays and numbers of an argument with their names, in order."""
    if isinstance(argument, tuple):
        words = getattr(argument, "_fields", map(str, range(len(argument))))
        for word, item in zip(words, argument, strict=True):
            yield from _named_parts(item, f"{name}/{word}" if name else word)
    elif argument is not None:
        yield name, argument


def _bits(number: Any) -> int:
    return int(struct.unpack("<q", struct.pack("<d", number))[0]) if isinstance(number, float) else int(number)


def module(kernel: Kernel, samples: Sequence[Any], numbered: Mapping[int, Kernel] | None = None) -> WebKernel:
    """A kernel as a WebAssembly module, for arguments of the types of `samples`; from disk where it is there.

    numbered : kernels that it calls by these numbers, which stand in its arguments in place of addresses.
    """
    args = tuple(map(plain, samples))
    for part in parts(args):
        if isinstance(part, np.ndarray) and not part.flags.c_contiguous:
            raise KernelError("a kernel in a browser takes arrays without gaps: give a copy.")
    program = Program(kernel.short_loops, whole=True, numbered=numbered or {})
    made = kernel.translated(args, program)
    program.require_alone(kernel.python.__name__, brought=("malloc", "free", "llvm.trap"))
    text = with_heap(made.program.module.text())
    name = objects.name_of(text, TARGET, f"wasm {OPTIMISATION} {STACK}")
    code = objects.kept(name, lambda: _made(text))
    room = int.from_bytes(code[-4:], "little")  # see `linked`
    kinds = tuple(kind for kind, _ in made.results.numbers)
    return WebKernel(code, room, len(made.layout), kinds, tuple(map(signature, args)), made.results)


def _made(text: str) -> bytes:
    """A module for WebAssembly; the time that this takes counts as that in which kernels are made."""
    with making():
        return linked(build(text))


def build(text: str) -> bytes:
    """LLVM's object of a module for WebAssembly."""
    machine = described(TARGET).create_target_machine(
        cpu=TARGET.cpu, features=TARGET.features, opt=OPTIMISATION, reloc="static", codemodel="default"
    )
    return bytes(machine.emit_object(optimised(text, machine, OPTIMISATION, vectors=False)))


def with_heap(text: str) -> str:
    """The text of a module with functions that give room and take it back, where it asks a library for them."""
    if not re.search(r"^declare .*@(malloc|free)\(", text, re.M):
        return text
    text = re.sub(r"^declare .*@(malloc|free)\(.*\n", "", text, flags=re.M)
    text = text.replace("@malloc(", "@give_room(").replace("@free(", "@take_room(")
    text = text.replace(f"define void @{ENTRY}(", "define internal void @inside(")
    known = set(text.splitlines())
    return text + "\n".join(line for line in _OF_LLVM if line not in known) + "\n" + HEAP


def linked(code: bytes) -> bytes:
    """A module that runs by itself, from an object of LLVM.

    Such an object is laid out as a module that is loaded alone, its data from address 0.  It imports its memory and the
    pointer of its stack, which is its only global: here they become its own.  It lacks exports, and its last
    section, which engines pass over, tells `room`.
    """
    sections = dict(_sections(code))
    symbols = next(body for kind, body in _sections(code) if kind == CUSTOM and _named(body, b"linking"))
    _require_known_imports(sections.get(IMPORT, b"\0"))
    stack = _aligned(_end_of_data(sections.get(DATA, b"\0")))
    room = stack + STACK
    kept = {kind: body for kind, body in sections.items() if kind not in (CUSTOM, IMPORT)}
    kept[MEMORIES] = b"\1\0" + leb(-(-room // PAGE) + 1)
    kept[GLOBALS] = b"\1\x7f\1\x41" + signed_leb(room) + b"\x0b"  # one i32 that changes, at first the end of the stack
    exports = ((RUN, b"\0" + leb(_function_index(symbols, ENTRY))), (MEMORY, b"\2\0"))
    kept[EXPORT] = leb(len(exports)) + b"".join(leb(len(name)) + name.encode() + what for name, what in exports)
    told = b"\4room" + room.to_bytes(4, "little")
    parts = [(kind, kept[kind]) for kind in ORDER if kind in kept] + [(CUSTOM, told)]
    return MAGIC + b"".join(bytes([kind]) + leb(len(body)) + body for kind, body in parts)


def leb(number: int) -> bytes:
    """A whole number that is not negative, seven bits a byte."""
    found = bytearray()
    while True:
        low, number = number & 127, number >> 7
        found.append(low | (128 if number else 0))
        if not number:
            return bytes(found)


def signed_leb(number: int) -> bytes:
    """A whole number that is not negative, where a seventh bit of the last byte would be a sign."""
    found = leb(number)
    return found if not found[-1] & 64 else found[:-1] + bytes([found[-1] | 128, 0])


def _read(body: bytes, place: int) -> tuple[int, int]:
    """A whole number at a place, and the place behind it."""
    number = shift = 0
    while True:
        byte = body[place]
        number |= (byte & 127) << shift
        shift, place = shift + 7, place + 1
        if not byte & 128:
            return number, place


def _text(body: bytes, place: int) -> tuple[bytes, int]:
    length, place = _read(body, place)
    return body[place : place + length], place + length


def _sections(code: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and content of each section."""
    if code[:8] != MAGIC:
        raise KernelError("LLVM wrote no WebAssembly.")
    place = 8
    while place < len(code):
        kind = code[place]
        length, place = _read(code, place + 1)
        yield kind, code[place : place + length]
        place += length


def _named(body: bytes, name: bytes) -> bool:
    return _text(body, 0)[0] == name


def _aligned(place: int) -> int:
    return -(-place // 16) * 16


def _require_known_imports(body: bytes) -> None:
    """Raise where an object imports more than memory and the pointer of its stack."""
    count, place = _read(body, 0)
    for _ in range(count):
        _, place = _text(body, place)
        name, place = _text(body, place)
        kind = body[place]
        if name == b"__linear_memory" and kind == 2:
            flags, place = _read(body, place + 1)
            for _ in range(1 + (flags & 1)):
                _, place = _read(body, place)
        elif name == b"__stack_pointer" and kind == 3:
            place += 3
        else:
            raise KernelError(f"a browser has no {name.decode()}.")


def _end_of_data(body: bytes) -> int:
    """First address behind the tables."""
    count, place = _read(body, 0)
    end = 0
    for _ in range(count):
        flags, place = _read(body, place)
        if flags != 0 or body[place] != 0x41:
            raise KernelError("LLVM wrote data that is laid out in another way than this version knows.")
        start, place = _read(body, place + 1)
        content, place = _text(body, place + 1)
        end = max(end, start + len(content))
    return end


def _function_index(body: bytes, wanted: str) -> int:
    """Number of a function, from the table of symbols in the section `linking`."""
    _, place = _text(body, 0)
    _, place = _read(body, place)  # version
    while place < len(body):
        kind, (size, place) = body[place], _read(body, place + 1)
        if kind == SYMBOLS:
            count, at = _read(body, place)
            for _ in range(count):
                what, (flags, at) = body[at], _read(body, at + 1)
                if what != FUNCTION:
                    at = _behind_other(body, at, what, flags)
                    continue
                index, at = _read(body, at)
                name = b""
                if not flags & 16 or flags & 64:  # defined here, or with a name of its own
                    name, at = _text(body, at)
                if name == wanted.encode():
                    return index
        place += size
    raise KernelError(f"LLVM's object has no function {wanted!r}.")


def _behind_other(body: bytes, at: int, what: int, flags: int) -> int:
    """Place behind a symbol that is no function: data (1), a section (3), or a global, tag or table."""
    if what == 1:
        _, at = _text(body, at)
        for _ in range(0 if flags & 16 else 3):
            _, at = _read(body, at)
        return at
    _, at = _read(body, at)
    if what != 3 and (not flags & 16 or flags & 64):
        _, at = _text(body, at)
    return at
