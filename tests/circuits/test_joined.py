"""Circuits inside mechanisms: charges as coordinates, a solenoid that strikes a stop."""

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import stickslip as ss
from stickslip.circuits import PWM
from tests.circuits.networks import HALF_WAVE_MEAN, PERIOD


def symbolic_half_wave():
    t = sp.Symbol("t")
    net = ss.Circuit("half wave")
    net.source("V", "a", "0", voltage=100 * sp.sin(100 * sp.pi * t))
    net.diode("D", "a", "b")
    net.resistor("R", "b", "c", 10.0)
    net.inductor("L", "c", "0", 0.05)
    return net


def test_a_circuit_is_a_lagrangian_system():
    net = symbolic_half_wave()
    system = net.system()
    assert system.coordinate_names == ("q_L",) and system.contact_names == ("D",)
    dt = PERIOD / 400
    run = ss.simulate(system, [0.0], [0.0], dt=dt, t_end=PERIOD, engine="reference", on_energy_gain="ignore")
    assert run.certificate.failed_steps == 0
    assert float(run.u[:-1, 0].mean()) == pytest.approx(
        HALF_WAVE_MEAN, abs=5e-3
    )  # resistors enter explicitly: first order
    own = net.simulate(dt=dt, t_end=PERIOD)
    np.testing.assert_allclose(run.u[:, 0], own.current("L"), atol=0.05)


def test_a_varistor_is_the_dry_friction_of_the_library_of_elements():
    net = ss.Circuit("decay")
    net.capacitor("C", "a", "0", 1e-6, voltage=10.0)
    net.inductor("L", "a", "b", 1e-3)
    net.varistor("Z", "b", "0", 1.5)
    half = np.pi * np.sqrt(1e-9)
    run = ss.simulate(net.system(), [0.0], [0.0], dt=half / 200, t_end=3.1 * half, engine="reference")
    # the charge that passed: the capacitor ends at -1 V after 10, -7, 4
    assert run.q[-1, 0] == pytest.approx(1e-6 * (10.0 - (-1.0)), rel=1e-2)


class Solenoid:
    """A coil whose inductance grows as its plunger comes: L(x) = L0 / (1 + x / a); spring; stop at x = 0."""

    L0, a, m, k, x0, V, R = 0.02, 2e-3, 0.05, 200.0, 4e-3, 12.0, 6.0

    def system(self, restitution=0.3):
        x, v = sp.symbols("x v", real=True)
        net = ss.Circuit("solenoid")
        net.source("V", "a", "0", voltage=self.V)
        net.resistor("R", "a", "b", self.R)
        net.inductor("L", "b", "0", self.L0)
        coil = net.terms(inductance={"L": self.L0 / (1 + x / self.a)})
        system = ss.LagrangianSystem.from_energies(
            [x, *coil.q],
            kinetic=self.m * v**2 / 2 + coil.kinetic,
            potential=self.k * (x - self.x0) ** 2 / 2 + coil.potential,
            forces=coil.forces,
            velocities=[v, *coil.u],
            contacts=[ss.Stop("stop", x, lower=0, restitution=restitution), *coil.contacts],
            name="solenoid",
        )
        return system, [self.x0, 0.0], [0.0, *coil.start]

    def rates(self, t, y):
        x, v, i = y
        L, dL = self.L0 / (1 + x / self.a), -self.L0 / self.a / (1 + x / self.a) ** 2
        return [v, (0.5 * dL * i * i - self.k * (x - self.x0)) / self.m, (self.V - self.R * i - dL * v * i) / L]


def test_a_solenoid_strikes_its_stop():
    coil = Solenoid()
    system, q0, u0 = coil.system()

    def strikes(t, y):
        return y[0]

    strikes.terminal = True
    exact = solve_ivp(coil.rates, (0.0, 0.1), [coil.x0, 0.0, 0.0], events=strikes, rtol=1e-11, atol=1e-14)
    time, (_, speed, current) = exact.t_events[0][0], exact.y_events[0][0]
    assert 0.005 < time < 0.05 and speed < -0.1
    run = ss.simulate(system, q0, u0, dt=2e-5, t_end=1.2 * time, engine="reference")
    assert run.certificate.failed_steps == 0
    first = run.impacts()
    assert first["time"][0] == pytest.approx(time, abs=4e-5)
    assert first["normal_velocity_before"][0] == pytest.approx(speed, rel=5e-3)
    assert first["normal_velocity_after"][0] == pytest.approx(-0.3 * speed, rel=5e-3)
    at = int(np.searchsorted(run.t, time)) - 1
    assert run.u[at, 1] == pytest.approx(current, rel=5e-3)
    # the flux of the coil does not jump in the impact of its plunger, and nor does its current
    assert abs(run.u[at + 2, 1] - run.u[at, 1]) < 0.02 * current


def test_the_energy_of_a_solenoid_is_accounted_for():
    coil = Solenoid()
    system, q0, u0 = coil.system()
    run = ss.simulate(system, q0, u0, dt=2e-5, t_end=0.03, engine="reference")
    i = run.u[:, 1]
    given = coil.V * run.q[-1, 1]
    heat = float(np.trapezoid(coil.R * i * i, run.t))
    impacts = -run.certificate.contact_work
    stored = run.energy.total[-1] - run.energy.total[0]
    assert len(run.impacts()) >= 1 and impacts > 0.0
    assert given == pytest.approx(heat + stored + impacts, rel=5e-3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda net: net.switch("S", "c", "0", closed=PWM(1.0, 0.5)), "'S' is a switch, which a Lagrangian system"),
        (lambda net: net.capacitor("C", "b", "0", 1.0), None),
        (lambda net: net.resistor("R2", "a", "0", 1.0), "loops without an inductor"),
        (lambda net: net.source("E", "c", "0", voltage=lambda t: t), "must be a number or a SymPy expression of t"),
    ],
)
def test_what_has_no_place_in_a_lagrangian_system(change, words):
    net = ss.Circuit("coil")
    net.source("V", "a", "0", voltage=1.0)
    net.inductor("L", "a", "b", 1.0)
    net.inductor("L2", "b", "c", 1.0)
    net.inductor("L3", "c", "0", 1.0)
    change(net)
    if words is None:
        assert len(net.terms().q) == 2
        return
    with pytest.raises(ValueError) as caught:
        net.terms()
    assert words in str(caught.value)
    with pytest.raises(ValueError, match="unknown element 'L9'"):
        net.terms({"L9": sp.Symbol("x")})
    with pytest.raises(ValueError, match="names inductors, and 'V' is a source"):
        net.terms({"V": sp.Symbol("x")})
