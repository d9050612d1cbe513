"""Every element by itself, beside its closed form; jumps of charges and fluxes; hydraulic words."""

import math

import numpy as np
import pytest

import stickslip as ss
from stickslip.circuits import PWM, HydraulicCircuit
from stickslip.circuits.network import build
from stickslip.circuits.problem import CHOICE, CircuitProblem
from tests.circuits.networks import OMEGA, PERIOD, bridge, mean, require_clean, sine


def test_charge_jumps_through_a_diode():
    """C1 = 10 uF at 12 V, C2 = 22 uF at 3 V: 5.8125 V, 6.1875e-5 C, loss 1/2 C1 C2 / (C1 + C2) dU^2."""
    net = ss.Circuit("two capacitors")
    net.capacitor("C1", "a", "0", 10e-6, voltage=12.0)
    net.diode("D", "a", "b")
    net.capacitor("C2", "b", "0", 22e-6, voltage=3.0)
    run = net.simulate(dt=1e-5, t_end=1e-4)
    require_clean(run)
    np.testing.assert_allclose(run.voltage("C1"), 5.8125, rtol=1e-9)
    np.testing.assert_allclose(run.voltage("C2"), 5.8125, rtol=1e-9)
    jumps = run.impacts()
    assert list(jumps["element"]) == ["C1", "C2"] and np.all(jumps["time"] == 0.0)
    np.testing.assert_allclose(jumps["charge"], [-6.1875e-5, 6.1875e-5], rtol=1e-9)
    np.testing.assert_allclose(jumps["before"], [12.0, 3.0])
    np.testing.assert_allclose(jumps["after"], 5.8125, rtol=1e-9)
    assert -jumps["energy_change"].sum() == pytest.approx(2.784375e-4, rel=1e-9)
    assert run.energy_book()["jumps"] == pytest.approx(2.784375e-4, rel=1e-9)
    assert np.abs(run.current("D")).max() < 1e-6  # no impulse is left over as a current


def test_a_source_charges_a_capacitor_at_once():
    net = ss.Circuit()
    net.source("V", "a", "0", voltage=10.0)
    net.diode("D", "a", "b")
    net.capacitor("C", "b", "0", 1e-3)
    run = net.simulate(dt=1e-4, t_end=1e-3)
    require_clean(run)
    np.testing.assert_allclose(run.voltage("C"), 10.0, rtol=1e-12)
    assert run.impacts()["charge"][0] == pytest.approx(1e-2)
    book = run.energy_book()
    assert (book["sources"], book["jumps"]) == (pytest.approx(0.1), pytest.approx(0.05))


@pytest.mark.parametrize("closed", [lambda t: t < 3.3e-4, PWM(1.0, 3.3e-4)])
def test_a_switch_that_opens_under_current_is_an_impact(closed):
    net = ss.Circuit()
    net.source("V", "a", "0", voltage=5.0)
    net.switch("S", "a", "b", closed=closed)
    net.inductor("L", "b", "0", 1e-2)
    run = net.simulate(dt=1e-4, t_end=1e-3)
    require_clean(run)
    (time,), (flux,) = run.impacts()["time"], run.impacts()["flux"]
    current = 5.0 * 3.3e-4 / 1e-2
    assert time == pytest.approx(3.3e-4, rel=1e-9)
    assert flux == pytest.approx(-1e-2 * current, rel=1e-6)
    assert run.energy_book()["jumps"] == pytest.approx(0.5 * 1e-2 * current**2, rel=1e-6)
    assert np.all(np.abs(run.current("L")[run.t > 3.4e-4]) < 1e-12)
    assert list(run.events["kind"]) == ["opens"]
    assert list(run.mode("S")[[0, -1]]) == ["closed", "open"]


@pytest.mark.parametrize("locate", [False, True])
def test_inductors_in_series_share_their_fluxes(locate):
    """L1 = 1 mH with 1 A and L2 = 4 mH without current, in one loop: L1 1 A / (L1 + L2) = 0.2 A, an impact at t = 0."""
    net = ss.Circuit()
    net.inductor("L1", "a", "b", 1e-3, current=1.0)
    net.inductor("L2", "b", "c", 4e-3)
    net.resistor("R", "c", "a", 1.0)
    run = net.simulate(dt=1e-5, t_end=1e-4, locate=locate)
    require_clean(run)
    assert run.current("L1")[0] == pytest.approx(0.2, rel=1e-9)
    np.testing.assert_array_equal(run.current("L1"), run.current("L2"))
    jumps, book = run.impacts(), run.energy_book()
    assert list(jumps["element"]) == ["L1", "L2"] and np.all(jumps["time"] == 0.0)
    np.testing.assert_allclose(jumps["before"], [1.0, 0.0])
    np.testing.assert_allclose(jumps["flux"], [-8e-4, 8e-4], rtol=1e-9)
    assert book["start"] == pytest.approx(5e-4, rel=1e-12) and book["jumps"] == pytest.approx(4e-4, rel=1e-9)


def test_coupled_inductors_that_meet_change_their_fluxes_alike():
    """Three inductors at one node, two of them coupled: one impulse of voltage changes the flux of each."""
    net = ss.Circuit()
    for name, L, current in (("L1", 1e-3, 1.0), ("L2", 2e-3, 1.0), ("L3", 3e-3, 0.0)):
        net.inductor(name, "a", "0", L, current=current)
    net.coupled("K", "L1", "L2", coupling=0.5)
    run = net.simulate(dt=1e-5, t_end=1e-4)
    M = 0.5 * math.sqrt(2e-6)
    change = np.array([run.current(name)[0] for name in ("L1", "L2", "L3")]) - [1.0, 1.0, 0.0]
    flux = np.array([[1e-3, M, 0.0], [M, 2e-3, 0.0], [0.0, 0.0, 3e-3]]) @ change
    np.testing.assert_allclose(flux, flux[0], rtol=1e-9)
    assert abs(sum(run.current(name)[0] for name in ("L1", "L2", "L3"))) < 1e-12


def test_no_ringing_in_a_loop_without_inductance():
    """With theta = 1/2 a resistor alone would ring, 2, 0, 2, 0, ...; the start is made consistent."""
    net = ss.Circuit()
    net.source("V", "a", "0", voltage=1.0)
    net.resistor("R", "a", "0", 1.0)
    np.testing.assert_allclose(net.simulate(dt=0.1, t_end=1.0, theta=0.5).current("R"), 1.0, rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "rings"), [({"theta": 0.5}, True), ({"theta": 1.0}, False), ({"locate": True}, False), ({}, False)]
)
def test_the_certificate_tells_of_ringing(options, rings):
    """A diode and a resistor alone: with theta = 1/2 the current rings for ever after the diode has opened."""
    net = ss.Circuit()
    net.source("V", "a", "0", voltage=sine(1.0, mean=-0.5))
    net.diode("D", "a", "b")
    net.resistor("R", "b", "0", 1.0)
    run = net.simulate(dt=PERIOD / 50, t_end=PERIOD, **options)
    require_clean(run)
    error = np.abs(run.current("R") - np.maximum(0.0, run.voltage("V"))).max()
    assert (error > 0.01) == rings
    assert bool(run.certificate.doubts()) == rings
    assert ("ringing of currents" in str(run.certificate)) == rings


def test_current_source_charges_a_capacitor_beside_a_resistor():
    net = ss.Circuit()
    net.current_source("I", "0", "a", current=2.0)
    net.resistor("R", "a", "0", 5.0)
    net.capacitor("C", "a", "0", 1e-3)
    run = net.simulate(dt=1e-5, t_end=1e-2, theta=0.5)
    require_clean(run)
    np.testing.assert_allclose(run.voltage("C"), 10.0 * (1.0 - np.exp(-run.t / 5e-3)), atol=1e-5)
    np.testing.assert_allclose(run.voltage("I"), -run.voltage("C"), atol=1e-5)
    np.testing.assert_allclose(run.current("I"), 2.0)


def test_ideal_transformer_reflects_its_load():
    net = ss.Circuit()
    net.source("V", "a", "0", voltage=sine(10.0))
    net.transformer("T", ("a", "0"), ("c", "d"), 5.0)
    net.resistor("R", "c", "d", 2.0)
    run = net.simulate(dt=PERIOD / 100, t_end=PERIOD)
    require_clean(run)
    np.testing.assert_allclose(run.current("T.primary"), 10.0 * np.sin(OMEGA * run.t) / (25.0 * 2.0), atol=1e-12)
    np.testing.assert_allclose(run.voltage("T.secondary"), run.voltage("V") / 5.0, atol=1e-12)
    np.testing.assert_allclose(run.voltage("R"), run.voltage("V") / 5.0, atol=1e-12)


@pytest.mark.parametrize(("coupling", "turned"), [(0.5, False), (1.0, False), (0.5, True)])
def test_coupled_inductors_in_series(coupling, turned):
    """L = L1 + L2 +- 2 M, so i(t) = U / R (1 - exp(-R t / L))."""
    net = ss.Circuit()
    net.source("V", "a", "0", voltage=6.0)
    net.resistor("R", "a", "b", 3.0)
    net.inductor("L1", "b", "c", 4e-3)
    net.inductor("L2", *(("0", "c") if turned else ("c", "0")), 1e-3)
    net.coupled("K", "L1", "L2", coupling=coupling)
    L = 5e-3 + (-2.0 if turned else 2.0) * coupling * 2e-3
    run = net.simulate(dt=1e-5, t_end=5e-3)
    require_clean(run)
    np.testing.assert_allclose(run.current("L1"), 2.0 * (1.0 - np.exp(-3.0 * run.t / L)), atol=2e-5)


def test_coupled_inductors_as_a_transformer():
    """With k = 1 the open secondary has the voltage sqrt(L2 / L1) of the primary."""
    net = ss.Circuit()
    net.source("V", "a", "0", voltage=sine(1.0))
    net.inductor("L1", "a", "0", 1.0)
    net.inductor("L2", "c", "0", 4.0)
    net.coupled("K", "L1", "L2", mutual=2.0)
    net.resistor("R", "c", "0", 1e6)
    run = net.simulate(dt=PERIOD / 400, t_end=PERIOD, locate=True)
    require_clean(run)
    np.testing.assert_allclose(run.voltage("R"), 2.0 * run.voltage("V"), atol=1e-4)


@pytest.mark.parametrize("angle", [0.7, 2.0])
def test_thyristor_with_phase_control(angle):
    """Mean current U (1 + cos a) / (2 pi R); it stays locked after its current has ended."""
    net = ss.Circuit()
    net.source("V", "a", "0", voltage=sine(100.0))
    net.thyristor("T", "a", "b", fired=PWM(PERIOD, 0.01, start=angle / OMEGA))
    net.resistor("R", "b", "0", 10.0)
    run = net.simulate(dt=PERIOD / 1000, t_end=2 * PERIOD)
    require_clean(run)
    assert mean(run, run.current("T"), PERIOD) == pytest.approx(
        100.0 * (1.0 + math.cos(angle)) / (20.0 * math.pi), abs=0.01
    )
    fired = run.events.of_element("T")
    times = fired["time"][fired["kind"] == "is fired"]
    np.testing.assert_allclose(times, [angle / OMEGA, angle / OMEGA + PERIOD], rtol=1e-9)
    assert set(run.mode("T")) >= {"locked", "conducts"}


def test_varistor_is_dry_friction():
    """An LC circuit loses 2 U of its amplitude in each half oscillation and stops within [-U, U]."""
    net = ss.Circuit()
    net.capacitor("C", "a", "0", 1e-6, voltage=10.0)
    net.inductor("L", "a", "b", 1e-3)
    net.varistor("Z", "b", "0", 1.5)
    half = math.pi * math.sqrt(1e-9)
    run = net.simulate(dt=half / 400, t_end=4.2 * half, locate=True)
    require_clean(run)
    v = run.voltage("C")
    for k, expected in enumerate((10.0, -7.0, 4.0, -1.0)):
        assert v[400 * k] == pytest.approx(expected, abs=1e-3)
    assert v[-1] == pytest.approx(-1.0, abs=1e-3) and run.current("L")[-1] == pytest.approx(0.0, abs=1e-12)
    assert set(run.mode("Z")) == {"forward", "backward", "blocks"}
    assert run.energy_book()["thresholds"] == pytest.approx(0.5e-6 * (100.0 - 1.0), rel=1e-3)


def test_diode_with_threshold_and_resistance():
    net = ss.Circuit()
    net.source("V", "a", "0", voltage=5.0)
    net.diode("D", "a", "b", threshold=0.7, resistance=0.5)
    net.resistor("R", "b", "0", 10.0)
    run = net.simulate(dt=1e-3, t_end=1e-2)
    i = 4.3 / 10.5
    np.testing.assert_allclose(run.current("D"), i)
    np.testing.assert_allclose(run.voltage("D"), 0.7 + 0.5 * i)
    assert run.energy_book()["thresholds"] == pytest.approx(0.7 * i * 1e-2)


def test_a_bridge_behind_a_bridge_changes_nothing():
    one, two = (bridge(impedance=True, bridges=n).simulate(dt=PERIOD / 200, t_end=PERIOD) for n in (1, 2))
    require_clean(one)
    require_clean(two)
    np.testing.assert_allclose(two.voltage("C"), one.voltage("C"), atol=1e-9)
    np.testing.assert_allclose(two.current("B"), one.current("B"), atol=1e-9)


def test_four_diodes_are_two_constraints():
    """|i_s| <= i_L: Coulomb's triangle.  A loop of four diodes has no L, R, C: the matrix of the step is singular."""
    L_s, L, R, dt = 1e-3, 1e-2, 10.0, PERIOD / 400
    net = ss.Circuit()
    net.source("V", "s", "b", voltage=sine(20.0))
    net.inductor("Ls", "s", "a", L_s)
    net.bridge("B", ac=("a", "b"), dc=("p", "m"))
    net.inductor("L", "p", "x", L)
    net.resistor("R", "x", "m", R)
    matrices = net.network()
    assert matrices.W.shape == (3, 4) and np.linalg.matrix_rank(matrices.W) == 3
    null = np.array([1.0, 1.0, -1.0, -1.0]) / 2.0
    np.testing.assert_allclose(matrices.W @ null, 0.0, atol=1e-15)
    assert np.linalg.matrix_rank(CircuitProblem(matrices, dt, 1.0, np.full(4, CHOICE, dtype=np.int8)).A) == 2
    run = net.simulate(dt=dt, t_end=PERIOD)
    require_clean(run)
    i_s, i_L = 0.0, 0.0
    W = np.array([[-1.0, 1.0], [1.0, 1.0]])
    A = np.diag([L_s, L + dt * R])
    for k in range(400):
        free = np.linalg.solve(A, [L_s * i_s + dt * 20.0 * math.sin(OMEGA * (k + 1) * dt), L * i_L])
        solution = ss.solve_lcp(W.T @ np.linalg.solve(A, W), W.T @ free)
        i_s, i_L = free + np.linalg.solve(A, W @ solution.x)
        assert run.current("Ls")[k + 1] == pytest.approx(i_s, abs=1e-10)
        assert run.current("L")[k + 1] == pytest.approx(i_L, abs=1e-10)
    # where all four conduct, currents are not unique: the least ones are returned
    every = run.mode("B") == "D1 D2 D3 D4"
    assert every.any()
    np.testing.assert_allclose(run.current("B.D1")[every], run.current("B.D4")[every], atol=1e-9)
    np.testing.assert_allclose(run.current("B")[every], run.current("L")[every], atol=1e-9)


def test_flux_passes_from_one_coil_to_the_other():
    """A flyback converter with k = 1: the switch opens, the flux stays, the current jumps to the other coil.

    No energy is lost, and in discontinuous conduction V^2 D^2 T / (2 L) reaches the load.
    """
    net = ss.Circuit("flyback converter")
    net.source("V", "in", "0", voltage=24.0)
    net.inductor("L1", "in", "x", 1e-3)
    net.switch("S", "x", "0", closed=PWM(1e-4, 0.4))
    net.inductor("L2", "0", "y", 0.25e-3)
    net.coupled("K", "L1", "L2", coupling=1.0)
    net.diode("D", "y", "o")
    net.capacitor("C", "o", "0", 1e-3, voltage=9.6)
    net.resistor("R", "o", "0", 20.0)
    run = net.simulate(dt=2e-6, t_end=1e-3, locate=True)
    require_clean(run)
    jumps = run.impacts()
    first = jumps.of_element("L1")
    assert first["time"][0] == pytest.approx(4e-5) and len(first) == 10
    assert (first["before"][0], first["after"][0]) == (pytest.approx(0.96, rel=1e-6), pytest.approx(0.0, abs=1e-6))
    assert jumps.of_element("L2")["after"][0] == pytest.approx(1.92, rel=1e-6)
    assert abs(jumps["energy_change"].sum()) < 1e-9 and abs(run.energy_book()["jumps"]) < 1e-9
    assert run.voltage("C")[-1] == pytest.approx(24.0 * 0.4 * math.sqrt(20.0 * 1e-4 / 2e-3), abs=0.02)


def test_switched_capacitors_account_for_every_joule():
    """A source charges C1 to 10 V, C1 shares its charge with C2, again and again, up to the last instant."""
    net = ss.Circuit("charge pump")
    net.source("V", "a", "0", voltage=10.0)
    net.switch("S1", "a", "b", closed=PWM(1e-3, 0.5))
    net.capacitor("C1", "b", "0", 1e-6)
    net.switch("S2", "b", "c", closed=PWM(1e-3, 0.5, start=5e-4))
    net.capacitor("C2", "c", "0", 1e-6)
    net.resistor("R", "c", "0", 1e9)
    run = net.simulate(dt=1e-5, t_end=5e-3)
    require_clean(run)
    shared = run.impacts().of_element("C2")
    np.testing.assert_allclose(shared["after"], 10.0 * (1.0 - 0.5 ** np.arange(1, len(shared) + 1)), rtol=1e-5)


def test_six_pulse_rectifier():
    """Three phases in a star, six diodes, a resistor: mean voltage 3 sqrt(3) U / pi."""
    net = ss.Circuit("six pulses")
    for k in range(3):
        net.source(f"V{k}", f"p{k}", "star", voltage=lambda t, k=k: 10.0 * np.sin(OMEGA * t - 2.0 * math.pi * k / 3.0))
        net.diode(f"U{k}", f"p{k}", "plus")
        net.diode(f"D{k}", "minus", f"p{k}")
    net.resistor("R", "plus", "minus", 5.0)
    run = net.simulate(dt=PERIOD / 600, t_end=PERIOD)
    require_clean(run)
    assert mean(run, run.voltage("R"), PERIOD) == pytest.approx(3.0 * math.sqrt(3.0) * 10.0 / math.pi, rel=1e-4)
    on = [np.mean(run.mode(f"{side}{k}") == "conducts") for side in "UD" for k in range(3)]
    np.testing.assert_allclose(on, 1.0 / 3.0, atol=0.02)


def test_equal_diodes_share_current_and_voltage():
    """Neither is unique for ideal diodes: in parallel currents are equal, in series blocking voltages."""
    net = ss.Circuit()
    net.source("V", "a", "0", voltage=sine(10.0))
    net.resistor("R", "a", "b", 5.0)
    for name in ("P1", "P2", "P3"):
        net.diode(name, "b", "c")
    net.diode("S", "c", "0")
    run = net.simulate(dt=PERIOD / 40, t_end=PERIOD)
    require_clean(run)
    for name in ("P1", "P2", "P3"):
        np.testing.assert_allclose(run.current(name), np.maximum(0.0, run.voltage("V")) / 15.0, atol=1e-9)
    back = run.voltage("V") < -1.0
    np.testing.assert_allclose((run.voltage("P1") + run.voltage("S"))[back], run.voltage("V")[back], atol=1e-9)


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1e6])
def test_the_size_of_the_units_does_not_matter(scale):
    """An LC circuit with diode and resistor, in nanoseconds and in weeks, at microvolts and megavolts."""
    net = ss.Circuit()
    net.capacitor("C", "a", "0", scale * 1e-3, voltage=scale)
    net.diode("D", "a", "b")
    net.inductor("L", "b", "c", scale * 1e3)
    net.resistor("R", "c", "0", 100.0)
    decay, omega = 0.05 / scale, math.sqrt(1.0 / scale**2 - (0.05 / scale) ** 2)
    end = math.pi / omega
    for locate in (False, True):
        run = net.simulate(dt=end / 400, t_end=1.2 * end, locate=locate)
        require_clean(run)
        assert run.voltage("C")[-1] == pytest.approx(-scale * math.exp(-decay * end), rel=1e-4)


def random_network(seed):
    """Nodes joined at random by diodes, resistors, inductors, capacitors; one source."""
    rng = np.random.default_rng(seed)
    net = ss.Circuit(f"random {seed}")
    nodes = [str(k) for k in range(5)]
    net.source("V", "0", "s", voltage=lambda t: 10.0 * np.sin(50.0 * t + seed))
    net.resistor("Rs", "s", "1", 0.1)
    for k, node in enumerate(nodes):
        net.resistor(f"R{k}", node, nodes[(k + 1) % 5], float(rng.uniform(1.0, 100.0)))
    for k in range(7):
        a, b = rng.choice(nodes, 2, replace=False)
        net.diode(f"D{k}", str(a), str(b))
    for k in range(2):
        a, b = rng.choice(nodes, 2, replace=False)
        net.inductor(f"L{k}", str(a), str(b), float(rng.uniform(1e-3, 1.0)))
        a, b = rng.choice(nodes, 2, replace=False)
        net.capacitor(f"C{k}", str(a), str(b), float(rng.uniform(1e-5, 1e-3)))
    return net


def test_random_networks_solve_every_step_and_never_gain_energy():
    for seed in range(12):
        run = random_network(seed).simulate(dt=1e-3, t_end=0.1, theta=1.0)
        require_clean(run)
        assert len(run.events) > 0
        assert run.certificate.max_energy_gain <= 1e-12 * run.certificate.energy_in_play
        assert run.certificate.rule_share <= 0.0


def test_complementarity_finds_the_modes_from_any_start():
    """The LCP of a step gives the currents of the step that was reached from the step before."""
    for seed in range(4):
        circuit = random_network(seed)
        net = build(circuit.branches, np.diag([b.inductance for b in circuit.branches]), [])
        p = CircuitProblem(net, 1e-3, 1.0, np.full(7, CHOICE, dtype=np.int8))
        rng = np.random.default_rng(seed)
        for _ in range(5):
            drops = np.zeros(len(circuit.branches))
            drops[0] = rng.normal()
            f = p.right_side(np.zeros(len(net.links)), np.zeros(len(net.links)), -drops)
            direct = p.solve(f, np.zeros(0), rng.random(7) < 0.5, 1e-10)
            ladder = p._by_complementarity(f, np.zeros(0), 1e-10)
            assert direct.residual <= 1e-10
            assert ladder.residual <= 1e-10 and ladder.size == 7
            scale = np.abs(direct.u @ net.B).max()
            stored = net.M + net.R + net.K  # currents of loops without L, R, C need not be unique
            np.testing.assert_allclose(stored @ ladder.u, stored @ direct.u, atol=1e-8 * np.abs(stored).max() * scale)


# Hydraulics


def test_relief_valve_holds_the_pressure_of_a_pump():
    net = HydraulicCircuit("pump with relief valve")
    net.pump("P", "tank", "line", flow=1e-4)
    net.accumulator("A", "line", "tank", 1e-11)
    net.relief_valve("V", "line", "tank", 2e6)
    net.throttle("T", "line", "tank", 1e11)
    run = net.simulate(dt=1e-4, t_end=1.0)
    require_clean(run)
    # p = q R (1 - exp(-t / (R C))) up to 2 MPa, at t = -R C ln(1 - 0.2)
    opens = -1e11 * 1e-11 * math.log(1.0 - 0.2)
    assert run.events["time"][0] == pytest.approx(opens, abs=2e-4)
    assert run.voltage("A")[-1] == pytest.approx(2e6)
    assert run.current("V")[-1] == pytest.approx(0.8e-4)
    assert run.units == ("m3/s", "Pa")


def test_check_valve_keeps_the_surge_of_a_pipe():
    """A pump with a given pressure, a pipe, a check valve and an accumulator: twice the pressure stays."""
    net = HydraulicCircuit("hydraulic ram")
    net.pump("P", "tank", "a", pressure=3e5)
    net.pipe("L", "a", "b", 2e7)
    net.check_valve("D", "b", "c")
    net.accumulator("A", "c", "tank", 1e-9)
    half = math.pi * math.sqrt(2e7 * 1e-9)
    run = net.simulate(dt=half / 200, t_end=1.5 * half, locate=True)
    require_clean(run)
    assert run.voltage("A")[-1] == pytest.approx(6e5, rel=1e-9)
    assert run.current("L").max() == pytest.approx(3e5 * math.sqrt(1e-9 / 2e7), rel=1e-4)


def test_a_valve_opens_and_a_pump_is_given_one_way():
    net = HydraulicCircuit()
    net.pump("P", "tank", "a", pressure=1e5)
    net.valve("V", "a", "b", open=lambda t: t > 0.5)
    net.throttle("T", "b", "tank", 1e9)
    run = net.simulate(dt=0.1, t_end=1.0)
    np.testing.assert_allclose(run.current("T"), np.where(run.t > 0.55, 1e-4, 0.0), atol=1e-12)
    assert run.events["kind"].tolist() == ["opens"] and set(run.mode("V")) == {"shut", "passes"}
    with pytest.raises(ValueError, match="open of 'W' must be True, False"):
        net.valve("W", "a", "b", open="yes")
    with pytest.raises(ValueError, match=r"cracking of 'W' must not be negative \[Pa\], got -1"):
        net.check_valve("W", "a", "b", cracking=-1.0)
    with pytest.raises(ValueError, match=r"pump 'Q' needs either flow= .* or pressure="):
        net.pump("Q", "tank", "a")
