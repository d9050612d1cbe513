"""Cost of a step against the number of contacts: spheres poured into a box, from 100 to some 30,000 contacts.

Each pile is poured and comes to rest.  Steps are hardest then, so the last steps of the run are timed.  Beside the
wall-clock time stands the processor time of all threads together.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

DT, TOL = 1e-3, 1e-4
SPHERES = (60, 200, 700, 2200, 7000, 12_000)
SPHERES_QUICK = (60, 200, 700)
FALL = 0.05  # [s] after the topmost sphere would have reached the floor in free fall: the pile comes to rest
WINDOW = 50  # steps that are counted
THREADS = 2


def measure(quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """Pour piles of several sizes; return rows of cost, and the slope of log(time) against log(contacts)."""
    rows = []
    for spheres in SPHERES_QUICK if quick else SPHERES:
        say(f"{spheres} spheres poured into a box")
        rows.append(pile_cost(spheres, THREADS))
    slopes = {
        key: float(np.polyfit(np.log([row["contacts"] for row in rows]), np.log([row[key] for row in rows]), 1)[0])
        for key in ("step_s", "cpu_s")
    }
    return {"dt": DT, "tol": TOL, "threads": THREADS, "rows": rows, "slope": slopes, "memory_mb": _memory()}


def pile_cost(spheres: int, threads: int) -> dict[str, Any]:
    """Time per step [s] of a settled pile, its contacts, and how well its steps were solved."""
    from stickslip.library import scenes
    from stickslip.run.records import Store
    from stickslip.run.scene_simulate import prepare_run
    from stickslip.scenes import step
    from stickslip.scenes.engine import SceneEngine, SceneState

    scene = scenes.poured_spheres(spheres)
    height = max(float(body.position[2]) for body in scene.bodies)
    steps = round((FALL + math.sqrt(2.0 * height / 9.81)) / DT) + WINDOW
    run = prepare_run(scene, DT, steps * DT, tol=TOL, threads=threads, on_failure="continue")
    store, engine = Store(run), run.engine
    assert isinstance(engine, SceneEngine) and isinstance(run.state, SceneState)
    costs = np.zeros((steps, 4))
    for k in range(steps):
        block = store.block(1)
        wall, cpu = time.perf_counter(), time.process_time()
        engine.march(run.state, 1, block)
        residual = engine.residuals[: int(engine.counts[step.ISLANDS])].max(initial=0.0)
        costs[k] = time.perf_counter() - wall, time.process_time() - cpu, engine.counts[step.ACTIVE], residual
    last = costs[-WINDOW:]
    return {
        "spheres": spheres,
        "contacts": float(np.median(last[:, 2])),
        "step_s": float(np.median(last[:, 0])),
        "step_s_largest": float(last[:, 0].max()),
        "cpu_s": float(np.median(last[:, 1])),
        "residual": float(last[:, 3].max()),
        "residual_pouring": float(costs[:, 3].max()),
        "failed_share": float(np.mean(costs[:, 3] > TOL)),
    }


def _memory() -> float:
    """Largest memory of this process so far [MB]; not a number where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return math.nan
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def table(results: dict[str, Any]) -> Any:
    """The result of `measure` as a Rich table."""
    from rich.table import Table

    slope = results["slope"]
    shown = Table(
        title=f"poured spheres, dt = {results['dt']:g} s, tol = {results['tol']:g}, {results['threads']} threads: "
        f"slope {slope['step_s']:.2f} (wall), {slope['cpu_s']:.2f} (processor); {results['memory_mb']:.0f} MB"
    )
    columns = ("spheres", "contacts", "ms per step", "largest", "processor ms", "residual", "while pouring", "failed")
    for column in columns:
        shown.add_column(column, justify="right")
    for row in results["rows"]:
        shown.add_row(
            str(row["spheres"]), f"{row['contacts']:.0f}", f"{1e3 * row['step_s']:.2f}",
            f"{1e3 * row['step_s_largest']:.2f}", f"{1e3 * row['cpu_s']:.2f}", f"{row['residual']:.1e}",
            f"{row['residual_pouring']:.1e}", f"{100 * row['failed_share']:.1f} %",
        )  # fmt: skip
    return shown
