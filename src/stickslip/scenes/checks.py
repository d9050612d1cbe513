"""Checks of a user's input to a scene: one clear line for each error."""

from __future__ import annotations

import inspect
import math
import reprlib
from collections.abc import Callable
from typing import Any

import numpy as np

from stickslip.checks import refuse_masked, require_numbers, shown

LEAST_LENGTH, MOST_LENGTH = 1e-50, 1e50  # [m]
_ROUNDING = 5e-16  # a length that is off by this is 1: what was made unit once stays as it is, bit for bit


def number(value: Any, name: str, *, positive: bool = False, least: float = -math.inf, most: float = math.inf) -> float:
    """A finite number within bounds."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise ValueError(f"{name} must be a number, got {shown(value)}.")
    try:
        value = float(value)
    except OverflowError:  # a whole number of hundreds of digits
        value = math.inf
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
    refuse_masked(value, name)
    try:
        require_numbers(value, name)
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be {size} numbers, got {shown(value)}.") from None
    if array.ndim == 0:
        raise ValueError(f"{name} must be {size} numbers, got {shown(value)}.")
    if array.shape != (size,):
        raise ValueError(f"{name} must have shape ({size},), got {array.shape}.")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, got {array.tolist()}.")
    return array


def turning(value: Any, name: str, dim: int) -> np.ndarray:
    """An angular velocity or a torque: one number about z in the plane, shape (1,), a vector in space, shape (3,)."""
    if dim == 3:
        return vector(value, name, 3)
    return np.array([number(value.item() if isinstance(value, np.ndarray) and value.size == 1 else value, name)])


def require_function(function: Any, name: str, arguments: tuple[str, ...]) -> None:
    """A function that can be called with these arguments, as far as its signature tells."""
    wanted = f"{name} must be a function of ({', '.join(arguments)})"
    if not callable(function):
        raise ValueError(f"{wanted}, got {function!r}.")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some compiled functions have none
        return
    try:
        signature.bind(*arguments)
    except TypeError:
        raise ValueError(f"{wanted}, got one of {signature}.") from None


def called(function: Callable[..., Any], arguments: tuple[Any, ...], name: str) -> Any:
    """Result of a function of the user; an error of the function is raised with the function's name."""
    try:
        return function(*arguments)
    except Exception as error:
        raise ValueError(f"{name} failed with {type(error).__name__}: {' '.join(str(error).split())}") from error


def motion_at(motion: Callable[[float], Any], t: float, body: str, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Velocity [m/s], shape (dim,), and angular velocity [rad/s], shape (1,) or (3,), that `motion` returns at t."""
    name = f"motion of {body!r} at t = {t:g} s"
    pair = called(motion, (t,), name)
    try:
        velocity, spin = pair
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a pair (velocity, angular velocity), got {reprlib.repr(pair)}.") from None
    return vector(velocity, f"velocity in {name}", dim), turning(spin, f"angular velocity in {name}", dim)


def points(value: Any, name: str, size: int, least: int) -> np.ndarray:
    """At least `least` points of `size` finite coordinates."""
    refuse_masked(value, name)
    try:
        require_numbers(value, name)
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be points of {size} coordinates, got {shown(value)}.") from None
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
