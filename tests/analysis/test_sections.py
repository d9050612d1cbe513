"""Sections: objects and text are one thing, wherever a section is taken."""

import math

import numpy as np
import pytest

import stickslip as ss
from stickslip import codes
from stickslip.analysis.sections import cycles, read_section, section_of, watched

TOY = ss.library.woodpecker()
BALL = ss.library.bouncing_ball_on_table()
PAIRS = [
    ("phi_S<-0.2788", ss.LevelSection("phi_S", -0.2788)),
    (" omega_S > 1e-3 ", ss.LevelSection("omega_S", 1e-3, rising=True)),
    ("impact:beak", ss.ClosingSection("beak")),
    ("every: 0.01", ss.PhaseSection(0.01)),
    ("phase:frequency", ss.DriveSection("frequency")),
]


@pytest.mark.parametrize(("text", "section"), PAIRS)
def test_text_and_object_are_one_section(text, section):
    assert read_section(text) == section
    assert read_section(section) is section
    assert read_section(section.text) == section


def test_a_drive_has_the_period_of_its_parameter():
    assert section_of(BALL, "phase:frequency") == ss.PhaseSection(1 / 30) == section_of(BALL)
    brick = ss.library.brick_on_ramp(push=1.0, push_frequency=4.0)  # in rad/s
    assert section_of(brick, "phase:push_frequency").period == pytest.approx(math.pi / 2, rel=1e-15)
    names = BALL.system.parameter_names
    P = np.ones((3, len(names)))
    P[:, names.index("frequency")] = 10.0, -20.0, 40.0
    assert cycles(BALL.system, ss.DriveSection("frequency"), P).tolist() == [0.1, 0.05, 0.025]
    assert cycles(BALL.system, ss.PhaseSection(0.2), P).tolist() == [0.2, 0.2, 0.2]


def test_what_kernels_of_members_watch():
    names = (*TOY.system.coordinate_names, *TOY.system.velocity_names)
    assert watched(TOY.system, None) == (codes.NO_SECTION, 0, 0.0)
    assert watched(TOY.system, ss.LevelSection("omega_S", 0.5)) == (codes.FALLS, names.index("omega_S"), 0.5)
    assert watched(TOY.system, ss.LevelSection("y", 0.5, rising=True))[0] == codes.RISES
    assert watched(TOY.system, ss.ClosingSection("beak"))[:2] == (codes.STRIKES, TOY.system.contact_names.index("beak"))
    assert watched(BALL.system, ss.DriveSection("frequency"))[0] == codes.PHASE


def test_a_trajectory_takes_text_and_drives():
    run = BALL.simulate(dt=1e-3, t_end=0.2, engine="reference", progress=False)
    by_drive, by_seconds = (ss.poincare(run, text) for text in ("phase:frequency", f"every:{1 / 30!r}"))
    assert len(by_drive) == 6
    assert by_drive.t.tolist() == by_seconds.t.tolist()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: section_of(TOY, "phi_X<0"), "unknown coordinate or velocity 'phi_X'; did you mean 'phi_S'"),
        (lambda: section_of(TOY, "impact:beek"), "unknown contact 'beek'; did you mean 'beak'"),
        (lambda: section_of(BALL, "phase:frequncy"), "unknown parameter 'frequncy'; did you mean 'frequency'"),
        (lambda: section_of(TOY, "x=0"), "section cannot be read; write 'phi<0.1'"),
        (lambda: section_of(TOY, "every:0"), "the seconds must be positive, got 'every:0'"),
        (lambda: section_of(ss.library.brick_on_ramp(push_frequency=0.0), "phase:push_frequency"), "must not be zero"),
        (lambda: section_of(ss.library.bouncing_ball()), r"give one, such as LevelSection\('y', 0.0\), that is 'y<0'"),
        (lambda: watched(BALL.system, ss.PhaseSection(0.1, 0.05)), "an ensemble has no offset, got 0.05 s"),
    ],
)
def test_bad_sections_get_one_line(call, message):
    with pytest.raises(ValueError, match=message):
        call()
