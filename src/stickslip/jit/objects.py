"""Machine code on disk, so that a kernel is built once per machine.

A file is named by the hash of the LLVM IR, the processor and the version of LLVM, and ends with a seal that only this
user can make (`vault`).  What others could have written, and what a damaged disk holds, is built again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm

from stickslip.jit import cpu
from stickslip.jit.vault import SEAL_LENGTH, Untrusted, leave, vault

FOLDER, ENDING = "objects", ".o"
DAY = 86400.0  # [s]


def name_of(text: str, target: cpu.Target | None = None, optimisation: str = "") -> str:
    """Name of the file that holds the machine code of a module for a target, or for this processor."""
    target = target or cpu.host()
    version = ".".join(map(str, llvm.llvm_version_info))
    level = optimisation or str(cpu.OPTIMISATION)
    parts = (text, target.triple, target.cpu, target.features, version, llvmlite.__version__, level)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32] + ENDING


def built(text: str) -> bytes:
    """Optimised machine code of a module, read from disk if it was built before."""
    return kept(name_of(text), lambda: cpu.build(text))


def built_quickly(text: str) -> bytes:
    """Machine code of a module that LLVM does not optimise, read from disk if it was built before."""
    return kept(name_of(text, optimisation="quick"), lambda: cpu.build_quickly(text))


def soonest(text: str) -> tuple[bytes, bool]:
    """Machine code of a module that is there soonest, and whether it is optimised.

    Optimised code is taken where it is on disk, and where sums may be reordered: bits depend on it then.
    """
    if cpu.reorders_sums(text):
        return built(text), True
    found = read(name_of(text))
    return (built_quickly(text), False) if found is None else (found, True)


def kept(name: str, build: Callable[[], bytes]) -> bytes:
    """Content of the file of this name; a missing file, or one that we did not write, is made anew and written."""
    found = read(name)
    if found is not None:
        return found
    code = build()
    with contextlib.suppress(OSError):  # a full disk costs the next process a second, not this one its run
        write(name, code)
    return code


def write(name: str, code: bytes) -> None:
    """Put machine code into the file of this name."""
    place = vault()
    place.write(code + place.seal(name, code).encode(), FOLDER, name)


def read(name: str) -> bytes | None:
    """Machine code in the file of this name; None for a missing file, or one that is not ours."""
    try:
        place = vault()
        try:
            content = place.read(FOLDER, name)
        except Untrusted as reason:
            leave(place.path, str(reason))
            vault()  # tells it
            return None
    except OSError:
        return None
    code, seal = content[:-SEAL_LENGTH], content[-SEAL_LENGTH:]
    if place.seal(name, code).encode() != seal:
        return None
    _note_use(place.path / FOLDER / name)
    return code


def _note_use(path: Path) -> None:
    """Keep the file's time within a day of its last use: what nobody used for a month makes room (`cache`)."""
    with contextlib.suppress(OSError):
        if time.time() - path.stat().st_mtime > DAY:
            os.utime(path)
