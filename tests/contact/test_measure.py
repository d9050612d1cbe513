"""What `tol` means: the violation of the laws at the worst contact, in velocities; FCLIB's natural map on request."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import stickslip as ss
from stickslip.bench.random_friction import granular, stack
from tests.contact import measure

BLOCK = ss.FrictionProblem(np.eye(3), [-1.0, 3.0, 4.0], 0.5)  # slides; the answer: r = (1, -0.3, -0.4)


@pytest.mark.parametrize(
    ("r", "violation"),
    [
        ([1.0, -0.3, -0.4], 0.0),
        ([0.0, 0.0, 0.0], 1.0),  # open, and approaching with 1 m/s
        ([0.9, -0.27, -0.36], 0.1),  # approaches with 0.1 m/s; its friction is that of its normal impulse
        ([1.1, -0.33, -0.44], 0.1),  # an impulse that was too large: it takes off with 0.1 m/s and is held
        ([-0.2, 0.0, 0.0], 1.2),  # pulls: still 1.2 m/s
        ([1.0, 0.0, 0.0], 0.5),  # friction 0.5 is missing, which would brake by 0.5 m/s
    ],
)
def test_the_residual_is_the_velocity_that_is_wrong(r, violation):
    assert BLOCK.error(np.array(r)) == pytest.approx(violation / np.sqrt(26.0), abs=1e-15)  # relative to |q|


def test_a_contact_that_sticks_counts_with_its_slip():
    held = ss.FrictionProblem(np.eye(3), [-1.0, 0.3, 0.0], 0.5)
    assert held.error(np.array([1.0, -0.2, 0.0])) * np.sqrt(1.09) == pytest.approx(0.1)  # it still slips with 0.1 m/s
    assert held.error(np.array([1.0, -0.3, 0.0])) == 0.0


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1e6, 3e11])
def test_neither_the_unit_of_mass_nor_that_of_length_matters(unit):
    """W in 1/kg or 1/t: solved in the same iterations, with the same bits where the unit is a power of four."""
    given = stack(16, np.random.default_rng(3), 3)
    first = ss.solve_friction(given)
    exact = 4.0 ** np.round(np.log2(unit) / 2.0)
    other = ss.solve_friction(ss.FrictionProblem(exact * given.matrix, given.q, given.mu))
    assert first.solved and other.solved and np.array_equal(other.r * exact, first.r)
    assert (other.error, other.iterations) == (first.error, first.iterations)
    slow = ss.solve_friction(ss.FrictionProblem(given.matrix, exact * given.q, given.mu))
    assert slow.solved and slow.error == pytest.approx(first.error, rel=1e-6, abs=1e-12)


def test_heavy_on_light_is_solved_in_velocities():
    """Relative to impulses that carry 1e6 kg, light bodies that fall freely through each other look solved."""
    problem = stack(40, np.random.default_rng(0), 3, mass_ratio=1e6)
    s = ss.solve_friction(problem, tol=1e-10)
    assert s.solved and measure.error(problem, s.r) <= 1e-10
    u = problem.matrix @ s.r + problem.q
    assert u[::3].min() >= -1e-6 * np.abs(problem.q).max()
    kicked = s.r.copy()
    kicked[:12] *= 1.0 + 1e-4  # a little more of the load below the lightest box throws it up faster than all fall
    assert problem.error(kicked, "natural-map") < 1e-3 < 1.0 < problem.error(kicked)


def test_both_measures_are_told_and_either_can_be_asked_for():
    problem = granular(30, np.random.default_rng(5), 3)
    for asked in ("velocity", "natural-map"):
        s = ss.solve_friction(problem, tol=1e-9, measure=asked)
        assert s.solved and s.measure == asked and s.error <= 1e-9
        assert s.error == (s.velocity_error if asked == "velocity" else s.natural_map)
        assert s.natural_map == pytest.approx(measure.natural_map(problem, s.r), rel=1e-6, abs=1e-15)
        assert s.velocity_error == pytest.approx(measure.error(problem, s.r), rel=1e-6, abs=1e-14)


@pytest.mark.parametrize("method", ["gauss-seidel", "newton", "interior-point", "proximal-point", "alternating"])
def test_every_method_takes_both_measures(method):
    problem = ss.FrictionProblem(*(lambda p: (p.matrix, p.q, 0.3))(granular(20, np.random.default_rng(6), 3)))
    for asked, judge in (("velocity", measure.error), ("natural-map", measure.natural_map)):
        s = ss.solve_friction(problem, method, tol=1e-7, measure=asked)
        assert s.solved and judge(problem, s.r) <= 1.01e-7


def test_islands_share_the_natural_map():
    """Many islands, each solved to the tolerance, must not add up to more than the tolerance."""
    parts = [granular(6, np.random.default_rng(k), 3) for k in range(30)]
    W, q, mu = (
        sp.block_diag([p.matrix for p in parts]),
        *(np.concatenate([getattr(p, x) for p in parts]) for x in ("q", "mu")),
    )
    s = ss.solve_friction(ss.FrictionProblem(W, q, mu), tol=1e-6, measure="natural-map")
    assert s.solved and s.natural_map <= 1e-6


def test_joints_and_ellipses_are_measured_as_given():
    rng = np.random.default_rng(7)
    H, G = rng.standard_normal((8, 6)), rng.standard_normal((8, 2))
    jointed = ss.FrictionProblem.from_dynamics(np.eye(8), H, rng.standard_normal(8), np.zeros(6), 0.4, G=G)
    s = ss.solve_friction(jointed, tol=1e-11)
    assert s.solved and np.abs(s.u[6:]).max() <= 1e-11 * np.abs(jointed.q).max()
    off = s.r.copy()
    off[6] += 1e-3
    u = jointed.velocity(off)
    assert jointed.error(off) >= np.abs(u[6:]).max() / np.linalg.norm(jointed.q) > 0.0
    ellipse = ss.FrictionProblem(np.eye(3), [-1.0, 0.03, 0.04], [[0.5, 0.005]])  # sticks along, slides across
    slides = ss.solve_friction(ellipse, tol=1e-12)
    assert slides.solved and ellipse.error(slides.r) <= 1e-12 and ellipse.error(slides.r, "natural-map") <= 1e-10


def test_impulses_that_swallow_the_velocities_are_no_solution():
    """1e16 N s on both sides: W r + q rounds to zero, and nothing is known of the velocities."""
    h = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, 1.0]])
    squeezed = ss.FrictionProblem(h @ h.T, [-1.0, 0.1, -1.0, 0.2], 0.5, dim=2)
    huge = np.array([1e16, 0.0, 1e16, 0.0])
    assert squeezed.error(huge) >= 1.0


@pytest.mark.parametrize("make", [lambda q: ss.FrictionProblem(np.diag([0.0, 1.0, 1.0]), q, 0.5), None])
def test_what_cannot_be_solved_is_refused_with_a_proof(make):
    problem = make([-1.0, 0.2, 0.0]) if make else _closing_walls(6)
    s = ss.solve_friction(problem)
    assert not s.solved and "cannot give way, so the problem has no solution" in s.status
    assert s.seconds < 2.0


def _closing_walls(bodies):
    """Bodies in a row between two walls that close, each contact approaching a little."""
    n = bodies + 1
    J = np.zeros((2 * n, 2 * bodies))
    for i in range(n):
        for side, body in ((1.0, i), (-1.0, i - 1)):
            if 0 <= body < bodies:
                J[2 * i, 2 * body], J[2 * i + 1, 2 * body + 1] = side, side
    q = np.zeros(2 * n)
    q[[0, -2]] = -0.1
    return ss.FrictionProblem(J @ J.T, q, 0.4, dim=2)


@pytest.mark.parametrize("wrong", ["energy", None, 3])
def test_an_unknown_measure_gets_one_line(wrong):
    with pytest.raises(ValueError, match="measure must be 'velocity' or 'natural-map', got"):
        ss.solve_friction(BLOCK, measure=wrong)
    with pytest.raises(ValueError, match="measure must be 'velocity' or 'natural-map', got"):
        BLOCK.error(np.zeros(3), wrong)


@pytest.mark.slow
@pytest.mark.parametrize("tol", [1e-4, 1e-8, 1e-12])
def test_masses_a_million_apart(tol):
    from stickslip.bench.random_friction import random_friction_problem

    for dim in (2, 3):
        for contacts, count in {10: 20, 50: 10, 300: 2}.items():
            for k in range(count):
                rng = np.random.default_rng([contacts, dim, k])
                problem = random_friction_problem("mass ratio 1e6", contacts, rng, dim)
                s = ss.solve_friction(problem, tol=tol)
                assert s.solved and measure.error(problem, s.r) <= 1.01 * tol + 1e-15, (dim, contacts, k, s.status)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("at", range(6))
def test_a_contact_whose_impulse_is_no_number_is_not_hidden_by_the_next(at, wrong):
    """Two blocks that do not touch one another: the error of the sound one must not stand for both."""
    two = ss.FrictionProblem(np.eye(6), [-1.0, 0.1, 0.2] * 2, 0.5)
    r = ss.solve_friction(two).r
    assert two.error(r) <= 1e-15
    r[at] = wrong
    assert two.error(r) == np.inf == two.error(r, "natural-map")


def exact_violations(problem, r):
    """Violation and load of each planar contact with impulses r, in fractions: no rounding at all but of the bound."""
    d, rows = problem.dim, [[Fraction(w) for w in row] for row in problem.matrix.tolist()]
    impulses, found = [Fraction(x) for x in r.tolist()], []
    u = [
        sum(w * x for w, x in zip(row, impulses, strict=True)) + Fraction(q)
        for row, q in zip(rows, problem.q, strict=True)
    ]
    load = [sum(abs(w * x) for w, x in zip(row, impulses, strict=True)) for row in rows]
    for i in range(problem.contacts):
        k, m = d * i, (rows[d * i][d * i] + rows[d * i + 1][d * i + 1]) / 2
        e_N = min(u[k], m * impulses[k])
        bound = Fraction(problem.mu[i]) * max(impulses[k], Fraction(0))
        pull = impulses[k + 1] - u[k + 1] / m
        e_T = u[k + 1] if abs(pull) <= bound else m * (impulses[k + 1] - (bound if pull > 0 else -bound))
        found.append((float(e_N**2 + e_T**2) ** 0.5, float(max(load[k], load[k + 1]))))
    return found


@pytest.mark.parametrize("seed", range(8))
def test_what_rounding_explains_is_what_exact_arithmetic_says(seed):
    """Six contacts hold a body against six others.  The sums of their loads are rounded as much as what is judged."""
    rng, n = np.random.default_rng(seed), 12
    A = rng.normal(size=(4, n))
    J = np.hstack([A, -A])
    load = np.where(np.arange(n) % 2 == 0, rng.uniform(1e6, 2e6, n), rng.uniform(-1e5, 1e5, n))
    W, r = np.eye(26), np.concatenate([load, load, [0.0, 0.0]])
    W[:24, :24] = J.T @ J
    q = np.finfo(float).eps * (abs(W) @ abs(r)) * rng.uniform(6.0, 10.0, 26) * rng.choice([-1.0, 1.0], 26)
    q[24:] = 1.0, 0.0  # another contact opens with 1 m/s, what the others are compared with
    problem, worst = ss.FrictionProblem(W, q, 0.5, dim=2), 0.0
    for found, size in exact_violations(problem, r):
        worst = max(worst, found - 8.0 * np.finfo(float).eps * size)
    assert worst > 0.0
    assert problem.error(r) == pytest.approx(worst, rel=1e-2)
