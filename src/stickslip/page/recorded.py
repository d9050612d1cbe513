"""What the makers of pages that simulate share: why one cannot, and modules as text."""

from __future__ import annotations

import base64
import zlib


class Recorded(ValueError):
    """Why a page cannot simulate: its message completes "The page shows a recorded run: ..."."""


def packed(code: bytes) -> str:
    """A module or an image of memory as text: deflated, which a browser undoes, in base64."""
    return base64.b64encode(zlib.compress(code, 9)).decode("ascii")
