"""The event-driven integrator against closed forms: bounces, accumulation, stick-slip, grazing, Painleve's paradox."""

import math
from functools import cache

import numpy as np
import pytest
import sympy as sp

import stickslip as ss
from stickslip.events.acceleration import AccelerationProblem
from tests.elsewhere import EVERYWHERE, FAR, HOME, SLOWLY
from tests.mechanisms.steppers.systems import (
    bead_by_energies,
    bead_by_functions,
    every_element,
    ill_fated,
    oscillator,
    point_mass,
    row_of_blocks,
    separate_elements,
    two_feet,
)

TIGHT = ss.EventDriven(rtol=1e-12)
G = 9.81


# -- impacts and their accumulation --------------------------------------------------------------------------


@pytest.mark.parametrize("e", [0.0, 0.3, 0.5, 0.75, 0.9, 1.0])
def test_rebound_is_e_times_the_impact_speed(e):
    run = ss.library.bouncing_ball(restitution=e).simulate(dt=0.05, t_end=2.0, stepper=TIGHT)
    hits = run.impacts()
    assert run.complete and len(hits) >= 1
    assert hits["normal_velocity_before"][0] == pytest.approx(-np.sqrt(2 * G), rel=1e-14)
    ratio = hits["normal_velocity_after"] + e * hits["normal_velocity_before"]
    assert np.abs(ratio).max() <= 1e-12 * np.abs(hits["normal_velocity_before"]).max()
    assert run.certificate.max_penetration < 1e-14
    assert run.certificate.max_energy_gain == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("place", FAR, ids=str)
def test_accumulation_far_away(place):
    """Gaps below the last digits of the coordinates are none: the last hops are left out, rest comes as soon."""
    run = place.simulate(ss.library.bouncing_ball(restitution=0.8), dt=0.01, t_end=10.0, stepper=TIGHT, held=False)
    hits, away = run.impacts(), place.rounding(run)
    assert run.complete and 20 < len(hits) <= 69
    assert hits["time"][:3] == pytest.approx([0.4515236410, 1.1739614666, 1.7519117270], abs=1e-10 + away)
    t_inf = np.sqrt(2 / G) * 1.8 / 0.2
    rest = hits["time"][-1] + 2 * hits["normal_velocity_after"][-1] / (G * 0.2)
    assert rest == pytest.approx(t_inf, abs=1e-9 + 1e3 * away)
    resting = run.t > 4.07
    assert np.abs(run.q[resting]).max() < 1e-15 + away and np.abs(run.u[resting]).max() < 1e-15 + away
    assert (run.states()[resting] == "closed").all() and (run.normal_impulse[resting] > 0.0).all()


def test_accumulation_of_a_bouncing_ball():
    """h = 1 m, e = 0.8: t_inf = sqrt(2 h/g) (1 + e)/(1 - e) = 4.0637127689 s; 69 impacts, then rest."""
    run = ss.library.bouncing_ball(restitution=0.8).simulate(dt=0.01, t_end=10.0, stepper=TIGHT)
    hits = run.impacts()
    assert hits["time"][:3] == pytest.approx([0.4515236410, 1.1739614666, 1.7519117270], abs=1e-10)
    assert len(hits) == 69
    assert hits["time"][-1] == pytest.approx(4.0637118401, abs=1e-10)
    assert hits["normal_velocity_after"][-1] == pytest.approx(9.111e-7, rel=1e-3)
    t_inf = np.sqrt(2 / G) * 1.8 / 0.2
    assert hits["time"][-1] + 2 * hits["normal_velocity_after"][-1] / (G * 0.2) == pytest.approx(t_inf, abs=1e-12)
    resting = run.t > 4.07
    assert np.abs(run.q[resting]).max() < 1e-15 and np.abs(run.u[resting]).max() < 1e-15
    assert (run.states()[resting] == "closed").all()
    # While it rests the table carries its weight: the impulse of a record is m g dt.
    assert run.normal_impulse[resting, 0] == pytest.approx(np.full(resting.sum(), G * 0.01), rel=1e-10)


def test_friction_of_skipped_impacts_is_exact():
    """Thrown with 3 m/s, mu = 0.05, e = 0.6: vx = 3 - mu g t as if the ball had never bounced."""
    params = {"mu": 0.05, "eps_N": 0.6}
    run = ss.simulate(point_mass(), [0, 1], [3, 0], dt=0.05, t_end=5.0, params=params, stepper=TIGHT)
    assert run.u[-1, 0] == pytest.approx(0.5475, abs=1e-13)
    assert run.q[-1, 0] == pytest.approx(8.91875, abs=1e-13)
    assert len(run.impacts()) == pytest.approx(30, abs=2)  # 30 at the span of 5 s
    t_inf = np.sqrt(2 / G) * 1.6 / 0.4
    assert t_inf == pytest.approx(1.8060945639, abs=1e-10)
    arc = next(a for a in TIGHT.arcs(point_mass(), [0, 1], [3, 0], t_end=5.0, params=params) if a.t_A > t_inf)
    u = arc.state(arc.t_A)[1][0]
    assert u + 0.05 * G * (arc.t_A - t_inf) == pytest.approx(2.1141106164, abs=1e-10)


def test_momentum_balances_to_round_off():
    params = {"mu": 0.3, "eps_N": 0.6}
    run = ss.simulate(point_mass(), [0, 1], [3, 0], dt=0.05, t_end=3.0, params=params, stepper=TIGHT, every=4)
    change = np.diff(run.u, axis=0) + np.outer(np.diff(run.t), [0.0, G])
    assert change[:, 1] == pytest.approx(run.normal_impulse[1:, 0], abs=1e-12)
    assert change[:, 0] == pytest.approx(run.tangential_impulse[1:, 0], abs=1e-12)
    book = run.certificate.contact_work
    assert run.energy.total[-1] - run.energy.total[0] == pytest.approx(book, abs=1e-11)


# -- stick and slip ------------------------------------------------------------------------------------------


@cache
def driven_brick():
    """A brick on a ramp of slope theta that is pulled down the ramp with F sin(2 t)."""
    t, x, y, v, w, theta, F = sp.symbols("t x y v w theta F")
    return ss.LagrangianSystem.from_energies(
        [x, y],
        velocities=[v, w],
        kinetic=(v**2 + w**2) / 2,
        potential=sp.Float(G) * (y * sp.cos(theta) - x * sp.sin(theta)),
        forces=[F * sp.sin(2 * t), 0],
        contacts=[ss.Contact("ramp", gap=y, slip=x, friction="mu")],
        parameters={theta: 0.3, F: 4.0, "mu": 0.5},
        name="driven brick",
    )


def test_brick_slips_and_sticks_at_the_computed_times():
    arcs = list(ss.EventDriven(rtol=1e-13).arcs(driven_brick(), [0, 0], [0, 0], t_end=np.pi))
    changes = [(a.t_A, a.mode.states()[0]) for a in arcs]
    starts = [time for (time, state), (_, before) in zip(changes[1:], changes[:-1], strict=True) if state != before]
    assert starts == pytest.approx([0.2315468317284, 1.9867415296323], abs=1e-12)
    assert arcs[-1].state(np.pi)[0][0] == pytest.approx(1.5741645817072, abs=3e-13)
    fastest = np.pi / 2 - 0.2315468317284
    arc = next(a for a in arcs if a.t_A <= fastest <= a.t_E)
    assert arc.state(fastest)[1][0] == pytest.approx(1.599375990564, abs=1e-11)


@EVERYWHERE
def test_brick_over_two_periods(place):
    run = place.simulate(driven_brick(), [0, 0], [0, 0], dt=np.pi / 100, t_end=2 * np.pi, stepper=TIGHT)
    away = place.rounding(run)
    assert run.q[-1, 0] == pytest.approx(2 * 1.5741645817072, abs=1e-11 + away)
    assert run.u[-1, 0] == pytest.approx(0.0, abs=1e-14 + away)
    assert set(np.unique(run.states())) == {"open", "stick", "slip+"}  # the first record has no step before it


@pytest.mark.parametrize(("mu1", "force", "acceleration"), [(0.2, -4.905, 0.0), (0.1, -2.943, 0.981)])
def test_two_blocks(mu1, force, acceleration):
    """m1 = 2 at rest on the ground, m2 = 1 sliding on it to the right with mu2 = 0.5."""
    x1, y1, x2, y2, v1, w1, v2, w2 = sp.symbols("x1 y1 x2 y2 v1 w1 v2 w2")
    system = ss.LagrangianSystem.from_energies(
        [x1, y1, x2, y2],
        velocities=[v1, w1, v2, w2],
        kinetic=v1**2 + w1**2 + (v2**2 + w2**2) / 2,
        potential=sp.Float(G) * (2 * y1 + y2),
        contacts=[
            ss.Contact("ground", gap=y1, slip=x1, friction="mu1"),
            ss.Contact("between", gap=y2 - y1, slip=x2 - x1, friction=0.5),
        ],
        parameters={"mu1": mu1},
    )
    p = system.parameter_vector()
    state = np.zeros(4), np.array([0.0, 0.0, 1.0, 0.0])
    problem = AccelerationProblem.at(system, 0.0, *state, p, np.arange(2), np.array([0.0, 1.0]))
    solution, status = problem.solve()
    assert solution is not None, status
    assert solution.lambda_T[0] == pytest.approx(force, rel=1e-12)
    assert solution.du[0] == pytest.approx(acceleration, abs=1e-12)
    assert solution.lambda_N == pytest.approx([3 * G, G], rel=1e-12)
    assert problem.residual(solution) < 1e-14


@pytest.mark.parametrize("place", [HOME, *SLOWLY], ids=str)
def test_a_block_on_two_feet_sticks_although_its_friction_is_not_unique(place):
    params = {"slope": 0.4, "mu": 0.5}
    run = place.simulate(two_feet(), [0, 0, 0], [0, 0, 0], dt=0.1, t_end=5.0, params=params, stepper=TIGHT)
    assert run.complete
    away = place.rounding(run)
    assert np.abs(run.q).max() < 1e-12 + away and np.abs(run.u).max() < 1e-12 + away
    sliding = place.simulate(two_feet(), [0, 0, 0], [1, 0, 0], dt=0.1, t_end=5.0, params=params, stepper=TIGHT)
    a = G * (np.sin(0.4) - 0.5 * np.cos(0.4))
    assert sliding.q[-1, 0] == pytest.approx(-1 / (2 * a), abs=1e-11 + away)  # stops at t = -1/a and stays
    assert sliding.u[-1] == pytest.approx(np.zeros(3), abs=1e-13 + away)


# -- grazing -------------------------------------------------------------------------------------------------


@cache
def swinging():
    """q'' = -q, gap q + 1 + offset."""
    q, v, offset = sp.symbols("q v offset")
    return ss.LagrangianSystem.from_energies(
        [q],
        velocities=[v],
        kinetic=v**2 / 2,
        potential=q**2 / 2,
        contacts=[ss.Contact("wall", gap=q + 1 + offset, restitution_normal="e")],
        parameters={offset: 0.0, "e": 0.5},
        name="swinging mass",
    )


@pytest.mark.parametrize("rtol", [1e-9, 1e-12])
def test_grazing(rtol):
    """A wall one millionth inside the swing is hit with 1.4142132e-3; one 1e-10 outside is not."""
    stepper = ss.EventDriven(rtol=rtol)
    run = ss.simulate(swinging(), [1], [0], dt=0.1, t_end=6.0, params={"offset": -1e-6}, stepper=stepper)
    hits = run.impacts()
    assert len(hits) >= 1
    assert hits["normal_velocity_before"][0] == pytest.approx(-1.4142132e-3, rel=1e-5 if rtol < 1e-10 else 1e-2)
    for offset in (1e-10, 1e-6):
        run = ss.simulate(swinging(), [1], [0], dt=0.1, t_end=6.0, params={"offset": offset}, stepper=TIGHT)
        assert len(run.impacts()) == 0
        assert run.q[-1, 0] == pytest.approx(np.cos(6.0), abs=1e-10)


# -- Painleve's paradox --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("law", "impulse", "after"),
    [
        (ss.Newton(0.5, 0.0), (0.6495190528, -0.875), (0.0, 0.0)),
        (ss.Poisson(0.5, 0.0), (0.97427858, -1.00480769), (0.39970403, 0.0)),
        (ss.Stronge(0.5), (0.812608675, -0.940187580), (0.20072569, 0.0)),
    ],
)
def test_impact_without_collision(law, impulse, after):
    """A bar at 60 degrees that slides with 2 m/s under mu = 5/3 has no finite accelerations."""
    bar = ss.library.impacting_bar(mass=1.0, half_length=1.0, friction=5 / 3)
    phi = np.pi / 3
    run = ss.simulate(
        bar.system, [0, np.sin(phi), phi], [2, 0, 0], dt=1e-3, t_end=5e-3, law=law, stepper=TIGHT,
        on_energy_gain="raise",
    )  # fmt: skip
    hits = run.impacts()
    assert run.complete, run.status
    assert hits["time"][0] == 0.0
    assert (hits["normal_impulse"][0], hits["tangential_impulse"][0]) == pytest.approx(impulse, rel=1e-7)
    assert (hits["normal_velocity_after"][0], hits["tangential_velocity_after"][0]) == pytest.approx(after, abs=1e-7)
    assert run.attributes["impacts without collision"] == "1"


@pytest.mark.parametrize("place", [HOME, *SLOWLY], ids=str)
def test_sliding_the_other_way_goes_on(place):
    bar = ss.library.impacting_bar(mass=1.0, half_length=1.0, friction=5 / 3)
    phi = np.pi / 3
    start = [0, np.sin(phi), phi], [-2, 0, 0]
    run = place.simulate(bar.system, *start, dt=1e-3, t_end=5e-3, stepper=TIGHT)
    assert run.complete and len(run.impacts()) == 0
    assert (run.states()[1:] == "slip-").all()
    assert np.abs(run.gap).max() < 1e-13 + place.rounding(run)


def test_where_contact_may_end_or_last_it_ends_and_that_is_said():
    """The sliding bar with a spin of 5 rad/s: alpha - mu delta < 0 < b has two accelerations."""
    bar = ss.library.impacting_bar(mass=1.0, half_length=1.0, friction=5 / 3)
    phi, spin = np.pi / 3, 5.0
    u0 = [2 + spin * np.sin(phi), spin * np.cos(phi), spin]
    assert ss.painleve(bar.system, [0, np.sin(phi), phi], u0).verdict == "several"
    run = ss.simulate(bar.system, [0, np.sin(phi), phi], u0, dt=1e-3, t_end=0.02, stepper=TIGHT)
    assert run.attributes["indeterminate"] == "1"
    assert (run.states()[1:] == "open").all()
    flight = run.gap[1:, 0] / run.t[1:] ** 2  # from b/2 = (spin^2 sin(phi) - g)/2 on
    assert flight[0] == pytest.approx((spin**2 * np.sin(phi) - G) / 2, rel=1e-2)


# -- other elements ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", [HOME, *SLOWLY], ids=str)
def test_elements_against_closed_forms(place):
    """Dry friction, stops, clutch and prestressed spring, one mass of 2 kg each."""
    params = {"force_0": 5.0, "force_1": 0.0, "force_2": -4.0, "force_3": 3.0, "restitution": 1.0}
    run = place.simulate(
        separate_elements(), [0, 0, 0, 0], [-1, 1, 2, 0], dt=0.05, t_end=3.0, params=params, stepper=TIGHT, held=False
    )
    assert run.complete, run.status
    t, away = run.t, 10 * place.rounding(run)
    # rub: -1 m/s against 5 + 3 N stops after 0.25 s, then 5 - 3 N drive it forward.
    stop = 0.25
    rub = np.where(t < stop, -t + 2 * t**2, -0.125 + 0.5 * (t - stop) ** 2)
    assert run["rub"] == pytest.approx(rub, abs=1e-11 + away)
    # play: 1 m/s to and fro between -0.1 and 0.15 m.
    assert run["play"] == pytest.approx(
        0.025 + 0.125 * 2 / np.pi * np.arcsin(np.sin((t - 0.025) * np.pi / 0.25)), abs=1e-11 + away
    )
    # turn: 2 rad/s, slowed down by 4 N to rest after 1 s, and the clutch does not let it turn back.
    assert run["turn"] == pytest.approx(np.where(t < 1, 2 * t - t**2, 1.0), abs=1e-11 + away)
    # hold: 3 N do not overcome the preload of 4 N.
    assert np.abs(run["hold"]).max() < 1e-14 + away


@pytest.mark.parametrize("place", [HOME, *SLOWLY], ids=str)
def test_prestressed_spring_swings_and_yields(place):
    """Beyond its preload the spring lets go: 6 N against 4 N accelerate 2 kg by 1 m/s^2; alone it swings about zero."""
    rest = {"force_3": 6.0}
    start = [0, 0, 0, 0], [0, 0, 1, 0]
    run = place.simulate(separate_elements(), *start, dt=0.1, t_end=1.0, params=rest, stepper=TIGHT, held=False)
    assert run["hold"] == pytest.approx(0.5 * run.t**2, abs=1e-12 + place.rounding(run))
    start = [0, 0, 0, 0.5], [0, 0, 1, 0]
    run = place.simulate(separate_elements(), *start, dt=0.25, t_end=4.0, stepper=TIGHT, held=False)
    away = 10 * place.rounding(run)
    energy = 2.0 + 1.0  # 4 N * 0.5 m, and of the clutch
    assert run.energy.total == pytest.approx(np.full(len(run), energy), abs=1e-11 + 4 * away)
    quarter = np.sqrt(2 * 0.5 * 2 / 4)
    t = np.mod(run.t, 4 * quarter)
    phase = np.mod(t, quarter)
    falling = 0.5 - phase**2
    rising = falling[0] - (quarter - phase) ** 2
    expected = np.select([t < quarter, t < 2 * quarter, t < 3 * quarter], [falling, -rising, -falling], rising)
    assert run["hold"] == pytest.approx(expected, abs=1e-10 + away)


def test_a_system_of_functions_moves_as_the_same_system_of_energies():
    runs = [
        ss.simulate(bead(), [0.3], [0.0], dt=0.02, t_end=2.0, stepper=TIGHT, params={"g": 30.0})
        for bead in (bead_by_functions, bead_by_energies)
    ]
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-9
    u = ss.simulate(bead_by_energies(), [0.3], [2.0], dt=0.02, t_end=2.0, stepper=TIGHT)
    assert len(u.impacts()) > 0
    w = ss.simulate(bead_by_functions(), [0.3], [2.0], dt=0.02, t_end=2.0, stepper=TIGHT)
    assert np.abs(u.q - w.q).max() < 1e-9


@pytest.mark.slow
def test_many_contacts():
    system = row_of_blocks()
    q0 = np.concatenate([np.arange(7) * 1.02, np.zeros(7)])
    u0 = np.concatenate([[1.0, -0.5, 1.5, 0.0, 0.8, -1.0, 0.2], np.zeros(7)])
    judge = ss.simulate(system, q0, u0, dt=0.05, t_end=1.5, stepper=ss.EventDriven())
    assert judge.complete, judge.status
    stepped = ss.simulate(system, q0, u0, dt=1e-4, t_end=1.5, every=500)
    assert np.abs(judge.q - stepped.q).max() < 2e-3
    assert len(judge.impacts()) > 0


def test_ball_on_a_moving_table_is_not_missed():
    """Nothing in the flight of the ball tells of the table: the gap itself must steer the steps."""
    run = ss.library.bouncing_ball_on_table(restitution=0.5).simulate(dt=1e-3, t_end=1.0, stepper=TIGHT)
    assert run.complete, run.status
    assert run.certificate.max_penetration < 1e-12
    hits = run.impacts()
    assert np.abs(hits["normal_velocity_after"] + 0.5 * hits["normal_velocity_before"]).max() < 1e-13
    other = ss.library.bouncing_ball_on_table(restitution=0.5).simulate(dt=1e-3, t_end=0.3, stepper="event-driven")
    first = run.t <= 0.3
    assert np.abs(run.q[first] - other.q).max() < 1e-8


# -- against the time stepper --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "t_end", "dt", "tolerance"),
    [
        ("bouncing_ball", 1.0, 2e-5, 5e-4),  # three orders below the step's own g dt t_end would be 2e-4
        ("friction_oscillator", 2.0, 1e-3, 2e-5),  # order 2: no impact, and springs without damping
        # crank angles of 3 rad; the impacts come up to dt late
        pytest.param("slider_crank", 0.02, 1e-6, 2e-3, marks=pytest.mark.slow),
        ("woodpecker", 0.15, 1e-6, 2e-3),  # phi_M turns with up to 40 rad/s, impacts come dt late
    ],
)
def test_judge_and_midpoint_rule_agree(name, t_end, dt, tolerance):
    scenario = ss.library.get(name)
    judge = scenario.simulate(dt=t_end / 100, t_end=t_end, stepper=ss.EventDriven())
    stepped = scenario.simulate(dt=dt, t_end=t_end, every=round(t_end / 100 / dt))
    assert judge.complete and stepped.complete
    assert judge.t == pytest.approx(stepped.t)
    assert np.abs(judge.q - stepped.q).max() < tolerance


def test_judge_of_every_element_is_the_limit_of_the_midpoint_rule():
    scenario = every_element()
    loose, tight = (scenario.simulate(dt=0.01, t_end=1.0, stepper=ss.EventDriven(rtol=rtol)) for rtol in (1e-9, 1e-12))
    assert np.abs(loose.q - tight.q).max() < 1e-7
    errors = []
    for dt in (1e-4, 1e-5):
        stepped = scenario.simulate(dt=dt, t_end=1.0, every=round(0.01 / dt))
        errors.append(np.abs(stepped.q - tight.q).max())
    assert errors[1] < 0.25 * errors[0] < 2e-4
    assert tight.certificate.max_residual < 1e-13
    assert tight.certificate.max_penetration < 1e-11
    assert tight.certificate.max_energy_gain == 0.0


def test_elastic_bounces_keep_their_energy():
    """200 of the 10,000 bounces of the table in the documentation: only round-off adds up."""
    ball = ss.library.bouncing_ball(restitution=1.0)
    period = 2 * np.sqrt(2 / G)
    run = ball.simulate(dt=period / 4, t_end=200 * period, stepper=TIGHT)
    assert len(run.impacts()) == 200
    assert np.abs(run.energy.total / run.energy.total[0] - 1).max() < 2e-12
    assert run.impacts()["time"][-1] == pytest.approx(199.5 * period, abs=1e-9)


@pytest.mark.slow
def test_ten_thousand_elastic_bounces():
    ball = ss.library.bouncing_ball(restitution=1.0)
    period = 2 * np.sqrt(2 / G)
    run = ball.simulate(dt=period / 4, t_end=10_000 * period, stepper=TIGHT)
    assert len(run.impacts()) == 10_000
    assert np.abs(run.energy.total / run.energy.total[0] - 1).max() < 1e-10


# -- the run as others see it --------------------------------------------------------------------------------


def test_records_do_not_change_the_motion():
    toy = ss.library.woodpecker()
    coarse = toy.simulate(dt=1e-2, t_end=0.2, stepper=TIGHT)
    fine = toy.simulate(dt=1e-4, t_end=0.2, stepper=TIGHT, every=10)
    assert np.abs(coarse.q - fine.q[::10]).max() < 1e-14  # k * 1e-2 and 100 k * 1e-4 differ in their last digit
    assert np.abs(coarse.u - fine.u[::10]).max() < 1e-11
    assert np.array_equal(coarse.impacts()["time"], fine.impacts()["time"])
    assert coarse.normal_impulse.sum(axis=0) == pytest.approx(fine.normal_impulse.sum(axis=0), rel=1e-12)


def test_a_printed_start_is_projected_onto_its_contacts():
    """[GS05] Table I penetrates by 8.8e-7 m; phi_M = -0.6/5.8 closes the lower sleeve contact."""
    run = ss.library.woodpecker().simulate(dt=1e-3, t_end=0.01, stepper=TIGHT)
    assert run["phi_M"][0] == pytest.approx(-0.6 / 5.8, abs=1e-12)
    assert run.certificate.max_penetration < 1e-14
    assert run.states()[1, 1] == "slip-"


def test_a_start_within_the_tolerance_of_gaps_is_closed_and_a_smaller_one_sees_it():
    ball = ss.library.bouncing_ball(height=1e-9, restitution=0.5)
    rests = ball.simulate(dt=1e-5, t_end=1e-3, stepper="event-driven")
    assert len(rests.events()) == 0 and set(rests.states()[1:, 0]) == {"closed"} and (rests.q == 0.0).all()
    falls = ball.simulate(dt=1e-5, t_end=1e-3, stepper=ss.EventDriven(gap_tol=1e-13))
    first = math.sqrt(2e-9 / 9.81)
    assert falls.impacts()["time"][0] == pytest.approx(first, rel=1e-9)
    assert falls.events().of_kind("accumulation ends").time == pytest.approx([3 * first], rel=1e-9)


def test_a_contact_that_approaches_at_the_start_collides_there():
    run = ss.simulate(point_mass(), [0, 0], [0, -1], dt=0.01, t_end=0.1, params={"eps_N": 0.5}, stepper=TIGHT)
    hits = run.impacts()
    assert (hits["time"][0], hits["normal_velocity_after"][0]) == (0.0, 0.5)


def test_saved_and_loaded(tmp_path):
    run = ss.library.bouncing_ball(restitution=0.8).simulate(
        dt=0.01, t_end=1.0, stepper=ss.EventDriven(), out=tmp_path / "streamed.nc"
    )
    run.save(tmp_path / "saved.nc")
    for file in ("saved.nc", "streamed.nc"):
        again = ss.load(tmp_path / file)
        assert np.array_equal(again.q, run.q) and np.array_equal(again.contact_state, run.contact_state)
        assert again.stepper == "event-driven"
        assert np.array_equal(again.impacts()["time"], run.impacts()["time"])


def test_no_contacts_at_all():
    run = ss.simulate(oscillator(), [1.0], [0.0], dt=0.1, t_end=3.0, stepper=TIGHT)
    assert run.q[:, 0] == pytest.approx(np.cos(2 * run.t), abs=1e-11)


def test_a_law_that_has_no_answer_ends_the_run_and_says_where():
    run = ss.library.slider_crank().simulate(dt=1e-4, t_end=0.05, stepper=TIGHT, law=ss.Stronge(0.4))
    assert not run.complete
    assert run.status.startswith("failed at t = ") and "one closed contact, got 2" in run.status
    assert len(run) > 1


def test_too_many_events_end_the_run_with_a_way_out():
    ball = ss.library.bouncing_ball(restitution=0.95)
    run = ball.simulate(dt=0.1, t_end=100.0, stepper=ss.EventDriven(max_events=20))
    assert not run.complete
    assert "more than 20 events within 0.1 s" in run.status and "max_events" in run.status
    assert 5.0 < run.t[-1] < 100.0 and run.penetration.max() < 1e-9


def test_a_motion_that_ends_ends_with_a_sentence():
    run = ss.simulate(ill_fated(), [1.0], [1.0], dt=0.01, t_end=5.0, params={"wild": 50.0}, stepper=TIGHT)
    assert not run.complete and run.status.startswith("failed at t = ")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rtol": 0.0}, "rtol must be a number between"),
        ({"rtol": "small"}, "rtol must be a number between"),
        ({"atol": -1.0}, "atol must be positive"),
        ({"gap_tol": 2.0}, "gap_tol must be a number between"),
        ({"zeno": 1.0}, "zeno must be a number between"),
        ({"max_events": 0}, "max_events must be a whole number"),
        ({"max_step": 0.0}, "max_step must be positive"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        ss.EventDriven(**options)


def test_there_is_no_reference_engine():
    with pytest.raises(ValueError, match="no reference engine"):
        ss.library.bouncing_ball().simulate(stepper="event-driven", engine="reference")


def test_a_clutch_that_starts_backwards_locks_at_once():
    run = ss.simulate(separate_elements(), [0, 0, 0, 0], [0, 0, -1, 0], dt=0.1, t_end=0.5, stepper=TIGHT)
    assert np.abs(run["turn"][1:]).max() < 1e-15 and np.abs(run["turn_dot"][1:]).max() < 1e-15
    assert run.normal_impulse[1, run.contact_names.index("clutch")] == pytest.approx(2.0)  # 2 kg m^2 * 1 rad/s
    assert run.certificate.contact_work == pytest.approx(-1.0)


def test_a_load_that_sets_in_from_zero_engages_the_clutch():
    """-5 sin(5 t) N on a clutch at rest: the acceleration at t = 0 is zero and does not decide the mode."""
    run = ss.simulate(separate_elements(), [0] * 4, [0] * 4, dt=0.1, t_end=0.5, params={"wave": 5.0}, stepper=TIGHT)
    assert run.complete, run.status
    assert np.abs(run["turn"]).max() < 1e-9 and np.abs(run["turn_dot"]).max() < 1e-9
    impulse = 1.0 - np.cos(5 * run.t[-1])  # of 5 sin(5 t) N, up to t = 0.5 s
    assert run.normal_impulse[:, run.contact_names.index("clutch")].sum() == pytest.approx(impulse, abs=1e-6)


def table_on_two_feet():
    """m g = 10 N, mu_s = 0.5, mu_k = 0.3, pushed by F cos(w t - b): statics hold it up to 5 N."""
    x, y, phi, v_x, v_y, omega, F, w, b, t = sp.symbols("x y phi v_x v_y omega F w b t")
    a, h = 0.5, 0.3
    feet = [
        ss.Contact(
            name,
            gap=y + side * a * sp.sin(phi) - h * sp.cos(phi),
            slip=x + side * a * sp.cos(phi) + h * sp.sin(phi),
            friction=ss.TwoCoefficient(0.5, 0.3),
        )
        for name, side in (("left", -1), ("right", 1))
    ]
    return ss.LagrangianSystem.from_energies(
        [x, y, phi],
        velocities=[v_x, v_y, omega],
        kinetic=(v_x**2 + v_y**2 + 0.2 * omega**2) / 2,
        potential=10 * y,
        forces=[F * sp.cos(w * t - b), 0, 0],
        contacts=feet,
        parameters={"F": 0.0, "w": 0.0, "b": 0.0},
    )


@pytest.mark.parametrize(
    ("load", "speed"),
    [
        ({"F": 4.5}, 0.0),
        ({"F": 4.9}, 0.0),
        ({"F": 5.1}, 0.1 * (5.1 - 3.0)),
        ({"F": 4.9, "w": 200.0, "b": math.pi / 2}, 0.0),  # the feet share a load anew that grows and turns round
    ],
)
@pytest.mark.parametrize("place", [HOME, *SLOWLY], ids=str)
def test_two_feet_hold_up_to_the_static_limit(load, speed, place):
    run = place.simulate(
        table_on_two_feet(), [0, 0.3, 0], [0, 0, 0], dt=5e-3, t_end=0.1, stepper="event-driven", params=load
    )
    error = 1e-9 + place.rounding(run)
    assert run.complete and np.abs(run.u[:, 0]).max() == pytest.approx(speed, abs=error)
    assert run.u[-1, 0] == pytest.approx(speed, abs=error)


def test_a_run_that_is_interrupted_after_its_last_step_counts_its_last_arc(tmp_path):
    """It is complete, and nothing is left to do: steps and events of the arc under way were not counted once."""
    ball, options = ss.library.bouncing_ball(), {"stepper": "event-driven", "dt": 0.1, "t_end": 0.6}

    def stop(steps):
        if steps == 6:
            raise KeyboardInterrupt

    part = ball.simulate(progress=stop, out=tmp_path / "run.nc", **options)
    assert part.complete and len(part) == 7
    again = ball.simulate(progress=False, out=tmp_path / "run.nc", resume=True, **options)
    whole = ball.simulate(progress=False, **options)
    assert again.attributes.pop("resumed").endswith("nothing was left to do")
    assert again.attributes == whole.attributes and str(again.events()) == str(whole.events())
