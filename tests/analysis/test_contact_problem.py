"""The LCP of a step with names: against the step itself, an impact, and the LCP's own words."""

from __future__ import annotations

import numpy as np
import pytest

import stickslip as ss


def state_of_the_woodpecker() -> tuple[ss.Scenario, np.ndarray, np.ndarray]:
    """A state with a closed contact."""
    bird = ss.library.woodpecker()
    return bird, bird.q0, bird.u0


def test_a_solution_is_the_step_of_the_reference() -> None:
    bird, q, u = state_of_the_woodpecker()
    problem = ss.contact_problem(bird.system, q, u, 1e-4)
    answer = problem.solve()
    run = ss.simulate(bird.system, q, u, dt=1e-4, t_end=1e-4, engine="reference", progress=False)
    assert answer.solved
    np.testing.assert_allclose(answer.u, run.u[-1], rtol=1e-12, atol=1e-15)


def test_the_lcp_holds_for_the_solution() -> None:
    bird, q, u = state_of_the_woodpecker()
    problem = ss.contact_problem(bird.system, q, u, 1e-4)
    assert problem.unknowns == ("Lambda_N[sleeve lower]", "Lambda_R[sleeve lower]", "xi_L[sleeve lower]")
    assert problem.complements == ("xi_N[sleeve lower]", "xi_R[sleeve lower]", "Lambda_L[sleeve lower]")
    found = ss.solve_lcp(problem.A, problem.b)
    answer = problem.solve()
    assert found.solved
    bound = problem.friction * answer.normal_impulse + problem.threshold
    np.testing.assert_allclose(found.x[0], answer.normal_impulse[0], rtol=1e-12)
    np.testing.assert_allclose(found.x[1], (bound + answer.tangential_impulse)[0], atol=1e-12 * bound[0])
    mass, (W_N, W_T) = problem.mass, problem.directions
    np.testing.assert_allclose(problem.G_NT, W_N @ np.linalg.solve(mass, W_T.T), rtol=1e-12)
    np.testing.assert_allclose(problem.A[0, 0], (problem.G_NN - problem.G_NT * problem.friction)[0, 0], rtol=1e-12)
    assert "xi_N[sleeve lower]" in str(problem)


def test_a_step_of_no_length_is_an_impact() -> None:
    bar = ss.library.impacting_bar(friction=1.0, restitution_normal=0.5)
    q, u = bar.q0.copy(), np.array([1.0, -2.0, 0.5])
    q[1] -= bar.system.gap(q, 0.0, bar.system.parameter_values)[0]
    q[1] -= 1e-15
    answer = ss.contact_problem(bar.system, q, u, 0.0).solve()
    np.testing.assert_allclose(answer.u, ss.impact(bar.system, q, u).u, rtol=1e-12)


def test_every_solution_is_listed() -> None:
    rod = ss.library.painleve_rod(friction=2.0, spin=-6.0, slip=-1.0)
    found = ss.contact_problem(rod.system, rod.q0, rod.u0, 1e-3).solutions()
    assert len(found) == 3  # it lifts off, slips on, or jams
    assert all(one.solved for one in found)
    assert {bool(one.normal_impulse[0] > 0.0) for one in found} == {False, True}


def test_without_contacts_the_step_is_free() -> None:
    ball = ss.library.bouncing_ball()
    problem = ss.contact_problem(ball.system, ball.q0, ball.u0, 1e-3)
    assert problem.contacts == ()
    assert str(problem) == "contact problem: no contact takes part"
    assert problem.solve().u == pytest.approx(ball.u0 - 9.81e-3)


def test_an_answer_is_printed_in_a_few_lines() -> None:
    brick = ss.library.brick_on_ramp(friction=0.5, angle=0.38)
    lines = str(ss.contact_problem(brick.system, brick.q0, brick.u0, 1e-3).solve("lemke")).splitlines()
    assert lines[0].startswith("solved by lemke") and lines[1].startswith("  u = (")
    assert lines[2].startswith("  ramp: impulses (") and len(lines) == 3


def test_a_negative_step_is_refused() -> None:
    ball = ss.library.bouncing_ball()
    with pytest.raises(ValueError, match=r"dt must not be negative, got -0.001 s"):
        ss.contact_problem(ball.system, ball.q0, ball.u0, -1e-3)


def test_a_quadratic_program_is_made_of_a_contact_problem() -> None:
    with pytest.raises(ValueError, match="problem must be what contact_problem returns, got NoneType"):
        ss.quadratic_program(None)
