"""Impacts at an event, and impacts that accumulate: contacts whose blows to come cannot be told from rest."""

from __future__ import annotations

import numpy as np

from stickslip.checks import Array
from stickslip.events.accumulation import Blow, accumulation
from stickslip.events.book import MotionError
from stickslip.events.modes import ROUND_OFF, relative_velocities, touching
from stickslip.events.watching import Watching
from stickslip.impacts.impact import impact_at
from stickslip.laws.slip import DEPENDS
from stickslip.mechanisms.system import CONSTRAINT, CONTACT
from stickslip.trajectory import ACCUMULATES

_HOPS = 100.0  # times the round-off of gaps: hops that get no smaller any more


class Colliding(Watching):
    """A present at which contacts collide."""

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
        pushed = (self.kinds == CONTACT) & (Lambda[:, 0] > 0.0)
        for k in np.flatnonzero(pushed | (pushed.any() & (self.kinds >= CONSTRAINT) & (Lambda[:, 1] != 0.0))):
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

    def _accumulated(self, closed: np.ndarray, sense: Array, struck: np.ndarray) -> tuple[np.ndarray, Array]:
        """Close the contacts whose remaining impacts would all come within zeno * span.

        Contact i, thrown up with gamma_N and pulled back with gamma_N' < 0, comes to rest after
        2 gamma_N / (|gamma_N'| (1 - eps_N)), [S00] section 4.2; the velocity it has is taken by `onto_velocities`.
        """
        gamma, size = relative_velocities(self.system, self.t, self.q, self.u, self.p)
        eps_N = self._restitution()
        for i in np.flatnonzero(struck & ~closed & (self.kinds == CONTACT)):
            _, solution = self._accelerations(closed, sense.copy())
            if solution is None:
                break
            rise = self.system.geometry(self.q, self.t, self.p)[0][i] @ solution.du + self._zeta()[i, 0]
            short = 2.0 * gamma[i, 0] < -rise * (1.0 - eps_N[i]) * self.zeno * self.span
            if short or gamma[i, 0] ** 2 < -2.0 * rise * 10.0 * self._gap_noise()[i]:  # or lower than round-off
                closed[i] = True
                sense[i] = np.sign(gamma[i, 1]) if abs(gamma[i, 1]) > ROUND_OFF * size[i, 1] else 0.0
                rest = 2.0 * gamma[i, 0] / max(-rise * (1.0 - eps_N[i]), 1e-300)
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
        slips = np.abs(gamma[:, 1]) > self.system.laws_at(self.q, self.t, self.p)[0] * np.abs(gamma[:, 0])
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
