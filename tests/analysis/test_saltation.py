"""Saltation matrices against closed forms, and the derivative of a motion with events against differences."""

import math

import numpy as np
import pytest

import stickslip as ss
from stickslip.analysis.saltation import FollowedMotion, Undefined
from stickslip.trajectory import ACCUMULATES
from tests.mechanisms.steppers.systems import every_element, point_mass, separate_elements

G = 9.81


def followed(system, q, u, t_end, params=None, rtol=1e-12, t=0.0):
    motion = FollowedMotion.of(system, np.array([*q, *u], dtype=float), system.parameter_vector(params), t, t_end, rtol)
    x, Phi = motion.run()
    return motion, x, Phi


def differences(system, q, u, t_end, params=None, step=1e-6, columns=None, rtol=1e-12):
    """dx(t_end)/dx(0) by central differences of the event-driven motion."""
    x = np.array([*q, *u], dtype=float)
    f, result = system.n_dof, []
    for j in range(2 * f) if columns is None else columns:
        ends = []
        for sign in (1.0, -1.0):
            y = x.copy()
            y[j] += sign * step
            ends.append(
                FollowedMotion.of(system, y, system.parameter_vector(params), 0.0, t_end, rtol, tangent=False).run()[0]
            )
        result.append((ends[0] - ends[1]) / (2 * step))
    return np.stack(result, axis=-1)


def test_impact_on_a_vibrating_table():
    """Relative coordinates: S = [[-e, 0], [(1 + e) a / v-, -e]], a the relative acceleration at the impact."""
    e, amplitude, frequency = 0.8, 0.001, 30.0
    system = ss.library.bouncing_ball_on_table(restitution=e, amplitude=amplitude, frequency=frequency).system
    motion, _, _ = followed(system, [0.004], [0.0], 0.04)
    hit = motion.switches[0]
    assert hit.kind == "impact" and hit.closes == (0,) and not hit.one_sided
    w = 2 * math.pi * frequency
    a = -G + amplitude * w**2 * math.sin(w * hit.t)
    v = -hit.speed
    # The table's own motion is not perturbed, so that dx of the ball is dx relative to the table.
    assert hit.matrix == pytest.approx(np.array([[-e, 0.0], [(1 + e) * a / v, -e]]), rel=1e-9)
    assert hit.earlier == pytest.approx([1 / v, 0.0], rel=1e-12)


def test_slipping_impacts_and_their_accumulation():
    """A ball thrown along a floor: however often it bounces, v_x = v_x0 - mu (g t - v_y0), x0 and y0 do not matter."""
    params = {"mu": 0.05, "eps_N": 0.6}
    motion, x, Phi = followed(point_mass(), [0, 1], [3, 0], 5.0, params)
    assert x[2] == pytest.approx(3 - 0.05 * G * 5, abs=1e-12)
    assert len(motion.switches) > 20 and [row[1] for row in motion.happened].count(ACCUMULATES) == 1
    assert Phi[2] == pytest.approx([0.0, 0.0, 1.0, 0.05], abs=1e-6)  # the projection stands for the skipped impacts
    # x = x0 + v_x0 t - mu (g t^2/2 - v_y0 t - y0), since the height y0 + v_y0 t - g t^2/2 + impulses is zero at last
    assert Phi[0] == pytest.approx([1.0, 0.05, 5.0, 0.25], abs=1e-5)
    assert Phi[[1, 3]] == pytest.approx(np.zeros((2, 4)), abs=1e-9)  # it rests: nothing of the fall is left


def test_sticking_impact_forgets_the_slip():
    params = {"mu": 2.0, "eps_N": 0.5, "eps_T": 0.0}
    motion, _, _ = followed(point_mass(), [0, 0.1], [0.3, 0], 0.2, params)
    S, v = motion.switches[0].matrix, -motion.switches[0].speed
    assert S[2, 2] == pytest.approx(0.0, abs=1e-9)  # v_x+ = 0 whatever it was
    assert S[3, 3] == pytest.approx(-0.5, rel=1e-9)
    assert S[3, 1] == pytest.approx(1.5 * -G / v, rel=1e-8)
    assert S[0, 1] == pytest.approx(-0.3 / v, rel=1e-8)  # an earlier impact ends the motion along the floor earlier


def test_stick_and_slip_of_a_driven_block():
    """Slip -> stick loses a dimension; stick -> slip with one coefficient of friction passes everything."""
    scenario = ss.library.friction_oscillator()
    x = [*scenario.q0, *scenario.u0]
    motion, _, Phi = followed(scenario.system, x[:2], x[2:], 1.5)
    kinds = [switch.kind for switch in motion.switches]
    assert "sticks" in kinds and "slips" in kinds
    for switch in motion.switches:
        if switch.kind == "slips":
            assert switch.matrix == pytest.approx(np.eye(4), abs=1e-9)
        else:
            assert np.linalg.matrix_rank(switch.matrix, tol=1e-8) == 3
    assert Phi.shape == (4, 4)


def test_block_on_a_belt_with_two_coefficients():
    """m = k = N = 1, mu_s = 1, mu_k = 0.6, belt 0.2 m/s: S_slip = [[1, 0], [-2, 1]], S_restick = [[1, 0], [0, 0]]."""
    scenario = ss.library.block_on_belt()
    motion, _, _ = followed(scenario.system, scenario.q0, scenario.u0, 10.0)
    along = np.ix_([0, 2], [0, 2])  # x and its velocity; the others belong to the height, which is zero
    assert [switch.kind for switch in motion.switches] == ["slips", "sticks"]
    assert motion.switches[0].matrix[along] == pytest.approx(np.array([[1, 0], [-2, 1]]), abs=1e-9)
    assert motion.switches[1].matrix[along] == pytest.approx(np.array([[1, 0], [0, 0]]), abs=1e-9)
    cycle = ss.limit_cycle(scenario, section=ss.LevelSection("v_x", 0.0), settle_returns=8)
    assert cycle.period == pytest.approx(8.068887871591, rel=1e-10)
    assert cycle.kinds[0] == "flow" and cycle.multipliers[0] == pytest.approx(1.0, abs=1e-8)
    assert np.abs(cycle.nontrivial).max() < 1e-8 and cycle.certificate.jacobian_error < 1e-2


@pytest.mark.slow
def test_derivative_of_the_woodpecker_agrees_with_differences():
    toy = ss.library.woodpecker()
    q = [0.0, -0.05, -0.2]
    _, _, Phi = followed(toy.system, q, toy.u0, 0.2)
    measured = differences(toy.system, q, toy.u0, 0.2, step=1e-7)
    assert np.abs(Phi - measured).max() < 1e-3 * np.abs(Phi).max()


@pytest.mark.slow
def test_derivative_with_every_element_agrees_with_differences():
    """Mass matrix that depends on the coordinates, moving contacts, clutch, spring, dry friction, restitution."""
    scenario = every_element()
    motion, _, Phi = followed(scenario.system, scenario.q0, scenario.u0, 0.5)
    assert len(motion.switches) > 3
    free = [1, 4, 5, 7, 10, 11]  # those that no element holds at the start
    measured = differences(scenario.system, scenario.q0, scenario.u0, 0.5, step=1e-6, columns=free)
    assert np.abs(Phi[:, free] - measured).max() < 1e-4 * np.abs(measured).max()


def test_graze_has_no_derivative():
    """x'' = -x from rest at 0.1 m turns at -0.1 m, where the stop of `play` is."""
    params = {"stiffness_1": 2.0}
    with pytest.raises(Undefined, match="graze"):
        followed(separate_elements(), [0, 0.1, 0, 0], [0, 0, 1, 0], 4.0, params)


def test_poissons_law_of_a_point_mass_is_newtons():
    """delta = 0 and eps_T = 0: the laws agree, and so do their saltation matrices, held branch or differences."""
    system, x = point_mass(), np.array([0.0, 0.2, 3.0, 0.0])
    p = system.parameter_vector({"mu": 0.05, "eps_N": 0.6})
    ends = [FollowedMotion.of(system, x, p, 0.0, 0.3, 1e-12, law=law) for law in (None, ss.Poisson())]
    (first, by_newton), (second, by_poisson) = (motion.run() for motion in ends)
    assert [switch.kind for switch in ends[1].switches] == ["impact"] and not ends[1].switches[0].one_sided
    assert second == pytest.approx(first, abs=1e-12)
    assert by_poisson == pytest.approx(by_newton, abs=1e-7)
