"""A proof that a problem has no solution: contacts that close on bodies which cannot give way.

Let d >= 0 weigh the normal velocities such that W_N^T d = 0, W_N the normal rows of W.  Then no impulses change

    sum_i d_i u_Ni = sum_i d_i q_Ni,

and where that is negative, some contact approaches whatever happens: a body between two walls that close, a contact
that no impulse moves.  Such a d solves a least-squares problem with signs, min |W_N^T d|^2 + (q_N . d + 1)^2.
"""

from __future__ import annotations

import numpy as np

from stickslip.contact.constants import DENSE_LIMIT, SHARP
from stickslip.contact.contacts import Contacts


def wedged_contacts(contacts: Contacts) -> np.ndarray | None:
    """Numbers of contacts that cannot all stop approaching; None where no proof was found, or the problem is large."""
    if len(contacts) > DENSE_LIMIT:
        return None
    d, q_N = contacts.dim, contacts.q[:: contacts.dim]
    size = float(np.abs(q_N).max(initial=0.0))
    if not np.any(q_N < 0.0) or not np.isfinite(size):
        return None
    from scipy.optimize import nnls  # takes 0.15 s to load, and most runs do without

    rows = contacts.matrix[::d].toarray()
    try:
        weights, _ = nnls(np.vstack([rows.T, q_N / size]), np.append(np.zeros(rows.shape[1]), -1.0))
    except RuntimeError:  # its iterations are limited
        return None
    total = float(weights.sum())
    if not total > 0.0:
        return None
    weights /= total
    approach, moved = -float(q_N @ weights) / size, float(np.abs(rows.T @ weights).max())
    return np.flatnonzero(weights > 0.0) if moved <= SHARP * approach else None
