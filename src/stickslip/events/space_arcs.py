"""Smooth arcs of motions with two tangents, and what an arc began with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.checks import Array
from stickslip.events.accumulation import Blow
from stickslip.events.arcs import crossings
from stickslip.events.book import EventBook, blows_array, blows_of
from stickslip.trajectory import CLOSED, OPEN, SLIP_PLUS, STICK


@dataclass(frozen=True, eq=False)
class SpaceMode:
    """Which contacts are closed, (n,) bool, and which of these slide; rows of second tangents follow their contacts."""

    closed: np.ndarray
    slides: np.ndarray
    tangential: np.ndarray
    held: np.ndarray

    def states(self) -> np.ndarray:
        """Contact states of a trajectory, (n,) int8."""
        friction = np.where(self.slides, SLIP_PLUS, STICK)
        loose = np.where(self.tangential, friction, CLOSED)
        return np.where(self.held, CLOSED, np.where(self.closed, loose, OPEN)).astype(np.int8)


@dataclass(frozen=True, eq=False)
class Tailed:
    """Dense output of a step whose end at `time` is followed by one more straight step: y(t) = y + (t - time) rates."""

    dense: Any
    time: float
    y: Array
    rates: Array

    def __call__(self, t: Any) -> Array:
        """The vector at a time, or as columns at several times."""
        late = np.subtract(t, self.time)
        if np.ndim(late) == 0:
            return np.asarray(self.dense(t) if late <= 0.0 else self.y + late * self.rates)
        tail = self.y[:, None] + late * self.rates[:, None]
        return np.where(late <= 0.0, self.dense(np.minimum(t, self.time)), tail)


@dataclass(frozen=True, eq=False)
class SpaceArc:
    """One step of an integrator: the motion in one mode from t_A to t_E, see `arcs.Arc`."""

    t_A: float
    t_E: float
    mode: SpaceMode
    f: int
    dense: Any

    def vector(self, t: Any) -> Array:
        return np.asarray(self.dense(t)).T

    def state(self, t: Any) -> tuple[Array, Array]:
        """Coordinates and velocities at t, shape (f,); or (k, f) at k times."""
        y = self.vector(t)
        return y[..., : self.f], y[..., self.f : 2 * self.f]

    def crossings(self, value: Callable[[Array, Array], float], rising: bool = False) -> list[float]:
        """Times in the arc at which value(q, u) falls (or rises) through zero: a section."""
        return crossings(self.state, (self.t_A, self.t_E), value, rising)


@dataclass(eq=False)
class Phase:
    """The integration in one mode.

    Attributes: mode; solver, DOP853 or Radau of SciPy; stiff, whether it is the latter; load [N], the largest force
    when it began, on which its tolerances depend; tolerances of the indicators, and which of these are armed.
    """

    mode: SpaceMode
    solver: Any
    stiff: bool
    load: float
    tolerances: Array
    armed: np.ndarray


# What decides the next step of an integrator, by its attributes: numbers and arrays, those that Radau has beside
# DOP853, and its factored matrices with their pivots.  What is None at the moment is left out.
_NAMES = ("t", "y", "f", "h_abs")
_IMPLICIT = ("h_abs_old", "error_norm_old", "current_jac", "J", "Z", "t_old", "y_old")
_FACTORED = ("LU_real", "LU_complex")


def stand_of(solver: Any) -> dict[str, Any]:
    """Where an integrator stands between two steps; arrays are not copied, as it only ever replaces them."""
    implicit = hasattr(solver, _FACTORED[0])
    found = {name: getattr(solver, name) for name in _NAMES + (_IMPLICIT if implicit else ())}
    for name in _FACTORED if implicit else ():
        factored = getattr(solver, name)
        found[name], found[f"{name} pivots"] = (None, None) if factored is None else factored
    return {name: value for name, value in found.items() if value is not None}


def put_back(solver: Any, stand: Mapping[str, Any]) -> None:
    """Let a new integrator, made with t and y of `stand`, go on as the one that stood there: bit for bit."""
    solver.f, solver.h_abs = stand["f"], float(stand["h_abs"])
    if not hasattr(solver, _FACTORED[0]):
        return
    for name in _IMPLICIT:
        value = stand.get(name)
        setattr(solver, name, value if value is None or np.ndim(value) else value.item())
    for name in _FACTORED:
        setattr(solver, name, (stand[name], stand[f"{name} pivots"]) if name in stand else None)
    if solver.Z is not None:
        solver.sol = solver._compute_dense_output()  # the first guess of the next step


@dataclass(frozen=True, eq=False)
class SpaceKept:
    """Begin of an arc: from here the motion goes on, bit for bit, whatever came after.

    Attributes: stand, of the integrator; phase, with armed indicators of that moment and without its integrator;
    closed and slides, (n,) bool; fastest, largest speed of each slip under way [m/s]; load, largest force so far [N];
    book; happened, how many events there were; blows, the last collisions; recent, times of the last events [s];
    p, parameters with the features that contacts have.
    """

    stand: Mapping[str, Any]
    phase: Phase
    closed: np.ndarray
    slides: np.ndarray
    fastest: Array
    load: float
    book: EventBook
    happened: int
    blows: tuple[Blow, ...]
    recent: tuple[float, ...]
    p: Array

    def arrays(self) -> dict[str, np.ndarray]:
        """All of it as arrays, for a checkpoint."""
        phase = self.phase
        return {
            **{f"stand {name}": np.asarray(value) for name, value in self.stand.items()},
            "numbers": np.array([self.load, phase.load, phase.stiff]),
            "closed": self.closed,
            "slides": self.slides,
            "fastest": self.fastest,
            "mode": np.array([phase.mode.closed, phase.mode.slides, phase.mode.tangential, phase.mode.held]),
            "tolerances": phase.tolerances,
            "armed": phase.armed,
            "book": self.book.array(),
            "blows": blows_array(self.blows),
            "recent": np.array(self.recent),
            "p": self.p,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> SpaceKept:
        found = {name: value.copy() for name, value in arrays.items()}
        load, begun, stiff = found["numbers"].tolist()
        mode = SpaceMode(*found["mode"].astype(bool))
        return cls(
            {name.removeprefix("stand "): value for name, value in found.items() if name.startswith("stand ")},
            Phase(mode, None, bool(stiff), begun, found["tolerances"], found["armed"].astype(bool)),
            found["closed"].astype(bool),
            found["slides"].astype(bool),
            found["fastest"],
            load,
            EventBook.from_array(found["book"]),
            len(found["happened"]),
            blows_of(found["blows"]),
            tuple(found["recent"].tolist()),
            found["p"],
        )
