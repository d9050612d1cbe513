"""Mixed LCPs: the optimality conditions of quadratic programs, against the programs themselves."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from stickslip.bench.random_problems import random_lcp
from stickslip.lcp.mixed import MIXED_METHODS, solve_mlcp
from stickslip.lcp.solve import solve_lcp

TOL = 1e-10


def optimality(
    H: np.ndarray, c: np.ndarray, E: np.ndarray, e: np.ndarray, G: np.ndarray, h: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Conditions of  min z^T H z / 2 + c^T z,  E z = e,  G z >= h,  for x = (z, multipliers of E, multipliers of G)."""
    p, q = len(e), len(h)
    A = np.block([[H, -E.T, -G.T], [E, np.zeros((p, p)), np.zeros((p, q))], [G, np.zeros((q, p)), np.zeros((q, q))]])
    return A, np.concatenate([c, -e, -h]), np.arange(len(A)) < len(c) + p


def program(m: int, p: int, q: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """A strictly convex program with a feasible point."""
    B = rng.standard_normal((m, m))
    inside = rng.standard_normal(m)
    E, G = rng.standard_normal((p, m)), rng.standard_normal((q, m))
    return B @ B.T + np.eye(m), rng.standard_normal(m) * 3.0, E, E @ inside, G, G @ inside - rng.random(q)


def by_active_sets(
    H: np.ndarray, c: np.ndarray, E: np.ndarray, e: np.ndarray, G: np.ndarray, h: np.ndarray
) -> np.ndarray:
    """The minimiser, by trying every set of active inequalities."""
    m, p, q = len(c), len(e), len(h)
    for active in chain.from_iterable(combinations(range(q), k) for k in range(q + 1)):
        rows = list(active)
        C, d = np.vstack([E, G[rows]]), np.concatenate([e, h[rows]])
        K = np.block([[H, -C.T], [C, np.zeros((len(d), len(d)))]])
        x = np.linalg.lstsq(K, np.concatenate([-c, d]), rcond=None)[0]
        z, multipliers = x[:m], x[m + p :]
        residual = np.abs(K @ x - np.concatenate([-c, d])).max()
        if residual < 1e-8 and np.all(G @ z >= h - 1e-9) and np.all(multipliers >= -1e-9):
            return z
    raise AssertionError("a strictly convex program with a feasible point has a minimiser")


def check(A: np.ndarray, b: np.ndarray, free: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    size = np.abs(b) + np.abs(A) @ np.abs(x)
    assert np.all(np.abs(A @ x + b - y) <= TOL * np.where(size > 0.0, size, 1.0))
    assert np.all(y[free] == 0.0)
    assert np.all(x[~free] >= 0.0) and np.all(y[~free] >= 0.0) and np.all(x[~free] * y[~free] == 0.0)


@pytest.mark.parametrize("method", MIXED_METHODS)
@given(seed=st.integers(0, 2**32 - 1), m=st.integers(1, 6), p=st.integers(0, 3), q=st.integers(0, 5))
@settings(max_examples=60)
def test_quadratic_programs_against_active_sets(method: str, seed: int, m: int, p: int, q: int) -> None:
    data = program(m, min(p, m - 1), q, np.random.default_rng(seed))
    A, b, free = optimality(*data)
    s = solve_mlcp(A, b, free, method)
    assert s.solved, s.status
    check(A, b, free, s.x, s.y)
    np.testing.assert_allclose(s.x[:m], by_active_sets(*data), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("seed", range(10))
def test_quadratic_program_against_scipy(seed: int) -> None:
    H, c, E, e, G, h = data = program(8, 3, 6, np.random.default_rng(seed))
    s = solve_mlcp(*optimality(*data))
    answer = minimize(
        lambda z: 0.5 * z @ H @ z + c @ z,
        np.zeros(8),
        jac=lambda z: H @ z + c,
        constraints=[{"type": "eq", "fun": lambda z: E @ z - e}, {"type": "ineq", "fun": lambda z: G @ z - h}],
        method="SLSQP",
        options={"ftol": 1e-9, "maxiter": 500},
    )
    assert s.solved and answer.success
    np.testing.assert_allclose(s.x[:8], answer.x, rtol=1e-3, atol=1e-3)
    assert 0.5 * s.x[:8] @ H @ s.x[:8] + c @ s.x[:8] <= answer.fun + 1e-9  # ours is the better minimum


@pytest.mark.parametrize("method", MIXED_METHODS)
@pytest.mark.parametrize("seed", range(10))
def test_redundant_constraints(seed: int, method: str) -> None:
    """A bilateral constraint given twice, and one that is the sum of two: the free block is singular, z is not."""
    rng = np.random.default_rng(seed)
    H, c, E, e, G, h = program(6, 2, 4, rng)
    E, e = np.vstack([E, E[0], E[0] + E[1]]), np.concatenate([e, [e[0], e[0] + e[1]]])
    A, b, free = optimality(H, c, E, e, G, h)
    assert np.linalg.matrix_rank(A[np.ix_(free, free)]) < free.sum()
    s = solve_mlcp(A, b, free, method)
    if method == "newton" and not s.solved:
        return  # allowed to give up, not to lie
    assert s.solved, s.status
    check(A, b, free, s.x, s.y)
    np.testing.assert_allclose(s.x[:6], by_active_sets(H, c, E, e, G, h), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("method", MIXED_METHODS)
def test_all_free_is_a_linear_system(method: str) -> None:
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((5, 5)), rng.standard_normal(5)
    s = solve_mlcp(A, b, np.ones(5, dtype=bool), method)
    assert s.solved
    np.testing.assert_allclose(s.x, np.linalg.solve(A, -b), rtol=1e-9)
    np.testing.assert_array_equal(s.y, 0.0)


@pytest.mark.parametrize("kind", ("P", "PSD", "degenerate", "contact"))
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 7))
@settings(max_examples=40)
def test_none_free_is_the_lcp(kind: str, seed: int, n: int) -> None:
    A, b = random_lcp(kind, n, np.random.default_rng(seed))
    none = np.zeros(len(b), dtype=bool)
    one, other = solve_lcp(A, b, "lemke"), solve_mlcp(A, b, none, "lemke")
    assert one.solved == other.solved
    if one.solved:
        check(A, b, none, other.x, other.y)
    if kind == "P":
        assert solve_mlcp(A, b, none).solved


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 8))
@settings(max_examples=60)
def test_lemke_and_newton_agree_on_positive_definite(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    B, K = rng.standard_normal((2, n, n))
    A, b, free = B @ B.T + np.eye(n) + (K - K.T), rng.standard_normal(n), rng.random(n) < 0.5
    first, second = solve_mlcp(A, b, free, "lemke"), solve_mlcp(A, b, free, "newton")
    assert first.solved and second.solved
    check(A, b, free, first.x, first.y)
    np.testing.assert_allclose(first.x, second.x, rtol=1e-8, atol=1e-9)


UNSOLVABLE = {
    "equations that contradict each other": ([[1, 1], [1, 1]], [-1, -2], [True, True]),
    "z = -1 and z >= 0": ([[1, 0], [1, 0]], [1, 0], [True, False]),
    "no equation can hold": ([[0, 0], [0, 1]], [1, -1], [True, False]),
}


@pytest.mark.parametrize("method", MIXED_METHODS)
@pytest.mark.parametrize(("A", "b", "free"), UNSOLVABLE.values(), ids=UNSOLVABLE.keys())
def test_unsolvable_is_said(A: list, b: list, free: list, method: str) -> None:
    s = solve_mlcp(A, b, free, method)
    assert not s.solved and s.residual > TOL
    assert "solved by" not in s.status


@pytest.mark.parametrize("method", MIXED_METHODS)
def test_nothing_to_solve(method: str) -> None:
    s = solve_mlcp(np.zeros((0, 0)), np.zeros(0), np.zeros(0, dtype=bool), method)
    assert s.solved and s.x.shape == (0,)


@pytest.mark.parametrize("spread", [0, 6, 9])
def test_mixed_units(spread: int) -> None:
    """Rows and columns in units that differ by many decades, as inertias and multipliers do."""
    rng = np.random.default_rng(spread)
    for _ in range(30):
        A, b, free = optimality(*program(4, 1, 3, rng))
        R, C = 10.0 ** rng.uniform(-spread, spread, (2, len(b)))
        scaled, right = R[:, None] * A * C, R * b
        s = solve_mlcp(scaled, right, free)
        assert s.solved, s.status
        check(scaled, right, free, s.x, s.y)
        np.testing.assert_allclose(s.x * C, solve_mlcp(A, b, free).x, rtol=1e-5, atol=1e-7)
