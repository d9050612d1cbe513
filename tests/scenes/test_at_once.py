"""Several contacts of a scene at once under Poisson's law: mechanisms, whose impacts are LCPs, and closed forms."""

from itertools import pairwise

import numpy as np
import pytest

import stickslip as ss

DT = 1e-6


def row_of_balls(dim, velocities, restitution, masses=None, ground=False):
    """Balls of radius 0.1 that touch, in a row along x, or along the last axis above a floor."""
    scene, n = ss.Scene(dim=dim, gravity=0.0), len(velocities)
    axis = np.eye(dim)[-1 if ground else 0]
    if ground:
        scene.add_static(ss.HalfPlane((0, 1)) if dim == 2 else ss.HalfSpace((0, 0, 1)))
    balls = [
        scene.add_body(
            ss.Circle(0.1) if dim == 2 else ss.Sphere(0.1), mass=1.0 if masses is None else masses[i],
            position=(0.1 + 0.2 * i) * axis, velocity=velocities[i] * axis, name=f"ball{i}",
        )
        for i in range(n)
    ]  # fmt: skip
    for (a, b), e in zip(pairwise(balls), restitution[1:] if ground else restitution, strict=True):
        scene.set_pair(a, b, friction=0.0, restitution=e)
    if ground:
        scene.set_pair(scene.bodies[1], balls[0], friction=0.0, restitution=restitution[0])
    return scene, balls, axis


def ends(scene, balls, axis, law="poisson-at-once"):
    run = scene.simulate(dt=DT, t_end=2 * DT, law=law)
    assert run.certificate.failed_steps == 0 and run.certificate.restitution_left_out == 0
    return np.array([ball.velocities(run)[-1] @ axis for ball in balls]), run


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("balls", [3, pytest.param(5, marks=pytest.mark.slow)])
def test_newtons_cradle_is_one_impact(dim, balls):
    """(2/n - 1, 2/n, ...) at once, as the mechanism has it; one after the other the last ball leaves alone."""
    scene = row_of_balls(dim, np.eye(balls)[0], np.ones(balls - 1))
    found, run = ends(*scene)
    hit = ss.impact(ss.library.newton_cradle(balls=balls).system, np.zeros(balls), np.eye(balls)[0], ss.Poisson())
    assert found == pytest.approx(hit.u, abs=1e-9)
    assert found == pytest.approx(2 / balls - np.eye(balls)[0], abs=1e-9)
    assert run.energy.total[-1] == pytest.approx(0.5, abs=1e-9) and len(run.impacts()) == balls - 1
    assert ends(*scene, law="poisson")[0] == pytest.approx(np.eye(balls)[-1], abs=1e-5)


def test_unequal_coefficients_are_those_of_the_mechanism():
    cradle = ss.library.newton_cradle(balls=3).system
    for e in ((0.0, 1.0), (0.3, 0.8), (1.0, 0.2)):
        found, _ = ends(*row_of_balls(3, (1.0, 0.0, 0.0), e))
        hit = ss.impact(cradle, np.zeros(3), [1.0, 0.0, 0.0], ss.Poisson(e, dissipative=False))
        assert found == pytest.approx(hit.u, abs=1e-9)


def test_two_balls_on_a_table():
    """Falling together they come back together; by blows in turn the upper one is thrown up."""
    scene = row_of_balls(3, (-1.0, -1.0), (1.0, 1.0), masses=(3.0, 1.0), ground=True)
    assert ends(*scene)[0] == pytest.approx([1.0, 1.0], abs=1e-9)
    assert not np.allclose(ends(*scene, law="poisson")[0], [1.0, 1.0], atol=0.1)


@pytest.mark.parametrize("friction", [0.0, 0.2, 0.7])
def test_a_block_that_lands_on_two_corners(friction):
    """As the mechanism of the scene, whose impact is one LCP of both corners; also mirrored."""
    for mirrored in (1.0, -1.0):
        scene = ss.Scene(dim=2, gravity=0.0)
        scene.add_static(ss.HalfPlane((0, 1)), friction=friction, restitution=0.5)
        block = scene.add_body(
            ss.Polygon.rectangle(0.6, 0.2), mass=2.0, position=(0, 0.1), velocity=(mirrored * 0.8, -1.0),
            angular_velocity=mirrored * 1.5,
        )  # fmt: skip
        mechanism = ss.as_mechanism(scene).system
        hit = ss.impact(mechanism, [0, 0.1, 0], [mirrored * 0.8, -1.0, mirrored * 1.5], ss.Poisson(dissipative=False))
        run = scene.simulate(dt=DT, t_end=2 * DT, law="poisson-at-once")
        found = np.append(block.velocities(run)[-1], block.spin(run)[-1])
        assert run.certificate.failed_steps == 0 and found == pytest.approx(hit.u, abs=2e-6)


def test_joints_pass_on_what_strikes_at_once():
    """A bar on a hinge between two balls that come from both sides: I = 1/3, both at the distance 0.8."""
    scene = ss.Scene(dim=2, gravity=0.0)
    bar = scene.add_body(ss.Polygon.rectangle(0.02, 1.0), mass=1.0, inertia=1 / 12, position=(0, -0.5))
    scene.add_revolute(None, bar, at=(0, 0))
    balls = [
        scene.add_body(
            ss.Circle(0.05), mass=0.5, position=(side * 0.06, -0.8), velocity=(-side * v, 0), restitution=0.6
        )
        for side, v in ((-1, 2.0), (1, 1.0))
    ]
    run = scene.simulate(dt=1e-7, t_end=2e-7, law="poisson-at-once")
    # minimal coordinates: bar's speed w at the balls has the mass I / 0.64; compression makes all three equal
    M = np.diag([0.5, 1 / 3 / 0.64, 0.5])
    W = np.array([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]])
    u = np.array([2.0, 0.0, -1.0])
    stored = -np.linalg.solve(W @ np.linalg.solve(M, W.T), W @ u)
    assert np.all(stored > 0)
    after = u + np.linalg.solve(M, W.T @ (1.6 * stored))
    assert W @ after == pytest.approx([0.6 * 2, 0.6 * 1], abs=1e-9)
    assert [ball.velocities(run)[-1, 0] for ball in balls] == pytest.approx(after[[0, 2]], abs=1e-5)
    assert bar.spin(run)[-1].item() == pytest.approx(after[1] / 0.8, abs=1e-5)


def test_a_ball_leaves_a_corner():
    """Both walls at once, with friction: it comes out of the corner, and no energy is gained."""
    corner = ss.Scene(dim=2, gravity=0.0)
    for normal in ((0, 1), (1, 0)):
        corner.add_static(ss.HalfPlane(normal), friction=0.3, restitution=0.5)
    ball = corner.add_body(ss.Circle(0.1), mass=1.0, position=(0.1, 0.1), velocity=(-1, -1))
    run = corner.simulate(dt=1e-3, t_end=5e-3, law="poisson-at-once")
    assert run.certificate.failed_steps == 0 and run.certificate.max_energy_gain <= 1e-12
    assert np.all(ball.velocities(run)[-1] > 0.1)
