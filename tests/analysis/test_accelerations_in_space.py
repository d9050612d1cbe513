"""Accelerations of contacts with two tangents, against closed forms and the planar problem."""

import math

import numpy as np
import pytest
import sympy as sp

import stickslip as ss
from stickslip.contact.sections import CrossSection, Polygon, PowerNorm

G = 9.81
x, y, z, v_x, v_y, v_z = sp.symbols("x y z v_x v_y v_z")
px, py, pz = sp.symbols("p_x p_y p_z")


def puck(**contact):
    """A puck of 1 kg on a floor, pushed by (p_x, p_y, p_z)."""
    return ss.LagrangianSystem.from_energies(
        [x, y, z],
        velocities=[v_x, v_y, v_z],
        kinetic=(v_x**2 + v_y**2 + v_z**2) / 2,
        potential=G * z - px * x - py * y - pz * z,
        parameters={px: 0.0, py: 0.0, pz: 0.0},
        contacts=[ss.Contact("floor", gap=z, slip=[x, y], **{"friction": 0.5, **contact})],
    )


def found(system, push, u=(0.0, 0.0, 0.0)):
    return ss.accelerations(system, [0, 0, 0], u, params=dict(zip(("p_x", "p_y", "p_z"), push, strict=True)))


@pytest.mark.parametrize(
    ("push", "u", "du", "forces", "motion"),
    [
        ((1.0, 2.0, 0.0), (0, 0, 0), (0, 0, 0), (-1.0, -2.0), "sticks"),
        ((6.0, 8.0, 0.0), (0, 0, 0), (6 - 0.3 * G, 8 - 0.4 * G, 0), (-0.3 * G, -0.4 * G), "slips"),
        ((1.0, 1.0, 20.0), (0, 0, 0), (1, 1, 20 - G), (0, 0), "lifts off"),
        ((6.0, 8.0, 0.0), (0.3, -0.4, 0), (6 - 0.3 * G, 8 + 0.4 * G, 0), (-0.3 * G, 0.4 * G), "slips"),
    ],
)
def test_a_puck_sticks_slides_or_lifts_off(push, u, du, forces, motion):
    answer = found(puck(), push, u)
    assert answer.verdict == "unique"
    assert answer[0].motion == (motion, motion)
    np.testing.assert_allclose(answer[0].acceleration, du, atol=1e-12)
    np.testing.assert_allclose(answer[0].tangential_force, forces, atol=1e-12)
    assert "floor: tangent 2" in str(answer)


def test_slip_on_an_ellipse_and_on_a_power_norm_begins_where_it_dissipates_most():
    load = G
    one = found(puck(friction=ss.Elliptic(0.5, 0.2)), (6.0, 8.0, 0.0))[0]
    s = one.tangential_force / (np.array([0.5, 0.2]) * load)
    pull = np.array([0.5, 0.2]) * one.acceleration[:2]
    assert np.hypot(*s) == pytest.approx(1.0)
    np.testing.assert_allclose(-s, pull / np.hypot(*pull), atol=1e-12)
    one = found(puck(section=PowerNorm(4.0)), (6.0, 8.0, 0.0))[0]
    s = -one.tangential_force / (0.5 * load)
    assert (s**4).sum() == pytest.approx(1.0)
    assert one.acceleration[1] * s[0] ** 3 == pytest.approx(one.acceleration[0] * s[1] ** 3)


def test_a_polygon_has_the_force_of_its_corner_and_one_answer_is_looked_for():
    answer = found(puck(section=Polygon.regular(6)), (6.0, 8.0, 0.0))
    assert answer.verdict == "not enumerated"
    np.testing.assert_allclose(answer[0].tangential_force, -0.5 * G * np.array([0.5, math.sqrt(0.75)]), atol=1e-12)


def test_painleve_rod_with_a_second_tangent_has_the_solutions_of_the_planar_one():
    planar = ss.library.painleve_rod(friction=2.0, spin=-6.0, slip=-1.0)
    w, v_w, theta, omega = sp.symbols("w v_w theta omega")
    rod = ss.LagrangianSystem.from_energies(
        [x, y, theta, w],
        velocities=[v_x, v_y, omega, v_w],
        kinetic=(v_x**2 + v_y**2 + v_w**2) / 2 + omega**2 / 24,
        potential=G * y,
        contacts=[
            ss.Contact("tip", gap=y - sp.sin(theta) / 2, slip=[x - sp.cos(theta) / 2, w], friction=2.0),
        ],
    )
    for spin in (-6.0, 0.0, -3.0):
        scenario = ss.library.painleve_rod(friction=2.0, spin=spin, slip=-1.0)
        flat = ss.accelerations(planar.system, scenario.q0, scenario.u0)
        space = ss.accelerations(rod, [*scenario.q0, 0.0], [*scenario.u0, 0.0])
        assert space.verdict == flat.verdict
        loads = sorted(one.normal_force[0] for one in flat.solutions)
        assert sorted(one.normal_force[0] for one in space.solutions) == pytest.approx(loads, abs=1e-9)


def test_constraints_have_reactions_and_two_feet_share_a_load():
    held = ss.LagrangianSystem.from_energies(
        [x, y, z],
        velocities=[v_x, v_y, v_z],
        kinetic=(v_x**2 + v_y**2 + v_z**2) / 2,
        potential=G * z - 6 * x - 8 * y,
        contacts=[ss.Contact("floor", gap=z, slip=[x, y], friction=0.5)],
        constraints=[ss.Constraint("rail", equation=y)],
    )
    answer = ss.accelerations(held, [0, 0, 0], [0, 0, 0])
    assert answer[0].acceleration == pytest.approx([6 - 0.5 * G, 0.0, 0.0])
    assert answer[0].tangential_force == pytest.approx([-0.5 * G, 0.0, -8.0])
    assert answer[0].motion[2] == "holds"
    twice = ss.LagrangianSystem.from_energies(
        [x, y, z],
        velocities=[v_x, v_y, v_z],
        kinetic=(v_x**2 + v_y**2 + v_z**2) / 2,
        potential=G * z - 6 * x - 8 * y,
        contacts=[ss.Contact(name, gap=z, slip=[x, y], friction=0.5) for name in ("one", "two")],
    )
    answer = ss.accelerations(twice, [0, 0, 0], [0, 0, 0])
    assert answer.verdict == "not enumerated"
    assert answer[0].acceleration == pytest.approx([6 - 0.3 * G, 8 - 0.4 * G, 0.0], abs=1e-9)


def test_unknown_sections_and_planar_friction_beside_it_are_refused_with_one_line():
    class Own(CrossSection):
        def gauge(self, beta):
            return math.hypot(*beta)

        def farthest(self, direction):
            return direction / math.hypot(*direction)

        def slopes(self, beta):
            return (beta / math.hypot(*beta))[None]

    with pytest.raises(ValueError, match=r"section of contact 'floor' is a Own\.$"):
        found(puck(section=Own()), (0, 0, 0))
    mixed = ss.LagrangianSystem.from_energies(
        [x, y, z],
        velocities=[v_x, v_y, v_z],
        kinetic=(v_x**2 + v_y**2 + v_z**2) / 2,
        contacts=[
            ss.Contact("floor", gap=z, slip=[x, y], friction=0.5),
            ss.Contact("wall", gap=x + 1, slip=y, friction=0.5),
        ],
    )
    with pytest.raises(ValueError, match="'wall' is a contact with one direction of slip"):
        ss.accelerations(mixed, [0, 0, 0], [0, 0, 0])
