"""What the kernels of this version are made from: the hash of their sources names what is kept in the cache.

Scenes are a group of their own: edits there leave what is kept of the others alone.
"""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

PACKAGE = Path(__file__).parent.parent
COMPILED_SOURCES = ("jit", "codes.py", "projections.py", "lcp", "contact", "laws", "impacts", "mechanisms/templates")
GROUPS = ("scenes",)
"""Folders whose functions call those of `COMPILED_SOURCES` and are called by none of them."""


@functools.cache
def sources_hash(group: str = "") -> str:
    """Hash of everything that machine code in the cache was made from.

    `group` is one of `GROUPS`; its sources count for its own functions alone.
    """
    digest = hashlib.sha256()
    for name in (*COMPILED_SOURCES, *([group] if group else [])):
        path = PACKAGE / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            if file.is_file():
                digest.update(str(file.relative_to(PACKAGE)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def source_group(file: str) -> str:
    """The group of `sources_hash` that a source file belongs to; generated modules, named by their hash, have none."""
    folder = Path(file).resolve().parent
    return next((group for group in GROUPS if folder.is_relative_to(PACKAGE / group)), "")


def present_stamps() -> set[str]:
    """The hashes under which functions of the present sources are kept: one for each group, one for all others."""
    return {sources_hash(group) for group in ("", *GROUPS)}
