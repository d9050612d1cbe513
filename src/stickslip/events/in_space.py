"""From event to event with contacts of two tangents, whose direction of slip turns as they slide.

Every closed contact sticks or slides.  Sliding, its friction is -lambda_N (m_1 s_1, m_2 s_2) with s the point of the
section farthest along (m_1 gamma_1, m_2 gamma_2), see `contact.spatial_contact`: direction and force are functions of
the velocities.  Sticking, both tangents are constraints.  The mode ends where

    an open contact closes           g_N = 0: the impact law decides
    a closed contact loses its load  lambda_N = 0: it opens
    stick ends                       psi(lambda_T / m) = lambda_N: slip begins against the friction force
    slip ends                        |gamma_T| = 0: the problem on acceleration level decides whether it sticks

Near rest the direction of slip is stiff: it relaxes with the rate beta mu lambda_N / |gamma_T|.  Slip that begins goes
through this layer with an implicit method (Radau), slip that stops with steps of a share of the time that is left.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from stickslip.checks import Array
from stickslip.contact.sections import section_row
from stickslip.contact.spatial_contact import POLYGON
from stickslip.events.accumulation import MEMORY
from stickslip.events.arcs import lows, short_fall
from stickslip.events.book import NO_PROGRESS, WINDOW, MotionError, no_progress, too_many
from stickslip.events.modes import ROUND_OFF
from stickslip.events.searching import Searching, searched_step
from stickslip.events.space_arcs import Phase, SpaceArc, SpaceKept, Tailed, put_back, stand_of
from stickslip.events.space_collisions import LOWEST, SpaceColliding
from stickslip.events.space_forces import Forces
from stickslip.mechanisms.inertia import Inertia
from stickslip.mechanisms.system import CONSTRAINT, CONTACT, KIND_NAMES, TANGENT, System
from stickslip.trajectory import OPENS, SLIPS

SAMPLES = 8  # looks at the indicators in every step of the integrator
STOPPED = 1e-7  # of the largest speed of a slip: the rest is one more step
STIFF_STEPS = 3000.0  # explicit steps in a run beyond which the implicit method takes over
TOGETHER = 30.0  # times STOPPED: slips that end with the one that has stopped


def require_known(system: System) -> None:
    """ValueError where a system with two tangents has elements that this integrator does not know."""
    mu = system.laws()[0]
    for k, kind in enumerate(system.contact_kinds):
        name = system.contact_names[k]
        spatial = k + 1 < system.n_contacts and system.contact_kinds[k + 1] == TANGENT
        section = section_row(system.sections[k]) if spatial else None
        if spatial and (section is None or section[0] == POLYGON):
            raise ValueError(
                f"stepper 'event-driven' needs a smooth section of the friction cone, a disc, an ellipse or a "
                f"PowerNorm; that of contact {name!r} has corners or is unknown: take a time stepper."
            )
        planar = kind == CONTACT and not spatial and mu[k] != 0.0
        if planar or CONTACT < kind < TANGENT:
            what = "contact with one direction of slip" if planar else KIND_NAMES[kind]
            raise ValueError(
                f"stepper 'event-driven' knows contacts with two tangents beside contacts without friction and "
                f"constraints; {name!r} is a {what}: take a time stepper."
            )
    if system.branched is not system:
        raise ValueError(
            "stepper 'event-driven' needs gaps and slips without corners where contacts have two tangents: take a "
            "time stepper."
        )


@dataclass(eq=False)
class SpaceMotion(SpaceColliding, Searching):
    """The motion of a system from event to event; see `motion.Motion` for the planar one."""

    def __post_init__(self) -> None:
        require_known(self.system)
        super().__post_init__()
        self._prepare_search()

    # -- smooth motion ---------------------------------------------------------------------------------------

    def _rates(self, t: float, y: Array) -> Array:
        """Derivative of y: coordinates, velocities, impulses and the work of the contacts."""
        f = self.f
        q, u = y[:f], y[f : 2 * f]
        found = self.forces(t, q, u)
        work = float(np.sum(found.forces * found.gamma))
        return np.concatenate([u, found.du, found.forces[:, 0], found.forces[:, 1], [work]])

    def _jacobian(self, t: float, y: Array) -> Array:
        """d rates / d y by central differences, whose steps are small against the speeds of slip."""
        f = self.f
        J = np.zeros((len(y), len(y)))
        slow = self._slowest(t, y)
        for j in range(2 * f):
            size = max(1.0, abs(float(y[j])))
            step = 1e-7 * size if j < f else min(1e-6 * size, max(1e-3 * slow, 1e-14 * size))
            ends = []
            for sign in (1.0, -1.0):
                moved = y.copy()
                moved[j] += sign * step
                ends.append(self._rates(t, moved))
            J[:, j] = (ends[0] - ends[1]) / (2.0 * step)
        return J

    def _slowest(self, t: float, y: Array) -> float:
        W_N, W_T, w_hat = self.system.geometry(y[: self.f], t, self.p)
        u = y[self.f : 2 * self.f]
        gamma = np.stack([W_N @ u, W_T @ u], axis=-1) + w_hat
        return float(np.min(self._speeds(gamma)[self.slides], initial=1.0))

    # -- the walk --------------------------------------------------------------------------------------------

    def arcs(self) -> Iterator[SpaceArc]:
        """The smooth arcs one after the other; impacts and books are up to date with the arc that was yielded."""
        again, self.again = self.again, None
        if again is None:
            self._begin()
        while self.t < self.t_end:
            event = yield from self._to_its_end(self._phase() if again is None else self._phase_again(again))
            again = None
            if event is None:
                return
            self._count()
            self._act(event)

    def _count(self) -> None:
        """Count an event; `MotionError` where they are too many."""
        self.recent.append(self.t)
        self.book.counts["instants"] += 1
        while self.recent[0] < self.t - WINDOW * self.span:
            self.recent.popleft()
        if len(self.recent) > self.max_events:
            raise MotionError(self.t, too_many(self.max_events, self.span))
        same = [time for time in list(self.recent)[-NO_PROGRESS:] if time >= self.t - 1e-13 * self.span]
        if len(same) >= NO_PROGRESS:
            raise MotionError(self.t, no_progress())

    def go_back(self, kept: SpaceKept) -> None:
        """Go back to the start of the arc of `kept`: `arcs` begins with it."""
        self._take(float(kept.stand["t"]), kept.stand["y"])
        self.closed, self.slides, self.fastest = kept.closed.copy(), kept.slides.copy(), kept.fastest.copy()
        self.load, self.book, self.kept, self.again = kept.load, kept.book.copy(), kept, kept
        self.p = kept.p.copy()
        self.blows, self.recent = deque(kept.blows, maxlen=MEMORY), deque(kept.recent)

    def _vector(self) -> Array:
        return np.concatenate([self.q, self.u, self.totals[:, 0], self.totals[:, 1], [self.book.work]])

    def _take(self, t: float, y: Array) -> None:
        f, n = self.f, self.system.n_contacts
        self.t, self.q, self.u = float(t), y[:f].copy(), y[f : 2 * f].copy()
        self.totals = y[2 * f : 2 * f + 2 * n].reshape(2, n).T.copy()
        self.book.work = float(y[-1])

    def _solver(self, stiff: bool, load: float, t: float, y: Array, first_step: float | None = None) -> Any:
        from scipy.integrate import DOP853, Radau  # take 0.2 s to load: only event-driven runs pay for them

        atol = np.full(len(y), self.atol)
        atol[2 * self.f :] = 1e3 * self.atol * max(1.0, load)  # impulses are sums beside the motion
        end = {"t_bound": self.t_end, "first_step": first_step}
        if stiff:
            return Radau(self._rates, t, y, rtol=max(self.rtol, 1e-9), atol=10.0 * atol, jac=self._jacobian, **end)
        return DOP853(self._rates, t, y, rtol=self.rtol, atol=atol, **end)

    def _phase(self) -> Phase:
        """The integration in the present mode, at its begin."""
        start = self.forces(self.t, self.q, self.u)
        tol = self._tolerances(start)
        below = np.where(self.closed, 0.0, -2.0 * self.system.gap(self.q, self.t, self.p))
        tol[:-1, 0] = np.maximum(tol[:-1, 0], np.minimum(below, self.gap_tol * 20.0))  # just left, and a little below
        armed = self._indicators(start, self.q, self.t) > tol
        stiff = self._is_stiff(start)
        return Phase(
            self.mode, self._solver(stiff, self.load, self.t, self._vector()), stiff, self.load, tol, armed
        )  # fmt: skip

    def _phase_again(self, kept: SpaceKept) -> Phase:
        """The integration in a mode, as it stood before the arc of `kept`."""
        phase, t = kept.phase, float(kept.stand["t"])
        solver = self._solver(phase.stiff, phase.load, t, kept.stand["y"], self.t_end - t)
        put_back(solver, kept.stand)
        return replace(phase, solver=solver, armed=phase.armed.copy())

    def _to_its_end(self, phase: Phase) -> Any:
        """Yield the arcs of the present mode; return its event (kind, contact), None at the end of the run."""
        solver = phase.solver
        while True:
            kept = SpaceKept(
                stand_of(solver), replace(phase, solver=None, armed=phase.armed.copy()), self.closed.copy(),
                self.slides.copy(), self.fastest.copy(), self.load, self.book.copy(), len(self.happened),
                tuple(self.blows), tuple(self.recent), self.p,
            )  # fmt: skip
            found = self.forces(solver.t, solver.y[: self.f], solver.y[self.f : 2 * self.f])
            y = solver.y
            seen = self.system.longest_step(y[: self.f], y[self.f : 2 * self.f], found.du)
            solver.max_step = min(
                self._time_to_stop(found), max(seen, 1e-9 * self.span), self._longest(float(solver.t))
            )
            dense = self._searched(solver, kept)
            self.book.counts["steps"] += 1
            t_A, t_E = float(solver.t_old), float(solver.t)
            event = self._first_event(dense, t_A, t_E, phase.armed, phase.tolerances)
            end = t_E if event is None else event[0]
            self._take(end, dense(end))
            after = self.forces(self.t, self.q, self.u)
            self.load = max(self.load, float(np.abs(after.forces).max(initial=0.0)))
            speed = self._speeds(after.gamma)
            self.fastest = np.where(self.slides, np.maximum(self.fastest, speed), 0.0)
            self._measure_constraints()
            self.kept = kept
            if event is None and solver.status != "finished":
                stops = [int(k) for k in np.flatnonzero(self.slides) if self._stops(int(k), speed, after)]
                if stops:  # its last step belongs to the arc, or no arc would hold the time up to the event
                    rest = self._finish(stops[0], speed, after)
                    yield SpaceArc(t_A, self.t, phase.mode, self.f, Tailed(dense, end, *rest))
                    return "stops", stops[0]
            yield SpaceArc(t_A, end, phase.mode, self.f, dense)
            if event is not None:
                return event[1:]
            if solver.status == "finished":
                return None
            if phase.stiff != self._is_stiff(after) or self._off(after):
                return "go on", -1

    def _searched(self, solver: Any, kept: SpaceKept) -> Any:
        """One step as a function of time."""

        def back(length: float) -> None:
            solver.t, solver.y = float(kept.stand["t"]), kept.stand["y"]
            put_back(solver, kept.stand)
            solver.h_abs = length
            if hasattr(solver, "LU_real"):
                solver.LU_real = solver.LU_complex = None  # those of another length

        corner = None if self.corners is None else self._corner
        dense, message = searched_step(solver, back, None if self.narrow is None else self._hides, corner)
        if dense is None:
            raise MotionError(solver.t, f"the integrator found no step: {message}")
        return dense

    def _slips(self, k: int) -> bool:
        return bool(self.slides[k])

    def _measure_constraints(self) -> None:
        system = self.system
        if len(system.constraints):
            error = np.abs(system.gap(self.q, self.t, self.p)[system.constraints])
            rate = np.abs(Inertia.at(system, self.q, self.t, self.p).rate(self.u))
            self.book.constraint_error = max(self.book.constraint_error, float(error.max()))
            self.book.constraint_rate = max(self.book.constraint_rate, float(rate.max()))

    def _is_stiff(self, found: Forces) -> bool:
        """Whether a direction of slip relaxes so fast that explicit steps would be too many."""
        speed = self._speeds(found.gamma)
        for k in np.flatnonzero(self.slides):
            along = (found.gamma[k, 1] * found.rates[k, 1] + found.gamma[k + 1, 1] * found.rates[k + 1, 1]) / max(
                speed[k], 1e-300
            )
            # it may stop soon: few steps are left then, but for a force that is just below the friction bound
            left = speed[k] / -along if -along * self.span > 10.0 * speed[k] else self.span
            relaxation = self._mobility(int(k)) * math.hypot(*found.forces[[k, k + 1], 1])
            if relaxation * left > STIFF_STEPS * speed[k]:
                return True
        return False

    def _time_to_stop(self, found: Forces) -> float:
        """Longest step [s] that leaves a slip which stops before its end."""
        longest, speed = np.inf, self._speeds(found.gamma)
        for k in np.flatnonzero(self.slides):
            rate = found.gamma[k, 1] * found.rates[k, 1] + found.gamma[k + 1, 1] * found.rates[k + 1, 1]
            if rate < 0.0:
                longest = min(longest, 0.7 * speed[k] ** 2 / -rate)
        return longest

    def _stops(self, k: int, speed: Array, found: Forces) -> bool:
        rate = found.gamma[k, 1] * found.rates[k, 1] + found.gamma[k + 1, 1] * found.rates[k + 1, 1]
        return bool(rate < 0.0 and speed[k] <= STOPPED * self.fastest[k])

    def _finish(self, k: int, speed: Array, found: Forces) -> tuple[Array, Array]:
        """The last step of a slip, in which its speed falls to zero; what is left out is its square.

        It leads at most to the end of the run.  Returned are the vector before it and its rates.
        """
        rate = found.gamma[k, 1] * found.rates[k, 1] + found.gamma[k + 1, 1] * found.rates[k + 1, 1]
        left = max(0.0, self.t_end - self.t)
        dt = min(float(speed[k] ** 2 / -rate), left)
        y = self._vector()
        rates = self._rates(self.t, y)
        # t + (t_end - t) may miss t_end by a rounding, and what is left would be a run of its own
        self._take(self.t_end if dt >= left else self.t + dt, y + dt * rates)
        return y, rates

    def _off(self, found: Forces) -> bool:
        """Whether the integrator has drifted off the closed contacts or the constraints."""
        gap = self.system.gap(self.q, self.t, self.p)
        closed = (self.closed & (self.kinds == CONTACT)) | (self.kinds == CONSTRAINT)
        return bool(np.any(np.abs(gap[closed]) > 0.1 * self.gap_tol))

    # -- events ----------------------------------------------------------------------------------------------

    def _indicators(self, found: Forces, q: Array, t: float) -> Array:
        """Numbers (n + 1, 3) that are positive inside the mode: gap or load, what is left of the friction bound, and
        how far inside its feature a closed contact is.

        The last row is that of contacts which share a load: no force of one of them tells anything.
        """
        n, closed = self.system.n_contacts, self.closed
        values = np.full((n + 1, 3), np.inf)
        apart = (self.kinds == CONTACT) & ~closed
        values[:n, 0][apart] = self.system.gap(q, t, self.p)[apart]
        if found.holds is None:
            values[:n, 0][closed] = found.forces[closed, 0]
            sticks = closed & self.spatial & ~self.slides
            values[:n, 1][sticks] = 1.0 - found.share[sticks]
        else:
            values[n, 0] = found.holds
        if self.system.has_features:
            values[:n, 2][closed] = self.system.counts(q, self.p)[closed]
        return values

    def _tolerances(self, found: Forces) -> Array:
        n = self.system.n_contacts
        scale = max(self.load, float(np.abs(found.forces).max(initial=0.0)))
        tol = np.full((n + 1, 3), 1e-9)
        tol[:n, 0] = np.where(self.closed, 1e-9 * scale, LOWEST * self.gap_tol)
        tol[:, 2] = 0.0
        return tol

    def _first_event(self, dense: Any, t_A: float, t_E: float, armed: np.ndarray, tol: Array) -> Any:
        """(time, kind, contact) of the first event in a step; None without one.  Arms indicators as they rise."""
        from scipy.optimize import brentq

        def values(t: float) -> Array:
            y = dense(t)
            q, u = y[: self.f], y[self.f : 2 * self.f]
            return self._indicators(self.forces(t, q, u, judge=True), q, t)

        times = np.linspace(t_A, t_E, SAMPLES + 1)
        seen = np.array([values(t) for t in times])
        found = self._short_events(values, times, seen, armed, tol)
        for i, (a, b) in enumerate(pairwise(times)):
            level = np.where(armed, 0.0, -tol)
            for k, part in np.argwhere(~(seen[i + 1] >= level)):

                def left(t: float, k: int = int(k), part: int = int(part), at: float = float(level[k, part])) -> float:
                    return max(-1e6, float(values(t)[k, part]) - at)

                begun = seen[i, k, part] - level[k, part]
                time = a if not begun > 0.0 else float(brentq(left, a, b, xtol=1e-15, rtol=1e-14))
                found.append((time, self._kind(int(k), int(part)), int(k)))
            if found and min(found)[0] <= b:
                return min(found)
            armed |= seen[i + 1] > tol
        return min(found, default=None)

    def _short_events(
        self, values: Callable[[float], Array], times: Array, seen: Array, armed: np.ndarray, tol: Array
    ) -> list[tuple[float, str, int]]:
        """Events (time, kind, contact) of indicators that are below zero between two of the samples `seen` alone."""
        found = []
        for i, k, part in lows(seen, armed, tol):

            def value(t: float, k: int = k, part: int = part) -> float:
                return float(values(t)[k, part])

            time = short_fall(value, times[max(i - 1, 0)], times[min(i + 1, SAMPLES)], float(tol[k, part]))
            if time is not None:
                found.append((time, self._kind(k, part), k))
        return found

    def _kind(self, k: int, part: int) -> str:
        """What happens where an indicator of a row falls below its level."""
        if part:
            return ("slips", "moves on")[part - 1]
        if k == self.system.n_contacts:
            return "give way"
        return "opens" if self.closed[k] else "closes"

    def _begin(self) -> None:
        self.p = self.system.held(self.q, self.p, self.closed, self.gap_tol)
        gap = self.system.gap(self.q, self.t, self.p)
        near = np.flatnonzero((self.kinds == CONTACT) & (gap <= self.gap_tol) & self.system.holding(self.p))
        self._onto(near)
        gamma, size = self._velocities()
        if any(gamma[k, 0] < -ROUND_OFF * size[k, 0] for k in near):
            self._strike()
        else:
            for k in near:
                self.closed[k] = abs(gamma[k, 0]) <= ROUND_OFF * size[k, 0]
        self._settle(fresh=True)

    def _act(self, event: tuple[str, int]) -> None:
        """Find the mode that follows an event."""
        kind, k = event
        forced: tuple[int, Array] | None = None
        struck = kind == "closes" and not (self.system.has_features and self._joined())
        if struck:
            self._strike()
        elif kind == "opens":
            self.closed[k] = self.slides[k] = False
            self.happened.append((self.t, OPENS, k))
        elif kind == "slips":
            forces = self.forces(self.t, self.q, self.u).forces
            forced = k, -self._normal(k, forces[k, 0], forces[k, 1], forces[k + 1, 1])
            self.happened.append((self.t, SLIPS, k))
        elif kind == "moves on":
            self._next_feature(k)
        stopped: frozenset[int] = frozenset()
        if kind == "stops":
            speed = self._speeds(self._velocities()[0])
            slow = self.slides & (speed <= TOGETHER * STOPPED * self.fastest)
            stopped = frozenset({k, *map(int, np.flatnonzero(slow))})
            self.slides[list(stopped)] = False
        self._settle(forced, stopped, struck, kind == "give way")
