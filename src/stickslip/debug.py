"""Whether the environment asks for checks that an ordinary run does without."""

from __future__ import annotations

import os

VARIABLE = "STICKSLIP_DEBUG"


def debugging() -> bool:
    """True where `STICKSLIP_DEBUG` is set to anything but 0."""
    return os.environ.get(VARIABLE, "0") not in ("", "0")
