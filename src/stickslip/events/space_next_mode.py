"""The mode after an event where contacts have two tangents: which contacts open, stick and slip.

The acceleration problem of all closed contacts decides, and of its answer the accelerations: these are unique where
forces are not, as below a box that lies on four corners.  At the end of a mode in which contacts share a load all of
them give way together, and at that instant nothing moves yet: there the problem a little later tells who moves.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.checks import Array
from stickslip.contact.spatial_contact import POWER, friction_defect
from stickslip.events.book import MotionError
from stickslip.events.cone_forces import DEPENDENT
from stickslip.events.modes import ROUND_OFF, onto_contacts
from stickslip.events.space_forces import Answer, SpacePresent
from stickslip.mechanisms.inertia import Inertia
from stickslip.trajectory import OPENS, SLIPS, STICKS

ONSET = 1e-9  # of the speeds in a slip: its speed where it begins
AFTER_IMPACT = 1e-9  # of the velocities in an impact: slip below is the rounding and the residual of its solution
MOVES = 1e-9  # of the accelerations: contacts that move
_MOVES_LATER = 1e-7  # of the accelerations: contacts that move a little later
_LATER = tuple(10.0**k for k in range(-9, -2))  # of the run: how much later


class SpaceSettling(SpacePresent):
    """A present whose mode is found anew."""

    pace: float = 0.0  # largest velocity at the contacts in the last impact, whose rounding errors remain [m/s]

    def _onto(self, index: np.ndarray) -> None:
        if len(index) or len(self.system.constraints):
            no_tangent = np.zeros(self.system.n_contacts, bool)
            self.q = onto_contacts(self.system, self.t, self.q, self.p, index, no_tangent)

    def _settle(
        self,
        forced: tuple[int, Array] | None = None,
        stopped: frozenset[int] = frozenset(),
        fresh: bool = False,
        later: bool = False,
    ) -> None:
        """Let closed contacts open, stick or slide by the problem on acceleration level; project onto the mode.

        forced : contact whose slip begins at its friction bound, which this problem could not tell, and the direction
        (2,) of its slip; it begins behind the projection, whose shifts would be larger.  stopped : contacts
        whose slip has just ended.  fresh : velocities have jumped, so that contacts may slide which did not.  later :
        contacts that share a load give way.
        """
        self._onto(np.flatnonzero(self.closed))
        gamma, size = self._velocities()
        mu = self.system.laws_at(self.q, self.t, self.p)[0]
        speed, was = self._speeds(gamma), self.slides.copy()
        for k in map(int, np.flatnonzero(self.closed)):
            moves = self.spatial[k] and mu[k] > 0.0 and k not in stopped and (fresh or was[k])
            zero = max(ROUND_OFF * math.hypot(*size[[k, k + 1], 1]), AFTER_IMPACT * self.pace) if moves else np.inf
            self.slides[k] = moves and speed[k] > zero
        self.pace = 0.0
        self._project()
        first = -1
        if forced is not None:
            first = forced[0]
            self._start_slip(*forced)
        answer, moves_from = self.accelerations(self.t, self.q, self.u), MOVES
        if later:
            answer, held, moves_from = self._a_little_later()
        else:
            held = self.forces(self.t, self.q, self.u).du
        self._measure(answer, first)
        stays, along = self._moving(answer, first, moves_from)
        if along:
            self._start_slips(along, answer.du - held)
        for k in map(int, np.flatnonzero(self.closed)):
            if not stays[k]:
                self.closed[k] = self.slides[k] = False
                self.happened.append((self.t, OPENS, k))
            elif k in along:
                self.slides[k], self.fastest[k] = True, 0.0
                if not was[k] and k not in stopped:
                    self.happened.append((self.t, SLIPS, k))
            elif self.spatial[k] and mu[k] > 0.0 and not self.slides[k] and (was[k] or k in stopped):
                self.happened.append((self.t, STICKS, k))
        self.load = max(self.load, float(answer.forces[:, 0].max(initial=0.0)))
        self.p = self.system.released(self.p, self.closed)

    def _a_little_later(self) -> tuple[Answer, Array, float]:
        """The acceleration problem where the contacts that give way have begun to move, du of the mode, and a level."""
        du = self.forces(self.t, self.q, self.u).du
        for share in _LATER:
            dt = share * self.span
            t, q, u = self.t + dt, self.q + dt * (self.u + 0.5 * dt * du), self.u + dt * du
            answer, held = self.accelerations(t, q, u), self.forces(t, q, u).du
            stays, along = self._moving(answer, -1, _MOVES_LATER)
            if along or not all(stays[self.closed]):
                break
        return answer, held, _MOVES_LATER

    def _terms(self, answer: Answer) -> Array:
        """Sizes (n,) of the accelerations that the contacts might have."""
        W_N, W_T, _ = self.system.geometry(self.q, self.t, self.p)
        zeta = self.system.drift(self.q, self.u, self.t, self.p)
        rows = np.maximum(np.abs(W_N).max(axis=1, initial=0.0), np.abs(W_T).max(axis=1, initial=0.0))
        return np.asarray(answer.scale * rows + np.abs(zeta).max(axis=1, initial=0.0))

    def _moving(self, answer: Answer, forced: int, moves_from: float) -> tuple[np.ndarray, dict[int, Array]]:
        """Which contacts stay closed, (n,) bool, and the accelerations (2,) of those that begin to slip."""
        mu, terms = self.system.laws_at(self.q, self.t, self.p)[0], self._terms(answer)
        stays, along = np.ones(self.system.n_contacts, bool), {}
        for k in map(int, np.flatnonzero(self.closed)):
            level = moves_from if moves_from > MOVES else ROUND_OFF
            pressed = answer.forces[k, 0] > 0.0 and moves_from <= MOVES
            stays[k] = pressed or answer.rates[k, 0] <= level * terms[k]
            if not stays[k] or k == forced or self.slides[k] or not (self.spatial[k] and mu[k] > 0.0):
                continue
            slide = answer.rates[[k, k + 1], 1]
            if float(np.linalg.norm(slide)) > moves_from * terms[k]:
                along[k] = slide
        return stays, along

    def _measure(self, answer: Answer, forced: int) -> None:
        """Book how well the answer keeps the laws."""
        W_N, W_T, _ = self.system.geometry(self.q, self.t, self.p)
        zeta, mu = self.system.drift(self.q, self.u, self.t, self.p), self.system.laws_at(self.q, self.t, self.p)[0]
        for k in map(int, np.flatnonzero(self.closed & self.spatial & ~self.slides & (mu > 0.0))):
            if k == forced or answer.forces[k, 0] <= 0.0:
                continue
            T = [k, k + 1]
            laws = answer.forces[k, 0], *answer.forces[T, 1], *mu[T]
            beside = friction_defect(self.sections[k], *map(float, laws), *answer.rates[T, 1].tolist())
            terms = float(np.abs(W_N[k]) @ np.abs(answer.du) + np.abs(zeta[k]).max())
            terms += float((np.abs(W_T[T]) @ np.abs(answer.du)).max()) + answer.scale * float(np.abs(W_N[k]).max())
            worst = max(beside, abs(float(answer.rates[k, 0]))) / max(terms, 1e-300)
            self.book.residual = max(self.book.residual, worst)

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

    def _least_speed(self, k: int) -> float:
        """The least speed of a slip that has a direction [m/s]."""
        _, size = self._velocities()
        load = abs(float(self.forces(self.t, self.q, self.u).forces[k, 0]))
        return ONSET * max(float(size[[k, k + 1], 1].max()), 1e-3 * self._mobility(k) * load * self.span)

    def _start_slip(self, k: int, along: Array) -> None:
        """Let contact k slide along a direction (2,) with the least speed that has a direction."""
        gamma, _ = self._velocities()
        speed = self._least_speed(k)
        self.slides[k], self.fastest[k] = True, 0.0
        W_T = self.system.geometry(self.q, self.t, self.p)[1][[k, k + 1]]
        inertia = Inertia.at(self.system, self.q, self.t, self.p)
        X = inertia.solve(W_T.T)
        wanted = speed * along - gamma[[k, k + 1], 1]
        self.u = self.u + X @ np.linalg.lstsq(W_T @ X, wanted, rcond=1e-12)[0]

    def _start_slips(self, along: dict[int, Array], du: Array) -> None:
        """Let contacts slide along their accelerations `along`, by a share of `du`, which moves all of them."""
        fastest = max(along, key=lambda k: float(np.linalg.norm(along[k])))
        share = self._least_speed(fastest) / float(np.linalg.norm(along[fastest]))
        if not math.isfinite(share):
            raise MotionError(self.t, "slip begins without an acceleration; use a time stepper")
        self.u = self.u + share * du

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
                self.u = self.u - X @ np.linalg.lstsq(C @ X, C @ self.u + np.array(b), rcond=DEPENDENT)[0]
