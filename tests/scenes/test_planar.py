"""Planar scenes against closed forms, and the library's ready-made ones."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import stickslip as ss
from stickslip.library import scenes
from stickslip.mechanisms.steppers.moreau_jean import MoreauJean
from stickslip.scenes.shapes import rotation_matrix
from stickslip.trajectory import STICK
from tests.elsewhere import EVERYWHERE
from tests.thinned import examples, thinned

G = 9.81


@EVERYWHERE
def test_disc_rolls_down_a_slope(place):
    scene = scenes.rolling_disc(angle=0.3, friction=0.5, radius=0.1)
    disc, end = scene.bodies[2], place.span(1.0, 0.2)
    trajectory = place.simulate(scene, dt=1e-3, t_end=end)
    a, away = 2 / 3 * G * math.sin(0.3), place.rounding(trajectory)
    path = disc.path(trajectory)
    assert np.linalg.norm(disc.velocities(trajectory)[-1]) == pytest.approx(a * end, abs=1e-11)
    assert np.linalg.norm(path[-1] - path[0]) == pytest.approx(a * end**2 / 2, abs=1e-11 + away)
    assert disc.turning(trajectory)[-1] == pytest.approx(-a * end**2 / 2 / 0.1, abs=1e-9 + 10 * away)


@pytest.mark.parametrize("theta", [0.5, 0.75, 1.0])
def test_theta_moves_where_the_state_is_recorded(theta):
    scene = ss.Scene(dim=2)
    scene.add_static(ss.HalfPlane((0, 1)), friction=0.2)
    ball = scene.add_body(ss.Circle(0.1), mass=1.0, position=(0, 0.5), velocity=(1, 0))
    trajectory = scene.simulate(dt=1e-3, t_end=1.0, stepper=MoreauJean(theta=theta))
    assert trajectory.stepper == "moreau-jean"
    assert ball.path(trajectory)[-1, 1] == pytest.approx(0.1, abs=1e-9)
    # before it lands: y_n = y_0 - g dt^2 (n (n - 1) / 2 + theta n), second order for theta = 1/2 alone
    assert ball.path(trajectory)[250, 1] == pytest.approx(0.5 - G * 1e-6 * (125 * 249 + 250 * theta), abs=1e-11)


@EVERYWHERE
def test_wall_of_blocks_stands(place):
    scene = ss.Scene(dim=2)
    scene.add_static(ss.HalfPlane((0, 1)), friction=0.5)
    for k in range(5):
        scene.add_body(ss.Polygon.rectangle(1, 1), mass=1.0, position=(0.1 * (k % 2), 0.5 + k))
    trajectory = place.simulate(scene, dt=1e-3, t_end=place.span(1.0, 0.1))
    assert np.abs(trajectory.q[-1] - trajectory.q[0]).max() < 1e-11 + place.rounding(trajectory)


@EVERYWHERE
def test_capsule_and_circle_on_polygon_come_to_rest(place):
    scene = ss.Scene(dim=2)
    scene.add_static(ss.Polygon.rectangle(10, 1), position=(0, -0.5), friction=0.5)
    rod = scene.add_body(ss.Capsule(0.1, 0.5), mass=1.0, position=(-3, 1.0), orientation=0.3)
    disc = scene.add_body(ss.Circle(0.2), mass=1.0, position=(0, 0.2), velocity=(2, 0))
    trajectory = place.simulate(scene, dt=1e-3, t_end=1.5, held=False)
    away = place.rounding(trajectory)
    assert rod.path(trajectory)[-1, 1] == pytest.approx(0.1, abs=1e-8 + away)
    assert rod.turning(trajectory)[-1] == pytest.approx(0.0, abs=1e-7 + 10 * away)
    assert disc.velocities(trajectory)[-1, 0] == pytest.approx(4 / 3, abs=1e-12 + 10 * away)
    assert trajectory.certificate.failed_steps == 0


@EVERYWHERE
def test_arch_and_card_house_stand(place):
    for scene in (scenes.arch(), scenes.card_house()):
        trajectory = place.simulate(scene, dt=1e-3, t_end=place.span(0.5, 0.1))
        assert np.abs(trajectory.q[-1] - trajectory.q[0]).max() < 1e-6, scene.name
        assert trajectory.certificate.failed_steps == 0


def test_thin_arch_falls():
    trajectory = scenes.arch(thickness=0.05).simulate(dt=1e-3, t_end=0.6, on_failure="continue", tol=1e-8)
    assert np.abs(trajectory.q[-1] - trajectory.q[0]).max() > 0.05


def test_dominoes_fall_one_after_the_other():
    scene = scenes.domino_row(dominoes=5)
    trajectory = scene.simulate(dt=1e-3, t_end=3.0, tol=1e-8, on_failure="continue")
    angles = np.stack([body.turning(trajectory) for body in scene.bodies[2:]], axis=1)
    assert np.all(angles[-1] < -0.7)
    begins = [int(np.argmax(angles[:, k] < -0.1)) for k in range(5)]
    assert np.all(np.diff(begins) > 0)
    assert trajectory.certificate.failed_steps <= 0.01 * trajectory.steps
    assert trajectory.certificate.max_penetration < 5e-3


@thinned
def test_column_collapses_to_a_heap():
    grains = examples(30, 60)
    scene = scenes.granular_column(grains=grains, columns=grains // 10)
    trajectory = scene.simulate(dt=1e-3, t_end=0.5, every=10, tol=1e-6)
    x = trajectory.q.reshape(len(trajectory), grains, 3)
    assert trajectory.certificate.failed_steps == 0
    assert np.ptp(x[-1, :, 0]) > 1.2 * np.ptp(x[0, :, 0])
    assert x[-1, :, 1].max() < 0.9 * x[0, :, 1].max()
    assert np.all(np.diff(trajectory.energy.total) < 1e-9)


def test_chain_holds_together():
    scene = scenes.hanging_chain(links=8)
    trajectory = scene.simulate(dt=1e-3, t_end=1.0)
    q = trajectory.q.reshape(len(trajectory), 8, 3)
    half = 0.5 / 8 * np.stack([np.cos(q[..., 2]), np.sin(q[..., 2])], axis=-1)
    left, right = q[..., :2] - half, q[..., :2] + half
    assert np.abs(left[:, 1:] - right[:, :-1]).max() < 1e-4
    assert np.abs(left[:, 0]).max() < 1e-4
    assert np.ptp(trajectory.energy.total) < 1e-2 * np.ptp(trajectory.energy.potential)


def coulomb_top(t_end, soft=1e-3):
    """Height of the axis of the tippe top at t_end, by an integration of its own.

    Coulomb's law is made smooth below slips of `soft` [m/s].  The normal force follows from the height of the middle.
    """
    m, R, a, mu, tilt, spin = 0.006, 0.015, 0.003, 0.3, 0.3, 500.0
    inertia, up = m * R**2 * np.array([131 / 350, 131 / 350, 0.4]), np.array([0.0, 0.0, 1.0])

    def rates(t, y):
        q, w = y[:4], y[6:]
        Q = rotation_matrix(q / np.linalg.norm(q))
        n = Q[:, 2]
        r = a * n - R * up
        u = np.array([*y[4:6], -a * np.cross(w, n)[2]]) + np.cross(w, r)
        push = up - mu * np.array([u[0], u[1], 0.0]) / np.sqrt(u[0] ** 2 + u[1] ** 2 + soft**2)
        J = Q @ np.diag(inertia) @ Q.T
        free, by_load = np.linalg.solve(J, -np.cross(w, J @ w)), np.linalg.solve(J, np.cross(r, push))
        rise = -a * (np.cross(free, n) + np.cross(w, np.cross(w, n)))[2]
        N = m * (9.81 + rise) / (1.0 + m * a * np.cross(by_load, n)[2])
        turn = 0.5 * np.array([-w @ q[1:], *(q[0] * w + np.cross(w, q[1:]))])
        return np.concatenate([turn, N * push[:2] / m, free + N * by_load])

    turn, axis = [math.cos(0.5 * tilt), 0.0, math.sin(0.5 * tilt), 0.0], np.array([math.sin(tilt), 0.0, math.cos(tilt)])
    start = [*turn, 0.0, 0.0, *(spin * axis)]
    end = solve_ivp(rates, (0.0, t_end), start, method="LSODA", rtol=1e-8, atol=1e-10).y[:4, -1]
    return rotation_matrix(end / np.linalg.norm(end))[2, 2]


@pytest.mark.slow
def test_tippe_top_slips_rises_and_rolls_on():
    """It is upright within 6 degrees after 0.3 s, and rolls: steps whose sticking contacts crept turned it over."""
    scene = scenes.tippe_top()
    top = scene.bodies[2]
    trajectory = scene.simulate(dt=1e-4, t_end=7.0, every=100)
    turns = [rotation_matrix(q) for q in top.turning(trajectory)]
    axis = np.array([R[:, 2] for R in turns])
    for t_end in (0.1, 0.2):
        assert axis[round(t_end / 0.01), 2] == pytest.approx(coulomb_top(t_end), abs=2e-4)
    assert np.all(axis[40:, 2] > 0.994) and np.all(trajectory.contact_state[40:] == STICK)
    # Jellett: -L . r is kept whatever the friction, r from the centre of mass to the contact point
    L = np.array([R @ top.inertia @ R.T @ w for R, w in zip(turns, top.spin(trajectory), strict=True)])
    jellett = -np.sum(L * (0.003 * axis - [0, 0, 0.015]), axis=1)
    assert np.ptp(jellett) < 1e-4 * jellett[0]
