"""Named cases from the textbooks, each checked on its own problem."""

from __future__ import annotations

import numpy as np
import pytest

from stickslip.bench.random_problems import contact_lcp, random_lcp
from stickslip.lcp.infeasibility import proves_no_solution
from stickslip.lcp.solve import METHODS, classify_matrix, enumerate_lcp, solve_lcp
from tests.lcp.zoo import worst_violation

DIRECT = ("auto", "lemke", "enumerate", "newton")

# name, A, b, solution (unique unless said otherwise)
UNIQUE = [
    ("Cottle-Pang-Stone 1.1-style 2 x 2, positive definite", [[2, 1], [1, 2]], [-5, -6], [4 / 3, 7 / 3]),
    ("Kostreva 1979, cycles without lexicographic ties", [[1, 2, 0], [0, 1, 2], [2, 0, 1]], [-1, -1, -1], [1 / 3] * 3),
    ("Murty's exponential example n = 3", [[1, 0, 0], [2, 1, 0], [2, 2, 1]], [-4, -6, -7], [4, 0, 0]),
    ("Cottle-Pang-Stone 4.4: lower triangular P", [[1, 0, 0], [2, 1, 0], [2, 2, 1]], [-8, -12, -14], [8, 0, 0]),
    ("Chandrasekaran's Z matrix", [[2, -1, 0], [-1, 2, -1], [0, -1, 2]], [-1, 0, 1], [2 / 3, 1 / 3, 0]),
    ("one unknown, pushed", [[2]], [-3], [1.5]),
    ("one unknown, free", [[2]], [3], [0]),
    ("b >= 0: x = 0", [[1, 5], [-2, 1]], [0, 3], [0, 0]),
]


@pytest.mark.parametrize("method", DIRECT)
@pytest.mark.parametrize(("name", "A", "b", "expected"), UNIQUE, ids=[case[0] for case in UNIQUE])
def test_unique(name: str, A: list, b: list, expected: list, method: str) -> None:
    s = solve_lcp(A, b, method)
    assert s.solved, s.status
    assert worst_violation(np.array(A, float), np.array(b, float), s) <= 1e-15
    np.testing.assert_allclose(s.x, expected, rtol=1e-12, atol=1e-15)


def murty(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Murty (1978): a P matrix on which complementary pivoting takes 2^n - 1 steps from the all-ones direction."""
    A = 2.0 * np.tril(np.ones((n, n)), -1) + np.eye(n)
    return A, -np.array([2.0**n + 2.0 ** (n - i) for i in range(1, n + 1)])


@pytest.mark.parametrize("n", [2, 4, 8])
@pytest.mark.parametrize("method", DIRECT)
def test_murty_exponential(n: int, method: str) -> None:
    A, b = murty(n)
    s = solve_lcp(A, b, method, max_iterations=5000)
    assert s.solved, s.status
    assert worst_violation(A, b, s) <= 1e-14


def plain_lemke(A: np.ndarray, b: np.ndarray, pick: str, limit: int) -> tuple[str, int]:
    """Lemke's method as a first course teaches it: ties go to the first or the last row; tells when a basis repeats."""
    n = len(b)
    D, r = np.column_stack([A, np.ones(n)]), b.copy()
    basis, nonbasic = list(range(n)), [n + i for i in range(n)] + [2 * n]
    row, col = (int(np.argmin(r)) if pick == "first" else n - 1 - int(np.argmin(r[::-1]))), n
    seen = set()
    for pivots in range(1, limit):
        p = D[row, col]
        D[row] /= -p
        r[row] /= -p
        D[row, col] = 1 / p
        for i in range(n):
            if i != row:
                f = D[i, col]
                D[i, col] = 0.0
                D[i] += f * D[row]
                r[i] += f * r[row]
        basis[row], nonbasic[col] = nonbasic[col], basis[row]
        leaving = nonbasic[col]
        if leaving == 2 * n:
            return "solved", pivots
        key = (frozenset(basis), leaving)
        if key in seen:
            return "cycles", pivots
        seen.add(key)
        col = nonbasic.index((leaving + n) % (2 * n))
        ratios = [(-r[i] / D[i, col], i) for i in range(n) if D[i, col] < -1e-12]
        if not ratios:
            return "ray", pivots
        best = min(ratios)[0]
        ties = [i for ratio, i in ratios if ratio <= best + 1e-12]
        row = ties[0] if pick == "first" else ties[-1]
    return "limit", limit


def test_cycling_is_broken_lexicographically() -> None:
    """A problem on which Lemke without the lexicographic rule returns to a basis it had, and ours does not."""
    A = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 2.0], [2.0, 0.0, 1.0]])  # Kostreva, Math. Programming 16 (1979) 127
    b = -np.ones(3)
    outcomes = {plain_lemke(A, b, pick, 50)[0] for pick in ("first", "last")}
    assert "cycles" in outcomes
    s = solve_lcp(A, b, "lemke")
    assert s.solved
    assert s.iterations <= 6


def test_secondary_ray_of_a_solvable_problem() -> None:
    """Lemke can end on a ray although a solution exists; that is said, and enumeration finds the solution."""
    A, b = np.array([[-1.0, 1.0], [1.0, -1.0]]), np.array([-1.0, 2.0])
    A_ray = np.array([[0.0, 0.0, 1.0], [0.0, -1.0, 0.0], [-1.0, 0.0, 0.0]])
    b_ray = np.array([-1.0, 1.0, 2.0])
    found = 0
    for M, v in ((A, b), (A_ray, b_ray)):
        s = solve_lcp(M, v, "lemke")
        everything = enumerate_lcp(M, v)
        if not s.solved:
            assert s.ray is not None and np.all(s.ray >= 0.0)
            assert "secondary ray" in s.status
        assert solve_lcp(M, v, "auto").solved == bool(everything)
        found += s.ray is not None
    assert found >= 1


def test_ray_satisfies_its_definition() -> None:
    """Along the ray A x~ + d x0~ >= 0 stays almost complementary; for this infeasible problem x~ is the proof."""
    A, b = np.array([[0.0, -1.0], [1.0, 0.0]]), np.array([-1.0, -1.0])
    s = solve_lcp(A, b, "lemke")
    assert not s.solved and s.ray is not None
    assert s.proof is not None and proves_no_solution(A, b, s.proof)
    assert "no solution exists" in s.status


def test_several_solutions() -> None:
    s = enumerate_lcp([[-1, 0], [0, -1]], [1, 1])
    points = sorted(tuple(x.x) for x in s)
    assert points == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert all(x.isolated for x in s)


def test_continuum_has_one_representative() -> None:
    (s,) = enumerate_lcp([[1, 1], [1, 1]], [-1, -1])
    assert s.isolated is False
    assert s.x.sum() == pytest.approx(1.0, rel=1e-14)
    assert np.all(s.x > 0.0)


def test_continuum_and_isolated_solution_side_by_side() -> None:
    A = np.zeros((3, 3))
    A[:2, :2] = 1.0
    A[2, 2] = -1.0
    solutions = enumerate_lcp(A, [-1, -1, 1])
    assert [s.isolated for s in solutions] == [False, False]
    assert sorted(round(s.x[2]) for s in solutions) == [0, 1]


def test_two_continua_that_touch_are_one() -> None:
    """x_1 or x_2 free, the other zero: an L of two edges."""
    (s,) = enumerate_lcp([[0, 1], [1, 0]], [0, 0])
    assert s.isolated is False


@pytest.mark.parametrize("method", METHODS)
def test_no_unknowns(method: str) -> None:
    s = solve_lcp(np.zeros((0, 0)), np.zeros(0), method)
    assert s.solved and s.x.shape == (0,)
    assert len(enumerate_lcp(np.zeros((0, 0)), np.zeros(0))) == 1


@pytest.mark.parametrize("method", ("auto", "lemke", "enumerate"))
def test_no_solution_is_proved(method: str) -> None:
    A, b = np.array([[0.0, 0.0], [0.0, 1.0]]), np.array([-1.0, -1.0])
    s = solve_lcp(A, b, method)
    assert not s.solved
    assert s.proof is not None
    assert proves_no_solution(A, b, s.proof)


def test_proof_is_not_claimed_up_to_round_off() -> None:
    """x = 1e13 solves this one: a vector that proves the contrary only to 1e-12 must not be returned."""
    A = np.array([[1.0, 0.0], [-(1.0 - 1e-13), 0.0]])
    b = np.array([-1.0, 1e13])
    s = solve_lcp(A, b, "auto")
    assert s.proof is None
    assert s.solved


@pytest.mark.parametrize("method", DIRECT)
def test_zero_rows(method: str) -> None:
    A, b = np.array([[0.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.0]]), np.array([1.0, -1.0, 0.0])
    s = solve_lcp(A, b, method)
    assert s.solved
    assert worst_violation(A, b, s) == 0.0


@pytest.mark.parametrize("method", ("auto", "lemke", "newton"))
@pytest.mark.parametrize("seed", range(20))
def test_entries_from_1e_minus_12_to_1e12(seed: int, method: str) -> None:
    rng = np.random.default_rng(seed)
    n = 6
    B = rng.standard_normal((n, n))
    A = B @ B.T + np.eye(n)
    rows, columns = 10.0 ** rng.uniform(-6, 6, (n, 1)), 10.0 ** rng.uniform(-6, 6, n)
    A, b = rows * A * columns, rows[:, 0] * rng.standard_normal(n)
    s = solve_lcp(A, b, method)
    assert s.solved, s.status
    assert worst_violation(A, b, s) <= 1e-12


@pytest.mark.parametrize("mu", [0.0, 0.3, 2.0])
def test_bar_against_its_closed_form(mu: float) -> None:
    """[PG05] eqs. (27), (29)-(32): backward slip of a bar at 45 degrees, m = s = 1, Theta = 1/3."""
    alpha = beta = 2.5
    delta = 1.5
    eps_N, eps_T, gamma_N, gamma_T = 0.5, 0.0, -1.0, -3.0
    A = np.array([[alpha - mu * delta, delta, 0], [delta - mu * beta, beta, 1], [2 * mu, -1, 0]])
    b = np.array([(1 + eps_N) * gamma_N, (1 + eps_T) * gamma_T, 0.0])
    s = solve_lcp(A, b)
    assert s.solved
    Lambda_N = s.x[0]
    if mu == 0.3:
        assert Lambda_N == pytest.approx(0.5084745763, rel=1e-9)  # -(1 + eps_N) gamma_N / (alpha + mu delta)
    assert s.x[1] - mu * Lambda_N == pytest.approx(min(mu * Lambda_N, s.x[1] - mu * Lambda_N))


def test_woodpecker_sized_inertias_need_the_scaling() -> None:
    """Two closed contacts with inertias from 1e-9 to 1e-3: Lemke's method on the scaled dictionary solves all cases."""
    rng = np.random.default_rng(7)
    solved = 0
    for _ in range(500):
        A, b = contact_lcp(2, rng)
        s = solve_lcp(A, b, "lemke")
        solved += s.solved or s.ray is not None
    assert solved == 500


CLASSES = [
    ([[2, 1], [1, 2]], "P, PSD, copositive"),
    ([[1, 2, 0], [0, 1, 2], [2, 0, 1]], "P, PSD, copositive"),
    ([[1, -3], [0, 1]], "P, Z"),
    ([[0, 1], [1, 0]], "copositive"),
    ([[1, -1], [-1, 1]], "PSD, copositive, Z"),
    ([[-1, 0], [0, 1]], "Z"),
    ([[1, 3], [-0.0, -1]], "none"),
    # Horn's matrix: copositive but not the sum of a PSD and a non-negative matrix
    (
        [[1, -1, 1, 1, -1], [-1, 1, -1, 1, 1], [1, -1, 1, -1, 1], [1, 1, -1, 1, -1], [-1, 1, 1, -1, 1]],
        "copositive",
    ),
]


@pytest.mark.parametrize(("A", "expected"), CLASSES)
def test_matrix_classes(A: list, expected: str) -> None:
    assert str(classify_matrix(A)) == expected
    for name in expected.split(", "):
        assert (name in classify_matrix(A)) == (expected != "none")


def test_classification_is_exact_where_floating_point_is_not() -> None:
    tenth = np.array([[0.1, 0.3], [0.3, 0.9]])  # singular in decimals; as floats det = 0.1 * 0.9 - 0.3 * 0.3 != 0
    nudged = np.array([[1.0, 1.0 + 2.0**-52], [1.0, 1.0]])
    assert classify_matrix(nudged).P is False
    assert classify_matrix(nudged.T[::-1, ::-1]).P is False
    assert classify_matrix([[1.0, 1.0], [1.0 - 2.0**-53, 1.0]]).P is True
    from fractions import Fraction

    det = Fraction(0.1) * Fraction(0.9) - Fraction(0.3) ** 2
    assert classify_matrix(tenth).PSD is (det >= 0)


def test_large_matrices_say_what_is_undecided() -> None:
    rng = np.random.default_rng(0)
    B = rng.standard_normal((15, 15))
    assert classify_matrix(B @ B.T + np.eye(15)).P is True
    c = classify_matrix(B + 10 * np.diag(np.abs(rng.standard_normal(15))))
    assert c.P is None or c.P is True
    assert c.explain()


def test_nearly_singular_support_is_not_taken_for_a_singular_one() -> None:
    """Two contacts whose active submatrix has a condition number of 1e12: Lemke solves it, so enumeration must."""
    A, b = random_lcp("contact", 7, np.random.default_rng(636))
    assert solve_lcp(A, b, "lemke").solved
    assert solve_lcp(A, b, "enumerate").solved
    for s in enumerate_lcp(A, b):
        assert worst_violation(A, b, s) <= 1e-10
