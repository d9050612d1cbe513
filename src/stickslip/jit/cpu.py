"""Machine code for this processor: LLVM IR built and loaded by llvmlite."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import sys
import warnings
from dataclasses import dataclass
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from stickslip.jit.errors import KernelError
from stickslip.jit.writer import NO_VECTORS

COMPILER = f"llvmlite {llvmlite.__version__}"
"""Maker of the machine code."""
TESTED = ((0, 45), (0, 50))
"""First and last version of llvmlite that the tests ran with; pyproject.toml asks for these."""
OPTIMISATION = 3
PLAIN_OPTIMISATION = 2
"""Of modules without vectors."""
_loaded: list[Any] = []  # engines hold the code that addresses point to: they live as long as the process


@dataclass(frozen=True)
class Target:
    """Processor that machine code is made for."""

    triple: str
    cpu: str
    features: str


def require_tested(version: str) -> None:
    """Raise where a version of llvmlite is older than those tested; warn where it is newer."""
    found = tuple(int(part) if part.isdigit() else 0 for part in version.split(".")[:2])
    first, last = (".".join(map(str, end)) for end in TESTED)
    told = f"kernels were tested with llvmlite {first} to {last}, got {version}"
    helps = f"pip install 'llvmlite>={first},<{TESTED[1][0]}.{TESTED[1][1] + 1}'"
    if found < TESTED[0]:
        raise ValueError(f"{told}, whose LLVM does not read their text: {helps}.")
    if found > TESTED[1]:
        warnings.warn(f"{told}; if anything is odd: {helps}.", stacklevel=2)


@functools.cache
def host() -> Target:
    """The processor of this machine."""
    require_tested(llvmlite.__version__)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return Target(llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())


def machine(target: Target, level: int = OPTIMISATION) -> Any:
    """LLVM's description of a processor, for machine code of some level of optimisation."""
    return described(target).create_target_machine(
        cpu=target.cpu, features=target.features, opt=level, reloc="pic", codemodel="jitdefault", jit=True
    )


def described(target: Target) -> Any:
    """LLVM's name for a kind of target; raises where this llvmlite cannot write for it."""
    if target is not host():
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    try:
        return llvm.Target.from_triple(target.triple)
    except RuntimeError as problem:
        raise KernelError(
            f"this llvmlite was built without {target.triple} ({problem}): take the one of PyPI."
        ) from None


def parsed(text: str, machine: Any) -> Any:
    """LLVM's module of a text for a machine, as it was written."""
    module = llvm.parse_assembly(text, llvm.create_context())
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    module.verify()
    return module


def optimised(text: str, machine: Any, level: int = OPTIMISATION, vectors: bool = True) -> Any:
    """LLVM's module of a text for a machine; `vectors`: loops may use registers of several numbers.

    Each module has a context of its own: then LLVM works on several at once.
    """
    module = parsed(text, machine)
    tuning = llvm.create_pipeline_tuning_options(speed_level=level)
    tuning.slp_vectorization = tuning.loop_vectorization = vectors
    if vectors:
        tuning.loop_interleaving = True
    passes = llvm.create_pass_builder(machine, tuning)
    manager = passes.getModulePassManager()
    run = _without_lock("LLVMPY_RunNewModulePassManager", 3)
    if run is None:
        manager.run(module, passes)
    else:
        run(manager, module, passes)
    return module


def build(text: str, target: Target | None = None) -> bytes:
    """Object code of a module.

    Where fields of records lie apart, and where loops turn a few times, registers of several numbers gain nothing: LLVM
    takes a quarter to a third less time without, and mechanisms and scenes run as fast.  Sums that may be reordered
    keep the order that such registers give them.
    """
    chosen = machine(host() if target is None else target)
    plain = text.startswith(NO_VECTORS) and not reorders_sums(text)
    module = optimised(text, chosen, level=PLAIN_OPTIMISATION if plain else OPTIMISATION, vectors=not plain)
    return _object_code(module, chosen)


def build_quickly(text: str) -> bytes:
    """Object code of a module for this processor, made without optimising: see `tiers`."""
    chosen = machine(host(), level=0)
    return _object_code(parsed(text, chosen), chosen)


def reorders_sums(text: str) -> bool:
    """Whether sums of a module may be reordered: its bits depend on how it is optimised."""
    return " reassoc " in text


def _object_code(module: Any, machine: Any) -> bytes:
    emit = _without_lock("LLVMPY_TargetMachineEmitToMemory", 4)
    if emit is None:
        return bytes(machine.emit_object(module))
    with llvm.ffi.OutputString() as problem:
        buffer = emit(machine, module, 1, problem)
        if not buffer:
            raise RuntimeError(str(problem))
    library = llvm.ffi.lib
    try:
        return ctypes.string_at(library.LLVMPY_GetBufferStart(buffer), library.LLVMPY_GetBufferSize(buffer))
    finally:
        library.LLVMPY_DisposeMemoryBuffer(buffer)


@functools.cache
def _without_lock(name: str, count: int) -> Any:
    """A function of llvmlite's library with `count` arguments; None where this llvmlite has no such function.

    llvmlite lets one thread at a time into LLVM.  LLVM itself asks for one thread in each context, so its two long
    works, passes and machine code, need no lock where each module has a context and a target machine of its own.
    """
    try:
        locked = getattr(llvm.ffi.lib, name)
        function = ctypes.CDLL(llvm.ffi.lib._name)[name]
    except (AttributeError, OSError):
        return None
    if len(locked.argtypes or ()) != count:
        return None
    function.argtypes, function.restype = locked.argtypes, locked.restype
    return function


def load(code: bytes, name: str) -> int:
    """Load object code of this machine; return the address of one of its functions."""
    make_known()
    # one engine per object: several objects in one engine resolved one another's names by the order of loading
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine(host()))
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _loaded.append(engine)
    address: int = engine.get_function_address(name)
    if not address:
        raise RuntimeError(f"the object has no function {name!r}.")
    return address


@functools.cache
def _libraries() -> list[ctypes.CDLL]:
    """The C library, and that of its mathematics."""
    if sys.platform == "win32":
        return [ctypes.CDLL("ucrtbase")]
    return [ctypes.CDLL(None), ctypes.CDLL(ctypes.util.find_library("m") or None)]


def free(address: int) -> None:
    """Give memory back that machine code took."""
    _release()(address)


@functools.cache
def _release() -> Any:
    """`free` of the C library."""
    release = _libraries()[0].free
    release.argtypes, release.restype = (ctypes.c_void_p,), None
    return release


@functools.cache
def make_known() -> None:
    """Tell LLVM where the functions of the C library are that kernels call."""
    from stickslip.jit.functions import LIBRARY

    names = (*LIBRARY, "frexp", "ldexp", "malloc", "free", "memset", "memcpy")
    for name in names:
        for library in _libraries():
            if hasattr(library, name):
                llvm.add_symbol(name, ctypes.cast(getattr(library, name), ctypes.c_void_p).value)
                break
