"""What every array that a user gives must pass, before it is looked at as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

_KINDS = {"c": "complex numbers", "U": "texts", "S": "texts", "M": "dates", "m": "spans of time", "V": "records"}
_SHOWN = 80  # letters


def refuse_masked(value: Any, name: str) -> None:
    """ValueError where an array, or a row of a list, has a mask: NumPy would hand over what lies under it."""
    rows = value if isinstance(value, (list, tuple)) else (value,)
    for row in rows:
        if isinstance(row, np.ma.MaskedArray):
            raise ValueError(
                f"{name} must be a plain array, got a masked one; fill it ({name}.filled(value)) or leave out what is "
                "masked."
            )


def require_numbers(value: Any, name: str) -> None:
    """ValueError where an array, or a list, holds anything but real numbers, or has a mask.

    NumPy would make numbers of texts, dates and records, and drop imaginary parts.
    """
    refuse_masked(value, name)
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, OverflowError):
        return  # rows of several lengths: the caller says which shape it wants
    if array.dtype.kind in "biuf":
        return
    wrong = _KINDS.get(array.dtype.kind)
    if wrong is None:
        wrong = next((shown(entry) for entry in array.flat if not _is_number(entry)), None)
    if wrong is not None:
        raise ValueError(f"{name} must be a real number or an array of real numbers, got {wrong}.")


def shown(value: Any) -> str:
    """A value in one line of a message."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _is_number(value: Any) -> bool:
    if isinstance(value, (str, bytes, complex)):
        return False
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True
