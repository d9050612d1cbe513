"""Static equilibrium and its factors against closed forms: brick, ladder, wedged block, dry joint."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
import sympy as sp

import stickslip as ss

x, y, phi, v, w, omega, mu = sp.symbols("x y phi v w omega mu")


@cache
def ladder() -> ss.LagrangianSystem:
    """A uniform ladder, 2 m and 1 kg, its foot on a floor at the right, its head at a wall on the left."""
    return ss.LagrangianSystem.from_energies(
        [x, y, phi],
        velocities=[v, w, omega],
        kinetic=(v**2 + w**2 + omega**2 / 3) / 2,
        potential=9.81 * y,
        contacts=[
            ss.Contact("floor", gap=y - sp.sin(phi), slip=x + sp.cos(phi), friction=mu),
            ss.Contact("wall", gap=x - sp.cos(phi), slip=y + sp.sin(phi), friction=mu),
        ],
        parameters={mu: 0.4},
        name="ladder",
    )


@pytest.mark.parametrize("angle", [0.9, 1.1, 1.3])
def test_a_ladder_needs_the_friction_sec_minus_tan(angle: float) -> None:
    """Both contacts at their bounds: 2 k mu tan(angle) = 1 - (k mu)^2, so k mu = 1/cos(angle) - tan(angle)."""
    rest = ss.equilibrium(ladder(), [math.cos(angle), math.sin(angle), angle])
    needed = 1.0 / math.cos(angle) - math.tan(angle)
    assert rest.safety_factor == pytest.approx(0.4 / needed, rel=1e-8)
    assert rest.holds == (needed <= 0.4)
    floor, wall = rest.normal_force
    assert floor + rest.tangential_force[1] == pytest.approx(9.81, rel=1e-7)
    assert wall == pytest.approx(abs(rest.tangential_force[0]), rel=1e-7)


def test_a_brick_bears_the_load_that_friction_leaves() -> None:
    brick = ss.library.brick_on_ramp(friction=0.5, angle=0.38)
    rest = ss.equilibrium(brick.system, brick.q0, load={"x": 1.0})
    assert rest.holds
    assert rest.certain
    assert rest.safety_factor == pytest.approx(0.5 / math.tan(0.38), rel=1e-9)
    assert rest.load_factor == pytest.approx(9.81 * (0.5 * math.cos(0.38) - math.sin(0.38)), rel=1e-9)
    assert "safety factor 1.25184, load factor 0.91637" in str(rest)


def test_a_brick_on_a_steep_ramp_does_not_rest() -> None:
    brick = ss.library.brick_on_ramp(friction=0.3, angle=0.38)
    rest = ss.equilibrium(brick.system, brick.q0)
    assert not rest.holds
    assert rest.safety_factor == pytest.approx(0.3 / math.tan(0.38), rel=1e-9)


def test_in_the_air_nothing_holds() -> None:
    ball = ss.library.bouncing_ball()
    rest = ss.equilibrium(ball.system, [1.0])
    assert not rest.holds
    assert rest.safety_factor == 0.0
    assert np.all(np.isnan(rest.normal_force))
    assert ss.equilibrium(ball.system, [0.0]).safety_factor == np.inf


def test_a_block_between_walls_may_rest_or_fall() -> None:
    """Walls that squeeze it hold it, walls that do not let it fall: rigid bodies do not tell which."""
    system = ss.LagrangianSystem.from_energies(
        [x, y],
        velocities=[v, w],
        kinetic=(v**2 + w**2) / 2,
        potential=9.81 * y,
        contacts=[
            ss.Contact("left", gap=x, slip=y, friction=0.5),
            ss.Contact("right", gap=-x, slip=y, friction=0.5),
        ],
        parameters={},
        name="wedged",
    )
    rest = ss.equilibrium(system, [0.0, 0.0])
    assert rest.holds
    assert rest.certain is False
    assert "a solution with motion exists" in str(rest)


def test_a_dry_joint_and_a_prestressed_spring_hold_what_they_can() -> None:
    """Friction of 2 N and a prestress of 3 N against 4 N: friction may shrink to a half, the prestress does not."""
    system = ss.LagrangianSystem.from_energies(
        [x],
        velocities=[v],
        kinetic=v**2 / 2,
        potential=-4 * x,
        contacts=[ss.DryFriction("joint", x, 2.0), ss.PrestressedSpring("spring", x, 3.0)],
        parameters={},
        name="held",
    )
    assert ss.equilibrium(system, [0.0]).safety_factor == pytest.approx(2.0, rel=1e-9)


def test_an_unknown_load_is_named() -> None:
    brick = ss.library.brick_on_ramp()
    with pytest.raises(ValueError, match=r"load: .*'z'"):
        ss.equilibrium(brick.system, brick.q0, load={"z": 1.0})
    with pytest.raises(ValueError, match=r"load must name coordinates, such as {'x': 1.0}, got \[1.0, 0.0\]"):
        ss.equilibrium(brick.system, brick.q0, load=[1.0, 0.0])


@pytest.mark.parametrize("friction", [0.5, 0.2])
def test_jammed_body_has_forces_within_the_laws(friction):
    """A point between walls that lean over it by beta: 2 (T cos beta - N sin beta) = m g, so mu > tan(beta) holds it.

    The factor mu / tan(beta) is not reached by finite forces.
    """
    x, y, v, w = sp.symbols("x y v w", real=True)
    beta = 0.3
    c, s = math.cos(beta), math.sin(beta)
    walls = [
        ss.Contact(name, gap=side * c * x - s * y, slip=c * y + side * s * x, friction=friction)
        for name, side in (("left", 1.0), ("right", -1.0))
    ]
    point = ss.LagrangianSystem.from_energies(
        [x, y], kinetic=(v**2 + w**2) / 2, potential=9.81 * y, velocities=[v, w], contacts=walls, name="jammed"
    )
    rest = ss.equilibrium(point, [0.0, 0.0])
    assert rest.safety_factor == pytest.approx(friction / math.tan(beta), rel=1e-6)
    assert rest.holds == (friction > math.tan(beta))
    N, T = rest.normal_force, rest.tangential_force
    assert (c * T - s * N).sum() == pytest.approx(9.81)
    assert (abs(T) <= friction * N * max(1.0, 1.01 / rest.safety_factor) + 1e-9).all()


def test_a_start_inside_the_ground_is_no_rest() -> None:
    brick = ss.library.brick_on_ramp(friction=0.5, angle=0.38)
    deep = brick.q0 - [0.0, 0.1]
    for ask in (ss.equilibrium, ss.energy_bound):
        with pytest.raises(ValueError, match=r"'ramp' is given with a penetration of 0\.1 m, more than"):
            ask(brick.system, deep)
        with pytest.raises(ValueError, match="gap_tol must be a distance >= 0"):
            ask(brick.system, brick.q0, gap_tol=float("nan"))
    assert ss.equilibrium(brick.system, deep, penetration_tol=0.2).holds
