"""Runs with a `ControlLaw`: of `simulate`, and of a simulator that marches to a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from stickslip import codes
from stickslip.control import ControlLaw, memory_of, steps_between
from stickslip.run.driver import Run

if TYPE_CHECKING:
    from stickslip.run.simulator import Simulator


class StepError(RuntimeError):
    """A step could not be done.  The simulator stands at the end of the step before."""


def with_control(run: Run, law: ControlLaw | None) -> Run:
    """A run that is to begin, with a control law at work."""
    if law is None:
        return run
    require_law(law)
    _begin(run, law, memory_of(law), law.rate)
    own = run.identity
    return replace(run, identity=lambda: {**own(), "control": law.identity()}, retuned=run.retuned)


def require_law(law: Any) -> None:
    if not isinstance(law, ControlLaw):
        raise ValueError(
            f"control must be a ControlLaw, got {law!r}; Simulator.run takes a function of the simulator as well."
        )


def _begin(run: Run, law: ControlLaw, memory: Any, rate: float | None) -> None:
    run.engine.control(law, memory, run.state.step, steps_between(rate, run.state.dt))
    run.retuned = run.retuned or run.engine.controller.changes_energy()


def march_with_law(
    sim: Simulator, law: ControlLaw, left: int, rate: float | None, advance: Callable[[int], None]
) -> None:
    """Let a simulator do some steps with a control law, and keep what the law remembers."""
    run, first = sim._run, sim.steps
    memory = sim._memory.copy() if _goes_on(sim, law) else memory_of(law)
    _begin(run, law, memory, law.rate if rate is None else rate)
    try:
        if left > 1:
            sim._march(left - 1, lambda done: advance(done - first))
        code = run.engine.call_law(run.state)
        if code != codes.DONE:
            raise StepError(run.engine.reason(run.state, code))
        sim.step()  # one by one, so that the contacts of the last step can be read
        advance(left)
    except StepError as problem:
        raise problem from run.engine.controller.error
    finally:
        sim._law, sim._memory = law, run.engine.controller.now.memory
        run.engine.control(None, memory, 0, 1)
        sim.params.take(run.state.p)
        run.engine.begin(run.state, run.state.q.copy(), run.state.u.copy(), 1)


def _goes_on(sim: Simulator, law: ControlLaw) -> bool:
    """Whether the memory is that of this law: it was at work here, or in the simulator that this one is a copy of."""
    return sim._law is law or (isinstance(sim._law, str) and sim._law == law.known_by())
