"""Poisson's impact law: compression and decompression as two contact problems, or integrated along the impulse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from stickslip.laws.base import (
    Array,
    Coefficient,
    Enumerator,
    ImpactLaw,
    LawSolution,
    as_law_solution,
    energy_of,
)
from stickslip.laws.routh import KINETIC, integrate
from stickslip.laws.scalar import POISSON, POISSON_INTEGRATED

if TYPE_CHECKING:
    from stickslip.contact.planar import PlanarProblem, PlanarSolution, PlanarSolver

HALVINGS = 50
GAIN = 1e-12  # share of the energies in an impact below which a gain is round-off
SINGULAR = 1e-9  # of the largest eigenvalue of G: rows that move nothing of their own
OPEN = "how compression shares its impulses among normals and friction is open, and with it the velocities after"


@dataclass(frozen=True)
class Poisson(ImpactLaw):
    """Poisson's impact law with friction, for any number of contacts, in its dissipative form.

    Compression (c) ends as a contact without restitution would; decompression (d) gives back at least the shares
    eps_N, eps_T of what each one-way element stored:

        -Lambda_N^c in Upr(gamma_N^c),                      -Lambda_T^c in mu Lambda_N^c Sgn(gamma_T^c)
        -(Lambda_N^d - eps_N Lambda_N^c) in Upr(gamma_N^+),
        -(Lambda_T^d - eps_T Lambda_T^c) in mu (Lambda_N^d - eps_T Lambda_N^c) Sgn(gamma_T^+)

    The law needs 0 <= eps_T <= eps_N at every contact.  It equals Newton's law if all coefficients are equal, if one
    contact slips one way throughout, or if delta = 0 and eps_T = 0.  Compression dissipates, and one contact never
    gains energy.  Several contacts with different eps_N may gain.  Then (`dissipative`) all coefficients are multiplied
    by the largest s in [0, 1] without a gain, found by bisection; the result has `scale` = s and `energy_unscaled`.
    References: Pfeiffer and Glocker 1996; Anitescu and Potra 1997; Glocker 2013 for the tangential part.

    The impulses of compression are not unique where directions depend on one another: with one degree of freedom and
    friction, both move the same coordinate.  Any share that friction takes gives other velocities after, unless
    eps_T = eps_N.  The status of an `Impact` says so; Newton's law is unique there.

    model="integrated" ends a Routh integration (see `Stronge`) at p = (1 + eps_N) p_c instead: one contact, no
    tangential restitution.  The two differ where slip ends or reverses during compression.

    Parameters
    ----------
    restitution_normal, restitution_tangential : in [0, 1], one number or one per contact; None: the system's own
    dissipative : scale the coefficients down where the impact would gain energy
    model : "lcp" or "integrated"
    """

    restitution_normal: Coefficient = None
    restitution_tangential: Coefficient = None
    dissipative: bool = True
    model: str = "lcp"

    name = "poisson"
    MODELS: ClassVar[tuple[str, ...]] = ("lcp", "integrated")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.model not in self.MODELS:
            raise ValueError(f"model of Poisson must be one of {', '.join(self.MODELS)}, got {self.model!r}.")
        if self.model == "integrated" and np.any(self.restitution_tangential or 0.0):
            raise ValueError(
                "Poisson(model='integrated') has no tangential restitution, "
                f"got restitution_tangential = {self.restitution_tangential}."
            )

    @property
    def code(self) -> int:
        return POISSON if self.model == "lcp" else POISSON_INTEGRATED

    @property
    def single(self) -> bool:
        return self.model == "integrated"

    def coefficients(
        self, eps_N: Array, eps_T: Array, kinds: Sequence[int], names: Sequence[str]
    ) -> tuple[Array, Array]:
        eps_N, eps_T = super().coefficients(eps_N, eps_T, kinds, names)
        if self.model == "integrated":
            return eps_N, np.zeros_like(eps_T)
        wrong = eps_T > eps_N
        if np.any(wrong):
            where = tuple(np.argwhere(wrong)[0])
            raise ValueError(
                "Poisson's law needs restitution_tangential <= restitution_normal at every contact, "
                f"got {eps_T[where]:g} > {eps_N[where]:g} at contact {names[where[-1]]!r}."
            )
        return eps_N, eps_T

    def _impact(self, problem: PlanarProblem, eps_N: Array, eps_T: Array, solver: PlanarSolver) -> LawSolution:
        if self.model == "integrated":
            i = self._one_contact(problem)
            return integrate(problem, i, float(eps_N[i]), KINETIC)
        first = solver.solve(problem)

        def both(s: float) -> tuple[LawSolution, float, float]:
            second = solver.solve(self._decompression(problem, first, s * eps_N, s * eps_T))
            answer = self._sum(first, second, s * eps_N, s * eps_T)
            return answer, *energy_of(problem, answer.Lambda_N, answer.Lambda_T)

        answer, gain, size = both(1.0)
        answer = replace(answer, energy_unscaled=gain)
        if answer.solved and self._leaves_open(problem, first, eps_N, eps_T):
            answer = replace(answer, status=f"{answer.status}; {OPEN}")
        if not self.dissipative or gain <= GAIN * size or not answer.solved:
            return answer
        low, high = 0.0, 1.0
        best = both(0.0)[0]
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            trial, energy, size = both(middle)
            if energy <= GAIN * size:
                low, best = middle, trial
            else:
                high = middle
        return replace(best, scale=low, energy_unscaled=gain, status=answer.status)

    @staticmethod
    def _leaves_open(problem: PlanarProblem, first: PlanarSolution, eps_N: Array, eps_T: Array) -> bool:
        """Whether other impulses of compression, with its velocities, give other velocities after decompression.

        They differ by x with G x = 0 among loaded normals and tangents that stick.  What decompression gives back of it
        moves something where G (eps_N x_N, eps_T x_T) is not zero: with one degree of freedom and friction, always.
        """
        k = problem.contacts
        G = np.block([[problem.G_NN, problem.G_NT], [problem.G_NT.T, problem.G_TT]])
        sticks = np.abs(first.Lambda_T) < (1.0 - 1e-9) * problem.bound(first.Lambda_N)
        rows = np.flatnonzero(np.concatenate([first.Lambda_N > 0.0, sticks & problem.tangential]))
        if not len(rows):
            return False
        size = np.sqrt(np.diag(G)[rows])
        values, vectors = np.linalg.eigh(G[np.ix_(rows, rows)] / np.outer(size, size))
        x = np.zeros((2 * k, int(np.sum(values <= SINGULAR * values[-1]))))
        x[rows] = vectors[:, : x.shape[1]] / size[:, None]
        given_back = np.concatenate([eps_N, eps_T])[:, None] * x
        return bool(np.any(np.abs(G @ given_back) > 1e-6 * (np.abs(G) @ np.abs(x)).max(initial=0.0)))

    @staticmethod
    def _decompression(
        problem: PlanarProblem, compression: PlanarSolution, eps_N: Array, eps_T: Array
    ) -> PlanarProblem:
        """The contact problem of decompression, for impulses beyond the shares eps_N Lambda_N^c, eps_T Lambda_T^c."""
        N, T = compression.Lambda_N, compression.Lambda_T
        c_N, c_T = problem.slip_velocities((1.0 + eps_N) * N, (1.0 + eps_T) * T)
        return replace(problem, c_N=c_N, c_T=c_T, a=problem.mu * (eps_N - eps_T) * N)

    @staticmethod
    def _sum(first: PlanarSolution, second: PlanarSolution, eps_N: Array, eps_T: Array) -> LawSolution:
        worse = first if not first.solved else second
        return as_law_solution(
            replace(
                worse,
                Lambda_N=(1.0 + eps_N) * first.Lambda_N + second.Lambda_N,
                Lambda_T=(1.0 + eps_T) * first.Lambda_T + second.Lambda_T,
                residual=max(first.residual, second.residual),
                solved=first.solved and second.solved,
                iterations=first.iterations + second.iterations,
            )
        )

    def solutions(
        self, problem: PlanarProblem, eps_N: Array, eps_T: Array, solver: PlanarSolver, enumerate_all: Enumerator
    ) -> list[LawSolution]:
        """Every pair of solutions of the two problems, with the coefficients scaled as `solve` had to scale them."""
        if self.model == "integrated":
            return super().solutions(problem, eps_N, eps_T, solver, enumerate_all)
        s = self._impact(problem, eps_N, eps_T, solver).scale
        found: list[LawSolution] = []
        for first in enumerate_all(problem):
            for second in enumerate_all(self._decompression(problem, first, s * eps_N, s * eps_T)):
                answer = replace(self._sum(first, second, s * eps_N, s * eps_T), scale=s)
                size = max(1e-300, float(np.abs(answer.Lambda_N).max()))
                if all(
                    np.abs(answer.Lambda_N - o.Lambda_N).max() + np.abs(answer.Lambda_T - o.Lambda_T).max()
                    > 1e-9 * size
                    for o in found
                ):
                    found.append(answer)
        return found
