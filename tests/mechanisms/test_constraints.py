"""Constraints beside minimal coordinates and closed forms: pendulum, closed loops, drives, rolling, redundancy."""

import math

import numpy as np
import pytest
import sympy as sp

import stickslip as ss
from stickslip import library
from stickslip.lcp.gauss_seidel import one_contact
from stickslip.library.four_bar import assembled
from stickslip.mechanisms.inertia import Inertia, onto_equations
from stickslip.mechanisms.system import CONSTRAINT, KIND_NAMES, NONHOLONOMIC
from stickslip.trajectory import STATE_NAMES, Certificate

x, y, v_x, v_y, a, w = sp.symbols("x y v_x v_y a w")
LENGTH, MASS, G = 1.0, 2.0, 9.81
STEPPERS = ("moreau-midpoint", "moreau-jean", "stewart-trinkle", "paoli-schatzman")
ROD = ss.Constraint("rod", equation=(x**2 + y**2 - LENGTH**2) / 2)


def in_plane(*constraints, contacts=(), **options):
    """A point mass under gravity in the plane."""
    return ss.LagrangianSystem.from_energies(
        [x, y],
        velocities=[v_x, v_y],
        kinetic=MASS * (v_x**2 + v_y**2) / 2,
        potential=MASS * G * y,
        contacts=contacts,
        constraints=constraints,
        **options,
    )


def by_angle(contacts=()):
    """The pendulum by its angle."""
    return ss.LagrangianSystem.from_energies(
        [a],
        velocities=[w],
        kinetic=MASS * LENGTH**2 * w**2 / 2,
        potential=-MASS * G * LENGTH * sp.cos(a),
        contacts=contacts,
    )


def stops(X, Y):
    """A wall and a floor with friction, beside the pendulum's path."""
    return [
        ss.Contact("wall", gap=X + 0.3, slip=Y, friction=0.3, restitution_normal=0.6),
        ss.Contact("floor", gap=Y + 0.97, slip=X, friction=0.1, restitution_normal=0.2),
    ]


CART, ANGLE = in_plane(ROD, contacts=stops(x, y)), by_angle(stops(LENGTH * sp.sin(a), -LENGTH * sp.cos(a)))


def start(angle, speed=0.0):
    """State of the point mass where the pendulum has an angle [rad] and an angular velocity [rad/s]."""
    return (
        [LENGTH * math.sin(angle), -LENGTH * math.cos(angle)],
        [LENGTH * speed * math.cos(angle), LENGTH * speed * math.sin(angle)],
    )


def ended(angle, speed, t):
    """The pendulum after a time t, integrated by its angle."""
    from scipy.integrate import solve_ivp

    field = lambda _, z: [z[1], -G / LENGTH * math.sin(z[0])]  # noqa: E731
    return start(*solve_ivp(field, (0.0, t), [angle, speed], method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1])


@pytest.mark.parametrize(("stepper", "order"), list(zip(STEPPERS, (2, 2, 1, 1), strict=True)))
def test_pendulum_in_cartesian_coordinates(stepper, order):
    free, (q_end, _) = in_plane(ROD), ended(2.0, 0.0, 1.0)
    errors = []
    for dt in (0.02, 0.01):
        run = ss.simulate(free, *start(2.0), dt=dt, t_end=1.0, stepper=stepper, engine="reference")
        errors.append(np.abs(run.q[-1] - q_end).max())
        assert run.complete and run.certificate.max_constraint_error < 1e-15
        assert run.certificate.max_constraint_rate < 1e-14
        assert np.all(run.contact_state[1:] == STATE_NAMES.index("closed"))
    assert 2**order == pytest.approx(errors[0] / errors[1], rel=0.2)
    # hanging on the rod: its force is the weight along it and the centripetal force
    force = run.tangential_impulse[-1, 0] / 0.01
    here, velocity = run.q[-1], run.u[-1]
    assert force == pytest.approx((MASS * G * here[1] - MASS * velocity @ velocity) / LENGTH**2, rel=0.1)


def test_work_of_a_constraint_is_none_and_its_projections_are_booked():
    run = ss.simulate(in_plane(ROD), *start(2.0), dt=0.01, t_end=1.0, engine="reference")
    certificate = run.certificate
    assert certificate.contact_work == 0.0 and abs(certificate.projection_energy) < 1e-2
    total = certificate.projection_energy + certificate.integration_energy
    assert total == pytest.approx(run.energy.total[-1] - run.energy.total[0], abs=1e-12)
    assert "constraints off by" in str(certificate)
    assert "constraints off by" not in str(Certificate())


@pytest.mark.parametrize("stepper", STEPPERS)
@pytest.mark.parametrize("engine", ["reference", pytest.param("compiled", marks=pytest.mark.slow)])
def test_impacts_of_the_constrained_pendulum(stepper, engine):
    """One impact on the floor: velocities and impulses are those of the pendulum by its angle."""
    options = {"dt": 2e-3, "t_end": 0.55, "stepper": stepper, "engine": engine, "on_energy_gain": "ignore"}
    cart, angle = (ss.simulate(s, *z, **options) for s, z in ((CART, start(1.2)), (ANGLE, ([1.2], [0.0]))))
    seen = np.column_stack([np.sin(angle.q[:, 0]), -np.cos(angle.q[:, 0])])
    assert np.abs(cart.q - seen).max() < 1e-2
    hits = cart.impacts()
    names = [cart.contact_names[k] for k in hits["contact"]]
    assert names[:2] == ["floor", "rod"] and len(angle.impacts()) >= 1
    assert hits["normal_impulse"][0] == pytest.approx(angle.impacts()["normal_impulse"][0], rel=5e-2)


def test_kernel_and_reference_agree_through_an_impact():
    runs = [ss.simulate(CART, *start(1.2), dt=1e-3, t_end=0.7, engine=e) for e in ("reference", "compiled")]
    for name in ("q", "u", "normal_impulse", "tangential_impulse"):
        np.testing.assert_allclose(getattr(runs[1], name), getattr(runs[0], name), rtol=0, atol=2e-9)
    assert np.array_equal(runs[0].contact_state, runs[1].contact_state)
    assert len(runs[0].impacts()) == len(runs[1].impacts()) == 2
    for name in ("max_constraint_error", "max_constraint_rate"):
        assert max(getattr(run.certificate, name) for run in runs) < 1e-14


@pytest.mark.slow
@pytest.mark.parametrize("stepper", STEPPERS)
@pytest.mark.parametrize("engine", ["compiled"])
def test_every_kernel_agrees_with_its_reference(stepper, engine):
    runs = [
        ss.simulate(CART, *start(1.2), dt=1e-3, t_end=0.7, engine=e, stepper=stepper, on_energy_gain="ignore")
        for e in ("reference", engine)
    ]
    np.testing.assert_allclose(runs[1].q, runs[0].q, rtol=0, atol=1e-8)
    np.testing.assert_allclose(runs[1].tangential_impulse, runs[0].tangential_impulse, rtol=0, atol=1e-8)


@pytest.mark.parametrize("law", ["newton", "poisson", "stronge"])
def test_impulse_on_the_constraint_equals_that_of_minimal_coordinates(law):
    """Impulses of floor and rod: the rod's follows from the balance of momentum along it."""
    angle = math.acos(0.97)
    one = ss.impact(ANGLE, [angle], [-3.0], law)
    two = ss.impact(CART, *start(angle, -3.0), law)
    np.testing.assert_allclose(two.normal_impulse[:2], one.normal_impulse, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(two.tangential_impulse[:2], one.tangential_impulse, rtol=1e-9, atol=1e-12)
    q, before = (np.array(z) for z in start(angle, -3.0))
    pushed = MASS * (two.u - before) - np.array([two.tangential_impulse[1], two.normal_impulse[1]])
    np.testing.assert_allclose(pushed, q * two.tangential_impulse[2], rtol=1e-9, atol=1e-12)
    assert abs(two.u @ q) < 1e-12
    assert two.energy_change == pytest.approx(one.energy_change, rel=1e-9)


def test_stack_of_impacts_with_constraints():
    angle = math.acos(0.97)
    q, u = start(angle, -3.0)
    hits = ss.impact(CART, q, np.array([u, 2.0 * np.array(u)]))
    np.testing.assert_allclose(hits.tangential_impulse[1], 2.0 * hits.tangential_impulse[0], rtol=1e-12)
    with pytest.raises(ValueError, match="constraint 'rod' is violated by u: its velocity is"):
        ss.impact(CART, q, [1.0, -1.0])


def test_redundant_constraints_share_the_load_equally():
    """A constraint that is written three times, once as its double: each carries a third, in whatever scale."""
    rods = [ROD, ss.Constraint("again", equation=ROD.equation), ss.Constraint("double", equation=2 * ROD.equation)]
    system, single = in_plane(*rods), in_plane(ROD)
    q, u = start(1.0, 2.0)
    found, alone = (ss.accelerations(s, q, u)[0] for s in (system, single))
    np.testing.assert_allclose(found.acceleration, alone.acceleration, rtol=1e-13)
    np.testing.assert_allclose(found.tangential_force * [1, 1, 2], alone.tangential_force[0] / 3, rtol=1e-12)
    runs = [ss.simulate(s, q, u, dt=0.01, t_end=0.3, engine="reference") for s in (system, single)]
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-13)
    shares = runs[0].tangential_impulse * [1, 1, 2]
    np.testing.assert_allclose(shares[1:], np.tile(runs[1].tangential_impulse[1:] / 3, 3), rtol=0, atol=1e-13)


@pytest.mark.slow
def test_redundant_constraints_in_kernels_and_event_by_event():
    rods = [ROD, ss.Constraint("again", equation=ROD.equation), ss.Constraint("double", equation=2 * ROD.equation)]
    system, (q, u) = in_plane(*rods), start(1.0, 2.0)
    reference = ss.simulate(system, q, u, dt=0.01, t_end=0.3, engine="reference")
    for stepper in (*STEPPERS, "event-driven"):
        run = ss.simulate(system, q, u, dt=0.01, t_end=0.3, stepper=stepper)
        shares = run.tangential_impulse[1:] * [1, 1, 2]
        np.testing.assert_allclose(shares, np.tile(shares[:, :1], 3), rtol=1e-9)
    compiled = ss.simulate(system, q, u, dt=0.01, t_end=0.3, engine="compiled")
    np.testing.assert_allclose(compiled.tangential_impulse, reference.tangential_impulse, rtol=0, atol=1e-12)


def test_start_that_violates_a_velocity_is_an_impact_at_the_start():
    q, _ = start(1.0)
    run = ss.simulate(in_plane(ROD), q, [1.0, 0.0], dt=0.01, t_end=0.05, engine="reference")
    first = run.impacts()
    assert [run.contact_names[k] for k in first["contact"]] == ["rod"] and first["time"][0] == 0.0
    along = np.array([math.cos(1.0), math.sin(1.0)])
    np.testing.assert_allclose(run.u[0], along * along[0], rtol=1e-13)
    np.testing.assert_allclose(first["tangential_impulse"], [-MASS * q[0]], rtol=1e-13)
    assert first["tangential_velocity_before"][0] == pytest.approx(q[0])


@pytest.mark.parametrize(
    ("constraints", "q", "message"),
    [
        ([ROD], [0.9, 0.0], "constraint 'rod' starts with g = -0.095, which must be zero within penetration_tol"),
        (
            [ss.Constraint("a", equation=x - y), ss.Constraint("b", velocity=v_x - v_y - 1)],
            [0.0, 0.0],
            "constraint '[ab]' and the others contradict one another at t = 0 s: no velocity fulfils them all",
        ),
    ],
)
def test_a_start_that_cannot_be(constraints, q, message):
    with pytest.raises(ValueError, match=message):
        ss.simulate(in_plane(*constraints), q, [0.0, 0.0], dt=0.01, t_end=0.1, engine="reference")


def test_constraints_that_run_into_a_contradiction_end_the_run():
    """A string of length 1 whose drive pulls its end away: from t = 0.5 s on no position fulfils both."""
    t = sp.Symbol("t")
    system = in_plane(ROD, ss.Constraint("drive", equation=x - 2 * t))
    run = ss.simulate(system, [0.0, -1.0], [2.0, 0.0], dt=0.01, t_end=1.0, engine="reference")
    assert not run.complete and run.t[-1] <= 0.5
    assert "constraint" in run.status and run.certificate.failed_steps == 1


def driven_into_a_wall():
    """A drive that pushes a mass against a wall, and one that slides along it."""
    t = sp.Symbol("t")
    wall = ss.Contact("wall", gap=1 - x, slip=y, friction=0.3)
    return in_plane(ss.Constraint("drive", equation=x - 0.9 - t), contacts=[wall])


@pytest.mark.parametrize("engine", ["reference", pytest.param("compiled", marks=pytest.mark.slow)])
def test_a_drive_that_runs_into_a_wall_ends_the_run(engine):
    """Constraints hold the normal of the contact: no impulse could stop it, and none is made up."""
    run = ss.simulate(driven_into_a_wall(), [0.9, 0.0], [1.0, 0.0], dt=1e-3, t_end=0.3, engine=engine)
    assert not run.complete and run.t[-1] == pytest.approx(0.1, abs=2e-3)
    assert "contact 'wall' closes with 1 m/s, and constraints hold its normal: no impulse can stop it" in run.status
    with pytest.raises(ValueError, match="contact 'wall' closes with 1 m/s, and constraints hold its normal"):
        ss.impact(driven_into_a_wall(), [1.0, 0.0], [1.0, 0.0], t=0.1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ss.Constraint(""), "a constraint needs a name"),
        (lambda: ss.Constraint("a"), "constraint 'a' needs equation=, .* or velocity="),
        (lambda: ss.Constraint("a", equation=x, velocity=v_x), "constraint 'a': give equation= or velocity="),
        (lambda: ss.Constraint("a", equation=x, drift=1.0), "constraint 'a': drift belongs to direction"),
        (lambda: in_plane(ss.Constraint("a", equation=sp.S.One)), "equation of constraint 'a' does not depend on any"),
        (lambda: in_plane(ss.Constraint("a", equation=v_x)), "equation of constraint 'a' may depend on coordinates"),
        (lambda: in_plane(ss.Constraint("a", velocity=v_x**2)), "velocity of constraint 'a' must be linear"),
        (
            lambda: in_plane(ss.Constraint("a", velocity=x)),
            "velocity of constraint 'a' does not depend on any velocity",
        ),
        (lambda: in_plane(ss.Constraint("a", equation=sp.sign(x))), "equation of constraint 'a' jumps at"),
        (lambda: in_plane(ROD, ROD), "contact and constraint names must be unique"),
        (lambda: in_plane(x - y), r"constraints must be a list of Constraint\(name, equation=...\), got x - y"),
    ],
)
def test_wrong_constraints(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_equations_names_and_units():
    t = sp.Symbol("t")
    moving = ss.Constraint("cart", equation=sp.Eq(x, 0.3 * sp.sin(5 * t)))
    system = in_plane(moving, ss.Constraint("roll", velocity=v_y - x * v_x), units={"x": "m"})
    assert system.constraint_names == ("cart", "roll") and list(system.constraints) == [0, 1]
    assert system.contact_kinds == (CONSTRAINT, NONHOLONOMIC)
    assert [KIND_NAMES[kind] for kind in system.contact_kinds] == ["constraint", "velocity constraint"]
    text = system.equations().text()
    assert "constraint 'cart': g = 0" in text and "velocity constraint 'roll': J u + b = 0" in text
    J, b = (part[:, :] if part.ndim > 1 else part for part in system.geometry([0.5, 0.0], 0.2)[1:])
    np.testing.assert_allclose(J, [[1.0, 0.0], [-0.5, 1.0]])
    np.testing.assert_allclose(b[:, 1], [-1.5 * math.cos(1.0), 0.0])
    assert system.forced and r"\mathbf{J}_{1}" in system.equations().latex()


def test_constraint_in_a_system_of_functions():
    system = ss.LagrangianSystem(
        mass=MASS * np.eye(2),
        force=lambda q, u, t, p: (0.0, -MASS * G),
        potential=lambda q, t, p: MASS * G * q[1],
        constraints=[
            ss.Constraint(
                "rod",
                equation=lambda q, t, p: 0.5 * (q[0] * q[0] + q[1] * q[1] - 1.0),
                direction=lambda q, t, p: (q[0], q[1]),
            )
        ],
    )
    runs = [ss.simulate(s, *start(2.0), dt=0.01, t_end=0.2, engine="reference") for s in (system, in_plane(ROD))]
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-13)
    with pytest.raises(ValueError, match="constraint 'rod' needs direction="):
        ss.LagrangianSystem(
            mass=np.eye(2),
            force=lambda q, u, t, p: (0.0, 0.0),
            constraints=[ss.Constraint("rod", equation=lambda q, t, p: q[0])],
        )


def test_rolling_disc_on_a_slope():
    """A disc that rolls down a slope: acceleration 2/3 g sin, and rolling takes a third of the weight along it."""
    R, slope = 0.2, 0.3
    phi, omega = sp.symbols("phi omega")
    disc = ss.LagrangianSystem.from_energies(
        [x, phi],
        velocities=[v_x, omega],
        kinetic=MASS * v_x**2 / 2 + MASS * R**2 * omega**2 / 4,
        potential=-MASS * G * sp.sin(slope) * x,
        constraints=[ss.Constraint("rolling", velocity=v_x - R * omega)],
    )
    weight = MASS * G * math.sin(slope)
    found = ss.accelerations(disc, [0.0, 0.0], [0.0, 0.0])
    np.testing.assert_allclose(found[0].acceleration, [2 * weight / 3 / MASS, 2 * weight / 3 / MASS / R], rtol=1e-13)
    np.testing.assert_allclose(found[0].tangential_force, [-weight / 3], rtol=1e-13)
    assert found[0].motion == ("holds",) and "rolling: holds" in str(found)
    for stepper in STEPPERS:
        run = ss.simulate(disc, [0.0, 0.0], [0.0, 0.0], dt=0.01, t_end=1.0, stepper=stepper, engine="reference")
        assert run.u[-1, 0] == pytest.approx(2 * weight / 3 / MASS, rel=1e-12)
        assert run.tangential_impulse[1:].sum() == pytest.approx(-weight / 3, rel=1e-12)


def four_bar(*extra):
    """The four-bar linkage of the library as a closed loop: all three links, joined by constraints."""
    p = library.keywords("four_bar")
    theta, omega, t = sp.symbols("theta_1:4"), sp.symbols("omega_1:4"), sp.Symbol("t")
    ends = {1: (0, 0), 2: (p["l_1"] * sp.cos(theta[0]), p["l_1"] * sp.sin(theta[0])), 3: (p["l_0"], 0)}
    T, V = p["m_2"] * 0, 0
    for i, (m, J) in {1: (0.1, 1e-4), 2: (p["m_2"], p["J_2"]), 3: (p["m_3"], p["J_3"])}.items():
        half = p[f"l_{i}"] / 2
        c = [ends[i][0] + half * sp.cos(theta[i - 1]), ends[i][1] + half * sp.sin(theta[i - 1])]
        rates = [sum(sp.diff(z, q) * u for q, u in zip(theta, omega, strict=True)) for z in c]
        T += m * (rates[0] ** 2 + rates[1] ** 2) / 2 + J * omega[i - 1] ** 2 / 2
        V += m * G * c[1]
    pin = [
        ends[2][k] + p["l_2"] * f(theta[1]) - ends[3][k] - p["l_3"] * f(theta[2]) for k, f in ((0, sp.cos), (1, sp.sin))
    ]
    constraints = [
        ss.Constraint("pin x", equation=pin[0]),
        ss.Constraint("pin y", equation=pin[1]),
        ss.Constraint("crank", equation=theta[0] - p["crank_speed"] * t),
        *extra,
    ]
    system = ss.LagrangianSystem.from_energies(
        theta, velocities=omega, kinetic=T, potential=V, constraints=constraints, name="closed loop"
    )
    scenario = library.four_bar()
    return system, np.array([0.0, *scenario.q0]), np.array([p["crank_speed"], *scenario.u0]), p


def test_four_bar_as_a_closed_loop():
    """A driven loop moves as its geometry says, whatever the masses; the drive's torque is the power of the energy."""
    system, q0, u0, p = four_bar()
    run = ss.simulate(system, q0, u0, dt=2e-3, t_end=0.21, engine="reference")
    exact = np.array([(p["crank_speed"] * t, *assembled(p["crank_speed"] * t, p)) for t in run.t])
    assert np.abs(np.exp(1j * run.q) - np.exp(1j * exact)).max() < 1e-13
    assert run.certificate.max_constraint_error < 1e-14 and run.certificate.max_constraint_rate < 1e-13
    work = p["crank_speed"] * run.tangential_impulse[1:, 2].sum()
    assert work == pytest.approx(run.energy.total[-1] - run.energy.total[0], abs=2e-2 * np.ptp(run.energy.total))


def test_slider_crank_at_constant_speed():
    """[FLG10] 6.1: the crank turns at constant speed, whatever the slider does in its guide."""
    driven, free = library.slider_crank(crank="driven"), library.slider_crank()
    assert driven.system.constraint_names == ("crank",) and free.system.constraint_names == ()
    run = driven.simulate(t_end=0.005, dt=5e-5, engine="reference")
    np.testing.assert_allclose(run.q[:, 0], 150.0 * run.t, rtol=0, atol=1e-13)
    np.testing.assert_allclose(run.u[:, 0], 150.0, rtol=1e-14)
    assert np.ptp(free.simulate(t_end=0.005, dt=5e-5, engine="reference").u[:, 0]) > 1.0
    with pytest.raises(ValueError, match="crank must be one of free, driven, got 'stuck'"):
        library.slider_crank(crank="stuck")


def sleigh_in_closed_form(t, speed=-0.2, spin=2.0, m=1.0, inertia=0.1, offset=0.3):
    """Velocity along the blade and angular velocity of Chaplygin's sleigh."""
    B = inertia + m * offset**2
    V = math.sqrt(speed**2 + B / m * spin**2)
    k = m * offset * V / B
    s = k * t + math.atanh(speed / V)
    return V * np.tanh(s), V * math.sqrt(m / B) / np.cosh(s)


@pytest.mark.parametrize(("stepper", "tol"), [("event-driven", 2e-9), ("moreau-midpoint", 1e-2)])
def test_chaplygin_sleigh(stepper, tol):
    run = library.chaplygin_sleigh().simulate(stepper=stepper, dt=0.02, t_end=8.0)
    along = run.u[:, 0] * np.cos(run.q[:, 2]) + run.u[:, 1] * np.sin(run.q[:, 2])
    v, omega = sleigh_in_closed_form(run.t)
    assert np.abs(along - v).max() < tol and np.abs(run.u[:, 2] - omega).max() < tol
    assert run.certificate.max_constraint_rate < 1e-9 and run.certificate.max_constraint_error == 0.0


@pytest.mark.slow
def test_event_driven_pendulum_with_impacts():
    cart, angle = (
        ss.simulate(s, *z, dt=0.01, t_end=1.5, stepper="event-driven")
        for s, z in ((CART, start(1.2)), (ANGLE, ([1.2], [0.0])))
    )
    seen = np.column_stack([np.sin(angle.q[:, 0]), -np.cos(angle.q[:, 0])])
    np.testing.assert_allclose(cart.q, seen, rtol=0, atol=1e-8)
    assert len(cart.events()) == len(angle.events())
    hits = cart.impacts()
    own = hits["contact"] < 2
    np.testing.assert_allclose(hits["time"][own], angle.impacts()["time"], rtol=0, atol=2e-8)
    # momentum along the rod: m (u+ - u-) . q = N . q + Lambda q . q
    Lambda = hits["tangential_impulse"][~own]
    N, T = hits["normal_impulse"][own], hits["tangential_impulse"][own]
    y_hit = -0.97
    np.testing.assert_allclose(Lambda, -(N * y_hit + T * math.sqrt(1 - y_hit**2)), rtol=1e-6)


@pytest.mark.slow
def test_adaptive_pendulum():
    run = ss.simulate(in_plane(ROD), *start(2.0), dt=0.05, t_end=2.0, stepper="adaptive")
    assert np.abs(run.q[-1] - ended(2.0, 0.0, 2.0)[0]).max() < 1e-5
    assert run.certificate.max_constraint_error < 1e-14 and run.certificate.max_constraint_rate < 1e-13


def test_equilibrium_with_reactions():
    hanging = in_plane(ROD, ss.Constraint("again", equation=ROD.equation))
    rest = ss.equilibrium(hanging, [0.0, -LENGTH])
    assert rest.holds and rest.certain and rest.safety_factor == math.inf
    np.testing.assert_allclose(rest.tangential_force, -MASS * G / LENGTH / 2, rtol=1e-12)
    assert not ss.equilibrium(hanging, [LENGTH, 0.0]).holds
    with pytest.raises(ValueError, match="constraint 'rod' is given with g ="):
        ss.equilibrium(hanging, [0.0, -0.9])


def test_contact_problem_has_the_projected_delassus_matrix():
    """G of the contacts is that of minimal coordinates, and the LCP has no row for the constraint."""
    angle = math.acos(0.97)
    one = ss.contact_problem(ANGLE, [angle], [-3.0], 0.0)
    two = ss.contact_problem(CART, *start(angle, -3.0), 0.0)
    assert one.unknowns == two.unknowns and two.contacts == ("floor",)
    np.testing.assert_allclose(two.A, one.A, rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(two.b, one.b, rtol=1e-10)
    assert two.solve().reaction.shape == (1,)


def test_inertia_by_a_second_route():
    """P of the module equals the mass of minimal coordinates: P = T (T^T M T)^-1 T^T with T tangent to the rod."""
    q, p = np.array([0.6, -0.8]), CART.parameter_values
    inertia, tangent = Inertia.at(CART, q, 0.0, p), np.array([[0.8], [0.6]])
    M = CART.mass(q)
    expected = tangent @ np.linalg.solve(tangent.T @ M @ tangent, tangent.T)
    np.testing.assert_allclose(inertia.solve(np.eye(2)), expected, rtol=0, atol=1e-16)
    off = onto_equations(CART, 0.0, np.array([0.7, -0.8]), p)
    assert abs(off @ off - 1.0) < 1e-15


def test_one_contact_of_one_motion_is_no_matter_of_rounding():
    """Both velocities of a contact of one degree of freedom are those of one motion: no impulses of 1e15."""
    n, s = 0.24310491562286438, 0.97  # directions of normal and tangent, times one velocity
    alpha, beta, delta = n * n, s * s, n * s
    for rounding in (0.0, 1e-17, -1e-17):
        N, T = one_contact.py_func(alpha, beta, delta + rounding, -0.8, -0.8 * s / n, 0.1, 0.0)
        assert 0.0 <= N < 1e3 and abs(T) <= 0.1 * N + 1e-12


def test_constraints_in_model_files(tmp_path):
    path = tmp_path / "model.toml"
    for scenario in (library.chaplygin_sleigh(), library.slider_crank(crank="driven")):
        path.write_text(ss.model_text(scenario), encoding="utf-8")
        assert ss.read_model(path).scenario.system.source() == scenario.system.source()
    assert scenario.sizes()["constraints"] == 1 and scenario.sizes()["contacts"] == 4
    text = ss.model_text(library.chaplygin_sleigh())
    assert '[[constraints]]\nname = "blade"\nvelocity = ' in text
    for old, new, message in (
        (
            '"blade"\nvelocity = ',
            '"blade"\nequation = ',
            r"constraints\[0\].*may depend on coordinates, time, parameters",
        ),
        (
            '"blade"\nvelocity = ',
            '"blade"\nequation = "x"\nvelocity = ',
            r"constraints\[0\].*give equation= or velocity=",
        ),
        ('"blade"\nvelocity = ', '"blade"\nspeed = ', "constraints.*speed"),
    ):
        path.write_text(text.replace(old, new), encoding="utf-8")
        with pytest.raises(ValueError, match=message):
            ss.read_model(path)


def test_constraints_in_functions_of_time_are_written_in_symbols(tmp_path):
    from sympy.physics.mechanics import dynamicsymbols

    z, turn = dynamicsymbols("z turn")
    R, omega = sp.symbols("R omega")
    system = ss.LagrangianSystem.from_energies(
        [z, turn],
        kinetic=z.diff() ** 2 / 2 + R**2 * turn.diff() ** 2 / 4,
        contacts=[ss.Contact("stop", gap=1 - z)],
        constraints=[
            ss.Constraint("crank", equation=turn - omega * dynamicsymbols._t),
            ss.Constraint("rolling", velocity=z.diff() - R * turn.diff()),
        ],
        parameters={R: 0.2, omega: 3.0},
    )
    scenario = ss.Scenario(system, np.zeros(2), np.zeros(2), 0.01, 0.2, "wheel", "test")
    path = tmp_path / "wheel.toml"
    path.write_text(ss.model_text(scenario), encoding="utf-8")
    again = ss.read_model(path).scenario
    assert again.system.source() == system.source()
    run = again.simulate(engine="reference")
    np.testing.assert_allclose(run.u[1:], np.tile([0.6, 3.0], (20, 1)), rtol=1e-13)
    first = run.impacts()  # from rest to the speed of the drive
    assert [run.contact_names[k] for k in first["contact"]] == ["crank", "rolling"]
    np.testing.assert_allclose(first["tangential_impulse"], [0.5 * 0.04 * 3.0 + 0.2 * 0.6, 0.6], rtol=1e-12)


def test_reactions_in_saved_runs_and_on_the_page(tmp_path):
    from stickslip.page.payload import _contact_curves

    run = ss.simulate(in_plane(ROD), *start(2.0), dt=0.01, t_end=0.2, engine="reference")
    file = run.save(tmp_path / "run.nc")
    again = ss.load(file)
    assert again.contact_kinds == (CONSTRAINT,)
    np.testing.assert_array_equal(again.tangential_impulse, run.tangential_impulse)
    assert again.certificate.constrained == 1
    assert again.certificate.max_constraint_rate == run.certificate.max_constraint_rate
    curves = _contact_curves(run, np.arange(len(run.t)))
    assert [curve["group"] for curve in curves] == ["reaction"]


def forced(coordinates):
    """A damped, driven oscillator with a stop: by its own coordinate, or with a second one that a constraint joins."""
    t = sp.Symbol("t")
    m, M, k, c = 1.0, 0.5, 20.0, 0.3
    push = 6 * sp.cos(4 * t)
    stop = ss.Contact("stop", gap=0.15 - x, restitution_normal=0.5)
    joined = x + x**2
    if coordinates == 1:
        system = ss.LagrangianSystem.from_energies(
            [x], velocities=[v_x], kinetic=m * v_x**2 / 2 + M * (v_x * (1 + 2 * x)) ** 2 / 2,
            potential=k * x**2 / 2, forces=[push - c * v_x], contacts=[stop],
        )  # fmt: skip
    else:
        system = ss.LagrangianSystem.from_energies(
            [x, y], velocities=[v_x, v_y], kinetic=m * v_x**2 / 2 + M * v_y**2 / 2, potential=k * x**2 / 2,
            forces=[push - c * v_x, 0], contacts=[stop], constraints=[ss.Constraint("joint", equation=y - joined)],
        )  # fmt: skip
    n = coordinates
    return ss.Scenario(system=system, q0=np.zeros(n), u0=np.zeros(n), dt=1e-3, t_end=20.0, title="", source="")


@pytest.mark.slow
def test_multipliers_of_a_cycle_through_constraints():
    section = ss.PhaseSection(2 * math.pi / 4)
    one, two = (ss.limit_cycle(forced(n), section=section) for n in (1, 2))
    np.testing.assert_allclose(two.q[0], one.q[0], rtol=0, atol=1e-7)
    kept = two.multipliers[np.abs(two.multipliers) > 1e-6]
    np.testing.assert_allclose(np.sort_complex(kept), np.sort_complex(one.multipliers), rtol=0, atol=1e-6)
    assert two.certificate.jacobian_error < 1e-5


@pytest.mark.slow
def test_ensembles_of_constrained_systems():
    scenario = ss.Scenario(system=CART, q0=start(1.2)[0], u0=np.zeros(2), dt=1e-3, t_end=0.7, title="", source="")
    found = ss.ensemble(scenario, {"v_x": np.array([0.0, 0.5])}, observe=["final"])
    single = ss.simulate(CART, start(1.2)[0], [0.5, 0.0], dt=1e-3, t_end=0.7)
    np.testing.assert_allclose(found["final_q"].values[1], single.q[-1], rtol=0, atol=1e-12)


@pytest.mark.slow
def test_the_text_for_a_card_does_the_steps_of_the_cpu():
    from tests.ensembles.test_gpu import ends_of, on_cores, request_of, run_on_cpu

    scenario = ss.Scenario(system=CART, q0=start(1.2)[0], u0=np.zeros(2), dt=1e-3, t_end=0.7, title="", source="")
    request = request_of(scenario, {"v_x": [0.0, 0.5]}, ["final", "impacts"], t_end=0.7, dt=1e-3)
    assert np.array_equal(ends_of(request, run_on_cpu), ends_of(request, on_cores), equal_nan=True)


@pytest.mark.slow
def test_members_that_start_off_a_constraint_say_so():
    scenario = ss.Scenario(system=CART, q0=start(1.2)[0], u0=np.zeros(2), dt=1e-3, t_end=0.01, title="", source="")
    found = ss.ensemble(scenario, {"x": np.array([start(1.2)[0][0], 0.5])}, observe=["final"])
    assert [int(code) for code in found["status"].values] == [0, 10]


@pytest.mark.parametrize("power", [2, 3])
@pytest.mark.parametrize("stepper", ["moreau-midpoint", "event-driven"])
def test_an_equation_without_a_slope_is_refused_with_one_line(power, stepper):
    # (x - 1)^2 = 0 says x = 1, but its derivative is zero there: no reaction has a direction
    x, v = sp.symbols("x v")
    system = ss.LagrangianSystem.from_energies(
        [x], velocities=[v], kinetic=v**2 / 2, potential=-x, constraints=[ss.Constraint("c", equation=(x - 1) ** power)]
    )
    with pytest.raises(ValueError, match=r"constraint 'c' has no direction at the start.* x - 1 for \(x - 1\)\*\*2; "):
        ss.simulate(system, [1.0], [0.0], dt=0.01, t_end=0.1, stepper=stepper, engine="reference")


def test_the_certificate_tells_energy_that_corrections_of_constraints_take():
    x, y, v, w = sp.symbols("x y v w")
    pendulum = ss.LagrangianSystem.from_energies(
        [x, y],
        velocities=[v, w],
        kinetic=(v**2 + w**2) / 2,
        potential=9.81 * y,
        constraints=[ss.Constraint("rod", equation=(x**2 + y**2 - 1) / 2)],
    )
    run = ss.simulate(pendulum, [1.0, 0.0], [0.0, 0.0], dt=0.1, t_end=4.0, engine="reference")
    assert "by their corrections" in str(run.certificate)
    assert abs(run.certificate.share(run.certificate.projection_energy)) > 0.01
    fine = ss.simulate(pendulum, [1.0, 0.0], [0.0, 0.0], dt=0.01, t_end=1.0, engine="reference")
    assert "corrections" not in str(fine.certificate)


def test_a_start_velocity_is_put_onto_constraints_whose_other_terms_are_rounding():
    """The tip of a top has no velocity along x but rounding: that contradicts nothing."""
    top = ss.library.spinning_top()
    moved = top.starting({"v_y": 1.001 * float(top.u0[1])})
    run = moved.simulate(t_end=0.002, stepper="event-driven", progress=False)
    assert run.complete and abs(run.u[0, 1]) == pytest.approx(abs(float(top.u0[1])), rel=2e-3)
