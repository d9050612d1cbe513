"""Every library scenario: sound, documented, and with the numbers of its source."""

import inspect
import math
import sys
import types

import numpy as np
import pytest
import sympy as sp

from stickslip import library
from stickslip.mechanisms.system import CONTACT, FRICTION
from tests.io.trajectories import trajectory
from tests.thinned import FULL, thinned


@pytest.mark.parametrize("name", library.names())
def test_scenario_is_sound(name):
    scenario = library.get(name)
    system = scenario.system
    assert system.name == name
    q, u, p = system.check(scenario.q0, scenario.u0)
    closed = [k for k, kind in enumerate(system.contact_kinds) if kind == CONTACT]
    assert (system.gap(q, 0.0, p)[closed] >= -1e-6).all()  # [GS05] Table I starts at -8.8e-7 m
    assert 0 < scenario.dt < scenario.t_end
    assert scenario.title and scenario.source
    assert np.isfinite(system.energy(q, u, 0.0, p)).all()
    for quantity in (*system.coordinate_names, *system.velocity_names):
        assert quantity in system.units
    assert system.equations().text() and system.equations().latex()


@thinned
@pytest.mark.parametrize("name", library.names())
def test_keywords_are_documented_and_reach_the_system(name):
    entry = getattr(library, name)
    known = library.get(name).system.parameter_names
    changed = {}
    for key, default in library.keywords(name).items():
        assert f"{key}" in inspect.getdoc(entry)
        if key in known and default is not None:
            changed[key] = default / 2 + 0.125
    for some in [{key: changed[key]} for key in changed] if FULL else [changed]:  # each derives the system anew
        system = library.get(name, **some).system
        for key, value in some.items():
            assert system.parameter_values[system.parameter_names.index(key)] == value
    dimensionless = {"friction", "friction_ratio", "restitution", "restitution_normal", "restitution_sleeve"}
    dimensionless |= {"friction_static", "friction_kinetic"}
    system = library.get(name).system
    for parameter in system.parameter_names:
        assert parameter in system.units or parameter in dimensionless | {"restitution_tangential"}


def test_names_are_found_or_the_nearest_is_named():
    assert "woodpecker" in library.names()
    with pytest.raises(ValueError, match="unknown library entry 'woodpeker'; did you mean 'woodpecker'"):
        library.get("woodpeker")
    with pytest.raises(
        ValueError, match="library entry 'woodpecker': unknown parameter 'fricton'; did you mean 'friction'"
    ):
        library.get("woodpecker", fricton=0.3)
    with pytest.raises(ValueError, match=r"restitution_normal of contact 'beak' must lie in \[0, 1\], got 2"):
        library.get("woodpecker", restitution_normal=2.0)


def test_scenario_passes_itself_to_simulate(monkeypatch):
    calls = []
    module = types.ModuleType("stickslip.run.simulate")
    module.simulate = lambda *args, **options: calls.append((args, options)) or trajectory()
    monkeypatch.setitem(sys.modules, "stickslip.run", types.ModuleType("stickslip.run"))
    monkeypatch.setitem(sys.modules, "stickslip.run.simulate", module)
    scenario = library.bouncing_ball(height=2.0)
    assert scenario.simulate().scenario is scenario
    scenario.simulate(dt=0.5, params={"g": 1.0}, q0=[3.0])
    (args, options), (args_2, options_2) = calls
    assert args == (scenario.system, scenario.q0, scenario.u0)
    assert options == {"dt": scenario.dt, "t_end": scenario.t_end}
    assert args_2[1] == [3.0]
    assert options_2 == {"dt": 0.5, "t_end": scenario.t_end, "params": {"g": 1.0}}


def test_scenario_refuses_nonsense():
    scenario = library.bouncing_ball()
    with pytest.raises(ValueError, match="dt must be positive"):
        library.Scenario(scenario.system, scenario.q0, scenario.u0, 0.0, 1.0, "", "")
    with pytest.raises(ValueError, match="q0 must have shape"):
        library.Scenario(scenario.system, np.zeros(2), scenario.u0, 0.1, 1.0, "", "")
    with pytest.raises(ValueError, match="read-only"):
        scenario.q0[0] = 1.0


# -- each against its source -----------------------------------------------------------------------------------------


def test_woodpecker_equations_are_those_of_the_paper():
    """[GS05] eqs. (13)-(16), typed from the paper."""
    eq = library.woodpecker().system.equations()
    y, phi_M, phi_S = sp.symbols("y phi_M phi_S")
    r_O, r_M, h_M, l_M, l_G, h_S, l_S = sp.symbols("r_O r_M h_M l_M l_G h_S l_S")
    m_M, m_S, J_M, J_S, c, g = sp.symbols("m_M m_S J_M J_S c_phi g")
    M = sp.Matrix(
        [
            [m_S + m_M, m_S * l_M, m_S * l_G],
            [m_S * l_M, J_M + m_S * l_M**2, m_S * l_M * l_G],
            [m_S * l_G, m_S * l_M * l_G, J_S + m_S * l_G**2],
        ]
    )
    h = sp.Matrix([-(m_S + m_M) * g, -c * (phi_M - phi_S) - m_S * l_M * g, -c * (phi_S - phi_M) - m_S * l_G * g])
    g_N = sp.Matrix([(l_M + l_G - l_S - r_O) - h_S * phi_S, (r_M - r_O) + h_M * phi_M, (r_M - r_O) - h_M * phi_M])
    W_N = sp.Matrix([[0, 0, -h_S], [0, h_M, 0], [0, -h_M, 0]])
    W_T = sp.Matrix([[1, l_M, l_G - l_S], [1, r_M, 0], [1, r_M, 0]])

    assert eq.q == (y, phi_M, phi_S)
    assert eq.u == sp.symbols("v omega_M omega_S")
    assert (eq.M - M).expand().is_zero_matrix
    assert (eq.h - h).expand().is_zero_matrix
    assert (eq.g_N - g_N).expand().is_zero_matrix
    assert (eq.W_N - W_N).expand().is_zero_matrix
    assert (eq.W_T - W_T).expand().is_zero_matrix
    assert eq.w_hat_N.is_zero_matrix and eq.w_hat_T.is_zero_matrix


def test_woodpecker_table():
    """[GS05] Table I."""
    scenario = library.woodpecker()
    system = scenario.system
    assert system.contact_names == ("beak", "sleeve lower", "sleeve upper")
    assert system.mass_constant and system.directions_constant and not system.force_depends_on_u
    np.testing.assert_array_equal(scenario.q0, [0, -0.1036, -0.2788])
    np.testing.assert_array_equal(scenario.u0, [-0.3411, 0, -7.4583])
    mu, eps_N, eps_T, threshold = system.laws()
    np.testing.assert_array_equal(mu, [0.3, 0.3, 0.3])
    np.testing.assert_array_equal(eps_N, [0.5, 0, 0])
    assert not eps_T.any() and not threshold.any()
    np.testing.assert_allclose(system.gap(scenario.q0), [0.0024 + 0.02 * 0.2788, -8.8e-7, 0.00120088], rtol=1e-9)


def test_impacting_bar_is_that_of_the_paper():
    """[PG05] eqs. (16)-(19) and (22)."""
    scenario = library.impacting_bar(mass=2.0, half_length=0.3)
    system = scenario.system
    eq = system.equations()
    y, phi, s, m, inertia = sp.symbols("y phi half_length mass inertia")
    assert eq.M == sp.diag(m, m, inertia)
    assert eq.W_N == sp.Matrix([[0, 1, -s * sp.cos(phi)]])
    assert eq.W_T == sp.Matrix([[1, 0, -s * sp.sin(phi)]])
    assert eq.g_N[0] == y - s * sp.sin(phi)
    assert system.mass(scenario.q0)[2, 2] == pytest.approx(2.0 * 0.3**2 / 3)
    W_N, W_T, _ = system.geometry([0.0, 0.0, 0.7])
    inverse = np.linalg.inv(system.mass([0.0, 0.0, 0.7]))
    assert (W_N @ inverse @ W_T.T).item() == pytest.approx(3 / 2.0 * math.sin(0.7) * math.cos(0.7))
    assert system.gap(scenario.q0)[0] == pytest.approx(0.1)


def test_brick_slides_with_coulombs_force():
    """[S00] eq. (1.1): N = m g cos(angle), m dv/dt = m g sin(angle) - mu N."""
    system = library.brick_on_ramp(friction=0.5, angle=0.38, mass=3.0).system
    h = system.force([0.0, 0.0], [1.0, 0.0])
    np.testing.assert_allclose(h, [3.0 * 9.81 * math.sin(0.38), -3.0 * 9.81 * math.cos(0.38)])
    assert system.equations().W_N == sp.Matrix([[0, 1]])
    assert system.equations().W_T == sp.Matrix([[1, 0]])


def test_table_moves_in_the_gap():
    system = library.bouncing_ball_on_table(amplitude=0.01, frequency=5.0).system
    t = 0.013
    np.testing.assert_allclose(system.gap([0.2], t), [0.2 - 0.01 * math.sin(10 * math.pi * t)])
    np.testing.assert_allclose(system.geometry([0.2], t)[2], [[-0.1 * math.pi * math.cos(10 * math.pi * t), 0.0]])
    assert library.bouncing_ball().system.directions_constant and not system.directions_constant


def test_friction_oscillator_slides_against_the_belt():
    scenario = library.friction_oscillator(belt_velocity=0.2, friction=0.4, friction_ratio=1.5, m_2=2.0)
    system = scenario.system
    assert system.contact_kinds == (FRICTION, FRICTION)
    _, W_T, w_hat = system.geometry(scenario.q0)
    np.testing.assert_allclose(W_T @ scenario.u0 + w_hat[:, 1], 0.0, atol=1e-15)  # both ride on the belt at first
    np.testing.assert_allclose(system.laws()[3], [0.4 * 9.81, 0.4 * 1.5 * 2.0 * 9.81])
    np.testing.assert_allclose(system.force([0.1, 0.0], [0.0, 0.0]), [-22.0, 12.0])


def test_gear_has_its_backlash():
    system = library.gear_rattle(backlash=3e-4).system
    assert system.contact_names == ("flank lower", "flank upper")
    for t in (0.0, 0.01, 0.37):
        assert system.gap([0.001], t).sum() == pytest.approx(3e-4)
        W_N, _, w_hat = system.geometry([0.001], t)
        np.testing.assert_allclose(W_N[0] + W_N[1], 0.0)
        np.testing.assert_allclose(w_hat[0] + w_hat[1], 0.0)


def test_pendulum_touches_its_stop():
    system = library.pendulum_against_stop(stop_angle=-0.3, length=2.0).system
    np.testing.assert_allclose(system.gap([-0.3]), [0.0], atol=1e-15)
    np.testing.assert_allclose(system.gap([0.2]), [1.0])
    np.testing.assert_allclose(system.mass([0.2]), [[4.0]])
    assert system.contact_names == ("stop",)


def test_woodpecker_is_built_quickly():
    import time

    library.woodpecker()
    start = time.perf_counter()
    library.woodpecker(friction=0.31)
    assert time.perf_counter() - start < 0.5


@pytest.mark.parametrize("name", (*library.names(), *library.scene_names()))
def test_every_number_has_a_unit_or_none_by_its_meaning(name):
    """Coefficients, ratios and counts have no unit; the unit of any other number is in the docstring or the system."""
    units = {**library.units(name), **getattr(library.get(name).system, "units", {})}
    for key, default in library.keywords(name).items():
        plain = any(word in key for word in ("friction", "restitution", "ratio", "seed"))
        if isinstance(default, float) and not plain:
            assert units.get(key), key


def test_units_come_from_the_docstring():
    assert library.units("brick_on_ramp")["push_frequency"] == "rad/s"
    assert library.units("brick_on_ramp")["push"] == "N"
    assert library.units("thrown_cube") == {"speed": "m/s"}
    assert "friction" not in library.units("brick_on_ramp")


@pytest.mark.parametrize("name", (*library.names(), *library.scene_names()))
def test_every_entry_is_a_function_of_the_module(name):
    """What `stickslip list` shows is there by its name, too."""
    assert getattr(library, name) is library._entry(name)
