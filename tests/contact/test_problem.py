"""`FrictionProblem`: what it accepts, its error measure, joints, ellipses, matrix-free form."""

import time

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

import stickslip as ss
from stickslip.bench.random_friction import granular, stack
from stickslip.contact.cones import project_elliptic_cone
from stickslip.contact.delassus import Delassus
from tests.contact import measure

GOOD = {"W": np.eye(3), "q": [-1.0, 0.2, 0.1], "mu": 0.5}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"W": np.ones((3, 2))}, "W must be square, got shape (3, 2)"),
        ({"W": np.eye(4)}, "W must have 3 rows per contact (dim = 3), got 4 rows; is dim right?"),
        ({"W": sp.csr_matrix((3, 6))}, "W must be square, got shape (3, 6)"),
        ({"W": np.diag([1.0, np.nan, 1.0])}, "W must be finite, got nan at index (1, 1)"),
        ({"W": sp.diags([1.0, np.inf, 1.0])}, "W must be finite"),
        ({"W": "abc"}, "W must be a rectangular array of real numbers"),
        ({"q": [0.0, 1.0]}, "q must have shape (3,) to match W of shape (3, 3), got (2,)"),
        ({"q": [0.0, np.inf, 1.0]}, "q must be finite, got inf at index (1,)"),
        ({"mu": [0.1, 0.2]}, "mu must be a number or have shape (1,), one per contact"),
        ({"mu": -0.1}, "mu must be >= 0, got -0.1 at index (0,)"),
        ({"mu": np.nan}, "mu must be finite"),
        ({"mu": [[0.1, 0.0]]}, "mu of contact 0 must have both semi-axes positive or both 0"),
        ({"dim": 4}, "dim must be 2 (plane) or 3 (space), got 4"),
        ({"bilateral": -1}, "bilateral must be the number of joint rows"),
        ({"W": np.eye(5), "q": np.zeros(5), "bilateral": 1}, "got 5 rows less 1 joint rows"),
    ],
)
def test_bad_input_gets_one_clear_line(change, message):
    with pytest.raises(ValueError) as caught:
        ss.FrictionProblem(**{**GOOD, **change})
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "magic"}, "method must be one of auto, gauss-seidel"),
        ({"tol": 0.0}, "tol must be a number between 0 and 1"),
        ({"time_limit": -1}, "time_limit must be a positive number of seconds or None"),
        ({"r0": np.zeros(2)}, "r0 must have shape (3,)"),
        ({"r0": [0.0, np.nan, 0.0]}, "r0 must be finite"),
        ({"max_iterations": 0}, "max_iterations"),
    ],
)
def test_bad_options_get_one_clear_line(arguments, message):
    with pytest.raises(ValueError) as caught:
        ss.solve_friction(ss.FrictionProblem(**GOOD), **arguments)
    assert message in str(caught.value)


def test_something_else_than_a_problem():
    with pytest.raises(ValueError, match="problem must be a FrictionProblem, got ndarray"):
        ss.solve_friction(np.eye(3))


@pytest.mark.parametrize("dim", [2, 3])
def test_error_agrees_with_the_formula(dim):
    rng = np.random.default_rng(dim)
    problem = granular(30, rng, dim)
    for _ in range(20):
        r = rng.standard_normal(len(problem.q)) * 10.0 ** rng.uniform(-4, 2)
        assert problem.error(r) == pytest.approx(measure.error(problem, r), rel=1e-12)
        assert problem.error(r, "natural-map") == pytest.approx(measure.natural_map(problem, r), rel=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_matrix, sp.coo_matrix])
def test_every_form_of_the_matrix_gives_the_same_problem(form):
    given = stack(8, np.random.default_rng(1), 3)
    dense = given.matrix.toarray()
    one = ss.solve_friction(ss.FrictionProblem(form(dense), given.q, given.mu))
    other = ss.solve_friction(ss.FrictionProblem(sp.bsr_matrix(dense, blocksize=(3, 3)), given.q, given.mu))
    assert one.solved and np.array_equal(one.r, other.r)


def test_a_contact_without_a_diagonal_block():
    W = sp.csr_matrix(([1.0, 2.0], ([0, 1], [0, 1])), shape=(4, 4))
    s = ss.solve_friction(ss.FrictionProblem(W, [-1.0, 0.5, 0.3, 0.0], 0.2, dim=2))
    assert s.solved and s.r[2] == 0.0


def test_no_contact_at_all():
    s = ss.solve_friction(ss.FrictionProblem(np.zeros((0, 0)), [], []))
    assert s.solved and s.error == 0.0 and len(s.r) == 0


def test_from_dynamics_condenses():
    rng = np.random.default_rng(3)
    A = rng.standard_normal((8, 8))
    M, H, f, w = A @ A.T + np.eye(8), rng.standard_normal((8, 9)), rng.standard_normal(8), rng.standard_normal(9)
    problem = ss.FrictionProblem.from_dynamics(M, H, f, w, 0.4)
    np.testing.assert_allclose(problem.matrix.toarray(), H.T @ np.linalg.solve(M, H), rtol=1e-10)
    np.testing.assert_allclose(problem.q, H.T @ np.linalg.solve(M, f) + w, rtol=1e-10)


@pytest.mark.parametrize("sizes", [[1, 3, 3, 6], [20], [6, 6, 2]])
def test_mass_matrix_is_inverted_block_by_block(sizes):
    rng = np.random.default_rng(len(sizes))
    blocks = [(lambda B: B @ B.T + np.eye(n))(rng.standard_normal((n, n))) for n in sizes]
    order = rng.permutation(sum(sizes))
    M = sp.block_diag(blocks).tocsr()[order][:, order]
    H = sp.random(sum(sizes), 12, 0.4, random_state=1)
    W = Delassus(M, H)
    expected = H.T @ np.linalg.solve(M.toarray(), H.toarray())
    assert (W.mass_inverse is None) == (max(sizes) > 12)
    np.testing.assert_allclose(W.assembled().toarray(), expected, atol=1e-12)
    x = rng.standard_normal(12)
    np.testing.assert_allclose(W.product(x), expected @ x, atol=1e-12)


def test_sweeps_never_form_the_matrix():
    problem = granular(60, np.random.default_rng(4), 3)
    s = ss.solve_friction(problem, "gauss-seidel", tol=1e-7)
    assert "matrix" not in problem.__dict__
    assert s.solved and measure.error(problem, s.r) <= 1.01e-7


def test_joints_hold_and_contacts_obey_their_law():
    """A chain of three pendulum links touching the ground, joint rows eliminated and given back."""
    rng = np.random.default_rng(5)
    contacts, joints, f = 4, 5, 12
    H, G = rng.standard_normal((f, 3 * contacts)), rng.standard_normal((f, joints))
    G[:, -1] = G[:, 0]  # a joint that repeats another: W_bb is singular
    momentum = rng.standard_normal(f)
    problem = ss.FrictionProblem.from_dynamics(np.eye(f), H, momentum, np.zeros(3 * contacts), 0.4, G=G)
    s = ss.solve_friction(problem, tol=1e-10)
    assert s.solved and problem.bilateral == joints
    v = momentum + H @ s.r[: 3 * contacts] + G @ s.r[3 * contacts :]
    np.testing.assert_allclose(G.T @ v, 0.0, atol=1e-8)
    contact_problem = ss.FrictionProblem(np.zeros((12, 12)), H.T @ v, 0.4)  # u as data: only the law is left to check
    assert measure.natural_map(contact_problem, s.r[: 3 * contacts]) <= 1e-9


@pytest.mark.parametrize("axes", [(0.3, 0.9), (2.0, 0.1), (0.5, 0.5)])
def test_elliptic_projection_is_the_nearest_point(axes):
    rng = np.random.default_rng(6)
    for _ in range(10):
        x = rng.standard_normal(3)
        p = np.array(project_elliptic_cone(*x, *axes))
        inside = {"type": "ineq", "fun": lambda r: r[0] - np.hypot(r[1] / axes[0], r[2] / axes[1])}
        found = scipy.optimize.minimize(
            lambda r, x=x: np.sum((r - x) ** 2), p + 0.05, constraints=inside, method="SLSQP", tol=1e-12
        )
        assert np.linalg.norm(p - x) <= np.linalg.norm(found.x - x) + 1e-6
        assert p[0] >= np.hypot(p[1] / axes[0], p[2] / axes[1]) - 1e-12


def test_elliptic_friction_dissipates_most():
    """Sliding impulses maximise -u_T . r_T over the ellipse of radius r_N: [S00] (2.17)."""
    given = stack(8, np.random.default_rng(7), 3)
    axes = np.tile([0.1, 0.4], (given.contacts, 1))
    problem = ss.FrictionProblem(given.matrix, given.q + np.tile([0.0, 0.05, 0.02], given.contacts), axes)
    s = ss.solve_friction(problem, tol=1e-10)
    assert s.solved
    r, u = s.r.reshape(-1, 3), s.u.reshape(-1, 3)
    closed = r[:, 0] > 1e-9
    assert closed.any()
    dissipated = -(r[:, 1:] * u[:, 1:]).sum(axis=1)
    most = r[:, 0] * np.hypot(axes[:, 0] * u[:, 1], axes[:, 1] * u[:, 2])
    np.testing.assert_allclose(dissipated[closed], most[closed], atol=1e-9)


def test_equal_axes_are_the_circle():
    given = granular(40, np.random.default_rng(8), 3)
    circle = ss.solve_friction(ss.FrictionProblem(given.matrix, given.q, 0.3), tol=1e-11)
    ellipse = ss.solve_friction(ss.FrictionProblem(given.matrix, given.q, np.full((given.contacts, 2), 0.3)), tol=1e-11)
    assert ellipse.solved
    np.testing.assert_allclose(ellipse.u, circle.u, atol=1e-9 * np.abs(given.q).max())


def test_a_problem_without_solution_is_not_called_solved() -> None:
    # a body squeezed between two walls that close: impulses run off, and relative to them any violation looks small
    h = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, 1.0]])
    squeezed = ss.FrictionProblem(h @ h.T, [-1.0, 0.1, -1.0, 0.2], 0.5, dim=2)
    for method in ("gauss-seidel", "newton", "proximal-point"):
        answer = ss.solve_friction(squeezed, method, max_iterations=2000)
        assert not answer.solved
    begin = time.process_time()
    answer = ss.solve_friction(squeezed)
    assert (
        not answer.solved
        and "2 contacts close on bodies that cannot give way, so the problem has no solution" in answer.status
    )
    assert time.process_time() - begin < 1.0  # before: the whole effort, 5 s
    # before: 2e16 N s, and velocities nine times as wrong as without impulses
    assert answer.error < 1.0 and not np.any(ss.solve_friction(squeezed, "gauss-seidel").r)
    alone = ss.solve_friction(ss.FrictionProblem(np.zeros((3, 3)), [-1.0, 0.0, 0.0], 0.5))
    assert "; 1 contact closes on bodies" in alone.status
    assert ss.solve_friction(ss.FrictionProblem(np.eye(3), np.zeros(3), 0.5)).status.endswith("in 1 iteration")


def test_a_damaged_sparse_matrix_is_refused() -> None:
    W = sp.csr_matrix(np.eye(3))
    W.indices[:] += 10**7
    with pytest.raises(ValueError, match="W must be a sound sparse matrix"):
        ss.FrictionProblem(W, [-1.0, 3.0, 4.0], 0.5)


def test_impulses_of_a_wrong_size_are_refused() -> None:
    problem = ss.FrictionProblem(np.eye(3), [-1.0, 3.0, 4.0], 0.5)
    ss.solve_friction(problem)
    for wrong in (np.ones(2), np.ones((3, 1))):
        with pytest.raises(ValueError, match=r"r must have shape \(3,\) like q"):
            problem.error(wrong)


def test_a_problem_keeps_its_own_numbers() -> None:
    W, q, mu = np.eye(3), np.array([-1.0, 3.0, 4.0]), np.array([0.5])
    problem = ss.FrictionProblem(W, q, mu)
    W *= 2.0
    q[0], mu[0] = -10.0, 0.1
    answer = ss.solve_friction(problem)
    assert answer.solved and problem.W[0, 0] == 1.0 and answer.r[0] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ss.FrictionProblem(np.eye(3), [-1.0, 0.0, 0.0], 0.5, dim=3.0), "dim must be 2 .* got 3.0"),
        (lambda: ss.FrictionProblem(np.eye(3), [-1e-165, 0.0, 0.0], 0.5), "between 1e-120 and 1e.120 m/s, got 1e-165"),
        (lambda: ss.FrictionProblem(1e194 * np.eye(3), [-1e-100, 0.0, 0.0], 0.5), "energies q.2 / W between 1e-240"),
        (lambda: ss.FrictionProblem(1e300 * np.eye(3), [-1.0, 0.0, 0.0], 0.5), "mobilities between 1e-280 and 1e.280"),
        (lambda: ss.FrictionProblem(1e-320 * np.eye(3), [-1e-80, 0.0, 0.0], 0.5), "got 1e-320 1/kg at contact 0"),
        (lambda: ss.FrictionProblem(1.5e308 * np.eye(3), [-1.0, 0.0, 0.0], 0.5), "got inf 1/kg at contact 0"),
        (lambda: ss.FrictionProblem(np.eye(3), [-1e165, 0.0, 0.0], 0.5), "between 1e-120 and 1e.120 m/s, got 1e.165"),
        (lambda: ss.enumerate_friction(3), "problem must be a FrictionProblem, got int"),
        (lambda: ss.solve_friction(None), "problem must be a FrictionProblem, got NoneType"),
        (lambda: dynamics(b=[1.0]), "b must be given together with G"),
        (lambda: dynamics(M=-np.eye(3)), "M must be positive definite, got -1 on its diagonal"),
        (lambda: dynamics(M=[[1, 2, 0], [2, 1, 0], [0, 0, 1]]), "M must be positive definite, .* eigenvalue -1"),
        (lambda: dynamics(M="x"), "M must be a rectangular array of real numbers"),
        (lambda: dynamics(H=np.eye(3) * 1j), "H must be a rectangular array of real numbers"),
        (lambda: dynamics(H=sp.eye(3, dtype=complex)), "H must hold real numbers, got complex128"),
        (lambda: dynamics(H=np.full((3, 3), np.nan)), "H must be finite"),
        (lambda: dynamics(H=np.zeros(3)), r"H must be a matrix, got shape \(3,\)"),
        (lambda: dynamics(f=np.zeros(2)), r"f must have shape \(3,\), one per row of M"),
        (lambda: dynamics(w=np.zeros(2)), r"w must have shape \(3,\), one per column of H"),
        (lambda: dynamics(G=np.ones((3, 1)), b=[1.0, 2.0]), r"b must have shape \(1,\), one per column of G"),
    ],
)
def test_more_of_what_cannot_be_meant(make, message):
    with pytest.raises(ValueError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def dynamics(M=None, H=None, f=None, w=None, **joints):
    unit, zero = np.eye(3), np.zeros(3)
    given = (unit if M is None else M, unit if H is None else H, zero if f is None else f, zero if w is None else w)
    return ss.FrictionProblem.from_dynamics(*given, 0.3, **joints)


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3, 1e6])
def test_the_unit_of_mass_may_be_anything(scale):
    """With W small in its units the error is relative to large impulses; bodies must not go on approaching."""
    given = stack(8, np.random.default_rng(11), 3)
    problem = ss.FrictionProblem(scale * given.matrix, given.q, 0.4)
    s = ss.solve_friction(problem)
    assert s.solved and s.error <= 1e-8
    assert s.u[::3].min() >= -0.02 * np.abs(given.q).max()


@pytest.mark.parametrize(("mass", "speed"), [(-600, 0), (600, 0), (-300, -350), (400, 380), (12, 396), (-700, -390)])
def test_units_near_the_ends_of_the_range_change_no_digit(mass, speed):
    """Squares of scaled velocities once underflowed: with W of 1e194 and q of 1e-100 any impulse had the error 0."""
    rng = np.random.default_rng(3)
    J = rng.standard_normal((6, 7))
    W, q = J @ J.T, rng.standard_normal(6)
    known = ss.solve_friction(ss.FrictionProblem(W, q, 0.5))
    found = ss.solve_friction(ss.FrictionProblem(np.ldexp(W, mass), np.ldexp(q, speed), 0.5))
    assert known.solved and found.solved and found.error == known.error
    np.testing.assert_array_equal(np.ldexp(found.r, mass - speed), known.r)
    assert ss.FrictionProblem(np.ldexp(W, mass), np.ldexp(q, speed), 0.5).error(np.zeros(6)) > 0.1


def test_no_warnings_leak(recwarn):
    W = np.diag([1e200, 1e-200, 1.0])
    for q in ([-1.0, 2.0, 3.0], [-1e100, 1e-100, 0.0]):
        for method in ("auto", "newton", "interior-point", "proximal-point", "lemke"):
            ss.solve_friction(ss.FrictionProblem(W, q, 0.5), method, time_limit=0.2)
    ss.enumerate_friction(ss.FrictionProblem(W, [-1.0, 2.0, 3.0], 0.5))
    assert not recwarn.list
