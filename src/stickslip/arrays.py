"""What every array that a user gives must pass, before it is looked at as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np


def refuse_masked(value: Any, name: str) -> None:
    """ValueError where an array, or a row of a list, has a mask: NumPy would hand over what lies under it."""
    rows = value if isinstance(value, (list, tuple)) else (value,)
    for row in rows:
        if isinstance(row, np.ma.MaskedArray):
            raise ValueError(
                f"{name} must be a plain array, got a masked one; fill it ({name}.filled(value)) or leave out what is "
                "masked."
            )
