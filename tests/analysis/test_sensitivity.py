"""Derivatives of motions by parameters and start, against closed forms and differences of runs."""

import math
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import stickslip as ss
from tests.mechanisms.steppers.systems import every_element, point_mass
from tests.thinned import examples, thinned

G = 9.81


def ball_after(e, h, g, t):
    """(y, v) of a bouncing ball; complex numbers carry a derivative."""
    flight, v = (2.0 * h / g) ** 0.5, e * (2.0 * g * h) ** 0.5
    while (flight + 2.0 * v / g).real < t:
        flight, v = flight + 2.0 * v / g, v * e
    return np.array([v * (t - flight) - g * (t - flight) ** 2 / 2.0, v - g * (t - flight)])


def ball_derivatives(t, e=0.8, h=1.0, g=G):
    columns = []
    for k in range(3):
        z = [complex(e), complex(h), complex(g)]
        z[k] += 1e-30j
        columns.append(ball_after(*z, t).imag / 1e-30)
    return np.stack(columns, axis=-1)


def central(scenario, name, t_end, step, law=None):
    """d(q, u)(t_end)/d name: central differences with two steps, extrapolated."""
    system = scenario.system
    start = dict(zip((*system.coordinate_names, *system.velocity_names), (*scenario.q0, *scenario.u0), strict=True))
    value = float({**scenario.parameters, **start}[name])

    def end(x):
        moved = (
            scenario.starting({name: x})
            if name in start
            else replace(scenario, params={**(scenario.params or {}), name: x})
        )
        run = moved.simulate(dt=t_end, t_end=t_end, stepper=ss.EventDriven(rtol=1e-12, zeno=1e-9), law=law)
        assert run.complete, run.status
        return np.concatenate([run.q[-1], run.u[-1]])

    wide, narrow = ((end(value + h) - end(value - h)) / (2.0 * h) for h in (step, step / 2.0))
    return (4.0 * narrow - wide) / 3.0


def agrees(found, name, measured, share):
    column = found.end[:, found.names.index(name)]
    assert np.abs(column - measured).max() <= share * np.abs(measured).max(), (name, column, measured)


@pytest.mark.parametrize("t", [1.0, 1.5, 2.0, 4.0])
def test_bouncing_ball_after_1_to_19_bounces(t):
    ball = ss.library.bouncing_ball(restitution=0.8)
    found = ss.sensitivity(ball, ["restitution", "y", "g", "mass"], t_end=t, samples=5)
    assert found.reliable and found.reason == "" and found.exact
    assert found.end[:, :3] == pytest.approx(ball_derivatives(t), rel=1e-10)
    assert np.all(np.abs(found.end[:, 3]) < 1e-12)  # the mass does not matter
    assert found.q[2, :, :3] == pytest.approx(ball_derivatives(t / 2.0)[:1], rel=1e-9)


def test_bouncing_ball_behind_the_end_of_its_impacts():
    ball = ss.library.bouncing_ball(restitution=0.8)
    t_inf = math.sqrt(2.0 / G) * 1.8 / 0.2
    found = ss.sensitivity(ball, ["restitution", "y", "g"], t_end=1.2 * t_inf, samples=3)
    assert found.reliable and np.all(found.end == 0.0)
    last = found.event_times.kinds.index("accumulation ends")
    assert found.event_times.t[last] == pytest.approx(t_inf, rel=1e-10)
    exact = [2.0 * math.sqrt(2.0 / G) / 0.2**2, 0.5 * t_inf, -0.5 * t_inf / G]
    assert found.event_times.dt[last] == pytest.approx(exact, rel=1e-10)


def test_slipping_ball_behind_the_end_of_its_impacts():
    """x = v_x0 t - mu (g t^2 / 2 - v_y0 t - y0), however often it bounces."""
    thrown = ss.Scenario(point_mass(), [0, 1], [3, 0], 0.01, 5.0, "", "", params={"mu": 0.05, "eps_N": 0.6})
    found = ss.sensitivity(thrown, ["mu", "y", "eps_N", "v_y", "g"], samples=3)
    assert found.reliable
    assert found.end[0] == pytest.approx([-121.625, 0.05, 0.0, 0.25, -0.625], abs=1e-10)
    assert found.end[2] == pytest.approx([-49.05, 0.0, 0.0, 0.05, -0.25], abs=1e-10)
    assert np.all(found.end[[1, 3]] == 0.0)


def test_brick_that_comes_to_rest():
    ramp = ss.library.brick_on_ramp()
    brick = ss.Scenario(ramp.system, [0, 0], [2, 0], 0.01, 1.0, "", "", params={"angle": 0.0, "friction": 0.3})
    found = ss.sensitivity(brick, ["friction", "v_x"], samples=3)
    way = 4.0 / (2.0 * 0.3 * G)
    assert found.reliable and found.event_times.kinds == ("sticks",) and found.event_times.contacts == (("ramp",),)
    assert found.end[0] == pytest.approx([-way / 0.3, way], rel=1e-10)
    assert found.event_times.dt[0] == pytest.approx([-2.0 / (0.09 * G), 1.0 / (0.3 * G)], rel=1e-10)


def test_block_on_belt_with_two_coefficients():
    """The static coefficient acts through the time at which stick ends, and in no other way."""
    found = ss.sensitivity(
        ss.library.block_on_belt(), ["friction_static", "friction_kinetic", "belt_velocity", "x"], t_end=7.0, samples=3
    )
    assert found.reliable
    assert found.end[0] == pytest.approx([1.81859485365, 1.41614683655, -10.2644110242, -2.23474169020], rel=1e-10)
    assert found.end[2, :2] == pytest.approx([-0.832293673094, 0.909297426826], rel=1e-10)


def test_impact_oscillator_over_a_period():
    driven = ss.library.impact_oscillator()
    there = ss.Scenario(driven.system, [3.774110774572], [1.410635094632], 0.01, 2.0 * math.pi / 1.7, "", "")
    found = ss.sensitivity(there, ["x", "v", "restitution", "force"], samples=3)
    assert found.reliable
    exact = [
        [0.407899960465, 0.625955754989, 4.939650060532, 0.624206947285],
        [-0.348126501064, 0.549976592625, 0.006232481069, 0.557213906896],
    ]
    assert found.end == pytest.approx(np.array(exact), abs=1e-10)


def disc():
    x, y, alpha, v_x, v_y, omega, mu, e, e_T, g = sp.symbols("x y alpha v_x v_y omega mu e e_T g")
    floor = ss.Contact("floor", gap=y, slip=x + alpha, friction=mu, restitution_normal=e, restitution_tangential=e_T)
    return ss.LagrangianSystem.from_energies(
        [x, y, alpha], velocities=[v_x, v_y, omega], kinetic=(v_x**2 + v_y**2) / 2 + omega**2 / 4, potential=g * y,
        contacts=[floor], parameters={mu: 0.1, e: 0.8, e_T: 0.0, g: G}, name="disc",
    )  # fmt: skip


def test_disc_slides_sticks_or_stands_at_the_corner_of_friction():
    system = disc()

    def of(speed, names=("mu", "e", "y", "v_x")):
        start = ss.Scenario(system, [0, 1, 0], [speed, 0, 0], 0.01, 0.8, "", "")
        return ss.sensitivity(start, names, samples=2)

    slides, sticks = of(3.0), of(1.0)
    assert slides.reliable and sticks.reliable
    assert slides.end[0] == pytest.approx([-2.77840356202, -0.154355753446, 0.0410798218990, 0.8], rel=1e-10)
    assert slides.end[5, 0] == pytest.approx(-15.9460089051, rel=1e-10)
    assert sticks.end[0] == pytest.approx([0, 0, 0.0752539401643, 0.683841213662], abs=1e-11)
    least = of(1.0, ["e_T"])  # its coefficient is 0, and can only grow
    assert not least.reliable and "end of its range" in least.reason
    assert least.end[0, 0] == pytest.approx(-0.116158786338, rel=1e-10)
    assert sticks.end[1, 1:3] == pytest.approx([1.54355753446, 0.589201781010], rel=1e-10)
    corner = of(3.0 * 0.1 * 1.8 * math.sqrt(2.0 * G))
    assert not corner.reliable and "at its bound" in corner.reason and "t = 0.4515" in corner.reason


def test_two_balls_exchange_their_velocities():
    """x_2(1) = x_1 + 2 r + v_1: the case that a differentiable engine answers by (0.75, 0.25, 0.91, 0.08)."""
    x1, x2, v1, v2 = sp.symbols("x1 x2 v1 v2")
    system = ss.LagrangianSystem.from_energies(
        [x1, x2], velocities=[v1, v2], kinetic=(v1**2 + v2**2) / 2, name="balls on a line",
        contacts=[ss.Contact("balls", gap=x2 - x1 - sp.Rational(1, 5), restitution_normal=1)],
    )  # fmt: skip
    found = ss.sensitivity(
        ss.Scenario(system, [0, 0.52], [1, 0], 0.01, 1.0, "", ""), ["x1", "x2", "v1", "v2"], samples=2
    )
    assert found.reliable and found.end[1] == pytest.approx([1, 0, 1, 0], abs=1e-12)


def thrown_down(y, v, a, T):
    """(y, v) at T of a point with the acceleration a, thrown down, that bounces off the ground once, elastically."""
    t = (-v - (v * v - 2.0 * a * y) ** 0.5) / a
    up = -(v + a * t)
    return np.array([up * (T - t) + a * (T - t) ** 2 / 2.0, up + a * (T - t)])


def test_a_ball_that_starts_higher_ends_lower():
    """The time of impact, which differentiable engines miss: without gravity y(T) = -(y + v T), dy(T)/dy = -1.

    Hu et al. (DiffTaichi, 2020), brax issues 73 and 317: derivatives of steps have +1.  With a control a that pushes
    all the time, as Zhong, Han and Brikis (2022) compare engines, against complex steps.
    """
    y, v, a = sp.symbols("y v a")
    system = ss.LagrangianSystem.from_energies(
        [y], velocities=[v], kinetic=v**2 / 2, potential=-a * y, parameters={a: 0.0}, name="point",
        contacts=[ss.Contact("ground", gap=y, restitution_normal=1)],
    )  # fmt: skip
    point = ss.Scenario(system, [2.95], [-5.0], 0.01, 1.0, "", "")
    found = ss.sensitivity(point, ["y", "v"], samples=2)
    assert found.reliable and found.end == pytest.approx(np.array([[-1.0, -1.0], [0.0, -1.0]]), abs=1e-12)
    steps = ss.step_sensitivity(point, ["y"], dt=0.013)
    assert steps.end[:, 0] == pytest.approx([1.0, 0.0], abs=1e-12) and not steps.converges
    start = [2.95, -5.0, -1.5]
    pushed = ss.sensitivity(point, ["y", "v", "a"], params={"a": -1.5}, samples=2)
    exact = [thrown_down(*(x + 1e-30j * (i == k) for i, x in enumerate(start)), 1.0).imag / 1e-30 for k in range(3)]
    assert pushed.reliable and pushed.end == pytest.approx(np.transpose(exact), rel=1e-11)


@thinned
def test_every_element_agrees_with_differences():
    """Mass matrix that depends on the coordinates, moving contacts, clutch, spring, dry friction, restitution."""
    scenario = every_element()
    names = [*scenario.system.parameter_names[:4], *scenario.system.velocity_names[-1:]]
    found = ss.sensitivity(scenario, names, t_end=0.5, samples=2)
    assert len(found.event_times) > 3
    for name in names[-examples(1, 5) :]:
        agrees(found, name, central(scenario, name, 0.5, 1e-5), 1e-5)


@pytest.mark.parametrize("law", ["poisson", "stronge"])
def test_other_impact_laws_agree_with_differences(law):
    start = ss.Scenario(disc(), [0, 1, 0], [3, 0, 0], 0.01, 0.8, "", "")
    found = ss.sensitivity(start, ["mu", "e", "v_x"], samples=2, law=law)
    assert found.reliable
    for name in found.names:
        agrees(found, name, central(start, name, 0.8, 1e-4, law), 1e-6)


def test_what_has_no_derivative_is_said():
    system = point_mass()
    rest = ss.sensitivity(ss.Scenario(system, [0, 0], [1, 0], 0.01, 0.1, "", ""), ["y", "v_x"], samples=2)
    assert not rest.reliable and "touches contact" in rest.reason and "'y'" in rest.reason
    ends = ss.sensitivity(ss.library.bouncing_ball(), ["g"], t_end=math.sqrt(2.0 / G) * (1.0 + 1e-13), samples=2)
    assert not ends.reliable and "ends right at an event" in ends.reason


def test_bad_names_and_numbers():
    ball = ss.library.bouncing_ball()
    with pytest.raises(ValueError, match="did you mean 'restitution'"):
        ss.sensitivity(ball, ["restituton"])
    with pytest.raises(ValueError, match="at least one"):
        ss.sensitivity(ball, [])
    with pytest.raises(ValueError, match="twice"):
        ss.sensitivity(ball, ["g", "g"])
    with pytest.raises(ValueError, match="t_end must be positive"):
        ss.sensitivity(ball, "g", t_end=-1.0)
    with pytest.raises(ValueError, match="takes a Scenario"):
        ss.sensitivity(ball.system, "g")
    with pytest.raises(ValueError, match="wrt must be a name or a list of names, got 5"):
        ss.sensitivity(ball, 5)
    with pytest.raises(ValueError, match="params must be a dict"):
        ss.sensitivity(ball, "g", params=[1.0])
    with pytest.raises(ValueError, match="objective must be a function, got 5"):
        ss.gradient(5, ball, "g")
    with pytest.raises(ValueError, match="objective returns must be a finite number, got None"):
        ss.gradient(lambda q, u: None, ball, "g", t_end=0.2)
    with pytest.raises(ValueError, match="slope must return finite numbers by q"):
        ss.gradient(lambda q, u: q[0], ball, "g", t_end=0.2, slope=lambda q, u: ([math.nan], [0.0]))


def test_text_dataset_and_file(tmp_path):
    found = ss.sensitivity(ss.library.bouncing_ball(), ["g", "restitution"], t_end=1.0, samples=4)
    assert "reliable" in str(found) and "restitution" in str(found)
    data = found.to_xarray()
    assert float(data["dq"].sel(coordinate="y", quantity="g")[-1]) == found.end[0, 0]
    kept = np.load(found.save(tmp_path / "derivatives"))
    assert np.array_equal(kept["end"], found.end) and kept["names"].tolist() == ["g", "restitution"]


def test_gradient_of_the_end():
    ball = ss.library.bouncing_ball(restitution=0.8)
    value, slope = ss.gradient(lambda q, u: u[0] ** 2 / 2 + G * q[0], ball, ["restitution", "y"], t_end=1.0)
    assert value == pytest.approx(0.64 * G, rel=1e-9)  # e^2 g h
    assert slope == pytest.approx([1.6 * G, 0.64 * G], rel=1e-9)
    with pytest.raises(ValueError, match="no derivative on both sides"):
        ss.gradient(lambda q, u: q[0], ss.Scenario(point_mass(), [0, 0], [1, 0], 0.01, 0.1, "", ""), ["y"])


def test_gradient_of_samples_of_a_bouncing_ball():
    """Sum of squares of heights and velocities before, between and behind two impacts, against complex steps."""
    ball, times = ss.library.bouncing_ball(restitution=0.8), np.array([0.2, 0.7, 1.0, 1.5])

    def closed(z):
        total = 0.0
        for t in times:
            fall = np.array([z[1] - z[2] * t**2 / 2.0, -z[2] * t])
            y, v = ball_after(*z, t) if t > 0.46 else fall
            total = total + t * y**2 + v**2
        return total

    def objective(t, q, u):
        assert t.shape == (4,) and q.shape == u.shape == (4, 1)
        return np.sum(t[:, None] * q**2 + u**2)

    values = [0.8, 1.0, G]
    exact = [closed([v + 1e-30j * (k == j) for k, v in enumerate(values)]).imag / 1e-30 for j in range(3)]
    wrt = ["restitution", "y", "g"]
    value, found = ss.gradient(objective, ball, wrt, times=times)
    assert value == pytest.approx(closed(values), rel=1e-10) and found == pytest.approx(exact, rel=1e-10)
    slope = lambda t, q, u: (2.0 * t[:, None] * q, 2.0 * u)  # noqa: E731
    assert ss.gradient(objective, ball, wrt, times=times, slope=slope)[1] == pytest.approx(exact, rel=1e-10)


def test_gradient_of_event_times():
    """t_n = t_1 (1 + 2 (e + ... + e^(n-1))), t_1 = sqrt(2 h / g); a doubt behind the last event does not count."""
    ball, e = ss.library.bouncing_ball(restitution=0.8), 0.8
    fall = math.sqrt(2.0 / G)
    options = {"events": "impact", "contact": "table", "t_end": 1.9}  # three impacts
    value, found = ss.gradient(lambda t: t[2] ** 2, ball, ["restitution", "y"], **options)
    third = fall * (1.0 + 2.0 * e + 2.0 * e**2)
    exact = [2.0 * third * fall * (2.0 + 4.0 * e), third**2]
    assert value == pytest.approx(third**2, rel=1e-11) and found == pytest.approx(exact, rel=1e-10)
    slope = lambda t: [0.0, 0.0, 2.0 * t[2]]  # noqa: E731
    assert ss.gradient(lambda t: t[2] ** 2, ball, "y", slope=slope, **options)[1] == pytest.approx(exact[1:], rel=1e-10)


def test_gradients_that_are_refused():
    ball = ss.library.bouncing_ball(restitution=0.8)
    first = math.sqrt(2.0 / G)
    for options, said in [
        ({"times": [0.1, first]}, "right at an event"),
        ({"times": [0.2, 0.1]}, "times must rise"),
        ({"times": [0.2], "t_end": 1.0}, "not both"),
        ({"times": [0.2], "events": "impact"}, "got two"),
        ({"contact": "table"}, "give events"),
        ({"events": "impacts"}, "did you mean 'impact'"),
        ({"events": "impact", "contact": "tabel"}, "did you mean 'table'"),
        ({"events": "sticks", "t_end": 1.0}, "no event 'sticks'"),
        ({"events": "impact", "t_end": first * (1.0 + 1e-13)}, "ends right at"),
        ({"t_end": 0.3, "slope": lambda q, u: (q, u, u)}, "3 entries"),
        ({"t_end": 0.3, "slope": lambda q, u: (q, 0.0)}, "shape"),
        ({"t_end": 0.0}, "positive"),
    ]:
        with pytest.raises(ValueError, match=said):
            ss.gradient(lambda *seen: 0.0, ball, "g", **options)


def test_woodpecker():
    """Independent values: matrix exponentials of its linear modes, complex steps through all events."""
    found = ss.sensitivity(ss.library.woodpecker(), ["friction", "omega_S"], t_end=0.2, samples=3)
    assert found.reliable
    exact = np.array([[0.453000142805, -0.00535949736886], [11.3018399996, -0.125548055000]])
    assert found.end[[0, 2]] == pytest.approx(exact, rel=1e-9)
    times = [-0.261032647, -0.052466442, -0.128152025, -0.185056421, -0.169746120]
    times += [-0.157574118, -0.180354821, -0.223035906, -0.322864103, -0.927065683]
    assert found.event_times.dt[:, 0] == pytest.approx(times, abs=2e-9)
    assert np.abs(found.end[[1, 3, 4]]).max() < 1e-9  # the sleeve sticks


def test_smallest_restitution_acts_where_a_contact_opens_at_once():
    """A restitution of 0 can only grow: against a forward difference of runs."""
    toy = ss.library.woodpecker()
    found = ss.sensitivity(toy, ["restitution_sleeve"], t_end=0.2, samples=2)
    assert not found.reliable and "end of its range" in found.reason
    assert found.end[2, 0] == pytest.approx(2.63193977e-2, rel=1e-6)
    assert found.end[2, 0] == pytest.approx(forward(toy, "restitution_sleeve", 0.2, 2e-5)[2], rel=1e-4)


def forward(scenario, name, t_end, step):
    """d(q, u)(t_end)/d name from above, for a parameter that is 0: two steps, extrapolated."""

    def end(x):
        run = replace(scenario, params={name: x}).simulate(dt=t_end, t_end=t_end, stepper=ss.EventDriven(rtol=1e-12))
        return np.concatenate([run.q[-1], run.u[-1]])

    wide, narrow = ((end(h) - end(0.0)) / h for h in (step, step / 2.0))
    return 2.0 * narrow - wide


def test_wheel_that_rolls_over_its_spokes():
    """The impact of a spoke rolls: its slip is round-off before and after."""
    wheel = ss.library.rimless_wheel()
    found = ss.sensitivity(wheel, ["slope", "g", "inertia"], t_end=0.6, samples=2)
    assert found.reliable and "impact" in found.event_times.kinds
    for name in found.names:
        agrees(found, name, central(wheel, name, 0.6, 1e-6), 1e-6)


def test_mass_without_effect_is_no_doubt():
    """Masses of two balls that are equal do not matter: their derivatives are round-off, which leaves contacts."""
    balls = ss.library.two_balls()
    found = ss.sensitivity(
        replace(balls, params={"mass": 1.013 * balls.parameters["mass"]}), ["mass"], t_end=0.15, samples=2
    )
    assert found.reliable and np.abs(found.end).max() < 1e-9


def test_start_on_a_kink_is_said():
    masses = ss.library.three_masses()
    found = ss.sensitivity(masses, ["x_2"], t_end=0.01, samples=2)
    assert not found.reliable and "kink" in found.reason
    assert ss.sensitivity(masses, ["v_1"], t_end=0.01, samples=2).event_times.kinds[0] == "kink"


def test_given_restitution_of_the_law_does_not_depend_on_the_parameter():
    start = ss.Scenario(disc(), [0, 1, 0], [3, 0, 0], 0.01, 0.8, "", "")
    found = ss.sensitivity(start, ["e", "y"], samples=2, law=ss.Newton(restitution_normal=0.8))
    assert np.all(found.end[:, 0] == 0.0) and found.end[1, 1] == pytest.approx(0.589201781010, rel=1e-10)


def test_forces_that_jump_without_an_event_are_said():
    x, v, a, c = sp.symbols("x v a c")

    def of(force):
        system = ss.LagrangianSystem.from_energies(
            [x], velocities=[v], kinetic=v**2 / 2, potential=x**2 / 2, forces=[force], parameters={a: 0.1, c: 0.5}
        )
        return ss.sensitivity(ss.Scenario(system, [1], [0], 0.01, 0.5, "", ""), ["a"], samples=2)

    assert not of(-a * sp.sign(v)).reliable and "no event" in of(-a * sp.sign(v)).reason
    assert of(-a * sp.Abs(v) * v - c * sp.Abs(x) * x).reliable  # no jump; the kink at x = 0 is an event


def test_what_moves_a_start_off_its_constraints_is_told():
    """No run begins off a constraint; velocities that are off it are put onto it by every run."""
    top = ss.library.spinning_top()
    found = {name: ss.sensitivity(top, name, t_end=0.002, samples=2) for name in ("length", "z", "v_y", "mass")}
    for name in ("length", "z"):
        assert not found[name].reliable and "off the constraint 'tip" in found[name].reason
        assert "starts put back onto it" in found[name].reason
    assert found["v_y"].reliable and found["mass"].reliable


def test_a_start_that_rests_on_a_kink_is_doubted_where_a_velocity_moves_it_off():
    """Two masses touch and a spring between them only pushes: it acts to one side, and no event tells of it."""
    row = ss.library.three_masses()
    found = ss.sensitivity(row, ["v_2"], t_end=8e-4, samples=2)
    assert not len(found.event_times) and not found.reliable and "on a kink" in found.reason
    with pytest.raises(ValueError, match="on a kink"):
        ss.gradient(lambda q, u: u[2], row, ["v_2"], t_end=8e-4)
    assert ss.sensitivity(row, ["v_1"], t_end=8e-4, samples=2).reliable


def test_beam_at_rest_that_is_lifted_off_one_support():
    """Derivatives of a beam that has rested at 0 are round-off until it lifts off: no doubt."""
    y, th, w, om, t, F = sp.symbols("y th w om t F")
    contacts = [ss.Contact("left", gap=y - th), ss.Contact("right", gap=y + th)]
    system = ss.LagrangianSystem.from_energies(
        [y, th], velocities=[w, om], kinetic=(w**2 + om**2 / 3) / 2, potential=8 * y, forces=[F * t, F * t * 3 / 5],
        contacts=contacts, parameters={F: 10.0}, time=t,
    )  # fmt: skip
    found = ss.sensitivity(ss.Scenario(system, [0, 0], [0, 0], 1e-3, 0.8), ["F"], samples=2)
    assert found.reliable and found.event_times.kinds == ("opens",)
    # right opens when F t (1 + 3/5) = 8; then (4/3) om' = (8/5) F t - 8, y = th
    assert found.event_times.t == pytest.approx([0.5], rel=1e-9)
    assert found.event_times.dt[0] == pytest.approx([-0.05], rel=1e-9)
    rate = 0.75 * (1.6 * (0.8**2 - 0.5**2) / 2)
    assert found.end[2:, 0] == pytest.approx([rate, rate], rel=1e-9)


def test_a_remainder_in_a_force_is_said_to_jump():
    x, v, t, F, d = sp.symbols("x v t F d")
    system = ss.LagrangianSystem.from_energies(
        [x], velocities=[v], kinetic=v**2 / 2, forces=[F * sp.Mod(t, d)], parameters={F: 1.0, d: 0.4}, name="saw"
    )
    found = ss.sensitivity(ss.Scenario(system, [0], [0], 0.01, 0.3, "", ""), ["F"], samples=2)
    assert not found.reliable and "Mod(t, d) may jump" in found.reason
    assert found.end[:, 0] == pytest.approx([0.3**3 / 6.0, 0.3**2 / 2.0], rel=1e-10)


def brick(angle, t_end, **params):
    """A brick with two corners, 0.4 m above a floor and level where the angle is 0, that flies with 1 m/s."""
    x, y, phi, v, w, omega, R, L, mu, e = sp.symbols("x y phi v w omega R L mu e")
    corners = [
        ss.Contact(
            name, gap=y - R * sp.cos(phi) - side * L * sp.sin(phi), slip=x - side * L * sp.cos(phi) + R * sp.sin(phi),
            friction=mu, restitution_normal=e,
        )
        for name, side in (("left", 1), ("right", -1))
    ]  # fmt: skip
    system = ss.LagrangianSystem.from_energies(
        [x, y, phi], velocities=[v, w, omega], kinetic=(v**2 + w**2) / 2 + omega**2 / 12, potential=G * y,
        contacts=corners, parameters={R: 0.1, L: 0.3, mu: 0.4, e: 0.3}, name="flat brick",
    )  # fmt: skip
    return ss.Scenario(system, [0, 0.5, angle], [1, 0, 0], 0.01, t_end, "", "", params=params or None)


@pytest.mark.parametrize("t_end", [0.35, 0.5])
def test_a_brick_that_lands_flat_and_sticks(t_end):
    """Both corners share the friction in an open way; the motion is x = v t_1, whatever the shares are."""
    found = ss.sensitivity(brick(0.0, t_end), ["v", "y", "mu", "R"], samples=2)
    fall = math.sqrt(2.0 * 0.4 / G)
    assert found.reliable, found.reason
    assert found.end[0] == pytest.approx([fall, 1.0 / (G * fall), 0.0, -1.0 / (G * fall)], rel=1e-10, abs=1e-12)
    turned = ss.sensitivity(brick(0.0, t_end), ["phi"], samples=2)
    assert not turned.reliable and "at once, which a change parts" in turned.reason


def test_lift_off_of_what_sticks_is_one_event():
    """Load and friction of a ball that rests in a hollow vanish together when its floor falls away."""
    x, y, v, w, a, mu, t = sp.symbols("x y v w a mu t")
    hollow = ss.Contact("hollow", gap=y - a * sp.sin(18 * t) - 0.15 * x**2, slip=x, friction=mu)
    system = ss.LagrangianSystem.from_energies(
        [x, y], velocities=[v, w], kinetic=(v**2 + w**2) / 2, potential=G * y, contacts=[hollow],
        parameters={a: 0.05, mu: 0.2}, name="hollow",
    )  # fmt: skip
    found = ss.sensitivity(ss.Scenario(system, [0.1, 0.0015], [0, 0.9], 0.01, 0.15, "", ""), ["mu"], samples=2)
    assert "opens" in found.event_times.kinds and found.reliable, found.reason


@pytest.mark.parametrize("ahead", [5e-10, 1e-11, 0.0, -1e-11])
def test_impacts_nearer_than_the_tolerance_of_gaps_are_at_once(ahead):
    """A point strikes two walls of a corner; one of the walls is struck along with the other, since its gap is tiny."""
    x, y, v, w, e = sp.symbols("x y v w e")
    walls = [ss.Contact(name, gap=1 - s, restitution_normal=e) for name, s in (("right", x), ("top", y))]
    system = ss.LagrangianSystem.from_energies(
        [x, y], velocities=[v, w], kinetic=(v**2 + w**2) / 2 + v * w / 4, contacts=walls, parameters={e: 0.5},
        name="corner",
    )  # fmt: skip
    found = ss.sensitivity(ss.Scenario(system, [0, ahead], [1, 1], 0.01, 2.0, "", ""), ["x"], samples=2)
    assert not found.reliable and "right, top at once, which a change parts" in found.reason
    assert ss.sensitivity(ss.Scenario(system, [0, ahead], [1, 1], 0.01, 2.0, "", ""), ["e"], samples=2).reliable


def test_a_sample_right_at_an_impact_is_said():
    ball = ss.library.bouncing_ball(restitution=0.8).starting({"y": G / 8.0})  # strikes at t = 0.5 s
    for samples, reliable in ((2, True), (3, False), (4, True)):
        found = ss.sensitivity(ball, ["y"], t_end=1.0, samples=samples)
        assert found.reliable is reliable
    assert "a sample lies right at an event" in ss.sensitivity(ball, ["y"], t_end=1.0, samples=3).reason


def test_a_sample_right_where_a_contact_opens_has_its_derivative():
    """A mass under the force F (t - 1) leaves its table at t = 1 s: y = F (t - 1)^3 / 6."""
    y, v, F, t = sp.symbols("y v F t")
    system = ss.LagrangianSystem.from_energies(
        [y], velocities=[v], kinetic=v**2 / 2, forces=[F * (t - 1) + (F - 2) / 10], parameters={F: 2.0},
        contacts=[ss.Contact("table", gap=y)], name="leaves",
    )  # fmt: skip
    start = ss.Scenario(system, [0], [0], 0.01, 2.0, "", "")
    found = ss.sensitivity(start, ["F"], samples=3)
    assert found.reliable and found.event_times.kinds == ("opens",)
    assert found.event_times.dt[0] == pytest.approx([-0.05], rel=1e-9)
    assert found.q[:, 0, 0] == pytest.approx([0.0, 0.0, 1.0 / 6.0 + 0.05], abs=1e-10)
    assert ss.gradient(lambda q, u: q[0], start, ["F"], t_end=1.0)[1] == pytest.approx([0.0], abs=1e-12)
