"""The jump of an impact under any law, and its derivative: the law itself is asked beside the state of the impact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stickslip.checks import Array
from stickslip.events.modes import onto_velocities
from stickslip.impacts.impact import FromBelow, closed_contacts, impact_problem

if TYPE_CHECKING:
    from stickslip.analysis.saltation import FollowedMotion

_KINK = 1e-3  # share of a derivative by which those to both sides may differ: the law is on one branch
_STEP = 6e-6


@dataclass(frozen=True, eq=False)
class LawBranch:
    """An impact under the law of a motion, between contacts that stay what they were, then the velocity projection.

    at_the_bound : a branch of the law ends at the state of the impact, so that derivatives hold on one side only
    """

    motion: FollowedMotion
    index: np.ndarray
    at_the_bound: bool = False

    @classmethod
    def of(cls, motion: FollowedMotion, x: Array) -> LawBranch:
        """The contacts of the motion's last impact; x is the state before it, (2 f,)."""
        f = motion.f
        problem = closed_contacts(motion.system, motion.t, x[:f], x[f:], motion.p, motion.gap_tol)
        found = cls(motion, problem.index)
        return cls(motion, problem.index, found._kinks(x))

    def jump(self, x: Array, t: float) -> Array:
        """(q, u+) of a state before the impact, (2 f,)."""
        motion, system, f = self.motion, self.motion.system, self.motion.f
        q, u, p, law = x[:f], x[f:], motion.p, motion.law
        problem = impact_problem(system, t, q, u, p, self.index)
        local = problem.local
        _, eps_N, eps_T, _ = system.laws_at(q, t, p, u)
        eps_N, eps_T = law.coefficients(eps_N, eps_T, system.contact_kinds, system.contact_names)
        solver = FromBelow(motion.solver.tol, inner=motion.solver)
        answer = law.solve(local, local.c_N, local.c_T, eps_N[self.index], eps_T[self.index], solver)
        u = problem.end_velocity(answer.Lambda_N, answer.Lambda_T)
        assert motion.settled is not None
        u, _ = onto_velocities(system, t, q, u, p, *motion.settled)
        return np.concatenate([q, u])

    def _kinks(self, x: Array) -> bool:
        """Whether the derivatives to both sides of the state differ."""
        here = self.jump(x, self.motion.t)
        for j in range(len(x)):
            step = np.zeros(len(x))
            step[j] = _STEP * max(1.0, abs(float(x[j])))
            ahead, behind = self.jump(x + step, self.motion.t) - here, here - self.jump(x - step, self.motion.t)
            if np.abs(ahead - behind).max() > _KINK * (np.abs(ahead).max() + np.abs(behind).max()):
                return True
        return False
