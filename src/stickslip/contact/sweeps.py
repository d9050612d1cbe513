"""The method "gauss-seidel": options and loop around the kernels of `gauss_seidel`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stickslip.checks import whole_number
from stickslip.contact.constants import CHECK_EVERY, MEMORY
from stickslip.contact.contacts import Contacts
from stickslip.contact.effort import AT_ONCE
from stickslip.contact.gauss_seidel import Asked, Part, accelerated_sweeps, new_anderson
from stickslip.contact.matrix_free import MatrixFreeContacts
from stickslip.contact.method import Best, FrictionMethod, Outcome, Progress, sweep_until


@dataclass(frozen=True)
class Sweeps(FrictionMethod):
    """Sweeps over the contacts, each solved exactly.

    Attributes
    ----------
    memory : sweeps that Anderson acceleration looks back on; 0 for plain sweeps.
    relaxation : 0 < omega < 2 (plain: 1).
    """

    memory: int = MEMORY
    relaxation: float = 1.0

    name = "gauss-seidel"
    default_iterations = 20_000
    matrix_free = True

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number(self.memory, "memory", 0)
        if not 0.0 < self.relaxation < 2.0:
            raise ValueError(f"relaxation must lie between 0 and 2, got {self.relaxation!r}.")

    def run(self, contacts: Contacts | MatrixFreeContacts, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
        if isinstance(contacts, MatrixFreeContacts):
            return sweep_until(contacts.sweep, contacts, r, tol, self.limit, progress)
        at_once = max(1, int(AT_ONCE / contacts.sweep_cost))
        u, history = np.empty(len(r)), np.empty(at_once if progress.record else 0)
        check_every, anderson = 1 if progress.record else CHECK_EVERY, new_anderson(self.memory, len(r))
        best, done, error = Best(r.copy(), np.inf), 0, np.inf
        while done < self.limit and not error <= tol:
            count = min(at_once, self.limit - done)
            begin = progress.seconds
            asked = Asked(count, tol, self.memory, self.relaxation, check_every)
            part = Part(r, u, contacts.gauge, 0, len(contacts))
            swept, error, checks = accelerated_sweeps(contacts.coupled, contacts.local, part, asked, history, anderson)
            done += swept
            best.offer(r, error)
            progress.spend(swept * contacts.sweep_cost)
            _note_history(progress, history[:checks], begin)
            if progress.expired or swept < count:
                break
        return Outcome(best.r, best.error, done)


def _note_history(progress: Progress, errors: np.ndarray, begin: float) -> None:
    """Spread the times of the checks evenly over the time the kernel took."""
    end = progress.seconds
    for k, error in enumerate(errors):
        progress.history.append((begin + (end - begin) * (k + 1) / len(errors), float(error)))
