"""Cycles of contacts with two tangents against a closed form."""

import math

import numpy as np
import pytest
import sympy as sp

import stickslip as ss

x, y, z, v_x, v_y, v_z, t = sp.symbols("x y z v_x v_y v_z t")
K, F, W, C = 100.0, 5.0, 8.0, 0.2 * 9.81  # spring, rotating force, its angular velocity, friction; 1 kg
T = 2.0 * math.pi / W
RADIUS = math.sqrt(F**2 - C**2) / (K - W**2)


@pytest.fixture(scope="module")
def puck():
    """A puck on a table between springs, drawn round by a force that turns."""
    system = ss.LagrangianSystem.from_energies(
        [x, y, z],
        velocities=[v_x, v_y, v_z],
        kinetic=(v_x**2 + v_y**2 + v_z**2) / 2,
        potential=K * (x**2 + y**2) / 2 + 9.81 * z,
        forces=[F * sp.cos(W * t), F * sp.sin(W * t), 0],
        contacts=[ss.Contact("table", gap=z, slip=[x, y], friction=0.2)],
        time=t,
    )
    behind = math.atan2(-C, (K - W**2) * RADIUS)
    r = RADIUS * np.array([math.cos(behind), math.sin(behind), 0.0])
    return ss.Scenario(system, r * 1.001, W * np.array([-r[1], r[0], 0.0]), 1e-3, 5.0, "puck", "own")


def multipliers():
    """In a frame that turns with the force: r'' + 2 W J r' + (K - W^2) r = F - C v/|v|, v = r' + W J r."""
    J, behind = np.array([[0.0, -1.0], [1.0, 0.0]]), math.atan2(-C, (K - W**2) * RADIUS)
    v = W * J @ (RADIUS * np.array([math.cos(behind), math.sin(behind)]))
    turns = C * (np.eye(2) - np.outer(v, v) / (v @ v)) / math.hypot(*v)
    rate = np.block([[np.zeros((2, 2)), np.eye(2)], [(W**2 - K) * np.eye(2) - turns @ (W * J), -2.0 * W * J - turns]])
    return np.exp(T * np.linalg.eigvals(rate))


def test_a_puck_drawn_round_has_the_circle_and_the_multipliers_of_the_closed_form(puck):
    cycle = ss.limit_cycle(puck, section=f"every:{T!r}", settle_returns=0, rtol=1e-8, tol=1e-7, check=False)
    assert math.hypot(cycle.q[0], cycle.q[1]) == pytest.approx(RADIUS, abs=1e-8)
    own = sorted(cycle.multipliers[:4], key=lambda m: (m.real, m.imag))
    assert own == pytest.approx(sorted(multipliers(), key=lambda m: (m.real, m.imag)), abs=1e-4)
    assert np.abs(cycle.multipliers[4:]).max() < 1e-9  # the table holds the height
    assert cycle.stable


@pytest.mark.slow
def test_the_midpoint_rule_finds_the_same_cycle(puck):
    cycle = ss.limit_cycle(puck, section=f"every:{T!r}", stepper="moreau-midpoint", dt=1e-4)
    assert math.hypot(cycle.q[0], cycle.q[1]) == pytest.approx(RADIUS, abs=4e-5)
    assert np.sort(np.abs(cycle.multipliers[:4])) == pytest.approx(np.sort(np.abs(multipliers())), abs=3e-4)


@pytest.mark.slow
def test_the_circle_is_followed_over_friction():
    """RADIUS with C = mu g, at every cycle of the branch."""
    mu = sp.Symbol("mu")
    system = ss.LagrangianSystem.from_energies(
        [x, y, z],
        velocities=[v_x, v_y, v_z],
        kinetic=(v_x**2 + v_y**2 + v_z**2) / 2,
        potential=K * (x**2 + y**2) / 2 + 9.81 * z,
        forces=[F * sp.cos(W * t), F * sp.sin(W * t), 0],
        contacts=[ss.Contact("table", gap=z, slip=[x, y], friction=mu)],
        parameters={mu: 0.2},
        time=t,
    )
    behind = math.atan2(-C, (K - W**2) * RADIUS)
    r = RADIUS * np.array([math.cos(behind), math.sin(behind), 0.0])
    drawn = ss.Scenario(system, r, W * np.array([-r[1], r[0], 0.0]), 1e-3, 5.0, "puck", "own")
    branch = ss.continue_cycle(
        drawn, "mu", 0.2, 0.3, section=f"every:{T!r}", settle_returns=0, rtol=1e-8, tol=1e-7, largest_step=0.5
    )
    assert branch.status == "reached mu = 0.3" and not branch.specials and branch.stable.all()
    for value, cycle in zip(branch.values, branch.cycles, strict=True):
        exact = math.sqrt(F**2 - (9.81 * value) ** 2) / (K - W**2)
        assert math.hypot(cycle.q[0], cycle.q[1]) == pytest.approx(exact, abs=1e-7)


def test_what_needs_saltation_matrices_refuses_two_tangents(puck):
    with pytest.raises(ValueError, match="lyapunov knows contacts with one direction of slip"):
        ss.lyapunov(puck, t_end=1.0)
    with pytest.raises(ValueError, match="needs a level or a phase as its section"):
        ball = ss.library.sliding_ball()
        ss.limit_cycle(ball, section="impact:table", settle_returns=0)
