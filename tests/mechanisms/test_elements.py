"""Stops, clutch, prestressed spring and dry friction as rows of a system [GS05] section 2, end of section 6."""

import math

import numpy as np
import pytest
import sympy as sp

from stickslip import Contact, DryFriction, LagrangianSystem, PrestressedSpring, SpragClutch, Stop
from stickslip.mechanisms.system import CLUTCH, CONTACT, FRICTION, SPRING

x, y, v, w, k = sp.symbols("x y v w k")
t = sp.Symbol("t")


def system(*elements, **options):
    return LagrangianSystem.from_energies(
        [x, y],
        velocities=[v, w],
        kinetic=(v**2 + 2 * w**2) / 2,
        potential=k * x**2 / 2,
        contacts=elements,
        parameters={k: 4.0, "F": 3.0, "eps": 0.6},
        **options,
    )


def test_stop_on_both_sides():
    s = system(Stop("play", x - y, lower=-0.1, upper=0.2, restitution="eps"))
    assert s.contact_names == ("play lower", "play upper")
    assert s.contact_kinds == (CONTACT, CONTACT)
    np.testing.assert_allclose(s.gap([0.05, 0.0]), [0.15, 0.15])
    W_N, W_T, w_hat = s.geometry([0.0, 0.0])
    np.testing.assert_allclose(W_N, [[1, -1], [-1, 1]])
    assert not W_T.any() and not w_hat.any()
    mu, eps_N, eps_T, threshold = s.laws()
    np.testing.assert_allclose(eps_N, [0.6, 0.6])
    assert not mu.any() and not eps_T.any() and not threshold.any()


def test_stop_on_one_side_keeps_its_name():
    assert system(Stop("floor", y, lower=0)).contact_names == ("floor",)
    s = system(Stop("ceiling", y, upper=k))
    assert s.contact_names == ("ceiling",)
    np.testing.assert_allclose(s.gap([0.0, 1.0]), [3.0])
    np.testing.assert_allclose(s.geometry([0.0, 1.0])[0], [[0.0, -1.0]])


def test_sprag_clutch_is_a_normal_row_on_velocity_level():
    s = system(SpragClutch("clutch", x - 2 * y - 0.5 * t))
    assert s.contact_kinds == (CLUTCH,)
    np.testing.assert_allclose(s.gap([7.0, 1.0], 3.0), [0.0])
    W_N, W_T, w_hat = s.geometry([7.0, 1.0], 3.0)
    np.testing.assert_allclose(W_N, [[1.0, -2.0]])
    np.testing.assert_allclose(w_hat, [[-0.5, 0.0]])
    assert not W_T.any()


def test_prestressed_spring_has_energy_but_no_force():
    free, sprung = system(), system(PrestressedSpring("spring", x - y, "F"))
    assert sprung.contact_kinds == (SPRING,)
    q, u = [0.3, 0.8], [0.0, 0.0]
    np.testing.assert_allclose(sprung.gap(q), [-0.5])
    W_N, W_T, _ = sprung.geometry(q)
    np.testing.assert_allclose(W_T, [[1.0, -1.0]])
    assert not W_N.any()
    np.testing.assert_allclose(sprung.laws()[3], [3.0])
    np.testing.assert_allclose(sprung.force(q, u), free.force(q, u))
    np.testing.assert_allclose(sprung.energy(q, u)[1], free.energy(q, u)[1] + 3.0 * 0.5)


def test_dry_friction_is_a_tangential_row():
    s = system(DryFriction("belt", x - 0.2 * t, sp.Symbol("F") * k))
    assert s.contact_kinds == (FRICTION,)
    np.testing.assert_allclose(s.gap([5.0, 0.0]), [0.0])
    W_N, W_T, w_hat = s.geometry([5.0, 0.0])
    np.testing.assert_allclose(W_T, [[1.0, 0.0]])
    np.testing.assert_allclose(w_hat, [[0.0, -0.2]])
    assert not W_N.any()
    np.testing.assert_allclose(s.laws()[3], [12.0])
    assert s.directions_constant


def test_elements_are_shown_by_their_law():
    s = system(
        Stop("stop", x, lower=0),
        SpragClutch("clutch", y),
        PrestressedSpring("spring", x, "F"),
        DryFriction("rub", y, "F"),
    )
    text = s.equations().text()
    for words in ("unilateral contact", "one-way clutch", "prestressed spring", "dry friction", "threshold = F"):
        assert words in text


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Stop("play", x, lower=1, upper=-1), "stop 'play': lower must not exceed upper, got 1 and -1"),
        (lambda: Stop("play", x, lower=math.nan), "stop 'play': lower must be a finite real number, got nan"),
        (lambda: PrestressedSpring("s", x, -1), "prestressed spring 's': preload must not be negative, got -1"),
        (lambda: DryFriction("d", x, -1), "dry friction 'd': threshold must not be negative, got -1"),
        (
            lambda: Contact("c", gap=x, slip=y, friction=math.nan),
            "contact 'c': friction must be a finite real number, got nan",
        ),
        (lambda: Contact("c", gap=x, slip=y, friction={}), "contact 'c': friction must be a number or a SymPy expr"),
        (lambda: system("floor"), "contacts must be a list of elements such as Contact, .*, got 'floor' in it"),
        (lambda: LagrangianSystem.from_energies([x], velocities=[v], kinetic=v**2, contacts=5), "must be a list"),
    ],
)
def test_wrong_input_is_one_line_that_names_the_field(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize("more", [{"slip": [x, y, x]}, {"slip": (x,)}, {"tangent": [[1, 0], [0, 1], [1, 1]]}])
def test_another_number_of_tangents_than_two_is_refused_with_one_line(more):
    with pytest.raises(ValueError, match=r"contact 'floor': (slip|tangent) must be one direction of slip"):
        Contact("floor", gap=y, friction=0.3, **more)
