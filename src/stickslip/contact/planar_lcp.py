"""The LCP [GS05] eq. (33) of planar contacts with friction, for time steps, impacts and accelerations alike.

Unknowns x = (Lambda_N, Lambda_R, xi_L), y = (xi_N, xi_R, Lambda_L) with Lambda_R = mu Lambda_N + a + Lambda_T and
Lambda_L = mu Lambda_N + a - Lambda_T:

    (xi_N    )   (E_NN   E_NT   0) (Lambda_N)   (b_N)
    (xi_R    ) = (E_TN   E_TT   I) (Lambda_R) + (b_T)     0 <= y perp x >= 0                           [GS05] eq. (33)
    (Lambda_L)   (2 mu   -I     0) (xi_L    )   (2 a)

E_NN and E_TN have the friction in them, G_NN - G_NT mu and G_TN - G_TT mu; b has its load-independent part, c - G a.
Rows of parts that a contact lacks are left out.  The rest is scaled by D = diag(d_N, d_T, 1 / d_T) to unit diagonals:
complementary pairs keep their signs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stickslip.jit import entry

NORMAL, RIGHT, LEFT = 0, 1, 2  # which unknown of its contact a row belongs to: Lambda_N, Lambda_R, xi_L


class PlanarLcp(NamedTuple):
    """Room for the LCP: A (n, n), b (n,), and of each row its scale, its contact and which unknown it is."""

    A: np.ndarray
    b: np.ndarray
    scale: np.ndarray
    rows: np.ndarray
    part: np.ndarray


@entry(inline=True)
def list_rows(d: np.ndarray, lcp: Any) -> int:
    """Rows of the LCP, Lambda_N of all contacts first; return their number.

    d (k, 3): the scales d_N, d_T and 1 / d_T of every contact; 0 where it has no such part.
    """
    n = 0
    for part in range(3):
        for k in range(d.shape[0]):
            if d[k, part] > 0.0:
                lcp.rows[n] = k
                lcp.part[n] = part
                lcp.scale[n] = d[k, part]
                n += 1
    return n


@entry(inline=True)
def entry_of(E: np.ndarray, mu: np.ndarray, k: int, part: int, m: int, column: int) -> float:
    """Entry of the unscaled matrix: row `part` of contact k, column `column` of contact m."""
    if part < LEFT and column < LEFT:
        return E[part, k, column, m]
    if m != k:
        return 0.0
    if part == RIGHT and column == LEFT:
        return 1.0
    if part == LEFT and column == NORMAL:
        return 2.0 * mu[k]
    return -1.0 if part == LEFT and column == RIGHT else 0.0


@entry(inline=True)
def assemble(E: np.ndarray, b: np.ndarray, mu: np.ndarray, a: np.ndarray, d: np.ndarray, lcp: Any) -> int:
    """Write the scaled LCP; return the number of its rows.

    E (2, k, 2, k): its blocks, normal and tangential; b (2, k); mu, a (k,): friction; d (k, 3): see `list_rows`.
    """
    n = list_rows(d, lcp)
    for i in range(n):
        k = lcp.rows[i]
        part = lcp.part[i]
        right = 2.0 * a[k]
        if part < LEFT:
            right = b[part, k]
        lcp.b[i] = right * lcp.scale[i]
        for c in range(n):
            lcp.A[i, c] = entry_of(E, mu, k, part, lcp.rows[c], lcp.part[c]) * lcp.scale[i] * lcp.scale[c]
    return n


@entry(inline=True)
def impulses(n: int, x: np.ndarray, mu: np.ndarray, a: np.ndarray, lcp: Any, Lambda: np.ndarray) -> None:
    """Lambda (k, 2), normal and tangential, from a solution x of the scaled LCP of n rows; absent parts are zero."""
    for k in range(Lambda.shape[0]):
        Lambda[k, 0] = 0.0
        Lambda[k, 1] = 0.0
    for i in range(n):
        if lcp.part[i] < LEFT:
            Lambda[lcp.rows[i], lcp.part[i]] = x[i] * lcp.scale[i]
    for i in range(n):
        if lcp.part[i] == RIGHT:
            k = lcp.rows[i]
            bound = mu[k] * Lambda[k, 0] + a[k]
            Lambda[k, 1] = max(-bound, min(bound, Lambda[k, 1] - bound))
    for i in range(n):
        if lcp.part[i] == LEFT and x[i] > 0.0:  # xi_L > 0 means Lambda_L = 0, the upper bound exactly:
            k = lcp.rows[i]  # round-off below it would read as a stick that slips
            Lambda[k, 1] = mu[k] * Lambda[k, 0] + a[k]


def new_lcp(E: np.ndarray, b: np.ndarray, mu: np.ndarray, a: np.ndarray, d: np.ndarray) -> PlanarLcp:
    """The scaled LCP of k contacts; arguments as of `assemble`."""
    rows = 3 * len(mu)
    lcp = PlanarLcp(
        np.empty((rows, rows)), np.empty(rows), np.empty(rows), np.empty(rows, np.int64), np.empty(rows, np.int64)
    )
    n = assemble(*(np.ascontiguousarray(part) for part in (E, b, mu, a, d)), lcp)
    return PlanarLcp(np.ascontiguousarray(lcp.A[:n, :n]), lcp.b[:n], lcp.scale[:n], lcp.rows[:n], lcp.part[:n])


def impulses_of(x: np.ndarray, lcp: PlanarLcp, mu: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lambda_N and Lambda_T, (k,) each, from a solution x of the scaled LCP."""
    Lambda = np.empty((len(mu), 2))
    numbers = (np.ascontiguousarray(part, float) for part in (x, mu, a))
    impulses(len(lcp.b), *numbers, lcp, Lambda)
    return Lambda[:, 0].copy(), Lambda[:, 1].copy()
