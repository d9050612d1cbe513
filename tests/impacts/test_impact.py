"""`impact` of one contact: the papers' numbers, closed forms on thousands of bars, and the energy book."""

import re
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import stickslip as ss
from stickslip.contact.planar import Auto
from stickslip.impacts.impact import FromBelow

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


def numbers(hit):
    return (
        hit.normal_impulse[0],
        hit.tangential_impulse[0],
        hit.normal_velocity_after[0],
        hit.tangential_velocity_after[0],
        hit.energy_change,
    )


# -- the bar, phi = 45 degrees, mu = 0.3, e = 0.5, gamma_N^- = -1 ----------------------------------------------------


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize(
    ("gamma_T", "expected", "state"),
    [
        (0.5, (0.7317073171, -0.2195121951, 0.5, 1.0487804878, -0.3529149316), "forward slip"),
        (-3.0, (0.5084745763, 0.1525423729, 0.5, -1.8559322034, -0.4974863545), "backward slip"),
    ],
)
def test_gross_slip_is_the_same_under_all_laws(bar, law, gamma_T, expected, state):
    hit = ss.impact(bar, at(45), [gamma_T, -1.0, 0.0], law)
    np.testing.assert_allclose(numbers(hit), expected, rtol=1e-8)
    assert hit.contact_state.tolist() == [state] and not hit.reversal[0] and hit.solved


@pytest.mark.parametrize(
    ("law", "expected"),
    [
        (ss.Newton(), (0.7317073171, -0.2195121951, 0.5, 0.0487804878, -0.1334027365)),
        (ss.Newton(restitution_tangential=0.5), (0.65625, -0.09375, 0.5, 0.25, -0.15234375)),
        (ss.Poisson(restitution_tangential=0.5), (0.65625, -0.09375, 0.5, 0.25, -0.15234375)),
        (ss.Poisson(), (0.65625, -0.128125, 0.4484375, 0.1640625, -0.1594604492)),
        (ss.Poisson(model="integrated"), (0.5853658537, -0.0422764228, 0.4, 0.2723577236, -0.1707978055)),
        (ss.Stronge(), (0.5987927697, -0.0463044976, 0.4275251779, 0.2824279106, -0.1663596090)),
    ],
    ids=str,
)
def test_slip_reversal_tells_the_laws_apart(bar, law, expected):
    hit = ss.impact(bar, at(45), [-0.5, -1.0, 0.0], law)
    np.testing.assert_allclose(numbers(hit), expected, rtol=1e-8)
    assert hit.reversal[0] and hit.energy_before == pytest.approx(0.625)
    assert hit.energy_after == pytest.approx(0.5 * hit.u @ bar.mass(at(45)) @ hit.u, rel=1e-13)
    assert hit.energy_normal + hit.energy_tangential == pytest.approx(hit.energy_change)
    stack = ss.impact(bar, at(45), np.array([[-0.5, -1.0, 0.0]] * 2), law)
    np.testing.assert_allclose([numbers(stack[1])], [expected], rtol=1e-8)
    np.testing.assert_allclose(stack.u, [hit.u, hit.u], rtol=1e-14)


def test_lumped_bar(bar):
    hit = ss.impact(bar, at(45), [-0.5, -1.0, 0.0], LAWS["lumped"])
    np.testing.assert_allclose(numbers(hit)[2:4], (0.475068910, 0.579974858), rtol=1e-8)
    assert [phase.motion for phase in hit.phases] == ["slip-", "stick", "stick", "slip+"]
    rigid = ss.impact(bar, at(45), [-0.5, -1.0, 0.0], LAWS["stronge"])
    assert [(phase.stage, phase.motion) for phase in rigid.phases] == [
        ("compression", "slip-"),
        ("compression", "slip+"),
        ("restitution", "slip+"),
    ]
    assert sum(phase.normal_impulse for phase in rigid.phases) == pytest.approx(rigid.normal_impulse[0])


def test_jam_of_the_bar(bar):
    """60 degrees, mu = 5/3."""
    params = {"friction": 5 / 3}
    hit = ss.impact(bar, at(60), [2.0, -1.0, 0.0], ss.Stronge(), params=params)
    np.testing.assert_allclose(hit.normal_impulse, 2.136929716, rtol=1e-9)
    np.testing.assert_allclose(hit.tangential_impulse, -1.469524040, rtol=1e-9)
    np.testing.assert_allclose(hit.energy_change, -1.650458651, rtol=1e-9)
    assert [(phase.stage[0], phase.motion) for phase in hit.phases] == [("c", "slip+"), ("c", "stick"), ("r", "stick")]


# -- [PG05] section 5 -------------------------------------------------------------------------------------------------


def closed_forms(alpha, beta, delta, mu, eps_N, eps_T, gamma_N, gamma_T):
    """Masks of backward slip, stick, forward slip by (33), (34), (39)-(41), (46), (47), and the impulses of each."""
    ratio, e = gamma_T / gamma_N, (1 + eps_N) / (1 + eps_T)
    plus, minus, det = alpha + mu * delta, alpha - mu * delta, alpha * beta - delta**2
    with np.errstate(divide="ignore"):
        backward = (plus > 0) & (ratio >= (delta + mu * beta) / plus * e)
        forward = (minus > 0) & (ratio <= (delta - mu * beta) / minus * e)
        N_b, N_f = -(1 + eps_N) * gamma_N / plus, -(1 + eps_N) * gamma_N / minus  # (29), (42)
    stick = (minus * ratio > (delta - mu * beta) * e) & (plus * ratio < (delta + mu * beta) * e)  # (40), (41)
    stick &= delta * ratio < beta * e  # (39)
    N_s = (-beta * (1 + eps_N) * gamma_N + delta * (1 + eps_T) * gamma_T) / det  # (35)
    T_s = (delta * (1 + eps_N) * gamma_N - alpha * (1 + eps_T) * gamma_T) / det  # (36)
    return (backward, N_b, mu * N_b), (stick, N_s, T_s), (forward, N_f, -mu * N_f)


@pytest.fixture(scope="module")
def random_bars(bar):
    """5000 bars: inertia, angle, friction 0..2, restitutions and velocities at random."""
    rng = np.random.default_rng(11)
    k = 5000
    phi = rng.uniform(0.02, np.pi - 0.02, k)
    params = {
        "mass": rng.uniform(0.2, 5, k),
        "inertia": rng.uniform(0.05, 3, k),
        "friction": rng.uniform(0, 2, k),
        "restitution_normal": rng.uniform(0.05, 1, k),
        "restitution_tangential": rng.uniform(0, 1, k),
    }
    q = np.stack([np.zeros(k), np.sin(phi), phi], axis=-1)
    u = rng.normal(size=(k, 3))
    u[:, 1] = u[:, 2] * np.cos(phi) - rng.uniform(0.01, 2, k)
    return q, u, params


def coefficients(q, params):
    """alpha, beta, delta of [PG05] eq. (22), s = 1."""
    m, theta, phi = params["mass"], params["inertia"], q[:, 2]
    return (
        1 / m + np.cos(phi) ** 2 / theta,
        1 / m + np.sin(phi) ** 2 / theta,
        np.sin(phi) * np.cos(phi) / theta,
    )


def test_closed_forms_on_thousands_of_bars(bar, random_bars):
    q, u, params = random_bars
    alpha, beta, delta = coefficients(q, params)
    gamma_N, gamma_T = u[:, 1] - u[:, 2] * np.cos(q[:, 2]), u[:, 0] - u[:, 2] * np.sin(q[:, 2])
    mu, eps_N, eps_T = (params[key] for key in ("friction", "restitution_normal", "restitution_tangential"))
    regimes = closed_forms(alpha, beta, delta, mu, eps_N, eps_T, gamma_N, gamma_T)
    np.testing.assert_array_equal(sum(mask.astype(int) for mask, _, _ in regimes), 1)  # they partition the plane

    N = sum(np.where(mask, N, 0.0) for mask, N, _ in regimes)
    T = sum(np.where(mask, T, 0.0) for mask, _, T in regimes)
    hit = ss.impact(bar, q, u, params=params)
    assert hit.solved.all() and hit.residual.max() < 1e-12
    np.testing.assert_allclose(hit.normal_impulse[:, 0], N, rtol=1e-9)
    np.testing.assert_allclose(hit.tangential_impulse[:, 0], T, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(hit.normal_velocity_after[:, 0], -eps_N * gamma_N, rtol=1e-9)  # (31), (37), (44)
    codes = [ss.Impact.STATES.index(name) for name in ("backward slip", "stick", "forward slip")]
    np.testing.assert_array_equal(hit.state_code[:, 0], np.select([mask for mask, _, _ in regimes], codes))

    backward, stick, forward = (mask for mask, _, _ in regimes)  # (48), (49), (50)
    before, after = gamma_T / gamma_N, hit.tangential_velocity_after[:, 0] / hit.normal_velocity_after[:, 0]
    slope = (1 + eps_N) / eps_N
    for mask, expected in (
        (backward, (delta + mu * beta) / (alpha + mu * delta) * slope - before / eps_N),
        (stick, eps_T / eps_N * before),
        (forward, (delta - mu * beta) / (alpha - mu * delta) * slope - before / eps_N),
    ):
        assert mask.sum() > 300
        np.testing.assert_allclose(after[mask], expected[mask], rtol=1e-9, atol=1e-9)

    one, zero = np.ones_like(mu), np.zeros_like(mu)  # the LCP (27), (28), as it stands
    A = np.stack(
        [
            np.stack([alpha - mu * delta, delta, zero], -1),
            np.stack([delta - mu * beta, beta, one], -1),
            np.stack([2 * mu, -one, zero], -1),
        ],
        axis=1,
    )
    b = np.stack([(1 + eps_N) * gamma_N, (1 + eps_T) * gamma_T, zero], axis=-1)
    s = ss.solve_lcp(A, b)
    assert s.solved.all()
    np.testing.assert_allclose(s.x[:, 0], N, rtol=1e-9)
    np.testing.assert_allclose(s.x[:, 1] - mu * s.x[:, 0], T, rtol=1e-9, atol=1e-12)


def test_the_impact_of_a_bar_is_unique(bar, random_bars):
    q, u, params = random_bars
    for i in range(40):
        hit = ss.impact(bar, q[i], u[i], params={key: value[i] for key, value in params.items()})
        (only,) = hit.solutions
        np.testing.assert_allclose(only.u, hit.u, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("law", [ss.Newton(), ss.Poisson(), ss.Stronge(), ss.Stronge(model="lumped")], ids=str)
def test_after_is_continuous_in_before_and_angle(bar, law):
    """[PG05] Figs. 9 and 10, and the same for the other laws: halving the grid halves the largest jump."""
    params = {"friction": 0.5, "restitution_normal": 1.0, "restitution_tangential": 1.0}

    def jumps(n):
        ratio, phi = np.meshgrid(np.linspace(-6, 6, n), np.linspace(0.1, np.pi - 0.1, n))
        q = np.stack([0 * phi, np.sin(phi), phi], axis=-1)
        u = np.stack([-ratio, -np.ones_like(ratio), 0 * ratio], axis=-1)
        hit = ss.impact(bar, q, u, law, params=params)
        assert hit.shape == (n, n) and hit.solved.all()
        after = hit.tangential_velocity_after[..., 0] / hit.normal_velocity_after[..., 0]
        return max(np.abs(np.diff(after, axis=0)).max(), np.abs(np.diff(after, axis=1)).max())

    assert jumps(121) < 0.65 * jumps(61)


def test_sign_reversal_by_fig_7(bar):
    """In all of the stick domain, and in a border of the slip domains."""
    params = {"friction": 0.5, "restitution_normal": 1.0, "restitution_tangential": 1.0}
    ratio = np.linspace(-8, 8, 400)
    u = np.stack([-ratio, -np.ones(400), np.zeros(400)], axis=-1)
    hit = ss.impact(bar, at(90), u, params=params)
    state, reversal = hit.contact_state[:, 0], hit.reversal[:, 0]
    assert reversal[state == "stick"].all()
    assert reversal[state != "stick"].any() and not reversal[state != "stick"].all()


def test_impact_without_collision(bar):
    """[PG05] section 6, mu = 5/3: the tip stops although it does not approach."""
    params = {"friction": 5 / 3, "restitution_tangential": 0.25}
    hit = ss.impact(bar, at(60), [2.0, 0.0, 0.0], params=params)
    alpha, beta, delta = 1.75, 3.25, 1.5 * np.sin(np.pi / 3)
    det = alpha * beta - delta**2
    assert hit.normal_impulse[0] == pytest.approx(delta * 1.25 * 2.0 / det, rel=1e-12)  # (35)
    assert hit.tangential_velocity_after[0] == pytest.approx(-0.25 * 2.0, rel=1e-12)  # (38)
    assert hit.normal_velocity_after[0] == pytest.approx(0.0, abs=1e-14)
    assert hit.contact_state[0] == "stick" and hit.solved and hit.energy_change < 0
    assert sorted(s.normal_impulse[0] for s in hit.solutions) == pytest.approx([0.0, hit.normal_impulse[0]])
    for tiny in (-1e-6, -1e-9):  # the limit from below
        near = ss.impact(bar, at(60), [2.0, tiny, 0.0], params=params)
        np.testing.assert_allclose(near.u, hit.u, atol=10 * abs(tiny))
    stack = ss.impact(bar, at(60), np.array([[2.0, 0.0, 0.0], [-2.0, 0.0, 0.0]]), params=params)
    np.testing.assert_allclose(stack.u[0], hit.u, rtol=1e-14)
    np.testing.assert_array_equal(stack.u[1], [-2.0, 0.0, 0.0])  # sliding the other way goes on
    for law in (ss.Poisson(), ss.Stronge(), ss.Stronge(model="lumped")):
        other = ss.impact(bar, at(60), [2.0, 0.0, 0.0], law, params={"friction": 5 / 3})
        assert other.normal_impulse[0] > 0.1 and other.energy_change < 0
        assert len(other.solutions) == (
            3 if law == ss.Poisson() else 2
        )  # Poisson: an impact in either problem, or none


def test_moderate_friction_has_no_impact_without_collision(bar):
    hit = ss.impact(bar, at(60), [2.0, 0.0, 0.0])
    np.testing.assert_array_equal(hit.u, [2.0, 0.0, 0.0])
    assert hit.contact_state.tolist() == ["released"] and len(hit.solutions) == 1
    spin = ss.impact(bar, at(60), [2.0, 0.7 * np.cos(np.pi / 3), 0.7])  # gamma_N = 0 up to round-off
    assert spin.normal_velocity_before[0] == 0.0 and spin.energy_change == 0.0


# -- Kane's double pendulum -------------------------------------------------------------------------------------------

KANE = {  # e, law: Lambda_N, Lambda_T, u^+, T^+/T^-
    (0.5, ss.Newton()): (0.5679798805, -0.2445965910, (-0.3346489298, 0.3631153642), 1.58749469),
    (0.5, ss.Newton(0.5, 0.5)): (0.1137167320, 0.0568583660, (-0.2062930193, 0.2753147504), 0.56242962),
    (0.5, ss.Poisson()): (0.1137167320, 0.0385914132, (-0.1960551161, 0.2127322652), 0.54486606),
    (0.5, ss.Poisson(model="integrated")): (0.1137167320, 0.0405979601, (-0.1971797061, 0.2196066844), 0.54507799),
    (0.5, ss.Stronge()): (0.1183996885, 0.0382564819, (-0.1989323360, 0.2231367854), 0.55318799),
    (0.7, ss.Newton()): (0.9165848138, None, None, 2.75761108),
    (0.7, ss.Poisson()): (0.1288789630, None, None, 0.57088171),
    (0.7, ss.Stronge()): (0.1444993267, None, None, 0.60009169),
    (1.0, ss.Newton()): (1.0783350750, None, None, 3.43772689),
    (1.0, ss.Poisson()): (0.1516223094, None, None, 0.61104271),
    (1.0, ss.Stronge()): (0.1909842367, None, None, 0.69078629),
}


@pytest.mark.parametrize(("case", "expected"), KANE.items(), ids=str)
def test_kane_pendulum_gains_energy_under_newton(case, expected):
    (e, law), (N, T, u, ratio) = case, expected
    scenario = ss.library.kane_pendulum(restitution_normal=e)
    hit = ss.impact(scenario.system, scenario.q0, scenario.u0, law)
    np.testing.assert_allclose(hit.normal_impulse[0], N, rtol=1e-8)
    np.testing.assert_allclose(hit.energy_after / hit.energy_before, ratio, rtol=1e-8)
    if T is not None:
        np.testing.assert_allclose(hit.tangential_impulse[0], T, rtol=1e-8)
        np.testing.assert_allclose(hit.u, u, rtol=1e-8)
    assert hit.energy_before == pytest.approx(0.0231814109, rel=1e-8)
    if isinstance(law, ss.Stronge):
        assert [(p.stage[0], p.motion) for p in hit.phases] == [("c", "slip-"), ("r", "slip-"), ("r", "slip+")]
        assert len(ss.impact(scenario.system, scenario.q0, scenario.u0, law).solutions) == 1


def test_kane_pendulum_matrices():
    scenario = ss.library.kane_pendulum()
    hit = ss.impact(scenario.system, scenario.q0, scenario.u0)
    local = hit._setting.closed.local
    np.testing.assert_allclose(
        (local.G_NN[0, 0], local.G_TT[0, 0], local.G_NT[0, 0]), (1.0095602905, 2.4403380457, 1.5213086580), rtol=1e-9
    )
    np.testing.assert_allclose((local.c_N[0], local.c_T[0]), (-0.13420201, -0.26717434), rtol=1e-7)


def test_every_block_of_the_documentation_runs(capsys):
    page = Path(__file__).parents[2] / "docs" / "impact-laws.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    scope: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page.name, "exec"), scope)
    assert len(blocks) >= 6 and "critical friction 1.333333 at 63.435 degrees" in capsys.readouterr().out


def test_an_impact_prints_its_book(bar):
    text = str(ss.impact(bar, at(45), [-0.5, -1.0, 0.0]))
    assert "forward slip" in text and "kinetic energy 0.625 J, change -0.133403 J" in text


def test_limit_solver_is_the_inner_one_elsewhere(bar):
    hit = ss.impact(bar, at(45), [-0.5, -1.0, 0.0])
    local = hit._setting.closed.local
    a, b = FromBelow().solve(local), Auto().solve(local)
    np.testing.assert_array_equal(a.Lambda_N, b.Lambda_N)


# -- wrong input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"q": "abc"}, r"q must be 3 numbers, or a stack of shape \(..., 3\), got 'abc'"),
        ({"u": {}}, "u must be 3 numbers"),
        ({"q": [1j, 0, 0]}, "q must be 3 numbers"),
        ({"u": [float("nan"), 0, 0]}, "u of 'u_x' must be finite, got nan in the state given"),
        ({"u": [0, 0]}, r"u must have shape \(3,\), one per velocity"),
        ({"params": "friction=1"}, "params must map parameter names to numbers"),
        ({"params": 3}, "params must map parameter names to numbers"),
        ({"system": ss.library.impacting_bar()}, "got Scenario; give its .system"),
        ({"system": None}, "system must be a System such as LagrangianSystem, got NoneType"),
        ({"t": "a"}, "t must be a finite number, got 'a'"),
        ({"t": float("nan")}, "t must be a finite number, got nan"),
        ({"law": "hertz"}, "law must be one of newton, .*, got 'hertz'"),
        ({"q": [0, 0.1, np.pi / 4]}, "contact 'tip' is given with a penetration of 0.607 m, .*; move q, or raise pen"),
        ({"q": [at(45), [0, 0.1, np.pi / 4]]}, "contact 'tip' is given with a penetration of 0.607 m"),
        ({"q": [at(45), [0, 0.1, 0.8]], "solver": "lemke"}, "contact 'tip' is given with a penetration of"),
        ({"u": [5e-201, -1e-200, 0]}, "must lie between 1e-100 and 1e.100, or be zero, got 1e-200; .* scale u"),
        ({"u": [5e199, -1e200, 0]}, r"or be zero, got 1e\+200"),
        ({"u": [[0.5, -1, 0], [5e199, -1e200, 0]]}, r"or be zero, got 1e\+200"),
        ({"penetration_tol": -1}, "penetration_tol must not be negative"),
    ],
)
def test_bad_input_is_one_line_that_names_the_argument(bar, changes, message):
    arguments = {"system": bar, "q": at(45), "u": [0.5, -1.0, 0.0], **changes}
    with pytest.raises(ValueError, match=message) as caught:
        ss.impact(arguments.pop("system"), arguments.pop("q"), arguments.pop("u"), **arguments)
    assert "\n" not in str(caught.value)


def test_painleve_names_its_arguments(bar):
    for q, u, message in (("abc", [0, 0, 0], "^q must be 3 numbers"), (at(45), [0, 0], "^u must have shape")):
        with pytest.raises(ValueError, match=message):
            ss.painleve(bar, q, u)
    with pytest.raises(ValueError, match=r"give its \.system"):
        ss.painleve(ss.library.impacting_bar(), at(45), [0, 0, 0])


@pytest.mark.parametrize("scale", [1e-90, 1e90])
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_impulses_are_proportional_to_velocities(bar, law, scale):
    u = np.array([-0.5, -1.0, 0.0])
    hit, scaled = ss.impact(bar, at(45), u, law), ss.impact(bar, at(45), scale * u, law)
    assert scaled.normal_impulse[0] == pytest.approx(scale * hit.normal_impulse[0], rel=1e-9)
    assert scaled.tangential_impulse[0] == pytest.approx(scale * hit.tangential_impulse[0], rel=1e-9)


def test_a_law_by_name(bar):
    named, made = (ss.impact(bar, at(45), [-0.5, -1.0, 0.0], law) for law in ("stronge", ss.Stronge()))
    assert np.array_equal(named.u, made.u)


def test_too_many_contacts_to_list_every_solution():
    cradle = ss.library.newton_cradle(balls=22).system
    hit = ss.impact(cradle, np.zeros(22), [1.0] + [0.0] * 21)
    assert hit.solved
    with pytest.raises(ValueError, match="the 21 contacts of this one make 21: keep to the one solution") as caught:
        _ = hit.solutions
    assert "method=" not in str(caught.value)


@pytest.mark.parametrize(
    ("law", "more", "left_open"),
    [
        (ss.Poisson(), {"friction": 0.3}, True),
        (ss.Poisson(), {"friction": 0.3, "restitution_tangential": 0.6}, False),
        (ss.Poisson(), {}, False),
        (ss.Newton(), {"friction": 0.3}, False),
    ],
)
def test_poisson_says_where_it_leaves_the_velocity_open(law, more, left_open):
    """One degree of freedom: w_N N + w_T T stops it for all |T| <= mu N, and 0.6 N (w_N + mu w_T) is given back."""
    theta, omega = sp.symbols("theta omega")
    w_N, w_T = 0.8, -0.6
    wall = ss.Contact("wall", gap=w_N * sp.sin(theta), slip=w_T * sp.sin(theta), restitution_normal=0.6, **more)
    pendulum = ss.LagrangianSystem.from_energies([theta], velocities=[omega], kinetic=omega**2, contacts=[wall])
    hit = ss.impact(pendulum, [0.0], [-2.0], law)
    assert hit.solved and hit.status.startswith("solved") and ("is open" in hit.status) == left_open
    ends = [0.6 * 2.0 * (w_N + 0.3 * w_T) / (w_N + share * w_T) for share in (-0.3, 0.3)]  # T = share N
    if left_open:
        assert min(ends) <= hit.u[0] <= max(ends)
    else:
        assert hit.u[0] == pytest.approx(1.2, abs=1e-12)


def test_an_impact_that_is_solved_says_so():
    """Two feet with one tangent: the branches are singular, and their best impulses are within the tolerance."""
    x, y, p, vx, vy, om = sp.symbols("x y p vx vy om")
    feet = [
        ss.Contact(name, gap=y + side * sp.sin(p) / 2, slip=x, friction=0.5, restitution_normal=0.5)
        for name, side in (("left", -1), ("right", 1))
    ]
    bar = ss.LagrangianSystem.from_energies(
        [x, y, p], velocities=[vx, vy, om], kinetic=(vx**2 + vy**2) / 2 + om**2 / 24, contacts=feet
    )
    hit = ss.impact(bar, [0, 0, 0], [0.1, -1, 0], ss.Poisson())
    assert hit.solved and hit.status.startswith("solved")
    assert hit.u == pytest.approx([0, 0.5, 0], abs=1e-12)
