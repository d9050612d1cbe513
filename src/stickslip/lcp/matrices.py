"""Matrix classes that decide what an LCP can be expected to have: P, PSD, copositive, Z.

Up to n = 12 the answers are exact for the floating-point entries given.  The sign of every principal minor comes from
an LU factorisation with an error bound; where the bound leaves the sign open, integer arithmetic decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

EXACT_LIMIT = 12

GUARANTEES = {
    "P": "exactly one solution for every b; Lemke's method finds it",
    "PSD": "the solutions form a convex set; Lemke's method finds one whenever x >= 0, A x + b >= 0 can be met",
    "copositive": "Lemke's method ends on a ray only if b rules a solution out or A is not copositive-plus",
    "Z": "if x >= 0, A x + b >= 0 can be met, the least such x is a solution",
}


@dataclass(frozen=True)
class MatrixClass:
    """Classes that a matrix belongs to; a field is None where n > 12 leaves it undecided.

    Attributes
    ----------
    P : all principal minors > 0.
    PSD : x^T A x >= 0 for all x.
    copositive : x^T A x >= 0 for all x >= 0.
    Z : no positive entry off the diagonal.

    `"P" in result`, `list(result)` and `str(result)` use the names of the classes that hold.
    """

    P: bool | None
    PSD: bool | None
    copositive: bool | None
    Z: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the classes that hold, in the order P, PSD, copositive, Z."""
        return tuple(name for name in GUARANTEES if getattr(self, name))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __str__(self) -> str:
        return ", ".join(self.names) or "none"

    def explain(self) -> str:
        """One line for each class that holds: what it promises about solutions and about Lemke's method."""
        lines = [f"{name}: {GUARANTEES[name]}" for name in self.names]
        undecided = [name for name in GUARANTEES if getattr(self, name) is None]
        if undecided:
            lines.append(f"undecided for n > {EXACT_LIMIT}: {', '.join(undecided)}")
        return (
            "\n".join(lines) or "none: solutions may be absent, single or several; enumerate_lcp lists them for n <= 20"
        )


def _integers(A: np.ndarray) -> list[list[int]]:
    """The entries times a common power of two, exactly."""
    fractions = [[Fraction(float(a)) for a in row] for row in A]
    common = max((f.denominator for row in fractions for f in row), default=1)
    return [[int(f * common) for f in row] for row in fractions]


def _exact_sign(rows: list[list[int]], subset: tuple[int, ...]) -> int:
    """Sign of the determinant of a principal submatrix, by fraction-free elimination (Bareiss)."""
    M = [[rows[i][j] for j in subset] for i in subset]
    k = len(M)
    sign, previous = 1, 1
    for step in range(k - 1):
        if M[step][step] == 0:
            swap = next((i for i in range(step + 1, k) if M[i][step] != 0), None)
            if swap is None:
                return 0
            M[step], M[swap] = M[swap], M[step]
            sign = -sign
        for i in range(step + 1, k):
            for j in range(step + 1, k):
                M[i][j] = (M[i][j] * M[step][step] - M[i][step] * M[step][j]) // previous
        previous = M[step][step]
    value = M[-1][-1] * sign
    return (value > 0) - (value < 0)


class _MinorSigns:
    """Signs of principal minors of one matrix, certain for its floating-point entries."""

    def __init__(self, A: np.ndarray) -> None:
        self.A = A
        self._rows: list[list[int]] | None = None

    def sign(self, subset: tuple[int, ...]) -> int:
        S = self.A[np.ix_(subset, subset)]
        scale = np.abs(S).max(axis=1)
        if np.any(scale == 0.0):
            return 0
        if np.all(scale >= np.finfo(float).tiny):
            S = S / scale[:, None]
            sign, logdet = np.linalg.slogdet(S)
            # Rows have size 1, so Hadamard bounds the determinant by k^(k/2); round-off is far below 1e-10 k^(k/2).
            if sign != 0 and logdet > np.log(1e-10) + 0.5 * len(subset) * np.log(len(subset)):
                return int(sign)
        return self.exact(subset)

    def exact(self, subset: tuple[int, ...]) -> int:
        if self._rows is None:
            self._rows = _integers(self.A)
        return _exact_sign(self._rows, subset)


def _subsets(n: int) -> Iterator[tuple[int, ...]]:
    return (s for size in range(1, n + 1) for s in combinations(range(n), size))


def _copositive(S: np.ndarray, signs: _MinorSigns) -> bool:
    """Whether the symmetric matrix S is copositive: its principal submatrices are looked at in the order of their size.

    If all smaller principal submatrices are copositive, S_ss is not copositive iff det S_ss < 0 and S_ss^-1 <= 0
    (Cottle, Habetler and Lemke 1970; Hadeler 1983).
    """
    return not any(signs.sign(subset) < 0 and _inverse_nonpositive(S, subset) for subset in _subsets(len(S)))


def _inverse_nonpositive(S: np.ndarray, subset: tuple[int, ...]) -> bool:
    """Whether no entry of S_ss^-1 is positive; exact arithmetic where floating point cannot tell."""
    T = S[np.ix_(subset, subset)]
    scale = np.sqrt(np.abs(T).max(axis=1))
    T = T / scale[:, None] / scale
    with np.errstate(all="ignore"):
        certain = 1.0 / np.linalg.cond(T, 1) > 1e-7
    if certain:
        inverse = np.linalg.inv(T)
        margin = 1e-6 * np.abs(inverse).max()
        if np.all(inverse < -margin):
            return True
        if np.any(inverse > margin):
            return False
    rows = [[Fraction(float(S[i, j])) for j in subset] for i in subset]
    return all(value <= 0 for row in _exact_inverse(rows) for value in row)


def _exact_inverse(rows: list[list[Fraction]]) -> list[list[Fraction]]:
    k = len(rows)
    T = [[*row, *(Fraction(int(i == j)) for j in range(k))] for i, row in enumerate(rows)]
    for step in range(k):
        swap = next(i for i in range(step, k) if T[i][step] != 0)
        T[step], T[swap] = T[swap], T[step]
        T[step] = [value / T[step][step] for value in T[step]]
        for i in range(k):
            if i != step and T[i][step] != 0:
                T[i] = [a - T[i][step] * c for a, c in zip(T[i], T[step], strict=True)]
    return [row[k:] for row in T]


def classify(A: np.ndarray, tol: float = 0.0) -> MatrixClass:
    """Classes of a square matrix that has been checked already; `classify_matrix` is the public call.

    For `tol` > 0, PSD and copositive are asked of the symmetric part plus tol max|a_ij| I.
    """
    n = len(A)
    if n == 0:
        return MatrixClass(True, True, True, True)
    off_diagonal = A - np.diag(np.diag(A))
    Z = bool(np.all(off_diagonal <= 0.0))
    S = 0.5 * A + 0.5 * A.T
    if tol > 0.0:
        S = S + tol * np.abs(A).max() * np.eye(n)
    if n > EXACT_LIMIT:
        eigenvalues = np.linalg.eigvalsh(S)
        margin = 1e-13 * n * max(abs(eigenvalues[0]), abs(eigenvalues[-1]))
        if eigenvalues[0] > margin:
            return MatrixClass(True, True, True, Z)
        PSD = None if abs(eigenvalues[0]) <= margin else False
        negative = bool(np.any(np.diag(A) < 0.0))
        nonnegative = bool(np.all(A >= 0.0))
        P = False if np.any(np.diag(A) <= 0.0) else None
        return MatrixClass(P, PSD, False if negative else (True if nonnegative else None), Z)
    minors = _MinorSigns(A)
    symmetric = minors if np.array_equal(A, S) else _MinorSigns(S)
    P = all(minors.sign(s) > 0 for s in _subsets(n))
    PSD = all(symmetric.sign(s) >= 0 for s in _subsets(n))
    return MatrixClass(P, PSD, PSD or _copositive(S, symmetric), Z)
