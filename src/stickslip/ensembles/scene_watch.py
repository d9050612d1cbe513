"""Observables of the members of an ensemble of scenes, from the records of their steps.

As for mechanisms (`mechanisms.templates.watch`): positions between the ends of a step by cubic polynomials, velocities
and quaternions by straight lines; extremes and shares over the ends of steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stickslip import codes
from stickslip.checks import Array
from stickslip.trajectory import IMPACT_COLUMNS

_TIME, _CONTACT, _OTHER = IMPACT_COLUMNS.index("time"), IMPACT_COLUMNS.index("contact"), len(IMPACT_COLUMNS)


@dataclass(frozen=True)
class Asked:
    """A request: the section as `watched` tells it, its period [s], the coordinate that travels (-1: none).

    points : passages that are kept, the last ones;  first : step from which on all is watched.
    """

    kind: int
    place: int
    level: float
    period: float
    travel: int
    points: int
    first: int
    dt: float
    dim: int


@dataclass
class Watch:
    """Observations of one member so far; `before` is the state (q, u) at the end of the last step seen."""

    asked: Asked
    before: tuple[Array, Array]
    contacts: int
    step: int = 0
    times: list[float] = field(default_factory=list)
    ways: list[float] = field(default_factory=list)
    points: list[tuple[Array, Array]] = field(default_factory=list)

    def __post_init__(self) -> None:
        q, u = self.before
        self.least, self.largest = np.full(len(q) + len(u), math.inf), np.full(len(q) + len(u), -math.inf)
        self.impacts = np.zeros(self.contacts)
        self.steps_in = np.zeros((self.contacts, codes.N_STATES))

    def take(self, q: Array, u: Array, states: np.ndarray, events: Array) -> None:
        """Look at the steps that end in the states q (n, coordinates), u (n, velocities), with their impacts."""
        q_A, u_A = np.vstack([self.before[0], q[:-1]]), np.vstack([self.before[1], u[:-1]])
        numbers = self.step + np.arange(len(q))  # of the steps; step k goes from k dt to (k + 1) dt
        seen = np.flatnonzero(numbers >= self.asked.first)
        if len(seen):
            x = np.hstack([q[seen], u[seen]])
            self.least, self.largest = np.minimum(self.least, x.min(axis=0)), np.maximum(self.largest, x.max(axis=0))
            for state in range(codes.N_STATES):
                self.steps_in[:, state] += np.sum(states[seen] == state, axis=0)
        struck = self._take_impacts(events)
        for i, s in self._passages(q_A, q, u_A, u, numbers, struck):
            if numbers[i] >= self.asked.first:
                self._note(float(s), float(numbers[i] * self.asked.dt), (q_A[i], q[i], u_A[i], u[i]))
        self.before, self.step = (q[-1].copy(), u[-1].copy()), self.step + len(q)

    def _take_impacts(self, events: Array) -> np.ndarray:
        """Count impacts by body; returns the numbers of the steps in which the body of the section was struck."""
        steps = np.rint(events[:, _TIME] / self.asked.dt).astype(np.int64) - 1  # impacts bear the end of their step
        watched = steps >= self.asked.first
        struck = np.zeros(len(events), bool)
        for column in (_CONTACT, _OTHER):
            body = events[:, column].astype(np.int64)
            there = watched & (body >= 0)
            self.impacts += np.bincount(body[there], minlength=self.contacts)
            struck |= there & (body == self.asked.place)
        return np.unique(steps[struck])

    def _passages(
        self, q_A: Array, q: Array, u_A: Array, u: Array, numbers: np.ndarray, struck: np.ndarray
    ) -> list[tuple[int, float]]:
        """Rows of the steps that pass the section, and the part of the step after which they do, in order of time."""
        asked = self.asked
        if asked.kind == codes.STRIKES:
            return [(int(i), 1.0) for i in np.flatnonzero(np.isin(numbers, struck))]
        if asked.kind == codes.PHASE:
            found = []
            count = math.floor(numbers[0] * asked.dt / asked.period * (1.0 + 1e-12)) + 1
            while (due := count * asked.period) <= (numbers[-1] + 1) * asked.dt * (1.0 + 1e-12):
                i = min(max(math.ceil(due / asked.dt * (1.0 - 1e-12)) - 1 - int(numbers[0]), 0), len(numbers) - 1)
                found.append((i, min(1.0, due / asked.dt - float(numbers[i]))))
                count += 1
            return found
        if asked.kind == codes.NO_SECTION:
            return []
        coordinate = asked.place < q.shape[1]
        k = asked.place if coordinate else asked.place - q.shape[1]
        x_A, x_E = ((q_A if coordinate else u_A)[:, k] - asked.level, (q if coordinate else u)[:, k] - asked.level)
        passed = (x_A < 0.0) & (x_E >= 0.0) if asked.kind == codes.RISES else (x_A > 0.0) & (x_E <= 0.0)
        found = []
        for i in np.flatnonzero(passed).tolist():
            s = float(x_A[i] / (x_A[i] - x_E[i]))
            if coordinate:
                v_A, v_E = (self._slopes(q_A[i], q[i], u_A[i])[k], self._slopes(q_A[i], q[i], u[i])[k])
                s = _part_of_step(asked.dt, x_A[i], x_E[i], v_A, v_E)
            found.append((i, s))
        return found

    def _slopes(self, q_A: Array, q_E: Array, u: Array) -> Array:
        """Velocities of the coordinates; those of quaternions are taken as constant in the step."""
        if self.asked.dim == 2:
            return u
        slopes = (q_E - q_A) / self.asked.dt
        slopes.reshape(-1, 7)[:, :3] = u.reshape(-1, 6)[:, :3]
        return slopes

    def _note(self, s: float, t_A: float, ends: tuple[Array, Array, Array, Array]) -> None:
        """Keep a passage at the part s of a step."""
        q_A, q_E, u_A, u_E = ends
        q = between(s, self.asked.dt, q_A, q_E, self._slopes(q_A, q_E, u_A), self._slopes(q_A, q_E, u_E))
        if s == 1.0:
            q = q_E.copy()
        elif self.asked.dim == 3:
            turn = q.reshape(-1, 7)[:, 3:]
            turn /= np.linalg.norm(turn, axis=1, keepdims=True)
        self.times.append(t_A + s * self.asked.dt)
        self.ways.append(float(q[self.asked.travel]) if self.asked.travel >= 0 else math.nan)
        if self.asked.points:
            self.points.append((q, u_E.copy() if s == 1.0 else (1.0 - s) * u_A + s * u_E))
            del self.points[: -self.asked.points]

    def values(self) -> dict[str, Any]:
        """The observables of the member, by the names of their arrays."""
        n_q, times, passages = len(self.before[0]), np.array(self.times), len(self.times)
        cycles = passages - 1 if passages > 1 else math.nan
        lengths = np.diff(times) if passages > 1 else np.full(1, math.nan)
        room, kept = self.asked.points, len(self.points)
        point_time, point_q, point_u = (
            np.full(shape, math.nan) for shape in ((room,), (room, n_q), (room, len(self.before[1])))
        )
        if kept:
            point_time[:kept] = times[-kept:]
            point_q[:kept], point_u[:kept] = (np.array([point[i] for point in self.points]) for i in (0, 1))
        total = self.steps_in.sum(axis=1, keepdims=True)
        return {
            "period": (times[-1] - times[0]) / cycles if passages > 1 else math.nan,
            "shortest_period": lengths.min(), "longest_period": lengths.max(), "passages": float(passages),
            "drop": (self.ways[0] - self.ways[-1]) / cycles if passages > 1 else math.nan,
            "point_time": point_time, "point_q": point_q, "point_u": point_u,
            "least_q": self.least[:n_q], "least_u": self.least[n_q:],
            "largest_q": self.largest[:n_q], "largest_u": self.largest[n_q:],
            "impacts": self.impacts, "share": self.steps_in / np.where(total > 0.0, total, math.nan),
        }  # fmt: skip


def between(s: float, h: float, x_A: Any, x_E: Any, v_A: Any, v_E: Any) -> Any:
    """Cubic polynomial with values x and slopes v at both ends of a step h, at the part s of it."""
    rest = 1.0 - s
    return rest * rest * (1.0 + 2.0 * s) * x_A + s * s * (3.0 - 2.0 * s) * x_E + s * rest * h * (rest * v_A - s * v_E)


def _part_of_step(h: float, x_A: float, x_E: float, v_A: float, v_E: float) -> float:
    """The part of a step after which x passes zero, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(53):
        middle = 0.5 * (low + high)
        if between(middle, h, x_A, x_E, v_A, v_E) * x_A > 0.0:
            low = middle
        else:
            high = middle
    return high
