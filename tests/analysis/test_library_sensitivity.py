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


def fitted(x, odd, powers):
    """Slope at 0 of polynomials through rows `odd` at x, and its error: four standard errors of what is left over.

    Round-off of gaps moves an impact by (round-off) / (normal speed).  Behind a train of ever smaller impacts, runs
    scatter by 1e-10, however fine their tolerance is.  Differences of order 4 and 6 alone do not see that.
    """
    A = (x / x[0])[:, None] ** np.array(powers)
    found = np.linalg.lstsq(A, odd, rcond=None)[0]
    scatter = np.sqrt(((odd - A @ found) ** 2).sum(axis=0) / (len(x) - len(powers)))
    return found[0] / x[0], 4.0 * float(scatter.max()) * math.sqrt(np.linalg.inv(A.T @ A)[0, 0]) / x[0]


def slope_of(x, there, pairs, alike):
    """Slope by runs at +x and -x, rows (8, 2, n), and by that at 0, (n,), with the error that they claim.

    Odd polynomials of degree 3 and 5 through both sides, where all runs have the events of the motion (`alike`); or
    those of degree 4 and 5 through each side alone.  A slip that dies at once is an event more on both sides: there the
    second derivative jumps.
    """
    both = [fitted(x, 0.5 * (pairs[:, 0] - pairs[:, 1]), powers) for powers in ((1, 3), (1, 3, 5))]
    up, down = (
        [fitted(x, sign * (pairs[:, k] - there), range(1, degree + 1)) for degree in (4, 5)]
        for k, sign in ((0, 1.0), (1, -1.0))
    )
    found = [(both[1][0], max(both[1][1], float(np.abs(both[1][0] - both[0][0]).max())))] if alike else []
    sides = 0.5 * (up[1][0] + down[1][0])
    apart = max(float(np.abs(one - two).max()) for one, two in ((up[0][0], up[1][0]), (down[0][0], down[1][0])))
    found.append((sides, max(up[1][1], down[1][1], apart, float(np.abs(up[1][0] - down[1][0]).max()))))
    return min(found, key=lambda pair: pair[1])


def measured(scenario, name, t_end):
    """d(q, u)(t_end)/d name by runs on both sides and the error that they claim; None where their events differ.

    Polynomials are fitted to eight pairs of runs.  Of several widths the one is taken whose slopes agree best and have
    the least scatter.  Raises ValueError where runs refuse every other value: a start off its constraints.
    """
    states = (*scenario.system.coordinate_names, *scenario.system.velocity_names)
    start = dict(zip(states, (*scenario.q0, *scenario.u0), strict=True))
    value = float({**scenario.parameters, **start}[name])
    best, claimed, refused = None, math.inf, []
    there, events = run_of(scenario, name, value, t_end)
    for width in (abs(value) or 1.0) * 0.03 * 0.5 ** np.arange(11):
        x, pairs, seen = width * np.cos(np.pi * np.arange(8) / 16.0), [], None
        try:
            for step in x:  # the widest first: where events differ, two runs tell
                pair = [run_of(scenario, name, value + side * step, t_end) for side in (1, -1)]
                seen = seen or [row[1] for row in pair]
                if any(row[1] != own for row, own in zip(pair, seen, strict=True)):
                    break
                pairs.append((pair[0][0], pair[1][0]))
        except ValueError as problem:
            refused.append(problem)
        except ArithmeticError:
            pass
        if len(pairs) < len(x):
            continue
        slope, error = slope_of(x, there, np.array(pairs), seen == [events, events])
        if error < claimed:
            best, claimed = slope, error
        if claimed <= 0.1 * SHARE * np.abs(best).max():
            break
    if len(refused) == 11:
        raise refused[-1]
    return best, claimed


def ends(times, t_end):
    """Ends of runs: t_end, behind a half and a quarter of the events before it, and a tenth of t_end."""
    times = np.concatenate([[0.0], times[times < t_end], [t_end]])
    found = [t_end]
    for share in (0.5, 0.25):
        count = int(share * (len(times) - 2))
        found.append(0.5 * (times[count] + times[count + 1]) if count else 0.8 * share * t_end)
    return [*found, 0.1 * t_end]


def verdict(scenario, name, t_end):
    """("judged", events before t_end), where the derivative is asserted; ("unreliable", why); or ("unjudged", "").

    Unjudged is a quantity whose runs claim no sufficient accuracy, or differ in their events.
    """
    found = ss.sensitivity(scenario, [name], t_end=t_end, samples=2)
    if not found.reliable:
        return "unreliable", found.reason
    try:
        slope, claimed = measured(scenario, name, t_end)
    except ValueError as problem:
        assert "constraint" in str(problem), problem
        return "unreliable", f"no run beside it: {problem}"
    if slope is None:
        return "unjudged", ""
    size = max(float(np.abs(slope).max()), 1e-3)
    if np.abs(found.end).max() < 1e-9:  # no effect: relative to 1, not to nothing
        size = max(size, 1.0)
    if claimed > 0.5 * SHARE * size:
        return "unjudged", ""
    assert np.abs(found.end[:, 0] - slope).max() <= SHARE * size, (name, found.end[:, 0], slope, claimed)
    return "judged", len(found.event_times)


def compared(name, seed, quantities):
    """Lists of (quantity, what is said of it) by "judged", "unreliable" and "unjudged", see `verdict`.

    Runs get shorter until a quantity is judged.
    """
    scenario, rng = drawn(name, seed)
    system = scenario.system
    t_end = scenario.t_end * rng.uniform(0.6, 1.0)
    names = [key for key, value in scenario.parameters.items() if float(value) != 0.0]
    names += [*system.coordinate_names, *system.velocity_names]
    chosen = [str(key) for key in rng.permutation(names)[:quantities]]
    times = ss.sensitivity(scenario, chosen, t_end=t_end, samples=2).event_times.t
    if len(times) > 12:  # long motions with many events leave the line that a derivative describes
        t_end = 0.5 * (times[10] + times[11])
    sorted_out = {"judged": [], "unjudged": [], "unreliable": []}
    for key in chosen:
        said = {}
        for end in ends(times, t_end):
            word, what = verdict(scenario, key, end)
            said.setdefault(word, what)
            if word == "judged" or str(what).startswith("t = 0 s"):  # a doubt of the start holds for shorter runs, too
                break
        word = next(word for word in sorted_out if word in said)
        sorted_out[word].append((key, said[word]))
    return sorted_out


def test_brick_on_ramp_with_random_parameters():
    found = compared("brick_on_ramp", 1, 2)
    assert len(found["judged"]) == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ss.library.names() if name not in SPATIAL])
def test_mechanisms_with_random_parameters(name):
    found = compared(name, 1, 4)
    assert len(found["unjudged"]) <= 1, found
    assert all(reason for _, reason in found["unreliable"])


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


@pytest.mark.parametrize(
    ("name", "swapped"),
    [
        pytest.param("friction_oscillator", [], marks=pytest.mark.slow),
        ("rimless_wheel", []),
        pytest.param("compass_gait", [("theta_1", "theta_2"), ("omega_1", "omega_2")], marks=pytest.mark.slow),
    ],
)
def test_multipliers_of_library_cycles_are_those_of_their_limit_cycles(name, swapped):
    """From a state behind the section, through it; a walker's step ends by a change of its legs."""
    scenario = ss.library.get(name)
    cycle = ss.limit_cycle(scenario)
    names = [*scenario.system.coordinate_names, *scenario.system.velocity_names]
    q, u = cycle.q, cycle.u
    if scenario.reset is not None:
        wait = 0.3 * cycle.period
        run = replace(scenario, q0=q, u0=u).simulate(dt=wait, t_end=wait, stepper=ss.EventDriven(rtol=1e-12))
        q, u = run.q[-1], run.u[-1]
    found = ss.sensitivity(replace(scenario, q0=q, u0=u), names, t_end=cycle.period, samples=2)
    Phi = found.end.copy()
    for pair in swapped:
        rows = [names.index(name) for name in pair]
        Phi[rows] = Phi[rows[::-1]]
    mine, theirs = (sorted(x, key=lambda z: (-abs(z), z.imag)) for x in (np.linalg.eigvals(Phi), cycle.multipliers))
    assert mine == pytest.approx(theirs, abs=1e-8)


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
