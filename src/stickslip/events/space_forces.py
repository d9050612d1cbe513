"""Forces and accelerations of a mode whose contacts have two tangents, and the problem that finds the next mode.

Sliding, a contact's friction is -lambda_N (m_1 s_1, m_2 s_2) with s the point of the section farthest along
(m_1 gamma_1, m_2 gamma_2), see `contact.spatial_contact`: direction and force are functions of the velocities.
Sticking, both tangents are constraints.  Constraints that others imply leave forces open; see `cone_forces`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stickslip.checks import Array
from stickslip.contact.problem import FrictionProblem
from stickslip.contact.sections import section_row
from stickslip.contact.solve import solve_friction
from stickslip.contact.spatial_contact import DISC, POWER, power_point, section_gauge, spatial_contact
from stickslip.events.book import EventBook, MotionError
from stickslip.events.cone_forces import HOLDS, Cones, Shared
from stickslip.events.space_arcs import SpaceKept, SpaceMode
from stickslip.laws import ImpactLaw
from stickslip.mechanisms.inertia import Inertia
from stickslip.mechanisms.system import CONSTRAINT, CONTACT, TANGENT, System

SWEEPS = 200  # contact after contact, before the solvers for frictional contact problems take over
SETTLED = 1e-13  # of the largest acceleration: sweeps end
SOLVED = 1e-11  # error of those solvers, of the largest free acceleration of a contact


@dataclass(eq=False)
class Forces:
    """What a mode does at a state: du (f,), forces (n, 2) [N], gamma and its rate (n, 2), and the section's share.

    `holds` tells whether contacts that share a load can carry it: their margin where it is positive, else what is left
    of the load, as a negative share; None where every force is determined.
    """

    du: Array
    forces: Array
    gamma: Array
    rates: Array
    share: Array
    holds: float | None


@dataclass(eq=False)
class Answer:
    """Solution of the acceleration problem: du (f,), forces (n, 2) [N], rates (n, 2) of gamma, `scale` of du."""

    du: Array
    forces: Array
    rates: Array
    scale: float


@dataclass(eq=False)
class _Rows:
    """Constraints of a mode: row and part of each, directions C and R (r, f), units (r,) of their forces, cones."""

    rows: list[tuple[int, int]]
    C: Array
    R: Array
    units: Array
    cones: Cones
    ratio: Array  # (n, 2), of a sliding contact lambda_T / lambda_N of its two tangents


@dataclass(eq=False)
class SpacePresent:
    """A state of a motion with its mode: which contacts are closed, and which of these slide."""

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
        system = self.system
        n, self.f = system.n_contacts, system.n_dof
        self.kinds = np.array(system.contact_kinds, dtype=int)
        self.contacts = np.flatnonzero(self.kinds == CONTACT)
        self.spatial = np.zeros(n, bool)
        self.spatial[system.spatial] = True
        self.sections = {int(k): section_row(system.sections[int(k)]) for k in system.spatial}
        self.round = all(section is not None and section[0] == DISC for section in self.sections.values())
        self.span = self.t_end - self.t
        self.totals = np.zeros((n, 2))
        self.closed, self.slides = np.zeros(n, bool), np.zeros(n, bool)
        self.fastest = np.zeros(n)  # largest speed of the slip under way [m/s]
        self.happened: list[tuple[float, int, int]] = []
        self.kept: SpaceKept | None = None  # what the present arc began with
        self.again: SpaceKept | None = None  # where `arcs` begins in place of the start
        self.load = 0.0  # largest force so far [N]

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

    def _velocities(self) -> tuple[Array, Array]:
        """gamma (n, 2), and the sizes of the terms in it."""
        W_N, W_T, w_hat = self.system.geometry(self.q, self.t, self.p)
        gamma = np.stack([W_N @ self.u, W_T @ self.u], axis=-1) + w_hat
        sizes = np.stack([np.abs(W_N) @ np.abs(self.u), np.abs(W_T) @ np.abs(self.u)], axis=-1) + np.abs(w_hat)
        return gamma, sizes

    def _speeds(self, gamma: Array) -> Array:
        """Speeds of slip of the contacts, (n,) [m/s]."""
        speed = np.zeros(self.system.n_contacts)
        for k in self.sections:
            speed[k] = math.hypot(gamma[k, 1], gamma[k + 1, 1])
        return speed

    def _mobility(self, k: int) -> float:
        W_T = self.system.geometry(self.q, self.t, self.p)[1]
        M = self.system.mass(self.q, self.t, self.p)
        return float(max(W_T[row] @ np.linalg.solve(M, W_T[row]) for row in (k, k + 1)))

    # -- forces of the mode ------------------------------------------------------------------------------------

    def _constraints(self, W_N: Array, W_T: Array, mu: Array, gamma: Array) -> _Rows:
        """The constraints of the closed contacts in the present mode."""
        rows: list[tuple[int, int]] = []
        C, R, units = [], [], []
        pushes: list[int] = []
        first: list[int] = []  # of three rows of a contact that sticks
        ratio = np.zeros((self.system.n_contacts, 2))
        for k in map(int, np.flatnonzero(self.closed)):
            push = W_N[k]
            sticks = self.spatial[k] and mu[k] > 0.0 and not self.slides[k]
            if self.slides[k]:
                point = self._slip_point(k, mu[k] * gamma[k, 1], mu[k + 1] * gamma[k + 1, 1])
                ratio[k] = mu[k] * point[0], mu[k + 1] * point[1]
                push = push + ratio[k, 0] * W_T[k] + ratio[k, 1] * W_T[k + 1]
            (first if sticks else pushes).append(len(rows))
            rows.append((k, 0))
            C.append(W_N[k])
            R.append(push)
            units.append(1.0)
            for row in (k, k + 1) if sticks else ():
                rows.append((row, 1))
                C.append(W_T[row])
                R.append(W_T[row])
                units.append(float(mu[row]))
        cones = Cones(np.array(pushes, dtype=int), np.array(first, dtype=int))
        shape = (len(rows), self.f)
        return _Rows(rows, np.array(C).reshape(shape), np.array(R).reshape(shape), np.array(units), cones, ratio)

    def forces(self, t: float, q: Array, u: Array, judge: bool = False) -> Forces:
        """Forces and accelerations in the present mode, whose closed contacts keep to their constraints.

        judge : find out whether contacts that share a load can carry it.  Forces of contacts that slide follow from how
        they share it, so that there the least ones within the cones are taken in any case.
        """
        system, p, n = self.system, self.p, self.system.n_contacts
        W_N, W_T, w_hat = directions = system.geometry(q, t, p)
        zeta, h = system.drift(q, u, t, p), system.force(q, u, t, p)
        inertia = Inertia.at(system, q, t, p, directions=directions)
        mu = system.laws_at(q, t, p)[0]
        gamma = np.stack([W_N @ u, W_T @ u], axis=-1) + w_hat
        free, _ = inertia.accelerate(h, zeta[inertia.index, 1])
        held = self._constraints(W_N, W_T, mu, gamma)
        forces, du, holds = np.zeros((n, 2)), free, None
        if held.rows:
            X = inertia.solve(held.R.T)
            wanted = held.C @ free + np.array([zeta[k, part] for k, part in held.rows])
            found, holds = self._shared(held, held.C @ X, -wanted, judge)
            du = free + X @ found
            for (row, part), value in zip(held.rows, found, strict=True):
                forces[row, part] += value
            for k in np.flatnonzero(self.slides):
                forces[k, 1], forces[k + 1, 1] = held.ratio[k] * forces[k, 0]
        share = self._shares(mu, forces)
        if inertia:
            loose = np.linalg.solve(inertia.M, h + W_N.T @ forces[:, 0] + W_T.T @ forces[:, 1])
            forces[inertia.index, 1] = inertia.answer(-inertia.J @ (du - loose))
        rates = np.stack([W_N @ du, W_T @ du], axis=-1) + zeta
        return Forces(du, forces, gamma, rates, share, holds)

    def _shared(self, held: _Rows, A: Array, b: Array, judge: bool) -> tuple[Array, float | None]:
        """Forces with A x = b, and whether contacts that share a load can carry it."""
        if not self.round or len(b) < 2:
            return np.asarray(np.linalg.lstsq(A, b, rcond=1e-12)[0]), None
        shared = Shared.of(A * held.units, b)
        x = shared.least()
        if not shared.dependent:
            return held.units * x, None
        inside = held.cones.margin(x)
        if inside >= 0.0 or not (judge or len(held.cones.pushes)):
            return held.units * x, inside
        least, off = shared.least_within(held.cones)
        if off > HOLDS:
            return held.units * x, -off
        return held.units * least, HOLDS * float(np.abs(least).max(initial=0.0))

    def _shares(self, mu: Array, forces: Array) -> Array:
        share = np.zeros(self.system.n_contacts)
        for k in map(int, np.flatnonzero(self.closed & self.spatial & ~self.slides & (mu > 0.0))):
            if forces[k, 0] > 0.0:
                N, section = forces[k, 0], self.sections[k]
                share[k] = section_gauge(section, forces[k, 1] / (mu[k] * N), forces[k + 1, 1] / (mu[k + 1] * N))
            else:
                share[k] = np.inf if forces[k : k + 2, 1].any() else 0.0
        return share

    # -- the problem on acceleration level ---------------------------------------------------------------------

    def accelerations(self, t: float, q: Array, u: Array) -> Answer:
        """Accelerations of the closed contacts under their laws: those that slide push, the others may stick or slip.

        Contact after contact, each solved with the others held; where that takes long, as for contacts that share a
        load, by the solvers for frictional contact problems.  Raises `MotionError` where there is no answer.
        """
        system, n = self.system, self.system.n_contacts
        W_N, W_T, w_hat = directions = system.geometry(q, t, self.p)
        inertia = Inertia.at(system, q, t, self.p, directions=directions)
        zeta, h = system.drift(q, u, t, self.p), system.force(q, u, t, self.p)
        mu = system.laws_at(q, t, self.p)[0]
        gamma = np.stack([W_N @ u, W_T @ u], axis=-1) + w_hat
        free, _ = inertia.accelerate(h, zeta[inertia.index, 1])
        pushes = _Pushes(self, W_N, W_T, zeta, mu, inertia, gamma)
        scale = float(np.abs(free).max(initial=0.0)) or 1.0
        if not pushes.index:
            forces, du = np.zeros((n, 2)), free
        else:
            forces, du, settled = pushes.sweep(free, scale)
            if not settled:
                forces, du = pushes.solve(free, forces)
        rates = np.stack([W_N @ du, W_T @ du], axis=-1) + zeta
        return Answer(du, forces, rates, scale)


@dataclass(eq=False)
class _Pushes:
    """The closed contacts of an acceleration problem."""

    present: SpacePresent
    W_N: Array
    W_T: Array
    zeta: Array
    mu: Array
    inertia: Inertia
    gamma: Array

    def __post_init__(self) -> None:
        present = self.present
        self.index = [int(k) for k in np.flatnonzero(present.closed)]
        rows = np.array(sorted({row for k in self.index for row in (k, k + int(present.spatial[k]))}), dtype=int)
        self.V_N, self.V_T = np.zeros_like(self.W_N.T), np.zeros_like(self.W_T.T)
        if len(rows):
            self.V_N[:, rows] = self.inertia.directions(self.W_N[rows])
            self.V_T[:, rows] = self.inertia.directions(self.W_T[rows])

    def _sticks(self, k: int) -> bool:
        return bool(self.present.spatial[k] and self.mu[k] > 0.0 and not self.present.slides[k])

    def _push(self, k: int) -> tuple[Array, Array]:
        """Acceleration by a unit load of a contact that slides, or has no friction, and its friction (2,)."""
        ratio = np.zeros(2)
        if self.present.slides[k]:
            mu, gamma = self.mu[[k, k + 1]], self.gamma[[k, k + 1], 1]
            ratio = mu * np.array(self.present._slip_point(k, *(mu * gamma).tolist()))
            return self.V_N[:, k] + self.V_T[:, [k, k + 1]] @ ratio, ratio
        return self.V_N[:, k], ratio

    def sweep(self, du: Array, scale: float) -> tuple[Array, Array, bool]:
        """Contact after contact; forces, accelerations, and whether they settled."""
        forces = np.zeros_like(self.zeta)
        for sweep in range(SWEEPS):
            moved = 0.0
            for k in self.index:
                if self._sticks(k):
                    T = [k, k + 1]
                    B = np.vstack([self.W_N[k], self.W_T[T]])
                    X = np.column_stack([self.V_N[:, k], self.V_T[:, T]])
                    D, now = B @ X, np.array([forces[k, 0], forces[k, 1], forces[k + 1, 1]])
                    c = B @ du + np.array([self.zeta[k, 0], self.zeta[k, 1], self.zeta[k + 1, 1]]) - D @ now
                    mu, section = tuple(self.mu[T].tolist()), self.present.sections[k]
                    after = np.array(spatial_contact(D.copy(), tuple(c.tolist()), mu, section, (0.0, 0.0)))
                    change = X @ (after - now)
                    forces[k, 0], forces[k, 1], forces[k + 1, 1] = after
                else:
                    push, ratio = self._push(k)
                    alpha = self._alpha(k, push)
                    N = max(0.0, forces[k, 0] - float(self.W_N[k] @ du + self.zeta[k, 0]) / alpha)
                    change = push * (N - forces[k, 0])
                    forces[k, 0] = N
                    if self.present.slides[k]:
                        forces[[k, k + 1], 1] = ratio * N
                du = du + change
                moved = max(moved, float(np.abs(change).max(initial=0.0)))
            if moved <= SETTLED * scale or (len(self.index) == 1 and sweep > 0):
                return forces, du, True
        return forces, du, False

    def _alpha(self, k: int, push: Array) -> float:
        alpha = float(self.W_N[k] @ push)
        if not alpha > 0.0:
            name = self.present.system.contact_names[k]
            raise MotionError(
                self.present.t, f"friction of contact {name!r} is supercritical (Painleve): its load is not "
                "determined; use a time stepper"
            )  # fmt: skip
        return alpha

    def solve(self, free: Array, start: Array) -> tuple[Array, Array]:
        """Forces and accelerations by a solver for frictional contact problems; sliding contacts only push."""
        n = len(self.index)
        B, X = np.zeros((3 * n, len(free))), np.zeros((len(free), 3 * n))
        mu, r0, q, beside = np.zeros((n, 2)), np.zeros(3 * n), np.zeros(3 * n), np.ones(3 * n)
        for i, k in enumerate(self.index):
            B[3 * i], X[:, 3 * i] = self.W_N[k], self._push(k)[0]
            q[3 * i], r0[3 * i], beside[3 * i] = self.zeta[k, 0], start[k, 0], 0.0
            if self._sticks(k):  # the tangents of the others have no forces of their own
                T, own = [k, k + 1], slice(3 * i + 1, 3 * i + 3)
                B[own], X[:, own], mu[i] = self.W_T[T], self.V_T[:, T], self.mu[T]
                q[own], r0[own], beside[own] = self.zeta[T, 1], start[T, 1], 0.0
        same = bool(np.all(mu[:, 0] == mu[:, 1]))
        problem = FrictionProblem(B @ X + np.diag(beside), q + B @ free, mu[:, 0] if same else mu)
        found = None
        if self.present.round:
            found = solve_friction(problem, tol=SOLVED, r0=r0, progress=False)
        if found is None or found.velocity_error > 1e3 * SOLVED:
            raise MotionError(
                self.present.t, "the accelerations of several contacts were not found"
                + ("" if found is None else f" ({found.status.rstrip('.')})") + "; use a time stepper"
            )  # fmt: skip
        forces = np.zeros_like(self.zeta)
        for i, k in enumerate(self.index):
            forces[k, 0] = found.r[3 * i]
            if self._sticks(k):
                forces[k, 1], forces[k + 1, 1] = found.r[3 * i + 1 : 3 * i + 3]
            elif self.present.slides[k]:
                forces[[k, k + 1], 1] = self._push(k)[1] * forces[k, 0]
        return forces, free + X @ found.r
