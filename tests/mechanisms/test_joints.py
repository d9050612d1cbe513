"""Links and joints with play: the gaps of the paper, kinematics by finite differences, and a pin that is centred."""

import math

import numpy as np
import pytest
import sympy as sp

from stickslip import (
    LagrangianSystem,
    Link,
    RevoluteClearanceJoint,
    TranslationalClearanceJoint,
    link_energies,
)
from stickslip.mechanisms.system import CONTACT

x, y, phi, psi, t = sp.symbols("x y phi psi t")
v, w, omega, nu = sp.symbols("v w omega nu")
Q, U = [x, y, phi, psi], [v, w, omega, nu]
PLATE = Link("plate", centre=(x, y), angle=phi, mass=2, inertia=sp.Rational(1, 2))
ARM = Link.hinged("arm", (sp.Rational(1, 10), 0), psi, arm=sp.Rational(3, 10), mass=1, inertia=sp.Rational(1, 10))


def system(*joints, time=None):
    T, V = link_energies([PLATE, ARM], Q, U, gravity=10, time=time)
    return LagrangianSystem.from_energies(
        Q, velocities=U, kinetic=T, potential=V, contacts=joints, parameters={"c": 0.01, "mu": 0.2, "eps": 0.5}
    )


def world(q, point):
    """Where a point of the plate is."""
    c, s = math.cos(q[2]), math.sin(q[2])
    return np.array([q[0] + c * point[0] - s * point[1], q[1] + s * point[0] + c * point[1]])


def test_link_places_points_and_sees_them_back():
    X, Y = PLATE.point(3, 4)
    assert sp.simplify(PLATE.seen((X, Y))[0] - 3) == 0 and sp.simplify(PLATE.seen((X, Y))[1] - 4) == 0
    np.testing.assert_allclose([float(z.subs({x: 1, y: 2, phi: 0.3})) for z in (X, Y)], world([1, 2, 0.3], (3, 4)))
    tip = ARM.point(sp.Rational(3, 10))
    assert sp.simplify(tip[0] - (0.1 + 0.6 * sp.cos(psi))) == 0


def test_energies_of_links():
    """A pendulum hinged 0.3 m from its centre of mass: J + m s^2 = 0.1 + 0.09."""
    s = system()
    np.testing.assert_allclose(s.mass([0, 0, 0.2, 0.7]), np.diag([2, 2, 0.5, 0.19]))
    np.testing.assert_allclose(s.force([0, 0, 0.2, 0.7], np.zeros(4)), [0, -20, 0, -10 * 0.3 * math.cos(0.7)])
    assert s.energy([0, 0.5, 0, math.pi / 2], [1, 0, 2, 3])[0] == pytest.approx(1 + 1 + 0.5 * 0.19 * 9)
    assert s.energy([0, 0.5, 0, math.pi / 2], [1, 0, 2, 3])[1] == pytest.approx(2 * 10 * 0.5 + 10 * 0.3)


def test_energies_of_a_link_that_is_moved():
    """A bob on a pivot that moves with a t^2: the pivot's velocity 2 a t enters the momentum."""
    angle, rate = sp.symbols("angle rate")
    bob = Link.hinged("bob", (3 * t**2, 0), angle, arm=2, mass=1)
    T, _ = link_energies([bob], [angle], [rate], time=t)
    assert sp.simplify(T.subs(rate, 0) - 18 * t**2) == 0
    assert sp.simplify(sp.diff(T, rate).subs(rate, 0) + 12 * t * sp.sin(angle)) == 0


def test_corners_in_a_guide_along_x():
    """[FLG10] eqs. (98)-(105) with x, y for the slider's centre."""
    a, b, c = 0.3, 0.2, 0.01
    joint = TranslationalClearanceJoint("guide", PLATE, half_length=a, half_width=b, clearance=sp.Symbol("c"))
    s = system(joint)
    assert s.contact_names == ("guide 1", "guide 2", "guide 3", "guide 4")
    assert s.contact_kinds == (CONTACT,) * 4
    q = np.array([0.7, 0.004, 0.02, 0.0])
    half, sn, cs = b + c, math.sin(0.02), math.cos(0.02)
    expected = [
        half - q[1] + a * sn - b * cs,
        half - q[1] - a * sn - b * cs,
        half + q[1] - a * sn - b * cs,
        half + q[1] + a * sn - b * cs,
    ]
    np.testing.assert_allclose(s.gap(q), expected, atol=1e-15)
    W_N, W_T, w_hat = s.geometry(q)
    np.testing.assert_allclose(W_N[:, 1], [-1, -1, 1, 1])
    np.testing.assert_allclose(W_N[:, 2], [a * cs + b * sn, -a * cs + b * sn, -a * cs + b * sn, a * cs + b * sn])
    np.testing.assert_allclose(W_T[:, 0], 1.0)
    np.testing.assert_allclose(W_T[:, 2], [a * sn - b * cs, -a * sn - b * cs, a * sn + b * cs, -a * sn + b * cs])
    assert not w_hat.any()


def test_guide_may_turn_and_move():
    """The slip velocity is that of the corner against the point of the guide that it touches."""
    guide = Link("guide", centre=(sp.Rational(1, 5) * t, 0), angle=psi)
    joint = TranslationalClearanceJoint(
        "slot", PLATE, half_length=0.3, half_width=0.2, clearance=0.01, guide=guide, friction="mu"
    )
    s = system(joint)
    q, u, now = np.array([0.5, 0.1, 0.35, 0.3]), np.array([0.4, -0.2, 1.3, 0.9]), 0.6
    W_N, W_T, w_hat = s.geometry(q, now)
    along, across = np.array([math.cos(0.3), math.sin(0.3)]), np.array([-math.sin(0.3), math.cos(0.3)])
    origin = np.array([0.2 * now, 0.0])
    for k, corner in enumerate([(-0.3, 0.2), (0.3, 0.2), (-0.3, -0.2), (0.3, -0.2)]):
        point = world(q, corner)
        arm = point - q[:2]
        velocity = u[:2] + u[2] * np.array([-arm[1], arm[0]])
        reach = point - origin
        below = np.array([0.2, 0.0]) + u[3] * np.array([-reach[1], reach[0]])  # of the guide under the corner
        side = -1.0 if k < 2 else 1.0
        assert s.gap(q, now)[k] == pytest.approx(0.21 + side * across @ reach)
        assert W_T[k] @ u + w_hat[k, 1] == pytest.approx(along @ (velocity - below))
        assert W_N[k] @ u + w_hat[k, 0] == pytest.approx(side * across @ (velocity - below))


PIN = RevoluteClearanceJoint(
    "hinge",
    (PLATE, sp.Rational(1, 5), sp.Rational(1, 20)),
    (ARM, sp.Rational(3, 10), 0),
    clearance=sp.Symbol("c"),
    pin_radius=0.03,
    friction="mu",
    restitution_normal="eps",
)


def centred(psi_0=0.4, phi_0=-0.2):
    """Coordinates at which pin and bushing have one centre."""
    arm = np.array([0.1 + 0.6 * math.cos(psi_0), 0.6 * math.sin(psi_0)])
    return np.array([*(arm - world([0, 0, phi_0], (0.2, 0.05))), phi_0, psi_0])


@pytest.mark.parametrize("direction", [0.0, 1.1, 2.5, -2.0])
def test_pin_in_bushing(direction):
    s = system(PIN)
    n = np.array([math.cos(direction), math.sin(direction)])
    across = np.array([-n[1], n[0]])
    q, u = centred(), np.array([0.3, -0.8, 1.7, -0.6])
    q[:2] += 0.01 * n
    np.testing.assert_allclose(s.gap(q), [0.0], atol=1e-15)
    W_N, W_T, w_hat = s.geometry(q)
    pin_arm = world(q, (0.2, 0.05)) - q[:2]
    pin = u[:2] + u[2] * np.array([-pin_arm[1], pin_arm[0]])
    bushing = u[3] * 0.6 * np.array([-math.sin(q[3]), math.cos(q[3])])
    np.testing.assert_allclose(W_N @ u, [-n @ (pin - bushing)])
    np.testing.assert_allclose(W_T @ u, [across @ (pin - bushing) + 0.03 * u[2] - 0.04 * u[3]])
    assert not w_hat.any()
    assert [law[0] for law in s.laws()] == [0.2, 0.5, 0.0, 0.0]


def test_a_centred_pin_has_a_gap_and_finite_directions():
    s = system(PIN)
    q, _, _ = s.check(centred(), np.zeros(4))
    assert s.gap(q)[0] == pytest.approx(0.01, rel=1e-8)
    W_N, W_T, _ = s.geometry(q)
    assert np.isfinite(W_N).all() and np.isfinite(W_T).all() and np.abs(W_N).max() < 1e-3
    q[0] += 1e-7  # a hundred-thousandth of the clearance from there the normal is a unit vector
    assert np.hypot(*s.geometry(q)[0][0, :2]) == pytest.approx(1.0, abs=1e-8)


def guide(**changes):
    return TranslationalClearanceJoint("guide", PLATE, **{"half_length": 1, "half_width": 1, "clearance": 1} | changes)


def hinge(**changes):
    return RevoluteClearanceJoint("hinge", (PLATE, 0, 0), (ARM, 0, 0), **{"clearance": 0.1} | changes)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Link("rod", centre=x), r"link 'rod': centre must be a pair \(x, y\), got x"),
        (lambda: Link("rod", mass="m"), "link 'rod': mass must be a SymPy expression or a number, not text"),
        (
            lambda: TranslationalClearanceJoint("guide", PLATE, half_length=1, half_width=1, clearance="c"),
            "joint 'guide': clearance must be a SymPy expression or a number, not text",
        ),
        (
            lambda: RevoluteClearanceJoint("hinge", PLATE, (ARM, 0, 0), clearance=0.1),
            r"joint 'hinge': pin must be \(link, x, y\), got Link",
        ),
        (lambda: Link("rod", mass=-1), "link 'rod': mass must not be negative, got -1"),
        (lambda: guide(guide=5), "joint 'guide': guide must be a Link, got 5"),
        (lambda: guide(half_length=0), r"joint 'guide': half_length \[m\] must be positive, got 0"),
        (lambda: guide(half_width=-1), r"joint 'guide': half_width \[m\] must not be negative, got -1"),
        (lambda: guide(clearance=math.nan), r"joint 'guide': clearance \[m\] must be a finite real number, got nan"),
        (lambda: hinge(clearance=None), r"joint 'hinge': clearance \[m\] must be a number or a SymPy expression"),
        (lambda: hinge(clearance=0), r"joint 'hinge': clearance \[m\] must be positive, got 0"),
        (lambda: hinge(pin_radius=-1), r"joint 'hinge': pin_radius \[m\] must not be negative, got -1"),
    ],
)
def test_wrong_input(build, message):
    with pytest.raises(ValueError, match=message):
        build()
