"""The method "auto": cheap first, the residual watched, harder methods where it stays.

    islands, and on each of them accelerated Gauss-Seidel; then, for the islands that are left, smallest first:
    Newton - interior point, and Newton from where it ended - proximal point, then with leaps - (large islands only
    now) interior point - and until the time is up, in a new random order of the contacts each round, plain sweeps,
    Newton, proximal point, proximal point with leaps.

The error of the whole, original problem is computed at the end; islands that were solved to their tolerance and do not
add up to it are solved again, more exactly.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from stickslip.complementarity.friction.blocks import components
from stickslip.complementarity.friction.contacts import Contacts
from stickslip.complementarity.friction.interior_point import InteriorPoint
from stickslip.complementarity.friction.islands import island_tolerance, rows_back, rows_of, sweep_islands
from stickslip.complementarity.friction.method import Best, FrictionMethod, Outcome, Progress
from stickslip.complementarity.friction.newton import better_dense, compile_newton, newton_iterations
from stickslip.complementarity.friction.proximal_point import ProximalPoint
from stickslip.complementarity.friction.sweeps import GaussSeidel

SWEEPS = 300
MEMORY = 10
NEWTON_CONTACTS, INTERIOR_CONTACTS = 1000, 2000
DIRECT_UNKNOWNS, DIRECT_ENTRIES = 30_000, 6_000_000  # of a sparse matrix that is still worth a factorisation
ROUND_SECONDS = 3.0  # for each method of a round
SEED = 20050131


@dataclass(frozen=True)
class Auto(FrictionMethod):
    """Gauss-Seidel, Newton, interior point, proximal point, as far as needed."""

    name = "auto"
    default_iterations = 6  # attempts with a tighter tolerance

    def run(self, contacts: Contacts, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
        best = Best(r, np.inf)
        wanted, iterations = tol, 0
        for _ in range(self.limit):
            outcome = self._attempt(contacts, best.r, wanted, progress)
            iterations += outcome.iterations
            best.offer(outcome.r, outcome.error)
            if best.error <= tol or progress.expired or wanted < 1e-15:
                break
            wanted *= 0.2
        return Outcome(best.r, best.error, iterations)

    def _attempt(self, contacts: Contacts, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
        begin = progress.seconds
        x, iterations, most, worst, missed, error = sweep_islands(
            contacts.data, contacts.indptr, contacts.indices, contacts.q, contacts.mu, r,
            tol, _affordable(contacts, progress), MEMORY,
        )  # fmt: skip
        progress.stage("gauss-seidel", len(contacts), most, worst, begin)
        progress.note(error)
        if missed:
            x, more = _hard_islands(contacts, x, tol, progress)
            iterations, error = iterations + more, contacts.error(x)
        return Outcome(x, error, iterations)


def _hard_islands(contacts: Contacts, r: np.ndarray, tol: float, progress: Progress) -> tuple[np.ndarray, int]:
    """Go on with the islands that miss their tolerance, smallest first; impulses and iterations."""
    order, offsets = components(contacts.indptr, contacts.indices)
    arranged, d, iterations = contacts.permuted(order), contacts.dim, 0
    begin = time.perf_counter()
    compile_newton()
    progress.leave_out(time.perf_counter() - begin)
    whole = len(offsets) == 2
    x, q_square = rows_of(r, order, d), float(contacts.q @ contacts.q)
    for k in np.argsort(np.diff(offsets), kind="stable"):
        a, b = int(offsets[k]), int(offsets[k + 1])
        tolerance = island_tolerance(arranged.q, q_square, a, b, d, tol)
        island, part = arranged.part(a, b), x[d * a : d * b].copy()
        if island.error(part) > tolerance:
            outcome = hard_island(island, part, tolerance, progress if whole else progress.silent())
            x[d * a : d * b] = outcome.r
            if progress.record:
                progress.note(arranged.error(x))
            iterations += outcome.iterations
    return rows_back(x, order, d), iterations


def _affordable(contacts: Contacts, progress: Progress) -> int:
    """Sweeps of the first stage: what a fifth of the time pays for, at 50 ns a block, but not more than SWEEPS."""
    seconds = 0.2 * (progress.time_limit - progress.seconds)
    return int(min(SWEEPS, max(2.0, seconds / (5e-8 * len(contacts.indices) + 1e-12))))


class _Island:
    """An island on its way through the stages; keeps the best impulses and the log."""

    def __init__(self, contacts: Contacts, r: np.ndarray, tol: float, progress: Progress) -> None:
        self.contacts, self.tol, self.progress = contacts, tol, progress
        self.best = Best(r, contacts.error(r))
        self.iterations = 0

    @property
    def solved(self) -> bool:
        return self.best.error <= self.tol

    @property
    def over(self) -> bool:
        return self.solved or self.progress.expired

    def newton(self, r: np.ndarray, limit: int, stall: int = 0, contacts: Contacts | None = None) -> Outcome:
        begin = self.progress.seconds
        outcome = newton_iterations(contacts or self.contacts, r, self.tol, limit, self.progress, stall=stall)
        return self._take("newton", outcome, begin, contacts is None)

    def stage(
        self, method: FrictionMethod, r: np.ndarray, contacts: Contacts | None = None, seconds: float = np.inf
    ) -> Outcome:
        begin = self.progress.seconds
        outcome = method.run(contacts or self.contacts, r, self.tol, self.progress.part(seconds))
        return self._take(method.name, outcome, begin, contacts is None)

    def _take(self, name: str, outcome: Outcome, begin: float, in_place: bool) -> Outcome:
        self.iterations += outcome.iterations
        self.progress.stage(name, len(self.contacts), outcome.iterations, outcome.error, begin)
        if in_place:
            self.best.offer(outcome.r, outcome.error)
        return outcome


def hard_island(contacts: Contacts, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
    """An island that accelerated sweeps left unsolved."""
    island = _Island(contacts, r, tol, progress)
    n = len(contacts)
    unknowns, entries = len(contacts.q), contacts.data.size
    direct = better_dense(unknowns, entries) or (unknowns <= DIRECT_UNKNOWNS and entries <= DIRECT_ENTRIES)
    if direct and n <= NEWTON_CONTACTS and not island.over:
        island.newton(r.copy(), 20, stall=6)
    if direct and n <= INTERIOR_CONTACTS:
        _inside(island, 60)
    if direct and not island.over:
        quarter = 0.25 * (progress.time_limit - progress.seconds)
        island.stage(ProximalPoint(30), island.best.r.copy(), seconds=quarter)
    if direct and not island.over:
        quarter = 0.25 * (progress.time_limit - progress.seconds)
        island.stage(ProximalPoint(300, start=1e-3, floor=1e-10, jumps=True), island.best.r.copy(), seconds=quarter)
    if direct and n > INTERIOR_CONTACTS:
        _inside(island, 100)
    if not direct and not island.over:
        island.stage(GaussSeidel(), island.best.r.copy())
    if direct:
        _reorder_and_repeat(island)
    return Outcome(island.best.r, island.best.error, island.iterations)


def _inside(island: _Island, limit: int) -> None:
    """Interior point with two regularisations, Newton from where the first ended."""
    if not island.over:
        inside = island.stage(InteriorPoint(limit, crossover=True), island.best.r.copy())
        if not island.over and inside.error < 1e-3:
            island.newton(inside.r.copy(), 25)
    if not island.over:
        island.stage(InteriorPoint(limit, crossover=True, regularisation=1e-4), island.best.r.copy())


def _reorder_and_repeat(island: _Island) -> None:
    """Rounds in random contact orders, going on from the last iterate; what ends where the sweep map is expansive."""
    contacts, d = island.contacts, island.contacts.dim
    rng = np.random.default_rng(SEED)
    y = np.zeros(len(contacts.q))
    while not island.over:
        order = rng.permutation(len(contacts))
        shuffled = contacts.permuted(order)
        x = y.reshape(-1, d)[order].ravel()
        back = np.empty((len(contacts), d))
        for method in (GaussSeidel(20_000, memory=0), None, ProximalPoint(40, start=1e-3, floor=1e-10),
                       ProximalPoint(50, start=1e-3, floor=1e-10, jumps=True)):  # fmt: skip
            if method is None:
                outcome = island.newton(x, 40, contacts=shuffled)
            else:
                outcome = island.stage(method, x.copy(), contacts=shuffled, seconds=ROUND_SECONDS)
            x = outcome.r
            back[order] = x.reshape(-1, d)
            island.best.offer(back.ravel(), contacts.error(back.ravel()))
            if island.over:
                break
        y = back.ravel().copy()
