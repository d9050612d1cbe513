"""Ensembles of scenes on a card: one member per thread, through the kernel that the CPU runs.

What a thread cannot do alone is left to the CPU, which runs such a member from its start: a step that needs rare
methods, more contact points than there is room for, numbers beyond bounds.  So a member is the same wherever it ran.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from stickslip import codes
from stickslip.ensembles.cpu import Report, cores
from stickslip.ensembles.observables import variables_of
from stickslip.ensembles.scene_members import compute_some, room_for
from stickslip.ensembles.scene_slabs import SceneSlabs, Start
from stickslip.ensembles.scene_watch import Watch
from stickslip.ensembles.scenes import SceneRequest
from stickslip.interrupts import poll
from stickslip.jit.slabs import OnSlabs
from stickslip.mechanisms.bounds import FACTOR
from stickslip.run.records import memory_budget
from stickslip.scenes import step
from stickslip.scenes.alone import EVENTS, LOST, REACHED, SOUND, STATUS, WRITTEN
from stickslip.trajectory import IMPACT_COLUMNS

AT_THE_END = ("impacts", "final", "energy")
"""Observables that need no record of every step."""
MOST_ROWS = 256
"""Records of a member between two looks at them."""
BATCH_BYTES = 4e9
LAUNCH_SECONDS = 0.5
FIRST_STEPS = 32
_TIME, _FIRST, _OTHER = IMPACT_COLUMNS.index("time"), IMPACT_COLUMNS.index("contact"), len(IMPACT_COLUMNS)
_RECORDS, _EVENTS, _TOLD = 3, 4, 5  # of the arrays of `SceneSlabs.room_of_rows`


class Launches(Protocol):
    """Members on a device: their slabs, and the arrays that they write to."""

    def march(self, t0: float, target: int) -> None:
        """March all members until `target` steps are done, or as far as they come."""

    def fetch(self, k: int) -> np.ndarray:
        """Array k of those that members write to."""

    def slabs(self) -> np.ndarray:
        """The slabs as they are now."""

    def free(self) -> None:
        """Give the memory of the device back."""


class Device(Protocol):
    """What marches slabs: a card, or the processor in tests."""

    handed: int

    def slabs_of(self, request: SceneRequest) -> SceneSlabs:
        """The slabs and the program of a request, made once."""

    def launches(self, program: OnSlabs, slabs: np.ndarray, rows: list[np.ndarray]) -> Launches:
        """Members with these slabs on the device."""


def slabs_of(request: SceneRequest) -> SceneSlabs:
    """The slabs of a request, with room for the records that its observables need."""
    rows = 1 if set(request.observe) <= set(AT_THE_END) and request.section is None else MOST_ROWS
    return SceneSlabs(request, min(rows, max(request.steps, 2)))


def compute_on_card(
    request: SceneRequest, first: int, last: int, device: Device, report: Report
) -> dict[str, np.ndarray]:
    """The arrays of the result for the members first .. last - 1."""
    slabs, values = device.slabs_of(request), room_for(request, last - first)
    each = slabs.layout.kept + sum(rows.nbytes for rows in slabs.room_of_rows(1))
    size = int(max(1, min(BATCH_BYTES, 0.25 * memory_budget()) // each))
    for begin in range(first, last, size):
        end = min(begin + size, last)
        part = {name: array[begin - first : end - first] for name, array in values.items()}
        batch = _Batch(request, slabs, device, begin, end)
        left = batch.compute(part, report)
        device.handed += len(left)
        compute_some(request, begin, end, left, part, cores(), report)
    return values


class _Batch:
    """Members that march together."""

    def __init__(self, request: SceneRequest, slabs: SceneSlabs, device: Device, first: int, last: int) -> None:
        self.request, self.slabs, self.device = request, slabs, device
        self.columns, self.n = request.plan.members(first, last), last - first

    def compute(self, values: Mapping[str, np.ndarray], report: Report) -> list[int]:
        """March all members and write what they leave into `values`; returns those that the CPU has to run."""
        start = self.slabs.starts(self.columns)
        for i, found in start.failed.items():
            for name, value in found.items():
                values[name][i] = value
        report(len(start.failed) * self.request.steps)
        on_card = np.ones(self.n, bool)
        on_card[list(start.failed)] = False
        seen = _Seen(self.request, self.slabs, start)
        rows = self.slabs.room_of_rows(self.n)
        rows[_TOLD][list(start.failed), STATUS] = LOST
        launches = self.device.launches(self.slabs.program, start.slabs, rows)
        try:
            self._march(launches, on_card, seen, report)
            ends = launches.slabs()
        finally:
            launches.free()
        q, u, books = self.slabs.ends(ends)
        on_card &= self._accepted(books)
        self._write(values, np.flatnonzero(on_card), (q, u, books), start, ends, seen)
        left = ~on_card
        left[list(start.failed)] = False
        return [int(i) for i in np.flatnonzero(left)]

    def _march(self, launches: Launches, good: np.ndarray, seen: _Seen, report: Report) -> None:
        """March until every member is done or is left to the CPU, which `good` (n,) tells."""
        reached, steps = np.zeros(self.n, np.int64), self.request.steps
        n = FIRST_STEPS
        while np.any(waiting := good & (reached < steps)):
            n = min(n, self.slabs.rows) if self.slabs.rows > 1 else n  # a record has a row of its own
            begin = time.perf_counter()
            launches.march(self.slabs.run.state.t0, min(steps, int(reached[waiting].min()) + n))
            told = launches.fetch(_TOLD)
            elapsed = max(time.perf_counter() - begin, 1e-4)
            good &= (told[:, STATUS] == step.DONE) & (told[:, SOUND] == 1)
            seen.take(launches, told, good)
            report(int((told[:, REACHED] - reached)[good].sum()))
            reached = np.where(good, told[:, REACHED], reached)
            poll()
            n = int(max(1, min(8 * n, n * LAUNCH_SECONDS / elapsed)))

    def _accepted(self, books: np.ndarray) -> np.ndarray:
        """Which members (n,) a single run would not end for their energies or depths."""
        widest = 2.0 * self.slabs.base.bodies.radius[self.slabs.base.channels].min(initial=np.inf)
        deep = books[:, codes.MAX_PENETRATION] > FACTOR * widest
        return ~deep & np.isfinite(books[:, codes.CONTACT_WORK]) & (books[:, codes.STEPS] == self.request.steps)

    def _write(
        self, values: Mapping[str, np.ndarray], which: np.ndarray, ends: tuple[np.ndarray, ...], start: Start,
        slabs: np.ndarray, seen: _Seen,
    ) -> None:  # fmt: skip
        """Write status, certificate and observables of the members that are done."""
        request, (q, u, books) = self.request, ends
        found: dict[str, Any] = {
            "status": codes.DONE, "time_reached": self.slabs.run.state.t0 + request.steps * request.dt,
            "failed_steps": books[which, codes.FAILED_STEPS], "max_residual": books[which, codes.MAX_RESIDUAL],
            "max_penetration": books[which, codes.MAX_PENETRATION],
            "max_energy_gain": books[which, codes.MAX_ENERGY_GAIN], "fallbacks": books[which, codes.FALLBACKS],
            "final_q": q[which], "final_u": u[which], "contact_work": books[which, codes.CONTACT_WORK],
            **seen.values(which),
        }  # fmt: skip
        if "energy" in request.observe:
            found |= self._energies(which, q, u, start, slabs)
        for name in variables_of(request.observe):
            values[name][which] = found[name]

    def _energies(
        self, which: np.ndarray, q: np.ndarray, u: np.ndarray, start: Start, slabs: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Energies of members at both ends."""
        t0 = self.slabs.run.state.t0
        t = t0 + self.request.steps * self.request.dt
        rows = np.zeros((len(which), 4))
        for row, i in zip(rows, which.tolist(), strict=True):
            engine = self.slabs.engine_of(slabs[i])
            row[:2], row[2:] = engine.energies(start.q0[i], start.u0[i], t0), engine.energies(q[i], u[i], t)
        return dict(zip(("kinetic_start", "potential_start", "kinetic_end", "potential_end"), rows.T, strict=True))


class _Seen:
    """What is watched of the members of a batch while they march."""

    def __init__(self, request: SceneRequest, slabs: SceneSlabs, start: Start) -> None:
        self._asked, self._slabs, self._n = request.asked, slabs, len(start.q0)
        contacts = len(request.system.contact_names)
        self._impacts = np.zeros((self._n, contacts))
        self._watches: list[Watch] = []
        if slabs.rows > 1:
            asked = request.asked
            self._watches = [Watch(asked, (q, u), contacts) for q, u in zip(start.q0, start.u0, strict=True)]

    def take(self, launches: Launches, told: np.ndarray, good: np.ndarray) -> None:
        """Look at the records and impacts of a launch."""
        events = launches.fetch(_EVENTS) if np.any(told[good, EVENTS]) else None
        if not self._watches:
            if events is not None:
                self._count(events, np.where(good, told[:, EVENTS], 0))
            return
        records = [launches.fetch(k) for k in range(_RECORDS)]
        for i in np.flatnonzero(good & (told[:, WRITTEN] > 0)).tolist():
            q, u, states = (rows[i, : told[i, WRITTEN]] for rows in records)
            own = np.zeros((0, _OTHER + 1)) if events is None else events[i, : told[i, EVENTS]]
            self._watches[i].take(q, u, states, own)

    def _count(self, events: np.ndarray, counts: np.ndarray) -> None:
        """Count impacts by member and body, as `Watch` does."""
        member, row = np.nonzero(np.arange(events.shape[1]) < counts[:, None])
        found = events[member, row]
        steps = np.rint(found[:, _TIME] / self._asked.dt).astype(np.int64) - 1
        for column in (_FIRST, _OTHER):
            body = found[:, column].astype(np.int64)
            there = (steps >= self._asked.first) & (body >= 0)
            np.add.at(self._impacts, (member[there], body[there]), 1.0)

    def values(self, which: np.ndarray) -> dict[str, np.ndarray]:
        """The observables of some members by the names of their arrays, those of the end aside."""
        if not self._watches:
            return {"impacts": self._impacts[which]}
        found = [self._watches[i].values() for i in which.tolist()]
        return {name: np.array([each[name] for each in found]) for name in (found[0] if found else ())}
