"""Chains with heavy loads, and contacts that joints hold along their normals."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.contact import pool
from stickslip.engine import Block
from stickslip.run.scene_simulate import prepare_run
from stickslip.scenes import step
from stickslip.scenes.islands import trees


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
    island = engine._island(engine.contacts[1 - int(engine.counts[step.SIDE])], 0)
    assert (island.last > island.first) == floor
    for name in ("SMALL", "SMALL_WHOLE", "SMALL_TRUTHS"):
        monkeypatch.setattr(pool, name, 0)
    made = []
    monkeypatch.setattr(trees, "pool_of", lambda *sizes: made.append(pool.pool_of(*sizes)) or made[-1])
    residual, _ = trees.solve_joined(island, engine.options, engine.parent)
    assert residual <= engine.options.tol
    (found,) = made
    # joints that hold bodies take nothing for their rows; without a loop there are no pairs of bodies
    held = island.row_last - island.row_first - int(loop)
    assert len(found.numbers) - found.taken[0] == 28 * held + (0 if loop else 72 * 3)
    assert len(found.whole) - found.taken[1] == 2 * held
    assert len(found.truths) == found.taken[2]
