"""Members of an ensemble of scenes on the cores of this machine: a run each, as `Scene.simulate` does it.

A member is set up in Python and marches in compiled code, which lets other threads run.  Members share nothing: the
result does not depend on how many threads there are, and equals that of a single run, bit for bit.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from stickslip import codes
from stickslip.engine import Block, Seen
from stickslip.ensembles.observables import APART, CANNOT_APPEAR, NO_SCENE, dimensions_of, variables_of
from stickslip.ensembles.scene_watch import Watch
from stickslip.ensembles.scenes import SceneRequest
from stickslip.interrupts import poll
from stickslip.run.driver import Run
from stickslip.run.records import join_impacts
from stickslip.run.scene_simulate import prepare_run
from stickslip.scenes import reasons, step
from stickslip.scenes.start import Overlap

LONGEST_WAIT = 0.1  # [s] after which Ctrl-C is looked for
STEPS_PER_PIECE = 2000  # whose records are in memory together
EVENTS_PER_PIECE = 1000
_STATUS = {
    step.DONE: codes.DONE, step.UNSOLVED: codes.UNSOLVED, step.NOT_FINITE: codes.BLOWN_UP, step.APART: APART,
    reasons.CANNOT_APPEAR: CANNOT_APPEAR,
}  # fmt: skip
Report = Callable[[int], None]


def compute_scenes(request: SceneRequest, first: int, last: int, threads: int, report: Report) -> dict[str, np.ndarray]:
    """The arrays of the result for the members first .. last - 1."""
    values = room_for(request, last - first)
    compute_some(request, first, last, range(last - first), values, threads, report)
    return values


def compute_some(
    request: SceneRequest,
    first: int,
    last: int,
    which: Iterable[int],
    values: Mapping[str, np.ndarray],
    threads: int,
    report: Report,
) -> None:
    """Compute those of the members first .. last - 1 that `which` tells, counted from `first`, into their `values`."""
    columns = request.plan.members(first, last)
    stop = threading.Event()

    def member(i: int) -> int:
        found = run_member(request, {name: float(column[i]) for name, column in columns.items()}, stop)
        for name, value in found.items():
            values[name][i] = value
        return request.steps

    waiting = iter(which)
    with ThreadPoolExecutor(threads) as pool:
        running: set[Future[int]] = set()
        try:
            while True:
                while len(running) < 2 * threads and (i := next(waiting, None)) is not None:
                    running.add(pool.submit(member, i))
                if not running:
                    return
                done, running = wait(running, LONGEST_WAIT, return_when=FIRST_COMPLETED)
                poll()
                for future in done:
                    report(future.result())
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def room_for(request: SceneRequest, n: int) -> dict[str, np.ndarray]:
    """Arrays for n members; nan where a member leaves nothing."""
    sizes = dimensions_of(request.system, request.points)
    values = {}
    for name, variable in variables_of(request.observe).items():
        shape = (n, *(sizes[dimension] for dimension in variable.dimensions))
        dtype = np.dtype(variable.dtype)
        values[name] = np.full(shape, math.nan, dtype) if dtype.kind == "f" else np.zeros(shape, dtype)
    return values


def run_member(
    request: SceneRequest, varied: Mapping[str, float], stop: threading.Event | None = None, steps: int | None = None
) -> dict[str, Any]:
    """Observables, status and certificate of one member, by the names of their arrays; `steps`: fewer than asked."""
    try:
        scene = request.scenario.with_values(varied).scene
        t_end = request.t_end if steps is None else steps * request.dt
        run = prepare_run(scene, request.dt, t_end, **request.options)
    except Overlap:
        return not_started(codes.PENETRATES)
    except ValueError:
        return not_started(NO_SCENE)
    watch = Watch(request.asked, (run.q0, run.u0), len(scene.contact_names))
    status, depth = _march(run, watch, stop)
    state, book = run.state, run.state.book
    found = {
        "status": status, "time_reached": state.t, "failed_steps": int(book[codes.FAILED_STEPS]),
        "max_residual": book[codes.MAX_RESIDUAL], "max_penetration": max(float(book[codes.MAX_PENETRATION]), depth),
        "max_energy_gain": book[codes.MAX_ENERGY_GAIN], "fallbacks": int(book[codes.FALLBACKS]),
    }  # fmt: skip
    if status == codes.DONE:
        seen = {**watch.values(), "final_q": state.q, "final_u": state.u, **_energies(run)}
        found |= {name: seen[name] for name in variables_of(request.observe) if name not in found}
    return found


def not_started(status: int) -> dict[str, Any]:
    """What is known of a member that has no start."""
    return {
        "status": status, "time_reached": 0.0, "failed_steps": 1, "max_residual": 0.0, "max_penetration": 0.0,
        "max_energy_gain": 0.0, "fallbacks": 0,
    }  # fmt: skip


def _energies(run: Run) -> dict[str, float]:
    engine: Any = run.engine
    state = run.state
    start, end = engine.energies(run.q0, run.u0, state.t0), engine.energies(state.q, state.u, state.t)
    return {
        "kinetic_start": start[0], "potential_start": start[1], "kinetic_end": end[0], "potential_end": end[1],
        "contact_work": float(state.book[codes.CONTACT_WORK]),
    }  # fmt: skip


def _march(run: Run, watch: Watch, stop: threading.Event | None) -> tuple[int, float]:
    """March to the end; the status of the member, and the deepest penetration of its records [m].

    As the driver of `simulate` does it, without a store: the records of a piece are looked at and forgotten.
    """
    engine, state, deepest = run.engine, run.state, 0.0
    last_state = np.zeros(state.sizes[2], np.int8)
    unfinished = run.first_impacts[:0]
    while state.step < run.steps:
        if stop is not None and stop.is_set():
            return codes.UNSOLVED, deepest
        n = min(run.steps - state.step, STEPS_PER_PIECE)
        block = Block.room(n + 1, EVENTS_PER_PIECE, state.sizes, 1, run.first_impacts.shape[1])
        block.state[0] = last_state
        code = engine.march(state, n, block)
        m = block.records
        assert block.measured is not None
        events = block.events[: block.n_events]
        if run.stepper.impact_steps == 2:
            events, unfinished = join_impacts(np.concatenate([unfinished, events]), state.t, state.dt)
            if state.step >= run.steps:
                events = np.concatenate([events, unfinished])
        if m:
            deepest = max(deepest, float(np.max(-block.measured.gap[:m], initial=0.0)))
            watch.take(block.q[:m], block.u[:m], block.state[:m], events)
            last_state = block.state[m].copy()
        if code not in (codes.DONE, codes.EVENTS_FULL):
            return _STATUS.get(code, codes.BLOWN_UP), deepest
        times = np.asarray(state.t0 + (state.step - m + 1 + np.arange(m)) * state.dt, float)
        seen = Seen(times, block.q[:m], block.u[:m], block.measured.energy[:m])
        depth = max(float(state.book[codes.MAX_PENETRATION]), deepest)
        if m and engine.excess(state, seen, depth) is not None:
            state.book[codes.FAILED_STEPS] += 1
            return codes.BLOWN_UP, deepest
    return codes.DONE, deepest
