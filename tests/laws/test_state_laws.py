"""Coefficients that depend on coordinates, time and the approach, against closed forms."""

import math

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import stickslip as ss
from stickslip.mechanisms.system import LawError
from tests.analysis.test_saltation import differences, followed

G = 9.81
x, y, vx, vy, t = sp.symbols("x y vx vy t")
m, g, mu0, k, rate, a = sp.symbols("m g mu0 k rate a")
v = sp.Symbol("v", nonnegative=True)
STEPPERS = ("moreau-midpoint", "moreau-jean", "stewart-trinkle", "paoli-schatzman")


def sled():
    """A point mass above a floor: friction mu0 (1 + k x + rate t), restitution 1 - a v^(1/5)."""
    floor = ss.Contact(
        "floor",
        gap=y,
        slip=x,
        friction=mu0 * (1 + k * x + rate * t),
        restitution_normal=ss.RestitutionCurve(1 - a * v ** sp.Rational(1, 5), v),
    )
    return ss.LagrangianSystem.from_energies(
        [x, y],
        velocities=[vx, vy],
        kinetic=m * (vx**2 + vy**2) / 2,
        potential=m * g * y,
        parameters={m: 2.0, g: G, mu0: 0.3, k: 0.8, rate: 0.0, a: 0.3},
        contacts=[floor],
        name="sled",
    )


@pytest.fixture(scope="module")
def system():
    return sled()


def stopping_distance(v0, mu=0.3, slope=0.8):
    """v dv/dx = -mu g (1 + slope x): v0^2/2 = mu g (d + slope d^2/2)."""
    return (-1.0 + math.sqrt(1.0 + slope * v0**2 / (mu * G))) / slope


def bounces(height, count, loss=0.3):
    """Times, speeds before and after the first impacts of a ball dropped from a height."""
    speed, found = math.sqrt(2 * G * height), []
    time = speed / G
    for _ in range(count):
        after = (1.0 - loss * speed**0.2) * speed
        found.append((time, -speed, after))
        speed, time = after, time + 2 * after / G
    return np.array(found).T


# -- friction that depends on the place -------------------------------------------------------------------------------


@pytest.mark.parametrize(("stepper", "tol"), [("moreau-midpoint", 1e-5), ("event-driven", 1e-10)])
def test_a_block_on_a_floor_that_gets_rougher_stops_in_closed_form(system, stepper, tol):
    run = ss.simulate(system, [0, 0], [3, 0], dt=2e-3, t_end=1.5, stepper=stepper)
    assert run.complete and run.q[-1, 0] == pytest.approx(stopping_distance(3.0), abs=tol)
    assert not run.u[-1].any()
    assert run.attributes["state_laws"].startswith("floor: friction = mu0*")


def test_both_engines_have_the_same_bits(system):
    runs = [
        ss.simulate(system, [0, 0.1], [3, 0], dt=5e-3, t_end=0.6, engine=engine) for engine in ("compiled", "reference")
    ]
    assert np.array_equal(runs[0].q, runs[1].q) and np.array_equal(runs[0].u, runs[1].u)


@pytest.mark.parametrize("stepper", STEPPERS)
def test_every_stepper_stops_the_block(system, stepper):
    errors = []
    for dt in (1e-2, 5e-3):
        run = ss.simulate(system, [0, 0], [3, 0], dt=dt, t_end=1.5, stepper=stepper, engine="reference")
        errors.append(abs(run.q[-1, 0] - stopping_distance(3.0)))
    assert errors[1] < 6e-3 and errors[1] < 0.75 * errors[0]


@pytest.mark.slow
@pytest.mark.parametrize("stepper", [*STEPPERS, "adaptive"])
def test_every_stepper_compiled(system, stepper):
    dt, drop = 1e-2 if stepper == "adaptive" else 1e-4, 0.5
    slide = ss.simulate(system, [0, 0], [3, 0], dt=dt, t_end=1.5, stepper=stepper)
    assert slide.q[-1, 0] == pytest.approx(stopping_distance(3.0), abs=2e-4)
    fall = ss.simulate(system, [0, drop], [0, 0], dt=dt, t_end=1.2, stepper=stepper)
    times, _, after = bounces(drop, 4)
    hits = fall.impacts()
    assert hits["time"][:4] == pytest.approx(times, abs=2e-3)
    assert hits["normal_velocity_after"][:4] == pytest.approx(after, abs=2e-3)


def test_a_patch_of_ice_is_met_where_it_begins():
    """A jump of the friction is an event: 0.5 up to x = 1/2, 0.1 behind."""
    patch = sp.Piecewise((sp.Float(0.1), x > sp.Rational(1, 2)), (sp.Float(0.5), True))
    floor = ss.LagrangianSystem.from_energies(
        [x],
        velocities=[vx],
        kinetic=vx**2 / 2,
        contacts=[ss.DryFriction("floor", x, patch * G)],
    )
    run = ss.simulate(floor, [0.0], [3.0], dt=1e-2, t_end=4.0, stepper="event-driven")
    assert run.q[-1, 0] == pytest.approx(0.5 + (4.5 - 0.25 * G) / (0.1 * G), abs=1e-12)
    kinks = [float(row) for row, kind in zip(run.events()["time"], run.events()["kind"], strict=True) if kind == "kink"]
    assert kinks == pytest.approx([(3 - math.sqrt(9 - 0.5 * G)) / (0.5 * G)], abs=1e-12)


# -- friction that depends on time ------------------------------------------------------------------------------------


def test_an_oscillator_on_a_belt_lets_go_when_its_friction_has_faded():
    """Friction mu g (1 - b t) drags it, x'' + w^2 x = mu g (1 - b t), until it is as fast as the belt.

    Then it sticks until c x = mu g (1 - b t), with x = x_s + belt (t - t_s).
    """
    c, belt, b, mu = 40.0, 0.5, 0.2, 0.4
    system = ss.LagrangianSystem.from_energies(
        [x],
        velocities=[vx],
        kinetic=vx**2 / 2,
        potential=c * x**2 / 2,
        contacts=[ss.DryFriction("belt", x - belt * t, mu * G * (1 - b * t))],
        time=t,
    )
    run = ss.simulate(system, [0.0], [0.0], dt=1e-2, t_end=0.4, stepper="event-driven")
    w, mean = math.sqrt(c), mu * G / c

    def place(s):
        return mean * (1 - b * s - math.cos(w * s) + b / w * math.sin(w * s))

    def velocity(s):
        return mean * (-b + w * math.sin(w * s) + b * math.cos(w * s))

    sticks = brentq(lambda s: velocity(s) - belt, 0.0, 0.25)
    slips = (mu * G - c * (place(sticks) - belt * sticks)) / (c * belt + mu * G * b)
    events = run.events()
    assert list(events["kind"]) == ["sticks", "slips"]
    assert events["time"] == pytest.approx([sticks, slips], abs=1e-9)
    early = run.t < sticks
    assert run.q[early, 0] == pytest.approx([place(s) for s in run.t[early]], abs=1e-9)
    stepped = ss.simulate(system, [0.0], [0.0], dt=1e-3, t_end=0.4, engine="reference")
    assert stepped.q[-1, 0] == pytest.approx(run.q[-1, 0], abs=1e-5)


# -- restitution that depends on the approach -------------------------------------------------------------------------


def test_a_ball_loses_more_in_faster_impacts(system):
    run = ss.simulate(system, [0, 1.0], [0, 0], dt=1e-2, t_end=2.0, stepper="event-driven")
    times, before, after = bounces(1.0, 7)
    hits = run.impacts()
    assert hits["time"][:7] == pytest.approx(times, abs=1e-12)
    assert hits["normal_velocity_before"][:7] == pytest.approx(before, abs=1e-12)
    assert hits["normal_velocity_after"][:7] == pytest.approx(after, abs=1e-12)


@pytest.mark.parametrize("stepper", STEPPERS)
def test_every_stepper_rebounds_with_the_speed_it_came_with(system, stepper):
    run = ss.simulate(system, [0, 0.2], [0, 0], dt=1e-3, t_end=0.5, stepper=stepper, engine="reference")
    hits = run.impacts()
    before, after = hits["normal_velocity_before"][0], hits["normal_velocity_after"][0]
    assert after == pytest.approx((1 - 0.3 * abs(before) ** 0.2) * -before, abs=2.5e-2)
    assert before == pytest.approx(-math.sqrt(2 * G * 0.2), abs=2e-2)


def test_impacts_and_their_stacks(system):
    speeds = np.array([0.5, 1.0, 2.0])
    stack = ss.impact(system, [0.0, 0.0], np.stack([np.zeros(3), -speeds], axis=-1))
    expected = (1 - 0.3 * speeds**0.2) * speeds
    assert stack.normal_velocity_after[:, 0] == pytest.approx(expected, rel=1e-14)
    assert ss.impact(system, [0.0, 0.0], [0.0, -2.0]).normal_velocity_after[0] == pytest.approx(expected[2], rel=1e-14)


def test_restitution_of_the_load():
    """A curve over the impulse m v that stops the approach: both masses rebound alike from equal impulses."""
    load = sp.Symbol("w", positive=True)
    curve = ss.RestitutionCurve(sp.exp(-load * v), v, mass=load)
    ball = ss.LagrangianSystem.from_energies(
        [y],
        velocities=[vy],
        kinetic=m * vy**2 / 2,
        parameters={m: 2.0},
        contacts=[ss.Stop("floor", y, 0, restitution=curve)],
    )
    for mass, speed in ((2.0, 0.3), (0.5, 1.2)):
        hit = ss.impact(ball, [0.0], [-speed], params={"m": mass})
        assert hit.normal_velocity_after[0] == pytest.approx(math.exp(-0.6) * speed, rel=1e-14)


def test_ensembles_take_the_steps_of_single_runs(system):
    start = ss.Scenario(system, np.array([0, 0.3]), np.array([2.0, 0]), dt=2e-3, t_end=0.7, title="", source="")
    members = ss.ensemble(start, {"a": [0.1, 0.3], "k": [0.0, 0.8]}, observe="final")
    for i, loss in enumerate((0.1, 0.3)):
        for j, slope in enumerate((0.0, 0.8)):
            run = start.simulate(params={"a": loss, "k": slope})
            assert members["final_q"][i, j].values.tolist() == run.q[-1].tolist()
            assert members["final_u"][i, j].values.tolist() == run.u[-1].tolist()


# -- derivatives ------------------------------------------------------------------------------------------------------


def test_the_derivative_of_a_motion_has_those_of_its_coefficients(system):
    """Slides, hops and slides again: dx(t)/dx(0) with mu(x, t) and eps(v) against differences of the motion."""
    start, params = ([0.1, 0.05], [3.0, 0.2]), {"rate": 0.5}
    _, _, Phi = followed(system, *start, 0.4, params)
    assert Phi == pytest.approx(differences(system, *start, 0.4, params), abs=2e-6)


@pytest.mark.slow
def test_a_ball_bounces_on_a_table_once_a_period():
    """Period 1: g T/2 - A w cos(phi) = eps(v) v with v = g T/2 + A w cos(phi); its multipliers by differences."""
    A, f = 0.0025, 25.0
    w, T = 2 * math.pi * f, 1 / f
    table = ss.Contact(
        "table",
        gap=y - A * sp.sin(w * t),
        restitution_normal=ss.RestitutionCurve(1 - a * v ** sp.Rational(1, 5), v),
    )
    ball = ss.LagrangianSystem.from_energies(
        [y], velocities=[vy], kinetic=vy**2 / 2, potential=G * y, parameters={a: 0.35}, contacts=[table], time=t
    )

    def off(cosine):
        speed = G * T / 2 + A * w * cosine
        return G * T / 2 - A * w * cosine - (1 - 0.35 * speed**0.2) * speed

    cosine = brentq(off, 0.0, 1.0)
    phase = math.acos(cosine) / w
    up, height = G * T / 2, A * math.sin(w * phase)
    after = T - phase  # of the strobe at t = 0, behind the impact at phase - T
    start = ss.Scenario(
        ball,
        np.array([height + up * after - G * after**2 / 2]),
        np.array([up - G * after]),
        dt=T / 100,
        t_end=T,
        title="",
        source="",
    )
    cycle = ss.limit_cycle(start, section=f"every:{T!r}", settle_returns=0)
    assert cycle.q == pytest.approx(start.q0, abs=1e-8) and cycle.u == pytest.approx(start.u0, abs=1e-6)
    Phi = differences(ball, start.q0, start.u0, T)
    expected = np.linalg.eigvals(Phi)
    assert sorted(np.abs(cycle.multipliers)) == pytest.approx(sorted(np.abs(expected)), abs=1e-5)


# -- bad laws ---------------------------------------------------------------------------------------------------------


def test_laws_that_contradict_themselves_are_refused(system):
    with pytest.raises(
        ValueError, match=r"friction = mu0.* of contact 'floor' must be finite and not negative, got -0\.3"
    ):
        ss.simulate(system, [-2.5, 0], [1, 0], dt=1e-3, t_end=1.0)
    with pytest.raises(LawError, match="restitution_normal"):
        system.laws_at([0.0, 0.0], 0.0, u=[0.0, -500.0], of=[0])
    with pytest.raises(ValueError, match="may depend on coordinates, time, parameters only, but contains 'vx'"):
        ss.LagrangianSystem.from_energies(
            [x], velocities=[vx], kinetic=vx**2 / 2, contacts=[ss.DryFriction("belt", x, 1 + vx)]
        )
    with pytest.raises(ValueError, match="threshold of contact 'hold' may depend on parameters only"):
        ss.LagrangianSystem.from_energies(
            [x], velocities=[vx], kinetic=vx**2 / 2, contacts=[ss.PrestressedSpring("hold", x, 1 + x**2)]
        )
    with pytest.raises(ValueError, match="speed of RestitutionCurve must be the symbol"):
        ss.RestitutionCurve(1 - a, v)
    with pytest.raises(ValueError, match="RestitutionCurve belongs to restitution_normal="):
        ss.Contact("floor", gap=y, slip=x, friction=ss.RestitutionCurve(1 - a * v, v))


@pytest.mark.parametrize(
    ("stepper", "engine"), [("moreau-midpoint", "compiled"), ("moreau-midpoint", "reference"), ("event-driven", "auto")]
)
def test_a_run_stops_where_a_coefficient_leaves_its_range(system, stepper, engine):
    run = ss.simulate(
        system, [0, 0], [3, 0], dt=1e-2, t_end=1.0, params={"k": -2.0, "mu0": 0.1}, stepper=stepper, engine=engine
    )
    assert not run.complete
    assert "friction = mu0*" in run.status and "must be finite and not negative, got -" in run.status
    assert run.q[-1, 0] < 0.51


def test_energy_bounds_say_what_they_assume(system):
    anywhere, here = ss.energy_bound(system), ss.energy_bound(system, [0.0, 0.0])
    assert anywhere.verdict == "not excluded" and "depends on the state" in anywhere.reason
    assert here.cannot_gain and "whatever restitution in [0, 1] their speeds give" in here.reason


# -- files and functions ----------------------------------------------------------------------------------------------


def test_a_model_file_has_laws_of_state(system):
    start = ss.Scenario(system, np.array([0, 0.3]), np.array([2.0, 0]), dt=2e-3, t_end=0.2, title="Sled", source="test")
    text = ss.model_text(start)
    assert 'law = "speed"' in text and "mu0*(k*x + rate*t + 1)" in text
    again = ss.model_from_text(text, "sled.toml").scenario
    assert again.system.source() == system.source() and again.system.state_laws == system.state_laws


def test_coefficients_may_be_functions():
    """mu(q, t, p) as a function, on a system of functions: the closed form of the floor that gets rougher."""

    def rough(q, t, p):
        return p[0] * (1.0 + 0.8 * q[0])

    block = ss.LagrangianSystem(
        mass=[[2.0, 0.0], [0.0, 2.0]],
        force=lambda q, u, t, p: (0.0, -2.0 * 9.81),
        contacts=[
            ss.Contact("floor", gap=lambda q, t, p: q[1], normal=[0, 1], tangent=[1, 0], friction=rough),
        ],
        coordinates=["x", "y"],
        parameters={"mu0": 0.3},
    )
    run = ss.simulate(block, [0, 0], [3, 0], dt=5e-3, t_end=1.5, engine="reference")
    assert run.q[-1, 0] == pytest.approx(stopping_distance(3.0), abs=1e-4)
    named = ss.Contact("floor", gap=lambda q, t, p: q[1], normal=[0, 1], tangent=[1, 0], friction=mu0 * (1 + 0.8 * x))
    again = ss.LagrangianSystem(
        mass=[[2.0, 0.0], [0.0, 2.0]],
        force=lambda q, u, t, p: (0.0, -2.0 * 9.81),
        contacts=[named],
        coordinates=["x", "y"],
        parameters={"mu0": 0.3},
    )
    assert again.laws_at([0.5, 0.0], 0.0)[0] == pytest.approx([0.3 * 1.4])


def test_a_friction_law_with_parameters_of_the_place():
    """Static and kinetic coefficients fall along a slope: the block sticks until its static one is used up."""
    ramp = ss.Contact("ramp", gap=y, slip=x, friction=ss.TwoCoefficient(1 - t / 4, sp.Rational(1, 2) - t / 8))
    block = ss.LagrangianSystem.from_energies(
        [x, y],
        velocities=[vx, vy],
        kinetic=(vx**2 + vy**2) / 2,
        potential=G * y - G * x * sp.Rational(3, 5),
        contacts=[ramp],
        time=t,
    )
    run = ss.simulate(block, [0, 0], [0, 0], dt=1e-2, t_end=2.0, stepper="event-driven")
    events = run.events()
    begins = float(events["time"][list(events["kind"]).index("slips")])
    assert begins == pytest.approx(1.6, abs=1e-9)  # 1 - t/4 = 3/5
    late = 2.0 - begins  # v' = g (3/5 - 1/2 + t/8)
    assert run.u[-1, 0] == pytest.approx(G * (0.1 * late + (4.0 - begins**2) / 16), abs=1e-9)
    stepped = ss.simulate(block, [0, 0], [0, 0], dt=1e-2, t_end=2.0, engine="reference")
    assert stepped.u[-1, 0] == pytest.approx(run.u[-1, 0], abs=5e-2)


def cam(constrained):
    """A bar whose centre a cam moves to and fro, x = 0.3 sin p: with a constraint, or without x.

    Restitution depends on the load.
    """
    z, angle, vz, w = sp.symbols("z angle vz w")
    load = sp.Symbol("load")
    here, speed = 0.3 * sp.sin(angle), 0.3 * sp.cos(angle) * w
    place = x if constrained else here
    tip = ss.Contact(
        "tip",
        gap=z + 0.5 * sp.sin(angle),
        slip=place + 0.5 * sp.cos(angle),
        friction=0.3,
        restitution_normal=ss.RestitutionCurve(sp.exp(-load * v / 2), v, load),
    )
    rows = [ss.Constraint(name, equation=size * (x - here)) for name, size in (("cam", 1), ("again", 2))]
    return ss.LagrangianSystem.from_energies(
        [x, z, angle] if constrained else [z, angle],
        velocities=[vx, vz, w] if constrained else [vz, w],
        kinetic=0.65 * ((vx if constrained else speed) ** 2 + vz**2) + w**2 / 10,
        potential=1.3 * G * z,
        contacts=[tip],
        constraints=rows if constrained else [],
    )


def test_constraints_add_to_the_inertia_that_a_contact_feels():
    """An impact with a constraint, written twice, is that of minimal coordinates, under every law."""
    angle, turns = -0.4, -1.0
    place, speed = [-0.5 * math.sin(angle), angle], [-1.5, turns]
    for law in (ss.Newton(), ss.Poisson(), ss.Stronge()):
        least = ss.impact(cam(False), place, speed, law)
        more = ss.impact(cam(True), [0.3 * math.sin(angle), *place], [0.3 * math.cos(angle) * turns, *speed], law)
        np.testing.assert_allclose(more.u[1:], least.u, rtol=1e-13)
        np.testing.assert_allclose(more.normal_impulse[0], least.normal_impulse[0], rtol=1e-13)


@pytest.mark.parametrize("stepper", ["moreau-midpoint", "paoli-schatzman"])
def test_both_engines_have_one_impact_with_a_constraint(stepper):
    """The kernel and the reference agree in the approach speed and in the inertia of a constrained impact."""
    start = [0.3 * math.sin(0.4), 0.2, 0.4], [0.3 * math.cos(0.4), -2.0, 1.0]
    run, other = (
        ss.simulate(cam(True), *start, dt=4e-3, t_end=0.4, stepper=stepper, engine=engine)
        for engine in ("compiled", "reference")
    )
    assert run.complete and 0.0 in run.impacts()["contact"]
    np.testing.assert_allclose(run.u, other.u, rtol=0.0, atol=1e-10)


def test_friction_that_falls_with_speed_beside_a_constraint():
    """A sled with Stribeck's law, linked to a heavier mass, event by event: stops as in one coordinate, by SciPy."""
    z, w = sp.symbols("z w")
    floor = ss.Contact("floor", gap=y, slip=x, friction=ss.Stribeck(0.4 * (1 + 0.1 * x), 0.2, velocity=0.5))
    system = ss.LagrangianSystem.from_energies(
        [x, y, z],
        velocities=[vx, vy, w],
        kinetic=(vx**2 + vy**2) / 2 + w**2,
        potential=G * y,
        contacts=[floor],
        constraints=[ss.Constraint("link", equation=z - sp.sin(x))],
    )

    def rates(_, state):
        place, speed = state
        mu = 0.2 + (0.4 * (1 + 0.1 * place) - 0.2) * np.exp(-speed / 0.5)
        slope, bend = np.cos(place), -np.sin(place)  # z' = slope x', z'' = slope x'' + bend x'^2
        return [speed, -(mu * G + 2 * slope * bend * speed**2) / (1 + 2 * slope**2)]

    def rests(_, state):
        return state[1] - 1e-9

    rests.terminal = True
    exact = solve_ivp(rates, (0, 2), [0, 1.5], events=rests, rtol=1e-10, atol=1e-12)
    run = ss.simulate(system, [0, 0, 0], [1.5, 0, 1.5], dt=0.01, t_end=2.0, stepper="event-driven")
    assert run.complete and exact.t_events[0].size == 1
    assert abs(run.q[-1, 0] - exact.y[0, -1]) < 1e-7 and abs(run.u[-1, 0]) < 1e-12
    slow = ss.simulate(system, [0, 0, 0], [1.5, 0, 1.5], dt=1e-2, t_end=2.0, engine="reference")
    assert abs(slow.q[-1, 0] - exact.y[0, -1]) < 3e-3


def test_event_driven_ends_right_where_a_coefficient_leaves_its_range():
    # friction 0.5 (1 - x) is used up at x = 1, which the sled passes with v^2 = 16 - g/2
    x, y, v, w = sp.symbols("x y v w")
    sled = ss.LagrangianSystem.from_energies(
        [x, y],
        velocities=[v, w],
        kinetic=(v**2 + w**2) / 2,
        potential=9.81 * y,
        contacts=[ss.Contact("floor", gap=y, slip=x, friction=0.5 * (1 - x))],
    )
    run = ss.simulate(sled, [0.0, 0.0], [4.0, 0.0], dt=1e-3, t_end=1.0, stepper="event-driven")
    k = math.sqrt(9.81 / 2)  # x - 1 = -cosh(k t) + (4/k) sinh(k t)
    end = math.atanh(k / 4) / k
    assert "must be finite and not negative" in run.status
    assert float(run.status.split()[4]) == pytest.approx(end, abs=1e-8)
    assert run.t[-1] == pytest.approx(end, abs=1e-3)
    assert run.u[-1, 0] == pytest.approx(math.sqrt(16 - 9.81 / 2), abs=1e-2)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_a_restitution_that_leaves_its_range_at_rest_is_told_on_position_level(engine):
    """A sled that slides without an approach: there `paoli-schatzman` takes no restitution, and judges it still."""
    floor = ss.Contact("floor", gap=y, slip=x, friction=0.1, restitution_normal=0.5 - x)
    sled = ss.LagrangianSystem.from_energies(
        [x, y], velocities=[vx, vy], kinetic=(vx**2 + vy**2) / 2, potential=10 * y, contacts=[floor], name="sled"
    )
    run = ss.simulate(sled, [0, 0], [3.0, 0], dt=0.01, t_end=1.0, stepper="paoli-schatzman", engine=engine)
    assert (
        run.t[-1] == pytest.approx(0.18) and "restitution_normal = 0.5 - x of contact 'floor' must lie in" in run.status
    )
