"""Rectifiers, clippers and converters beside their closed forms."""

import math

import numpy as np
import pytest
import sympy as sp

import stickslip as ss
from stickslip.circuits import PWM
from tests.circuits.networks import (
    CONTROL_PERIOD,
    OMEGA,
    PERIOD,
    bridge,
    buck,
    controlled_buck,
    half_wave,
    mean,
    require_clean,
    sine,
)

# i = U / Z [sin(x - p) + sin p exp(-x / tan p)], tan p = w L / R
HALF_WAVE = {"extinction": 4.2035747706 / OMEGA, "mean": 2.3668600229, "rms": 3.3794105333, "peak": 6.2812121807}


def test_half_wave_numbers_satisfy_their_closed_form():
    p, Z = math.atan(OMEGA * 0.05 / 10.0), math.hypot(10.0, OMEGA * 0.05)
    x = OMEGA * HALF_WAVE["extinction"]
    assert abs(math.sin(x - p) + math.sin(p) * math.exp(-x / math.tan(p))) < 1e-9
    assert 100.0 * (1.0 - math.cos(x)) / (2.0 * math.pi * 10.0) == pytest.approx(HALF_WAVE["mean"], abs=1e-9)
    y = 2.4624563304
    peak = 100.0 / Z * (math.sin(y - p) + math.sin(p) * math.exp(-y / math.tan(p)))
    assert peak == pytest.approx(HALF_WAVE["peak"], abs=1e-9)


@pytest.mark.parametrize(
    ("theta", "steps", "error"),
    [(0.5, 200, -1.7e-4), (0.5, 400, -3.4e-5), (0.5, 800, -1.0e-5), (1.0, 200, -8.4e-3), (1.0, 400, -4.2e-3)],
)
def test_half_wave_mean_current_has_the_error_of_its_rule(theta, steps, error):
    run = half_wave().simulate(dt=PERIOD / steps, t_end=PERIOD, theta=theta)
    require_clean(run)
    assert mean(run, run.current("L"), PERIOD) - HALF_WAVE["mean"] == pytest.approx(error, rel=0.06)


@pytest.mark.parametrize(("locate", "close"), [(False, 2e-8), (True, 2e-7)])
def test_half_wave_extinction_peak_and_rms(locate, close):
    run = half_wave().simulate(dt=PERIOD / 400, t_end=0.9 * PERIOD, locate=locate)
    require_clean(run)
    assert run.theta == 0.5
    assert list(run.events["kind"]) == ["blocks"] and list(run.events["element"]) == ["D"]
    assert run.events["time"][0] == pytest.approx(HALF_WAVE["extinction"], abs=close)
    i = run.current("L")
    assert i.max() == pytest.approx(HALF_WAVE["peak"], abs=5e-4)
    assert math.sqrt(np.trapezoid(i * i, run.t) / PERIOD) == pytest.approx(HALF_WAVE["rms"], abs=2e-4)
    assert set(run.mode("D")) == {"conducts", "blocks"}
    after = run.t > HALF_WAVE["extinction"] + run.dt
    np.testing.assert_allclose(run.voltage("D")[after], 100.0 * np.sin(OMEGA * run.t[after]), atol=1e-6)
    assert np.all(run.voltage("D")[after] < 0.0) and np.all(i[after] == 0.0)


def test_a_source_may_be_a_sympy_expression_or_take_single_numbers_only():
    t = sp.Symbol("t")
    runs = []
    for voltage in (sine(100.0), 100 * sp.sin(100 * sp.pi * t), lambda t: 100.0 * math.sin(OMEGA * t)):
        net = ss.Circuit()
        net.source("V", "a", "0", voltage=voltage)
        net.diode("D", "a", "b")
        net.resistor("R", "b", "c", 10.0)
        net.inductor("L", "c", "0", 0.05)
        runs.append(net.simulate(dt=PERIOD / 100, t_end=PERIOD).current("L"))
    np.testing.assert_allclose(runs[1], runs[0], atol=1e-12)
    np.testing.assert_allclose(runs[2], runs[0], atol=1e-12)


def freewheel_errors(steps):
    run = half_wave(freewheel=True).simulate(dt=PERIOD / steps, t_end=8 * PERIOD, locate=True)
    require_clean(run)
    i = run.current("L")
    # i(T/2) = U/Z sin p / (1 - exp(-pi / tan p)), mean U / (pi R)
    exact = 0.7090536433, 5.2392371479, 3.1830988618
    found = i[-1], i[-1 - steps // 2], mean(run, i, PERIOD)
    return np.abs(np.subtract(found, exact))


def test_freewheeling_diode_in_the_steady_state():
    coarse, fine = freewheel_errors(100), freewheel_errors(200)
    assert fine.max() < 4e-4
    assert np.all(fine < 0.3 * coarse)  # second order


def test_freewheeling_diode_is_first_order_without_location():
    run = half_wave(freewheel=True).simulate(dt=PERIOD / 400, t_end=8 * PERIOD)
    require_clean(run)
    assert run.theta == 1.0  # the loop of the second diode has no inductance
    assert run.current("L")[-1] == pytest.approx(0.7090536433, abs=5e-3)


@pytest.mark.parametrize(("locate", "close"), [(False, 1e-3), (True, 1e-8)])
def test_clipper(locate, close):
    net = ss.Circuit("clipper")
    net.source("V", "a", "0", voltage=sine(10.0))
    net.resistor("R", "a", "b", 1e3)
    net.diode("D", "b", "k")
    net.source("E", "k", "0", voltage=4.0)
    run = net.simulate(dt=PERIOD / 400, t_end=PERIOD, locate=locate)
    require_clean(run)
    begin, end = run.events["time"]
    assert (end - begin) * OMEGA == pytest.approx(math.pi - 2.0 * math.asin(0.4), abs=close)
    assert mean(run, run.voltage("D") + run.voltage("E"), PERIOD) == pytest.approx(-1.4413178175, abs=5e-6)
    assert mean(run, run.current("D"), PERIOD) == pytest.approx(1.4413178175e-3, abs=5e-9)


def lc(R=0.0, source=False):
    net = ss.Circuit("LC and diode")
    if source:
        net.source("V", "s", "0", voltage=10.0)
    net.diode("D", "s" if source else "a", "b")
    net.inductor("L", "b", "c" if R else "e", 1e-3)
    if R:
        net.resistor("R", "c", "e", R)
    net.capacitor("C", *(("e", "0") if source else ("a", "e")), 1e-6, voltage=0.0 if source else 10.0)
    return net


HALF = math.pi * math.sqrt(1e-9)  # half an oscillation of L and C


@pytest.mark.parametrize(
    ("theta", "steps", "voltage"),
    [
        (1.0, 50, -9.0619), (1.0, 100, -9.5187), (1.0, 200, -9.7563),
        (0.5, 50, -10.000319), (0.5, 100, -10.000040), (0.5, 200, -10.000005),
    ],
)  # fmt: skip
def test_lc_and_diode_loses_or_gains_what_its_rule_does(theta, steps, voltage):
    run = lc().simulate(dt=HALF / steps, t_end=1.2 * HALF, theta=theta)
    require_clean(run)
    assert run.voltage("C")[-1] == pytest.approx(voltage, abs=1e-4 if theta == 1.0 else 1e-6)
    share = (voltage**2 - 100.0) / 100.0
    assert run.certificate.rule_share == pytest.approx(share, rel=0.05)  # the certificate says it


def test_lc_and_diode_with_its_event_located():
    run = lc().simulate(dt=HALF / 200, t_end=1.2 * HALF, locate=True)
    assert run.voltage("C")[-1] == pytest.approx(-10.0, abs=1e-10)
    assert run.events["time"][0] == pytest.approx(99.345882658e-6, rel=5e-5)
    assert run.current("L").max() == pytest.approx(0.3162277660, abs=1e-8)
    assert run.certificate.rule_share == 0.0


def test_lc_and_diode_with_resistance():
    run = lc(R=10.0).simulate(dt=HALF / 400, t_end=1.2 * HALF, locate=True)
    require_clean(run)
    assert run.events["time"][0] == pytest.approx(100.611486325e-6, rel=2e-5)
    assert run.voltage("C")[-1] == pytest.approx(-6.0467906569, abs=5e-5)
    peak = int(np.argmax(run.current("L")))
    assert run.current("L")[peak] == pytest.approx(0.2522344972, abs=5e-6)
    assert run.t[peak] == pytest.approx(45.220706636e-6, abs=run.dt)
    charged = lc(R=10.0, source=True).simulate(dt=HALF / 400, t_end=1.2 * HALF, locate=True)
    assert charged.voltage("C")[-1] == pytest.approx(16.0467906569, abs=5e-5)


@pytest.mark.parametrize(("steps", "error"), [(400, 8.7e-3), (800, 3.9e-3)])
def test_bridge_with_rc_load_and_no_source_impedance(steps, error):
    run = bridge().simulate(dt=PERIOD / steps, t_end=1.5 * PERIOD)
    require_clean(run)
    v = run.voltage("C")[-steps // 2 - 1 :]
    assert v.min() - 18.3436689306 == pytest.approx(error, rel=0.02)
    assert mean(run, run.voltage("C"), PERIOD / 2) == pytest.approx(19.2013145530, abs=2e-4)
    assert run.current("B")[-steps // 2 :].max() == pytest.approx(2.6870674566, abs=0.06)


def test_bridge_without_impedance_located():
    run = bridge().simulate(dt=PERIOD / 800, t_end=1.5 * PERIOD, locate=True)
    require_clean(run)
    begin = run.events["time"][run.events["kind"] == "conducts"][-1] * OMEGA
    end = run.events["time"][run.events["kind"] == "blocks"][-1] * OMEGA
    assert begin % math.pi == pytest.approx(1.1609534607, abs=1e-5)
    assert end % math.pi == pytest.approx(math.pi - math.atan(OMEGA * 0.1), abs=4e-3)  # first order there: theta = 1
    ripple = 20.0 - 20.0 * math.sin(1.1609534607)
    assert ripple == pytest.approx(1.6563310694, abs=1e-9)
    assert mean(run, run.voltage("C"), PERIOD / 2) == pytest.approx(19.2013145530, abs=1e-5)


BRIDGE_6 = {"start": 1.1746004234, "end": 2.0577656168, "min": 18.40138329, "max": 19.8353155154, "mean": 19.0926208495}


def bridge_with_impedance(steps, periods):
    run = bridge(impedance=True).simulate(dt=PERIOD / steps, t_end=periods * PERIOD, locate=True)
    require_clean(run)
    return run


def test_bridge_behind_an_impedance():
    steps = 200
    run = bridge_with_impedance(steps, 8)
    begin = run.events["time"][run.events["kind"] == "conducts"][-1] * OMEGA
    end = run.events["time"][run.events["kind"] == "blocks"][-1] * OMEGA
    assert begin % math.pi == pytest.approx(BRIDGE_6["start"], abs=1e-3)
    assert end % math.pi == pytest.approx(BRIDGE_6["end"], abs=1e-3)
    v = run.voltage("C")[-steps // 2 - 1 :]
    assert v.min() == pytest.approx(BRIDGE_6["min"], abs=3e-3)
    assert v.max() == pytest.approx(BRIDGE_6["max"], abs=6e-3)
    assert mean(run, run.voltage("C"), PERIOD / 2) == pytest.approx(BRIDGE_6["mean"], abs=6e-3)


@pytest.mark.slow
def test_bridge_behind_an_impedance_in_fine_steps():
    steps = 3200
    run = bridge_with_impedance(steps, 12)
    begin = run.events["time"][run.events["kind"] == "conducts"][-1] * OMEGA
    end = run.events["time"][run.events["kind"] == "blocks"][-1] * OMEGA
    assert begin % math.pi == pytest.approx(BRIDGE_6["start"], abs=3e-6)
    assert end % math.pi == pytest.approx(BRIDGE_6["end"], abs=5e-6)
    v, i = run.voltage("C")[-steps // 2 - 1 :], run.current("V")
    assert v.min() == pytest.approx(BRIDGE_6["min"], abs=2e-5)
    assert v.max() == pytest.approx(BRIDGE_6["max"], abs=3e-5)
    assert mean(run, run.voltage("C"), PERIOD) == pytest.approx(BRIDGE_6["mean"], abs=2e-5)
    peak = int(np.argmax(np.abs(i[-steps // 2 :])))
    assert np.abs(i[-steps // 2 :])[peak] == pytest.approx(1.1853647959, abs=1e-5)
    assert run.t[-steps // 2 :][peak] % (PERIOD / 2) == pytest.approx(5.473139061e-3, abs=run.dt)
    assert math.sqrt(mean(run, i * i, PERIOD)) == pytest.approx(0.4185552438, abs=1e-5)


@pytest.mark.parametrize(("locate", "close"), [(False, 1e-3), (True, 1e-6)])
def test_zener(locate, close):
    net = ss.Circuit("voltage regulator")
    net.source("V", "a", "0", voltage=sine(3.0, mean=12.0))
    net.resistor("Rs", "a", "b", 100.0)
    net.zener("Z", "0", "b", 6.2)
    net.resistor("RL", "b", "0", 200.0)
    run = net.simulate(dt=PERIOD / 400, t_end=PERIOD, locate=locate)
    require_clean(run)
    assert list(run.events["kind"]) == ["recovers", "breaks down"]
    assert np.diff(run.events["time"])[0] * OMEGA == pytest.approx(0.9020536236, abs=close)
    assert mean(run, run.voltage("RL"), PERIOD) == pytest.approx(6.1809232023, abs=5e-6)
    assert -mean(run, run.current("Z"), PERIOD) == pytest.approx(27.286151965e-3, abs=5e-8)
    assert set(run.mode("Z")) == {"blocks", "breakdown"}
    assert run.energy_book()["thresholds"] == pytest.approx(6.2 * 27.286151965e-3 * PERIOD, rel=1e-4)


def test_buck_in_continuous_conduction():
    run = buck(10.0, voltage=11.9993720209, current=0.8993735909).simulate(dt=1e-6, t_end=3e-4, theta=0.5)
    require_clean(run)
    i, v = run.current("L"), run.voltage("C")
    assert i[-1] == pytest.approx(0.8993735909, abs=1e-6)
    assert i[-51] == pytest.approx(1.5006264091, abs=1e-6)
    assert v[-1] == pytest.approx(11.9993720209, abs=1e-6)
    assert v[-51] == pytest.approx(12.0006279791, abs=1e-6)
    assert mean(run, v, 1e-4) == pytest.approx(12.0, abs=1e-6)
    assert set(run.mode("S")) == {"open", "closed"}


@pytest.mark.parametrize(
    ("theta", "locate", "error"), [(1.0, False, -7.8e-5), (0.5, False, 3.5e-5), (0.5, True, -4.6e-7)]
)
def test_buck_in_discontinuous_conduction(theta, locate, error):
    run = buck(100.0, voltage=15.7388047625, current=0.0).simulate(dt=1e-6, t_end=3e-4, theta=theta, locate=locate)
    require_clean(run)
    assert run.voltage("C")[-1] - 15.7388047625 == pytest.approx(error, rel=0.05)
    assert run.current("L")[-51] == pytest.approx(0.4133029639, abs=1e-4 if theta == 1.0 else 2e-6)
    ends = run.events.of_element("D")
    last = ends["time"][ends["kind"] == "blocks"][-1]
    assert last - 2.5e-4 == pytest.approx(26.193327825e-6, abs=2e-10 if locate else 1e-8)
    if locate:
        assert mean(run, run.voltage("C"), 1e-4) == pytest.approx(15.7513492394, abs=1e-6)


def lowest_current(R):
    """Current of the inductor at switch-on in the periodic motion, with a diode that would let it be negative."""
    starts = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)]
    ends = []
    for i, v in starts:
        run = buck(R, voltage=v, current=i, synchronous=True).simulate(dt=2e-7, t_end=1e-4, theta=0.5)
        require_clean(run)
        ends.append(np.array([run.current("L")[-1], run.voltage("C")[-1]]))
    P = np.column_stack([ends[1] - ends[0], ends[2] - ends[0]])
    return float(np.linalg.solve(np.eye(2) - P, ends[0])[0])


def test_buck_between_continuous_and_discontinuous_conduction():
    """The rule says R = 2 L / ((1 - D) T) = 40; with this capacitor it is 39.9166332358."""
    low, high = lowest_current(39.0), lowest_current(41.0)
    crossing = 39.0 + 2.0 * low / (low - high)
    low, high = lowest_current(crossing - 0.01), lowest_current(crossing + 0.01)
    assert crossing - 0.01 + 0.02 * low / (low - high) == pytest.approx(39.9166332358, abs=1e-4)


def boost_mean(start, steps, periods):
    net = ss.Circuit("boost converter")
    net.source("V", "in", "0", voltage=12.0)
    net.inductor("L", "in", "x", 2e-4, current=start[0])
    net.switch("S", "x", "0", closed=PWM(5e-5, 0.4))
    net.diode("D", "x", "o")
    net.capacitor("C", "o", "0", 4.7e-5, voltage=start[1])
    net.resistor("R", "o", "0", 20.0)
    run = net.simulate(dt=5e-5 / steps, t_end=periods * 5e-5, locate=True)
    require_clean(run)
    return mean(run, run.voltage("C"), 5e-5)


def exact_boost():
    """Start and mean voltage of the periodic motion by matrix exponentials: closed for 0.4 T, then open."""
    from scipy.linalg import expm

    L, C, R, V, T, D = 2e-4, 4.7e-5, 20.0, 12.0, 5e-5, 0.4
    flows = []
    for closed, time in ((1, D * T), (0, (1.0 - D) * T)):
        A = np.zeros((4, 4))  # i, v, 1, integral of v
        A[0, 1], A[1, 0] = (0.0, 0.0) if closed else (-1.0 / L, 1.0 / C)
        A[1, 1], A[0, 2], A[3, 1] = -1.0 / (R * C), V / L, 1.0
        flows.append(expm(A * time))
    P = flows[1] @ flows[0]
    x = np.linalg.solve(np.eye(2) - P[:2, :2], P[:2, 2])
    return x, float((P @ [*x, 1.0, 0.0])[3] / T)


def test_boost_converter_lies_below_the_rule():
    start, exact = exact_boost()
    assert 19.96 < exact < 19.98  # the rule V / (1 - D) says 20
    assert boost_mean(start, 100, 3) == pytest.approx(exact, abs=2e-5)


@pytest.mark.parametrize(
    ("V", "share", "current", "voltage"),
    [(20.0, 0.4023503304, 0.591571936, 11.969511539), (24.0, 0.4992540436, 0.606481025, 12.022165024)],
)
def test_controlled_buck_in_period_one(V, share, current, voltage):
    run = controlled_buck(V, current, voltage).simulate(dt=CONTROL_PERIOD / 200, t_end=2 * CONTROL_PERIOD, locate=True)
    require_clean(run)
    closes = run.events["time"][run.events["kind"] == "closes"] / CONTROL_PERIOD
    np.testing.assert_allclose(closes % 1.0, share, atol=5e-6)
    assert run.current("L")[-1] == pytest.approx(current, abs=2e-6)
    assert run.voltage("C")[-1] == pytest.approx(voltage, abs=5e-6)


def period_map(V, x, steps=100):
    run = controlled_buck(V, *x).simulate(dt=CONTROL_PERIOD / steps, t_end=CONTROL_PERIOD, locate=True)
    return np.array([run.current("L")[-1], run.voltage("C")[-1]])


def multipliers(V, x):
    """Fixed point of the period map by Newton's method, and the multipliers there."""
    x = np.array(x)
    for _ in range(4):
        here = period_map(V, x)
        J = np.column_stack([(period_map(V, x + d) - here) / 1e-5 for d in (np.array([1e-5, 0]), np.array([0, 1e-5]))])
        x = x + np.linalg.solve(np.eye(2) - J, here - x)
    return np.linalg.eigvals(J)


def test_multipliers_of_the_controlled_buck():
    found = multipliers(20.0, (0.591571936, 11.969511539))
    np.testing.assert_allclose(np.abs(found), math.exp(-CONTROL_PERIOD / (2.0 * 22.0 * 47e-6)), rtol=2e-3)


@pytest.mark.slow
def test_controlled_buck_doubles_its_period_near_24_5_volts():
    stable, unstable = (multipliers(V, (0.6065, 12.022)) for V in (24.3, 24.7))
    assert -1.0 < stable.real.min() < -0.8
    assert unstable.real.min() < -1.0


@pytest.mark.parametrize("steps", [200, 1000])
def test_a_current_that_begins_and_ends_at_zero_does_not_jump(steps):
    """The start of a located mode is rounded: 1e-8 of the currents are no jump of flux."""
    run = half_wave().simulate(dt=PERIOD / steps, t_end=2 * PERIOD, locate=True)
    assert len(run.impacts()) == 0 and str(run.impacts()).startswith("none (time, element, ")
    assert run.events["kind"].tolist() == ["blocks", "conducts", "blocks"]
