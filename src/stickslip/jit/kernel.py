"""`@kernel`: a function of the language, callable as plain Python and as machine code."""

from __future__ import annotations

import ctypes
import functools
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from stickslip.jit import cpu, memory
from stickslip.jit.arithmetic import convert
from stickslip.jit.errors import KernelError
from stickslip.jit.translate import Body, Program
from stickslip.jit.values import ELEMENTS, REGISTER, Bundle, Constant, Kind, Scalar, Value, View, items_of, kind_of
from stickslip.jit.writer import Writer

ENTRY = "entry"


class Kernel:
    """A function of the kernel language.

    Called, it runs as plain Python.  `compiled(...)` runs it as machine code, which is made at the first call with
    arguments of new types.

    Attributes
    ----------
    python : the function itself.
    inline : its text is written in place of its calls by other kernels.
    reorder_sums : sums in it may be reordered: faster, and with other roundings on other machines.
    """

    def __init__(self, python: Callable[..., Any], inline: bool = False, reorder_sums: bool = False) -> None:
        functools.update_wrapper(self, python)
        self.python, self.inline, self.reorder_sums = python, inline, reorder_sums
        self._versions: dict[Any, Version] = {}
        self._lock = threading.Lock()

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.python(*args, **named)

    def __reduce__(self) -> str:
        return self.python.__qualname__

    def compiled(self, *args: Any) -> Any:
        """Run the machine code for arguments of these types; make it first where it is not there yet."""
        signature = tuple(map(_signature, args))
        version = self._versions.get(signature)
        if version is None:
            with self._lock:
                version = self._versions.get(signature) or self._versions.setdefault(signature, self._make(args))
        return version(args)

    def text(self, *args: Any) -> str:
        """LLVM IR for arguments of these types."""
        return self._translated(args)[0]

    def _make(self, args: tuple[Any, ...]) -> Version:
        text, layout, results = self._translated(args)
        return Version(cpu.load(cpu.build(text), ENTRY), "".join(layout), results)

    def _translated(self, args: tuple[Any, ...]) -> tuple[str, list[str], Results]:
        program = Program()
        writer = Writer(program.module)
        slots = _Slots(writer)
        values = tuple(slots.take(argument) for argument in args)
        result = Body(program, writer).inline(self, values)
        results = slots.give(result, self.python.__name__)
        writer.do("ret void")
        writer.define(f"void @{ENTRY}(ptr %slots)")
        return program.module.text(), slots.layout, results


@overload
def kernel(function: Callable[..., Any]) -> Kernel: ...


@overload
def kernel(*, inline: bool = False, reorder_sums: bool = False) -> Callable[[Callable[..., Any]], Kernel]: ...


def kernel(function: Callable[..., Any] | None = None, *, inline: bool = False, reorder_sums: bool = False) -> Any:
    """Mark a function as one of the kernel language.

    inline : write its text in place of its calls, where small functions share arrays, tuples and constants.
    reorder_sums : let the compiler reorder sums: only where no result depends on their rounding.
    """
    if function is None:
        return lambda marked: Kernel(marked, inline, reorder_sums)
    return Kernel(function, inline, reorder_sums)


@dataclass(frozen=True)
class Results:
    """Kinds of the numbers that a kernel returns, and whether they are a tuple."""

    kinds: tuple[Kind, ...]
    is_tuple: bool


class Version:
    """Machine code of a kernel for one combination of argument types.

    Arguments and results lie in one block of memory, eight bytes each: an array is its address, its lengths and, where
    it has gaps, its strides.
    """

    def __init__(self, address: int, layout: str, results: Results) -> None:
        self._call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)
        self._pack = struct.Struct("=" + layout)
        self._unpack = struct.Struct("=" + "".join("d" if kind == "float" else "q" for kind in results.kinds))
        self._results = results
        self._size = self._pack.size + self._unpack.size

    def __call__(self, args: tuple[Any, ...]) -> Any:
        room = ctypes.create_string_buffer(max(8, self._size))
        values: list[Any] = []
        for argument in args:
            _flatten(argument, values)
        self._pack.pack_into(room, 0, *values)
        self._call(room)
        found = self._unpack.unpack_from(room, self._pack.size)
        kinds = self._results.kinds
        numbers = tuple(bool(x) if kind == "bool" else x for x, kind in zip(found, kinds, strict=True))
        if self._results.is_tuple:
            return numbers
        return numbers[0] if numbers else None


def _signature(argument: Any) -> Any:
    """Type of an argument, as far as machine code depends on it."""
    if isinstance(argument, np.ndarray):
        if argument.dtype.fields is None and argument.dtype not in ELEMENTS:
            raise KernelError(f"arrays of {argument.dtype} are not in the language.")
        return (argument.dtype, argument.ndim, argument.flags.c_contiguous, argument.flags.writeable)
    if isinstance(argument, (bool, np.bool_)):
        return "bool"
    if isinstance(argument, (int, np.integer)):
        return "int"
    if isinstance(argument, (float, np.floating)):
        return "float"
    if argument is None:
        return None
    if isinstance(argument, tuple):
        return (type(argument), tuple(map(_signature, argument)))
    raise KernelError(f"a kernel takes numbers, arrays, tuples of them and None, got {type(argument).__name__}.")


def _flatten(argument: Any, values: list[Any]) -> None:
    """Append what the block of arguments holds of one."""
    if isinstance(argument, np.ndarray):
        values.append(argument.ctypes.data)
        values.extend(argument.shape)
        if not argument.flags.c_contiguous:
            values.extend(argument.strides)
    elif isinstance(argument, tuple):
        for item in argument:
            _flatten(item, values)
    elif argument is not None:
        values.append(argument)


class _Slots:
    """Reads arguments from the block of memory of a call, and writes results behind them."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.layout: list[str] = []

    def place(self, code: str) -> str:
        self.layout.append(code)
        return memory.offset(self.writer, "%slots", 8 * (len(self.layout) - 1))

    def number(self, type_: str, code: str) -> str:
        return self.writer.value(f"load {type_}, ptr {self.place(code)}, align 8")

    def take(self, argument: Any) -> Value:
        """Value of an argument."""
        signature = _signature(argument)
        if signature is None:
            return Constant(None)
        if signature == "float":
            return Scalar("float", self.number("double", "d"))
        if signature == "int":
            return Scalar("int", self.number("i64", "q"))
        if signature == "bool":
            return Scalar("bool", self.writer.value(f"icmp ne i64 {self.number('i64', 'q')}, 0"))
        if isinstance(argument, tuple):
            names = getattr(type(argument), "_fields", ())
            return Bundle(tuple(self.take(item) for item in argument), tuple(names))
        pointer = self.number("ptr", "q")
        dims = tuple(self.number("i64", "q") for _ in argument.shape)
        if argument.flags.c_contiguous:
            strides = memory.packed_strides(self.writer, dims, argument.itemsize)
        else:
            strides = tuple(self.number("i64", "q") for _ in argument.shape)
        return View(argument.dtype, pointer, dims, strides, not argument.flags.writeable)

    def give(self, result: Value, name: str) -> Results:
        """Write the results behind the arguments."""
        if isinstance(result, Constant) and result.value is None:
            return Results((), False)
        items = items_of(result)
        parts = (result,) if items is None else items
        kinds: list[Kind] = []
        base = len(self.layout)
        for k, item in enumerate(parts):
            kind = kind_of(item)
            if kind is None:
                raise KernelError(f"{name} returns numbers or a tuple of numbers to Python.")
            number = convert(self.writer, item, kind)
            place = memory.offset(self.writer, "%slots", 8 * (base + k))
            if kind == "bool":
                number, kind_type = self.writer.value(f"zext i1 {number} to i64"), "i64"
            else:
                kind_type = REGISTER[kind]
            self.writer.do(f"store {kind_type} {number}, ptr {place}, align 8")
            kinds.append(kind)
        return Results(tuple(kinds), items is not None)
