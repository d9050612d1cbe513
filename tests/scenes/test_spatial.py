"""Spatial scenes against closed forms."""

import math

import numpy as np
import pytest

import stickslip as ss
from stickslip.library import scenes
from stickslip.scenes.shapes import rotation_matrix
from tests.elsewhere import EVERYWHERE

G = 9.81


def moments(body, trajectory, inertia):
    """Angular momenta about the centre of mass over time, (n, 3)."""
    turns = [rotation_matrix(q) for q in body.turning(trajectory)]
    return np.array([R @ inertia @ R.T @ w for R, w in zip(turns, body.spin(trajectory), strict=True)])


@EVERYWHERE
def test_ball_rolls_with_five_sevenths_of_its_speed(place):
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.5)
    ball = scene.add_body(ss.Sphere(0.03), mass=0.17, position=(0, 0, 0.03), velocity=(1, 0, 0))
    trajectory = place.simulate(scene, dt=1e-3, t_end=0.5)
    away = place.rounding(trajectory)
    assert ball.velocities(trajectory)[-1] == pytest.approx([5 / 7, 0, 0], abs=1e-13 + 10 * away)
    assert ball.spin(trajectory)[-1] == pytest.approx([0, 5 / 7 / 0.03, 0], abs=1e-11 + 1e3 * away)
    # slides until t = 2 v / (7 mu g), where half a step is uncertain
    slides = 2 / (7 * 0.5 * G)
    exact = slides * (1 - 0.25 * G * slides) + 5 / 7 * (0.5 - slides)
    assert ball.path(trajectory)[-1, 0] == pytest.approx(exact, abs=0.5 * G * 1e-6 + 10 * away)
    assert trajectory.certificate.failed_steps == 0


@pytest.mark.parametrize("width", [0.1, 0.03, 0.01, 0.003])
def test_a_slender_rod_spins_about_its_own_axis(width):
    """Its momentum is a small difference of large products: their rounding is no failure of the step."""
    rng = np.random.default_rng(1)
    scene, spins = ss.Scene(dim=3, gravity=0.0), []
    for k in range(40):
        turn = rng.standard_normal(4)
        turn /= np.linalg.norm(turn)
        spins.append(rng.uniform(1.0, 20.0) * rotation_matrix(turn)[:, 2])
        place = {"position": (3.0 * k, 0, 0), "orientation": tuple(turn), "angular_velocity": tuple(spins[-1])}
        scene.add_body(ss.Box((width, width, 1.0)), mass=1.0, **place)
    run = scene.simulate(dt=1e-3, t_end=0.1, every=100)
    assert run.complete and run.certificate.failed_steps == 0
    drift = run.u[-1].reshape(-1, 6)[:, 3:] - spins
    assert np.abs(drift).max() < 1e-13 / width**2


def test_free_body_keeps_momentum_and_unit_quaternion_and_flips():
    inertia = np.diag([1.0, 2.0, 3.0])
    scene = ss.Scene(dim=3, gravity=0.0)
    body = scene.add_body(
        ss.Sphere(0.1), mass=1.0, inertia=inertia, angular_velocity=(1e-3, 10.0, 0), velocity=(1, 2, 3)
    )
    errors, energies = [], []
    for dt in (2e-3, 1e-3):
        trajectory = scene.simulate(dt=dt, t_end=5.0)
        L = moments(body, trajectory, inertia)
        assert np.abs(L - L[0]).max() < 1e-11 * np.linalg.norm(L[0])
        assert np.abs(np.linalg.norm(body.turning(trajectory), axis=1) - 1.0).max() < 4e-16
        assert body.path(trajectory)[-1] == pytest.approx([5, 10, 15], abs=1e-11)
        energy = trajectory.energy.kinetic
        energies.append(np.ptp(energy) / energy[0])
        # about the middle axis: w_2 = a sn-like; the first flip, from the exact Euler equations
        middle = np.array(
            [
                (rotation_matrix(q).T @ w)[1]
                for q, w in zip(body.turning(trajectory), body.spin(trajectory), strict=True)
            ]
        )
        first = int(np.argmax(middle < 0.0))
        errors.append(trajectory.t[first] - dt * middle[first] / (middle[first] - middle[first - 1]) - flip_time())
    assert abs(errors[1]) < 1e-4
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.8)  # order 2
    assert energies[0] / energies[1] == pytest.approx(4.0, abs=0.2)


def flip_time():
    """When w_2 of the free body above crosses zero, from Euler's equations."""
    from scipy.integrate import solve_ivp

    def euler(t, w):
        return [(2 - 3) * w[1] * w[2] / 1, (3 - 1) * w[2] * w[0] / 2, (1 - 2) * w[0] * w[1] / 3]

    def crossing(t, w):
        return w[1]

    crossing.terminal = True
    return solve_ivp(euler, (0, 5), [1e-3, 10.0, 0.0], rtol=1e-12, atol=1e-14, events=crossing).t_events[0][0]


@EVERYWHERE
def test_ball_bounces_with_restitution_and_comes_to_rest_without_a_threshold(place):
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.3)
    ball = scene.add_body(ss.Sphere(0.1), mass=1.0, position=(0, 0, 1.1), velocity=(1, 0, 0), restitution=0.8)
    trajectory = place.simulate(scene, dt=1e-3, t_end=6.0, held=False)
    impacts, away = trajectory.impacts(), place.rounding(trajectory)
    ratio = -impacts["normal_velocity_after"] / impacts["normal_velocity_before"]
    assert ratio[:10] == pytest.approx(0.8, abs=1e-12 + 10 * away)
    assert impacts["time"][:3] == pytest.approx([0.4515236410, 1.1739614666, 1.7519117270], abs=4e-3)
    assert ball.velocities(trajectory)[-1] == pytest.approx([5 / 7, 0, 0], abs=1e-9 + away)
    assert ball.path(trajectory)[-1, 2] == pytest.approx(0.1, abs=2e-10 + away)  # the slop is 1e-9 of the radius
    assert trajectory.certificate.max_penetration < 1e-12 + away
    assert (trajectory.normal_impulse[-500:] > 0.0).all()


@EVERYWHERE
def test_tangential_restitution_turns_the_spin_round(place):
    # Walton's operator, stick branch: u_T+ = -eps_T u_T-, u_N+ = -eps_N u_N-
    scene = ss.Scene(dim=3, gravity=0.0)
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=10.0, restitution_tangential=0.6)
    ball = scene.add_body(
        ss.Sphere(0.1),
        mass=1.0,
        position=(0, 0, 0.1005),
        velocity=(0.3, 0.1, -1),
        restitution=0.9,
        angular_velocity=(1, 2, 3),
    )
    trajectory = place.simulate(scene, dt=1e-3, t_end=5e-3)
    v, w = ball.velocities(trajectory)[-1], ball.spin(trajectory)[-1]
    error = 1e-12 + 10 * place.rounding(trajectory)
    before = np.array([0.3, 0.1]) + 0.1 * np.array([-2, 1])
    after = v[:2] + 0.1 * np.array([-w[1], w[0]])
    assert v[2] == pytest.approx(0.9, abs=error)
    assert after == pytest.approx(-0.6 * before, abs=error)
    assert w[2] == pytest.approx(3.0, abs=error)


@EVERYWHERE
def test_cube_on_ramp_sticks_or_slides_exactly(place):
    end = place.span(1.0, 0.2)
    trajectory = place.simulate(scenes.cube_on_ramp(angle=0.38, friction=0.5), dt=1e-3, t_end=end)
    assert np.abs(trajectory.q[-1] - trajectory.q[0]).max() < 1e-13 + place.rounding(trajectory)
    scene = scenes.cube_on_ramp(angle=0.38, friction=0.3)
    cube = scene.bodies[2]
    trajectory = place.simulate(scene, dt=1e-3, t_end=end)
    path, away = cube.path(trajectory), place.rounding(trajectory)
    a = G * (math.sin(0.38) - 0.3 * math.cos(0.38))
    assert np.linalg.norm(cube.velocities(trajectory)[-1]) == pytest.approx(a * end, abs=1e-11 + away)
    assert np.linalg.norm(path[-1] - path[0]) == pytest.approx(a * end**2 / 2, abs=1e-11 + away)


@EVERYWHERE
def test_thrown_cube_never_lifts_and_stops_in_place(place):
    scene = scenes.thrown_cube(speed=6.0, friction=0.5)
    cube = scene.bodies[2]
    trajectory = place.simulate(scene, dt=1e-3, t_end=1.5)
    x, away = cube.path(trajectory), place.rounding(trajectory)
    assert x[-1, 0] == pytest.approx(36 / (2 * 0.5 * G), abs=1e-6 + away)
    assert np.abs(x[:, 2] - 0.5).max() < 1e-11 + away
    assert np.abs(cube.velocities(trajectory)[-1]).max() < 1e-12 + away
    assert trajectory.contact_state[-1, 0] == 1 and trajectory.contact_state[100, 0] == 2


@EVERYWHERE
def test_stack_of_ten_cubes_stays(place):
    scene, end = scenes.cube_stack(10), place.span(10.0, 0.1)
    trajectory = place.simulate(scene, dt=1e-3, t_end=end, every=round(place.span(1000, 100)))
    assert np.abs(trajectory.q - trajectory.q[0]).max() < 1e-9
    assert trajectory.certificate.max_penetration < 1e-6
    assert trajectory.certificate.failed_steps == 0
    # the floor carries ten, nine, ... cubes: impulses of one second
    carried = trajectory.normal_impulse[-1] / place.span(1.0, 0.1)
    assert carried[9] == pytest.approx(G, rel=1e-6)
    assert carried[0] == pytest.approx((10 + 9) * G, rel=1e-6)


@EVERYWHERE
def test_heavy_on_light(place):
    trajectory = place.simulate(scenes.heavy_on_light(1000.0), dt=1e-3, t_end=place.span(1.0, 0.1))
    assert np.abs(trajectory.q - trajectory.q[0]).max() < 1e-10 + place.rounding(trajectory)
    assert trajectory.certificate.failed_steps == 0


def test_titles_say_the_parameters_they_were_made_with():
    assert ss.library.get("heavy_on_light").source == "mass ratio 1000"
    assert ss.library.get("heavy_on_light", ratio=1e9).source == "mass ratio 1e+09"


@EVERYWHERE
def test_stack_that_falls_in_pieces_does_not_sink_in(place):
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.5)
    for k in range(3):
        scene.add_body(ss.Box((1, 1, 1)), mass=1.0, position=(0, 0, 0.5 + 1.05 * k))
    trajectory = place.simulate(scene, dt=1e-3, t_end=place.span(1.0, 0.4), held=False)
    away = place.rounding(trajectory)
    assert trajectory.q[-1].reshape(3, 7)[:, 2] == pytest.approx([0.5, 1.5, 2.5], abs=1e-8 + away)
    assert trajectory.certificate.max_penetration < 1e-8 + away
    assert np.all(np.diff(trajectory.energy.total) < 1e-9)


def test_paper_rule_sinks_in_by_less_than_a_step_and_both_agree():
    ends = {}
    for rule in ("predictive", "gs05"):
        scene = ss.Scene(dim=3)
        scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.2)
        ball = scene.add_body(ss.Sphere(0.1), mass=1.0, position=(0, 0, 0.5), velocity=(2, 0, 0), restitution=0.5)
        trajectory = scene.simulate(dt=1e-4, t_end=1.5, every=100, rule=rule)
        ends[rule] = ball.path(trajectory)[-1]
        assert trajectory.certificate.max_penetration < 1e-4 * 3.0
    assert ends["predictive"] == pytest.approx(ends["gs05"], abs=2e-3)


@EVERYWHERE
def test_cradle_hands_on_the_speed(place):
    scene = scenes.cradle(balls=5, speed=1.0)
    trajectory = place.simulate(scene, dt=1e-4, t_end=0.05, every=10)
    v, away = trajectory.u[-1].reshape(5, 6)[:, 0], 10 * place.rounding(trajectory)
    assert v == pytest.approx([0, 0, 0, 0, 1.0], abs=1e-12 + away)
    assert trajectory.energy.kinetic[-1] == pytest.approx(trajectory.energy.kinetic[0], rel=1e-12 + away)


def test_two_free_bodies_keep_linear_and_angular_momentum_in_a_rough_impact():
    scene = ss.Scene(dim=3, gravity=0.0)
    a = scene.add_body(
        ss.Sphere(0.1), mass=1.0, position=(0, 0, 0), velocity=(1, 0, 0), angular_velocity=(0, 5, 3), friction=0.4
    )
    b = scene.add_body(
        ss.Sphere(0.2), mass=3.0, position=(0.4, 0.1, 0.05), angular_velocity=(1, -2, 0), restitution=0.7
    )
    trajectory = scene.simulate(dt=1e-3, t_end=0.5)
    L, P = np.zeros((len(trajectory), 3)), np.zeros((len(trajectory), 3))
    for body in (a, b):
        p = body.mass * body.velocities(trajectory)
        P += p
        L += np.cross(body.path(trajectory), p) + body.spin(trajectory) * body.inertia[0, 0]
    assert np.abs(P - P[0]).max() < 1e-14
    assert np.abs(L - L[0]).max() < 1e-13
    assert len(trajectory.impacts()) == 1


def test_angular_momentum_is_kept_in_flight_and_when_a_spinning_box_is_struck():
    for dt in (4e-3, 1e-3, 2.5e-4):
        scene = ss.Scene(dim=3, gravity=0.0)
        q = np.array([0.9, 0.1, 0.3, 0.2])
        box = scene.add_body(
            ss.Box((0.4, 0.2, 0.1)), mass=1.0, position=(-0.4, 0, 0), velocity=(2, 0, 0), restitution=1.0,
            orientation=q / np.linalg.norm(q), angular_velocity=(3, 8, -5),
        )  # fmt: skip
        ball = scene.add_body(ss.Sphere(0.1), mass=1.0, position=(0.2, 0.03, 0.05), velocity=(-1, 0, 0))
        run = scene.simulate(dt=dt, t_end=0.2)
        assert len(run.impacts()) == 1
        total = sum(
            moments(body, run, body.inertia) + body.mass * np.cross(body.path(run), body.velocities(run))
            for body in (box, ball)
        )
        assert np.abs(total - total[0]).max() < 1e-14


@EVERYWHERE
def test_elliptic_friction_dissipates_most(place):
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((0, 0, 1)))
    block = scene.add_body(
        ss.Box((1, 1, 0.1)), mass=1.0, position=(0, 0, 0.05), velocity=(3, 3, 0), friction=(0.2, 0.6)
    )
    dt = 1e-3
    trajectory = place.simulate(scene, dt=dt, t_end=2 * dt)
    v = block.velocities(trajectory)
    force = (v[1] - v[0])[:2] / dt / G
    # on the ellipse, and along S^2 u: [S00] (2.17)-(2.19)
    assert (force[0] / 0.2) ** 2 + (force[1] / 0.6) ** 2 == pytest.approx(1.0, abs=1e-6)
    direction = np.array([0.04, 0.36]) * v[1, :2]
    assert force == pytest.approx(-direction / np.linalg.norm(direction / [0.2, 0.6]), abs=1e-3)


def test_threads_change_nothing():
    def run(threads):
        scene = ss.Scene(dim=3)
        scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.5)
        for k in range(4):
            for j in range(2):
                turn = np.array([1.0, 0.1 * k, 0.2, 0.05 * j])
                scene.add_body(
                    ss.Box((1, 1, 1)),
                    mass=1.0,
                    position=(3 * k, 0, 0.9 + 1.8 * j),
                    orientation=turn / np.linalg.norm(turn),
                )
        return scene.simulate(dt=2e-3, t_end=1.0, threads=threads, tol=1e-8)

    one, two = run(1), run(2)
    assert np.array_equal(one.q, two.q) and np.array_equal(one.u, two.u)
    assert one.certificate == two.certificate


test_threads_change_nothing = pytest.mark.slow(test_threads_change_nothing)
