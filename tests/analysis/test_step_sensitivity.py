"""Derivatives of time steps, against differences of stepped runs, and what they tend to."""

from dataclasses import replace

import numpy as np
import pytest

import stickslip as ss
from tests.mechanisms.steppers.systems import every_element

G = 9.81
STEPPERS = ("moreau-midpoint", "moreau-jean", "stewart-trinkle")


def brick():
    """A brick on level ground, pushed off with 2 m/s."""
    ramp = ss.library.brick_on_ramp()
    return ss.Scenario(ramp.system, [0, 0], [2, 0], 0.01, 1.0, "", "", params={"angle": 0.0, "friction": 0.3})


def stepped(scenario, name, stepper, dt, t_end, share=1e-6):
    """d(q, u)(t_end)/d name by central differences of runs of a time stepper."""
    states = (*scenario.system.coordinate_names, *scenario.system.velocity_names)
    start = dict(zip(states, (*scenario.q0, *scenario.u0), strict=True))
    value = float({**scenario.parameters, **start}[name])
    step = share * (abs(value) or 1.0)

    def end(x):
        params = {**(scenario.params or {}), name: x}
        moved = scenario.starting({name: x}) if name in states else replace(scenario, params=params)
        run = moved.simulate(
            dt=dt, t_end=t_end, stepper=stepper, engine="reference", on_energy_gain="ignore", penetration_tol=1.0,
            progress=False,
        )  # fmt: skip
        return np.concatenate([run.q[-1], run.u[-1]])

    return (end(value + step) - end(value - step)) / (2.0 * step)


def agrees(scenario, names, stepper, dt, t_end, share):
    found = ss.step_sensitivity(scenario, names, stepper=stepper, dt=dt, t_end=t_end)
    assert found.reliable and found.reason == ""
    for j, name in enumerate(names):
        column = stepped(scenario, name, stepper, dt, t_end)
        assert np.abs(found.end[:, j] - column).max() <= share * max(np.abs(column).max(), 1e-3), (name, column)
    return found


@pytest.mark.parametrize("stepper", STEPPERS)
def test_steps_of_a_ball_agree_with_differences_of_its_runs(stepper):
    """The derivative of the discrete map is right, and is not that of the motion, whose dv/dh is not 0."""
    ball = ss.library.bouncing_ball(restitution=0.8)
    found = agrees(ball, ["restitution", "y"], stepper, 0.04, 0.8, 1e-7)
    assert not found.converges and len(found.strikes) == 1 and abs(found.strikes[0] - 0.4515) < 0.05
    assert found.end[:, 1] == pytest.approx([1.0, 0.0], abs=1e-12)


def test_steps_of_a_brick_that_comes_to_rest_tend_to_the_motion():
    """Slip that stops is no strike: x = v^2 / (2 mu g)."""
    way = 4.0 / (2.0 * 0.3 * G)
    errors = []
    for dt in (0.04, 0.01):
        found = ss.step_sensitivity(brick(), ["friction", "v_x"], dt=dt)
        assert found.reliable and found.converges
        errors.append(np.abs(found.end[0] - [-way / 0.3, way]).max())
    assert errors[1] < 0.4 * errors[0] and errors[1] < 0.04


def test_kept_steps():
    found = ss.step_sensitivity(brick(), "v_x", dt=0.01, t_end=0.1, every=4)
    assert found.t == pytest.approx([0.0, 0.04, 0.08, 0.1]) and found.q.shape == (4, 2, 1)
    assert found.q[:, 0, 0] == pytest.approx(found.t)  # dx/dv = t while it slips


def test_what_steps_have_no_derivative_here_is_said():
    ball = ss.library.bouncing_ball()
    for make, said in [
        (lambda: ss.step_sensitivity(ball, "y", stepper="paoli-schatzman"), "stepper must be one of"),
        (lambda: ss.step_sensitivity(ball, "y", stepper=ss.MoreauMidpoint(projection=1e-3)), "projection=0"),
        (lambda: ss.step_sensitivity(ss.library.block_on_belt(), "x"), "depends on slip"),
        (lambda: ss.step_sensitivity(ss.library.three_masses(), "x_1"), "kinks"),
        (lambda: ss.step_sensitivity(ball, "yy"), "unknown"),
        (lambda: ss.step_sensitivity(ball.system, "y"), "takes a Scenario"),
    ]:
        with pytest.raises(ValueError, match=said):
            make()


@pytest.mark.slow
@pytest.mark.parametrize("stepper", STEPPERS)
def test_steps_of_mechanisms_agree_with_differences_of_their_runs(stepper):
    """Turning contacts, mass matrices that depend on coordinates, several contacts, springs, clutches."""
    agrees(ss.library.woodpecker(), ["friction", "omega_S", "c_phi"], stepper, 2e-4, 0.1, 1e-6)
    agrees(ss.library.slider_crank(), ["J_1", "restitution_normal", "g"], stepper, 1e-4, 0.01, 1e-5)
    agrees(every_element(), [*every_element().system.parameter_names[:3]], stepper, 1e-3, 0.1, 1e-5)


def test_derivatives_are_shown_as_a_table():
    ball = ss.library.bouncing_ball(restitution=0.8)
    found = ss.step_sensitivity(ball, ["y", "restitution"], dt=0.05, t_end=0.6)
    lines = str(found).splitlines()
    assert len(lines) == 6 and lines[2].split()[:2] == ["y", "1"] and lines[4] == "reliable"
    assert lines[5].startswith("contacts strike from t = 0.5 s on")
    assert "<td" in found._repr_html_() and "restitution" in found._repr_html_()
    many = ss.step_sensitivity(ss.library.get("thrown_cube"), ["cube.vx"], dt=0.01, t_end=0.05)
    assert len(str(many).splitlines()) < 20
