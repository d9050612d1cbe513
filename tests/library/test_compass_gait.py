"""Goswami's compass gait: a step of 3 degrees, and the doubling of its period, beside an integration of its own."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, fsolve

import stickslip as ss
from stickslip.analysis.return_map import EventMap, Setting

M, M_H, A, B, G = 5.0, 10.0, 0.5, 0.5, 9.81
LENGTH = A + B


def rates(t, y):
    """Two degrees of freedom about the stance foot, angles from the vertical: swing, stance; [GTE98] eq. (1)."""
    n, s, v, w = y
    c, d = math.cos(s - n), math.sin(s - n)
    mass = np.array([[M * B * B, -M * LENGTH * B * c], [-M * LENGTH * B * c, (M_H + M) * LENGTH**2 + M * A * A]])
    centrifugal = np.array([M * LENGTH * B * d * w * w, -M * LENGTH * B * d * v * v])
    weight = G * np.array([M * B * math.sin(n), -(M_H * LENGTH + M * (A + LENGTH)) * math.sin(s)])
    return [v, w, *np.linalg.solve(mass, -centrifugal - weight)]


def exchange(y):
    """Angular momenta about the new foot, and of the other leg about the hip, are kept; legs change their names."""
    n, s, v, w = y
    c = math.cos(n - s)
    before = np.array([[-M * A * B, -M * A * B + (M_H * LENGTH**2 + 2 * M * A * LENGTH) * c], [0.0, -M * A * B]])
    after = np.array(
        [
            [M * B * (B - LENGTH * c), M * LENGTH * (LENGTH - B * c) + M * A * A + M_H * LENGTH**2],
            [M * B * B, -M * B * LENGTH * c],
        ]
    )
    return np.array([n, *np.linalg.solve(after, before @ [v, w])])  # stance angle, swing and stance velocity


def step(z, slope):
    """The next step from (stance angle, swing velocity, stance velocity): time, and the same three after it."""
    start = [-z[0] - 2 * slope, *z]
    sol = solve_ivp(rates, (0, 2), start, method="DOP853", rtol=1e-12, atol=1e-13, dense_output=True, max_step=0.05)
    t = np.linspace(0, sol.t[-1], 2001)
    n, s = sol.sol(t)[:2]
    height, apart = n + s + 2 * slope, (s - n) * (z[0] - start[0])
    i = next(i for i in range(20, 2000) if height[i] * height[i + 1] < 0 and apart[i] < -0.05)
    end = brentq(lambda t: sol.sol(t)[0] + sol.sol(t)[1] + 2 * slope, t[i], t[i + 1], xtol=1e-15)
    y = sol.sol(end)
    return end, exchange(y), 2 * LENGTH * math.sin(abs(y[0] - y[1]) / 2)


def multipliers(slope, z):
    """Fixed point of the steps, and the eigenvalues of their derivative by differences."""
    z = fsolve(lambda z: step(z, slope)[1] - z, z, xtol=1e-13)
    h = 1e-5
    D = np.stack([(step(z + h * e, slope)[1] - step(z - h * e, slope)[1]) / (2 * h) for e in np.eye(3)], axis=1)
    return z, np.linalg.eigvals(D)


@pytest.fixture(scope="module")
def cycle():
    return ss.limit_cycle(ss.library.compass_gait(), returns=1, settle_returns=2, tol=1e-12)


def test_a_step_at_three_degrees(cycle):
    assert cycle.period == pytest.approx(0.734346391159, abs=1e-10)
    assert cycle.shift["x"] == pytest.approx(0.535445415430, abs=1e-10)
    assert cycle.nontrivial[:3] == pytest.approx([-0.199726126 + 0.54447606j, -0.199726126 - 0.54447606j, 0.131572624],
                                                 abs=2e-8)  # fmt: skip
    assert np.abs(cycle.nontrivial[3:]).max() < 1e-8
    assert cycle.stable and cycle.returns == 1
    assert [(event["kind"], event["contacts"]) for event in cycle.events] == [("impact", ["foot 2"])]
    assert cycle.certificate.trivial_defect < 1e-8 and cycle.certificate.jacobian_error < 1e-6


def test_the_same_step_by_two_degrees_of_freedom(cycle):
    slope = math.radians(3.0)
    z = np.array([cycle.q[2] - slope, cycle.u[3], cycle.u[2]])
    period, after, length = step(z, slope)
    assert after == pytest.approx(z, abs=1e-9)
    assert period == pytest.approx(cycle.period, abs=1e-10)
    assert length == pytest.approx(cycle.shift["x"], abs=1e-10)


def test_both_feet_walk_in_one_run():
    """Without any reset: feet strike in turns, the swinging foot passes the ground, and no foot slips."""
    run = ss.library.compass_gait().simulate(stepper="event-driven", dt=5e-3, t_end=3.0)
    table = run.impacts()
    assert table["time"] == pytest.approx(0.734346391 * np.arange(1, 5), abs=1e-4)
    assert [run.contact_names[k] for k in table["contact"]] == ["foot 2", "foot 1", "foot 2", "foot 1"]
    assert run.gap.min() < -1e-3 and run.certificate.max_penetration < 1e-8
    assert set(np.unique(run.contact_state)) <= {0, 1, 4}  # open, stick, impact


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stepper", "dt"),
    [("moreau-midpoint", 1e-3), ("moreau-midpoint", 1e-5), ("moreau-jean", 1e-4), ("stewart-trinkle", 1e-4),
     ("paoli-schatzman", 1e-4)],
)  # fmt: skip
def test_time_steppers_walk(stepper, dt):
    run = ss.library.compass_gait().simulate(stepper=stepper, dt=dt, t_end=7.0, every=max(1, round(1e-3 / dt)))
    table = run.impacts()
    hard = table["time"][table["normal_velocity_before"] < -0.5]
    assert run.complete and len(hard) == 9
    assert np.diff(hard).mean() == pytest.approx(0.734346391, abs=3 * dt)


@pytest.mark.slow
def test_the_period_doubles_where_an_integration_of_its_own_says(cycle):
    """Published near 4.37 degrees [GTE98]; both computations say 4.39090."""
    branch = ss.continue_cycle(
        ss.library.compass_gait(), "slope", math.radians(3.8), math.radians(4.6), largest_step=0.3
    )
    (flip,) = branch.specials
    assert flip.kind == "flip" and flip.multiplier == pytest.approx(-1.0, abs=1e-6)
    found = {"z": np.array([0.2186688, -0.37737395, -1.09238359])}
    for degrees in (3.5, 4.0, 4.3):
        found["z"], _ = multipliers(math.radians(degrees), found["z"])

    def beyond(degrees):
        found["z"], values = multipliers(math.radians(degrees), found["z"])
        return values.real.min() + 1.0

    assert math.degrees(flip.parameter) == pytest.approx(brentq(beyond, 4.36, 4.42, xtol=1e-7), abs=2e-6)
    assert math.degrees(flip.parameter) == pytest.approx(4.39090, abs=1e-5)


@pytest.mark.slow
def test_the_period_doubles_again():
    """Behind the first doubling a cycle of two steps, behind the second one of four; the simple one is unstable."""
    counts = {}
    for degrees in (4.2, 4.6, 4.96):
        found = ss.limit_cycle(ss.library.compass_gait(slope=math.radians(degrees)))
        counts[degrees] = found.returns
        assert found.stable and found.certificate.jacobian_error < 1e-5
    assert counts == {4.2: 1, 4.6: 2, 4.96: 4}
    doubled = ss.limit_cycle(ss.library.compass_gait(slope=math.radians(4.6)), returns=2)
    setting = Setting.of(ss.library.compass_gait(slope=math.radians(4.6)))
    once = EventMap(setting, 1, 1e-11, 5.0)
    half = once(doubled.x, None, tangent=False)
    again = once(half.x, half.mode, tangent=False)
    assert setting.difference(again.x, doubled.x) == pytest.approx(0.0, abs=1e-8)
    assert np.abs(setting.difference(half.x, doubled.x)).max() > 1e-2


def test_the_gait_is_the_same_from_its_file(tmp_path):
    path = ss.write_model(ss.library.compass_gait(), tmp_path / "walker.toml")
    again = ss.read_model(path).scenario
    assert again.reset == ss.library.compass_gait().reset
    assert again.system.gated == (True, True)
    text = path.read_text(encoding="utf-8")
    assert 'swap = [["theta_1", "theta_2"]]' in text and "closes_when = " in text
    with pytest.raises(ValueError, match="reset"):
        ss.model_from_text(text.replace('swap = [["theta_1", "theta_2"]]', 'swap = [["theta_1", "theta_3"]]'))
