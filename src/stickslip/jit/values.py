"""Values of the expressions of a kernel while it is translated.

A `Constant` is known to the translator and leaves no instruction.  A `Scalar` is in an LLVM register.  A `View` is an
array, or a part of one, in memory.  A `Record` is one element of a structured array.  A `Bundle` is a tuple of values,
with names where it comes from a NamedTuple.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Kind = Literal["float", "int", "bool"]
REGISTER: dict[str, str] = {"float": "double", "int": "i64", "bool": "i1"}
"""LLVM type of a scalar of each kind."""
STACK = "stack"
ARGUMENT = "argument "  # before a number: that array among the arguments of the function, which its caller frees
"""Home of an array whose memory ends with its function: it lies on the stack, or in one of several places."""
Size = int | str
"""A length or a stride: a number where it is known to the translator, else the register that holds it."""


@dataclass(frozen=True)
class Element:
    """How a number of an array lies in memory."""

    type: str  # LLVM type
    kind: Kind  # of the scalar that it is loaded into
    signed: bool = True


ELEMENTS: dict[np.dtype[Any], Element] = {
    np.dtype(np.float64): Element("double", "float"),
    np.dtype(np.int64): Element("i64", "int"),
    np.dtype(np.int32): Element("i32", "int"),
    np.dtype(np.int8): Element("i8", "int"),
    np.dtype(np.uint8): Element("i8", "int", signed=False),
    np.dtype(np.bool_): Element("i8", "bool"),
}


@dataclass(frozen=True)
class Constant:
    """A value that the translator knows: a number, None, a string, a tuple, a function, a module, a type."""

    value: Any


@dataclass(frozen=True)
class Scalar:
    """A number in a register."""

    kind: Kind
    text: str


@dataclass(frozen=True)
class View:
    """An array: element type, address, lengths of its axes, distances of neighbours on each axis [bytes].

    packed : it has no gaps, the last axis fastest: its strides follow from its lengths.
    home : where its memory comes from: STACK of this function, the slot of an address that this function frees, or
        "" for memory of others.
    """

    dtype: np.dtype[Any]
    pointer: str
    dims: tuple[Size, ...]
    strides: tuple[Size, ...]
    read_only: bool = False
    packed: bool = False
    home: str = ""


@dataclass(frozen=True)
class Record:
    """One element of a structured array, at an address."""

    dtype: np.dtype[Any]
    pointer: str
    read_only: bool = False


@dataclass(frozen=True)
class Bundle:
    """A tuple of values; `names` are those of its NamedTuple, or empty."""

    items: tuple[Value, ...]
    names: tuple[str, ...] = ()


Value = Constant | Scalar | View | Record | Bundle


def kind_of(value: Value) -> Kind | None:
    """Kind of a number; None for everything else."""
    if isinstance(value, Scalar):
        return value.kind
    if isinstance(value, Constant):
        if isinstance(value.value, (bool, np.bool_)):
            return "bool"
        if isinstance(value.value, (int, np.integer)):
            return "int"
        if isinstance(value.value, (float, np.floating)):
            return "float"
    return None


def literal(kind: Kind, number: Any) -> str:
    """Text of a number in LLVM IR; floats by their bits, so that none is rounded."""
    if kind == "float":
        return "0x" + struct.pack(">d", float(number)).hex().upper()
    if kind == "bool":
        return "true" if number else "false"
    wrapped = (int(number) + 2**63) % 2**64 - 2**63
    return str(wrapped)


def items_of(value: Value) -> tuple[Value, ...] | None:
    """Values of a tuple, whether it is known to the translator or not; None for everything else."""
    if isinstance(value, Bundle):
        return value.items
    if isinstance(value, Constant) and isinstance(value.value, tuple):
        return tuple(Constant(item) for item in value.value)
    return None


Nesting = tuple[Any, ...] | None
"""How numbers are nested: None for a number, or a tuple of nestings."""


def numbers_in(value: Value) -> tuple[list[Value], Nesting]:
    """The numbers in a value, with nested tuples taken apart, and their nesting."""
    items = items_of(value)
    if items is None:
        return [value], None
    found = [numbers_in(item) for item in items]
    return [part for parts, _ in found for part in parts], tuple(nesting for _, nesting in found)


def nested(parts: Iterator[Value], nesting: Nesting) -> Value:
    """The value that `numbers_in` took apart."""
    return next(parts) if nesting is None else Bundle(tuple(nested(parts, inner) for inner in nesting))


def is_of_numbers(value: Value) -> bool:
    """Whether a value is a tuple without names, of numbers or again of tuples of numbers."""
    items = items_of(value)
    named = value.names if isinstance(value, Bundle) else hasattr(getattr(value, "value", None), "_fields")
    if items is None or named:
        return False
    return all(kind_of(item) is not None or is_of_numbers(item) for item in items)


def in_words(value: Value) -> str:
    """A value as an error message names it."""
    kind = kind_of(value)
    if kind is not None:
        return f"a number of kind {kind}"
    if isinstance(value, View):
        return f"an array of {value.dtype} with {len(value.dims)} axes"
    if isinstance(value, Record):
        return "a record"
    if items_of(value) is not None:
        return "a tuple"
    assert isinstance(value, Constant)
    known = value.value is None or isinstance(value.value, (str, complex))
    return f"{value.value!r}" if known else f"an object of type {type(value.value).__name__}"
