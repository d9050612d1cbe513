"""Blocks, rods, wedges, hoops and dominoes in the plane against closed forms, at the origin and 1 km away, turned."""

import math

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

import stickslip as ss
from tests.elsewhere import HOME, Place

G = 9.81
PLACES = pytest.mark.parametrize("place", [HOME, Place(1e3, 0.7)], ids=str)


def block(width, height):
    x, y = width / 2, height / 2
    return ss.Polygon([(-x, -y), (x, -y), (x, y), (-x, y)])


@PLACES
@pytest.mark.parametrize("share", [1.0, 0.5, 0.4])
def test_hoop_disc_and_ball_slip_until_they_roll(share, place):
    """J = share m r^2: v = v_0 / (1 + share) from t = (v_0 - v) / (mu g) on."""
    scene, r, mu = ss.Scene(dim=2), 0.2, 0.3
    scene.add_static(ss.HalfPlane((0, 1)), friction=mu)
    scene.add_body(
        ss.Circle(r), mass=2.0, inertia=2.0 * share * r**2, position=(0, r), velocity=(3.0, 0.0), friction=mu
    )
    run = place.simulate(scene, dt=1e-3, t_end=1.5)
    v = 3.0 / (1.0 + share)
    slips = (3.0 - v) / (mu * G)
    assert run.u[-1, 0] == pytest.approx(v, abs=1e-12) and run.u[-1, 2] == pytest.approx(-v / r, abs=1e-11)
    path = 3.0 * slips - 0.5 * mu * G * slips**2 + v * (1.5 - slips)
    assert run.q[-1, 0] == pytest.approx(path, abs=1e-6)


@PLACES
@pytest.mark.parametrize("restitution", [0.0, 0.7])
@pytest.mark.parametrize("friction", [0.0, 5.0])
def test_rod_strikes_with_its_end(friction, restitution, place):
    """Impulses from W^T M^-1 W Lambda = -(1 + e) u_N and, where friction holds, no slip."""
    angle, r, m = 0.6, 1e-4, 1.0
    law = {"friction": friction, "restitution": restitution}
    arm = np.array([-math.cos(angle) / 2, -math.sin(angle) / 2 - r])
    scene = ss.Scene(dim=2, gravity=0.0)
    scene.add_static(ss.HalfPlane((0, 1)), **law)
    scene.add_body(
        ss.Capsule(r, 1.0), mass=m, inertia=m / 12, position=(0, 0.0023 - arm[1]), orientation=angle,
        velocity=(0.0, -2.0), **law,
    )  # fmt: skip
    run = place.simulate(scene, dt=1e-4, t_end=0.003, held=False)
    W = np.array([(0.0, 1.0, arm[0]), (1.0, 0.0, -arm[1])])[: 2 if friction else 1]
    wanted = np.array([2.0 * (1 + restitution), 0.0])[: len(W)]
    inverse = np.diag([1 / m, 1 / m, 12 / m])
    impulse = np.linalg.solve(W @ inverse @ W.T, wanted)
    after = np.array([0.0, -2.0, 0.0]) + inverse @ W.T @ impulse
    struck = int(np.argmax(np.abs(np.diff(run.u[:, 1])) > 0.1)) + 1
    np.testing.assert_allclose(run.u[struck], after, rtol=0, atol=1e-14)


@PLACES
def test_slender_block_tips_over_its_corner_on_a_slope(place):
    """tan(slope) > width / height, mu holds the corner: I phi'' = m g R sin(phi) about it; order two."""
    slope, mu, width, height = 0.3, 0.9, 0.1, 0.4
    scene, n = ss.Scene(dim=2), np.array([-math.sin(slope), math.cos(slope)])
    scene.add_static(ss.HalfPlane(tuple(n)), friction=mu)
    shape = block(width, height)
    scene.add_body(shape, mass=1.0, position=tuple(n * height / 2), orientation=slope, friction=mu)
    run = place.simulate(scene, dt=1e-3, t_end=0.3, held=False)
    R = math.hypot(width, height) / 2
    J = (width**2 + height**2) / 12 + R**2
    begin = slope - math.atan2(width, height)
    end = solve_ivp(lambda t, y: (y[1], G * R / J * math.sin(y[0])), (0, 0.3), (begin, 0.0), rtol=1e-10, atol=1e-12)
    assert run.q[-1, 2] - slope == pytest.approx(end.y[0, -1] - begin, abs=1e-6)


@PLACES
@pytest.mark.parametrize("mu", [0.0, 0.2])
def test_block_slides_down_a_wedge_that_gives_way(mu, place):
    """Wedge on a smooth floor: its acceleration, that of the block along it, and the load from three equations."""
    slope, M, m = 0.5, 3.0, 1.0
    n, s = np.array([math.sin(slope), math.cos(slope)]), np.array([math.cos(slope), -math.sin(slope)])
    corners = np.array([(0.0, 0.0), (2.0, 0.0), (0.0, 2.0 * math.tan(slope))])
    centre = corners.mean(axis=0)
    start = corners[2] + 0.6 * s + 0.1 * n
    scene = ss.Scene(dim=2)
    scene.add_static(ss.HalfPlane((0, 1)), friction=0.0)
    wedge = scene.add_body(ss.Polygon(corners - centre), mass=M, position=tuple(centre), friction=0.0)
    slider = scene.add_body(block(0.2, 0.2), mass=m, position=tuple(start), orientation=-slope, friction=0.0)
    scene.set_pair(wedge, slider, friction=mu)
    run = place.simulate(scene, dt=1e-3, t_end=0.4)
    push = n - mu * s  # of the wedge on the block, for each newton of load
    laws = np.array([(M, 0.0, push[0]), (m, m * s[0], -push[0]), (0.0, m * s[1], -push[1])])
    a_wedge, a_along, _ = np.linalg.solve(laws, (0.0, 0.0, -m * G))
    assert run.q[-1, 0] - centre[0] == pytest.approx(0.08 * a_wedge, abs=1e-11)
    assert run.q[-1, 3] - start[0] == pytest.approx(0.08 * (a_wedge + a_along * s[0]), abs=1e-11)


@PLACES
def test_domino_falls_onto_the_next_one(place):
    """From 0.05 rad beyond its balance about its corner to the next face: time by quadrature of the energy."""
    width, height, distance, begin = 0.01, 0.05, 0.02, 0.05
    R, tilt = math.hypot(width, height) / 2, math.atan2(width, height)
    scene = ss.Scene(dim=2)
    scene.add_static(ss.HalfPlane((0, 1)), friction=2.0)
    top = (R * math.sin(begin), R * math.cos(begin))
    shape = block(width, height)
    scene.add_body(shape, density=800.0, position=top, orientation=-begin - tilt, friction=2.0)
    scene.add_body(shape, density=800.0, position=(distance + width / 2, height / 2), friction=2.0)
    run = place.simulate(scene, dt=2.5e-4, t_end=0.15, held=False)
    J = (width**2 + height**2) / 12 + R**2
    end = math.asin(distance / height) - tilt
    falls = quad(lambda p: 1 / math.sqrt(2 * G * R / J * (math.cos(begin) - math.cos(p))), begin, end)[0]
    struck = run.t[int(np.argmax(np.abs(run.u[:, 3]) > 1e-6))]
    assert 0.0 < struck - falls < 2.5e-4
