"""Runs repeated with random disturbances: the rod that may lift off or jam, and motions that are unique."""

import numpy as np
import pytest

import stickslip as ss

SHORT = {"engine": "reference", "progress": False}


@pytest.fixture(scope="module")
def rod():
    """Supercritical friction and a fast spin: lift-off, continued sliding and an impulse are all solutions."""
    return ss.library.painleve_rod(friction=2.0, spin=-6.0, slip=-1.0)


@pytest.fixture(scope="module")
def found(rod):
    return ss.outcomes(rod, {"v_y": 0.01}, 20, dt=1e-3, t_end=0.03, **SHORT)


def test_rod_lifts_off_or_jams(found):
    """[S00] 3.3.1: two of the three solutions appear; continued sliding is unstable and never does."""
    assert len(found) == 2 and found.failed == ()
    free, jammed = sorted(found.kinds, key=lambda kind: kind.u[2])
    assert free.u[2] == pytest.approx(-6.0, abs=1e-9)  # no impulse: the spin stays
    assert jammed.u[2] > -5.5 and jammed.example.impacts()["normal_impulse"].sum() > 0.1
    assert sum(kind.share for kind in found.kinds) == pytest.approx(1.0)
    assert max(kind.spread for kind in found.kinds) < 0.05
    assert found.kinds[0].share >= found.kinds[1].share
    assert str(found).startswith("2 outcomes of 20 runs")


def test_sign_of_the_disturbance_decides(found):
    """An approaching tip jams, a leaving one does not."""
    jammed = found.ends[:, 5] > -5.5
    assert found.starts[jammed].max() < found.starts[~jammed].min() + 5e-3
    assert (found.labels[jammed] == found.labels[jammed][0]).all()
    assert found.undisturbed in (0, 1) and found.names == ("v_y",)


def test_same_seed_same_answer(rod, found):
    again = ss.outcomes(rod, {"v_y": 0.01}, 20, dt=1e-3, t_end=0.03, **SHORT)
    np.testing.assert_array_equal(again.ends, found.ends)
    other = ss.outcomes(rod, {"v_y": 0.01}, 3, seed=1, dt=1e-3, t_end=0.01, **SHORT)
    assert not np.array_equal(other.starts[:3], found.starts[:3])


def test_unique_motion_has_one_outcome():
    brick = ss.library.brick_on_ramp()
    found = ss.outcomes(brick, {"v_x": 0.01, "friction": 0.005, "y": 1e-4}, 8, dt=1e-2, t_end=1.5, **SHORT)
    assert len(found) == 1 and found.undisturbed == 0 and found.kinds[0].share == 1.0
    assert found.kinds[0].u == pytest.approx([0.0, 0.0], abs=0.02)
    assert (found.ends[:, 1] > -1e-3).all()  # starts below the ramp were put back onto it


def test_a_number_disturbs_all_velocities(rod):
    found = ss.outcomes(rod, 0.01, 3, dt=1e-3, t_end=0.005, **SHORT)
    assert found.names == ("v_x", "v_y", "omega") and found.starts.shape == (3, 3)
    with pytest.raises(ValueError, match=r"scenario must be a Scenario such as library.painleve_rod\(\), got float"):
        ss.outcomes(1.0, 0.01, 3)


def test_a_scene_with_two_futures():
    """A square that stands on its corner falls on one of two sides."""
    scene = ss.Scene(dim=2)
    scene.add_static(ss.HalfPlane((0, 1)), friction=0.8)
    square = ss.Polygon.rectangle(0.2, 0.2)
    scene.add_body(square, mass=1.0, position=(0, 0.1 * 2**0.5), orientation=np.pi / 4, friction=0.8, name="square")
    standing = ss.library.SceneScenario(scene, 2e-3, 1.2, "Square on its corner", "test")
    found = ss.outcomes(standing, {"square.omega": 0.5}, 8, apart=0.2, progress=False)
    assert len(found) == 2
    assert sorted(kind.q[2] for kind in found.kinds) == pytest.approx([0.0, np.pi / 2], abs=0.02)
    assert ((found.ends[:, 2] > np.pi / 4) == (found.starts[:, 0] > 0.0)).all()
    with pytest.raises(ValueError, match="unknown coordinate, velocity or parameter 'friction'"):
        ss.outcomes(standing, {"friction": 0.1}, 2)


@pytest.mark.parametrize(
    ("disturbances", "options", "message"),
    [
        ({}, {}, "disturbances must map names to standard deviations"),
        ({"v_z": 1.0}, {}, "unknown coordinate, velocity or parameter 'v_z'"),
        ({"v_y": -1.0}, {}, "disturbance of v_y must not be negative, got -1"),
        ({"v_y": 1.0}, {"n": 0}, "n must be a whole number >= 1, got 0"),
        ({"v_y": 1.0}, {"apart": 2.0}, "apart must lie between 0 and 1, got 2"),
    ],
)
def test_wrong_input(rod, disturbances, options, message):
    with pytest.raises(ValueError, match=message):
        ss.outcomes(rod, disturbances, **{"n": 2, **options})


@pytest.mark.slow
def test_the_judge_finds_the_same_two(rod):
    found = ss.outcomes(rod, {"v_y": 1e-6}, 30, dt=1e-3, t_end=0.03, stepper=ss.EventDriven(), progress=False)
    assert len(found) == 2 and min(kind.share for kind in found.kinds) > 0.2


def test_a_given_start_is_disturbed():
    """q0 and u0 of the call are what the draws are added to."""
    ball = ss.library.bouncing_ball()
    name = ball.system.velocity_names[0]
    found = ss.outcomes(ball, {name: 0.1}, 4, q0=[5.0], u0=[2.0], dt=1e-2, t_end=0.05, **SHORT)
    starts = [kind.example for kind in found.kinds]
    assert all(run.q[0, 0] == 5.0 and run.u[0, 0] != 2.0 and abs(run.u[0, 0] - 2.0) < 0.5 for run in starts)
    assert np.ptp(found.ends[:, 1]) == pytest.approx(np.ptp(found.starts), rel=1e-9)


def test_refused_draws_are_failed_runs():
    """A friction coefficient below zero is refused; the other runs keep their numbers."""
    brick = ss.library.brick_on_ramp()
    friction = brick.system.parameter_vector(brick.params)[brick.system.parameter_names.index("friction")]
    found = ss.outcomes(brick, {"friction": 2.0 * friction}, 12, dt=1e-2, t_end=0.02, **SHORT)
    bad = np.flatnonzero(friction + found.starts[:, 0] < 0.0)
    assert 0 < len(bad) < 12 and [int(text.split(":")[0].removeprefix("run ")) for text in found.failed] == bad.tolist()
    np.testing.assert_array_equal(np.flatnonzero(found.labels < 0), bad)
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(found.ends).all(axis=1)), bad)
    np.testing.assert_array_equal(
        np.sort(np.concatenate([kind.runs for kind in found.kinds])), np.setdiff1d(range(12), bad)
    )
