"""Promises of each time stepper beyond its order: rest, stiffness, rebounds, energy, and clear words."""

import math

import numpy as np
import pytest
import sympy as sp

import stickslip as ss
from stickslip import library
from stickslip.mechanisms.steppers.contact_problem import contact_problem
from stickslip.papers.failing_schemes import FailingMidpoint, FailingNewmark
from stickslip.run.options import STEPPERS
from stickslip.run.records import join_impacts
from tests.elsewhere import EVERYWHERE, FAR, HOME
from tests.mechanisms.steppers import systems

G = 9.81
FAMILY = {
    "moreau-midpoint": ss.MoreauMidpoint(),
    "moreau-jean": ss.MoreauJean(),
    "backward euler": ss.MoreauJean(theta=1.0),
    "stewart-trinkle": ss.StewartTrinkle(),
    "paoli-schatzman": ss.PaoliSchatzman(),
}
EVERY = pytest.mark.parametrize("stepper", FAMILY.values(), ids=FAMILY.keys())


def test_names_lead_to_classes():
    assert {stepper.name for stepper in FAMILY.values()} <= set(STEPPERS)
    ball = library.bouncing_ball()
    for name in {stepper.name for stepper in FAMILY.values()}:
        assert ball.simulate(t_end=0.01, stepper=name, engine="reference").stepper == name


# -- rest ------------------------------------------------------------------------------------------------------


def rests(trajectory, place):
    assert trajectory.complete, trajectory.status
    assert np.abs(trajectory.q).max() <= place.rounding(trajectory)
    assert np.abs(trajectory.u).max() <= place.speed_rounding(trajectory)
    assert set(trajectory.states()[1:, 0]) == {"stick"}


@EVERY
@pytest.mark.parametrize("mass, angle", [(1.0, 0.38), (0.7, 0.29), (3.3, 0.46)])
@EVERYWHERE
def test_brick_below_the_friction_angle_stays(stepper, mass, angle, place):
    brick = library.brick_on_ramp(velocity=0.0, mass=mass, angle=angle)
    rests(place.simulate(brick, t_end=place.span(0.1, 0.02), stepper=stepper, engine="reference"), place)


@pytest.mark.slow
@EVERY
@pytest.mark.parametrize("place", [HOME, *FAR], ids=str)
def test_brick_stays_for_a_million_steps(stepper, place):
    for mass, angle in ((1.0, 0.38), (0.7, 0.29), (3.3, 0.46)):
        brick = library.brick_on_ramp(velocity=0.0, mass=mass, angle=angle)
        trajectory = place.simulate(brick, t_end=1000.0, every=100, stepper=stepper, engine="compiled")
        assert trajectory.steps == 1_000_000
        rests(trajectory, place)


@pytest.mark.parametrize("place", [HOME, *(pytest.param(place, marks=pytest.mark.slow) for place in FAR)], ids=str)
def test_midpoint_brick_that_slid_stays_for_a_million_steps(place):
    trajectory = place.simulate(library.brick_on_ramp(velocity=1.0), t_end=1000.0, every=100)
    later = trajectory.t > 10.0
    assert trajectory.steps == 1_000_000
    assert np.abs(trajectory.u[later]).max() <= place.speed_rounding(trajectory)
    assert np.ptp(trajectory.q[later], axis=0).max() <= place.rounding(trajectory)


@EVERY
@EVERYWHERE
def test_a_body_on_two_feet_stays_on_its_slope(stepper, place):
    """Four impulses share three velocities: each is a sum that has to cancel."""
    trajectory = place.simulate(
        systems.two_feet(), [0.1, 0.0, 0.0], [0.0, 0.0, 0.0], dt=1e-3, t_end=place.span(0.2, 0.02), stepper=stepper,
        engine="reference", params={"slope": 0.2, "mass": 0.7},
    )  # fmt: skip
    assert (trajectory.contact_state[1:] != 0).all()
    assert np.abs(trajectory.u).max() < 1e-16 + place.speed_rounding(trajectory)


# -- stiff springs ---------------------------------------------------------------------------------------------


def drop_on_the_table(stepper, **options):
    return ss.simulate(systems.ball_on_a_stiff_table(), [0.05, 0.0], [0.0, 0.0], dt=1e-3, stepper=stepper, **options)


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_backward_euler_runs_stiff_springs(engine):
    trajectory = drop_on_the_table(ss.MoreauJean(theta=1.0), t_end=0.5, engine=engine)
    assert trajectory.complete and trajectory.certificate.failed_steps == 0
    assert trajectory["z"][-1] == pytest.approx(-2 * G / 1e8, rel=1e-9)  # both masses on the spring
    assert abs(trajectory.gap[-1, 0]) < 1e-4  # closed up to the speed of the last impact times dt
    assert np.abs(trajectory.u[-1]).max() < 1e-12
    landed = math.sqrt(2 * 0.05 / G)
    assert trajectory.impacts()["time"][0] == pytest.approx(landed, abs=2e-3)


@pytest.mark.parametrize("name", ["moreau-midpoint", "stewart-trinkle", "paoli-schatzman"])
def test_explicit_steppers_blow_up_there_and_say_so(name):
    trajectory = drop_on_the_table(FAMILY[name], t_end=0.5, engine="reference")
    assert not trajectory.complete
    assert "the motion grows beyond all bounds" in trajectory.status and "try a smaller dt" in trajectory.status
    assert "MoreauJean(theta=1)" in trajectory.status
    assert len(trajectory) > 1 and np.isfinite(trajectory.energy.total).all()
    assert drop_on_the_table(FAMILY[name], t_end=0.05, engine="reference", params={"k": 1e5}).complete


@pytest.mark.slow  # a kernel for this alone; "wild" in test_what_was_computed_is_kept is the short version
def test_compiled_runs_that_blow_up_end_like_the_reference():
    ours, theirs = (drop_on_the_table(ss.MoreauMidpoint(), t_end=0.5, engine=e) for e in ("compiled", "reference"))
    for run in (ours, theirs):  # bounds are judged after each piece, and a piece of the kernel has more steps
        assert not run.complete and run.certificate.failed_steps == 1
        assert "beyond all bounds" in run.status and "MoreauJean(theta=1)" in run.status
    both = min(len(ours), len(theirs))
    assert both > 1
    np.testing.assert_allclose(ours.q[:both], theirs.q[:both], rtol=1e-9)


def test_implicit_step_that_is_too_long_for_an_unstable_force():
    """An upside-down pendulum with a huge negative stiffness: M - (theta dt)^2 K loses its sign."""
    x, v, k = sp.symbols("x v k")
    system = ss.LagrangianSystem.from_energies(
        [x], velocities=[v], kinetic=v**2 / 2, potential=-k * x**2 / 2, parameters={k: 1e8}, name="unstable"
    )
    trajectory = ss.simulate(system, [1.0], [0.0], dt=1e-3, t_end=0.1, stepper="moreau-jean", engine="reference")
    assert "iteration matrix" in trajectory.status and "try a smaller dt" in trajectory.status
    assert len(trajectory) == 1


@pytest.mark.parametrize("bad", [0.4, 1.1, float("nan"), True])
def test_theta_is_checked(bad):
    with pytest.raises(ValueError, match=r"theta must lie between 0\.5 and 1"):
        ss.MoreauJean(theta=bad)


def test_newton_iteration_meets_the_theta_methods_own_equation():
    """M (u_E - u_A) = dt (theta h_E + (1 - theta) h_A) for a bead on a parabola, whose forces are quadratic in u."""
    for system in (systems.bead_by_energies(), systems.bead_by_functions()):
        dt, theta = 0.02, 0.6
        run = ss.simulate(
            system, [0.3], [1.0], dt=dt, t_end=0.1, stepper=ss.MoreauJean(theta=theta), engine="reference"
        )
        for (q_A,), (q_E,), (u_A,), (u_E,) in zip(run.q[:-1], run.q[1:], run.u[:-1], run.u[1:], strict=True):
            mass = system.mass([q_A + 0.5 * dt * u_A])[0, 0]
            forces = theta * system.force([q_E], [u_E])[0] + (1 - theta) * system.force([q_A], [u_A])[0]
            assert mass * (u_E - u_A) == pytest.approx(dt * forces, rel=1e-11)
            assert q_E - q_A == pytest.approx(dt * (theta * u_E + (1 - theta) * u_A), rel=1e-12)
        assert run.certificate.max_residual <= 1e-10


# -- rebounds --------------------------------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0, *(pytest.param(e, marks=pytest.mark.slow) for e in (0.3, 0.75, 0.9))])
def test_rebound_is_e_times_the_impact_speed(stepper, e):
    """To first order in dt: on position level an impact takes two steps, and gravity acts in both."""
    dt = 2e-3
    trajectory = library.bouncing_ball(restitution=e).simulate(dt=dt, t_end=0.6, stepper=stepper, engine="reference")
    table = trajectory.impacts()
    before, after = table["normal_velocity_before"][0], table["normal_velocity_after"][0]
    assert -before == pytest.approx(math.sqrt(2 * G), abs=2 * G * dt)
    assert after == pytest.approx(-e * before, abs=(2 * G * dt if stepper.impact_steps == 2 else 1e-12))
    assert np.diff(table["time"]).min(initial=1.0) > 1.5 * dt  # one row for each impact
    assert table["normal_impulse"][0] == pytest.approx((1 + e) * math.sqrt(2 * G), abs=4 * G * dt)


def test_halves_of_an_impact_become_one_row():
    def row(time, contact, before, after, N):
        return [time, contact, before, after, N, 0.1 * N, 0.0, after]

    rows = np.array(
        [row(0.1, 0, -2, -0.5, 1.5), row(0.1, 1, -1, 0, 1), row(0.2, 0, -0.5, 1, 1.5), row(0.5, 0, -1, 0, 1)]
    )
    done, waiting = join_impacts(rows, 0.5, 0.1)
    assert len(done) == 2 and len(waiting) == 1
    np.testing.assert_allclose(done[0], [0.1, 0, -2, 1, 3.0, 0.3, 0, 1])
    done, waiting = join_impacts(np.vstack([waiting, row(0.6, 0, 0, 2, 1)]), 0.6, 0.1)
    np.testing.assert_allclose(done[0], [0.5, 0, -1, 2, 2.0, 0.2, 0, 2])
    assert not len(waiting)


def test_position_level_keeps_gaps_open_without_restitution():
    """e = 0: curved ground is met exactly, not to first order."""
    x, y, v, w = sp.symbols("x y v w")
    bowl = ss.LagrangianSystem.from_energies(
        [x, y],
        velocities=[v, w],
        kinetic=(v**2 + w**2) / 2,
        potential=G * y,
        contacts=[ss.Contact("bowl", gap=y - x**2 / 2, slip=x, friction=0.2)],
        name="particle in a bowl",
    )
    runs = {
        name: ss.simulate(bowl, [-1.0, 0.6], [0.0, 0.0], dt=5e-3, t_end=1.0, stepper=name, engine="reference")
        for name in ("paoli-schatzman", "moreau-midpoint")
    }
    assert runs["paoli-schatzman"].certificate.max_penetration < 1e-12
    assert runs["moreau-midpoint"].certificate.max_penetration > 1e-4
    closed = runs["paoli-schatzman"].contact_state[:, 0] != 0
    assert closed.sum() > 100
    assert np.abs(runs["paoli-schatzman"].gap[closed]).max() < 1e-12


@EVERY
def test_an_impact_in_which_slip_ends_does_not_depend_on_where_in_a_step_it_falls(stepper):
    """Impacting bar, slip reversed in the impact: the outcome of the impact law, up to a few steps of gravity."""
    scenario, dt, u = library.impacting_bar(friction=0.3), 1e-5, np.array([-0.2, -1.0, 0.0])
    touching = np.array([0.0, 0.5 * math.sin(1.0), 1.0])
    expected = ss.impact(scenario.system, touching, u).u
    for part in (0.05, 0.2, 0.5, 0.8, 0.95):
        q = touching + np.array([0.0, (part + 2) * dt, 0.0])
        run = ss.simulate(scenario.system, q, u, dt=dt, t_end=8 * dt, stepper=stepper, engine="reference")
        np.testing.assert_allclose(run.u[-1], expected, rtol=0, atol=1e-2)


def test_position_level_has_no_tangential_restitution():
    with pytest.raises(
        ValueError, match="stepper 'paoli-schatzman' has no tangential restitution, but contact 'floor'"
    ):
        ss.simulate(
            systems.point_mass(), [0, 1], [0, 0], dt=1e-3, t_end=0.1, stepper="paoli-schatzman", params={"eps_T": 0.5}
        )


def test_other_laws_are_for_the_midpoint_rule():
    with pytest.raises(ValueError, match="'adaptive' and 'event-driven' only, got 'moreau-jean'"):
        library.bouncing_ball().simulate(law=ss.Poisson(0.5), stepper="moreau-jean")


def test_stewart_and_trinkles_lcp_has_the_solution_of_ours():
    """[S00] (2.16) with the two directions +-w_T: c_n, beta = (Lambda_T^+, Lambda_T^-), lambda = |gamma_T| solve it."""
    rng = np.random.default_rng(6)
    system = systems.two_feet()
    p = system.parameter_vector({"mu": 0.4})
    for _ in range(50):
        u = rng.normal(size=3)
        step = contact_problem(system, 0.0, np.array([0.0, -1e-3, 0.0]), u, 1e-3, p)
        found = ss.Auto().solve(step.local)
        local, k = step.local, 2
        n, D = step.V_N, np.hstack([step.V_T, -step.V_T])
        N, DT = step.W_N, np.vstack([step.W_T, -step.W_T])
        E = np.vstack([np.eye(k), np.eye(k)])
        A = np.block(
            [[N @ n, N @ D, np.zeros((k, k))], [DT @ n, DT @ D, E], [np.diag(local.mu), -E.T, np.zeros((k, k))]]
        )
        b = np.concatenate([local.c_N, local.c_T, -local.c_T, np.zeros(k)])
        beta = np.concatenate([np.maximum(found.Lambda_T, 0), np.maximum(-found.Lambda_T, 0)])
        _, xi_T = local.slip_velocities(found.Lambda_N, found.Lambda_T)
        x = np.concatenate([found.Lambda_N, beta, np.abs(xi_T)])
        y = A @ x + b
        assert (x >= 0.0).all() and (y >= -1e-12).all()
        assert np.minimum(x, y).max() < 1e-12


# -- energy ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, drift",
    [("moreau-midpoint", 1e-11), ("moreau-jean", 1e-11), ("backward euler", 3e-3), ("stewart-trinkle", 3e-3),
     ("paoli-schatzman", 1e-2)],
)  # fmt: skip
def test_elastic_ball_over_ten_thousand_bounces(name, drift):
    """The table in docs/integrators.md."""
    ball = library.bouncing_ball(restitution=1.0)
    t_end = 1e4 * 2 * math.sqrt(2 / G)
    trajectory = ball.simulate(dt=1e-3, t_end=t_end, every=450, stepper=FAMILY[name], engine="compiled")
    total = trajectory.energy.total
    assert len(trajectory.impacts()) == pytest.approx(10_000, abs=40)
    assert abs(total[-1] / total[0] - 1) < drift
    free = trajectory.contact_state[:, 0] == 0  # Paoli and Schatzman's impact is under way for one step
    assert np.abs(total[free] / total[0] - 1).max() < drift


# -- schemes that fail -----------------------------------------------------------------------------------------


def falling(stepper, height=1.0, dt=1e-2, t_end=3.0):
    ball = library.bouncing_ball(height=height, g=9.8213, restitution=1.0)
    with pytest.warns(RuntimeWarning, match=f"stepper '{stepper.name}': this scheme fails at impacts"):
        return ball.simulate(dt=dt, t_end=t_end, stepper=stepper, on_energy_gain="ignore")


def test_midpoint_with_positions_rebounds_faster_than_it_came():
    """[S00] 4.2: from q_n < 0, q_n+1 = -q_n and p_n+1 = -p_n + 4 m q_n+1 / h."""
    trajectory = falling(FailingMidpoint())
    q, u = trajectory["y"], trajectory["v"]
    inside = np.flatnonzero((q[:-1] < -1e-9) & (u[:-1] < 0.0))
    assert len(inside) >= 2
    np.testing.assert_allclose(q[inside + 1], -q[inside], rtol=1e-9)
    np.testing.assert_allclose(u[inside + 1], -u[inside] + 4 * q[inside + 1] / trajectory.dt, rtol=1e-9)
    assert np.ptp(trajectory.energy.total) > 5.0
    assert trajectory.certificate.failed_steps == 0  # its own problems are solved: the scheme is wrong, not the solver


def test_newmarks_rebound_is_left_to_chance():
    """A ball that comes with speed v from x < v dt leaves with |v - 2 x / dt|, up to one step of gravity."""
    for height in (1.0, 1.01, 1.02, 1.03):
        trajectory = falling(FailingNewmark(), height, dt=1e-3, t_end=0.6)
        first = int(np.flatnonzero(trajectory.normal_impulse[:, 0])[0])
        x, v = trajectory["y"][first - 1], trajectory["v"][first - 1]
        expected = abs(-v - 2 * x / trajectory.dt)
        assert abs(trajectory["v"][first + 2]) == pytest.approx(expected, abs=5 * 9.8213e-3)


def test_failing_schemes_have_no_name_to_be_asked_for_and_no_friction():
    assert not any(name.startswith("failing") for name in STEPPERS)
    with pytest.raises(ValueError, match="stepper 'failing-newmark' knows contacts without friction only, 'ramp'"):
        library.brick_on_ramp().simulate(stepper=FailingNewmark())


@pytest.mark.parametrize(
    ("theta", "k", "c", "dt"), [(1.0, 1e8, 0.0, 1e-3), (1.0, 100.0, 20.0, 1e-2), (0.5, 1e6, 1e3, 1e-3)]
)
def test_a_loaded_spring_settles(theta: float, k: float, c: float, dt: float) -> None:
    # at rest the corrections are rounding errors of forces that cancel: no reason to go on iterating
    y, v, stiffness, damping = sp.symbols("y v k c")
    spring = ss.LagrangianSystem.from_energies(
        [y],
        velocities=[v],
        kinetic=v**2 / 2,
        potential=stiffness * y**2 / 2 + 9.81 * y,
        forces=[-damping * v],
        parameters={stiffness: k, damping: c},
        contacts=[],
        name="loaded spring",
    )
    run = ss.simulate(
        spring, [0.1], [0.0], dt=dt, t_end=500 * dt, stepper=ss.MoreauJean(theta=theta), engine="reference"
    )
    assert run.complete, run.status
    assert run.q[-1, 0] == pytest.approx(-9.81 / k, rel=1e-9)
