"""Memory for the arrays of one problem, asked for once: a request for each array would take longer than small problems.

Arrays are taken one behind the other, and are given back with the pool.  Their values are those that lay there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stickslip.jit import kernel


class Pool(NamedTuple):
    """Memory, and how much of it is taken; whoever makes it knows how much is needed."""

    numbers: np.ndarray  # float
    whole: np.ndarray  # int
    truths: np.ndarray  # bool
    taken: np.ndarray  # (3,) elements of each


SMALL = 8192  # numbers that lie on the stack, 64 kB
SMALL_WHOLE, SMALL_TRUTHS = 1024, 1024


@kernel(inline=True)
def pool_of(numbers: int, whole: int, truths: int) -> Any:
    """Memory for these numbers of elements: on the stack of the caller where they are few."""
    a, b = np.empty(SMALL), np.empty(numbers if numbers > SMALL else 0)
    c, d = np.empty(SMALL_WHOLE, np.int64), np.empty(whole if whole > SMALL_WHOLE else 0, np.int64)
    e, f = np.empty(SMALL_TRUTHS, np.bool_), np.empty(truths if truths > SMALL_TRUTHS else 0, np.bool_)
    return Pool(
        a if numbers <= SMALL else b,
        c if whole <= SMALL_WHOLE else d,
        e if truths <= SMALL_TRUTHS else f,
        np.zeros(3, np.int64),
    )


@kernel(inline=True)
def numbers(pool: Pool, n: int) -> Any:
    """The next n numbers."""
    first = pool.taken[0]
    pool.taken[0] = first + n
    return pool.numbers[first : first + n]


@kernel(inline=True)
def table(pool: Pool, n: int, columns: int) -> Any:
    """The next n rows of numbers."""
    return numbers(pool, n * columns).reshape(n, columns)


@kernel(inline=True)
def zeros(pool: Pool, n: int) -> Any:
    """The next n numbers, set to zero."""
    found = numbers(pool, n)
    for i in range(n):
        found[i] = 0.0
    return found


@kernel(inline=True)
def zero_table(pool: Pool, n: int, columns: int) -> Any:
    """The next n rows of numbers, set to zero."""
    return zeros(pool, n * columns).reshape(n, columns)


@kernel(inline=True)
def whole_numbers(pool: Pool, n: int) -> Any:
    """The next n whole numbers."""
    first = pool.taken[1]
    pool.taken[1] = first + n
    return pool.whole[first : first + n]


@kernel(inline=True)
def truths(pool: Pool, n: int) -> Any:
    """The next n truths, all False."""
    first = pool.taken[2]
    pool.taken[2] = first + n
    found = pool.truths[first : first + n]
    for i in range(n):
        found[i] = False
    return found
