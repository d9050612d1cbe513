"""Observables of every member, and how they are read from the rows that the kernels leave behind.

A failed member has nan in everything but its status and its certificate, so that no mean takes it in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip import codes
from stickslip.checks import Array, unknown_name
from stickslip.mechanisms.system import System
from stickslip.scenes.scene import Scene
from stickslip.trajectory import STATE_NAMES

ALWAYS = ("status", "certificate")
OBSERVABLES = (
    "period", "drop", "points", "extremes", "impacts", "shares", "final", "energy",
)  # fmt: skip
NEED_SECTION = ("period", "drop", "points")
STATUS_NAMES = (
    "finished",
    "out of room for events",
    "a contact problem was not solved",
    "the motion grew beyond all bounds",
    "the mass matrix was not positive definite",
    "a gap was not a number",
    "the iteration matrix was not positive definite",
    "starts with a penetration",
    "a friction or restitution coefficient is out of range",
    "starts from values that are not finite",
    "the start violated a constraint",
    "a joint came apart",
    "a body would appear inside another one",
    "its values make no scene that can run",
    "its control law failed",
)
APART, CANNOT_APPEAR, NO_SCENE = 11, 12, 13
"""Statuses that scenes alone have, behind those of `codes`."""


@dataclass(frozen=True)
class Variable:
    """One array of the result: its dimensions behind those of the ensemble, words and units."""

    dimensions: tuple[str, ...]
    long_name: str
    units: str = ""
    dtype: str = "<f8"


VARIABLES: dict[str, dict[str, Variable]] = {
    "status": {
        "status": Variable((), "how the member ended: 0 is finished, see flag_meanings", dtype="|i1"),
        "time_reached": Variable((), "time at which the member ended", "s"),
    },
    "certificate": {
        "failed_steps": Variable((), "steps that were not solved to the tolerance", dtype="<i8"),
        "max_residual": Variable((), "worst violation of the contact laws in any step, relative"),
        "max_penetration": Variable((), "deepest penetration", "m"),
        "max_energy_gain": Variable((), "largest energy that the contacts put in during one step", "J"),
        "fallbacks": Variable((), "steps that the cheap solver left to a later one", dtype="<i8"),
    },
    "period": {
        "period": Variable((), "mean time between passages of the section", "s"),
        "shortest_period": Variable((), "shortest time between passages of the section", "s"),
        "longest_period": Variable((), "longest time between passages of the section", "s"),
        "passages": Variable((), "passages of the section that were watched"),
    },
    "drop": {"drop": Variable((), "mean way down per cycle")},
    "points": {
        "point_time": Variable(("point",), "time of the last passages of the section", "s"),
        "point_q": Variable(("point", "coordinate"), "coordinates on the section"),
        "point_u": Variable(("point", "velocity"), "velocities on the section"),
    },
    "extremes": {
        "least_q": Variable(("coordinate",), "least coordinates"),
        "largest_q": Variable(("coordinate",), "largest coordinates"),
        "least_u": Variable(("velocity",), "least velocities"),
        "largest_u": Variable(("velocity",), "largest velocities"),
    },
    "impacts": {"impacts": Variable(("contact",), "impacts that were watched")},
    "shares": {"share": Variable(("contact", "state"), "share of the watched time in a contact state")},
    "final": {
        "final_q": Variable(("coordinate",), "coordinates at the end"),
        "final_u": Variable(("velocity",), "velocities at the end"),
    },
    "energy": {
        "kinetic_start": Variable((), "kinetic energy at the start", "J"),
        "potential_start": Variable((), "potential energy at the start", "J"),
        "kinetic_end": Variable((), "kinetic energy at the end", "J"),
        "potential_end": Variable((), "potential energy at the end", "J"),
        "contact_work": Variable((), "energy that the contacts put in", "J"),
    },
}


def observables_of(names: Any) -> tuple[str, ...]:
    """The observables asked for, in the order of `OBSERVABLES`, or ValueError."""
    if isinstance(names, str):
        names = [name.strip() for name in names.split(",") if name.strip()]
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"observe must be a list of names ({', '.join(OBSERVABLES)}), got {names!r}.")
    for name in names:
        if name not in OBSERVABLES and name not in ALWAYS:
            raise ValueError(f"observe: {unknown_name('observable', name, OBSERVABLES)}")
    if not names:
        raise ValueError(f"observe must name at least one observable of {', '.join(OBSERVABLES)}.")
    return tuple(name for name in OBSERVABLES if name in names)


def variables_of(observe: Sequence[str]) -> dict[str, Variable]:
    """All arrays of a result."""
    return {name: variable for group in (*ALWAYS, *observe) for name, variable in VARIABLES[group].items()}


def dimensions_of(system: System | Scene, points: int) -> dict[str, int]:
    """Sizes of the dimensions behind those of the ensemble."""
    return {
        "coordinate": len(system.coordinate_names),
        "velocity": len(system.velocity_names),
        "contact": len(system.contact_names),
        "state": len(STATE_NAMES),
        "point": points,
    }


def bytes_per_member(observe: Sequence[str], system: System | Scene, points: int) -> int:
    sizes = dimensions_of(system, points)
    total = 0
    for variable in variables_of(observe).values():
        total += np.dtype(variable.dtype).itemsize * int(np.prod([sizes[name] for name in variable.dimensions]))
    return total


def read_rows(layout: Any, rows: Array, observe: Sequence[str], t0: float, dt: float) -> dict[str, np.ndarray]:
    """The arrays of a result from the rows of some members; `layout` is their generated module."""
    book = rows[:, layout.BOOK_OF_MEMBER :]
    status = rows[:, layout.STATUS].astype(np.int8)
    failed = status != codes.DONE
    values: dict[str, np.ndarray] = {
        "status": status,
        "time_reached": t0 + rows[:, layout.STEPS_DONE] * dt,
        "failed_steps": (book[:, codes.FAILED_STEPS] + failed).astype(np.int64),
        "max_residual": book[:, codes.MAX_RESIDUAL].copy(),
        "max_penetration": book[:, codes.MAX_PENETRATION].copy(),
        "max_energy_gain": book[:, codes.MAX_ENERGY_GAIN].copy(),
        "fallbacks": book[:, codes.FALLBACKS].astype(np.int64),
    }
    for name in observe:
        for key, array in _READERS[name](layout, rows, book).items():
            values[key] = np.where(failed.reshape(-1, *[1] * (array.ndim - 1)), np.nan, array)
    return values


def _period(layout: Any, rows: Array, book: Array) -> dict[str, Array]:
    passages = book[:, layout.PASSAGES]
    several = passages > 1.0
    cycles = np.where(several, passages - 1.0, np.nan)
    return {
        "period": (book[:, layout.TIME_LAST] - book[:, layout.TIME_FIRST]) / cycles,
        "shortest_period": np.where(several, book[:, layout.SHORTEST], np.nan),
        "longest_period": np.where(several, book[:, layout.LONGEST], np.nan),
        "passages": passages,
    }


def _drop(layout: Any, rows: Array, book: Array) -> dict[str, Array]:
    cycles = np.where(book[:, layout.PASSAGES] > 1.0, book[:, layout.PASSAGES] - 1.0, np.nan)
    return {"drop": (book[:, layout.TRAVEL_FIRST] - book[:, layout.TRAVEL_LAST]) / cycles}


def _points(layout: Any, rows: Array, book: Array) -> dict[str, Array]:
    """The ring of points in order of time; nan where the section was passed less often."""
    room = (book.shape[1] - layout.FIRST_POINT) // layout.POINT_SIZE
    ring = book[:, layout.FIRST_POINT :].reshape(len(book), room, layout.POINT_SIZE)
    passages = book[:, layout.PASSAGES].astype(np.int64)[:, None]
    kept = np.minimum(passages, room)
    place = np.arange(room)[None, :]
    order = np.where(place < kept, (passages - kept + place) % room, 0)
    points = np.take_along_axis(ring, order[:, :, None], axis=1)
    points = np.where((place < kept)[:, :, None], points, np.nan)
    f = layout.N_DOF
    return {"point_time": points[:, :, 0], "point_q": points[:, :, 1 : 1 + f], "point_u": points[:, :, 1 + f :]}


def _extremes(layout: Any, rows: Array, book: Array) -> dict[str, Array]:
    f, low, high = layout.N_DOF, layout.LEAST, layout.LARGEST_SEEN
    return {
        "least_q": book[:, low : low + f],
        "largest_q": book[:, high : high + f],
        "least_u": book[:, low + f : low + 2 * f],
        "largest_u": book[:, high + f : high + 2 * f],
    }


def _impacts(layout: Any, rows: Array, book: Array) -> dict[str, Array]:
    return {"impacts": book[:, layout.IMPACTS : layout.IMPACTS + layout.N_CONTACTS]}


def _shares(layout: Any, rows: Array, book: Array) -> dict[str, Array]:
    counts = book[:, layout.STEPS_IN : layout.FIRST_POINT].reshape(len(book), layout.N_CONTACTS, layout.N_STATES)
    total = counts.sum(axis=2, keepdims=True)
    return {"share": counts / np.where(total > 0.0, total, np.nan)}


def _final(layout: Any, rows: Array, book: Array) -> dict[str, Array]:
    f = layout.N_DOF
    return {"final_q": rows[:, :f], "final_u": rows[:, f : 2 * f]}


def _energy(layout: Any, rows: Array, book: Array) -> dict[str, Array]:
    start, end = layout.ENERGY_START, layout.ENERGY_END
    return {
        "kinetic_start": rows[:, start],
        "potential_start": rows[:, start + 1],
        "kinetic_end": rows[:, end],
        "potential_end": rows[:, end + 1],
        "contact_work": book[:, codes.CONTACT_WORK],
    }


_READERS: dict[str, Callable[[Any, Array, Array], dict[str, Array]]] = {
    "period": _period,
    "drop": _drop,
    "points": _points,
    "extremes": _extremes,
    "impacts": _impacts,
    "shares": _shares,
    "final": _final,
    "energy": _energy,
}

assert APART == codes.START_OFF + 1 and len(STATUS_NAMES) == codes.CONTROL_FAILED + 1
