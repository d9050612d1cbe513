"""Sections by level, phase and closing contact: from records, from a time stepper, event by event."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.analysis.poincare import translations
from stickslip.analysis.sections import is_driven, section_of

TOY = ss.library.woodpecker()
BALL = ss.library.bouncing_ball_on_table()


def test_level_by_both_engines():
    exact = ss.poincare(TOY, stepper="event-driven", t_end=0.6)
    stepped = ss.poincare(TOY, dt=1e-6, t_end=0.6, every=10)
    assert len(exact) == len(stepped) == 4
    assert exact["phi_S"] == pytest.approx(np.full(4, -0.2788), abs=1e-12)
    assert stepped.t == pytest.approx(exact.t, abs=1e-3)  # impacts come dt late, and the cycle doubles the delay
    assert stepped["omega_S"] == pytest.approx(exact["omega_S"], rel=1e-2)
    rising = ss.poincare(TOY, ss.LevelSection("omega_S", 0.0, rising=True), stepper="event-driven", t_end=0.3)
    assert np.abs(rising["omega_S"]).max() < 1e-12 and (rising["phi_S"] < -0.3).all()


def test_phase_and_closing_from_records():
    run = BALL.simulate(dt=1e-5, t_end=0.5)
    phase = ss.poincare(run, ss.PhaseSection(0.1, 0.05))
    assert phase.t == pytest.approx([0.05, 0.15, 0.25, 0.35, 0.45], abs=1e-12)
    at = np.searchsorted(run.t, phase.t - 1e-9)
    assert phase["y"] == pytest.approx(run["y"][at], abs=1e-9)
    closing = ss.poincare(run, ss.ClosingSection("table"))
    assert len(closing) == len(run.impacts())
    assert closing.t == pytest.approx(run.impacts()["time"], abs=2e-5)
    exact = ss.poincare(BALL, ss.ClosingSection("table"), stepper=ss.EventDriven(), t_end=0.5)
    assert closing.t[:3] == pytest.approx(exact.t[:3], abs=1e-4)
    table = 0.002 * np.sin(2 * np.pi * 30 * exact.t)
    assert exact["y"] == pytest.approx(table, abs=1e-12)  # right on the table
    assert (exact["v"][:3] > 0.0).all()  # after the impact


def test_what_a_system_says_of_itself():
    assert is_driven(BALL) and not is_driven(TOY)
    assert translations(TOY) == (0,) and translations(BALL) == ()
    assert section_of(TOY) == ss.LevelSection("phi_S", -0.2788)
    assert section_of(BALL) == ss.PhaseSection(1 / 30)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: section_of(ss.library.bouncing_ball()), "has no section of its own; give one"),
        (
            lambda: section_of(TOY, ss.LevelSection("phi_X", 0.0)),
            "unknown coordinate or velocity 'phi_X'; did you mean",
        ),
        (lambda: section_of(TOY, ss.ClosingSection("beek")), "unknown contact 'beek'; did you mean 'beak'"),
        (lambda: section_of(TOY, "phi_S"), "section cannot be read; write 'phi<0.1'"),
        (lambda: section_of(TOY, 0.1), "must be a LevelSection, PhaseSection, ClosingSection, DriveSection or text"),
        (lambda: ss.PhaseSection(0.0), "period of a section must be positive"),
        (lambda: ss.LevelSection("y", float("nan")), "level of a section must be a finite number"),
        (lambda: ss.poincare(TOY.simulate(t_end=1e-3)), "section must be given for a trajectory"),
    ],
)
def test_bad_sections_are_refused_in_one_line(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
