"""The method "gauss-seidel": options and loop around the kernels of `gauss_seidel`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.contact.contacts import Contacts
from stickslip.contact.effort import AT_ONCE
from stickslip.contact.gauss_seidel import (
    CHECK_EVERY,
    CHECKS,
    ERROR,
    accelerated_sweeps,
    anderson_state,
    begin_sweep,
    colours,
    end_sweep,
    levels,
    sweep_levels,
)
from stickslip.contact.islands import rows_back
from stickslip.contact.matrix_free import MatrixFreeContacts
from stickslip.contact.method import Best, FrictionMethod, Outcome, Progress, sweep_until
from stickslip.jit.parallel import team

ORDERS = ("given", "coloured")


@dataclass(frozen=True)
class GaussSeidel(FrictionMethod):
    """Sweeps over the contacts, each solved exactly.

    Attributes
    ----------
    memory : sweeps that Anderson acceleration looks back on; 0 for plain sweeps.
    relaxation : 0 < omega < 2 (plain: 1).
    order : "given", or "coloured": by the colours of the contact graph, so that many contacts can be done at a time.
    threads : contacts of a level (which do not touch one another) are shared among so many threads.  The result does
        not depend on it, bit for bit.
    """

    memory: int = 10
    relaxation: float = 1.0
    order: str = "given"
    threads: int = 1

    name = "gauss-seidel"
    default_iterations = 20_000
    matrix_free = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.memory, bool) or not isinstance(self.memory, int) or self.memory < 0:
            raise ValueError(f"memory must be a whole number >= 0 of sweeps, got {self.memory!r}.")
        if not 0.0 < self.relaxation < 2.0:
            raise ValueError(f"relaxation must lie between 0 and 2, got {self.relaxation!r}.")
        if self.order not in ORDERS:
            raise ValueError(f"order must be one of {', '.join(ORDERS)}, got {self.order!r}.")
        if isinstance(self.threads, bool) or not isinstance(self.threads, int) or self.threads < 1:
            raise ValueError(f"threads must be a whole number >= 1, got {self.threads!r}.")

    def run(self, contacts: Contacts | MatrixFreeContacts, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
        if isinstance(contacts, MatrixFreeContacts):
            return sweep_until(contacts.sweep, contacts, r, tol, self.limit, progress)
        if self.order == "given":
            return self._run(contacts, r, tol, progress)
        order = colours(contacts.indptr, contacts.indices)
        outcome = self._run(contacts.permuted(order), r.reshape(-1, contacts.dim)[order].ravel(), tol, progress)
        return outcome._replace(r=rows_back(outcome.r, order, contacts.dim))

    def _run(self, contacts: Contacts, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
        at_once = max(1, int(AT_ONCE / contacts.sweep_cost))
        u, history = np.empty(len(r)), np.empty(at_once if progress.record else 0)
        work = np.empty((2 * self.memory + 4, len(r)))
        check_every, anderson = 1 if progress.record else CHECK_EVERY, anderson_state(self.memory)
        advance: Any = accelerated_sweeps if self.threads == 1 else _Threads(contacts, self.threads)
        best, done, error = Best(r.copy(), np.inf), 0, np.inf
        while done < self.limit and not error <= tol:
            count = min(at_once, self.limit - done)
            begin = progress.seconds
            swept, error, checks = advance(
                *contacts.arrays(), r, u, 0, len(contacts), count, tol,
                self.memory, self.relaxation, check_every, history, work, anderson,
            )  # fmt: skip
            done += swept
            best.offer(r, error)
            progress.spend(swept * contacts.sweep_cost)
            _note_history(progress, history[:checks], begin)
            if progress.expired or swept < count:
                break
        return Outcome(best.r, best.error, done)


class _Threads:
    """`accelerated_sweeps` with the contacts of a level shared among threads: the same arithmetic in the same order."""

    def __init__(self, contacts: Contacts, threads: int) -> None:
        self.order, self.begins = levels(contacts.indptr, contacts.indices)
        self.threads = threads

    def __call__(
        self, data: np.ndarray, indptr: np.ndarray, indices: np.ndarray, diagonal: np.ndarray, inverse: np.ndarray,
        q: np.ndarray, mu: np.ndarray, r: np.ndarray, u: np.ndarray, first: int, last: int, max_sweeps: int, tol: float,
        memory: int, relaxation: float, check_every: int, history: np.ndarray, work: np.ndarray, anderson: tuple,
    ) -> tuple[int, float, int]:  # fmt: skip
        blocks, laws = (data, indptr, indices), (q, mu)
        with team(self.threads):
            for count in range(1, max_sweeps + 1):
                begin_sweep(r, 0, work, len(r))
                sweep_levels(*blocks, diagonal, inverse, *laws, r, relaxation, self.order, self.begins)
                if end_sweep(
                    *blocks, *laws, r, u, first, last, count, max_sweeps, tol, memory, check_every, history, work,
                    anderson,
                ):  # fmt: skip
                    break
        return count, float(anderson[4][ERROR]), int(anderson[4][CHECKS])


def _note_history(progress: Progress, errors: np.ndarray, begin: float) -> None:
    """Spread the times of the checks evenly over the time the kernel took."""
    end = progress.seconds
    for k, error in enumerate(errors):
        progress.history.append((begin + (end - begin) * (k + 1) / len(errors), float(error)))
