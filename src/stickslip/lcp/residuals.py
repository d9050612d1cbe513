"""How far a vector x is from solving the LCP  y = A x + b,  0 <= y perp x >= 0.

One number decides whether a result may be called solved, and every solver of this folder is judged by it:

    residual = max_i r_i,   r_i = |y_i| / s_i         where x_i > 0,
                            r_i = max(0, -y_i) / s_i  where x_i = 0,
    s_i = min( |b_i| + sum_j |a_ij| x_j,  10^6 beta_i ),   beta_i = max_j(|b_j| / a_j) a_i,   a_i = max_j |a_ij|.

This is the natural map min(x_i / t_i, y_i / s_i) in its strictest scaling, t_i -> 0: a positive x_i counts as positive
however small it is.  It is also a componentwise backward error (Oettli and Prager): x solves exactly an LCP whose
entries a_ij, b_i differ from the given ones by at most `residual`, relatively.  The residual does not change when rows
are multiplied by positive numbers, so one tolerance serves inertias of 1e-9 and of 1e3.

The bound 10^6 beta_i, with beta_i the size of b in the units of row i, keeps out the false solutions of nearly singular
problems.  At x ~ 10^16 the sums drown b, and without the bound any x along a near-null direction would look solved.
Where the bound is in force, the round-off of the sum counts as an error, too.

A row whose terms leave the range of floating-point numbers is summed again with its powers of two split off
(`row_by_exponents`): an overflow or a vanished product is no evidence of a solution.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.jit import entry

AMPLIFICATION = 1e6
IMPULSE_SHARE = 1e-4
"""Share of the velocities that impulses make, in the scale of a contact step: see `PlanarProblem.residual`."""
EPSILON = float(np.finfo(np.float64).eps)
SMALL, LARGE = 2.0**-900, 2.0**900  # sums outside are taken by exponents: some of their terms may have vanished
_NO_FREE = np.zeros(0, np.bool_)


@entry(inline=True)
def largest_entry(A: np.ndarray, i: int, n: int) -> float:
    """Largest entry of row i by absolute value, max_j |a_ij| over the first n columns."""
    largest = 0.0
    for j in range(n):
        largest = max(largest, abs(A[i, j]))
    return largest


@entry
def right_hand_size(A: np.ndarray, b: np.ndarray) -> float:
    """max_i |b_i| / max_j |a_ij|: the size of b in the units of x."""
    n = b.shape[0]
    beta = 0.0
    for i in range(n):
        largest = largest_entry(A, i, n)
        if largest > 0.0:
            beta = max(beta, abs(b[i]) / largest)
    return beta


@entry
def right_hand_size_by_exponents(A: np.ndarray, b: np.ndarray) -> tuple:
    """`right_hand_size` as (m, e) for m 2^e, whatever the exponents; m = 0 where b is zero."""
    n = b.shape[0]
    best = 0.0
    exponent = 0
    for i in range(n):
        largest = largest_entry(A, i, n)
        if largest > 0.0 and b[i] != 0.0:
            mb, eb = math.frexp(abs(b[i]))
            ma, ea = math.frexp(largest)
            m, e = math.frexp(mb / ma)
            e += eb - ea
            if best == 0.0 or e > exponent or (e == exponent and m > best):
                best, exponent = m, e
    return best, exponent


@entry
def row_by_exponents(A: np.ndarray, b: np.ndarray, x: np.ndarray, i: int, equation: bool) -> tuple:
    """(r_i, y_i) of a row whose terms are too large or too small to be added up as they are; inf where they overflow.

    Every product is split into a number near 1 and a power of two; the largest power of the row is taken out.  Terms
    that overflow and cancel are no solution, either: nobody can add them up, and their rounding alone may overflow.
    """
    n = b.shape[0]
    top = -100_000
    if b[i] != 0.0:
        top = math.frexp(b[i])[1]
    for j in range(n):
        if A[i, j] != 0.0 and x[j] != 0.0:
            top = max(top, math.frexp(A[i, j])[1] + math.frexp(x[j])[1])
    if top == -100_000:
        return 0.0, 0.0
    right = 0.0
    if b[i] != 0.0:
        m, e = math.frexp(b[i])
        right = math.ldexp(m, e - top)
    value = right
    right = abs(right)
    size = right
    for j in range(n):
        if A[i, j] != 0.0 and x[j] != 0.0:
            ma, ea = math.frexp(A[i, j])
            mx, ex = math.frexp(x[j])
            term = math.ldexp(ma * mx, ea + ex - top)
            value += term
            size += abs(term)
    y = math.ldexp(value, top)
    if not (math.ldexp(size, top) < np.inf):
        return np.inf, y
    defect = abs(value) if (equation or x[i] != 0.0) else -value
    if size > AMPLIFICATION * right:
        m, e = right_hand_size_by_exponents(A, b)
        ma, ea = math.frexp(largest_entry(A, i, n))
        limit = math.ldexp(AMPLIFICATION * m * ma, e + ea - top)
        if size > limit:
            defect = max(defect, 0.0) + EPSILON * size
            size = max(limit, right)
    return max(0.0, defect / size), y


@entry(reorder_sums=True)
def mlcp_residual(A: np.ndarray, b: np.ndarray, free: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    """Write y = A x + b into `y` and return the scaled residual of x; inf where a sign or a value is impossible.

    Where `free[i]`, x_i may have any sign and y_i must vanish; an empty `free` means none is.
    """
    n = b.shape[0]
    mixed = free.shape[0] > 0
    beta = -1.0  # not known yet: seldom needed
    worst = 0.0
    for i in range(n):
        equation = mixed and free[i]
        if not (abs(x[i]) < np.inf and (equation or x[i] >= 0.0)):
            worst = np.inf
        value = b[i]
        size = abs(b[i])
        for j in range(n):
            term = A[i, j] * x[j]
            value += term
            size += abs(term)
        y[i] = value
        defect = abs(value) if (equation or x[i] != 0.0) else -value
        ordinary = SMALL < size < LARGE
        if ordinary and size > AMPLIFICATION * abs(b[i]):  # beta_i is at least |b_i|
            if beta < 0.0:
                beta = right_hand_size(A, b)
            limit = AMPLIFICATION * beta * largest_entry(A, i, n)
            ordinary = SMALL < limit < LARGE
            if size > limit:
                defect = max(defect, 0.0) + EPSILON * size
                size = max(limit, abs(b[i]))
        if not ordinary:
            ratio, y[i] = row_by_exponents(A, b, x, i, equation)
            worst = max(worst, ratio)
        elif defect > worst * size:
            worst = defect / size
        elif not (defect <= worst * size):  # NaN
            worst = np.inf
    return worst


@entry(inline=True)
def lcp_residual(A: np.ndarray, b: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    """Write y = A x + b into `y` and return the scaled residual of x for an LCP without free unknowns."""
    return mlcp_residual(A, b, _NO_FREE, x, y)


@entry(inline=True)
def make_complementary(x: np.ndarray, y: np.ndarray) -> None:
    """Set y_i to 0 where x_i > 0 and to max(0, y_i) elsewhere.

    Afterwards x and y are complementary exactly, and y = A x + b holds up to the residual.
    """
    for i in range(x.shape[0]):
        if x[i] > 0.0 or y[i] < 0.0:
            y[i] = 0.0
