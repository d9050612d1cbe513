"""Methods of `solve_friction`: small frozen objects with options and one function.

To add a method, subclass `FrictionMethod`, set `name`, write `run`, and list it in `solve.METHODS`.  `run` gets the
contacts, impulses to start from (its own copy) and the error to reach; it returns the best impulses that it found.  It
counts its work (`progress.spend`), asks `progress.expired` now and then and `progress.affords` before anything long.
It notes errors where they are at hand.  `solve_friction` decides on the original problem whether the answer is solved.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from stickslip.contact.constants import CHECK_EVERY
from stickslip.contact.contacts import Contacts
from stickslip.contact.effort import AT_ONCE, EFFORT
from stickslip.contact.problem import Stage
from stickslip.lcp.problems import checked_count

ENDLESS = 10**9  # iterations: the work is what ends a method
SILENT = 5.0  # nominal seconds of work between two lines on stderr: people wait some seconds without asking


class Outcome(NamedTuple):
    """Best impulses of a method, their error, its iterations; `note` says why it ended, where that is worth a word."""

    r: np.ndarray
    error: float
    iterations: int
    note: str = ""


@dataclass(eq=False)
class Clock:
    """When it began, by `time.perf_counter`, and the work done since, in nominal seconds (`effort`)."""

    begin: float = field(default_factory=time.perf_counter)
    work: float = 0.0
    told: float = 0.0  # the work at which a word was said last


@dataclass(eq=False)
class Progress:
    """Clock, count of the work and log of one call of `solve_friction`.

    Attributes: time_limit [s] by the clock, inf unless the user has set one; effort, the work that may be spent, in
    nominal seconds (`effort`); `plan`, what stages take their shares of; `tell`, which is called with a line after each
    SILENT nominal seconds of work: nothing takes minutes without a word.
    """

    time_limit: float = np.inf
    record: bool = False
    effort: float = np.inf
    plan: float = EFFORT
    tell: Callable[[str], None] | None = None
    stages: list[Stage] = field(default_factory=list)
    history: list[tuple[float, float]] = field(default_factory=list)
    clock: Clock = field(default_factory=Clock)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.clock.begin

    @property
    def late(self) -> bool:
        """Whether the time limit is over; never true without one."""
        return self.time_limit < np.inf and self.seconds > self.time_limit

    @property
    def expired(self) -> bool:
        return self.clock.work > self.effort or self.late

    @property
    def share(self) -> float:
        """A quarter of the work that is planned and left, but never nothing."""
        return 0.25 * max(self.plan - self.clock.work, 0.2 * self.plan)

    def spend(self, cost: float) -> None:
        """Count work that was done."""
        self.clock.work += cost
        if self.tell is not None and self.clock.work >= self.clock.told + SILENT:
            self.clock.told = self.clock.work
            last = f", {self.stages[-1].method} ended at error {self.stages[-1].error:.1e}" if self.stages else ""
            self.tell(f"not solved yet after {self.seconds:.0f} s{last}")

    def affords(self, cost: float) -> bool:
        """Whether so much work fits into what is left, of the effort and of the time."""
        if self.clock.work + cost > self.effort:
            return False
        return self.time_limit == np.inf or self.seconds + self._pace * cost <= self.time_limit

    @property
    def _pace(self) -> float:
        """Seconds by the clock for a nominal one, as far as seen."""
        return min(max(self.seconds / self.clock.work, 1.0), 5.0) if self.clock.work > AT_ONCE else 1.0

    def part(self, effort: float) -> Progress:
        """Progress of a part of the work: it shares clock and log, and may take `effort` more."""
        return replace(self, effort=min(self.effort, self.clock.work + effort))

    def leave_out(self, compile_kernels: Callable[[], None]) -> None:
        """Have machine code compiled or loaded and do not count the time: it is spent once."""
        begin = time.perf_counter()
        compile_kernels()
        self.clock.begin += time.perf_counter() - begin

    def silent(self) -> Progress:
        """Progress on a part of a problem: it shares clock and stages, and notes no errors."""
        return replace(self, record=False)

    def note(self, error: float) -> None:
        if self.record:
            self.history.append((self.seconds, float(error)))

    def stage(self, method: str, contacts: int, iterations: int, error: float, begin: float) -> None:
        """Add a stage that began `begin` seconds after the start."""
        self.stages.append(Stage(method, contacts, int(iterations), float(error), self.seconds - begin))


@dataclass(frozen=True)
class FrictionMethod(ABC):
    """Base of the methods; the docstring of the module says what a subclass has to do."""

    max_iterations: int | None = None

    name: ClassVar[str] = ""
    default_iterations: ClassVar[int] = 100
    matrix_free: ClassVar[bool] = False  # whether `run` also takes `MatrixFreeContacts`

    def __post_init__(self) -> None:
        checked_count(self.max_iterations, f"max_iterations of {self.name}", self.default_iterations)

    @property
    def limit(self) -> int:
        return self.max_iterations or self.default_iterations

    @abstractmethod
    def run(self, contacts: Contacts, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
        """Improve the impulses r, shape (n d,), until their error is at most `tol`."""


class Evaluated(Protocol):
    """Contacts of any kind that tell the error of impulses and the work of a sweep."""

    @property
    def sweep_cost(self) -> float: ...

    def error(self, r: np.ndarray) -> float: ...


def sweep_until(
    sweep: Callable[[np.ndarray, int], None],
    contacts: Evaluated,
    r: np.ndarray,
    tol: float,
    limit: int,
    progress: Progress,
    cost: float = 1.0,
) -> Outcome:
    """Sweep in place, sweep(r, count), until the error is at most `tol`; checks become rarer as the sweeps go on.

    `cost` of a sweep is relative to one of Gauss-Seidel.
    """
    done, error = 0, contacts.error(r)
    best = Best(r.copy(), error)
    each = cost * contacts.sweep_cost
    at_once = max(1, int(min(CHECK_EVERY, AT_ONCE / (each + 1e-12))))
    while done < limit and not error <= tol and not progress.expired:
        count = 1 if progress.record else min(max(1, done // 10), at_once, limit - done)
        sweep(r, count)
        done += count
        progress.spend(each * count)
        error = contacts.error(r)
        best.offer(r, error)
        progress.note(error)
        if not error < np.inf:
            break
    return Outcome(best.r, best.error, done)


class Best:
    """The best impulses seen so far."""

    def __init__(self, r: np.ndarray, error: float) -> None:
        self.r, self.error = r, error

    def offer(self, r: np.ndarray, error: float) -> None:
        if error < self.error:
            self.r, self.error = r.copy(), error
