"""ADMM on the convex problem, its dilation term renewed in every iteration, so that the fixed point is Coulomb's law.

For a given dilation s = mu |u_T| the problem is  min 1/2 r^T W r + (q + s e_N)^T r,  r in K; with a copy z in the cone

    (W + rho I) r = rho (z - l) - q - s e_N,      z = P_K(w r + (1 - w) z + l),      l <- l + w r + (1 - w) z_old - z

with over-relaxation w.  A small rho converges faster where it converges at all (the renewed dilation is what limits
it), so rho is trebled when the error stays; each change costs a factorisation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from stickslip.contact.contacts import Contacts
from stickslip.contact.effort import STEP, factorise
from stickslip.contact.gauss_seidel import project_all
from stickslip.contact.method import Best, FrictionMethod, Outcome, Progress
from stickslip.contact.newton import TOO_LONG

OVER_RELAXATION = 1.6
PATIENCE = 100  # iterations in which the error has to halve
LARGEST_PENALTY = 1e3


def dilation(u: np.ndarray, mu: np.ndarray, dim: int) -> np.ndarray:
    """mu |u_T| e_N of all contacts, shape (n d,)."""
    s = np.zeros((len(mu), dim))
    s[:, 0] = mu * np.sqrt((u.reshape(-1, dim)[:, 1:] ** 2).sum(axis=1))
    return s.ravel()


def _resolvent(contacts: Contacts, rho: float, progress: Progress) -> Callable[[np.ndarray], np.ndarray] | None:
    """b -> (W + rho I)^-1 b, None where the factorisation would take longer than what is left."""
    if not (progress.affords(contacts.analysis_cost) and progress.affords(contacts.factorisation_cost)):
        return None
    progress.spend(contacts.factorisation_cost)
    return factorise((contacts.matrix + rho * sp.eye(len(contacts.q), format="csr")).tocsc()).solve


@dataclass(frozen=True)
class ADMM(FrictionMethod):
    """Alternating direction method of multipliers.

    Attributes: penalty, rho relative to the mean diagonal of W at the start.
    """

    penalty: float = 0.3

    name = "admm"
    default_iterations = 5_000

    def run(self, contacts: Contacts, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
        rho = self.penalty * contacts.mean_diagonal
        z, lam = r.copy(), np.zeros(len(r))
        u, error = contacts.evaluate(z)
        best = Best(z.copy(), error)
        solve = _resolvent(contacts, rho, progress)
        reference = error
        each = STEP + 5.0 * contacts.product_cost
        for k in range(self.limit):
            if solve is None:
                return Outcome(best.r, best.error, k, TOO_LONG)
            if error <= tol or progress.expired:
                return Outcome(best.r, best.error, k)
            progress.spend(each)
            r = solve(rho * (z - lam) - contacts.q - dilation(u, contacts.mu, contacts.dim))
            mixed = OVER_RELAXATION * r + (1.0 - OVER_RELAXATION) * z
            z = mixed + lam
            project_all(z, contacts.mu, contacts.dim, 0, len(contacts))
            lam += mixed - z
            u, error = contacts.evaluate(z)
            best.offer(z, error)
            progress.note(error)
            if (k + 1) % PATIENCE == 0:
                if best.error > 0.5 * reference and rho < LARGEST_PENALTY * contacts.mean_diagonal:
                    rho, lam = 3.0 * rho, lam / 3.0
                    solve = _resolvent(contacts, rho, progress)
                reference = best.error
        return Outcome(best.r, best.error, self.limit)
