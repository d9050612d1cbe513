"""The list of impacts of a scene: both bodies are named, and what the tolerance explains is left out."""

import numpy as np
import pytest

import stickslip as ss


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The topmost of five cubes falls 0.1 m onto the others."""
    out = tmp_path_factory.mktemp("list") / "fall.nc"
    scenario = ss.library.get("cube_stack", cubes=5).starting({"cube5.z": 4.6})
    return scenario.simulate(t_end=1.0, out=out), out


def test_a_standing_stack_has_no_impacts_in_its_list(run):
    found = run[0].impacts()
    # sqrt(2 g 0.1 m) = 1.40 m/s at the first impact; later ones are larger than a thousandth of g dt, or none
    assert found["normal_velocity_before"][0] == pytest.approx(-np.sqrt(2 * 9.81 * 0.1), rel=0.01)
    assert np.all(found["normal_velocity_before"] < -1e-3 * 9.81 * run[0].dt)
    assert np.all(found["time"] < 0.2)
    assert not np.any(run[0].states()[run[0].t > 0.2] == "impact")


def test_an_impact_is_found_from_both_bodies(run):
    found = run[0].impacts()
    assert len(found.of("cube5")) == len(found.of("cube4")) == len(found) > 0
    assert len(found.of("cube1")) == 0
    assert found.counts() == {"cube1": 0, "cube2": 0, "cube3": 0, "cube4": len(found), "cube5": len(found)}
    assert set(found.to_pandas()["other"]) | set(found.to_pandas()["contact"]) == {"cube4", "cube5"}


def test_the_second_body_is_in_the_file(run):
    back = ss.load(run[1]).impacts()
    for name, column in run[0].impacts().columns.items():
        np.testing.assert_array_equal(back[name], column)
    assert "impact_other" in run[0].to_xarray()


def test_the_second_of_two_is_nobody_where_it_is_static():
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((0, 0, 1)))
    scene.add_body(ss.Sphere(0.1), mass=1.0, position=(0, 0, 0.2), name="ball")
    found = scene.simulate(dt=1e-3, t_end=0.3).impacts()
    assert set(found["other"].tolist()) == {-1} and found.counts() == {"ball": len(found)} and len(found) > 0
    assert " - " in f"{found} "


def test_slow_impacts_stay_in_the_list():
    """No gravity, so nothing but the approach itself sets the scale: 1e-9 m/s is an impact like any other."""
    scene = ss.Scene(dim=3, gravity=0.0)
    for k in range(2):
        x, v = (0.2 + 1e-12) * k, 1e-9 * (1 - k)
        scene.add_body(ss.Sphere(0.1), mass=1.0, position=(x, 0, 0), velocity=(v, 0, 0), restitution=1.0, name=f"b{k}")
    run = scene.simulate(dt=1e-3, t_end=0.01)
    assert len(run.impacts().of("b0")) == len(run.impacts().of("b1")) == 1
    assert run["b1.vx"][-1] == pytest.approx(1e-9)


def test_mechanisms_have_no_second_body():
    found = ss.library.bouncing_ball().simulate(t_end=0.1).impacts()
    assert "other" not in found.columns


@pytest.mark.parametrize("restitution", [0.0, 0.5])
@pytest.mark.parametrize("dim", [2, 3])
def test_what_is_braked_before_it_strikes_is_in_the_list(dim, restitution):
    """A ball falls from 60 heights; no friction in impacts, 1 in sliding.

    From some heights it is a hair too high to reach the ground in a step with the velocity before, but not with that
    after gravity.  It is braked by less than g dt then, and strikes in the next step: an impact like the others.
    """
    slid, found = [], 0
    for height in np.linspace(0.01, 0.0118, 60):
        scene = ss.Scene(dim=dim)
        scene.add_static(
            ss.HalfPlane((0, 1)) if dim == 2 else ss.HalfSpace((0, 0, 1)), friction=1.0, friction_impact=0.0
        )
        x, v = np.zeros(dim), np.zeros(dim)
        x[-1], v[0] = 0.1 + height, 1.0
        shape = ss.Circle(0.1) if dim == 2 else ss.Sphere(0.1)
        ball = scene.add_body(shape, mass=1.0, position=x, velocity=v, restitution=restitution)
        fall = np.sqrt(2 * height / 9.81)
        run = scene.simulate(dt=1e-3, t_end=fall + 3e-3)
        impacts = run.impacts()
        struck = np.flatnonzero(impacts["normal_impulse"] > 0.1)
        assert len(struck) == 1 and abs(impacts["time"][struck[0]] - fall) < 3e-3
        found += len(struck)
        slid.append(ball.velocities(run)[-1, 0])
        # sliding friction alone brakes it: g dt in each step with load, of the braking and of at most four after that
        assert slid[-1] > 1.0 - 5 * 9.81e-3
    assert found == 60
