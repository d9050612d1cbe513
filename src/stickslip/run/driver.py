"""The driver of a run: it marches an engine in pieces, keeps records, and never loses what was computed.

One driver serves every `stickslip.engine.Engine`; `simulate` and `Scene.simulate` prepare a `Run` for it.  A piece
takes about a tenth of a second.  Its march and the keeping of its records happen together or not at all, whatever
signal or error comes between.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip import codes
from stickslip.checks import Array
from stickslip.cost import tell_time
from stickslip.debug import bar_wanted
from stickslip.engine import Engine, OutOfTime, State
from stickslip.interrupts import dropped, note_dropped, opened, poll, settle, uninterrupted
from stickslip.jit.making import Clock, running
from stickslip.request import Records
from stickslip.run.compiling import announced
from stickslip.run.progress import progress_bar
from stickslip.run.records import Store
from stickslip.trajectory import Trajectory

_PIECE_SECONDS, _MOST_PIECE_SECONDS = 0.1, 1.0
_COPIES = 50.0  # a piece takes at least this many times as long as the copy of the state that it begins with
_GROWTH = 16  # of a piece from one to the next: each costs some 0.4 ms in Python, 2,000 steps of a robot 20 ms
_LIMIT_SHARE = 0.03  # of a time limit: pieces that are longer might miss it by 10 %
_PIECE_BYTES = 2**25  # of records, at most
_MOST_STEPS = 50_000_000  # of a piece
_MANY_STEPS = 10_000_000  # of a run whose time is told beforehand


@dataclass
class Run:
    """A checked request and the state of its execution.

    Attributes
    ----------
    system : names, sizes and units of what moves, for trajectory and file
    stepper, solver, tol : method, with its name and `impact_steps`; name of the solver; its tolerance
    steps : number of steps from start to end
    q0, u0 : the start, as it is recorded
    first_impacts : rows of `IMPACT_COLUMNS` of the impact at t0
    identity : all that decides the motion; a run goes on from a checkpoint only where its identity is equal
    notes : what was chosen besides the names of stepper and solver, for the attributes of the trajectory
    time_limit : seconds by the clock, without those of compiling, after which the run ends
    retuned : whether a parameter has changed an energy since the start, so that the balance of energy is not known
    """

    system: Any
    engine: Engine
    state: State
    stepper: Any
    solver: str
    tol: float
    steps: int
    records: Records
    q0: Array
    u0: Array
    first_impacts: Array
    identity: Callable[[], dict[str, Any]]
    notes: Callable[[], dict[str, str]]
    time_limit: float | None = None
    retuned: bool = False

    def __post_init__(self) -> None:
        self.p0 = np.array(self.state.p, float)  # a control law changes them
        self.engine.begin(self.state, self.q0, self.u0, self.steps)
        self._require_energy()

    def energies_of_start_and_now(self) -> tuple[float, float]:
        """Kinetic and potential energy together, at the start and at the present, with the present parameters [J]."""
        state = self.state
        times, places, motions = (
            np.array([state.t0, state.t]),
            np.stack([self.q0, state.q]),
            np.stack([self.u0, state.u]),
        )
        start, end = self.engine.measure(state, times, places, motions).energy.sum(axis=1)
        return float(start), float(end)

    def _require_energy(self) -> None:
        """Raise ValueError where the kinetic energy of the start is beyond all numbers."""
        if not np.abs(self.u0).max(initial=0.0) > codes.LARGEST:
            return
        with np.errstate(all="ignore"):
            start = self.engine.measure(self.state, np.array([self.state.t0]), self.q0[None], self.u0[None])
        if math.isinf(start.energy[0, 0]):
            worst = int(np.argmax(np.abs(self.u0)))
            raise ValueError(
                f"the kinetic energy of the start must be below 1e308 J; {self.system.velocity_names[worst]!r} begins "
                f"with {self.u0[worst]:g}, take smaller velocities or masses."
            )


def drive(run: Run, progress: bool | Callable[[int], None] | None) -> Trajectory:
    """March a run to its end and return what it recorded.

    Ctrl-C, a failed step or a state that is no longer finite end it earlier; the trajectory so far is returned with
    `complete` False and `status` saying where and why.  Ctrl-C after the last step ends nothing any more.
    """
    show = bar_wanted(progress)
    run.engine.talks = show
    with uninterrupted():
        dropped()  # what earlier runs dropped is none of this one's business
        with announced(run.system.name, show):
            store = Store(run)
        try:
            with opened(), announced(run.system.name, show):
                run.engine.warm_up(run.state, store.block(0))
            _tell_time(run, store)
            store.start_clock()
            with progress_bar(progress, run.system.name, run.steps, run.state.step) as advance:
                status, complete = march(run, store, advance)
            trajectory = store.finish(status, complete, time.perf_counter() - store.begin)
        except BaseException as problem:
            store.rescue(time.perf_counter() - store.begin, problem)
            raise
        settle()
    return trajectory


def march(run: Run, store: Store, advance: Callable[[int], None]) -> tuple[str, bool]:
    """March to the end and return (status, complete); `advance` is called with the number of steps done.

    What is compiled on the way, such as how to solve islands, at the first contact, does not count as time of the run.
    """
    try:
        with running(Clock()) as clock:
            reason = march_in_pieces(run, store, advance, clock)
    except KeyboardInterrupt:
        if run.state.step == run.steps:  # nothing was left to be ended
            note_dropped()
            return "finished", True
        reason = f"interrupted at t = {run.state.t:.9g} s"
    except OutOfTime as problem:
        reason = f"{_over(run)}, in {problem}"
    except MemoryError as problem:
        reason = f"stopped at t = {run.state.t:.9g} s: {str(problem) or 'the memory is full; record less often'}"
    return reason or "finished", reason is None


def march_in_pieces(run: Run, store: Store, advance: Callable[[int], None], clock: Clock) -> str | None:
    """March to the end; None, or why the run has to end before."""
    engine, state, every = run.engine, run.state, run.records.every
    n_q, n_u, contacts = state.sizes
    most = max(1, _PIECE_BYTES // max(1, 8 * (n_q + n_u + 4 * contacts))) * every
    piece = engine.first_piece
    limit = math.inf if run.time_limit is None else run.time_limit
    while state.step < run.steps:
        engine.deadline = store.begin + limit
        if time.perf_counter() > engine.deadline:
            return _over(run)
        n = min(run.steps - state.step, piece, most)
        begin, before, compiled = time.perf_counter(), state.step, clock.seconds
        code, copied = _march_piece(run, store, engine, n)
        if code == codes.UNSOLVED and engine.helper is not None:
            code, _ = _march_piece(run, store, engine.helper, 1)
        compiled = clock.seconds - compiled
        store.begin += compiled
        if code not in (codes.DONE, codes.EVENTS_FULL):
            state.book[codes.FAILED_STEPS] += not engine.counts_failures
            return engine.reason(state, code)
        excess = store.excess()
        if excess is not None:
            state.book[codes.FAILED_STEPS] += 1
            return excess
        elapsed = time.perf_counter() - begin - compiled
        with opened():
            advance(state.step)
        store.checkpoint_now_and_then()
        poll()
        seconds = min(max(_PIECE_SECONDS, _COPIES * copied), _MOST_PIECE_SECONDS, _LIMIT_SHARE * limit)
        wanted = max(1, state.step - before) * seconds / max(elapsed, 1e-6)
        piece = max(1, int(min(max(piece / 4, wanted), piece * _GROWTH, _MOST_STEPS)))
    return None


def _over(run: Run) -> str:
    """Words for a run whose time is over."""
    return f"time limit of {run.time_limit:g} s reached at t = {run.state.t:.9g} s"


def _march_piece(run: Run, store: Store, engine: Engine, n: int) -> tuple[int, float]:
    """March n steps and keep what they leave, both or neither; the status code, and what the copy before took [s].

    Ctrl-C waits for a march that is soon done.  Elsewhere it comes at once, and the piece is dropped.
    """
    begin = time.perf_counter()
    with store.piece():
        copied = time.perf_counter() - begin
        block = store.block(n)
        with contextlib.nullcontext() if engine.soon_done else opened():
            code = engine.march(run.state, n, block)
        if engine is not run.engine and code == codes.DONE:
            run.state.book[codes.FALLBACKS] += 1
        store.take(block)
    return code, copied


def _tell_time(run: Run, store: Store) -> None:
    """Say how long a run of many steps will take, from a few of them that are done and taken back."""
    engine, left = run.engine, run.steps - run.state.step
    if engine.chooses_steps or left < _MANY_STEPS:
        return

    def trial(n: int) -> None:
        before, text, block = engine.arrays(run.state), run.state.problem_text, store.block(n)
        block.every = n + 1
        try:
            with opened():
                engine.march(run.state, n, block)
        finally:
            engine.take(run.state, before)
            run.state.problem_text = text

    tell_time(run.system.name, left, trial, store.writer is not None)
