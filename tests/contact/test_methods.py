"""Every method on one set of problems; an answer called solved is a solution."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.bench.random_friction import KINDS, crowded, granular, random_friction_problem, stack
from stickslip.contact.contacts import contacts_from
from stickslip.contact.pyramid import PyramidLemke, pyramid_solution
from stickslip.contact.solve import METHODS
from stickslip.contact.sweeps import Sweeps
from tests.contact import measure

SMALL = {"lemke": 4, "enumerate": 2}
OPTIONS = [
    *METHODS,
    Sweeps(memory=0),
    Sweeps(relaxation=1.2, memory=0),
    PyramidLemke(directions=16),
]


def mild(problem, mu=0.3):
    """The problem with one moderate coefficient of friction for all contacts, its W as a matrix."""
    return ss.FrictionProblem(problem.matrix, problem.q, mu, problem.dim)


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("method", OPTIONS, ids=str)
def test_method_solves_mild_problems(method, dim):
    name = method if isinstance(method, str) else method.name
    for seed in range(3):
        problem = mild(granular(SMALL.get(name, 25), np.random.default_rng([seed, dim]), dim))
        s = ss.solve_friction(problem, method, tol=1e-7)
        assert s.solved, s.status
        assert measure.error(problem, s.r) <= 1.01e-7
        np.testing.assert_allclose(s.u, problem.matrix @ s.r + problem.q, atol=1e-12)
        assert s.path[-1].method and s.seconds > 0.0 and s.method == name


@pytest.mark.parametrize("method", [name for name in METHODS if name not in SMALL])
def test_nothing_is_called_solved_that_is_not(method):
    """Cut short, on problems made to be hard: the claim must fit the error computed here."""
    for kind in KINDS:
        for dim in (2, 3):
            problem = random_friction_problem(kind, 12, np.random.default_rng(dim), dim)
            for limit in (1, 3):
                s = ss.solve_friction(problem, method, tol=1e-9, max_iterations=limit, time_limit=0.5)
                error = measure.error(problem, s.r)
                assert s.error == pytest.approx(error, rel=1e-6, abs=1e-14)
                assert s.solved == (s.error <= 1e-9)
                assert s.solved or "not solved" in s.status or "time limit" in s.status


@pytest.mark.parametrize("method", ["auto", "gauss-seidel", "newton", "interior-point", "proximal-point"])
def test_the_velocities_do_not_depend_on_the_method(method):
    """Impulses of a hyperstatic stack are not unique; for moderate friction its velocities are."""
    problem = mild(stack(16, np.random.default_rng(2), 3), 0.5)
    reference = ss.solve_friction(problem, tol=1e-12)
    s = ss.solve_friction(problem, method, tol=1e-10)
    assert s.solved
    np.testing.assert_allclose(s.u, reference.u, atol=1e-7 * np.linalg.norm(problem.q))


def test_warm_start_is_free():
    problem = granular(80, np.random.default_rng(3), 3)
    first = ss.solve_friction(problem, "gauss-seidel", tol=1e-10)
    again = ss.solve_friction(problem, "gauss-seidel", tol=1e-9, r0=first.r)
    assert first.solved and again.iterations <= 3 < first.iterations


def test_time_limit_returns_the_best_so_far_and_says_so():
    problem = stack(300, np.random.default_rng(4), 3)
    ss.solve_friction(problem, "alternating", max_iterations=1)
    s = ss.solve_friction(problem, "alternating", tol=1e-14, time_limit=0.05)
    assert not s.solved and s.seconds < 2.0 and "time limit of 0.05 s reached" in s.status


def test_history_is_recorded_on_request():
    problem = mild(granular(40, np.random.default_rng(5), 3))
    assert len(ss.solve_friction(problem, "newton").history) == 0
    for method in ("auto", "gauss-seidel", "newton", "interior-point", "alternating"):
        s = ss.solve_friction(problem, method, record=True)
        assert len(s.history) and np.all(np.diff(s.history[:, 0]) >= 0.0)
        assert s.history[:, 1].min() <= 1e-8


def test_lemke_is_exact_in_the_plane_and_a_pyramid_in_space():
    plane = mild(crowded(4, np.random.default_rng(6), 2))
    assert ss.solve_friction(plane, "lemke").solved
    space = mild(crowded(6, np.random.default_rng(7), 3))
    exact = ss.solve_friction(space, tol=1e-12)
    contacts = contacts_from(space.matrix, space.q, space.mu, 3)
    off = []
    for m in (4, 16, 64):
        r, _ = pyramid_solution(contacts, m)
        assert r is not None
        off.append(np.linalg.norm(contacts.velocity(r) - exact.u))
        R = r.reshape(-1, 3)
        assert np.all(np.linalg.norm(R[:, 1:], axis=1) <= 0.3 * R[:, 0] + 1e-7)  # inscribed
    assert off[2] < 0.5 * off[0]
    unrefined = ss.solve_friction(space, PyramidLemke(refine=False))
    assert not unrefined.solved and "pyramid with 8 directions" in unrefined.status


def test_too_large_for_lemke_and_enumeration():
    problem = granular(200, np.random.default_rng(8), 3)
    s = ss.solve_friction(problem, "lemke")
    assert not s.solved and "lemke takes up to 1000 unknowns" in s.status
    with pytest.raises(ValueError, match="enumerate takes up to 3 contacts in dimension 3, got 200"):
        ss.solve_friction(problem, "enumerate")


def test_enumeration_finds_what_the_others_find():
    for seed in range(5):
        for dim, n in ((2, 3), (3, 2)):
            problem = mild(crowded(n, np.random.default_rng([9, seed]), dim), 0.4)
            every = ss.enumerate_friction(problem)
            assert every
            s = ss.solve_friction(problem, tol=1e-11)
            assert min(np.linalg.norm(s.u - other.u) for other in every) <= 1e-6 * np.linalg.norm(problem.q)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sweeps(relaxation=2.5), "relaxation must lie between 0 and 2"),
        (lambda: Sweeps(memory=-1), "memory must be a whole number >= 0"),
        (lambda: PyramidLemke(directions=2), "directions must be a whole number >= 3"),
        (lambda: Sweeps(-1), "max_iterations of gauss-seidel"),
    ],
)
def test_bad_options(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_interior_point_gets_past_the_kink_of_friction():
    """Balls with masses 1e6 apart, on which steps that leave the kink to the next one stalled at an error of 1."""
    problem = granular(300, np.random.default_rng([77, 300, 5, 3]), 3, mass_ratio=1e6)
    answer = ss.solve_friction(problem, "interior-point", tol=1e-8, max_iterations=150)
    assert answer.solved, answer.status
    assert measure.error(problem, answer.r) <= 1.01e-8
