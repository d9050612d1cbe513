"""The slider-crank with play: the paper's equations, convergence, energy, and the limit without play."""

import json
import math

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

from stickslip import MoreauMidpoint, cli, library

TEN_TURNS = 0.85


def run(dt=1e-5, t_end=0.1, *, every=1, solver="auto", engine="auto", **keywords):
    options = {"every": every, "solver": solver, "engine": engine, "progress": False}
    done = library.slider_crank(**keywords).simulate(dt=dt, t_end=t_end, **options)
    assert done.complete, done.status
    return done


def slope(steps, errors):
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]


# -- equations -----------------------------------------------------------------------------------------------


def test_table_1():
    scenario = library.slider_crank()
    p = dict(zip(scenario.system.parameter_names, scenario.system.parameter_values, strict=True))
    assert (p["l_1"], p["l_2"], p["a"], p["b"], p["clearance"]) == (0.153, 0.306, 0.05, 0.025, 0.001)
    assert (p["m_1"], p["m_2"], p["m_3"], p["J_1"], p["J_2"], p["J_3"]) == (0.038, 0.038, 0.076, 7.4e-5, 5.9e-4, 2.7e-6)
    assert (p["g"], p["friction"], p["restitution_normal"], p["restitution_tangential"]) == (9.81, 0.01, 0.4, 0.0)
    np.testing.assert_array_equal(scenario.q0, [0, 0, 0])
    np.testing.assert_array_equal(scenario.u0, [150, -75, 0])
    np.testing.assert_allclose(scenario.system.gap(scenario.q0), 0.001)


@pytest.mark.parametrize("built_from", ["equations", "parts"])
def test_equations_are_those_of_the_paper(built_from):
    """[FLG10] eqs. (90)-(97) and (106)-(113), symbol by symbol."""
    eq = library.slider_crank(built_from=built_from).system.equations()
    (th_1, th_2, th_3), (w_1, w_2, _) = sp.symbols("theta_1:4"), sp.symbols("omega_1:4")
    l_1, l_2, a, b, m_1, m_2, m_3, J_1, J_2, J_3, g = sp.symbols("l_1 l_2 a b m_1:4 J_1:4 g")
    k = (m_2 / 2 + m_3) * l_1 * l_2
    M_12 = k * sp.cos(th_2 - th_1)
    M = sp.Matrix(
        [
            [J_1 + (m_1 / 4 + m_2 + m_3) * l_1**2, M_12, 0],
            [M_12, J_2 + (m_2 / 4 + m_3) * l_2**2, 0],
            [0, 0, J_3],
        ]
    )
    h = sp.Matrix(
        [
            k * sp.sin(th_2 - th_1) * w_2**2 - (m_1 / 2 + m_2 + m_3) * g * l_1 * sp.cos(th_1),
            -k * sp.sin(th_2 - th_1) * w_1**2 - (m_2 / 2 + m_3) * g * l_2 * sp.cos(th_2),
            0,
        ]
    )
    up, along = (
        sp.Matrix([[l_1 * sp.cos(th_1), l_2 * sp.cos(th_2)]]),
        sp.Matrix([[-l_1 * sp.sin(th_1), -l_2 * sp.sin(th_2)]]),
    )
    s, c = sp.sin(th_3), sp.cos(th_3)
    W_N = sp.Matrix.vstack(-up, -up, up, up).row_join(
        sp.Matrix([a * c + b * s, b * s - a * c, b * s - a * c, a * c + b * s])
    )
    W_T = sp.Matrix.vstack(along, along, along, along).row_join(
        sp.Matrix([a * s - b * c, -a * s - b * c, a * s + b * c, -a * s + b * c])
    )

    def equal(left, right):
        return (left - right).applyfunc(lambda entry: sp.expand_trig(entry).expand()).is_zero_matrix

    assert equal(eq.M, M) and equal(eq.h, h) and equal(eq.W_N, W_N) and equal(eq.W_T, W_T)
    assert eq.w_hat_N.is_zero_matrix and eq.w_hat_T.is_zero_matrix
    assert eq.contact_names == ("corner 1", "corner 2", "corner 3", "corner 4")


@pytest.mark.parametrize("t_end", [2.2, pytest.param(6.5, marks=pytest.mark.slow)])
def test_printed_and_assembled_mechanism_move_alike(record_property, t_end):
    """The two mechanisms differ by round-off, which impacts amplify: 1e-9 is reached after dozens of turns."""
    one, other = (run(dt=1e-4, t_end=t_end, built_from=build) for build in ("equations", "parts"))
    apart = np.maximum(np.abs(one.q - other.q).max(axis=1), np.abs(one.u - other.u).max(axis=1) / 150.0)
    far = np.flatnonzero(apart > 1e-9)
    separated = float(one.t[far[0]]) if len(far) else math.inf
    record_property("separated_s", separated)
    print(f"1e-9 apart after {separated:.4g} s, {one['theta_1'][far[0] if len(far) else -1] / (2 * np.pi):.4g} turns")
    assert apart[one.t <= 1.0].max() < 5e-10
    assert separated > 2.0


def test_slider_stays_level_unless_it_starts_tilted():
    assert np.abs(run(dt=5e-5)["theta_3"]).max() < 1e-12
    assert np.abs(run(dt=5e-5, slider_angle=0.01)["theta_3"]).max() > 0.005


def test_wrong_keywords():
    with pytest.raises(ValueError, match="built_from must be one of equations, parts, got 'scratch'"):
        library.slider_crank(built_from="scratch")
    with pytest.raises(ValueError, match=r"l_1 must be less than l_2, so that the crank can turn, got 0.3 and 0.2 m"):
        library.slider_crank_ideal(l_1=0.3, l_2=0.2)


# -- motion --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dt", [1e-4, *(pytest.param(dt, marks=pytest.mark.slow) for dt in (1e-5, 1e-6))])
def test_ten_turns_without_a_failed_step(dt):
    done = run(dt=dt, t_end=TEN_TURNS, every=100)
    assert done["theta_1"][-1] > 20 * np.pi
    c = done.certificate
    assert c.failed_steps == 0 and c.max_residual < 1e-8 and c.max_energy_gain < 1e-12
    assert c.max_penetration < 2.0 * dt  # m/s: no corner approaches faster


def test_penetration_falls_with_dt():
    depth = [run(dt=dt).certificate.max_penetration for dt in (1e-4, 2e-5, 4e-6)]
    assert depth[0] > 3 * depth[1] > 9 * depth[2]


@pytest.mark.parametrize("solver", ["lemke", "enumerate"])
def test_solvers_agree(solver):
    by_auto, by_solver = run(dt=1e-4), run(dt=1e-4, solver=solver, engine="reference")
    np.testing.assert_allclose(by_solver.q, by_auto.q, atol=1e-10)
    assert by_solver.certificate.failed_steps == 0


def test_crank_angle_converges_with_first_order():
    """h depends on u: order 1 already in smooth motion, and across impacts."""
    steps = 8e-5 / 2.0 ** np.arange(5)
    angles = np.array([run(dt=dt, t_end=0.08, every=round(0.01 / dt))["theta_1"][[1, 2, 4, 8]] for dt in steps])
    assert slope(steps[:-1], np.abs(np.diff(angles, axis=0)).max(axis=1)) == pytest.approx(1.0, abs=0.15)
    assert np.abs(angles[-1] - angles[-2]).max() < 4e-3


def test_restitution_1_without_friction_keeps_the_energy():
    """The contacts do no work at all; what is left is the integrator's error in free flight, of first order."""
    steps, drift = [4e-5, 2e-5, 1e-5, 5e-6], []
    for dt in steps:
        done = run(dt=dt, restitution_normal=1.0, friction=0.0, slider_angle=0.01)
        energy = done.energy.total
        drift.append(np.abs(energy - energy[0]).max() / energy[0])
        assert abs(done.certificate.contact_work) < 1e-12 * energy[0]
        assert len(done.impacts()) > 20
    assert slope(steps, drift) == pytest.approx(1.0, abs=0.15)
    assert drift[-1] < 4e-3


def test_shell_sets_restitution_and_clearance(capsys):
    settings = ["--set", "restitution_normal=0.9", "--set", "clearance=0.0005"]
    assert cli.main(["run", "slider_crank", *settings, "--t-end", "0.02", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["parameters"]["restitution_normal"] == 0.9 and report["parameters"]["clearance"] == 0.0005
    same = run(t_end=0.02, restitution_normal=0.9, clearance=0.0005)
    assert report["final"]["q"] == same.q[-1].tolist()


# -- the limit without play ----------------------------------------------------------------------------------


def ideal_crank(times):
    """Crank angle of the ideal mechanism, by an ODE solver."""
    system = library.slider_crank_ideal().system

    def rate(t, state):
        q, u = state[:1], state[1:]
        return [u[0], system.force(q, u)[0] / system.mass(q)[0, 0]]

    return solve_ivp(rate, (0.0, times[-1]), [0.0, 150.0], t_eval=times, rtol=1e-11, atol=1e-11).y[0]


def test_ideal_mechanism_against_an_ode_solver():
    scenario = library.slider_crank_ideal()
    (exact,) = ideal_crank([0.08])
    steps = [8e-5, 4e-5, 2e-5]
    options = {"t_end": 0.08, "progress": False}
    errors = [abs(scenario.simulate(dt=dt, **options).q[-1, 0] - exact) for dt in steps]
    assert slope(steps, errors) == pytest.approx(1.0, abs=0.15) and errors[-1] < 2e-2


def test_ideal_mechanism_has_the_energy_of_the_one_with_play():
    """Crank at 1 rad, rod where the slider's centre is on the guide's middle, in consistent motion."""
    ideal, play = library.slider_crank_ideal(), library.slider_crank()
    theta_2 = -math.asin(0.5 * math.sin(1.0))
    omega_2 = -0.5 * math.cos(1.0) / math.cos(theta_2) * 150.0
    expected = play.system.energy([1.0, theta_2, 0.0], [150.0, omega_2, 0.0])
    np.testing.assert_allclose(ideal.system.energy([1.0], [150.0]), expected)


def test_play_tends_to_none():
    """Loss of energy in a crossing of the play grows like c^(4/3); geometry deviates like c."""
    apart, clearances = [], [1e-3, 5e-4, 2.5e-4, 1.25e-4]
    for c in clearances:
        dt = 2e-3 * c
        every = round(1e-3 / dt)
        done = run(dt=dt, clearance=c, friction=0.0, every=every)
        apart.append(np.abs(done["theta_1"] - ideal_crank(done.t)).max())
    assert 0.9 < slope(clearances, apart) < 1.35
    assert apart[-1] < 0.015


# -- a play of 1e-5 m: the numbers of docs/slider-crank.md -----------------------------------------------------------

TIGHT = {  # (dt, projection): penetration [m]; contacts, projection, integration in parts of the initial energy
    (1e-4, 0.0): (3.2e-4, -1.437e-2, 0.0, -5.832e-2),
    (1e-4, 5e-10): (2.5e-10, -1.354e-2, 1.416e-3, -5.846e-2),
    (1e-5, 0.0): (3.1e-5, -1.2410e-2, 0.0, -6.054e-3),
    (1e-5, 5e-10): (5.0e-10, -1.2389e-2, 1.678e-4, -6.056e-3),
    (1e-6, 0.0): (3.2e-6, -1.2244e-2, 0.0, -6.077e-4),
    (1e-6, 5e-10): (5.0e-10, -1.2240e-2, 1.370e-5, -6.077e-4),
}


@pytest.mark.parametrize(
    ("dt", "projection"), [pytest.param(*case, marks=pytest.mark.slow if case[0] == 1e-6 else []) for case in TIGHT]
)
def test_energy_book_of_a_tight_joint_closes(dt, projection):
    run = library.slider_crank(clearance=1e-5).simulate(
        dt=dt, t_end=0.1, every=100, stepper=MoreauMidpoint(projection=projection)
    )
    book = run.energy_book()
    assert run.complete and run.certificate.failed_steps == 0
    assert abs(book.unexplained) < 1e-9 * book.start
    assert book.end - book.start == pytest.approx(
        book.contacts + book.projection + book.integration, abs=1e-12 * book.start
    )
    if projection:
        assert run.certificate.max_penetration < 1e-9
    penetration, *parts = TIGHT[dt, projection]
    assert run.certificate.max_penetration == pytest.approx(penetration, rel=0.03)
    measured = [x / book.start for x in (book.contacts, book.projection, book.integration)]
    np.testing.assert_allclose(measured, parts, rtol=2e-3)


def test_projection_leaves_a_level_slider_level_in_both_engines():
    tight = library.slider_crank(clearance=1e-5)
    options = {"dt": 1e-6, "t_end": 1.5e-3, "stepper": MoreauMidpoint(projection=5e-10)}
    compiled, reference = (tight.simulate(**options, engine=engine) for engine in ("compiled", "reference"))
    assert compiled.certificate.projections == reference.certificate.projections > 0
    np.testing.assert_allclose(compiled.q, reference.q, rtol=0, atol=1e-12)
    for name in ("contacts", "projection", "integration"):
        a, b = (getattr(run.energy_book(), name) for run in (compiled, reference))
        assert a == pytest.approx(b, abs=1e-12)


@pytest.mark.parametrize("name", ["l_1", "l_2", "a", "b", "clearance", "m_3", "J_3"])
def test_lengths_masses_and_inertias_are_positive(name):
    for bad in (0.0, -1e-6, float("nan"), "1"):
        with pytest.raises(ValueError, match=f"^{name} must be"):
            library.slider_crank(**{name: bad})
