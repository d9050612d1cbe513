"""Joints as robots have them: efforts that carry a weight, and bad input that leaves a simulator as it was."""

import numpy as np
import pytest

import stickslip as ss


def arm() -> ss.Scene:
    """Two links that stretch out along x, 1 and 0.5 m long, 2 and 1 kg, on hinges about y; a slide carries them."""
    scene = ss.Scene(dim=3, name="arm")
    cart = scene.add_body(ss.Box((0.1, 0.1, 0.1)), mass=3.0, position=(0, 0, 0), name="cart")
    upper = scene.add_body(ss.Box((1.0, 0.05, 0.05)), mass=2.0, position=(0.5, 0, 0), name="upper")
    lower = scene.add_body(ss.Box((0.5, 0.05, 0.05)), mass=1.0, position=(1.25, 0, 0), name="lower")
    scene.add_prismatic(None, cart, (0, 0, 0), (0, 0, 1), name="lift")
    scene.add_revolute(cart, upper, (0, 0, 0), (0, 1, 0), name="shoulder")
    scene.add_revolute(upper, lower, (1, 0, 0), (0, 1, 0), name="elbow")
    return scene


def test_gravity_efforts_carry_what_hangs_on_a_joint():
    """A turn about +y lowers what is in front: the moment that carries is minus the weights times their arms."""
    sim = ss.Simulator(arm(), dt=1e-3)
    g = 9.81
    efforts = {name: sim.joint(name).gravity_effort for name in ("lift", "shoulder", "elbow")}
    assert efforts["lift"] == pytest.approx(6.0 * g)
    assert efforts["shoulder"] == pytest.approx(-g * (2.0 * 0.5 + 1.0 * 1.25))
    assert efforts["elbow"] == pytest.approx(-g * 0.25)
    for name, effort in efforts.items():
        sim.joint(name).torque = effort
    sim.step(100)
    assert np.abs(sim.u).max() < 1e-9


def test_the_energy_of_rotors_is_part_of_the_kinetic_energy():
    """An arm that falls with rotors at its hinges keeps its energy, and the certificate books no work."""
    scene = ss.Scene(dim=3)
    upper = scene.add_body(ss.Box((1.0, 0.1, 0.1)), mass=2.0, position=(0.5, 0, 0), name="upper")
    scene.add_revolute(None, upper, (0, 0, 0), (0, 1, 0), armature=0.5, name="shoulder")
    sim = ss.Simulator(scene, dt=1e-3, every=50)
    sim.step(400)
    turn = sim.joint("shoulder").speed
    kinetic, potential = sim.energy
    about = 2.0 * (1.0 + 0.01) / 12.0 + 2.0 * 0.25
    assert kinetic == pytest.approx(0.5 * (about + 0.5) * turn**2, rel=1e-5)  # joints hold at midpoints
    assert kinetic + potential == pytest.approx(0.0, abs=1e-4 * kinetic)
    run = sim.trajectory()
    assert run.energy.kinetic[-1] == pytest.approx(kinetic, rel=1e-12)
    assert abs(run.certificate.contact_work) < 1e-12 and not run.certificate.doubts()


def test_a_loop_has_no_gravity_effort_of_one_joint():
    scene = arm()
    names = {body.name: body for body in scene.bodies}
    scene.add_distance(None, names["lower"], (1.5, 0, 1), (1.5, 0, 0), name="rope")
    sim = ss.Simulator(scene, dt=1e-3)
    with pytest.raises(ValueError, match="'elbow' is part of a loop with 'rope'"):
        _ = sim.joint("elbow").gravity_effort


@pytest.mark.parametrize("value", [np.nan, np.inf, "3", [1.0, 2.0], None])
def test_torques_that_are_no_numbers_are_one_line_and_change_nothing(value):
    sim = ss.Simulator(arm(), dt=1e-3)
    sim.joint("elbow").torque = 1.0
    saved = sim.save()
    with pytest.raises(ValueError, match="torque of 'elbow' must be") as problem:
        sim.joint("elbow").torque = value
    assert "\n" not in str(problem.value) and sim.joint("elbow").torque == 1.0
    sim.step(3)
    after = sim.q
    sim.restore(saved)
    sim.step(3)
    assert sim.q.tolist() == after.tolist()


def test_a_state_inside_a_wall_is_refused_and_leaves_the_simulator_as_it_was():
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((1, 0, 0)), name="wall")
    scene.add_body(ss.Sphere(0.1), mass=1.0, position=(0.2, 0, 0), velocity=(-1, 0, 0), name="ball")
    sim = ss.Simulator(scene, dt=1e-3)
    sim.step(5)
    before = sim.t, sim.q.tolist(), sim.u.tolist()
    q = sim.q
    q[0] = 0.05
    for wrong, words in ((q, "overlap by 0.05 m"), (sim.q[:-1], "q"), (np.full(7, np.nan), "finite")):
        with pytest.raises(ValueError, match=words) as problem:
            sim.set_state(q=wrong)
        assert "\n" not in str(problem.value) and (sim.t, sim.q.tolist(), sim.u.tolist()) == before
