"""Bodies that a hand moves on the stage: the start that follows."""

import numpy as np
import pytest

from stickslip import library
from stickslip.drawing.primitives import Group
from stickslip.page.service import Service


def grabbed(system, body, to, *, point=(0.0, 0.0), velocity=(0.0, 0.0), **more):
    hand = {"body": body, "point": list(point), "to": list(to), "velocity": list(velocity)}
    return Service().grabbed({"system": system, "t_end": 0.0, **more, "grab": hand})["start"]


def place(scenario, body):
    shapes = scenario.drawing(scenario.q0.tolist(), 0.0, scenario.parameters)
    return np.array(next(s.placement.origin for s in shapes if isinstance(s, Group) and s.name == body))


@pytest.mark.parametrize(
    ("system", "body"), [("impacting_bar", "bar"), ("painleve_rod", "rod"), ("two_balls", "ball 1")]
)
def test_a_free_body_follows_the_hand(system, body):
    scenario = library.get(system)
    wanted = place(scenario, body) + np.array([0.03, 0.05])
    moved = scenario.starting(grabbed(system, body, wanted, velocity=(0.4, 0.2)))
    assert place(moved, body) == pytest.approx(wanted, abs=1e-4)  # the way itself has a small price
    moved.check_start({})


def test_a_wall_stops_a_body_that_a_hand_pulls_through_it():
    start = grabbed("bouncing_ball", "ball", (0.0, -3.0))
    assert start["y"] == pytest.approx(0.0, abs=1e-9) and start["v"] == 0.0


def test_others_are_pushed_along_and_move_no_further_than_they_must():
    start = grabbed("newton_cradle", "ball 2", place(library.newton_cradle(), "ball 2") + np.array([0.02, 0.0]))
    assert start["x_2"] == pytest.approx(start["x_3"], abs=1e-7) and start["x_3"] > 0.019
    assert start["x_1"] == pytest.approx(-0.05, abs=1e-9)


def test_a_throw_has_the_velocity_of_the_hand_and_the_least_energy():
    start = grabbed("impacting_bar", "bar", (0.0, 1.0), velocity=(0.4, -0.2))
    assert [start["u_x"], start["u_y"], start["u_phi"]] == pytest.approx([0.4, -0.2, 0.0], abs=1e-9)


def test_a_slider_is_not_thrown_across_its_guide():
    at = place(library.slider_crank(), "slider")
    start = grabbed("slider_crank", "slider", at, velocity=(0.0, 0.1))
    assert abs(start["omega_1"]) < 10.0  # a slider without play would need an infinite one


def test_a_mechanism_is_grabbed_where_it_is():
    run = library.bouncing_ball().simulate(dt=1e-2, t_end=0.3)
    scenario = library.bouncing_ball()
    above = place(scenario, "ball")[1] - scenario.q0[0]
    start = grabbed("bouncing_ball", "ball", (0.0, run["y"][-1] + above), dt=1e-2, **{"t_end": 0.3})
    assert start == {"y": pytest.approx(run["y"][-1], abs=1e-12), "v": 0.0}


def test_a_body_of_a_scene_is_moved_and_thrown():
    cube = library.get("thrown_cube")
    x, y, z = cube.scene.bodies[-1].position
    start = grabbed("thrown_cube", "cube", (0.1, 0.2, 0.3), velocity=(1.0, 2.0, 3.0))
    assert start == {
        "cube.x": x + 0.1, "cube.y": y + 0.2, "cube.z": z + 0.3, "cube.vx": 1.0, "cube.vy": 2.0, "cube.vz": 3.0
    }  # fmt: skip


@pytest.mark.parametrize(
    ("system", "body", "hand", "words"),
    [
        ("bouncing_ball", "moon", {}, "no body that can be grabbed"),
        ("bouncing_ball_on_table", "table", {"to": [0.0, 1.0]}, "does not move with the mechanism's coordinates"),
        ("bouncing_ball", "ball", {"to": [0.0, float("inf")]}, "finite"),
        ("impacting_bar", "bar", {"to": [0.0, 1e308]}, "cannot follow the hand there"),
        ("impacting_bar", "bar", {"velocity": [1e308, 1e308], "point": [1e155, 1.0]}, "cannot follow the hand there"),
        (
            "sliding_top",
            "axis",
            {"point": [1e9, -1e308], "to": [-0.7, 1.3], "velocity": [-1.2, -0.6]},
            "follow the hand",
        ),
        ("bouncing_ball", "ball", {"to": [0.0]}, "two or three numbers"),
        ("bouncing_ball", "ball", {"to": [0.0, 1.0, 2.0]}, "two numbers each"),
        ("bouncing_ball", 3, {}, "must name a body"),
        ("hanging_chain", "link 2", {"to": [0.0, 1.0, 2.0], "velocity": [0.0, 0.0, 0.0]}, "hangs on a joint|no body"),
        ("thrown_cube", "floor", {}, "no body that moves"),
        ("thrown_cube", "cube", {}, "must be 3 numbers"),
    ],
)
def test_what_cannot_be_grabbed_is_said_in_one_line(system, body, hand, words):
    request = {"body": body, "point": [0.0, 0.0], "to": [0.0, 0.0], "velocity": [0.0, 0.0], **hand}
    with pytest.raises(ValueError, match=words):
        Service().grabbed({"system": system, "t_end": 0.0, "grab": request})


def test_a_run_is_no_grab():
    with pytest.raises(ValueError, match="api/grab alone"):
        Service().run({"system": "bouncing_ball", "grab": {}})
