"""Limit cycles and multipliers: closed forms of the ball on a table, the woodpecker by both engines, bad input."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import quad

import stickslip as ss
from stickslip.analysis.cycle_result import NoCycle
from stickslip.analysis.return_map import Setting
from stickslip.analysis.step_map import StepMap

WOODPECKER_ON_SECTION = np.array([0.0, -0.6 / 5.8, -0.2788, -0.339478622, 0.0, -7.46209464])  # event-driven

PERIOD, DROP = 0.145976065145, 0.019445379286  # nine digits by `stickslip converge woodpecker`
G = 9.81


def locked_ball(Gamma, e=0.8, frequency=30.0, part=0.0):
    """A ball that bounces once per period of its table, seen at `part` of the period, and the phase of its impact."""
    w = 2 * math.pi * frequency
    amplitude, T = Gamma * G / w**2, 1 / frequency
    phi = math.acos(math.pi * (1 - e) / ((1 + e) * Gamma))
    flown = (part * T - phi / w) % T
    y = amplitude * math.sin(phi) + G * T / 2 * flown - G * flown**2 / 2
    scenario = ss.library.bouncing_ball_on_table(
        restitution=e, amplitude=amplitude, frequency=frequency, height=y, velocity=G * T / 2 - G * flown
    )
    return scenario, phi


@pytest.mark.parametrize(("e", "Gamma"), [(0.8, 0.7), (0.8, 1.05), (0.8, 1.08), (0.5, 1.2), (0.5, 1.53)])
def test_multipliers_of_a_locked_ball(e, Gamma):
    """det = e^2, trace = 1 + e^2 - (1 + e)^2 Gamma sin(phi)."""
    ball, phi = locked_ball(Gamma, e)
    cycle = ss.limit_cycle(ball, settle_returns=0)
    trace = 1 + e**2 - (1 + e) ** 2 * Gamma * math.sin(phi)
    assert complex(cycle.multipliers.sum()) == pytest.approx(trace, abs=1e-8)
    assert complex(cycle.multipliers.prod()) == pytest.approx(e**2, abs=1e-8)
    assert cycle.kinds == ("", "")
    doubling = math.hypot(math.pi * (1 - e) / (1 + e), 2 * (1 + e**2) / (1 + e) ** 2)
    assert cycle.stable == (Gamma < doubling)
    assert cycle.x == pytest.approx([*ball.q0, *ball.u0], abs=1e-12)
    assert cycle.certificate.jacobian_error < 1e-8


def test_settled_ball_beyond_the_doubling_bounces_twice():
    ball, _ = locked_ball(1.08)
    cycle = ss.limit_cycle(ball.starting({"v": ball.u0[0] + 0.01}), settle_returns=100)
    assert cycle.returns == 2 and cycle.stable
    assert cycle.period == pytest.approx(2 / 30)
    assert complex(cycle.multipliers.prod()) == pytest.approx(0.8**4, abs=1e-8)  # two impacts, det = e^2 each


def test_woodpecker_event_by_event(tmp_path):
    cycle = ss.limit_cycle(ss.library.woodpecker())
    assert cycle.period == pytest.approx(PERIOD, rel=1e-10)
    assert cycle.shift["y"] == pytest.approx(-DROP, rel=1e-9)
    assert cycle.x == pytest.approx([0, -0.6 / 5.8, -0.2788, -0.339478622, 0, -7.46209464], abs=1e-7)
    assert sorted(kind for kind in cycle.kinds if kind) == ["flow", "translation"]
    assert cycle.nontrivial[0] == pytest.approx(-0.83915565, abs=1e-7)
    assert np.abs(cycle.nontrivial[1:]).max() < 1e-6 and cycle.stable
    certificate = cycle.certificate
    assert certificate.closure < 1e-9 and certificate.trivial_defect < 1e-6
    assert certificate.jacobian_error < 1e-4  # 1 % is asked for
    assert certificate.max_residual < 1e-12 and certificate.one_sided == 0
    assert [event["kind"] for event in cycle.events].count("impact") == 5
    saved = json.loads(cycle.save(tmp_path / "cycle.json").read_text())
    assert saved["period"] == cycle.period and len(saved["orbit"]["t"]) == len(cycle.orbit[0])
    with pytest.raises(ValueError, match="exists; give overwrite=True"):
        cycle.save(tmp_path / "cycle.json")
    assert cycle.plot(tmp_path / "cycle.png").stat().st_size > 10_000


def test_ball_on_a_table_by_the_midpoint_rule():
    """A driven motion: the mean over step sizes; det = e^2 and the trace of the closed form within its bias."""
    ball, phi = locked_ball(0.7)
    cycle = ss.limit_cycle(ball, stepper="moreau-midpoint", dt=1e-6, members=8, settle_returns=100)
    assert complex(cycle.multipliers.prod()).real == pytest.approx(0.64, abs=0.02)
    assert complex(cycle.multipliers.sum()).real == pytest.approx(1.64 - 3.24 * 0.7 * math.sin(phi), abs=0.03)
    assert cycle.stable and cycle.certificate.noise > 0.0 and cycle.certificate.failed_steps == 0


@pytest.mark.slow
@pytest.mark.parametrize("members", [32, 64])
def test_evenly_shifted_steps_average_out(members):
    """The error of the mean return falls with dt / n: 32 steps of 1e-6 s are as good as 1600 random ones."""
    x = WOODPECKER_ON_SECTION
    step_map = StepMap(Setting.of(ss.library.woodpecker()), 1, "moreau-midpoint", 1e-6, members, 0.6)
    assert step_map.even
    mean, many = step_map(x), StepMap(step_map.setting, 1, "moreau-midpoint", 1e-6, 512, 0.6)(x)
    scatter = 8e-5 * 0.459  # of single returns in v [m/s]
    assert abs(mean.x[3] - many.x[3]) < 4.0 * scatter / members
    assert mean.noise[3] < 4.0 * scatter / members
    assert mean.period == pytest.approx(PERIOD + 4.2e-6, abs=4e-7)


def test_the_first_return_is_taken_however_far_the_horizon_lies():
    """200 s hold more passages than are kept; the mean return of a woodpecker still takes one cycle."""
    setting = Setting.of(ss.library.woodpecker())
    x = WOODPECKER_ON_SECTION
    near, far = (StepMap(setting, 1, "moreau-midpoint", 1e-3, 4, horizon)(x) for horizon in (0.6, 200.0))
    assert 0.1 < near.period < 0.2
    assert far.period == near.period and np.array_equal(far.x, near.x)


@pytest.mark.slow
def test_both_engines_agree_on_the_woodpecker():
    """Period, drop, section state and multipliers to 1e-4, with the default dt = 5e-8 s and 32 members."""
    toy = ss.library.woodpecker()
    judge, stepped = ss.limit_cycle(toy), ss.limit_cycle(toy, stepper="moreau-midpoint")
    assert stepped.period == pytest.approx(judge.period, rel=1e-5)
    assert stepped.shift["y"] == pytest.approx(judge.shift["y"], rel=5e-5)
    ranges = np.ptp(judge.orbit[1], axis=0)
    assert np.abs((stepped.x - judge.x) / ranges).max() < 1e-5
    assert np.abs(stepped.nontrivial - judge.nontrivial).max() < 1e-4
    assert stepped.certificate.jacobian_error < 1e-4 and judge.certificate.jacobian_error < 1e-2


def test_driven_blocks_stick_and_slip():
    cycle = ss.limit_cycle(ss.library.friction_oscillator(), settle_returns=100)
    assert cycle.period == pytest.approx(1 / 1.2)
    assert np.abs(cycle.nontrivial[2:]).max() < 1e-9  # each block sticks once: two dimensions are lost
    assert cycle.certificate.jacobian_error < 1e-6 and cycle.stable
    assert {event["kind"] for event in cycle.events} == {"slips", "sticks"}


@pytest.mark.slow
def test_a_cycle_tells_its_error_where_a_multiplier_is_near_one():
    """Den Hartog's oscillator at half its frequency, F_f = 0.3: the stop ends at x = 1 + F_f, with a multiplier 1.

    At its end the return map is quadratic: a closure of 1e-9 leaves 3e-5 of the way, and stability is undecided.
    """
    x, v, t, F_f, b = sp.symbols("x v t F_f b")
    system = ss.LagrangianSystem.from_energies(
        [x],
        velocities=[v],
        kinetic=v**2 / 2,
        potential=x**2 / 2,
        forces=[sp.cos(b * t)],
        contacts=[ss.DryFriction("rub", x, F_f)],
        parameters={F_f: 0.3, b: 0.5},
        name="den Hartog",
    )
    T = 4 * math.pi
    start = ss.Scenario(system, np.array([1.0]), np.zeros(1), dt=T / 2000, t_end=60 * T, title="", source="")
    cycle = ss.limit_cycle(start, section=ss.PhaseSection(T), settle_returns=0)
    off = abs(cycle.extrema[1, 0] - 1.3)
    assert cycle.certificate.closure < 1e-9 and off > 1e-5
    assert 0.3 < cycle.error[0] / off < 3.0
    assert cycle.stability == "undecided" and not cycle.stable
    assert "undecided" in repr(cycle) and len(repr(cycle)) < 300
    assert "undecided" in cycle._repr_html_() and "period" in cycle._repr_html_()
    # b = 0.7, F_f = 0.4 has no stops: x0 = sqrt(V^2 - (F_f U)^2) = 1.8251665659, Den Hartog 1931
    plain = ss.limit_cycle(
        replace(start.starting({"x": 1.8}), params={"F_f": 0.4, "b": 0.7}),
        section=ss.PhaseSection(2 * math.pi / 0.7),
        settle_returns=0,
    )
    V, U = 1 / (1 - 0.49), math.sin(math.pi / 0.7) / (0.7 * (1 + math.cos(math.pi / 0.7)))
    assert plain.extrema[1, 0] == pytest.approx(math.sqrt(V**2 - (0.4 * U) ** 2), abs=1e-9)
    assert plain.stability == "stable" and plain.error.max() < 1e-8


@pytest.mark.slow
def test_a_rimless_wheel_turns_by_one_turn_per_cycle():
    """Six spokes on a slope: omega+ = eta omega- at every spoke, so the multiplier of a turn is eta^(2 * 6)."""
    N, slope, inertia = 6, math.radians(15.0), 0.3
    half = math.pi / N
    x, y, phi, v, w, omega = sp.symbols("x y phi v w omega")
    tips = [phi + 2 * sp.pi * k / N for k in range(N)]
    wheel = ss.LagrangianSystem.from_energies(
        [x, y, phi],
        velocities=[v, w, omega],
        kinetic=(v**2 + w**2 + inertia * omega**2) / 2,
        potential=G * (math.cos(slope) * y - math.sin(slope) * x),
        contacts=[
            ss.Contact(f"spoke{k}", gap=y - sp.cos(tip), slip=x - sp.sin(tip), friction=10.0)
            for k, tip in enumerate(tips)
        ],
        name="rimless wheel",
    )
    eta = (inertia + math.cos(2 * half)) / (inertia + 1)
    after = eta * math.sqrt(4 * G * math.sin(half) * math.sin(slope) / (inertia + 1) / (1 - eta**2))

    def slowness(angle):
        return 1 / math.sqrt(after**2 + 2 * G / (inertia + 1) * (math.cos(slope - half) - math.cos(angle)))

    period = N * quad(slowness, slope - half, slope + half, epsabs=1e-13)[0]
    spin = 1.02 * after
    start = ss.Scenario(
        wheel,
        np.array([0.0, math.cos(half), -half]),
        spin * np.array([math.cos(half), math.sin(half), 1.0]),
        dt=1e-3,
        t_end=15.0,
        title="",
        source="",
    )
    cycle = ss.limit_cycle(start, section=ss.ClosingSection("spoke1"), settle_returns=0)
    assert cycle.period == pytest.approx(period, rel=1e-8)
    assert cycle.shift["phi"] == pytest.approx(2 * math.pi)
    assert cycle.shift["x"] == pytest.approx(2 * N * math.sin(half), abs=1e-9)
    assert cycle.nontrivial[0] == pytest.approx(eta ** (2 * N), abs=1e-6) and cycle.stable
    assert cycle.certificate.error < 1e-7


@pytest.mark.slow
def test_the_cycle_does_not_depend_on_the_section():
    toy = ss.library.woodpecker()
    for section in (ss.ClosingSection("beak"), ss.LevelSection("phi_S", -0.1, rising=True)):
        cycle = ss.limit_cycle(toy, section=section)
        assert cycle.period == pytest.approx(PERIOD, rel=1e-9)
        assert cycle.nontrivial[0] == pytest.approx(-0.83915565, abs=1e-6)
        assert cycle.certificate.jacobian_error < 1e-3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"section": ss.PhaseSection(0.1)}, "is not driven, so no period is given to its cycles"),
        ({"returns": 0}, "returns must be a whole number >= 1, got 0"),
        ({"settle_returns": -1}, "settle_returns must be a whole number >= 0, got -1"),
        ({"tol": 1.0}, "tol must lie between 1e-14 and 0.01, got 1"),
    ],
)
def test_bad_input_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ss.limit_cycle(ss.library.woodpecker(), **options)


def test_no_cycle_is_said():
    with pytest.raises(ValueError, match="is driven, so its cycles have the period of the drive"):
        ss.limit_cycle(ss.library.bouncing_ball_on_table(), section=ss.LevelSection("y", 0.0))
    ball = ss.library.bouncing_ball(restitution=0.5)
    with pytest.raises(NoCycle, match="it has come to rest"):
        ss.limit_cycle(ball, section=ss.LevelSection("y", 0.5), settle_returns=8)


@pytest.mark.parametrize("options", [{}, {"settle_returns": 0}, {"stepper": "moreau-midpoint"}])
def test_a_ball_that_comes_to_rest_has_no_cycle(options):
    """Its impacts accumulate; a return map taken there must not be called a cycle, and nobody waits for ever."""
    stages = []
    with pytest.raises(NoCycle, match="rest"):
        ss.limit_cycle(ss.library.bouncing_ball(), section="impact:table", progress=stages.append, **options)
    if options.get("settle_returns") != 0:
        assert stages[1:3] == [
            "settling: 0 of 200 passages of the section, next look after 2 s",
            "settling: 11 of 200 passages of the section, next look after 32 s",
        ]
