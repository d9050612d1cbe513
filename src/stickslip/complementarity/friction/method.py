"""What a method of `solve_friction` is: a small frozen object with options and one function.

Whoever adds a method: subclass `FrictionMethod`, set `name`, write `run`, list it in `solve.METHODS`.  `run` gets the
contacts, impulses to start from (its own copy) and the error to reach, and returns the best impulses it found.  It asks
`progress.expired` now and then, and notes errors where that costs nothing.  Whether the answer counts as solved is
decided by `solve_friction`, on the original problem.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from stickslip.complementarity.friction.contacts import Contacts
from stickslip.complementarity.friction.problem import Stage
from stickslip.complementarity.problems import checked_count


class Outcome(NamedTuple):
    """Best impulses of a method, their error, its iterations; `note` says why it ended, where that is worth a word."""

    r: np.ndarray
    error: float
    iterations: int
    note: str = ""


@dataclass(eq=False)
class Progress:
    """Clock and log of one call of `solve_friction`."""

    time_limit: float = np.inf
    record: bool = False
    begin: float = field(default_factory=time.perf_counter)
    stages: list[Stage] = field(default_factory=list)
    history: list[tuple[float, float]] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.begin

    @property
    def expired(self) -> bool:
        return self.seconds > self.time_limit

    def part(self, seconds: float) -> Progress:
        """The same clock and log with an earlier end: `seconds` from now."""
        limit = min(self.time_limit, self.seconds + seconds)
        return Progress(limit, self.record, self.begin, self.stages, self.history)

    def leave_out(self, seconds: float) -> None:
        """Do not count time that machine code took to compile or load: it is spent once."""
        self.begin += seconds

    def silent(self) -> Progress:
        """The same clock and stages; errors of part of a problem are not noted."""
        return Progress(self.time_limit, False, self.begin, self.stages)

    def note(self, error: float) -> None:
        if self.record:
            self.history.append((self.seconds, float(error)))

    def stage(self, method: str, contacts: int, iterations: int, error: float, begin: float) -> None:
        """Add a stage that began `begin` seconds after the start."""
        self.stages.append(Stage(method, contacts, int(iterations), float(error), self.seconds - begin))


@dataclass(frozen=True)
class FrictionMethod(ABC):
    """Base of the methods; see the module for what a subclass has to do."""

    max_iterations: int | None = None

    name: ClassVar[str] = ""
    default_iterations: ClassVar[int] = 100
    matrix_free: ClassVar[bool] = False  # whether `run` also takes `MatrixFreeContacts`

    def __post_init__(self) -> None:
        checked_count(self.max_iterations, f"max_iterations of {type(self).__name__}", self.default_iterations)

    @property
    def limit(self) -> int:
        return self.max_iterations or self.default_iterations

    @abstractmethod
    def run(self, contacts: Contacts, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
        """Improve the impulses r, shape (n d,), until their error is at most `tol`."""


class Evaluated(Protocol):
    """Contacts of any kind that tell the error of impulses."""

    def error(self, r: np.ndarray) -> float: ...


def sweep_until(
    sweep: Callable[[np.ndarray, int], None],
    contacts: Evaluated,
    r: np.ndarray,
    tol: float,
    limit: int,
    progress: Progress,
) -> Outcome:
    """Sweep in place, sweep(r, count), until the error is at most `tol`; checks become rarer as the sweeps go on."""
    done, error = 0, contacts.error(r)
    best = Best(r.copy(), error)
    while done < limit and not error <= tol and not progress.expired:
        count = 1 if progress.record else min(max(1, done // 10), 50, limit - done)
        sweep(r, count)
        done += count
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
