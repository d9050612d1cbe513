"""The dense kernels inside kernels of the user: no Python, no allocation."""

from __future__ import annotations

import resource

import numpy as np
import pytest

from stickslip.jit import entry
from stickslip.lcp.gauss_seidel import projected_gauss_seidel
from stickslip.lcp.lemke import lemke, workspace
from stickslip.lcp.newton import semismooth_newton
from stickslip.lcp.newton import workspace as newton_workspace
from stickslip.lcp.pivoting import SOLVED
from stickslip.lcp.solve import solve_lcp


@entry
def load_ramp(A: np.ndarray, b: np.ndarray, loads: np.ndarray, X: np.ndarray, work: tuple) -> int:
    """A user's loop: one LCP a load, y = A x + load b."""
    n = len(b)
    right, x, y, ray = X[-1], X[-2], X[-3], X[-4]  # borrowed rows, to allocate nothing here either
    solved = 0
    for k in range(len(loads)):
        for i in range(n):
            right[i] = loads[k] * b[i]
        status, _, _ = lemke(A, right, x, y, ray, work, 1000, 1e-10)
        solved += status == SOLVED
        for i in range(n):
            X[k, i] = x[i]
    return solved


@entry
def other_methods(
    A: np.ndarray, b: np.ndarray, free: np.ndarray, x: np.ndarray, y: np.ndarray, work: tuple, more: tuple
) -> int:
    solved = 0
    for _ in range(100):
        for i in range(len(b)):
            x[i] = 0.0
        solved += projected_gauss_seidel(A, b, x, y, work, 1000, 1e-10)[0] == SOLVED
        for i in range(len(b)):
            x[i] = 0.0
        solved += semismooth_newton(A, b, free, x, y, more, 100, 1e-10)[0] == SOLVED
    return solved


def problem(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    B = rng.standard_normal((n, n))
    return B @ B.T + np.eye(n), rng.standard_normal(n)


@pytest.mark.parametrize("n", [1, 3, 6, 11, 12, 13, 30])
def test_lemke_in_a_loop_of_the_user(n: int) -> None:
    A, b = problem(n)
    loads = np.linspace(-2.0, 2.0, 50)
    X = np.zeros((len(loads) + 4, n))
    work = workspace(n)
    assert load_ramp(A, b, loads, X, work) == len(loads)
    for k, load in enumerate(loads):
        np.testing.assert_allclose(X[k], solve_lcp(A, load * b).x, rtol=1e-12, atol=1e-14)


def test_kernels_do_not_allocate() -> None:
    """The text of a kernel calls `malloc` wherever it takes memory."""
    A, b = problem(12)
    loads = np.linspace(-2.0, 2.0, 200)
    X = np.zeros((len(loads) + 4, 12))
    work, more = workspace(12), newton_workspace(12)
    free, x, y = np.zeros(12, dtype=bool), np.zeros(12), np.zeros(12)
    assert other_methods(A, b, free, x, y, work, more) == 200
    assert "malloc" not in load_ramp.text(A, b, loads, X, work)
    assert "malloc" not in other_methods.text(A, b, free, x, y, work, more)
    assert "malloc" in workspace.text(12)


def test_fast_lane_and_stack_give_their_memory_back() -> None:
    """Every call makes workspaces on the heap, 110 kB each: 200 MB in all, were they not freed."""
    A, b = problem(80)
    stack_A, stack_b = np.repeat(A[None], 3, axis=0), np.repeat(b[None], 3, axis=0)

    def run(times: int) -> int:
        for _ in range(times):
            solve_lcp(A, b)
            solve_lcp(stack_A, stack_b)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = run(20)
    assert run(1000) - before < 20_000  # [kB]
