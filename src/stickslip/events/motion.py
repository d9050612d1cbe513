"""From event to event: what happens where a mode ends, and the arcs between.

At an event the impact law, the acceleration problem and the rules for accumulating impacts, grazing and Painleve's
paradox decide on the next mode; `Motion.arcs` yields the smooth motion in between.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from stickslip.checks import Array
from stickslip.contact.planar import PlanarSolver
from stickslip.events.acceleration import AccelerationProblem, Accelerations
from stickslip.events.accumulation import MEMORY, Blow, accumulation
from stickslip.events.arcs import Arc, Event, Stand, Watch, smooth_arcs
from stickslip.events.book import EventBook, Kept, MotionError
from stickslip.events.modes import (
    AT_BOUND,
    ROUND_OFF,
    Mode,
    mode_of,
    onto_contacts,
    onto_velocities,
    relative_velocities,
    touching,
)
from stickslip.impacts.impact import Impact, impact_at
from stickslip.laws import ImpactLaw
from stickslip.laws.slip import CONSTANT, DEPENDS
from stickslip.mechanisms.system import CLUTCH, CONTACT, SPRING, System
from stickslip.trajectory import (
    ACCUMULATES,
    CLOSES,
    GRAZES,
    KINK,
    OPEN,
    OPENS,
    REVERSES,
    SLIPS,
    STICK,
    STICKS,
    STRIKES,
)

_FORCE_TOLERANCE = 1e-9  # of the forces that the free accelerations ask for
_RESOLUTION = 1e-8  # of the contact forces over the run: the step size follows them that well
_GAP_NOISE = 1e-15  # round-off of gaps that are made of numbers of size 1
_HOPS = 100.0  # times the round-off of gaps: hops that get no smaller any more
_WINDOW = 1e-3  # share of the run in which events are counted
_AHEAD = 1e-4  # of the last step: where a load that changes sides is looked at
_NO_PROGRESS = 60  # mode changes at one instant that end a run


def change(before: Mode, after: Mode, k: int) -> int | None:
    """What happened to contact k between two modes, a number of `EVENT_KINDS`; None where its state is the old one."""
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


@dataclass
class Motion:
    """The motion of a system from event to event.

    Attributes: kernel, the compiled template `smooth`; p, parameters; law, solver, eps_N for impacts; rtol,
    gap_tol, zeno, max_events as in `EventDriven`; t, y, mode, the present; impacts, rows of the impact table so far.
    """

    system: System
    kernel: Any
    p: Array
    law: ImpactLaw
    solver: PlanarSolver
    t: float
    q: Array
    u: Array
    t_end: float
    rtol: float
    atol: float
    gap_tol: float
    zeno: float
    max_events: int
    impacts: list[tuple[float, ...]] = field(default_factory=list)
    book: EventBook = field(default_factory=EventBook)

    def __post_init__(self) -> None:
        self.plain = self.system  # with the kinks that it has
        self.system = self.plain.branched
        self.p = np.concatenate([self.p, np.ones(len(self.system.kink_contacts))])
        system, n = self.system, self.system.n_contacts
        self._choose_branches()
        _, eps_N, eps_T, _ = system.laws(self.p)
        self.eps_N, _ = self.law.coefficients(eps_N, eps_T, system.contact_kinds, system.contact_names)
        self.kinds = np.array(system.contact_kinds, dtype=int)
        self.f, self.span = system.n_dof, self.t_end - self.t
        self.integrals = np.zeros(4 * n + 1)
        self.mode = Mode.free(n)
        self.disarmed: set[tuple[int, int]] = set()
        self.recent: deque[float] = deque()
        self.last_step: float | None = None
        self.du = np.zeros(self.f)
        self.stopped = np.zeros(n, bool)  # contacts that slipped before the last impact, by friction that depends on it
        self.hit: Impact | None = None  # the last impact
        self.watch: Watch | None = None
        self.stand: Stand | None = None  # where `arcs` goes on, in place of a start
        self.grazes_before = 0  # grazes counted before the present mode
        self.grazed = (self.t, 0)  # time [s] and contact of the last graze
        self.blows: deque[Blow] = deque(maxlen=MEMORY)  # collisions of late
        self.happened: list[tuple[float, int, int]] = []  # time [s], kind and contact of events, as in `EventTable`
        self.kept: Kept | None = None  # what the present arc began with

    # -- kinks ---------------------------------------------------------------------------------------------

    def in_mode(self, mode: Mode) -> Array:
        """The parameters in a mode: those of the system, and the branches of its kinks."""
        if not len(mode.branches):
            return self.p
        return np.concatenate([self.p[: -len(mode.branches)], mode.branches])

    @property
    def _branches(self) -> Array:
        return self.p[len(self.plain.parameter_names) :]

    def _kink_noise(self) -> float:
        """What a level of a kink may have of either sign right at the kink."""
        return 100.0 * _GAP_NOISE * max(1.0, float(np.abs(self.q).max(initial=0.0)))

    def _choose_branches(self) -> None:
        """Take the branches of the present state; right at a kink, the branch of the side to which the state moves."""
        for _ in self.system.kink_contacts:  # levels of some kinks depend on other branches
            levels, noise = self.system.kinks(self.q, self.t, self.p), self._kink_noise()
            ahead = self.system.kinks(self.q + 1e-6 * self.u, self.t + 1e-6, self.p)
            sides = np.where(np.abs(levels) > noise, levels, np.where(np.abs(ahead) > noise, ahead, 1.0))
            if np.array_equal(np.sign(sides), self._branches):
                break
            self._branches[:] = np.sign(sides)

    def _turn(self, kinks: list[int]) -> tuple[np.ndarray, Array, bool]:
        """Pass kinks: the directions of contacts jump, and with them their velocities.

        Contacts that touch and now approach collide; those that part open; the others stay.  Returns closed contacts
        and their sense of slip, and whether there was an impact.
        """
        self._branches[kinks] *= -1.0
        touched = {k for j in kinks for k in self.system.kink_contacts[j]}
        self.happened += [(self.t, KINK, k) for k in touched or {-1}]
        gamma, size = relative_velocities(self.system, self.t, self.q, self.u, self.p)
        near = (self.kinds == CONTACT) & (self.system.gap(self.q, self.t, self.p) <= self.gap_tol)
        if np.any(near & (gamma[:, 0] < -ROUND_OFF * size[:, 0])):
            return *self._impact(), True
        return *touching(self.system, self.t, self.q, self.u, self.u, self.p, self.gap_tol, self.mode), False

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
            self.kept = Kept(
                arc.stand, arc.mode, watch.tol, self.force_scale, self.acceleration_scale, tuple(self.recent),
                last_step, book, self.grazes_before, tuple(self.blows), len(self.happened),
            )  # fmt: skip
            if arc.t_E > arc.t_A:
                self.last_step = arc.t_E - arc.t_A
            self.book.counts["steps"] += 1
            self.book.counts["grazes"] = self.grazes_before + watch.grazes
            if watch.grazed is not None:
                self.grazed, watch.grazed = watch.grazed, None
                self.happened.append((self.grazed[0], GRAZES, self.grazed[1]))
            self.book.work = float(arc.vector(arc.t_E)[-1])
            yield arc

    # -- checkpoints -----------------------------------------------------------------------------------------

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

    def _note(self, t: float, before: Mode, impacts: int) -> None:
        """Write down what happened at an event: impacts since then, and how each contact's state has changed."""
        self.happened += [(row[0], STRIKES, int(row[1])) for row in self.impacts[impacts:]]
        changes = [(k, change(before, self.mode, k)) for k in range(self.system.n_contacts)]
        self.happened += [(t, kind, k) for k, kind in changes if kind is not None]

    # -- equations of the mode -------------------------------------------------------------------------------

    def _vector(self) -> Array:
        return np.concatenate([self.q, self.u, self.integrals])

    def _take(self, event: Event) -> None:
        self.t = event.t
        self.q, self.u, self.integrals = (part.copy() for part in np.split(event.y, [self.f, 2 * self.f]))

    def _rates(self, t: float, y: Array) -> Array:
        out = np.empty(len(y))
        self.kernel.rates(t, y, self.p, self.mode.constraints, out)
        return out

    def _indicators(self, t: Array, y: Array) -> Array:
        n, kinks = self.system.n_contacts, len(self.system.kink_contacts)
        out = np.empty((len(t), n, 3))
        self.kernel.indicators(t, y, self.p, self.mode.constraints, out)
        if not kinks:
            return out
        levels = np.full((len(t), kinks, 3), np.inf)  # after the contacts
        for i in range(len(t)):
            levels[i, :, 0] = self._branches * self.system.kinks(y[i, : self.f], float(t[i]), self.p)
        return np.concatenate([out, levels], axis=1)

    def _atol(self) -> Array:
        n = self.system.n_contacts
        forces = np.where(self.force_scale > 0.0, _RESOLUTION * self.force_scale * self.span, np.inf)
        motion = np.full(2 * self.f, self.atol)
        return np.concatenate([motion, forces[:, 0], forces[:, 1], np.full(2 * n, self.gap_tol), [np.inf]])

    def _watch(self) -> Watch:
        """The indicators of the present mode, with their tolerances."""
        mode, n = self.mode, self.system.n_contacts
        _, size = relative_velocities(self.system, self.t, self.q, self.u, self.p)
        # Not zero even at rest: a load that sets in after t must have made a velocity before its event is told from t.
        speed = ROUND_OFF * (size + 1e-2 * self.span * self.acceleration_scale) + 1e-2 * self.gap_tol / self.span
        force = _FORCE_TOLERANCE * self.force_scale
        tol = np.empty((n, 2))
        gap = np.where(mode.closed, self.gap_tol, self._gap_noise())  # what others hold closed stays so up to gap_tol
        tol[:, 0] = np.where(mode.normal != 0, force[:, 0], np.where(self.kinds == CONTACT, gap, speed[:, 0]))
        tol[:, 1] = np.where(mode.stick != 0, force[:, 1], np.where(self.kinds == SPRING, self.gap_tol, speed[:, 1]))
        tol = np.concatenate([tol, np.full((len(self.system.kink_contacts), 2), self._kink_noise())])
        values = self._indicators(np.array([self.t]), self._vector()[None])[0, :, :2]
        armed = values > tol
        for slot in self.disarmed:
            armed[slot], tol[slot] = False, self.gap_tol
        self.disarmed.clear()
        return self._watcher(tol, armed)

    def _watcher(self, tol: Array, armed: np.ndarray) -> Watch:
        gaps = (self.kinds == CONTACT) & (self.mode.normal == 0)
        gaps = np.append(gaps, np.zeros(len(self.system.kink_contacts), bool))
        return Watch(self._indicators, tol, gaps, armed, self.gap_tol)

    def _gap_noise(self) -> Array:
        """Round-off of the gaps, (n,) [m]: hops must be higher than that to be seen."""
        W_N, _, _ = self.system.geometry(self.q, self.t, self.p)
        return np.asarray(_GAP_NOISE * np.maximum(1.0, np.abs(W_N) @ np.abs(self.q)))

    def _first_step(self) -> float | None:
        """The last step, but a quarter of the flight of a contact that has just left: its hop must be seen."""
        W_N, _, w_hat = self.system.geometry(self.q, self.t, self.p)
        gamma_N = W_N @ self.u + w_hat[:, 0]
        rise = W_N @ self.du + self.system.drift(self.q, self.u, self.t, self.p)[:, 0]
        left = (self.kinds == CONTACT) & (self.mode.normal == 0) & (gamma_N > 0.0) & (rise < 0.0)
        left &= self.system.gap(self.q, self.t, self.p) <= self.gap_tol
        flights = 2.0 * gamma_N[left] / -rise[left]
        limits = [0.25 * float(flights.min())] if len(flights) else []
        limits += [] if self.last_step is None else [self.last_step]
        if not limits:
            return None
        return min(max(min(limits), 4.0 * np.spacing(abs(self.t) + self.span)), self.t_end - self.t)

    def _drifts(self, t: float, y: Array) -> bool:
        held = self.mode.closed & (self.kinds == CONTACT)
        return bool(np.any(np.abs(self.system.gap(y[: self.f], t, self.p)[held]) > 0.1 * self.gap_tol))

    def _count(self, event: Event) -> None:
        self.recent.append(event.t)
        self.book.counts["instants"] += 1
        while self.recent and self.recent[0] < event.t - _WINDOW * self.span:
            self.recent.popleft()
        if len(self.recent) > self.max_events:
            raise MotionError(
                event.t,
                f"more than {self.max_events} events within {_WINDOW * self.span:.3g} s: "
                + (
                    self._stays_on_a_kink(event)
                    or "contacts open and close or slip and stick without end; raise max_events, or use a time "
                    "stepper, which needs no events"
                ),
            )
        same = [time for time in list(self.recent)[-_NO_PROGRESS:] if time >= event.t - 1e-13 * self.span]
        if len(same) >= _NO_PROGRESS:
            raise MotionError(event.t, f"the mode changed {_NO_PROGRESS} times at this instant; no mode is consistent")

    def _stays_on_a_kink(self, event: Event) -> str:
        """What to say where a contact does not get off a corner of its gap."""
        last = [row for row in self.happened[-20:] if row[1] == KINK and row[2] >= 0]
        if len(last) < 5:
            return ""
        name = self.system.contact_names[last[-1][2]]
        return (
            f"gap {name!r} has a corner that the motion stays in, between two faces; write each face as a contact "
            "of its own, min(a, b) as the two gaps a and b"
        )

    # -- events ----------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Project the start onto penetrated contacts, let approaching contacts collide, and find the first mode."""
        g = self.system.gap(self.q, self.t, self.p)
        near = np.flatnonzero((self.kinds == CONTACT) & (g <= self.gap_tol))
        self._project(near)
        gamma, size = relative_velocities(self.system, self.t, self.q, self.u, self.p)
        hits = gamma[near, 0] < -ROUND_OFF * size[near, 0]
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
        return max(float(self.force_scale[k, 0]), _FORCE_TOLERANCE * self.book.force)

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

    def du_now(self) -> Array:
        """Accelerations at the present state in the present mode."""
        return self._rates(self.t, self._vector())[self.f : 2 * self.f]

    def _zeta(self) -> Array:
        return self.system.drift(self.q, self.u, self.t, self.p)

    def _project(self, index: np.ndarray) -> None:
        """Remove what is left of the gaps of closed contacts; its energy is booked."""
        before = self.q
        springs = (self.kinds == SPRING) & (self.mode.stick != 0)
        index = np.union1d(index, np.flatnonzero(springs)).astype(int)
        self.q = onto_contacts(self.system, self.t, self.q, self.p, index, self.kinds == SPRING)
        if np.any(self.q != before):
            energies = [sum(self.system.energy(q, self.u, self.t, self.p)) for q in (before, self.q)]
            self.book.projection_energy += energies[1] - energies[0]
            self.book.projections += 1

    def _impact(self) -> tuple[np.ndarray, Array]:
        """The impact law at the present state; closed contacts and their sense of slip after it."""
        before = self.u
        try:
            hit = impact_at(
                self.system,
                self.law,
                self.q,
                before,
                self.p,
                self.t,
                self.gap_tol,
                self.solver,
                np.abs(self.mode.stick),
            )
        except ValueError as problem:  # a law that has no answer here, such as Stronge's for two contacts at once
            raise MotionError(self.t, str(problem).rstrip(".")) from None
        if not hit.solved:
            raise MotionError(self.t, f"the impact was not solved: {hit.status}")
        self.hit, self.u = hit, hit.u
        gamma_A = np.stack([hit.normal_velocity_before, hit.tangential_velocity_before], axis=-1)
        gamma_E = np.stack([hit.normal_velocity_after, hit.tangential_velocity_after], axis=-1)
        Lambda = np.stack([hit.normal_impulse, hit.tangential_impulse], axis=-1)
        work = self._book_impulses(Lambda, gamma_A, gamma_E)
        if work > self.book.gain:
            self.book.gain, self.book.gain_time = work, self.t
        self.book.residual = max(self.book.residual, float(hit.residual))
        for k in np.flatnonzero((self.kinds == CONTACT) & (Lambda[:, 0] > 0.0)):
            self.impacts.append(
                (self.t, float(k), gamma_A[k, 0], gamma_E[k, 0], *Lambda[k], gamma_A[k, 1], gamma_E[k, 1])
            )
        closed, sense = touching(self.system, self.t, self.q, self.u, before, self.p, self.gap_tol, self.mode)
        _, size = relative_velocities(self.system, self.t, self.q, before, self.p)
        moved = np.abs(gamma_A[:, 1]) > ROUND_OFF * size[:, 1]
        self.stopped = moved & (np.array(self.system.sliding_codes, dtype=int) == DEPENDS)
        hits = np.flatnonzero(
            (self.kinds == CONTACT) & (Lambda[:, 0] > 0.0) & (gamma_A[:, 0] < -ROUND_OFF * size[:, 0])
        )
        first = not self.blows or self.blows[-1].contacts != tuple(hits.tolist())
        closed, sense = self._accumulated(closed, sense, Lambda[:, 0] > 0.0)
        if len(hits) and first:
            self.blows.append(Blow(self.t, tuple(hits.tolist()), float(-gamma_A[hits, 0].min())))
            return self._accumulated_together(closed, sense)
        return closed, sense

    def _book_impulses(self, Lambda: Array, gamma_A: Array, gamma_E: Array) -> float:
        """Add impulses to those of the run; return their work [J]."""
        n = self.system.n_contacts
        self.integrals[:n] += Lambda[:, 0]
        self.integrals[n : 2 * n] += Lambda[:, 1]
        work = float((Lambda * 0.5 * (gamma_A + gamma_E))[self.kinds != SPRING].sum())
        self.integrals[-1] += work
        self.book.work = float(self.integrals[-1])
        return work

    def _accumulated(self, closed: np.ndarray, sense: Array, struck: np.ndarray) -> tuple[np.ndarray, Array]:
        """Close the contacts whose remaining impacts would all come within zeno * span.

        Contact i, thrown up with gamma_N and pulled back with gamma_N' < 0, comes to rest after
        2 gamma_N / (|gamma_N'| (1 - eps_N)), [S00] section 4.2; the velocity it has is taken by `onto_velocities`.
        """
        gamma, size = relative_velocities(self.system, self.t, self.q, self.u, self.p)
        for i in np.flatnonzero(struck & ~closed & (self.kinds == CONTACT)):
            _, solution = self._accelerations(closed, sense.copy())
            if solution is None:
                break
            rise = self.system.geometry(self.q, self.t, self.p)[0][i] @ solution.du + self._zeta()[i, 0]
            short = 2.0 * gamma[i, 0] < -rise * (1.0 - self.eps_N[i]) * self.zeno * self.span
            if short or gamma[i, 0] ** 2 < -2.0 * rise * 10.0 * self._gap_noise()[i]:  # or lower than round-off
                closed[i] = True
                sense[i] = np.sign(gamma[i, 1]) if abs(gamma[i, 1]) > ROUND_OFF * size[i, 1] else 0.0
                rest = 2.0 * gamma[i, 0] / max(-rise * (1.0 - self.eps_N[i]), 1e-300)
                self.happened.append((self.t + rest, ACCUMULATES, int(i)))
        return closed, sense

    def _accumulated_together(self, closed: np.ndarray, sense: Array) -> tuple[np.ndarray, Array]:
        """Close contacts that strike in turns, ever more often, where the blows to come cannot be told from rest.

        They cannot where gaps stay below gap_tol, or the last blow comes within zeno * span. The contacts are at rest
        only if the forces then press all of them together. Their mean velocity over a cycle is zero already, so that
        closing them here moves nothing; the time at which the blows end is kept in the list of events.
        """
        found = accumulation(tuple(self.blows), _HOPS * float(self._gap_noise().max()))
        if found is None or not (found.height < self.gap_tol or found.rest < self.zeno * self.span):
            return closed, sense
        index = np.array(found.contacts)
        gamma, _ = relative_velocities(self.system, self.t, self.q, self.u, self.p)
        both, slides = closed.copy(), sense.copy()
        both[index] = True
        slips = np.abs(gamma[:, 1]) > self.system.laws(self.p)[0] * np.abs(gamma[:, 0])
        new = both & ~closed
        slides[new] = np.where(slips, np.sign(gamma[:, 1]), 0.0)[new]
        if np.any(self.system.gap(self.q, self.t, self.p)[index] > self.gap_tol):
            return closed, sense
        problem, solution = self._accelerations(both, slides.copy())
        if solution is None:
            return closed, sense
        rise = np.zeros(len(both))
        rise[problem.index] = solution.rise - ROUND_OFF * problem.scale(solution)[:, 0]
        if np.any(rise[index] > 0.0):
            return closed, sense
        self.blows.clear()
        self.book.accumulation_error = max(self.book.accumulation_error, found.error)
        self.happened += [(self.t + found.rest, ACCUMULATES, int(k)) for k in index]
        return both, slides

    # -- the next mode ---------------------------------------------------------------------------------------

    def _accelerations(
        self, closed: np.ndarray, sense: Array, stopped: np.ndarray | None = None
    ) -> tuple[AccelerationProblem, Accelerations | None]:
        """The acceleration problem and its solution, None where there is none.

        Candidates whose friction depends on slip and that are let go get the coefficient of a slip that begins, and the
        sense of it is put into `sense`.
        """
        index = np.flatnonzero(closed)
        for _ in range(1 + len(index)):
            problem = AccelerationProblem.at(self.system, self.t, self.q, self.u, self.p, index, sense[index], stopped)
            solution = problem.solve()[0]
            if solution is None or not self.system.has_friction_laws:
                break
            loose = problem.candidate & (np.abs(solution.slide) > ROUND_OFF * problem.scale(solution)[:, 1])
            loose &= np.array(self.system.sliding_codes)[index] != CONSTANT
            if not loose.any():
                solution = problem.least_friction(solution, ROUND_OFF)
                break
            sense[index[loose]] = np.sign(solution.slide[loose])
        return problem, solution

    def _settle(
        self, closed: np.ndarray, sense: Array, opened: list[int] | None = None, stopped: np.ndarray | None = None
    ) -> None:
        """Solve the acceleration problem of the closed contacts and enter the mode it leads to.

        Contacts in `opened` have lost their load: they are left out, and put back where they would be pressed in.
        Those in `stopped` have just come to rest by friction that depends on slip, which decides whether they stick.
        """
        self._project(np.flatnonzero(closed & (self.kinds == CONTACT)))
        gamma_A, _ = relative_velocities(self.system, self.t, self.q, self.u, self.p)
        self.u, Lambda = onto_velocities(self.system, self.t, self.q, self.u, self.p, closed, sense)
        gamma_E, _ = relative_velocities(self.system, self.t, self.q, self.u, self.p)
        self._book_impulses(Lambda, gamma_A, gamma_E)
        kept = self._hand_over(closed, sense, opened, stopped) if opened else np.zeros(len(closed), bool)
        problem, solution = self._accelerations(closed, sense, stopped)
        sense[~closed] = 0.0
        if solution is None:
            if not self._jam(closed, sense):
                raise MotionError(
                    self.t, f"no accelerations exist with {int(closed.sum())} closed contacts, nor an impact"
                )
            return
        self._enter(mode_of(self.system, closed, sense, problem, solution, kept), problem, solution)

    def _hand_over(self, closed: np.ndarray, sense: Array, opened: list[int], stopped: np.ndarray | None) -> np.ndarray:
        """Where contacts have lost their load: which close, which stay closed (changes `closed`), which carry, (n,).

        Right here the load is zero, up to a round-off of either sign.  The acceleration problem a little later says
        where it goes: contacts of no gap and no velocity, such as the other wall of a slot, may take it over.
        """
        gamma, size = relative_velocities(self.system, self.t, self.q, self.u, self.p)
        gap = self.system.gap(self.q, self.t, self.p)
        touch = (
            (self.kinds == CONTACT) & ~closed & (gap <= self.gap_tol) & (np.abs(gamma[:, 0]) <= ROUND_OFF * size[:, 0])
        )
        slides = np.abs(gamma[:, 1]) > ROUND_OFF * size[:, 1]
        sense[touch] = np.where(slides, np.sign(gamma[:, 1]), 0.0)[touch]
        closed[touch], closed[opened] = True, False
        ahead = min(_AHEAD * (self.last_step or self.span), self.t_end - self.t)
        here, du = (self.t, self.q, self.u), self.du_now()
        self.t, self.q, self.u = self.t + ahead, self.q + ahead * self.u, self.u + ahead * du
        try:
            problem, solution = self._accelerations(closed, sense.copy(), stopped)
            if solution is not None:
                rise = self.system.geometry(self.q, self.t, self.p)[0] @ solution.du + self._zeta()[:, 0]
                pressed = [k for k in opened if rise[k] < -1e-6 * self.acceleration_scale[k, 0]]
                if pressed:
                    closed[pressed] = True
                    problem, solution = self._accelerations(closed, sense.copy(), stopped)
        finally:
            self.t, self.q, self.u = here
        carries = np.zeros(len(closed), bool)
        if solution is not None:
            carries[problem.index] = solution.lambda_N * problem.alpha > ROUND_OFF * problem.scale(solution)[:, 0]
        closed &= carries | ~touch
        return carries

    def _enter(self, mode: Mode, problem: AccelerationProblem, solution: Accelerations) -> None:
        self.mode = replace(mode, branches=self._branches.copy())
        self.book.residual = max(self.book.residual, problem.residual(solution))
        self.book.lcp_size = max(self.book.lcp_size, problem.rows)
        self.book.counts["indeterminate"] += int(problem.indeterminate)
        n = self.system.n_contacts
        self.force_scale, self.acceleration_scale = np.zeros((n, 2)), np.zeros((n, 2))
        alpha, beta = (np.where(x > 0.0, x, np.inf) for x in (problem.alpha, problem.beta))
        bound = problem.mu * solution.lambda_N + problem.a
        forces = np.stack([solution.lambda_N, np.maximum(np.abs(solution.lambda_T), bound)], axis=-1)
        self.force_scale[problem.index] = problem.size / np.stack([alpha, beta], axis=-1) + forces
        self.acceleration_scale[problem.index] = problem.scale(solution)
        self.book.force = max(self.book.force, float(self.force_scale.max(initial=0.0)))
        self.du = self.du_now()
        error = float(np.abs(self.du - solution.du).max(initial=0.0))
        size = float(np.abs(solution.du).max(initial=0.0)) + float(np.abs(problem.free).max(initial=0.0))
        size += 1e-3 * self.book.force * float(np.abs(problem.V_N).max(initial=0.0))  # all is zero at a change of sides
        if not error <= 1e-6 * size:
            raise MotionError(self.t, f"the mode's accelerations differ from those of its problem by {error:.1e}")

    def _jam(self, closed: np.ndarray, sense: Array) -> bool:
        """An impact without collision where no finite forces exist, [PG05] section 6; False if that is none, either."""
        if not np.any(closed & (self.kinds == CONTACT)):
            return False
        before = len(self.impacts)
        closed, sense = self._impact()
        self.book.counts["impacts without collision"] += 1
        if len(self.impacts) == before:
            return False
        self._settle(closed, sense, stopped=self.stopped)
        return True
