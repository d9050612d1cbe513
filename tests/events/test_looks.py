"""Kinks and corners that a motion passes twice within a step of the integrator are not missed."""

from functools import cache

import numpy as np
import pytest
import sympy as sp

import stickslip as ss

x, v, a, b, c, w, t = sp.symbols("x v a b c w t")
T_END = 0.5


@cache
def system():
    """Pulses of a kink in time, and a corner in the velocity."""
    force = a * sp.Max(0, sp.cos(w * t) - c) - b * sp.Abs(v - c * sp.cos(w * t))
    return ss.LagrangianSystem.from_energies(
        [x], velocities=[v], kinetic=v**2 / 2, forces=[force], parameters={a: 0.0, b: 0.0, c: 1.0, w: 1.0}, time=t,
        name="driven", contacts=[ss.Contact("far", gap=x + 9)],
    )  # fmt: skip


def driven(start=0.0, **params):
    return ss.Scenario(system(), [0.0], [start], 0.01, T_END, params=params)


def speed(a, w, c):
    """Integral of a max(0, cos(w t) - c); complex numbers carry a derivative."""
    arc, total = np.arccos(c), 0.0
    for k in range(int(np.real(w) * T_END / (2 * np.pi)) + 2):
        begin, end = (2 * np.pi * k - arc if k else 0.0), 2 * np.pi * k + arc
        if np.real(begin) < np.real(w) * T_END:
            end = end if np.real(end) < np.real(w) * T_END else w * T_END
            total = total + (np.sin(end) - np.sin(begin) - c * (end - begin)) / w
    return a * total


@pytest.mark.parametrize("often", [200.0, pytest.param(1000.0, marks=pytest.mark.slow)])
def test_short_pulses(often):
    """Where the force is zero, nothing holds the integrator back: half of the pulses were stepped over."""
    pulses = driven(a=5.0, w=often, c=0.9)
    found = ss.sensitivity(pulses, ["a", "w", "c"], samples=2)
    values = [5.0, often, 0.9]
    exact = [speed(*(z + 1e-30j * (i == k) for i, z in enumerate(values))).imag / 1e-30 for k in range(3)]
    assert found.reliable
    assert found.trajectory.u[-1, 0] == pytest.approx(speed(*values), rel=1e-10)
    assert found.end[1] == pytest.approx(exact, rel=1e-9)


def test_a_kink_that_is_only_touched_is_told():
    """max(0, cos(w t) - c) with c = 1 is zero, and grows with 1 - c: there is no derivative by c to one side."""
    touched = driven(0.1, a=5.0, w=40.0, c=1.0)
    found = ss.sensitivity(touched, ["c"], samples=2)
    assert not found.reliable and "kink" in found.reason
    above = ss.sensitivity(touched, ["c"], samples=2, params={"c": 1.001})
    assert above.reliable and np.all(above.end == 0.0)


def falling(A, C, W, v0):
    """v(T) of v' = -A |v - C cos(W t)| by exact pieces, and how many corners were passed; complex numbers pass."""
    from scipy.optimize import brentq

    turn, T = 2 * np.pi / np.real(W), 0.87 * 2 * np.pi / np.real(W) * 1.6
    near = np.geomspace(1e-8, 1e-2, 200) * turn
    grid = np.unique(np.concatenate([np.linspace(0, T, 2001), turn - near, [turn], turn + near]))

    def piece(k, begin, value):
        forced = lambda t: C * k * (k * np.cos(W * t) + W * np.sin(W * t)) / (k * k + W * W)  # noqa: E731
        return lambda t: (value - forced(begin)) * np.exp(-k * (t - begin)) + forced(t)

    at, value, side, passed = 0.0, v0, np.sign(np.real(v0 - C)), 0
    while True:
        state = piece(A * side, at, value)
        level = lambda t, state=state: state(t) - C * np.cos(W * t)  # noqa: E731
        times = grid[grid > np.real(at) + 1e-12]
        below = np.flatnonzero(side * np.real(level(times)) < 0.0)
        if not len(below):
            return state(T), passed
        begin = max(np.real(at) + 1e-12, times[max(below[0] - 1, 0)])
        root = brentq(lambda t, level=level: float(np.real(level(t))), begin, times[below[0]], xtol=1e-15)
        for _ in range(3):
            root = root - level(root) / (-A * side * level(root) + C * W * np.sin(W * root))
        at, value, side, passed = root, C * np.cos(W * root), -side, passed + 1


@pytest.mark.parametrize("dip", [pytest.param(1e-4, marks=pytest.mark.slow), 1e-6])
def test_a_corner_in_a_velocity_that_is_passed_and_passed_back_at_once(dip):
    """v comes below the tip of C cos(W t) by a little: no stage of a step saw it, and a derivative was off by 1e-2."""
    A, C, W = 3.0, 2.0, 13.0
    forced = lambda t: C * A * (A * np.cos(W * t) + W * np.sin(W * t)) / (A * A + W * W)  # noqa: E731
    tip = 2 * np.pi / W
    start = (C - dip - forced(tip)) * np.exp(A * tip) + forced(0.0)
    values, T = [A, C, W, start], 0.87 * 2 * np.pi / W * 1.6
    end, passed = falling(*values)
    assert passed == 2
    corner = driven(start, b=A, c=C, w=W)
    found = ss.sensitivity(corner, ["b", "c", "w", "v"], samples=2, t_end=T)
    columns = [falling(*(z + 1e-30j * (i == k) for i, z in enumerate(values)))[0].imag / 1e-30 for k in range(4)]
    assert found.reliable
    assert found.trajectory.u[-1, 0] == pytest.approx(end, rel=1e-9)
    assert np.abs(found.end[1] - columns).max() <= 1e-7 * np.abs(columns).max()


def test_a_corner_in_a_velocity_that_is_only_touched_is_told():
    A, C, W = 3.0, 2.0, 13.0
    forced = lambda t: C * A * (A * np.cos(W * t) + W * np.sin(W * t)) / (A * A + W * W)  # noqa: E731
    tip = 2 * np.pi / W
    start = (C - forced(tip)) * np.exp(A * tip) + forced(0.0)
    corner = driven(start, b=A, c=C, w=W)
    found = ss.sensitivity(corner, ["v"], samples=2, t_end=0.6)
    assert not found.reliable and "touches the corner" in found.reason
