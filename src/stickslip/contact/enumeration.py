"""Every solution of a very small problem: each contact open, stuck or slipping, all combinations.

A combination leaves a linear system: r = 0 (open), u = 0 (stick), u_N = 0 and r_T = mu r_N t (slip in direction t).  In
the plane t = +-1.  In space the angles of t are unknown: Newton on u_T x t = 0 from several angles; so a solution may
be missed in space, but none that is returned is wrong: the natural map decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from stickslip.contact.contacts import Contacts
from stickslip.contact.method import Best, FrictionMethod, Outcome, Progress

LARGEST = {2: 6, 3: 3}  # contacts
STARTS = 8  # angles per slipping contact
OPEN, STICK, SLIP = range(3)


def _impulses(W: np.ndarray, q: np.ndarray, mu: np.ndarray, dim: int, cases: tuple, T: np.ndarray) -> np.ndarray:
    """Impulses of one combination with slip directions T, shape (n, d - 1); least squares where it is singular."""
    A, b = np.eye(len(q)), np.zeros(len(q))
    for i, case in enumerate(cases):
        rows = slice(dim * i, dim * i + (dim if case == STICK else 1))
        if case != OPEN:
            A[rows], b[rows] = W[rows], -q[rows]
        if case == SLIP:
            A[dim * i + 1 : dim * (i + 1), dim * i] = -mu[i] * T[i]
    try:
        return np.linalg.solve(A, b)
    except np.linalg.LinAlgError:
        return np.linalg.lstsq(A, b, rcond=1e-13)[0]


def _across(W: np.ndarray, q: np.ndarray, mu: np.ndarray, cases: tuple, slipping: list, angles: np.ndarray) -> tuple:
    """u_T x t of the slipping contacts (space), and the impulses."""
    T = np.zeros((len(mu), 2))
    T[slipping, 0], T[slipping, 1] = np.cos(angles), np.sin(angles)
    r = _impulses(W, q, mu, 3, cases, T)
    u = (W @ r + q).reshape(-1, 3)[slipping]
    return T[slipping, 0] * u[:, 2] - T[slipping, 1] * u[:, 1], r


def _slip_angles(
    W: np.ndarray, q: np.ndarray, mu: np.ndarray, cases: tuple, slipping: list, start: np.ndarray
) -> np.ndarray:
    """Impulses after Newton on the angles, derivatives by differences."""
    angles, h = start.copy(), 1e-7
    f, r = _across(W, q, mu, cases, slipping, angles)
    for _ in range(30):
        J = np.empty((len(angles), len(angles)))
        for k in range(len(angles)):
            J[:, k] = (_across(W, q, mu, cases, slipping, angles + h * (np.arange(len(angles)) == k))[0] - f) / h
        step = np.linalg.lstsq(J, -f, rcond=1e-12)[0]
        angles = angles + np.clip(step, -0.5, 0.5)
        f, r = _across(W, q, mu, cases, slipping, angles)
        if np.abs(step).max() < 1e-12:
            break
    return r


def candidates(contacts: Contacts) -> Iterator[np.ndarray]:
    """Impulses of all combinations, right and wrong ones."""
    W, q, mu, d, n = contacts.matrix.toarray(), contacts.q, contacts.mu, contacts.dim, len(contacts)
    for cases in product((OPEN, STICK, SLIP), repeat=n):
        slipping = [i for i in range(n) if cases[i] == SLIP]
        if any(mu[i] == 0.0 and cases[i] == STICK for i in range(n)):
            continue
        if d == 2:
            for signs in product((1.0, -1.0), repeat=len(slipping)):
                T = np.zeros((n, 1))
                T[slipping, 0] = signs
                yield _impulses(W, q, mu, d, cases, T)
        elif not slipping:
            yield _impulses(W, q, mu, d, cases, np.zeros((n, 2)))
        else:
            for angles in product(2.0 * np.pi * np.arange(STARTS) / STARTS, repeat=len(slipping)):
                yield _slip_angles(W, q, mu, cases, slipping, np.array(angles))


def all_impulses(contacts: Contacts, tol: float) -> list[np.ndarray]:
    """Different impulses with an error of at most `tol`."""
    kept: list[np.ndarray] = []
    for r in candidates(contacts):
        if contacts.error(r) <= tol and all(
            np.linalg.norm(r - other) > 1e-6 * max(np.linalg.norm(r), np.linalg.norm(other)) for other in kept
        ):
            kept.append(r)
    return kept


@dataclass(frozen=True)
class Enumeration(FrictionMethod):
    """All combinations of open, stick and slip; the solution with the least error (`enumerate_friction` gives all)."""

    name = "enumerate"
    default_iterations = 1

    def run(self, contacts: Contacts, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
        check_size(contacts)
        best, tried = Best(r, contacts.error(r)), 0
        for x in candidates(contacts):
            best.offer(x, contacts.error(x))
            tried += 1
            if progress.late:
                return Outcome(best.r, best.error, tried)
        return Outcome(best.r, best.error, tried, "no combination of open, stick and slip is a solution")


def check_size(contacts: Contacts) -> None:
    largest = LARGEST[contacts.dim]
    if len(contacts) > largest:
        raise ValueError(
            f"enumerate takes up to {largest} contacts in dimension {contacts.dim}, got {len(contacts)}; "
            "try method='auto'."
        )
