"""Arguments and answers of the LCP solvers: checks of arrays, tolerances and limits, and `LCPSolution`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stickslip.checks import refuse_masked, refuse_too_long, shown, whole_number


class LCPSolution(NamedTuple):
    """Answer to  y = A x + b,  0 <= y perp x >= 0  (for a mixed problem y = 0 where x is free).

    When `solved`, x and y are non-negative and complementary exactly, and y = A x + b holds to `residual`: the
    largest |error_i| / (|b_i| + sum_j |a_ij| x_j).  When not, x is the best point found and y = A x + b.

    For a stack of k problems every field has a leading axis of length k and `status` is an array of sentences.

    Attributes
    ----------
    x, y : unknowns, shape (n,) or (k, n).
    solved : whether `residual` <= the tolerance asked for.
    status : what happened, as a sentence.
    residual : scaled natural-map residual (see `stickslip.lcp.residuals`), dimensionless.
    iterations : pivots, sweeps, Newton steps or supports looked at.
    method : the method that gave this answer ("lemke", "newton", ...).
    ray : direction in x of the secondary ray on which Lemke's method ended, else None.
    proof : v >= 0 with A^T v <= 0 and b^T v < 0, so that v^T (A x + b) < 0 for every x >= 0: no solution; else None.
    isolated : False for the representative of a continuum of solutions (enumeration only), else None.
    """

    x: np.ndarray
    y: np.ndarray
    solved: Any
    status: Any
    residual: Any
    iterations: Any
    method: str = ""
    ray: np.ndarray | None = None
    proof: np.ndarray | None = None
    isolated: bool | None = None

    def __bool__(self) -> bool:
        """True when solved; for a stack, when all are."""
        return bool(np.all(self.solved))

    def __str__(self) -> str:
        if np.ndim(self.solved):
            return f"{len(self.x)} LCPs of n = {self.x.shape[-1]}: {int(np.sum(self.solved))} solved by {self.method}"
        x, y = (np.array2string(v, precision=6, threshold=8, edgeitems=3) for v in (self.x, self.y))
        return f"{self.status}, residual {self.residual:.1e}\n  x = {x}\n  y = {y}"


def checked_matrix(A: Any, name: str = "A", stack: bool = False) -> np.ndarray:
    """A as a contiguous float array, square, finite; ValueError naming what came otherwise."""
    M = _floats(A, name)
    if M.ndim != 2 and not (stack and M.ndim == 3):
        wanted = "(n, n), or (k, n, n) for a stack" if stack else "(n, n)"
        raise ValueError(f"{name} must have shape {wanted}, got {M.shape}.")
    if M.shape[-1] != M.shape[-2]:
        raise ValueError(f"{name} must be square, got shape {M.shape}; an LCP has one equation y_i per unknown x_i.")
    _check_finite(M, name)
    return M


def checked_problem(A: Any, b: Any, stack: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """(A, b) as contiguous float arrays of matching shapes, finite; ValueError naming what came otherwise."""
    M = checked_matrix(A, stack=stack)
    v = _floats(b, "b")
    if v.shape != M.shape[:-1]:
        raise ValueError(f"b must have shape {M.shape[:-1]} to match A of shape {M.shape}, got {v.shape}.")
    _check_finite(v, "b")
    return M, v


def checked_tolerance(tol: Any) -> float:
    """tol as a float between 0 and 1, both excluded; ValueError otherwise."""
    if isinstance(tol, (int, float, np.floating, np.integer)) and 0.0 < tol < 1.0:
        return float(tol)
    raise ValueError(f"tol must be a number between 0 and 1 (relative, such as 1e-10), got {shown(tol)}.")


def checked_count(value: Any, name: str, default: int) -> int:
    """value as a whole number >= 1, `default` for None; ValueError that names the argument otherwise."""
    return default if value is None else whole_number(value, name)


def checked_start(x0: Any, n: int) -> np.ndarray:
    """A copy of the start x0, shape (n,), zeros for None; ValueError for another shape or a number not finite."""
    if x0 is None:
        return np.zeros(n)
    x = _floats(x0, "x0")
    if x.shape != (n,):
        raise ValueError(f"x0 must have shape ({n},), one start value per unknown, got {x.shape}.")
    _check_finite(x, "x0")
    return x.copy()


def checked_mask(free: Any, n: int) -> np.ndarray:
    """free as a boolean mask of shape (n,); ValueError for another type or shape."""
    refuse_masked(free, "free")
    mask = np.asarray(free)
    if mask.dtype != bool or mask.shape != (n,):
        raise ValueError(
            f"free must be a boolean mask of shape ({n},), True where the unknown may have any sign, "
            f"got shape {mask.shape} of {mask.dtype}."
        )
    return mask


def _floats(value: Any, name: str) -> np.ndarray:
    refuse_masked(value, name)
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "bifu":
            raise TypeError
        refuse_too_long(array, name)
        floats = np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)
        # The solvers would be compiled anew for arrays that are read-only, and refuse those that are not aligned.
        return floats if floats.flags.carray else floats.copy()
    except (TypeError, ValueError) as problem:
        raise ValueError(
            f"{name} must be a rectangular array of real numbers, got {_describe(value)}; "
            f"convert it with numpy.asarray({name}, dtype=float)."
        ) from problem


def _describe(value: Any) -> str:
    return (
        f"an array of {value.dtype}" if isinstance(value, np.ndarray) else f"{type(value).__name__} {str(value)[:60]!r}"
    )


def _check_finite(array: np.ndarray, name: str) -> None:
    if not np.all(np.isfinite(array)):
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name} must be finite, got {array[where]} at index {where}.")
