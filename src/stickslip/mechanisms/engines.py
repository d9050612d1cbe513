"""Two engines that march a system: `Compiled` runs the generated kernel, `Reference` the same steps in NumPy.

Both take and update the same `Memory` and write the same records, so that one driver serves both and one can take
over from the other at any step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip import codes
from stickslip.checks import Array
from stickslip.contact.planar import PlanarSolver
from stickslip.engine import Block, Memory
from stickslip.laws import ImpactLaw
from stickslip.mechanisms.generate import SOLVER_CODES, compiled_module
from stickslip.mechanisms.steppers.contact_problem import reach_at_start
from stickslip.mechanisms.steppers.moreau_jean import IterationMatrixError
from stickslip.mechanisms.steppers.stepper import State, Stepper, StepReport
from stickslip.mechanisms.system import CONTACT, SPRING, System
from stickslip.mechanisms.templates import events

DONE, EVENTS_FULL, UNSOLVED = codes.DONE, codes.EVENTS_FULL, codes.UNSOLVED
TEMPLATE = "stepper"


@dataclass(frozen=True)
class Compiled:
    """The generated kernel of a system for one stepper and one solver."""

    module: Any
    sweeps: int
    tol: float

    name = "compiled"

    @staticmethod
    def available(stepper: Stepper, solver: PlanarSolver) -> bool:
        return solver.name in SOLVER_CODES and stepper.scheme is not None

    @classmethod
    def build(cls, system: System, stepper: Stepper, solver: PlanarSolver) -> Compiled:
        return cls(
            compiled_module(system, TEMPLATE, solver.name, stepper.options),
            solver.max_iterations or 10_000,
            float(solver.tol),
        )

    def warm_up(self, memory: Memory, dt: float, block: Block) -> None:
        """Compile, or load from the disk cache, without doing a step."""
        self.march(memory, dt, 0, 1, block)

    def march(self, memory: Memory, dt: float, n_steps: int, every: int, block: Block) -> int:
        """Do up to n_steps steps, filling `block` from its beginning; return the status code.

        A step that is not solved is left undone (UNSOLVED).  The kernel labels the contacts at records and in the last
        step alone: where it stops early, it does the steps before once more to label them at the stop.
        """
        before = memory.copy()
        status, done = self._call(memory, dt, n_steps, every, block)
        if status not in (DONE, EVENTS_FULL) and 0 < done and every > 1:
            culprit = memory.book[codes.CULPRIT]
            memory.return_to(before)
            self._call(memory, dt, done, every, block)
            memory.book[codes.CULPRIT] = culprit
        return int(status)

    def _call(self, memory: Memory, dt: float, n_steps: int, every: int, block: Block) -> tuple[int, int]:
        status, done, block.n_events, block.records = self.module.march(
            memory.q,
            memory.u,
            memory.p,
            memory.t0,
            dt,
            n_steps,
            every,
            self.sweeps,
            self.tol,
            block.q,
            block.u,
            block.impulse,
            block.state,
            memory.impulse_before,
            memory.impulse_sum,
            memory.last_loaded,
            memory.carried,
            memory.reach,
            block.events,
            0,
            memory.book,
        )
        return status, done

    def measure(self, q: Array, u: Array, t: Array, p: Array, contacts: int) -> tuple[Array, Array]:
        """Gaps (n, contacts) and energies (n, 2) of records."""
        gaps, energies = np.empty((len(t), contacts)), np.empty((len(t), 2))
        self.module.measure(q, u, t, p, gaps, energies)
        return gaps, energies


@dataclass(frozen=True)
class Reference:
    """The same steps in plain NumPy, with any solver; slow and readable."""

    system: System
    stepper: Stepper
    solver: PlanarSolver
    go_on: bool = False
    law: ImpactLaw | None = None

    name = "reference"

    def warm_up(self, memory: Memory, dt: float, block: Block) -> None:
        """Nothing to compile."""

    def march(self, memory: Memory, dt: float, n_steps: int, every: int, block: Block) -> int:
        """As `Compiled.march`; with `go_on` a step that is not solved is done all the same, and counted."""
        block.records = block.n_events = 0
        if memory.step == 0 and self.stepper.level == "velocity" and not getattr(self.stepper, "lasting", False):
            memory.reach[:] = reach_at_start(self.system, memory.q, memory.u, memory.t0, dt, memory.p)
        for _ in range(n_steps):
            now = memory.copy()  # what a step reports may refer to it
            impulses, sticks = now.carried[:, :2], now.carried[:, 2]
            state = State(now.t0 + now.step * dt, now.q, now.u, now.reach, impulses, sticks)
            try:
                with np.errstate(all="ignore"):  # what overflows is told below
                    after, report = self.stepper.step(self.system, state, dt, self.solver, memory.p, self.law)
            except IterationMatrixError:
                return codes.MATRIX_INDEFINITE
            except np.linalg.LinAlgError:
                return codes.MASS_INDEFINITE
            except FloatingPointError as problem:
                memory.problem_text = str(problem)
                return codes.GAP_NOT_A_NUMBER
            except ValueError as problem:  # a law that has no answer here, such as Stronge's for two contacts at once
                memory.problem_text = str(problem).rstrip(".")
                return codes.UNSOLVED
            if not (np.all(np.abs(after.u) < codes.LARGEST) and np.all(np.isfinite(report.problem.u_free))):
                return codes.BLOWN_UP
            if not report.solved:
                memory.problem_text = report.status
                if not self.go_on:
                    return codes.UNSOLVED
                memory.book[codes.FAILED_STEPS] += 1
            energy_A = self._energy(memory, dt) if self.stepper.projection > 0.0 else 0.0
            memory.q[:], memory.u[:] = after.q, after.u
            memory.step += 1
            work = self._keep_books(memory, dt, report, block)
            if self.stepper.projection > 0.0:
                memory.book[codes.INTEGRATION_ENERGY] += self._energy(memory, dt) - energy_A - work
                self._project(memory, dt)
            elif self.stepper.at_end and len(report.problem.index):
                self._measure_penetration(memory, dt)
            if memory.step % every == 0:
                i = block.records
                block.q[i], block.u[i], block.impulse[i] = memory.q, memory.u, memory.impulse_sum
                memory.impulse_sum[:] = 0.0
                block.state[i + 1] = block.state[i]
                block.records += 1
            if block.n_events > len(block.events) - self.system.n_contacts:
                return codes.EVENTS_FULL
        return codes.DONE

    def _energy(self, memory: Memory, dt: float) -> float:
        return sum(self.system.energy(memory.q, memory.u, memory.t0 + memory.step * dt, memory.p))

    def _project(self, memory: Memory, dt: float) -> None:
        t, p = memory.t0 + memory.step * dt, memory.p
        q = self.stepper.project(self.system, t, memory.q, p)
        if q is not memory.q:
            change = sum(self.system.energy(q, memory.u, t, p)) - sum(self.system.energy(memory.q, memory.u, t, p))
            memory.book[codes.PROJECTION_ENERGY] += change
            memory.book[codes.PROJECTIONS] += 1
            memory.q[:] = q
        self._measure_penetration(memory, dt)

    def _measure_penetration(self, memory: Memory, dt: float) -> None:
        unilateral = np.array(self.system.contact_kinds, dtype=int) == CONTACT
        gap = self.system.gap(memory.q, memory.t0 + memory.step * dt, memory.p)
        deepest = float(np.max(-gap[unilateral], initial=0.0))
        memory.book[codes.MAX_PENETRATION] = max(memory.book[codes.MAX_PENETRATION], deepest)

    def _keep_books(self, memory: Memory, dt: float, report: StepReport, block: Block) -> float:
        """Label the contacts and enter the step into the book; return the work of the contacts [J]."""
        book, problem, local = memory.book, report.problem, report.problem.local
        state = block.state[block.records]
        state_before = state.copy()
        state[:] = codes.OPEN
        idle = np.ones(self.system.n_contacts, dtype=bool)
        idle[problem.index] = False
        memory.impulse_before[idle] = 0.0
        memory.reach[:] = 0.0
        memory.carried[:] = 0.0
        if report.sliding is not None and report.sliding.active:
            memory.carried[:, 2] = report.sliding.rests
            for item, value in (
                (codes.FRICTION_ROUNDS, report.sliding.rounds),
                (codes.FRICTION_CONTRACTION, report.sliding.contraction),
            ):
                book[item] = max(book[item], value)
        if not len(problem.index):
            book[codes.MAX_RESIDUAL] = max(book[codes.MAX_RESIDUAL], report.residual)
            book[codes.WORK_BEFORE] = 0.0
            return 0.0
        book[codes.MAX_RESIDUAL] = max(book[codes.MAX_RESIDUAL], report.residual)
        book[codes.ITERATIONS] += report.iterations
        before, after = problem.gamma_A, problem.velocities(memory.u)
        unloaded = memory.step - 1 - memory.last_loaded - 1  # the step just done has number memory.step - 1
        kick = np.abs(problem.W_N @ (problem.u_free - problem.u_A))
        strikes = [
            bool(events.closes.py_func(unloaded[k], before[0][i], local.size_N[i], kick[i]))
            for i, k in enumerate(problem.index)
        ]
        struck = any(
            report.Lambda_N[i] > 0.0 and self.system.contact_kinds[k] == CONTACT and strikes[i]
            for i, k in enumerate(problem.index)
        )
        gain, rows = 0.0, 0
        for i, k in enumerate(problem.index):
            kind = self.system.contact_kinds[k]
            N, T = report.Lambda_N[i], report.Lambda_T[i]
            gamma_N, gamma_T = (before[0][i], after[0][i]), (before[1][i], after[1][i])
            state[k] = events.contact_state.py_func(
                kind,
                strikes[i],
                struck,
                gamma_T[1],
                local.size_T[i] + local.G_TT[i, i] * abs(T) + abs(local.G_NT[i, i]) * N,
                bool(local.tangential[i]),
                local.bound(report.Lambda_N)[i],
                N,
                T,
                memory.impulse_before[k],
            )
            rows += int(local.normal[i]) + 2 * int(local.tangential[i])
            if kind != SPRING:
                gain += 0.5 * N * sum(gamma_N) + 0.5 * T * sum(gamma_T)
            if kind == CONTACT and self.stepper.projection == 0.0 and not self.stepper.at_end:
                book[codes.MAX_PENETRATION] = max(book[codes.MAX_PENETRATION], -problem.g[k])
            lasting = self.stepper.impact_steps == 2 and state_before[k] == codes.IMPACT
            if state[k] == codes.IMPACT or lasting:
                time = memory.t0 + memory.step * dt
                block.events[block.n_events] = (time, k, *gamma_N, N, T, *gamma_T)
                block.n_events += 1
            memory.impulse_before[k] = N
            memory.impulse_sum[k] += (N, T)
            if N > 0.0:
                held = local.G_NN[i, i] * N
                memory.reach[k] = events.reach_of.py_func(dt, unloaded[k] > 0, gamma_N[0], gamma_N[1], held)
                memory.last_loaded[k] = memory.step - 1
        if self.stepper.impact_steps == 2 and ((state == codes.IMPACT) & (state_before != codes.IMPACT)).any():
            memory.carried[problem.index, :2] = np.column_stack([report.Lambda_N, report.Lambda_T])
        work = gain
        book[codes.CONTACT_WORK] += work
        if self.stepper.impact_steps == 2:  # the first step of an impact takes what the second gives back
            book[codes.WORK_BEFORE], gain = gain, gain + min(0.0, book[codes.WORK_BEFORE])
        if gain > book[codes.MAX_ENERGY_GAIN]:
            book[codes.MAX_ENERGY_GAIN] = gain
            book[codes.GAIN_STEP] = memory.step
        book[codes.MAX_LCP_SIZE] = max(book[codes.MAX_LCP_SIZE], rows)
        return float(work)

    def measure(self, q: Array, u: Array, t: Array, p: Array, contacts: int) -> tuple[Array, Array]:
        """As `Compiled.measure`."""
        gaps = np.array([self.system.gap(q[i], t[i], p) for i in range(len(t))]).reshape(len(t), contacts)
        energies = np.array([self.system.energy(q[i], u[i], t[i], p) for i in range(len(t))]).reshape(len(t), 2)
        return gaps, energies
