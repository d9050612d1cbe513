"""Joints, springs and forces over the bodies of a scene."""

import base64

import numpy as np
import pytest

import stickslip as ss
from stickslip import library
from stickslip.page.overlay import forces, links


def unpacked(packed, width):
    return np.frombuffer(base64.b64decode(packed["f32"]), dtype="<f4").reshape(-1, width)


def test_forces_carry_the_weight():
    """A stack of cubes at rest: the arrows at the floor point up and sum to the weight of the stack."""
    stack = library.get("cube_stack")
    run = stack.simulate(t_end=0.02, contacts=True)
    shown = forces(run, np.array([5, 10]), stack.scene)
    first, f = shown["first"], unpacked(shown["force"], 3)
    points = unpacked(shown["point"], 3)
    assert first[0] == 0 and first[2] == len(f)
    low = points[first[0] : first[1], 2] < 1e-6
    weight = sum(body.mass for body in stack.scene.bodies if body.column >= 0) * 9.81
    assert f[first[0] : first[1]][low].sum(axis=0) == pytest.approx([0.0, 0.0, weight], rel=1e-5, abs=1e-5)
    assert (f[:, 2] > 0.0).all()


def test_without_recorded_contacts_there_are_no_arrows():
    stack = library.get("cube_stack")
    assert forces(stack.simulate(t_end=0.002), np.array([0, 1]), stack.scene) is None


@pytest.mark.parametrize("dim", [2, 3])
def test_ends_of_joints_move_with_their_bodies(dim):
    scene = ss.Scene(dim=dim)
    shape = ss.Circle(0.1) if dim == 2 else ss.Sphere(0.1)
    rest = (1.0, 0.5, 0.25)[:dim]
    bob = scene.add_body(shape, mass=1.0, position=rest, velocity=(0.0, -1.0, 0.3)[:dim], name="bob")
    scene.add_revolute(None, bob, at=(0.0, 0.5, 0.25)[:dim], **({} if dim == 2 else {"axis": (0, 0, 1)}))
    scene.add_spring(None, bob, at_a=(0.0, 0.0, 0.0)[:dim], at_b=(1.1, 0.5, 0.25)[:dim], stiffness=10.0)
    run = scene.simulate(dt=1e-3, t_end=0.2)
    shown = links(scene, run.q)
    track = unpacked(shown["track"], 4 * dim).reshape(len(run), 2, 2, dim)
    assert shown["kinds"] == ["revolute", "spring"]
    assert track[:, 0, 1] == pytest.approx(track[:, 0, 0], abs=1e-6)  # both bodies have the joint where it is
    tip = track[:, 1, 1] - run.q[:, :dim]
    assert np.linalg.norm(tip, axis=1) == pytest.approx(0.1, abs=1e-6) and np.ptp(track[:, 1, 1], axis=0).max() > 0.1
