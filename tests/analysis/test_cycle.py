"""Periods and drops: from arcs, from records, and the limit of a geometric approach."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.analysis.cycle import judged_cycle, mean_cycle, settled_cycle, stepped_cycle
from stickslip.analysis.sections import SECTIONS, TRAVELS

PERIOD, DROP = 0.145976065144, 0.019445379285  # by `stickslip converge woodpecker`, two tolerances, nine digits


def test_geometric_approach_is_extrapolated():
    k = np.arange(12)
    periods = 2.0 + 0.3 * (-0.8) ** k
    drops = 5.0 - 0.1 * (-0.8) ** k
    times, travels = np.cumsum(np.append(0.0, periods)), -np.cumsum(np.append(0.0, drops))
    limit = settled_cycle(times, travels)
    assert (limit.period, limit.drop) == pytest.approx((2.0, 5.0), rel=1e-12)
    assert limit.cycles == 12
    mean = mean_cycle(times, travels, skip=4)
    assert mean.period == pytest.approx(periods[4:].mean(), rel=1e-12)
    assert mean.spread == pytest.approx(np.ptp(periods[4:]))
    for few in (lambda: settled_cycle(times[:4], travels[:4]), lambda: mean_cycle(times[:5], travels[:5], 4)):
        with pytest.raises(ValueError, match=r"passes its section \d times"):
            few()


def test_arcs_and_records_pass_the_section_at_the_same_times():
    toy, section = ss.library.woodpecker(), SECTIONS["woodpecker"]
    run = toy.simulate(dt=1e-4, t_end=0.6, stepper=ss.EventDriven())
    exact = ss.poincare(toy, section, stepper=ss.EventDriven(), t_end=0.6)
    records = ss.poincare(run, section)
    assert len(exact) == len(records) >= 4
    assert records.t == pytest.approx(exact.t, abs=1e-9)
    assert records["y"] == pytest.approx(exact["y"], abs=1e-9)
    assert exact.periods[-1] == pytest.approx(PERIOD, abs=1e-3)  # not settled yet


@pytest.mark.slow
def test_midpoint_rule_comes_near_the_judged_cycle():
    toy, section = ss.library.woodpecker(), SECTIONS["woodpecker"]
    cycle = stepped_cycle(toy, section, TRAVELS["woodpecker"], "moreau-midpoint", 1e-5)
    assert cycle.period == pytest.approx(PERIOD, abs=5e-5)  # first order: 3.4e-5 measured
    assert cycle.drop == pytest.approx(DROP, abs=3e-5)
    assert cycle.cycles > 55


@pytest.mark.slow
def test_period_and_drop_stand_to_nine_digits():
    toy, section = ss.library.woodpecker(), SECTIONS["woodpecker"]
    for rtol in (1e-11, 1e-12):
        cycle = judged_cycle(toy, section, TRAVELS["woodpecker"], rtol)
        assert cycle.period == pytest.approx(PERIOD, rel=1e-10)
        assert cycle.drop == pytest.approx(DROP, rel=1e-10)
