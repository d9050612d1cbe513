"""Texts and numbers on their way to a terminal or into JSON; what would move a cursor or turn text round is escaped."""

from __future__ import annotations

import math
import re
from typing import Any

_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Controls (C0, C1), line and paragraph separators, marks and overrides of the direction of text, lone surrogates."""


def printable(text: str) -> str:
    """The text with backslash escapes in place of characters that are not visible."""
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode("ascii"), text)


def visible(path: object) -> str:
    """A file's name for a message: a name may hold anything, and a traceback shows the message in a terminal."""
    return printable(str(path))


def file_name(name: str) -> str:
    """A system's name as that of a file: letters, digits and a few signs, whatever the name holds."""
    return re.sub(r"[^\w-]+", "_", name, flags=re.ASCII)[:60] or "run"


def first_unprintable(text: str, allowed: str = "") -> str | None:
    """The first character that is not visible, escaped; None where all are, or are `allowed`."""
    for found in _UNPRINTABLE.finditer(text):
        if found[0] not in allowed:
            return printable(found[0])
    return None


def plain(value: Any) -> Any:
    """JSON has no nan and no infinity."""
    if isinstance(value, int):
        return value
    return float(value) if math.isfinite(value) else None
