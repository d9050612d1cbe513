"""Measured motions: samples of some coordinates and velocities at own times, from arrays, tables and files."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.checks import Array, did_you_mean, real_array, real_number, refuse_masked, unknown_name
from stickslip.fitting.tables import listed, read_csv
from stickslip.io.printable import printable

_TIME_NAMES = ("t", "time")
_HEAD = re.compile(r"^\s*(?P<name>[^\[\]]*?)\s*(?:\[(?P<unit>[^\[\]]*)\])?\s*$")
_ROUND = re.compile(r"^\s*(?P<name>[^()]*?)\s*\((?P<unit>[^()]*)\)\s*$")
_FACTORS = {
    "": 1.0,
    **{unit: 1.0 for unit in ("m", "rad", "s", "m/s", "rad/s", "1", "-")},
    **{"in": 0.0254, "mm": 1e-3, "cm": 1e-2, "um": 1e-6, "km": 1e3, "mm/s": 1e-3, "cm/s": 1e-2, "ms": 1e-3, "us": 1e-6},
    **{"µm": 1e-6, "μm": 1e-6, "µs": 1e-6, "μs": 1e-6, "°": math.pi / 180.0, "°/s": math.pi / 180.0},
    **{"deg": math.pi / 180.0, "deg/s": math.pi / 180.0, "rev/s": 2.0 * math.pi, "rpm": math.pi / 30.0},
}
_TIMES = ("", "s", "ms", "us", "µs", "μs")  # both letters: of Latin-1, and of Greek
_LONG = 300.0  # times as long as the model's own run, or steps between samples: milliseconds that no unit tells
_A_FEW = 5  # samples that show how long was measured
_RESERVED = ("start", "params", "name")


@dataclass(frozen=True, eq=False)
class Samples:
    """One measured motion.

    Attributes
    ----------
    t : (n,) times since the start of the motion [s], rising
    columns : name of a coordinate or velocity -> (n,) values in the model's units; nan where a sample is missing
    start : name of a coordinate or velocity -> its value at the start of this motion, where it is not the model's
    params : name of a parameter -> its value in this experiment
    name : for messages and figures
    """

    t: Array
    columns: Mapping[str, Array]
    start: Mapping[str, float] = field(default_factory=dict)
    params: Mapping[str, float] = field(default_factory=dict)
    name: str = "data"

    @property
    def count(self) -> int:
        """Number of values that are there."""
        return int(sum(np.isfinite(values).sum() for values in self.columns.values()))

    def repeats(self, other: Samples) -> bool:
        """Whether another motion has these samples, bit for bit, from this start with these parameters."""
        return (
            (self.start, self.params, self.columns.keys()) == (other.start, other.params, other.columns.keys())
            and np.array_equal(self.t, other.t)
            and all(np.array_equal(self.columns[k], other.columns[k], equal_nan=True) for k in self.columns)
        )


def samples_from(
    data: Any, known: Sequence[str], units: Mapping[str, str] | None = None, usual: float = math.inf,
    step: float = math.inf,
) -> list[Samples]:  # fmt: skip
    """The measured motions in what a user gives: one motion, or a list of motions.

    Parameters
    ----------
    data : a path of a CSV file; a mapping or a table with `t` and columns; an `xarray.Dataset`; a `Trajectory`; a
        structured array; or a list of these
    known : names of the model's coordinates and velocities
    units : column -> its unit, where it is not the model's
    usual : length of a run of the model [s]; times without a unit that are far longer are refused
    step : of the simulation [s]; times without a unit with hundreds of steps between two samples are refused
    """
    for label in units or {}:
        if label not in (*known, *_TIME_NAMES):
            raise ValueError(f"units: {unknown_name('column', str(label), ('t', *known))}")
    given = list(data) if isinstance(data, list | tuple) else [data]
    if not given:
        raise ValueError("data must hold at least one motion, got none.")
    found = [_one(item, known, dict(units or {}), k + 1, len(given), (usual, step)) for k, item in enumerate(given)]
    for item in found:
        _check_rotation(item)
    return found


def _one(
    data: Any, known: Sequence[str], units: dict[str, str], number: int, count: int, scales: tuple[float, float]
) -> Samples:
    name = "data" if count == 1 else f"data {number}"
    extra: dict[str, Any] = {}
    if isinstance(data, Samples):
        return data
    if isinstance(data, str | Path):
        name, columns = printable(Path(data).name), read_csv(Path(data))
    elif hasattr(data, "coordinate_names") and hasattr(data, "t"):  # a Trajectory
        columns = {"t": data.t, **{n: data[n] for n in (*data.coordinate_names, *data.velocity_names)}}
    elif hasattr(data, "data_vars") or hasattr(data, "to_dataset"):  # an xarray.Dataset or DataArray
        columns = _of_dataset(data if hasattr(data, "data_vars") else data.to_dataset(name=data.name or "unnamed"))
    elif isinstance(data, np.ndarray) and data.dtype.names:
        columns = {key: data[key] for key in data.dtype.names}
    elif isinstance(data, Mapping):
        columns = {str(key): value for key, value in data.items() if key not in _RESERVED}
        extra = {key: data[key] for key in _RESERVED if key in data}
    elif hasattr(data, "columns") and hasattr(data, "to_dict"):  # a pandas.DataFrame
        columns = {str(key): data[key].to_numpy() for key in data.columns}
        index = str(data.index.name)
        if _named(index, known)[0] == "t" and not any(_named(head, known)[0] == "t" for head in columns):
            columns = {index: data.index.to_numpy(), **columns}
    else:
        raise ValueError(
            f"{name} must be a CSV file, a mapping with 't' and columns, a Dataset or a Trajectory, "
            f"got {type(data).__name__}."
        )
    return _checked(columns, known, units, str(extra.get("name", name)), extra, scales)


def _checked(
    columns: Mapping[str, Any], known: Sequence[str], units: dict[str, str], name: str, extra: Mapping[str, Any],
    scales: tuple[float, float],
) -> Samples:  # fmt: skip
    """Samples of columns by name, in the model's units."""
    values: dict[str, Array] = {}
    unused: list[str] = []
    told = False  # whether times have a unit
    for head, column in columns.items():
        label, unit = _named(head, known)
        unit = units.get(label, units.get("time", unit) if label == "t" else unit).strip()
        if label not in ("t", *known):
            unused.append(label)
            continue
        if label in values:
            raise ValueError(f"{name}: each quantity must have one column, got two of {printable(label)!r}.")
        check_unit(unit, label, name)
        if label == "t" and unit not in _TIMES:
            raise ValueError(f"{name}: column 't' must have a unit of time (s, ms, us), got {unit!r}.")
        if label != "t" and unit in _TIMES[1:]:
            raise ValueError(f"{name}: column {label!r} must have a unit of its own kind, got the time unit {unit!r}.")
        told = told or (label == "t" and unit != "")
        refuse_masked(column, f"{name}: column {label!r}")
        values[label] = _FACTORS[unit] * _floats(column, f"{name}: column {label!r}")
    if "t" not in values:
        raise ValueError(f"{name} must have a column 't' of times [s], got {listed((*values, *unused))}.")
    t = values.pop("t")
    if not values:
        hint = unknown_name("column", unused[0], known) if unused else "it has no other column"
        raise ValueError(f"{name} must have a column of a coordinate or velocity: {hint}")
    _tell_unused(unused, known, name)
    for label, column in values.items():
        if len(column) != len(t):
            raise ValueError(f"{name}: column {label!r} must have {len(t)} values, as 't' has, got {len(column)}.")
        if np.any(np.isinf(column)):
            row = int(np.flatnonzero(np.isinf(column))[0]) + 1
            raise ValueError(
                f"{name}: column {label!r} must hold finite numbers, got {column[row - 1]} in row {row}; leave a "
                "missing sample empty, or nan."
            )
    _check_times(t, name)
    if not told:
        _check_seconds(t, name, *scales)
    start = _numbers(extra.get("start", {}), known, f"{name}: start", "coordinate or velocity")
    params = {str(key): real_number(value, f"{name}: {key}") for key, value in dict(extra.get("params", {})).items()}
    found = Samples(t, values, start, params, name)
    if not found.count:
        raise ValueError(f"{name} must hold at least one value, got none.")
    return found


def _of_dataset(data: Any) -> dict[str, Any]:
    """Columns of an xarray.Dataset; a unit in its attributes stands behind the name."""
    columns = {}
    for key in (*data.coords, *data.data_vars):
        if data[key].ndim == 1:
            unit = str(data[key].attrs.get("units", ""))
            columns[f"{key} [{unit}]" if unit in _FACTORS and unit else str(key)] = data[key].values
    return columns


def _named(head: str, known: Sequence[str]) -> tuple[str, str]:
    """Label and unit of a head: `y [mm]`, or `y (mm)` where that is no name of the model; the time may be `Time`."""
    match = _HEAD.match(head)
    if head not in known and (beside := _ROUND.match(head)) and beside["unit"].strip() in _FACTORS:
        match = beside
    label, unit = (match["name"], match["unit"] or "") if match else (head, "")
    return "t" if label in _TIME_NAMES or (label not in known and label.lower() == "time") else label, unit


def _tell_unused(unused: Sequence[str], known: Sequence[str], name: str) -> None:
    """Warn of columns that are neither time nor of the model: a name may be misspelt."""
    if unused:
        words = f"column {unused[0]!r} is" if len(unused) == 1 else f"columns {listed(map(repr, unused))} are"
        told = f"{name}: {words} not used; the model has {listed(known)}{did_you_mean(unused[0], known)}"
        warnings.warn(told, RuntimeWarning, stacklevel=2)


def _check_times(t: Array, name: str) -> None:
    """Times are numbers, rise, and do not lie before the start."""
    if not len(t):
        raise ValueError(f"{name} must have at least one row, got none.")
    if not np.all(np.isfinite(t)):
        row = int(np.flatnonzero(~np.isfinite(t))[0]) + 1
        raise ValueError(f"{name}: 't' must be a number in every row, got {t[row - 1]} in row {row}.")
    back = np.flatnonzero(np.diff(t) <= 0.0)
    if len(back):
        row = int(back[0]) + 2
        raise ValueError(
            f"{name}: times must rise, got {t[row - 1]:g} s in row {row} after {t[row - 2]:g} s; sort the rows, "
            "or give two motions as a list of two."
        )
    if len(t) >= _A_FEW and t[0] > t[-1] - t[0]:
        told = f"{name}: times count from the start of the motion; the first one is {t[0]:g} s, though all span "
        warnings.warn(f"{told}{t[-1] - t[0]:g} s; subtract the first time where it is a clock's", RuntimeWarning, 2)
    if t[0] < 0.0:
        raise ValueError(f"{name}: times count from the start of the motion, got {t[0]:g} s; subtract the first time.")


def _check_seconds(t: Array, name: str, usual: float, step: float) -> None:
    """ValueError where times would be far too long for seconds: for a run of the model, or for its step."""
    advice = "give the unit of 't' ('ms', or 's' where these are seconds)."
    if t[-1] > _LONG * usual:
        raise ValueError(
            f"{name}: times must be in seconds, got {t[-1]:g} at the end, where a run of the model takes {usual:g} s; "
            + advice
        )
    apart = float(np.median(np.diff(t))) if len(t) > 1 else 0.0
    if apart > _LONG * step:
        raise ValueError(
            f"{name}: times must be in seconds, got samples {apart:g} apart, {apart / step:.0f} steps of the "
            f"simulation (dt = {step:g} s); {advice}"
        )


def _check_rotation(data: Samples) -> None:
    """Quaternions have length one, and angular velocities are in world axes."""
    for label in data.columns:
        if not label.endswith(".qw"):
            continue
        body = label[:-3]
        names = [f"{body}.{axis}" for axis in ("qw", "qx", "qy", "qz")]
        if not all(each in data.columns for each in names):
            continue
        Q = np.stack([data.columns[each] for each in names], 1)
        length = np.linalg.norm(Q, axis=1)
        wrong = np.flatnonzero(np.abs(length - 1.0) > 1e-2)
        if len(wrong):
            raise ValueError(
                f"{data.name}: the quaternion of {body!r} must have length 1, got {length[wrong[0]]:.4g} in row "
                f"{wrong[0] + 1}; its order is qw, qx, qy, qz."
            )
        rates = [f"{body}.{axis}" for axis in ("wx", "wy", "wz")]
        if all(each in data.columns for each in rates):
            _check_frame(data, body, Q / length[:, None], np.stack([data.columns[each] for each in rates], 1))


def _check_frame(data: Samples, body: str, Q: Array, W: Array) -> None:
    """ValueError where angular velocities fit the turning of a body otherwise than in world axes."""
    dt = np.diff(data.t)
    middle = 0.5 * (W[1:] + W[:-1])
    small = np.linalg.norm(middle, axis=1) * dt < 0.5  # turns by less than half a radian between samples
    if small.sum() < 8:
        return

    def away(q: Array, own_axes: bool = False, sign: float = 1.0) -> float:
        """Median distance of measured rates, times a sign, from those of the quaternions q [rad/s]."""
        back = q[:-1] * np.array([1.0, -1.0, -1.0, -1.0])
        rate = 2.0 * (_product(back, q[1:]) if own_axes else _product(q[1:], back))[:, 1:] / dt[:, None]
        return float(np.nanmedian(np.linalg.norm(rate - sign * middle, axis=1)[small]))

    size, right = float(np.nanmedian(np.linalg.norm(middle, axis=1)[small])), away(Q)
    if right <= 0.1 * size:
        return
    turned_back = Q * np.array([1.0, -1.0, -1.0, -1.0])
    moved = min(away(Q[:, [3, 0, 1, 2]]), away(Q[:, [1, 2, 3, 0]]))
    guesses = {
        "angular velocity": (
            "in world axes, got one in the axes of the body",
            "turn it by the quaternion",
            away(Q, True),
        ),
        "quaternion": ("from body to world, got one from world to body", "give its conjugate", away(turned_back)),
        "order of the quaternion": ("qw, qx, qy, qz, with qw the real part, got another", "name the columns so", moved),
        # a quaternion from world to body beside rates in the axes of the body has these numbers as well
        "sign of the angular velocity": (
            "that with which the quaternion turns, got the other one",
            "change it; or, where the quaternion is from world to body and the angular velocity in the axes of the "
            "body, give the conjugate, and turn the angular velocity by it",
            away(Q, sign=-1.0),
        ),
    }
    off = min(each[2] for each in guesses.values())
    if off < 0.3 * right:  # about one axis, several guesses may be alike
        alike = {what: each for what, each in guesses.items() if each[2] <= off + 0.02 * size}
        rules = ", or the ".join(f"{what} of {body!r} must be {each[0]}" for what, each in alike.items())
        advice = "; or ".join(each[1] for each in alike.values())
        raise ValueError(f"{data.name}: the {rules} ({off:.2g} rad/s off so, {right:.2g} as given); {advice}.")


def turning(data: Samples) -> dict[str, Array]:
    """Angular velocities in world axes, by name, of bodies whose quaternions were measured: differences over time."""
    found: dict[str, Array] = {}
    for label in data.columns:
        body, _, axis = label.rpartition(".")
        names = [f"{body}.{each}" for each in ("qw", "qx", "qy", "qz")]
        if axis != "qw" or len(data.t) < 2 or not all(each in data.columns for each in names):
            continue
        Q = np.stack([data.columns[each] for each in names], 1)
        before = np.maximum(np.arange(len(data.t)) - 1, 0)
        after = np.minimum(np.arange(len(data.t)) + 1, len(data.t) - 1)
        conjugate = Q[before] * np.array([1.0, -1.0, -1.0, -1.0])
        rate = 2.0 * _product(Q[after], conjugate)[:, 1:] / (data.t[after] - data.t[before])[:, None]
        found.update({f"{body}.w{each}": rate[:, k] for k, each in enumerate("xyz")})
    return found


def _product(a: Array, b: Array) -> Array:
    """Products of quaternions (n, 4), with the sign that keeps the real part positive."""
    w = a[:, 0] * b[:, 0] - np.sum(a[:, 1:] * b[:, 1:], 1)
    v = a[:, :1] * b[:, 1:] + b[:, :1] * a[:, 1:] + np.cross(a[:, 1:], b[:, 1:])
    return np.concatenate([w[:, None], v], 1) * np.where(w < 0.0, -1.0, 1.0)[:, None]


def _floats(column: Any, what: str) -> Array:
    values = real_array(column, f"{what} must be numbers, one per time.")
    if values.ndim != 1:
        raise ValueError(f"{what} must be a row of numbers, got an array of shape {values.shape}.")
    return values


def _numbers(given: Any, known: Iterable[str], what: str, kind: str) -> dict[str, float]:
    if not isinstance(given, Mapping):
        raise ValueError(f"{what} must be a mapping from names to numbers, got {type(given).__name__}.")
    names = tuple(known)
    for key in given:
        if key not in names:
            raise ValueError(f"{what}: {unknown_name(kind, str(key), names)}")
    return {str(key): real_number(value, f"{what} {key!r}") for key, value in given.items()}


def check_unit(unit: str, label: str, name: str) -> None:
    """ValueError where a unit is none that is known."""
    if unit not in _FACTORS:
        known = ", ".join(each for each in _FACTORS if each)
        raise ValueError(f"{name}: column {label!r} has the unit {printable(unit)!r}; known: {known}.")
