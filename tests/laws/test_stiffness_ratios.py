"""Ratios of stiffness and the law of Chatterjee and Ruina: closed forms, published chains, Stronge's law, energy."""

import re

import numpy as np
import pytest

import stickslip as ss
from stickslip.laws.chatterjee_ruina import algebraic_impact
from stickslip.laws.routh import ENERGETIC
from stickslip.laws.springs import Springs, spring_impact
from stickslip.scenes.routh import spatial_impact

ELLIPSOID = np.array(  # m = 2, semi-axes .3, .2, .1, turned by R_x(.5) R_y(.7): W^T M^-1 W at its lowest point
    [
        [1.23546272127, 0.90802172938, -0.13288878996],
        [0.90802172938, 1.62333094066, -0.22219613203],
        [-0.13288878996, -0.22219613203, 2.01691312403],
    ]
)
KANE = np.array([[1.00956, 1.52131, 0.0], [1.52131, 2.44034, 0.0], [0.0, 0.0, 1.0]])


def by_springs(G, u, mu, e, n=1.0, kappa=None):
    """Impulses (k, 3) of k contacts with the full matrix G (3 k, 3 k), and the velocities after."""
    k = len(u)
    order = [[i, *range(i), *range(i + 1, k)] for i in range(k)]
    block = np.array([G[3 * j : 3 * j + 3, 3 * i : 3 * i + 3].ravel() for i in range(k) for j in order[i]])
    after, Lambda = np.array(u, float), np.zeros((k, 3))
    kappa = np.ones(k) if kappa is None else np.array(kappa, float)
    columns = np.arange(0, k * k + 1, k), np.ravel(order).astype(np.int64), block
    numbers = np.full(k, float(mu)), np.broadcast_to(np.array(e, float), k).copy(), kappa
    if spring_impact.compiled(Springs(*columns, *numbers, n), after, Lambda) < 0:
        raise RuntimeError("no end")
    return Lambda, after


# -- several contacts by ratios of stiffness ---------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1.0, 1.5])
def test_small_restitution_is_met(n):
    """One contact without friction leaves with e times its approach; with e = 0 it left with 8e-4 of it."""
    for e in (0.0, 1e-6, 1e-3, 0.03, 0.3, 0.9):
        Lambda, after = by_springs(2.0 * np.eye(3), [[-1.0, 0.0, 0.0]], 0.0, e, n)
        assert after[0, 0] == pytest.approx(e, abs=2e-7) and Lambda[0, 0] == pytest.approx((1 + e) / 2, abs=1e-7)


@pytest.mark.parametrize("n", [1.0, 1.5])
def test_plastic_balls_stay_together(n):
    """A ball meets two that touch, all without restitution: they go on together, at a third of its speed."""
    G = np.zeros((6, 6))
    G[0, 0] = G[3, 3] = 2.0
    G[0, 3] = G[3, 0] = -1.0
    Lambda, after = by_springs(G, [[-1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], 0.0, 0.0, n)
    assert after[:, 0] == pytest.approx(0.0, abs=2e-6) and Lambda[:, 0] == pytest.approx([2 / 3, 1 / 3], abs=1e-6)


@pytest.mark.parametrize(
    ("model", "expected"),
    [("linear", (-0.1303, 0.1502, 0.9800)), ("hertz", (-0.0710, 0.0764, 0.9945))],
)
def test_three_equal_balls_leave_as_published(model, expected):
    """Springs of equal stiffness: Herrmann and Schmalzle 1981 (-0.13, 0.15, 0.98); Hertz: -0.071, 0.076, 0.995."""
    cradle = ss.library.newton_cradle(balls=3).system
    hit = ss.impact(cradle, np.zeros(3), [1.0, 0.0, 0.0], ss.StiffnessRatios(1.0, model=model))
    assert hit.solved and hit.u == pytest.approx(expected, abs=6e-5)
    assert abs(hit.energy_change) < 1e-12 and hit.u.sum() == pytest.approx(1.0, abs=1e-13)


def chain(stiffness, model):
    """Three balls by an integration of their springs in time, of another kind: events are what solve_ivp meets."""
    from scipy.integrate import solve_ivp

    n = 1.0 if model == "linear" else 1.5

    def rate(_, y):
        force = np.array(stiffness) * np.maximum(0.0, y[:2] - y[1:3]) ** n
        return [*y[3:], -force[0], force[0] - force[1], force[1]]

    return solve_ivp(rate, (0, 60), [0, 0, 0, 1, 0, 0], rtol=1e-10, atol=1e-12, max_step=0.05).y[3:, -1]


@pytest.mark.parametrize(("stiffness", "model"), [((1.0, 4.0), "linear"), ((1.0, 0.2), "hertz")])
def test_ratios_decide_who_leaves(stiffness, model):
    cradle = ss.library.newton_cradle(balls=3).system
    for scale in (1.0, 1e6):  # ratios alone count
        law = ss.StiffnessRatios(1.0, stiffness=tuple(scale * k for k in stiffness), model=model)
        hit = ss.impact(cradle, np.zeros(3), [1.0, 0.0, 0.0], law)
        assert hit.u == pytest.approx(chain(stiffness, model), abs=1e-6)


def test_extreme_ratios_tend_to_blows_in_turn_and_to_one_body():
    """A first contact far stiffer than the second has ended before the other begins; far softer, 2 and 3 are one."""
    cradle = ss.library.newton_cradle(balls=3).system
    in_turn, as_one = (
        ss.impact(cradle, np.zeros(3), [1.0, 0.0, 0.0], ss.StiffnessRatios(1.0, stiffness=kappa)).u
        for kappa in ((1e4, 1.0), (1.0, 1e4))
    )
    assert in_turn == pytest.approx([0, 0, 1], abs=2e-3)
    assert as_one == pytest.approx([-1 / 3, 2 / 3, 2 / 3], abs=2e-2) and as_one[:1] == pytest.approx(-1 / 3, abs=1e-5)


@pytest.mark.parametrize(
    ("G", "u", "mu", "e"),
    [
        (ELLIPSOID, (-1, -0.2, 0.3), 0.15, 0.7),  # slip turns
        (ELLIPSOID, (-1.15773064584, 0.79253482861, 0.40967144555), 0.3, 0.5),
        (ELLIPSOID, (-1, 0.3, 0.1), 0.8, 0.7),  # sticks
        (ELLIPSOID, (-1, 0, 0), 0.3, 0.5),  # slip begins
        (KANE, (-0.134202, -0.2671745, 0), 0.1, 0.5),  # slip turns round
    ],
)
def test_one_contact_is_stronges(G, u, mu, e):
    """Whatever spring: friction and energy follow the normal impulse, not time."""
    expected = np.zeros(3)
    assert spatial_impact(np.ascontiguousarray(G).ravel(), np.array(u, float), mu, e, ENERGETIC, expected)
    for n in (1.0, 1.5):
        assert by_springs(G, [u], mu, e, n)[0][0] == pytest.approx(expected, abs=2e-6)


def test_a_bar_in_the_plane_has_stronges_impulse():
    bar = ss.library.impacting_bar(mass=1.0, half_length=1.0, friction=0.3, restitution_normal=0.5).system
    state = [0.0, np.sin(0.8), 0.8], [-0.5, -1.0, 0.0]
    soft, hard = (ss.impact(bar, *state, law) for law in (ss.StiffnessRatios(), ss.Stronge()))
    assert soft.u == pytest.approx(hard.u, abs=2e-6) and soft.contact_state == hard.contact_state
    stack = ss.impact(bar, [state[0]] * 2, [state[1]] * 2, ss.StiffnessRatios())
    assert np.array_equal(stack.u, [soft.u] * 2)


def test_coefficients_of_one_contact_each():
    """The first contact ends before the second begins: e = 0.5 leaves (1/4, 3/4, 0), and e = 0 shares the 3/4."""
    cradle = ss.library.newton_cradle(balls=3).system
    law = ss.StiffnessRatios((0.5, 0.0), stiffness=(1e4, 1.0))
    hit = ss.impact(cradle, np.zeros(3), [1.0, 0.0, 0.0], law)
    assert hit.u == pytest.approx([0.25, 0.375, 0.375], abs=5e-3) and hit.u.sum() == pytest.approx(1.0, abs=1e-13)


def box_on_four_corners(rng, mu, e, n):
    """A cube of side 0.3 that strikes with four corners; returns kinetic energies and the normal velocities after."""
    J = np.diag([0.0109, 0.0109, 0.015])
    arms = [np.array([x, y, -0.1]) for x in (-0.15, 0.15) for y in (-0.15, 0.15)]
    W = np.array([[*d, *np.cross(r, d)] for r in arms for d in np.eye(3)[[2, 0, 1]]])
    M = np.block([[np.eye(3), np.zeros((3, 3))], [np.zeros((3, 3)), J]])
    u = rng.normal(size=6) - 2.0 * np.eye(6)[2]
    V = np.linalg.solve(M, W.T)
    Lambda, after = by_springs(W @ V, (W @ u).reshape(4, 3), mu, e, n, 10.0 ** rng.uniform(-1, 1, 4))
    bound = mu * Lambda[:, 0] * (1 + 1e-9)
    assert np.all(np.linalg.norm(Lambda[:, 1:], axis=1) <= bound)  # of each step, so of their sum
    v = u + V @ Lambda.ravel()
    assert (W @ v).reshape(4, 3) == pytest.approx(after, abs=1e-7)
    return 0.5 * u @ M @ u, 0.5 * v @ M @ v, after[:, 0]


def attack(seeds):
    """How many impacts do not settle, which the law says; none of the others gains energy."""
    left = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        mu, e = rng.choice([0.0, 0.1, 0.5, 2.0]), rng.choice([0.0, 0.3, 1.0])
        try:
            before, end, apart = box_on_four_corners(rng, mu, e, rng.choice([1.0, 1.5]))
        except RuntimeError:
            left += 1
            continue
        assert end <= before * (1 + 1e-9) and apart.min() >= -2e-5
        if mu == 0.0 and e == 1.0:
            assert end == pytest.approx(before, rel=1e-11)
    return left


def test_four_corners_never_gain_energy():
    assert attack(range(3)) == 0


@pytest.mark.slow
def test_many_impacts_on_four_corners_never_gain_energy():
    assert attack(range(1000, 1300)) == 0


# -- Chatterjee and Ruina ----------------------------------------------------------------------------------------------


def written_out(G, u, mu, e, e_T):
    """P = (1 + e) P_I + kappa (P_II - P_I) from its definition, kappa by bisection on the cone."""
    first = np.array([-u[0] / G[0, 0], 0.0, 0.0])
    more = -np.linalg.solve(G, u) - first

    def impulse(kappa):
        return (1 + e) * first + kappa * more

    low, high = 0.0, 1.0 + e_T
    P = impulse(high)
    if np.hypot(P[1], P[2]) <= mu * P[0]:
        return P
    for _ in range(200):
        middle = 0.5 * (low + high)
        P = impulse(middle)
        low, high = (middle, high) if np.hypot(P[1], P[2]) <= mu * P[0] else (low, middle)
    return impulse(low)


def test_the_algebraic_law_is_its_definition_and_never_gains():
    rng = np.random.default_rng(7)
    for _ in range(150):
        A, u = rng.normal(size=(3, 4)), rng.normal(size=3)
        G = A @ A.T + 1e-2 * np.eye(3)
        u[0], mu, e, e_T = -abs(u[0]) - 1e-3, rng.uniform(0, 2), rng.uniform(0, 1), rng.uniform(-1, 1)
        P = np.zeros(3)
        algebraic_impact(G.ravel(), u, mu, e, e_T, P)
        size = np.abs(np.linalg.solve(G, u)).max()
        assert P == pytest.approx(written_out(G, u, mu, e, e_T), abs=1e-11 * size)
        after = u + G @ P
        assert after[0] == pytest.approx(-e * u[0], abs=1e-11 * size * np.abs(G).max())
        assert P @ (u + after) <= 1e-11 * size * np.abs(u).max()
        assert np.hypot(P[1], P[2]) <= mu * P[0] * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("e_T", [-1.0, -0.4, 0.0, 0.7])
def test_a_sphere_by_hand(e_T):
    """G = diag(1, 7/2, 7/2): sticks with u_T^+ = -e_T u_T, else slips at the bound mu (1 + e) |u_N|."""
    for slip, mu in ((0.3, 0.9), (3.0, 0.2)):
        P = np.zeros(3)
        algebraic_impact(np.diag([1.0, 3.5, 3.5]).ravel(), np.array([-1.0, slip, 0.0]), mu, 0.5, e_T, P)
        assert P == pytest.approx([1.5, -min((1 + e_T) * slip / 3.5, 1.5 * mu), 0.0], abs=1e-13)


def test_the_law_of_a_mechanism():
    """The bar by the formula; a cradle one after the other; Kane's pendulum gains nothing."""
    bar = ss.library.impacting_bar(mass=1.0, half_length=1.0, friction=0.3, restitution_normal=0.5).system
    hit = ss.impact(bar, [0.0, np.sqrt(0.5), np.pi / 4], [-0.5, -1.0, 0.0], ss.ChatterjeeRuina())
    # alpha = beta = 2.5, delta = 1.5: P_I = 0.4, slip after it 0.1, which -0.1 / (2.5 - 0.9) stops, and N goes with it
    assert hit.normal_impulse[0] == pytest.approx(1.5 * 0.4 + 0.6 * 0.0625, abs=1e-14)
    assert hit.tangential_impulse[0] == pytest.approx(-0.0625, abs=1e-14)
    assert hit.normal_velocity_after[0] == pytest.approx(0.5, abs=1e-14)
    cradle = ss.library.newton_cradle(balls=4).system
    assert ss.impact(cradle, np.zeros(4), np.eye(4)[0], ss.ChatterjeeRuina(1.0)).u == pytest.approx(np.eye(4)[3])
    kane = ss.library.kane_pendulum(restitution_normal=0.5)
    assert ss.impact(kane.system, kane.q0, kane.u0, ss.ChatterjeeRuina()).energy_change < 0.0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ss.StiffnessRatios(stiffness=0.0), "stiffness of StiffnessRatios must be positive"),
        (lambda: ss.StiffnessRatios(stiffness=np.inf), "stiffness of StiffnessRatios must be positive"),
        (lambda: ss.StiffnessRatios(stiffness=(1, 1e5)), "with ratios of up to 10000, got (1, 100000.0)"),
        (lambda: ss.StiffnessRatios(1.1), "restitution of StiffnessRatios must lie in [0, 1], got 1.1"),
        (lambda: ss.StiffnessRatios(model="soft"), "model of StiffnessRatios must be one of linear, hertz, got 'soft'"),
        (lambda: ss.ChatterjeeRuina(1.1), "restitution_normal of ChatterjeeRuina must lie in [0, 1], got 1.1"),
        (lambda: ss.ChatterjeeRuina(0, -1.1), "restitution_tangential of ChatterjeeRuina must lie in [-1, 1]"),
    ],
)
def test_wrong_numbers(make, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        make()


def test_a_tuple_needs_one_number_per_contact():
    cradle = ss.library.newton_cradle(balls=3).system
    for numbers in ((1.0, 2.0, 3.0), (1.0,)):
        with pytest.raises(ValueError, match=f"must be one number or 2, one per contact, got {len(numbers)}"):
            ss.impact(cradle, np.zeros(3), [1.0, 0, 0], ss.StiffnessRatios(1.0, stiffness=numbers))
