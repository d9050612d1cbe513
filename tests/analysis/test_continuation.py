"""Cycles followed over a parameter: flip and fold of the ball on a table, grazing of the impact oscillator."""

import math
from dataclasses import replace

import numpy as np
import pytest

import stickslip as ss
from analysis.test_limit_cycle import G, locked_ball
from stickslip.analysis import continuation
from stickslip.analysis.cycle_result import NoCycle
from stickslip.analysis.return_map import EventMap, Setting
from stickslip.figures.bifurcation import branch as draw

UNIT = G / (2 * math.pi * 30) ** 2  # amplitude of the table at Gamma = 1
OMEGA, DAMPING, CLEARANCE = 1.7, 0.1, 0.5
GRAZING = CLEARANCE * math.hypot(1 - OMEGA**2, DAMPING * OMEGA)  # force at which the steady motion reaches the stop


def steady_oscillator(force):
    """The impact oscillator in its steady motion without impacts."""
    size, phase = force / math.hypot(1 - OMEGA**2, DAMPING * OMEGA), math.atan2(DAMPING * OMEGA, 1 - OMEGA**2)
    return ss.library.impact_oscillator(
        force=force, position=size * math.cos(phase), velocity=size * OMEGA * math.sin(phase)
    )


def test_period_doubling_of_the_bouncing_ball():
    """Gamma_PD = sqrt((pi (1 - e)/(1 + e))^2 + (2 (1 + e^2)/(1 + e)^2)^2) = 1.0708364682 for e = 0.8."""
    ball, _ = locked_ball(1.05)
    branch = ss.continue_cycle(ball, "amplitude", 1.05 * UNIT, 1.1 * UNIT, settle_returns=0, largest_step=0.5)
    assert branch.status == f"reached amplitude = {1.1 * UNIT:g}"
    (flip,) = branch.specials
    assert flip.kind == "flip"
    assert flip.parameter / UNIT == pytest.approx(1.0708364682, rel=1e-8)
    assert flip.multiplier == pytest.approx(-1.0, abs=1e-7)
    assert sorted(abs(flip.cycle.multipliers)) == pytest.approx([0.64, 1.0], abs=1e-7)
    assert branch.stable[0] and not branch.stable[-1]
    assert branch.to_dict()["bifurcations"][0]["kind"] == "flip"
    for kind in ("fold", "flip", "torus", "grazing", "border", "switch"):  # each has a mark in the figure
        marked = draw(replace(branch, specials=[replace(flip, kind=kind)]))
        words = marked.axes[0].get_legend().get_texts()[0].get_text()
        assert words == f"{kind} at {flip.parameter:.6g}"


def test_a_branch_is_kept_where_there_is_no_cycle_at_its_last_value(monkeypatch):
    """Newton's method at the last value itself is another problem than the steps before: it may fail alone."""
    ball, _ = locked_ball(1.05)
    last = 1.06 * UNIT

    def fails(walk, here, a, guess=None):
        assert a == last
        raise NoCycle("Newton's method found none")

    monkeypatch.setattr(continuation._Walk, "_at_value", fails)
    branch = ss.continue_cycle(ball, "amplitude", 1.05 * UNIT, last, settle_returns=0, largest_step=0.5)
    assert len(branch.cycles) > 1 and branch.values[0] == 1.05 * UNIT and branch.values.max() < last
    assert branch.status == (
        f"the last cycle is at amplitude = {branch.values[-1]:.9g}; at {last:g} itself: Newton's method found none"
    )


@pytest.mark.slow
def test_fold_of_the_bouncing_ball():
    """The stable branch ends at Gamma = pi (1 - e)/(1 + e) = 0.3490658504 and goes on unstable."""
    ball, _ = locked_ball(0.6, part=0.5)
    section = ss.PhaseSection(1 / 30, 0.5 / 30)  # impacts are at phase 0 there: look in between
    branch = ss.continue_cycle(
        ball, "amplitude", 0.6 * UNIT, 0.2 * UNIT, section=section, settle_returns=0, largest_step=0.2
    )
    (fold,) = branch.specials
    assert fold.kind == "fold" and fold.parameter / UNIT == pytest.approx(0.3490658504, rel=1e-8)
    assert branch.values[-1] == pytest.approx(0.6 * UNIT) and not branch.stable[-1]


@pytest.mark.slow
def test_grazing_of_the_impact_oscillator():
    branch = ss.continue_cycle(steady_oscillator(0.94), "force", 0.94, 0.96, settle_returns=0, largest_step=0.5)
    (graze,) = branch.specials
    assert graze.kind == "grazing" and graze.contact == "stop"
    assert graze.parameter == pytest.approx(GRAZING, rel=1e-8)
    assert "the cycle ends at force = 0.94881505" in branch.status
    assert np.abs(branch.cycles[0].multipliers) == pytest.approx(np.full(2, math.exp(-math.pi * 0.1 / 1.7)), rel=1e-9)


def test_section_map_has_a_square_root_at_the_graze():
    """A perturbation by d strikes the stop with a velocity of order sqrt(d): so far off is its image."""
    scenario = steady_oscillator(GRAZING)
    section_map = EventMap(Setting.of(scenario))
    x = np.concatenate([scenario.q0, scenario.u0])
    away, towards = np.array([-1.0, 0.0]), np.array([1.0, 0.0])

    def image(step):
        return section_map(x + step, None, tangent=False).x - x

    linear = np.linalg.norm(image(1e-3 * away)) / 1e-3
    steps = np.geomspace(1e-7, 1e-4, 4)
    deviations = [np.linalg.norm(image(d * towards) + image(d * away)) for d in steps]
    slopes = np.diff(np.log(deviations)) / np.diff(np.log(steps))
    assert slopes == pytest.approx(np.full(3, 0.5), abs=5e-3)
    assert linear < 1.0  # on the other side nothing happens but decay


@pytest.mark.slow
def test_woodpecker_over_friction():
    """The woodpecker's simple cycle doubles at a friction of 0.3186081 and loses an impact of the sleeve at 0.409567.

    Up to 0.409567 the lower edge comes off again after its impact, for ever shorter hops.  From both sides the events
    change at 0.4095665.  The hops take 32.2, 16.7 and 8.9 us at 0.4075, 0.4085 and 0.409, and vanish at 0.409568.
    """
    branch = ss.continue_cycle(ss.library.woodpecker(), "friction", 0.3, 0.45, largest_step=0.2)
    kinds = [special.kind for special in branch.specials]
    assert kinds == ["flip", "grazing"]
    assert branch.specials[0].parameter == pytest.approx(0.3186081, abs=1e-6)
    assert branch.specials[1].parameter == pytest.approx(0.4095675, abs=3e-6)
    assert branch.specials[1].contact == "sleeve lower"


def ways_of_the_upper_edge(cycle):
    """Directions in which the upper edge slips after its impact, in order, by the midpoint rule with 1 us."""
    run = ss.simulate(
        ss.library.woodpecker().system, cycle.q, cycle.u, dt=1e-6, t_end=0.104,
        params={"friction": cycle.parameters["friction"]},
    )  # fmt: skip
    states = run.states()[:, run.contact_names.index("sleeve upper")]
    return list(dict.fromkeys(state for state in states if state.startswith("slip")))


@pytest.mark.slow
def test_woodpecker_at_the_corner_of_its_branch():
    """At a friction of 0.2837536 the period is largest: above, the upper edge slips on after its impact, and reverses.

    Below, the impact ends the slip, and the edge slips the other way from the impact on.
    """
    branch = ss.continue_cycle(ss.library.woodpecker(), "friction", 0.2839, 0.2836, settle_returns=60, largest_step=0.5)
    (border,) = branch.specials
    assert border.kind == "border" and border.contact == "sleeve upper"
    assert border.change == "- sleeve upper: slip reverses"
    assert ways_of_the_upper_edge(branch.cycles[0]) == ["slip+", "slip-"]
    assert ways_of_the_upper_edge(branch.cycles[-1]) == ["slip-"]
    assert border.parameter == pytest.approx(0.2837536, abs=2e-7)
    assert branch.status == "reached friction = 0.2836"
    behind = branch.values < border.parameter - 1e-9
    multipliers = np.array([cycle.nontrivial[0].real for cycle in branch.cycles])
    assert (multipliers[~behind] > 0.05).all() and (multipliers[behind] < -0.25).all()
    assert max(cycle.period for cycle in branch.cycles) == pytest.approx(0.1893045, abs=2e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("frction", 0.3, 0.4), "unknown parameter 'frction'; did you mean 'friction'"),
        (("friction", 0.3, 0.3), "start and end of friction must differ"),
        (("friction", 0.3, -0.4), "friction of contact 'beak' must be finite and not negative"),
        (("friction", 0.3, float("inf")), "end must be a finite number"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ss.continue_cycle(ss.library.woodpecker(), *arguments)
