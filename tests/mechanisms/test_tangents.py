"""Contacts with two tangents: closed forms, two engines, sections of the friction cone, and what is refused."""

import math

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import stickslip as ss
from stickslip.contact.sections import CrossSection, Ellipse, Polygon, PowerNorm
from stickslip.mechanisms.elements import Contact
from stickslip.run import driver
from tests.run.signalled import differences

X, Y, Z = sp.symbols("x y z")
U, V, W = sp.symbols("v_x v_y v_z")
MASS, G, MU, SLOPE, TURN, WALL = sp.symbols("mass g friction slope turn basis")


def puck(turned=0, **more):
    """A point mass on an incline along x, or on a table that turns; its tangents are turned by the angle `basis`."""
    c, s = sp.cos(turned), sp.sin(turned)
    slips = [U + TURN * Y, V - TURN * X]
    contact = {
        "slip_velocity": [c * slips[0] + s * slips[1], c * slips[1] - s * slips[0]],
        "friction": MU,
        **more,
    }
    return ss.LagrangianSystem.from_energies(
        [X, Y, Z],
        velocities=[U, V, W],
        kinetic=MASS * (U**2 + V**2 + W**2) / 2,
        potential=MASS * G * (Z * sp.cos(SLOPE) - X * sp.sin(SLOPE)),
        contacts=[Contact("plane", gap=Z, **contact)],
        parameters={MASS: 1.0, G: 10.0, MU: 0.5, SLOPE: 0.0, TURN: 0.0, WALL: 0.0},
        name="puck",
    )


@pytest.fixture(scope="module")
def disc():
    return puck(WALL)


def run(system, q=(0.0, 0.0, 0.0), u=(0.0, 0.0, 0.0), t_end=0.5, dt=5e-3, engine="compiled", **more):
    return ss.simulate(system, q, u, dt=dt, t_end=t_end, engine=engine, progress=False, **more)


# -- closed forms --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_puck_on_an_incline_keeps_speed_plus_downhill_speed(disc, engine):
    """With mu = tan(slope) the tangential forces are equal in size: v + v_x is constant, and v_x ends at half of it."""
    slope = 0.4
    params = {"slope": slope, "friction": math.tan(slope)}
    errors = []
    for dt in (0.01, 0.005):
        end = run(disc, u=(0.0, 1.0, 0.0), params=params, dt=dt, t_end=0.3, engine=engine).u[-1]
        errors.append(abs(math.hypot(end[0], end[1]) + end[0] - 1.0))
    assert errors[1] < 1e-2
    assert math.log2(errors[0] / errors[1]) == pytest.approx(1.0, abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stepper", "order"), [("moreau-midpoint", 2), ("moreau-jean", 2), ("stewart-trinkle", 1), ("paoli-schatzman", 1)]
)
def test_positions_converge_where_the_slip_turns(stepper, order):
    """A ball slides on a turntable; beside the event-driven motion."""
    ball = ss.library.sliding_ball(turn=5.0, x=0.15, speed_x=0.0, speed_y=0.3)
    options = {"t_end": 0.2, "progress": False}
    exact = ball.simulate(stepper="event-driven", dt=0.1, **options).q[-1, :2]
    ends = [ball.simulate(stepper=stepper, dt=dt, **options).q[-1, :2] for dt in (2e-3, 1e-3, 5e-4)]
    errors = [np.abs(end - exact).max() for end in ends]
    assert_allclose(np.log2(errors[:-1]) - np.log2(errors[1:]), order, atol=0.15)
    assert errors[-1] < 1e-3


def test_puck_stops_in_a_straight_line_after_the_time_of_its_speed(disc):
    """|v| falls by mu g, whatever the direction; it rests where v^2 / (2 mu g) says, and stays there."""
    speed, angle = 1.0, 0.7
    trajectory = run(disc, u=(speed * math.cos(angle), speed * math.sin(angle), 0.0), dt=1e-3)
    way = speed**2 / (2 * 0.5 * 10.0)
    assert_allclose(trajectory.q[-1, :2], [way * math.cos(angle), way * math.sin(angle)], atol=2e-4 * way)
    assert not trajectory.u[-1].any()
    assert trajectory.contact_state[-1].tolist() == [ss.trajectory.STICK] * 2
    at = round(0.1 / 1e-3)
    force = trajectory.tangential_impulse[at] / 1e-3
    assert_allclose(force, [-5.0 * math.cos(angle), -5.0 * math.sin(angle)], rtol=1e-9)


@pytest.mark.parametrize(("turn", "sticks"), [(2.2, True), (2.3, False)])
def test_puck_on_a_turntable_sticks_up_to_the_speed_of_its_threshold(disc, turn, sticks):
    """It turns with the table where Omega^2 r < mu g: Omega = sqrt(5) at r = 1 m."""
    params = {"turn": turn}
    trajectory = run(disc, q=(1.0, 0.0, 0.0), u=(0.0, turn, 0.0), params=params, dt=1e-3, t_end=0.2)
    slides = np.hypot(trajectory.u[:, 0] + turn * trajectory.q[:, 1], trajectory.u[:, 1] - turn * trajectory.q[:, 0])
    assert (slides.max() < 4e-3) == sticks
    assert trajectory.certificate.failed_steps == 0


def test_ellipse_stops_along_its_axes_by_its_coefficients():
    system = puck(friction=ss.Elliptic(0.5, 0.25))
    along = run(system, u=(1.0, 0.0, 0.0), dt=5e-3, t_end=0.25, engine="reference")
    across = run(system, u=(0.0, 1.0, 0.0), dt=5e-3, engine="reference")
    assert along.q[-1, 0] == pytest.approx(0.1, rel=1e-2)
    assert across.q[-1, 1] == pytest.approx(0.2, rel=1e-2)


def test_ellipse_turns_the_motion_by_maximum_dissipation():
    """d v_i/dt = -g mu_i^2 v_i / |mu v|: v_2 / v_1^k stays, k = (mu_2 / mu_1)^2."""
    system = puck(friction=ss.Elliptic(0.5, 0.25))
    trajectory = run(system, u=(1.0, 1.0, 0.0), dt=1e-4, t_end=0.15, engine="compiled")
    moving = trajectory.u[:, 0] > 0.3
    assert_allclose(trajectory.u[moving, 1], trajectory.u[moving, 0] ** 0.25, rtol=2e-4)


def test_ball_slides_then_rolls():
    """The slip keeps its direction and ends at |gamma| / (7/2 mu g); the ball rolls with 5/7 v + 2/7 of its spin."""
    ball = ss.library.sliding_ball()
    trajectory = ball.simulate(progress=False)
    u0, R, mu, g = ball.u0, 0.028, 0.2, 9.81
    slip = np.array([u0[0] - R * u0[4], u0[1] + R * u0[3]])
    end = np.hypot(*slip) / (3.5 * mu * g)
    rolls = trajectory.t[np.argmax(trajectory.contact_state[:, 0] == ss.trajectory.STICK)]
    assert rolls == pytest.approx(end, abs=2e-3)
    assert_allclose(trajectory.u[-1, :2], 5 / 7 * u0[:2] + 2 / 7 * np.array([R * u0[4], -R * u0[3]]), rtol=1e-9)
    before = trajectory.t < end - 2e-3
    u = trajectory.u[before]
    angles = np.arctan2(u[:, 1] + R * u[:, 3], u[:, 0] - R * u[:, 4])
    assert_allclose(angles, math.atan2(slip[1], slip[0]), atol=1e-9)
    # the centre runs along a parabola: v is linear in time
    way = u0[:2] * end - 0.5 * mu * g * slip / np.hypot(*slip) * end**2
    at = round(end / ball.dt)
    assert_allclose(trajectory.q[at, :2], way, atol=3e-4)


def test_ball_on_a_turntable_rolls_in_circles_two_sevenths_as_fast():
    ball = ss.library.sliding_ball(turn=5.0, x=0.15, speed_x=0.0, speed_y=0.3, spin_x=(0.75 - 0.3) / 0.028, spin_y=0.0)
    trajectory = ball.simulate(t_end=1.0, dt=1e-3, progress=False)
    assert set(trajectory.contact_state[1:, 0].tolist()) == {ss.trajectory.STICK}
    turned = np.unwrap(np.arctan2(trajectory.u[:, 1], trajectory.u[:, 0]))
    assert_allclose((turned[-1] - turned[0]) / 1.0, 2 / 7 * 5.0, rtol=1e-3)


@pytest.mark.slow
def test_coin_with_enough_friction_rolls_as_if_held_by_constraints():
    held = ss.library.rolling_coin().simulate(t_end=0.1, progress=False)
    free = ss.library.sliding_coin().simulate(t_end=0.1, progress=False)
    assert set(free.contact_state[1:, 0].tolist()) == {ss.trajectory.STICK}
    assert_allclose(free.q[-1][[0, 1, 3, 4, 5]], held.q[-1], atol=5e-4)


# -- invariance ----------------------------------------------------------------------------------------------


def test_disc_does_not_know_the_basis_of_its_tangents(disc):
    start = {"u": (0.3, 0.9, 0.0), "q": (0.2, 0.0, 0.0), "t_end": 0.2}
    first = run(disc, params={"slope": 0.3, "turn": 1.0}, **start)
    for angle in (0.3, 1.234, 4.0):
        turned = run(disc, params={"slope": 0.3, "turn": 1.0, "basis": angle}, **start)
        assert_allclose(turned.u, first.u, atol=1e-13)
        c, s = math.cos(angle), math.sin(angle)
        T = first.tangential_impulse
        expected = np.stack([c * T[:, 0] + s * T[:, 1], c * T[:, 1] - s * T[:, 0]], axis=-1)
        assert_allclose(turned.tangential_impulse, expected, atol=1e-13)


def test_disc_is_its_own_mirror_image(disc):
    one = run(disc, u=(0.3, 0.9, 0.0), params={"slope": 0.3}, t_end=0.2)
    other = run(disc, u=(0.3, -0.9, 0.0), params={"slope": 0.3}, t_end=0.2)
    assert_allclose(other.q * [1, -1, 1], one.q, atol=1e-15)


def test_far_from_the_origin_the_motion_is_the_same(disc):
    near = run(disc, u=(0.3, 0.9, 0.0), params={"slope": 0.3})
    far = run(disc, q=(1e6, -3e6, 0.0), u=(0.3, 0.9, 0.0), params={"slope": 0.3})
    assert_allclose(far.u, near.u, atol=1e-13)
    assert far.contact_state.tolist() == near.contact_state.tolist()


@pytest.mark.parametrize(
    "stepper",
    [
        "moreau-midpoint",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("moreau-jean", "stewart-trinkle", "paoli-schatzman")),
    ],
)
def test_engines_agree(disc, stepper):
    params = {"slope": 0.3, "turn": 1.0, "basis": 0.4}
    start = {"q": (0.5, 0.1, 0.02), "u": (0.3, 0.9, 0.0), "params": params, "t_end": 0.15, "stepper": stepper}
    kernel, reference = (run(disc, engine=engine, **start) for engine in ("compiled", "reference"))
    assert_allclose(kernel.u, reference.u, atol=1e-12)
    assert_allclose(kernel.tangential_impulse, reference.tangential_impulse, atol=1e-12)
    assert kernel.contact_state.tolist() == reference.contact_state.tolist()
    assert kernel.certificate.max_residual < 1e-12
    assert_allclose(kernel.impacts()["tangential_impulse"], reference.impacts()["tangential_impulse"], atol=1e-12)


@pytest.mark.parametrize(
    "stepper",
    [
        "moreau-jean",
        "stewart-trinkle",
        "paoli-schatzman",
        ss.Adaptive(rtol=1e-4, stepper=ss.MoreauMidpoint(lasting=True)),
    ],
)
def test_all_steppers_stop_a_slip_where_it_must_end(disc, stepper):
    trajectory = run(disc, u=(0.6, 0.8, 0.0), dt=0.01, t_end=0.25, stepper=stepper, engine="reference")
    assert_allclose(trajectory.q[-1], [0.06, 0.08, 0.0], atol=6e-3)
    assert trajectory.contact_state[-1].tolist() == [ss.trajectory.STICK] * 2


@pytest.mark.slow
def test_adaptive_ball_on_a_turntable_slides_and_rolls_as_event_driven():
    ball = ss.library.sliding_ball(turn=5.0, x=0.15, speed_x=0.0, speed_y=0.3)
    options = {"dt": 0.01, "t_end": 0.5, "progress": False}
    judge = ball.simulate(stepper="event-driven", **options)
    trajectory = ball.simulate(stepper=ss.Adaptive(rtol=1e-6), **options)
    assert_allclose(trajectory.q, judge.q, atol=2e-5)
    assert int(trajectory.attributes["smooth_steps"]) < 200
    assert list(judge.events()["kind"]) == ["sticks"]


def test_energy_book_closes(disc):
    trajectory = run(disc, u=(0.0, 1.0, 0.0), params={"slope": 0.4, "friction": 0.5})
    lost = trajectory.energy.total[0] - trajectory.energy.total[-1]
    assert trajectory.certificate.contact_work == pytest.approx(-lost, rel=1e-9)


# -- sections ------------------------------------------------------------------------------------------------


class OwnSection(CrossSection):
    """A user's class: the unit disc, known to it alone."""

    def gauge(self, beta):
        return float(np.hypot(*beta))

    def farthest(self, direction):
        return direction / np.hypot(*direction)

    def slopes(self, beta):
        return (beta / np.hypot(*beta))[None]


def test_polygon_with_many_corners_tends_to_the_disc(disc):
    start = {"u": (0.3, 0.9, 0.0), "params": {"slope": 0.3}, "t_end": 0.1, "engine": "reference"}
    round_one = run(disc, **start)
    errors = [np.abs(run(puck(section=Polygon.regular(m)), **start).u - round_one.u).max() for m in (8, 32)]
    assert errors[0] < 0.08
    assert errors[1] < 0.1 * errors[0]


def test_square_pyramid_is_two_planar_frictions():
    """The square |s_1|, |s_2| <= 1 with its sides along the tangents: each velocity falls by mu g by itself."""
    square = Polygon(((1.0, -1.0), (1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0)))
    trajectory = run(puck(section=square), u=(1.0, 0.5, 0.0), dt=1e-3, t_end=0.25, engine="reference")
    t = trajectory.t[:, None]
    assert_allclose(trajectory.u[:, :2], np.maximum(0.0, np.array([1.0, 0.5]) - 5.0 * t), atol=1e-9)


def test_power_norm_of_two_and_an_own_section_are_the_disc(disc):
    start = {"u": (0.3, 0.9, 0.0), "params": {"slope": 0.3}, "t_end": 0.05, "engine": "reference"}
    expected = run(disc, **start).u
    for section in (PowerNorm(2.0), OwnSection(), Ellipse()):
        assert_allclose(run(puck(section=section), **start).u, expected, atol=1e-9)


@pytest.mark.slow
def test_sections_compile_and_agree_with_the_reference():
    system = puck(section=Polygon.regular(5))
    start = {"u": (0.3, 0.9, 0.0), "params": {"slope": 0.3}, "t_end": 0.1}
    assert_allclose(run(system, **start).u, run(system, engine="reference", **start).u, atol=1e-12)


@pytest.mark.slow
def test_power_norm_compiles_and_agrees_with_the_reference():
    system = puck(section=PowerNorm(4.0))
    start = {"u": (0.3, 0.9, 0.0), "params": {"slope": 0.3}, "t_end": 0.1}
    assert_allclose(run(system, **start).u, run(system, engine="reference", **start).u, atol=1e-12)


def test_a_section_without_a_kernel_runs_on_the_reference_engine_with_a_warning():
    with pytest.warns(RuntimeWarning, match="class without a kernel"):
        trajectory = run(puck(section=OwnSection()), u=(1.0, 0.0, 0.0), t_end=0.01, engine="auto")
    assert trajectory.engine == "reference"


# -- several contacts ----------------------------------------------------------------------------------------


def block(friction=0.4):
    """A rigid block, small turns about three axes left out but one: it slides and turns on three feet."""
    x, y, z, a, b, c = sp.symbols("x y z a b c")
    u = sp.symbols("v_x v_y v_z w_x w_y w_z")
    feet = [(0.5, 0.0), (-0.3, 0.4), (-0.3, -0.5)]
    contacts = []
    for number, (r, s) in enumerate(feet):
        dx, dy = r * sp.cos(c) - s * sp.sin(c), r * sp.sin(c) + s * sp.cos(c)
        contacts.append(
            Contact(f"foot {number + 1}", gap=z + a * dy - b * dx, slip=[x + dx, y + dy], friction=friction)
        )
    return ss.LagrangianSystem.from_energies(
        [x, y, z, a, b, c],
        velocities=u,
        kinetic=(u[0] ** 2 + u[1] ** 2 + u[2] ** 2 + sp.Rational(1, 10) * (u[3] ** 2 + u[4] ** 2 + u[5] ** 2)) / 2,
        potential=10 * z,
        contacts=contacts,
        name="block",
    )


@pytest.mark.parametrize("solver", ["gauss-seidel", "augmented-lagrangian", "auto"])
def test_three_feet_slide_and_turn_together_until_they_rest(solver):
    trajectory = ss.simulate(
        block(), np.zeros(6), [0.4, 0.1, 0.0, 0.0, 0.0, 1.0], dt=0.01, t_end=0.1, solver=solver, engine="reference",
        progress=False,
    )  # fmt: skip
    assert trajectory.complete
    assert trajectory.certificate.max_residual <= 1e-10
    assert_allclose(trajectory.normal_impulse[1:].sum(axis=1), 0.1, rtol=1e-9)
    assert np.all(np.diff(trajectory.energy.total) < 0.0)


@pytest.mark.slow
def test_three_feet_compiled_agree_with_the_reference():
    start = {"dt": 0.005, "t_end": 0.4, "progress": False}
    u0 = [0.4, 0.1, 0.0, 0.0, 0.0, 1.0]
    runs = [ss.simulate(block(), np.zeros(6), u0, engine=engine, **start) for engine in ("compiled", "reference")]
    assert_allclose(runs[0].u, runs[1].u, atol=1e-9)
    assert runs[0].certificate.failed_steps == 0


# -- impacts -------------------------------------------------------------------------------------------------


def test_impact_has_newtons_coefficients_in_both_tangents():
    """A superball: eps_N = eps_T = 0.8 reverses all three components where it sticks."""
    ball = puck(restitution_normal=0.8, restitution_tangential=0.8, friction=5.0)
    hit = ss.impact(ball, [0.0, 0.0, 0.0], [0.3, -0.4, -1.0])
    assert_allclose(hit.u, [-0.24, 0.32, 0.8], rtol=1e-12)
    assert set(hit.contact_state.tolist()) == {"stick"}
    slips = ss.impact(puck(friction=0.1), [0.0, 0.0, 0.0], [0.3, -0.4, -1.0])
    assert_allclose(slips.tangential_impulse, [-0.06, 0.08], rtol=1e-12)
    assert slips.energy_change < 0.0


# -- event-driven --------------------------------------------------------------------------------------------


def walk(system, **more):
    return run(system, stepper="event-driven", engine="auto", dt=0.05, **more)


def test_event_driven_keeps_the_invariant_of_the_incline_while_the_slip_turns(disc):
    slope = 0.4
    trajectory = walk(disc, u=(0.0, 1.0, 0.0), params={"slope": slope, "friction": math.tan(slope)})
    assert_allclose(np.hypot(trajectory.u[:, 0], trajectory.u[:, 1]) + trajectory.u[:, 0], 1.0, atol=1e-9)
    assert trajectory.contact_state[1:, 0].tolist() == [ss.trajectory.SLIP_PLUS] * 10


def test_event_driven_finds_the_end_of_a_slip_and_the_place_of_rest(disc):
    trajectory = walk(disc, u=(0.6, 0.8, 0.0))
    assert_allclose(trajectory.q[-1], [0.06, 0.08, 0.0], atol=1e-12)
    events = trajectory.events()
    assert list(events["kind"]) == ["sticks"]
    assert events["time"][0] == pytest.approx(0.2, abs=1e-12)
    lost = trajectory.energy.total[0] - trajectory.energy.total[-1]
    assert trajectory.certificate.contact_work == pytest.approx(-lost, rel=1e-9)


def test_event_driven_slip_begins_at_its_bound_and_follows_the_force_that_turns():
    """The push 8 t turns with 3 rad/s; the midpoint rule tends to the event-driven motion by halves."""
    t = sp.Symbol("t")
    system = ss.LagrangianSystem.from_energies(
        [X, Y, Z],
        velocities=[U, V, W],
        kinetic=(U**2 + V**2 + W**2) / 2,
        potential=10 * Z,
        forces=[8 * t * sp.cos(3 * t), 8 * t * sp.sin(3 * t), 0],
        contacts=[Contact("plane", gap=Z, slip=[X, Y], friction=0.4)],
        time=t,
        name="pushed puck",
    )
    exact = walk(system, t_end=0.6)
    assert [*exact.events()["kind"], *exact.events()["time"]] == ["slips", pytest.approx(0.5, abs=1e-9)]
    errors = [run(system, dt=dt, t_end=0.6, engine="reference").u[-1] - exact.u[-1] for dt in (4e-3, 2e-3)]
    assert np.linalg.norm(errors[0]) / np.linalg.norm(errors[1]) == pytest.approx(2.0, rel=0.25)
    assert np.abs(errors[1]).max() < 4e-3


def test_event_driven_ball_rolls_after_its_time_and_strikes_with_restitution():
    ball = ss.library.sliding_ball()
    trajectory = ball.simulate(stepper="event-driven", dt=0.1, t_end=0.5, progress=False)
    slip = np.hypot(ball.u0[0] - 0.028 * ball.u0[4], ball.u0[1] + 0.028 * ball.u0[3])
    assert trajectory.events()["time"].tolist() == [pytest.approx(slip / (3.5 * 0.2 * 9.81), rel=1e-10)]
    assert_allclose(trajectory.u[-1, :2], 5 / 7 * ball.u0[:2] + 2 / 7 * 0.028 * np.array([20.0, 60.0]), rtol=1e-9)
    hop = puck(restitution_normal=0.5, friction=0.2)
    thrown = walk(hop, q=(0.0, 0.0, 0.2), u=(1.0, 0.5, 0.0), t_end=0.8)
    first = thrown.impacts()
    assert first["time"][0] == pytest.approx(0.2, abs=1e-10)
    assert first["normal_velocity_after"][0] == pytest.approx(1.0, rel=1e-9)
    # the first impact changes the sliding velocity by mu (1 + e) 2 m/s against its direction
    change = 0.2 * 1.5 * 2.0
    assert_allclose(first["tangential_impulse"][:2], -change * np.array([1.0, 0.5]) / np.hypot(1.0, 0.5), rtol=1e-9)
    assert thrown.contact_state[-1, 0] == ss.trajectory.STICK
    assert thrown.q[-1, 2] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"section": Polygon.regular(6)}, "needs a smooth section"),
        ({"section": OwnSection()}, "needs a smooth section"),
    ],
)
def test_event_driven_refuses_sections_with_corners(more, message):
    with pytest.raises(ValueError, match=message):
        walk(puck(**more))


def top_by_hand(p, t_end, q0, u0):
    """Newton's and Euler's equations of the sliding top in space, the axis as a unit vector: state (c, v, e, L)."""
    from scipy.integrate import solve_ivp

    m, length, r, A, C, mu, g = (p[k] for k in ("mass", "length", "radius", "inertia", "inertia_axis", "friction", "g"))
    up = np.array([0.0, 0.0, 1.0])

    def spin(e, L):
        return L / A + (1.0 / C - 1.0 / A) * (L @ e) * e

    def rates(_, y):
        v, e, L = y[3:6], y[6:9], y[9:12]
        omega = spin(e, L)
        arm = -length * e - r * up
        slip = v + np.cross(omega, arm)
        friction = -mu * slip / np.linalg.norm(slip)
        friction[2] = 0.0
        push = up + friction

        # height of the tip: (c - l e) . up is constant; its second derivative is linear in the load
        def rise(N):
            dL = np.cross(arm, N * push)
            de = np.cross(omega, e)
            d_omega = dL / A + (1.0 / C - 1.0 / A) * ((dL @ e + L @ de) * e + (L @ e) * de)
            dde = np.cross(d_omega, e) + np.cross(omega, de)
            return N * push[2] / m - g - length * dde[2], dL, de

        low, high = rise(0.0)[0], rise(1.0)[0]
        N = -low / (high - low)
        _, dL, de = rise(N)
        return np.concatenate([v, N * push / m - g * up, de, dL])

    x, y, z, phi, theta, _ = q0
    e = np.array([math.sin(theta) * math.cos(phi), math.sin(theta) * math.sin(phi), math.cos(theta)])
    across = np.array([-math.sin(phi), math.cos(phi), 0.0])
    omega = u0[3] * up + u0[4] * across + u0[5] * e
    L = A * omega + (C - A) * (omega @ e) * e
    start = np.concatenate([[x, y, z], u0[:3], e, L])
    return solve_ivp(rates, (0.0, t_end), start, rtol=1e-11, atol=1e-13, method="DOP853").y[:, -1]


def test_top_that_slides_agrees_with_the_equations_of_newton_and_euler():
    top = ss.library.sliding_top()
    trajectory = top.simulate(stepper="event-driven", dt=0.01, t_end=0.05, progress=False)
    p = dict(zip(top.system.parameter_names, top.system.parameter_values, strict=True))
    by_hand = top_by_hand(p, 0.05, top.q0, top.u0)
    q = trajectory.q[-1]
    axis = [math.sin(q[4]) * math.cos(q[3]), math.sin(q[4]) * math.sin(q[3]), math.cos(q[4])]
    assert_allclose(q[:3], by_hand[:3], atol=1e-9)
    assert_allclose(axis, by_hand[6:9], atol=1e-7)
    assert q[4] < top.q0[4]  # it rises


# -- files, ensembles ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"friction": ss.Elliptic(MU, 0.25), "section": PowerNorm(4.0)},
        {"section": Polygon.regular(5), "restitution_normal": 0.5},
        {"slip_velocity": None, "slip": [X, Y]},
        {"slip_velocity": None, "slip": [[(sp.cos(Z), X), (2, Y)], [(1, Y)]]},
        {"slip_velocity": None, "tangent": [[1, 0, 0], [0, 1, 0]], "tangent_drift": [TURN, 0]},
    ],
)
def test_a_model_file_gives_the_same_system(more):
    from stickslip.scenario import Scenario

    scenario = Scenario(puck(WALL, **more), np.zeros(3), np.array([1.0, 0.0, 0.0]), 1e-3, 0.1, title="puck", source="x")
    again = ss.model_from_text(ss.model_text(scenario)).scenario
    assert again.system.source() == scenario.system.source()
    assert again.system.sections == scenario.system.sections
    assert ss.model_text(again) == ss.model_text(scenario)


@pytest.mark.slow
def test_ensemble_members_are_the_runs_of_their_parameters(disc):
    from stickslip.scenario import Scenario

    scenario = Scenario(disc, np.zeros(3), np.array([0.6, 0.8, 0.0]), 5e-3, 0.1, title="puck", source="x")
    found = ss.ensemble(scenario, {"friction": [0.2, 0.4]}, observe=["final"], progress=False)
    for i, friction in enumerate((0.2, 0.4)):
        single = run(disc, u=(0.6, 0.8, 0.0), params={"friction": friction}, t_end=0.1)
        assert_allclose(
            np.concatenate([single.q[-1], single.u[-1]]),
            np.concatenate([found["final_q"][i], found["final_u"][i]]),
            atol=1e-14,
        )


def test_an_event_driven_run_goes_on_where_it_was_interrupted(disc, tmp_path, monkeypatch):
    march_piece = driver._march_piece
    monkeypatch.setattr(driver, "_march_piece", lambda run, store, engine, n: march_piece(run, store, engine, 1))

    def stop(steps):
        if steps >= 6:
            raise KeyboardInterrupt

    options = {"stepper": "event-driven", "dt": 0.05, "t_end": 0.6, "out": tmp_path / "run.nc"}
    start = disc, (0.0, 0.0, 0.05), (1.5, 2.0, 0.0)
    part = ss.simulate(*start, progress=stop, **options)
    assert not part.complete
    whole = ss.simulate(*start, progress=False, **{**options, "out": None})
    again = ss.simulate(*start, progress=False, resume=True, **options)
    assert differences(again, whole) == [] and str(again.events()) == str(whole.events())
    assert {**again.attributes, "resumed": ""} == {**whole.attributes, "resumed": ""}


@pytest.mark.parametrize("last", [9, 10, 11])
def test_a_slip_that_ends_at_a_record_ends_with_an_event_where_the_run_goes_on(disc, tmp_path, monkeypatch, last):
    """The slip ends at 0.5 s up to rounding, which decides whether it has ended at that record."""
    march_piece = driver._march_piece
    monkeypatch.setattr(driver, "_march_piece", lambda run, store, engine, n: march_piece(run, store, engine, 1))

    def stop(steps):
        if steps >= last:
            raise KeyboardInterrupt

    options = {"stepper": "event-driven", "dt": 0.05, "t_end": 0.6}
    start = disc, (0.0, 0.0, 0.05), (1.5, 2.0, 0.0)
    whole = ss.simulate(*start, progress=False, **options)
    part = ss.simulate(*start, progress=stop, out=tmp_path / "run.nc", **options)
    assert part.t[-1] == pytest.approx(0.05 * last)
    again = ss.simulate(*start, progress=False, resume=True, out=tmp_path / "run.nc", **options)
    assert list(again.events()["kind"]) == ["impact", "closes", "sticks"]
    assert differences(again, whole) == [] and str(again.events()) == str(whole.events())


def test_a_saved_run_has_both_tangents(disc, tmp_path):
    trajectory = run(disc, u=(0.6, 0.8, 0.0), t_end=0.05)
    trajectory.save(tmp_path / "run.nc")
    again = ss.load(tmp_path / "run.nc")
    assert again.contact_kinds == trajectory.contact_kinds
    assert_allclose(again.tangential_impulse, trajectory.tangential_impulse, rtol=0)


# -- refusals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"threshold": 1.0}, "threshold must be left out with two directions of slip"),
        ({"friction": ss.TwoCoefficient(0.5, 0.3)}, "friction must be a coefficient or Elliptic"),
        ({"section": 3}, "section must be a CrossSection"),
        ({"slip": X}, "has both slip and slip_velocity"),
        ({"slip_velocity": [U]}, "slip_velocity must be one direction of slip.* got 1 of them"),
        ({"slip_velocity": [U**2, V]}, "must be linear in the velocities"),
        ({"slip_velocity": U, "section": PowerNorm(3.0)}, "section belongs to a contact in space"),
        ({"slip_velocity": U, "friction": ss.Elliptic(0.1, 0.2)}, "Elliptic is for contacts in space"),
        ({"section": Ellipse(0.5, 1.0)}, "friction=Elliptic"),
    ],
)  # fmt: skip
def test_wrong_input_is_one_line(more, message):
    with pytest.raises(ValueError, match=message):
        puck(**more)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: run(s, solver="lemke"), "solver must be one of 'auto', 'gauss-seidel', 'augmented-lagrangian'"),
        (lambda s: run(s, solver="enumerate"), "whose friction is no LCP, got 'enumerate'"),
        (lambda s: run(s, law="poisson"), "law must be Newton's for contacts with two tangents"),
        (lambda s: ss.impact(s, [0, 0, 0], [1, 0, -1], law="stronge"), "law must be Newton's"),
        (lambda s: ss.impact(s, np.zeros((2, 3)), np.zeros((2, 3))), "a stack of impacts knows contacts with one"),
        (lambda s: ss.equilibrium(s, [0, 0, 0]), "equilibrium knows contacts with one direction"),
        (lambda s: ss.contact_problem(s, [0, 0, 0], [0, 0, 0], dt=0.1), "writes an LCP"),
        (lambda s: ss.energy_bound(s), "energy_bound knows contacts with one direction"),
    ],
)  # fmt: skip
def test_what_cannot_be_had_is_refused_with_one_line(disc, call, message):
    with pytest.raises(ValueError, match=message):
        call(disc)
