"""Erdmann's condition: the rod's closed form, sets of contacts, and the impulse that is found where it fails."""

import math

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import stickslip as ss


def check_impulse(system, q, found, params=None):
    """The impulse is in the cones, brings everything to rest, and no contact that pushes approached before."""
    p = system.parameter_vector(params)
    index = [system.contact_names.index(name) for name in found.contacts]
    mu = system.laws(p)[0][index]
    N, T, u = found.normal_impulse, found.tangential_impulse, found.velocity_before
    W_N, W_T, _ = (rows[index] for rows in system.geometry(q, 0.0, p))
    after = u + np.linalg.solve(system.mass(q, 0.0, p), W_N.T @ N + W_T.T @ T)
    assert (N >= 0.0).all() and N.sum() == pytest.approx(1.0)
    assert (np.abs(T) <= mu * N + 1e-9).all()
    np.testing.assert_allclose(after, 0.0, atol=1e-9 * np.abs(u).max())
    pushing = [found.contacts.index(name) for name in found.pushing]
    assert (W_N[pushing] @ u >= -1e-8 * np.abs(u).max()).all()
    assert np.abs(u).max() > 0.0


def test_rod_can_jam_where_the_bracket_is_negative():
    """alpha/|delta| = (1 + 3 cos^2) / (3 sin cos) for the uniform rod; 4/3 at tan(theta) = 2."""
    for theta in (0.6, math.atan(2.0), 1.4):
        rod = ss.library.painleve_rod(angle=theta)
        critical = (1 + 3 * math.cos(theta) ** 2) / (3 * math.sin(theta) * math.cos(theta))
        for mu, holds in ((0.99 * critical, True), (1.01 * critical, False)):
            found = ss.erdmann(rod.system, rod.q0, params={"friction": mu})
            assert found.holds == holds and found.contacts == ("tip",)
            assert found.critical_friction[0] == pytest.approx(critical)
            assert (found.margin[0] > 0.0) == holds
            if not holds:
                check_impulse(rod.system, rod.q0, found, {"friction": mu})


def test_impulse_found_is_that_of_the_impact_law():
    rod = ss.library.painleve_rod(friction=2.0)
    found = ss.erdmann(rod.system, rod.q0)
    hit = ss.impact(rod.system, rod.q0, found.velocity_before)  # gamma_N = 0 before: an impact without collision
    assert hit.normal_velocity_before[0] == pytest.approx(0.0, abs=1e-12)
    assert hit.normal_impulse[0] == pytest.approx(1.0) and hit.tangential_impulse[0] == pytest.approx(4 / 3)
    assert str(found) == "impulses without collision can occur: tip can jam"


def test_without_friction_it_always_holds():
    """Even where contacts push against one another: the pairs alone would not tell."""
    cradle = ss.library.newton_cradle(balls=4)
    found = ss.erdmann(cradle.system, np.zeros(4))
    assert found.holds and len(found.contacts) == 3 and found.pushing == ()
    assert not found.normal_impulse.any() and "no impulses without collision" in str(found)


def test_two_contacts_can_jam_where_neither_can_alone():
    """A ball between table and wall-like ball: alone each has delta = 0."""
    balls = ss.library.two_balls(clearance=0.0)
    gentle, rough = (ss.erdmann(balls.system, balls.q0, params={"friction": mu}) for mu in (0.5, 3.0))
    assert gentle.holds and (rough.margin > 0.0).all()
    assert not rough.holds and len(rough.pushing) == 2
    check_impulse(balls.system, balls.q0, rough, {"friction": 3.0})


@settings(max_examples=25, deadline=None)
@given(st.floats(0.05, 1.5), st.floats(0.0, 5.0))
def test_verdict_and_condition_agree_for_one_contact(theta, mu):
    rod = ss.library.painleve_rod(angle=theta, friction=mu)
    found = ss.erdmann(rod.system, rod.q0)
    W_N, W_T, _ = rod.system.geometry(rod.q0)
    V = np.linalg.solve(rod.system.mass(rod.q0), np.stack([W_N[0] + s * mu * W_T[0] for s in (-1, 1)]).T)
    least = (W_N[0] @ V).min()  # n^T M^-1 z over the edges of the cone, [S00] section 3
    if abs(least) > 1e-9:
        assert found.holds == (least > 0.0)


def test_wrong_input():
    rod = ss.library.painleve_rod(gap=0.1)
    with pytest.raises(ValueError, match="no contact is closed"):
        ss.erdmann(rod.system, rod.q0)
    assert not ss.erdmann(rod.system, rod.q0, contacts=["tip"]).holds
    with pytest.raises(ValueError, match=r"contacts must be names among tip, far tip, got \['toe'\]"):
        ss.erdmann(rod.system, rod.q0, contacts=["toe"])
    belt = ss.library.friction_oscillator()
    with pytest.raises(ValueError, match="erdmann looks at unilateral contacts"):
        ss.erdmann(belt.system, belt.q0, contacts=[belt.system.contact_names[0]])


def plane(gap, slip, friction):
    """A point of mass 1 in the plane at one contact."""
    x, y, v_x, v_y = sp.symbols("x y v_x v_y")
    edge = ss.Contact("edge", gap=gap(x, y), slip=slip(x, y), friction=friction)
    kinetic = (v_x**2 + v_y**2) / 2
    return ss.LagrangianSystem.from_energies(
        [x, y], velocities=[v_x, v_y], kinetic=kinetic, potential=0, contacts=[edge], parameters={}
    )


def test_a_gap_without_gradient_is_refused():
    """gap = y^2 has no normal direction at y = 0."""
    with pytest.raises(ValueError, match="the gap of contact 'edge' has no gradient"):
        ss.erdmann(plane(lambda x, y: y**2, lambda x, y: x, 0.5), [0.0, 0.0])


@pytest.mark.parametrize(("friction", "holds"), [(1.0, True), (1.0 + 1e-12, False)])
def test_the_limit_belongs_to_the_condition(friction, holds):
    """alpha = delta = 1: alpha - mu |delta| >= 0, [S00] section 3."""
    assert ss.erdmann(plane(lambda x, y: y, lambda x, y: x + y, friction), [0.0, 0.0]).holds == holds
