"""Ratios of stiffness and the law of Chatterjee and Ruina in scenes: mechanisms, integrations, joints, energy."""

import re

import numpy as np
import pytest

import stickslip as ss

DT = 1e-6
LAWS = {
    "stiffness-ratios": ss.StiffnessRatios(),
    "stiffness-ratios-hertz": ss.StiffnessRatios(model="hertz"),
    "chatterjee-ruina": ss.ChatterjeeRuina(),
}


def row_of_balls(dim, velocities, stiffness, restitution=1.0, turn=0.0, at=0.0):
    """Balls of radius 0.1 and mass 1 that touch, in a row at an angle."""
    scene, axis = ss.Scene(dim=dim, gravity=0.0), np.zeros(dim)
    axis[:2] = np.cos(turn), np.sin(turn)
    balls = [
        scene.add_body(
            ss.Circle(0.1) if dim == 2 else ss.Sphere(0.1), mass=1.0, position=at + 0.2 * i * axis,
            velocity=v * axis, name=f"ball{i}",
        )
        for i, v in enumerate(velocities)
    ]  # fmt: skip
    for i, kappa in enumerate(stiffness):
        scene.set_pair(balls[i], balls[i + 1], friction=0.0, restitution=restitution, stiffness=kappa)
    return scene, balls, axis


def ends(scene, balls, axis, law, dt=DT):
    run = scene.simulate(dt=dt, t_end=2 * dt, law=law)
    assert run.certificate.failed_steps == 0 and run.certificate.restitution_left_out == 0
    assert run.certificate.max_energy_gain < 1e-12
    return np.array([ball.velocities(run)[-1] @ axis for ball in balls])


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("law", LAWS)
def test_a_cradle_leaves_as_the_mechanism(dim, law):
    """At the origin; turned and 1 km away; with other steps."""
    cradle, kappa = ss.library.newton_cradle(balls=3).system, (1.0, 4.0)
    own = ss.ChatterjeeRuina(1.0)
    if law != "chatterjee-ruina":
        own = ss.StiffnessRatios(1.0, stiffness=kappa, model=LAWS[law].model)
    expected = ss.impact(cradle, np.zeros(3), [1.0, 0.0, 0.0], own).u
    for place in ({}, {"turn": 0.7, "at": 1e3}):
        for dt in (DT, 1e-3):
            found = ends(*row_of_balls(dim, (1.0, 0.0, 0.0), kappa, **place), law, dt)
            assert found == pytest.approx(expected, abs=1e-9)


def test_symmetric_blows_leave_symmetric():
    """Five balls, both ends strike at once."""
    found = ends(*row_of_balls(3, (1.0, 0, 0, 0, -1.0), (1.0,) * 4), "stiffness-ratios")
    assert found == pytest.approx(-found[::-1], abs=1e-12) and np.sum(found**2) == pytest.approx(2.0, abs=1e-11)


@pytest.mark.parametrize("law", LAWS)
def test_a_block_on_two_corners_is_the_mechanism(law):
    """With friction, restitution and, under the algebraic law, tangential restitution; also mirrored."""
    for friction, e in ((0.2, 0.5), (0.7, 1.0), (2.0, 0.3)):
        for mirrored in (1.0, -1.0):
            scene = ss.Scene(dim=2, gravity=0.0)
            e_T = 0.3 if law == "chatterjee-ruina" else None
            scene.add_static(ss.HalfPlane((0, 1)), friction=friction, restitution=e, restitution_tangential=e_T)
            velocity, spin = (mirrored * 0.8, -1.0), mirrored * 1.5
            block = scene.add_body(
                ss.Polygon.rectangle(0.6, 0.2), mass=2.0, position=(0, 0.1), velocity=velocity, angular_velocity=spin
            )
            hit = ss.impact(ss.as_mechanism(scene).system, [0, 0.1, 0], [*velocity, spin], LAWS[law])
            found = ends(scene, [block], np.array([0.0, 1.0]), law)
            assert found == pytest.approx(hit.u[1], abs=2e-6)


def test_stiffness_of_bodies_is_in_series():
    """1 / (1/2 + 1/2) = 1 and 1 / (1/2 + 1/x) = 4/3 of x = 4: as pairs of 1 and 4/3; one without is rigid."""
    scene = ss.Scene(dim=3, gravity=0.0)
    balls = [
        scene.add_body(
            ss.Sphere(0.1), mass=1.0, position=(0.2 * i, 0, 0), velocity=(1.0 * (i == 0), 0, 0), restitution=1.0,
            stiffness=kappa, name=f"ball{i}",
        )
        for i, kappa in enumerate((2.0, 2.0, 4.0))
    ]  # fmt: skip
    found = ends(scene, balls, np.array([1.0, 0, 0]), "stiffness-ratios")
    assert found == pytest.approx(ends(*row_of_balls(3, (1.0, 0, 0), (3.0, 4.0)), "stiffness-ratios"), abs=1e-9)


@pytest.mark.parametrize("law", LAWS)
def test_joints_pass_blows_on(law):
    """A bar on a hinge, struck by two balls from both sides at 0.8 of its length: minimal coordinates."""
    scene = ss.Scene(dim=2, gravity=0.0)
    bar = scene.add_body(ss.Polygon.rectangle(0.02, 1.0), mass=1.0, inertia=1 / 12, position=(0, -0.5))
    scene.add_revolute(None, bar, at=(0, 0))
    balls = [
        scene.add_body(
            ss.Circle(0.05), mass=0.5, position=(side * 0.06, -0.8), velocity=(-side * v, 0), restitution=1.0
        )
        for side, v in ((-1, 2.0), (1, 1.0))
    ]
    run = scene.simulate(dt=1e-7, t_end=2e-7, law=law)
    assert run.certificate.restitution_left_out == 0 and run.certificate.max_energy_gain < 1e-9
    mass, x = 1 / 3 / 0.64, np.array([2.0, 0.0, -1.0])  # of the bar at 0.8
    if law == "chatterjee-ruina":  # one after the other, the fastest first
        for _ in range(20):
            for i, m in ((0, (0.5, mass)), (1, (mass, 0.5))):
                pair = x[i : i + 2]
                if pair[0] - pair[1] > 1e-9:
                    P = 2 * m[0] * m[1] / sum(m) * (pair[0] - pair[1])
                    x[i], x[i + 1] = x[i] - P / m[0], x[i + 1] + P / m[1]
    else:
        from scipy.integrate import solve_ivp

        n = 1.5 if law.endswith("hertz") else 1.0
        W, M = np.array([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]]), np.array([0.5, mass, 0.5])

        def rate(_, y):
            return [*y[3:], *(W.T @ np.maximum(0.0, -W @ y[:3]) ** n / M)]

        x = solve_ivp(rate, (0, 40), [0, 0, 0, *x], rtol=1e-10, atol=1e-12, max_step=0.02).y[3:, -1]
    assert [ball.velocities(run)[-1, 0] for ball in balls] == pytest.approx(x[[0, 2]], abs=2e-5)
    assert bar.spin(run)[-1].item() == pytest.approx(x[1] / 0.8, abs=2e-5)


def random_scene(rng, dim):
    """Boxes and balls one above the other on a floor, some joined, with all numbers drawn."""
    scene = ss.Scene(dim=dim, gravity=0.0)
    floor = ss.HalfPlane((0, 1)) if dim == 2 else ss.HalfSpace((0, 0, 1))

    def surface():
        return {
            "friction": rng.uniform(0, 1.5), "restitution": rng.uniform(0.05, 1), "stiffness": 10 ** rng.uniform(-1, 1)
        }  # fmt: skip

    scene.add_static(floor, **surface())
    before = None
    for i in range(rng.integers(1, 4)):
        position = np.zeros(dim)
        position[0], position[-1] = 0.02 * rng.normal(), 0.2 * i + 0.1
        box = ss.Polygon.rectangle(0.3, 0.2) if dim == 2 else ss.Box((0.3, 0.3, 0.2))
        ball = ss.Circle(0.1) if dim == 2 else ss.Sphere(0.1)
        spin = rng.normal() if dim == 2 else rng.normal(size=3)
        body = scene.add_body(
            box if rng.random() < 0.6 else ball, mass=10 ** rng.uniform(-1, 1), position=position,
            velocity=rng.normal(size=dim), angular_velocity=spin, **surface(),
        )  # fmt: skip
        if before is not None and rng.random() < 0.25:
            (scene.add_revolute if dim == 2 else scene.add_spherical)(before, body, at=position + 0.05 * np.eye(dim)[0])
        before = body
    return scene


def never_gains(seeds):
    left = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        scene = random_scene(rng, 2 + seed % 2)
        for law in LAWS:
            run = scene.simulate(dt=DT, t_end=2 * DT, law=law, overlap="keep")
            assert run.certificate.failed_steps == 0
            assert run.certificate.max_energy_gain <= 1e-9 * run.energy.total[0]
            left += run.certificate.restitution_left_out
    return left


def test_random_scenes_never_gain_energy():
    assert never_gains(range(20, 22)) == 0


@pytest.mark.slow
def test_many_random_scenes_never_gain_energy():
    assert never_gains(range(100, 160)) <= 2


@pytest.mark.parametrize(
    ("surface", "law", "words"),
    [
        ({"stiffness": 0.0}, "stiffness-ratios", "stiffness of 'ball' must be"),
        ({"stiffness": np.inf}, "stiffness-ratios", "stiffness of 'ball' must be"),
        ({"stiffness": 1e5}, "stiffness-ratios", "stiffness of bodies must have ratios of up to 10000"),
        ({"restitution": 1.1}, "chatterjee-ruina", "restitution of 'ball' must"),
        ({"restitution_tangential": 0.5}, "stiffness-ratios-hertz", "restitution_tangential must be 0 under the law"),
        ({}, "stiffness", "law must be one of newton"),
        ({}, ss.StiffnessRatios(0.5), "whose coefficients are those of the bodies"),
    ],
)
def test_wrong_numbers(surface, law, words):
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((0, 0, 1)))
    scene.add_static(ss.HalfSpace((1, 0, 0), -1.0))
    with pytest.raises(ValueError, match=re.escape(words)):
        scene.add_body(ss.Sphere(0.1), mass=1.0, position=(0, 0, 0.1), name="ball", **surface)
        scene.simulate(dt=1e-3, t_end=0.01, law=law)
