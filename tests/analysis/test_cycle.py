"""Periods and drops: from arcs, from records, and the limit of a geometric approach."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.analysis.cycle import (
    SECTIONS,
    judged_cycle,
    mean_cycle,
    passages_of_arcs,
    passages_of_records,
    settled_cycle,
    stepped_cycle,
)

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
    judge = ss.EventDriven()
    run = toy.simulate(dt=1e-4, t_end=0.6, stepper=judge)
    names = toy.system.coordinate_names
    arcs = judge.arcs(toy.system, run.q[0], run.u[0], t_end=0.6)
    exact = passages_of_arcs(arcs, names.index("phi_S"), names.index("y"), section.level)
    records = passages_of_records(run, section)
    assert len(exact[0]) == len(records[0]) >= 4
    assert records[0] == pytest.approx(exact[0], abs=1e-9)
    assert records[1] == pytest.approx(exact[1], abs=1e-9)
    assert np.diff(exact[0])[-1] == pytest.approx(PERIOD, abs=1e-3)  # not settled yet


def test_midpoint_rule_comes_near_the_judged_cycle():
    toy, section = ss.library.woodpecker(), SECTIONS["woodpecker"]
    cycle = stepped_cycle(toy, section, "moreau-midpoint", 1e-5)
    assert cycle.period == pytest.approx(PERIOD, abs=5e-5)  # first order: 3.4e-5 measured
    assert cycle.drop == pytest.approx(DROP, abs=3e-5)
    assert cycle.cycles > 55


@pytest.mark.slow
def test_period_and_drop_stand_to_nine_digits():
    toy, section = ss.library.woodpecker(), SECTIONS["woodpecker"]
    for rtol in (1e-11, 1e-12):
        cycle = judged_cycle(toy, section, rtol)
        assert cycle.period == pytest.approx(PERIOD, rel=1e-10)
        assert cycle.drop == pytest.approx(DROP, rel=1e-10)
