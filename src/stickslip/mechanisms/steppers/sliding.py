"""Friction coefficients that depend on slip: found together with the end velocities of a step, in plain NumPy."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from stickslip.checks import Array
from stickslip.laws.slip import (
    CONSTANT,
    EARLY,
    HELD,
    SETTLED,
    SETTLED_LATE,
    UNSET,
    Round,
    Slip,
    begin_slip,
    end_speed,
    holds,
    next_slip,
)
from stickslip.mechanisms.steppers.contact_problem import StepProblem
from stickslip.mechanisms.system import CONTACT, System

ROUNDS = 60  # solves of a step's contact problem, after which its friction counts as not found


@dataclass
class Sliding:
    """The coefficients of one step; see `laws.slip`, whose rules for one contact the kernels share.

    `sticks` (n,): which contacts stuck at the end of the step before.  A stepper puts each contact problem of the step
    through `applied` before it solves it, and asks `moved` whether another round is needed.
    """

    system: System
    p: Array
    sticks: Array | None
    rounds: int = 0
    defect: float = 0.0
    contraction: float = 0.0
    exhausted: bool = False

    def __post_init__(self) -> None:
        n = self.system.n_contacts
        self.codes = self.system.sliding_codes
        self.rests = np.zeros(n)  # which contacts stick at the end of the step
        if self.active:
            self.slip = Slip.room(self.system.laws(self.p)[0])
            self.sticks = np.zeros(n) if self.sticks is None else self.sticks

    @property
    def active(self) -> bool:
        """Whether any coefficient depends on slip at all."""
        return self.system.has_friction_laws

    def applied(self, problem: StepProblem) -> StepProblem:
        """The problem with the coefficients of this round; contacts that are new in it begin."""
        if not self.active:
            return problem
        assert self.sticks is not None
        if self.system.state_laws:
            assert problem.place is not None
            self.slip.static[:] = self.system.laws_at(*problem.place, self.p)[0]
        mode, static = self.slip.mode, self.slip.static
        _, gamma_T = problem.gamma_A
        for i, k in enumerate(problem.index):
            if self.codes[k] != CONSTANT and mode[k] == UNSET:
                begin_slip.py_func(k, self.codes[k], float(self.sticks[k]), float(gamma_T[i]), self.slip)
        depends = np.array([code != CONSTANT for code in self.codes])
        mu = np.where(
            depends & (mode != UNSET) & (mode != HELD),
            self.system.sliding_friction(self.slip.speed, self.p, problem.place),
            static,
        )
        return replace(problem, local=replace(problem.local, mu=mu[problem.index]))

    def moved(self, problem: StepProblem, Lambda_N: Array, Lambda_T: Array, u_E: Array) -> bool:
        """Whether a coefficient has to change after a round that ended with u_E: then the step is solved once more."""
        if not self.active or not len(problem.index):
            return False
        self.rounds += 1
        end, mu_end = self.slip.end, self.slip.mu_end
        local = problem.local
        gamma_A, gamma_E = problem.gamma_A[1], problem.velocities(u_E)[1]
        beta = np.diag(local.G_TT)
        size = local.size_T + beta * np.abs(Lambda_T) + np.abs(np.diag(local.G_NT)) * Lambda_N
        rows = [(i, k) for i, k in enumerate(problem.index) if self.codes[k] != CONSTANT]
        for i, k in rows:
            end[k] = end_speed.py_func(float(gamma_E[i]), float(size[i]))
        mu_end[:] = self.system.sliding_friction(end, self.p, problem.place)
        moved, self.defect, late = False, 0.0, self.rounds > EARLY
        for i, k in rows:
            numbers = (local.mu, gamma_A, gamma_E, size, beta, Lambda_N, Lambda_T, local.a)
            seen = Round(*(float(x[i]) for x in numbers))
            changes, defect, contraction = next_slip.py_func(
                k, self.slip, seen, SETTLED_LATE if late else SETTLED, late
            )
            moved = moved or changes
            self.defect, self.contraction = max(self.defect, defect), max(self.contraction, contraction)
            loaded = bool(Lambda_N[i] > 0.0 or local.a[i] > 0.0)
            self.rests[k] = holds.py_func(
                self.codes[k], self.slip.mode[k], float(end[k]), float(gamma_A[i]), float(size[i]), loaded
            )
        self.exhausted = moved and self.rounds >= ROUNDS
        return moved and not self.exhausted

    def complaint(self) -> str:
        """Words for an iteration on friction that did not settle; empty for one that settled."""
        if not self.exhausted:
            return ""
        return (
            f"friction and slip did not agree after {self.rounds} rounds (defect {self.defect:.1e}, contraction "
            f"{self.contraction:.2g})"
        )


def sticking_at_start(system: System, q: Array, u: Array, t: float, p: Array, gap_tol: float) -> Array:
    """Flags (n,) of a start: contacts that are closed and do not slip are held by their static coefficient."""
    flags = np.zeros(system.n_contacts)
    if not system.has_friction_laws:
        return flags
    _, W_T, w_hat = system.geometry(q, t, p)
    size = np.abs(W_T) @ np.abs(u) + np.abs(w_hat[:, 1])
    rests = np.abs(W_T @ u + w_hat[:, 1]) <= 1e-10 * size
    closed = (np.array(system.contact_kinds, dtype=int) != CONTACT) | (system.gap(q, t, p) <= gap_tol)
    depends = np.array([code != CONSTANT for code in system.sliding_codes])
    return np.where(rests & closed & depends, 1.0, 0.0)
