"""Angular velocities without orientations: their frame is told by the model, or said to be open."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import stickslip as ss
from stickslip.fitting.fit import prepared
from stickslip.fitting.frames import open_frames

FREE = {"friction": (0.1, 0.5), "restitution": (0.1, 0.7)}
STEPS = {"dt": 1.0 / 148.0 / 4, "every": 4}


def _plate(height):
    """A plate, of three moments of inertia, that tumbles onto a table."""
    scene = ss.Scene(name="plate")
    scene.add_static(ss.HalfSpace((0, 0, 1)))
    q = np.array([0.82, 0.35, 0.4, 0.2])
    scene.add_body(
        ss.Box((0.1, 0.06, 0.03)), mass=0.3, name="plate", position=(0, 0, height), velocity=(0.3, 0.1, 0.0),
        orientation=q / np.linalg.norm(q), angular_velocity=(2.0, -6.0, 3.0), friction=0.25, restitution=0.4,
    )  # fmt: skip
    return scene


def _samples(scene, frame, axes="xyz", seed=1):
    """Angular velocities alone, to 0.1 rad/s, in world axes or in those of the body, by another program's rotations."""
    run = scene.simulate(t_end=36.0 / 148.0, progress=False, **STEPS)
    rates = np.stack([run[f"plate.w{axis}"] for axis in "xyz"], 1)
    if frame == "body":
        rates = Rotation.from_quat(np.stack([run[f"plate.q{axis}"] for axis in "xyzw"], 1)).inv().apply(rates)
    noise = 0.1 * np.random.default_rng(seed).standard_normal(rates.shape)
    return {"t": run.t, **{f"plate.w{axis}": (rates + noise)[:, "xyz".index(axis)] for axis in axes}}


@pytest.mark.parametrize("axes", ["xyz", "x"])
@pytest.mark.parametrize("height", [0.3, 0.08])
def test_rates_in_the_axes_of_the_body_are_refused(axes, height):
    """Of a long flight, and of one that is soon over."""
    scene = _plate(height)
    with pytest.raises(
        ValueError, match=r"'plate' must be in world axes, got one in the axes of the body: .* as given"
    ):
        ss.fit(scene, _samples(scene, "body", axes), FREE, noise=0.1, search=0, options=STEPS, progress=False)


def test_rates_in_world_axes_pass_and_what_no_impact_tells_is_said_to_be_open():
    """A start may have been taken from the same numbers: a flight alone says nothing of the frame."""
    low = _plate(0.08)
    problem, _ = prepared(low, _samples(low, "world"), FREE, noise=0.1, options=STEPS)
    assert not open_frames(problem, problem.shares(np.array([0.25, 0.4])))
    cube = ss.Scene(name="cube")
    cube.add_static(ss.HalfSpace((0, 0, 1)))
    cube.add_body(
        ss.Box((0.1, 0.1, 0.1)), mass=1.0, name="plate", position=(0, 0, 2.0), angular_velocity=(1.0, 2.0, 0.0)
    )
    problem, _ = prepared(cube, _samples(cube, "world"), FREE, noise=0.1, options=STEPS)
    (remark,) = open_frames(problem, problem.shares(np.array([0.25, 0.4])))
    assert remark.startswith("angular velocities of 'plate' in data count as those in world axes")
