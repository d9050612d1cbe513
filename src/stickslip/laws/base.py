"""Questions that every impact law answers: its coefficients, and the impulses of one impact or of one time step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from stickslip.checks import refuse_masked, require_numbers, shown

if TYPE_CHECKING:  # laws and complementarity are neighbours: problems and solvers are handed in, never imported
    from stickslip.contact.planar import PlanarProblem, PlanarSolution, PlanarSolver

Array = np.ndarray
Coefficient = float | Sequence[float] | None
"""One number for every contact, one number each, or None for the system's own."""

CONTACT = 0  # the kind of a unilateral contact; clutches and joints keep their own coefficients


@dataclass(frozen=True)
class Phase:
    """One phase of an impact that is integrated.

    Attributes
    ----------
    stage : "compression" or "restitution"
    motion : "stick", "slip+" or "slip-", by the sign of the slip
    normal_impulse : normal impulse during the phase [N s]
    time : its duration in units of 1 / Omega, Omega = sqrt(kappa alpha) (lumped model); nan where time has no meaning
    """

    stage: str
    motion: str
    normal_impulse: float
    time: float = np.nan


@dataclass(frozen=True)
class LawSolution:
    """Impulses [N s] of the closed contacts, shape (k,), and how they were found.

    Attributes
    ----------
    residual : worst violation of the law's own conditions; solved, status, iterations : of the contact problems posed
    scale : s in [0, 1], by which Poisson's dissipative form had to reduce the coefficients; 1 elsewhere
    energy_unscaled : energy change that s = 1 would have given [J]; nan where the law has no s
    phases : the phases of an integrated impact
    """

    Lambda_N: Array
    Lambda_T: Array
    residual: float
    solved: bool
    status: str
    iterations: int
    scale: float = 1.0
    energy_unscaled: float = np.nan
    phases: tuple[Phase, ...] = ()


Enumerator = Callable[["PlanarProblem"], "list[PlanarSolution]"]


@dataclass(frozen=True)
class ImpactLaw(ABC):
    """Base of the impact laws: frozen options and two methods.

    Contract for whoever adds a law: `coefficients` turns the system's coefficients into those the law works with and
    checks them; `_impact` returns the impulses of an impact, `solve` those of a time step as well.  `code` names the
    law to the compiled kernel of stacks (`impacts.kernel`).
    """

    name: ClassVar[str] = ""
    LEAST: ClassVar[dict[str, float]] = {}
    """Least values of its own coefficients, where they are not 0."""

    @property
    def code(self) -> int:
        """Number of the law in the compiled kernel of stacks."""
        return -1

    @property
    def title(self) -> str:
        """Its name with its model where that is not the usual one, as `law=` and `--law` take it."""
        model = getattr(self, "model", None)
        return self.name if model == getattr(type(self), "model", None) else f"{self.name}-{model}"

    @property
    def single(self) -> bool:
        """Whether the law is made for one closed contact."""
        return False

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name.startswith("restitution"):
                object.__setattr__(self, field.name, self._checked(field.name))

    def coefficients(
        self, eps_N: Array, eps_T: Array, kinds: Sequence[int], names: Sequence[str]
    ) -> tuple[Array, Array]:
        """eps_N, eps_T of all n contacts, shape (..., n): the law's own where it has them, else the system's."""
        normal = self._own("restitution_normal", eps_N, kinds)
        return normal, self._own("restitution_tangential", eps_T, kinds)

    def at(self, index: Array) -> ImpactLaw:
        """The law of the contacts `index` (k,) alone: of those that are closed, which `solve` gets."""
        return self

    def solve(
        self,
        problem: PlanarProblem,
        gamma_N: Array,
        gamma_T: Array,
        eps_N: Array,
        eps_T: Array,
        solver: PlanarSolver,
    ) -> LawSolution:
        """Impulses of the k closed contacts of one impact or one time step.

        Parameters
        ----------
        problem : its c_N, c_T are the relative velocities at the end without any impulse: gamma_N, gamma_T in a pure
            impact, those of u_A + dt M^-1 h in a time step
        gamma_N, gamma_T : relative velocities before, shape (k,)
        eps_N, eps_T : what `coefficients` returned, for these k contacts
        solver : for the contact problems the law poses

        A law that is a process of its own (all but Newton's) acts on gamma_N, gamma_T first, if anything approaches;
        what the forces of the step add is taken up by contacts without restitution, so that a resting contact rests.
        """
        pure = np.array_equal(problem.c_N, gamma_N) and np.array_equal(problem.c_T, gamma_T)
        k = problem.contacts
        impact = LawSolution(np.zeros(k), np.zeros(k), 0.0, True, "no impact", 0)
        if pure or np.any(gamma_N[problem.normal] < 0.0):
            before = replace(problem, c_N=gamma_N, c_T=gamma_T, a=np.zeros(k))
            impact = self._impact(before, eps_N, eps_T, solver)
        return impact if pure else _with_forces(problem, impact, solver)

    @abstractmethod
    def _impact(self, problem: PlanarProblem, eps_N: Array, eps_T: Array, solver: PlanarSolver) -> LawSolution:
        """A pure impact; c_N, c_T of `problem` are the velocities before it."""

    def solutions(
        self, problem: PlanarProblem, eps_N: Array, eps_T: Array, solver: PlanarSolver, enumerate_all: Enumerator
    ) -> list[LawSolution]:
        """All impulses that satisfy the law in a pure impact with velocities c_N, c_T; here: the ones it returns.

        At c_N = 0 the state without impulses is one, too.
        """
        found = [self._impact(problem, eps_N, eps_T, solver)]
        if np.all(problem.c_N >= 0.0) and np.any(found[0].Lambda_N > 0.0):
            zero = np.zeros(problem.contacts)
            found.insert(0, LawSolution(zero, zero, 0.0, True, "no impact", 0))
        return found

    def _checked(self, name: str) -> float | tuple[float, ...] | None:
        value = getattr(self, name)
        if value is None:
            return None
        refuse_masked(value, name)
        try:
            require_numbers(value, name)
            numbers = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            numbers = np.array(np.nan)
        least = self.LEAST.get(name, 0.0)
        if numbers.ndim > 1 or not np.all((numbers >= least) & (numbers <= 1.0)):
            raise ValueError(f"{name} of {type(self).__name__} must lie in [{least:g}, 1], got {shown(value)}.")
        return float(numbers) if numbers.ndim == 0 else tuple(numbers.tolist())

    def _own(self, name: str, given: Array, kinds: Sequence[int]) -> Array:
        value = getattr(self, name)
        if value is None:
            return given
        if isinstance(value, tuple) and len(value) != len(kinds):
            raise ValueError(
                f"{name} of {type(self).__name__} must be one number or {len(kinds)}, one per contact, "
                f"got {len(value)}."
            )
        return np.where(np.asarray(kinds) == CONTACT, value, given)

    def _one_contact(self, problem: PlanarProblem) -> int:
        """The row of the one closed contact; friction joints and springs, which have no normal part, do not count."""
        rows = np.flatnonzero(problem.normal)
        if len(rows) != 1:
            raise ValueError(several_contacts(type(self).__name__, len(rows)))
        return int(rows[0])


def several_contacts(law: str, contacts: int) -> str:
    """Why a law for one contact cannot be had for several."""
    return (
        f"{law}'s law in this form is for one closed contact, got {contacts}: with several, the impulses of one "
        "act on the others, and rigid bodies do not tell in which order; use Newton() or Poisson()."
    )


def as_law_solution(answer: PlanarSolution, **more: Any) -> LawSolution:
    """The answer of a law that poses one contact problem."""
    return LawSolution(
        answer.Lambda_N, answer.Lambda_T, answer.residual, answer.solved, answer.status, answer.iterations, **more
    )


def energy_of(problem: PlanarProblem, N: Array, T: Array) -> tuple[float, float]:
    """Work of the impulses in a pure impact, Lambda . (gamma^- + gamma^+) / 2 [J], and its parts without signs."""
    first = N * problem.c_N + T * problem.c_T
    second = 0.5 * (N @ problem.G_NN @ N + 2.0 * N @ problem.G_NT @ T + T @ problem.G_TT @ T)
    return float(first.sum() + second), float(np.abs(first).sum() + second)


class Striking(NamedTuple):
    """One contact at an impact: alpha, beta, delta of [PG05] eq. (22), its velocities before, and its friction."""

    alpha: float
    beta: float
    delta: float
    gamma_N: float
    gamma_T: float
    mu: float


def numbers_of(problem: PlanarProblem, i: int) -> Striking:
    """Contact i alone; c_N and c_T are its velocities before the impact."""
    alpha, beta, delta = (float(G[i, i]) for G in (problem.G_NN, problem.G_TT, problem.G_NT))
    return Striking(alpha, beta, delta, float(problem.c_N[i]), float(problem.c_T[i]), float(problem.mu[i]))


def one_row(problem: PlanarProblem, i: int, N: float, T: float, count: int, phases: tuple[Phase, ...]) -> LawSolution:
    """The solution of an integrated impact: impulses of row i, and the number of its phases, negative if it failed."""
    Lambda_N, Lambda_T = np.zeros(problem.contacts), np.zeros(problem.contacts)
    Lambda_N[i], Lambda_T[i] = N, T
    if count < 0:
        return LawSolution(Lambda_N, Lambda_T, np.inf, False, "the phases of the impact do not end", 0)
    return LawSolution(Lambda_N, Lambda_T, 0.0, True, f"integrated in {count} phases", count, phases=phases)


def _with_forces(problem: PlanarProblem, impact: LawSolution, solver: PlanarSolver) -> LawSolution:
    """Add to an impact what the forces of the time step ask for: contacts without restitution."""
    c_N, c_T = problem.slip_velocities(impact.Lambda_N, impact.Lambda_T)
    rest = solver.solve(replace(problem, c_N=c_N, c_T=c_T))
    return replace(
        impact,
        Lambda_N=impact.Lambda_N + rest.Lambda_N,
        Lambda_T=impact.Lambda_T + rest.Lambda_T,
        residual=max(impact.residual, rest.residual),
        solved=impact.solved and rest.solved,
        status=impact.status if rest.solved else rest.status,
        iterations=impact.iterations + rest.iterations,
    )
