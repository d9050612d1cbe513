"""Operators on whole arrays, element by element: nothing is added up, so no order of a sum has to be chosen.

Axes are matched as in NumPy: from the last one backwards; an axis of length 1 that the translator knows is repeated.
Lengths that are known only where the kernel runs are taken as equal, without a check.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from stickslip.jit import memory
from stickslip.jit.errors import KernelError
from stickslip.jit.values import Bundle, Constant, Kind, Scalar, Size, Value, View, kind_of
from stickslip.jit.writer import Writer

Operation = Callable[..., Constant | Scalar]
"""From numbers to a number."""
Allocate = Callable[[Value, np.dtype], View]
DTYPES: dict[Kind, np.dtype] = {
    "float": np.dtype(np.float64),
    "int": np.dtype(np.int64),
    "bool": np.dtype(np.bool_),
}


def shape_of(values: tuple[Value, ...]) -> tuple[Size, ...]:
    """Lengths of the result of an operation on arrays and numbers."""
    views = [value for value in values if isinstance(value, View)]
    axes = max(len(view.dims) for view in views)
    dims: list[Size] = []
    for axis in range(1, axes + 1):
        sizes = [view.dims[-axis] for view in views if len(view.dims) >= axis]
        known = {size for size in sizes if isinstance(size, int) and size != 1}
        if len(known) > 1:
            raise KernelError(f"axes of lengths {' and '.join(map(str, sorted(known)))} do not match.")
        unknown = [size for size in sizes if isinstance(size, str)]
        dims.insert(0, known.pop() if known else unknown[0] if unknown else 1)
    return tuple(dims)


def element(writer: Writer, value: Value, index: tuple[Scalar, ...]) -> Value:
    """Element of an array at an index of the result; a number is itself."""
    if not isinstance(value, View):
        return value
    own = index[len(index) - len(value.dims) :]
    repeated = tuple(0 if size == 1 else stride for size, stride in zip(value.dims, value.strides, strict=True))
    place = memory.part(writer, replace(value, strides=repeated), own)
    assert isinstance(place, str)
    return memory.load(writer, value.dtype, place)


def apply(writer: Writer, allocate: Allocate, operation: Operation, values: tuple[Value, ...]) -> View:
    """A new array of the results of an operation on the elements of arrays."""
    dims = shape_of(values)
    with writer.aside():  # to see what kind of number comes out
        sample = operation(*(value if not isinstance(value, View) else _sample(value) for value in values))
    kind = kind_of(sample)
    assert kind is not None
    result = allocate(Bundle(tuple(memory.size_value(size) for size in dims)), DTYPES[kind])
    write(writer, result, operation, values)
    return result


def write(writer: Writer, target: View, operation: Operation, values: tuple[Value, ...]) -> None:
    """Write the results of an operation on the elements of arrays into an array, which may be one of the operands."""
    memory.require_writable(target)

    def one(index: tuple[Scalar, ...]) -> None:
        found = operation(*(element(writer, value, index) for value in values))
        place = memory.part(writer, target, index)
        assert isinstance(place, str)
        memory.store(writer, target.dtype, place, found)

    memory.for_each(writer, target.dims, one)


def _sample(view: View) -> Scalar:
    return Scalar(memory.element_of(view.dtype).kind, "poison")
