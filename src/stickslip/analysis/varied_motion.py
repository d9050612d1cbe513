"""A motion from event to event with its derivatives by parameters and start: variational equations and exact jumps.

With x = (q, u), the field f of a mode, and X = dx/dz for the quantities z that are asked for,

    between events   X' = A X + B,   A = f_x, B = f_p
    at an event      dt* = -(g_x X- + g_p) / (g_x f- + g_t)                 how the event moves in time
                     X+ = R_x X- + R_p + (R_x f- + R_t - f+) dt*            x+ = R(x-, t, p), identity without impact

f+ is the field of the mode that really follows.  References: Aizerman and Gantmakher 1958; Müller 1995; Leine and
Nijmeijer 2004.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.analysis.collocation import NODES, STAGES, collocated
from stickslip.analysis.doubted_terms import (
    doubt_corners_of_parameters,
    doubt_ranges,
    has_inverses,
    has_rough_powers,
    named,
)
from stickslip.analysis.linearised_motion import MARGIN, LinearisedMotion
from stickslip.analysis.saltation import Undefined
from stickslip.analysis.shared_loads import holds_with_room, implied
from stickslip.analysis.velocity_corners import VelocityCorners
from stickslip.checks import Array
from stickslip.events.acceleration import AccelerationProblem, Accelerations
from stickslip.events.arcs import Arc, Event
from stickslip.events.modes import ROUND_OFF, Mode, relative_velocities
from stickslip.events.motion import change
from stickslip.mechanisms.system import CLUTCH, CONSTRAINT, CONTACT, SPRING
from stickslip.trajectory import ACCUMULATES, EVENT_KINDS, GRAZES, KINK, STRIKES

PIECES = 2  # collocation steps per arc, at least
_GRAZING = 1e-7  # a rate of a guard below this share of its terms
_TOGETHER = 1e-6  # times of coinciding events may move apart by this share
_ROUNDING = 1e-13  # share of the run by which times that a quantity does not move seem to move
_AT_ONCE = 1e-10  # share of the run: events that near are at once
_GRADES = 0.25 ** np.arange(1, 15)  # where steps end beside a singular kink, in shares of an arc
_RESOLVED = 4096.0 * np.finfo(float).eps  # share of the time that a piece must have: states at its nodes round off
_BLURRED = 1e-7  # share by which derivatives of functions with corners may be wrong
_SAME_FIELD = 1e-9  # fields that differ by less than this share are one


@dataclass(frozen=True, eq=False)
class Moment:
    """An event of a motion: t [s], its derivatives dt (k,), kind as in `EVENT_KINDS`, contacts by name.

    smooth : states and accelerations are the same on both sides of it, such as where a contact opens
    """

    t: float
    dt: Array
    kind: str
    contacts: tuple[str, ...]
    smooth: bool = False


@dataclass
class VariedMotion(LinearisedMotion):
    """A motion that carries the derivatives X = dx/dz, (2 f, k), of its state from event to event.

    Attributes
    ----------
    moments : events so far, with the derivatives of their times
    pushes : of every row of `impacts`: derivatives (2, k) of normal and tangential impulse, and of the time (k,)
    defect : largest relative violation of the linearised equations of closed contacts behind an event
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.moments: list[Moment] = []
        self.pushes: list[tuple[Array, Array]] = []
        self.defect = 0.0
        self.vague = 0.0  # time [s] whose round-off is that of the last event: its indicator has a round-off, too
        self.edges: list[tuple[float, str]] = []  # corners of laws that the last mode was entered at
        self.velocity_corners = None if self.corners is None else VelocityCorners(self.corners, self.system.force)
        self.rough = has_rough_powers(self)
        self.compares = (
            self.rough or has_inverses(self) or not self.slopes.exact
        )  # corners may be where nobody knows of them
        self.blur: tuple[Any, Any, float, float] | None = None  # see `_compare`
        self.told_corner = False  # a motion on a corner is told once

    # -- between events --------------------------------------------------------------------------------------

    def tangents(self, times: Array) -> Iterator[tuple[int, Array, Array]]:
        """Follow the motion; yields the number of every one of `times` (rising), the state x (2 f,) and X there."""
        grazes, done = 0, 0
        arc: Arc | None = None
        for arc in self.arcs():
            self.passed.clear()
            grazes = self._doubt_grazes(grazes)
            self._doubt_touched_kinks(arc)
            last = arc.t_E >= self.t_end
            stop = len(times) if last else int(np.searchsorted(times, arc.t_E, side="left"))
            inside = np.minimum(times[done:stop], arc.t_E)
            states = arc.vector(inside)[:, : 2 * self.f] if len(inside) else inside
            carried = self._carry(arc, inside)
            for k, number in enumerate(range(done, stop)):
                self.X = next(carried)
                yield number, states[k], self.X
            self.X = next(carried)
            done = stop
            if self._on_a_corner(arc):
                self._doubt_corners(arc)
        self._doubt_last(arc)

    def _on_a_corner(self, arc: Arc) -> bool:
        """Whether a motion lies on a corner of its forces in velocities all along an arc."""
        if self.velocity_corners is None or self.told_corner or not self.velocity_corners.of_forces:
            return False
        times = np.linspace(arc.t_A, arc.t_E, 3)
        states = arc.vector(times)[:, : 2 * self.f]
        on = [self.velocity_corners.on(float(t), x, self.p) for t, x in zip(times, states, strict=True)]
        return bool(np.any(on[0] & on[1] & on[2]))

    def _doubt_corners(self, arc: Arc) -> None:
        """Doubt a motion on a corner of its forces, where a change bends them."""
        assert self.velocity_corners is not None
        x = arc.vector(arc.t_E)[: 2 * self.f]
        if np.all(np.isfinite(self.X)) and self.velocity_corners.bends(arc.t_E, x, self.p, self.X, self.directions):
            self.doubt(arc.t_A, "the motion lies right on a corner of its forces: the derivative holds on one side")
            self.told_corner = True

    def _doubt_grazes(self, seen: int) -> int:
        """Doubt a motion that has grazed since `seen` grazes; returns how many there are."""
        if self.book.counts["grazes"] > seen:
            time, k = self.grazed
            self.doubt(time, f"contact {self.names[k]!r} grazes: to one side the derivative is infinite")
        return int(self.book.counts["grazes"])

    def _carry(self, arc: Arc, stops: Array) -> Iterator[Array]:
        """X' = A X + B along an arc: X at the stops, times within the arc, and at its end."""
        X = self.X
        if not X.shape[1] or not np.all(np.isfinite(X)):
            for _ in range(len(stops) + 1):
                yield X
            return
        edges, asked = self._edges(arc, stops)
        pieces = np.diff(edges) * PIECES / max(arc.t_E - arc.t_A, 1e-300)
        found = [*self._collocated(arc, edges, pieces)]
        if self.compares:
            self._compare(
                arc.t_A, found[-1], [*self._collocated(arc, edges, 2.0 * np.maximum(1.0, np.ceil(pieces - 1e-9)))][-1]
            )
        yield from (X for X, wanted in zip(found, asked, strict=True) if wanted)

    def _collocated(self, arc: Arc, edges: Array, share: Array) -> Iterator[Array]:
        """X at the edges, times of an arc, behind the first; `share` collocation steps in between, rounded up."""
        X, lengths = self.X, np.maximum(np.diff(edges), 0.0)
        pieces = np.where(lengths > 0.0, np.maximum(1, np.ceil(share - 1e-9)), 0).astype(int)
        h = np.repeat(lengths / np.maximum(pieces, 1), pieces)
        number = np.arange(len(h)) - np.repeat(np.cumsum(pieces) - pieces, pieces)  # of a piece between two edges
        begins = np.repeat(edges[:-1], pieces) + number * h
        times = (begins[:, None] + h[:, None] * NODES).ravel()
        n = 2 * self.f
        A, B = self.linear(times, arc.vector(times)[:, :n], arc.mode) if len(times) else (None, None)
        piece = 0
        for count in pieces:
            for _ in range(count):
                assert A is not None and B is not None
                here = slice(piece * STAGES, (piece + 1) * STAGES)
                X = collocated(X, A[here], B[here], h[piece])
                piece += 1
            yield X

    def _compare(self, t: float, X: Array, fine: Array) -> None:
        """Keep by how much X differs from that of collocation steps of half the length, along an arc from t."""
        apart = np.abs(X - fine).max(axis=0)
        blurred, largest, worst, when = self.blur if self.blur is not None else (0.0, 0.0, 0.0, t)
        self.blur = (
            blurred + apart, np.maximum(largest, np.abs(X).max(axis=0)), *max((worst, when), (float(apart.max()), t))
        )  # fmt: skip

    def _doubt_functions(self) -> None:
        """Doubt functions and powers where collocation steps of half the length give another X: they have corners.

        Of other expressions corners are known, and steps end there.
        """
        if self.blur is not None and np.any(self.blur[0] > _BLURRED * self.blur[1]):
            share = float(np.max(self.blur[0] / np.maximum(self.blur[1], 1e-300)))
            what = "powers or inverses" if self.slopes.exact else "functions"
            self.doubt(
                self.blur[3], f"{what} of {self.system.name!r} have a corner: the derivative is good to {share:.0e}"
            )

    def _edges(self, arc: Arc, stops: Array) -> tuple[Array, np.ndarray]:
        """Begin of an arc, stops, passed corners of forces in velocities, and its end; which but the first are stops.

        The end is one of them.
        """
        cuts = self._cuts(arc)
        if self.rough:  # A grows without bound, or has a slope that does, beside a kink
            ends = [t for t in (arc.t_A, arc.t_E) if self._kinks_at(t, arc.vector(t)[: self.f])]
            grades = (arc.t_E - arc.t_A) * _GRADES
            grades = grades[grades > _RESOLVED * abs(arc.t_E)]
            around = np.array([*cuts, *ends])[:, None] + np.outer([-1.0, 1.0], grades).ravel()
            cuts = [*cuts, *around[(arc.t_A < around) & (around < arc.t_E)]]
        times = np.concatenate([stops, cuts])
        order = np.argsort(times, kind="stable")
        asked = np.concatenate([(np.arange(len(times)) < len(stops))[order], [True]])
        return np.concatenate([[arc.t_A], times[order], [arc.t_E]]), asked

    def _cuts(self, arc: Arc) -> list[float]:
        """Times inside an arc at which corners of forces in velocities are passed; doubts where they are only touched.

        A touch is a crossing and its way back, or none: which of them, the motion is not known well enough to tell.
        """
        if self.velocity_corners is None:
            return []
        passed = self.velocity_corners.passed(arc, self.p)
        for number in passed.open:
            text = str(named(self.velocity_corners.corners.expressions[number], self))[:60]
            self.doubt(arc.t_A, f"where the motion passes the corner {text} = 0 of its forces cannot be told")
        if passed.touches and np.all(np.isfinite(self.X)):
            for time, number in passed.touches:
                self._doubt_touch(arc, time, number)
        return passed.times

    def _doubt_touch(self, arc: Arc, time: float, number: int) -> None:
        """Doubt a motion that touches a corner where a change moves it off."""
        assert self.velocity_corners is not None
        k, x = self.velocity_corners.corners.contacts[number], arc.vector(time)[: 2 * self.f]
        slips = k >= 0 and arc.mode.slip[k] != 0.0 and arc.mode.stick[k] == 0
        if slips or (k < 0 and self.velocity_corners.bends(time, x, self.p, self.X, self.directions)):
            text = str(named(self.velocity_corners.corners.expressions[number], self))[:60]
            self.doubt(time, f"the motion touches the corner {text} = 0 of its forces: the derivative is one-sided")

    # -- the start -------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        q, u = self.q.copy(), self.u.copy()
        super()._begin()
        self._begin_slopes(q, u)

    def _begin_slopes(self, q: Array, u: Array) -> None:
        """X of the start that the motion has just moved from (q, u) onto its contacts."""
        f, n, X = self.f, 2 * self.f, self.X
        D = np.concatenate([X, np.zeros((1, X.shape[1])), self.directions])
        p = self.in_mode(self.mode)
        start = np.concatenate([q, u, [self.t], p])
        gaps = self.system.gap(q, self.t, p)
        near = np.flatnonzero((self.kinds == CONTACT) & (gaps <= self.gap_tol))
        D[:f] = self.slopes.placing(start, D, near, self.q)
        here = np.concatenate([self.q, u, [self.t], p])
        self._doubt_start(here, D, X, gaps, near)
        self._doubt_constraints(here, X)
        if self.hit is not None:
            D[f:n], _, impulses = self._impact_slopes(here, D)
            self._book_pushes(impulses, np.zeros(X.shape[1]))
            here[f:n] = self.hit.u
        assert self.settled is not None
        closed, sense = self.settled
        D[f:n] = self._landing_slopes(here, D, closed & self.mode.closed, sense)
        doubt_ranges(self, here)
        doubt_corners_of_parameters(self)
        self.X = D[:n]
        self._raise_edges()
        self._doubt_kinks(())

    def _doubt_start(self, z: Array, D: Array, X: Array, gaps: Array, near: np.ndarray) -> None:
        """Doubt columns that move a contact which touches at the start: to one side it opens."""
        system, n = self.system, 2 * self.f
        moved = np.concatenate([X, D[n:]])
        size = np.maximum(np.abs(moved).max(initial=0.0), 1e-300)
        ajar = z.copy()  # gaps of contacts that may not close now as well: a change may let them
        ajar[len(z) - len(self._branches) :][[j for j, _ in self._gates]] = 1.0
        gaps = np.where(gaps <= self.gap_tol, gaps, system.gap(self.q, self.t, ajar[n + 1 :]))
        rates = self.slopes.slopes(self.slopes.gap, ajar[:, None], moved)[:, 0, :]
        gamma, scale = relative_velocities(system, self.t, self.q, z[self.f : n], self.p)
        turns = self.slopes.slopes(
            lambda Z: self.slopes.parts(Z).gamma.reshape(2 * self.slopes.n, Z.shape[1]), z[:, None], D
        )
        turns = turns[:, 0, :].reshape(self.slopes.n, 2, D.shape[1])
        for k in range(system.n_contacts):
            touches = self.kinds[k] == CONTACT and abs(gaps[k]) <= self.gap_tol
            rests = self.kinds[k] == SPRING and abs(gaps[k]) <= self.gap_tol
            for j in range(D.shape[1]):
                if (touches or rests) and abs(rates[k, j]) > 1e-12 * size:
                    self.doubt(
                        self.t,
                        f"the start touches contact {self.names[k]!r}, and {self.columns[j]!r} moves its gap: the "
                        "derivative is that of starts kept on the contact",
                    )
                still = abs(gamma[k, 0]) <= ROUND_OFF * max(scale[k, 0], 1e-300)
                hard = self.kinds[k] == CLUTCH or k in near
                if hard and still and abs(turns[k, 0, j]) > 1e-12 * np.abs(D[:, j]).max():
                    self.doubt(
                        self.t,
                        f"the start rests on contact {self.names[k]!r}, and {self.columns[j]!r} moves its normal "
                        "velocity: the derivative is that of starts kept on the contact",
                    )
                held = self.mode.closed[k] and self.mode.stick[k] > 0 and self.kinds[k] < CONSTRAINT
                if held and abs(turns[k, 1, j]) > 1e-12 * np.abs(D[:, j]).max() and not self._slip_dies(k):
                    self.doubt(
                        self.t,
                        f"contact {self.names[k]!r} sticks at the start, {self.columns[j]!r} moves its slip, and "
                        "such a slip does not die out at once: no derivative",
                    )
                slow = self.mode.closed[k] and self.mode.slip[k] != 0.0 and self.kinds[k] < CONSTRAINT
                slow = slow and abs(gamma[k, 1]) <= ROUND_OFF * max(scale[k, 1], 1e-300)
                if slow and self.kinds[k] != SPRING and abs(turns[k, 1, j]) > 1e-12 * np.abs(D[:, j]).max():
                    self.doubt(
                        self.t,
                        f"contact {self.names[k]!r} starts to slip from rest, and {self.columns[j]!r} moves its slip: "
                        "the derivative holds on one side",
                    )

    def _doubt_constraints(self, z: Array, X: Array) -> None:
        """Doubt columns that move the start off a constraint: no run begins there."""
        held = [k for k in self.system.constraints if self.kinds[k] == CONSTRAINT]
        if not held:
            return
        moved = np.concatenate([X, np.zeros((1, X.shape[1])), self.directions])
        rates = self.slopes.slopes(self.slopes.gap, z[:, None], moved)[:, 0]
        for k in held:
            for j in np.flatnonzero(np.abs(rates[k]) > 1e-12 * np.abs(moved).max(axis=0)):
                self.doubt(
                    self.t,
                    f"{self.columns[j]!r} moves the start off the constraint {self.names[k]!r}, where no run begins: "
                    "the derivative is that of starts put back onto it",
                )

    def _slip_dies(self, k: int) -> bool:
        """Whether a small slip of a sticking contact, either way, is stopped by friction."""
        assert self.settled is not None
        for side in (1.0, -1.0):
            sense = self.settled[1].copy()
            sense[k] = side
            problem, solution = self._accelerations(self.mode.closed.copy(), sense)
            if solution is None or not side * solution.slide[list(problem.index).index(k)] < 0.0:
                return False
        return True

    # -- events ----------------------------------------------------------------------------------------------

    def _enter(self, mode: Mode, problem: AccelerationProblem, solution: Accelerations) -> None:
        super()._enter(mode, problem, solution)
        self.edges = []
        scale = problem.scale(solution)
        scale = np.where(scale > 0.0, scale, 1.0)
        load = np.maximum(solution.lambda_N * problem.alpha, np.abs(solution.rise)) / scale[:, 0]
        room = problem.mu * solution.lambda_N + problem.a - np.abs(solution.lambda_T)
        hold = np.maximum(room * problem.beta, np.abs(solution.slide)) / scale[:, 1]
        for i, k in enumerate(problem.index):
            if self.mode.closed[k] and (self.mode.stick[k] < 0 or self._implied(problem, i)):
                continue
            if problem.normal[i] and load[i] < MARGIN:
                self.edges.append(
                    (self.t, f"contact {self.names[k]!r} is just loaded: the derivative holds on one side")
                )
            elif problem.candidate[i] and hold[i] < MARGIN and not self._others_hold_it(problem, solution, i):
                self.edges.append(
                    (
                        self.t,
                        f"friction of contact {self.names[k]!r} is at its bound: the derivative holds on one side",
                    )
                )

    def _others_hold_it(self, problem: AccelerationProblem, solution: Accelerations, i: int) -> bool:
        """Whether a contact at rest has its friction at the bound by a choice of shares alone."""
        rests = problem.candidate & (np.abs(solution.slide) <= MARGIN * problem.scale(solution)[:, 1])
        if not rests[i] or rests.sum() < 2:
            return False
        carries = (solution.lambda_N > 0.0) | ~problem.normal
        W, load = (problem.W_N, problem.W_T), (solution.lambda_N, solution.lambda_T)
        return bool(carries[i]) and holds_with_room(W, load, (problem.mu, problem.a), rests, carries)

    def _implied(self, problem: AccelerationProblem, i: int) -> bool:
        """Whether a closed contact has no equation of its own because others imply it."""
        k, mode = int(problem.index[i]), self.mode
        normal = problem.normal[i] and mode.normal[k] == 0
        tangential = problem.candidate[i] and mode.sense[k] == 0.0 and mode.stick[k] == 0
        if not normal and not tangential:
            return False
        rows = [problem.W_N[j] for j in range(len(problem.index)) if mode.normal[problem.index[j]] != 0]
        rows += [problem.W_T[j] for j in range(len(problem.index)) if mode.stick[problem.index[j]] > 0]
        return implied(np.array(rows), problem.W_N[i] if normal else problem.W_T[i])

    def _doubt_kinks(self, passed: tuple[int, ...]) -> None:
        """Doubt a motion right on a kink that a change moves it off; `passed` are the kinks of the event itself."""
        on = [j for j in self._kinks_at(self.t, self.q) if j not in passed]
        self._doubt_on(on, self.t, np.concatenate([self.q, self.u]))

    def _doubt_last(self, arc: Arc | None) -> None:
        """Doubt a motion that lies on a kink at both ends of its last arc, where no event has told of it.

        A change of a velocity, or of a force, moves it off the kink only as time goes on.
        """
        self._doubt_functions()
        if arc is not None and self.system.kink_contacts:
            begins, ends = arc.vector(arc.t_A), arc.vector(arc.t_E)
            on = set(self._kinks_at(arc.t_A, begins[: self.f])) & set(self._kinks_at(arc.t_E, ends[: self.f]))
            self._doubt_on(sorted(on), arc.t_E, ends[: 2 * self.f])

    def _doubt_touched_kinks(self, arc: Arc) -> None:
        """Doubt a motion that touches kinks inside an arc, where a change moves it off them."""
        touched = [(t, j) for t, j in self.touches if arc.t_A < t < arc.t_E and not self.system.kink_gates[j]]
        for t, j in touched:
            self._doubt_on([j], t, arc.vector(t)[: 2 * self.f])

    def _kinks_at(self, t: float, q: Array) -> list[int]:
        """Kinks that coordinates lie right on, but for those of contacts that may not close."""
        levels = self.system.kinks(q, t, self.p) if self.system.kink_contacts else np.zeros(0)
        near = np.flatnonzero(np.abs(levels) <= self._kink_noise()).tolist()
        return [j for j in near if not self.system.kink_gates[j]]

    def _doubt_on(self, on: list[int], t: float, x: Array) -> None:
        """Doubt a motion that is on kinks at x (2 f,) where a change moves it off them."""
        if not on or not np.all(np.isfinite(self.X)):
            return
        z = self.points(np.array([t]), x[None], self.mode)
        slopes = self.slopes.slopes(lambda Z: self.slopes.kinks(Z)[on], z, self.basis())[:, 0]
        n = 2 * self.f
        total = slopes[:, :n] @ self.X + slopes[:, n + 1 :]
        if np.abs(total).max(initial=0.0) > 1e-9 * np.abs(slopes).max() * np.abs(self.X).max(initial=0.0):
            self.doubt(t, "the motion lies right on a kink of forces or gaps: the derivative holds on one side")

    def _raise_edges(self) -> None:
        """Doubt the corners of laws at which the present mode was entered."""
        for time, reason in self.edges:
            self.doubt(time, reason)
        self.edges = []

    def _act(self, event: Event) -> None:
        before, jams, happened = self.mode, self.book.counts["impacts without collision"], len(self.happened)
        grazes = self.book.counts["grazes"]
        x = event.y[: 2 * self.f].copy()
        super()._act(event)
        if self.book.counts["impacts without collision"] > jams:
            self.lose(event.t, "an impact without collision: no derivative is known for it")
        self._pass(event, before, x, happened, grazes)
        columns = self.X.shape[1]  # what has no derivative is in the list as well
        self._book_pushes(np.full((self.system.n_contacts, 2, columns), np.nan), np.full(columns, np.nan))

    def _pass(self, event: Event, before: Mode, x: Array, happened: int, grazes: int) -> None:
        """Carry X over what has just happened, if anything has; `grazes`: how many there were before."""
        if not event.slots or self._only_gates(event) or not np.all(np.isfinite(self.X)):
            return
        if self.book.counts["grazes"] > grazes and self.hit is None and change_of(before, self.mode, event) is None:
            return  # seen by `tangents`
        try:
            self._jump(event, before, x, happened)
        except Undefined as problem:
            self.lose(event.t, str(problem))
        self._raise_edges()
        contacts = self.system.n_contacts
        self._doubt_kinks(tuple(k - contacts for k, _ in event.slots if k >= contacts))

    def _jump(self, event: Event, before: Mode, x: Array, happened: int) -> None:
        """Carry X over an event that the motion has just passed."""
        n, t, N = 2 * self.f, event.t, self.system.n_contacts
        f_A, f_E = self.field(t, event.y, before), self.field(self.t, self._vector(), self.mode)
        slots = list(event.slots)
        if self.hit is not None:
            slots = [s for s in slots if s[1] == 0 and (s[0] >= N or before.normal[s[0]] == 0)] or slots
        z, D = self.points(np.array([t]), x[None], before)[:, 0], self.basis()
        smooth = self.hit is None and self._same_field(t, x, f_A[self.f :], f_E[self.f :])
        moves = []
        for slot in slots:
            g, slope, terms = self._guard(z, D, before, slot, f_A)
            if not abs(slope) > _GRAZING * terms:
                if smooth:
                    moves.append(np.full(self.X.shape[1], np.nan))
                    continue
                raise Undefined(f"{self._slot_name(slot)} meets its event tangentially: it grazes")
            moves.append(-(g[:n] @ self.X + g[n + 1 :]) / slope)
            self.vague = float(np.abs(g[:n]) @ np.abs(z[:n]) / abs(slope))
        dt = moves[0]
        if len(event.slots) > 1 and not smooth:
            self._doubt_together(t, z, D, before, event, f_A, slots, moves)
        if self.hit is not None:
            self._doubt_beside(t, z, D, before, f_A, slots, dt)
        if self.moments and t - self.moments[-1].t <= _AT_ONCE * self.span and not smooth:
            last = self.moments[-1]
            if last.contacts != self._slot_contacts(slots) and self._parted(dt, last.dt):
                self.doubt(t, "two events at once, which a change parts: the derivative holds on one side, if at all")
        kind = self._kind(before, event)
        if self.hit is None:
            if not smooth:
                self.X = self.X + np.outer(f_A - f_E, dt)
            self.moments.append(Moment(t, dt, kind, self._slot_contacts(slots), smooth))
        else:
            z = np.concatenate([z[: n + 1], self.p])  # a kink may have turned the directions of contacts
            self._strike(z, D, before, t, f_A, f_E, dt, slots, happened)
        self._check_closed(t)

    def _same_field(self, t: float, x: Array, before: Array, after: Array) -> bool:
        """Whether accelerations (f,) before and after an event are one.

        Each is compared with what it is made of: coordinates may have units of their own, metres and nanometres.
        """
        M = self.system.mass(x[: self.f], t, self.p)
        h = self.system.force(x[: self.f], x[self.f :], t, self.p)
        size = np.abs(np.linalg.inv(M)) @ (np.abs(h) + np.abs(M) @ (np.abs(before) + np.abs(after)))
        return bool(np.all(np.abs(after - before) <= _SAME_FIELD * size))

    def _strike(
        self, z: Array, D: Array, before: Mode, t: float, f_A: Array, f_E: Array, dt: Array,
        slots: list[tuple[int, int]], happened: int,
    ) -> None:  # fmt: skip
        """Carry X over an impact."""
        f, n = self.f, 2 * self.f
        assert self.hit is not None and self.settled is not None
        raw, after, impulses = self._impact_slopes(z, D)  # by x, t, p: (f, columns), impulses (contacts, 2, columns)
        moved = self.X + np.outer(f_A, dt)
        free = raw[:, :n] @ moved + np.outer(raw[:, n], dt) + raw[:, n + 1 :]
        self._book_pushes(impulses[..., :n] @ moved + impulses[..., n : n + 1] * dt + impulses[..., n + 1 :], dt)
        D = D.copy()
        D[f:n] = raw
        there = z.copy()
        there[f:n] = after
        closed, sense = self.settled
        # A contact that opens at once has left the floor before: with eps_N a little above 0 it is not held there.
        landed = self._landing_slopes(there, D, closed & self.mode.closed, sense)
        R = np.concatenate([np.eye(f, D.shape[1]), landed])
        X_A = self.X
        self.X = R[:, :n] @ X_A + R[:, n + 1 :] + np.outer(R[:, :n] @ f_A + R[:, n] - f_E, dt)
        self.moments.append(Moment(t, dt, EVENT_KINDS[STRIKES], self._slot_contacts(slots)))
        ends = [row for row in self.happened[happened:] if row[1] == ACCUMULATES]
        if ends:
            moved = np.concatenate([X_A[:f] + np.outer(f_A[:f], dt), free, dt[None], self.directions])
            self._accumulate(z, before, t, dt, moved, ends, after)

    def _book_pushes(self, impulses: Array, dt: Array) -> None:
        """Keep derivatives (n, 2, k) of the impulses of impacts that are in the list since the last time, with dt."""
        self.pushes += [(impulses[int(row[1])], dt) for row in self.impacts[len(self.pushes) :]]

    def _accumulate(
        self, z: Array, before: Mode, t: float, dt: Array, moved: Array, ends: list[tuple[float, int, int]], u: Array
    ) -> None:
        """Impacts that accumulate: the time of their end, t + 2 gamma_N / (a (1 - eps_N)), and X on closed contacts.

        moved : how the state behind the last impact changes, with its time and the parameters, (N, k)
        """
        W_N, _, w_hat = self.system.geometry(self.q, self.t, self.p)
        eps_N = self._restitution()
        there = self.points(np.array([t]), np.concatenate([self.q, u])[None], self.mode)
        if len({k for _, _, k in ends}) > 1:
            self.doubt(t, "impacts of several contacts accumulate: the derivative behind it is not checked")
        for time, _, k in ends:
            gamma = float(W_N[k] @ u + w_hat[k, 0])
            rate = self.slopes.slopes(lambda Z: self.slopes.parts(Z).gamma[k, 0:1], there, moved)[0, 0]  # noqa: B023
            own = dt + (rate * (time - t) / gamma if gamma > 0.0 and len(ends) == 1 else 0.0)
            own = own + self._restitution_slopes(z, k) * (time - t) / max(1.0 - float(eps_N[k]), 1e-300)
            own = own - self._rise_slopes(k, before, u, moved) * (time - t)
            self.moments.append(Moment(time, own, EVENT_KINDS[ACCUMULATES], (self.names[k],)))
        self._onto_closed()

    def _rise_slopes(self, k: int, mode: Mode, u: Array, moved: Array) -> Array:
        """Derivatives of gamma_N' of a contact in flight, relative to its value, in the directions `moved`."""
        f, slopes = self.f, self.slopes
        z = self.points(np.array([self.t]), np.concatenate([self.q, u])[None], mode)
        y, dy = slopes.solved(lambda Z, y: slopes.motion(Z, mode, y), z, moved, f + len(slopes.rows(mode)))

        def rise(Z: Array) -> Array:
            parts = slopes.parts(Z)
            return np.asarray(np.einsum("jk,j->k", parts.W_N[k], y[:f, 0]) + parts.zeta[k, 0])[None]

        value = float(np.real(rise(z.astype(complex) if slopes.exact else z))[0, 0])
        W_N = self.system.geometry(self.q, self.t, self.p)[0][k]
        return np.asarray((slopes.slopes(rise, z, moved)[0, 0] + W_N @ dy[:f, 0]) / value)

    def _restitution_slopes(self, z: Array, k: int) -> Array:
        """Derivatives of eps_N of a contact by the columns' parameters, (k,)."""
        D = self.basis()[:, 2 * self.f + 1 :]
        return self.slopes.slopes(lambda Z: self.slopes.parts(Z).eps_N[k : k + 1], z[:, None], D)[0, 0]

    def _doubt_together(
        self, t: float, z: Array, D: Array, before: Mode, event: Event, f_A: Array, slots: list[tuple[int, int]],
        moves: list[Array],
    ) -> None:  # fmt: skip
        """Doubt events at one instant that a change would part."""
        n = 2 * self.f
        for slot in event.slots:
            if slot not in slots:
                g, slope, terms = self._guard(z, D, before, slot, f_A)
                bad = not abs(slope) > _GRAZING * terms
                moves = [*moves, np.full_like(moves[0], np.nan) if bad else -(g[:n] @ self.X + g[n + 1 :]) / slope]
        if any(self._parted(moves[0], move) for move in moves[1:]):
            names = ", ".join(sorted({name for slot in event.slots for name in self._slot_contacts([slot])}))
            self.doubt(t, f"events of {names} at once, which a change parts: the derivative is one-sided, if any")

    def _doubt_beside(
        self, t: float, z: Array, D: Array, before: Mode, f_A: Array, slots: list[tuple[int, int]], dt: Array
    ) -> None:
        """Doubt an impact in which contacts take part that have not met an event of their own.

        They are open by less than gap_tol, so that the impact takes them in.  A change of the motion parts them, unless
        they move in time as the event does, or touch at rest and go on to touch.
        """
        assert self.hit is not None
        n, own, hit = 2 * self.f, {k for k, _ in slots}, self.hit
        _, size = relative_velocities(self.system, t, z[: self.f], z[self.f : n], self.p)
        near = (self.kinds == CONTACT) & ~before.closed & (self.system.gap(z[: self.f], t, self.p) <= self.gap_tol)
        taken_in = near & ((hit.normal_impulse > 0.0) | (hit.normal_velocity_before < -ROUND_OFF * size[:, 0]))
        for k in (int(k) for k in np.flatnonzero(taken_in) if int(k) not in own):
            g, slope, terms = self._guard(z, D, before, (k, 0), f_A)
            change = g[:n] @ self.X + g[n + 1 :]
            if abs(slope) > _GRAZING * terms:
                parts = self._parted(dt, -change / slope)
            else:
                whole = np.abs(g[:n]) @ np.abs(self.X) + np.abs(g[n + 1 :])
                parts = bool(np.any(np.abs(change) > 1e-9 * whole))
            if parts:
                names = ", ".join(sorted({*self._slot_contacts(slots), self.names[k]}))
                self.doubt(t, f"events of {names} at once, which a change parts: the derivative is one-sided, if any")

    def _parted(self, one: Array, other: Array) -> bool:
        """Whether times of events that coincide move apart, dt (k,) each: by more than rounding of times would."""
        values = np.abs(self.p) @ np.abs(self.directions)
        least = _ROUNDING * max(self.span, self.vague) / np.where(values > 0.0, values, 1.0)
        return not bool(np.all(np.abs(other - one) <= _TOGETHER * np.abs(one).max(initial=0.0) + least))

    def _slot_contacts(self, slots: list[tuple[int, int]]) -> tuple[str, ...]:
        n = self.system.n_contacts
        numbers = [j for k, _ in slots for j in ((k,) if k < n else self.system.kink_contacts[k - n])]
        return tuple(self.names[k] for k in dict.fromkeys(numbers))

    def _slot_name(self, slot: tuple[int, int]) -> str:
        return f"contact {', '.join(map(repr, self._slot_contacts([slot]))) or 'of a kink'}"

    def _kind(self, before: Mode, event: Event) -> str:
        if self.hit is not None:
            return EVENT_KINDS[STRIKES]
        found = change_of(before, self.mode, event)
        if any(k >= self.system.n_contacts for k, _ in event.slots):
            return EVENT_KINDS[KINK]
        return EVENT_KINDS[GRAZES if found is None else found]

    # -- closed contacts -------------------------------------------------------------------------------------

    def _check_closed(self, t: float) -> None:
        """Check d g = 0 and d gamma_N = 0 at contacts that stay closed; doubt the derivative where they do not hold."""
        index, rows, total = self._closed_rows()
        if not len(index):
            return
        n, size = 2 * self.f, np.abs(self.X).max(initial=0.0)
        parts = np.abs(rows[:, :n]) @ np.abs(self.X).max(axis=1, initial=0.0)
        terms = parts + np.abs(rows[:, n + 1 :]).max(axis=1, initial=0.0) + 1e-6 * np.abs(rows).max() * size
        # a parameter without effect, such as a mass in free fall, has nothing but round-off: of x over the parameter
        values = np.abs(self.p) @ np.abs(self.directions)
        # a motion that has rested at 0 so far: of what its forces would have moved it by
        M, h = self.system.mass(self.q, t, self.p), self.system.force(self.q, self.u, t, self.p)
        push = np.abs(np.linalg.inv(M)) @ np.abs(h)
        state = np.abs(rows[:, :n]) @ (
            np.abs(np.concatenate([self.q, self.u])) + np.concatenate([push * t**2, push * t])
        )
        floor = 1e-6 * np.outer(state, np.where(values > 0.0, 1.0 / np.where(values > 0.0, values, 1.0), 0.0))
        floor += 1e-6 * np.outer(np.abs(rows[:, :n]).sum(axis=1), values == 0.0)  # a start moves states by its own size
        whole = terms[:, None] + floor
        defect = float((np.abs(total) / np.where(whole > 0.0, whole, 1.0)).max(initial=0.0))
        self.defect = max(self.defect, defect)
        if not defect <= 1e-5:
            self.doubt(t, f"the derivative leaves closed contacts by {defect:.1e} of its size")

    def _onto_closed(self) -> None:
        """Put X onto the contacts that are closed, along M^-1 w_N: what truncated accumulations leave."""
        index, rows, total = self._closed_rows()
        if not len(index):
            return
        f, m = self.f, len(index)
        W = rows[:m, :f]
        V = np.linalg.solve(self.system.mass(self.q, self.t, self.p), W.T)
        self.X[:f] -= V @ np.linalg.lstsq(W @ V, total[:m], rcond=1e-12)[0]
        _, _, total = self._closed_rows()
        self.X[f:] -= V @ np.linalg.lstsq(W @ V, total[m:], rcond=1e-12)[0]


def change_of(before: Mode, after: Mode, event: Event) -> int | None:
    """Change of an event's first contact, a number of `EVENT_KINDS`; None for kinks, and where nothing changed."""
    k = event.slots[0][0]
    return None if k >= len(before.closed) else change(before, after, k)
