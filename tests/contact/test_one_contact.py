"""One contact: the exact solution, in all its cases."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stickslip as ss
from stickslip.contact.blocks import diagonal_blocks
from stickslip.contact.one_contact import change_3d, one_contact_2d, one_contact_3d, slip_2d
from tests.contact import measure
from tests.thinned import examples, thinned


def local(D):
    """The local matrix and its inverse as the kernels get them."""
    data = np.ascontiguousarray(D, dtype=float)[None]
    diagonal, inverse = diagonal_blocks(data, np.array([0, 1]), np.array([0]))
    return diagonal[0], inverse[0]


def random_local(seed, dim, skew=0.0):
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((dim, dim)) * 10.0 ** rng.uniform(-2, 2, dim)
    K = rng.standard_normal((dim, dim))
    scale = 10.0 ** rng.uniform(-6, 6)
    return scale * (B @ B.T + skew * (K - K.T)), rng.standard_normal(dim) * 10.0 ** rng.uniform(-6, 6)


def error_of(D, q, mu, r):
    """Relative error with impulses in units that make D of size 1."""
    unit = np.trace(D) / len(D)
    return measure.error(ss.FrictionProblem(D / unit, q, mu, dim=len(q)), np.array(r) * unit)


def beyond_rounding(D, q, mu, r):
    """Violation of the laws less 8 roundings of D r, relative to q; impulses in units that make D of size 1."""
    unit = np.trace(D) / 3.0
    W, z = D / unit, np.array(r) * unit
    u, pull = W @ z + q, z[1:] - (W @ z + q)[1:]
    share = min(1.0, mu * max(0.0, z[0]) / (np.linalg.norm(pull) or 1.0))
    found = np.hypot(min(u[0], z[0]), np.linalg.norm(z[1:] - share * pull))
    return (found - 8.0 * np.finfo(float).eps * (np.abs(W) @ np.abs(z)).max()) / np.linalg.norm(q)


@thinned
@settings(max_examples=examples(40, 200))
@given(st.integers(0, 10**6), st.floats(0.0, 2.0))
def test_spatial_solution_solves(seed, mu):
    D, q = random_local(seed, 3)
    r = one_contact_3d(*local(D), *q, mu, 0.0, 0.0)
    assert beyond_rounding(D, q, mu, r) <= 1e-9
    assert np.linalg.cond(D) > 1e4 or error_of(D, q, mu, r) <= 1e-9


@pytest.mark.parametrize("seed", [488, 1009, 1608, 1953, 2596])
def test_nearly_singular_matrices_let_a_contact_stick(seed):
    """Conditions of 7e7 to 2e11: the inverse by cofactors alone left errors of 2e-9 to 1.1."""
    D, q = random_local(seed, 3)
    mu = float(np.random.default_rng([seed, 7]).uniform(0.0, 2.0))
    r = np.array(one_contact_3d(*local(D), *q, mu, 0.0, 0.0))
    assert 0.0 < np.linalg.norm(r[1:]) < 0.999 * mu * r[0]
    assert np.abs(D @ r + q).max() <= 1e-4 * np.abs(q).max()
    assert beyond_rounding(D, q, mu, r) <= 1e-12


@pytest.mark.slow
def test_twenty_thousand_matrices():
    for seed in range(20_000):
        D, q = random_local(seed, 3)
        mu = float(np.random.default_rng([seed, 7]).uniform(0.0, 2.0))
        assert beyond_rounding(D, q, mu, one_contact_3d(*local(D), *q, mu, 0.0, 0.0)) <= 1e-9, seed


@given(st.integers(0, 10**6), st.floats(0.0, 0.4))
def test_solution_from_the_velocity_is_the_same(seed, mu):
    rng = np.random.default_rng(seed)
    D = np.diag(rng.uniform(0.5, 2.0, 3)) + 0.05 * rng.standard_normal() * np.ones((3, 3))
    q, y = rng.standard_normal(3), rng.standard_normal(3)
    from_velocity = change_3d(*local(D), tuple(D @ y + q), tuple(y), mu, (0.0, 0.0))
    np.testing.assert_allclose(from_velocity, one_contact_3d(*local(D), *q, mu, 0.0, 0.0), atol=1e-12)


@given(st.integers(0, 10**6), st.floats(0.0, 2.0))
def test_planar_solution_solves(seed, mu):
    D, q = random_local(seed, 2)
    assert error_of(D, q, mu, one_contact_2d(*local(D), *q, mu)) <= 1e-9


@given(st.integers(0, 10**6), st.floats(0.0, 2.0), st.floats(-3.0, 3.0), st.floats(-3.0, 3.0))
def test_the_start_of_the_search_does_not_matter_for_mild_coupling(seed, mu, r1, r2):
    rng = np.random.default_rng(seed)
    D = np.diag(rng.uniform(0.5, 2.0, 3)) + 0.05 * np.ones((3, 3))
    q = np.array([-1.0, *rng.standard_normal(2)])
    one = one_contact_3d(*local(D), *q, mu, 0.0, 0.0)
    other = one_contact_3d(*local(D), *q, mu, r1, r2)
    np.testing.assert_allclose(one, other, atol=1e-9)


def test_take_off_stick_and_slip_by_hand():
    D = np.diag([2.0, 1.0, 1.0])
    assert one_contact_3d(*local(D), 0.1, 1.0, 1.0, 0.5, 0.0, 0.0) == (0.0, 0.0, 0.0)
    np.testing.assert_allclose(one_contact_3d(*local(D), -2.0, 0.3, -0.4, 0.5, 0.0, 0.0), [1.0, -0.3, 0.4], rtol=1e-12)
    np.testing.assert_allclose(one_contact_3d(*local(D), -2.0, 3.0, -4.0, 0.5, 0.0, 0.0), [1.0, -0.3, 0.4], rtol=1e-12)
    np.testing.assert_allclose(one_contact_3d(*local(D), -2.0, 3.0, -4.0, 0.0, 0.0, 0.0), [1.0, 0.0, 0.0], rtol=1e-12)


@pytest.mark.parametrize(
    "D",
    [
        np.diag([1.0, 0.0, 0.0]),
        np.diag([1.0, 1.0, 1e-18]),
        np.outer([1.0, 0.3, 0.1], [1.0, 0.3, 0.1]),
        np.eye(3) * 1e-300,
        np.array([[1.0, 0.7, 0.7], [0.7, 0.98, 0.0], [0.7, 0.0, 0.98]]) + 1e-15 * np.eye(3),
    ],
)
@pytest.mark.parametrize("mu", [0.0, 0.3, 2.0])
def test_singular_local_matrices_give_finite_impulses_in_the_cone(D, mu):
    for seed in range(20):
        q = np.random.default_rng(seed).standard_normal(3)
        r = np.array(one_contact_3d(*local(D), *q, mu, 0.0, 0.0))
        assert np.all(np.isfinite(r))
        assert np.linalg.norm(r[1:]) <= mu * r[0] * (1.0 + 1e-9)


def test_a_zero_local_matrix_cannot_push():
    assert one_contact_3d(*local(np.zeros((3, 3))), -1.0, 1.0, 0.0, 0.5, 0.0, 0.0) == (0.0, 0.0, 0.0)
    assert one_contact_2d(*local(np.zeros((2, 2))), -1.0, 1.0, 0.5) == (0.0, 0.0)


def one_contact_solutions_2d(D: np.ndarray, q: np.ndarray, mu: float) -> list[tuple[str, np.ndarray]]:
    """Every solution of one planar contact, as (case, impulse): take-off, stick, slip+ (t = 1), slip-.

    Supercritical friction gives up to three; several cases that give the same impulse are named once.
    """
    D, q = np.asarray(D, float), np.asarray(q, float)
    found: list[tuple[str, np.ndarray]] = []
    if q[0] >= 0.0:
        found.append(("take-off", np.zeros(2)))
    if np.linalg.det(D) != 0.0:
        r = -np.linalg.solve(D, q)
        if r[0] >= 0.0 and abs(r[1]) <= mu * r[0]:
            found.append(("stick", r))
    for case, t in (("slip+", 1.0), ("slip-", -1.0)):
        r_N, along = slip_2d(D, q[0], q[1], mu, t)
        r = np.array([r_N, t * mu * r_N])
        if r_N >= 0.0 and along <= 0.0 and all(np.linalg.norm(r - o) > 1e-12 * np.linalg.norm(r) for _, o in found):
            found.append((case, r))
    return found


def test_painleve_has_three_solutions_and_the_kernel_takes_one():
    """mu |D_NT| > D_NN and free flight possible: take-off, stick and slip at once."""
    D, q, mu = np.array([[1.0, -2.0], [-2.0, 5.0]]), np.array([0.2, -1.0]), 1.5
    found = dict(one_contact_solutions_2d(D, q, mu))
    assert set(found) == {"take-off", "stick", "slip+"}
    for r in found.values():
        assert error_of(D, q, mu, r) <= 1e-12
    assert one_contact_2d(*local(D), *q, mu) == (0.0, 0.0)
    assert len(ss.enumerate_friction(ss.FrictionProblem(D, q, mu, dim=2))) == 3


@given(st.integers(0, 10**6), st.floats(0.0, 3.0))
def test_all_planar_solutions_solve_and_contain_that_of_the_kernel(seed, mu):
    D, q = random_local(seed, 2)
    found = [r for _, r in one_contact_solutions_2d(D, q, mu)]
    assert found
    for r in found:
        assert error_of(D, q, mu, r) <= 1e-9
