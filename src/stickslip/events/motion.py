"""From event to event: the walk over smooth arcs, and what each event does.

A motion is a present (`present`) that is watched (`watching`).  At an event the impact law (`collisions`), the
acceleration problem and the rules for grazing and Painleve's paradox (`next_mode`) decide on the next mode;
`Motion.arcs` yields the smooth motion in between.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from stickslip.checks import Array
from stickslip.events.accumulation import MEMORY
from stickslip.events.arcs import Arc, Event, Watch, smooth_arcs
from stickslip.events.book import ENDLESS, NO_PROGRESS, WINDOW, Kept, MotionError, no_progress, too_many
from stickslip.events.modes import AT_BOUND, ROUND_OFF, Mode, mode_of, relative_velocities, touching
from stickslip.events.next_mode import Settling
from stickslip.events.watching import FORCE_TOLERANCE
from stickslip.laws.slip import DEPENDS
from stickslip.mechanisms.inertia import Inertia
from stickslip.mechanisms.system import CLUTCH, CONTACT, SPRING, LawError
from stickslip.trajectory import CLOSES, GRAZES, KINK, OPEN, OPENS, REVERSES, SLIPS, STICK, STICKS, STRIKES


def change(before: Mode, after: Mode, k: int) -> int | None:
    """Event of contact k between two modes, a number of `EVENT_KINDS`; None where its state is the old one."""
    old, new = before.states()[k], after.states()[k]
    if old == new:
        return None
    if OPEN in (old, new):
        return CLOSES if old == OPEN else OPENS
    if new == STICK:
        return STICKS
    turn = before.sense[k] * after.sense[k]
    if turn > 0.0:
        return None  # it slides on, with a load or without
    return REVERSES if turn < 0.0 else SLIPS


class Motion(Settling):
    """The motion of a system from event to event; its attributes are those of `Present`."""

    # -- the walk --------------------------------------------------------------------------------------------

    def arcs(self) -> Iterator[Arc]:
        """The smooth arcs one after the other; impacts and books are kept up to date with the arc that was yielded."""
        stand = self.stand
        if stand is None:
            self._begin()
            self._note(self.t, self.mode, 0)
        while self.t < self.t_end:
            if stand is None:
                self.watch, t, y, first_step = self._watch(), self.t, self._vector(), self._first_step()
                self.grazes_before = self.book.counts["grazes"]
            else:
                t, y, first_step = stand.t, stand.y, self.t_end - stand.t
            assert self.watch is not None
            arcs = smooth_arcs(
                self._rates, self.mode, self.f, t, y, self.t_end, self.watch,
                (self.rtol, self._atol()), first_step, self._drifts, self.span, stand,
            )  # fmt: skip
            event, stand = (yield from self._followed(arcs, self.watch)), None
            if event is None:
                return
            self._count(event)
            before, impacts = self.mode, len(self.impacts)
            self._act(event)
            self._note(event.t, before, impacts)

    def _followed(self, arcs: Any, watch: Watch) -> Any:
        """Pass the arcs on, count what they graze, and remember the length of the last whole step."""
        while True:
            book, last_step = self.book.copy(), self.last_step
            try:
                arc = next(arcs)
            except StopIteration as end:
                return end.value
            left = self._law_left(arc)
            if left is not None:
                arc = replace(arc, t_E=left[0])
            self.kept = Kept(
                arc.stand, arc.mode, watch.tol, self.force_scale, self.acceleration_scale, tuple(self.recent),
                last_step, book, self.grazes_before, tuple(self.blows), len(self.happened),
            )  # fmt: skip
            if arc.t_E > arc.t_A:
                self.last_step = arc.t_E - arc.t_A
            self.book.counts["steps"] += 1
            self.book.counts["grazes"] = self.grazes_before + watch.grazes
            self.touches = watch.touches
            if watch.grazed is not None:
                self.grazed, watch.grazed = watch.grazed, None
                self.happened.append((self.grazed[0], GRAZES, self.grazed[1]))
            self.book.work = float(arc.vector(arc.t_E)[-1])
            if len(self.system.constraints):
                self._measure_constraints(arc.t_E, arc.vector(arc.t_E))
            if left is None or arc.t_E > arc.t_A:
                yield arc
            if left is not None:
                raise MotionError(*left)

    def _measure_constraints(self, t: float, y: Array) -> None:
        """Book what is left of the constraints' equations at the end of an arc."""
        system, q, u = self.system, y[: self.f], y[self.f : 2 * self.f]
        error = np.abs(system.gap(q, t, self.p)[system.constraints])
        rate = np.abs(Inertia.at(system, q, t, self.p).rate(u))
        self.book.constraint_error = max(self.book.constraint_error, float(error.max()))
        self.book.constraint_rate = max(self.book.constraint_rate, float(rate.max()))

    def _law_left(self, arc: Arc) -> tuple[float, str] | None:
        """Where a coefficient of a closed contact that depends on the state leaves its range along an arc, and why.

        The time is the last one at which all is well, up to round-off.
        """
        if not self.system.state_laws:
            return None
        closed, p = np.flatnonzero(arc.mode.closed), self.in_mode(arc.mode)

        def problem(t: float) -> str | None:
            try:
                self.system.laws_at(arc.vector(t)[: self.f], t, p, None, closed)
            except LawError as found:
                return str(found).rstrip(".")
            return None

        well = arc.t_A
        for t in np.linspace(arc.t_A, arc.t_E, 5)[1:].tolist():
            found = problem(t)
            if found is None:
                well = t
                continue
            while t - well > 1e-12 * self.span:
                middle = 0.5 * (well + t)
                worse = problem(middle)
                well, t, found = (middle, t, found) if worse is None else (well, middle, worse)
            return well, found
        return None

    def _note(self, t: float, before: Mode, impacts: int) -> None:
        """Write down what happened at an event: impacts since then, and how each contact's state has changed."""
        struck = [row for row in self.impacts[impacts:] if self.kinds[int(row[1])] == CONTACT]
        self.happened += [(row[0], STRIKES, int(row[1])) for row in struck]
        changes = [(k, change(before, self.mode, k)) for k in range(self.system.n_contacts)]
        self.happened += [(t, kind, k) for k, kind in changes if kind is not None]

    def _count(self, event: Event) -> None:
        self.recent.append(event.t)
        self.book.counts["instants"] += 1
        while self.recent and self.recent[0] < event.t - WINDOW * self.span:
            self.recent.popleft()
        if len(self.recent) > self.max_events:
            reason = self._stays_on_a_kink(event) or ENDLESS
            raise MotionError(event.t, too_many(self.max_events, self.span, reason))
        same = [time for time in list(self.recent)[-NO_PROGRESS:] if time >= event.t - 1e-13 * self.span]
        if len(same) >= NO_PROGRESS:
            raise MotionError(event.t, no_progress())

    def _stays_on_a_kink(self, event: Event) -> str:
        """Advice for a motion whose contact does not get off a corner of its gap; empty for other motions."""
        last = [row for row in self.happened[-20:] if row[1] == KINK and row[2] >= 0]
        if len(last) < 5:
            return ""
        name = self.system.contact_names[last[-1][2]]
        return (
            f"gap {name!r} has a corner that the motion stays in, between two faces; write each face as a contact "
            "of its own, min(a, b) as the two gaps a and b"
        )

    def go_back(self, kept: Kept) -> None:
        """Go back to the start of the arc of `kept`: `arcs` begins with it."""
        stand = kept.stand
        self._take(Event(stand.t, stand.y))
        self.mode, self.last_step, self.book, self.kept = kept.mode, kept.last_step, kept.book.copy(), kept
        self._branches[:] = kept.mode.branches
        self.force_scale, self.acceleration_scale = kept.force_scale, kept.acceleration_scale
        self.recent = deque(kept.recent)
        self.blows = deque(kept.blows, maxlen=MEMORY)
        self.watch = self._watcher(kept.tolerances, stand.armed.copy())
        self.watch.grazes = stand.grazes
        self.stand, self.grazes_before = stand, kept.grazes_before

    # -- events ----------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Project the start onto penetrated contacts, let approaching contacts collide, and find the first mode."""
        self._open_gates(
            self.plain.start_gap(self.q, self.t, self.p[: len(self.plain.parameter_names)]) <= self.gap_tol
        )
        g = self.system.gap(self.q, self.t, self.p)
        near = np.flatnonzero((self.kinds == CONTACT) & (g <= self.gap_tol))
        self._project(near)
        gamma, size = relative_velocities(self.system, self.t, self.q, self.u, self.p)
        meets = np.union1d(near, np.flatnonzero(self.kinds == CLUTCH)).astype(int)  # a drive that overtakes hits, too
        hits = gamma[meets, 0] < -ROUND_OFF * size[meets, 0]
        closed, sense = touching(self.system, self.t, self.q, self.u, self.u, self.p, self.gap_tol, self.mode)
        sense = np.where(self.kinds == SPRING, np.where(np.abs(g) > self.gap_tol, np.sign(g), sense), sense)
        self.mode = Mode(closed, sense, *self.mode.constraints)
        if np.any(hits):
            closed, sense = self._impact()
        self._settle(closed, sense, stopped=self.stopped)

    def _act(self, event: Event) -> None:
        """Find the mode that follows an event."""
        mode, kinds = self.mode, self.kinds
        forces = self._forces(event)
        self._take(event)
        closed, sense = mode.closed.copy(), mode.sense.copy()
        n = self.system.n_contacts
        kinks = [k - n for k, _ in event.slots if k >= n]
        if kinks:  # what else happens at this instant is found after it
            closed, sense, collided = self._turn(kinks)
            self._settle(closed, sense, stopped=self.stopped if collided else None)
            return
        closing = [k for k, part in event.slots if part == 0 and mode.normal[k] == 0 and kinds[k] == CONTACT]
        opened: list[int] = []
        stopped = np.zeros(self.system.n_contacts, bool)
        for k, part in event.slots:
            if part == 0 and mode.normal[k] == 0 and kinds[k] == CLUTCH:
                closed[k] = True
            elif part == 0 and mode.normal[k] != 0 and abs(forces[k, 0]) <= 1e-3 * self._load_scale(k):
                opened.append(k)
            elif part == 1 and mode.stick[k] != 0:
                if not self._others_hold(k):
                    sense[k] = -np.sign(forces[k, 1])  # at the bound gamma_T' is zero: the LCP could not tell
            elif part == 1 and kinds[k] == SPRING:
                sense[k] = self._side(k)
            elif part == 1:
                sense[k] = 0.0
                stopped[k] = self.system.sliding_codes[k] == DEPENDS  # with GRABS the static coefficient may hold it
        if event.stuck or any(part == 0 and mode.normal[k] != 0 and k not in opened for k, part in event.slots):
            if not self._jam(closed, sense):
                raise MotionError(self.t, "the contact forces grow without bound, and no impact resolves it")
            return
        closing = [k for k in closing if not self._grazes(k)]
        if closing:
            self._project(np.union1d(closing, np.flatnonzero(closed & (kinds == CONTACT))).astype(int))
            closed, sense = self._impact()
            opened, stopped = [], self.stopped
        self._settle(closed, sense, opened, stopped)

    def _forces(self, event: Event) -> Array:
        """Contact forces lambda_N, lambda_T in the mode that ends, (n, 2)."""
        n = self.system.n_contacts
        return self._rates(event.t, event.y)[2 * self.f : 2 * self.f + 2 * n].reshape(2, n).T

    def _load_scale(self, k: int) -> float:
        """The size of contact k's load [N].

        A contact that takes over a load that is just changing sides is entered without any: there the largest forces
        of the run say what zero is.
        """
        return max(float(self.force_scale[k, 0]), FORCE_TOLERANCE * self.book.force)

    def _others_hold(self, k: int) -> bool:
        """Whether contacts at rest beside k can share the load anew, so that k, whose friction is at its bound, stays.

        With constant friction nothing depends on it: the force of a slip that others prevent is the static one.
        """
        mode = self.mode
        if not self.system.has_friction_laws or not np.any(mode.closed & (mode.sense == 0.0) & (mode.stick <= 0)):
            return False
        problem, solution = self._accelerations(mode.closed, mode.sense.copy())
        if solution is None:
            return False
        bound = problem.mu * solution.lambda_N + problem.a
        inside = np.zeros(self.system.n_contacts, bool)
        inside[problem.index] = np.abs(solution.lambda_T) < bound * (1.0 - AT_BOUND)
        after = mode_of(self.system, mode.closed, mode.sense, problem, solution)
        taken_over = (after.stick > 0) & (mode.stick <= 0)
        rests = after.closed[k] and after.sense[k] == 0.0 and (after.stick[k] <= 0 or inside[k])
        return bool(rests and np.all(inside[taken_over]))

    def _side(self, k: int) -> float:
        """The side on which a spring goes on that reached its rest position; 0 where it stays.

        It stays if it would be back within the time in which accumulating events are taken as one.
        """
        gamma, _ = relative_velocities(self.system, self.t, self.q, self.u, self.p)
        side, speed = float(np.sign(gamma[k, 1])), abs(float(gamma[k, 1]))
        sense = np.where(np.arange(len(self.kinds)) == k, side, self.mode.sense)
        solution = self._accelerations(self.mode.closed, sense)[1]
        if side == 0.0 or solution is None:
            return side
        back = -side * (self.system.geometry(self.q, self.t, self.p)[1][k] @ solution.du + self._zeta()[k, 1])
        return 0.0 if back > 0.0 and 2.0 * speed < self.zeno * self.span * back else side

    def _grazes(self, k: int) -> bool:
        """Whether a closing contact turns before it is gap_tol deep: nothing happens, and it must be seen again."""
        gamma, _ = relative_velocities(self.system, self.t, self.q, self.u, self.p)
        rise = self.system.geometry(self.q, self.t, self.p)[0][k] @ self.du_now() + self._zeta()[k, 0]
        speed = -float(gamma[k, 0])
        if not (speed <= 0.0 or (rise > 0.0 and speed * speed <= 2.0 * rise * self.gap_tol)):
            return False
        self.book.counts["grazes"] += 1
        self.grazed = self.t, k
        self.happened.append((self.t, GRAZES, k))
        self.disarmed.add((k, 0))
        return True
