"""Calls of machine code from Python without ctypes in between: a function of CPython's C interface, as LLVM IR.

The function checks that its arguments have the types that the code was made for, reads numbers and arrays, lets other
threads run while the kernel does, and returns new numbers.  It returns `NotImplemented` where a type is another one.

Arrays are read as NumPy's own C header lays them out, which no version has changed.  `usable` compares that layout
with an array of this process before it is relied on.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import sys
import sysconfig
from collections.abc import Mapping
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from stickslip.jit import memory
from stickslip.jit.values import Bundle, Constant, Kind, Scalar, Size, Value, View
from stickslip.jit.writer import Writer

TYPE, DATA, AXES, LENGTHS, STRIDES, DTYPE, FLAGS = 8, 16, 24, 32, 40, 56, 64
"""Offsets of the fields of a NumPy array [bytes]."""
CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400
FASTCALL = 0x80
"""Flag of a C function that takes an array of arguments."""
FUNCTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "PyFloat_AsDouble": ("double", ("ptr",)),
    "PyFloat_FromDouble": ("ptr", ("double",)),
    "PyLong_AsLongLong": ("i64", ("ptr",)),
    "PyLong_FromLongLong": ("ptr", ("i64",)),
    "PyBool_FromLong": ("ptr", ("i64",)),
    "PyTuple_New": ("ptr", ("i64",)),
    "PyTuple_SetItem": ("i32", ("ptr", "i64", "ptr")),
    "PyTuple_GetItem": ("ptr", ("ptr", "i64")),
    "PyTuple_Size": ("i64", ("ptr",)),
    "PyErr_Occurred": ("ptr", ()),
    "PyErr_Clear": ("void", ()),
    "PyEval_SaveThread": ("ptr", ()),
    "PyEval_RestoreThread": ("void", ("ptr",)),
    "Py_IncRef": ("void", ("ptr",)),
}


@functools.cache
def usable() -> bool:
    """Whether this Python and this NumPy are laid out as assumed here."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    if ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    array = np.arange(6.0).reshape(2, 3)[:, :2]
    start = id(array)

    def word(offset: int) -> int:
        return ctypes.c_int64.from_address(start + offset).value

    strides = [ctypes.c_int64.from_address(word(STRIDES) + 8 * k).value for k in range(2)]
    lengths = [ctypes.c_int64.from_address(word(LENGTHS) + 8 * k).value for k in range(2)]
    flags = ctypes.c_int32.from_address(start + FLAGS).value
    axes = ctypes.c_int32.from_address(start + AXES).value
    found = (word(TYPE), word(DATA), axes, tuple(lengths), tuple(strides), word(DTYPE))
    right = found == (id(np.ndarray), array.ctypes.data, 2, (2, 2), array.strides, id(array.dtype))
    return right and not flags & CONTIGUOUS and bool(flags & WRITEABLE)


@functools.cache
def make_known() -> None:
    """Tell LLVM where the functions of Python's C interface are."""
    for name in FUNCTIONS:
        llvm.add_symbol(name, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value)


def name_of(thing: Any) -> str:
    """Name of a Python object in the text of a module."""
    if isinstance(thing, np.dtype):
        text = f"dtype {thing.descr!r} {thing.itemsize} {thing.isalignedstruct}"
    elif isinstance(thing, type):
        text = f"type {thing.__module__} {thing.__qualname__}"
    else:
        text = repr(thing)  # None, True, NotImplemented
    return f"stickslip.object.{hashlib.sha256(text.encode()).hexdigest()[:24]}"


def make_objects_known(objects: Mapping[str, Any]) -> None:
    """Tell LLVM where the Python objects are that a module names."""
    for name, thing in objects.items():
        llvm.add_symbol(name, id(thing))


def objects_in(sample: Any) -> dict[str, Any]:
    """Python objects that the text of a function with an argument like `sample` may name, by their names there."""
    found: list[Any] = [None, True, NotImplemented, bool, float, np.float64, int, np.int64, np.ndarray, np.recarray]
    waiting = [sample]
    while waiting:
        value = waiting.pop()
        if isinstance(value, tuple):
            found.append(type(value))
            waiting += value
        elif isinstance(value, np.ndarray):
            found.append(value.dtype)
    return {name_of(thing): thing for thing in found}


class Reader:
    """Reads the arguments of a call into values; jumps to `other` where one is of another type."""

    def __init__(self, writer: Writer, other: str) -> None:
        self.writer, self.other = writer, other
        self.objects: dict[str, Any] = {}  # by the names of their addresses in the text

    def address(self, thing: Any) -> str:
        """Address of a Python object by a name, so that the text is one for all processes."""
        name = name_of(thing)
        self.objects[name] = thing
        self.writer.module.external_data(name)
        return f"@{name}"

    def call(self, name: str, *arguments: str) -> str:
        result, types = FUNCTIONS[name]
        given = list(zip(types, arguments, strict=True))
        if result == "void":
            self.writer.module.declare(name, result, types)
            self.writer.do(f"call void @{name}({', '.join(f'{type_} {text}' for type_, text in given)})")
            return ""
        return self.writer.call(result, name, given, {})

    def require(self, condition: str) -> None:
        """Go on only where a condition holds."""
        further = self.writer.label()
        self.writer.branch(condition, further, self.other)
        self.writer.begin(further)

    def field(self, thing: str, offset: int, type_: str = "ptr") -> str:
        return self.writer.value(f"load {type_}, ptr {memory.offset(self.writer, thing, offset)}, align 8")

    def argument(self, thing: str, sample: Any) -> Value:
        """Value of an argument, at the address `thing` of its object, that has the type of `sample`."""
        writer = self.writer
        if sample is None:
            self.require(writer.value(f"icmp eq ptr {thing}, {self.address(None)}"))
            return Constant(None)
        if isinstance(sample, np.ndarray):
            return self.array(thing, sample)
        if isinstance(sample, tuple):
            return self.items(thing, sample)
        if isinstance(sample, bool):
            self.require_type(thing, bool)
            return Scalar("bool", writer.value(f"icmp eq ptr {thing}, {self.address(True)}"))
        if isinstance(sample, float):
            self.require_type(thing, float, np.float64)
            return Scalar("float", self.call("PyFloat_AsDouble", thing))
        self.require_type(thing, int, np.int64)
        return self.whole(thing)

    def require_type(self, thing: str, *types: type) -> None:
        """Write a check that an object is exactly of one of these types, not of a subclass."""
        found = self.field(thing, TYPE)
        matches = [self.writer.value(f"icmp eq ptr {found}, {self.address(type_)}") for type_ in types]
        condition = matches[0]
        for match in matches[1:]:
            condition = self.writer.value(f"or i1 {condition}, {match}")
        self.require(condition)

    def whole(self, thing: str) -> Scalar:
        """A whole number; one of more than 64 bits counts as another type."""
        writer = self.writer
        number = self.call("PyLong_AsLongLong", thing)
        suspect, wrong, fine = writer.label(), writer.label(), writer.label()
        writer.branch(writer.value(f"icmp eq i64 {number}, -1"), suspect, fine)
        writer.begin(suspect)
        problem = self.call("PyErr_Occurred")
        writer.branch(writer.value(f"icmp ne ptr {problem}, null"), wrong, fine)
        writer.begin(wrong)
        self.call("PyErr_Clear")
        writer.jump(self.other)
        writer.begin(fine)
        return Scalar("int", number)

    def items(self, thing: str, sample: tuple[Any, ...]) -> Bundle:
        self.require_type(thing, type(sample))
        size = self.call("PyTuple_Size", thing)
        self.require(self.writer.value(f"icmp eq i64 {size}, {len(sample)}"))
        values = tuple(
            self.argument(self.call("PyTuple_GetItem", thing, str(k)), item) for k, item in enumerate(sample)
        )
        return Bundle(values, tuple(getattr(type(sample), "_fields", ())))

    def array(self, thing: str, sample: np.ndarray) -> View:
        writer = self.writer
        flags, wanted = CONTIGUOUS | ALIGNED | WRITEABLE, ALIGNED
        wanted |= CONTIGUOUS if sample.flags.c_contiguous else 0
        wanted |= WRITEABLE if sample.flags.writeable else 0
        self.require_type(thing, np.ndarray, np.recarray)
        seen = writer.value(f"and i32 {self.field(thing, FLAGS, 'i32')}, {flags}")
        for condition in (
            f"icmp eq ptr {self.field(thing, DTYPE)}, {self.address(sample.dtype)}",
            f"icmp eq i32 {self.field(thing, AXES, 'i32')}, {sample.ndim}",
            f"icmp eq i32 {seen}, {wanted}",
        ):
            self.require(writer.value(condition))
        lengths = self.field(thing, LENGTHS)
        dims: tuple[Size, ...] = tuple(self.field(lengths, 8 * k, "i64") for k in range(sample.ndim))
        if sample.flags.c_contiguous:
            strides = memory.packed_strides(writer, dims, sample.itemsize)
        else:
            steps = self.field(thing, STRIDES)
            strides = tuple(self.field(steps, 8 * k, "i64") for k in range(sample.ndim))
        packed = sample.flags.c_contiguous
        return View(sample.dtype, self.field(thing, DATA), dims, strides, not sample.flags.writeable, packed)

    def number(self, kind: Kind, text: str) -> str:
        """New Python object of a number."""
        if kind == "float":
            return self.call("PyFloat_FromDouble", text)
        if kind == "int":
            return self.call("PyLong_FromLongLong", text)
        return self.call("PyBool_FromLong", self.writer.value(f"zext i1 {text} to i64"))

    def result(self, numbers: list[tuple[Kind, str]], is_tuple: bool) -> str:
        """New Python object of the results."""
        if not numbers and not is_tuple:
            self.call("Py_IncRef", self.address(None))
            return self.address(None)
        if not is_tuple:
            return self.number(*numbers[0])
        found = self.call("PyTuple_New", str(len(numbers)))
        for k, number in enumerate(numbers):
            self.call("PyTuple_SetItem", found, str(k), self.number(*number))
        return found


class _Definition(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("call", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def function_at(address: int, name: str) -> Any:
    """Python function of machine code.

    Its definition lives as long as the process: the function reads it when it is freed itself, and a collection of
    garbage, at the end of Python at the latest, may free things that belong together in any order.
    """
    definition = _Definition(name.encode(), address, FASTCALL, None)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(definition))
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    return make(ctypes.addressof(definition), None, None)
