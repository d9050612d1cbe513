"""Scenes judged by events: orders of the steppers of scenes, closed forms, and what is refused."""

import re

import numpy as np
import pytest

import stickslip as ss
from stickslip.analysis.convergence import converge
from stickslip.run.scene_as_mechanism import seen_as_scene
from stickslip.scenario import SceneScenario

G = 9.81


def measured(scene, dt, t_end, halvings, steppers=("moreau-midpoint",), rtol=1e-10):
    """Errors and slopes of steppers on a scene."""
    return converge(SceneScenario(scene, dt, t_end, scene.name, "a test"), steppers, halvings=halvings, rtol=rtol)


def double_pendulum():
    scene = ss.Scene(dim=2, name="double_pendulum")
    one, two = (scene.add_body(ss.Capsule(0.02, 0.6), mass=1.0, position=(x, 0)) for x in (0.3, 0.9))
    scene.add_revolute(None, one, (0, 0))
    scene.add_revolute(one, two, (0.6, 0))
    return scene


def turning_box():
    scene = ss.Scene(dim=3, name="box_on_a_ball_joint")
    box = scene.add_body(ss.Box((0.1, 0.2, 0.3)), mass=1.0, position=(0.2, 0, 0), angular_velocity=(3, -4, 5))
    scene.add_spherical(None, box, (0, 0, 0))
    return scene


@pytest.mark.parametrize("make", [double_pendulum, turning_box])
def test_smooth_motion_is_of_order_two(make):
    """No events: the midpoint rule of scenes has order two, in the plane and with quaternions."""
    result = measured(make(), 4e-3, 0.2, 2)
    assert result.slopes["moreau-midpoint"]["q_sup"] == pytest.approx(2.0, abs=0.1)
    assert result.rows[-1].q_sup < 5e-5 and result.floor["q_sup"] < 1e-7


@pytest.mark.parametrize("dim", [2, 3])
def test_ball_begins_to_roll_when_it_should(dim):
    """Thrown with v without spin: it rolls from t = 2 v / (7 mu g) (3 in place of 7/2 for a disc) on, with 5/7 v."""
    scene = ss.Scene(dim=dim)
    scene.add_static(ss.HalfPlane((0, 1)) if dim == 2 else ss.HalfSpace((0, 0, 1)), friction=0.3)
    shape, height, v = ss.Circle(0.1) if dim == 2 else ss.Sphere(0.1), (0.0,) * (dim - 1), 1.0
    scene.add_body(shape, mass=2.0, position=(*height, 0.1), velocity=(v, *height))
    mechanism = ss.as_mechanism(scene)
    run = mechanism.simulate(dt=0.05, t_end=0.5, stepper=ss.EventDriven(rtol=1e-10))
    share = 3.0 if dim == 2 else 3.5
    (event,) = [time for time, kind in zip(run.events().time, run.events().kind, strict=True) if kind == "sticks"]
    assert event == pytest.approx(v / (share * 0.3 * G), rel=1e-8)
    _, u = seen_as_scene(scene, run.q, run.u)
    assert u[-1, 0] == pytest.approx(v * (1.0 - 1.0 / share), rel=1e-8)
    assert u[-1, 2 if dim == 2 else 4] == pytest.approx((-1.0 if dim == 2 else 1.0) * u[-1, 0] / 0.1, rel=1e-8)


@pytest.mark.slow
def test_box_that_tips_and_slides_is_of_order_one():
    scene = ss.Scene(dim=2, name="box")
    scene.add_static(ss.HalfPlane((0, 1)), friction=0.4)
    scene.add_body(
        ss.Polygon([(-0.1, -0.3), (0.1, -0.3), (0.1, 0.3), (-0.1, 0.3)]), mass=1.0, position=(0, 0.31),
        velocity=(1.5, 0), angular_velocity=0.5, restitution=0.3,
    )  # fmt: skip
    result = measured(scene, 2e-3, 0.4, 4, None)
    assert set(result.slopes) == {
        "moreau-midpoint",
        "moreau-jean",
        "stewart-trinkle",
        "paoli-schatzman",
        "event-driven",
    }
    for name in ("moreau-midpoint", "stewart-trinkle", "paoli-schatzman"):
        assert 0.7 < result.slopes[name]["u_L1"] < 1.6


@pytest.mark.slow
def test_tumbling_cube_in_space_converges():
    scene = ss.Scene(dim=3, name="cube")
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.3)
    turn = np.array([0.9, 0.1, 0.3, 0.2])
    scene.add_body(
        ss.Box((0.2, 0.2, 0.2)), mass=1.0, position=(0, 0, 0.3), orientation=turn / np.linalg.norm(turn),
        velocity=(1, 0, 0), angular_velocity=(1, 2, 0), restitution=0.4,
    )  # fmt: skip
    result = measured(scene, 2e-3, 0.4, 4)
    errors = [row.q_sup for row in result.rows]
    assert errors[-1] < 0.3 * errors[0] and errors[-1] < 2e-3


@pytest.mark.slow
def test_gears_rope_springs_and_friction_of_hinges_converge():
    """All that joints have beside holding: dry friction, damping, a rotor, limits, a motor, gears, a rope, a spring."""
    scene = ss.Scene(dim=2, name="winch")
    wheels = [scene.add_body(ss.Circle(0.01), mass=1.0, inertia=0.1 * (i + 1), position=(i, 0)) for i in range(2)]
    scene.add_revolute(None, wheels[0], (0, 0), damping=0.05, armature=0.02)
    scene.add_revolute(None, wheels[1], (1, 0), friction=0.2, motor=(-1.0, 0.3))
    scene.add_gear(*wheels, (0, 0), (1, 0), ratio=0.7)
    load = scene.add_body(ss.Circle(0.01), mass=2.0, position=(-0.3, -1.0))
    scene.add_rope(wheels[0], load, (-0.3, 0), (-0.3, -1.0), length=1.2)
    scene.add_spring(None, load, (-0.3, -2.0), (-0.3, -1.0), stiffness=5.0, damping=0.2)
    result = measured(scene, 2e-3, 0.6, 3)
    assert result.slopes["moreau-midpoint"]["u_L1"] == pytest.approx(1.0, abs=0.4)
    assert result.rows[-1].q_sup < 1e-3


def refused(words, **more):
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.3)
    ball = scene.add_body(ss.Sphere(0.1), mass=1.0, position=(0, 0, 1), **more.pop("ball", {}))
    if "shape" in more:
        scene.add_body(more.pop("shape"), mass=1.0, position=(1, 0, 1))
    if more.pop("driven", False):
        scene.add_driven(ss.Sphere(0.1), position=(3, 0, 1))
    if more.pop("force", False):
        scene.add_force(ball, force=lambda t, x, v: (t, 0, 0))
    with pytest.raises(ValueError, match=re.escape(words)) as told:
        ss.as_mechanism(scene)
    assert "\n" not in str(told.value)


def test_scenes_without_fixed_features_are_refused_in_one_line():
    refused("features that change", shape=ss.Box((0.1, 0.1, 0.1)))
    refused("is driven", driven=True)
    refused("is a function", force=True)
    refused("must be numbers", ball={"rolling": 0.01})
    refused("appears or vanishes", ball={"appears": 0.5})
    many = ss.Scene(dim=2)
    for k in range(13):
        many.add_body(ss.Circle(0.1), mass=1.0, position=(k, 0))
    with pytest.raises(ValueError, match="1 to 12 bodies"):
        ss.as_mechanism(many)


@pytest.mark.parametrize("dim", [2, 3])
def test_adaptive_and_event_driven_runs_of_a_scene(dim):
    """A ball bounces with friction: errors of the adaptive rule follow rtol; records are those of the bodies."""
    scene = ss.Scene(dim=dim)
    scene.add_static(ss.HalfPlane((0, 1)) if dim == 2 else ss.HalfSpace((0, 0, 1)), friction=0.3, restitution=0.6)
    shape, side = ss.Circle(0.1) if dim == 2 else ss.Sphere(0.1), (0.5,) * (dim - 2)
    ball = scene.add_body(shape, mass=1.0, position=(*(0.0,) * (dim - 1), 0.15), velocity=(1, *side, 0))
    judged = scene.simulate(dt=0.05, t_end=0.35, stepper=ss.EventDriven(rtol=1e-9))
    assert judged.coordinate_names == scene.coordinate_names and judged.velocity_names == scene.velocity_names
    assert judged.events().of_kind("impact").time[0] == pytest.approx(np.sqrt(0.1 / 9.81), rel=1e-9)
    for rtol in (1e-3, 1e-5):
        run = scene.simulate(dt=0.05, t_end=0.35, stepper=ss.Adaptive(rtol=rtol))
        assert run.complete and np.abs(run.u - judged.u).max() < 20 * rtol
        assert ball.path(run)[-1] == pytest.approx(ball.path(judged)[-1], abs=20 * rtol)
    fixed = scene.simulate(dt=1e-4, t_end=0.35, every=500)
    assert fixed.u[-1] == pytest.approx(judged.u[-1], abs=5e-3)
    for refused, words in (({"cone": 8}, "cone of a scene by"), ({"contacts": True}, "no contacts=True")):
        with pytest.raises(ValueError, match=words):
            scene.simulate(dt=0.05, t_end=0.4, stepper="adaptive", **refused)
