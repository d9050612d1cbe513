"""Control laws at work in the engines of mechanisms: compiled ones are called in the kernel, others between marches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from stickslip import codes
from stickslip.checks import unknown_name
from stickslip.control import (
    NEVER,
    Clockwork,
    ControlLaw,
    Controller,
    MechanismNow,
    copy_numbers,
    first_wrong,
    is_due,
    steps_until_due,
)
from stickslip.engine import Block, Measured, Memory
from stickslip.jit import call_address, entry, kernel
from stickslip.mechanisms.system import System
from stickslip.mechanisms.templates.structs import Kept, Run

MEMORY_WRONG, LAW_WRONG = -1, -2
"""In place of the number of the input with which a law failed."""


class Steer(NamedTuple):
    """A control law as kernels take it.

    Attributes
    ----------
    clock : when it is called
    now : what it sees and sets
    places : of its inputs among the parameters
    positive : inputs that must stay positive
    """

    clock: Clockwork
    now: MechanismNow
    places: np.ndarray
    positive: np.ndarray


@kernel
def serve(run: Run, kept: Kept, steer: Steer, step: int) -> int:
    """Call the law before this step and set its inputs; DONE, or CONTROL_FAILED with nothing set."""
    clock, now, places = steer.clock, steer.now, steer.places
    copy_numbers(kept.q, now.q)
    copy_numbers(kept.u, now.u)
    copy_numbers(run.p, now.p)
    copy_numbers(kept.impulse_before, now.impulse)
    copy_numbers(now.memory, clock.before)
    for k in range(places.shape[0]):
        now.inputs[k] = run.p[places[k]]
    t = run.t0 + step * run.dt
    seen = MechanismNow(t, now.q, now.u, now.p, now.impulse, now.inputs, now.memory)
    call_address(clock.address, 0, seen)
    wrong = first_wrong(now.inputs)
    for k in range(places.shape[0]):
        if wrong < 0 and steer.positive[k] and not now.inputs[k] > 0.0:
            wrong = k
    if wrong >= 0 or first_wrong(now.memory) >= 0:
        kept.book[codes.CULPRIT] = wrong if wrong >= 0 else MEMORY_WRONG
        copy_numbers(clock.before, now.memory)
        return codes.CONTROL_FAILED
    for k in range(places.shape[0]):
        now.p[places[k]] = run.p[places[k]]  # whatever the law wrote there: what `undo_call` goes back to
        run.p[places[k]] = now.inputs[k]
    clock.called[0] = step
    return codes.DONE


@kernel
def undo_call(run: Run, steer: Steer) -> None:
    """Undo the last call of the law."""
    for k in range(steer.places.shape[0]):
        run.p[steer.places[k]] = steer.now.p[steer.places[k]]
    copy_numbers(steer.clock.before, steer.now.memory)
    steer.clock.called[0] = NEVER


class MemberPlaces(NamedTuple):
    """Where a member of an ensemble keeps its numbers in its row, and its step length [s]."""

    impulse: int
    status: int
    book: int
    dt: float


@entry
def serve_members(rows: np.ndarray, P: np.ndarray, memories: np.ndarray, steer: Steer, at: MemberPlaces) -> None:
    """Call the law for members of an ensemble that go on, each with its own memory, a row of `memories`."""
    f, n = steer.now.q.shape[0], steer.now.impulse.shape[0]
    for i in range(rows.shape[0]):
        row = rows[i]
        if row[at.status] == codes.DONE:
            run, rest = Run(P[i], 0.0, at.dt, 0, 0.0), row[0:0]
            kept = Kept(
                row[:f], row[f : 2 * f], row[at.impulse : at.impulse + n], rest, rest, rest, rest, rest, row[at.book :]
            )
            copy_numbers(memories[i], steer.now.memory)
            row[at.status] = float(serve(run, kept, steer, int(row[at.book + codes.STEPS])))
            copy_numbers(steer.now.memory, memories[i])


class MechanismController(Controller):
    """A control law at work in a mechanism."""

    def __init__(self, system: System, law: ControlLaw, memory: np.ndarray, first: int, apart: int) -> None:
        if law.joints is not None or law.bodies:
            raise ValueError("joints and bodies of a control law are for scenes; a mechanism has inputs=[...].")
        if not law.inputs:
            raise ValueError("inputs of a control law must name the parameters that it sets.")
        for name in law.inputs:
            if name not in system.parameter_names:
                raise ValueError(f"inputs of a control law: {unknown_name('parameter', name, system.parameter_names)}")
        index = np.array([system.parameter_names.index(name) for name in law.inputs], np.int64)
        _require_no_slip_law(system, index, law.inputs)
        f, n = system.n_dof, system.n_contacts
        now = MechanismNow(
            0.0, np.zeros(f), np.zeros(f), np.zeros(len(system.parameter_names)), np.zeros(n), np.zeros(len(index)),
            memory,
        )  # fmt: skip
        super().__init__(law, now, first, apart)
        self.system = system
        positive = np.array([name in system.positive for name in law.inputs])
        self.steer = Steer(self.clock, now, index, positive)

    def own_steer(self) -> Steer:
        """The law with arrays of its own, for a thread."""
        now = MechanismNow(0.0, *(array.copy() for array in self.now[1:]))
        clock = self.clock._replace(called=self.clock.called.copy(), before=self.clock.before.copy())
        return self.steer._replace(clock=clock, now=now)

    def changes_energy(self) -> bool:
        """Whether an energy depends on an input, so that the balance of energy is not known."""
        system, rng = self.system, np.random.default_rng(0)
        p = np.array(system.parameter_values, float)
        q, u = rng.normal(size=system.n_dof), rng.normal(size=system.n_dof)
        with np.errstate(all="ignore"):
            before = system.energy(q, u, 0.3, p)
            p[self.steer.places] = 1.37 * p[self.steer.places] + 0.1
            return not np.array_equal(before, system.energy(q, u, 0.3, p), equal_nan=True)

    def reason(self, memory: Memory) -> str:
        """Why the law failed, in words."""
        if self.error is not None:
            return f"control law {self.law.name!r} raised {type(self.error).__name__}: {self.error}"
        k, named = int(memory.book[codes.CULPRIT]), f"control law {self.law.name!r}"
        if k == MEMORY_WRONG:
            return f"{named} used an index outside an array, or left a number in its memory that is not finite"
        if k >= 0:
            rule = "positive and finite" if self.steer.positive[k] else "finite"
            return f"{named} must set {self.law.inputs[k]!r} to a {rule} number, got {self.now.inputs[k]:g}"
        p = memory.p.copy()
        p[self.steer.places] = self.now.inputs
        try:
            self.system.check_parameters(p)
        except ValueError as problem:
            return f"{named}: {str(problem).rstrip('.')}"
        return f"{named} set a coefficient that is out of its range"


def _require_no_slip_law(system: System, index: np.ndarray, names: Sequence[str]) -> None:
    """Raise ValueError where an input enters a friction law, whose numbers are checked before a run."""
    if not system.has_friction_laws:
        return
    for k, name in zip(index.tolist(), names, strict=True):
        for law in system.friction_laws:
            if law is not None and name in {str(symbol) for value in law.parameters for symbol in _symbols(value)}:
                raise ValueError(f"inputs of a control law must not enter a friction law, got {name!r} ({k}).")


def _symbols(value: Any) -> Any:
    return getattr(value, "free_symbols", ())


def march(engine: Any, memory: Memory, n_steps: int, block: Block) -> int:
    """Steps of an engine with its control law, both of any kind: the law is called between marches."""
    controller: MechanismController = engine.controller
    system, done = controller.system, 0
    block.records = block.n_events = 0
    block.measured = Measured(np.empty((len(block.q), system.n_contacts)), np.empty((len(block.q), 2)))
    while done < n_steps:
        code = call_between(controller, memory)
        if code != codes.DONE:
            return code
        n = min(n_steps - done, steps_until_due.py_func(controller.clock, memory.step))
        rest, before = _rest(block), memory.step
        code = engine.march_alone(memory, n, rest)
        i, m = block.records, rest.records
        t = memory.t0 + (before // block.every + 1 + np.arange(m)) * block.every * memory.dt
        found = engine.measure(memory, t, rest.q[:m], rest.u[:m])
        block.measured.gap[i : i + m], block.measured.energy[i : i + m] = found
        block.records, block.n_events, done = i + m, block.n_events + rest.n_events, done + memory.step - before
        if code != codes.DONE:
            return code
    return codes.DONE


def _rest(block: Block) -> Block:
    """What is free of a block, as a block of its own."""
    i, e = block.records, block.n_events
    return Block(block.q[i:], block.u[i:], block.impulse[i:], block.state[i:], block.events[e:], block.every)


def call_between(controller: MechanismController, memory: Memory) -> int:
    """Call the law where it is due before the next step; DONE, or CONTROL_FAILED with nothing set."""
    if not is_due.py_func(controller.clock, memory.step):
        return codes.DONE
    run = Run(memory.p, memory.t0, memory.dt, 0, 0.0)
    kept = Kept(*(getattr(memory, name) for name in Kept._fields))
    code = controller.called(serve, run, kept, controller.steer, memory.step)
    if code == codes.DONE:
        try:
            controller.system.check_parameters(memory.p)
        except ValueError:
            undo_call.py_func(run, controller.steer)
            memory.book[codes.CULPRIT] = LAW_WRONG
            code = codes.CONTROL_FAILED
    memory.problem_text = "" if code == codes.DONE else controller.reason(memory)
    return code
