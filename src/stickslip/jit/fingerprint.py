"""A content hash of functions that users write, so that machine code in the cache follows their edits."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import pickle
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

DEEPEST = 12
"""Objects within objects of which the contents count."""
_LANGUAGE = "stickslip.jit."
"""Functions of the language itself count by their names: the hash of its sources stands beside every fingerprint."""
_NUMBERS_AND_TEXTS = (bool, int, float, complex, str, bytes, type(None), type(...), np.generic)


def function_fingerprint(function: Callable[..., Any]) -> str:
    """Content hash of a function: its code, constants, closure, and the globals it uses.

    A cache of compiled code keyed by it notices an edited helper.  Of an object that is called it holds the type, the
    code and the contents.
    """
    return _Walk(function).digest.hexdigest()[:16]


def uses_objects(function: Callable[..., Any]) -> bool:
    """Whether a function is, or uses, more than functions, numbers and arrays: what has a life of its own."""
    return _Walk(function).objects


def _may_change(module: types.ModuleType) -> bool:
    """Whether a module is text without a version of its own: a user's, or one of a package."""
    return not hasattr(module, "__version__") and str(getattr(module, "__file__", None)).endswith(".py")


class _Walk:
    """One walk through all that a function consists of."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.digest, self.objects = hashlib.sha256(), False
        self._seen: set[int] = set()
        self._add(function, 0)

    def _add_code(self, code: types.CodeType, scope: Mapping[str, Any], depth: int) -> None:
        self.digest.update(code.co_code)
        self.digest.update(repr((code.co_argcount, code.co_names, code.co_varnames, code.co_freevars)).encode())
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._add_code(constant, scope, depth)
            else:
                self._add(constant, depth)
        for name in code.co_names:
            if name in scope:
                self._add(scope[name], depth)
                self._add_members(scope[name], code.co_names, depth, set())

    def _add_members(self, value: Any, names: tuple[str, ...], depth: int, seen: set[int]) -> None:
        """What a function may take from a module that it names, `step.march`: the file has the text of it alone, not
        that of what it calls in turn."""
        if isinstance(value, types.ModuleType) and _may_change(value) and id(value) not in seen:
            seen.add(id(value))
            for name in names:
                if name in vars(value):
                    self._add(vars(value)[name], depth)
                    self._add_members(vars(value)[name], names, depth, seen)

    def _add(self, value: Any, depth: int) -> None:
        if hasattr(value, "python") and hasattr(value, "inline"):  # a kernel: how it is called counts, too
            marks = value.inline, value.apart, value.reorder_sums, value.without_calls, value.contained
            self.digest.update(repr(marks).encode())
        if isinstance(value, types.FunctionType) or not isinstance(value, type):
            value = getattr(value, "python", getattr(value, "py_func", value))
        self.digest.update(type(value).__name__.encode())
        if isinstance(value, types.FunctionType):
            self._add_function(value, depth)
        elif isinstance(value, types.ModuleType):
            self.digest.update(f"{value.__name__} {getattr(value, '__version__', '')}".encode())
            if _may_change(value):
                with open(str(value.__file__), "rb") as stream:
                    self.digest.update(stream.read())
        elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
            self.digest.update(repr((value.dtype.str, value.shape)).encode() + value.tobytes())
        elif isinstance(value, _NUMBERS_AND_TEXTS):
            self.digest.update(repr(value).encode())
        elif isinstance(value, (tuple, list)):
            self.digest.update(str(len(value)).encode())
            for item in value if depth <= DEEPEST else ():  # a list may hold itself
                self._add(item, depth + 1)
        elif isinstance(value, frozenset):
            self._add(tuple(sorted(value, key=repr)), depth)
        elif isinstance(value, (types.BuiltinFunctionType, np.ufunc, type)):
            self.digest.update(getattr(value, "__qualname__", value.__name__).encode())
            self.digest.update(repr(getattr(value, "_fields", ())).encode())  # of a NamedTuple
        else:
            self._add_object(value, depth + 1)

    def _add_function(self, value: types.FunctionType, depth: int) -> None:
        if str(value.__module__).startswith(_LANGUAGE):
            self.digest.update(f"{value.__module__}.{value.__qualname__}".encode())
        elif id(value) not in self._seen:
            self._seen.add(id(value))
            self._add_code(value.__code__, value.__globals__, depth)
            for cell in value.__closure__ or ():
                self._add(cell.cell_contents, depth)
                self._add_members(cell.cell_contents, value.__code__.co_names, depth, set())
            self._add(value.__defaults__, depth)
            if value.__kwdefaults__:
                self._add(tuple(sorted(value.__kwdefaults__.items())), depth)

    def _add_object(self, value: Any, depth: int) -> None:
        """An object with a life of its own: what it is made of now."""
        self.objects = True
        if id(value) in self._seen or depth > DEEPEST:
            return
        self._seen.add(id(value))
        kind = type(value)
        self.digest.update(f"{kind.__module__}.{kind.__qualname__}".encode())
        parts: list[Any]
        if isinstance(value, functools.partial):
            parts = [value.func, value.args, *sorted(value.keywords.items())]
        elif isinstance(value, types.MethodType):
            parts = [value.__func__, value.__self__]
        elif isinstance(value, (dict, set)):
            parts = sorted(value.items() if isinstance(value, dict) else value, key=repr)
        else:
            slots = [name for base in kind.__mro__ for name in getattr(base, "__slots__", ()) if hasattr(value, name)]
            code = next((base.__dict__["__call__"] for base in kind.__mro__ if "__call__" in base.__dict__), None)
            parts = [code, *sorted(getattr(value, "__dict__", {}).items())]
            parts += [(name, getattr(value, name)) for name in slots]
            if len(parts) == 1:
                with contextlib.suppress(Exception):  # one that cannot be written down is known by its type
                    self.digest.update(pickle.dumps(value))
        for part in parts:
            self._add(part if not isinstance(part, types.WrapperDescriptorType) else None, depth)
