"""A content hash of functions that users write, so that machine code in the cache follows their edits."""

from __future__ import annotations

import hashlib
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np


def function_fingerprint(function: Callable[..., Any]) -> str:
    """Content hash of a function: its code, constants, closure, and the globals it uses.

    A cache of compiled code keyed by it notices an edited helper.
    """
    digest = hashlib.sha256()
    seen: set[int] = set()

    def add_code(code: types.CodeType, scope: Mapping[str, Any]) -> None:
        digest.update(code.co_code)
        digest.update(repr((code.co_argcount, code.co_names, code.co_varnames, code.co_freevars)).encode())
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                add_code(constant, scope)
            else:
                add(constant)
        for name in code.co_names:
            if name in scope:
                add(scope[name])

    def add(value: Any) -> None:
        value = getattr(value, "python", getattr(value, "py_func", value))
        digest.update(type(value).__name__.encode())
        if isinstance(value, types.FunctionType):
            if id(value) not in seen:
                seen.add(id(value))
                add_code(value.__code__, value.__globals__)
                for cell in value.__closure__ or ():
                    add(cell.cell_contents)
                add(value.__defaults__)
        elif isinstance(value, types.ModuleType):
            digest.update(f"{value.__name__} {getattr(value, '__version__', '')}".encode())
            file = getattr(value, "__file__", None)
            if not hasattr(value, "__version__") and file and file.endswith(".py"):
                with open(file, "rb") as stream:  # a user's own module: its helpers may change
                    digest.update(stream.read())
        elif isinstance(value, np.ndarray):
            digest.update(repr((value.dtype.str, value.shape)).encode() + value.tobytes())
        elif isinstance(value, (bool, int, float, complex, str, bytes, type(None), type(...), np.generic)):
            digest.update(repr(value).encode())
        elif isinstance(value, (tuple, list)):
            digest.update(str(len(value)).encode())
            for item in value:
                add(item)
        elif isinstance(value, frozenset):
            add(tuple(sorted(value, key=repr)))
        elif isinstance(value, (types.BuiltinFunctionType, np.ufunc, type)):
            digest.update(getattr(value, "__qualname__", value.__name__).encode())
        else:
            raise ValueError(
                "a model function is written with def or lambda, and uses numbers, arrays and functions alone, "
                f"got {value!r} of type {type(value).__name__}; keep its numbers in parameters=, "
                "or in names around a function: def make(k): def force(q, u, t, p): ..."
            )

    add(function)
    return digest.hexdigest()[:16]
