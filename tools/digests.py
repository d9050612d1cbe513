#!/usr/bin/env python3
"""Digests of what the package computes, to show that a move of code changes no bit.

    python tools/digests.py write before.json              # every case, some minutes
    python tools/digests.py write before.json --only scene # cases whose name holds a word
    python tools/digests.py compare before.json after.json # lists cases that differ; exit code 1 if there are any

A case is a run of a library mechanism with one stepper, solver and engine, a scene, an ensemble, a stack of LCPs or a
friction problem.  Its digest covers every array of the result: times, coordinates, velocities, gaps, impulses, contact
states, energies, impacts, and the numbers of the certificate that are measured step by step.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import stickslip as ss
from stickslip import library
from stickslip.library import scenes

STEPS = 400
STEPPERS = ("moreau-midpoint", "moreau-jean", "stewart-trinkle", "paoli-schatzman")
SOLVERS = ("auto", "gauss-seidel", "lemke", "enumerate", "newton")
ALL_SOLVERS = ("woodpecker", "slider_crank", "painleve_rod")
"""Mechanisms that run with every solver; the others run with `auto`."""
MEASURED = ("failed_steps", "max_residual", "max_penetration", "max_energy_gain", "contact_work", "max_lcp_size")
Case = tuple[str, Callable[[], list[Any]]]


def cases() -> Iterator[Case]:
    """Name and computation of every case."""
    for name in library.names():
        for stepper in STEPPERS:
            for solver in SOLVERS if name in ALL_SOLVERS else ("auto",):
                yield f"run {name} {stepper} {solver}", _run(name, stepper=stepper, solver=solver)
        yield f"reference {name}", _run(name, engine="reference", steps=60)
        yield f"events {name}", _run(name, stepper="event-driven")
    for name in scenes.ENTRIES:
        yield f"scene {name}", _scene(name)
    yield "ensemble woodpecker", _ensemble
    for n in (2, 3, 6, 12, 30):
        yield f"lcp {n}", _lcps(n)
    for contacts in (1, 4, 12):
        yield f"friction {contacts}", _friction(contacts)


def _run(name: str, steps: int = STEPS, **options: Any) -> Callable[[], list[Any]]:
    def compute() -> list[Any]:
        scenario = library.get(name)
        run = scenario.simulate(t_end=steps * scenario.dt, on_energy_gain="ignore", **options)
        return _of(run)

    return compute


def _scene(name: str) -> Callable[[], list[Any]]:
    def compute() -> list[Any]:
        scenario = library.get(name)
        return _of(scenario.simulate(t_end=150 * scenario.dt))

    return compute


def _of(run: ss.Trajectory) -> list[Any]:
    table = run.impacts()
    return [
        run.status,
        *(run.t, run.q, run.u, run.gap, run.normal_impulse, run.tangential_impulse, run.contact_state),
        *(run.energy.kinetic, run.energy.potential),
        *(table.columns[key] for key in sorted(table.columns)),
        *(getattr(run.certificate, key) for key in MEASURED),
    ]


def _ensemble() -> list[Any]:
    found = ss.ensemble(library.woodpecker(), {"friction": np.linspace(0.2, 0.4, 9)}, ("final", "impacts"), t_end=0.1)
    return [found.dataset[key].values for key in sorted(map(str, found.dataset.data_vars))]


def _lcps(n: int) -> Callable[[], list[Any]]:
    def compute() -> list[Any]:
        rng = np.random.default_rng(n)
        found: list[Any] = []
        for method in ("auto", "lemke", "pgs", "newton"):
            for _ in range(20):
                M = rng.normal(size=(n, n))
                answer = ss.solve_lcp(M @ M.T + 0.1 * np.eye(n), rng.normal(size=n), method=method)
                found += [answer.status, answer.x, answer.y]
        return found

    return compute


def _friction(contacts: int) -> Callable[[], list[Any]]:
    def compute() -> list[Any]:
        rng = np.random.default_rng(contacts)
        H = rng.normal(size=(3 * contacts, 6 * contacts))
        problem = ss.FrictionProblem(H @ H.T, rng.normal(size=3 * contacts), np.full(contacts, 0.5), dim=3)
        answer = ss.solve_friction(problem)
        return [answer.status, answer.r, answer.u]

    return compute


def digest(parts: list[Any]) -> str:
    """Hash of arrays, numbers and words; -0.0 and 0.0 differ, all values that are not a number are one."""
    total = hashlib.sha256()
    for part in parts:
        array = np.asarray(part)
        if array.dtype.kind == "f":
            array = np.where(np.isnan(array), np.nan, array)
        content = array.astype("U").tobytes() if array.dtype.kind in "UO" else np.ascontiguousarray(array).tobytes()
        total.update(f"{array.shape} {array.dtype.kind}".encode() + content)
    return total.hexdigest()[:24]


def write(path: Path, only: str) -> None:
    """Compute all cases whose name holds `only`, and keep their digests."""
    found: dict[str, str] = {}
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, compute in cases():
            if only not in name:
                continue
            try:
                found[name] = digest(compute())
            except (ValueError, ArithmeticError) as problem:
                found[name] = f"{type(problem).__name__}: {' '.join(str(problem).split())[:100]}"
            print(f"{time.perf_counter() - begin:7.1f} s  {found[name][:24]:<26}{name}", file=sys.stderr, flush=True)
            path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"{len(found)} digests in {path}")


def compare(before: Path, after: Path) -> int:
    """Print the cases that differ; return 1 where there are any."""
    one, two = (json.loads(path.read_text(encoding="utf-8")) for path in (before, after))
    shared = [name for name in one if name in two]
    differing = [name for name in shared if one[name] != two[name]]
    for name in differing:
        print(f"{name}: {one[name]}, {two[name]}")
    alone = len(one.keys() ^ two.keys())
    print(f"{len(shared) - len(differing)} of {len(shared)} cases are equal; {alone} are in one file only")
    return 1 if differing or not shared else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write", help="compute digests")
    writing.add_argument("file", type=Path)
    writing.add_argument("--only", default="", help="only cases whose name holds this")
    comparing = commands.add_parser("compare", help="compare two files of digests")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    given = parser.parse_args()
    if given.command == "compare":
        return compare(given.before, given.after)
    write(given.file, given.only)
    return 0


if __name__ == "__main__":
    sys.exit(main())
