"""A motion that leaves all bounds ends as what it is; one that is resolved goes on, however far it goes."""

import numpy as np
import pytest
import sympy as sp

import stickslip as ss
from stickslip import cli
from stickslip.mechanisms.bounds import Bounds
from tests.mechanisms.steppers import systems

LEFT = "the motion grows beyond all bounds, with an energy of "
x, v, t = sp.symbols("x v t")


def particle(force=0, potential=0, **more):
    """A particle of 1 kg on a line."""
    return ss.LagrangianSystem.from_energies(
        [x], velocities=[v], kinetic=v**2 / 2, potential=potential, forces=[force], time=t, name="particle", **more
    )


def march(system, dt, steps, q0=0.0, u0=0.0, **options):
    return ss.simulate(system, [q0], [u0], dt=dt, t_end=steps * dt, engine="reference", **options)


def test_the_command_line_says_so(capsys):
    """Three steps of a second: every contact problem is solved, and 2e19 J come from nowhere."""
    assert cli.main(["run", "woodpecker", "--dt", "1", "--t-end", "3"]) == 1
    out, err = capsys.readouterr()
    assert f"failed at t = 3 s: {LEFT}2.1e+19 J" in err and "try a smaller dt or, for stiff forces" in err
    assert "certificate" in out


UNSTABLE = {
    "midpoint": "moreau-midpoint",
    "projection": ss.MoreauMidpoint(projection=1e-9),
    "paoli": "paoli-schatzman",
    "stewart": "stewart-trinkle",
    "adaptive": ss.Adaptive(smallest_step=1.0),
}


@pytest.mark.parametrize("name", UNSTABLE)
def test_every_stepper_that_can_be_unstable(name):
    stepper = UNSTABLE[name]
    run = ss.library.woodpecker().simulate(dt=1.0, t_end=3.0, stepper=stepper, engine="reference")
    assert not run.complete and LEFT in run.status and run.certificate.failed_steps == 1
    assert run.status.endswith("rtol" if isinstance(stepper, ss.Adaptive) else "MoreauJean(theta=1)")


@pytest.mark.parametrize("every", [1, 4, 1000])
def test_an_unstable_spring_ends_whatever_is_recorded(every):
    """x'' = -4 x in steps of 1.1 s: every step multiplies the amplitude by 2.1."""
    run = march(systems.oscillator(), 1.1, 200, q0=1.0, every=every)
    assert not run.complete and LEFT in run.status and run.steps < 40
    resolved = march(systems.oscillator(), 0.9, 200, q0=1.0, every=every)
    assert resolved.complete and resolved.energy.total.max() < 100.0


def test_an_event_driven_motion_whose_tolerance_is_no_tolerance():
    """Errors of 1e9 m are accepted: every arc is integrated, and energy comes from nowhere."""
    options = {"dt": 1.0, "t_end": 40.0}
    run = ss.simulate(systems.oscillator(), [1.0], [0.0], stepper=ss.EventDriven(rtol=1e-2, atol=1e9), **options)
    assert not run.complete and LEFT in run.status and run.status.endswith("try a smaller atol and rtol")
    assert run.certificate.failed_steps == 1
    kept = ss.simulate(systems.oscillator(), [1.0], [0.0], stepper=ss.EventDriven(rtol=1e-2), **options)
    assert kept.complete


def test_an_event_driven_motion_that_its_forces_drive_away_is_no_alarm():
    bounds = Bounds(systems.oscillator(), np.zeros(1), np.array([1e-9]), np.zeros(0), 0.0, 1.0)
    far = (np.array([1.0]), np.zeros((1, 1)), np.array([[1e9]]), np.array([5e17]), np.array([0.0]), 0.0, 1.0)
    assert bounds.excess(*far, (1e-2, 1e-5)) is None
    assert bounds.excess(*far, (1e-2, 1e9)).startswith("an energy of 5e+17 J")


GOING_FAR = {
    "driven in resonance, recorded where the force is zero": (
        particle(sp.sin(2 * t), 2 * x**2),
        {"dt": np.pi / 40, "steps": 4000, "every": 40},
    ),
    "driven too fast for the step": (particle(1e3 * sp.cos(1e9 * t), x**2 / 2), {"dt": 0.05, "steps": 500}),
    "negative damping": (particle(v, x**2 / 2), {"dt": 0.02, "steps": 1500, "q0": 1e-6}),
    "pushed away": (particle(x), {"dt": 0.02, "steps": 1500, "q0": 1e-9}),
    "pushed away, potential not known": (
        ss.LagrangianSystem.from_equations([x], velocities=[v], mass=[[1]], force=[x], name="particle"),
        {"dt": 0.02, "steps": 1500, "q0": 1e-9},
    ),
    "falling": (particle(potential=10 * x), {"dt": 10.0, "steps": 1000}),
    "falling, potential not known": (
        ss.LagrangianSystem.from_equations([x], velocities=[v], mass=[[1]], force=[-10], name="particle"),
        {"dt": 10.0, "steps": 1000},
    ),
    "a spring of 1e12 N/m": (particle(potential=5e11 * x**2), {"dt": 1e-7, "steps": 1000, "q0": 1e12}),
    "a spring of 1e-12 N/m": (particle(potential=5e-13 * x**2), {"dt": 1e5, "steps": 1000, "q0": 1e-12}),
    "a base that shakes": (particle(potential=50 * (x - sp.sin(10 * t)) ** 2), {"dt": 0.02, "steps": 1000}),
}


@pytest.mark.parametrize("case", GOING_FAR)
def test_what_the_forces_do_is_no_alarm(case):
    system, options = GOING_FAR[case]
    run = march(system, **options)
    assert run.complete and run.status == "finished", run.status


def test_rounding_at_rest_is_no_alarm():
    """A stiff spring holds a weight at rest: steps far too long for the spring are no alarm while nothing moves."""
    weight = particle(potential=sp.Rational(981, 100) * x + 5e9 * (x - 1) ** 2)
    run = march(weight, 0.1, 50, q0=1.0 - 9.81 / 1e10)
    assert run.complete or "1e-" not in run.status, run.status


def test_walls_may_drive_a_ball_ever_faster():
    table = ss.library.bouncing_ball_on_table()
    run = table.simulate(t_end=200 * table.dt, engine="reference", every=10)
    assert run.complete


def test_depths_beyond_the_size_of_a_mechanism():
    toy = ss.library.woodpecker()
    bounds = Bounds(toy.system, toy.q0, toy.u0, toy.system.parameter_vector(), 0.0, 3.0)
    assert bounds.too_deep(1e-3, 3.0, toy.q0) is None and bounds.too_deep(1.0, 3.0, toy.q0) is None
    assert bounds.too_deep(1e9, 3.0, toy.q0).startswith("a penetration of 1e+09 m, where gaps, velocities and forces")


@pytest.mark.parametrize(("dt", "stepper"), [(0.2, None), (1e-2, None), (0.2, ss.MoreauJean(theta=1.0))])
def test_springs_of_a_scene(dt, stepper):
    """A block of 1 kg on a spring of 1e4 N/m, whose period is 0.06 s; explicit in the midpoint rule alone."""
    scene = ss.Scene(dim=2)
    block = scene.add_body(ss.Circle(0.1), mass=1.0, position=(0.0, -1.0))
    scene.add_spring(None, block, (0.0, 0.0), (0.0, -1.0), stiffness=1e4, length=0.9)
    run = scene.simulate(dt=dt, t_end=60 * dt, **({} if stepper is None else {"stepper": stepper}))
    if dt == 0.2 and stepper is None:
        assert not run.complete and LEFT in run.status and "do not follow the springs" in run.status
        assert run.certificate.failed_steps == 1
    else:
        assert run.complete, run.status


def ball_over_ground(**body):
    scene = ss.Scene(dim=2)
    scene.add_static(ss.HalfPlane((0.0, 1.0)), friction=0.5)
    return scene, scene.add_body(ss.Circle(0.1), mass=1.0, position=(0.0, 0.1), **body)


@pytest.mark.parametrize("force", [1e150, 1e160, 1e308])
def test_forces_of_a_scene_beyond_all_numbers(force):
    scene, ball = ball_over_ground()
    scene.add_force(ball, (force, -force))
    run = scene.simulate(dt=1e-3, t_end=0.05)
    assert not run.complete and "beyond all bounds" in run.status
    assert run.certificate.failed_steps == 1


@pytest.mark.parametrize("speed", [1e25, 1e120])
def test_velocities_of_a_scene_beyond_all_bounds(speed):
    scene, _ = ball_over_ground(velocity=(speed, -speed))
    run = scene.simulate(dt=1e-3, t_end=0.05)
    assert not run.complete and "beyond all bounds" in run.status and "'circle" in run.status


@pytest.mark.parametrize("stepper", [None, "moreau-midpoint", "event-driven"])
def test_a_start_whose_energy_is_no_number(stepper):
    """None: a scene."""
    with pytest.raises(
        ValueError, match=r"the kinetic energy of the start must be below 1e308 J; '.*' begins with -?1e"
    ):
        if stepper is None:
            ball_over_ground(velocity=(1e155, 0.0))[0].simulate(dt=1e-3, t_end=0.05)
        else:
            ss.library.bouncing_ball().simulate(u0=[-1e155], t_end=0.05, stepper=stepper)


def test_a_potential_that_is_driven_gives_energy_from_nothing():
    """A spring whose end leaves a mass held by dry friction: all energy comes from that, none from the start."""
    held = particle(potential=50 * (x - t) ** 2, contacts=[ss.DryFriction("held", x, 20)])
    for dt in (1e-2, 1e-3):
        run = march(held, dt, 20)
        assert run.complete and run.q[-1, 0] == 0.0
    event = ss.simulate(held, [0.0], [0.0], dt=1e-2, t_end=0.1, stepper="event-driven")
    assert event.complete and event.energy.total[-1] == pytest.approx(0.5)
