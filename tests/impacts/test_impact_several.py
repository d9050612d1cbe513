"""`impact` with several contacts, of stacks and in time steps, and what it refuses."""

import time

import numpy as np
import pytest
import sympy as sp

import stickslip as ss
from stickslip.contact.planar import Auto, Enumerate
from stickslip.mechanisms.steppers.contact_problem import contact_problem, solve_step
from tests.thinned import FULL, thinned

LAWS = {
    "newton": ss.Newton(),
    "poisson": ss.Poisson(),
    "integrated": ss.Poisson(model="integrated"),
    "stronge": ss.Stronge(),
    "lumped": ss.Stronge(model="lumped"),
}


@pytest.fixture(scope="module")
def bar():
    """m = s = 1, Theta = 1/3."""
    return ss.library.impacting_bar(mass=1.0, half_length=1.0, friction=0.3, restitution_normal=0.5).system


def at(degrees):
    """The bar's tip on the ground."""
    phi = np.radians(degrees)
    return np.array([0.0, np.sin(phi), phi])


# -- several contacts -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("balls", [3, 4, 5])
@pytest.mark.parametrize("law", [ss.Newton(), ss.Poisson()], ids=str)
def test_cradle(balls, law):
    """All contacts at once: momentum and energy are kept, the first ball bounces back, the others go together."""
    system = ss.library.newton_cradle(balls=balls).system
    u = np.eye(balls)[0]
    hit = ss.impact(system, np.zeros(balls), u, law)
    expected = np.full(balls, 2 / balls)
    expected[0] -= 1
    np.testing.assert_allclose(hit.u, expected, atol=1e-12)
    assert hit.energy_change == pytest.approx(0.0, abs=1e-12) and hit.u.sum() == pytest.approx(1.0)
    assert set(hit.contact_state) == {"frictionless"}
    plastic = ss.impact(system, np.zeros(balls), u, law, params={"restitution": 0.0})
    np.testing.assert_allclose(plastic.u, np.full(balls, 1 / balls), atol=1e-12)


@pytest.mark.parametrize("law", [ss.Newton(), ss.Poisson(), ss.Stronge()], ids=str)
def test_cradle_with_clearance(law):
    """One contact after the other: the last ball leaves alone."""
    system = ss.library.newton_cradle(balls=4, clearance=1e-3).system
    u, q = np.eye(4)[0], np.zeros(4)
    for i in range(3):
        q = q.copy()
        q[i] += 1e-3
        hit = ss.impact(system, q, u, law)
        assert hit.contact_state.tolist() == ["frictionless" if k == i else "open" for k in range(3)]
        u = hit.u
    np.testing.assert_allclose(u, [0, 0, 0, 1], atol=1e-12)


def test_cradle_with_unequal_coefficients():
    """Newton's law asks for a velocity only at contacts that approached; Poisson's for impulses at all contacts."""
    system = ss.library.newton_cradle(balls=3).system
    newton = ss.impact(system, np.zeros(3), [1, 0, 0], ss.Newton((0.0, 1.0)))
    np.testing.assert_allclose(newton.u, np.full(3, 1 / 3), atol=1e-12)  # the second contact never comes apart
    poisson = ss.impact(system, np.zeros(3), [1, 0, 0], ss.Poisson((0.0, 1.0)))
    np.testing.assert_allclose(
        poisson.u, [1 / 6, 1 / 6, 2 / 3], atol=1e-12
    )  # its stored impulse throws the last ball off
    assert poisson.scale == 1.0 and poisson.energy_change < 0


def two_balls(e="restitution"):
    """A ball on a table and one on top of it; heights of the lowest points, diameters left out."""
    y_1, y_2, v_1, v_2, m_1, m_2 = sp.symbols("y_1 y_2 v_1 v_2 m_1 m_2")
    return ss.LagrangianSystem.from_energies(
        [y_1, y_2],
        velocities=[v_1, v_2],
        kinetic=(m_1 * v_1**2 + m_2 * v_2**2) / 2,
        contacts=[
            ss.Contact("table", gap=y_1, restitution_normal=e),
            ss.Contact("balls", gap=y_2 - y_1, restitution_normal=e),
        ],
        parameters={m_1: 3.0, m_2: 1.0, "restitution": 1.0},
        name="two balls on a table",
    )


def test_two_balls_on_a_table():
    system = two_balls()
    for law in (ss.Newton(), ss.Poisson()):
        together = ss.impact(system, [0, 0], [-1, -1], law)  # both at once: each contact returns its velocity
        np.testing.assert_allclose(together.u, [1, 1], atol=1e-12)
        on_top = ss.impact(system, [0, 0], [0, -1], law)  # the upper one falls on the lower
        np.testing.assert_allclose(on_top.u, [0, 1], atol=1e-12)
        assert on_top.normal_impulse == pytest.approx([2.0, 2.0])
    first = ss.impact(system, [0, 1e-3], [-1, -1]).u  # one after the other: the light ball is thrown up
    np.testing.assert_allclose(ss.impact(system, [1e-3, 1e-3], first).u, [0, 2], atol=1e-12)
    with pytest.raises(ValueError, match="Stronge's law in this form is for one closed contact, got 2"):
        ss.impact(system, [0, 0], [-1, -1], ss.Stronge())


def feet():
    """A block on two feet with friction: q = (x, y, phi)."""
    x, y, phi, v_x, v_y, omega = sp.symbols("x y phi v_x v_y omega")
    return ss.LagrangianSystem.from_energies(
        [x, y, phi],
        velocities=[v_x, v_y, omega],
        kinetic=(v_x**2 + v_y**2 + omega**2 / 12) / 2,
        contacts=[
            ss.Contact(
                name,
                gap=y + side * phi / 2,
                slip=x + height * phi,
                friction=f"mu_{name}",
                restitution_normal="e",
                restitution_tangential="e_T",
            )
            for name, side, height in (("left", -1, 0.4), ("right", 1, 0.4))
        ],
        parameters={"mu_left": 0.5, "mu_right": 0.3, "e": 0.6, "e_T": 0.2},
        name="feet",
    )


@pytest.mark.parametrize("law", [ss.Newton(), ss.Poisson()], ids=str)
def test_stacks_are_their_states_one_by_one(law):
    """A stack equals its states one by one, also if closed contacts, friction and resting contacts differ."""
    system = feet()
    rng = np.random.default_rng(12)
    k = 60
    q, u = np.zeros((k, 3)), rng.normal(size=(k, 3))
    q[::3, 2] = 0.1  # right foot open
    q[::3, 1] = 0.05
    u[:, 1] = -np.abs(u[:, 1]) - 0.6 * np.abs(u[:, 2])
    u[5::7, 1:] = 0.0  # sliding on both feet
    u[5::7, 2] = 0.0
    mu = rng.uniform(0, 1.5, k)
    mu[2::5] = 0.0
    stack = ss.impact(system, q, u, law, params={"mu_left": mu, "e": 0.6})
    assert stack.solved.all() and stack.residual.max() < 1e-10 and len(stack) == k
    for i in range(k):
        one = ss.impact(system, q[i], u[i], law, params={"mu_left": mu[i], "e": 0.6})
        np.testing.assert_allclose(stack.u[i], one.u, atol=1e-9)
        np.testing.assert_allclose(stack.energy_change[i], one.energy_change, atol=1e-9)
        np.testing.assert_array_equal(stack.reversal[i], one.reversal)
        if i % 3 == 0:  # two feet share their friction in more than one way
            np.testing.assert_array_equal(stack.contact_state[i], one.contact_state)
        np.testing.assert_allclose(stack.energy_unscaled[i], one.energy_unscaled, atol=1e-9)
    other = ss.impact(system, q[:6], u[:6], law, params={"mu_left": mu[:6], "e": 0.6}, solver=Enumerate())
    np.testing.assert_allclose(other.u, stack.u[:6], atol=1e-9)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_every_law_means_the_same_in_a_stack(bar, law):
    rng = np.random.default_rng(13)
    k = 60
    phi, mu = rng.uniform(0.1, 3.0, k), rng.uniform(0, 2, k)
    q, u = np.stack([0 * phi, np.sin(phi), phi], axis=-1), rng.normal(size=(k, 3))
    u[:, 1] = u[:, 2] * np.cos(phi) - rng.uniform(0, 1, k)
    stack = ss.impact(bar, q, u, law, params={"friction": mu})
    for i in range(k):
        one = ss.impact(bar, q[i], u[i], law, params={"friction": mu[i]})
        np.testing.assert_allclose(stack.u[i], one.u, atol=1e-12)
        np.testing.assert_allclose(stack.energy_change[i], one.energy_change, atol=1e-12)
        assert stack.contact_state[i] == one.contact_state and stack.reversal[i] == one.reversal


def test_a_resting_jammed_contact_among_others_takes_the_limit_from_below():
    """Two bars side by side, one striking, one sliding with supercritical friction: each as if alone."""
    names = "x_1 y_1 phi_1 x_2 y_2 phi_2"
    q, u = sp.symbols(names), sp.symbols(" ".join(f"u_{name}" for name in names.split()))
    contacts = [
        ss.Contact(
            f"tip {i + 1}", gap=q[3 * i + 1] - sp.sin(q[3 * i + 2]), slip=q[3 * i] + sp.cos(q[3 * i + 2]), friction=mu
        )
        for i, mu in enumerate((0.3, sp.Rational(5, 3)))
    ]
    kinetic = sum(v**2 for v in u) / 2 - sum(v**2 for v in u[2::3]) / 3
    pair = ss.LagrangianSystem.from_energies(
        list(q), velocities=list(u), kinetic=kinetic, contacts=contacts, name="two bars"
    )
    state, speed = np.concatenate([at(60), at(60)]), np.array([2.0, -1.0, 0.0, 2.0, 0.0, 0.0])
    hit = ss.impact(pair, state, speed)
    bar = ss.library.impacting_bar(mass=1.0, half_length=1.0, restitution_normal=0.0).system
    alone = [
        ss.impact(bar, at(60), speed[:3], params={"friction": 0.3}),
        ss.impact(bar, at(60), speed[3:], params={"friction": 5 / 3}),
    ]
    np.testing.assert_allclose(hit.u, np.concatenate([a.u for a in alone]), atol=1e-10)
    assert hit.normal_impulse[1] > 0.1 and len(hit.solutions) == 2
    stack = ss.impact(pair, state, np.stack([speed, speed]))
    np.testing.assert_allclose(stack.u, [hit.u, hit.u], atol=1e-12)


@thinned
def test_a_million_impacts_take_no_longer_than_two_seconds(bar):
    count = 1000 if FULL else 400
    ratio, phi = np.meshgrid(np.linspace(-10, 10, count), np.linspace(0.01, np.pi - 0.01, count))
    q = np.stack([0 * phi, np.sin(phi), phi], axis=-1)
    u = np.stack([-ratio, -np.ones_like(ratio), 0 * ratio], axis=-1)
    ss.impact(bar, q[:2], u[:2])  # compile
    start = time.perf_counter()
    hit = ss.impact(bar, q, u)
    assert time.perf_counter() - start < 6.0 * (count / 1000) ** 2  # 0.5 s alone on two cores; room for a busy machine
    assert hit.shape == (count, count) and hit.solved.all() and hit.energy_change.max() <= 0.0


# -- the form that a time step needs ----------------------------------------------------------------------------------


def test_a_step_under_newton_is_its_own_contact_problem(bar):
    q, u, p = at(45) - [0, 1e-9, 0], np.array([-0.5, -1.0, 0.2]), bar.parameter_vector()
    step = contact_problem(bar, 0.0, q, u, 1e-3, p)
    answer, plain = solve_step(bar, step, ss.Newton(), Auto(), p), Auto().solve(step.local)
    np.testing.assert_allclose((answer.Lambda_N, answer.Lambda_T), (plain.Lambda_N, plain.Lambda_T), rtol=1e-12)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_a_short_step_is_an_impact(bar, law):
    q, u, p = at(45) - [0, 1e-12, 0], np.array([-0.5, -1.0, 0.0]), bar.parameter_vector()
    hit = ss.impact(bar, q, u, law)
    step = contact_problem(bar, 0.0, q, u, 1e-6, p)
    answer = solve_step(bar, step, law, Auto(), p)
    assert answer.solved
    np.testing.assert_allclose(step.end_velocity(answer.Lambda_N, answer.Lambda_T), hit.u, atol=1e-4)


@pytest.mark.parametrize("law", [ss.Poisson(0.5), ss.Stronge(0.5)], ids=str)
def test_a_resting_contact_rests(law):
    """Restitution acts on what approaches, not on the weight of one step."""
    ball = ss.library.bouncing_ball().system
    p = ball.parameter_vector()
    step = contact_problem(ball, 0.0, np.array([0.0]), np.array([0.0]), 1e-3, p)
    answer = solve_step(ball, step, law, Auto(), p)
    assert step.end_velocity(answer.Lambda_N, answer.Lambda_T)[0] == pytest.approx(0.0, abs=1e-15)


# -- what is refused --------------------------------------------------------------------------------------------------


def test_wrong_input_is_one_clear_line(bar):
    wrong = {
        r"no contact is closed: the smallest gap is 0.1 m at 'tip', gap_tol = 1e-09 m": lambda: ss.impact(
            bar, at(45) + np.array([0, 0.1, 0]), [0, -1, 0]
        ),
        r"all closed contacts separate, 'tip' with 1 m/s": lambda: ss.impact(bar, at(45), [0, 1, 0]),
        r"friction of contact 'tip' must be finite and not negative, got -0.1": lambda: ss.impact(
            bar, at(45), [0, -1, 0], params={"friction": -0.1}
        ),
        r"restitution_normal of contact 'tip' must lie in \[0, 1\], got 1.5": lambda: ss.impact(
            bar, at(45), [0, -1, 0], params={"restitution_normal": 1.5}
        ),
        r"law must be .*got 'newtn'": lambda: ss.impact(bar, at(45), [0, -1, 0], "newtn"),
        r"gap_tol must be a distance >= 0": lambda: ss.impact(bar, at(45), [0, -1, 0], gap_tol=-1.0),
        r"q must have shape \(3,\)": lambda: ss.impact(bar, [0, 0], [0, -1, 0]),
        r"Walton's operator is for spheres": lambda: ss.impact(bar, at(45), [0, -1, 0], ss.Walton()),
        r"solver must be one of": lambda: ss.impact(bar, at(45), [0, -1, 0], solver="best"),
    }
    for message, call in wrong.items():
        with pytest.raises(ValueError, match=message) as error:
            call()
        assert "\n" not in str(error.value)


def test_wrong_stacks_say_which_state(bar):
    q, u = np.array([at(45)] * 3), np.array([[0.0, -1.0, 0.0]] * 3)
    lifted, rising = q.copy(), u.copy()
    lifted[1, 1] += 0.1
    rising[2, 1] = 1.0
    with pytest.raises(ValueError, match=r"state \(1,\) of the stack: no contact is closed: the smallest gap is 0.1 m"):
        ss.impact(bar, lifted, u)
    with pytest.raises(ValueError, match=r"state \(2,\) of the stack: all closed contacts separate, 'tip' with 1 m/s"):
        ss.impact(bar, q, rising)
    with pytest.raises(ValueError, match=r"state \(0,\) of the stack: Walton's operator is for spheres"):
        ss.impact(bar, q, u, ss.Walton())
    with pytest.raises(ValueError, match=r"state \(0,\) of the stack: Stronge's law .* one closed contact, got 2"):
        ss.impact(two_balls(), np.zeros((2, 2)), -np.ones((2, 2)), ss.Stronge())
    with pytest.raises(ValueError, match=r"friction of contact 'tip' must be finite and not negative, got -0\.2"):
        ss.impact(bar, q, u, params={"friction": [0.1, -0.2, 0.3]})
    with pytest.raises(ValueError, match=r"the stacks do not fit together: q \(3, 3\), u \(3, 3\), friction \(2,\)"):
        ss.impact(bar, q, u, params={"friction": [0.1, 0.2]})
    with pytest.raises(ValueError, match=r"q must have shape \(..., 3\)"):
        ss.impact(bar, q[:, :2], u)
    with pytest.raises(ValueError, match=r"u must be finite, got 1 entries"):
        ss.impact(bar, q, np.where(np.eye(3, dtype=bool) & (np.arange(3) == 1), np.nan, u))
    with pytest.raises(ValueError, match="unknown parameter 'fricton'"):
        ss.impact(bar, q, u, params={"fricton": [0.1, 0.2, 0.3]})
    hit = ss.impact(bar, q, u)
    with pytest.raises(ValueError, match=r"solutions are listed for one state; this is a stack \(3,\)"):
        _ = hit.solutions
    assert len(hit[1].solutions) == 1 and "3 of 3 solved" in str(hit)
    with pytest.raises(IndexError, match="needs one index per axis"):
        _ = hit[:2]
