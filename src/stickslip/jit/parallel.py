"""Loops whose turns threads share."""

from __future__ import annotations


def prange(count: int) -> range:
    """Turns of a loop that may run side by side, in any order."""
    return range(count)
