"""Contacts whose impulses grow without bound: bodies that are wedged.

Let d lie in the cones with W d = 0.  Then no impulses change d . u = d . q.  Where there is no such d with q . d < 0, a
solution exists; where there is one, there may be none.  Without friction it is a proof: normal velocities, weighed by
d >= 0, approach whatever happens; a body between two walls that close, a contact that no impulse moves.
Such a d = B x, x >= 0, solves a least-squares problem with signs, min |W B x|^2 + (q . B x + 1)^2, where the columns of
B are normals, or the edges of pyramids inside the cones.
"""

from __future__ import annotations

import numpy as np

from stickslip.contact.constants import DENSE_LIMIT, SHARP
from stickslip.contact.contacts import Contacts
from stickslip.contact.pyramid import directions

EDGES = 16  # of a pyramid inside a cone in space: 2 % of the cone's width are left out


def wedged_contacts(contacts: Contacts, friction: bool = False) -> np.ndarray | None:
    """Numbers of contacts that cannot all stop approaching; None where none were found, or the problem is large.

    friction: contacts that may be wedged by friction, too, which is no proof.
    """
    if len(contacts) > DENSE_LIMIT:
        return None
    q = contacts.q
    size = float(np.abs(q if friction else q[:: contacts.dim]).max(initial=0.0))
    if not (size > 0.0 and np.isfinite(size)) or not (friction or np.any(q[:: contacts.dim] < 0.0)):
        return None
    from scipy.optimize import nnls  # takes 0.15 s to load, and most runs do without

    B, edges = _edges(contacts, friction)
    columns = contacts.matrix @ B
    try:
        x, _ = nnls(np.vstack([columns, q @ B / size]), np.append(np.zeros(len(q)), -1.0))
    except RuntimeError:  # its iterations are limited
        return None
    total = float(x.sum())
    if not total > 0.0:
        return None
    x /= total
    approach, moved = -float(q @ B @ x) / size, float(np.abs(columns @ x).max())
    return np.flatnonzero(x.reshape(-1, edges).sum(axis=1) > 0.0) if moved <= SHARP * approach else None


def _edges(contacts: Contacts, friction: bool) -> tuple[np.ndarray, int]:
    """B, the normals of all contacts or the edges of their pyramids, and how many each has."""
    n, dim = len(contacts), contacts.dim
    ring = directions(EDGES, dim) if friction else np.zeros((dim - 1, 1))
    edges = ring.shape[1]
    B = np.zeros((n, dim, n, edges))
    for i in range(n):
        B[i, 0, i], B[i, 1:, i] = 1.0, contacts.mu[i] * ring
    return B.reshape(n * dim, n * edges), edges
