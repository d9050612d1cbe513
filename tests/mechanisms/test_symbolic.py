"""Lagrange II against derivations by hand; printed source against SymPy's own evaluation."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest
import sympy as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

import stickslip as ss
from stickslip import library
from stickslip.jit import Entry, Kernel
from stickslip.mechanisms.derivation import derivative, gradient, lagrange, shorten
from stickslip.mechanisms.source import Printer, angles_apart, function_source
from stickslip.mechanisms.system import System
from tests.mechanisms.text import run_as_file
from tests.thinned import examples, thinned

t = sp.Symbol("t", real=True)


def sincos(angle):
    return math.sin(angle), math.cos(angle)


def zero(expression):
    return sp.simplify(expression) == 0


# -- derivation ------------------------------------------------------------------------------------------------------


def test_double_pendulum_by_hand():
    a, b, wa, wb, m1, m2, l1, l2, g = sp.symbols("a b w_a w_b m_1 m_2 l_1 l_2 g", real=True)
    positions = [(l1 * sp.sin(a), -l1 * sp.cos(a))]
    positions.append((positions[0][0] + l2 * sp.sin(b), positions[0][1] - l2 * sp.cos(b)))

    def velocity(x):
        return sp.diff(x, a) * wa + sp.diff(x, b) * wb

    T = sum(m * (velocity(x) ** 2 + velocity(y) ** 2) / 2 for m, (x, y) in zip((m1, m2), positions, strict=True))
    V = sum(m * g * y for m, (_, y) in zip((m1, m2), positions, strict=True))
    M, h = lagrange([a, b], [wa, wb], t, T, V)

    c, s = sp.cos(a - b), sp.sin(a - b)
    M_hand = sp.Matrix([[(m1 + m2) * l1**2, m2 * l1 * l2 * c], [m2 * l1 * l2 * c, m2 * l2**2]])
    h_hand = sp.Matrix(
        [
            -m2 * l1 * l2 * s * wb**2 - (m1 + m2) * g * l1 * sp.sin(a),
            m2 * l1 * l2 * s * wa**2 - m2 * g * l2 * sp.sin(b),
        ]
    )
    assert all(zero(x) for x in M - M_hand)
    assert all(zero(x) for x in h - h_hand)
    assert M[0, 0].free_symbols == {m1, m2, l1}  # the constant diagonal is seen without sp.simplify
    assert M[1, 1].free_symbols == {m2, l2}


def test_pendulum_on_a_moving_pivot():
    """Pivot at x = A sin(w t): m r^2 phi'' = -m g r sin(phi) + m r A w^2 sin(w t) cos(phi)."""
    phi, omega, m, r, g, A, w = sp.symbols("phi omega m r g A w", real=True)
    x, y = A * sp.sin(w * t) + r * sp.sin(phi), -r * sp.cos(phi)
    T = m * sum((sp.diff(z, phi) * omega + sp.diff(z, t)) ** 2 for z in (x, y)) / 2
    M, h = lagrange([phi], [omega], t, T, m * g * y)
    assert zero(M[0] - m * r**2)
    assert zero(h[0] - (-m * g * r * sp.sin(phi) + m * r * A * w**2 * sp.sin(w * t) * sp.cos(phi)))


def test_bead_on_a_rotating_rod_with_force():
    """Rod turning with w: m r'' = m r w^2 - d r', from the velocity-free part of T."""
    r, v, m, w, d = sp.symbols("r v m w d", real=True)
    M, h = lagrange([r], [v], t, m * (v**2 + (r * w) ** 2) / 2, 0, [-d * v])
    assert M[0] == m
    assert zero(h[0] - (m * r * w**2 - d * v))


def test_kinetic_energy_must_be_quadratic():
    x, v = sp.symbols("x v", real=True)
    with pytest.raises(ValueError, match="must be quadratic in the velocities"):
        lagrange([x], [v], t, v**4)


def test_every_velocity_needs_kinetic_energy():
    x, y, v, w, m = sp.symbols("x y v w m", real=True)
    with pytest.raises(ValueError, match="velocity of coordinate 'y'"):
        lagrange([x, y], [v, w], t, m * v**2 / 2)
    with pytest.raises(ValueError, match="singular for all parameters"):
        lagrange([x, y], [v, w], t, m * (v * sp.cos(x) + w * sp.sin(x)) ** 2 / 2)


def test_potential_must_not_depend_on_velocity():
    x, v = sp.symbols("x v", real=True)
    with pytest.raises(ValueError, match="must not depend on velocities, it contains v"):
        lagrange([x], [v], t, v**2, v * x)


def test_step_functions_are_differentiated_between_their_jumps():
    x, b = sp.symbols("x b", real=True)
    assert derivative(sp.floor(x) * x + sp.ceiling(x), x) == sp.floor(x)
    assert derivative(sp.Mod(x, b) ** 2, x).subs({x: 2.5, b: 2}) == pytest.approx(1.0)
    assert derivative(sp.Mod(x, b), b).subs({x: 2.5, b: 2}) == pytest.approx(-1.0)


def test_shorten_never_lengthens():
    x, y = sp.symbols("x y", real=True)
    for expression in ((x + y) ** 6, x * sp.sin(x) ** 2 + x * sp.cos(x) ** 2, sp.sin(x) ** 3, (x + 1) * (x - 1) - x**2):
        short = shorten(expression)
        assert short.count_ops() <= expression.count_ops()
        assert zero(short - expression)
    assert shorten(x * sp.sin(y) ** 2 + x * sp.cos(y) ** 2) == x


# -- printing --------------------------------------------------------------------------------------------------------

x, y, z = sp.symbols("x y z", real=True)
ZOO = {
    "polynomial": x**3 - 3 * x * y + sp.Rational(2, 7) * z - 5,
    "inverse powers": x / y**2 - 1 / (x * y) + (x + y) ** -3 + 3 / x,
    "half powers": sp.sqrt(x**2 + 1)
    + (y**2 + 1) ** sp.Rational(3, 2)
    + (z**2 + 1) ** sp.Rational(-5, 2)
    + 1 / sp.sqrt(2),
    "odd powers": (x**2 + 1) ** sp.Rational(1, 3) + (y**2 + 1) ** z + (x**2 + 2) ** 1.5 + (z + 2) ** 2.0,
    "high powers": (x / 3) ** 13 + ((x + y) / 9) ** 70,
    "nested fraction": 1 / (1 + 1 / (1 + x**2)) / (2 + y**2 / (1 + z**2)),
    "signs": -x * (-y - z) - (-(x - y)) / (-(z**2) - 1),
    "trigonometry": sp.sin(x) * sp.cos(y) + sp.tan(z / 4) + sp.asin(x / 10) - sp.acos(y / 10) + sp.atan(z),
    "reciprocals": sp.cot(x**2 + 1)
    + sp.sec(y / 4)
    + sp.csc(z**2 + 1)
    + sp.coth(x**2 + 1)
    + sp.sech(y)
    + sp.csch(z**2 + 1),
    "atan2": sp.atan2(x, y) + sp.sinc(z),
    "hyperbolic": sp.sinh(x / 3) + sp.cosh(y / 3) - sp.tanh(z) + sp.asinh(x) + sp.acosh(1 + y**2) + sp.atanh(z / 10),
    "exponentials": sp.exp(-(x**2)) * sp.log(1 + y**2) + sp.exp(z / 5) + sp.E**2 + sp.erf(x) + sp.erfc(y),
    "steps": sp.floor(x) + sp.ceiling(y) + sp.sign(z) + sp.Heaviside(x) + sp.Heaviside(y - z, 0) + sp.Abs(x * y),
    "modulo": sp.Mod(x, 2) + sp.Mod(y - z, y**2 + 1) * sp.Mod(x, -3),
    "extrema": sp.Max(x, y, z) - sp.Min(x * y, z, 1),
    "piecewise": sp.Piecewise(
        (x**2, x > y), (sp.sin(y), sp.And(y > 1, z <= 0)), (z, sp.Or(x < -1, sp.Ne(z, 2))), (0, True)
    ),
    "shared piecewise": sp.Piecewise((x, x > 0), (0, True)) * sp.Piecewise((y, x > 0), (z, True))
    + sp.Piecewise((x, x > 0), (1, True)),
    "not": sp.Piecewise((x, sp.Not(sp.And(x > y, y > z))), (y, True)),
    "constants": sp.pi * x
    + sp.E * y
    + sp.sqrt(2) * z
    + sp.Float("0.1")
    + sp.Rational(1, 3)
    + sp.GoldenRatio
    + sp.sin(1),
    "zero": sp.S.Zero,
}


def compiled(expressions):
    names = {x: sp.Symbol("q[0]", real=True), y: sp.Symbol("q[1]", real=True), z: sp.Symbol("q[2]", real=True)}
    values = [(f"out[{i}]", sp.sympify(e).xreplace(names)) for i, e in enumerate(expressions)]
    source = function_source("function", "q, out", values)
    namespace = {"math": math, "dev": lambda f: f, "sincos": sincos}
    exec(source, namespace)
    return namespace["function"], source


FUNCTION, SOURCE = compiled(ZOO.values())
number = st.floats(-5.0, 5.0).map(lambda v: round(v, 3)).filter(lambda v: abs(v) > 1e-2)


@thinned
@settings(max_examples=examples(3, 100), deadline=None)
@given(st.tuples(number, number, number))
@example((1.0, 1.0, 2.0))
@example((-1.0, 2.0, -1.0))
def test_printed_source_evaluates_like_sympy(point):
    out = np.empty(len(ZOO))
    FUNCTION(list(point), out)
    exact = dict(zip((x, y, z), (sp.Float(str(v), 40) for v in point), strict=True))
    for (name, expression), value in zip(ZOO.items(), out, strict=True):
        expected = float(expression.subs(exact).evalf(25))
        assert value == pytest.approx(expected, rel=1e-11, abs=1e-11), name


def test_printed_source_is_a_kernel():
    namespace = run_as_file({"math": math, "dev": Entry, "sincos": Kernel(sincos, inline=True)}, SOURCE)
    point, plain, fast = [0.7, -1.3, 2.1], np.empty(len(ZOO)), np.empty(len(ZOO))
    FUNCTION(point, plain)
    namespace["function"](np.array(point), fast)
    np.testing.assert_allclose(fast, plain, rtol=1e-13, atol=1e-13)


def test_common_subexpressions_are_computed_once():
    _, source = compiled([sp.sin(x * y) + 1, sp.sin(x * y) ** 2, sp.exp(sp.sin(x * y))])
    assert source.count("math.sin") == 1


def test_powers_are_products_of_one_evaluation():
    _, source = compiled([sp.sin(x) ** 3, y**2])
    assert source.count("math.sin") == 1
    assert "**" not in source and "pow" not in source


def test_symbols_may_be_called_like_the_variables_of_the_source():
    a, b = sp.symbols("x0 y0", real=True)
    names = {a: sp.Symbol("q[0]"), b: sp.Symbol("q[1]")}
    values = [sp.sin(a + b) * (a + b), (a + b) ** 2]
    namespace = {"math": math, "dev": lambda f: f, "sincos": sincos}
    exec(function_source("f", "q, o", [(f"o[{i}]", v.xreplace(names)) for i, v in enumerate(values)]), namespace)
    out = np.empty(2)
    namespace["f"]([0.3, 0.4], out)
    np.testing.assert_allclose(out, [math.sin(0.7) * 0.7, 0.49])


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (sp.Function("wobble")(x), "function 'wobble'"),
        (sp.gamma(x), "function 'gamma'"),
        (sp.Integral(sp.sin(x**3), x), "function 'Integral'"),
        (sp.DiracDelta(x), "continuous in q and t"),
        (sp.I * x, "not a finite real number"),
        (sp.zoo + x, "not a finite real number"),
        (sp.re(sp.Symbol("c")), "is complex"),
        (sp.Piecewise((x, sp.Xor(x > 0, y > 0)), (0, True)), "has no compiled form"),
    ],
)
def test_what_cannot_be_compiled_is_named(expression, message):
    with pytest.raises(ValueError, match=message):
        Printer([]).text(expression)


@pytest.mark.parametrize("each", [9, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"])
def test_source_is_the_same_in_every_process(each):
    """In this one, whose SymPy has seen other expressions, and in a fresh one with other hashes of names."""
    program = (
        f"each = {each}"
        + """
import hashlib, sympy as sp, stickslip.library as library
from sympy.physics.mechanics import dynamicsymbols
from stickslip import Contact, LagrangianSystem
a, b = dynamicsymbols("a b")
m, l, k = sp.symbols("m l k")
xy = [l * sp.sin(a), l * sp.cos(a), l * sp.sin(a) + l * sp.sin(b), l * sp.cos(a) + l * sp.cos(b)]
system = LagrangianSystem.from_energies(
    [a, b], kinetic=m * sum(z.diff("t") ** 2 for z in xy), potential=k * sp.Max(a, b, a * b) + sp.Abs(xy[3]),
    contacts=[Contact(str(i), gap=z, slip=xy[3 - i], friction="m") for i, z in enumerate(xy)],
    parameters={m: 1, l: 2, k: 3})
text = "".join(library.get(name).system.source() for name in library.names()[::each]) + system.source()
text += system.equations().text() + system.equations().latex()
digest = hashlib.sha256(text.encode()).hexdigest()
"""
    )
    seed = "77" if os.environ.get("PYTHONHASHSEED") != "77" else "1"
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    run = subprocess.run(
        [sys.executable, "-c", f"{program}print(digest)"],
        env=environment, capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    here: dict[str, str] = {}
    exec(program, here)
    assert here["digest"] == run.stdout.strip()


# -- drift on acceleration level -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["slider_crank", "four_bar", "kane_pendulum", "bouncing_ball_on_table", "gear_rattle"])
def test_drift_is_the_rate_of_the_relative_velocities_with_u_held(name):
    """zeta = d/dt (W^T u + w_hat) along q + u tau, by central differences of fourth order."""
    scenario = library.get(name)
    system, t = scenario.system, 0.0123
    u = scenario.u0 + 0.7
    step = 1e-4 / (1.0 + float(np.abs(u).max()))

    def gamma(tau):
        W_N, W_T, w_hat = system.geometry(scenario.q0 + tau * u, t + tau)
        return np.stack([W_N @ u, W_T @ u], axis=-1) + w_hat

    measured = (8 * (gamma(step) - gamma(-step)) - (gamma(2 * step) - gamma(-2 * step))) / (12 * step)
    zeta = system.drift(scenario.q0, u, t)
    assert zeta == pytest.approx(measured, rel=1e-6, abs=1e-6 * float(np.abs(measured).max()))
    assert np.abs(zeta).max() > 0.0


# -- derivatives of the forces, for implicit steppers --------------------------------------------------------------


@pytest.mark.parametrize("build", [library.woodpecker, library.slider_crank, library.kane_pendulum])
def test_derivatives_of_the_forces_are_those_of_differences(build):
    """Exact derivatives against the central differences that systems of functions get."""
    scenario = build()
    system = scenario.system
    rng = np.random.default_rng(1)
    q, u = scenario.q0 + 0.01 * rng.normal(size=system.n_dof), scenario.u0 + rng.normal(size=system.n_dof)
    exact = system.jacobian(q, u, 0.1)
    namespace = dict(system._plain_functions.namespace(False))
    exec(System.jacobian_source(system), namespace)
    K, C = np.empty_like(exact[0]), np.empty_like(exact[1])
    namespace["jacobian"](q.copy(), u.copy(), 0.1, system.parameter_values, K, C, np.empty((2, system.n_dof)))
    size = max(1.0, np.abs(exact[0]).max(), np.abs(exact[1]).max())
    np.testing.assert_allclose(K, exact[0], rtol=0, atol=1e-6 * size)
    np.testing.assert_allclose(C, exact[1], rtol=0, atol=1e-6 * size)


def test_the_slope_of_a_force_that_jumps_is_that_of_its_branches():
    x, v = sp.symbols("x v")
    system = ss.LagrangianSystem.from_energies(
        [x], velocities=[v], kinetic=v**2 / 2, forces=[-3 * sp.sign(v) - 2 * v - x**3], name="dry and viscous"
    )
    K, C = system.jacobian([2.0], [1.0])
    assert (K[0, 0], C[0, 0]) == (-12.0, -2.0)


# -- sines and cosines ---------------------------------------------------------------------------------------------


def test_sines_of_a_difference_come_from_those_of_its_angles():
    """Eight sines and cosines of the slider-crank become three calls; where sums stand alone they stay."""
    a, b = sp.symbols("a b", real=True)
    alone = [sp.cos(b - a), sp.sin(b - a)]
    assert angles_apart(alone) == alone
    apart = angles_apart([*alone, sp.sin(a), sp.cos(a), sp.sin(b), sp.cos(b)])
    assert set().union(*(x.atoms(sp.sin, sp.cos) for x in apart)) == {sp.sin(a), sp.cos(a), sp.sin(b), sp.cos(b)}
    assert all(sp.simplify(x - y) == 0 for x, y in zip(apart, alone, strict=False))
    source = library.slider_crank().system.source()
    dynamics = source[source.index("def dynamics") : source.index("def geometry")]
    assert dynamics.count("sincos(") == 3 and "math.sin" not in dynamics and "math.cos" not in dynamics


def test_pairs_inside_conditions_and_powers_are_printed_once():
    x, y = sp.symbols("x y", real=True)
    value = sp.Piecewise((sp.sin(x) ** 2, sp.cos(x) > y), (sp.cos(x + y), True))
    text = function_source("f", "x, y, out", [("out[0]", value), ("out[1]", sp.sin(x + y))])
    assert text.count("sincos(") == 2
    namespace = {"math": math, "dev": lambda f: f, "sincos": sincos}
    exec(text, namespace)
    for numbers in ((0.3, 0.2), (2.0, 0.5)):
        out = np.empty(2)
        namespace["f"](*numbers, out)
        exact = [float(e.subs({x: numbers[0], y: numbers[1]})) for e in (value, sp.sin(x + y))]
        np.testing.assert_allclose(out, exact, rtol=1e-14)


def test_forms_that_lose_digits_are_not_taken_for_being_short():
    """Differences of large coordinates are exact; squares that are multiplied out are not."""
    x, y, a, b = sp.symbols("x y a b")
    turned = (sp.Float(0.8) * (x - a) + sp.Float(0.6) * (y - b), sp.Float(0.8) * (y - b) - sp.Float(0.6) * (x - a))
    away = sp.sqrt(turned[0] ** 2 + turned[1] ** 2)
    values = {x: 1e5 + 0.25, y: 3e4 - 0.5, a: 1e5, b: 3e4}
    for entry, exact in zip(gradient(away, [x, y]), (0.25, -0.5), strict=True):
        found = sp.lambdify([x, y, a, b], entry, "math")(*values.values())
        assert found == pytest.approx(exact / math.hypot(0.25, 0.5), rel=1e-9)  # multiplied out: 1e-6
    assert shorten(a * sp.cos(x) ** 2 + a * sp.sin(x) ** 2) == a
    assert shorten((x - a) ** 2 - x**2 + 2 * a * x) == a**2
    assert shorten((x + a) * b - a * b) == b * x
