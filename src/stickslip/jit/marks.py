"""Names that a generated module imports on the CPU: marks of the kernel language, and small arrays on the stack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stickslip.jit import Entry, Kernel, functions
from stickslip.jit.arithmetic import convert
from stickslip.jit.mathematics import sincos
from stickslip.jit.values import Constant, Scalar, Value
from stickslip.jit.writer import Writer

__all__ = [
    "contained",
    "dev",
    "entry",
    "float64",
    "heap_array",
    "int64",
    "local_array",
    "on_card",
    "part",
    "rare",
    "rarely",
    "sincos",
    "tight",
]

float64, int64 = np.float64, np.int64


def dev(function: Callable[..., Any]) -> Kernel:
    """A function that only other kernels call, written in place of its calls: small arrays can live in registers."""
    return Kernel(function, inline=True)


def contained(function: Callable[..., Any]) -> Kernel:
    """A loop that only other kernels run, whose numbers shall stay in registers.

    On the CPU it is a function of its own, which works on copies of its arrays: written into a long function, its
    numbers would lie in memory, since LLVM shares out the registers of a function as a whole.  On a card, where all is
    one function, it is written in place.
    """
    made = Kernel(function, inline=True)
    made.contained = True
    return made


def tight(function: Callable[..., Any]) -> Kernel:
    """A loop as `contained`; on a card its sines are written in place, too."""
    made = contained(function)
    made.without_calls = True
    return made


def part(function: Callable[..., Any]) -> Kernel:
    """A part of a longer function, written in place however large the system is: what it makes belongs to the whole."""
    return Kernel(function, inline=True)


def rare(function: Callable[..., Any]) -> Kernel:
    """A function that only other kernels call, by a call: what is seldom needed must not crowd the loop around it."""
    return Kernel(function)


def rarely(condition: bool) -> bool:
    """A condition that seldom holds: what hangs on it stays behind a branch, and is not computed in advance."""
    return condition


def _rarely(writer: Writer, arguments: tuple[Value, ...]) -> Value:
    (condition,) = arguments
    if isinstance(condition, Constant):
        return condition
    given = [("i1", convert(writer, condition, "bool")), ("i1", "false")]
    return Scalar("bool", writer.call("i1", "llvm.expect.i1", given, {}))


functions.add(rarely, _rarely)


def on_card() -> bool:
    """Whether the code is for many threads of a card."""
    return False


def _on_card(writer: Writer, arguments: tuple[Value, ...]) -> Value:
    return Constant(writer.module.on_card)


functions.add(on_card, _on_card)


class Generated(Entry):
    """A function of a generated module, whose loops run over the contacts and coordinates of one mechanism."""

    short_loops = True
    quick_first = True


def entry(function: Callable[..., Any]) -> Entry:
    """A function that Python calls as machine code."""
    return Generated(function)


@dev
def local_array(shape: Any, dtype: Any) -> np.ndarray:
    """Array on the stack; `shape` is known to the translator, as for cuda.local.array."""
    return np.empty(shape, dtype)


heap_array = local_array
