"""Checks of numbers, arrays and names that a user gives."""

from __future__ import annotations

import contextlib
import difflib
import functools
import inspect
import math
import re
import sys
import typing
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
MOST_NAMES, NEAREST_NAMES = 40, 12  # known names up to which all are listed; of more, the nearest
LONGEST_NAME = 200  # letters of a name that is compared with known ones

_KINDS = {"c": "complex numbers", "U": "texts", "S": "texts", "M": "dates", "m": "spans of time", "V": "records"}
_SHOWN = 80  # letters
LARGEST = sys.float_info.max
"""Largest finite number: whole numbers of hundreds of digits are larger, and less than infinity."""
MOST = 2**63 - 1
"""Largest whole number that kernels and files know."""


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
        refuse_too_long(array, name)
        return
    wrong = _KINDS.get(array.dtype.kind)
    if wrong is None:
        wrong = next((shown(entry) for entry in array.flat if not _is_number(entry)), None)
    if wrong is not None:
        raise ValueError(f"{name} must be a real number or an array of real numbers, got {wrong}.")


def refuse_too_long(array: np.ndarray, name: str) -> None:
    """ValueError where a number of more than double precision is beyond it: NumPy would warn, and make it infinite."""
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        beyond = np.isfinite(array) & (np.abs(array) > LARGEST)
        if np.any(beyond):
            raise ValueError(f"{name} must be of double precision, up to {LARGEST:.1e}, got {array[beyond].flat[0]}.")


def counted(count: int, noun: str) -> str:
    """A number with its noun in the right form: "1 step", "2 steps", "2 bodies"."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2:-1] not in "aeiou" else f"{noun}s"
    return f"{count} {noun if count == 1 else plural}"


def singular(nouns: str) -> str:
    """One of several things, for `counted`: "coordinates" becomes "coordinate", "moving bodies" "moving body"."""
    return f"{nouns[:-3]}y" if nouns.endswith("ies") else nouns.removesuffix("s")


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


def unknown_name(kind: str, name: str, known: Iterable[str]) -> str:
    """One line for an unknown name: the nearest match, and all known names, or the nearest of very many."""
    known = tuple(known)
    near = _nearest(name, known) if isinstance(name, str) else []
    hint = f"did you mean {near[0]!r}? " if near else ""
    listed = known if len(known) <= MOST_NAMES else tuple(dict.fromkeys((*near, *known)))[:NEAREST_NAMES]
    more = f" and {len(known) - len(listed)} more" if len(listed) < len(known) else ""
    shown_name = repr(name) if isinstance(name, str) else shown(name)
    return f"unknown {kind} {shown_name}; {hint}known: {', '.join(listed) or 'none'}{more}."


def did_you_mean(value: Any, known: Iterable[str]) -> str:
    """The end of a line that refuses a word: the nearest known word, or a full stop where none is near."""
    near = _nearest(value, tuple(known)) if isinstance(value, str) else []
    return f"; did you mean {near[0]!r}?" if near else "."


def _nearest(name: str, known: tuple[str, ...]) -> list[str]:
    """Known names that are like a name, the nearest first; none for a name that is too long to be one."""
    if len(name) > LONGEST_NAME:
        return []
    alike = difflib.get_close_matches(name, known, n=MOST_NAMES, cutoff=0.5)
    return sorted(alike, key=lambda other: _unlikeness(name, other))


def _unlikeness(name: str, other: str) -> tuple[int, int]:
    """Letters to change, and how far the numbers in them are apart: cube11.z is nearer to cube10.z than to cube1.z."""
    numbers = [[int(digits) for digits in re.findall("[0-9]+", text)] for text in (name, other)]
    return _letters_to_change(name, other), sum(abs(i - j) for i, j in zip(*numbers, strict=False))


def _letters_to_change(name: str, other: str) -> int:
    """Least number of insertions, deletions and replacements between two words (Levenshtein's distance)."""
    row = list(range(len(other) + 1))
    for i, letter in enumerate(name, 1):
        before, row[0] = row[0], i
        for j, same in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (letter != same))
    return row[-1]


def require_unique(what: str, names: Sequence[str]) -> None:
    """Raise if a name occurs twice."""
    for i, name in enumerate(names):
        if not name:
            raise ValueError(f"{what} must not be empty, got {tuple(names)}.")
        if name in names[:i]:
            raise ValueError(f"{what} must be unique, got {name!r} twice.")


def real_array(values: Any, message: str) -> Array:
    """A fresh array of real numbers, or ValueError with the message, whose first word names it."""
    name = message.split()[0]
    refuse_masked(values, name)
    try:
        require_numbers(values, name)
        return np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(" ".join(message.split())) from None


def real_number(value: Any, name: str) -> float:
    """The argument `name` as a finite float, or ValueError."""
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):  # a whole number of hundreds of digits
            if math.isfinite(float(value)):
                return float(value)
    raise ValueError(f"{name} must be a finite number, got {shown(value)}.")


def whole_number(value: Any, name: str, least: int = 1) -> int:
    """The argument `name` as a whole number from `least` to MOST, or ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be a whole number >= {least}, got {shown(value)}.")
    if value > MOST:
        raise ValueError(f"{name} must be a whole number of 64 bits at most, got one of {int(value).bit_length()}.")
    return int(value)


def on_top(own: Mapping[Any, Any] | None, params: Any) -> dict[Any, Any]:
    """The parameters `params` on top of a scenario's own; ValueError where they are no mapping."""
    if params is not None and not isinstance(params, Mapping):
        raise ValueError(
            f"params must map parameter names to numbers, such as {{'friction': 0.3}}, got {shown(params)}."
        )
    return {**(own or {}), **(params or {})}


def checked_time(limit: Any) -> float | None:
    """A time limit: None, or a positive number of seconds, or ValueError."""
    if limit is None:
        return None
    if isinstance(limit, int | float | np.integer | np.floating) and not isinstance(limit, bool) and limit > 0.0:
        return float(min(limit, LARGEST))
    raise ValueError(f"time_limit must be a positive number of seconds or None, got {shown(limit)}.")


def truth(value: Any, name: str) -> bool:
    """The argument `name` as True or False, or ValueError; a text such as "no" would count as True otherwise."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {shown(value)}.")
    return bool(value)


def finite(value: Any, name: str) -> float:
    """Return a parameter's value as a finite float, or raise."""
    try:
        require_numbers(value, "it")
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"parameter {name!r} must be a number, got {shown(value)}.") from None
    if not math.isfinite(number):
        raise ValueError(f"parameter {name!r} must be finite, got {number}.")
    return number


def renamed(**names: str) -> Callable[[Callable[_Arguments, _Result]], Callable[_Arguments, _Result]]:
    """Decorator: keywords `old="new"` that a function once had work still, with a DeprecationWarning."""

    def decorate(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
        @functools.wraps(function)
        def with_old_names(*args: _Arguments.args, **options: _Arguments.kwargs) -> _Result:
            for old in [name for name in options if name in names]:
                new = names[old]
                if new in options:
                    raise ValueError(f"{function.__name__}: {old} is the old name of {new}: give {new} alone.")
                text = f"{function.__name__}: {old} is called {new} now."
                warnings.warn(text, DeprecationWarning, stacklevel=2)
                options[new] = options.pop(old)
            return function(*args, **options)

        return with_old_names

    return decorate


def known_keywords(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Decorator: a keyword that a function does not have is a TypeError that proposes the nearest of its own."""

    @functools.cache
    def known() -> tuple[str, ...]:
        found = inspect.signature(function).parameters.values()
        own = [each.name for each in found if each.name != "self" and each.kind is not each.VAR_KEYWORD]
        groups = [each.name for each in found if each.kind is each.VAR_KEYWORD]
        hints = typing.get_type_hints(function, include_extras=True) if groups else {}
        return (*own, *(key for name in groups for key in typing.get_args(hints[name])[0].__annotations__))

    @functools.wraps(function)
    def with_known(*args: _Arguments.args, **options: _Arguments.kwargs) -> _Result:
        refuse_unknown_options(function.__name__, options, known())
        return function(*args, **options)

    return with_known


def refuse_unknown_options(function: str, options: Iterable[str], known: Iterable[str]) -> None:
    """TypeError for a keyword that a function with grouped options does not have."""
    known = tuple(known)
    for name in options:
        if name not in known:
            raise TypeError(f"{function}: {unknown_name('keyword', name, known)}")
