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
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from stickslip.checks import Array
from stickslip.contact.sections import section_row
from stickslip.contact.spatial_contact import (
    POLYGON,
    POWER,
    friction_defect,
    power_point,
    section_gauge,
    spatial_contact,
)
from stickslip.events.book import WINDOW, EventBook, MotionError, too_many
from stickslip.events.modes import ROUND_OFF, onto_contacts
from stickslip.events.space_arcs import Phase, SpaceArc, SpaceKept, SpaceMode, Tailed, put_back, stand_of
from stickslip.impacts.impact import impact_at
from stickslip.laws import ImpactLaw
from stickslip.mechanisms.inertia import Inertia
from stickslip.mechanisms.system import CONSTRAINT, CONTACT, KIND_NAMES, TANGENT, System
from stickslip.trajectory import ACCUMULATES, CLOSES, OPENS, SLIPS, STICKS, STRIKES

SAMPLES = 8  # looks at the indicators in every step of the integrator
STOPPED = 1e-7  # of the largest speed of a slip: the rest is one more step
ONSET = 1e-9  # of the speeds in a slip: its speed where it begins
STIFF_STEPS = 3000.0  # explicit steps in a run beyond which the implicit method takes over
SWEEPS = 2000
LOWEST = 1e-3  # of gap_tol: lower hops are none


@dataclass(eq=False)
class Forces:
    """What a mode does at a state: du (f,), forces (n, 2) [N], gamma and its rate (n, 2), and the section's share."""

    du: Array
    forces: Array
    gamma: Array
    rates: Array
    share: Array


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
class SpaceMotion:
    """The motion of a system from event to event; see `motion.Motion` for the planar one."""

    system: System
    p: Array
    law: ImpactLaw
    solver: Any
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
        require_known(self.system)
        system = self.system
        n, self.f = system.n_contacts, system.n_dof
        self.kinds = np.array(system.contact_kinds, dtype=int)
        self.contacts = np.flatnonzero(self.kinds == CONTACT)
        self.spatial = np.zeros(n, bool)
        self.spatial[system.spatial] = True
        self.sections = {int(k): section_row(system.sections[int(k)]) for k in system.spatial}
        self.span = self.t_end - self.t
        self.totals = np.zeros((n, 2))
        self.closed, self.slides = np.zeros(n, bool), np.zeros(n, bool)
        self.fastest = np.zeros(n)  # largest speed of the slip under way [m/s]
        self.happened: list[tuple[float, int, int]] = []
        self.kept: SpaceKept | None = None  # what the present arc began with
        self.again: SpaceKept | None = None  # where `arcs` begins in place of the start
        self.load = 0.0  # largest force so far [N]
        self.recent: deque[float] = deque()  # times of the last events

    # -- smooth motion ---------------------------------------------------------------------------------------

    @property
    def mode(self) -> SpaceMode:
        """The present mode."""
        closed, slides = self._followed(self.closed), self._followed(self.slides)
        tangential = self._followed(self.spatial & (self.system.laws_at(self.q, self.t, self.p)[0] > 0.0))
        return SpaceMode(closed, slides, tangential, self.kinds >= CONSTRAINT)

    def _followed(self, flags: np.ndarray) -> np.ndarray:
        return np.where(self.kinds == TANGENT, np.roll(flags, 1), flags)

    def _slip_point(self, k: int, x1: float, x2: float) -> tuple[float, float]:
        """The point of contact k's section against a scaled slip x."""
        section = self.sections[k]
        assert section is not None
        size = math.hypot(x1, x2)
        if size == 0.0:
            return 0.0, 0.0
        if section[0] == POWER:
            found: tuple[float, float] = power_point(-x1 / size, -x2 / size, float(section[1]))
            return found
        return -x1 / size, -x2 / size

    def forces(self, t: float, q: Array, u: Array) -> Forces:
        """Forces and accelerations in the present mode, whose closed contacts keep to their constraints."""
        system, p, n = self.system, self.p, self.system.n_contacts
        W_N, W_T, w_hat = directions = system.geometry(q, t, p)
        zeta, h = system.drift(q, u, t, p), system.force(q, u, t, p)
        inertia = Inertia.at(system, q, t, p, directions=directions)
        mu = system.laws_at(q, t, p)[0]
        gamma = np.stack([W_N @ u, W_T @ u], axis=-1) + w_hat
        free, _ = inertia.accelerate(h, zeta[inertia.index, 1])
        rows: list[tuple[int, int]] = []  # contact row and part of each constraint
        C: list[Array] = []
        R: list[Array] = []
        ratio = np.zeros((n, 2))  # of a sliding contact, lambda_T / lambda_N of its two tangents
        for k in np.flatnonzero(self.closed):
            pushes = W_N[k]
            if self.slides[k]:
                point = self._slip_point(int(k), mu[k] * gamma[k, 1], mu[k + 1] * gamma[k + 1, 1])
                ratio[k] = mu[k] * point[0], mu[k + 1] * point[1]
                pushes = pushes + ratio[k, 0] * W_T[k] + ratio[k, 1] * W_T[k + 1]
            rows.append((int(k), 0))
            C.append(W_N[k])
            R.append(pushes)
            if self.spatial[k] and mu[k] > 0.0 and not self.slides[k]:
                for row in (int(k), int(k) + 1):
                    rows.append((row, 1))
                    C.append(W_T[row])
                    R.append(W_T[row])
        forces, du = np.zeros((n, 2)), free
        if rows:
            X = inertia.solve(np.array(R).T)
            c = np.array(C)
            wanted = c @ free + np.array([zeta[k, part] for k, part in rows])
            found = np.linalg.lstsq(c @ X, -wanted, rcond=1e-12)[0]
            du = free + X @ found
            for (row, part), value in zip(rows, found, strict=True):
                forces[row, part] += value
            for k in np.flatnonzero(self.slides):
                forces[k, 1], forces[k + 1, 1] = ratio[k] * forces[k, 0]
        share = self._shares(mu, forces)
        if inertia:
            loose = np.linalg.solve(inertia.M, h + W_N.T @ forces[:, 0] + W_T.T @ forces[:, 1])
            forces[inertia.index, 1] = inertia.answer(-inertia.J @ (du - loose))
        rates = np.stack([W_N @ du, W_T @ du], axis=-1) + zeta
        return Forces(du, forces, gamma, rates, share)

    def _shares(self, mu: Array, forces: Array) -> Array:
        share = np.zeros(self.system.n_contacts)
        for k, section in self.sections.items():
            if self.closed[k] and not self.slides[k] and mu[k] > 0.0:
                if forces[k, 0] > 0.0:
                    N = forces[k, 0]
                    share[k] = section_gauge(section, forces[k, 1] / (mu[k] * N), forces[k + 1, 1] / (mu[k + 1] * N))
                else:
                    share[k] = np.inf if forces[k : k + 2, 1].any() else 0.0
        return share

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

    def _speeds(self, gamma: Array) -> Array:
        """Speeds of slip of the contacts, (n,) [m/s]."""
        speed = np.zeros(self.system.n_contacts)
        for k in self.sections:
            speed[k] = math.hypot(gamma[k, 1], gamma[k + 1, 1])
        return speed

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
            self.book.counts["instants"] += 1
            if too_many(self.recent, self.t, self.span, self.max_events):
                raise MotionError(
                    self.t,
                    f"more than {self.max_events} events within {WINDOW * self.span:.3g} s; raise max_events, or use a "
                    "time stepper, which needs no events",
                )
            self._act(event)

    def go_back(self, kept: SpaceKept) -> None:
        """Go back to the start of the arc of `kept`: `arcs` begins with it."""
        self._take(float(kept.stand["t"]), kept.stand["y"])
        self.closed, self.slides, self.fastest = kept.closed.copy(), kept.slides.copy(), kept.fastest.copy()
        self.load, self.book, self.kept, self.again = kept.load, kept.book.copy(), kept, kept
        self.recent = deque(kept.recent)

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
        armed = self._indicators(start, self.system.gap(self.q, self.t, self.p)) > tol
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
                tuple(self.recent),
            )  # fmt: skip
            found = self.forces(solver.t, solver.y[: self.f], solver.y[self.f : 2 * self.f])
            solver.max_step = self._time_to_stop(found)
            message = solver.step()
            if solver.status == "failed":
                raise MotionError(solver.t, f"the integrator found no step: {message}")
            self.book.counts["steps"] += 1
            dense, t_A, t_E = solver.dense_output(), float(solver.t_old), float(solver.t)
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
            if along < 0.0 and -along * self.span > 10.0 * speed[k]:
                continue  # it stops soon: few steps are left
            relaxation = self._mobility(int(k)) * math.hypot(*found.forces[[k, k + 1], 1])
            if relaxation * self.span > STIFF_STEPS * speed[k]:
                return True
        return False

    def _mobility(self, k: int) -> float:
        W_T = self.system.geometry(self.q, self.t, self.p)[1]
        M = self.system.mass(self.q, self.t, self.p)
        return float(max(W_T[row] @ np.linalg.solve(M, W_T[row]) for row in (k, k + 1)))

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

    def _indicators(self, found: Forces, gap: Array) -> Array:
        """Numbers (n, 2) that are positive inside the mode: gap or load, and what is left of the friction bound."""
        n = self.system.n_contacts
        values = np.full((n, 2), np.inf)
        for k in self.contacts:
            values[k, 0] = found.forces[k, 0] if self.closed[k] else gap[k]
            if self.closed[k] and self.spatial[k] and not self.slides[k]:
                values[k, 1] = 1.0 - found.share[k]
        return values

    def _tolerances(self, found: Forces) -> Array:
        n = self.system.n_contacts
        scale = max(self.load, float(np.abs(found.forces).max(initial=0.0)))
        tol = np.full((n, 2), 1e-9)
        tol[:, 0] = np.where(self.closed, 1e-9 * scale, LOWEST * self.gap_tol)
        return tol

    def _first_event(self, dense: Any, t_A: float, t_E: float, armed: np.ndarray, tol: Array) -> Any:
        """(time, kind, contact) of the first event in a step; None without one.  Arms indicators as they rise."""
        from scipy.optimize import brentq

        def values(t: float) -> Array:
            y = dense(t)
            q, u = y[: self.f], y[self.f : 2 * self.f]
            return self._indicators(self.forces(t, q, u), self.system.gap(q, t, self.p))

        times = np.linspace(t_A, t_E, SAMPLES + 1)
        before = values(times[0])
        for a, b in pairwise(times):
            after = values(b)
            found = []
            level = np.where(armed, 0.0, -tol)
            for k, part in np.argwhere(~(after >= level)):

                def left(t: float, k: int = int(k), part: int = int(part), at: float = float(level[k, part])) -> float:
                    return max(-1e6, float(values(t)[k, part]) - at)

                begun = before[k, part] - level[k, part]
                time = a if not begun > 0.0 else float(brentq(left, a, b, xtol=1e-15, rtol=1e-14))
                kind = "slips" if part == 1 else ("opens" if self.closed[k] else "closes")
                found.append((time, kind, int(k)))
            if found:
                return min(found)
            armed |= after > tol
            before = after
        return None

    def _begin(self) -> None:
        gap = self.system.gap(self.q, self.t, self.p)
        near = np.array([k for k in self.contacts if gap[k] <= self.gap_tol], dtype=int)
        self._onto(near)
        gamma, size = self._velocities()
        if any(gamma[k, 0] < -ROUND_OFF * size[k, 0] for k in near):
            self._strike()
        else:
            for k in near:
                self.closed[k] = abs(gamma[k, 0]) <= ROUND_OFF * size[k, 0]
        self._settle()

    def _velocities(self) -> tuple[Array, Array]:
        """gamma (n, 2), and the sizes of the terms in it."""
        W_N, W_T, w_hat = self.system.geometry(self.q, self.t, self.p)
        gamma = np.stack([W_N @ self.u, W_T @ self.u], axis=-1) + w_hat
        sizes = np.stack([np.abs(W_N) @ np.abs(self.u), np.abs(W_T) @ np.abs(self.u)], axis=-1) + np.abs(w_hat)
        return gamma, sizes

    def _onto(self, index: np.ndarray) -> None:
        if len(index) or len(self.system.constraints):
            no_tangent = np.zeros(self.system.n_contacts, bool)
            self.q = onto_contacts(self.system, self.t, self.q, self.p, index, no_tangent)

    def _act(self, event: tuple[str, int]) -> None:
        """Find the mode that follows an event."""
        kind, k = event
        if kind == "closes":
            self._strike()
        elif kind == "opens":
            self.closed[k] = self.slides[k] = False
            self.happened.append((self.t, OPENS, k))
        elif kind == "slips":
            forces = self.forces(self.t, self.q, self.u).forces
            self._start_slip(k, -self._normal(k, forces[k, 0], forces[k, 1], forces[k + 1, 1]))
            self.happened.append((self.t, SLIPS, k))
        elif kind == "stops":
            self.slides[k] = False
        self._settle(forced=k if kind == "slips" else -1, stopped=k if kind == "stops" else -1)

    def _normal(self, k: int, N: float, T1: float, T2: float) -> Array:
        """Direction of -gamma_T that belongs to a friction force on the edge of its section."""
        mu, section = self.system.laws_at(self.q, self.t, self.p)[0], self.sections[k]
        m = np.array([mu[k], mu[k + 1]])
        assert section is not None
        s = np.array([T1, T2]) / (m * max(N, 1e-300))
        if section[0] == POWER:
            s = np.sign(s) * np.abs(s) ** (section[1] - 1.0)
        normal = s / m
        return np.asarray(normal / np.linalg.norm(normal))

    def _start_slip(self, k: int, along: Array) -> None:
        """Let contact k slide along a direction (2,) with the least speed that has a direction."""
        gamma, size = self._velocities()
        found = self.forces(self.t, self.q, self.u)
        pull = self._mobility(k) * abs(float(found.forces[k, 0]))
        speed = ONSET * max(float(size[[k, k + 1], 1].max()), 1e-3 * pull * self.span)
        self.slides[k], self.fastest[k] = True, 0.0
        W_T = self.system.geometry(self.q, self.t, self.p)[1][[k, k + 1]]
        inertia = Inertia.at(self.system, self.q, self.t, self.p)
        X = inertia.solve(W_T.T)
        wanted = speed * along - gamma[[k, k + 1], 1]
        self.u = self.u + X @ np.linalg.lstsq(W_T @ X, wanted, rcond=1e-12)[0]

    def _strike(self) -> None:
        """The impact law, and which contacts stay closed after it."""
        system, before = self.system, self.u
        index = np.array([k for k in self.contacts if system.gap(self.q, self.t, self.p)[k] <= 10.0 * self.gap_tol])
        self._onto(index.astype(int))
        try:
            hit = impact_at(system, self.law, self.q, before, self.p, self.t, 10.0 * self.gap_tol, self.solver)
        except ValueError as problem:
            raise MotionError(self.t, str(problem).rstrip(".")) from None
        if not hit.solved:
            raise MotionError(self.t, f"the impact was not solved: {hit.status}")
        self._book(hit)
        self.u = hit.u
        self.closed[:] = self.slides[:] = False
        gamma, size = self._velocities()
        _, eps_N, eps_T, _ = system.laws_at(self.q, self.t, self.p, -self.u)
        eps_N, _ = self.law.coefficients(eps_N, eps_T, system.contact_kinds, system.contact_names)
        open_rates = self.forces(self.t, self.q, self.u).rates
        for k in index:
            resting = gamma[k, 0] <= ROUND_OFF * (size[k, 0] + abs(float(hit.normal_velocity_before[k])))
            back = -open_rates[k, 0] * (1.0 - eps_N[k])
            low = gamma[k, 0] ** 2 < -20.0 * open_rates[k, 0] * LOWEST * self.gap_tol
            if not resting and back > 0.0 and (low or 2.0 * gamma[k, 0] < back * self.zeno * self.span):
                resting = True  # infinitely many impacts still to come, within the time that counts as none
                self.happened.append((self.t + 2.0 * float(gamma[k, 0] / back), ACCUMULATES, int(k)))
            if resting:
                self.closed[k] = True
                self.happened.append((self.t, CLOSES, int(k)))

    def _book(self, hit: Any) -> None:
        gamma_A = np.stack([hit.normal_velocity_before, hit.tangential_velocity_before], axis=-1)
        gamma_E = np.stack([hit.normal_velocity_after, hit.tangential_velocity_after], axis=-1)
        Lambda = np.stack([hit.normal_impulse, hit.tangential_impulse], axis=-1)
        self.totals += Lambda
        work = float(0.5 * np.sum(Lambda * (gamma_A + gamma_E)))
        self.book.work += work
        if work > self.book.gain:
            self.book.gain, self.book.gain_time = work, self.t
        self.book.residual = max(self.book.residual, float(hit.residual))
        pushed = Lambda[:, 0] > 0.0
        rows = pushed | self._followed(pushed) | (pushed.any() & (self.kinds >= CONSTRAINT) & (Lambda[:, 1] != 0.0))
        for k in np.flatnonzero(rows):
            row = (self.t, float(k), gamma_A[k, 0], gamma_E[k, 0], *Lambda[k], gamma_A[k, 1], gamma_E[k, 1])
            self.impacts.append(row)
            if self.kinds[k] == CONTACT:
                self.happened.append((self.t, STRIKES, int(k)))

    def _settle(self, forced: int = -1, stopped: int = -1) -> None:
        """Let closed contacts open, stick or slide by the problem on acceleration level; project onto the mode.

        forced : contact whose slip begins at its friction bound, which this problem could not tell.  stopped : contact
        whose slip has just ended.
        """
        self._onto(np.flatnonzero(self.closed))
        gamma, size = self._velocities()
        mu = self.system.laws_at(self.q, self.t, self.p)[0]
        speed, was = self._speeds(gamma), self.slides.copy()
        for k in np.flatnonzero(self.closed):
            moves = self.spatial[k] and mu[k] > 0.0 and k != stopped
            zero = ROUND_OFF * math.hypot(*size[[k, k + 1], 1]) if moves else np.inf
            self.slides[k] = k == forced or (moves and speed[k] > zero)
        self._project()
        lambda_N, stays, along = self._accelerations(forced)
        for k in np.flatnonzero(self.closed):
            if not stays[k]:
                self.closed[k] = self.slides[k] = False
                self.happened.append((self.t, OPENS, int(k)))
            elif k in along:
                self._start_slip(int(k), along[int(k)])
                if not was[k] and k != stopped:
                    self.happened.append((self.t, SLIPS, int(k)))
            elif self.spatial[k] and mu[k] > 0.0 and not self.slides[k] and (was[k] or k == stopped):
                self.happened.append((self.t, STICKS, int(k)))
        self.load = max(self.load, float(lambda_N.max(initial=0.0)))

    def _project(self) -> None:
        """Velocities without normal part at closed contacts, and without slip where they stick."""
        system = self.system
        W_N, W_T, w_hat = system.geometry(self.q, self.t, self.p)
        inertia = Inertia.at(system, self.q, self.t, self.p)
        if inertia:
            self.u, _ = inertia.onto(self.u)
        mu = system.laws_at(self.q, self.t, self.p)[0]
        rows, b = [W_N[k] for k in np.flatnonzero(self.closed)], [w_hat[k, 0] for k in np.flatnonzero(self.closed)]
        for k in np.flatnonzero(self.closed & self.spatial & (mu > 0.0) & ~self.slides):
            rows += [W_T[k], W_T[k + 1]]
            b += [w_hat[k, 1], w_hat[k + 1, 1]]
        if rows:
            C = np.array(rows)
            X = inertia.solve(C.T)
            for _ in range(2):
                self.u = self.u - X @ np.linalg.lstsq(C @ X, C @ self.u + np.array(b), rcond=1e-12)[0]

    def _accelerations(self, forced: int) -> tuple[Array, np.ndarray, dict[int, Array]]:
        """Loads (n,) of the closed contacts, which of them stay closed, and directions in which slip begins.

        Contact after contact, each solved with the others held: sliding ones for their load, the others in space.
        """
        system, n = self.system, self.system.n_contacts
        W_N, W_T, _ = directions = system.geometry(self.q, self.t, self.p)
        inertia = Inertia.at(system, self.q, self.t, self.p, directions=directions)
        zeta, h = system.drift(self.q, self.u, self.t, self.p), system.force(self.q, self.u, self.t, self.p)
        mu = system.laws_at(self.q, self.t, self.p)[0]
        gamma, _ = self._velocities()
        du, _ = inertia.accelerate(h, zeta[inertia.index, 1])
        scale = float(np.abs(du).max(initial=0.0)) or 1.0
        V_N, V_T = inertia.directions(W_N), inertia.directions(W_T)
        forces, index = np.zeros((n, 2)), [int(k) for k in np.flatnonzero(self.closed)]
        for sweep in range(SWEEPS):
            moved = 0.0
            for k in index:
                rise = float(W_N[k] @ du + zeta[k, 0])
                if self.slides[k] or not (self.spatial[k] and mu[k] > 0.0):
                    push = V_N[:, k]
                    point = (0.0, 0.0)
                    if self.slides[k]:
                        point = self._slip_point(k, mu[k] * gamma[k, 1], mu[k + 1] * gamma[k + 1, 1])
                        push = push + mu[k] * point[0] * V_T[:, k] + mu[k + 1] * point[1] * V_T[:, k + 1]
                    alpha = float(W_N[k] @ push)
                    if not alpha > 0.0:
                        raise MotionError(
                            self.t, f"friction of contact {system.contact_names[k]!r} is supercritical (Painleve): "
                            "its load is not determined; use a time stepper"
                        )  # fmt: skip
                    N = max(0.0, forces[k, 0] - rise / alpha)
                    change = push * (N - forces[k, 0])
                    forces[k, 0] = N
                    if self.slides[k]:
                        forces[k, 1], forces[k + 1, 1] = mu[k] * point[0] * N, mu[k + 1] * point[1] * N
                else:
                    T = [k, k + 1]
                    B = np.vstack([W_N[k], W_T[T]])
                    X = np.column_stack([V_N[:, k], V_T[:, T]])
                    D, now = B @ X, np.array([forces[k, 0], forces[k, 1], forces[k + 1, 1]])
                    c = B @ du + np.array([zeta[k, 0], zeta[k, 1], zeta[k + 1, 1]]) - D @ now
                    after = np.array(
                        spatial_contact(
                            D.copy(), *c.tolist(), float(mu[k]), float(mu[k + 1]), self.sections[k], 0.0, 0.0
                        )
                    )
                    change = X @ (after - now)
                    forces[k, 0], forces[k, 1], forces[k + 1, 1] = after
                du = du + change
                moved = max(moved, float(np.abs(change).max(initial=0.0)))
            if moved <= 1e-13 * scale or (len(index) == 1 and sweep > 0):
                break
        else:
            raise MotionError(self.t, "the accelerations of several contacts did not settle; use a time stepper")
        stays, along = np.ones(n, bool), {}
        size = np.abs(W_N) @ np.abs(du) + np.abs(zeta[:, 0])
        for k in index:
            rise = float(W_N[k] @ du + zeta[k, 0])
            stays[k] = forces[k, 0] > 0.0 or rise <= ROUND_OFF * (size[k] + scale * float(np.abs(W_N[k]).max()))
            if k == forced or self.slides[k] or not (self.spatial[k] and mu[k] > 0.0) or forces[k, 0] <= 0.0:
                continue
            slide = np.array([W_T[row] @ du + zeta[row, 1] for row in (k, k + 1)])
            laws = forces[k, 0], forces[k, 1], forces[k + 1, 1], mu[k], mu[k + 1]
            beside = friction_defect(self.sections[k], *map(float, laws), *slide.tolist())
            terms = size[k] + float((np.abs(W_T[[k, k + 1]]) @ np.abs(du)).max()) + float(np.abs(zeta[k]).max())
            terms += float(W_N[k] @ V_N[:, k]) * forces[k, 0]
            self.book.residual = max(self.book.residual, max(beside, abs(rise)) / max(terms, 1e-300))
            if np.linalg.norm(slide) > 1e-9 * (scale * float(np.abs(W_T[k]).max()) + float(np.abs(zeta[k]).max())):
                along[k] = slide / np.linalg.norm(slide)
        return forces[:, 0], stays, along
