"""`stickslip bench friction DIR`: our methods and Siconos on the problems of a folder, in one run; their profiles.

A time is that of one call, problem in and impulses out, the least of several rounds.  Errors of all answers are
computed here, on the problem as read: an answer counts as solved when its natural map, the measure of Siconos and the
collections, is at most the tolerance, whatever its author says.  Our methods are asked for that measure; the error in
velocities stands beside it. Without a folder, our own generators are measured instead (`bench_friction_generated`).
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.bench import friction_generated as bench_friction_generated
from stickslip.bench import friction_siconos as bench_friction_siconos
from stickslip.bench import peers as programs
from stickslip.figures.files import require_figure
from stickslip.io.printable import plain

OURS = (
    "auto", "gauss-seidel", "newton", "interior-point", "proximal-point", "alternating", "augmented-lagrangian",
)  # fmt: skip
PEERS = {"Siconos NSGS": "NSGS", "Siconos NSN_AC": "NSN_AC"}
TOLERANCE = 1e-8
TIME_LIMIT, QUICK_LIMIT = 20.0, 2.0  # [s] per problem and method
PEER_LIMIT = 120.0  # [s], its 20,000 sweeps included
ROUNDS, ROUND_SECONDS = 20, 0.5
FIGURE, COST_FIGURE = "friction-profiles.png", "friction-cost.png"


def measure(
    quick: bool, say: Callable[[str], None], folder: str | None = None, figure: str | None = None
) -> dict[str, Any]:
    """Results of every method on every problem of the folder; draws the profiles."""
    from stickslip.figures import friction as pictures
    from stickslip.figures import style

    if figure is not None:
        require_figure("--plot", Path(figure))
    if folder is None:
        result = bench_friction_generated.measure(quick, say)
        drawn = pictures.cost(result["cost"]["rows"])
        path = style.save(drawn, figure or COST_FIGURE, title="Cost of a sweep against contacts")
        say(f"cost of a sweep in {path}")
        return {**result, "figure": str(path)}
    problems, unreadable = read_folder(folder)
    for reason in unreadable.values():
        say(f"left out: {reason}")
    siconos = programs.find_siconos()
    warm_up()
    rows = []
    for name, problem in problems.items():
        say(f"{name}: {problem.contacts} contacts")
        results = {method: ours(problem, method, QUICK_LIMIT if quick else TIME_LIMIT) for method in OURS}
        if siconos["python"]:
            results |= theirs(problem, siconos["python"], 3 if quick else ROUNDS)
        friction = [float(problem.mu.min()), float(problem.mu.max())]
        rows.append(
            {"name": name, "dim": problem.dim, "contacts": problem.contacts, "mu": friction, "results": results}
        )
    seconds = {
        solver: [row["results"].get(solver, {}).get("seconds") or np.inf for row in rows] for solver in (*OURS, *PEERS)
    }
    seconds = {name: values for name, values in seconds.items() if np.isfinite(values).any()}
    drawn = pictures.performance_profiles(seconds, f"{len(rows)} friction problems, error {TOLERANCE:g}")
    path = style.save(drawn, figure or FIGURE, title="Performance profiles of friction solvers")
    say(f"performance profiles in {path}")
    return {"folder": str(folder), "tolerance": TOLERANCE, "siconos": siconos["version"], "problems": rows,
            "unreadable": unreadable, "figure": str(path)}  # fmt: skip


def read_folder(folder: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The problems of a folder by file name, small files first, and why others could not be read."""
    from stickslip.io.friction_files import SUFFIXES, read_friction_problem

    root = Path(folder)
    if not root.is_dir():
        raise ValueError(f"there is no folder {folder!r}.")
    files = sorted((f for f in root.iterdir() if f.suffix in SUFFIXES), key=lambda f: (f.stat().st_size, f.name))
    if not files:
        raise ValueError(f"{folder!r} has no friction problems, files ending in {', '.join(SUFFIXES)}.")
    problems, unreadable = {}, {}
    for file in files:
        try:
            problems[file.name] = read_friction_problem(file)
        except ValueError as reason:
            unreadable[file.name] = str(reason)
    if not problems:
        raise ValueError(f"{folder!r} has no friction problem that can be read: {next(iter(unreadable.values()))}")
    return problems, unreadable


def warm_up() -> None:
    """Compile every method before the clock starts."""
    from stickslip.bench.random_friction import granular
    from stickslip.contact.solve import solve_friction

    for dim in (2, 3):
        problem = granular(60, np.random.default_rng(0), dim)
        for method in OURS:
            problem.matrix  # noqa: B018  (the sparse form, not the matrix-free one, is what files hold)
            solve_friction(problem, method, tol=1e-12, max_iterations=3)


def ours(problem: Any, method: str, limit: float) -> dict[str, Any]:
    from stickslip.contact.solve import solve_friction

    problem.contacts_in("natural-map")
    best, begin = np.inf, time.perf_counter()
    for turn in range(ROUNDS):
        if turn and time.perf_counter() - begin > ROUND_SECONDS:
            break
        start = time.perf_counter()
        answer = solve_friction(problem, method, tol=TOLERANCE, time_limit=limit, measure="natural-map")
        best = min(best, time.perf_counter() - start)
        if not answer.solved:
            break
    return _judged(problem, answer.r, bool(answer.solved), best)


def theirs(problem: Any, python: str, rounds: int) -> dict[str, dict[str, Any]]:
    """Siconos' answers, each solver in a process of its own that may fail."""
    from stickslip.io.siconos_dat import write_dat

    found = {}
    with tempfile.TemporaryDirectory() as folder:
        file, answer = Path(folder) / "problem.dat", Path(folder) / "answer.npz"
        write_dat(problem, file)
        for name, solver in PEERS.items():
            if problem.dim == 2 and solver != "NSGS":
                continue
            command = [python, "-I", bench_friction_siconos.__file__, str(file), solver, str(TOLERANCE), str(rounds),
                       str(answer)]  # fmt: skip
            try:
                subprocess.run(command, capture_output=True, timeout=PEER_LIMIT, check=True)
                with np.load(answer) as data:
                    found[name] = _judged(problem, data["r"], bool(data["solved"]), float(data["seconds"]))
            except (OSError, subprocess.SubprocessError, ValueError) as error:
                found[name] = {"solved": False, "error": None, "seconds": None, "says_solved": False,
                               "failure": type(error).__name__}  # fmt: skip
    return found


def _judged(problem: Any, r: np.ndarray, says_solved: bool, seconds: float) -> dict[str, Any]:
    error = bench_friction_generated.independent_natural_map(problem, r)
    solved = error <= TOLERANCE * (1.0 + 1e-6)
    return {
        "solved": solved,
        "error": plain(error),
        "velocity_error": plain(bench_friction_generated.independent_error(problem, r)),
        "seconds": seconds if solved else None,
        "says_solved": says_solved,
        "spent_s": plain(seconds),
    }


def table(result: dict[str, Any]) -> Any:
    """The result as a Rich renderable."""
    from rich.console import Group
    from rich.table import Table

    if "problems" not in result:
        return Group(*bench_friction_generated.tables(result))
    grid = Table(title=f"{result['folder']}, tolerance {result['tolerance']:g}")
    for name in ("problem", "dim", "contacts", "auto", "natural map", "in velocities", *PEERS, "auto is faster by"):
        grid.add_column(name, justify="left" if name == "problem" else "right")
    for row in result["problems"]:
        found = row["results"]
        best = min((found[p]["seconds"] for p in PEERS if p in found and found[p]["solved"]), default=None)
        mine = found["auto"]["seconds"]
        ratio = "" if best is None or mine is None else f"{best / mine:.1f}"
        grid.add_row(
            row["name"], str(row["dim"]), str(row["contacts"]), _time(found["auto"]),
            _error(found["auto"], "error"), _error(found["auto"], "velocity_error"),
            *(_time(found[p]) if p in found else "" for p in PEERS), ratio,
        )  # fmt: skip
    wrong = sum(r["says_solved"] and not r["solved"] for row in result["problems"] for r in row["results"].values())
    grid.caption = f"said solved and are not: {wrong}; profiles in {result['figure']}"
    return grid


def _error(result: dict[str, Any], measure: str) -> str:
    return "-" if result.get(measure) is None else f"{result[measure]:.0e}"


def _time(result: dict[str, Any]) -> str:
    if not result["solved"]:
        return "failed" if result["error"] is None else f"not solved ({result['error']:.0e})"
    seconds = result["seconds"]
    return f"{1e6 * seconds:.0f} µs" if seconds < 1e-3 else f"{1e3 * seconds:.1f} ms"
