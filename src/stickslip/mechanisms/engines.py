"""Two engines that march a mechanism: `Compiled` runs the generated kernel, `Reference` the same steps in NumPy.

Both take and update the same `Memory` and write the same records, so that one can take over from the other at any step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from stickslip import codes
from stickslip.checks import Array
from stickslip.contact.planar import PlanarProblem, PlanarSolver
from stickslip.contact.spatial import SpatialProblem
from stickslip.engine import Block, Engine, Measured, Memory, Seen, beyond_bounds
from stickslip.jit.kernel import plain
from stickslip.laws import ImpactLaw
from stickslip.laws.compiled import kernel_numbers, kernel_options
from stickslip.mechanisms import reasons, steering
from stickslip.mechanisms.bounds import Bounds
from stickslip.mechanisms.generate import SOLVER_CODES, compiled_module
from stickslip.mechanisms.inertia import Contradiction, Inertia, onto_equations, require_together
from stickslip.mechanisms.steppers.contact_problem import reach_at_start, shut_contacts
from stickslip.mechanisms.steppers.moreau_jean import IterationMatrixError
from stickslip.mechanisms.steppers.stepper import Instant, Stepper, StepReport
from stickslip.mechanisms.system import CONTACT, SPRING, TANGENT, LawError, System
from stickslip.mechanisms.templates import events, schemes
from stickslip.mechanisms.templates.structs import Ended, Kept, Records, Run

DONE, EVENTS_FULL, UNSOLVED = codes.DONE, codes.EVENTS_FULL, codes.UNSOLVED
TEMPLATE, CONTROLLED = "stepper", "controlled"
LONG_RUN = 50_000
"""Steps beyond which a run begins with optimised machine code (`jit.tiers`): its rate is to be that of longer runs."""


class MechanismEngine(Engine):
    """Parts that the engines of mechanisms share: how a run began, whether it has left all bounds, and why it ended."""

    system: System
    stepper: Any
    solver: PlanarSolver
    bounds: Bounds
    begun: Memory
    left = 0  # steps that the run has to do

    def begin(self, state: Memory, q0: Array, u0: Array, steps: int) -> None:
        self.bounds = Bounds(self.system, q0, u0, state.p, state.t0, state.t0 + steps * state.dt)
        self.begun, self.left = state, steps - state.step

    def certificate(self) -> dict[str, Any]:
        """Numbers that the constraints add to the certificate."""
        book = self.begun.book
        return {
            "max_constraint_error": float(book[codes.CONSTRAINT_ERROR]),
            "max_constraint_rate": float(book[codes.CONSTRAINT_RATE]),
            "constrained": len(self.system.constraints),
        }

    def reason(self, state: Memory, code: int) -> str:
        return reasons.reason(self.system, self.stepper, self.solver, state, code, self._finer())

    def excess(self, state: Memory, seen: Seen, depth: float) -> str | None:
        work = float(state.book[codes.CONTACT_WORK])
        kinetic, potential = seen.energy.T
        judged = seen.t, seen.q, seen.u, kinetic, potential, work, self._step_length(state), self._tolerances()
        excess = self.bounds.excess(*judged)
        speed = np.abs(seen.u).max(axis=0) if self.controller is not None else None  # a law pushes as it likes
        excess = excess or self.bounds.too_deep(depth, state.t, state.q, speed)
        return excess and beyond_bounds(state.t, excess, self._finer())

    def _tolerances(self) -> tuple[float, float] | None:
        """Relative and absolute tolerance of an integrator that has them."""
        return None

    def contact_columns(self, state: Memory, before: Array | None) -> dict[str, np.ndarray]:
        """Names, gaps, impulses, forces and states of the contacts in the last step, which is done once more."""
        names, n = np.array(self.system.contact_names, dtype=str), self.system.n_contacts
        impulse, label = np.zeros((n, 2)), np.zeros(n, np.int8)
        if before is not None and state.step > 0:
            again = Memory(before.copy(), state.p, state.t0, state.dt, state.sizes)
            again.impulse_sum[:] = 0.0
            block = Block.room(1, 2 * n + 2, state.sizes, 1)
            if self.march(again, 1, block) == UNSOLVED and self.helper is not None:
                self.helper.march(again, 1, block)
            impulse, label = block.impulse[0], block.state[0]
        closed = np.flatnonzero(label != codes.OPEN)
        force = impulse[closed] / state.dt
        return {
            "contact": names[closed],
            "gap": np.asarray(self.system.gap(state.q, state.t, state.p))[closed],
            "normal_impulse": impulse[closed, 0],
            "tangential_impulse": impulse[closed, 1],
            "normal_force": force[:, 0],
            "tangential_force": force[:, 1],
            "state": label[closed],
        }

    def step_energy(self, state: Memory) -> float:
        """dt^2 h . M^-1 h / 2 at the start [J]; 0 for integrators that choose their steps: at rest up to round-off."""
        if self.chooses_steps:
            return 0.0
        start = self.bounds
        M = self.system.mass(start.q, start.t0, start.p)
        h = self.system.force(start.q, start.u, start.t0, start.p)
        return 0.5 * state.dt * state.dt * float(h @ np.linalg.solve(M, h))

    def books_integration(self) -> bool:
        return not self.chooses_steps and self.stepper.projection > 0.0

    def resolution(self, state: Memory, trajectory: Any) -> float:
        """dt h . M^-1 h dt at the start and at the end, the larger one [J].

        On position level it is what the forces do in a step at the largest speed: an impact ends within its two steps.
        """
        largest, dt = 0.0, self._longest_step(state)
        for i in (0, -1):
            t, q, u = float(trajectory.t[i]), trajectory.q[i], trajectory.u[i]
            h = self.system.force(q, u, t, state.p)
            largest = max(largest, float(h @ np.linalg.solve(self.system.mass(q, t, state.p), h)) * dt * dt)
        if self.stepper.level == "position":
            largest += math.sqrt(largest * 2.0 * float(np.max(trajectory.energy.kinetic, initial=0.0)))
        return largest

    def call_law(self, state: Memory) -> int:
        return steering.call_between(self.controller, state)

    def _watch(self, state: Memory, steps: int) -> None:
        """Judge a march with a control law by what its parameters are then, from where it begins."""
        self.bounds = Bounds(self.system, state.q.copy(), state.u.copy(), state.p, state.t, state.t + steps * state.dt)

    def _finer(self) -> str:
        """Advice for an unstable motion."""
        return reasons.finer(self.stepper)

    def _step_length(self, state: Memory) -> float:
        """Length of the steps across events [s]."""
        return state.dt

    def _longest_step(self, state: Memory) -> float:
        """Length of the longest step so far [s]."""
        return state.dt


@dataclass(eq=False)
class Compiled(MechanismEngine):
    """The generated kernel of a system for one stepper and one solver."""

    system: System
    stepper: Stepper
    solver: PlanarSolver
    module: Any
    helper: Reference | None = None  # for steps that the lean solvers of the kernel leave inaccurate
    law: ImpactLaw | None = None
    with_law: Any = None  # the module whose kernel calls a control law

    name = "compiled"
    first_piece: ClassVar[int] = 5_000
    soon_done: ClassVar[bool] = True

    @staticmethod
    def available(stepper: Stepper, solver: PlanarSolver) -> bool:
        return solver.name in SOLVER_CODES and stepper.scheme is not None

    @classmethod
    def build(
        cls, system: System, stepper: Stepper, solver: PlanarSolver, go_on: bool = False, law: ImpactLaw | None = None
    ) -> Compiled:
        """The engine; `go_on`: steps that no method solves are done all the same, and counted."""
        module = compiled_module(system, TEMPLATE, solver.name, {**stepper.options, **kernel_options(law)})
        return cls(system, stepper, solver, module, Reference(system, stepper, solver, go_on, law), law)

    def reason(self, state: Memory, code: int) -> str:
        return reasons.reason(self.system, self.stepper, self.solver, state, code, self._finer(), self.law is not None)

    def warm_up(self, state: Memory, block: Block) -> None:
        if self.left > LONG_RUN:
            self.module.march.expect_long_work()
        super().warm_up(state, block)

    def march(self, memory: Memory, n_steps: int, block: Block) -> int:
        if self.controller is None:
            return self.march_alone(memory, n_steps, block)
        self._watch(memory, n_steps)
        if self.controller.plain:
            return steering.march(self, memory, n_steps, block)
        memory.problem_text = ""
        return self._again_where_stopped(memory, n_steps, block, self._call_with_law)

    def march_alone(self, memory: Memory, n_steps: int, block: Block) -> int:
        """Do up to n_steps steps without a control law.  A step that is not solved is left undone (UNSOLVED)."""
        return self._again_where_stopped(memory, n_steps, block, self._call)

    def _again_where_stopped(self, memory: Memory, n_steps: int, block: Block, call: Callable[..., Any]) -> int:
        """A march of the kernel, which labels the contacts at records and in the last step alone: where it stops early,
        it does the steps before once more to label them at the stop.
        """
        before, law = memory.copy(), {} if self.controller is None else self.controller.arrays()
        p = memory.p.copy()
        status, done = call(memory, n_steps, block)
        if status not in (DONE, EVENTS_FULL) and 0 < done and block.every > 1:
            culprit = memory.book[codes.CULPRIT]
            memory.return_to(before)
            memory.p[:] = p
            if law:
                self.controller.take(law)
            call(memory, done, block)
            memory.book[codes.CULPRIT] = culprit
        return int(status)

    def _call(self, memory: Memory, n_steps: int, block: Block) -> tuple[int, int]:
        arguments = self.arguments(memory, n_steps, block)
        status, done, block.n_events, block.records = self.module.march(*arguments)
        return status, done

    def _call_with_law(self, memory: Memory, n_steps: int, block: Block) -> tuple[int, int]:
        run, kept, records, _, every = self.arguments(memory, n_steps, block)
        block.measured = Measured(np.empty((len(block.q), self.system.n_contacts)), np.empty((len(block.q), 2)))
        given = run, kept, records, block.measured, n_steps, every, self.controller.steer
        status, done, block.n_events, block.records = self.with_law.controlled(*given)
        memory.p[:] = run.p[: len(memory.p)]
        if status == codes.CONTROL_FAILED:
            memory.problem_text = self.controller.reason(memory)
        return status, done

    def control(self, law: Any, memory: Array, first: int, apart: int) -> None:
        if self.controller is not None:
            self.controller.end()
        self.controller = None
        if law is not None:
            found = steering.MechanismController(self.system, law, memory, first, apart)
            if not found.plain:
                options = {**self.stepper.options, **kernel_options(self.law)}
                self.with_law = compiled_module(self.system, CONTROLLED, self.solver.name, options)
            self.controller = found
        if self.helper is not None:
            self.helper.controller = self.controller

    def arguments(self, memory: Memory, n_steps: int, block: Block) -> tuple[Any, ...]:
        """Arguments of the kernel; its arrays are those of the state and of the block."""
        sweeps, tol = self.solver.max_iterations or 10_000, float(self.solver.tol)
        p = memory.p
        if self.law is not None:
            p = np.concatenate([p, kernel_numbers(self.law, self.system.n_contacts)])
        run = Run(p, memory.t0, memory.dt, sweeps, tol)
        kept = Kept(*(getattr(memory, name) for name in Kept._fields))
        records = Records(block.q, block.u, block.impulse, block.state, block.events)
        return run, kept, records, n_steps, block.every

    def once(self, memory: Memory, block: Block) -> Callable[[], int]:
        self.module.march.expect_long_work()  # code that is replaced on the way would hold up one of the steps
        given = self.arguments(memory, 1, block)
        arguments, p = tuple(map(plain, given)), given[0].p
        kernel, own = self.module.march.version(*arguments), len(memory.p)

        def step() -> int:
            if p is not memory.p:  # with an impact law its numbers follow, in an array of their own
                p[:own] = memory.p
            status, _, block.n_events, block.records = kernel(*arguments)
            return int(status)

        return step

    def measure(self, memory: Memory, t: Array, q: Array, u: Array) -> Measured:
        gaps, energies = np.empty((len(t), self.system.n_contacts)), np.empty((len(t), 2))
        self.module.measure(q, u, t, memory.p, gaps, energies)
        return Measured(gaps, energies)


@dataclass(eq=False)
class Reference(MechanismEngine):
    """The steps of `Compiled` in plain NumPy, with any solver; slow and readable.

    go_on : a step that is not solved is done all the same, and counted.
    """

    system: System
    stepper: Stepper
    solver: PlanarSolver
    go_on: bool = False
    law: ImpactLaw | None = None

    name = "reference"

    def warm_up(self, memory: Memory, block: Block) -> None:
        """Nothing to compile."""

    def reason(self, state: Memory, code: int) -> str:
        return reasons.reason(self.system, self.stepper, self.solver, state, code, self._finer(), self.law is not None)

    def control(self, law: Any, memory: Array, first: int, apart: int) -> None:
        if self.controller is not None:
            self.controller.end()
        self.controller = law and steering.MechanismController(self.system, law, memory, first, apart)

    def march(self, memory: Memory, n_steps: int, block: Block) -> int:
        if self.controller is None:
            return self.march_alone(memory, n_steps, block)
        self._watch(memory, n_steps)
        return steering.march(self, memory, n_steps, block)

    def march_alone(self, memory: Memory, n_steps: int, block: Block) -> int:
        """Do up to n_steps steps without a control law."""
        block.records = block.n_events = 0
        if memory.step == 0 and self.stepper.level == "velocity" and not getattr(self.stepper, "lasting", False):
            memory.reach[:] = reach_at_start(self.system, memory.q, memory.u, memory.t0, memory.dt, memory.p)
        for _ in range(n_steps):
            code = self._step(memory, block)
            if code != codes.DONE:
                return code
            if memory.step % block.every == 0:
                block.record(memory)
            if block.n_events > len(block.events) - self.system.n_contacts:
                return codes.EVENTS_FULL
        return codes.DONE

    def _step(self, memory: Memory, block: Block) -> int:
        """Do one step and enter it into the book; the status code, with the step undone where it is not DONE."""
        now, dt = memory.copy(), memory.dt  # what a step reports may refer to the copy
        impulses, sticks = now.carried[:, :2], now.carried[:, 2]
        loaded = now.impulse_before > 0.0
        shut = shut_contacts(self.system, now.q, now.u, now.t, dt, memory.p, loaded, memory.step == 0)
        state = Instant(now.t, now.q, now.u, now.reach, impulses, sticks, shut)
        try:
            with np.errstate(all="ignore"):  # what overflows is told below
                after, report = self.stepper.step(self.system, state, dt, self.solver, memory.p, self.law)
        except IterationMatrixError:
            return codes.MATRIX_INDEFINITE
        except Contradiction as problem:
            memory.problem_text = str(problem)
            return codes.UNSOLVED
        except np.linalg.LinAlgError:
            return codes.MASS_INDEFINITE
        except FloatingPointError as problem:
            memory.problem_text = str(problem)
            return codes.GAP_NOT_A_NUMBER
        except LawError as problem:
            memory.problem_text = str(problem).rstrip(".")
            return codes.LAW_OUT_OF_RANGE
        except ValueError as problem:  # a law that has no answer here, such as Stronge's for two contacts at once
            memory.problem_text = str(problem).rstrip(".")
            return codes.UNSOLVED
        if not ((np.abs(after.u) < codes.LARGEST).all() and np.isfinite(report.problem.u_free).all()):
            return codes.BLOWN_UP
        if not report.solved:
            memory.problem_text = report.status
            if not self.go_on:
                return codes.UNSOLVED
            memory.book[codes.FAILED_STEPS] += 1
        energy_A = self._energy(memory) if self.stepper.projection > 0.0 else 0.0
        memory.q[:], memory.u[:] = after.q, after.u
        memory.advance(1)
        events = block.n_events
        work = self._keep_books(memory, dt, report, block)
        if len(self.system.constraints):
            try:
                self._hold(memory, report, block, events)
            except Contradiction as problem:
                memory.return_to(now)
                block.n_events = events
                memory.problem_text = str(problem)
                return codes.UNSOLVED
        if self.stepper.projection > 0.0:
            memory.book[codes.INTEGRATION_ENERGY] += self._energy(memory) - energy_A - work
            self._project(memory)
        elif self.stepper.at_end and len(report.problem.index):
            self._measure_penetration(memory)
        return codes.DONE

    def _energy(self, memory: Memory) -> float:
        return sum(self.system.energy(memory.q, memory.u, memory.t, memory.p))

    def _hold(self, memory: Memory, report: StepReport, block: Block, events: int) -> None:
        """Bring the end of a step onto the constraints, and book their reactions and what is left of their equations.

        On position level the step itself has met their equations, and its velocities are differences of positions.
        """
        system, t, p, book = self.system, memory.t, memory.p, memory.book
        Lambda = report.problem.reactions(memory.u, report.Lambda_N, report.Lambda_T)
        u_E = memory.u.copy()
        if self.stepper.level == "velocity":
            before = self._energy(memory)
            memory.q[:] = onto_equations(system, t, memory.q, p)
            inertia = Inertia.at(system, memory.q, t, p)
            memory.u[:], more = inertia.onto(memory.u)
            Lambda = Lambda + more
            require_together(system, inertia, memory.u, t)
            if self.stepper.projection == 0.0:  # else it is part of what the step does, which is booked there
                book[codes.PROJECTION_ENERGY] += self._energy(memory) - before
            _raise_to(book, codes.CONSTRAINT_RATE, float(np.max(np.abs(inertia.rate(memory.u)))))
        index = system.constraints
        _raise_to(book, codes.CONSTRAINT_ERROR, float(np.max(np.abs(system.gap(memory.q, t, p)[index]))))
        memory.impulse_sum[index, 1] += Lambda
        states = block.state[block.records]
        struck = block.n_events > events
        states[index] = codes.IMPACT if struck else codes.CLOSED
        if struck:
            rates = report.problem.inertia.rate
            for k, N, A, B in zip(index, Lambda, rates(report.problem.u_A), rates(u_E), strict=True):
                block.events[block.n_events] = (memory.t, k, 0.0, 0.0, 0.0, N, A, B)
                block.n_events += 1

    def _project(self, memory: Memory) -> None:
        t, p = memory.t, memory.p
        q = self.stepper.project(self.system, t, memory.q, p)
        if q is not memory.q:
            q = onto_equations(self.system, t, q, p)
        if q is not memory.q:
            change = sum(self.system.energy(q, memory.u, t, p)) - sum(self.system.energy(memory.q, memory.u, t, p))
            memory.book[codes.PROJECTION_ENERGY] += change
            memory.book[codes.PROJECTIONS] += 1
            memory.q[:] = q
        self._measure_penetration(memory)

    def _measure_penetration(self, memory: Memory) -> None:
        unilateral = self.system.kinds == CONTACT
        unilateral &= ~np.array(self.system.gated) | (memory.impulse_before > 0.0)  # else it may not be there
        gap = self.system.gap(memory.q, memory.t, memory.p)
        deepest = float(np.max(-gap[unilateral], initial=0.0))
        _raise_to(memory.book, codes.MAX_PENETRATION, deepest)

    def _keep_books(self, memory: Memory, dt: float, report: StepReport, block: Block) -> float:
        """Label the contacts and enter the step into the book; return the work of the contacts [J]."""
        book, problem = memory.book, report.problem
        state = block.state[block.records]
        state_before = state.copy()
        state[:] = codes.OPEN
        idle = np.ones(self.system.n_contacts, dtype=bool)
        idle[problem.index] = False
        memory.impulse_before[idle] = 0.0
        memory.reach[idle if memory.step > 1 else slice(None)] = 0.0  # what forces close in the first step is none
        memory.carried[:], memory.drift[idle] = 0.0, 0.0
        if report.sliding is not None and report.sliding.active:
            memory.carried[:, 2] = report.sliding.rests
            _raise_to(book, codes.FRICTION_ROUNDS, report.sliding.rounds)
            _raise_to(book, codes.FRICTION_CONTRACTION, report.sliding.contraction)
        _raise_to(book, codes.MAX_RESIDUAL, report.residual)
        if not len(problem.index):
            book[codes.WORK_BEFORE] = 0.0
            return 0.0
        book[codes.ITERATIONS] += report.iterations
        work = gain = self._label_contacts(memory, dt, report, block, state_before)
        if self.stepper.impact_steps == 2 and ((state == codes.IMPACT) & (state_before != codes.IMPACT)).any():
            memory.carried[problem.index, :2] = np.column_stack([report.Lambda_N, report.Lambda_T])
        book[codes.CONTACT_WORK] += work
        if self.stepper.impact_steps == 2:  # the first step of an impact takes what the second gives back
            book[codes.WORK_BEFORE], gain = gain, gain + min(0.0, book[codes.WORK_BEFORE])
        if gain > book[codes.MAX_ENERGY_GAIN]:
            book[codes.MAX_ENERGY_GAIN] = gain
            book[codes.GAIN_STEP] = memory.step
        local = problem.local
        rows = int(local.normal.sum()) + 2 * int(local.tangential.sum())
        if isinstance(local, SpatialProblem):  # three each: no slip of theirs is split in two
            rows -= 2 * len(local.space.first)
        _raise_to(book, codes.MAX_LCP_SIZE, rows)
        return float(work)

    def _label_contacts(
        self, memory: Memory, dt: float, report: StepReport, block: Block, state_before: np.ndarray
    ) -> float:
        """State, memory and impact rows of the active contacts; return their work [J]."""
        book, problem, local = memory.book, report.problem, report.problem.local
        state = block.state[block.records]
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
        bound, work = local.bound(report.Lambda_N), 0.0
        in_space = _ends_in_space(local, report, after[1])
        for i, k in enumerate(problem.index):
            kind = self.system.contact_kinds[k]
            N, T = report.Lambda_N[i], report.Lambda_T[i]
            gamma_N, gamma_T = (before[0][i], after[0][i]), (before[1][i], after[1][i])
            size = local.size_T[i] + local.G_TT[i, i] * abs(T) + abs(local.G_NT[i, i]) * N
            ended = Ended(kind, gamma_T[1], size, bool(local.tangential[i]), bound[i], N, T)
            ended = in_space.get(i, ended)
            if kind == TANGENT:
                state[k] = state[k - 1]
            else:
                state[k] = events.contact_state.py_func(ended, strikes[i], struck, memory.impulse_before[k])
            if kind != SPRING:
                work += 0.5 * N * sum(gamma_N) + 0.5 * T * sum(gamma_T)
            if kind == CONTACT and self.stepper.projection == 0.0 and not self.stepper.at_end:
                _raise_to(book, codes.MAX_PENETRATION, -problem.g[k])
            lasting = self.stepper.impact_steps == 2 and state_before[k] == codes.IMPACT
            if state[k] == codes.IMPACT or lasting:
                block.events[block.n_events] = (memory.t, k, *gamma_N, N, T, *gamma_T)
                block.n_events += 1
            N_before = memory.impulse_before[k]
            memory.impulse_before[k] = N
            memory.impulse_sum[k] += (N, T)
            kept, held = 0.0, local.G_NN[i, i] * N
            if kind == CONTACT and problem.rounding is not None and memory.step > 1:
                open_within = problem.g[k] > 0.0
                reach = (
                    schemes.widened.py_func(memory.reach[k], problem.rounding[k]) if open_within else memory.reach[k]
                )
                kept = events.kept_reach.py_func(reach)
                kept += dt * memory.drift[k] if N == 0.0 else 0.0
                if N > 5.0 * N_before:
                    memory.drift[k] = max(memory.drift[k], events.drift_of.py_func(held, gamma_N[1]))
                    kept = max(kept, 2.0 * dt * memory.drift[k])
            memory.reach[k] = kept
            if N > 0.0:
                memory.reach[k] = events.reach_of.py_func(dt, unloaded[k] > 0, *gamma_N, held, kept)
                memory.last_loaded[k] = memory.step - 1
        return work

    def measure(self, memory: Memory, t: Array, q: Array, u: Array) -> Measured:
        system, n = self.system, len(t)
        gaps = np.array([system.gap(q[i], t[i], memory.p) for i in range(n)]).reshape(n, system.n_contacts)
        energies = np.array([system.energy(q[i], u[i], t[i], memory.p) for i in range(n)]).reshape(n, 2)
        return Measured(gaps, energies)


def _ends_in_space(local: PlanarProblem, report: StepReport, gamma_T: Array) -> dict[int, Ended]:
    """How a step has ended for contacts with two tangents, by their rows: |gamma_T|, and the share of the bound."""
    if not isinstance(local, SpatialProblem):
        return {}
    found, space = {}, local.space
    shares = space.shares(local.mu, report.Lambda_N, report.Lambda_T)
    for i, j, share in zip(space.first, space.second, shares, strict=True):
        N = report.Lambda_N[i]
        own = [local.G_TT[a, a] * abs(report.Lambda_T[a]) + abs(local.G_NT[i, a]) * N + local.size_T[a] for a in (i, j)]
        speed = math.hypot(gamma_T[i], gamma_T[j])
        bound = local.mu[i] * N
        found[int(i)] = Ended(CONTACT, speed, math.hypot(*own), bool(local.tangential[i]), bound, N, share * bound)
    return found


def _raise_to(book: Array, item: int, value: float) -> None:
    """Keep the largest value of an item of the book."""
    book[item] = max(book[item], value)
