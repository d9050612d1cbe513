"""Moreau's sweeping process: closed forms, measured order, jumps, and the proof that comes with a path."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stickslip as ss


def travelling(t):
    return (t, 0.0)


def tractrix(t):
    """A disk of radius 1 that moves to the right with speed 1 drags a point: angle' = sin(angle)."""
    now = 2.0 * np.arctan(math.tan(math.atan2(0.8, -0.6) / 2.0) * np.exp(t))
    return np.stack([t + np.cos(now), np.sin(now)], axis=-1)


def turning_square(t):
    c, s = math.cos(t), math.sin(t)
    return np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) @ np.array([[c, s], [-s, c]])


def pushed(t):
    """Path of a point from (-0.9, 1) that the upper side of a turning square pushes, at times t (n,).

    The point is at distance 1 along the normal n of the side, and at s = t - 0.9 along the side.
    """
    n, side = np.stack([-np.sin(t), np.cos(t)], -1), np.stack([np.cos(t), np.sin(t)], -1)
    return n + (t - 0.9)[:, None] * side


CASES = {
    "disk": (ss.MovingBall(travelling, 1.0), (-0.6, 0.8), 3.0, tractrix),
    "polygon": (ss.MovingPolygon(turning_square), (-0.9, 1.0), 0.6, pushed),
}


@pytest.mark.parametrize("case", CASES)
def test_order_one_against_closed_forms(case):
    moving, x0, t_end, exact = CASES[case]
    errors = []
    for k in range(5):
        path = ss.sweeping_process(moving, x0, dt=t_end / 2 ** (4 + k), t_end=t_end)
        errors.append(np.linalg.norm(path.x - exact(path.t), axis=1).max())
        assert path.distance < 1e-14 and path.normality < 1e-11
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    assert slopes[-1] == pytest.approx(1.0, abs=0.15) and errors[-1] < 5e-3


def test_shrinking_disk_is_exact():
    """Towards the centre there is nothing to turn: every step is on the solution."""
    path = ss.sweeping_process(ss.MovingBall((0.0, 0.0), lambda t: 1.0 - t), (0.3, 0.4), dt=0.01, t_end=0.9)
    np.testing.assert_allclose(path.x, np.outer(np.minimum(0.5, 1.0 - path.t), [0.6, 0.8]), atol=1e-14)
    assert path.variation == pytest.approx(0.4)


def test_inside_nothing_moves_and_a_jump_goes_to_the_nearest_point():
    still = ss.sweeping_process(ss.MovingBall(travelling, 5.0), (0.5, 0.5), dt=0.1, t_end=1.0)
    assert (still.x == [0.5, 0.5]).all() and still.variation == 0.0
    jump = ss.MovingPolygon(lambda t: np.array([(0, 0), (1, 0), (1, 1), (0, 1)]) + (3.0 if t > 0.5 else 0.0))
    path = ss.sweeping_process(jump, (0.5, 0.25), dt=0.25, t_end=1.0)
    np.testing.assert_array_equal(path.x[[0, 2, 3, 4]], [(0.5, 0.25), (0.5, 0.25), (3.0, 3.0), (3.0, 3.0)])


def test_the_end_is_met_where_the_step_does_not_divide_the_time():
    path = ss.sweeping_process(ss.MovingBall(lambda t: (t, 0.0), 0.0), (0.0, 0.0), dt=0.3, t_end=1.0)
    np.testing.assert_allclose(path.t, [0.0, 0.3, 0.6, 0.9, 1.0])
    assert path.t[-1] == 1.0 and path.x[-1].tolist() == [1.0, 0.0]


def test_space_and_starts_outside():
    path = ss.sweeping_process(ss.MovingBall((0.0, 0.0, 0.0), 1.0), (0.0, 0.0, 3.0), dt=0.5, t_end=1.0)
    np.testing.assert_array_equal(path.x, np.tile([0.0, 0.0, 1.0], (3, 1)))


PENTAGRAM = [(math.cos(0.8 * math.pi * k), math.sin(0.8 * math.pi * k)) for k in range(5)]


@given(st.floats(-3, 3), st.floats(-3, 3), st.floats(0.0, 6.0))
def test_projection_onto_a_polygon_is_the_nearest_point(x, y, t):
    moving, point = ss.MovingPolygon(turning_square), np.array([x, y])
    foot = moving.project(t, point)
    n = point - foot
    assert moving.support(t, n) - n @ foot <= 1e-12 * (1.0 + n @ n)  # n is a normal there: [FLG10] (42)
    np.testing.assert_allclose(moving.project(t, foot), foot, atol=1e-14)


@pytest.mark.parametrize(
    ("moving", "x0", "options", "message"),
    [
        (3.0, (0, 0), {}, "moving must be a MovingBall"),
        (ss.MovingBall((0, 0), lambda t: 0.5 - t), (0, 0), {}, "radius must not be negative"),
        (ss.MovingBall((0, 0), 1.0), (0, math.nan), {}, "x0 must be a point of finite numbers"),
        (ss.MovingBall((0, 0), 1.0), (0, 0), {"dt": -1.0}, "dt must be positive"),
        (ss.MovingPolygon([(0, 0), (0, 1), (1, 0)]), (0, 0), {}, "convex polygon, counterclockwise"),
        (ss.MovingPolygon([(0, 0), (1, 0)]), (0, 0), {}, r"vertices must have shape \(n, 2\)"),
        (ss.MovingPolygon(PENTAGRAM), (0, 0), {}, "convex polygon, counterclockwise"),
        (ss.MovingBall((0, 0), 1.0), (0, 0, 0), {}, "x0 must have 2 numbers, as the points of the set have, got 3"),
        (ss.MovingPolygon(turning_square), (0,), {}, "x0 must have 2 numbers, as the points of the set have, got 1"),
        (ss.MovingBall(lambda t: (t, math.inf), 1.0), (0, 0), {}, "centre must be finite"),
    ],
)
def test_wrong_input(moving, x0, options, message):
    with pytest.raises(ValueError, match=message):
        ss.sweeping_process(moving, x0, **{"dt": 0.1, "t_end": 1.0, **options})
