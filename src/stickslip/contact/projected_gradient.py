"""Accelerated projected gradient (Nesterov, with restart) on the convex problem, inside a fixed point on the dilation.

For a given s = mu |u_T|, with step 1 / L and momentum beta_k,

    r_{k+1} = P_K(x_k - (W x_k + q + s e_N) / L),     x_{k+1} = r_{k+1} + beta_k (r_{k+1} - r_k),

momentum dropped when it points uphill (O'Donoghue, Candes).  s is renewed when the convex problem is solved to a tenth
of the true error.  Needs products with W only, so it takes problems whose W is never formed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stickslip.contact.admm import dilation
from stickslip.contact.contacts import Contacts
from stickslip.contact.effort import STEP
from stickslip.contact.gauss_seidel import project_all
from stickslip.contact.matrix_free import MatrixFreeContacts
from stickslip.contact.method import Best, FrictionMethod, Outcome, Progress

POWER_STEPS = 30
INNER_LIMIT = 200
INNER_TOLERANCE = 0.1


def largest_eigenvalue(contacts: Contacts | MatrixFreeContacts, progress: Progress) -> float:
    """An estimate of the norm of W from above its power iterates: the last one plus a fifth."""
    x = np.random.default_rng(0).standard_normal(len(contacts.q))
    norm = 1.0
    for _ in range(POWER_STEPS):
        if progress.late:
            break
        progress.spend(contacts.product_cost)
        x = contacts.product(x)
        norm = float(np.linalg.norm(x))
        if norm == 0.0:
            return 1.0
        x /= norm
    return 1.2 * norm


@dataclass(frozen=True)
class ProjectedGradient(FrictionMethod):
    """Accelerated projected gradient; iterations are products with W."""

    name = "projected-gradient"
    default_iterations = 20_000
    matrix_free = True

    def run(self, contacts: Contacts | MatrixFreeContacts, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
        n, d, mu, q = len(contacts), contacts.dim, contacts.mu, contacts.q
        product, evaluate = contacts.product, contacts.evaluate
        step = 1.0 / largest_eigenvalue(contacts, progress)
        best = Best(r.copy(), np.inf)
        done = 0
        each = STEP + contacts.product_cost
        while True:
            u, error = evaluate(r)
            best.offer(r, error)
            progress.note(error)
            if error <= tol or done >= self.limit or progress.expired:
                return Outcome(best.r, best.error, done)
            b = q + dilation(u, mu, d)
            size = max(np.linalg.norm(q), np.linalg.norm(r), np.linalg.norm(u))
            x, momentum = r.copy(), 1.0
            for _ in range(INNER_LIMIT):
                progress.spend(each)
                gradient = product(x) + b
                r_next = x - step * gradient
                project_all(r_next, mu, d, 0, n)
                done += 1
                moved = r_next - r
                if gradient @ moved > 0.0:
                    momentum = 1.0
                next_momentum = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
                x = r_next + (momentum - 1.0) / next_momentum * moved
                r, momentum = r_next, next_momentum
                settled = np.linalg.norm(moved) <= step * INNER_TOLERANCE * error * size
                if settled or done >= self.limit or progress.expired:
                    break
