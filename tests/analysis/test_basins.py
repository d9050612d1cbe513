"""Bifurcation diagrams, basins, Lyapunov exponents, recurrence."""

import math

import numpy as np
import pytest

import stickslip as ss
from analysis.test_limit_cycle import PERIOD, locked_ball
from stickslip.analysis.basins import CYCLE, Attractor, _judged

TOY = ss.library.woodpecker()
BILLIARDS = ss.library.get("billiards")
DOUBLE = 0.305282221  # period of the woodpecker's other cycle [s], by event-driven shooting
JAMMED = {"v": 0.0, "phi_M": -0.1034}


def test_woodpecker_doubles_over_friction():
    diagram = ss.bifurcation(TOY, "friction", [0.26, 0.3, 0.4], dt=2e-5, t_end=12.0, points=20)
    assert list(diagram.branches("v", tol=0.1)) == [0, 1, 2]
    assert list(diagram.failed) == [0.26] and "returns to the section" in diagram.failed[0.26]
    at, drops = diagram.of("shift of y")
    assert drops[at == 0.3] == pytest.approx(np.full(20, -0.01945), abs=2e-4)
    assert "y" not in diagram.observed and set(diagram.to_dict()["observed"]) == set(diagram.observed)


def test_diagram_that_follows_an_attractor():
    ball, _ = locked_ball(1.0)
    unit = float(ball.system.parameter_values[ball.system.parameter_names.index("amplitude")])
    values = unit * np.array([1.0, 1.04, 1.09])
    diagram = ss.bifurcation(ball, "amplitude", values, dt=1e-5, points=12, follow=True)
    assert list(diagram.branches("v", tol=0.3)) == [1, 1, 2]  # it doubles at 1.0708


def test_four_outcomes_of_the_woodpecker():
    """Two cycles attract; it may also jam for good, the bird swinging on its spring, or fall without touching."""
    starts = {(-0.5, -10.0): 1, (0.1, 0.0): 2, (-0.23, -0.5): 0, (-0.095, 0.0): 0}
    found = {}
    for (phi, omega), returns in starts.items():
        maps = ss.basins(TOY.starting(JAMMED), {"phi_S": [phi], "omega_S": [omega]}, dt=2e-5, t_end=12.0)
        (attractor,) = maps.attractors
        assert attractor.returns == returns, str(attractor)
        found[attractor.kind, attractor.returns] = attractor
    assert set(found) == {("cycle", 1), ("cycle", 2), ("elsewhere", 0), ("runs away", 0)}
    assert found["cycle", 1].period == pytest.approx(PERIOD, rel=2e-3)
    assert found["cycle", 2].period == pytest.approx(DOUBLE, rel=5e-3)
    assert found["cycle", 2].shift["y"] == pytest.approx(-0.0504226, rel=2e-2)


def test_starts_on_one_attractor_share_a_label():
    result = ss.basins(TOY.starting(JAMMED), {"omega_S": [4.0, 8.0], "phi_S": [0.3, 0.35]}, dt=2e-5, t_end=12.0)
    assert result.labels.shape == (2, 2) and (result.labels == 0).all()
    assert result.attractors[0].share == 1.0 and "cycle of 2" in str(result.attractors[0])
    assert result.to_dict()["attractors"][0]["verdict"] == "not confirmed"


@pytest.mark.parametrize("device", [None, pytest.param("cpu", marks=pytest.mark.slow)])
def test_a_late_start_is_no_attractor_of_its_own(device, monkeypatch):
    """Falls for 15 s before it meets the pole: after 20 s its last returns seem to be a cycle of 0.30298 s."""
    starts = {"phi_S": [-0.0185], "omega_S": [-0.9, 4.5, 9.9]}
    options = {"dt": 1e-5, "t_end": 20.0, "device": device}
    hasty = ss.basins(TOY.starting(JAMMED), starts, **options)  # a third of the starts is not rare
    assert [a.period for a in hasty.attractors] == pytest.approx([DOUBLE, 0.30298], rel=2e-3)
    monkeypatch.setattr("stickslip.analysis.basins.RARE", 0.5)
    (attractor,) = ss.basins(TOY.starting(JAMMED), starts, **options).attractors
    assert attractor.share == 1.0 and attractor.period == pytest.approx(DOUBLE, rel=2e-3)


@pytest.mark.slow
def test_judge_confirms_both_cycles():
    result = ss.basins(
        TOY.starting(JAMMED), {"phi_S": [-0.5], "omega_S": [-10.0, 0.0]}, dt=2e-5, t_end=12.0, confirm=True
    )
    judged = {attractor.returns: attractor.cycle for attractor in result.attractors}
    assert judged[1].period == pytest.approx(PERIOD, rel=1e-9)
    assert judged[2].period == pytest.approx(DOUBLE, rel=1e-7)
    assert judged[2].nontrivial[0] == pytest.approx(0.8297513, abs=1e-5)
    assert all("stable by the judge" in attractor.verdict for attractor in result.attractors)


def test_a_cycle_found_as_its_multiple_is_judged_and_counted_once():
    """The locked ball, taken for cycles of 1, 2 and 6 returns: period 1 / 30 s, det = e^2, trace in closed form."""
    ball, phi = locked_ball(0.7)
    x = np.concatenate([ball.q0, ball.u0])
    found = [Attractor(CYCLE, n, n / 30, state=x, start={"y": ball.q0[0]}) for n in (2, 6, 1)]
    said = []
    assert list(_judged(ball, None, found, said.append)) == [0, 0, 0]
    assert said == [f"judging outcome {k} of 3" for k in (1, 2, 3)]
    for attractor in found:
        assert (attractor.returns, attractor.period) == (1, pytest.approx(1 / 30))
        assert attractor.cycle.period == pytest.approx(1 / 30) and "stable by the judge" in attractor.verdict
        multipliers = attractor.cycle.multipliers
        assert complex(multipliers.prod()) == pytest.approx(0.64, abs=1e-7)
        assert complex(multipliers.sum()) == pytest.approx(1.64 - 3.24 * 0.7 * math.sin(phi), abs=1e-7)


@pytest.mark.slow
def test_cycles_of_one_and_of_three_periods_stay_two():
    """At Gamma = 1.05 a ball that comes to rest in every period, and one that strikes once in each of three."""
    ball = ss.library.bouncing_ball_on_table(amplitude=0.00029)
    result = ss.basins(ball, {"y": [0.0008, 0.0014, 0.002]}, t_end=3.0, confirm=True)
    resting, leaping = result.attractors
    assert (resting.returns, leaping.returns) == (1, 3) and resting.share == pytest.approx(2 / 3)
    assert sorted(result.labels.tolist()) == [0, 0, 1]
    assert resting.cycle.nontrivial == pytest.approx([0.0, 0.0], abs=1e-9)  # it forgets everything while it rests
    w = 60 * math.pi
    lift = next(event["t"] for event in resting.cycle.events if event["kind"] == "opens")
    assert lift == pytest.approx(math.asin(9.81 / (0.00029 * w**2)) / w, rel=1e-7)  # where the table falls with g
    assert complex(leaping.cycle.multipliers.prod()) == pytest.approx(0.8**6, abs=1e-7)  # three impacts
    times = np.array([event["t"] for event in leaping.cycle.events])
    assert len(times) == 3 and np.ptp(times * 30 % 1) > 0.1  # at three phases: no shorter cycle


@pytest.mark.slow
def test_a_coarse_map_of_the_woodpecker_has_two_cycles():
    grid = {"phi_S": np.linspace(-0.5, 0.4, 7), "omega_S": np.linspace(-15.0, 15.0, 7)}
    result = ss.basins(TOY.starting(JAMMED), grid, dt=1e-4, t_end=6.0, confirm=True)
    cycles = [attractor for attractor in result.attractors if attractor.kind == CYCLE]
    assert [(a.returns, a.cycle.period) for a in cycles] == [(2, pytest.approx(DOUBLE)), (1, pytest.approx(PERIOD))]
    shares = [attractor.share for attractor in result.attractors]
    assert sum(shares) == pytest.approx(1.0) and shares == sorted(shares, reverse=True)
    assert np.bincount(result.labels.ravel()) / 49 == pytest.approx(shares)


def test_lyapunov_exponents_of_a_cycle_are_those_of_its_multipliers():
    ball, _ = locked_ball(0.7)
    result = ss.lyapunov(ball, t_end=2.0, skip=0.2)
    assert result.exponents.sum() == pytest.approx(2 * 30 * math.log(0.8), rel=2e-2)  # det = e^2 per period
    assert result.largest == pytest.approx(30 * math.log(0.8), rel=0.2) and result.largest < 0.0


@pytest.mark.slow
def test_lyapunov_exponent_of_a_chaotic_ball_is_positive():
    ball = ss.library.bouncing_ball_on_table(amplitude=3.0 * 9.81 / (60 * math.pi) ** 2, height=0.01)
    result = ss.lyapunov(ball, t_end=3.0, skip=1.0)
    assert result.largest > 5.0


def test_recurrence():
    points = ss.poincare(TOY, dt=2e-5, t_end=8.0, every=10)
    settled = ss.recurrence(points, tol=0.1, leave_out=("y",))
    assert settled.returns == 1 and settled.determinism > 0.9 and settled.rate > 0.5
    chaos = ss.library.bouncing_ball_on_table(amplitude=3.0 * 9.81 / (60 * math.pi) ** 2)
    wild = ss.recurrence(ss.poincare(chaos, dt=1e-4, t_end=4.0), tol=0.02)
    assert wild.rate < 0.1
    with pytest.raises(ValueError, match="at least 3 points"):
        ss.recurrence(ss.poincare(TOY, t_end=0.2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ss.basins(TOY, {}), "vary must name at least one"),
        (lambda: ss.basins(BILLIARDS, {"x": [0.0]}), "a map of basins takes a Scenario, .*got a scene of bodies"),
        (lambda: ss.bifurcation(BILLIARDS, "x", [0.0]), "a bifurcation diagram takes a Scenario"),
        (lambda: ss.limit_cycle(BILLIARDS), "a Poincaré section takes a Scenario"),
        (lambda: ss.lyapunov(BILLIARDS), "lyapunov takes a Scenario"),
        (lambda: ss.basins(TOY, {"phi_X": [0.0]}), "unknown coordinate, velocity or parameter 'phi_X'; did you mean"),
        (lambda: ss.basins(TOY, {"phi_S": []}), r"vary: phi_S must be a list of numbers"),
        (lambda: ss.bifurcation(TOY, "mu", [0.3]), "unknown parameter 'mu'"),
        (lambda: ss.bifurcation(TOY, "friction", [0.3, -1.0]), "friction of contact 'beak' must be finite"),
        (lambda: ss.bifurcation(TOY, "friction", ["x"]), "vary: friction must be numbers or text"),
        (lambda: ss.bifurcation(TOY, "friction", [0.3], points=0), "points must be a whole number >= 1"),
        (lambda: ss.lyapunov(TOY, t_end=1.0, skip=2.0), "skip must lie between 0 and t_end = 1 s, got 2"),
        (lambda: ss.recurrence(ss.poincare(TOY, t_end=1.0), tol=2.0), "tol must lie between 0 and 1, got 2"),
    ],
)
def test_bad_input_is_refused_in_one_line(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_an_ensemble_gives_the_same_diagram_and_basins():
    values = [0.26, 0.3, 0.4]
    diagram = ss.bifurcation(TOY, "friction", values, dt=2e-5, t_end=12.0, points=20, device="cpu")
    assert list(diagram.branches("v", tol=0.1)) == [0, 1, 2] and list(diagram.failed) == [0.26]
    starts = {"phi_S": [-0.5, 0.1, -0.23, -0.095], "omega_S": [-10.0, 0.0]}
    alone = ss.basins(TOY.starting(JAMMED), starts, dt=2e-5, t_end=12.0)
    together = ss.basins(TOY.starting(JAMMED), starts, dt=2e-5, t_end=12.0, device="cpu")
    assert np.array_equal(alone.labels, together.labels)
    for a, b in zip(alone.attractors, together.attractors, strict=True):
        assert (a.kind, a.returns) == (b.kind, b.returns)
        assert a.period == pytest.approx(b.period, rel=1e-4, nan_ok=True)
    ball, _ = locked_ball(0.7)
    amplitudes = [1.8e-4, 2.0e-4]
    one, other = (
        ss.bifurcation(ball, "amplitude", amplitudes, dt=1e-4, points=6, t_end=5.0, device=device)
        for device in (None, "cpu")
    )
    assert one.of("v")[1] == pytest.approx(other.of("v")[1], abs=2e-2)


def test_a_section_with_an_offset_needs_its_own_runs():
    ball, _ = locked_ball(0.7)
    with pytest.raises(ValueError, match="of an ensemble has no offset"):
        ss.bifurcation(ball, "amplitude", [2e-4], section=ss.PhaseSection(1 / 30, 0.01), device="cpu")
