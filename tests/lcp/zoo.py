"""The check of an answer on its own problem."""

from __future__ import annotations

import numpy as np

from stickslip.lcp.problems import LCPSolution


def worst_violation(A: np.ndarray, b: np.ndarray, s: LCPSolution) -> float:
    """Largest violation of x >= 0, y >= 0, x_i y_i = 0, y = A x + b, each relative to the numbers that make it up.

    Written without the package's own residual.
    """
    size = np.abs(b) + np.abs(A) @ np.abs(s.x)
    size = np.where(size > 0.0, size, 1.0)
    equation = np.abs(A @ s.x + b - s.y) / size
    signs = np.maximum(-s.x.min(initial=0.0), -s.y.min(initial=0.0))
    product = np.abs(s.x * s.y).max(initial=0.0)
    return float(max(equation.max(initial=0.0), signs, product))
