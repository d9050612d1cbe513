"""Joints, gears and ropes of a scene through a model file and back."""

import numpy as np

import stickslip as ss
from stickslip.scenario import SceneScenario


def everything():
    """A scene with every kind of joint that is no plain hinge, at odd places."""
    scene = ss.Scene(dim=3)
    bodies = [scene.add_body(ss.Sphere(0.1), mass=1.0, position=(i, 0, 0)) for i in range(12)]
    scene.add_universal(bodies[0], bodies[1], (0.5, 0, 0), (0, 1, 0), (0, 0, 1))
    scene.add_cylindrical(bodies[1], bodies[2], (1.5, 0, 0), (1, 0, 0))
    scene.add_screw(None, bodies[3], (3, 0, 0), (0, 0, 1), lead=0.1, limits=(-3, 3), motor=(1.0, 2.0), name="press")
    scene.add_planar(None, bodies[4], (4, 0, 0), (0, 0.6, 0.8))
    scene.add_translational(bodies[4], bodies[5])
    scene.add_revolute(None, bodies[6], (6, 0, 0), (0, 0, 1), name="h1")
    scene.add_revolute(None, bodies[7], (7, 0, 0), (0, 0, 1), name="h2")
    scene.add_gear(bodies[6], bodies[7], (6, 0, 0), (7, 0, 0), (0, 0, 1), ratio=1 / 3)
    scene.add_prismatic(None, bodies[8], (8, 0, 0), (1, 0, 0))
    scene.add_rack(bodies[8], bodies[7], (7, 0, 0), (1, 0, 0), (7, 0.37, 0))
    scene.add_coupling("press", "h1", ratio=-0.7)
    scene.add_rope(bodies[9], bodies[10], (9, 0, 0), (10, 0, 0), length=1.3)
    scene.add_pulley(bodies[10], bodies[11], (10, 0, 0), (11, 0, 0), (10, 0, 3), (11, 0, 3), ratio=1.5, collide=False)
    return scene


def test_all_kinds_come_back_from_a_file(tmp_path):
    """The run of the scene that was read is that of the scene that was written, bit for bit; all steps are solved."""
    scene = everything()
    ss.write_model(SceneScenario(scene, 1e-3, 0.1, "joints", "a test", {}), tmp_path / "joints.toml")
    again = ss.read_model(tmp_path / "joints.toml").scenario.scene
    assert [joint.kind for joint in again.joints] == [joint.kind for joint in scene.joints]
    first, second = scene.simulate(dt=1e-3, t_end=0.1), again.simulate(dt=1e-3, t_end=0.1)
    assert first.complete and first.certificate.failed_steps == 0
    assert np.array_equal(first.q, second.q)
    assert again.ignored == scene.ignored
