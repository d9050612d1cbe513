"""Book that a motion from event to event keeps for its certificate, and how it says that there is no way on."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from stickslip.checks import Array
from stickslip.events.accumulation import Blow
from stickslip.events.arcs import Stand
from stickslip.events.modes import Mode


class MotionError(ArithmeticError):
    """No way on: `t` [s] is where."""

    def __init__(self, t: float, message: str) -> None:
        super().__init__(message)
        self.t = t

    @property
    def told(self) -> str:
        """The whole sentence."""
        return f"no way on at t = {self.t:.9g} s: {self}"


WINDOW = 1e-3  # share of the run in which events are counted
NO_PROGRESS = 60  # mode changes at one instant that end a run
ENDLESS = (
    "contacts open and close or slip and stick without end; raise max_events, or use a time stepper, which needs no "
    "events"
)


def too_many(events: int, span: float, reason: str = ENDLESS) -> str:
    """Why a run ends that has more than `events` events in a share `WINDOW` of its time `span` [s]."""
    return f"more than {events} events within {WINDOW * span:.3g} s: {reason}"


def no_progress() -> str:
    """Why a run ends whose mode goes on changing at one instant."""
    return f"the mode changed {NO_PROGRESS} times at this instant; no mode is consistent"


def blows_array(blows: Iterable[Blow]) -> np.ndarray:
    """Blows as bytes, for a checkpoint."""
    return np.frombuffer(json.dumps([(blow.t, blow.contacts, blow.speed) for blow in blows]).encode(), np.uint8)


def blows_of(array: np.ndarray) -> tuple[Blow, ...]:
    """Blows of a checkpoint."""
    return tuple(Blow(t, tuple(contacts), speed) for t, contacts, speed in json.loads(array.tobytes()))


@dataclass
class EventBook:
    """Numbers of the certificate, and counts of events, of a motion from event to event.

    `force` is the largest contact force [N], `accumulation_error` the largest error of a time at which impacts of
    several contacts end [s].
    """

    residual: float = 0.0
    force: float = 0.0
    accumulation_error: float = 0.0
    gain: float = 0.0
    gain_time: float = 0.0
    work: float = 0.0
    lcp_size: int = 0
    projection_energy: float = 0.0
    projections: int = 0
    constraint_error: float = 0.0
    constraint_rate: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)

    def copy(self) -> EventBook:
        return replace(self, counts=self.counts.copy())

    def array(self) -> np.ndarray:
        """The book as bytes, for a checkpoint; JSON keeps every bit of a number."""
        return np.frombuffer(json.dumps({**vars(self), "counts": dict(self.counts)}).encode(), np.uint8)

    @classmethod
    def from_array(cls, array: np.ndarray) -> EventBook:
        values = json.loads(array.tobytes())
        return cls(**{**values, "counts": Counter(values["counts"])})


@dataclass(frozen=True, eq=False)
class Kept:
    """Begin of an arc: from here the motion goes on, bit for bit, whatever came after.

    Attributes: stand, of the integrator; mode; tolerances, of its indicators; force_scale, acceleration_scale, of its
    contacts; recent, times of the last events; last_step [s]; book; grazes_before, those counted before the mode;
    blows, the last collisions; happened, how many events there were.
    """

    stand: Stand
    mode: Mode
    tolerances: Array
    force_scale: Array
    acceleration_scale: Array
    recent: tuple[float, ...]
    last_step: float | None
    book: EventBook
    grazes_before: int
    blows: tuple[Blow, ...]
    happened: int

    def arrays(self) -> dict[str, np.ndarray]:
        """The book as arrays, for a checkpoint."""
        stand, mode = self.stand, self.mode
        last = -1.0 if self.last_step is None else self.last_step
        return {
            "numbers": np.array([stand.t, stand.length, stand.grazes, last, self.grazes_before]),
            "y": stand.y,
            "rate": stand.rate,
            "armed": stand.armed,
            "closed": mode.closed,
            "sense": mode.sense,
            "constraints": np.array(mode.constraints),
            "branches": mode.branches,
            "tolerances": self.tolerances,
            "force_scale": self.force_scale,
            "acceleration_scale": self.acceleration_scale,
            "recent": np.array(self.recent),
            "book": self.book.array(),
            "blows": blows_array(self.blows),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Kept:
        found = {name: value.copy() for name, value in arrays.items()}
        t, length, seen, last, grazes = found["numbers"].tolist()
        normal, stick, slip = found["constraints"]
        return cls(
            Stand(t, found["y"], found["rate"], length, found["armed"].astype(bool), int(seen)),
            Mode(
                found["closed"].astype(bool),
                found["sense"],
                normal.astype(np.int64),
                stick.astype(np.int64),
                slip,
                found["branches"],
            ),
            found["tolerances"],
            found["force_scale"],
            found["acceleration_scale"],
            tuple(found["recent"].tolist()),
            None if last < 0.0 else last,
            EventBook.from_array(found["book"]),
            int(grazes),
            blows_of(found["blows"]),
            len(found["happened"]),
        )
