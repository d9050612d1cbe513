"""Proximal point: a sequence of better posed problems (W + a I, q - a r_k), each solved by Newton, that converge to r.

a falls where an inner problem takes a fifth of the steps it may take, and rises where it takes half.  It stays above
the noise of W (W from data written with six digits is indefinite by some 1e-7).  With `jumps`, two successive steps
in nearly one direction are followed by a leap, 0.95 of the way to the first impulse that would leave its cone.
Impulses that move slowly along the null space of a hyperstatic W arrive at once by this leap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stickslip.contact.constants import NEAR, NEWTON_STEPS, PARALLEL, TO_THE_BOUNDARY, WORSE
from stickslip.contact.contacts import Contacts
from stickslip.contact.method import Best, FrictionMethod, Outcome, Progress
from stickslip.contact.newton import TOO_LONG, newton_iterations


def first_break(r: np.ndarray, dr: np.ndarray, mu: np.ndarray, dim: int) -> float:
    """The least t > 0 at which a contact inside its cone reaches the boundary along r + t dr, at most 1e6."""
    R, D = r.reshape(-1, dim), dr.reshape(-1, dim)
    closed = R[:, 0] > 0.0
    R, D, mu = R[closed], D[closed], mu[closed]
    with np.errstate(divide="ignore", invalid="ignore"):
        open_at = np.where(D[:, 0] < 0.0, -R[:, 0] / D[:, 0], np.inf)
        a = (mu * D[:, 0]) ** 2 - (D[:, 1:] ** 2).sum(axis=1)
        b = mu**2 * R[:, 0] * D[:, 0] - (R[:, 1:] * D[:, 1:]).sum(axis=1)
        c = (mu * R[:, 0]) ** 2 - (R[:, 1:] ** 2).sum(axis=1)
        inside = c > 1e-5 * (mu * R[:, 0]) ** 2  # else it slides already
        root = np.sqrt(np.where(inside, b * b - a * c, np.nan))
        half = np.where(b >= 0.0, -(b + root), -(b - root))
        times = np.stack([open_at, half / a, c / half])
    times = times[np.isfinite(times) & (times > 0.0)]
    return float(min(times.min(initial=1e6), 1e6))


def _leap(contacts: Contacts, r: np.ndarray, dr: np.ndarray, error: float) -> tuple[np.ndarray, float] | None:
    t = min(TO_THE_BOUNDARY * first_break(r, dr, contacts.mu, contacts.dim), 1e4)
    for _ in range(8):
        if t < 0.5:
            return None
        landed = r + t * dr
        landed_error = contacts.error(landed)
        if landed_error <= WORSE * error:
            return landed, landed_error
        t *= 0.4
    return None


def _cosine(x: np.ndarray, y: np.ndarray) -> float:
    return float(x @ y / max(np.linalg.norm(x) * np.linalg.norm(y), 1e-300))


@dataclass(frozen=True)
class ProximalPoint(FrictionMethod):
    """Proximal point with inner Newton.

    Attributes: start and floor, a relative to the mean diagonal of W; jumps, see the module.
    """

    start: float = 1e-2
    floor: float = 1e-7
    jumps: bool = False

    name = "proximal-point"
    default_iterations = 200

    def run(self, contacts: Contacts, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
        a, error, total = self.start, contacts.error(r), 0
        best = Best(r.copy(), error)
        before: np.ndarray | None = None  # last step, times a
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
            step: np.ndarray | None = None
            if settled or error_there < error:
                dr, r, error = x - r, x, error_there
                best.offer(r, error)
                step = dr * a
                if self.jumps and settled and before is not None and _cosine(step, before) > PARALLEL:
                    leap = _leap(contacts, r, dr, error)
                    if leap is not None:
                        (r, error), step = leap, None
                        best.offer(r, error)
            before = step
            if not settled:
                a = min(3.0 * a, 10.0)
            elif 5 * count <= NEWTON_STEPS:
                a = max(0.4 * a, self.floor)
            elif 2 * count > NEWTON_STEPS:
                a = min(1.5 * a, 10.0)
        return Outcome(best.r, best.error, total)
