"""The contact problem of a structure with dry friction as a quadratic program, [GS05] end of section 6.

Where no bound of a friction impulse depends on a load (mu = 0 everywhere, thresholds a), the LCP (33) has a bisymmetric
matrix, [[S, B], [-B^T, 0]] with S symmetric and positive semidefinite.  It is then the optimality condition of

    minimise  Lambda . G Lambda / 2 + c . Lambda    with  Lambda_N >= 0,  |Lambda_T| <= a

with the Delassus matrix G = W^T M^-1 W and the relative velocities c without impulses.  So velocities at the end of a
step exist and are unique, whatever the structure.  With Coulomb friction, mu > 0, the bound depends on Lambda_N and
there is no such function.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stickslip.analysis.contact_problem import ContactProblem
from stickslip.checks import Array


@dataclass(frozen=True, eq=False)
class QuadraticProgram:
    """minimise x . G x / 2 + c . x with lower <= x <= upper; `names` of the impulses x, normal ones first."""

    G: Array
    c: Array
    lower: Array
    upper: Array
    names: tuple[str, ...]

    def value(self, x: Array) -> float:
        """x . G x / 2 + c . x, [J]: what the impulses x do to the kinetic energy, seen from rest."""
        return float(0.5 * x @ self.G @ x + self.c @ x)

    def defect(self, x: Array) -> float:
        """How far x is from the minimum [m/s]: |x - project(x - r (G x + c))| / r with r = 1 / largest entry of G."""
        r = 1.0 / max(float(np.abs(self.G).max(initial=0.0)), 1e-300)
        step = np.clip(x - r * (self.G @ x + self.c), self.lower, self.upper)
        return float(np.abs(x - step).max(initial=0.0)) / r


def quadratic_program(problem: ContactProblem) -> QuadraticProgram:
    """The quadratic program of a `contact_problem` without Coulomb friction; ValueError where a contact has it.

    Examples
    --------
    >>> import stickslip as ss
    >>> import sympy as sp
    >>> x, v = sp.symbols("x v")
    >>> block = ss.LagrangianSystem.from_energies(
    ...     [x], velocities=[v], kinetic=v**2 / 2, contacts=[ss.DryFriction("floor", x, 3.0)]
    ... )
    >>> step = ss.contact_problem(block, [0.0], [1.0], 0.1)
    >>> program = ss.quadratic_program(step)
    >>> round(program.defect(step.solve().tangential_impulse), 12)
    0.0
    """
    if not isinstance(problem, ContactProblem):
        raise ValueError(f"problem must be what contact_problem returns, got {type(problem).__name__}.")
    local = problem.step.local
    rough = np.flatnonzero((local.mu > 0.0) & local.tangential & local.normal)
    if len(rough):
        raise ValueError(
            f"contact {problem.contacts[rough[0]]!r} has Coulomb friction, mu = {local.mu[rough[0]]:g}: its bound "
            "depends on the load, and the contact problem is no quadratic program."
        )
    N, T = np.flatnonzero(local.normal), np.flatnonzero(local.tangential)
    G_NT = local.G_NT[np.ix_(N, T)]
    G = np.block([[local.G_NN[np.ix_(N, N)], G_NT], [G_NT.T, local.G_TT[np.ix_(T, T)]]])
    lower = np.concatenate([np.zeros(len(N)), -local.a[T]])
    upper = np.concatenate([np.full(len(N), np.inf), local.a[T]])
    names = [f"Lambda_N[{problem.contacts[k]}]" for k in N] + [f"Lambda_T[{problem.contacts[k]}]" for k in T]
    return QuadraticProgram(G, np.concatenate([local.c_N[N], local.c_T[T]]), lower, upper, tuple(names))
