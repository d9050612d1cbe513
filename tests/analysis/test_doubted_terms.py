"""Corners, jumps and ranges in the terms of a model, and what `sensitivity` says of them."""

import math

import pytest
import sympy as sp

import stickslip as ss
from tests.thinned import FULL, examples, thinned

x, y, v, w, a, b = sp.symbols("x y v w a b")


def driven(force, value, **contact):
    """A mass on a spring with one more force of the parameter a, before a wall."""
    wall = ss.Contact("wall", **{"gap": 2.0 - x, **contact})
    system = ss.LagrangianSystem.from_energies(
        [x], velocities=[v], kinetic=v**2 / 2, forces=[-x + force], contacts=[wall], parameters={a: value}, name="mass"
    )
    return ss.Scenario(system, [0], [1.0], 0.01, 1.0)


def slider(law, **parameters):
    """A mass that slides on a floor, thrown at 2 m/s."""
    floor = ss.Contact("floor", gap=y, slip=x, friction=law)
    system = ss.LagrangianSystem.from_energies(
        [x, y], velocities=[v, w], kinetic=(v**2 + w**2) / 2, potential=10 * y, contacts=[floor],
        parameters=parameters, name="slider",
    )  # fmt: skip
    return ss.Scenario(system, [0, 0], [2.0, 0], 0.01, 1.0)


@pytest.mark.parametrize(
    ("scenario", "named"),
    [
        (driven(-sp.Max(0, a - 1), 1.0), "Max(0, a - 1)"),
        (driven(-sp.Piecewise((a, a < 1), (2 * a, True)), 1.0), "Piecewise"),
        (driven(0, 1.0, gap=sp.Rational(-1, 2) + sp.Max(a, 1) - x, restitution_normal=0.5), "Max(1, a)"),
        (driven(0, 0.5, gap=0.5 - x, restitution_normal=sp.Max(a, sp.Rational(1, 2))), "Max(1/2, a)"),
    ],
)
def test_a_parameter_at_a_corner_is_doubted(scenario, named):
    """Forces, gaps and restitution: the derivative of one side was called reliable, wrong by half."""
    found = ss.sensitivity(scenario, ["a"], samples=2)
    assert not found.reliable and named in found.reason and "right at its corner" in found.reason
    assert ss.sensitivity(scenario, ["v"], samples=2).reliable
    with pytest.raises(ValueError, match="right at its corner"):
        ss.gradient(lambda q, u: q[0], scenario, ["a"])


def test_both_sides_of_a_parameter_at_a_corner():
    """x' ' = -x - max(0, a - 1): dx/da = cos(1) - 1 above, 0 below."""
    sides = ss.one_sided(driven(-sp.Max(0, a - 1), 1.0), "a")
    assert sides.kind == "kink"
    assert sides.above.slope[0] == pytest.approx(math.cos(1.0) - 1.0, rel=1e-9) and abs(sides.below.slope[0]) < 1e-9


def test_the_end_of_the_range_of_a_law_is_told():
    equal = slider(ss.TwoCoefficient("mu_s", "mu_k"), mu_s=0.3, mu_k=0.3)
    for name in equal.parameters:
        found = ss.sensitivity(equal, [name], samples=2)
        assert not found.reliable and "must not exceed static" in found.reason
    bare = ss.sensitivity(slider(ss.LoadIndependent("bound"), bound=0.0), ["bound"], samples=2)
    assert not bare.reliable and "end of its range" in bare.reason
    assert ss.sensitivity(equal, ["v"], samples=2).reliable


def test_friction_that_jumps_with_the_speed_is_doubted():
    speed = sp.Symbol("speed")
    jump = ss.FrictionCurve(sp.Piecewise((sp.Rational(1, 5), speed > 1), (sp.Rational(1, 2), True)), speed)
    found = ss.sensitivity(slider(jump), ["v"], samples=2)
    assert not found.reliable and "v > 1" in found.reason and "may jump" in found.reason


@pytest.mark.parametrize(
    "force",
    [
        pytest.param(-a * sp.sign(v) * sp.Abs(v) ** sp.Rational(3, 2), marks=pytest.mark.slow),
        -sp.Piecewise((a * v, v > 0.5), (a / 2, True)),
        pytest.param(-a * sp.Max(0, x) ** sp.Rational(3, 2) * sp.sign(v) * v**2 - 5 * x, marks=pytest.mark.slow),
    ],
)
def test_steps_whose_sides_meet_are_no_doubt(force):
    scenario = driven(force, 0.4)
    found = ss.sensitivity(scenario, ["a"], samples=2, t_end=2.0)
    assert found.reliable
    judge = ss.EventDriven(rtol=1e-13)
    runs = [scenario.simulate(dt=2.0, t_end=2.0, stepper=judge, params={"a": 0.4 + s}) for s in (1e-4, -1e-4)]
    assert found.end[0, 0] == pytest.approx((runs[0].q[-1, 0] - runs[1].q[-1, 0]) / 2e-4, rel=1e-6)


@thinned
def test_sides_that_do_not_meet_are_doubted():
    forces = (
        -a * sp.sign(v) * (1 + v**2),
        -sp.Piecewise((a * v, v > 0.5), (a, True)),
        -a * sp.Max(0, -x) * sp.sign(v),  # there at x < 0 alone: it was wrong by a third, and called reliable
        -a * sp.sign(x * v) * v**2,  # jumps at x = 0, too
    )
    for force in forces[-examples(2, 4) :]:
        found = ss.sensitivity(driven(force, 0.4), ["a"], samples=2)
        assert not found.reliable and "may jump" in found.reason


def test_corners_of_functions_are_told():
    """Of expressions the corner is found; of functions two lengths of steps tell how good the derivative is."""
    scenario = slider(ss.FrictionCurve(lambda v, p: max(0.2, p[0] - 0.2 * v)), mu=0.5)
    found = ss.sensitivity(scenario, ["v"], t_end=0.4, samples=2, rtol=1e-9)
    assert not found.reliable and "have a corner" in found.reason


def bounced(x0, speed, k, t):
    """x of a point of mass 1 that met a wall with the force k x^(3/2) at x = 0 (Hertz 1882), and has left it."""
    quarter = math.sqrt(math.pi) * math.gamma(0.4) / (2.5 * math.gamma(0.9))  # of the integral of 1/sqrt(1 - z^2.5)
    contact = 2.0 * quarter * (1.25 * speed**2 / k) ** 0.4 / speed
    return -speed * (t + x0 / speed - contact)  # x0 < 0: it flies for -x0 / speed


def test_a_contact_of_hertz():
    """The motion failed behind its kink, where (-x)^(3/2) is no real number; A has an infinite slope beside it."""
    k = sp.Symbol("k")
    far = ss.Contact("far", gap=5.0 - x)
    system = ss.LagrangianSystem.from_energies(
        [x], velocities=[v], kinetic=v**2 / 2, forces=[-k * sp.Max(0, x) ** sp.Rational(3, 2)], contacts=[far],
        parameters={k: 1e3}, name="hertz",
    )  # fmt: skip
    at = (-0.3, 1.0, 1e3)
    found = ss.sensitivity(ss.Scenario(system, [at[0]], [at[1]], 0.01, 0.8), ["x", "v", "k"], samples=2)
    exact = [bounced(*(y + 1e-30j * (i == j) for i, y in enumerate(at)), 0.8).imag / 1e-30 for j in range(3)]
    assert found.trajectory.q[-1, 0] == pytest.approx(bounced(*at, 0.8), abs=1e-9)
    assert found.reliable and found.end[0] == pytest.approx(exact, rel=1e-8)


def pushed(power):
    far = ss.Contact("far", gap=99.0 + x)
    system = ss.LagrangianSystem.from_energies(
        [x], velocities=[v], kinetic=v**2 / 2, forces=[-a * sp.Max(0, x) ** power], contacts=[far],
        parameters={a: 10.0}, name="pushed",
    )  # fmt: skip
    return ss.Scenario(system, [-0.3], [1.0], 0.01, 1.2)


@thinned
def test_powers_whose_slope_has_no_bound():
    """It leaves with the speed it came with.  Beside the kink times round off: dx/dx_0 was -335,482, not -1."""
    steep = ss.sensitivity(pushed(sp.Rational(1, 4)), ["x", "v"], samples=2)
    assert steep.end[:, 0] == pytest.approx([-1.0, 0.0], abs=1e-2) and steep.end[1, 1] == pytest.approx(-1.0, abs=1e-2)
    assert not steep.reliable and "have a corner" in steep.reason
    if not FULL:
        return
    mild = ss.sensitivity(pushed(sp.Rational(3, 4)), ["x", "v"], samples=2)
    assert mild.reliable and mild.end[:, 0] == pytest.approx([-1.0, 0.0], abs=1e-6)
    with pytest.raises(ValueError, match="have a corner"):
        ss.gradient(lambda q, u: q[0], pushed(sp.Rational(1, 4)), ["x", "v"])


def test_powers_in_a_coefficient_of_friction():
    """v' = -g (a + sqrt(max(0, x - b))): wrong by 2e-5, and called reliable; energy gives v^2 at a place."""
    floor = ss.Contact("floor", gap=y, slip=x, friction=a + sp.sqrt(sp.Max(0, x - b)))
    system = ss.LagrangianSystem.from_energies(
        [x, y], velocities=[v, w], kinetic=(v**2 + w**2) / 2, potential=10 * y, contacts=[floor],
        parameters={a: 0.1, b: 0.2}, name="slider",
    )  # fmt: skip
    scenario = ss.Scenario(system, [0, 0], [2.0, 0], 0.01, 0.25)
    found = ss.sensitivity(scenario, ["a", "b", "v"], samples=2)
    (place, _), (speed, _) = found.trajectory.q[-1], found.trajectory.u[-1]
    assert speed**2 / 2 == pytest.approx(2.0 - 10 * (0.1 * place + (place - 0.2) ** 1.5 / 1.5), rel=1e-9)
    force = -10 * (0.1 + math.sqrt(place - 0.2))
    exact = [-10 * place, 10 * math.sqrt(place - 0.2), 2.0]  # of the energy at a place, by a, b, v
    assert found.reliable
    assert speed * found.end[2] - force * found.end[0] == pytest.approx(exact, rel=1e-6)


def test_inverses_with_corners():
    """asin(sin(3 x)) is a zigzag; asin(x / 4) is smooth here."""
    zigzag = ss.sensitivity(driven(-a * sp.asin(sp.sin(3 * x)), 0.7), ["x"], samples=2)
    assert not zigzag.reliable and "have a corner" in zigzag.reason
    assert ss.sensitivity(driven(-a * sp.asin(x / 4), 0.7), ["x"], samples=2).reliable
