"""An NVIDIA card through its driver, by NVIDIA's own Python bindings: arrays on it, and kernels that it runs.

The driver turns PTX into machine code of the card, and keeps the machine code on disk itself.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from stickslip.jit import gpu
from stickslip.jit.kernel import Kernel
from stickslip.jit.units import ENTRY

MAX_REGISTERS = 255
LOG_BYTES = 8192
_TYPES = {"a": ctypes.c_uint64, "l": ctypes.c_int64, "i": ctypes.c_int64, "f": ctypes.c_double}


class CardError(RuntimeError):
    """A call that the driver refused, in one line."""


def bindings() -> Any:
    """NVIDIA's bindings of the driver; raises ImportError where they are not installed."""
    from cuda.bindings import driver

    return driver


def ask(name: str, *arguments: Any) -> Any:
    """Call a function of the driver; return its result, or raise one line."""
    driver = bindings()
    code, *results = getattr(driver, name)(*arguments)
    if int(code) != 0:
        raise CardError(f"{name}: {_words(driver, code)}.")
    return results[0] if len(results) == 1 else tuple(results)


def _words(driver: Any, code: Any) -> str:
    _, text = driver.cuGetErrorString(code)
    name = getattr(code, "name", str(code))
    return f"{text.decode()} ({name})" if isinstance(text, bytes) else name


class Card:
    """The first card of this machine.

    Attributes
    ----------
    name : as its maker calls it.
    capability : 90 for compute capability 9.0.
    """

    def __init__(self) -> None:
        ask("cuInit", 0)
        driver = bindings()
        if ask("cuDeviceGetCount") < 1:
            raise CardError("the driver finds no card.")
        device = ask("cuDeviceGet", 0)
        self.name = ask("cuDeviceGetName", 100, device).split(b"\0")[0].decode()
        attribute = driver.CUdevice_attribute
        major = ask("cuDeviceGetAttribute", attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device)
        minor = ask("cuDeviceGetAttribute", attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device)
        self.capability = 10 * int(major) + int(minor)
        self._context = ask("cuDevicePrimaryCtxRetain", device)
        self._loaded: dict[tuple[str, int], tuple[Any, Any]] = {}  # module and function by PTX and registers

    def array(self, values: np.ndarray) -> CardArray:
        """A copy of an array on the card."""
        self.enter()
        return CardArray(values)

    def enter(self) -> None:
        """Let this thread of Python speak to the card."""
        ask("cuCtxSetCurrent", self._context)

    def wait(self) -> None:
        """Wait until all that was launched is done; what went wrong in it is raised here."""
        self.enter()
        ask("cuCtxSynchronize")

    def kernel(
        self,
        kernel: Kernel,
        samples: Sequence[Any],
        out_of_line: Sequence[str] = (),
        registers: int = MAX_REGISTERS,
    ) -> CardKernel:
        """A kernel on this card, for arguments of the types of `samples`; see `gpu.text`.

        registers : most of them for a thread; with fewer, more threads run at once.
        """
        return self.loaded(gpu.launched(kernel, samples, self.capability, out_of_line), registers)

    def loaded(self, made: gpu.Launched, registers: int = MAX_REGISTERS) -> CardKernel:
        """The kernel of a PTX on this card."""
        self.enter()
        key = made.ptx, registers
        if key not in self._loaded:
            self._loaded[key] = _load(*key)
        return CardKernel(self, self._loaded[key][1], made.kinds)


@functools.cache
def card() -> Card:
    """The card, opened once; raises ImportError without bindings, RuntimeError without a driver or a card."""
    return Card()


def _load(ptx: str, registers: int) -> tuple[Any, Any]:
    """Machine code of PTX: the driver's module and its function."""
    driver, option, log = bindings(), bindings().CUjit_option, bytearray(LOG_BYTES)
    options = {
        option.CU_JIT_MAX_REGISTERS: registers,
        option.CU_JIT_ERROR_LOG_BUFFER: log,
        option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: LOG_BYTES,
    }
    code, module = driver.cuModuleLoadDataEx(ptx.encode() + b"\0", len(options), list(options), list(options.values()))
    if int(code) != 0:
        said = " ".join(bytes(log).split(b"\0")[0].decode(errors="replace").split())[:300]
        raise CardError(f"the driver refuses the kernel: {_words(driver, code)}{': ' if said else ''}{said}.")
    return module, ask("cuModuleGetFunction", module, ENTRY.encode())


class CardArray:
    """Room on the card for an array without gaps; given back with the object."""

    def __init__(self, values: np.ndarray) -> None:
        self.shape, self.dtype, self.nbytes = values.shape, values.dtype, values.nbytes
        self.address = ask("cuMemAlloc", max(8, self.nbytes))
        if self.nbytes:
            packed = np.ascontiguousarray(values)
            ask("cuMemcpyHtoD", self.address, packed.ctypes.data, self.nbytes)

    def copy_to(self, values: np.ndarray) -> None:
        """Copy back into an array of this shape and type, without gaps."""
        if (values.shape, values.dtype) != (self.shape, self.dtype) or not values.flags.c_contiguous:
            raise ValueError(f"the copy takes an array of {self.dtype}, shape {self.shape}, without gaps.")
        if self.nbytes:
            ask("cuMemcpyDtoH", values.ctypes.data, self.address, self.nbytes)

    def free(self) -> None:
        """Give the room back."""
        address, self.address = self.address, None
        if address is not None:
            ask("cuMemFree", address)


class CardKernel:
    """A kernel that the card runs."""

    def __init__(self, on: Card, function: Any, kinds: str) -> None:
        self._card, self._function = on, function
        self._types = tuple(_TYPES[kind] for kind in kinds)

    def attribute(self, name: str) -> int:
        """Facts of the driver about the machine code: NUM_REGS, LOCAL_SIZE_BYTES."""
        key = getattr(bindings().CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        return int(ask("cuFuncGetAttribute", key, self._function))

    def launch(self, blocks: int, block: int, *arguments: Any) -> None:
        """Run it by `blocks` blocks of `block` threads each, without waiting for the end."""
        values: list[Any] = []
        for argument in arguments:
            if isinstance(argument, CardArray):
                values += (int(argument.address), *argument.shape)
            else:
                values.append(argument)
        self._card.enter()
        ask("cuLaunchKernel", self._function, blocks, 1, 1, block, 1, 1, 0, 0, (tuple(values), self._types), 0)
