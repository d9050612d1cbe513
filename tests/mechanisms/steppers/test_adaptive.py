"""The extrapolated midpoint rule with automatic step size: orders, accuracy against work, and what it refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp

import stickslip as ss
from stickslip.mechanisms.steppers.adaptive import extrapolate

EXACT_X, EXACT_U = 0.5918806195, 3.9839314623


def impact_oscillator() -> ss.LagrangianSystem:
    """x'' = -x - 0.1 x' + 2 cos 1.7 t against a wall at x = -1/2 with restitution 0.8."""
    x, v, t, m = sp.symbols("x v t m")
    return ss.LagrangianSystem.from_energies(
        [x],
        velocities=[v],
        time=t,
        kinetic=m * v**2 / 2,
        potential=x**2 / 2,
        forces=[-v / 10 + 2 * sp.cos(sp.Float(1.7) * t)],
        parameters={m: 1.0},
        contacts=[ss.Contact("wall", gap=x + sp.Rational(1, 2), restitution_normal=0.8)],
        name="impact oscillator",
    )


@pytest.mark.parametrize(
    ("runs", "rtol", "error", "work"),
    [
        (2, 1e-4, 6e-4, 936),
        (2, 1e-6, 9e-6, 7071),
        (3, 1e-8, 3e-8, 13004),  # 2e-8 to 8e-8 as the tolerance changes by 1e-12 of itself
        (4, 1e-6, 9e-6, 1634),
        (4, 1e-8, 9e-8, 3310),
    ],
)
def test_error_and_work_of_the_impact_oscillator(runs: int, rtol: float, error: float, work: int) -> None:
    # three impacts in ten seconds; exact value, errors and work were computed independently
    stepper = ss.Adaptive(rtol=rtol, runs=runs, smallest_step=rtol)
    run = ss.simulate(impact_oscillator(), [1.0], [0.0], dt=10.0, t_end=10.0, stepper=stepper)
    assert run.complete and len(run.impacts()) == 3
    assert max(abs(run.q[-1, 0] - EXACT_X), abs(run.u[-1, 0] - EXACT_U)) < 3.0 * error
    assert int(run.attributes["force_evaluations"]) < 3 * work


def test_a_fixed_step_has_a_hundred_times_the_error_for_more_work() -> None:
    fixed = ss.simulate(impact_oscillator(), [1.0], [0.0], dt=2e-3, t_end=10.0, every=5000)
    error = max(abs(fixed.q[-1, 0] - EXACT_X), abs(fixed.u[-1, 0] - EXACT_U))
    assert 9e-4 < error < 3e-2  # with 5000 force evaluations; the adaptive rule: 9e-6 with 1634


@pytest.mark.slow
def test_a_fixed_step_needs_a_hundred_times_the_work_for_the_same_error() -> None:
    fixed = ss.simulate(impact_oscillator(), [1.0], [0.0], dt=1e-5, t_end=10.0, every=10**6)
    error = max(abs(fixed.q[-1, 0] - EXACT_X), abs(fixed.u[-1, 0] - EXACT_U))
    assert 1e-5 < error < 1e-4  # with 10^6 force evaluations; the adaptive rule: 9e-6 with 1634


def test_extrapolation_removes_the_leading_errors() -> None:
    for power in (1, 2):
        rows = [np.array([3.0 + 2.0 * n**-power - 5.0 * n ** (-2 * power)]) for n in (1.0, 2.0, 3.0)]
        best, second = extrapolate(rows, power)
        assert best[0] == pytest.approx(3.0, abs=1e-12)
        assert abs(second[0] - 3.0) > 1e-3


@pytest.fixture(scope="module")
def judged() -> tuple[ss.library.Scenario, np.ndarray, ss.Trajectory]:
    scenario = ss.library.woodpecker()
    system = scenario.system
    q0 = ss.EventDriven().onto_contacts(system, scenario.q0, 0.0, system.parameter_values)
    judge = ss.simulate(system, q0, scenario.u0, dt=0.06, t_end=0.3, stepper=ss.EventDriven(rtol=1e-11))
    return scenario, q0, judge


@pytest.mark.parametrize("rtol", [1e-5, 1e-8])
def test_the_woodpecker_follows_the_judge(judged: tuple, rtol: float) -> None:
    scenario, q0, judge = judged
    run = ss.simulate(scenario.system, q0, scenario.u0, dt=0.06, t_end=0.3, stepper=ss.Adaptive(rtol=rtol))
    assert run.complete and run.certificate.failed_steps == 0
    assert len(run.impacts()) == len(judge.impacts())
    scale = np.abs(judge.u).max()
    assert np.abs(run.q - judge.q).max() < 100.0 * rtol and np.abs(run.u[-1] - judge.u[-1]).max() < 100.0 * rtol * scale
    assert int(run.attributes["force_evaluations"]) < 10_000
    assert run.certificate.max_residual < 1e-12


def test_records_do_not_depend_on_how_the_run_is_cut(judged: tuple) -> None:
    scenario, q0, _ = judged
    options = {"dt": 0.02, "t_end": 0.1, "stepper": ss.Adaptive(rtol=1e-5)}
    one, two = (ss.simulate(scenario.system, q0, scenario.u0, every=5, **options) for _ in range(2))
    np.testing.assert_array_equal(one.q, two.q)
    assert one.t.tolist() == pytest.approx([0.0, 0.1])


def test_the_engines_agree() -> None:
    options = {"dt": 0.5, "t_end": 3.0, "stepper": ss.Adaptive(rtol=1e-4)}
    a, b = (
        ss.simulate(impact_oscillator(), [1.0], [0.0], engine=engine, **options) for engine in ("compiled", "reference")
    )
    np.testing.assert_allclose(a.q, b.q, rtol=1e-10)
    assert a.attributes == b.attributes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rtol": 0.0}, "rtol must lie between 1e-12 and 0.1, got 0.0"),
        ({"runs": 1}, "runs must be a whole number from 2 to 8, got 1"),
        ({"smallest_step": -1.0}, "smallest_step must be a positive time in seconds, or None, got -1.0"),
        ({"stepper": ss.MoreauJean()}, r"stepper must be MoreauMidpoint\(\), whose error expansion is known"),
        ({"stepper": ss.MoreauMidpoint(projection=1e-9)}, "stepper must be without projection"),
    ],
)
def test_refusals(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        ss.Adaptive(**options)
    assert "\n" not in str(error.value)


def test_a_smallest_step_longer_than_the_records_is_refused() -> None:
    with pytest.raises(ValueError, match="smallest_step must not exceed the spacing of the records or largest_step"):
        ss.library.bouncing_ball().simulate(
            t_end=0.4, dt=0.01, stepper=ss.Adaptive(smallest_step=1.0), engine="reference"
        )


# -- steps that must not creep: bounds on their number --------------------------------------------------------------


def counted(run: ss.Trajectory) -> tuple[int, int, int]:
    return tuple(int(run.attributes[f"{kind}_steps"]) for kind in ("smooth", "switching", "rejected"))  # type: ignore[return-value]


def test_a_contact_that_lets_go_below_its_surface_goes_on_in_long_steps() -> None:
    # [GS05] Table I has the sleeve 8.8e-7 m inside the pole, and there it lets go at t = 0.067 s
    run = ss.library.woodpecker().simulate(dt=5e-4, t_end=0.1, stepper=ss.Adaptive(rtol=1e-6))
    smooth, switching, rejected = counted(run)
    assert run.complete and smooth < 400 and switching < 15 and rejected < 200


def test_directions_that_turn_neither_free_nor_strike_a_closed_contact() -> None:
    # the slider presses on its guide while pull and turn of its corners nearly cancel, and it comes to rest on it
    crank = ss.library.slider_crank()
    options = {"dt": 2e-3, "t_end": 0.06, "stepper": ss.Adaptive(rtol=1e-6)}
    run, judge = crank.simulate(**options), crank.simulate(**{**options, "stepper": "event-driven"})
    smooth, switching, rejected = counted(run)
    assert run.complete and smooth < 600 and switching < 80 and rejected < 1000
    assert np.abs(run.q - judge.q).max() < 1e-4
    assert len(run.impacts()) <= len(judge.impacts())  # hops below the smallest step are left out


@pytest.mark.slow
@pytest.mark.parametrize("dt", [1e-2, 1e-3, 1e-4])
@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8])
def test_a_second_of_the_woodpecker(dt: float, rtol: float) -> None:
    toy = ss.library.woodpecker()
    q0 = ss.EventDriven().onto_contacts(toy.system, toy.q0, 0.0, toy.system.parameter_values)
    judge = ss.simulate(toy.system, q0, toy.u0, dt=dt, t_end=1.0, stepper=ss.EventDriven(rtol=1e-11))
    # from the contact; and as printed, 8.8e-7 m inside, which is 1.5e-4 rad of an angle that decides when it slips
    for start, inside in ((q0, 0.0), (toy.q0, 1.5e-4)):
        run = ss.simulate(toy.system, start, toy.u0, dt=dt, t_end=1.0, stepper=ss.Adaptive(rtol=rtol))
        assert run.complete and run.certificate.failed_steps == 0
        smooth, switching, rejected = counted(run)
        assert smooth < 1.0 / dt + 3000 and switching < 120 and rejected < 2000
        assert len(run.impacts()) == len(judge.impacts())
        assert np.abs(run.q[-1] - judge.q[-1]).max() < 50 * rtol + inside


@pytest.mark.slow
@pytest.mark.parametrize("rtol", [1e-4, 1e-6])
@pytest.mark.parametrize("name", [name for name in ss.library.names() if name != "compass_gait"])
@pytest.mark.filterwarnings("ignore:the contacts of 'kane_pendulum'")
def test_no_system_of_the_library_creeps(name: str, rtol: float) -> None:
    scenario = ss.library.get(name)
    run = scenario.simulate(dt=scenario.t_end / 200, stepper=ss.Adaptive(rtol=rtol))
    smooth, switching, rejected = counted(run)
    assert run.complete, run.status
    assert smooth < 5000 and switching < 700 and rejected < 8000


def test_a_clutch_on_a_driven_shaft_does_not_creep() -> None:
    """It runs free from tan(w t) = damping / (inertia w) on.  Before, 3e-4 rad/s off, and ten times the steps."""
    clutch = ss.library.one_way_clutch()
    run = clutch.simulate(dt=0.01, t_end=0.2, stepper=ss.Adaptive(smallest_step=2e-7), engine="reference")
    smooth, switching, rejected = counted(run)
    assert smooth < 60 and switching < 8 and rejected < 40
    w, inertia, damping = 4 * math.pi, 0.02, 0.05
    free = math.atan(damping / (inertia * w)) / w  # 0.0157 s
    after = 0.6 * w * math.cos(w * free) * np.exp(-damping * (run.t - free) / inertia)
    np.testing.assert_allclose(run.u[:, 0], np.where(run.t < free, 0.6 * w * np.cos(w * run.t), after), rtol=1e-6)


@pytest.mark.slow
def test_a_clutch_engages_without_a_blow() -> None:
    clutch = ss.library.one_way_clutch()
    options = {"dt": clutch.t_end / 200}
    judge = clutch.simulate(stepper="event-driven", **options)
    for rtol, error in ((1e-4, 1e-3), (1e-6, 5e-6), (1e-8, 5e-8)):
        run = clutch.simulate(stepper=ss.Adaptive(rtol=rtol), **options)
        assert counted(run)[0] < 1200 and counted(run)[1] < 40 and len(run.impacts()) == 0
        np.testing.assert_allclose(run.q, judge.q, atol=error)


@pytest.mark.slow
def test_dry_friction_on_a_driven_table_does_not_creep() -> None:
    """A mass on a table that shakes with 3.6 m/s^2, friction 2 N for 1 kg: 2203 switching steps, 3e-6 m off, before."""
    x, v, t = sp.symbols("x v t")
    shaken = ss.LagrangianSystem.from_energies(
        [x], velocities=[v], kinetic=v**2 / 2, potential=0, time=t, name="shaken",
        contacts=[ss.DryFriction("table", x - sp.sin(6 * t) / 10, 2)],
    )  # fmt: skip
    options = {"dt": 0.02, "t_end": 2.0}
    run = ss.simulate(shaken, [0.0], [0.6], stepper=ss.Adaptive(), **options)
    judge = ss.simulate(shaken, [0.0], [0.6], stepper="event-driven", **options)
    assert counted(run)[0] < 300 and counted(run)[1] < 12
    np.testing.assert_allclose(run.q, judge.q, atol=5e-8)


def test_last_digits_of_far_places_are_no_error_of_a_step() -> None:
    # from rest, where rtol of the largest velocity so far is less than the digits of a place of 1e5 m
    x, v = sp.symbols("x v")
    far = ss.LagrangianSystem.from_energies(
        [x], velocities=[v], kinetic=v**2 / 2, potential=500 * (x - 2**17) ** 2, name="far swing"
    )
    run = ss.simulate(far, [2.0**17 + 1e-3], [0.0], dt=0.05, t_end=0.1, stepper=ss.Adaptive(), engine="reference")
    assert counted(run)[0] < 60 and counted(run)[2] < 30
    np.testing.assert_allclose(run.q[:, 0] - 2.0**17, 1e-3 * np.cos(np.sqrt(1000.0) * run.t), atol=3e-9)


@pytest.mark.parametrize(("first", "second"), [(0.2, 0.6), (0.6, 0.2)])
def test_a_jump_of_friction_along_the_way_is_found(first, second):
    """mu(x) jumps at x = 1: v^2 falls by 2 mu g x.  All midpoints of a long step may lie on one side of the jump."""
    x, y, v, w = sp.symbols("x y v w")
    mu, g, speed, t_end = sp.Piecewise((first, x < 1), (second, True)), 9.81, 4.0, 0.5
    sled = ss.LagrangianSystem.from_energies(
        [x, y], velocities=[v, w], kinetic=(v**2 + w**2) / 2, potential=g * y,
        contacts=[ss.Contact("floor", gap=y, slip=x, friction=mu)], name="sled",
    )  # fmt: skip
    run = ss.simulate(sled, [0, 0], [speed, 0], dt=0.1, t_end=t_end, stepper="adaptive", engine="reference")
    there = math.sqrt(speed**2 - 2 * first * g)
    left = t_end - (speed - there) / (first * g)
    assert run.q[-1, 0] == pytest.approx(1 + there * left - 0.5 * second * g * left**2, abs=1e-6)
