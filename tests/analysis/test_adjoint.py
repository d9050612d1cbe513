"""Gradients by the adjoint: equal to forward derivatives, at a cost that does not depend on how many there are."""

import math
import time

import numpy as np
import pytest
import sympy as sp

import stickslip as ss
from stickslip.analysis import adjoint
from stickslip.analysis.tape import PARAMETERS, Branches, Tape

BALL = ss.library.bouncing_ball(restitution=0.8)
CASES = {
    "end": (dict(t_end=1.5), lambda q, u: q[0] + 0.1 * u[0] ** 2),
    "samples": (dict(times=[0.0, 0.2, 0.7, 1.0, 1.5]), lambda t, q, u: ((q[:, 0] - 0.5) ** 2).sum() + u[2, 0]),
    "events": (dict(events="impact", t_end=1.5), lambda t: t[0] * t[1]),
}


@pytest.mark.parametrize("kind", CASES)
def test_adjoint_equals_forward(kind):
    options, objective = CASES[kind]
    value, slope = ss.gradient(objective, BALL, ["restitution", "y", "g"], **options)
    same, forward = ss.gradient(objective, BALL, ["restitution", "y", "g"], method="forward", **options)
    assert value == same
    assert slope == pytest.approx(forward, rel=1e-10)


def test_end_and_impact_times_of_a_ball_by_closed_form():
    slope = ss.gradient(lambda q, u: q[0], BALL, ["restitution", "y", "g"], t_end=2.0)[1]
    assert slope == pytest.approx([2.49932411332, 0.426610864164, -0.0169081687907], rel=1e-9)
    first = math.sqrt(2.0 / 9.81)  # t_2 = t_1 (1 + 2 e), t_1 = sqrt(2 h / g)
    found = ss.gradient(lambda t: t[1], BALL, ["restitution", "y", "g"], events="impact", t_end=1.5)[1]
    assert found == pytest.approx([2.0 * first, 1.3 * first, -1.3 * first / 9.81], rel=1e-10)


def test_time_of_the_end_of_accumulating_impacts():
    """t_inf = t_1 (1 + e) / (1 - e), and dx behind it is zero."""
    t, slope = ss.gradient(lambda t: t[0], BALL, ["restitution", "y"], events="accumulation ends", t_end=5.0)
    assert t == pytest.approx(4.06371276887, rel=1e-9)
    assert slope == pytest.approx([22.5761820493, 2.03185638444], rel=1e-7)
    assert ss.gradient(lambda q, u: q[0] + u[0], BALL, ["restitution", "y"], t_end=5.0)[1] == pytest.approx([0, 0])


@pytest.mark.parametrize("segment", [1, 7, 40])
def test_segments_that_are_computed_again_give_the_same_bits(segment, monkeypatch):
    options, objective = CASES["samples"]
    whole = ss.gradient(objective, BALL, ["restitution", "y", "g"], **options)[1]
    monkeypatch.setattr(adjoint, "SEGMENT", segment)
    parts = ss.gradient(objective, BALL, ["restitution", "y", "g"], **options)[1]
    assert parts == pytest.approx(whole, rel=1e-14)


def test_kinks_friction_laws_and_constraints_agree_with_forward():
    for name, t_end in (("three_masses", 1.0), ("block_on_belt", 6.0), ("chaplygin_sleigh", 1.0)):
        case = ss.library.get(name)
        names = [*case.system.parameter_names[:2], case.system.velocity_names[0]]
        names = [key for key in names if ss.sensitivity(case, [key], t_end=t_end, samples=2).reliable]
        weights = np.arange(1.0, 1.0 + case.system.n_dof)

        def slope(q, u, weights=weights):
            return weights, 0.5 * weights

        def objective(q, u, weights=weights):
            return weights @ q + 0.5 * weights @ u

        pair = [
            ss.gradient(objective, case, names, t_end=t_end, slope=slope, method=method)[1]
            for method in ("adjoint", "forward")
        ]
        assert names and pair[0] == pytest.approx(pair[1], rel=1e-10, abs=1e-12), name


def test_tape_knows_the_functions_of_models():
    text = """
@dev
def f(q, p, out):
    s, c = sincos(p[0] * q[0])
    out[0] = math.sin(p[0]) * math.cos(p[1]) + math.tan(p[0]) / p[1] - q[0] / p[0] + 2.0 - p[1]
    out[1] = math.exp(p[0]) * math.log(p[1]) + math.sqrt(p[0]) ** 3 - p[0] ** p[1] + 2.0 ** p[0]
    out[2] = math.atan(p[0]) + math.asin(p[0]) * math.acos(p[0]) + abs(-p[1]) + (-p[0]) + s * c
    out[3] = math.sinh(p[0]) + math.cosh(p[1]) * math.tanh(p[0]) + q[0]
"""
    q, p, weights = np.array([[0.3, 0.7, -0.4]]), np.array([0.4, 1.3]), np.arange(12.0).reshape(4, 3) + 1.0
    total = np.zeros(2)
    Tape(text).pull([("f", (q, PARAMETERS), (weights,))], p, [True, True], total)
    import cmath

    def value(p):
        space = {"math": cmath, "dev": lambda g: g, "sincos": lambda x: (cmath.sin(x), cmath.cos(x))}
        space["abs"] = lambda x: x if x.real > 0 else -x
        exec(text, space)
        out = np.zeros((4, 3), complex)
        for k in range(3):
            space["f"]([complex(q[0, k])], p, out[:, k])
        return (weights * out).sum()

    exact = [value([p[0] + 1e-30j * (j == 0), p[1] + 1e-30j * (j == 1)]).imag / 1e-30 for j in range(2)]
    assert total == pytest.approx(exact, rel=1e-13)


def test_tape_tells_conditions():
    text = "@dev\ndef f(q, p, out):\n    out[0] = p[0] if p[0] > 1.0 else 0.0\n"
    with pytest.raises(Branches):
        Tape(text).pull([("f", (np.ones((1, 2)), PARAMETERS), (np.ones((1, 2)),))], [2.0], [True], np.zeros(1))


def test_method_is_checked():
    with pytest.raises(ValueError, match="'adjoint' or 'forward'"):
        ss.gradient(lambda q, u: q[0], BALL, ["y"], method="reverse")


def test_objectives_that_do_not_fit_are_told_what_they_get():
    with pytest.raises(ValueError, match=r"objective must take 2 arguments, of the shapes \(1,\), \(1,\)"):
        ss.gradient(lambda q: q[0], BALL, ["y"], t_end=0.3)
    with pytest.raises(ValueError, match=r"objective: index 7 is out .* have the shapes \(1,\)"):
        ss.gradient(lambda t: t[7], BALL, ["y"], t_end=0.6, events="impact")
    with pytest.raises(ValueError, match="call once for each"):
        ss.one_sided(BALL, ["y", "g"])


def test_a_gradient_that_disagrees_with_its_forward_column_is_refused(monkeypatch):
    monkeypatch.setattr(adjoint._Pull, "by_columns", lambda self: np.full(len(self.motion.mixture), 0.3))
    with pytest.raises(ArithmeticError, match="use method='forward'"):
        ss.gradient(lambda q, u: q[0], BALL, ["restitution", "y"], t_end=1.0)


def test_events_before_a_derivative_is_lost_have_their_gradient(monkeypatch):
    act = adjoint.AdjointMotion._act

    def losing(self, event):
        act(self, event)
        if event.t > 1.2:
            self.lose(event.t + 1e-3, "lost")

    monkeypatch.setattr(adjoint.AdjointMotion, "_act", losing)
    slope = ss.gradient(lambda t: t[0], BALL, ["y"], events="impact", t_end=3.0, slope=lambda t: np.eye(len(t))[0])[1]
    assert slope == pytest.approx([0.5 * math.sqrt(2.0 / 9.81)], rel=1e-10)
    with pytest.raises(ValueError, match="lost"):
        ss.gradient(lambda q, u: q[0], BALL, ["y"], t_end=3.0)


def driven_by_many(count=100):
    """An oscillator with a stop, driven by a sum of `count` harmonics whose amplitudes are the parameters."""
    x, v, t = sp.symbols("x v t")
    a = sp.symbols(f"a0:{count}")
    drive = sum(a[i] * sp.cos((i + 1) * t / 4 + i) for i in range(count))
    stop = ss.Contact("stop", gap=x + sp.Rational(1, 2), restitution_normal=0.8)
    system = ss.LagrangianSystem.from_energies(
        [x], velocities=[v], kinetic=v**2 / 2, potential=x**2 / 2, forces=[drive - v / 10], time=t, contacts=[stop],
        parameters={s: float(0.2 * np.cos(3 * i * i)) for i, s in enumerate(a)}, name="many",
    )  # fmt: skip
    return ss.Scenario(system, [0.3], [0.1], 0.01, 12.0, "", ""), [str(s) for s in a]


def least_times(functions, repeats=4):
    least = [math.inf] * len(functions)
    for _ in range(repeats):
        for i, function in enumerate(functions):
            start = time.process_time()
            function()
            least[i] = min(least[i], time.process_time() - start)
    return least


@pytest.mark.slow
def test_cost_does_not_depend_on_the_number_of_parameters():
    """Measured 2.56, 2.74 and 2.79 runs for 1, 17 and 100 of 100 parameters; forward: 6.7, 9.3 and 19."""
    case, names = driven_by_many()

    def gradient(count, method="adjoint"):
        return ss.gradient(
            lambda q, u: q[0], case, names[:count], slope=lambda q, u: (np.ones(1), np.zeros(1)), method=method
        )[1]

    exact = gradient(100, "forward")
    assert np.abs(gradient(100) - exact).max() <= 1e-12 * np.abs(exact).max()
    one, many = least_times([lambda: gradient(1), lambda: gradient(100)])
    assert many <= 1.4 * one


@pytest.mark.slow
def test_gradient_of_a_woodpecker_cycle_by_17_quantities_costs_less_than_five_runs():
    toy = ss.library.woodpecker(r_O=0.0025 - 1e-6)
    ends = ("restitution_sleeve", "restitution_tangential")  # 0: the end of their range
    names = [name for name in toy.system.parameter_names if name not in ends] + ["phi_S", "omega_S"]
    t_end = 0.146
    judge = ss.EventDriven(rtol=1e-11, zeno=1e-9)
    unit = np.eye(3)[2]

    def gradient(method="adjoint"):
        return ss.gradient(
            lambda q, u: q[2], toy, names, t_end=t_end, slope=lambda q, u: (unit, 0.0 * unit), method=method
        )[1]

    assert len(names) == 17
    assert gradient() == pytest.approx(gradient("forward"), rel=1e-11)
    plain, whole = least_times([lambda: toy.simulate(dt=t_end, t_end=t_end, stepper=judge, progress=False), gradient])
    assert whole <= 5.0 * plain


@pytest.mark.slow
@pytest.mark.parametrize("name", ["woodpecker", "four_bar", "gear_rattle", "compass_gait", "solenoid", "spinning_top"])
def test_mechanisms_of_the_library_agree_with_forward(name, monkeypatch):
    """Largest difference over 23 mechanisms: 2e-12 of the largest entry; in segments of 5 arcs 2e-13."""
    case = ss.library.get(name)
    system = case.system
    t_end = 0.37 * case.t_end
    whole = ss.sensitivity(case, [system.velocity_names[0]], t_end=t_end, samples=2)
    if len(whole.event_times) > 15:
        t_end = 0.5 * (whole.event_times.t[12] + whole.event_times.t[13])
    names = (*system.parameter_names, *system.coordinate_names, *system.velocity_names)
    names = [key for key in names if ss.sensitivity(case, [key], t_end=t_end, samples=2).reliable]
    by_q, by_u = np.random.default_rng(3).normal(size=(2, system.n_dof))

    def gradient(method):
        return ss.gradient(
            lambda q, u: by_q @ q + by_u @ u, case, names, t_end=t_end, slope=lambda q, u: (by_q, by_u), method=method
        )[1]

    forward, back = gradient("forward"), gradient("adjoint")
    assert len(names) >= 4
    assert np.abs(back - forward).max() <= 1e-10 * np.abs(forward).max()
    monkeypatch.setattr(adjoint, "SEGMENT", 5)
    assert np.abs(gradient("adjoint") - back).max() <= 1e-11 * np.abs(forward).max()
