"""Kernels as plain Python, with the bits of machine code.

Machine code has sines, powers and the like of its own (`mathematics`), which differ from those of the C library in the
last digit now and then.  So that plain Python computes the same, a function runs with its own code and the names of its
module, but what it calls of `math` and NumPy is looked up here: on single numbers, the kernels take the place of those.
"""

from __future__ import annotations

import builtins
import math
import types
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from stickslip.jit import functions

NUMBERS = (float, int, np.number, np.bool_)


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with those of `mathematics` in place of `math` and NumPy; itself where it calls none of them."""
    if not isinstance(function, types.FunctionType) or not _needs(function):
        return function
    cells = tuple(types.CellType(instead(cell.cell_contents)) for cell in function.__closure__ or ())
    found = types.FunctionType(
        function.__code__, _Names(function.__globals__), function.__name__, function.__defaults__, cells or None
    )
    found.__kwdefaults__, found.__doc__ = function.__kwdefaults__, function.__doc__
    return found


def _needs(function: types.FunctionType) -> bool:
    """Whether a name that the function reads stands for a module or function that has another one in its place."""
    values = [function.__globals__.get(name) for name in function.__code__.co_names]
    values += [cell.cell_contents for cell in function.__closure__ or ()]
    attributes = {key.__name__ for key in functions.OWN if hasattr(key, "__name__")} & set(function.__code__.co_names)
    return any(
        (value in (math, np) and attributes) or instead(value) is not value for value in values if _simple(value)
    )


def _simple(value: Any) -> bool:
    return isinstance(value, (types.ModuleType, types.BuiltinFunctionType, np.ufunc))


class _Names(dict[str, Any]):
    """Names of a module as a function finds them; they follow the module."""

    def __init__(self, names: dict[str, Any]) -> None:
        super().__init__(__builtins__=names.get("__builtins__", builtins))
        self.names = names

    def __getitem__(self, name: str) -> Any:
        return instead(self.names[name])


class Functions:
    """`math` or NumPy with functions of `mathematics`."""

    def __init__(self, module: types.ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = instead(getattr(self._module, name))
        setattr(self, name, found)
        return found


MATH, NUMPY = Functions(math), Functions(np)


def instead(value: Any) -> Any:
    """Substitute for a module or function, or the value itself."""
    if value is math:
        return MATH
    if value is np:
        return NUMPY
    own = functions.OWN.get(value) if isinstance(value, Hashable) and _simple(value) else None
    return value if own is None else _called(value, own.compiled)


def _called(function: Any, own: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numbers by the machine code of a kernel, as NumPy's are machine code; of arrays it is what it was.

    A sine of plain Python takes a hundred times as long, and the reference engine needs some in every step.
    """
    kind = np.float64 if isinstance(function, np.ufunc) else float

    def call(*args: Any, **named: Any) -> Any:
        if named or not all(isinstance(x, NUMBERS) for x in args):
            return function(*args, **named)
        return kind(own(*map(float, args)))

    call.__name__ = function.__name__
    return call
