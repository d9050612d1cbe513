"""Chains with heavy loads, and contacts that joints hold along their normals."""

import itertools

import numpy as np
import pytest

import stickslip as ss
from stickslip.contact import pool
from stickslip.engine import Block
from stickslip.run.scene_simulate import prepare_run
from stickslip.scenes import step
from stickslip.scenes.islands import trees
from stickslip.scenes.open_step import OpenStep


def loaded_chain(links, load, kind):
    """Links of 0.1 m and 1 kg from a wall, level, with a ball of `load` kg at the end."""
    scene, before = ss.Scene(), None
    for i in range(links + 1):
        if i < links:
            body = scene.add_body(
                ss.Capsule(0.02, 0.06), position=(0.1 * i + 0.05, 0, 8), orientation=(2**-0.5, 0, 2**-0.5, 0), mass=1.0
            )
        else:
            body = scene.add_body(ss.Sphere(0.2), position=(0.1 * links + 0.2, 0, 8), mass=load)
        if kind == "spherical":
            scene.add_spherical(before, body, at=(0.1 * i, 0, 8))
        else:
            scene.add_revolute(before, body, at=(0.1 * i, 0, 8), axis=(0, 1, 0))
        before = body
    return scene


def require_energy(links, load, kind, dt, t_end):
    run = loaded_chain(links, load, kind).simulate(dt=dt, t_end=t_end)
    assert run.complete and run.certificate.failed_steps == 0, run.status
    total, kinetic = run.energy.total, run.energy.kinetic
    assert kinetic.max() > 0.5 * load * 9.81 * 0.1 * links  # it has swung down
    assert np.abs(total - total[0]).max() < 1e-3 * kinetic.max()
    assert run.certificate.max_joint_error < 1e-5


def test_a_chain_with_a_heavy_load_keeps_its_energy():
    """Links under the load's pull swing with omega dt > 2: the midpoint rule alone would come apart."""
    require_energy(8, 1000.0, "revolute", 2e-3, 0.6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["spherical", "revolute"])
def test_a_chain_of_50_links_with_1000_times_the_load(kind):
    require_energy(50, 1000.0, kind, 1e-3, 2.0)


def test_a_contact_that_joints_hold_is_left_out_unless_it_closes():
    """A plate across the axis of a hinge: at rest the hinge carries everything, pushed in there is no solution."""
    for speed, complete in ((0.0, True), (-0.1, False)):
        scene = ss.Scene()
        arm = scene.add_body(ss.Box((0.4, 0.1, 0.1)), mass=1.0, position=(0.2, 0, 0), friction=0.0)
        scene.add_revolute(None, arm, at=(0, 0, 0), axis=(0, 1, 0))
        scene.add_driven(ss.Box((2, 0.1, 2)), position=(0, 0.1, 0), velocity=(0, speed, 0), friction=0.0)
        run = scene.simulate(dt=1e-3, t_end=0.05)
        assert run.complete == complete
        if complete:
            assert run.certificate.contacts_left_out >= 1
            assert "contacts left out up to" in str(run.certificate)
            # a pendulum: omega' = m g l / (m l^2 + J) at the start, J = m (a^2 + b^2) / 12
            assert arm.spin(run)[1, 1] == pytest.approx(1e-3 * 9.81 * 0.2 / (0.04 + 0.17 / 12), rel=1e-3)


def tumbling_pair(*joints):
    """Two boxes that turn as one, without gravity, and the second one about the hinge's axis z as well."""
    scene, spin, arm = ss.Scene(gravity=0.0), np.array([0.9, 0.6, 3.0]), np.array([0.5, 0.1, 0.2])
    a = scene.add_body(ss.Box((0.3, 0.2, 0.1)), mass=1.0, angular_velocity=spin)
    b = scene.add_body(
        ss.Box((0.2, 0.2, 0.3)), mass=2.0, position=arm, velocity=np.cross(spin, arm), angular_velocity=spin
    )
    for joint in joints:
        joint(scene, a, b)
    return scene


def hinge(height):
    return lambda scene, a, b: scene.add_revolute(a, b, at=(0.25, 0, height), axis=(0, 0, 1))


def glue(scene, a, b):
    scene.add_fixed(a, b, at=(0.25, 0, 0))


def rod(scene, a, b):
    scene.add_distance(a, b, (0, 0, 0), (0.5, 0.1, 0.2))


@pytest.mark.parametrize("one, more", [(hinge(0.0), hinge(0.2)), (glue, rod)], ids=["two hinges", "fixed, and a rod"])
def test_a_second_joint_that_asks_for_nothing_new_changes_nothing(one, more):
    """Redundant joints agree at the next midpoint; linearised about the velocities before they differ by dt^2."""
    alone = tumbling_pair(one).simulate(dt=1e-3, t_end=0.1)
    both = tumbling_pair(one, more).simulate(dt=1e-3, t_end=0.1)
    assert both.complete and both.certificate.failed_steps == 0, both.status
    assert np.abs(both.q - alone.q).max() < 1e-6
    assert np.abs(both.u - alone.u)[2:].max() < 1e-5  # glued bodies are one: their rows need two steps to agree with it


def test_a_step_that_runs_away_is_not_taken():
    """A rod from the axis of a hinge asks, at the first midpoint, for what no turn gives: impulses grow without bound.

    Velocities of 3e24 rad/s were measured by themselves, and their errors were small beside them.  At dt = 1e-3 s the
    first step leaves 2e-10 of the 1 m/s at which the points of these bodies turn.
    """

    def from_the_axis(scene, a, b):
        scene.add_distance(a, b, (0.25, 0.0, 0.2), (0.3, 0.1, 0.2))

    run = tumbling_pair(hinge(0.0), from_the_axis).simulate(dt=1e-2, t_end=0.1)
    assert np.abs(run.u).max() < 4.0
    assert run.complete or "reached a residual of" in run.status
    finer = tumbling_pair(hinge(0.0), from_the_axis).simulate(dt=2e-4, t_end=0.02)
    assert finer.complete and finer.certificate.failed_steps == 0


def test_rods_that_close_loops_in_space():
    """Two balls that hang from the ceiling, and a box that hangs from both on three rods each: four rows close loops.

    Energy is kept to order two, and each rod its length.
    """
    scene = ss.Scene()
    balls = [scene.add_body(ss.Sphere(0.05), mass=0.3, position=(x, 0.1 * x, 1.0)) for x in (-0.5, 0.4)]
    box = scene.add_body(ss.Box((0.4, 0.2, 0.1)), mass=1.0, position=(0, 0, 0.5), angular_velocity=(0.3, 0.5, 2.0))
    for ball, x in zip(balls, (-0.5, 0.4), strict=True):
        scene.add_spherical(None, ball, at=(x, 0.1, 1.6))
        for corner in ((0.2, 0.1, 0.55), (-0.2, 0.1, 0.55), (0.0, -0.1, 0.45)):
            scene.add_distance(ball, box, ball.position, corner)
    gains = []
    for dt in (1e-3, 5e-4):
        run = scene.simulate(dt=dt, t_end=0.2)
        assert run.complete and run.certificate.failed_steps == 0, run.status
        assert run.certificate.max_joint_error < 1e-5
        gains.append(np.abs(run.energy.total - run.energy.total[0]).max())
    assert gains[1] < 0.35 * gains[0]


@pytest.mark.parametrize(("floor", "loop"), [(False, False), (False, True), (True, True)])
def test_islands_with_joints_ask_for_the_memory_that_they_take(floor, loop, monkeypatch):
    """Plain Python says where an array is too short; machine code would write behind it."""
    scene = loaded_chain(2, 2.0, "revolute")
    if floor:
        scene.add_static(ss.HalfSpace((0, 0, 1)), position=(0, 0, 7.8))
    if loop:
        scene.add_distance(scene.bodies[1], scene.bodies[3], (0.05, 0, 8.1), (0.4, 0, 8), collide=False)
    run = prepare_run(scene, 1e-3, 1e-3)
    assert run.engine.march(run.state, 1, Block.room(1, 0, run.state.sizes, columns=9)) == step.DONE
    engine = run.engine
    island = OpenStep(engine, engine.contacts[1 - int(engine.counts[step.SIDE])]).island(0)
    assert (island.last > island.first) == floor
    for name in ("SMALL", "SMALL_WHOLE", "SMALL_TRUTHS"):
        monkeypatch.setattr(pool, name, 0)
    made = []
    monkeypatch.setattr(trees, "pool_of", lambda *sizes: made.append(pool.pool_of(*sizes)) or made[-1])
    residual, _ = trees.solve_joined(island, engine.options, engine.parent, False, False)
    assert residual <= engine.options.tol
    (found,) = made
    # joints that hold bodies take nothing for their rows; without a loop there are no pairs of bodies
    held = island.row_last - island.row_first - int(loop)
    assert len(found.numbers) - found.taken[0] == 31 * held + (0 if loop else 72 * 3)
    assert len(found.whole) - found.taken[1] == 2 * held
    assert len(found.truths) == found.taken[2]


def test_jointed_bodies_at_rest_are_taken_as_they_are():
    """What one step leaves must not come round: most steps at rest take the impulses of the step before."""
    scene = ss.Scene()
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.5)
    boxes = [scene.add_body(ss.Box((0.2, 0.2, 0.2)), mass=1.0, position=(0.3 * i, 0.013 * i, 0.12)) for i in range(3)]
    for a, b in itertools.pairwise(boxes):
        scene.add_revolute(a, b, at=0.5 * (a.position + b.position), axis=(0.02, 1, 0))
    run = prepare_run(scene, 1e-3, 0.4, tol=1e-8)
    engine, state, kept, before = run.engine, run.state, 0, np.zeros(0)
    for k in range(400):
        assert engine.march(state, 1, Block.room(1, 0, state.sizes, columns=9)) == step.DONE
        impulses = engine.joints.row.impulse.copy()
        kept += k >= 200 and np.array_equal(impulses, before)
        before = impulses
    assert kept > 120  # of 200; one of three where only the residual counts
    assert np.abs(engine.bodies.vel).max() < 1e-9


def test_legs_between_their_limits_are_solved():
    """A robot with four legs of two links in a drop of 0.14 m, among hulls, with motors that press on limits."""
    rng, scene = np.random.default_rng(19), ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.7)
    trunk = scene.add_body(ss.Box((0.4, 0.2, 0.1)), mass=8.0, position=(0, 0, 0.5), friction=0.7)
    for x in (-0.17, 0.17):
        for y in (-0.14, 0.14):
            thigh = scene.add_body(ss.Capsule(0.02, 0.12), mass=0.6, position=(x, y, 0.41), friction=0.7)
            shank = scene.add_body(ss.Capsule(0.015, 0.12), mass=0.2, position=(x, y, 0.24), friction=0.7)
            for a, b, z, goal, limit in ((trunk, thigh, 0.49, 0.6, 1.2), (thigh, shank, 0.325, 0.8, 1.5)):
                motor = ss.Motor(target=float(rng.uniform(-goal, goal)), stiffness=60.0, damping=2.0, effort=30.0)
                scene.add_revolute(a, b, (x, y, z), (0, 1, 0), motor=motor, limits=(-limit, limit))
    for i in range(3):
        corners = rng.normal(size=(int(rng.integers(6, 14)), 3))
        corners *= rng.uniform(0.06, 0.12) / np.linalg.norm(corners, axis=1)[:, None]
        scene.add_body(ss.ConvexHull(corners), mass=0.5, position=(-0.3 + 0.3 * i, 0, 0.12), friction=0.5)
    run = scene.simulate(dt=5e-3, t_end=0.25, overlap="resolve")
    assert run.complete and run.certificate.failed_steps == 0, run.status
