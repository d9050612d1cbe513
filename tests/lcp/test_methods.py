"""Solver objects and words: `ss.GaussSeidel()` is taken wherever there is a Gauss-Seidel method."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.lcp.solve import METHODS

A, B = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([-5.0, -6.0])
P = ss.FrictionProblem([[1.0, 0.0], [0.0, 2.0]], [-1.0, 3.0], 0.5, dim=2)
OBJECTS = [ss.Auto, ss.Lemke, ss.GaussSeidel, ss.Enumerate, ss.SemismoothNewton]


@pytest.mark.parametrize("solver", OBJECTS)
def test_an_object_is_its_word(solver):
    for one, other in (
        (ss.solve_lcp(A, B, solver()), ss.solve_lcp(A, B, solver.name)),
        (ss.solve_lcp(A[None], B[None], solver()), ss.solve_lcp(A[None], B[None], solver.name)),
    ):
        assert np.all(one.solved) and one.x.tobytes() == other.x.tobytes() and one.method == other.method
    friction, word = ss.solve_friction(P, solver()), ss.solve_friction(P, solver.name)
    assert friction.solved and friction.r.tobytes() == word.r.tobytes()
    assert friction.method == word.method == solver.name


def test_one_word_for_gauss_seidel_and_the_old_one():
    assert "gauss-seidel" in METHODS and "pgs" not in METHODS
    new, old = ss.solve_lcp(A, B, "gauss-seidel"), ss.solve_lcp(A, B, "pgs")
    assert new.x.tobytes() == old.x.tobytes()
    assert (new.method, old.method) == ("gauss-seidel", "pgs")  # as it was asked for
    assert new.status.replace("gauss-seidel", "pgs") == old.status


def test_which_tolerance_counts():
    """That of the call; then that of the object; then the default of the call."""
    loose = ss.solve_lcp(A, B, ss.GaussSeidel(tol=1e-2))
    assert loose.solved and loose.iterations < ss.solve_lcp(A, B, "gauss-seidel").iterations
    strict = ss.solve_lcp(A, B, ss.GaussSeidel(tol=1e-2), tol=1e-10)
    assert strict.iterations == ss.solve_lcp(A, B, "gauss-seidel", tol=1e-10).iterations
    W = np.array([[1.0, 0.4, 0.3, 0.2], [0.4, 1.0, 0.1, 0.3], [0.3, 0.1, 1.0, 0.4], [0.2, 0.3, 0.4, 1.0]])
    coupled = ss.FrictionProblem(W, [-1.0, 0.5, -1.0, -0.3], 0.4, dim=2)
    by = {tol: ss.solve_friction(coupled, "gauss-seidel", tol=tol, memory=0) for tol in (1e-2, 1e-8)}
    assert by[1e-2].iterations < by[1e-8].iterations
    assert ss.solve_friction(coupled, ss.GaussSeidel(tol=1e-2), memory=0).iterations == by[1e-2].iterations
    assert ss.solve_friction(coupled, ss.GaussSeidel(), memory=0).iterations == by[1e-8].iterations
    assert ss.solve_friction(coupled, ss.GaussSeidel(tol=1e-2), tol=1e-8, memory=0).iterations == by[1e-8].iterations


def test_limits_of_objects_count():
    assert ss.solve_lcp(A, B, ss.GaussSeidel(max_iterations=2)).iterations == 2
    assert not ss.solve_lcp(A, B, ss.GaussSeidel(max_iterations=2)).solved
    mixed = ss.solve_mlcp(A, B, [True, False], ss.Lemke())
    assert mixed.solved and mixed.x.tobytes() == ss.solve_mlcp(A, B, [True, False], "lemke").x.tobytes()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ss.solve_lcp(A, B, ss.AugmentedLagrangian()), "method must be one of auto, lemke, enumerate, gauss-s"),
        (
            lambda: ss.solve_lcp(A, B, ss.Newton()),
            r"an impact law; Newton's method is 'newton', or SemismoothNewton\(\)",
        ),
        (lambda: ss.solve_friction(P, ss.Newton()), "an impact law; Newton's method is 'newton'"),
        (lambda: ss.solve_friction(P, "gauss-seidl"), "method must be one of auto, gauss-seidel, newton"),
        (
            lambda: ss.solve_friction(P, "newton", memory=3),
            "method 'newton': unknown option 'memory'; known: sweeps",
        ),
        (lambda: ss.solve_friction(P, ss.solvers.InteriorPoint(), max_iterations=3), "belongs into the method object"),
        (lambda: ss.solve_lcp(A, B, ss.Lemke(max_iterations=3), max_iterations=4), "belongs into the method object"),
        (lambda: ss.library.bouncing_ball().simulate(solver=ss.Newton()), "ss.Newton is an impact law"),
    ],
)
def test_what_is_no_method_gets_one_line(call, message):
    with pytest.raises(ValueError, match=message):
        call()
