"""`stickslip bench friction` without a folder: what our own generators give.

Share solved per class and tolerance; seconds of a sweep against contacts, and memory; error of the friction pyramid.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from stickslip.contact.residual import MOST_ROUNDING, ROUNDINGS
from stickslip.io.printable import plain

TOLERANCES = (1e-4, 1e-8, 1e-12)
# contacts: problems of each kind and dimension
CENSUS = {1: 40, 2: 40, 3: 40, 5: 40, 10: 40, 20: 40, 50: 30, 100: 10, 300: 4, 1000: 2, 5000: 1}
QUICK_CENSUS = {1: 5, 5: 5, 20: 5, 100: 1}
COST_SIZES = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
PYRAMID = (4, 8, 16, 32)
PYRAMID_CONTACTS, PYRAMID_FRICTION = 10, 0.3
SEED = 1992


def measure(quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    return {
        "census": census(QUICK_CENSUS if quick else CENSUS, say),
        "cost": cost(COST_SIZES[:3] if quick else COST_SIZES, say),
        "pyramid": pyramid(3 if quick else 20, say),
    }


def census(sizes: dict[int, int], say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Per kind, dimension and tolerance: problems, solved, said solved but are not, seconds."""
    from stickslip.bench.random_friction import KINDS

    rows = []
    for kind in KINDS:
        for dim in (2, 3):
            say(f"{kind}, {'plane' if dim == 2 else 'space'}")
            rows += [_class_share(kind, dim, tol, sizes) for tol in TOLERANCES]
    return rows


def _class_share(kind: str, dim: int, tol: float, sizes: dict[int, int]) -> dict[str, Any]:
    from stickslip.bench.random_friction import KINDS, random_friction_problem
    from stickslip.contact.solve import solve_friction

    total = solved = wrong = 0
    seconds, unsolved = [], []
    for contacts, count in sizes.items():
        for k in range(count):
            rng = np.random.default_rng([SEED, contacts, dim, k, list(KINDS).index(kind)])
            problem = random_friction_problem(kind, contacts, rng, dim)
            answer = solve_friction(problem, tol=tol)  # a fixed amount of work: shares do not depend on the machine
            total += 1
            solved += answer.solved
            wrong += answer.solved and independent_error(problem, answer.r) > 1.01 * tol + 1e-15
            seconds.append(answer.seconds)
            if not answer.solved:
                unsolved.append([contacts, k, plain(answer.error)])
    return {
        "kind": kind,
        "dim": dim,
        "tol": tol,
        "problems": total,
        "solved": int(solved),
        "wrong": int(wrong),
        "median_s": float(np.median(seconds)),
        "max_s": float(np.max(seconds)),
        "unsolved": unsolved,
    }


def independent_error(problem: Any, r: np.ndarray) -> float:
    """The residual in velocities in plain NumPy, without the package's kernels (`contact.residual`).

    In extended precision where the machine has it, so that it has no rounding of its own.  The package computes the
    violation of a contact from impulses in double precision, m (r_T - P(r_T - u_T / m)): one rounding more is its own.
    """
    d, W = problem.dim, sp.csr_matrix(problem.matrix).astype(np.longdouble)
    r, q, mu = (x.astype(np.longdouble) for x in (r, problem.q, problem.mu))
    u, R, q = (x.reshape(-1, d) for x in (W @ r + q, r, q))
    m = W.diagonal().reshape(-1, d).mean(axis=1)
    m = np.where(m > 0.0, m, m[m > 0.0].mean() if np.any(m > 0.0) else 1.0)
    e_N = np.minimum(u[:, 0], m * R[:, 0])
    pull, bound = R[:, 1:] - u[:, 1:] / m[:, None], mu * np.maximum(R[:, 0], 0.0)
    size = np.linalg.norm(pull, axis=1)
    share = np.divide(bound, size, out=np.ones_like(size), where=size > bound)
    e_T = m * np.linalg.norm(R[:, 1:] - share[:, None] * pull, axis=1)
    v = float(np.linalg.norm(q, axis=1).max(initial=0.0)) or 1.0
    rounding = np.finfo(float).eps * (abs(W) @ np.abs(r)).reshape(-1, d).max(axis=1)
    found = np.hypot(e_N, e_T)
    known = ROUNDINGS * rounding <= MOST_ROUNDING * v
    beyond = np.maximum(found - (ROUNDINGS + 1.0) * rounding, 0.0)
    return float(np.where(known, beyond, np.maximum(found, rounding)).max(initial=0.0)) / v


def independent_natural_map(problem: Any, r: np.ndarray) -> float:
    """The natural map in plain NumPy, without the package's kernels."""
    d, mu = problem.dim, problem.mu
    u = (problem.matrix @ r + problem.q).reshape(-1, d)
    R = r.reshape(-1, d)
    x = R - u
    x[:, 0] -= mu * np.linalg.norm(u[:, 1:], axis=1)
    t = np.linalg.norm(x[:, 1:], axis=1)
    inside = (x[:, 0] >= 0.0) & (t <= mu * x[:, 0])
    below = mu * t <= -x[:, 0]
    normal = (x[:, 0] + mu * t) / (1.0 + mu**2)
    P = np.zeros_like(x)
    P[:, 0] = normal
    P[:, 1:] = x[:, 1:] * np.divide(mu * normal, t, out=np.zeros_like(t), where=t > 0.0)[:, None]
    P[below] = 0.0
    P[inside] = x[inside]
    size = max(np.linalg.norm(problem.q), np.linalg.norm(r), np.linalg.norm(u))
    return float(np.linalg.norm(R - P) / size) if size > 0.0 else 0.0


def cost(sizes: tuple[int, ...], say: Callable[[str], None]) -> dict[str, Any]:
    """Seconds of one sweep and bytes of the problem against contacts, and the slopes in a log-log plot."""
    from stickslip.bench.random_friction import granular
    from stickslip.contact.gauss_seidel import sweep

    rows = []
    for dim in (2, 3):
        for n in sizes:
            contacts = granular(n, np.random.default_rng([SEED, n, dim]), dim).contacts_in("velocity")
            say(f"a sweep over {len(contacts)} contacts in dimension {dim}")
            r, arrays = np.zeros(len(contacts.q)), (contacts.coupled, contacts.local)
            sweep(*arrays, r, 1.0, 0, len(contacts))
            count = max(3, 300_000 // n)
            best = np.inf
            for _ in range(3):
                begin = time.perf_counter()
                for _ in range(count):
                    sweep(*arrays, r, 1.0, 0, len(contacts))
                best = min(best, (time.perf_counter() - begin) / count)
            memory = sum(array.nbytes for part in arrays for array in part)
            rows.append({"dim": dim, "contacts": len(contacts), "sweep_s": best, "bytes": memory})
    slopes = {}
    for dim in (2, 3):
        some = [row for row in rows if row["dim"] == dim]
        x = np.log([row["contacts"] for row in some])
        slopes[str(dim)] = {
            key: float(np.polyfit(x, np.log([row[key] for row in some]), 1)[0]) for key in ("sweep_s", "bytes")
        }
    return {"rows": rows, "slopes": slopes}


def pyramid(problems: int, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Per number of directions: median error against the cone, natural map and difference of the velocities."""
    from stickslip.bench.random_friction import crowded
    from stickslip.contact.contacts import contacts_from
    from stickslip.contact.problem import FrictionProblem
    from stickslip.contact.pyramid import pyramid_solution
    from stickslip.contact.solve import solve_friction

    say("pyramids")
    errors: dict[int, list[tuple[float, float]]] = {m: [] for m in PYRAMID}
    for k in range(problems):
        some = crowded(PYRAMID_CONTACTS, np.random.default_rng([SEED, k]), 3)
        problem = FrictionProblem(some.matrix, some.q, PYRAMID_FRICTION)  # moderate: one solution
        contacts = contacts_from(problem.matrix, problem.q, problem.mu, 3)
        exact = solve_friction(problem, tol=1e-12)
        if not exact.solved or not np.any(exact.r):
            continue
        for m in PYRAMID:
            r, _ = pyramid_solution(contacts, m)
            if r is not None:
                difference = np.linalg.norm(contacts.velocity(r) - exact.u) / np.linalg.norm(problem.q)
                errors[m].append((contacts.error(r), float(difference)))
    return [
        {
            "directions": m,
            "problems": len(found),
            "natural_map": float(np.median([e for e, _ in found])),
            "velocity": float(np.median([v for _, v in found])),
        }
        for m, found in errors.items()
    ]


def tables(result: dict[str, Any]) -> list[Any]:
    """The result as Rich tables."""
    from rich.table import Table

    shares = Table(title="Share solved, generated problems", caption="a fixed amount of work for each")
    for name in ("class", "dim", "problems", *(f"tol {tol:g}" for tol in TOLERANCES), "wrong", "median", "longest"):
        shares.add_column(name, justify="left" if name == "class" else "right")
    for begin in range(0, len(result["census"]), len(TOLERANCES)):
        rows = result["census"][begin : begin + len(TOLERANCES)]
        shares.add_row(
            rows[0]["kind"],
            str(rows[0]["dim"]),
            str(rows[0]["problems"]),
            *(f"{100.0 * row['solved'] / row['problems']:.1f} %" for row in rows),
            str(sum(row["wrong"] for row in rows)),
            f"{1e3 * rows[1]['median_s']:.2f} ms",
            f"{max(row['max_s'] for row in rows):.1f} s",
        )
    costs = Table(title="One sweep of Gauss-Seidel, granular problems")
    for name in ("dim", "contacts", "seconds", "ns per contact", "MB"):
        costs.add_column(name, justify="right")
    for row in result["cost"]["rows"]:
        per_contact = 1e9 * row["sweep_s"] / row["contacts"]
        costs.add_row(
            str(row["dim"]),
            str(row["contacts"]),
            f"{row['sweep_s']:.2e}",
            f"{per_contact:.0f}",
            f"{row['bytes'] / 1e6:.2f}",
        )
    costs.caption = "slopes, log-log: " + ", ".join(
        f"dim {dim} time {slopes['sweep_s']:.2f}, memory {slopes['bytes']:.2f}"
        for dim, slopes in result["cost"]["slopes"].items()
    )
    pyramids = Table(title=f"Pyramid against cone, {PYRAMID_CONTACTS} contacts in space, friction {PYRAMID_FRICTION}")
    for name in ("directions", "problems", "natural map", "velocity / |q|"):
        pyramids.add_column(name, justify="right")
    for row in result["pyramid"]:
        pyramids.add_row(
            str(row["directions"]), str(row["problems"]), f"{row['natural_map']:.1e}", f"{row['velocity']:.1e}"
        )
    return [shares, costs, pyramids]
