"""The method "gauss-seidel": options and loop around the kernels of `gauss_seidel`."""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from stickslip.complementarity.friction.contacts import Contacts
from stickslip.complementarity.friction.gauss_seidel import (
    CHECK_EVERY,
    accelerated_sweeps,
    colours,
    levels,
    plain_sweeps,
    sweep_levels,
)
from stickslip.complementarity.friction.islands import rows_back
from stickslip.complementarity.friction.method import FrictionMethod, Outcome, Progress

ORDERS = ("given", "coloured")
BLOCKS_AT_ONCE = 20_000_000  # block products between two looks at the clock, some half a second


@dataclass(frozen=True)
class GaussSeidel(FrictionMethod):
    """Sweeps over the contacts, each solved exactly.

    Attributes
    ----------
    memory : sweeps that Anderson acceleration looks back on; 0 for plain sweeps.
    relaxation : 0 < omega < 2 (plain: 1).
    order : "given", or "coloured": by the colours of the contact graph, so that many contacts can be done at a time.
    threads : contacts of a level (which do not touch one another) are shared among so many threads.  The result does
        not depend on it, bit for bit.  More than one: plain sweeps.
    """

    memory: int = 10
    relaxation: float = 1.0
    order: str = "given"
    threads: int = 1

    name = "gauss-seidel"
    default_iterations = 20_000

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

    def run(self, contacts: Contacts, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
        if self.order == "given":
            return self._run(contacts, r, tol, progress)
        order = colours(contacts.indptr, contacts.indices)
        outcome = self._run(
            contacts.permuted(order), r.reshape(-1, contacts.dim)[order].ravel(), tol, progress
        )
        return outcome._replace(r=rows_back(outcome.r, order, contacts.dim))

    def _run(self, contacts: Contacts, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
        if self.threads > 1:
            return self._run_threads(contacts, r, tol, progress)
        at_once = max(CHECK_EVERY, BLOCKS_AT_ONCE // max(1, len(contacts.indices)))
        u, history = np.empty(len(r)), np.empty(at_once if progress.record else 0)
        work = np.empty((2 * self.memory + 4, len(r)))
        check_every = 1 if progress.record else CHECK_EVERY
        done, error = 0, np.inf
        while done < self.limit and not error <= tol:
            count = min(at_once, self.limit - done)
            begin = progress.seconds
            if self.memory:
                swept, error, checks = accelerated_sweeps(
                    *contacts.arrays(), r, u, 0, len(contacts), count, tol,
                    self.memory, self.relaxation, check_every, history, work,
                )  # fmt: skip
            else:
                swept, error, checks = plain_sweeps(
                    *contacts.arrays(), r, u, 0, len(contacts), count, tol, self.relaxation, check_every, history
                )
            done += swept
            _note_history(progress, history[:checks], begin)
            if progress.expired or swept < count:
                break
        return Outcome(r, error, done)

    def _run_threads(self, contacts: Contacts, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
        order, begins = levels(contacts.indptr, contacts.indices)
        before = numba.get_num_threads()
        numba.set_num_threads(min(self.threads, numba.config.NUMBA_NUM_THREADS))
        done, error = 0, np.inf
        try:
            while done < self.limit and not error <= tol and not progress.expired:
                count = min(1 if progress.record else 10, self.limit - done)
                sweep_levels(*contacts.arrays(), r, self.relaxation, order, begins, count)
                done += count
                error = contacts.error(r)
                progress.note(error)
        finally:
            numba.set_num_threads(before)
        return Outcome(r, error, done)


def _note_history(progress: Progress, errors: np.ndarray, begin: float) -> None:
    """Spread the times of the checks evenly over the time the kernel took."""
    end = progress.seconds
    for k, error in enumerate(errors):
        progress.history.append((begin + (end - begin) * (k + 1) / len(errors), float(error)))
