"""Newton's impact law in inequality form, and its special case for spheres, Walton's collision operator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from stickslip.laws.base import (
    Array,
    Coefficient,
    Enumerator,
    ImpactLaw,
    LawSolution,
    as_law_solution,
)
from stickslip.laws.scalar import NEWTON

if TYPE_CHECKING:
    from stickslip.contact.planar import PlanarProblem, PlanarSolver


@dataclass(frozen=True)
class Newton(ImpactLaw):
    """Newton's impact law in inequality form, normal and tangential, for any number of contacts.

        xi_N = gamma_N^+ + eps_N gamma_N^-,    -Lambda_N in Upr(xi_N)
        xi_T = gamma_T^+ + eps_T gamma_T^-,    -Lambda_T in mu Lambda_N Sgn(xi_T)

    Never gains energy if all coefficients are equal, eps_N = eps_T = eps at every contact ([PG05] eq. (14)); unequal
    ones may gain (Kane's double pendulum).  Reference: Moreau 1988; [GS05] eqs. (11), (12); [PG05] eqs. (11), (12).

    Parameters
    ----------
    restitution_normal, restitution_tangential : in [0, 1], one number or one per contact; None: the system's own
    """

    restitution_normal: Coefficient = None
    restitution_tangential: Coefficient = None

    name = "newton"

    @property
    def code(self) -> int:
        return NEWTON

    def solve(
        self, problem: PlanarProblem, gamma_N: Array, gamma_T: Array, eps_N: Array, eps_T: Array, solver: PlanarSolver
    ) -> LawSolution:
        """Impulses of an impact or a time step: law and forces together are one contact problem, [GS05] eq. (33)."""
        return as_law_solution(solver.solve(self._problem(problem, gamma_N, gamma_T, eps_N, eps_T)))

    def _impact(self, problem: PlanarProblem, eps_N: Array, eps_T: Array, solver: PlanarSolver) -> LawSolution:
        return self.solve(problem, problem.c_N, problem.c_T, eps_N, eps_T, solver)

    def solutions(
        self, problem: PlanarProblem, eps_N: Array, eps_T: Array, solver: PlanarSolver, enumerate_all: Enumerator
    ) -> list[LawSolution]:
        """Every solution of the impact LCP [PG05] eqs. (27), (28)."""
        posed = self._problem(problem, problem.c_N, problem.c_T, eps_N, eps_T)
        return [as_law_solution(answer) for answer in enumerate_all(posed)]

    @staticmethod
    def _problem(problem: PlanarProblem, gamma_N: Array, gamma_T: Array, eps_N: Array, eps_T: Array) -> PlanarProblem:
        return replace(problem, c_N=problem.c_N + eps_N * gamma_N, c_T=problem.c_T + eps_T * gamma_T)


@dataclass(frozen=True)
class Walton(ImpactLaw):
    """Walton's collision operator for spheres: one contact, normal and tangential directions decoupled (delta = 0).

        gamma_N^+ = -eps_N gamma_N^-                                                                    [PG05] (57)
        gamma_T^+ = gamma_T^- - s mu (1 + 1/K)(1 + eps_N) |gamma_N^-|, s = sgn gamma_T^-, while that exceeds
                    -eps_T gamma_T^- in the direction of s (slip), [PG05] (54), (56)
        gamma_T^+ = -eps_T gamma_T^- otherwise (stick), [PG05] (55)

    with 1 + 1/K = beta/alpha, 3.5 for a solid sphere.  It is Newton's law for delta = 0 and is refused elsewhere.
    Reference: Walton 1992, as given in [PG05] section 7.

    Parameters
    ----------
    restitution_normal, restitution_tangential : in [0, 1]; None: the system's own
    """

    restitution_normal: Coefficient = None
    restitution_tangential: Coefficient = None

    name = "walton"

    @property
    def code(self) -> int:
        return NEWTON

    @property
    def single(self) -> bool:
        return True

    def _impact(self, problem: PlanarProblem, eps_N: Array, eps_T: Array, solver: PlanarSolver) -> LawSolution:
        i = self._one_contact(problem)
        alpha, beta, delta = problem.G_NN[i, i], problem.G_TT[i, i], problem.G_NT[i, i]
        if abs(delta) > COUPLING * np.sqrt(alpha * beta):
            raise ValueError(coupled(delta))
        Lambda_N, Lambda_T = np.zeros(problem.contacts), np.zeros(problem.contacts)
        N = max(0.0, -(1.0 + eps_N[i]) * problem.c_N[i] / alpha)
        Lambda_N[i] = N
        if beta > 0.0:
            Lambda_T[i] = np.clip(-(1.0 + eps_T[i]) * problem.c_T[i] / beta, -problem.mu[i] * N, problem.mu[i] * N)
        return LawSolution(Lambda_N, Lambda_T, 0.0, True, "solved by Walton's formulas", 1)


COUPLING = 1e-12  # |delta| below this share of sqrt(alpha beta) is round-off


def coupled(delta: float) -> str:
    """Why Walton's operator does not apply."""
    return (
        f"Walton's operator is for spheres, whose normal and tangential directions are decoupled, "
        f"got delta = W_N^T M^-1 W_T = {delta:.6g} 1/kg; use Newton(), of which it is a special case."
    )
