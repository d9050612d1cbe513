"""Contents of the kernel cache, and how it is emptied: by hand, or by age when the package has changed.

The folder holds `objects/`, machine code of kernels and their LLVM IR, and `modules/`, the text of one generated module
per system and method.  A file of `objects` is named by what it was made from and belongs to no version: it goes when
nobody has used it for a month.  A text names the hash of the sources that wrote it; one of other sources is not read
again.  Files are counted and removed in the folder that is used (`vault`), never in one that is left alone.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from stickslip.jit import objects, translations
from stickslip.jit.sources import sources_hash
from stickslip.jit.vault import vault

KEPT_SECONDS = 30 * 86400.0
"""How long what nobody uses stays [s]: someone may go back and forth between two versions."""


class Removed(NamedTuple):
    """Count of what was taken out of the cache."""

    files: int
    bytes: int


def used_folder() -> Path | None:
    """The folder of the cache; None where there is none that is safe."""
    try:
        return vault().path
    except OSError:
        return None


def cache_files() -> Iterator[Path]:
    """Every file that we put into the cache folder, and no other: the folder's name is the user's choice."""
    folder = used_folder()
    if folder is None:
        return
    yield from _objects(folder)
    yield from _matches(folder, "modules/stickslip_generated_*.py")
    yield from _matches(folder, "modules/__pycache__/stickslip_generated_*")


def _matches(folder: Path, pattern: str) -> list[Path]:
    """Files by a pattern; none where the folder is deleted at this moment."""
    try:
        return list(folder.glob(pattern))
    except OSError:
        return []


def _objects(folder: Path) -> Iterator[Path]:
    """Machine code of kernels, and their LLVM IR."""
    for ending in (objects.ENDING, translations.ENDING):
        yield from _matches(folder, f"{objects.FOLDER}/*{ending}")


def other_texts(older_than: float = 0.0) -> Iterator[Path]:
    """Texts of generated modules by other versions of the package's sources that are older than this [s]."""
    folder = used_folder()
    if folder is None:
        return
    modules = folder / "modules"
    for module in _matches(modules, "stickslip_generated_*.py"):
        if _is_older(module, older_than) and not _is_present(module):
            yield module
            yield from _matches(modules, f"__pycache__/{module.stem}.*")


def unused_objects(older_than: float) -> Iterator[Path]:
    """Machine code of kernels that nobody has used for this time [s]."""
    folder = used_folder()
    for path in [] if folder is None else _objects(folder):
        if _is_older(path, older_than):
            yield path


def _is_older(path: Path, seconds: float) -> bool:
    try:
        return time.time() - path.stat().st_mtime > seconds
    except OSError:  # another process was faster
        return False


def _is_present(module: Path) -> bool:
    """Whether a generated module was written by the present sources: its first line says so."""
    try:
        with module.open(encoding="utf-8") as file:
            return sources_hash() in file.readline()
    except (OSError, UnicodeDecodeError):
        return True  # not ours to judge


def remove(paths: Iterable[Path]) -> Removed:
    """Delete files; what cannot be deleted stays."""
    files, size = 0, 0
    for path in list(paths):
        with contextlib.suppress(OSError):
            length = path.stat().st_size
            path.unlink()
            files, size = files + 1, size + length
    return Removed(files, size)


def remove_old_versions() -> Removed:
    """Delete what other versions left, and machine code that nobody has used, after a month."""
    return remove([*other_texts(KEPT_SECONDS), *unused_objects(KEPT_SECONDS)])
