"""Rotations of bodies over one step: short ways against general ones."""

from __future__ import annotations

import numpy as np
import pytest

from stickslip.scenes import rotation

SHORT = 5e-4  # half a step [s]


def body(rng):
    """Inertia of a body, and its condition."""
    A = rng.normal(size=(3, 3))
    J = A @ A.T + 0.1 * np.eye(3)
    return J.ravel(), np.linalg.cond(J)


@pytest.mark.parametrize("speed", [0.0, 1e-13, 1e-9, 1e-7])
def test_a_body_that_hardly_turns_is_a_body(speed, monkeypatch):
    rng = np.random.default_rng(3)
    for _ in range(20):
        J, worse = body(rng)
        before, L, phi, K = speed * rng.normal(size=3), np.empty(3), np.empty(3), np.empty(9)
        rotation.momentum_at_midpoint(J, before, SHORT, phi, L)
        slow, general = (np.empty(3), np.empty(9)), (np.empty(3), np.empty(9))
        assert rotation.slow_rotation(J, L, before, SHORT, *slow, K)
        with monkeypatch.context() as patch:
            patch.setattr(rotation, "SLOW", 0.0)  # nothing is slow
            assert rotation.rotation_with(J, L, before, SHORT, *general, phi, K) == 0.0
        assert np.abs(slow[0] - general[0]).max() <= 1e-15 * worse * speed
        assert np.abs(slow[1] - general[1]).max() <= 1e-15 * worse * np.abs(general[1]).max()


@pytest.mark.parametrize(("speed", "torque"), [(1e-3, 0.0), (1e-9, 1e-6)])
def test_a_body_that_turns_or_is_turned_is_not_slow(speed, torque):
    J, _ = body(np.random.default_rng(4))
    before, L, phi, K = speed * np.ones(3), np.empty(3), np.empty(3), np.empty(9)
    rotation.momentum_at_midpoint(J, before, SHORT, phi, L)
    L += torque
    assert not rotation.slow_rotation(J, L, before, SHORT, np.empty(3), np.empty(9), K)


def test_a_turn_without_sine_has_the_bits_of_one_with_it(monkeypatch):
    rng = np.random.default_rng(5)
    for angle in (1e-300, 1e-20, 1e-12, 9.9e-9):
        q = rng.normal(size=4)
        pose, vel = np.array([1.0, 2.0, 3.0, *(q / np.linalg.norm(q))]), rng.normal(size=6)
        vel[3:] *= angle / np.linalg.norm(vel[3:])
        found = np.empty((2, 7))
        rotation.advance(pose, vel, 1.0, found[0])
        with monkeypatch.context() as patch:
            patch.setattr(rotation, "SLOW", 0.0)
            rotation.advance(pose, vel, 1.0, found[1])
        assert np.array_equal(*found)


def test_axes_have_the_bits_of_turned_vectors():
    rng = np.random.default_rng(6)
    for _ in range(50):
        pose = np.r_[np.zeros(3), rng.normal(size=4)]
        assert rotation.x_axis(pose) == rotation.rotate(pose, 1.0, 0.0, 0.0)
        assert rotation.y_axis(pose) == rotation.rotate(pose, 0.0, 1.0, 0.0)
        assert rotation.z_axis(pose) == rotation.rotate(pose, 0.0, 0.0, 1.0)
