"""Members on the cores of this machine: threads that each take a few members at a time through one compiled function.

Members share nothing, so the result does not depend on how many threads there are, or on which of them did what.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stickslip import codes
from stickslip.checks import Array
from stickslip.engine import Block, Memory
from stickslip.ensembles.request import Request
from stickslip.ensembles.scenes import SceneRequest
from stickslip.interrupts import poll
from stickslip.mechanisms.engines import LONG_RUN, Reference
from stickslip.mechanisms.steering import MemberPlaces, serve_members
from stickslip.mechanisms.templates.structs import Asked, Motion

STEPS_PER_PIECE = 1_000_000  # some tenths of a second: Ctrl-C and the progress bar wait no longer
LONGEST_WAIT = 0.1  # [s] after which Ctrl-C is looked for
Report = Callable[[int], None]
"""Told how many more steps are done."""


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass
class Cores:
    """The device "cpu"."""

    threads: int = field(default_factory=cores)

    kind = "cpu"

    @property
    def name(self) -> str:
        return f"cpu, {self.threads} thread{'s' if self.threads > 1 else ''}"

    def chunk(self, request: Request | SceneRequest) -> int:
        """Members to compute between two savings: a few seconds of work."""
        return int(min(max(100_000_000 // (request.steps * request.step_cost), 4 * self.threads), 65_536))

    def warm_up(self, request: Request) -> None:
        """Compile, or load from the disk cache, without doing a step."""
        if request.plan.size * request.steps > LONG_RUN:
            request.module.advance_members.expect_long_work()
        rows, P = request.rows(0, 1)
        _advance(request, rows, P, 0, 0, 0)

    def advance(self, request: Request, rows: Array, P: Array, report: Report) -> None:
        """Take members from their start to their end, in place."""
        size = max(1, min(STEPS_PER_PIECE // request.steps, -(-len(rows) // self.threads)))
        groups = iter(range(0, len(rows), size))
        with ThreadPoolExecutor(self.threads) as pool:
            running: set[Future[int]] = set()
            try:
                while True:
                    while len(running) < 2 * self.threads and (first := next(groups, None)) is not None:
                        last = min(first + size, len(rows))
                        running.add(pool.submit(_run_group, request, rows, P, first, last))
                    if not running:
                        return
                    done, running = wait(running, LONGEST_WAIT, return_when=FIRST_COMPLETED)
                    poll()
                    for future in done:
                        report(future.result())
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise


def _run_group(request: Request, rows: Array, P: Array, first: int, last: int) -> int:
    """Members first .. last - 1 from start to end; return the number of steps."""
    if request.control is not None:
        return _run_controlled(request, rows, P, first, last)
    left = request.steps
    while left > 0:
        n = min(left, max(1, 4 * STEPS_PER_PIECE // (last - first)))
        _advance(request, rows, P, first, last, n)
        left -= n
    finish(request, rows, P, first, last)
    return (last - first) * request.steps


def _run_controlled(request: Request, rows: Array, P: Array, first: int, last: int) -> int:
    """Members from start to end with their control law, which is called for all of them between their steps."""
    layout, controller = request.module, request.controller
    at = MemberPlaces(layout.IMPULSE_BEFORE, layout.STATUS, layout.BOOK_OF_MEMBER, float(request.dt))
    steer, apart = controller.own_steer(), controller.clock.apart
    memories = np.tile(steer.now.memory, (last - first, 1))
    for done in range(0, request.steps, apart):
        serve_members(rows[first:last], P[first:last], memories, steer, at)
        until = min(done + apart, request.steps)
        _advance(request, rows, P, first, last, until - done)
        finish(request, rows, P, first, last, until)
    return (last - first) * request.steps


def _advance(request: Request, rows: Array, P: Array, first: int, last: int, n_steps: int) -> None:
    tol, depth = float(request.solver.tol), float(request.penetration_tol)
    asked = Asked(float(request.dt), n_steps, request.sweeps, tol, depth)
    request.module.advance_members(rows[first:last], P[first:last], asked)


def finish(request: Request, rows: Array, P: Array, first: int, last: int, until: int | None = None) -> None:
    """Go on with members whose kernel left a step unsolved: the reference engine does that step, as in `simulate`."""
    layout = request.module
    unsolved = np.flatnonzero(rows[first:last, layout.STATUS] == codes.UNSOLVED)
    for i in (first + unsolved).tolist():
        while rows[i, layout.STATUS] == codes.UNSOLVED and _rescue(request, layout, rows[i], P[i]):
            end = request.steps if until is None else until
            _advance(request, rows, P, i, i + 1, end - int(rows[i, layout.STEPS_DONE]))


def _rescue(request: Request, layout: Any, row: Array, p: Array) -> bool:
    """One step by the reference engine, whose solvers polish what the kernel's lean versions leave inaccurate."""
    system, c = request.system, request.system.n_contacts
    p = p[: len(system.parameter_names)]
    book = row[layout.BOOK_OF_MEMBER :]
    step = int(row[layout.STEPS_DONE])
    memory = Memory.start(
        row[: layout.U_OF_MEMBER], row[layout.U_OF_MEMBER : layout.IMPULSE_BEFORE], p, 0.0, c, request.dt
    )
    memory.impulse_before[:] = row[layout.IMPULSE_BEFORE : layout.LAST_LOADED]
    memory.last_loaded[:] = row[layout.LAST_LOADED : layout.CARRIED]
    memory.carried[:] = row[layout.CARRIED : layout.REACH_OF_MEMBER].reshape(c, 3)
    memory.reach[:] = row[layout.REACH_OF_MEMBER : layout.DRIFT_OF_MEMBER]
    memory.drift[:] = row[layout.DRIFT_OF_MEMBER : layout.STATUS]
    memory.book[:] = book[: codes.BOOK_SIZE]
    q_A, u_A = memory.q.copy(), memory.u.copy()
    block = Block.room(1, c, memory.sizes, every=step + 3)
    code = Reference(system, request.stepper, request.solver, law=request.law).march(memory, 1, block)
    if code != codes.DONE:
        row[layout.STATUS] = code
        return False
    memory.book[codes.FALLBACKS] += 1
    row[: layout.U_OF_MEMBER], row[layout.U_OF_MEMBER : layout.IMPULSE_BEFORE] = memory.q, memory.u
    row[layout.IMPULSE_BEFORE : layout.LAST_LOADED] = memory.impulse_before
    row[layout.LAST_LOADED : layout.CARRIED] = memory.last_loaded
    row[layout.CARRIED : layout.REACH_OF_MEMBER] = memory.carried.ravel()
    row[layout.REACH_OF_MEMBER : layout.DRIFT_OF_MEMBER] = memory.reach
    row[layout.DRIFT_OF_MEMBER : layout.STATUS] = memory.drift
    book[: codes.BOOK_SIZE] = memory.book
    row[layout.STATUS] = codes.DONE
    states = block.state[0].astype(np.int64)
    layout.watch_rescued(row, p, request.dt, step, Motion(q_A, u_A), states, block.events, block.n_events)
    return True
