"""Whether impacts can gain energy: the verdict against random impacts."""

from __future__ import annotations

import numpy as np
import pytest

import stickslip as ss
from stickslip.impacts.energy_bound import negative_directions


def bar_on_the_ground(angle: float, **coefficients: float) -> tuple[ss.LagrangianSystem, np.ndarray]:
    bar = ss.library.impacting_bar(**coefficients)
    q = bar.q0.copy()
    q[2] = angle
    q[1] -= bar.system.gap(q, 0.0, bar.system.parameter_values)[0]
    return bar.system, q


def largest_gain(system: ss.LagrangianSystem, q: np.ndarray, rng: np.random.Generator, many: int) -> float:
    """Largest share of energy gained by random impacts."""
    W_N = system.geometry(q, 0.0, system.parameter_values)[0]
    worst = -1.0
    for _ in range(many):
        u = rng.normal(size=3)
        u = -u if (W_N @ u)[0] > 0.0 else u
        kinetic = system.energy(q, u, 0.0, system.parameter_values)[0]
        worst = max(worst, ss.impact(system, q, u).energy_change / kinetic)
    return worst


def test_equal_coefficients_never_gain() -> None:
    bar = ss.library.impacting_bar(restitution_normal=0.5, restitution_tangential=0.5)
    assert ss.energy_bound(bar.system).cannot_gain
    assert ss.energy_bound(ss.library.impacting_bar(restitution_normal=0.9).system).verdict == "not excluded"


@pytest.mark.parametrize("seed", range(4))
def test_the_verdict_is_that_of_random_impacts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(6):
        angle, friction = rng.uniform(0.05, 1.5), rng.uniform(0.0, 2.0)
        normal, tangential = rng.uniform(0.0, 1.0, 2)
        system, q = bar_on_the_ground(
            angle, friction=friction, restitution_normal=normal, restitution_tangential=tangential
        )
        bound = ss.energy_bound(system, q)
        assert bound.verdict in ("never gains", "can gain")
        if bound.cannot_gain:
            assert largest_gain(system, q, rng, 20) <= 1e-12


def test_an_example_gains_what_it_says() -> None:
    """Normal restitution 0.95, none in tangential direction, and much friction."""
    rng = np.random.default_rng(0)
    found = []
    for angle in np.linspace(0.1, 1.4, 14):
        system, q = bar_on_the_ground(angle, friction=1.5, restitution_normal=0.95, restitution_tangential=0.0)
        bound = ss.energy_bound(system, q)
        if bound.verdict == "can gain":
            assert bound.u is not None
            hit = ss.impact(system, q, bound.u)
            kinetic = system.energy(q, bound.u, 0.0, system.parameter_values)[0]
            assert hit.energy_change / kinetic == pytest.approx(bound.gain, rel=1e-9)
            found.append(angle)
        else:
            assert largest_gain(system, q, rng, 20) <= 1e-12
    assert found


def test_copositive_matrices() -> None:
    """A matrix of Horn is copositive though it is neither positive semidefinite nor without negative entries."""
    horn = np.array([[1.0 if (i - j) % 5 in (0, 2, 3) else -1.0 for j in range(5)] for i in range(5)])
    assert negative_directions(horn) == []
    assert negative_directions(horn - 0.05 * np.eye(5))


def test_a_configuration_of_wrong_length_is_refused() -> None:
    bar = ss.library.impacting_bar(restitution_normal=0.5, restitution_tangential=0.5)
    with pytest.raises(ValueError, match=r"q must have shape \(3,\)"):
        ss.energy_bound(bar.system, [0.0])
