"""Systems from equations as a paper prints them, and sliding velocities that are no derivative."""

import numpy as np
import pytest
import sympy as sp

from stickslip import Contact, LagrangianSystem

x, phi, v, omega, m, L, g = sp.symbols("x phi v omega m L g")


def printed(**changes):
    """A cart with a pendulum: M and h as a book prints them."""
    arguments = {
        "velocities": [v, omega],
        "mass": [[2 * m, m * L * sp.cos(phi)], [m * L * sp.cos(phi), m * L**2]],
        "force": [m * L * sp.sin(phi) * omega**2, -m * g * L * sp.sin(phi)],
        "potential": -m * g * L * sp.cos(phi),
        "parameters": {m: 1.5, L: 0.4, g: 9.81},
        "contacts": [Contact("wall", gap=x, restitution_normal=0.5)],
        **changes,
    }
    return LagrangianSystem.from_equations([x, phi], **arguments)


def test_printed_equations_are_those_of_the_energies():
    derived = LagrangianSystem.from_energies(
        [x, phi],
        velocities=[v, omega],
        kinetic=m * v**2 / 2 + m * ((v + L * omega * sp.cos(phi)) ** 2 + (L * omega * sp.sin(phi)) ** 2) / 2,
        potential=-m * g * L * sp.cos(phi),
        parameters={m: 1.5, L: 0.4, g: 9.81},
        contacts=[Contact("wall", gap=x, restitution_normal=0.5)],
    )
    given = printed()
    q, u = [0.1, 0.7], [0.3, -2.0]
    np.testing.assert_allclose(given.mass(q), derived.mass(q))
    np.testing.assert_allclose(given.force(q, u), derived.force(q, u), atol=1e-14)
    np.testing.assert_allclose(given.energy(q, u), derived.energy(q, u))
    assert given.geometry(q)[0].tolist() == [[1.0, 0.0]]
    assert not given.mass_constant and given.force_depends_on_u
    assert "V = " in given.equations().text()


def test_printed_equations_without_a_potential_have_no_energy():
    kinetic, potential = printed(potential=None).energy([0.1, 0.7], [0.3, -2.0])
    assert kinetic > 0 and np.isnan(potential)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mass": [[1]]}, r"mass must have shape \(2, 2\), one row per coordinate, got \(1, 1\)"),
        ({"mass": [[1, 2], [3, 4]]}, r"mass must be symmetric, got \[1, 0\] = 3 and \[0, 1\] = 2"),
        ({"mass": [[sp.Symbol("v"), 0], [0, 1]]}, r"mass\[0, 0\] may depend on coordinates, time, parameters only"),
        ({"force": [0]}, "force must have 2 entries, one per coordinate, got 1"),
        ({"force": [0, sp.Symbol("k")]}, "force on 'phi' contains 'k', which is neither"),
    ],
)
def test_wrong_printed_equations(changes, message):
    with pytest.raises(ValueError, match=message):
        printed(**changes)


def test_slip_of_pairs():
    """gamma_T = sum factor * d displacement/dt: what has no displacement of its own."""
    y, w, t = sp.symbols("y w t")
    s = LagrangianSystem.from_energies(
        [x, y],
        velocities=[v, w],
        kinetic=(v**2 + w**2) / 2,
        contacts=[Contact("ring", gap=1 - x, slip=((-y, x + 3 * t), (x, y)), friction=0.1)],
    )
    _, W_T, w_hat = s.geometry([0.6, 0.8])
    np.testing.assert_allclose(W_T, [[-0.8, 0.6]])
    np.testing.assert_allclose(w_hat, [[0.0, -2.4]])
