"""What a generated module imports on a GPU, in place of `stickslip.jit.marks`: the same names, through numba-cuda.

Arithmetic is IEEE double throughout, and products are not fused with sums: a member of an ensemble then takes the same
steps as on the CPU, bit for bit, unless its system calls functions (sine, power) whose last digits the two round
differently.
"""

from __future__ import annotations

import contextlib
import functools
import math
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

vars(np).setdefault("row_stack", np.vstack)  # numba-cuda up to 0.30 asks for it, and NumPy 2.5 has it no more

from numba import cuda, float64, int64  # noqa: E402
from numba.core import config  # noqa: E402
from numba.cuda import libdevice  # noqa: E402

from stickslip.jit import Kernel  # noqa: E402
from stickslip.jit.card_cache import PackageLocator, SealedCache, cached  # noqa: E402

__all__ = ["cuda", "dev", "entry", "exact_arithmetic", "float64", "int64", "kernel", "rare", "sincos", "take_kernels"]

SIMULATED = bool(config.ENABLE_CUDASIM)
MAX_REGISTERS = 255
LAUNCHED = '''
@kernel
def advance_on_gpu(rows, P, n, t0, dt, n_steps, sweeps, tol, depth):
    """Advance n members, each by one thread; a thread takes several where there are more than the card runs at once."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        advance(rows[i], P[i], t0, dt, n_steps, sweeps, tol, depth)


take_kernels(globals())
'''
"""End of a generated module, in place of what `members.py` has for the CPU alone."""


def dev(function: Callable[..., Any]) -> Any:
    """A function of the device that is inlined where it is called: its small arrays can live in registers."""
    return rare(function) if config.ENABLE_CUDASIM else cuda.jit(function, device=True, forceinline=True)


def rare(function: Callable[..., Any]) -> Any:
    """A function of the device that is called."""
    return cuda.jit(function, device=True)


entry = dev


@functools.cache
def on_device(shared: Kernel) -> Any:
    """A kernel of the package as a function of the device, with the kernels that it calls."""
    python = shared.python
    names = {**python.__globals__}
    take_kernels(names, python.__code__.co_names)
    copy = types.FunctionType(python.__code__, names, python.__name__, python.__defaults__, python.__closure__)
    return dev(copy) if shared.inline else rare(copy)


def take_kernels(names: dict[str, Any], wanted: Iterable[str] | None = None) -> None:
    """Put functions of the device in place of the package's kernels among the names of a module."""
    for name in list(names) if wanted is None else wanted:
        if isinstance(names.get(name), Kernel):
            names[name] = on_device(names[name])


@dev
def sincos(angle: float) -> tuple[float, float]:
    """Sine and cosine of an angle [rad]; on a card with one reduction to the first octant for both."""
    if SIMULATED:
        return math.sin(angle), math.cos(angle)
    pair: tuple[float, float] = libdevice.sincos(angle)
    return pair


def kernel(function: Callable[..., Any]) -> Any:
    """A function that the host launches; kept in the package's cache."""
    if config.ENABLE_CUDASIM:
        return cuda.jit(function)
    # handed over at once: without a function, cuda.jit forgets `lto`, and link-time optimisation fuses after all
    return cached(cuda.jit(function, lto=False, max_registers=MAX_REGISTERS), _card_cache())


@functools.cache
def _card_cache() -> type:
    """numba-cuda's cache of kernels, in the package's folder and files; the simulator has none."""
    from numba.cuda.dispatcher import CUDACache, CUDACacheImpl

    class CardCacheImpl(CUDACacheImpl):
        _locator_classes = [PackageLocator]  # noqa: RUF012  (Numba's own attribute)

    class CardCache(SealedCache, CUDACache):
        _impl_class = CardCacheImpl

    return CardCache


@contextlib.contextmanager
def exact_arithmetic() -> Iterator[None]:
    """Compile without fused multiply-add while this block runs; numba-cuda has no option of its own for it."""
    if config.ENABLE_CUDASIM:
        yield
        return
    from numba.cuda.cudadrv import nvvm

    original = nvvm.compile_ir
    nvvm.compile_ir = functools.partial(_without_fusion, original)
    try:
        yield
    finally:
        nvvm.compile_ir = original


def _without_fusion(compile_ir: Callable[..., Any], irs: Any, **options: Any) -> Any:
    return compile_ir(irs, **{**options, "fma": 0})
