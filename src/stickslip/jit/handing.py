"""Results of a kernel as Python gets them: numbers, tuples of numbers, and new arrays.

Machine code returns numbers alone.  An array is its address, its lengths, and the address of the memory that Python
has to free once it has copied the array.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from stickslip.jit import cpu, memory
from stickslip.jit.arithmetic import convert
from stickslip.jit.errors import KernelError
from stickslip.jit.values import Bundle, Constant, Kind, Value, View, in_words, items_of, kind_of
from stickslip.jit.writer import Writer

Numbers = list[tuple[Kind, str]]
Build = Callable[[Iterator[Any]], Any]
"""Makes a Python object from the next numbers that machine code returned."""


class Results:
    """The results that a kernel returns to Python.

    is_plain : the result is None, a number or a tuple of numbers, without arrays and other tuples.
    """

    def __init__(self, writer: Writer, result: Value, heap: list[str], name: str) -> None:
        self.numbers: Numbers = []
        self._writer, self._heap, self._name = writer, heap, name
        handed: set[str] = set()
        self.is_tuple = items_of(result) is not None
        self._build = self._of(result, handed)
        items = items_of(result) or (result,)
        self.is_plain = all(kind_of(item) is not None for item in items) or (not self.numbers and not self.is_tuple)
        for slot in heap:
            if slot not in handed:
                memory.free(writer, slot)
        del self._writer, self._heap  # the text of the function: some hundred kB

    def python(self, numbers: Any) -> Any:
        """The Python object of the numbers that machine code returned."""
        return self._build(iter(numbers))

    def _of(self, value: Value, handed: set[str]) -> Build:
        items = items_of(value)
        if items is not None:
            parts = [self._of(item, handed) for item in items]
            return lambda numbers: tuple(part(numbers) for part in parts)
        if isinstance(value, Constant) and value.value is None:
            return lambda numbers: None
        if isinstance(value, View):
            return self._array(value, handed)
        kind = kind_of(value)
        if kind is None:
            raise KernelError(f"{self._name} returns numbers, arrays or tuples of them, not {in_words(value)}.")
        self.numbers.append((kind, convert(self._writer, value, kind)))
        return next

    def _array(self, view: View, handed: set[str]) -> Build:
        writer = self._writer
        if not view.packed or view.home not in self._heap or view.home in handed:
            shape = Bundle(tuple(memory.size_value(size) for size in view.dims))
            copy, slot = memory.new_array(writer, shape, view.dtype, on_heap=True)
            assert slot is not None
            self._heap.append(slot)
            memory.fill(writer, copy, view)
            view = copy
        handed.add(view.home)
        owner = writer.value(f"load ptr, ptr {view.home}, align 8")
        for pointer in (owner, view.pointer):
            self.numbers.append(("int", writer.value(f"ptrtoint ptr {pointer} to i64")))
        self.numbers += (("int", str(size)) for size in view.dims)
        dtype, axes = view.dtype, len(view.dims)

        def build(numbers: Iterator[Any]) -> np.ndarray:
            room, start = next(numbers), next(numbers)
            shape = [next(numbers) for _ in range(axes)]
            array = np.empty(shape, dtype)
            if array.size:  # thrice as fast as a copy to the address of the array
                array = np.frombuffer(ctypes.string_at(start, array.nbytes), dtype).reshape(shape).copy()
            cpu.free(room)
            return array

        return build
