"""The four-bar with a pin in a bushing: the pin stays inside, and without play it is the linkage of the textbook."""

import numpy as np
import pytest

from stickslip import library
from stickslip.library.four_bar import assembled, pin_and_bushing


def run(dt=2e-5, t_end=0.42, **keywords):
    done = library.four_bar(**keywords).simulate(dt=dt, t_end=t_end, progress=False)
    assert done.complete and done.certificate.failed_steps == 0
    return done


def test_it_starts_assembled():
    scenario = library.four_bar()
    p = dict(zip(scenario.system.parameter_names, scenario.system.parameter_values, strict=True))
    _, pin, bushing = pin_and_bushing(scenario.q0, 0.0, p)
    np.testing.assert_allclose(pin, bushing, atol=1e-15)
    _, pin, bushing = pin_and_bushing(scenario.q0 + 1e-7 * scenario.u0, 1e-7, p)
    np.testing.assert_allclose(pin, bushing, atol=1e-12)  # and moves so that it remains


def test_pin_stays_in_its_bushing():
    done = run()
    centres = [pin_and_bushing(q, t, done.parameters)[1:] for q, t in zip(done.q[::50], done.t[::50], strict=True)]
    distance = np.array([np.hypot(*np.subtract(*pair)) for pair in centres])
    np.testing.assert_allclose(done["hinge"][::50], 5e-4 - distance, atol=1e-12)
    assert done.certificate.max_penetration < 5e-5
    assert distance.max() > 4.9e-4  # it does use its play
    assert len(done.impacts()) > 0


def test_without_play_it_is_the_linkage():
    """The rocker's angle differs from that of the linkage without play by some c / l_3."""
    apart, clearances = [], [1e-3, 5e-4, 2.5e-4]
    for c in clearances:
        done = run(dt=2e-2 * c, clearance=c)
        ideal = np.array([assembled(30.0 * t, done.parameters)[1] for t in done.t])
        apart.append(np.abs(done["theta_3"] - ideal).max())
    assert np.polyfit(np.log(clearances), np.log(apart), 1)[0] == pytest.approx(1.0, abs=0.15)
    assert apart[0] < 3 * 1e-3 / 0.25


def test_a_crank_that_cannot_turn_is_refused():
    with pytest.raises(ValueError, match="the crank l_1 must be the shortest link"):
        library.four_bar(l_1=0.4)
    with pytest.raises(ValueError, match=r"Grashof"):
        library.four_bar(l_1=0.2, l_0=0.5)
