"""Checks of what a user hands to a scene: one clear line each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

LEAST_LENGTH, MOST_LENGTH = 1e-50, 1e50  # [m]
_ROUNDING = 5e-16  # a length that is off by this is 1: what was made unit once stays as it is, bit for bit


def number(value: Any, name: str, *, positive: bool = False, least: float = -math.inf, most: float = math.inf) -> float:
    """A finite number within bounds."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise ValueError(f"{name} must be a number, got {value!r}.")
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value!r}.")
    if positive and not value > 0.0:
        raise ValueError(f"{name} must be positive, got {value:g}.")
    if not least <= value <= most:
        bounds = f"at least {least:g}" if most == math.inf else f"between {least:g} and {most:g}"
        raise ValueError(f"{name} must be {bounds}, got {value:g}.")
    return float(value)


def length(value: Any, name: str) -> float:
    """A positive length whose fifth power, a moment of inertia, is a number."""
    found = number(value, name, positive=True)
    if not LEAST_LENGTH <= found <= MOST_LENGTH:
        raise ValueError(
            f"{name} must lie between {LEAST_LENGTH:g} and {MOST_LENGTH:g} m, got {found:g}; take other units."
        )
    return found


def vector(value: Any, name: str, size: int) -> np.ndarray:
    """A vector of finite numbers."""
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be {size} numbers, got {value!r}.") from None
    if array.shape != (size,):
        raise ValueError(f"{name} must have shape ({size},), got {array.shape}.")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, got {array.tolist()}.")
    return array


def points(value: Any, name: str, size: int, least: int) -> np.ndarray:
    """At least `least` points of `size` finite coordinates."""
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be points of {size} coordinates, got {value!r}.") from None
    if array.ndim != 2 or array.shape[1] != size or len(array) < least:
        raise ValueError(f"{name} must have shape (n, {size}) with n >= {least}, got {array.shape}.")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, got a value that is not.")
    length(float(np.abs(array).max()) or 1.0, f"largest coordinate of {name}")
    return array


def unit(value: Any, name: str, size: int) -> np.ndarray:
    """A direction, made of unit length."""
    array = vector(value, name, size)
    norm = float(np.linalg.norm(array))
    if norm == 0.0:
        raise ValueError(f"{name} must not be zero, got {array.tolist()}.")
    return array if abs(norm - 1.0) <= _ROUNDING else array / norm


def quaternion(value: Any, name: str) -> np.ndarray:
    """A unit quaternion (w, x, y, z); one that is off by rounding is made unit."""
    array = vector(value, name, 4)
    norm = float(np.linalg.norm(array))
    if abs(norm - 1.0) > 1e-6:
        raise ValueError(f"{name} must be a unit quaternion (w, x, y, z), got one of length {norm:g}.")
    return array if abs(norm - 1.0) <= _ROUNDING else array / norm
