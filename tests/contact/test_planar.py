"""Every solver of planar contact steps against all solutions, and against a residual of the test's own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from stickslip.contact.planar import (
    SOLVERS,
    AugmentedLagrangian,
    Auto,
    Enumerate,
    GaussSeidel,
    Lemke,
    PlanarProblem,
    all_solutions,
    solver_from,
)
from stickslip.laws.scalar import OneContact, residual_of_one
from tests.thinned import examples, thinned

TOL = 1e-10
seeds = st.integers(0, 2**32 - 1)


def problem(W_N, W_T, u_free, mu, a=None, M=None, drift_N=0.0, drift_T=0.0) -> PlanarProblem:
    """The problem of a step from rows of directions; a zero row means that the contact lacks this part."""
    W_N, W_T, u_free = np.atleast_2d(W_N).astype(float), np.atleast_2d(W_T).astype(float), np.asarray(u_free, float)
    k, f = W_N.shape
    M = np.eye(f) if M is None else M
    V_N, V_T = np.linalg.solve(M, W_N.T), np.linalg.solve(M, W_T.T)
    return PlanarProblem(
        G_NN=W_N @ V_N,
        G_NT=W_N @ V_T,
        G_TT=W_T @ V_T,
        c_N=W_N @ u_free + drift_N,
        c_T=W_T @ u_free + drift_T,
        mu=np.broadcast_to(np.asarray(mu, float), (k,)).copy(),
        a=np.zeros(k) if a is None else np.broadcast_to(np.asarray(a, float), (k,)).copy(),
        normal=np.abs(W_N).sum(axis=1) > 0,
        tangential=np.abs(W_T).sum(axis=1) > 0,
        size_N=np.abs(W_N) @ np.abs(u_free) + np.abs(drift_N),
        size_T=np.abs(W_T) @ np.abs(u_free) + np.abs(drift_T),
    )


def random_problem(
    rng: np.random.Generator, k: int, f: int, *, mu=1.0, thresholds: bool, missing: bool
) -> PlanarProblem:
    """k contacts on f coordinates; with f < 2 k the directions depend on each other."""
    W_N, W_T = rng.normal(size=(k, f)), rng.normal(size=(k, f))
    B = rng.normal(size=(f, f))
    a = rng.exponential(size=k) * (rng.random(k) < 0.5) if thresholds else None
    if missing:
        W_N[rng.random(k) < 0.3] = 0.0
        W_T[(rng.random(k) < 0.3) & (np.abs(W_N).sum(axis=1) > 0)] = 0.0
    mu = mu * rng.random(k) * (np.abs(W_N).sum(axis=1) > 0) * (np.abs(W_T).sum(axis=1) > 0)
    return problem(W_N, W_T, rng.normal(size=f), mu, a, M=B @ B.T + 0.1 * np.eye(f))


def violation(p: PlanarProblem, Lambda_N: np.ndarray, Lambda_T: np.ndarray) -> float:
    """Natural map of the two inclusions, relative to the velocities in them.

    Lambda_N = max(0, Lambda_N - xi_N / G_NN) and Lambda_T = clip(Lambda_T - xi_T / G_TT, +-bound), as velocities.
    """
    N, T = np.asarray(Lambda_N), np.asarray(Lambda_T)
    xi_N = p.c_N + p.G_NN @ N + p.G_NT @ T
    xi_T = p.c_T + p.G_NT.T @ N + p.G_TT @ T
    alpha = np.where(p.normal, np.diag(p.G_NN), 1.0)
    beta = np.where(p.tangential, np.diag(p.G_TT), 1.0)
    bound = p.mu * N + p.a
    defect_N = alpha * np.abs(N - np.maximum(0.0, N - xi_N / alpha)) * p.normal
    defect_T = beta * np.abs(T - np.clip(T - xi_T / beta, -bound, bound)) * p.tangential
    assert not N[~p.normal].any() and not T[~p.tangential].any()  # what is absent carries nothing
    span_N = p.size_N + np.abs(p.G_NN) @ np.abs(N) + np.abs(p.G_NT) @ np.abs(T)
    span_T = p.size_T + np.abs(p.G_NT.T) @ np.abs(N) + np.abs(p.G_TT) @ np.abs(T)
    scale = max(span_N.max(), span_T.max())
    return float(max(defect_N.max(), defect_T.max()) / scale)


@pytest.mark.parametrize("missing", [False, True], ids=["whole", "parts missing"])
@pytest.mark.parametrize("thresholds", [False, True], ids=["Coulomb", "thresholds"])
@given(seed=seeds, k=st.integers(1, 3), f=st.integers(1, 7))
@thinned
@settings(max_examples=examples(10, 100), deadline=None)
def test_solvers_against_all_solutions(thresholds: bool, missing: bool, seed: int, k: int, f: int) -> None:
    p = random_problem(np.random.default_rng(seed), k, f, thresholds=thresholds, missing=missing)
    everything = [s for s in all_solutions(p) if s.solved]
    for s in everything:
        assert violation(p, s.Lambda_N, s.Lambda_T) <= 2 * TOL
    for solver in SOLVERS.values():
        s = solver(max_iterations=300 if solver is GaussSeidel else None).solve(p)
        assert s.solved == (s.residual <= TOL)
        if s.solved:
            # The bound itself is met to 1e-12 only, which counts as at the bound.
            assert violation(p, s.Lambda_N, s.Lambda_T) <= 2 * TOL, (solver.name, s)
            assert everything, f"{solver.name} solved a problem that enumeration finds without solution"
        elif solver is Auto:
            assert not everything, f"auto failed where there is a solution: {s.status}"
    if len(everything) == 1 and "continuum" not in everything[0].status:
        answer = Auto().solve(p)
        scale = np.abs(everything[0].Lambda_N).max() + np.abs(everything[0].Lambda_T).max() + 1e-9
        # Impulses follow from velocities through G^-1: 1e-6 allows a condition number of 1e4.
        np.testing.assert_allclose(answer.Lambda_N, everything[0].Lambda_N, rtol=0, atol=1e-6 * scale)
        np.testing.assert_allclose(answer.Lambda_T, everything[0].Lambda_T, rtol=0, atol=1e-6 * scale)


@pytest.mark.parametrize("name", SOLVERS)
@given(seed=seeds, k=st.integers(1, 3))
@thinned
@settings(max_examples=examples(20, 100), deadline=None)
def test_independent_contacts_with_little_friction_are_always_solved(name: str, seed: int, k: int) -> None:
    """Full rank and friction too weak to couple: the solution is unique, and no method has an excuse."""
    rng = np.random.default_rng(seed)
    f = 2 * k
    W = np.linalg.qr(rng.normal(size=(f, f)))[0] + 0.05 * rng.normal(size=(f, f)) / f
    p = problem(W[:k], W[k:], rng.normal(size=f), 0.5 * rng.random(k), 0.3 * rng.random(k))
    s = solver_from(name).solve(p)
    assert s.solved, s.status
    assert violation(p, s.Lambda_N, s.Lambda_T) <= 2 * TOL
    (only,) = all_solutions(p)
    scale = np.abs(only.Lambda_N).max() + np.abs(only.Lambda_T).max() + 1e-9
    np.testing.assert_allclose(s.Lambda_N, only.Lambda_N, rtol=0, atol=1e-8 * scale)
    np.testing.assert_allclose(s.Lambda_T, only.Lambda_T, rtol=0, atol=1e-8 * scale)


def brute_force(p: PlanarProblem) -> list[tuple[float, float]]:
    """Every solution of one contact: open, stick, slip left, slip right, each by hand."""
    (alpha,), (beta,), (delta,) = p.G_NN[0], p.G_TT[0], p.G_NT[0]
    (c_N,), (c_T,), (mu,), (a,) = p.c_N, p.c_T, p.mu, p.a
    eps = 1e-9
    candidates = []
    for N_free in (False, True):
        for T_law in ("stick", -1.0, 1.0):
            # Unknowns N, T; rows: N = 0 or xi_N = 0, and T = s (mu N + a) or xi_T = 0.
            A = np.array([[alpha, delta] if N_free else [1.0, 0.0], [delta, beta]])
            b = np.array([-c_N if N_free else 0.0, -c_T])
            if T_law != "stick":
                A[1], b[1] = [-T_law * mu, 1.0], T_law * a
            if abs(np.linalg.det(A)) < 1e-12:
                continue
            N, T = np.linalg.solve(A, b)
            xi_N, xi_T = c_N + alpha * N + delta * T, c_T + delta * N + beta * T
            size = abs(c_N) + abs(c_T) + alpha * abs(N) + beta * abs(T) + abs(delta) * (abs(N) + abs(T))
            ok = N >= -eps * size and xi_N >= -eps * size and abs(T) <= mu * N + a + eps * size
            if T_law != "stick":
                ok = ok and T_law * xi_T <= eps * size
            if ok:
                candidates.append((max(N, 0.0), T))
    return candidates


@given(seed=seeds, mu=st.just(0.0) | st.floats(1e-6, 3.0), threshold=st.sampled_from([0.0, 0.2, 2.0]))
@thinned
@settings(max_examples=examples(90, 450), deadline=None)
def test_single_contact_against_brute_force(seed: int, mu: float, threshold: float) -> None:
    rng = np.random.default_rng(seed)
    f = int(rng.integers(2, 4))
    p = problem(rng.normal(size=f), rng.normal(size=f), rng.normal(size=f), mu, threshold)
    # Directions that are nearly parallel leave the impulses undetermined to the accuracy asked for below.
    assume(np.linalg.cond([[p.G_NN[0, 0], p.G_NT[0, 0]], [p.G_NT[0, 0], p.G_TT[0, 0]]]) < 1e4)
    expected = brute_force(p)
    assert expected, "two independent directions: Newton's and Coulomb's laws always have a solution"
    for solver in SOLVERS.values():
        s = solver().solve(p)
        if not s.solved:  # with strong friction Lemke's path may end on a ray, and Newton's iteration with it
            strong = mu * abs(p.G_NT[0, 0]) > p.G_NN[0, 0]
            assert solver.name in ("lemke", "newton", "augmented-lagrangian", "alternating") and strong, (
                solver.name,
                s.status,
            )
            continue
        distance = min(abs(s.Lambda_N[0] - N) + abs(s.Lambda_T[0] - T) for N, T in expected)
        scale = max(abs(N) + abs(T) for N, T in expected) + 1e-9
        assert distance <= 1e-6 * scale, solver.name
    for s in all_solutions(p):
        distance = min(abs(s.Lambda_N[0] - N) + abs(s.Lambda_T[0] - T) for N, T in expected)
        scale = max(abs(N) + abs(T) for N, T in expected) + 1e-9
        assert distance <= 1e-6 * scale


# -- named cases -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize(
    "u_free, mu, N, T",
    [
        ((0.0, 1.0), 0.5, 0.0, 0.0),  # leaves
        ((0.3, -1.0), 0.5, 1.0, -0.3),  # sticks
        ((0.8, -1.0), 0.5, 1.0, -0.5),  # slips to the right
        ((-0.8, -1.0), 0.5, 1.0, 0.5),  # slips to the left
        ((0.8, -1.0), 0.0, 1.0, 0.0),  # no friction
        ((0.5, -1.0), 0.5, 1.0, -0.5),  # on the edge of the cone
        ((0.0, 0.0), 0.5, 0.0, 0.0),  # nothing happens
    ],
)
def test_particle_on_a_floor(name: str, u_free: tuple[float, float], mu: float, N: float, T: float) -> None:
    s = solver_from(name).solve(problem([0.0, 1.0], [1.0, 0.0], u_free, mu))
    assert s.solved, s.status
    np.testing.assert_allclose([s.Lambda_N[0], s.Lambda_T[0]], [N, T], atol=1e-12)


@pytest.mark.parametrize("name", SOLVERS)
def test_dry_friction_joint_and_clutch(name: str) -> None:
    """A joint without a normal part and a clutch without a tangential part, both on one body."""
    p = problem([[0.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 0.0]], [0.7, -0.4], 0.0, [0.5, 0.0])
    s = solver_from(name).solve(p)
    assert s.solved, s.status
    np.testing.assert_allclose(s.Lambda_N, [0.0, 0.4], atol=1e-12)
    np.testing.assert_allclose(s.Lambda_T, [-0.5, 0.0], atol=1e-12)


@pytest.mark.parametrize("name", [name for name in SOLVERS if name != AugmentedLagrangian.name])
def test_four_legs_carry_one_load(name: str) -> None:
    """More contacts than coordinates: the load is carried, however it is shared.

    The augmented Lagrangian's Newton steps do not settle here: its branches are singular.
    """
    x = np.array([-1.0, -0.3, 0.3, 1.0])
    W_N = np.column_stack([np.zeros(4), np.ones(4), x])
    W_T = np.tile([1.0, 0.0, 0.0], (4, 1))
    s = solver_from(name).solve(problem(W_N, W_T, [0.2, -1.0, 0.0], 0.5))
    assert s.solved, s.status
    assert s.Lambda_N.sum() == pytest.approx(1.0, rel=1e-9)
    assert s.Lambda_T.sum() == pytest.approx(-0.2, rel=1e-9)
    assert s.Lambda_N @ x == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("name", SOLVERS)
def test_a_vice_has_no_solution(name: str) -> None:
    """A body between two walls that come closer: it would have to move both ways at once."""
    p = problem([[1.0, 0.0], [-1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]], [0.0, 0.0], 0.3, drift_N=-1.0)
    assert all_solutions(p) == []
    s = solver_from(name).solve(p)
    assert not s.solved  # Gauss-Seidel pushes harder and harder: 1e4 N s after 1e4 sweeps
    assert s.status and not s.status.startswith("solved")


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("mu, solvable", [(0.5, True), (1.5, False)])
def test_a_wedge_that_locks_itself(name: str, mu: float, solvable: bool) -> None:
    """Painleve's paradox at its simplest: normal and tangential direction move one coordinate.

    The belt below runs ahead, xi_T = xi_N + 1 > 0.  Hence Lambda_T = -mu Lambda_N and xi_N = -0.5 + (1 - mu) Lambda_N.
    For mu > 1 pushing back only draws the body in.
    """
    p = problem([1.0], [1.0], [-0.5], mu, drift_T=1.0)
    s = solver_from(name).solve(p)
    assert s.solved is solvable, s.status
    assert len(all_solutions(p)) == int(solvable)
    if solvable:
        np.testing.assert_allclose([s.Lambda_N[0], s.Lambda_T[0]], [1.0, -0.5], atol=1e-12)
    else:
        assert not s.status.startswith("solved")


def test_painleve_rod_has_several_solutions() -> None:
    """G_NN - mu G_NT < 0: the contact is open or jams; every solver returns one of these solutions, enumeration all."""
    W_N, W_T = [1.0, 0.0], [2.0, 1.0]  # G = ((1, 2), (2, 5)), mu G_NT = 3 > G_NN
    p = problem(W_N, W_T, [0.1, 5.0], 1.5)
    found = all_solutions(p)
    assert len(found) >= 2
    for solver in SOLVERS.values():
        s = solver().solve(p)
        if s.solved:
            assert min(np.abs(s.Lambda_N - o.Lambda_N).max() for o in found) < 1e-9
    assert Auto().solve(p).solved


# -- the objects -----------------------------------------------------------------------------------------------


def test_no_contacts_are_solved_by_nothing() -> None:
    empty = np.zeros((0, 3))
    p = problem(empty, empty, np.zeros(3), 0.0)
    for solver in SOLVERS.values():
        s = solver().solve(p)
        assert s.solved and s.iterations == 0 and s.Lambda_N.shape == (0,)


def test_solvers_by_name() -> None:
    for name, solver in SOLVERS.items():
        assert isinstance(solver_from(name), solver)
        assert solver_from(solver(tol=1e-6)).tol == 1e-6
    for nonsense in ("lemk", None, 3, ["lemke"], Lemke):
        with pytest.raises(ValueError, match="solver must be one of auto, lemke"):
            solver_from(nonsense)  # type: ignore[arg-type]
    for tol in (0.0, 1.0, -1e-3, "small", float("nan")):
        with pytest.raises(ValueError, match="tol of Lemke must be a number between 0 and 1"):
            Lemke(tol=tol)  # type: ignore[arg-type]


def test_tolerance_decides_what_is_solved() -> None:
    p = random_problem(np.random.default_rng(1), 3, 4, mu=0.5, thresholds=False, missing=False)
    few = GaussSeidel(tol=1e-14, max_iterations=2).solve(p)
    assert not few.solved and "did not settle in 2 sweeps" in few.status
    assert GaussSeidel(tol=0.99 * min(1.0, 2 * few.residual) + 1e-3, max_iterations=2).solve(p).solved


def test_too_many_contacts_for_enumeration_say_so() -> None:
    k = 8
    p = problem(np.eye(k), np.zeros((k, k)), -np.ones(k), 0.0)
    s = Enumerate().solve(p)  # eight rows without friction are few enough
    assert s.solved
    W = np.eye(2 * k)
    many = Enumerate().solve(problem(W[:k], W[k:], -np.ones(2 * k), 0.5))
    assert not many.solved
    assert many.status == "enumeration takes up to 20 rows of the LCP, this step has 24"


def as_problem(G, c, mu, a, size) -> PlanarProblem:
    """Two contacts with both parts; G, c and size in the order N, N, T, T."""
    G, c, size, both = np.array(G), np.array(c), np.array(size), np.ones(2, bool)
    return PlanarProblem(
        G_NN=G[:2, :2], G_NT=G[:2, 2:], G_TT=G[2:, 2:], c_N=c[:2], c_T=c[2:], mu=np.array(mu), a=np.array(a),
        normal=both, tangential=both, size_N=size[:2], size_T=size[2:],
    )  # fmt: skip


HEAVY_ON_LIGHT = {
    "2.3e5, 7.6e5 and 1.2e-6 kg": (
        as_problem(
            [
                [38140.2115928758, -318129.41117437463, -31047.237635250985, -199037.68989557898],
                [-318129.4111743746, 2653533.3195849187, 258966.56099748026, 1660183.3199509939],
                [-31047.237635250985, 258966.56099748026, 25273.351283731798, 162022.44827314638],
                [-199037.68989557898, 1660183.3199509939, 162022.44827314638, 1038693.8183631373],
            ],
            [-0.7319733908237859, -0.18628634001738326, -0.3767791583155169, -0.8040576818646726],
            [0.5088511657933465, 1.634389387519898],
            [0.0, 0.0],
            [1.5058140659891677, 1.0557922739891845, 1.0666284208443024, 1.3042989255415132],
        ),
        [58694.9416615832, 2038.1675734573587, 29864.978619164856, 3331.0844583783055],
    ),
    "7.5e-3, 1.7e7 and 1.2e-6 kg": (
        as_problem(
            [
                [637.0774089189025, -2432.421651669965, 20265.04729804058, -8534.371079475619],
                [-2432.4216516699644, 10615.109449553624, -89179.9679475343, 38208.642412261084],
                [20265.04729804058, -89179.9679475343, 749585.2025400257, -321471.8372714962],
                [-8534.371079475619, 38208.642412261084, -321471.8372714962, 138143.41918145888],
            ],
            [-0.2959413163609761, -0.1379016717300362, 1.9814272928590388, -1.817785593548515],
            [1.601528857727784, 2.9453253964363717],
            [0.1, 0.1],
            [0.4569266598242945, 0.4772056808076548, 4.29867764057265, 1.840941273154665],
        ),
        [225727.41151779433, 41713.98530008768, -53830.827885201434, -122861.36029092174],
    ),
}


@pytest.mark.parametrize("name", HEAVY_ON_LIGHT)
def test_huge_impulses_that_cancel_excuse_no_violation(name):
    """Impulses that make velocities of 1e10 m/s and leave 0.4 m/s where the laws want none are no solution."""
    p, false = HEAVY_ON_LIGHT[name]
    N, T = np.array(false[:2]), np.array(false[2:])
    assert max(np.abs(xi).max() for xi in p.slip_velocities(N, T)) > 0.3
    assert p.residual(N, T) > 100 * TOL
    answer = Auto().solve(p)
    xi_N, xi_T = p.slip_velocities(answer.Lambda_N, answer.Lambda_T)
    made = np.abs(p.G_NN) @ answer.Lambda_N + np.abs(p.G_NT) @ p.bound(answer.Lambda_N)
    assert not answer.solved or np.all(-xi_N <= 1e-14 * made + TOL * p.size_N)
    if answer.solved and (np.abs(answer.Lambda_T) < 0.999 * p.bound(answer.Lambda_N)).all():
        assert max(np.abs(xi_N).max(), np.abs(xi_T).max()) < 1e-3  # both stick: nothing moves


def test_steps_of_the_scale_agree_between_problem_and_law_of_one_contact():
    """`residual_of_one` is `PlanarProblem.residual` of one contact, also where impulses are wrong."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        p = random_problem(rng, 1, 2, thresholds=True, missing=False)
        N = rng.exponential(size=1)
        T = rng.uniform(-1.0, 1.0, 1) * p.bound(N)
        numbers = (p.G_NN[0, 0], p.G_TT[0, 0], p.G_NT[0, 0], p.c_N[0], p.c_T[0], p.size_N[0], p.size_T[0])
        one = OneContact(*numbers, p.mu[0], p.a[0])
        assert residual_of_one.py_func(one, N[0], T[0]) == pytest.approx(p.residual(N, T), rel=1e-12)
