"""`stickslip bench lcp`: our `solve_lcp` beside quantecon, Siconos and lemkelcp, all on one set of problems in one run.

A time is the time of one call from Python, arrays in and solution out, the least of several rounds.  Times and ratios
of a group are medians over the problems that we and the peer both solve.  Answers are checked here, without the
package's own residual.  An answer is wrong when the peer says "solved" and x >= 0, y >= 0 or x y = 0 fails by more than
1e-8.  A problem counts as unsolved by a solver only when some solver solved it.
"""

from __future__ import annotations

import datetime
import gc
import os
import platform
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.bench import peers as programs
from stickslip.bench import siconos as bench_siconos

KINDS = ("P", "PSD", "contact", "degenerate")
SIZES = {3: 200, 6: 200, 12: 100, 30: 60, 100: 16, 300: 6}  # unknowns: problems of each kind
TOLERANCE = 1e-8
SEED = 20050131
STACK_SIZE, STACK_PROBLEMS = 6, 100_000
BUDGET = 10.0  # [s] for one peer and one group of problems: lemkelcp takes a second for a problem of 300

Answer = tuple[np.ndarray | None, bool]


@dataclass(frozen=True)
class Group:
    """Problems of one size n and kind: A (k, n, n) and b (k, n)."""

    n: int
    kind: str
    A: np.ndarray
    b: np.ndarray


@dataclass(frozen=True)
class Answers:
    """Answers of one solver to a group: unknowns, whether it says solved, least time [s], whether it was asked."""

    X: np.ndarray
    solved: np.ndarray
    seconds: np.ndarray
    tried: np.ndarray


def make_groups(quick: bool) -> list[Group]:
    """Random problems of every size and kind, equal in every run; `quick` makes a tenth as many."""
    from stickslip.bench.random_problems import random_lcp

    groups = []
    for n, count in SIZES.items():
        for kind in KINDS:
            rng = np.random.default_rng([SEED, n, KINDS.index(kind)])
            pairs = [random_lcp(kind, n, rng) for _ in range(max(2, count // 10) if quick else count)]
            groups.append(Group(n, kind, np.array([A for A, _ in pairs]), np.array([b for _, b in pairs])))
    return groups


def violation(A: np.ndarray, b: np.ndarray, x: np.ndarray) -> tuple[float, float]:
    """Largest |min(x_i, y_i)|, y = A x + b, in units of the largest x and y, of problems scaled to entries of size 1.

    The unit of y is the largest |b_i| + sum_j |a_ij x_j|, but at most 10^6 times the largest b: for an x so large that
    b drowns in the sums, any sign of y could be claimed.  The second number takes the largest b itself as the unit of
    y. Only an answer that passes in this second number counts as evidence that a problem has a solution.
    """
    if not np.all(np.isfinite(x)):
        return np.inf, np.inf
    size = np.abs(A)
    R, C = np.ones(len(b)), np.ones(len(b))
    for _ in range(4):
        row = (size * C).max(axis=1) * R
        R /= np.sqrt(np.where(row > 0.0, row, 1.0))
        column = (size.T * R).max(axis=1) * C
        C /= np.sqrt(np.where(column > 0.0, column, 1.0))
    row = (size * C).max(axis=1) * R
    R /= np.where(row > 0.0, row, 1.0)
    x_unit = np.abs(x / C).max() or 1.0
    b_unit = np.abs(R * b).max() or 1.0
    y_unit = min((R * (np.abs(b) + size @ np.abs(x))).max() or 1.0, 1e6 * b_unit)
    u, y = x / C / x_unit, R * (A @ x + b)
    return float(np.abs(np.minimum(u, y / y_unit)).max()), float(np.abs(np.minimum(u, y / b_unit)).max())


def in_process_solvers() -> dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[[Any], Answer]]]:
    """Solvers of this Python: name -> (call to be timed, call with a limit on its pivots, reader of the result)."""
    from stickslip.lcp.solve import solve_lcp

    for n in (1, 13):  # no solution: every method that `auto` may need is compiled before the clock starts
        solve_lcp(np.zeros((n, n)), -np.ones(n))
    found: dict[str, Any] = {"stickslip": (solve_lcp, solve_lcp, lambda s: (s.x, bool(s.solved)))}
    try:
        from quantecon.optimize import lcp_lemke

        found["quantecon"] = (
            lcp_lemke,
            lambda A, b: lcp_lemke(A, b, None, _pivots(len(b))),
            lambda s: (s.z, bool(s.success)),
        )
    except ImportError:
        pass
    try:
        from lemkelcp.lemkelcp import lemketableau

        class RepairedTableau(lemketableau):
            """lemkelcp 0.1, repaired for Python 3: the original assigns to entries of `range` objects."""

            def __init__(self, *arguments: Any) -> None:
                super().__init__(*arguments)
                self.__dict__.update(wPos=list(range(self.n)), zPos=list(range(self.n, 2 * self.n)))

        def lemkelcp(A: np.ndarray, b: np.ndarray) -> Any:
            return RepairedTableau(A, b, _pivots(len(b))).lemkeAlgorithm()

        found["lemkelcp"] = (lemkelcp, lemkelcp, lambda s: (s[0], s[1] == 0))
    except ImportError:
        pass
    return found


def _pivots(n: int) -> int:
    """Limit on pivots, ours: without one quantecon cycles for minutes on a badly scaled problem."""
    return 50 * n + 200


def run_in_process(groups: list[Group], rounds: int, say: Callable[[str], None]) -> dict[str, list[Answers]]:
    """Answers of every solver of this Python; rounds of the solvers alternate, so a busy moment hits all solvers."""
    solvers = in_process_solvers()
    results: dict[str, list[Answers]] = {name: [] for name in solvers}
    for group in groups:
        say(f"n = {group.n}, {group.kind}: {len(group.b)} problems")
        k, n = group.b.shape
        problems = list(zip(group.A, group.b, strict=True))
        for name, (_, limited, read) in solvers.items():
            limited(*problems[0])
            answers = Answers(np.zeros((k, n)), np.zeros(k, bool), np.full(k, np.inf), np.zeros(k, bool))
            begin = time.perf_counter()
            for i, (A, b) in enumerate(problems):
                if time.perf_counter() - begin > BUDGET:
                    break
                with np.errstate(all="ignore"):
                    x, answers.solved[i] = read(limited(A, b))
                answers.X[i] = np.nan if x is None else x
                answers.tried[i] = True
            results[name].append(answers)
        spent = dict.fromkeys(solvers, 0.0)
        gc.disable()
        for _ in range(rounds):
            for name, (call, _, _) in solvers.items():
                answers = results[name][-1]
                call(*problems[0]) if answers.solved[0] else None
                for i in np.flatnonzero(answers.solved).tolist():
                    if spent[name] > BUDGET:
                        break
                    A, b = problems[i]
                    begin = time.perf_counter()
                    call(A, b)
                    seconds = time.perf_counter() - begin
                    spent[name] += seconds
                    answers.seconds[i] = min(answers.seconds[i], seconds)
        gc.enable()
    return results


def run_siconos(python: str, groups: list[Group], rounds: int, say: Callable[[str], None]) -> list[Answers] | None:
    """Answers of Siconos, computed in a process of the Python that has Siconos; None when this process fails."""
    say("Siconos, all of them")
    with tempfile.TemporaryDirectory() as folder:
        problems, answers = Path(folder) / "problems.npz", Path(folder) / "answers.npz"
        arrays = {f"{name}_{i}": getattr(group, name) for i, group in enumerate(groups) for name in ("A", "b")}
        np.savez(problems, groups=len(groups), rounds=rounds, budget_s=BUDGET, **arrays)
        command = [python, "-I", str(Path(bench_siconos.__file__)), str(problems), str(answers)]
        try:
            subprocess.run(command, capture_output=True, text=True, timeout=len(groups) * 2 * BUDGET, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            say(f"Siconos failed: {error}")
            return None
        with np.load(answers) as data:
            return [
                Answers(data[f"X_{i}"], data[f"solved_{i}"], data[f"seconds_{i}"], np.ones(len(group.b), bool))
                for i, group in enumerate(groups)
            ]


@dataclass(frozen=True)
class Verdict:
    """Judgement of a solver's answers to a group, one entry per problem.

    Attributes
    ----------
    tried : the solver was asked.
    wrong : it says "solved", and the answer fails the check.
    unsolved : it does not say "solved", and some solver has a right answer.
    seconds, our_seconds : least times of the solver and of `solve_lcp` [s], inf without a right answer.
    """

    tried: np.ndarray
    wrong: np.ndarray
    unsolved: np.ndarray
    seconds: np.ndarray
    our_seconds: np.ndarray

    def summary(self) -> dict[str, Any]:
        """Counts, median time [s] and median ratio to our time, for the result file."""
        both = np.isfinite(self.seconds) & np.isfinite(self.our_seconds)
        return {
            "tried": int(self.tried.sum()),
            "wrong": int(self.wrong.sum()),
            "unsolved": int(self.unsolved.sum()),
            "compared": int(both.sum()),
            "median_s": float(np.median(self.seconds[both])) if both.any() else None,
            "ratio": float(np.median(self.seconds[both] / self.our_seconds[both])) if both.any() else None,
        }


def judge(group: Group, answers: dict[str, Answers]) -> dict[str, Verdict]:
    """Check all answers to a group; times of wrong answers do not count."""
    right = {}
    solvable = np.zeros(len(group.b), bool)
    for name, a in answers.items():
        checks = [
            violation(A, b, x) if said else (np.inf, np.inf)
            for A, b, x, said in zip(group.A, group.b, a.X, a.solved, strict=True)
        ]
        right[name] = np.array([error <= TOLERANCE for error, _ in checks])
        solvable |= right[name] & np.array([name == "stickslip" or error <= 1e-6 for _, error in checks])
    seconds = {name: np.where(right[name], a.seconds, np.inf) for name, a in answers.items()}
    return {
        name: Verdict(
            a.tried,
            a.solved & ~right[name],
            solvable & a.tried & ~a.solved,
            seconds[name],
            seconds["stickslip"],
        )
        for name, a in answers.items()
    }


def rows_of(groups: list[Group], answers: dict[str, list[Answers]]) -> list[dict[str, Any]]:
    """Rows of the result: for each size n one row per kind, then one row for all kinds of size n together."""
    verdicts = [judge(group, {name: a[i] for name, a in answers.items()}) for i, group in enumerate(groups)]
    rows = []
    for n in dict.fromkeys(group.n for group in groups):
        of_size = [i for i, group in enumerate(groups) if group.n == n]
        for kind, members in [*((groups[i].kind, [i]) for i in of_size), ("all", of_size)]:
            solvers = {}
            for name in answers:
                together = [vars(verdicts[i][name]) for i in members]
                solvers[name] = Verdict(**{key: np.concatenate([v[key] for v in together]) for key in together[0]})
            rows.append(
                {
                    "n": n,
                    "kind": kind,
                    "problems": sum(len(groups[i].b) for i in members),
                    "solvers": {name: verdict.summary() for name, verdict in solvers.items()},
                }
            )
    return rows


def measure_stacks(quick: bool, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Problems per second that `solve_lcp` solves in stacks, on one core and on all."""
    from stickslip.bench.random_problems import random_lcp
    from stickslip.lcp.solve import solve_lcp
    from stickslip.lcp.threads import get_threads, set_threads

    rows = []
    all_threads = get_threads()
    for kind in ("P", "contact"):
        say(f"stacks of n = {STACK_SIZE}, {kind}")
        rng = np.random.default_rng([SEED, KINDS.index(kind)])
        pairs = [random_lcp(kind, STACK_SIZE, rng) for _ in range(STACK_PROBLEMS // 20)]
        copies = 2 if quick else 20
        A = np.tile(np.array([A for A, _ in pairs]), (copies, 1, 1))
        b = np.tile(np.array([b for _, b in pairs]), (copies, 1))
        try:
            for threads in sorted({1, all_threads}):
                set_threads(threads)
                best = np.inf
                for _ in range(3 if quick else 30):
                    begin = time.perf_counter()
                    s = solve_lcp(A, b)
                    best = min(best, time.perf_counter() - begin)
                rows.append(
                    {
                        "n": STACK_SIZE,
                        "kind": kind,
                        "problems": len(b),
                        "threads": threads,
                        "solved": int(s.solved.sum()),
                        "solves_per_s": len(b) / best,
                    }
                )
        finally:
            set_threads(None)
    return rows


def measure(quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """Times, ratios, wrong and unsolved answers, stacks; plain values, ready for JSON.  `say` reports progress."""
    import llvmlite

    groups = make_groups(quick)
    rounds = 3 if quick else 9
    siconos = programs.find_siconos()
    found = siconos["installed"]
    before = run_siconos(siconos["python"], groups, rounds, say) if found else None
    answers = run_in_process(groups, rounds, say)
    after = run_siconos(siconos["python"], groups, rounds, say) if found else None
    if before and after:  # twice, so that one busy moment of the machine does not hit it alone
        for first, second in zip(before, after, strict=True):
            np.minimum(first.seconds, second.seconds, out=second.seconds)
        answers["siconos"] = after
    peers = {name: programs.find_package(name, name) for name in ("quantecon", "lemkelcp")} | {"siconos": siconos}
    return {
        "benchmark": "lcp",
        "date": datetime.date.today().isoformat(),
        "machine": {
            "cores": os.cpu_count(),
            "architecture": platform.machine(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "llvmlite": llvmlite.__version__,
        },
        "quick": quick,
        "tolerance": TOLERANCE,
        "peers": {name: {"measured": name in answers, "version": peers[name]["version"]} for name in sorted(peers)},
        "groups": rows_of(groups, answers),
        "stacks": measure_stacks(quick, say),
    }


def table(result: dict[str, Any]) -> Any:
    """The result of `measure` as Rich tables."""
    from rich.console import Group as Lines
    from rich.table import Table

    peers = [name for name, peer in result["peers"].items() if peer["measured"]]
    grid = Table(title="LCP solvers: one call from Python", pad_edge=False)
    grid.add_column("n", justify="right")
    grid.add_column("kind")
    grid.add_column("problems", justify="right")
    grid.add_column("stickslip\n[µs]", justify="right")
    grid.add_column("\nwrong", justify="right")
    grid.add_column("\nunsolved", justify="right")
    for name in peers:
        grid.add_column(f"{name}\ntime / ours", justify="right")
        grid.add_column("\nwrong", justify="right")
        grid.add_column("\nunsolved", justify="right")
    for row in result["groups"]:
        cells = [str(row["n"]), row["kind"], str(row["problems"])]
        for name in ("stickslip", *peers):
            s = row["solvers"][name]
            if name == "stickslip":
                cells.append("-" if s["median_s"] is None else _significant(1e6 * s["median_s"]))
            else:
                cells.append("-" if s["ratio"] is None else _significant(s["ratio"]))
            tried = "" if s["tried"] == row["problems"] else f" of {s['tried']}"
            cells += [f"{s['wrong']}", f"{s['unsolved']}{tried}"]
        total = row["kind"] == "all"
        grid.add_row(*cells, end_section=total, style="bold" if total else "")
    machine = result["machine"]
    missing = [name for name, peer in result["peers"].items() if not peer["measured"]]
    versions = ", ".join(f"{name} {result['peers'][name]['version']}" for name in peers)
    grid.caption = (
        f"{result['date']}; {machine['cores']} cores, {machine['architecture']}, Python {machine['python']}, "
        f"NumPy {machine['numpy']}, llvmlite {machine['llvmlite']}; {versions or 'no peer installed'}"
        + (f"; not installed: {', '.join(missing)}" if missing else "")
    )
    stacks = Table(title=f"Stacks of n = {STACK_SIZE}, one call for all", pad_edge=False)
    for column in ("kind", "problems", "solved", "threads", "solves per second"):
        stacks.add_column(column, justify="left" if column == "kind" else "right")
    for row in result["stacks"]:
        stacks.add_row(
            row["kind"], str(row["problems"]), str(row["solved"]), str(row["threads"]), f"{row['solves_per_s']:.2e}"
        )
    return Lines(grid, stacks)


def _significant(value: float) -> str:
    """Two or three significant digits, without an exponent."""
    return f"{value:.2f}" if value < 10.0 else f"{value:.1f}" if value < 100.0 else f"{value:.0f}"
