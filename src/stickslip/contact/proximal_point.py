"""Proximal point: a sequence of better posed problems (W + a I, q - a r_k), each solved by Newton, that converge to r.

a falls where an inner problem takes a fifth of the steps it may take, and rises where it takes half.  It stays above
the noise of W (W from data written with six digits is indefinite by some 1e-7).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stickslip.contact.constants import NEAR, NEWTON_STEPS
from stickslip.contact.contacts import Contacts
from stickslip.contact.method import Best, FrictionMethod, Outcome, Progress
from stickslip.contact.newton import TOO_LONG, newton_iterations


@dataclass(frozen=True)
class ProximalPoint(FrictionMethod):
    """Proximal point with inner Newton.

    Attributes: start and floor, a relative to the mean diagonal of W.
    """

    start: float = 1e-2
    floor: float = 1e-7

    name = "proximal-point"
    default_iterations = 200

    def run(self, contacts: Contacts, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
        a, error, total = self.start, contacts.error(r), 0
        best = Best(r.copy(), error)
        for _ in range(self.limit):
            if error <= tol or progress.expired:
                break
            if not progress.affords(contacts.analysis_cost + 5.0 * contacts.product_cost):
                return Outcome(best.r, best.error, total, TOO_LONG)
            wanted = max(NEAR * error, 0.3 * tol)
            inner = contacts.shifted(a * contacts.mean_diagonal, r)
            x, reached, count, note = newton_iterations(
                inner, r.copy(), wanted, NEWTON_STEPS, progress.silent(), floor=0.0
            )
            total += count
            if note == TOO_LONG:
                return Outcome(best.r, best.error, total, note)
            settled, error_there = reached <= wanted, contacts.error(x)
            progress.note(error_there)
            if settled or error_there < error:
                r, error = x, error_there
                best.offer(r, error)
            if not settled:
                a = min(3.0 * a, 10.0)
            elif 5 * count <= NEWTON_STEPS:
                a = max(0.4 * a, self.floor)
            elif 2 * count > NEWTON_STEPS:
                a = min(1.5 * a, 10.0)
        return Outcome(best.r, best.error, total)
