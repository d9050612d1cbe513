"""Fingerprint of this version: a hash of the sources, for files and generated modules that name it."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

PACKAGE = Path(__file__).parent.parent
COMPILED_SOURCES = ("jit", "codes.py", "projections.py", "lcp", "contact", "laws", "impacts", "mechanisms/templates")


@functools.cache
def sources_hash(group: str = "") -> str:
    """Hash of the sources that kernels are made from; `group` is a folder beside them, "scenes"."""
    digest = hashlib.sha256()
    for name in (*COMPILED_SOURCES, *([group] if group else [])):
        path = PACKAGE / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            if file.is_file():
                digest.update(str(file.relative_to(PACKAGE)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
