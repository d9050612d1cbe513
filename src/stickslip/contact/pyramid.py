"""The friction cone as a pyramid with m edges: an LCP, [S00] (2.11)-(2.16), for Lemke's method.

r_T = D beta, the columns of D unit vectors in m directions, sum beta <= mu r_N; lambda, in the end, is the slip speed:

    ( u_N )   ( W_NN      W_NT D      0 ) ( r_N    )   ( q_N     )
    (sigma) = ( D^T W_TN  D^T W_TT D  e ) ( beta   ) + ( D^T q_T )        0 <= y perp x >= 0
    ( zeta)   ( mu        -e^T        0 ) ( lambda )   ( 0       )

In the plane m = 2 is exact.  In space the pyramid is inscribed in the cone, and a slip picks one of its edges: the
direction is off by up to pi / m, the answer by some 1 / m.  It serves as the start of Newton on the cone itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stickslip.checks import whole_number
from stickslip.contact.contacts import Contacts
from stickslip.contact.method import Best, FrictionMethod, Outcome, Progress
from stickslip.contact.newton import newton_iterations
from stickslip.lcp.solve import solve_lcp

LARGEST = 1_000  # unknowns of the LCP
PERTURBATIONS = (1e-8, 1e-6)  # of the right-hand side, relative


def directions(m: int, dim: int) -> np.ndarray:
    """Unit vectors of the edges, shape (d - 1, m); in the plane +1 and -1."""
    if dim == 2:
        return np.array([[1.0, -1.0]])
    angle = 2.0 * np.pi * np.arange(m) / m
    return np.stack([np.cos(angle), np.sin(angle)])


def pyramid_lcp(contacts: Contacts, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A, b of the LCP and the matrix B with r = B x; unknowns (r_N, beta, lambda), contact by contact within each."""
    n, d = len(contacts), contacts.dim
    D = directions(m, d)
    m = D.shape[1]
    B_N = np.kron(np.eye(n), np.eye(d)[:, :1])
    B_T = np.kron(np.eye(n), np.vstack([np.zeros((1, m)), D]))
    E = np.kron(np.eye(n), np.ones((m, 1)))
    W = contacts.matrix.toarray()
    A = np.block(
        [
            [B_N.T @ W @ B_N, B_N.T @ W @ B_T, np.zeros((n, n))],
            [B_T.T @ W @ B_N, B_T.T @ W @ B_T, E],
            [np.diag(contacts.mu), -E.T, np.zeros((n, n))],
        ]
    )
    b = np.concatenate([B_N.T @ contacts.q, B_T.T @ contacts.q, np.zeros(n)])
    return A, b, np.hstack([B_N, B_T, np.zeros((n * d, n))])


def pyramid_solution(contacts: Contacts, m: int, most: int | None = None) -> tuple[np.ndarray | None, int]:
    """Impulses of the pyramid problem, or None where its LCP was not solved in `most` pivots; and the pivots.

    The right-hand side is changed by some 1e-8 at random.  Reason: contact problems are full of ties (equal bodies,
    resting contacts).  A path that breaks ties one by one takes ten times the pivots and may lose its accuracy.
    """
    A, b, B = pyramid_lcp(contacts, m)
    noise = np.random.default_rng(m).random(len(b)) * np.abs(b).max(initial=0.0)
    pivots = 0
    for size in PERTURBATIONS:
        answer = solve_lcp(A, b + size * noise, "lemke", tol=1e-9, max_iterations=most)
        pivots += int(answer.iterations)
        if answer.solved:
            return B @ answer.x, pivots
    return None, pivots


def pyramid_answers(contacts: Contacts, m: int) -> Iterator[np.ndarray]:
    """Yield impulses of the pyramid problem by several methods in turn, for a caller that judges them.

    Where contacts tie, Lemke's path may lose its accuracy.  Newton's iterate and the other paths of "auto" are then
    good answers as a rule.  Newton's impulses may be good even where its slip speeds, and so the residual of the LCP,
    are not.
    """
    A, b, B = pyramid_lcp(contacts, m)
    for method in ("lemke", "newton", "auto"):
        yield B @ solve_lcp(A, b, method, tol=1e-12).x
    r, _ = pyramid_solution(contacts, m)
    if r is not None:
        yield r


def _affordable_pivots(unknowns: int, progress: Progress) -> int | None:
    """Number of pivots within the time limit, at two nanoseconds an entry of the tableau; None without a limit."""
    if progress.time_limit == np.inf:
        return None
    left = (progress.time_limit - progress.seconds) / len(PERTURBATIONS)
    return max(1, int(left / (2e-9 * unknowns**2 + 1e-7)))


@dataclass(frozen=True)
class PyramidLemke(FrictionMethod):
    """Lemke's method on the pyramid, then Newton on the cone.

    Attributes: directions m >= 3; refine: whether Newton makes the pyramid's answer one of the cone.
    """

    directions: int = 8
    refine: bool = True

    name = "lemke"
    default_iterations = 50  # Newton steps

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number(self.directions, "directions", 3)

    def run(self, contacts: Contacts, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
        m = self.directions if contacts.dim == 3 else 2
        unknowns = len(contacts) * (m + 2)
        if unknowns > LARGEST:
            return Outcome(r, np.inf, 0, f"lemke takes up to {LARGEST} unknowns, this pyramid has {unknowns}")
        x, pivots = pyramid_solution(contacts, m, _affordable_pivots(unknowns, progress))
        if x is None:
            return Outcome(r, contacts.error(r), pivots, "the pyramid's LCP was not solved")
        best = Best(x, contacts.error(x))
        progress.note(best.error)
        steps = 0
        if self.refine and best.error > tol:
            landed = newton_iterations(contacts, x.copy(), tol, self.limit, progress)
            best.offer(landed.r, landed.error)
            steps = landed.iterations
        return Outcome(best.r, best.error, pivots + steps, f"answer of the pyramid with {m} directions")
