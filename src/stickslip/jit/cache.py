"""What lies in the kernel cache, and how it is emptied: by hand, or by age when the package has changed.

The folder holds `objects/`, machine code of kernels, and `modules/`, the text of one generated module per system and
method.  A file of `objects` is named by what it was made from and belongs to no version: it goes when nobody has used
it for a month.  Earlier versions left `numba/<hash of the sources>/` there, which is counted and removed, never read.
The present sources have several hashes, one for each group of them (`present_stamps`).  Nothing under another hash is
loaded again.  Files are counted and removed in the folder that is used (`vault`), never in one that is left alone.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from stickslip.jit import objects
from stickslip.jit.compiled import present_stamps, sources_hash
from stickslip.jit.vault import vault

KEPT_SECONDS = 30 * 86400.0
"""How long machine code of other versions stays [s]: someone may go back and forth between two of them."""


class Removed(NamedTuple):
    """What was taken out of the cache."""

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
    for version in folder.glob("numba/*"):
        if len(version.name) == len(sources_hash()):
            yield from (path for path in version.rglob("*") if path.is_file())
    yield from folder.glob(f"{objects.FOLDER}/*.o")
    yield from folder.glob("modules/stickslip_generated_*.py")
    yield from folder.glob("modules/__pycache__/stickslip_generated_*")


def other_versions(older_than: float = 0.0) -> Iterator[Path]:
    """Files of other versions of the package's sources that are older than this [s]."""
    folder, now = used_folder(), time.time()
    if folder is None:
        return
    present = present_stamps()

    def old(path: Path) -> bool:
        try:
            return now - path.stat().st_mtime > older_than
        except OSError:  # another process was faster
            return False

    for version in folder.glob("numba/*"):
        if version.name not in present:
            yield from (path for path in version.rglob("*") if path.is_file() and old(path))
    modules = folder / "modules"
    for module in modules.glob("stickslip_generated_*.py"):
        if old(module) and not _is_of(present, module):
            yield module
            yield from modules.glob(f"__pycache__/{module.stem}.*")


def unused_objects(older_than: float) -> Iterator[Path]:
    """Machine code of kernels that nobody has used for this time [s]."""
    folder, now = used_folder(), time.time()
    for path in [] if folder is None else folder.glob(f"{objects.FOLDER}/*.o"):
        with contextlib.suppress(OSError):  # another process was faster
            if now - path.stat().st_mtime > older_than:
                yield path


def _is_of(present: set[str], module: Path) -> bool:
    """Whether a generated module was made by sources of these hashes: its first line says so."""
    try:
        with module.open(encoding="utf-8") as file:
            line = file.readline()
    except (OSError, UnicodeDecodeError):
        return True  # not ours to judge
    return any(stamp in line for stamp in present)


def remove(paths: Iterable[Path]) -> Removed:
    """Delete files, and the folders of versions that this leaves empty; what cannot be deleted stays."""
    files, size = 0, 0
    for path in list(paths):
        with contextlib.suppress(OSError):
            length = path.stat().st_size
            path.unlink()
            files, size = files + 1, size + length
    top = used_folder()
    for folder in [] if top is None else sorted(top.glob("numba/**/"), key=lambda path: -len(path.parts)):
        with contextlib.suppress(OSError):
            folder.rmdir()  # only where it is empty
    return Removed(files, size)


def remove_old_versions() -> Removed:
    """Delete machine code of other versions that is older than a month."""
    return remove([*other_versions(KEPT_SECONDS), *unused_objects(KEPT_SECONDS)])
