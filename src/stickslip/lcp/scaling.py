"""Problems with entries near the ends of the floating-point range: rows and columns multiplied by powers of two first.

Multiplying by a power of two changes no digit, so the scaled problem is the given one in other units.  The solvers
scale on their own too, but their factors, products and right-hand sides overflow once entries differ by some 10^150.
Whatever comes back is judged on the problem as it was given.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

ORDINARY = 256
"""Problems whose nonzero entries lie within 2^-256 and 2^256 (some 10^-77 and 10^77) are solved as they are."""
_ROUNDS = 20


class ScaledProblem(NamedTuple):
    """A' = 2^rows A 2^columns and b' = 2^(rows + right) b, whose solutions are x = 2^(columns - right) x'."""

    A: np.ndarray
    b: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    right: int

    def unknowns(self, x: np.ndarray) -> np.ndarray:
        """x of the given problem from x' of this one; may overflow or vanish."""
        return _times_power(x, self.columns - self.right)

    def start(self, x: np.ndarray) -> np.ndarray:
        """Start x' of this problem from the start x of the given problem."""
        return _times_power(x, self.right - self.columns)

    def direction(self, ray: np.ndarray) -> np.ndarray:
        """Direction in x of the given problem, from a direction in x' of this problem; its length means nothing."""
        return _of_size_one(ray, self.columns)

    def multipliers(self, v: np.ndarray) -> np.ndarray:
        """Row factors of the given problem from row factors v of this problem; their common factor means nothing."""
        return _of_size_one(v, self.rows)


def is_far_out(A: np.ndarray, b: np.ndarray) -> bool:
    """Whether some nonzero entry is so large or so small that products of entries may leave the range."""
    sizes = np.abs(np.concatenate([A.ravel(), b]))
    sizes = sizes[sizes > 0.0]
    return bool(sizes.size and (sizes.max() > 2.0**ORDINARY or sizes.min() < 2.0**-ORDINARY))


def scaled(A: np.ndarray, b: np.ndarray) -> ScaledProblem:
    """The problem with exponents as near to zero as factors of rows and columns bring them (least squares)."""
    n = len(b)
    whole = np.column_stack([A, b])
    mantissas, exponents = np.frexp(whole)
    there = (mantissas != 0.0).astype(float)
    rows, columns = np.zeros(n), np.zeros(n + 1)
    in_row, in_column = np.maximum(1.0, there.sum(axis=1)), np.maximum(1.0, there.sum(axis=0))
    for _ in range(_ROUNDS):  # alternating means: each halves the sum of squares that its factors can remove
        rows = -(there * (exponents + columns)).sum(axis=1) / in_row
        columns = -(there * (exponents + rows[:, None])).sum(axis=0) / in_column
    r, c = np.rint(rows).astype(np.int64), np.rint(columns).astype(np.int64)
    # Where no factors bring a row into the range, its small entries vanish: a large entry that overflows would be
    # worse.
    largest = np.where(there > 0.0, exponents + r[:, None] + c, -ORDINARY).max(axis=1)
    r -= np.maximum(0, largest - ORDINARY)
    new = _times_power(whole, r[:, None] + c)
    return ScaledProblem(np.ascontiguousarray(new[:, :n]), np.ascontiguousarray(new[:, n]), r, c[:n], int(c[n]))


def _times_power(values: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore", under="ignore"):
        # Not in one step: 2^e itself may not exist where the product does.
        return np.asarray(np.ldexp(values, np.clip(exponents, -5000, 5000).astype(np.int32)))


def _of_size_one(values: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """values 2^exponents divided by a power of two that brings the largest near 1."""
    own = np.frexp(values)[1] + exponents
    largest = int(own[values != 0.0].max(initial=-(2**31))) if np.any(values) else 0
    return _times_power(values, exponents - largest)
