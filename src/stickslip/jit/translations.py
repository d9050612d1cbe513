"""LLVM IR of kernels on disk, so that a process need not translate what another one has translated.

The time loop of a scene takes 1 s to translate, and 0.05 s to read: 3 MB of text in 60 units.  A file is named by all
that a translation depends on: code and constants of the kernel and of all kernels that it calls, as they are in this
process (`fingerprint`), the types of the arguments, the sources of the translator, and the versions of Python and
NumPy.  Files lie beside the machine code and carry seals as that does (`objects`).

Kept are functions of the package and of generated modules, whose results are plain numbers.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import platform
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stickslip.jit import native, objects, parallel, units
from stickslip.jit.fingerprint import function_fingerprint
from stickslip.jit.units import Unit
from stickslip.jit.values import Constant

ENDING = ".ir"
KEPT = ("stickslip.", "stickslip_generated_")
"""Beginnings of the names of modules whose kernels are kept: functions elsewhere are made once, and changed often."""
SPEED = 1
"""Of zlib: 3 MB become 0.4 MB in 0.03 s."""


class Text(NamedTuple):
    """A function that Python calls, translated: its text, names of Python objects in it, units that it calls."""

    text: str
    names: tuple[str, ...]
    needs: tuple[Unit, ...]


def is_kept(function: Callable[..., Any]) -> bool:
    """Whether translations of a function are kept."""
    return str(function.__module__).startswith(KEPT) and "<locals>" not in function.__qualname__


@functools.cache
def _translator() -> str:
    """Versions that all translations depend on."""
    digest = hashlib.sha256(f"{platform.python_implementation()} {platform.python_version()} {np.__version__}".encode())
    for file in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def _types(value: Any) -> str:
    """Type of an argument in words that are the same in every process."""
    if isinstance(value, np.ndarray):
        flags = value.flags
        return f"{native.name_of(value.dtype)} {value.ndim} {flags.c_contiguous} {flags.writeable}"
    if isinstance(value, tuple):
        kind = type(value)
        names = getattr(kind, "_fields", ())
        return f"({kind.__module__}.{kind.__qualname__} {names} {', '.join(map(_types, value))})"
    return type(value).__name__


def file_of(function: Callable[..., Any], marks: str, args: Iterable[Any]) -> str:
    """Name of the file for a function with arguments of some types; `marks`: what else its text depends on."""
    parts = (_translator(), function.__module__, function.__qualname__, function_fingerprint(function), marks)
    return hashlib.sha256("\0".join((*parts, *map(_types, args))).encode()).hexdigest()[:32] + ENDING


def write(name: str, made: Text) -> None:
    """Keep a translation."""
    below = units.all_of(made.needs)
    number = {unit.name: k for k, unit in enumerate(below)}
    listed = [(unit.text, unit.word, [number[need.name] for need in unit.needs]) for unit in below]
    content = json.dumps((made.text, made.names, [number[unit.name] for unit in made.needs], listed))
    with contextlib.suppress(OSError):  # a full disk costs the next process a second, not this one its run
        objects.write(name, zlib.compress(content.encode(), SPEED))


def read(name: str, soon: bool) -> Text | None:
    """A translation that was kept, its units begun; None where there is none."""
    content = objects.read(name)
    if content is None:
        return None
    text, names, needs, listed = json.loads(zlib.decompress(content))
    made: dict[int, Unit] = {}

    def unit(k: int) -> Unit:
        if k not in made:
            own, word, below = listed[k]
            if word == parallel.SHARE:
                parallel.share()
            made[k] = units.one(Unit(own, "", Constant(None), tuple(map(unit, below)), word))
        return made[k]

    with units.writing:
        found = Text(text, tuple(names), tuple(map(unit, needs)))
        for one in made.values():
            one.begin(soon)
    return found
