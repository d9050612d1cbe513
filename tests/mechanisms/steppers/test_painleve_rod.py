"""Painleve's rod by all integrators: none fails, and they agree as dt goes to zero ([S00] sections 1.3 and 2.3)."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.papers.s00_rod import falling_rod

FRICTIONS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
STEPPERS = {
    "moreau-midpoint": ss.MoreauMidpoint(),
    "stewart-trinkle": ss.StewartTrinkle(),
    "moreau-jean": ss.MoreauJean(),
    "paoli-schatzman": ss.PaoliSchatzman(),
}


@pytest.mark.parametrize("stepper", STEPPERS)
def test_no_time_stepper_fails(stepper):
    for mu in (0.5, 2.0, 3.0):
        run = ss.library.painleve_rod(friction=mu).simulate(
            stepper=STEPPERS[stepper], dt=2e-3, t_end=0.2, engine="reference", on_energy_gain="ignore"
        )
        assert run.complete and run.certificate.failed_steps == 0


def test_two_steppers_approach_each_other():
    for mu in (0.5, 1.5, 3.0):
        rod = ss.library.painleve_rod(friction=mu)
        differences = []
        for dt in (2e-3, 1e-3):
            midpoint, stewart = (
                rod.simulate(stepper=STEPPERS[name], dt=dt, t_end=0.2, engine="reference")
                for name in ("moreau-midpoint", "stewart-trinkle")
            )
            differences.append(np.abs(midpoint.q[-1] - stewart.q[-1]).max())
        assert differences[1] < 0.65 * differences[0] and differences[1] < 1e-3


def test_rod_turns_about_its_tip_after_the_jam():
    """Supercritical friction stops the tip at t = 0; from then on the rod is a pendulum on its head."""
    run = ss.library.painleve_rod(friction=2.0).simulate(dt=1e-3, t_end=0.1, engine="reference")
    tip = run.q[1:, 0] - 0.5 * np.cos(run.q[1:, 2])
    assert np.ptp(tip) < 5e-4
    energy = run.u[1:, 2] ** 2 / 6 + 9.81 * 0.5 * np.sin(run.q[1:, 2])  # J = 1/3 about the tip
    assert np.ptp(energy) < 5e-3
    assert run.u[1, 2] == pytest.approx(0.6 * np.sqrt(5.0), rel=0.01)  # 1.3416: the impulse without collision


def distance(run, judge):
    """Mean distance of velocities in time, largest of positions; units of 1."""
    return max(np.abs(run.u - judge.u).mean(axis=0).max(), np.abs(run.q - judge.q).max())


@pytest.mark.slow
@pytest.mark.parametrize("mu", FRICTIONS)
def test_steppers_and_judge_agree(mu):
    rod = ss.library.painleve_rod(friction=mu)
    judge = rod.simulate(stepper=ss.EventDriven(), dt=1e-2, t_end=0.3)
    assert judge.complete and int(judge.attributes.get("impacts without collision", 0)) == int(mu > 4 / 3)
    for name in ("moreau-midpoint", "stewart-trinkle"):
        errors = []
        for dt in (1e-3, 1e-4, 1e-5):
            run = rod.simulate(stepper=STEPPERS[name], dt=dt, t_end=0.3, every=round(1e-2 / dt))
            errors.append(distance(run, judge))
            assert run.complete and run.certificate.failed_steps == 0
        assert errors[2] < max(0.2 * errors[1], 1e-9) and errors[2] < 1e-4


@pytest.mark.slow
def test_steppers_and_judge_agree_on_the_falling_rod():
    """[S00] Fig. 2.4: the impact itself is supercritical."""
    rod = falling_rod()
    judge = rod.simulate(stepper=ss.EventDriven(), dt=1e-2, t_end=0.7)
    first = judge.impacts()
    assert judge.complete and abs(first["tangential_velocity_after"][0]) < 1e-9 < first["tangential_velocity_before"][0]
    for name in ("moreau-midpoint", "stewart-trinkle"):
        errors = []
        for dt in (1e-3, 1e-4, 1e-5):
            run = rod.simulate(stepper=STEPPERS[name], dt=dt, t_end=0.7, every=round(1e-2 / dt))
            errors.append(distance(run, judge))
        assert errors[2] < 0.3 * errors[1] and errors[2] < 1e-3
