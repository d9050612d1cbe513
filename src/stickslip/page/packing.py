"""Arrays in JSON: base64 of little-endian numbers, which a browser turns into typed arrays at once."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np


def floats(values: Any) -> dict[str, str]:
    """Single precision, seven digits: more than a screen shows; what is beyond its range becomes nan."""
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(values, dtype="<f4")
    single = np.where(np.isfinite(single), single, np.float32(np.nan))
    return {"f32": base64.b64encode(single.tobytes()).decode("ascii")}


def octets(values: Any) -> dict[str, str]:
    """Whole numbers from 0 to 255."""
    return {"u8": base64.b64encode(np.ascontiguousarray(values, dtype=np.uint8).tobytes()).decode("ascii")}


def plain(value: Any) -> Any:
    """JSON has no nan and no infinity: null instead."""
    if isinstance(value, bool | int | str) or value is None:
        return value
    return float(value) if math.isfinite(value) else None
