"""What a held step is made of: turns that can be undone, and contact points that are found again."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from stickslip.scenes.held_step import OtherContacts, matched, moved, spacing, turn_between, turned_by


@dataclass
class Points:
    """Contact points as `matched` looks at them."""

    pair: np.ndarray
    local: np.ndarray

    def __len__(self):
        return len(self.pair)

    def __getitem__(self, index):
        return Points(self.pair[index], self.local[index])


def quaternions(n, random):
    q = random.normal(size=(n, 4))
    return q / np.linalg.norm(q, axis=1)[:, None]


def test_a_turn_between_quaternions_is_the_one_they_were_turned_by():
    random = np.random.default_rng(3)
    q, axis = quaternions(6, random), random.normal(size=(6, 3))
    phi = axis / np.linalg.norm(axis, axis=1)[:, None] * np.array([0.0, 1e-12, 1e-3, 1.0, 2.0, 3.1])[:, None]
    there = turned_by(phi, q)
    assert turn_between(there, q) == pytest.approx(phi, abs=1e-14)
    assert turn_between(-there, q) == pytest.approx(phi, abs=1e-14)  # a rotation has two quaternions


def test_poses_go_on_along_a_screw():
    """With constant velocities half the time and then the other half is the whole."""
    random = np.random.default_rng(4)
    pose, vel = np.concatenate([random.normal(size=(3, 3)), quaternions(3, random)], axis=1), random.normal(size=(3, 6))
    assert moved(moved(pose, vel, 0.3), vel, 0.4) == pytest.approx(moved(pose, vel, 0.7), abs=1e-15)


def test_contact_points_are_put_into_the_order_of_the_step_or_refused():
    pair = np.array([[0, 1], [0, 1], [0, 2]])
    local = np.array([[0.0, 0, 0], [1, 0, 0], [5, 0, 0]])
    apart = spacing(pair, local)
    assert apart.tolist() == [1.0, 1.0, np.inf]
    held = SimpleNamespace(keys=pair, local=local, apart=apart)
    near = Points(pair, local + 0.1)
    assert matched(near, held) is near
    swapped = Points(pair, local[[1, 0, 2]] + 0.1)
    assert np.array_equal(matched(swapped, held).local, near.local)
    for other in (near[[0, 1]], Points(pair[[0, 2, 2]], local), Points(pair, local[[0, 0, 2]] + 0.6)):
        with pytest.raises(OtherContacts, match="come or go"):
            matched(other, held)
