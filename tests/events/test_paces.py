"""Short pulses in time are not stepped over, however long the steps are beside them."""

import math
from dataclasses import replace

import pytest
import sympy as sp

import stickslip as ss

x, v, a, b, c, t = sp.symbols("x v a b c t")


def test_a_short_pulse_moves_a_block_at_rest():
    """Slip lasts as long as the pulse, c.  So x is c^2 times a function of a and b: x_c = 2 x / c.

    The step grew to the length of the run, and the block stayed where it was below c = 0.05 s.
    """
    force = b * sp.exp(-(((t - sp.Rational(12345, 10000)) / c) ** 2))
    system = ss.LagrangianSystem.from_energies(
        [x], velocities=[v], kinetic=v**2 / 2, contacts=[ss.DryFriction("pad", x, a)], forces=[force], time=t,
        parameters={a: 1.0, b: 3.0, c: 0.2}, name="pushed",
    )  # fmt: skip
    start, found = ss.Scenario(system, [0.0], [0.0], 0.01, 3.0), []
    for length in (0.2, 1e-3):
        s = ss.sensitivity(start, ["a", "b", "c"], params={"c": length}, samples=2)
        assert s.reliable and s.event_times.kinds == ("slips", "sticks")
        way = float(s.trajectory.q[-1, 0])
        assert s.end[0, 2] == pytest.approx(2.0 * way / length, rel=1e-9)
        begin = 1.2345 - length * math.sqrt(math.log(3.0))  # where b exp(-((t - t_0) / c)^2) = a
        assert s.event_times.t[0] == pytest.approx(begin, rel=1e-12)
        found.append([way / length**2, *(s.end[0, :2] / length**2)])
    assert found[1] == pytest.approx(found[0], rel=1e-8)


GAUSS = "hill of exp", lambda s: sp.exp(-(s**2)), lambda s: math.exp(-s * s)
POWER = "hill of a power", lambda s: (1 + s**2) ** -3, lambda s: (1.0 + s * s) ** -3


@pytest.mark.parametrize(("name", "of", "number"), [GAUSS, POWER], ids=["exp", "power"])
def test_a_narrow_hill_delays_a_particle(name, of, number):
    """v^2 / 2 + a hill((x - x_0) / c) = 1 / 2: the delay behind the hill is c times a function of a.

    Of a power with c = 1e-4 the hill was not seen at all, and the derivative by a was zero and called reliable.
    """
    from scipy.integrate import quad

    width = 0.002 if name == GAUSS[0] else 1e-4
    hill = a * of((x - sp.Rational(2345, 1000)) / c)
    system = ss.LagrangianSystem.from_energies(
        [x], velocities=[v], kinetic=v**2 / 2, potential=hill, parameters={a: 0.1, c: width}, name=name,
        contacts=[ss.Contact("far", gap=x + 9)],
    )  # fmt: skip
    s = ss.sensitivity(ss.Scenario(system, [0.0], [1.0], 0.01, 6.0), ["a", "c"], samples=2)

    def delayed(s):
        return 1.0 / math.sqrt(1.0 - 0.2 * number(s)) - 1.0

    def by_a(s):
        return number(s) * (1.0 - 0.2 * number(s)) ** -1.5

    delay, slope = (2.0 * quad(f, 0.0, 1000.0, epsabs=1e-14, points=[1.0, 7.0, 50.0])[0] for f in (delayed, by_a))
    assert s.reliable and s.trajectory.q[-1, 0] == pytest.approx(6.0 - width * delay, abs=1e-10)
    assert s.end[0] == pytest.approx([-width * slope, -delay], rel=1e-6, abs=1e-9)


def test_terms_that_cancel_hide_nothing():
    """On a circle x^2 + y^2 stays, bounds of its terms do not: each step was halved to 1e-9 s, without end."""
    y, w = sp.symbols("y w")
    turning = ss.LagrangianSystem.from_energies(
        [x, y], velocities=[v, w], kinetic=(v**2 + w**2) / 2, potential=-a * sp.exp(-(x**2) - y**2),
        parameters={a: 0.5 * math.e}, name="turning", contacts=[ss.Contact("far", gap=x + 9)],
    )  # fmt: skip
    run = ss.simulate(turning, [1.0, 0.0], [0.0, 1.0], dt=1e-5, t_end=0.1, stepper="event-driven", time_limit=2.0)
    assert run.complete
    assert run.q[-1] == pytest.approx([math.cos(0.1), math.sin(0.1)], abs=1e-9)


def test_short_pulses_and_corners_are_seen_with_two_tangents():
    """A puck at rest on a floor that pulses push: its way is c^2 times a number; it stayed where it was.

    Thrown, it is slowed by -b max(0, v_x - 1/2) as well, and by friction: v' = -1 - b (v - 1/2) by hand.
    """
    y, z, w, r = sp.symbols("y z w r")
    pulse = 3 * sp.exp(-(((t - sp.Rational(12345, 10000)) / c) ** 2))
    system = ss.LagrangianSystem.from_energies(
        [x, y, z], velocities=[v, w, r], kinetic=(v**2 + w**2 + r**2) / 2, potential=10 * z, time=t,
        contacts=[ss.Contact("floor", gap=z, slip=[x, y], friction=0.1)], parameters={a: 1.0, b: 0.0, c: 0.2},
        forces=[a * pulse - b * sp.Max(0, v - sp.Rational(1, 2)), 0, 0], name="puck",
    )  # fmt: skip
    start, ways = ss.Scenario(system, [0.0] * 3, [0.0] * 3, 0.01, 3.0), []
    for length in (0.2, 1e-3):
        run = replace(start, params={"c": length}).simulate(dt=3.0, stepper="event-driven", progress=False)
        ways.append(float(run.q[-1, 0]) / length**2)
    assert ways[0] > 1.0 and ways[1] == pytest.approx(ways[0], rel=1e-6)
    thrown = replace(start, u0=[1.0, 0.0, 0.0], params={"a": 0.0, "b": 20.0})
    run = thrown.simulate(dt=0.4, t_end=0.4, stepper="event-driven", progress=False)
    turn = math.log(11.0) / 20.0  # v - 1/2 + 1/20 falls from 0.55 to 0.05
    way = 0.45 * turn + 0.5 / 20.0 + 0.5 * (0.4 - turn) - (0.4 - turn) ** 2 / 2.0
    assert run.q[-1, 0] == pytest.approx(way, abs=1e-11)


def test_no_step_is_longer_than_asked_for():
    ball, puck = ss.library.bouncing_ball(), ss.library.sliding_ball()
    for case in (ball, puck):
        walk = ss.EventDriven(max_step=0.03).arcs(case.system, case.q0, case.u0, t_end=0.3)
        assert 10 <= sum(1 for arc in walk if 0.0 < arc.t_E - arc.t_A <= 0.03 * (1.0 + 1e-12))


@pytest.mark.slow
def test_a_bound_of_steps_finds_a_pulse_in_a_function():
    """Functions of users are not searched; SciPy's `solve_ivp` steps over the same pulse, but for `max_step`."""
    from scipy.integrate import solve_ivp

    def force(t):
        return math.exp(-(((t - 1.2345) / 0.005) ** 2))

    system = ss.LagrangianSystem(
        mass=lambda q, t, p: [[1.0]], force=lambda q, u, t, p: [force(t)], coordinates=["x"], name="pushed",
        contacts=[ss.Contact("far", gap=lambda q, t, p: q[0] + 9.0, normal=lambda q, t, p: [1.0])],
    )  # fmt: skip
    push = 0.005 * math.sqrt(math.pi)
    for most, speed in ((None, 0.0), (0.01, push)):
        run = ss.simulate(system, [0.0], [0.0], dt=3.0, t_end=3.0, stepper=ss.EventDriven(max_step=most))
        assert run.u[-1, 0] == pytest.approx(speed, rel=1e-8, abs=1e-12)
        peer = solve_ivp(
            lambda t, y: [y[1], force(t)], (0.0, 3.0), [0.0, 0.0], "DOP853", rtol=1e-10, atol=1e-13,
            max_step=most or math.inf,
        )  # fmt: skip
        assert peer.y[1, -1] == pytest.approx(speed, rel=1e-8, abs=1e-12)


def test_a_narrow_strip_of_rough_floor_is_not_stepped_over():
    """v^2 / 2 = 9 / 2 - g (a x + b c sqrt(pi)) behind a strip: its derivative by b was zero, and called reliable."""
    y, w = sp.symbols("y w")
    floor = ss.Contact("floor", gap=y, slip=x, friction=a + b * sp.exp(-(((x - 1) / c) ** 2)))
    system = ss.LagrangianSystem.from_energies(
        [x, y], velocities=[v, w], kinetic=(v**2 + w**2) / 2, potential=10 * y, contacts=[floor],
        parameters={a: 0.05, b: 0.5, c: 1e-3}, name="strip",
    )  # fmt: skip
    start = ss.Scenario(system, [0.0, 0.0], [3.0, 0.0], 0.01, 0.8)
    for width in (1e-3, 1e-4):
        s = ss.sensitivity(start, ["b"], params={"c": width}, samples=2)
        (place, _), (speed, _), strip = s.trajectory.q[-1], s.trajectory.u[-1], width * math.sqrt(math.pi)
        assert s.reliable and speed**2 / 2 == pytest.approx(4.5 - 0.5 * place - 5 * strip, abs=1e-10)
        assert speed * s.end[2, 0] + 0.5 * s.end[0, 0] == pytest.approx(-10 * strip, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("width", [0.1, 0.01, 1e-3])
def test_friction_that_peaks_at_a_speed_is_not_stepped_over(width):
    """t = integral of dv / (g mu(v))."""
    from scipy.integrate import quad
    from scipy.optimize import brentq

    y, w, speed = sp.symbols("y w speed")
    curve = ss.FrictionCurve(a + b * sp.exp(-(((speed - 2) / c) ** 2)), speed)
    system = ss.LagrangianSystem.from_energies(
        [x, y], velocities=[v, w], kinetic=(v**2 + w**2) / 2, potential=10 * y, name="peak",
        contacts=[ss.Contact("floor", gap=y, slip=x, friction=curve)], parameters={a: 0.1, b: 0.5, c: width},
    )  # fmt: skip
    s = ss.sensitivity(ss.Scenario(system, [0.0, 0.0], [3.0, 0.0], 0.01, 1.5), ["b"], samples=2)

    def integral(of, low):
        near = [2 - 8 * width, 2 - width, 2, 2 + width, 2 + 8 * width]
        return quad(of, low, 3.0, points=near, epsabs=1e-14, limit=500)[0]

    def peak(v):
        return math.exp(-(((v - 2) / width) ** 2))

    def mu(v):
        return 0.1 + 0.5 * peak(v)

    end = brentq(lambda low: integral(lambda v: 0.1 / mu(v), low) - 1.5, 1.0, 1.9, xtol=1e-14)
    slope = mu(end) * integral(lambda v: -peak(v) / mu(v) ** 2, end)
    assert s.reliable and s.trajectory.u[-1, 0] == pytest.approx(end, abs=1e-9)
    assert s.end[2, 0] == pytest.approx(slope, rel=1e-6)
