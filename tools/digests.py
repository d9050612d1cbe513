#!/usr/bin/env python3
"""Digests of the package's results, to show that a move of code changes no bit.

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
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import stickslip as ss
from stickslip import library, sets
from stickslip.bench.random_friction import KINDS, random_friction_problem
from stickslip.contact.delassus import Delassus
from stickslip.contact.solve import METHODS
from stickslip.contact.sweeps import Sweeps
from stickslip.laws import NAMED_LAWS
from stickslip.laws.friction import FrictionCurve
from stickslip.library import scenes
from stickslip.mechanisms.elements import Contact

STEPS = 400
STEPPERS = ("moreau-midpoint", "moreau-jean", "stewart-trinkle", "paoli-schatzman")
SOLVERS = ("auto", "gauss-seidel", "lemke", "enumerate", "newton")
ALL_SOLVERS = ("woodpecker", "slider_crank", "painleve_rod")
"""Mechanisms that run with every solver; the others run with `auto`."""
MEASURED = ("failed_steps", "max_residual", "max_penetration", "max_energy_gain", "contact_work", "max_lcp_size")
VARIANTS: dict[str, Any] = {
    "sweeps relaxed": Sweeps(300, memory=0, relaxation=1.3),
}
"""Friction methods with options of their own."""
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
    for method in (*METHODS, *VARIANTS):
        for dim in (2, 3):
            yield f"friction {method} {dim}d", _friction_by(VARIANTS.get(method, method), dim)
    yield "friction matrix-free", _friction_matrix_free
    for law in NAMED_LAWS:
        yield f"impact {law}", _impacts(law)
    yield "sets", _sets
    for stepper in (*STEPPERS, "event-driven"):
        yield f"functions {stepper}", _functions(stepper)


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


def _friction_by(method: Any, dim: int) -> Callable[[], list[Any]]:
    """Every kind of random problem by one method with few iterations: answers that are not solved have bits, too."""

    def compute() -> list[Any]:
        found: list[Any] = []
        for kind in KINDS:
            for contacts in (2, 5) if method == "enumerate" else (3, 40, 300):
                problem = random_friction_problem(kind, contacts, np.random.default_rng(contacts), dim)
                if contacts != 3 and isinstance(problem.W, Delassus):  # sweeps go by W, not by the bodies' velocities
                    problem = ss.FrictionProblem(problem.W.assembled(), problem.q, problem.mu, dim=dim)
                given = {} if method == "auto" or not isinstance(method, str) else {"max_iterations": 60}
                try:
                    answer = ss.solve_friction(problem, method, **given)
                except ValueError as problem_is:
                    found.append(str(problem_is))
                    continue
                found += [answer.status, answer.r, answer.u, answer.error]
        return found

    return compute


def _friction_matrix_free() -> list[Any]:
    rng = np.random.default_rng(7)
    M, H = np.diag(rng.uniform(0.5, 2.0, 18)), rng.normal(size=(18, 12)) * (rng.random((18, 12)) < 0.4)
    problem = ss.FrictionProblem(Delassus(M, H), rng.normal(size=12), np.full(4, 0.5), dim=3)
    answers = [ss.solve_friction(problem, method) for method in ("gauss-seidel", "auto")]
    return [part for answer in answers for part in (answer.status, answer.r, answer.u)]


def _impacts(law: str) -> Callable[[], list[Any]]:
    """Stacks of impacts with one contact and with several, and some of their states alone."""

    def compute() -> list[Any]:
        rng = np.random.default_rng(3)
        bar = library.impacting_bar(mass=1.0, half_length=1.0, friction=0.3, restitution_normal=0.5).system
        phi = rng.uniform(0.0, 0.5 * np.pi, 400)
        u = rng.uniform(-0.5, 0.5, (400, 3)) * (4.0, 1.0, 1.0) - (0.0, 1.5, 0.0)  # the tip approaches in all states
        cradle = library.newton_cradle(balls=4).system
        found: list[Any] = []
        for system, q, v in (
            (bar, np.stack([0.0 * phi, np.sin(phi), phi], axis=-1), u),
            (cradle, np.zeros((20, 4)), np.sort(rng.normal(size=(20, 4)))[:, ::-1]),
        ):
            for part in (slice(None), slice(0, 5)):
                states = [(q, v)] if part == slice(None) else zip(q[part], v[part], strict=True)
                for state in states:
                    try:
                        hit = ss.impact(system, *state, law)
                    except ValueError as problem:
                        found.append(str(problem))
                        continue
                    found += [hit.u, hit.normal_impulse, hit.tangential_impulse, hit.state_code, hit.reversal]
                    found += [hit.energy_before, hit.energy_change, hit.residual, hit.status]
        return found

    return compute


def _pushed(q: Any, u: Any, t: float, p: Any) -> Any:
    """Forces on a block that is pushed to and fro on the ground, and pulled up now and then."""
    pull = 0.0
    if t > 0.1:
        pull = 12.0 * math.sin(9.0 * t) ** 2
    return np.array([p[0] * math.cos(7.0 * t) - 0.2 * u[0] - 3.0 * q[0], pull - 9.81])


def _curve(speed: float) -> float:
    return 0.25 + 0.3 * math.exp(-(speed**2) / 0.04)


def _functions(stepper: str) -> Callable[[], list[Any]]:
    """A block on the ground, given by functions in Python."""

    def compute() -> list[Any]:
        contact = Contact(
            "ground",
            gap=lambda q, t, p: q[1],
            normal=lambda q, t, p: (0.0, 1.0),
            tangent=lambda q, t, p: [1.0, 0.0],
            friction=FrictionCurve(_curve),
            restitution_normal=0.4,
        )
        system = ss.LagrangianSystem(
            mass=lambda q, t, p: np.array([[1.0, 0.0], [0.0, 1.0]]),
            force=_pushed,
            contacts=[contact],
            coordinates=["x", "y"],
            parameters={"push": 9.0},
            potential=lambda q, t, p: 9.81 * q[1],
        )
        return _of(ss.simulate(system, [0.0, 0.02], [0.3, 0.0], dt=1e-3, t_end=0.6, stepper=stepper))

    return compute


def _sets() -> list[Any]:
    rng = np.random.default_rng(5)
    plane, space = rng.normal(size=(300, 2)) * 3.0, rng.normal(size=(300, 3)) * 3.0
    pairs = [
        (sets.Disk(1.2), plane),
        (sets.Ellipse(2.0, 0.3), plane),
        (sets.Ellipse(1e-3, 5.0), plane),
        *((sets.SecondOrderCone(mu), points) for mu in (0.0, 0.4, 3.0, np.inf) for points in (plane, space)),
        (sets.SecondOrderCone(0.7), rng.normal(size=(100, 5))),
        (sets.Interval(-0.5, 1.0), plane),
    ]
    return [part for shape, x in pairs for part in (shape.project(x), shape.jacobian(x), shape.distance(x))]


def digest(parts: list[Any]) -> str:
    """Hash of arrays, numbers and words; -0.0 and 0.0 differ, all NaN count as equal."""
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
