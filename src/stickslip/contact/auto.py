"""The method "auto": one ladder, its rungs chosen by counted work, each a method that others can ask for by name.

    1. plain sweeps over a handful of contacts (one contact: closed form)
    2. islands, and accelerated sweeps on each of them
    then, for the islands that are left, smallest first:
    3. Newton from there, and from a few sweeps
    4. a proof that there is no solution, where there is one (`wedged`)
    5. interior point, with Newton tried from its path: on velocities of bodies where contacts are redundant, then on W
    6. the interior point on W once more, with patience
    7. proximal point, until the effort is spent

Proximal point with leaps has stood before the sixth, and rounds of sweeps, Newton and leaps in random orders of the
contacts at the end.  Of 3,264 generated problems at 1e-8 and 1e-12 five get as far as the last rung, and are solved
there.

Islands for which factorisations cost too much are swept to the end.  How much each rung may do is counted in work
(`effort`), not in time: the same input takes the same way, always.  All rungs, and `solve_friction` at the end, measure
the same error (`residual`), so nothing is solved twice to make one tolerance of another.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stickslip.checks import counted
from stickslip.contact.blocks import components
from stickslip.contact.constants import (
    MEMORY,
    NEWTON_STEPS,
    PATIENT,
    PLAIN_CONTACTS,
    PLAIN_SWEEPS,
    SHARP,
    SWEEPS,
)
from stickslip.contact.contacts import Contacts, contacts_from
from stickslip.contact.effort import AT_ONCE, sweep_cost
from stickslip.contact.gauss_seidel import sweep
from stickslip.contact.interior_point import InteriorPoint
from stickslip.contact.islands import rows_back, rows_of, sweep_islands
from stickslip.contact.method import Best, FrictionMethod, Outcome, Progress
from stickslip.contact.newton import compile_newton, newton_iterations
from stickslip.contact.on_bodies import hyperstatic
from stickslip.contact.proximal_point import ProximalPoint
from stickslip.contact.sweeps import Sweeps
from stickslip.contact.wedged import wedged_contacts

LAST = ProximalPoint(PATIENT, start=1e-3, floor=1e-10)
UNKNOWABLE = "the impulses are so large that no better velocities can be told in double precision"


@dataclass(frozen=True)
class Ladder(FrictionMethod):
    """Gauss-Seidel, Newton, interior point, proximal point, as far as needed."""

    name = "auto"
    default_iterations = 6  # attempts with a tighter tolerance

    def run(self, contacts: Contacts, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
        iterations = 0
        if len(contacts) <= PLAIN_CONTACTS:
            swept = _plain_sweeps(contacts, r, tol, progress)
            if swept.error <= tol:
                return swept
            iterations = swept.iterations
        outcome = _attempt(contacts, r, tol, progress)
        return outcome._replace(iterations=iterations + outcome.iterations)


def _plain_sweeps(contacts: Contacts, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
    """A few sweeps over a handful of contacts, in place."""
    begin = progress.seconds
    count, error = 0, np.inf
    while count < PLAIN_SWEEPS and not error <= tol:
        sweep(contacts.coupled, contacts.local, r, 1.0, 0, len(contacts))
        error = contacts.error(r)
        progress.note(error)
        count += 1
    progress.stage("gauss-seidel", len(contacts), count, error, begin)
    return Outcome(r, error, count)


def _attempt(contacts: Contacts, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
    """Sweeps over all islands, then what it takes for the others."""
    progress.leave_out(_compile_sweeps)
    begin = progress.seconds
    sweeps = int(min(SWEEPS, max(2.0, progress.share / (contacts.sweep_cost + 1e-12))))
    if sweeps * contacts.sweep_cost <= AT_ONCE:
        x, iterations, most, worst, missed, error = _sweep(contacts, r, tol, sweeps)
        progress.spend(contacts.sweep_cost * most)
    else:
        x, iterations, most, worst, missed = _sweep_in_pieces(contacts, r, tol, sweeps, progress)
        error = contacts.error(x)
    progress.stage("gauss-seidel", len(contacts), most, worst, begin)
    progress.note(error)
    note = ""
    if missed:
        x, more, note = hard_islands(contacts, x, tol, progress)
        iterations, error = iterations + more, contacts.error(x)
    return Outcome(x, error, iterations, note)


def _sweep(contacts: Contacts, r: np.ndarray, tol: float, sweeps: int) -> tuple:
    return sweep_islands(contacts.coupled, r, contacts.gauge, tol, sweeps, MEMORY)


def _one_contact() -> Contacts:
    return contacts_from(np.eye(2), np.array([-1.0, 0.3]), np.array([0.1]), 2)


@functools.cache
def _compile_sweeps() -> None:
    _sweep(_one_contact(), np.zeros(2), 1e-8, 1)


@functools.cache
def _compile_rung(method: type[FrictionMethod]) -> None:
    """Have the kernels of one rung compiled or loaded: a problem that needs no other waits for no other."""
    method(1).run(_one_contact(), np.zeros(2), -1.0, Progress())


class _Islands:
    """The contacts sorted by island, each in one piece."""

    def __init__(self, contacts: Contacts) -> None:
        self.order, self.offsets = components(contacts.indptr, contacts.indices)
        self.contacts = contacts.permuted(self.order) if len(self.offsets) > 2 else contacts

    def rows(self, first: int, last: int) -> slice:
        """Where the impulses of islands first .. last - 1 are."""
        d = self.contacts.dim
        return slice(d * int(self.offsets[first]), d * int(self.offsets[last]))

    def part(self, first: int, last: int) -> Contacts:
        """The contacts of islands first .. last - 1."""
        return self.contacts.part(int(self.offsets[first]), int(self.offsets[last]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def groups(self, largest: float) -> Iterator[tuple[int, int]]:
        """Islands first .. last - 1 whose sweeps together cost at most so much, or one alone."""
        n, blocks = np.diff(self.offsets), np.diff(self.contacts.indptr[self.offsets])
        first, sum_of_costs = 0, 0.0
        for k in range(len(self)):
            cost = sweep_cost(int(n[k]), int(blocks[k]))
            if k > first and sum_of_costs + cost > largest:
                yield first, k
                first, sum_of_costs = k, 0.0
            sum_of_costs += cost
        yield first, len(self)


def _sweep_in_pieces(
    contacts: Contacts, r: np.ndarray, tol: float, sweeps: int, progress: Progress
) -> tuple[np.ndarray, int, int, float, int]:
    """`sweep_islands` with a look at the clock now and then."""
    progress.leave_out(functools.partial(_compile_rung, Sweeps))
    islands = _Islands(contacts)
    x = rows_of(r, islands.order, contacts.dim)
    total, most, missed, worst = 0, 0, 0, 0.0
    for first, last in islands.groups(AT_ONCE / sweeps):
        if progress.late:
            missed, worst = missed + 1, np.inf
            break
        part, rows = islands.part(first, last), islands.rows(first, last)
        if last == first + 1:
            outcome = Sweeps(sweeps, memory=MEMORY).run(part, x[rows].copy(), tol, progress.silent())
            x[rows], error, count, longest = outcome.r, outcome.error, outcome.iterations, outcome.iterations
            missed += not error <= tol
        else:
            x[rows], count, longest, error, more, _ = _sweep(part, x[rows].copy(), tol, sweeps)
            progress.spend(part.sweep_cost * longest)
            missed += more
        total, most, worst = total + count, max(most, longest), max(worst, error)
    return rows_back(x, islands.order, contacts.dim), total, most, worst, missed


def hard_islands(contacts: Contacts, r: np.ndarray, tol: float, progress: Progress) -> tuple[np.ndarray, int, str]:
    """Go on with the islands that miss the tolerance, smallest first; impulses, iterations, why one is not solved."""
    islands = _Islands(contacts)
    whole = len(islands) == 1
    x, iterations, note = rows_of(r, islands.order, contacts.dim), 0, ""
    for k in np.argsort(np.diff(islands.offsets), kind="stable"):
        island, rows = islands.part(k, k + 1), islands.rows(k, k + 1)
        if island.error(x[rows]) > tol:
            outcome = hard_island(island, x[rows].copy(), tol, progress if whole else progress.silent())
            x[rows] = outcome.r
            if progress.record:
                progress.note(islands.contacts.error(x))
            iterations += outcome.iterations
            note = outcome.note or note
    return rows_back(x, islands.order, contacts.dim), iterations, note


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

    def newton(self, r: np.ndarray, limit: int, stall: int = 0) -> None:
        self.progress.leave_out(compile_newton)
        begin = self.progress.seconds
        outcome = newton_iterations(self.contacts, r, self.tol, limit, self.progress, floor=SHARP, stall=stall)
        self.take("newton", outcome, begin)

    def stage(self, method: FrictionMethod, r: np.ndarray, effort: float = np.inf) -> None:
        self.progress.leave_out(functools.partial(_compile_rung, type(method)))
        begin = self.progress.seconds
        self.take(method.name, method.run(self.contacts, r, self.tol, self.progress.part(effort)), begin)

    def take(self, name: str, outcome: Outcome, begin: float) -> None:
        """Log a stage, and keep its impulses if they are the best."""
        self.iterations += outcome.iterations
        self.progress.stage(name, len(self.contacts), outcome.iterations, outcome.error, begin)
        self.best.offer(outcome.r, outcome.error)


def hard_island(contacts: Contacts, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
    """An island that accelerated sweeps left unsolved."""
    with np.errstate(all="ignore"):  # an iterate that runs away is noticed
        return _hard_island(contacts, r, tol, progress)


def _hard_island(contacts: Contacts, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
    """`hard_island`, rung after rung."""
    island = _Island(contacts, r, tol, progress)
    if island.over:
        return Outcome(island.best.r, island.best.error, 0)
    left = 4.0 * progress.share
    if not (progress.affords(contacts.analysis_cost) and NEWTON_STEPS * contacts.factorisation_cost <= left):
        island.stage(Sweeps(), island.best.r.copy())
        return Outcome(island.best.r, island.best.error, island.iterations)
    progress.spend(contacts.analysis_cost)
    island.newton(r.copy(), 20, stall=6)
    if not island.over:
        island.newton(_few_sweeps(contacts), 35)
    if not island.over:
        wedged = wedged_contacts(contacts)
        if wedged is not None:
            close = f"{counted(len(wedged), 'contact')} close{'s' if len(wedged) == 1 else ''}"
            note = f"{close} on bodies that cannot give way, so the problem has no solution"
            return Outcome(island.best.r, island.best.error, island.iterations, note)
    if not island.over and hyperstatic(contacts):
        island.stage(InteriorPoint(on_bodies=True), island.best.r.copy(), effort=progress.share)
        if not island.over and island.best.error <= contacts.knowable(island.best.r):
            return Outcome(island.best.r, island.best.error, island.iterations, UNKNOWABLE)
    if not island.over:
        island.stage(InteriorPoint(), island.best.r.copy(), effort=2.0 * progress.share)
    if not island.over and progress.affords(2.0 * progress.share):  # not where a scene has a second left
        island.stage(InteriorPoint(PATIENT), island.best.r.copy(), effort=2.0 * progress.share)
    if not island.over:
        island.stage(LAST, island.best.r.copy())
    return Outcome(island.best.r, island.best.error, island.iterations)


def _few_sweeps(contacts: Contacts) -> np.ndarray:
    """Impulses after a few sweeps from zero: Newton often gets on from here where it stalls at the end of many."""
    r = np.zeros(len(contacts.q))
    for _ in range(PLAIN_SWEEPS):
        sweep(contacts.coupled, contacts.local, r, 1.0, 0, len(contacts))
    return r
