"""The mode behind an event: the acceleration problem, loads that are handed over, kinks, and Painleve's paradox."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stickslip.checks import Array
from stickslip.events.acceleration import AccelerationProblem, Accelerations
from stickslip.events.book import MotionError
from stickslip.events.collisions import Colliding
from stickslip.events.modes import ROUND_OFF, Mode, mode_of, onto_velocities, relative_velocities, touching
from stickslip.mechanisms.inertia import Inertia
from stickslip.mechanisms.system import CLUTCH, CONTACT
from stickslip.trajectory import KINK

_AHEAD = 1e-4  # of the last step: where a load that changes sides is looked at


class Settling(Colliding):
    """A present that enters the mode which its closed contacts lead to."""

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
        self._shut_gates(mode.closed)
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
        directions = (problem.V_N, problem.V_T)  # all is zero at a change of sides, and where friction holds what rests
        size += 1e-3 * self.book.force * max(float(np.abs(V).max(initial=0.0)) for V in directions)
        if not error <= 1e-6 * size:
            raise MotionError(self.t, f"the mode's accelerations differ from those of its problem by {error:.1e}")

    def _jam(self, closed: np.ndarray, sense: Array) -> bool:
        """An impact without collision where no finite forces exist, [PG05] section 6; False if that is none, either.

        At rest along the normal, no impulse at all obeys the impact law, too.  Where that is the answer, the contacts
        are given an approach below round-off: what no slip can carry ends the slip.
        """
        pressed = closed & (self.kinds == CONTACT)
        if not pressed.any():
            return False
        before = len(self.impacts)
        closed, sense = self._impact()
        if len(self.impacts) == before:
            u = self.u
            self.u = self._approaching(pressed)
            closed, sense = self._impact()
            self.u = self.u if len(self.impacts) > before else u
        self.book.counts["impacts without collision"] += 1
        if len(self.impacts) == before:
            return False
        self._settle(closed, sense, stopped=self.stopped)
        return True

    def _approaching(self, pressed: np.ndarray) -> Array:
        """Velocities at which the contacts `pressed` approach, by less than round-off of their velocities."""
        _, size = relative_velocities(self.system, self.t, self.q, self.u, self.p)
        W_N, W_T, w_hat = self.system.geometry(self.q, self.t, self.p)
        rows = W_N[pressed]
        X = Inertia.at(self.system, self.q, self.t, self.p, directions=(W_N, W_T, w_hat)).solve(rows.T)
        approach = 0.5 * ROUND_OFF * np.maximum(size[pressed].max(axis=1), 1e-300)
        return self.u - X @ np.linalg.lstsq(rows @ X, approach, rcond=1e-12)[0]

    def _turn(self, kinks: list[int]) -> tuple[np.ndarray, Array, bool]:
        """Pass kinks: the directions of contacts jump, and with them their velocities.

        Contacts that touch and now approach collide; those that part open; the others stay.  Returns closed contacts
        and their sense of slip, and whether there was an impact.
        """
        self._branches[kinks] *= -1.0
        if all(self.system.kink_gates[j] for j in kinks):  # contacts that are open: nothing else changes
            return self.mode.closed.copy(), self.mode.sense.copy(), False
        touched = {k for j in kinks for k in self.system.kink_contacts[j]}
        self.happened += [(self.t, KINK, k) for k in touched or {-1}]
        gamma, size = relative_velocities(self.system, self.t, self.q, self.u, self.p)
        near = (self.kinds == CONTACT) & (self.system.gap(self.q, self.t, self.p) <= self.gap_tol)
        near |= self.kinds == CLUTCH
        if np.any(near & (gamma[:, 0] < -ROUND_OFF * size[:, 0])):
            return *self._impact(), True
        return *touching(self.system, self.t, self.q, self.u, self.u, self.p, self.gap_tol, self.mode), False
