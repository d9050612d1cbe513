"""General friction cones by maximum dissipation: against closed forms, the cone solver, and the principle itself."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stickslip as ss
from stickslip.contact.any_section import one_contact_solutions
from stickslip.contact.contacts import contacts_from
from stickslip.contact.pyramid import pyramid_solution
from stickslip.contact.sections import Ellipse, Polygon, PowerNorm
from stickslip.papers.maximum_dissipation import (
    DissipationProblem,
    fritz_john_residual,
    solve_dissipation,
    solve_fritz_john,
)
from tests.thinned import examples, thinned

SECTIONS = {
    "circle": Ellipse(),
    "ellipse": Ellipse(1.5, 0.4),
    "nearly a diamond": PowerNorm(1.2),
    "nearly a square": PowerNorm(8.0),
    "pyramid": Polygon.regular(8),
    "lopsided": Polygon(((1.0, -0.5), (0.6, 0.9), (-0.7, 0.4), (-0.4, -0.8))),
}


def random_problem(seed, contacts=1, section=None, bodies=3):
    generator = np.random.default_rng(seed)
    H = generator.normal(size=(3 * contacts, 3 * bodies + 3 * contacts))
    mu = generator.uniform(0.1, 0.8, contacts)
    return DissipationProblem(H @ H.T / H.shape[1], generator.normal(size=3 * contacts), mu, section or Ellipse())


@pytest.mark.parametrize("section", SECTIONS.values(), ids=SECTIONS)
@thinned
@settings(max_examples=examples(12, 125), deadline=None)
@given(angle=st.floats(0.0, 2 * math.pi), size=st.floats(1e-3, 1e3))
def test_gauge_support_and_slopes_belong_together(section, angle, size):
    d = size * np.array([math.cos(angle), math.sin(angle)])
    point = section.farthest(d)
    assert section.gauge(point) == pytest.approx(1.0, abs=1e-9)
    assert section.support(d) == pytest.approx(d @ point, rel=1e-12)
    assert section.gauge(3.0 * d) == pytest.approx(3.0 * section.gauge(d), rel=1e-9)
    g = section.slopes(d)[0]
    assert g @ d == pytest.approx(section.gauge(d), rel=1e-9)  # Euler's identity
    assert section.support(g) == pytest.approx(1.0, abs=1e-7)  # slopes lie on the polar set
    others = [section.farthest(np.array([math.cos(a), math.sin(a)])) for a in np.linspace(0, 6.2, 40)]
    assert max(other @ d for other in others) <= section.support(d) * (1 + 1e-12)


def test_closed_form_of_one_contact():
    """W = 1: r_N = 1, free slip (3, 4); isotropic: along the slip; a square: on its corner; in reach: stick."""
    q = np.array([-1.0, 3.0, 4.0])
    circle = solve_dissipation(DissipationProblem(np.eye(3), q, 0.5))
    np.testing.assert_allclose(circle.r, [1.0, -0.3, -0.4], atol=1e-14)
    assert circle.multipliers[0] == pytest.approx(4.5) and circle.solved
    square = Polygon(((1, -1), (1, 1), (-1, 1), (-1, -1)))
    np.testing.assert_allclose(solve_dissipation(DissipationProblem(np.eye(3), q, 0.5, square)).r, [1, -0.5, -0.5])
    ellipse = solve_dissipation(DissipationProblem(np.eye(3), [-1.0, 3.0, 0.0], 0.5, Ellipse(0.2, 1.0)))
    np.testing.assert_allclose(ellipse.r, [1.0, -0.1, 0.0], atol=1e-14)
    stuck = solve_dissipation(DissipationProblem(np.eye(3), [-1.0, 0.1, 0.2], 0.5))
    np.testing.assert_allclose(stuck.r, [1.0, -0.1, -0.2], atol=1e-14)
    assert stuck.multipliers[0] == 0.0
    assert not solve_dissipation(DissipationProblem(np.eye(3), [1.0, 3.0, 4.0], 0.5)).r.any()


def test_slip_along_the_normal_of_an_edge_lies_on_the_edge():
    """(2.17) is an inclusion: with -u_T normal to an edge of a square the impulse may be anywhere on this edge."""
    square = Polygon(((1, -1), (1, 1), (-1, 1), (-1, -1)))
    answer = solve_dissipation(DissipationProblem(np.eye(3), [-1.0, -3.0, 0.2], 0.5, square))
    np.testing.assert_allclose(answer.r, [1.0, 0.5, -0.2], atol=1e-12)
    np.testing.assert_allclose(answer.u, [0.0, -2.5, 0.0], atol=1e-12)
    assert answer.solved


@pytest.mark.parametrize("section", SECTIONS.values(), ids=SECTIONS)
def test_no_impulse_of_the_section_dissipates_more(section):
    """The principle itself, over a thousand points of the section, on random contacts."""
    angles = np.linspace(0.0, 2 * np.pi, 1000)
    edge = np.array([section.farthest(np.array([math.cos(a), math.sin(a)])) for a in angles])
    slips = 0
    for seed in range(25):
        problem = random_problem(seed, section=section)
        answer = solve_dissipation(problem)
        assert answer.solved, answer.status
        (r_N, *beta), (u_N, *u_T) = answer.r, answer.u
        assert min(r_N, u_N) == pytest.approx(0.0, abs=1e-10) and min(r_N, u_N) >= -1e-10
        power = float(np.dot(beta, u_T))
        assert power <= (problem.mu[0] * r_N * (edge @ u_T)).min() + 1e-9
        slips += bool(answer.multipliers[0] > 1e-6)
    assert slips >= 5


def test_isotropic_and_elliptic_problems_agree_with_the_cone_solver():
    for seed, axes in ((1, (1.0, 1.0)), (2, (1.4, 0.5))):
        problem = random_problem(seed, contacts=4, section=Ellipse(*axes))
        answer = solve_dissipation(problem)
        mu = problem.mu[:, None] * np.array(axes)
        other = ss.solve_friction(ss.FrictionProblem(problem.W, problem.q, mu), tol=1e-12)
        assert answer.solved and other.solved
        np.testing.assert_allclose(answer.r, other.r, atol=1e-8)


@thinned
@settings(max_examples=examples(25, 125), deadline=None)
@given(seed=st.integers(0, 10_000), contacts=st.integers(1, 4))
def test_the_smooth_form_finds_exact_solutions_or_says_so(seed, contacts):
    problem = random_problem(seed, contacts)
    answer = solve_fritz_john(problem)
    if not answer.solved:
        assert "exceeds" in answer.status
        return
    residual = fritz_john_residual(problem, answer.r, 0.5 * answer.multipliers / problem.mu)
    np.testing.assert_allclose(residual, 0.0, atol=1e-7)
    assert problem.error(answer.r) <= 1e-9
    if contacts == 1:
        known = one_contact_solutions(problem.W, problem.q, float(problem.mu[0]), Ellipse())
        assert min(np.abs(answer.r - r).max() for r in known) < 1e-7


def test_the_smooth_form_solves_nearly_all_small_problems():
    """300 random problems: 1 to 3 contacts, some open, some sticking, some sliding."""
    answers = [solve_fritz_john(random_problem(seed, 1 + seed % 3)) for seed in range(300)]
    assert sum(answer.solved for answer in answers) >= 297
    assert all(answer.error <= 1e-9 for answer in answers if answer.solved)


def test_the_fritz_john_condition_keeps_its_multiplier_without_load():
    """At r_N = 0 the Kuhn-Tucker form u_T + 2 lambda beta = 0 has no multiplier; this one holds with any."""
    problem = DissipationProblem(np.eye(3), [1.0, 3.0, 4.0], 0.5)
    for multiplier in (0.0, 2.0):
        np.testing.assert_array_equal(fritz_john_residual(problem, np.zeros(3), np.array([multiplier])), 0.0)


def test_a_polygon_is_the_pyramid_of_the_lcp():
    """[S00] (2.16) by Lemke's method against a polygon as section; a slip of 3 m/s, a bound of 0.4 N s."""
    for angle in (0.1, 0.9, 2.5):
        q = np.array([-1.0, 3.0 * math.cos(angle), 3.0 * math.sin(angle)])
        r, _ = pyramid_solution(contacts_from(np.eye(3), q, np.array([0.4]), 3), 8)
        ours = solve_dissipation(DissipationProblem(np.eye(3), q, 0.4, Polygon.regular(8)))
        assert ours.solved
        np.testing.assert_allclose(ours.r, r, atol=1e-6)


def slide(section, angle, steps=20):
    """Where a particle comes to rest that starts with 1 m/s; it loses 1 / steps m/s in each step."""
    v, x = np.array([math.cos(angle), math.sin(angle)]), np.zeros(2)
    while np.hypot(*v) > 1e-9:
        v = v + solve_dissipation(DissipationProblem(np.eye(3), [-1.0, *v], 1.0 / steps, section)).r[1:]
        x = x + v / steps
    return x


def test_the_cone_does_not_deflect_a_slide():
    np.testing.assert_allclose(slide(Ellipse(), 0.3), 0.475 * np.array([math.cos(0.3), math.sin(0.3)]), atol=1e-10)


@pytest.mark.parametrize("m, mean, largest, longer", [(4, 0.153, 0.232, 0.432), (8, 0.0710, 0.106, 0.0864)])
def test_a_pyramid_deflects_a_slide(m, mean, largest, longer):
    """Numbers of docs/friction-laws.md, directions over one sector.

    The force is at first off by pi / (2 m) in the mean and pi / m at most.  The way to rest is off by less, since it
    bends to the middle between two edges.  It is longer, since the pyramid is inscribed."""
    check_slides(m, mean, largest, longer)


@pytest.mark.slow
@pytest.mark.parametrize("m, mean, largest, longer", [(16, 0.0349, 0.0520, 0.0210), (32, 0.0174, 0.0259, 0.00527)])
def test_a_finer_pyramid_deflects_a_slide_less(m, mean, largest, longer):
    check_slides(m, mean, largest, longer)


def check_slides(m, mean, largest, longer):
    at_first, way, length = [], [], []
    for angle in (np.arange(7) + 0.5) / 7 * math.pi / m:
        q = [-1.0, math.cos(angle), math.sin(angle)]
        r = solve_dissipation(DissipationProblem(np.eye(3), q, 0.05, Polygon.regular(m))).r
        at_first.append(abs(math.atan2(-r[2], -r[1]) - angle))
        x = slide(Polygon.regular(m), angle)
        way.append(abs(math.atan2(x[1], x[0]) - angle))
        length.append(np.hypot(*x) / 0.475 - 1.0)  # the cone: straight on, 1/20 (19 + 18 + ... + 1) / 20 m
    assert np.mean(at_first) == pytest.approx(math.pi / (2 * m), rel=1e-9) and max(at_first) <= math.pi / m
    assert np.mean(way) == pytest.approx(mean, rel=0.01) and max(way) == pytest.approx(largest, rel=0.01)
    assert max(length) == pytest.approx(longer, rel=0.01)


@pytest.mark.parametrize(
    "build, words",
    [
        (lambda: DissipationProblem(np.eye(4), np.zeros(4), 0.3), r"must have shapes \(3 n, 3 n\)"),
        (lambda: DissipationProblem(np.eye(3), np.zeros(3), -0.3), "mu must be 1 finite numbers >= 0"),
        (
            lambda: DissipationProblem(np.eye(3), np.zeros(3), 0.3, [Ellipse(), Ellipse()]),
            "section must be a CrossSection or 1",
        ),
        (lambda: Ellipse(0.0, 1.0), "a of Ellipse must be positive"),
        (lambda: PowerNorm(1.0), "p of PowerNorm must be a finite number > 1"),
        (lambda: Polygon(((1, 0), (0, 1))), "vertices must have shape"),
        (lambda: Polygon(((1, 0), (2, 0), (1, 1))), "vertices must go anticlockwise about 0"),
        (lambda: solve_fritz_john(random_problem(0, 1, Ellipse(1.0, 2.0))), "is that of isotropic friction"),
    ],
)
def test_refusals(build, words):
    with pytest.raises(ValueError, match=words):
        build()
