"""What a generated module imports where functions that a user wrote are compiled by Numba: see `jit.marks`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import float64, int64, njit, types
from numba.core import cgutils
from numba.core.extending import intrinsic

from stickslip.jit.compiled import cached

__all__ = ["dev", "entry", "float64", "heap_array", "int64", "local_array", "rare", "sincos"]


def dev(function: Callable[..., Any]) -> Any:
    """A function that only other compiled functions call, inlined there: its small arrays can live in registers."""
    return njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True)(function)


def rare(function: Callable[..., Any]) -> Any:
    """As `dev`, but a call: what is seldom needed must not crowd the registers of the loop around it."""
    return njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)


@dev
def sincos(angle: float) -> tuple[float, float]:
    """Sine and cosine of an angle [rad]."""
    return math.sin(angle), math.cos(angle)


def entry(function: Callable[..., Any]) -> Any:
    """A function that Python calls, cached on disk: a generated module is named by its content."""
    return cached(njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True)(function))


@intrinsic(prefer_literal=True)
def local_array(typing_context: Any, shape: Any, dtype: Any) -> Any:
    """Array on the caller's stack; `shape` an int or a tuple of ints known when compiling, as cuda.local.array."""
    lengths = (shape,) if isinstance(shape, types.Integer) else tuple(shape)
    if not all(isinstance(length, types.IntegerLiteral) for length in lengths):
        return None
    dims = tuple(length.literal_value for length in lengths)
    array_type = types.Array(dtype.dtype, len(dims), "C")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def constant(value: int) -> Any:
            return context.get_constant(types.intp, value)

        element = context.get_data_type(array_type.dtype)
        item_size = context.get_abi_sizeof(element)
        data = cgutils.alloca_once(builder, element, size=constant(max(1, int(np.prod(dims)))))
        strides = [item_size * int(np.prod(dims[i + 1 :])) for i in range(len(dims))]
        array = context.make_array(array_type)(context, builder)
        context.populate_array(
            array,
            data=data,
            shape=[constant(d) for d in dims],
            strides=[constant(s) for s in strides],
            itemsize=constant(item_size),
            meminfo=None,  # not counted: it lives as long as the caller's frame
        )
        return array._getvalue()

    return array_type(shape, dtype), codegen


@njit(error_model="numpy")
def heap_array(shape: Any, dtype: Any) -> Any:
    """Stands in for `local_array` where the arrays of a large system would not fit on the stack."""
    return np.empty(shape, dtype)
