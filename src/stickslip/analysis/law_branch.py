"""The jump of an impact under any law, and its derivative: the law itself is asked beside the state of the impact."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from stickslip.analysis.differences import derivative
from stickslip.checks import Array
from stickslip.events.modes import onto_velocities
from stickslip.impacts.impact import FromBelow, closed_contacts, impact_problem

if TYPE_CHECKING:
    from stickslip.analysis.saltation import FollowedMotion

_STEP = 1e-3  # longest step of differences, relative
_SHARE = 1e-2  # longest step of a velocity, of the speed of the collision
_NOISE = 2e-14  # of what a law returns, relative
_TIME_STEP = 5e-4  # longest step in time [s]


@dataclass(frozen=True, eq=False)
class LawBranch:
    """An impact under the law of a motion, between contacts that stay what they were, then the velocity projection.

    corners : whether a branch of the law ends at the state of the impact, for every direction that was asked for
    """

    motion: FollowedMotion
    index: np.ndarray
    corners: list[bool] = field(default_factory=list)

    @classmethod
    def of(cls, motion: FollowedMotion, x: Array) -> LawBranch:
        """The contacts of the motion's last impact; x is the state before it, (2 f,)."""
        f = motion.f
        problem = closed_contacts(motion.system, motion.t, x[:f], x[f:], motion.p, motion.gap_tol)
        return cls(motion, problem.index)

    @property
    def at_the_bound(self) -> bool:
        """Whether derivatives hold on one side only."""
        return any(self.corners)

    def blow(self, x: Array, t: float) -> Array:
        """u+ and the impulses (n, 2) of all contacts, normal and tangential, as one vector (f + 2 n,)."""
        motion, system, f = self.motion, self.motion.system, self.motion.f
        q, u, p, law = x[:f], x[f:], motion.p, motion.law
        problem = impact_problem(system, t, q, u, p, self.index)
        local = problem.local
        _, eps_N, eps_T, _ = system.laws_at(q, t, p, u)
        eps_N, eps_T = law.coefficients(eps_N, eps_T, system.contact_kinds, system.contact_names)
        solver = FromBelow(motion.solver.tol, inner=motion.solver)
        answer = law.at(self.index).solve(local, local.c_N, local.c_T, eps_N[self.index], eps_T[self.index], solver)
        u = problem.end_velocity(answer.Lambda_N, answer.Lambda_T)
        Lambda = np.zeros((system.n_contacts, 2))
        Lambda[self.index] = np.stack([answer.Lambda_N, answer.Lambda_T], axis=-1)
        Lambda[problem.inertia.index, 1] = problem.reactions(u, answer.Lambda_N, answer.Lambda_T)
        assert motion.settled is not None
        u, _ = onto_velocities(system, t, q, u, p, *motion.settled)
        return np.concatenate([u, Lambda.ravel()])

    def slopes(self, x: Array, t: float, D: Array) -> Array:
        """Derivatives (f + 2 n, K) of `blow` in directions D (N, K) of states, time and parameters.

        Differences of order 8, whose steps are cut until the law stays on one branch.  Where it never does, a corner of
        the law lies right at the impact: `corners` counts these directions.
        """
        motion, n, f = self.motion, 2 * self.motion.f, self.motion.f
        size, here, kept = self._sizes(x, t), self.blow(x, t), motion.p
        units = [max(float(np.abs(part).max(initial=0.0)), 1e-300) for part in (here[:f], here[f:])]
        columns = []

        def at(d: Array, s: float) -> Array:
            motion.p = kept + s * d[n + 1 :]
            try:
                found = self.blow(x + s * d[:n], t + s * float(d[n]))
            except ValueError:  # out of the range of the law
                found = np.full_like(here, np.nan)
            rows = np.zeros((2, max(f, len(here) - f)))  # velocities, impulses: each of the size of one
            rows[0, :f], rows[1, : len(here) - f] = found[:f] / units[0], found[f:] / units[1]
            return rows

        try:
            for d in D.T:
                step = min((size[j] / abs(d[j]) for j in np.flatnonzero(d)), default=1.0)
                found, error = derivative(partial(at, step * d), _NOISE)
                self.corners.append(error > 0.0)
                columns.append(np.concatenate([found[0, :f] * units[0], found[1, : len(here) - f] * units[1]]) / step)
        finally:
            motion.p = kept
        return np.stack(columns, axis=-1)

    def _sizes(self, x: Array, t: float) -> Array:
        """Longest steps of states, time and parameters, (N,); velocities in shares of the speed of the collision."""
        motion, f = self.motion, self.motion.f
        W_N, W_T, w_hat = motion.system.geometry(x[:f], t, motion.p)
        speed = float(np.abs(W_N[self.index] @ x[f:] + w_hat[self.index, 0]).max(initial=0.0))
        reach = np.maximum(np.abs(W_N[self.index]), np.abs(W_T[self.index])).max(axis=0, initial=0.0)
        moves = (reach > 0.0) & (speed > 0.0)
        velocities = np.where(
            moves, _SHARE * speed / np.where(moves, reach, 1.0), _STEP * np.maximum(1.0, np.abs(x[f:]))
        )
        return np.concatenate(
            [
                _STEP * np.maximum(1.0, np.abs(x[:f])), velocities, [min(_TIME_STEP, _STEP * motion.span)],
                _STEP * np.where(motion.p != 0.0, np.abs(motion.p), 1.0),
            ]
        )  # fmt: skip
