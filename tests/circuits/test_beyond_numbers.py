"""Circuits whose energies leave all numbers end as what they are; extreme times are refused."""

import math
import warnings

import numpy as np
import pytest

import stickslip as ss
from stickslip.circuits import Feedback


def rectifier(voltage=1.0, capacitance=1e-3, source=0.0):
    net = ss.Circuit("rectifier")
    net.source("V", "s", "0", voltage=source)
    net.resistor("R", "s", "a", 1.0)
    net.inductor("L", "a", "b", 1e-3)
    net.diode("D", "b", "c")
    net.capacitor("C", "c", "0", capacitance, voltage=voltage)
    net.resistor("Q", "c", "0", 10.0)
    return net


@pytest.mark.parametrize("given", [{"voltage": 1e308}, {"voltage": -1e160}, {"capacitance": 1e308}, {"source": 1e308}])
def test_energies_beyond_all_numbers_are_refused_at_the_start(given):
    """They ran to the end with voltages and energies that are no numbers, and 0 failed steps."""
    with pytest.raises(ValueError, match="no consistent start: its energies are beyond 1e308 J"):
        rectifier(**given).simulate(dt=1e-4, t_end=1e-2)


@pytest.mark.parametrize("locate", [False, True])
def test_a_source_that_grows_beyond_all_numbers_ends_the_run(locate):
    net = rectifier(source=lambda t: 10.0 * math.exp(min(700.0, 1e5 * t)))
    run = net.simulate(dt=1e-4, t_end=1e-2, locate=locate)
    assert run.status.startswith("stopped at t = ") and "beyond 1e308 J" in run.status
    assert run.certificate.failed_steps == 1 and not run.complete and len(run.t) > 5
    assert np.isfinite(run.voltage("C")).all() and np.isfinite(run.energy.total).all()
    assert all(math.isfinite(value) for value in run.energy_book().values())


def test_what_is_large_but_can_be_told_still_runs():
    small, large = (rectifier(voltage=v).simulate(dt=1e-4, t_end=1e-2) for v in (1.0, 2.0**400))
    assert small.status == large.status == "finished"
    np.testing.assert_allclose(large.voltage("C"), 2.0**400 * small.voltage("C"), rtol=1e-12)


@pytest.mark.parametrize(
    "times", [{"dt": 1e-320, "t_end": 1.0}, {"dt": 1e-4, "t_end": 1e308}, {"dt": 1e308, "t_end": 1}]
)
def test_numbers_of_steps_beyond_all_numbers_are_refused(times):
    with pytest.raises(ValueError, match=r"t_end / dt must be between 1 and"):
        rectifier().simulate(**times)


def inverse_of_a_large_number(t):
    return 1.0 / np.exp(np.float64(1000.0))


@pytest.mark.parametrize("where", ["source", "feedback"])
def test_warnings_of_a_users_own_functions_are_shown(where):
    """NumPy's warnings are silenced for the march alone; what the user's own code overflows is the user's to know."""
    net = rectifier(source=inverse_of_a_large_number if where == "source" else 1.0)
    if where == "feedback":
        closed = Feedback(lambda t, probe: inverse_of_a_large_number(t) + 1.0)
        net.switch("S", "c", "d", closed=closed)
        net.resistor("P", "d", "0", 10.0)
    with pytest.warns(RuntimeWarning, match="overflow encountered in exp") as told:
        net.simulate(dt=1e-4, t_end=1e-3)
    assert {warning.filename for warning in told} == {__file__}


def test_a_run_that_ends_where_numbers_end_says_so_alone():
    net = rectifier(source=lambda t: 10.0 * math.exp(min(700.0, 1e5 * t)))
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        assert "beyond 1e308 J" in net.simulate(dt=1e-4, t_end=1e-2).status
    assert np.geterr()["over"] == "warn"
