"""Derivatives of every mechanism of the library, with random parameters, against differences of event-driven runs."""

import math
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import stickslip as ss
from tests.events.test_accumulation import ALPHA, ETA, PULL, block, tilted

SHARE = 1e-6  # agreement that is asked for, relative to the largest entry of a column
SPATIAL = ("sliding_ball", "sliding_top", "sliding_coin")  # two tangents: `sensitivity` takes such differences itself


def drawn(name, seed):
    """A mechanism with random parameters, each within 3 %.

    Kept are restitutions of 0 and 1, and what moves a gap of the start by a tenth, or one that touches.
    """
    scenario, rng = ss.library.get(name), np.random.default_rng(seed)
    system = scenario.system
    q, _, p = system.check(scenario.q0, scenario.u0, scenario.params)
    gaps = system.gap(q, 0.0, p)
    values = {}
    for i, (key, value) in enumerate(zip(system.parameter_names, p, strict=True)):
        there = p.copy()
        there[i] = value * (1.0 + 0.03 * rng.uniform(-1.0, 1.0))
        moves = np.abs(system.gap(q, 0.0, there) - gaps) > 0.1 * np.abs(gaps) + 1e-12
        kept = value in (0.0, 1.0) or abs(there[i]) > 1.0 >= abs(value) or np.any(moves)
        values[key] = float(value if kept else there[i])
    return replace(scenario, params=values), rng


def run_of(scenario, name, value, t_end):
    """End of a run with one quantity at `value`, and the events on the way."""
    states = (*scenario.system.coordinate_names, *scenario.system.velocity_names)
    moved = (
        scenario.starting({name: value})
        if name in states
        else replace(scenario, params={**(scenario.params or {}), name: value})
    )
    run = moved.simulate(dt=t_end, t_end=t_end, stepper=ss.EventDriven(rtol=1e-13, zeno=1e-9), progress=False)
    if not run.complete:
        raise ArithmeticError(run.status)
    table = run.events()
    return np.concatenate([run.q[-1], run.u[-1]]), list(zip(table["contact"], table["kind"], strict=True))


def measured(scenario, name, t_end):
    """d(q, u)(t_end)/d name by differences of order 6 and the error they claim; None where their events differ.

    Of several steps the one whose orders 4 and 6 differ least is taken.  Raises ValueError where runs refuse every
    other value: a start off its constraints.
    """
    states = (*scenario.system.coordinate_names, *scenario.system.velocity_names)
    start = dict(zip(states, (*scenario.q0, *scenario.u0), strict=True))
    value = float({**scenario.parameters, **start}[name])
    size = abs(value) or 1.0
    best, claimed, refused = None, math.inf, []
    for share in (1e-2, 2e-3, 4e-4, 8e-5, 1.6e-5):
        step = share * size
        try:
            pairs = [[run_of(scenario, name, value + s * i * step, t_end) for s in (1, -1)] for i in (1, 2, 3)]
        except ValueError as problem:
            refused.append(problem)
            continue
        except ArithmeticError:
            continue
        if any(row[1] != pairs[0][0][1] for pair in pairs for row in pair):
            continue
        d = [(a[0] - b[0]) / step for a, b in pairs]
        fourth, sixth = (8.0 * d[0] - d[1]) / 12.0, (45.0 * d[0] - 9.0 * d[1] + d[2]) / 60.0
        error = float(np.abs(sixth - fourth).max())
        if error < claimed:
            best, claimed = sixth, error
    if len(refused) == 5:
        raise refused[-1]
    return best, claimed


def compared(name, seed, quantities):
    """(judged, unreliable, unjudged) quantities; asserts agreement of those that are judged.

    Unjudged are quantities whose differences claim no sufficient accuracy, or whose runs differ in their events.
    """
    scenario, rng = drawn(name, seed)
    system = scenario.system
    t_end = scenario.t_end * rng.uniform(0.6, 1.0)
    names = [key for key, value in scenario.parameters.items() if float(value) != 0.0]
    names += [*system.coordinate_names, *system.velocity_names]
    chosen = [str(key) for key in rng.permutation(names)[:quantities]]
    whole = ss.sensitivity(scenario, chosen, t_end=t_end, samples=2)
    if len(whole.event_times) > 12:  # long motions with many events leave the line that a derivative describes
        t_end = 0.5 * (whole.event_times.t[10] + whole.event_times.t[11])
    judged, unreliable, unjudged = [], [], []
    for key in chosen:
        for end in (t_end, 0.4 * t_end, 0.1 * t_end):
            found = ss.sensitivity(scenario, [key], t_end=end, samples=2)
            if not found.reliable:
                unreliable.append((key, found.reason))
                break
            try:
                slope, claimed = measured(scenario, key, end)
            except ValueError as problem:
                assert "constraint" in str(problem), problem
                unreliable.append((key, f"no run beside it: {problem}"))
                break
            size = 0.0 if slope is None else max(float(np.abs(slope).max()), 1e-3)
            if slope is not None and np.abs(found.end).max() < 1e-9:  # no effect: relative to 1, not to nothing
                size = max(size, 1.0)
            if slope is not None and claimed <= 0.5 * SHARE * size:
                assert np.abs(found.end[:, 0] - slope).max() <= SHARE * size, (key, found.end[:, 0], slope, claimed)
                judged.append(key)
                break
        else:
            unjudged.append(key)
    return judged, unreliable, unjudged


def test_brick_on_ramp_with_random_parameters():
    judged, _, unjudged = compared("brick_on_ramp", 1, 2)
    assert judged and not unjudged


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ss.library.names() if name not in SPATIAL])
def test_mechanisms_with_random_parameters(name):
    judged, unreliable, unjudged = compared(name, 1, 4)
    assert judged or unreliable, unjudged
    assert len(unjudged) <= 1, unjudged
    assert all(reason for _, reason in unreliable)


def eigenvalues(found):
    return np.sort_complex(np.linalg.eigvals(found.end))


@pytest.mark.slow
def test_multipliers_of_the_woodpecker_are_those_of_its_limit_cycle():
    toy = ss.library.woodpecker()
    cycle = ss.limit_cycle(toy)
    start = replace(toy, q0=cycle.q, u0=cycle.u)
    names = [*toy.system.coordinate_names, *toy.system.velocity_names]
    found = ss.sensitivity(start, names, t_end=cycle.period, samples=2)
    assert eigenvalues(found) == pytest.approx(np.sort_complex(cycle.multipliers), abs=1e-6)


@pytest.mark.slow
def test_multipliers_of_a_driven_oscillator_are_those_of_its_limit_cycle():
    driven = ss.library.impact_oscillator()
    period = 2.0 * math.pi / 1.7
    start = replace(driven, q0=[3.774110774572], u0=[1.410635094632])
    cycle = ss.limit_cycle(start, section=ss.PhaseSection(period), settle_returns=0)
    found = ss.sensitivity(replace(driven, q0=cycle.q, u0=cycle.u), ["x", "v"], t_end=period, samples=2)
    assert found.reliable
    mine, theirs = (np.sort_complex(values) for values in (np.linalg.eigvals(found.end), cycle.multipliers))
    assert mine == pytest.approx(theirs, abs=1e-8)
    assert np.prod(mine).real == pytest.approx(0.64 * math.exp(-0.1 * period), rel=1e-9)  # e^2 exp(-c T)


def disc_billiard(z, t_end):
    """(x, y, v_x, v_y) of a point in a disc of radius R, elastic: straight lines and mirrors; complex steps pass."""
    x, y, v, w, R = z
    left = t_end
    while True:
        a, b, c = v * v + w * w, x * v + y * w, x * x + y * y - R * R
        away = (-b + (b * b - a * c) ** 0.5) / a
        if away.real >= np.real(left):
            return np.array([x + v * left, y + w * left, v, w])
        x, y, left = x + v * away, y + w * away, left - away
        push = 2.0 * (v * x + w * y) / (R * R)
        v, w = v - push * x, w - push * y


def test_billiard_in_a_disc():
    """Six reflections of a point at a round cushion, against complex steps through mirrors."""
    x, y, v, w, R = sp.symbols("x y v w R")
    cushion = ss.Contact("cushion", gap=R - sp.sqrt(x**2 + y**2), restitution_normal=1)
    system = ss.LagrangianSystem.from_energies(
        [x, y], velocities=[v, w], kinetic=(v**2 + w**2) / 2, contacts=[cushion], parameters={R: 1.0}, name="billiard"
    )
    start = [0.3, -0.2, 1.1, 0.7, 1.0]
    found = ss.sensitivity(
        ss.Scenario(system, start[:2], start[2:4], 0.01, 7.0, "", ""), ["x", "y", "v", "w", "R"], samples=2
    )
    columns = []
    for k in range(5):
        z = [value + 1e-30j * (j == k) for j, value in enumerate(start)]
        columns.append(disc_billiard(z, 7.0).imag / 1e-30)
    exact = np.stack(columns, axis=-1)
    assert found.reliable and len(found.event_times) >= 4
    assert np.abs(found.end - exact).max() <= 1e-10 * np.abs(exact).max()


@pytest.mark.parametrize("t_end", [0.6, 1.5])
def test_rocking_block(t_end):
    """F = omega^2 / 2 + p^2 cos(alpha - |phi|) stays, but for impacts: F - p^2 cos(alpha) falls to eta^2 of it.

    So dF/dphi_0 = eta^(2 n) p^2 sin(alpha - phi_0) behind n impacts (Housner 1963).
    """
    angle = 0.1
    start = ss.Scenario(block(), tilted(angle), [0, 0, 0], 0.01, t_end, "", "")
    found = ss.sensitivity(start, ["phi"], samples=2)
    assert found.doubts and all("kept on the contact" in reason for _, reason in found.doubts)
    n = found.event_times.kinds.count("impact")
    assert n >= 1
    phi, omega = found.trajectory.q[-1, 2], found.trajectory.u[-1, 2]
    by_phi = PULL * math.sin(ALPHA - abs(phi)) * np.sign(phi)
    slope = by_phi * found.end[2, 0] + omega * found.end[5, 0]
    exact = ETA ** (2 * n) * PULL * math.sin(ALPHA - angle) * found.q[0, 2, 0]  # the start is put onto its corner
    assert slope == pytest.approx(exact, rel=1e-10)
