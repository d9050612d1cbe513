"""Joint rows eliminated: the contact problem that is left, and the joint impulses from its solution.

    (u_c)   (W_cc  W_cb) (r_c)   (q_c)
    (0  ) = (W_bc  W_bb) (r_b) + (q_b)      r_b = -W_bb^+ (W_bc r_c + q_b)

so W' = W_cc - W_cb W_bb^+ W_bc and q' = q_c - W_cb W_bb^+ q_b.  Redundant joints make W_bb singular: its components
(mechanisms that share no body) are inverted one by one, in the least-squares sense.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.csgraph as graph

RANK_TOLERANCE = 1e-12  # of the largest singular value of a component


def eliminate_joints(W: Any, q: np.ndarray, n: int) -> tuple[Any, np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """W', q' of the first n rows, and the map r_c -> (r_c, r_b)."""
    if W.shape[0] == n:
        return W, q, lambda r: r
    W = sp.csr_matrix(W)
    W_cc, W_cb, W_bc, W_bb = W[:n, :n], W[:n, n:], W[n:, :n], W[n:, n:]
    inverse = _pseudo_inverse(W_bb.tocsr())
    W_cb_inverse = W_cb @ inverse

    def joint_impulses(r: np.ndarray) -> np.ndarray:
        return np.concatenate([r, -inverse @ (W_bc @ r + q[n:])])

    return (W_cc - W_cb_inverse @ W_bc).tocsr(), q[:n] - W_cb_inverse @ q[n:], joint_impulses


def _pseudo_inverse(A: sp.csr_matrix) -> sp.csr_matrix:
    count, label = graph.connected_components(A, directed=False)
    rows, columns, values = [], [], []
    for c in range(count):
        where = np.flatnonzero(label == c)
        block = np.linalg.pinv(A[where][:, where].toarray(), rcond=RANK_TOLERANCE)
        rows.append(np.repeat(where, len(where)))
        columns.append(np.tile(where, len(where)))
        values.append(block.ravel())
    return sp.csr_matrix((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=A.shape)
