"""Every method against enumeration, on problems of every kind; a "solved" that is not must never appear."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stickslip.bench.random_problems import KINDS, random_lcp
from stickslip.lcp.solve import METHODS, enumerate_lcp, solve_lcp
from tests.lcp.zoo import worst_violation
from tests.thinned import examples, thinned

TOL = 1e-10


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 7))
@thinned
@settings(max_examples=examples(70, 350), deadline=None)
def test_methods_agree_with_enumeration(kind: str, seed: int, n: int) -> None:
    A, b = random_lcp(kind, n, np.random.default_rng(seed))
    everything = enumerate_lcp(A, b, tol=TOL)
    for s in everything:
        assert worst_violation(A, b, s) <= TOL
    for method in METHODS:
        s = solve_lcp(A, b, method, tol=TOL, max_iterations=300 if method == "gauss-seidel" else None)
        if s.solved:
            assert worst_violation(A, b, s) <= TOL
            assert everything, f"{method} solved a problem that enumeration finds without solution"
        if kind == "P" and method != "gauss-seidel":
            assert s.solved, s.status
        if s.proof is not None:
            assert not s.solved and not everything
    if kind == "P":
        assert len(everything) == 1
        assert everything[0].isolated
    # Up to 12 unknowns `auto` ends with enumeration: it solves exactly the problems that have a solution.
    assert solve_lcp(A, b, "auto", tol=TOL).solved == bool(everything)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 12))
@thinned
@settings(max_examples=examples(60, 300), deadline=None)
def test_gauss_seidel_solves_symmetric_positive_definite(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((n, n))
    A, b = B @ B.T + 0.1 * np.eye(n), rng.standard_normal(n)
    s = solve_lcp(A, b, "gauss-seidel")
    assert s.solved, s.status
    assert worst_violation(A, b, s) <= TOL


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 30))
@thinned
@settings(max_examples=examples(60, 300), deadline=None)
def test_psd_ends_with_a_solution_or_a_proof(seed: int, n: int) -> None:
    """For PSD matrices Lemke's method decides: a ray means that the inequalities cannot be met."""
    A, b = random_lcp("PSD", n, np.random.default_rng(seed))
    s = solve_lcp(A, b, "lemke")
    assert s.solved or s.ray is not None, s.status
    if s.solved:
        assert worst_violation(A, b, s) <= TOL


def census(problems: int, seed: int) -> dict[str, int]:
    """Solve random problems of all kinds in stacks, with every method; count what must not happen."""
    rng = np.random.default_rng(seed)
    counts = {"problems": 0, "lies": 0, "unsolved P": 0, "missed by auto": 0}
    while counts["problems"] < problems:
        for kind in KINDS:
            n = int(rng.integers(1, 10))
            k = min(200, problems)
            pairs = [random_lcp(kind, n, rng) for _ in range(k)]
            A, b = np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])
            counts["problems"] += k
            exists = solve_lcp(A, b, "enumerate", tol=TOL).solved
            for method in METHODS:
                s = solve_lcp(A, b, method, tol=TOL, max_iterations=100 if method == "gauss-seidel" else None)
                size = np.abs(b) + np.einsum("kij,kj->ki", np.abs(A), s.x)
                error = np.abs(np.einsum("kij,kj->ki", A, s.x) + b - s.y) / np.where(size > 0, size, 1.0)
                wrong = (error.max(axis=1) > TOL) | (s.x < 0).any(axis=1) | (s.y < 0).any(axis=1)
                wrong |= (s.x * s.y != 0.0).any(axis=1)
                counts["lies"] += int((wrong & s.solved).sum())
                if kind == "P" and method != "gauss-seidel":
                    counts["unsolved P"] += int((~s.solved).sum())
                if method == "auto":
                    counts["missed by auto"] += int((exists & ~s.solved).sum())
    return counts


def test_census_small() -> None:
    counts = census(200, seed=1)
    assert counts["lies"] == 0
    assert counts["unsolved P"] == 0
    assert counts["missed by auto"] == 0


@pytest.mark.slow
def test_census_of_100_000_problems() -> None:
    counts = census(100_000, seed=2)
    assert counts["problems"] >= 100_000
    assert counts["lies"] == 0
    assert counts["unsolved P"] == 0
    assert counts["missed by auto"] == 0
