"""Impact laws, the energy alarm and position projection as options of `simulate`."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import stickslip as ss
from stickslip.run.gain import EnergyGain


def ratio(run: ss.Trajectory) -> float:
    table = run.impacts()
    return float(-table["normal_velocity_after"][0] / table["normal_velocity_before"][0])


def test_newton_by_name_of_its_class_is_the_compiled_default() -> None:
    ball = ss.library.bouncing_ball(restitution=0.5)
    run = ball.simulate(t_end=0.6, law=ss.Newton())
    assert run.engine == "compiled"
    assert ratio(run) == pytest.approx(0.5, rel=1e-12)


@pytest.mark.parametrize("law", [ss.Newton(0.8), ss.Poisson(0.8), ss.Stronge(0.8)])
def test_every_law_bounces_a_ball(law: object) -> None:
    """One frictionless contact: all laws agree up to the gravity of the impact's own step (g dt = 0.01 of 4 m/s)."""
    run = ss.library.bouncing_ball(restitution=0.5).simulate(t_end=0.6, dt=1e-3, law=law)
    assert run.complete, run.status
    assert run.engine == "compiled"
    assert ratio(run) == pytest.approx(0.8, abs=5e-3)


def test_a_resting_ball_rests_under_every_law() -> None:
    ball = ss.library.bouncing_ball(restitution=0.5)
    for law in (ss.Newton(0.8), ss.Poisson(0.8), ss.Stronge(0.8)):
        run = ss.simulate(ball.system, [0.0], [0.0], dt=1e-3, t_end=0.05, law=law)
        assert np.abs(run.q).max() == 0.0
        assert np.abs(run.u).max() < 1e-15


def test_a_law_for_one_contact_stops_where_two_are_closed_and_says_why() -> None:
    run = ss.library.woodpecker().simulate(t_end=0.3, dt=1e-3, law=ss.Stronge(0.5))
    assert not run.complete
    assert "one closed contact, got 2" in run.status
    assert len(run) > 10


def test_unknown_law_and_missing_kernel_are_refused() -> None:
    ball = ss.library.bouncing_ball()
    with pytest.raises(ValueError, match=r"law must be one of newton, poisson, .*, got 'hertz'"):
        ball.simulate(law="hertz")
    with pytest.raises(ValueError, match="no compiled kernel"):
        ball.simulate(solver="augmented-lagrangian", engine="compiled")


@pytest.fixture
def kane() -> ss.Scenario:
    """Kane's double pendulum strikes the floor once; eps_N = 0.7, eps_T = 0 gain energy under Newton's law."""
    return ss.library.kane_pendulum(restitution_normal=0.7)


def test_energy_that_contacts_put_in_is_reported(kane: ss.Scenario) -> None:
    settings = {"dt": 1e-4, "t_end": 2e-3, "engine": "reference"}
    with pytest.warns(RuntimeWarning, match=r"put .* J in during the step"):
        run = kane.simulate(**settings)
    assert run.certificate.max_energy_gain > 1e-3
    with pytest.raises(EnergyGain) as caught:
        kane.simulate(**settings, on_energy_gain="raise")
    assert len(caught.value.trajectory) == len(run)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kane.simulate(**settings, on_energy_gain="ignore")
        poisson = kane.simulate(**settings, law=ss.Poisson(), on_energy_gain="raise")
    assert poisson.certificate.max_energy_gain <= 1e-9


def test_no_alarm_at_the_resolution_of_the_scheme() -> None:
    """A rising ball that is still inside is pushed for one step: a gain of order m (g dt)^2, not worth a word."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = ss.library.bouncing_ball(restitution=0.5).simulate()
    assert 0.0 < run.certificate.max_energy_gain < 1e-4


@pytest.mark.parametrize(
    ("engine", "name"),
    [
        ("compiled", "bouncing_ball"),
        ("reference", "pendulum_against_stop"),
        pytest.param("compiled", "pendulum_against_stop", marks=pytest.mark.slow),
    ],
)
def test_projection_removes_penetration_and_books_its_energy(engine: str, name: str) -> None:
    scenario = ss.library.get(name)
    settings = {"t_end": 1500 * scenario.dt, "engine": engine}
    plain = scenario.simulate(**settings)
    clean = scenario.simulate(**settings, stepper=ss.MoreauMidpoint(projection=1e-9))
    assert plain.certificate.max_penetration > 1e-5
    assert plain.certificate.projection_energy == 0.0
    assert clean.certificate.max_penetration <= 1e-9
    assert clean.certificate.projections > 0
    book = clean.energy_book()
    assert abs(book.integration) < 1e-5 * abs(book.start)  # the midpoint rule's own error, O(dt^2)
    assert abs(book.projection) > 10 * abs(book.integration)
    for run in (plain, clean):
        assert abs(run.energy_book().unexplained) < 1e-12 * abs(book.start)
    assert plain.energy_book().integration == pytest.approx(book.integration, abs=1e-5 * abs(book.start))


@pytest.mark.parametrize("name", ["newton", "poisson"])
def test_laws_by_name_are_the_laws_and_are_told(name: str) -> None:
    ball = ss.library.bouncing_ball(restitution=0.5)
    law = {"newton": ss.Newton(), "poisson": ss.Poisson()}[name]
    by_name, by_object = (ball.simulate(t_end=1.0, engine="reference", law=x) for x in (name, law))
    assert np.array_equal(by_name.q, by_object.q)
    assert by_name.attributes["law"] == name and by_name.attributes["restitution_normal"] == '{"table": 0.5}'
    assert by_name.attributes["stepper_options"] == "projection=0.0, lasting=False"


def test_projection_wants_a_depth() -> None:
    for bad in (-1.0, True, float("nan"), float("inf"), "a", None):
        with pytest.raises(ValueError, match="projection must be a depth in metres"):
            ss.MoreauMidpoint(projection=bad)
