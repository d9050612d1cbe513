"""Stacks of problems: as one problem after another, in any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from stickslip.bench.random_problems import KINDS, random_lcp
from stickslip.lcp import threads as sharing
from stickslip.lcp.infeasibility import proves_no_solution
from stickslip.lcp.solve import METHODS, solve_lcp


def stack(kind: str, n: int, k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    pairs = [random_lcp(kind, n, rng) for _ in range(k)]
    return np.array([A for A, _ in pairs]), np.array([b for _, b in pairs])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 3, 6, 15])
def test_stack_equals_single_solves(kind: str, n: int, method: str) -> None:
    if method == "enumerate" and n > 6:
        pytest.skip("2^15 supports of 30 problems")
    A, b = stack(kind, n, 30, seed=n)
    limit = 200 if method == "gauss-seidel" else None
    many = solve_lcp(A, b, method, max_iterations=limit)
    assert many.x.shape == many.y.shape == b.shape
    assert many.solved.shape == many.residual.shape == many.iterations.shape == many.status.shape == b.shape[:1]
    assert many.solved.dtype == bool
    for i in range(len(b)):
        one = solve_lcp(A[i], b[i], method, max_iterations=limit)
        assert one.solved == many.solved[i]
        assert isinstance(many.status[i], str) and ("solved" in many.status[i]) == (
            one.solved or "solved" in one.status
        )
        if one.solved:
            # Not always the same bits: the two are compiled apart, and sums may be taken in another order.
            size = np.abs(one.x).max()
            np.testing.assert_allclose(many.x[i], one.x, rtol=1e-9, atol=1e-12 * size)
            assert many.residual[i] <= 1e-10


def test_stack_of_well_conditioned_problems_to_round_off() -> None:
    rng = np.random.default_rng(3)
    B = rng.standard_normal((200, 6, 6))
    A, b = B @ B.transpose(0, 2, 1) + np.eye(6), rng.standard_normal((200, 6))
    many = solve_lcp(A, b)
    for i in range(200):
        one = solve_lcp(A[i], b[i])
        np.testing.assert_allclose(many.x[i], one.x, rtol=0, atol=1e-14)
        np.testing.assert_allclose(many.y[i], one.y, rtol=0, atol=1e-13)
        assert many.iterations[i] == one.iterations


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("k", "n"), [(0, 3), (0, 0), (4, 0), (1, 1)])
def test_empty_and_tiny_stacks(k: int, n: int, method: str) -> None:
    s = solve_lcp(np.ones((k, n, n)), -np.ones((k, n)), method)
    assert s.x.shape == s.y.shape == (k, n)
    assert s.solved.shape == (k,) and s.solved.all() and bool(s)
    np.testing.assert_array_equal(s.x, np.ones((k, n)))


def test_unsolvable_members_are_told_apart() -> None:
    """One solved, one without solution (proved), one with a solution that Lemke's first path misses."""
    A = np.array([[[2.0, 1.0], [1.0, 2.0]], [[0.0, 0.0], [0.0, 1.0]], [[-1.0, 1.0], [1.0, -1.0]]])
    b = np.array([[-5.0, -6.0], [-1.0, -1.0], [-1.0, 2.0]])
    s = solve_lcp(A, b)
    assert not bool(s)
    for i in range(3):
        one = solve_lcp(A[i], b[i])
        assert one.solved == s.solved[i]
        if not one.solved:
            assert s.status[i] == one.status
    assert s.solved[0] and not s.solved[1]
    assert s.proof is not None and s.proof.shape == b.shape
    assert proves_no_solution(A[1], b[1], s.proof[1])
    assert np.isnan(s.proof[0]).all()
    assert s.ray is None or s.ray.shape == b.shape


@pytest.mark.parametrize("method", ("auto", "lemke", "newton", "gauss-seidel", "enumerate"))
def test_result_does_not_depend_on_the_number_of_threads(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "OPERATIONS_PER_THREAD", 1)  # even a small stack in threads
    A, b = stack("contact", 6, 500, seed=11)
    threads = sharing.get_threads()
    results = []
    try:
        for count in sorted({1, threads}):
            sharing.set_threads(count)
            results += [
                solve_lcp(A, b, method, max_iterations=100 if method == "gauss-seidel" else None) for _ in range(2)
            ]
    finally:
        sharing.set_threads(None)
    for other in results[1:]:
        np.testing.assert_array_equal(results[0].x, other.x)
        np.testing.assert_array_equal(results[0].residual, other.residual)
        np.testing.assert_array_equal(results[0].solved, other.solved)


def test_one_bad_problem_does_not_spoil_its_neighbours() -> None:
    A, b = stack("P", 6, 50, seed=5)
    alone = solve_lcp(A, b)
    A[20], b[20] = 0.0, -1.0
    spoiled = solve_lcp(A, b)
    assert not spoiled.solved[20] and spoiled.solved.sum() == 49
    keep = np.arange(50) != 20
    np.testing.assert_array_equal(alone.x[keep], spoiled.x[keep])
