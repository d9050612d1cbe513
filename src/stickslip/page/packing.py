"""Arrays in JSON: base64 of little-endian numbers, which a browser turns into typed arrays."""

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


def shorts(values: Any) -> dict[str, Any]:
    """Numbers of an array (..., k) as 16 bits each: a 65,000th of the range of each column, half the size of `floats`.

    A number is middle + step * code, by columns; what is not finite has the code -32768.
    """
    rows = np.asarray(values, dtype=float).reshape(-1, np.shape(values)[-1])
    there = np.isfinite(rows)
    low = np.min(rows, axis=0, where=there, initial=np.inf)
    high = np.max(rows, axis=0, where=there, initial=-np.inf)
    low, high = np.where(low <= high, [low, high], 0.0)
    middle, step = 0.5 * (low + high), np.maximum((high - low) / 65_000.0, 1e-30)
    codes = np.where(there, (np.where(there, rows, middle) - middle) / step, -32_768.0).round().astype("<i2")
    text = base64.b64encode(np.ascontiguousarray(codes).tobytes()).decode("ascii")
    return {"i16": text, "middle": middle.tolist(), "step": step.tolist()}


def octets(values: Any) -> dict[str, str]:
    """Whole numbers from 0 to 255."""
    return {"u8": base64.b64encode(np.ascontiguousarray(values, dtype=np.uint8).tobytes()).decode("ascii")}


def plain(value: Any) -> Any:
    """JSON has no nan and no infinity: null instead."""
    if isinstance(value, bool | int | str) or value is None:
        return value
    return float(value) if math.isfinite(value) else None
