"""What a run and a simulator of a scene tell: contact points, joint reactions, momenta, energies, rays."""

import math

import numpy as np
import pytest

import stickslip as ss


def sliding_cube():
    scene = ss.Scene()
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.5, name="floor")
    cube = scene.add_body(ss.Box((1, 1, 1)), mass=2.0, position=(0, 0, 0.5), velocity=(6, 0, 0), name="cube")
    return scene, cube


def test_contacts_of_a_run_carry_weight_and_friction_at_the_corners():
    scene, cube = sliding_cube()
    run = scene.simulate(dt=1e-3, t_end=0.05, every=10, contacts=True)
    table = run.contacts()
    assert len(table) == 20 and set(table["body"]) == {"cube"} and set(table["other"]) == {"floor"}
    assert set(table["state"]) == {"slip"}
    force = np.array([table.at(t)["force"].sum(axis=0) for t in run.t[1:]])  # on the floor
    assert np.allclose(force, [0.5 * 2 * 9.81, 0, -2 * 9.81], atol=1e-9)
    # points are those of the midpoint of the step
    middle = cube.path(run)[1:] - 0.5e-3 * cube.velocities(run)[1:]
    corners = np.array([table.at(t)["point"].mean(axis=0) for t in run.t[1:]])
    assert np.allclose(corners, middle - [0, 0, 0.5], atol=1e-12)
    # moments about the centre of mass vanish: the cube slides without tipping
    last = table.at(run.t[-1])
    assert np.allclose(np.cross(last["point"] - middle[-1], last["force"]).sum(axis=0), 0.0, atol=1e-9)


def test_contacts_of_a_simulator_are_there_after_the_first_step():
    sim = ss.Simulator(sliding_cube()[0], dt=1e-3)
    sim.step()
    table = sim.contacts()
    assert set(table["body"]) == {"cube"} and set(table["state"]) == {"slip"}
    assert np.allclose(table["point"][:, 0].mean(), 3e-3, atol=1e-12)


def test_contacts_of_a_scene_must_be_recorded():
    run = sliding_cube()[0].simulate(dt=1e-3, t_end=0.01)
    with pytest.raises(ValueError, match="contacts=True"):
        run.contacts()
    with pytest.raises(ValueError, match="contacts=True"):
        run.reactions()


def test_contacts_of_a_mechanism_come_from_its_records():
    run = ss.library.bouncing_ball().simulate(t_end=0.6)
    table = run.contacts()
    assert len(table) == (run.contact_state > 0).sum() > 0
    assert np.isclose(table["normal_impulse"].sum(), run.normal_impulse.sum())


def test_reactions_of_a_pendulum():
    scene = ss.Scene(dim=2)
    rod = scene.add_body(ss.Capsule(0.05, 1.0), mass=2.0, position=(0.0, -0.6), orientation=-math.pi / 2)
    scene.add_revolute(None, rod, at=(0, 0), name="hinge")
    run = scene.simulate(dt=1e-3, t_end=0.01, contacts=True, every=5)
    table = run.reactions()
    assert list(table["joint"]) == ["hinge"] * 2
    assert np.allclose(table["force"], [0, 2 * 9.81, 0], atol=1e-9) and len(run.contacts()) == 0


def test_momentum_and_energy_of_a_body():
    scene = ss.Scene()
    box = scene.add_body(ss.Box((1, 2, 3)), mass=6.0, position=(0, 0, 5), velocity=(1, 2, 3),
                         angular_velocity=(2, -1, 0.5), orientation=(0.8, 0, 0.6, 0))  # fmt: skip
    run = scene.simulate(dt=1e-3, t_end=0.2)
    L = box.angular_momentum(run)
    assert np.abs(L - L[0]).max() < 1e-6  # no torque
    assert np.allclose(box.momentum(run)[-1], [6, 12, 18 - 6 * 9.81 * 0.2])
    assert np.allclose(box.kinetic_energy(run), run.energy.kinetic)
    sim = ss.Simulator(scene, dt=1e-3)
    sim.step(200)
    body = sim.body(box)
    assert np.allclose(body.momentum, box.momentum(run)[-1]) and np.allclose(body.angular_momentum, L[-1])
    assert np.allclose(body.energy, sim.energy)
    floor = scene.add_static(ss.HalfSpace((0, 0, 1)))
    with pytest.raises(ValueError, match="must move freely"):
        floor.momentum(run)


def test_rays_meet_the_nearest_surface():
    scene = ss.Scene()
    scene.add_static(ss.HalfSpace((0, 0, 1)), name="floor")
    scene.add_static(
        ss.HeightField(np.array([[0, 0, 0], [0, 0, 0], [1.0, 1, 1]]), 1.0), position=(20, 0, 0), name="hill"
    )
    scene.add_body(ss.Sphere(0.5), mass=1, position=(0, 0, 2), name="ball")
    scene.add_body(ss.Box((1, 2, 1)), mass=1, position=(3, 0, 2), orientation=(math.cos(0.25), 0, 0, math.sin(0.25)))
    scene.add_body(ss.Capsule(0.25, 1.0), mass=1, position=(6, 0, 2), name="pill")
    sim = ss.Simulator(scene, dt=1e-3)
    hit = sim.ray((-2, 0.3, 2), (2, 0, 0))
    assert hit.body == "ball" and np.isclose(hit.distance, 2 - 0.4) and np.allclose(hit.normal, (-0.8, 0.6, 0))
    hit = sim.ray((-2, 0, 2), (1, 0, 0), ignore="ball")  # turned by half a radian: the face is 0.5 / cos away
    assert hit.body == "box4" and np.isclose(hit.distance, 5 - 0.5 / math.cos(0.5))
    assert np.allclose(hit.normal, (-math.cos(0.5), -math.sin(0.5), 0))
    hit = sim.ray((6.15, 0, 5), (0, 0, -1))
    assert hit.body == "pill" and np.isclose(hit.point[2], 2.5 + 0.2) and np.allclose(hit.normal, (0.6, 0, 0.8))
    assert np.isclose(sim.ray((6, -3, 2.2), (0, 1, 0)).distance, 2.75)
    hit = sim.ray((20.25, 0.1, 3), (0, 0, -1))
    assert (
        hit.body == "hill"
        and np.isclose(hit.distance, 2.75)
        and np.allclose(hit.normal, (-math.sqrt(0.5), 0, math.sqrt(0.5)))
    )
    assert sim.ray((-5, 0, 1), (0, 0, -1)).body == "floor"
    assert sim.ray((-5, 0, 1), (0, 0, -1), length=0.5) is None and sim.ray((-5, 0, 1), (0, 0, 1)) is None
    with pytest.raises(ValueError, match="direction of a ray"):
        sim.ray((0, 0, 0), (0, 0, 0))
    with pytest.raises(ValueError, match="ray is for scenes"):
        ss.Simulator(ss.library.bouncing_ball()).ray((0, 0), (1, 0))


def test_rays_in_the_plane():
    scene = ss.Scene(dim=2)
    scene.add_body(ss.Polygon.rectangle(2, 1), mass=1, position=(0, 3))
    scene.add_body(ss.Circle(0.5), mass=1, position=(3, 3))
    sim = ss.Simulator(scene, dt=1e-3)
    assert np.allclose(sim.ray((0.3, 0), (0, 1)).point, (0.3, 2.5))
    assert np.allclose(sim.ray((5, 3), (-1, 0)).normal, (1, 0))
