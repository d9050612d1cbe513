"""Mechanisms at rest just below their limits, and just above: a slope, a friction or an angle that decides.

Those that stand do not move.  Those that move begin so slowly that one step without a contact would be seen: they are
compared with the equation of their one degree of freedom.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import stickslip as ss
from tests.elsewhere import EVERYWHERE, FAR, HOME

G = 9.81


@dataclass(frozen=True)
class Case:
    """A mechanism, its start, and its coordinate `which` after 1 s if it moves by itself: a second-order equation."""

    system: ss.LagrangianSystem
    q0: list[float]
    which: int
    acceleration: Callable[[float, float], float]

    def exact(self, t: float) -> float:
        def stops(_, state):  # all begin backwards; where one comes to a stop, friction holds it
            return state[1]

        stops.terminal, stops.direction = True, 1.0
        motion = solve_ivp(
            lambda _, z: [z[1], self.acceleration(*z)],
            (0.0, t),
            [self.q0[self.which], 0.0],
            rtol=1e-12,
            atol=1e-15,
            method="DOP853",
            events=stops,
        )
        return float(motion.y[0, -1])


def body(names: str):
    x, y, phi = sp.symbols(names)
    return (x, y, phi), sp.symbols(" ".join(f"{name}_dot" for name in names.split()))


def block_on_slope(share: float) -> Case:
    """A block, 0.4 m wide and 1 m high, rough, on a slope; it topples beyond tan(slope) = 0.4."""
    slope, a, b = math.atan(0.4 * share), 0.2, 0.5
    (x, y, phi), u = body("x y phi")
    inertia = (a * a + b * b) / 3
    feet = [
        ss.Contact(
            name,
            gap=y + s * a * sp.sin(phi) - b * sp.cos(phi),
            slip=x + s * a * sp.cos(phi) + b * sp.sin(phi),
            friction=2.0,
        )
        for name, s in (("upper", -1), ("lower", 1))
    ]
    system = ss.LagrangianSystem.from_energies(
        [x, y, phi],
        velocities=u,
        kinetic=(u[0] ** 2 + u[1] ** 2 + inertia * u[2] ** 2) / 2,
        potential=G * (y * math.cos(slope) - x * math.sin(slope)),
        contacts=feet,
        name="block on a slope",
    )

    def acceleration(phi, _):  # about the lower foot, from which the centre is (-a, b) turned by phi
        c_x, c_y = -a * math.cos(phi) - b * math.sin(phi), -a * math.sin(phi) + b * math.cos(phi)
        return (-c_x * G * math.cos(slope) - c_y * G * math.sin(slope)) / (inertia + a * a + b * b)

    return Case(system, [0.0, b, 0.0], 2, acceleration)


def standing_walker(share: float) -> Case:
    """Two stiff legs of 1 m, 0.6 rad apart, on a slope; it falls over the lower one beyond a slope of 0.3 rad."""
    slope, spread, inertia = 0.3 * share, 0.3, 0.04
    (x, y, phi), u = body("x y phi")
    feet = [
        ss.Contact(name, gap=y - sp.cos(phi + s * spread), slip=x + sp.sin(phi + s * spread), friction=1.0)
        for name, s in (("upper", -1), ("lower", 1))
    ]
    system = ss.LagrangianSystem.from_energies(
        [x, y, phi],
        velocities=u,
        kinetic=(u[0] ** 2 + u[1] ** 2 + inertia * u[2] ** 2) / 2,
        potential=G * (y * math.cos(slope) - x * math.sin(slope)),
        contacts=feet,
        name="standing walker",
    )

    def acceleration(phi, _):  # an inverted pendulum about the lower foot
        return G * math.sin(phi + spread - slope) / (1.0 + inertia)

    return Case(system, [0.0, math.cos(spread), 0.0], 2, acceleration)


def leaning_rods(share: float) -> Case:
    """Two rods of 2 m that lean at each other, an arch of two stones; feet slip below tan(phi) = 1 / (2 mu)."""
    mu = 0.5
    start = math.atan(1 / (2 * mu)) * share
    (x_1, y_1, phi_1), u = body("x_1 y_1 phi_1")
    (x_2, y_2, phi_2), v = body("x_2 y_2 phi_2")
    system = ss.LagrangianSystem.from_energies(
        [x_1, y_1, phi_1, x_2, y_2, phi_2],
        velocities=[*u, *v],
        kinetic=sum(w[0] ** 2 + w[1] ** 2 + w[2] ** 2 / 3 for w in (u, v)) / 2,
        potential=G * (y_1 + y_2),
        contacts=[
            ss.Contact("left", gap=y_1 - sp.sin(phi_1), slip=x_1 - sp.cos(phi_1), friction=mu),
            ss.Contact("right", gap=y_2 - sp.sin(phi_2), slip=x_2 + sp.cos(phi_2), friction=mu),
            ss.Contact(
                "top",
                gap=x_2 - sp.cos(phi_2) - x_1 - sp.cos(phi_1),
                slip=y_2 + sp.sin(phi_2) - y_1 - sp.sin(phi_1),
                friction=5.0,
            ),
        ],
        name="leaning rods",
    )

    def acceleration(phi, w):  # left rod: floor N and mu N, the other rod's push H; x = -cos(phi), y = sin(phi)
        c, s = math.cos(phi), math.sin(phi)
        A = [[mu, -1.0, -s], [1.0, 0.0, -c], [-c + mu * s, s, -1.0 / 3.0]]
        return float(np.linalg.solve(A, [c * w * w, G - s * w * w, 0.0])[2])

    x, y = math.cos(start), math.sin(start)
    return Case(system, [-x, y, start, x, y, start], 2, acceleration)


def brick_on_wedge(share: float) -> Case:
    """A brick on a wedge of 0.4 rad that is free to move; it slides below mu = tan(0.4)."""
    alpha, heavy = 0.4, 3.0
    mu = math.tan(alpha) / share
    (X, x, y), u = body("X x y")
    c, s = math.cos(alpha), math.sin(alpha)
    system = ss.LagrangianSystem.from_energies(
        [X, x, y],
        velocities=u,
        kinetic=(heavy * u[0] ** 2 + u[1] ** 2 + u[2] ** 2) / 2,
        potential=G * y,
        contacts=[ss.Contact("face", gap=c * y + s * (x - X), slip=c * (x - X) - s * y, friction=mu)],
        name="brick on a wedge",
    )
    # wedge A, brick A + a (c, -s), normal force N
    rows = [[heavy, 0.0, s - mu * c], [1.0, c, -s + mu * c], [0.0, -s, -c - mu * s]]
    A = float(np.linalg.solve(rows, [0.0, 0.0, -G])[0])
    return Case(system, [0.0, 0.0, 0.0], 0, lambda *_: A)


def brick_on_belt(share: float) -> Case:
    """A brick of 1 kg on a belt, held back by a spring that is stretched to its friction of 0.3 m g; odd direction."""
    mu, k, beta = 0.3, 50.0, 0.7
    (x, y, phi), u = body("x y phi")
    c, s = math.cos(beta), math.sin(beta)
    along, above = c * x + s * y, -s * x + c * y
    system = ss.LagrangianSystem.from_energies(
        [x, y, phi],
        velocities=u,
        kinetic=(u[0] ** 2 + u[1] ** 2 + u[2] ** 2) / 2,
        potential=G * above + k * along**2 / 2,
        contacts=[ss.Contact("belt", gap=above, slip=along, friction=mu)],
        name="brick on a belt",
    )
    start = mu * G / k * share

    def acceleration(x, _):  # slides back; x is the share c of the way along the belt
        return c * (mu * G - k * x / c)

    return Case(system, [c * start, s * start, 0.0], 0, acceleration)


CASES = [
    (block_on_slope, 1 - 1e-6, 1 + 1e-4),
    (standing_walker, 1 - 1e-6, 1 + 1e-4),
    (leaning_rods, 1 + 1e-6, 1 - 1e-4),
    (brick_on_wedge, 1 - 1e-6, 1 + 1e-4),
    (brick_on_belt, 1 - 1e-6, 1 + 1e-4),
]


def check(build, stands, moves, stepper, dt, tolerance, place) -> None:
    case = build(stands)
    options = {"dt": dt, "t_end": 0.5, "stepper": stepper, "engine": "reference"}
    rest = place.simulate(case.system, case.q0, [0.0] * len(case.q0), **options)
    assert np.abs(rest.q - rest.q[0]).max() < 1e-14 + place.rounding(rest)
    if stepper != "paoli-schatzman":  # a foot with a millionth of the weight is below its digits at 1e5 m
        assert (rest.states()[1:] == "stick").all()
    if place.quick:
        return

    case = build(moves)
    motion = place.simulate(case.system, case.q0, [0.0] * len(case.q0), **options)
    moved = case.exact(0.5) - case.q0[case.which]
    # the start itself is known to the last digit of its coordinates, of a margin of 1e-4
    away = 1e4 * place.rounding(motion) * abs(moved)
    assert motion.q[-1, case.which] - case.q0[case.which] == pytest.approx(moved, rel=tolerance, abs=away)
    assert len(motion.impacts()) == 0


@pytest.mark.parametrize(("build", "stands", "moves"), CASES)
@EVERYWHERE
def test_stands_or_begins_to_move(build, stands, moves, place):
    check(build, stands, moves, "moreau-midpoint", 1e-2, 2e-3, place)


@pytest.mark.slow
@pytest.mark.parametrize("stepper", ["moreau-midpoint", "moreau-jean", "stewart-trinkle", "paoli-schatzman"])
@pytest.mark.parametrize(("build", "stands", "moves"), CASES)
@pytest.mark.parametrize("place", [HOME, FAR[2]], ids=str)
def test_stands_or_begins_to_move_by_every_stepper(build, stands, moves, stepper, place):
    for dt in (1e-2, 1e-3):
        order = 1 if stepper in ("stewart-trinkle", "paoli-schatzman") else 2
        check(build, stands, moves, stepper, dt, (20 * dt) ** order / 5, place)


@pytest.mark.parametrize("stepper", ["moreau-midpoint", "moreau-jean", "stewart-trinkle", "paoli-schatzman"])
@pytest.mark.parametrize("engine", ["reference", pytest.param("compiled", marks=pytest.mark.slow)])
def test_a_ladder_in_a_lift_stands(stepper, engine):
    """It stands below tan(phi) = 2 mu_1 / (1 - mu_1 mu_2), whatever the lift's acceleration: that adds to gravity.

    `paoli-schatzman` took the gap at the end of a step and the speed of the wall at its begin: the ladder turned by
    1.9e-4 rad in 0.1 s at dt = 1e-3 s.
    """
    mu, t, lift = (0.4, 0.3), sp.Symbol("t"), sp.Symbol("lift")
    (x, y, phi), u = body("x y phi")
    at = lift * t**2 / 2
    system = ss.LagrangianSystem.from_energies(
        [x, y, phi], velocities=u, kinetic=(u[0] ** 2 + u[1] ** 2 + u[2] ** 2 / 3) / 2, potential=G * y, time=t,
        contacts=[
            ss.Contact("foot", gap=y - sp.cos(phi) - at, slip=x + sp.sin(phi), friction=mu[0]),
            ss.Contact("head", gap=x - sp.sin(phi), slip=y + sp.cos(phi) - at, friction=mu[1]),
        ],
        parameters={"lift": 0.0}, name="ladder in a lift",
    )  # fmt: skip
    start = 0.9999 * math.atan(2 * mu[0] / (1 - mu[0] * mu[1]))
    for speeds_up in (5.0, -6.0):
        run = ss.simulate(
            system, [math.sin(start), math.cos(start), start], [0.0] * 3, dt=1e-3, t_end=0.01, stepper=stepper,
            params={"lift": speeds_up}, engine=engine,
        )  # fmt: skip
        assert run.complete and np.abs(run.q[:, 2] - start).max() < 1e-12
