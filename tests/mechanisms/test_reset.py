"""Resets: new names for coordinates, and the contacts that follow; only symmetries are taken."""

import math

import numpy as np
import pytest
import sympy as sp

import stickslip as ss
from stickslip.mechanisms.reset import Relabelling

x, y, u, v, k, c = sp.symbols("x y u v k c")


def two_masses(friction_right=0.2, stiffness=1):
    """Two equal masses on springs, each above a floor of its own."""
    return ss.LagrangianSystem.from_energies(
        [x, y],
        velocities=[u, v],
        kinetic=(u**2 + v**2) / 2,
        potential=k * x**2 / 2 + stiffness * k * y**2 / 2 + c * (x - y) ** 2 / 2,
        parameters={k: 3.0, c: 0.5},
        contacts=[
            ss.Contact("left", gap=x + 1, slip=y, friction=0.2),
            ss.Contact("right", gap=y + 1, slip=x, friction=friction_right),
        ],
        name="two masses",
    )


def on(system, reset, q=(0.3, -0.2), later=0.0):
    p = system.parameter_vector()
    return reset.on(system, p).with_contacts(system, np.array(q), np.array([0.7, 0.4]), p, later)


def test_swapped_coordinates_swap_their_velocities_and_contacts():
    found = on(two_masses(), ss.Reset(swap=[("x", "y")]))
    assert found(np.array([1.0, 2.0, 3.0, 4.0])).tolist() == [2.0, 1.0, 4.0, 3.0]
    assert found.partner.tolist() == [1, 0] and found.sense.tolist() == [1.0, 1.0]
    twice = found.after(found)
    assert np.array_equal(twice.J, np.eye(2)) and twice.partner.tolist() == [0, 1]


def test_a_mirror_turns_the_direction_of_slip():
    """x -> -x of a block between two walls: left and right change places, and slip along x is the other way round."""
    block = ss.LagrangianSystem.from_energies(
        [x, y],
        velocities=[u, v],
        kinetic=(u**2 + v**2) / 2,
        potential=9.81 * y,
        contacts=[
            ss.Contact("floor", gap=y, slip=x, friction=0.3),
            ss.Contact("left", gap=x + 1),
            ss.Contact("right", gap=1 - x),
        ],
        name="block",
    )
    found = on(block, ss.Reset(flip=["x"]))
    assert found.partner.tolist() == [0, 2, 1]
    assert found.sense.tolist() == [-1.0, 1.0, 1.0]
    assert found(np.array([[0.5, 0.1, 2.0, 3.0]])).tolist() == [[-0.5, 0.1, -2.0, 3.0]]


def test_shift_and_map_take_expressions_of_parameters():
    system = two_masses()
    shift = ss.Reset(shift={"x": -2 * sp.pi / k, y: "c"}).on(system, system.parameter_vector())
    assert shift.s.tolist() == pytest.approx([-2 * math.pi / 3.0, 0.5], rel=1e-15)
    affine = ss.Reset(map={"x": k * y - 1, "y": "x"}).on(system, system.parameter_vector())
    assert affine.J.tolist() == [[0.0, 3.0], [1.0, 0.0]] and affine.s.tolist() == [-1.0, 0.0]
    assert ss.Reset(swap=[("x", "y")], shift={"x": 1}).text == "x -> y + 1, y -> x"
    assert isinstance(affine, Relabelling)


@pytest.mark.parametrize(
    ("system", "reset", "message"),
    [
        (two_masses(stiffness=2), ss.Reset(swap=[("x", "y")]), "must be a symmetry: the forces of system 'two masses'"),
        (two_masses(0.3), ss.Reset(swap=[("x", "y")]), "contact 'left' of system 'two masses' is no contact of before"),
        (two_masses(), ss.Reset(shift={"x": 1}), "must be a symmetry"),
        (two_masses(), ss.Reset(swap=[("x", "z")]), "reset: unknown coordinate 'z'"),
        (two_masses(), ss.Reset(shift={"x": "m"}), "reset of 'x': unknown coordinate or parameter 'm'"),
        (two_masses(), ss.Reset(map={"x": x * y}), "must be affine in the coordinates"),
        (two_masses(), ss.Reset(map={"x": y}), "must be a map that has an inverse"),
    ],
)
def test_only_symmetries_of_the_system_are_taken(system, reset, message):
    with pytest.raises(ValueError, match=message):
        on(system, reset)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "must change something"),
        ({"swap": ["xy"]}, "swap of a reset must be pairs"),
        ({"swap": [("x", "y"), ("y", "x")]}, "got 'x' twice"),
        ({"shift": [1]}, "shift of a reset must be a table"),
        ({"flip": "x"}, "flip of a reset must be a list"),
        ({"shift": {"x": "2*k"}}, "must be numbers, names or SymPy expressions"),
    ],
)
def test_bad_resets_are_one_line(given, message):
    with pytest.raises(ValueError, match=message):
        ss.Reset(**given)


def test_a_scenario_checks_the_names_of_its_reset():
    with pytest.raises(ValueError, match="unknown coordinate 'z'"):
        ss.Scenario(two_masses(), [0, 0], [0, 0], 1e-3, 1.0, "", "", reset=ss.Reset(flip=["z"]))
    with pytest.raises(ValueError, match="reset must be a Reset, got str"):
        ss.Scenario(two_masses(), [0, 0], [0, 0], 1e-3, 1.0, "", "", reset="swap")
