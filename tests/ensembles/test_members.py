"""Members of an ensemble against `simulate` and closed forms, and what does not change them: threads, chunks."""

import numpy as np
import pytest
import sympy as sp

import stickslip as ss
from stickslip import library
from stickslip.ensembles.observables import OBSERVABLES
from stickslip.scenario import Scenario
from stickslip.trajectory import STATE_NAMES
from tests.ensembles.cases import BALL, request_of

RESTITUTIONS = [0.3, 0.5, 0.8]


def balls(vary=None, observe=OBSERVABLES, **options):
    vary = {"restitution": RESTITUTIONS} if vary is None else vary
    return ss.ensemble(library.bouncing_ball(), vary, observe, progress=False, **{**BALL, **options})


def test_members_take_the_steps_of_simulate():
    result = balls()
    for i, restitution in enumerate(RESTITUTIONS):
        scenario = library.bouncing_ball()
        run = scenario.simulate(params={"restitution": restitution}, progress=False)  # of one contact: sweeps as well
        member = result.dataset.isel(restitution=i)
        assert np.array_equal(member.final_q, run.q[-1]) and np.array_equal(member.final_u, run.u[-1])
        assert member.impacts.item() == len(run.impacts())
        assert member.max_residual.item() == run.certificate.max_residual
        assert member.max_energy_gain.item() == run.certificate.max_energy_gain
        assert member.contact_work.item() == run.certificate.contact_work
        assert member.kinetic_end.item() == run.energy.kinetic[-1]
        assert member.potential_start.item() == run.energy.potential[0]
        after = slice(1, None)  # a member is watched from the end of its first step on
        assert member.least_q.item() == run.q[after].min() and member.largest_u.item() == run.u[after].max()
        counts = np.bincount(run.contact_state[after, 0], minlength=len(STATE_NAMES))
        assert np.array_equal(member.share.values[0], counts / counts.sum())


def test_tops_of_flights_have_their_closed_form():
    """Flight k rises to h e^(2k), at t_1 (1 + 2 (e + ... + e^(k-1)) + e^k), t_1 = sqrt(2 h / g) [S00] 4.2."""
    e, h, g, dt = 0.8, 1.0, 9.81, 1e-5
    result = balls({"restitution": [e]}, dt=dt, t_end=2.3)
    first = np.sqrt(2.0 * h / g)
    tops = result.dataset.isel(restitution=0)
    k = np.arange(1, int(tops.passages) + 1)
    times = first * (1.0 + 2.0 * (e - e**k) / (1.0 - e) + e**k)
    assert len(k) == 3 and np.allclose(tops.point_time[:3], times, atol=5 * dt)
    assert np.allclose(tops.point_q[:3, 0], h * e ** (2 * k), atol=30 * dt)
    assert np.abs(tops.point_u[:3]).max() < 1e-12 and np.isnan(tops.point_time[3])
    assert tops.period.item() == pytest.approx((times[-1] - times[0]) / 2, abs=5 * dt)
    assert tops.shortest_period.item() < tops.period.item() < tops.longest_period.item()
    assert tops["drop"].item() == pytest.approx(h * (e**2 - e**6) / 2, abs=30 * dt)


def test_only_the_last_points_are_kept_in_order():
    result = balls({"restitution": [0.9]}, t_end=6.0)
    tops = result.dataset.isel(restitution=0)
    assert tops.passages.item() > 4 and (np.diff(tops.point_time) > 0.0).all()
    every = ss.ensemble(
        library.bouncing_ball(),
        {"restitution": [0.9]},
        OBSERVABLES,
        t_end=6.0,
        progress=False,
        **{**BALL, "points": 40},
    )
    times = every.dataset.isel(restitution=0).point_time.values
    assert np.array_equal(tops.point_time, times[np.isfinite(times)][-4:])


def test_nothing_is_watched_before_skip():
    all_of_it, later = balls(t_end=1.5), balls(t_end=1.5, skip=0.9)
    assert (later["passages"] < all_of_it["passages"]).all()
    assert np.array_equal(later["final_q"], all_of_it["final_q"])
    assert (later["impacts"] < all_of_it["impacts"]).all()


def test_threads_and_chunks_change_nothing():
    grid = {"restitution": "0.2:0.9:5", "y": "0.5:1:4"}
    one = balls(grid, threads=1, chunk=20)
    assert one["status"].dims == ("restitution", "y")
    for options in ({"threads": 2}, {"threads": 3, "chunk": 7}, {"chunk": 1}):
        assert one.dataset.identical(balls(grid, **options).dataset)


def test_failed_members_are_listed_and_in_no_mean():
    result = balls({"y": [-0.1, 0.5, 1.0]})
    (failed,) = result.failed()
    assert failed.member == 0 and failed.values == {"y": -0.1} and "penetration" in failed.reason
    assert np.isnan(result["final_q"][0]).all() and np.isfinite(result["final_q"][1:]).all()
    assert result["impacts"].mean() == result["impacts"][1:].mean()
    assert result["status"].values.tolist() == [7, 0, 0] and result.certificate()["failed_members"] == 1
    assert result["failed_steps"].values.tolist() == [1, 0, 0] and result["time_reached"][0] == 0.0


def test_a_parameter_that_makes_the_start_penetrate_fails_its_member():
    """The sleeve of the woodpecker starts inside a pole of half a metre."""
    bird = library.woodpecker()
    # The kernel of the page on ensembles, which watches a section.
    result = ss.ensemble(bird, {"r_O": [0.5, 0.0025]}, ["final", "period"], dt=1e-3, t_end=0.01)
    (failed,) = result.failed()
    assert failed.member == 0 and "penetration" in failed.reason and np.isfinite(result["final_q"][1]).all()
    with pytest.raises(ValueError, match=r"penetration of 0\.49 m"):
        ss.ensemble(bird, {"r_O": [0.5]}, ["final"], dt=1e-3, t_end=0.01)


def test_members_that_leave_all_bounds_fail_as_runs_do():
    """Three steps of a second: every contact problem is solved, and energy comes from nowhere."""
    bird = library.woodpecker()
    result = ss.ensemble(bird, {"r_O": [0.0025, 0.00249]}, ["final", "period"], dt=1.0, t_end=3.0)
    assert [member.reason for member in result.failed()] == ["the motion grew beyond all bounds"] * 2
    assert np.isnan(result["final_q"]).all()
    run = bird.simulate(dt=1.0, t_end=3.0, engine="reference")
    assert "the motion grows beyond all bounds" in run.status
    short = ss.ensemble(bird, {"r_O": [0.0025, 0.00249]}, ["final", "period"], dt=1e-3, t_end=0.5)
    assert short.failed() == []


def test_each_member_that_leaves_all_bounds_is_told():
    """A spring in steps that do not follow it, and one that pushes away: those members fail alone, as their runs do."""
    x, v, k, m = sp.symbols("x v k m")
    spring = ss.LagrangianSystem.from_energies(
        [x],
        velocities=[v],
        kinetic=m * v**2 / 2,
        potential=k * x**2 / 2,
        parameters={"k": 1.0, "m": 1.0},
        name="spring",
    )
    start = Scenario(spring, np.array([0.1]), np.array([0.0]), 1e-2, 2.0, title="", source="")
    stiffness, masses = [100.0, 5e4, 1e12, -1e6], [1.0, 2.0, 1e-300]
    result = ss.ensemble(start, {"k": stiffness, "m": masses}, ["final"])
    failed = result.dataset.status.values != 0
    assert {member.reason for member in result.failed()} == {"the motion grew beyond all bounds"}
    for i, j in ((0, 0), (0, 2), (1, 0), (1, 1), (2, 0), (3, 1)):
        run = start.simulate(params={"k": stiffness[i], "m": masses[j]}, engine="reference")
        assert failed[i, j] == (not run.complete) == np.isnan(result["final_q"].values[i, j]).all()
    assert failed.sum() == 9 and not failed[0, :2].any()
    with pytest.raises(ValueError, match=r"members with m = -1: mass matrix must be positive definite"):
        ss.ensemble(start, {"m": [1.0, -1.0, 2.0]}, ["final"])


def test_starts_that_are_all_refused_are_bad_input():
    with pytest.raises(ValueError, match=r"penetration of 0\.5 m"):
        ss.ensemble(library.bouncing_ball().starting({"y": -0.5}), {"restitution": [0.1, 0.2]}, ["final"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "solver", "vary"),
    [
        ("woodpecker", "auto", {"friction": [0.25, 0.3, 0.35]}),
        ("woodpecker", ss.Auto(tol=1e-16), {"friction": [0.3, 0.35]}),  # leaves steps to the reference engine
        ("slider_crank", "auto", {"restitution_normal": [0.1, 0.4, 0.9]}),
        ("friction_oscillator", "lemke", {}),
    ],
)
def test_other_systems_take_the_steps_of_simulate(name, solver, vary):
    scenario = library.get(name)
    vary = vary or {scenario.system.coordinate_names[0]: [float(scenario.q0[0])]}
    end = 3000 * scenario.dt
    result = ss.ensemble(scenario, vary, ["final", "impacts", "shares"], t_end=end, solver=solver, progress=False)
    ((axis, values),) = vary.items()
    for i, value in enumerate(values):
        start = scenario if axis in scenario.system.parameter_names else scenario.starting({axis: value})
        params = {axis: value} if axis in scenario.system.parameter_names else {}
        run = start.simulate(params=params, t_end=end, solver=solver, on_energy_gain="ignore", progress=False)
        member = result.dataset.isel({axis: i})
        assert (member.status.item() == 0) == run.complete
        assert member.failed_steps.item() == run.certificate.failed_steps
        assert member.fallbacks.item() == run.certificate.fallbacks
        assert run.certificate.fallbacks > 0 or solver != ss.Auto(tol=1e-16)
        if run.complete:
            assert np.array_equal(member.final_q, run.q[-1]) and np.array_equal(member.final_u, run.u[-1])
            assert member.impacts.sum().item() == len(run.impacts())
            for k in range(scenario.system.n_contacts):
                counts = np.bincount(run.contact_state[1:, k], minlength=len(STATE_NAMES))
                assert np.array_equal(member.share.values[k], counts / counts.sum())


@pytest.mark.parametrize(
    ("name", "vary", "place", "level"),
    [
        ("bouncing_ball", {"restitution": [0.3, 0.8]}, "v", 0.0),  # section and solver of the kernel that all share
        pytest.param("woodpecker", {"friction": [0.25, 0.3, 0.35]}, "phi_S", -0.2789, marks=pytest.mark.slow),
        pytest.param("slider_crank", {"restitution_normal": [0.1, 0.4, 0.9]}, "theta_2", -0.3, marks=pytest.mark.slow),
    ],
)
def test_flights_are_the_steps_of_simulate(name, vary, place, level):
    """Members, and runs that record seldom, do steps without contacts in a loop of their own.

    Their results must be equal to step-by-step runs.
    """
    scenario, end = library.get(name), 3000 * library.get(name).dt
    shared = BALL if name == "bouncing_ball" else {}
    options = {**shared, "t_end": end, "section": f"{place}<{level}", "points": 50, "progress": False}
    observe = OBSERVABLES if shared else ["final", "impacts", "extremes", "points"]
    result = ss.ensemble(scenario, vary, observe, **options)
    assert request_of(scenario, vary, t_end=end, solver="auto", observe=["final"]).module.FLIES
    ((axis, values),) = vary.items()
    for i, value in enumerate(values):
        run = scenario.simulate(params={axis: value}, t_end=end, on_energy_gain="ignore", progress=False)
        member = result.dataset.isel({axis: i})
        assert np.array_equal(member.final_q, run.q[-1]) and np.array_equal(member.final_u, run.u[-1])
        assert np.array_equal(member.least_q, run.q[1:].min(axis=0))
        assert np.array_equal(member.largest_u, run.u[1:].max(axis=0))
        assert member.impacts.sum().item() == len(run.impacts())
        there = np.isfinite(member.point_time.values)
        points = ss.poincare(run, ss.LevelSection(place, level))
        assert there.sum() == len(points) > 0
        assert np.allclose(member.point_time[there], points.t, rtol=0.0, atol=1e-12)
        seldom = scenario.simulate(params={axis: value}, t_end=end, every=700, on_energy_gain="ignore", progress=False)
        assert np.array_equal(seldom.q[:-1], run.q[:-1:700]) and np.array_equal(seldom.q[-1], run.q[-1])
        assert np.array_equal(seldom.contact_state[:-1], run.contact_state[:-1:700])
        assert np.array_equal(seldom.impacts()["time"], run.impacts()["time"])
        assert seldom.certificate.max_residual == run.certificate.max_residual


@pytest.mark.parametrize("solver", ["auto", pytest.param("gauss-seidel", marks=pytest.mark.slow)])
def test_lasting_contacts_are_the_steps_that_are_recorded(solver):
    """Runs that record seldom do steps with one lasting contact in a loop of their own, as members do.

    A run that records every step does none of them there: results and the book must be equal, bit for bit.
    """
    scenario = library.woodpecker()
    options = {"t_end": 3000 * scenario.dt, "solver": solver, "on_energy_gain": "ignore", "progress": False}
    assert request_of(scenario, {"friction": [0.3]}, solver=solver, observe=["final"]).module.STAYS
    run = scenario.simulate(every=1, **options)
    seldom = scenario.simulate(every=900, **options)
    assert np.mean((run.contact_state != 0).sum(axis=1) == 1) > 0.5
    assert np.array_equal(seldom.q[:-1], run.q[:-1:900]) and np.array_equal(seldom.u[-1], run.u[-1])
    assert np.array_equal(seldom.contact_state[:-1], run.contact_state[:-1:900])
    assert np.array_equal(seldom.contact_state[-1], run.contact_state[-1])
    for name, column in run.impacts().columns.items():
        assert np.array_equal(seldom.impacts()[name], column)
    assert seldom.certificate == run.certificate


@pytest.mark.slow
def test_period_and_drop_of_the_woodpecker_are_those_of_its_records():
    scenario = library.woodpecker()
    result = ss.ensemble(
        scenario, {"friction": [0.3]}, ["period", "drop", "points"], t_end=3.0, skip=1.0, progress=False
    )
    points = ss.poincare(scenario.simulate(t_end=3.0, progress=False), "phi_S<-0.2788")
    watched = points.t > 1.0
    times, travels = points.t[watched], points["y"][watched]
    member = result.dataset.isel(friction=0)
    assert member.passages.item() == len(times)
    assert np.allclose(member.point_time[: len(times)], times, rtol=0.0, atol=1e-13)
    assert member.period.item() == pytest.approx(np.diff(times).mean(), rel=1e-12)
    assert member["drop"].item() == pytest.approx(-np.diff(travels).mean(), rel=1e-10)


@pytest.mark.slow
def test_phases_are_cut_at_their_times():
    scenario = library.bouncing_ball_on_table()
    result = ss.ensemble(
        scenario, {"frequency": [25.0, 30.0]}, ["points", "period"], t_end=1.0, section="phase:frequency", points=50,
        skip=0.5, progress=False,
    )  # fmt: skip
    for i, frequency in enumerate((25.0, 30.0)):
        times = result["point_time"][i].values
        times = times[np.isfinite(times)]
        phases = times * frequency
        assert np.allclose(phases, np.round(phases), atol=1e-9) and times[0] > 0.5 - 1e-9
        assert result["period"][i].item() == pytest.approx(1.0 / frequency, rel=1e-9)


@pytest.mark.slow
def test_members_carry_the_flags_of_their_friction():
    """Two coefficients on a belt: each member is the run of `simulate`; kinetic above static is refused."""
    scenario, values = library.block_on_belt(), [0.3, 0.6, 0.9]
    options = {"dt": 1e-2, "t_end": 20.0, "progress": False}
    result = ss.ensemble(scenario, {"friction_kinetic": values}, ("final",), **options)
    for i, value in enumerate(values):
        run = scenario.simulate(params={"friction_kinetic": value}, **options)
        np.testing.assert_allclose(result["final_q"].values[i], run.q[-1], rtol=0, atol=1e-13)
    assert not result["status"].values.any()
    with pytest.raises(ValueError, match="kinetic of TwoCoefficient of contact 'belt' must not exceed static"):
        ss.ensemble(scenario, {"friction_kinetic": [0.3, 1.4]}, ("final",), **options)
