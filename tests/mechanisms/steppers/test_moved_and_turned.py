"""Mechanisms elsewhere: place and turn of a mechanism must not decide whether its contacts hold."""

import itertools
import math

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import stickslip as ss
from tests.elsewhere import HOME, Place, single_openings
from tests.mechanisms.steppers import moved

STEPPERS = ["moreau-midpoint", "moreau-jean", "stewart-trinkle"]
NAMES = [mechanism.name for mechanism in moved.MECHANISMS]


def check(name: str, place: Place, **options) -> None:
    """A moved mechanism moves as it does at home but for rounding, and no contact lets go, not for a single step."""
    mechanism = moved.BY_NAME[name]
    home, there = (moved.run(mechanism, where, **options) for where in (HOME, place))
    assert there.complete and there.certificate.failed_steps == 0
    # a step rounds to the last digit of the coordinates, a few times; closing velocities carry errors on
    rounding = 2.0**-52 * max(1.0, place.distance) * (10 + there.steps)
    assert np.abs(there.q - home.q).max() <= rounding
    if options["stepper"] in STEPPERS[:2]:  # of second order, and exact for constant forces
        assert np.abs(there.q - mechanism.exact(there.t)).max() <= mechanism.error + rounding
    assert len(there.impacts()) == 0
    assert (there.normal_impulse[1:] > 0.0).any(axis=1).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("place", [Place(1.0, 0.3), Place(1e5, 1.234)], ids=str)
def test_moved_and_turned(name, place):
    check(name, place, stepper="moreau-midpoint", engine="reference", t_end=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_moved_and_turned_everywhere(name):
    for place in moved.PLACES:
        check(name, place, stepper="moreau-midpoint", engine="compiled")


@pytest.mark.slow
@pytest.mark.parametrize("stepper", [*STEPPERS, "paoli-schatzman"])
@pytest.mark.parametrize("name", NAMES)
def test_moved_and_turned_by_every_stepper(name, stepper):
    for place in moved.PLACES:
        check(name, place, stepper=stepper, engine="reference", t_end=0.1)


# -- the brick -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("y_0", [0.0, 1e-17, -1e-17, 1e-16, -1e-16, 1e-13, 1e-12])
def test_brick_rests_wherever_it_starts_near_the_floor(y_0):
    x, y, v_x, v_y = sp.symbols("x y v_x v_y")
    brick = ss.LagrangianSystem.from_energies(
        [x, y],
        velocities=[v_x, v_y],
        kinetic=(v_x**2 + v_y**2) / 2,
        potential=9.81 * y - 2 * x,
        contacts=[ss.Contact("floor", gap=y, slip=x, friction=0.3)],
    )
    for dt in (1e-2, 1e-6):
        for stepper in (*STEPPERS, "paoli-schatzman"):
            rest = ss.simulate(brick, [0.0, y_0], [0.0, 0.0], dt=dt, t_end=10 * dt, stepper=stepper, engine="reference")
            # it may settle by its gap, within two steps
            assert np.abs(rest.q[:, 1]).max() <= abs(y_0) and np.abs(rest.q[:, 0]).max() <= abs(y_0)
            assert (rest.u[4:] == 0.0).all()
            assert len(rest.impacts()) == 0 and (rest.states()[1:] == "stick").mean() > 0.7


def test_brick_falls_from_where_it_can():
    x, v = sp.symbols("x v")
    brick = ss.LagrangianSystem.from_energies(
        [x], velocities=[v], kinetic=v**2 / 2, potential=9.81 * x, contacts=[ss.Contact("floor", gap=x)]
    )
    dt = 1e-3
    fall = ss.simulate(brick, [1e-4], [0.0], dt=dt, t_end=0.01, engine="reference")
    strikes = fall.impacts()
    assert len(strikes) == 1
    assert strikes["time"][0] == pytest.approx(math.sqrt(2e-4 / 9.81), abs=1.5 * dt)


# -- the ladder ------------------------------------------------------------------------------------------------

LADDER = np.arctan((1 - 0.8 * 0.9) / (2 * 0.8)) * (1 - 1e-6)  # a millionth below the angle from which it stands


def ladder() -> ss.LagrangianSystem:
    """A ladder of 2 m and 1 kg between a floor (0.8) and a wall (0.9), q = (x, y, phi)."""
    x, y, phi, v_x, v_y, w = sp.symbols("x y phi v_x v_y w")
    return ss.LagrangianSystem.from_energies(
        [x, y, phi],
        velocities=[v_x, v_y, w],
        kinetic=(v_x**2 + v_y**2) / 2 + w**2 / 6,
        potential=9.81 * y,
        contacts=[
            ss.Contact("floor", gap=y - sp.sin(phi), slip=x + sp.cos(phi), friction=0.8),
            ss.Contact("wall", gap=x - sp.cos(phi), slip=y + sp.sin(phi), friction=0.9),
        ],
        name="ladder",
    )


def turn_of_the_ladder(t: float) -> float:
    """Angle by which it has turned after t, both ends sliding: x = cos(phi), y = sin(phi), floor N, wall F.

    x'' = F - 0.8 N, y'' = N + 0.9 F - g; moments about the centre, clockwise as phi falls:
    phi'' / 3 = F sin(phi) + 0.9 F cos(phi) - N cos(phi) + 0.8 N sin(phi), reckoned along phi.
    """

    def rates(_, state):
        phi, w = state
        c, s = math.cos(phi), math.sin(phi)
        A = np.array([[-0.8, 1.0, s], [1.0, 0.9, -c], [-c + 0.8 * s, s + 0.9 * c, -1.0 / 3.0]])
        _, _, acceleration = np.linalg.solve(A, [-c * w * w, 9.81 - s * w * w, 0.0])
        return [w, acceleration]

    motion = solve_ivp(rates, (0.0, t), [LADDER, 0.0], rtol=1e-12, atol=1e-15, method="DOP853")
    return float(LADDER - motion.y[0, -1])


def slide(stepper: str, dt: float, t_end: float, engine: str) -> tuple[float, ss.Trajectory]:
    start = [math.cos(LADDER), math.sin(LADDER), LADDER]
    every = 1 if engine == "reference" else max(1, round(1e-3 / dt))
    motion = ss.simulate(ladder(), start, [0.0] * 3, dt=dt, t_end=t_end, stepper=stepper, engine=engine, every=every)
    return float(LADDER - motion.q[-1, 2]), motion


@pytest.mark.parametrize("stepper", STEPPERS)
def test_ladder_begins_to_slide(stepper):
    exact = turn_of_the_ladder(0.1)
    turn, motion = slide(stepper, 1e-3, 0.1, "reference")
    assert turn == pytest.approx(exact, rel=0.03)
    assert len(motion.impacts()) == 0 and (motion.normal_impulse[1:] > 0.0).all()


@pytest.mark.slow
@pytest.mark.parametrize("stepper", [*STEPPERS, "paoli-schatzman"])
def test_ladder_slides_as_its_equation_says(stepper):
    exact = turn_of_the_ladder(2.0)
    assert exact == pytest.approx(4.1539e-4, rel=1e-4)
    errors = []
    for dt in (1e-2, 1e-3, 1e-4, 1e-5):
        turn, motion = slide(stepper, dt, 2.0, "compiled")
        errors.append(abs(turn / exact - 1.0))
        assert len(motion.impacts()) == 0 and (motion.normal_impulse[1:] > 0.0).all()
    assert errors[2] < 1e-3
    for coarse, fine in itertools.pairwise(errors):
        assert fine < coarse / 8.0 or fine < 1e-5  # order one; the start is known to 1e-10 of the margin of 1e-6


@pytest.mark.slow
def test_ladder_slides_with_steps_of_automatic_length():
    turn, _ = slide("adaptive", 0.01, 2.0, "compiled")
    assert turn == pytest.approx(turn_of_the_ladder(2.0), rel=1e-2)


# -- contacts that turn ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("restitution", [0.0, 0.3])
@pytest.mark.parametrize("stepper", STEPPERS)
def test_tip_of_the_rod_keeps_its_load(stepper, restitution):
    rod = ss.library.painleve_rod(restitution=restitution)
    motion = rod.simulate(dt=1e-3, t_end=0.4, stepper=stepper, engine="reference")
    assert (motion.normal_impulse[1:, 0] > 0.0).all()
    assert single_openings(motion) == []
