"""What the kernels of this version are made from: the hash of their sources names what is kept in the cache.

A folder inside one of the sources (complementarity/friction) is a group of its own, whose edits leave what is kept of
the others alone.
"""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

PACKAGE = Path(__file__).parent
COMPILED_SOURCES = ("jit", "sets.py", "complementarity", "laws", "kernels")
GROUPS_CALLED = {"kernels/scene": ("complementarity/friction",)}  # groups whose functions a group calls


@functools.cache
def sources_hash(group: str = "") -> str:
    """Hash of everything that machine code in the cache was made from.

    `group` is a folder inside the package whose functions may call all others but are called by none of them, such as
    "complementarity/friction": its sources count for its own functions and those of the groups that call it.
    """
    digest = hashlib.sha256()
    for name in (*COMPILED_SOURCES, *GROUPS_CALLED.get(group, ()), *([group] if group else [])):
        path = PACKAGE / name
        for file in sorted(path.glob("*.py")) if path.is_dir() else [path]:
            if file.is_file():
                digest.update(str(file.relative_to(PACKAGE)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def source_group(file: str) -> str:
    """The group of `sources_hash` that a source file belongs to: its folder below those of `COMPILED_SOURCES`."""
    folder = Path(file).resolve().parent
    if not folder.is_relative_to(PACKAGE):
        return ""  # generated modules are named by their own hash
    relative = folder.relative_to(PACKAGE)
    return relative.as_posix() if len(relative.parts) > 1 and relative.parts[0] in COMPILED_SOURCES else ""


def present_stamps() -> set[str]:
    """The hashes under which functions of the present sources are kept: one for each group."""
    folders = {file.parent for name in COMPILED_SOURCES for file in (PACKAGE / name).rglob("*.py")}
    return {sources_hash(), *(sources_hash(source_group(str(folder / "any.py"))) for folder in folders)}
