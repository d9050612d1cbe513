"""Proof that an LCP has no solution: v >= 0 with A^T v <= 0 and b^T v < 0 (Farkas).

For every x >= 0 then v^T (A x + b) = (A^T v)^T x + b^T v < 0, so A x + b >= 0 is impossible.  The inequalities are
checked in exact rational arithmetic on the floating-point numbers returned: a proof that only holds up to round-off
is not called one.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np

from stickslip.lcp.lemke import lemke_alone, scale
from stickslip.lcp.pivoting import SOLVED


def proves_no_solution(A: np.ndarray, b: np.ndarray, v: np.ndarray) -> bool:
    """Whether v >= 0, A^T v <= 0 and b^T v < 0 hold exactly, in rational arithmetic on the given numbers."""
    if not np.all(np.isfinite(v)) or np.any(v < 0.0) or not np.any(v > 0.0):
        return False
    used = np.flatnonzero(v)
    exact = [Fraction(float(v[i])) for i in used]
    if sum(w * Fraction(float(b[i])) for w, i in zip(exact, used, strict=True)) >= 0:
        return False
    return all(
        sum(w * Fraction(float(A[i, j])) for w, i in zip(exact, used, strict=True)) <= 0 for j in range(A.shape[1])
    )


def _whole_numbers(v: np.ndarray) -> np.ndarray | None:
    """Whole numbers in the proportions of v; None where v has no simple proportions.

    A degenerate proof holds with equality in some inequality, so it is exact only in whole numbers.
    """
    fractions = [Fraction(float(value)).limit_denominator(1000) for value in v / v.max()]
    common = lcm(*(f.denominator for f in fractions))
    if common > 10**9:
        return None
    return np.array([float(f * common) for f in fractions])


def find_proof(A: np.ndarray, b: np.ndarray, hint: np.ndarray | None = None) -> np.ndarray | None:
    """A vector v that proves that the LCP (A, b) has no solution, or None when no proof was found.

    The first candidate is `hint`, a ray of Lemke's path.  The second comes from Lemke's method on the feasibility of
    -A^T v >= 0, -b^T v >= 1, v >= 0  (size 2 n + 1).  Each candidate is tried as it is and rounded to whole numbers.
    """
    candidates = [] if hint is None or not np.any(hint > 0.0) else [hint / hint.max()]
    for attempt in range(2):
        if attempt == 1:
            candidates = _from_feasibility(A, b)
        for v in candidates:
            for w in (v, _whole_numbers(v)):
                if w is not None and proves_no_solution(A, b, w):
                    return w
    return None


def _from_feasibility(A: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
    n = len(b)
    D, r, R, C = np.empty((n, n + 1)), np.empty(n), np.empty(n), np.empty(n)
    if scale(A, b, D, r, R, C) == 0.0:
        return []
    size = 2 * n + 1
    H = np.vstack([-D[:, :n].T, -r[None, :]])
    skew = np.zeros((size, size))
    skew[:n, n:] = -H.T
    skew[n:, :n] = H
    right = np.zeros(size)
    right[-1] = -1.0
    x, y, ray = np.zeros(size), np.empty(size), np.empty(size)
    status, _, _ = lemke_alone(skew, right, x, y, ray, 50 * size + 200, 1e-9, 3)
    v = x[:n] * R
    return [v] if status == SOLVED and np.any(v > 0.0) else []
