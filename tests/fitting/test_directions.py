"""Columns that point the other way: recognised where the data shows it, and left alone where it does not."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.fitting.data import Samples, samples_from
from stickslip.fitting.directions import check_rates, rates_by_coordinate, upward
from stickslip.fitting.result import Curve
from tests.fitting.test_data import _tumbling
from tests.fitting.test_fit import NOISE, _ball, _measured


def test_a_ball_that_falls_upward_is_named():
    data = _measured(1)
    asked = {"noise": NOISE, "search": 0, "profile": False}
    for turned in (-data["y"], 1.0 - data["y"]):
        told = r"'y' must point the way the model's does, got an acceleration of \+9\.\d+ .* it falls upward"
        with pytest.raises(ValueError, match=told):
            ss.fit(_ball(), {"t": data["t"], "y": turned}, {"restitution": (0.6, 0.95)}, **asked)
    ss.fit(_ball(), data, {"restitution": (0.6, 0.95)}, **asked)


def test_ranges_in_which_gravity_may_point_up_let_the_ball_rise():
    """A model that may fall either way takes either: the check looks all over the ranges."""
    t = np.linspace(0.0, 0.4, 12)
    rising = {"t": t, "y": 1.0 + 0.5 * 9.81 * t**2}
    found = ss.fit(_ball(), rising, {"g": (-12.0, 12.0)}, noise=NOISE, search=0, profile=False)
    assert found.values["g"] == pytest.approx(-9.81, abs=1e-3)


def test_a_start_far_within_a_contact_is_named_and_one_within_the_noise_is_not():
    t = np.linspace(0.0, 1.6, 25)
    data = _measured(1, t)
    asked = {"noise": NOISE, "search": 0, "profile": False}
    with pytest.raises(ValueError, match="start 'y' must lie outside of contacts, got -1, where they end at 0"):
        ss.fit(_ball(), {"t": t, "y": -data["y"], "start": {"y": -1.0}}, {"restitution": (0.6, 0.95)}, **asked)
    rising = {"t": t[:9], "y": 3.0 * t[:9] - 0.5 * 9.81 * t[:9] ** 2, "start": {"y": -1e-3, "v": 3.0}}
    assert ss.fit(_ball(), rising, {"g": (9.0, 11.0)}, **asked).values["g"] == pytest.approx(9.81, abs=0.1)


def _curve(channel, t, measured, predicted):
    return Curve("data", channel, t, measured, predicted, NOISE)


def test_only_flights_tell_a_direction():
    """Parabolas of coordinates and straight lines of velocities, clear of the noise, with the size of the model's."""
    t = np.linspace(0.0, 0.5, 20)
    fall, noise = 1.0 - 0.5 * 9.81 * t**2, np.random.default_rng(1).standard_normal(20)
    found = upward([_curve("y", t, -fall, fall), _curve("v", t, 9.81 * t, -9.81 * t)], {"y"})
    assert {key: (round(a, 2), round(b, 2)) for key, (a, b, _) in found.items()} == {
        ("data", "y"): (9.81, -9.81), ("data", "v"): (9.81, -9.81)
    }  # fmt: skip
    for measured, predicted in (
        (-fall, np.sin(30.0 * t)),  # no flight
        (2.0 * t, 1.0 + t),  # nothing falls
        (-0.3 * fall, fall),  # not the size of the model's
        (-fall + noise, fall),  # lost in the noise
        (-fall, np.full(20, np.nan)),  # no prediction
        (fall, fall),
    ):
        assert upward([_curve("y", t, measured, predicted)], {"y"}) == {}


def test_velocities_move_with_their_coordinates():
    t = np.linspace(0.0, 1.0, 30)
    data = {"b.x": np.cos(5.0 * t), "b.vx": -5.0 * np.sin(5.0 * t), "b.angle": 3.0 * t, "b.omega": np.full(30, -3.0)}
    rates = rates_by_coordinate(("b.x", "b.y", "b.angle"), ("b.vx", "b.vy", "b.omega"))
    with pytest.raises(ValueError, match=r"'b\.omega' must have the sign with which 'b\.angle' changes"):
        check_rates(Samples(t, data), rates)
    check_rates(Samples(t, {**data, "b.omega": np.full(30, 3.0)}), rates)
    noisy = np.random.default_rng(2).standard_normal((2, 30))
    check_rates(Samples(t, {"b.x": noisy[0], "b.vx": noisy[1]}), rates)
    in_space = rates_by_coordinate(("b.x", "b.qw", "b.qx", "b.qy", "b.qz"), ("b.vx", "b.wx", "b.wy", "b.wz"))
    assert in_space == {"b.x": "b.vx"}


def test_an_angular_velocity_with_the_other_sign_is_named():
    good, names = _tumbling("world")
    wrong = {**good, **{name: -good[name] for name in names[4:]}}
    with pytest.raises(ValueError, match=r"sign of the angular velocity of 'cube' must be that with which .* turns"):
        samples_from(wrong, names)


def test_about_one_axis_a_wrong_sign_and_a_conjugate_are_one_and_both_are_named():
    t = np.linspace(0.0, 0.5, 40)
    names = [f"cube.{each}" for each in ("qw", "qx", "qy", "qz", "wx", "wy", "wz")]
    nothing = np.zeros(40)
    columns = [np.cos(1.5 * t), nothing, nothing, np.sin(1.5 * t), nothing, nothing, np.full(40, -3.0)]
    told = "got one from world to body, or the sign of the angular velocity of 'cube' must be"
    with pytest.raises(ValueError, match=told):
        samples_from({"t": t, **dict(zip(names, columns, strict=True))}, names)
