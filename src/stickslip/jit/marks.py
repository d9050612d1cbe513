"""What a generated module imports on the CPU: marks of the kernel language, and small arrays on the stack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stickslip.jit import Entry, Kernel
from stickslip.jit.mathematics import sincos

__all__ = ["dev", "entry", "float64", "heap_array", "int64", "local_array", "rare", "sincos"]

float64, int64 = np.float64, np.int64


def dev(function: Callable[..., Any]) -> Kernel:
    """A function that only other kernels call, written in place of its calls: small arrays can live in registers."""
    return Kernel(function, inline=True)


def rare(function: Callable[..., Any]) -> Kernel:
    """A function that only other kernels call, by a call: what is seldom needed must not crowd the loop around it."""
    return Kernel(function)


class Generated(Entry):
    """A function of a generated module, whose loops run over the contacts and coordinates of one mechanism."""

    short_loops = True


def entry(function: Callable[..., Any]) -> Entry:
    """A function that Python calls as machine code."""
    return Generated(function)


@dev
def local_array(shape: Any, dtype: Any) -> np.ndarray:
    """Array on the stack; `shape` is known to the translator, as for cuda.local.array."""
    return np.empty(shape, dtype)


heap_array = local_array
