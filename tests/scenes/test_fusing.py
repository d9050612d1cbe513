"""Bodies that fixed joints hold together are moved as one, and read as before."""

from __future__ import annotations

import numpy as np
import pytest

import stickslip as ss
from stickslip.scenes import engine as engines
from stickslip.scenes.fusing import fusion


def hammer(**first):
    """A head on a stick with a knob, two fixed joints, that spins and falls onto the ground."""
    scene = ss.Scene(dim=3, gravity=9.81)
    w, c = np.array([1.0, -2.0, 3.0]), np.array([0.0, 0.0, 0.6])

    def at(x):
        x = np.array(x)
        return {"position": x, "velocity": np.cross(w, x - c), "angular_velocity": w}

    stick = scene.add_body(ss.Box((0.3, 0.04, 0.04)), mass=0.4, name="stick", **{**at((0, 0, 0.6)), **first})
    head = scene.add_body(ss.Box((0.08, 0.1, 0.06)), mass=1.0, name="head", friction=0.4, **at((0.17, 0.0, 0.62)))
    knob = scene.add_body(ss.Sphere(0.03), mass=0.2, name="knob", friction=0.6, **at((-0.16, 0.01, 0.6)))
    scene.add_fixed(stick, head, name="head")
    scene.add_fixed(knob, stick, name="knob")
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.5)
    return scene


def swinging():
    """A hinge, a link, and a foot that is fixed to it and hits the ground; a motor drives the hinge."""
    scene = ss.Scene(dim=3, gravity=9.81)
    link = scene.add_body(ss.Box((0.05, 0.05, 0.4)), mass=1.0, position=(0.2, 0, 0.6), name="link")
    foot = scene.add_body(ss.Sphere(0.05), mass=0.3, position=(0.2, 0.02, 0.4), name="foot")
    scene.add_revolute(None, link, at=(0.0, 0, 0.8), axis=(0, 1, 0), motor=(0.5, 1.0), name="hip")
    scene.add_fixed(link, foot, name="ankle")
    scene.add_static(ss.HalfSpace((0, 0, 1), offset=-0.05), friction=0.5)
    return scene


def both(monkeypatch, make, **options):
    """Runs of a scene with composites, and without."""
    assert fusion(make()) is not None
    runs = [make().simulate(dt=1e-3, contacts=True, **options)]
    monkeypatch.setattr(engines, "fusion", lambda scene: None)
    runs.append(make().simulate(dt=1e-3, contacts=True, **options))
    return runs


@pytest.mark.parametrize("make", [hammer, swinging])
def test_as_one_or_held_by_rows_bodies_move_alike(monkeypatch, make):
    """Both are of second order: they differ by dt^2.  Joint rows need two steps to find the forces of a spin."""
    one, rows = both(monkeypatch, make, t_end=0.2)
    assert one.complete and rows.complete and one.certificate.failed_steps == 0
    assert one.q.shape == rows.q.shape and np.abs(one.q - rows.q).max() < 2e-6
    assert np.abs(one.u - rows.u)[2:].max() < 2e-5
    assert one.certificate.max_joint_error <= 2.0 * rows.certificate.max_joint_error
    assert np.abs(one.energy.total - rows.energy.total)[2:].max() < 1e-5 * np.ptp(one.energy.potential)
    a, b = one.reactions(), rows.reactions()
    assert list(a["joint"]) == list(b["joint"])
    for word in ("force", "torque"):  # those of fixed joints follow from the balance of momentum
        there, here = (np.asarray(table[word])[2 * len(make().joints) :] for table in (a, b))
        assert np.abs(here).max() > 4e-3
        assert np.abs(there - here).max() < 5e-4 * np.abs(here).max(), word


def test_members_stay_where_they_are_in_the_composite():
    scene = hammer()
    run = scene.simulate(dt=1e-3, t_end=1.0)
    assert run.complete and run.certificate.failed_steps == 0
    stick, head, knob = (scene.bodies[i].path(run) for i in (1, 2, 3))
    for a, b in ((stick, head), (stick, knob), (head, knob)):
        length = np.linalg.norm(a - b, axis=1)
        assert np.ptp(length) < 1e-14


def test_the_sum_of_reactions_and_contacts_is_the_change_of_momentum():
    """A foot at rest on the ground: the ankle carries the foot's share exactly."""
    scene = ss.Scene(dim=3, gravity=9.81)
    box = scene.add_body(ss.Box((0.2, 0.2, 0.1)), mass=2.0, position=(0, 0, 0.15), name="box")
    foot = scene.add_body(ss.Box((0.1, 0.1, 0.1)), mass=0.5, position=(0, 0, 0.05), name="foot")
    scene.add_fixed(box, foot, name="ankle")
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.5)
    simulator = ss.Simulator(scene, dt=1e-3)
    for _ in range(5):
        simulator.step()
    force, torque = simulator.joint("ankle").reaction  # on the foot: the weight of the box
    assert np.allclose(force, (0, 0, -2.0 * 9.81), atol=1e-9) and np.abs(torque).max() < 1e-9
    simulator.body("foot").force = (0.0, 0.0, -3.0)  # the ground bears it, not the ankle
    simulator.step()
    simulator.step()
    force, _ = simulator.joint("ankle").reaction
    assert np.allclose(force, (0, 0, -2.0 * 9.81), atol=1e-8)
    contacts = simulator.contacts()
    assert set(contacts["body"]) | set(contacts["other"]) == {"foot", scene.bodies[3].name}
    assert np.isclose(np.abs(np.asarray(contacts["force"])[:, 2]).sum(), 2.5 * 9.81 + 3.0)


def test_a_state_that_is_given_moves_the_composite():
    scene = hammer()
    run = scene.simulate(dt=1e-3, t_end=0.1)
    again = scene.simulate(dt=1e-3, t_end=0.1, q0=run.q[0], u0=run.u[0])
    assert np.abs(again.q - run.q).max() < 1e-12
    wrong = run.q[0].copy()
    wrong[0] += 0.01  # the stick alone
    with pytest.raises(ValueError, match=r"q must agree with the joints, got bodies 'stick' and 'head'"):
        scene.simulate(dt=1e-3, t_end=0.1, q0=wrong)


def test_what_is_not_fused():
    assert [composite.members for composite in fusion(hammer()).composites] == [(1, 2, 3)]
    assert fusion(hammer(velocity=(0, 0, 1))) is None  # a blow of the joints at the start
    scene = hammer()
    scene.add_fixed(scene.bodies[2], scene.bodies[3])  # a loop
    assert fusion(scene) is None
    scene = hammer()
    scene.add_distance(scene.bodies[2], scene.bodies[3], (0.17, 0, 0.62), (-0.16, 0.01, 0.6))
    assert fusion(scene) is None
    scene = hammer()
    scene.add_spring(None, scene.bodies[1], (0, 0, 1), (0, 0, 0.6), stiffness=1.0)
    assert fusion(scene) is None


def test_planar_members_keep_their_angles():
    scene = ss.Scene(dim=2, gravity=9.81)
    a = scene.add_body(
        ss.Polygon([(-0.1, -0.05), (0.1, -0.05), (0.1, 0.05), (-0.1, 0.05)]),
        mass=1.0,
        position=(0, 1),
        orientation=0.3,
        angular_velocity=40.0,
    )
    b = scene.add_body(
        ss.Circle(0.05), mass=0.5, position=(0.1, 1), orientation=-1.0, velocity=(0, 4.0), angular_velocity=40.0
    )
    scene.add_fixed(a, b)
    run = scene.simulate(dt=1e-3, t_end=0.3)
    assert np.allclose(run.q[:, 5] - run.q[:, 2], -1.3, atol=1e-12) and run.q[-1, 2] > 10.0
