"""Systems that several tests of the time stepping share; each costs a few seconds of compilation, once."""

import math
from functools import cache

import numpy as np
import sympy as sp

import stickslip as ss
from stickslip.scenario import Scenario


@cache
def every_element():
    """A cart on a belt with a pendulum between stops, a clutch, a prestressed spring, and a particle on a lift.

    All kinds of contact at once, explicit time in gap and slip, tangential restitution, a load-independent part of the
    friction bound, and a mass matrix that depends on the coordinates.
    """
    t = sp.Symbol("t")
    x, phi, psi, z, a, b = sp.symbols("x phi psi z a b")
    v, omega, chi, w, c, d = u = sp.symbols("v omega chi w c d")
    m, length, k, belt, preload, lift = sp.symbols("m length k belt preload lift")
    bob = (v + length * omega * sp.cos(phi)) ** 2 + (length * omega * sp.sin(phi)) ** 2
    system = ss.LagrangianSystem.from_energies(
        [x, phi, psi, z, a, b],
        velocities=u,
        kinetic=(3 * v**2 + m * bob + chi**2 / 5 + w**2 + c**2 + d**2) / 2,
        potential=k * x**2 / 2 - 9.81 * m * length * sp.cos(phi) + k * (psi - phi) ** 2 / 40 + 9.81 * b,
        forces=[-v / 10, 0, -chi / 50, 9 * sp.sin(7 * t) + z, sp.cos(3 * t) - c / 5, 0],
        contacts=[
            ss.DryFriction("belt", x - belt * t, 6),
            ss.Stop("stop", phi, lower=-sp.Rational(3, 10), upper=sp.Rational(2, 5), restitution=0.6),
            ss.SpragClutch("clutch", psi - x),
            ss.PrestressedSpring("spring", z, preload),
            ss.Contact(
                "lift",
                gap=b - lift * sp.sin(9 * t),
                slip=a + lift * sp.cos(5 * t),
                friction=0.4,
                restitution_normal=0.3,
                restitution_tangential="grip",
                threshold=0.2,
            ),
        ],
        parameters={m: 0.8, length: 0.7, k: 60.0, belt: 0.15, preload: 5.0, lift: 0.02, "grip": 0.5},
        name="every element",
    )
    q0, u0 = np.array([0.1, 0.35, 0.0, 0.0, 0.0, 0.05]), np.array([0.3, 2.5, 0.5, 0.2, 0.4, 0.0])
    return Scenario(system, q0, u0, 1e-3, 1.0, "Every element at once", "test")


@cache
def separate_elements():
    """Four masses that know nothing of each other, q = (rub, play, turn, hold): one element each, in one kernel.

    Mass i has m_i = `mass`, a spring `stiffness_i` and a force `force_i` - `wave` sin(5 t).
    """
    t = sp.Symbol("t")
    q, u = sp.symbols("rub play turn hold"), sp.symbols("rub_dot play_dot turn_dot hold_dot")
    mass, wave, belt = sp.symbols("mass wave belt")
    stiffness, force = sp.symbols("stiffness_0:4"), sp.symbols("force_0:4")
    return ss.LagrangianSystem.from_energies(
        q,
        velocities=u,
        kinetic=mass * sum(x**2 for x in u) / 2,
        potential=sum(k * x**2 for k, x in zip(stiffness, q, strict=True)) / 2,
        forces=[F - wave * sp.sin(5 * t) for F in force],
        contacts=[
            ss.DryFriction("rubbing", q[0] - belt * t, "threshold"),
            ss.Stop("play", q[1], lower=-sp.Rational(1, 10), upper=sp.Rational(3, 20), restitution="restitution"),
            ss.SpragClutch("clutch", q[2]),
            ss.PrestressedSpring("hold", q[3], "preload"),
        ],
        parameters={
            mass: 2.0,
            wave: 0.0,
            belt: 0.0,
            "threshold": 3.0,
            "restitution": 1.0,
            "preload": 4.0,
            **dict.fromkeys([*stiffness, *force], 0.0),
        },
        name="separate elements",
    )


@cache
def two_feet():
    """A block on two feet, q = (x, y, phi), linearised; feet at x +- 0.2 m, 0.1 m below the centre of mass."""
    x, y, phi, v_x, v_y, omega, g, slope, mass = sp.symbols("x y phi v_x v_y omega g slope mass")
    feet = [
        ss.Contact(name, gap=y + side * phi / 5, slip=x + phi / 10, friction="mu", restitution_normal="eps")
        for name, side in (("left foot", -1), ("right foot", 1))
    ]
    return ss.LagrangianSystem.from_energies(
        [x, y, phi],
        velocities=[v_x, v_y, omega],
        kinetic=mass * (v_x**2 + v_y**2 + omega**2 / 50) / 2,
        potential=mass * g * (y * sp.cos(slope) - x * sp.sin(slope)),
        contacts=feet,
        parameters={mass: 1.0, g: 9.81, slope: 0.0, "mu": 0.5, "eps": 0.0},
        name="block with two feet",
    )


@cache
def point_mass():
    """A particle, q = (x, y), above a frictional floor y = 0 with both restitutions as parameters."""
    x, y, v_x, v_y, mass, g = sp.symbols("x y v_x v_y mass g")
    floor = ss.Contact(
        "floor", gap=y, slip=x, friction="mu", restitution_normal="eps_N", restitution_tangential="eps_T"
    )
    return ss.LagrangianSystem.from_energies(
        [x, y],
        velocities=[v_x, v_y],
        kinetic=mass * (v_x**2 + v_y**2) / 2,
        potential=mass * g * y,
        contacts=[floor],
        parameters={mass: 1.0, g: 9.81, "mu": 0.0, "eps_N": 0.0, "eps_T": 0.0},
        name="particle above a floor",
    )


def _bead_mass(q, t, p):
    return np.array([[p[0] * (1.0 + 4.0 * q[0] ** 2)]])


def _bead_force(q, u, t, p):
    return np.array([-p[0] * (4.0 * q[0] * u[0] ** 2 + 2.0 * p[1] * q[0])])


def _wall_gap(q, t, p):
    return 0.5 - q[0]


def _bead_potential(q, t, p):
    return p[0] * p[1] * q[0] ** 2


@cache
def bead_by_functions():
    """A bead on the parabola y = x^2 that strikes a wall at x = 0.5, written as functions."""
    return ss.LagrangianSystem(
        mass=_bead_mass,
        force=_bead_force,
        contacts=[ss.Contact("wall on the right", gap=_wall_gap, normal=[-1.0], restitution_normal="eps")],
        coordinates=["x"],
        parameters={"m": 2.0, "g": 9.81, "eps": 0.8},
        potential=_bead_potential,
        name="bead, by functions",
    )


@cache
def bead_by_energies():
    """The bead of `bead_by_functions`, derived from its energies."""
    x, v, m, g = sp.symbols("x v m g")
    return ss.LagrangianSystem.from_energies(
        [x],
        velocities=[v],
        kinetic=m * (v**2 + (2 * x * v) ** 2) / 2,
        potential=m * g * x**2,
        contacts=[ss.Contact("wall on the right", gap=sp.Rational(1, 2) - x, restitution_normal="eps")],
        parameters={m: 2.0, g: 9.81, "eps": 0.8},
        name="bead, by energies",
    )


@cache
def row_of_blocks(blocks=7):
    """Blocks in a row on a moving belt between two walls, q = x_i then y_i: 2 * blocks + 1 contacts at most.

    Each block lies on the belt with Coulomb friction and may strike its neighbours; 14 contacts are more than a kernel
    keeps on the stack.
    """
    t = sp.Symbol("t")
    x, y = sp.symbols(f"x:{blocks}"), sp.symbols(f"y:{blocks}")
    v, w = sp.symbols(f"v:{blocks}"), sp.symbols(f"w:{blocks}")
    belt = [ss.Contact(f"belt {i}", gap=y[i], slip=x[i] - t / 2, friction=0.3) for i in range(blocks)]
    sides = [ss.Contact(f"side {i}", gap=x[i + 1] - x[i] - 1, restitution_normal=0.5) for i in range(blocks - 1)]
    wall = ss.Contact("wall", gap=blocks - x[-1], restitution_normal=0.5)
    return ss.LagrangianSystem.from_energies(
        [*x, *y],
        velocities=[*v, *w],
        kinetic=sum((1 + i % 3) * (v[i] ** 2 + w[i] ** 2) for i in range(blocks)) / 2,
        potential=9.81 * sum((1 + i % 3) * y[i] for i in range(blocks)),
        contacts=[*belt, *sides, wall],
        name="row of blocks",
    )


@cache
def particle_in_a_polygon(sides=13):
    """A particle, q = (x, y), among the walls of a regular polygon with an inscribed circle of radius 1 m.

    The smallest system with more contacts than a kernel keeps on the stack; wall 0 is the floor.
    """
    x, y, v_x, v_y = sp.symbols("x y v_x v_y")
    walls = []
    for k in range(sides):
        s, c = math.sin(2 * math.pi * k / sides), math.cos(2 * math.pi * k / sides)
        walls.append(
            ss.Contact(f"wall {k}", gap=1 + c * y - s * x, slip=c * x + s * y, friction=0.3, restitution_normal=0.5)
        )
    return ss.LagrangianSystem.from_energies(
        [x, y],
        velocities=[v_x, v_y],
        kinetic=(v_x**2 + v_y**2) / 2,
        potential=9.81 * y,
        contacts=walls,
        name="particle in a polygon",
    )


@cache
def ball_on_a_stiff_table():
    """A ball above a table of 1 kg on a spring of 1e8 N/m: 1.6 kHz, a step of 1 ms is ten times too long."""
    y, z, v, w, k = sp.symbols("y z v w k")
    return ss.LagrangianSystem.from_energies(
        [y, z],
        velocities=[v, w],
        kinetic=(v**2 + w**2) / 2,
        potential=9.81 * (y + z) + k * z**2 / 2,
        contacts=[ss.Contact("table", gap=y - z)],
        parameters={k: 1e8},
        name="ball on a stiff table",
    )


@cache
def oscillator():
    """A mass on a spring and nothing to touch: no contacts."""
    x, v = sp.symbols("x v")
    return ss.LagrangianSystem.from_energies(
        [x], velocities=[v], kinetic=v**2 / 2, potential=2 * x**2, name="free oscillator"
    )


@cache
def ill_fated():
    """A particle that loses its mass, its gap or its head, depending on the parameters.

    Mass 1 - hollow x^2, gap sqrt(1 - deep x) + 0.1, force wild x^3.
    """
    x, v, hollow, deep, wild = sp.symbols("x v hollow deep wild")
    return ss.LagrangianSystem.from_energies(
        [x],
        velocities=[v],
        kinetic=(1 - hollow * x**2) * v**2 / 2,
        forces=[wild * x**3],
        contacts=[ss.Contact("far wall", gap=sp.sqrt(1 - deep * x) + sp.Rational(1, 10))],
        parameters={hollow: 0.0, deep: 0.0, wild: 0.0},
        name="ill-fated particle",
    )
