"""Arches of stones without mortar: they stand down to a least thickness and a least friction, which statics tells.

Stones touch at the two ends of each joint.  An arch stands where forces within the friction cones hold every stone: a
linear program.  For many stones its least thickness is that of Milankovitch, t / R = 0.1075.
"""

import numpy as np
import pytest
from scipy.optimize import linprog

import stickslip as ss

G = 9.81


def stones(count, thickness):
    """Corners (count, 4, 2) of the stones of a half circle of radius 1 m."""
    angles = np.linspace(0.0, np.pi, count + 1)
    rays = np.column_stack([np.cos(angles), np.sin(angles)])
    inner, outer = (1 - thickness / 2) * rays, (1 + thickness / 2) * rays
    return np.stack([inner[:-1], outer[:-1], outer[1:], inner[1:]], axis=1)


def centre(corners):
    """Area and centroid of a polygon."""
    after = np.roll(corners, -1, axis=0)
    parts = corners[:, 0] * after[:, 1] - after[:, 0] * corners[:, 1]
    return parts.sum() / 2, ((corners + after) * parts[:, None]).sum(axis=0) / (3 * parts.sum())


def stands(count, thickness, friction):
    """Whether forces (N, T) at the ends of all joints, |T| <= mu N, hold all stones."""
    made = [centre(corners) for corners in stones(count, thickness)]
    angles, ends = np.linspace(0.0, np.pi, count + 1), 2 * (count + 1)
    A, load = np.zeros((3 * count, 2 * ends)), np.zeros(3 * count)
    for k, (area, _) in enumerate(made):
        load[3 * k + 1] = area * G
    for j, angle in enumerate(angles):
        out, on = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
        for end, radius in enumerate((1 - thickness / 2, 1 + thickness / 2)):
            for part, along in enumerate((on, out)):
                for k, sign in ((j, 1.0), (j - 1, -1.0)):
                    if 0 <= k < count:
                        arm = radius * out - made[k][1]
                        column = 2 * (2 * j + end) + part
                        A[3 * k : 3 * k + 2, column] = sign * along
                        A[3 * k + 2, column] = sign * (arm[0] * along[1] - arm[1] * along[0])
    cones = np.zeros((2 * ends, 2 * ends))
    for i in range(ends):
        cones[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[-friction, 1.0], [-friction, -1.0]]
    bounds = [(0, None), (None, None)] * ends
    return linprog(np.zeros(2 * ends), cones, np.zeros(2 * ends), A, load, bounds, method="highs").status == 0


def least(holds, low, high):
    for _ in range(25):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def moved(count, thickness, friction, t_end, turn=0.0, shift=(0.0, 0.0), mirrored=False):
    """How far a coordinate of a stone goes [m, rad]."""
    c, s = np.cos(turn), np.sin(turn)
    R = np.array([[c, -s], [s, c]]) @ np.diag([-1.0 if mirrored else 1.0, 1.0])
    scene = ss.Scene(dim=2, gravity=tuple(R @ [0.0, -G]))

    def add(corners, fixed):
        corners = corners @ R.T
        area, middle = centre(corners)
        corners = corners if area > 0.0 else corners[::-1]
        shape, place = ss.Polygon([tuple(x) for x in corners - middle]), tuple(middle + shift)
        if fixed:
            scene.add_static(shape, position=place, friction=friction, restitution=0.0)
        else:
            scene.add_body(shape, density=1.0, position=place, friction=friction, restitution=0.0)

    for side in (1.0, -1.0):
        add(np.array([[0.5, 0.0], [1.5, 0.0], [1.5, -0.5], [0.5, -0.5]]) * (side, 1.0), True)
    for corners in stones(count, thickness):
        add(corners, False)
    run = scene.simulate(dt=1e-3, t_end=t_end)
    assert run.complete and run.certificate.failed_steps == 0, run.status
    return np.abs(run.q - run.q[0]).max()


PLACES = [
    {}, {"turn": 1.234}, {"shift": (1e3, -2e3)}, {"shift": (1e5, 3e4), "turn": -2.1}, {"mirrored": True, "turn": 0.3},
]  # fmt: skip


def test_an_arch_stands_down_to_its_least_thickness():
    thickness = least(lambda t: stands(7, t, 2.0), 0.05, 0.3)
    assert moved(7, 1.001 * thickness, 2.0, 0.1) < 1e-12
    assert moved(7, 0.999 * thickness, 2.0, 0.3) > 1e-3


@pytest.mark.slow
def test_arches_of_many_stones_have_the_thickness_of_milankovitch():
    assert least(lambda t: stands(40, t, 2.0), 0.05, 0.3) == pytest.approx(0.1075, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("count", [7, 8, 9, 11, 15])
@pytest.mark.parametrize("place", PLACES, ids=["home", "turned", "1 km", "100 km, turned", "mirrored"])
def test_arches_stand_and_fall_as_statics_says(count, place):
    thickness = least(lambda t: stands(count, t, 2.0), 0.05, 0.3)
    friction = least(lambda mu: stands(count, 0.3, mu), 0.05, 2.0)
    assert moved(count, 1.001 * thickness, 2.0, 1.0, **place) < 1e-9
    assert moved(count, 0.999 * thickness, 2.0, 1.0, **place) > 0.1
    assert moved(count, 0.3, 1.001 * friction, 1.0, **place) < 1e-9
    assert moved(count, 0.3, 0.999 * friction, 1.0, **place) > 1e-3
