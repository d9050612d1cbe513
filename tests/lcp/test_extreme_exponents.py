"""Problems with entries from 1e-300 to 1e300: nothing is called solved that exact arithmetic does not call so."""

from fractions import Fraction

import numpy as np
import pytest

import stickslip as ss
from stickslip.lcp.infeasibility import proves_no_solution
from stickslip.lcp.mixed import _free_part
from stickslip.lcp.residuals import AMPLIFICATION

TOL = Fraction(1, 10**10)
SINGLE = ("auto", "auto", "auto", "lemke", "newton", "enumerate", "gauss-seidel")


def exact_residual(A, b, x, free):
    """The residual of `stickslip.lcp.residuals`, in rational numbers; None where a sign is impossible."""
    n = len(b)
    A = [[Fraction(a) for a in row] for row in A.tolist()]
    b, x = [Fraction(a) for a in b.tolist()], [Fraction(a) for a in x.tolist()]
    if any(x[i] < 0 and not free[i] for i in range(n)):
        return None
    largest = [max(abs(a) for a in row) for row in A]
    beta = max((abs(b[i]) / largest[i] for i in range(n) if largest[i]), default=Fraction(0))
    worst, values = Fraction(0), []
    for i in range(n):
        terms = [b[i], *(A[i][j] * x[j] for j in range(n))]
        value, size = sum(terms), sum(map(abs, terms))
        values.append((value, size))
        defect = abs(value) if free[i] or x[i] else max(Fraction(0), -value)
        limit = max(Fraction(AMPLIFICATION) * beta * largest[i], abs(b[i]))
        if size:
            worst = max(worst, defect / min(size, limit) if min(size, limit) else Fraction(1))
    return worst, values


def judge(A, b, answer, free=None):
    """Raise unless a solved answer is one: signs and complementarity exactly, y = A x + b within the tolerance."""
    if not answer.solved:
        return 0
    free = np.zeros(len(b), dtype=bool) if free is None else free
    x, y = answer.x, answer.y
    assert np.all(np.isfinite(x)) and np.all(np.isfinite(y)) and np.isfinite(answer.residual), (A, b, answer)
    found = exact_residual(A, b, x, free)
    assert found is not None and found[0] <= 2 * TOL, (A.tolist(), b.tolist(), answer)
    for i, (value, size) in enumerate(found[1]):
        assert y[i] >= 0.0 and (free[i] or not (x[i] and y[i])) and not (free[i] and y[i])
        assert abs(Fraction(float(y[i])) - value) <= 2 * TOL * size + Fraction(5e-324), (A.tolist(), b.tolist(), answer)
    return 1


def problem(random):
    """Entries of any size; or a tame problem in wild units, which has a solution that may not be representable."""
    n = int(random.integers(1, 6))
    reach = random.choice([60.0, 150.0, 300.0])
    if random.random() < 0.5:
        A, b = random.normal(size=(n, n)), random.normal(size=n)
        if random.random() < 0.5:
            A = A @ A.T + 0.1 * np.eye(n)
        reach /= 3.0
        rows, columns = 10.0 ** random.uniform(-reach, reach, n), 10.0 ** random.uniform(-reach, reach, n)
        A, b = rows[:, None] * A * columns, rows * b * 10.0 ** random.uniform(-reach, reach)
    else:
        A = random.normal(size=(n, n)) * 10.0 ** random.uniform(-reach, reach, (n, n))
        b = random.normal(size=n) * 10.0 ** random.uniform(-reach, reach, n)
    A[random.random((n, n)) < 0.15] = 0.0
    b[random.random(n) < 0.15] = 0.0
    return A, b


def solve_many(count, seed):
    """How many of `count` random problems were solved; each answer is judged."""
    random = np.random.default_rng(seed)
    solved = {"single": 0, "mixed": 0, "all": 0, "proofs": 0}
    for k in range(count):
        A, b = problem(random)
        kind = k % 10
        if kind < 7:
            answer = ss.solve_lcp(A, b, SINGLE[kind], max_iterations=200 if SINGLE[kind] == "gauss-seidel" else None)
            solved["single"] += judge(A, b, answer)
            if answer.proof is not None:
                assert proves_no_solution(A, b, answer.proof)
                solved["proofs"] += 1
        elif kind < 9:
            free = random.random(len(b)) < 0.4
            solved["mixed"] += judge(A, b, ss.solve_mlcp(A, b, free, ("auto", "newton")[kind - 7]), free)
        else:
            solved["all"] += sum(judge(A, b, answer) for answer in ss.enumerate_lcp(A, b))
    return solved


def test_some_problems_of_any_size():
    solved = solve_many(400, 1)
    assert solved["single"] > 80 and solved["mixed"] > 15 and solved["all"] > 10 and solved["proofs"] > 10


@pytest.mark.slow
def test_a_hundred_thousand_problems_of_any_size():
    solved = solve_many(100_000, 2)
    print(solved)
    assert solved["single"] > 20_000


@pytest.mark.parametrize("method", ["auto", "lemke", "newton", "enumerate", "gauss-seidel"])
def test_stacks_of_problems_of_any_size(method):
    random = np.random.default_rng(3)
    n, k = 3, 60
    reach = random.uniform(-250.0, 250.0, (k, n, n))
    A = np.abs(random.normal(size=(k, n, n))) * 10.0**reach
    b = random.normal(size=(k, n)) * 10.0 ** random.uniform(-250.0, 250.0, (k, n))
    answers = ss.solve_lcp(A, b, method)
    count = 0
    for i in range(k):
        one = answers._replace(
            x=answers.x[i], y=answers.y[i], solved=answers.solved[i], residual=answers.residual[i], proof=None
        )
        count += judge(A[i], b[i], one)
    assert count == answers.solved.sum() > 5


def test_a_y_that_overflows_is_no_solution():
    # x = 1.5e137 from the first row makes 1.7e190 x of the second, 10^19 times what a double can hold.
    A = np.array([[2.7e-138, -2.4e-264], [-1.7e190, 3.2e258]])
    b = np.array([-0.40, 0.50])
    for method in ("auto", "lemke", "newton", "enumerate"):
        answer = ss.solve_lcp(A, b, method)
        judge(A, b, answer)
    only = ss.solve_lcp(np.array([[1e-200, 0.0], [1e200, 1.0]]), np.array([-1.0, 1.0]))
    assert not only.solved and "overflow" in only.status


def test_terms_that_overflow_and_cancel_are_no_solution():
    # The terms of the second row are 2.6e327 and cancel but for their rounding, 3e311: no double holds y.
    A = np.array(
        [[2.663164345700686e-138, -2.4327819019093904e-264], [-1.6971640657561223e190, 3.2089599929070085e258]]
    )
    b = np.array([-0.404604674672088, 0.5020306530755844])
    for method in ("auto", "lemke", "newton", "enumerate"):
        assert not ss.solve_lcp(A, b, method).solved


def test_a_product_that_vanishes_is_no_zero():
    # y_2 = -1e-200 x_1 with x_1 = 1e-200 is negative, though the product is 0 in floating-point numbers.
    A, b = np.array([[1.0, 0.0], [-1e-200, 0.0]]), np.array([-1e-200, 0.0])
    for method in ("auto", "lemke", "newton", "enumerate", "gauss-seidel"):
        assert not ss.solve_lcp(A, b, method).solved
    assert ss.enumerate_lcp(A, b) == []


def test_units_do_not_matter():
    """A problem in units of 1e-120 and 1e120 has the digits of the problem in units of 1."""
    random = np.random.default_rng(4)
    B = random.normal(size=(6, 6))
    A, b = B @ B.T + np.eye(6), random.normal(size=6)
    tame = ss.solve_lcp(A, b)
    rows, columns = 2.0 ** np.array([-390, 400, 0, 390, -400, 77]), 2.0 ** np.array([390, -300, 9, 0, 200, -390])
    for method in ("auto", "lemke", "newton", "enumerate", "gauss-seidel"):
        wild = ss.solve_lcp(rows[:, None] * A * columns, rows * b, method)
        assert wild.solved
        np.testing.assert_allclose(wild.x * columns, tame.x, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize(
    "call",
    [
        lambda masked: ss.solve_lcp(masked, [-1.0, -1.0]),
        lambda masked: ss.solve_lcp([[2.0, 1.0], [1.0, 2.0]], masked[0]),
        lambda masked: ss.solve_lcp([masked[0], masked[1]], [-1.0, -1.0]),
        lambda masked: ss.solve_lcp([[2.0, 1.0], [1.0, 2.0]], [-1.0, -1.0], "gauss-seidel", x0=masked[0]),
        lambda masked: ss.solve_mlcp(masked, [-1.0, -1.0], [True, False]),
        lambda masked: ss.enumerate_lcp(masked, [-1.0, -1.0]),
        lambda masked: ss.classify_matrix(masked),
    ],
)
def test_masked_arrays_are_refused(call):
    masked = np.ma.masked_array([[2.0, 1.0], [1.0, 2.0]], [[0, 0], [0, 1]])
    with pytest.raises(ValueError, match="must be a plain array, got a masked one; fill it"):
        call(masked)


def test_free_unknowns_whose_pivot_vanishes():
    """LAPACK calls a regular matrix singular where the rows differ by 360 powers of ten."""
    A = np.array([[-6.979276776e-315, 0.0], [4.215930364467779e45, 8.056930017288842e60]])
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.solve(A, A)
    with np.errstate(all="ignore"):
        x = _free_part(A, A @ np.array([[1.0], [1e-20]]))
    assert x is not None and np.allclose(x.ravel(), [1.0, 1e-20], rtol=1e-7, atol=0.0)
    assert _free_part(np.zeros((2, 2)), np.zeros((2, 1))) is None


def test_lemke_solves_p_matrices_of_eighteen_decades() -> None:
    """Entries of the right-hand side that are 10^18 times smaller than others, once rows have size 1."""
    for d in ([1e-9, 1e9], 10.0 ** np.linspace(-9.0, 9.0, 20)):
        found = ss.solve_lcp(np.diag(d), -np.ones(len(d)), "lemke")
        assert found.solved, found.status
        np.testing.assert_allclose(found.x, 1.0 / np.asarray(d), rtol=1e-15)


def test_lemke_solves_random_p_matrices_scaled_from_both_sides() -> None:
    rng = np.random.default_rng(5)
    for _ in range(40):
        n = int(rng.integers(2, 21))
        B, K = rng.normal(size=(2, n, n))
        rows, columns = 10.0 ** rng.uniform(-4.5, 4.5, (2, n))
        A = rows[:, None] * (B @ B.T + 0.1 * np.eye(n) + K - K.T) * columns
        found = ss.solve_lcp(A, rng.normal(size=n) * 10.0 ** rng.uniform(-9.0, 9.0, n), "lemke")
        assert found.solved, found.status
