"""Impacts of contacts with two tangents, and impacts that accumulate."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from stickslip.checks import Array
from stickslip.events.accumulation import MEMORY, Blow, accumulation
from stickslip.events.book import MotionError
from stickslip.events.modes import ROUND_OFF
from stickslip.events.space_next_mode import SpaceSettling
from stickslip.impacts.impact import impact_at
from stickslip.mechanisms.system import CONSTRAINT, CONTACT
from stickslip.trajectory import ACCUMULATES, CLOSES, OPENS, STRIKES

LOWEST = 1e-3  # of gap_tol: lower hops are none
LEAVING = 1e-15  # how far inside contacts count that leave their features together with others [m]
ON_FEATURE = 1e-7  # of the velocities: a contact that goes on with another feature neither closes nor opens


class SpaceColliding(SpaceSettling):
    """A present at which contacts collide."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.blows: deque[Blow] = deque(maxlen=MEMORY)
        self.fresh = np.zeros(self.system.n_contacts, bool)  # contacts that have just come into play
        self.recent: deque[float] = deque()  # times of the last events [s]

    def _strike(self, left: np.ndarray | None = None) -> None:
        """The impact law, and which contacts stay closed after it; `left` are contacts that leave their features."""
        system, before, was = self.system, self.u, self.closed.copy()
        self.p = system.held(self.q, self.p, self.closed, 10.0 * self.gap_tol, left)
        index = np.flatnonzero(self._near())
        self._onto(index)
        _, size = self._velocities()
        try:
            hit = impact_at(system, self.law, self.q, before, self.p, self.t, 10.0 * self.gap_tol, self.solver)
        except ValueError as problem:
            raise MotionError(self.t, str(problem).rstrip(".")) from None
        if not hit.solved:
            raise MotionError(self.t, f"the impact was not solved: {hit.status}")
        self._book(hit)
        self.u, self.pace = hit.u, float(size[index].max(initial=0.0))
        self.closed[:] = self.slides[:] = False
        gamma, _ = self._velocities()
        resting = np.zeros(system.n_contacts, bool)
        resting[index] = gamma[index, 0] <= ROUND_OFF * (size[index, 0] + np.abs(hit.normal_velocity_before[index]))
        self._accumulated(index[~resting[index]], resting, gamma)
        hits = index[
            (hit.normal_impulse[index] > 0.0) & (hit.normal_velocity_before[index] < -ROUND_OFF * size[index, 0])
        ]
        if len(hits) and (not self.blows or self.blows[-1].contacts != tuple(hits.tolist())):
            self.blows.append(Blow(self.t, tuple(hits.tolist()), float(-hit.normal_velocity_before[hits].min())))
            self._accumulated_together(resting, index)
        self.closed[:] = resting
        self.happened += [(self.t, CLOSES, int(k)) for k in np.flatnonzero(resting & ~was)]
        self.happened += [(self.t, OPENS, int(k)) for k in np.flatnonzero(was & ~resting)]

    def _next_feature(self, k: int) -> None:
        """Let contact k go on with the features next to the one that it has left, or open."""
        slid, fastest = bool(self.slides[k]), self.fastest[k]
        left = self.closed & (self.system.counts(self.q, self.p) < LEAVING)
        left[k] = True
        self.closed[left] = self.slides[left] = False
        if not self._joined(left):
            self._strike(left)
            return
        new = self.closed & ~self.slides & self.fresh
        self.slides[new], self.fastest[new] = slid, fastest
        if not (self.closed & self.fresh).any():
            self.happened.append((self.t, OPENS, k))

    def _near(self) -> np.ndarray:
        """Contacts, (n,) bool, whose gaps count as closed in an impact."""
        near = self.system.gap(self.q, self.t, self.p) <= 10.0 * self.gap_tol
        return np.asarray((self.kinds == CONTACT) & near & self.system.holding(self.p))

    def _joined(self, left: np.ndarray | None = None) -> bool:
        """Close contacts whose features have come into play without an approach; False where one does approach."""
        closed = self.closed.copy()
        self.p = self.system.held(self.q, self.p, self.closed, 10.0 * self.gap_tol, left)
        gamma, size = self._velocities()
        new = np.flatnonzero(self._near() & ~self.closed)
        level = ON_FEATURE * np.maximum(size.max(axis=1), np.roll(size.max(axis=1), -1))[new]  # of all its directions
        if np.any(gamma[new, 0] < -level):
            return False
        self.closed[new] = gamma[new, 0] <= level
        self.fresh = self.closed & ~closed
        mu, speed = self.system.laws_at(self.q, self.t, self.p)[0], self._speeds(gamma)
        for i in np.flatnonzero(self.fresh & self.spatial & (mu > 0.0)):
            self.slides[i] = speed[i] > ON_FEATURE * max(size[i, 1], size[i + 1, 1])
            self.fastest[i] = speed[i]
        return True

    def _accumulated(self, index: np.ndarray, resting: np.ndarray, gamma: Array) -> None:
        """Let contacts of `index` rest whose impacts to come are too many to be told from rest.

        Contact k, thrown up with gamma_N and pulled back with gamma_N' < 0, comes to rest after
        2 gamma_N / (|gamma_N'| (1 - eps_N)), [S00] section 4.2.
        """
        if not len(index):
            return
        _, eps_N, eps_T, _ = self.system.laws_at(self.q, self.t, self.p, -self.u)
        eps_N, _ = self.law.coefficients(eps_N, eps_T, self.system.contact_kinds, self.system.contact_names)
        open_rates = self.forces(self.t, self.q, self.u).rates
        for k in index:
            back = -open_rates[k, 0] * (1.0 - eps_N[k])
            low = gamma[k, 0] ** 2 < -20.0 * open_rates[k, 0] * LOWEST * self.gap_tol
            if back > 0.0 and (low or 2.0 * gamma[k, 0] < back * self.zeno * self.span):
                resting[k] = True  # infinitely many impacts still to come, within the time that counts as none
                self.happened.append((self.t + 2.0 * float(gamma[k, 0] / back), ACCUMULATES, int(k)))

    def _accumulated_together(self, resting: np.ndarray, near: np.ndarray) -> None:
        """Let contacts rest that strike in turns, ever more often, where the blows to come cannot be told from rest.

        They cannot where gaps stay below gap_tol, or the last blow comes within zeno * span.  The contacts are at rest
        only if the accelerations then press all of them together.
        """
        found = accumulation(tuple(self.blows), 10.0 * LOWEST * self.gap_tol)
        if found is None or not (found.height < self.gap_tol or found.rest < self.zeno * self.span):
            return
        index = np.array(found.contacts)
        if not np.isin(index, near).all():
            return
        u, closed, slides = self.u, self.closed.copy(), self.slides.copy()
        self.closed[:] = resting
        self.closed[index] = True
        mu = self.system.laws_at(self.q, self.t, self.p)[0]
        gamma, _ = self._velocities()
        self.slides[:] = self.closed & self.spatial & (self._speeds(gamma) > mu * np.abs(gamma[:, 0]))
        self._project()
        answer = self.accelerations(self.t, self.q, self.u)
        stays, _ = self._moving(answer, -1, ROUND_OFF)
        rest = bool(stays[index].all())
        if rest:
            resting[:] = self.closed
            self.blows.clear()
            self.book.accumulation_error = max(self.book.accumulation_error, found.error)
            self.happened += [(self.t + found.rest, ACCUMULATES, int(k)) for k in index]
        else:
            self.u = u
        self.closed, self.slides = closed, slides

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
