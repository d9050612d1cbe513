"""Mirror images: a scene of the library that is mirrored in x moves as the mirror image of its motion."""

from dataclasses import replace

import numpy as np
import pytest

import stickslip as ss
from stickslip.library.scenes import ENTRIES

POLAR, AXIAL = np.array([-1.0, 1.0, 1.0]), np.array([1.0, -1.0, -1.0])


def mirrored_shape(shape):
    """The shape seen in a mirror at x = 0."""
    if shape is None or isinstance(shape, (ss.Circle, ss.Sphere, ss.Capsule, ss.Box)):
        return shape
    if isinstance(shape, (ss.HalfPlane, ss.HalfSpace)):
        return replace(shape, normal=tuple(np.asarray(shape.normal) * POLAR[: len(shape.normal)]))
    if isinstance(shape, ss.Polygon):
        return ss.Polygon(np.asarray(shape.vertices)[::-1] * POLAR[:2])
    raise TypeError(f"no mirror image is known of {type(shape).__name__}: add it here.")


def mirrored(scene):
    """The scene seen in a mirror at x = 0; its joints have no limits and no motors, its forces are weights."""
    image = scene.copy()
    image.gravity = scene.gravity * POLAR
    image.bodies = [scene.bodies[0]] + [
        replace(
            body,
            shape=mirrored_shape(body.shape),
            position=body.position * POLAR,
            orientation=body.orientation * np.array([1.0, *AXIAL]),
            angle=-body.angle,
            velocity=body.velocity * POLAR,
            angular_velocity=body.angular_velocity * AXIAL,
            centre=body.centre * POLAR,
        )
        for body in scene.bodies[1:]
    ]
    image.joints = [replace(joint, at_a=joint.at_a * POLAR, at_b=joint.at_b * POLAR) for joint in scene.joints]
    return image


def gap_to_image(name, t_end):
    """The largest distance [m] between the motion of a scene and the mirror image of that of its mirror image."""
    entry = ENTRIES[name]()
    runs = [scene.simulate(dt=entry.dt, t_end=t_end, **entry.options) for scene in (entry.scene, mirrored(entry.scene))]
    assert all(run.certificate.failed_steps == 0 for run in runs)
    paths = [np.stack([body.path(run) for body in entry.scene.bodies if body.kind != "static"]) for run in runs]
    return np.abs(paths[0] - paths[1] * POLAR[: entry.scene.dim]).max()


SCENES = (
    "cube_stack", "heavy_on_light", "thrown_cube", "cube_on_ramp", "card_house", "arch", "domino_row", "cradle",
    "hanging_chain", "rolling_disc",
)  # fmt: skip
ROUNDING = 1e-14  # [m]


@pytest.mark.parametrize("name", ["thrown_cube", "card_house", "arch", "hanging_chain", "rolling_disc"])
def test_mirror_image(name):
    assert gap_to_image(name, 0.05) < ROUNDING


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENES)
def test_mirror_image_for_long(name):
    assert gap_to_image(name, min(0.5, ENTRIES[name]().t_end)) < ROUNDING
