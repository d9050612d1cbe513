"""Configurations of the slider in its guide, [FLG10] Fig. 8, and impacts that stand for themselves."""

import math
from dataclasses import replace

import numpy as np
import pytest

from stickslip import library
from stickslip.analysis.distinct_impacts import distinct_impacts, resolved_speed
from stickslip.analysis.joint_configuration import CONFIGURATIONS, joint_configuration
from stickslip.trajectory import OPEN, SLIP_PLUS

NAMES = ("no contact", "one corner", "two adjacent corners", "two opposite corners", "other")


@pytest.fixture(scope="module")
def level():
    return library.slider_crank().simulate(dt=1e-5, t_end=0.1, progress=False)


def touching(trajectory, corners, gap=1.0):
    """A copy of the run with one record for each given set of corners, which are closed in this record."""
    state = np.full((len(corners), 4), OPEN, np.int8)
    for row, closed in zip(state, corners, strict=True):
        row[[k - 1 for k in closed]] = SLIP_PLUS
    n = len(corners)
    return replace(trajectory, t=trajectory.t[:n], contact_state=state, gap=np.full((n, 4), gap), q=trajectory.q[:n])


def test_every_set_of_corners_has_its_name(level):
    sets = [(), (), (1,), (4,), (1, 2), (3, 4), (1, 4), (2, 3), (1, 3), (2, 4), (1, 2, 3), (1, 2, 3, 4)]
    names = ["no contact", "no contact", "one corner", "one corner"]
    names += ["two adjacent corners"] * 2 + ["two opposite corners"] * 2 + ["other"] * 4
    found = joint_configuration(touching(level, sets))
    assert found.words().tolist() == names
    assert CONFIGURATIONS == NAMES
    share = found.share  # of the eleven steps after the first record
    assert share == pytest.approx(dict(zip(NAMES, np.array([1, 2, 2, 2, 4]) / 11, strict=True)))


def test_a_corner_within_the_tolerance_touches(level):
    near = touching(level, [(), (), ()])
    near.gap[1, 2] = 0.9e-3  # of a play of 1 m
    assert joint_configuration(near).words()[1] == "one corner"
    assert joint_configuration(near, tolerance=1e-4).words()[1] == "no contact"
    with pytest.raises(ValueError, match=r"tolerance must not be negative \[m\], got -1"):
        joint_configuration(near, tolerance=-1.0)


def test_level_slider_lies_on_a_face_or_flies(level):
    found = joint_configuration(level)
    assert found.share["no contact"] + found.share["two adjacent corners"] == pytest.approx(1.0)
    assert 0.15 < found.share["two adjacent corners"] < 0.3
    assert "two adjacent corners" in str(found) and "impacts" in str(found)
    np.testing.assert_array_equal(found.closed[:, 0], found.closed[:, 1])


def test_restitution_keeps_the_slider_off_its_guides():
    """[FLG10] Fig. 12: permanent contact at 0.1, free flight at 0.9."""
    flying = []
    for restitution in (0.1, 0.4, 0.9):
        done = library.slider_crank(restitution_normal=restitution).simulate(dt=2e-5, t_end=0.1, progress=False)
        flying.append(joint_configuration(done).share["no contact"])
    assert flying[0] < 0.55 and flying[2] > 0.95 and flying == sorted(flying)


def test_tilted_slider_shows_single_corners():
    done = library.slider_crank(slider_angle=0.01).simulate(dt=1e-5, t_end=0.1, progress=False)
    assert joint_configuration(done).share["one corner"] > 0.05


def test_number_of_impacts_does_not_grow_with_the_steps(level):
    """The number of distinct impacts does not change with the step size, and the table holds hardly more."""
    fine = library.slider_crank().simulate(dt=2e-6, t_end=0.1, progress=False)
    counts = [len(distinct_impacts(run, min_speed=0.03)) for run in (level, fine)]
    assert abs(counts[0] - counts[1]) <= 2 and 30 < counts[0] < 60
    speeds = [resolved_speed(run)[0] for run in (level, fine)]
    assert speeds[0] / speeds[1] == pytest.approx(5.0, rel=0.2)
    assert len(distinct_impacts(level)) <= len(level.impacts()) < 100


def test_resolved_speed_of_a_bouncing_ball_is_gravity_times_dt():
    ball = library.bouncing_ball().simulate(dt=1e-3, t_end=1.0, engine="reference", progress=False)
    assert resolved_speed(ball) == pytest.approx([3 * 9.81e-3], rel=1e-6)
    few = distinct_impacts(ball)
    assert 0 < len(few) <= len(ball.impacts())
    assert (np.abs(few["normal_velocity_before"]) > 3 * 9.81e-3).all()
    first = math.sqrt(2 * 9.81 * ball.q[0, 0])
    assert len(distinct_impacts(ball, min_speed=0.9 * first)) == 1
    with pytest.raises(ValueError, match="min_speed must not be negative"):
        distinct_impacts(ball, min_speed=-1.0)


def test_other_joints_are_refused(level):
    with pytest.raises(ValueError, match="joint 'slot' needs the contacts slot 1, slot 2, slot 3, slot 4; the run has"):
        joint_configuration(level, "slot")
