"""Wishes of the surroundings of a process: checks that an ordinary run does without, a bar on its terminal."""

from __future__ import annotations

import os
import sys
from typing import Any

VARIABLE = "STICKSLIP_DEBUG"


def debugging() -> bool:
    """True where `STICKSLIP_DEBUG` is set to anything but 0."""
    return os.environ.get(VARIABLE, "0") not in ("", "0")


def on_terminal(stream: Any) -> bool:
    """Whether a stream is a terminal; a process may have no stdout or stderr, or may have closed them."""
    return stream is not None and not stream.closed and bool(stream.isatty())


def say(name: str, words: str) -> None:
    """Write a line about something on stderr."""
    print(f"{name}: {words}", file=sys.stderr, flush=True)


def bar_wanted(progress: Any) -> bool:
    """Whether a run is to show a bar on stderr: as asked, and where nothing was asked (None), on a terminal."""
    return on_terminal(sys.stderr) if progress is None else progress is True


def outside() -> int:
    """Frames between the caller of this function and the first one outside the package, for `warnings.warn`."""
    frame, count = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("stickslip."):
        frame, count = frame.f_back, count + 1
    return count
