"""Whether somebody sits at a terminal and sees what is written to stderr."""

from __future__ import annotations

import sys
from typing import Any


def on_terminal(stream: Any) -> bool:
    """Whether a stream is a terminal; a process may have no stdout or stderr, or may have closed them."""
    return stream is not None and not stream.closed and bool(stream.isatty())


def bar_wanted(progress: Any) -> bool:
    """Whether a run is to show a bar on stderr: as asked, and where nothing was asked (None), on a terminal."""
    return on_terminal(sys.stderr) if progress is None else progress is True
