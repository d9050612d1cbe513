"""Painleve's paradox: critical friction, how many accelerations there are, and the impulsive way out."""

import numpy as np
import pytest
import sympy as sp

import stickslip as ss
from stickslip.analysis.painleve import critical_friction, smallest_critical_friction


@pytest.fixture(scope="module")
def bar():
    return ss.library.impacting_bar(mass=1.0, half_length=1.0, friction=5 / 3, restitution_normal=0.5).system


def sliding(degrees, slip, spin=0.0):
    """The tip on the ground, normal velocity zero."""
    phi = np.radians(degrees)
    return np.array([0.0, np.sin(phi), phi]), np.array([slip + spin * np.sin(phi), spin * np.cos(phi), spin])


def test_smallest_critical_friction_of_the_bar(bar):
    """[PG05] Fig. 6: 4/3 at arctan 2 = 63.435 degrees, and its mirror image for backward slip."""
    mu, phi = smallest_critical_friction(bar, [0, 0, 1.0], "phi", (0.0, np.pi), slip=1)
    assert mu == pytest.approx(4 / 3, rel=1e-12)
    assert np.degrees(phi) == pytest.approx(63.43494882, abs=1e-5)
    mu, phi = smallest_critical_friction(bar, [0, 0, 1.0], "phi", (0.0, np.pi), slip=-1)
    assert (mu, np.degrees(phi)) == pytest.approx((4 / 3, 180 - 63.43494882), rel=1e-7)
    sphere = {"inertia": 2 / 5}  # a bar with a sphere's inertia: mu_c = sqrt(K (K + 1)) 2
    mu, _ = smallest_critical_friction(bar, [0, 0, 1.0], "phi", (0.0, np.pi), params=sphere)
    assert mu == pytest.approx(2 * np.sqrt(0.4 * 1.4), rel=1e-10)
    with pytest.raises(ValueError, match="vary must be one of x, y, phi, got 'psi'"):
        smallest_critical_friction(bar, [0, 0, 1.0], "psi", (0.0, 1.0))


def test_critical_friction_is_the_bracket_of_stewart(bar):
    """alpha - mu delta = 1 - 3 cos(phi) (mu sin(phi) - cos(phi)), [S00] eq. (1.5)."""
    for phi in np.linspace(0.1, 1.5, 15):
        mu = critical_friction(bar, [0, 0, phi])
        assert 1 - 3 * np.cos(phi) * (mu * np.sin(phi) - np.cos(phi)) == pytest.approx(0.0, abs=1e-12)
        assert critical_friction(bar, [0, 0, phi], slip=-1) == np.inf
        assert critical_friction(bar, [0, 0, np.pi - phi], slip=-1) == pytest.approx(mu)
    assert critical_friction(bar, [0, 0, 0.0]) == np.inf


@pytest.mark.parametrize(
    ("slip", "spin", "verdict", "motions"),
    [
        (2.0, 0.0, "none", []),
        (2.0, 3.0, "none", []),
        (2.0, 5.0, "several", ["lifts off", "slips"]),
        (-2.0, 0.0, "unique", ["slips"]),
        (-2.0, 5.0, "unique", ["lifts off"]),
    ],
)
def test_verdicts_of_the_bar(bar, slip, spin, verdict, motions):
    """b = -g + spin^2 sin(phi) and a = alpha - mu s delta decide, one sign against the other."""
    result = ss.painleve(bar, *sliding(60, slip, spin))
    assert result.verdict == verdict
    assert sorted(motion for s in result.solutions for motion in s.motion) == motions
    a = 1.75 - 5 / 3 * np.sign(slip) * 1.5 * np.sin(np.pi / 3)
    b = -9.81 + spin**2 * np.sin(np.pi / 3)
    assert result.jam.tolist() == [a <= 0] and result.slip.tolist() == [np.sign(slip)]
    assert result.critical_friction[0] == pytest.approx(1.75 / (1.5 * np.sin(np.pi / 3)))
    for s in result.solutions:
        assert s.normal_acceleration[0] == pytest.approx(a * s.normal_force[0] + b, abs=1e-9)
        assert s.tangential_force[0] == pytest.approx(-5 / 3 * np.sign(slip) * s.normal_force[0])
        assert s.normal_force[0] == pytest.approx(0.0 if s.motion[0] == "lifts off" else -b / a, abs=1e-9)
    assert (result.resolution is None) == (a > 0)


def test_resolution_is_the_impact_without_collision(bar):
    q, u = sliding(60, 2.0)
    result = ss.painleve(bar, q, u)
    hit = result.resolution
    assert hit.normal_impulse[0] > 0 and hit.normal_velocity_before[0] == 0.0
    assert hit.tangential_velocity_after[0] == pytest.approx(0.0, abs=1e-14)  # the system's eps_T = 0
    assert "no acceleration" in str(result) and "supercritical (1.66667 >= 1.34715)" in str(result)
    after = ss.painleve(bar, q, hit.u)
    assert after.verdict == "unique" and after.solutions[0].motion == ("sticks",)
    stronge = ss.painleve(bar, q, u, law=ss.Stronge(0.5)).resolution
    assert stronge.normal_velocity_after[0] > 0


def test_moderate_friction_is_never_paradoxical(bar):
    rng = np.random.default_rng(4)
    for _ in range(30):
        q, u = sliding(rng.uniform(1, 179), rng.normal(), 5 * rng.normal())
        result = ss.painleve(bar, q, u, params={"friction": 1.33})
        assert result.verdict == "unique" and result.resolution is None and not result.jam.any()


def test_brick_on_a_ramp_sticks_or_slips():
    scenario = ss.library.brick_on_ramp(friction=0.5, angle=0.38)
    for params, motion, speed in (({}, "sticks", 0.0), ({"friction": 0.3}, "slips", 0.0), ({}, "slips", 1.0)):
        result = ss.painleve(scenario.system, [0.0, 0.0], [speed, 0.0], params=params)
        (only,) = result.solutions
        assert result.verdict == "unique" and only.motion == (motion,)
        assert result.critical_friction[0] == np.inf
        mu = params.get("friction", 0.5)
        mass = scenario.system.mass([0.0, 0.0])[0, 0]
        friction = mass * 9.81 * (min(np.sin(0.38), mu * np.cos(0.38)) if speed == 0.0 else mu * np.cos(0.38))
        assert only.tangential_force[0] == pytest.approx(-friction)


def test_two_feet_share_their_load_in_many_ways_but_accelerate_in_one():
    x, y, phi, v_x, v_y, omega = sp.symbols("x y phi v_x v_y omega")
    feet = [
        ss.Contact(name, gap=y + side * phi / 2, slip=x + phi / 4, friction=0.5)
        for name, side in (("left", -1), ("right", 1))
    ]
    block = ss.LagrangianSystem.from_energies(
        [x, y, phi],
        velocities=[v_x, v_y, omega],
        kinetic=(v_x**2 + v_y**2 + omega**2 / 6) / 2,
        potential=sp.Float(9.81) * y,
        contacts=feet,
        name="block",
    )
    result = ss.painleve(block, np.zeros(3), np.zeros(3))
    assert result.verdict == "unique" and result.solutions[0].motion == ("sticks", "sticks")
    np.testing.assert_allclose(result.solutions[0].acceleration, 0.0, atol=1e-9)
    sliding_block = ss.painleve(block, np.zeros(3), [1.0, 0.0, 0.0]).solutions[0]
    assert sliding_block.acceleration[0] == pytest.approx(-0.5 * 9.81)


def test_wrong_input_is_one_clear_line(bar):
    q, u = sliding(60, 2.0)
    with pytest.raises(ValueError, match=r"contact 'tip' approaches with -1 m/s: that is an impact"):
        ss.painleve(bar, q, u - np.array([0, 1, 0]))
    with pytest.raises(ValueError, match=r"all closed contacts separate, the slowest with 1 m/s"):
        ss.painleve(bar, q, u + np.array([0, 1, 0]))
    with pytest.raises(ValueError, match=r"no contact is closed: the smallest gap is 0\.5 m"):
        ss.painleve(bar, q + np.array([0, 0.5, 0]), u)
    with pytest.raises(ValueError, match="has a friction element"):
        oscillator = ss.library.friction_oscillator()
        ss.painleve(oscillator.system, oscillator.q0, oscillator.u0)
