"""One contact with two tangents: every section against the conditions themselves, and several contacts together."""

import numpy as np
import pytest

from stickslip.contact.planar import SOLVERS, PlanarProblem
from stickslip.contact.sections import CrossSection, Polygon, PowerNorm, section_row
from stickslip.contact.spatial import Spatial, SpatialProblem
from stickslip.contact.spatial_contact import friction_defect, section_gauge, spatial_contact

SECTIONS = {
    "disc": None,
    "pyramid": Polygon.regular(8),
    "lopsided": Polygon(((1.0, -0.5), (0.6, 0.9), (-0.7, 0.4), (-0.4, -0.8))),
    "nearly a diamond": PowerNorm(1.1),
    "nearly a square": PowerNorm(20.0),
}


@pytest.mark.parametrize("name", SECTIONS)
def test_answers_keep_the_law_on_random_problems(name):
    section = section_row(SECTIONS[name])
    generator = np.random.default_rng(3)
    seen = set()
    for _ in range(300):
        H = generator.normal(size=(3, 4))
        D, q, m = H @ H.T, generator.normal(size=3), generator.uniform(0.1, 0.5, 2)
        N, T1, T2 = spatial_contact(D.copy(), tuple(q.tolist()), tuple(m.tolist()), section, (0.0, 0.0))
        xi = D @ [N, T1, T2] + q
        size = np.abs(q).sum()
        assert N >= 0.0 and xi[0] >= -1e-12 * size
        assert N == 0.0 or abs(xi[0]) <= 1e-12 * size
        assert friction_defect(section, N, T1, T2, *m.tolist(), xi[1], xi[2]) <= 1e-12 * size
        sticks = N > 0.0 and section_gauge(section, T1 / m[0], T2 / m[1]) < N * (1 - 1e-9)
        seen.add("open" if N == 0.0 else "sticks" if sticks else "slips")
    assert seen == {"open", "sticks", "slips"}


def problem_of(contacts, seed, section=None):
    """Random contacts in space, rows in pairs, and one planar contact behind them."""
    generator = np.random.default_rng(seed)
    k = 2 * contacts + 1
    tangent = np.arange(k) % 2 == 1
    W_N, W_T = generator.normal(size=(2, k, 3 * k))
    W_N[tangent] = 0.0
    c_N = np.where(tangent, 0.0, -generator.uniform(0.1, 1.0, k))
    c_T = generator.normal(size=k)
    normal, ones = ~tangent, np.ones(k)
    base = PlanarProblem(
        W_N @ W_N.T / k,
        W_N @ W_T.T / k,
        W_T @ W_T.T / k,
        c_N,
        c_T,
        0.3 * ones,
        0.0 * ones,
        normal,
        ones > 0,
        ones,
        ones,
    )
    return SpatialProblem(**vars(base), space=Spatial.of(tangent, [section] * k))


@pytest.mark.parametrize("solver", ["auto", "gauss-seidel", "augmented-lagrangian"])
@pytest.mark.parametrize("seed", range(4))
def test_several_contacts_are_solved_by_all_methods_that_take_them(solver, seed):
    problem = problem_of(3, seed)
    answer = SOLVERS[solver]().solve(problem)
    assert answer.solved and answer.residual <= 1e-10
    first = SOLVERS["gauss-seidel"]().solve(problem)
    np.testing.assert_allclose(answer.Lambda_T, first.Lambda_T, atol=1e-8)


def test_residual_tells_wrong_directions_and_impulses_off_the_section():
    problem = problem_of(1, 0)
    answer = SOLVERS["auto"]().solve(problem)
    T = answer.Lambda_T.copy()
    T[0], T[1] = T[1], -T[0]  # as large, turned by a right angle
    assert problem.residual(answer.Lambda_N, T) > 1e-3
    assert problem.residual(answer.Lambda_N, 1.01 * answer.Lambda_T + 0.01) == np.inf
    assert problem.residual(answer.Lambda_N, np.full(3, np.nan)) == np.inf


@pytest.mark.parametrize("name", ["lemke", "newton", "enumerate", "alternating"])
def test_methods_for_lcps_are_refused(name):
    with pytest.raises(ValueError, match="solver must be one of 'auto', 'gauss-seidel', 'augmented-lagrangian'"):
        SOLVERS[name]().solve(problem_of(1, 0))


class Diamond(CrossSection):
    """A section of a user's own class, with corners."""

    def gauge(self, beta):
        return float(np.abs(beta).sum())

    def farthest(self, direction):
        at = int(np.argmax(np.abs(direction)))
        return np.sign(direction[at]) * np.eye(2)[at]

    def slopes(self, beta):
        small = np.abs(beta) <= 1e-9 * np.abs(beta).max()
        if not small.any():
            return np.sign(beta)[None]
        other = np.where(small, 1.0, 0.0)
        return np.array([np.sign(beta) * ~small + other, np.sign(beta) * ~small - other])


def test_an_own_section_gives_the_answers_of_the_polygon_that_it_is():
    for seed in range(5):
        own = SOLVERS["gauss-seidel"]().solve(problem_of(1, seed, Diamond()))
        known = SOLVERS["gauss-seidel"]().solve(problem_of(1, seed, Polygon.regular(4)))
        np.testing.assert_allclose(own.Lambda_T, known.Lambda_T, atol=1e-8)
        np.testing.assert_allclose(own.Lambda_N, known.Lambda_N, atol=1e-8)
