"""Impact laws in scenes: closed forms and integrations of one contact, several contacts in sequence, energy."""

import numpy as np
import pytest
import sympy as sp

import stickslip as ss
from stickslip.laws.routh import ENERGETIC, KINETIC
from stickslip.scenes.routh import spatial_impact

ELLIPSOID = np.array(  # m = 2, semi-axes .3, .2, .1, turned by R_x(.5) R_y(.7): W^T M^-1 W at its lowest point
    [
        [1.23546272127, 0.90802172938, -0.13288878996],
        [0.90802172938, 1.62333094066, -0.22219613203],
        [-0.13288878996, -0.22219613203, 2.01691312403],
    ]
)
ARM = np.array([0.16786662201, 0.00653611015, -0.20607157952])


def impulse(G, u, mu, e, end):
    found = np.zeros(3)
    assert spatial_impact(np.ascontiguousarray(G).ravel(), np.array(u, float), mu, e, end, found)
    return found


def by_small_steps(G, u, mu, e, end, steps=200_000):
    """The process by the midpoint rule in p, for impacts whose slip does not end."""
    u, p, W, p_c, W_c, total = np.array(u, float), 0.0, 0.0, None, None, np.zeros(3)
    dp = 3.0 / G[0, 0] / steps
    while True:
        rate = np.append(1.0, -mu * u[1:] / np.linalg.norm(u[1:]))
        middle = u + 0.5 * dp * G @ rate
        rate = np.append(1.0, -mu * middle[1:] / np.linalg.norm(middle[1:]))
        W += dp * middle[0]
        u, p, total = u + dp * G @ rate, p + dp, total + dp * rate
        if p_c is None and u[0] >= 0.0:
            p_c, W_c = p, W
        if p_c is not None and (p >= (1 + e) * p_c if end == KINETIC else W >= (1 - e * e) * W_c):
            return total


@pytest.mark.parametrize(
    ("u", "mu", "e", "expected"),
    [
        ((-1, 3, 4), 0.2, 0.8, (1.8, -0.216, -0.288)),  # slips throughout
        ((-1, 0.3, 0.4), 0.3, 0.5, (1.5, -0.3 / 3.5, -0.4 / 3.5)),  # sticks in compression
        ((-2, 1.2, -1.6), 0.25, 0.6, (3.2, -1.2 / 3.5, 1.6 / 3.5)),  # sticks in restitution
    ],
)
@pytest.mark.parametrize("end", [ENERGETIC, KINETIC])
def test_a_sphere_has_the_impulse_of_the_closed_form(u, mu, e, expected, end):
    assert np.allclose(impulse(np.diag([1, 3.5, 3.5]), u, mu, e, end), expected, atol=1e-11)


def test_slip_that_turns_ends_as_small_steps_do():
    u, mu, e = (-1, -0.2, 0.3), 0.15, 0.7  # the slip turns from 124 deg to -1 deg
    for end in (ENERGETIC, KINETIC):
        assert np.allclose(impulse(ELLIPSOID, u, mu, e, end), by_small_steps(ELLIPSOID, u, mu, e, end, 4000), atol=2e-3)


@pytest.mark.slow
def test_slip_that_turns_converges_to_small_steps():
    for end in (ENERGETIC, KINETIC):
        u, mu, e = (-1, -0.2, 0.3), 0.15, 0.7
        assert np.allclose(impulse(ELLIPSOID, u, mu, e, end), by_small_steps(ELLIPSOID, u, mu, e, end), atol=2e-5)


def test_slip_that_ends_sticks_or_begins_anew():
    for mu, sticks in ((0.8, True), (0.3, False)):  # |G_TT^-1 G_TN| = 0.55878
        Lambda = impulse(ELLIPSOID, (-1.0, 0.0, 0.0), mu, 0.5, ENERGETIC)
        slip = (np.array([-1.0, 0, 0]) + ELLIPSOID @ Lambda)[1:]
        assert (np.linalg.norm(slip) < 1e-12) == sticks
        if not sticks:
            assert np.allclose(Lambda[1:], -mu * Lambda[0] * slip / np.linalg.norm(slip), atol=1e-9)


@pytest.mark.parametrize("noise", [0.0, 2.2e-16, -2.2e-16])
@pytest.mark.parametrize("mirrored", [1.0, -1.0])
def test_slip_that_turns_round_in_a_plane_does_not_depend_on_rounding(mirrored, noise):
    """Kane's pendulum: slip ends and begins the other way; a G with rounding out of the plane changes nothing."""
    G = np.array([[1.00956, mirrored * 1.52131, noise], [mirrored * 1.52131, 2.44034, 0.0], [noise, 0.0, 1.0]])
    for end, expected in ((ENERGETIC, (0.1744862, 0.0128203)), (KINETIC, (0.1732845, 0.0129404))):
        found = impulse(G, (-0.134202, -mirrored * 0.2671745, 0.0), 0.1, 0.5, end)
        assert np.allclose(found, (expected[0], mirrored * expected[1], 0.0), atol=3e-7)


def test_stronge_never_gains_energy():
    rng = np.random.default_rng(3)
    for _ in range(300):
        A = rng.normal(size=(3, 4))
        G, u = A @ A.T + 1e-3 * np.eye(3), rng.normal(size=3)
        u[0], mu, e = -abs(u[0]), rng.uniform(0, 2), rng.uniform(0, 1)
        Lambda = np.zeros(3)
        if spatial_impact(G.ravel(), u, mu, e, ENERGETIC, Lambda):
            after = u + G @ Lambda
            assert Lambda @ (u + after) <= 1e-10 and after[0] >= -1e-10
            assert np.linalg.norm(Lambda[1:]) <= mu * Lambda[0] * (1 + 1e-9)


def tumbling(law, dt=1e-6):
    """The ellipsoid as a body with its inertia and a small ball at its lowest point."""
    J = 2.0 / 5.0 * np.diag([0.2**2 + 0.1**2, 0.3**2 + 0.1**2, 0.3**2 + 0.2**2])
    c, s, C, S = np.cos(0.5), np.sin(0.5), np.cos(0.7), np.sin(0.7)
    Q = np.array([[1, 0, 0], [0, c, -s], [0, s, c]]) @ np.array([[C, 0, S], [0, 1, 0], [-S, 0, C]])
    scene = ss.Scene(gravity=0.0)
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.3, restitution=0.5)
    ball = ss.Compound([(ss.Sphere(0.01), ARM + np.array([0, 0, 0.01]))])
    scene.add_body(
        ball, mass=2.0, inertia=Q @ J @ Q.T, centre_of_mass=(0, 0, 0), position=(0, 0, -ARM[2]),
        velocity=(0.4, -0.3, -1.5), angular_velocity=(1, -2, 3),
    )  # fmt: skip
    return scene.simulate(dt=dt, t_end=3 * dt, law=law)


@pytest.mark.parametrize(
    ("law", "normal", "tangential", "work"),
    [
        ("stronge", 1.76951636, np.hypot(0.51736526, 0.10173172), -1.15745808),
        ("poisson-integrated", 1.76689843, np.hypot(0.516581, 0.10168985), -1.15770886),
        ("newton", 1.79208606, np.hypot(0.53441295, 0.05868833), -1.16578243),
    ],
)
def test_a_tumbling_body_is_struck_by_each_law(law, normal, tangential, work):
    run = tumbling(law)
    hit = run.impacts()
    assert len(hit) == 1 and np.isclose(hit["normal_velocity_before"][0], -1.15773064584, atol=1e-5)
    assert np.isclose(hit["normal_impulse"][0], normal, atol=1e-5)
    assert np.isclose(hit["tangential_impulse"][0], tangential, atol=1e-5)
    assert np.isclose(run.certificate.contact_work, work, atol=2e-5)
    assert np.isclose(run.energy.total[-1] - run.energy.total[0], work, atol=2e-5)
    assert run.attributes["law"].startswith(law.split("-")[0])


def test_balls_in_a_row_are_struck_one_after_the_other():
    scene = ss.Scene(gravity=0.0)
    for k in range(4):
        scene.add_body(ss.Sphere(0.1), mass=1.0, position=(0.2 * k, 0, 0), velocity=(2.0 if k == 0 else 0, 0, 0),
                       restitution=1.0)  # fmt: skip
    run = scene.simulate(dt=1e-3, t_end=0.01, law="stronge")
    assert np.allclose(run.u[-1].reshape(4, 6)[:, 0], [0, 0, 0, 2], atol=1e-12) and len(run.impacts()) == 3


def test_a_cube_that_falls_flat_gains_nothing_and_comes_to_rest():
    scene = ss.Scene()
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.5, restitution=0.6)
    cube = scene.add_body(ss.Box((0.2, 0.2, 0.2)), mass=1.0, position=(0, 0, 0.3), velocity=(0.5, 0, 0))
    run = scene.simulate(dt=1e-3, t_end=1.5, law="stronge", threads=2)
    again = scene.simulate(dt=1e-3, t_end=1.5, law="stronge")
    assert np.array_equal(run.q, again.q) and run.certificate.failed_steps == 0
    assert run.certificate.max_energy_gain < 1e-12 and np.diff(run.energy.total).max() < 1e-10
    assert np.abs(cube.velocities(run)[-1]).max() < 1e-9 and abs(cube.path(run)[-1, 2] - 0.1) < 1e-6


@pytest.mark.parametrize("law", ["stronge", "poisson-integrated"])
def test_a_ball_without_losses_keeps_its_energy_under_gravity(law):
    """Forces of a step act half before an impact and half after it: all of them after it lost m v g dt at a bounce."""
    scene = ss.Scene(gravity=9.81)
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.0, restitution=1.0)
    ball = scene.add_body(ss.Sphere(0.1), mass=1.0, position=(0, 0, 0.3))
    run = scene.simulate(dt=1e-3, t_end=1.0, law=law)
    energy = ball.kinetic_energy(run) + 9.81 * ball.path(run)[:, 2]
    assert len(run.impacts()) == 2
    assert np.ptp(energy) < 1e-12


def test_friction_in_impacts_is_not_that_of_sliding():
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.4, friction_impact=0.1)
    box = scene.add_body(ss.Box((1, 1, 0.1)), mass=1.0, position=(0, 0, 0.05 + 0.5 * 9.81 * 0.01), velocity=(3, 0, 0))
    run = scene.simulate(dt=1e-4, t_end=0.2)
    v, t, hits = box.velocities(run)[:, 0], run.t, run.impacts()
    first = hits["time"] == hits["time"][0]
    assert np.isclose(hits["tangential_impulse"][first].sum(), 0.1 * hits["normal_impulse"][first].sum())
    sliding = t > 0.105
    assert np.isclose(np.polyfit(t[sliding], v[sliding], 1)[0], -0.4 * 9.81, rtol=1e-6)
    assert np.isclose(v[-1], 3 - 0.1 * 0.981 - 0.4 * 0.981, atol=1.5e-2)


@pytest.mark.parametrize("law", ["newton", "stronge"])
def test_restitution_depends_on_speed_and_mass(law):
    v, m = sp.symbols("v m", positive=True)
    curve = ss.RestitutionCurve(sp.Max(0, 1 - 0.3 * v ** sp.Rational(1, 5) / m), v, m)
    for speed, mass in ((0.1, 1.0), (2.0, 4.0)):
        scene = ss.Scene(gravity=0.0)
        scene.add_static(ss.HalfSpace((0, 0, 1)))
        scene.add_body(ss.Sphere(0.1), mass=mass, position=(0, 0, 0.1), velocity=(0, 0, -speed), restitution=curve)
        run = scene.simulate(dt=1e-3, t_end=2e-3, law=law)
        assert np.isclose(run.u[-1, 2], speed * (1 - 0.3 * speed**0.2 / mass), atol=1e-12)


def test_what_laws_cannot_do_is_refused():
    v, x = sp.symbols("v x")
    scene = ss.Scene()
    with pytest.raises(ValueError, match="restitution of 'ball' must lie in"):
        scene.add_body(ss.Sphere(1), mass=1, restitution=ss.RestitutionCurve(1 - v, v), name="ball")
    with pytest.raises(ValueError, match="speed and mass alone, got x"):
        scene.add_body(ss.Sphere(1), mass=1, restitution=ss.RestitutionCurve(x / (1 + v), v), name="ball")
    with pytest.raises(ValueError, match="elliptic"):
        scene.add_body(ss.Sphere(1), mass=1, friction=(0.1, 0.2), friction_impact=0.1)
    ball = scene.add_body(ss.Sphere(1), mass=1, position=(0, 0, 1), restitution_tangential=0.5)
    with pytest.raises(ValueError, match="law of a scene"):
        scene.simulate(dt=1e-3, t_end=1e-2, law="stronge-lumped")
    with pytest.raises(ValueError, match="restitution_tangential"):
        scene.simulate(dt=1e-3, t_end=1e-2, law="stronge")
    scene.add_spherical(None, ball, at=(0, 0, 2))
    with pytest.raises(ValueError, match="joints"):
        scene.simulate(dt=1e-3, t_end=1e-2, law="walton")
