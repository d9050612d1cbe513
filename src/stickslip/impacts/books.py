"""Books of impacts, one row per state: by the compiled loop of stacks, and by the reference for one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stickslip.checks import Array


class Books(NamedTuple):
    """Books of k states with n contacts and f velocities.

    Attributes
    ----------
    u : velocities after the impact, (k, f)
    Lambda, before, after : impulses, relative velocities before and after, normal and tangential, (k, n, 2)
    book : energies and residual, (k, 6), in the order of `impacts.kernel.ENERGY` and so on
    state, reversal, closed : of every contact, (k, n)
    status : what the compiled loop says of the state, (k,)
    """

    u: Array
    Lambda: Array
    before: Array
    after: Array
    book: Array
    state: np.ndarray
    reversal: np.ndarray
    closed: np.ndarray
    status: np.ndarray

    @classmethod
    def room(cls, k: int, n: int, f: int) -> Books:
        return cls(
            np.empty((k, f)),
            np.zeros((k, n, 2)),
            np.empty((k, n, 2)),
            np.empty((k, n, 2)),
            np.zeros((k, 6)),
            np.zeros((k, n), np.int8),
            np.zeros((k, n), np.bool_),
            np.zeros((k, n), np.bool_),
            np.zeros(k, np.int8),
        )

    def rows(self, part: Any) -> Books:
        """The books of some states."""
        return Books(*(array[part] for array in self))

    def put_rows(self, part: Any, rows: Books) -> None:
        """Replace the books of some states."""
        for array, values in zip(self, rows, strict=True):
            array[part] = values
