"""Impact laws on arrays: the numbers of one contact, what the laws share, and what they refuse."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stickslip as ss
from stickslip.contact.planar import Auto, PlanarProblem, all_solutions
from stickslip.impacts.several import Problems, newton_several, poisson_several
from stickslip.laws.base import Striking, energy_of
from stickslip.laws.lumped import MAX_LUMPED_PHASES, lumped
from stickslip.laws.routh import ENERGETIC, KINETIC, MAX_PHASES, routh
from tests.thinned import examples, thinned


def problem(G_NN, G_NT, G_TT, gamma_N, gamma_T, mu):
    """A pure impact of k contacts."""
    G_NN, G_NT, G_TT = (np.atleast_2d(np.asarray(G, dtype=float)) for G in (G_NN, G_NT, G_TT))
    gamma_N, gamma_T, mu = (np.atleast_1d(np.asarray(v, dtype=float)) for v in (gamma_N, gamma_T, mu))
    size = np.full(len(mu), float(np.abs(gamma_N).max() + np.abs(gamma_T).max()))
    return PlanarProblem(
        G_NN,
        G_NT,
        G_TT,
        gamma_N,
        gamma_T,
        mu,
        np.zeros(len(mu)),
        np.diag(G_NN) > 0,
        np.diag(G_TT) > 0,
        size,
        size,
    )


def solve(law, p, eps_N, eps_T=0.0):
    eps_N, eps_T = (np.broadcast_to(np.asarray(e, dtype=float), p.mu.shape) for e in (eps_N, eps_T))
    return law.solve(p, p.c_N, p.c_T, eps_N, eps_T, Auto())


def random_problems(rng, k, m, f, mu_max=1.0, approach=False):
    """k impacts of m contacts between bodies with f coordinates, M = 1; all contacts approach, if asked for."""
    W_N, W_T, u = rng.normal(size=(k, m, f)), rng.normal(size=(k, m, f)), rng.normal(size=(k, f, 1))
    if approach:
        W_N *= -np.sign(W_N @ u)
    gamma = np.concatenate([W_N @ u, W_T @ u], axis=2)
    size = np.concatenate([np.abs(W_N) @ np.abs(u), np.abs(W_T) @ np.abs(u)], axis=2)
    M = np.broadcast_to(np.eye(f), (k, f, f))
    return Problems.of(M, W_N, W_T, gamma, size, rng.uniform(0.01, mu_max, (k, m)))


def energies(problems, Lambda):
    after = problems.velocities(Lambda)
    return 0.5 * (Lambda * (problems.c + after)).sum(axis=(1, 2))


# -- Routh's process against its closed forms -------------------------------------------------------------------------


def closed_form(alpha, beta, delta, gamma_N, gamma_T, mu, e):
    """Final normal impulse under energetic restitution, written out case by case; gamma_N < 0."""

    def rates(slip):
        r = -mu * slip if slip else -delta / beta
        return alpha + delta * r, (delta + beta * r if slip else 0.0), r

    def begin(gamma_T):
        if gamma_T:
            return np.sign(gamma_T)
        return 0.0 if abs(delta) <= mu * beta else np.sign(delta)

    s = begin(gamma_T)
    a_1, b_1, r_1 = rates(s)
    p_s = -gamma_T / b_1 if gamma_T * b_1 < 0 else np.inf
    a_2, _, r_2 = rates(begin(0.0))
    p_c = -gamma_N / a_1 if a_1 > 0 else np.inf
    if p_s >= (1 + e) * p_c:
        return (1 + e) * p_c, r_1 * (1 + e) * p_c
    if p_s < p_c:
        at_s = gamma_N + a_1 * p_s
        p_c = p_s - at_s / a_2
        W_c = 0.5 * (gamma_N + at_s) * p_s - at_s**2 / (2 * a_2)
        p_f = p_c + e * np.sqrt(-2 * W_c / a_2)
    else:
        W_c, v_s = -(gamma_N**2) / (2 * a_1), a_1 * (p_s - p_c)
        W_1 = v_s**2 / (2 * a_1)
        p_f = p_s + (-v_s + np.sqrt(v_s**2 + 2 * a_2 * (-(e**2) * W_c - W_1))) / a_2
    return p_f, r_1 * p_s + r_2 * (p_f - p_s)


def test_phases_and_closed_forms_agree():
    rng = np.random.default_rng(2)
    phases, worst, gain = np.zeros((MAX_PHASES, 3)), 0.0, -np.inf
    for _ in range(3000):
        w_N, w_T, u = rng.normal(size=(3, 3))
        alpha, beta, delta = w_N @ w_N, w_T @ w_T, w_N @ w_T
        gamma_N, gamma_T, mu, e = -abs(w_N @ u), w_T @ u, rng.uniform(0, 2), rng.uniform()
        N, T, count = routh(Striking(alpha, beta, delta, gamma_N, gamma_T, mu), e, ENERGETIC, phases)
        assert 1 <= count <= 4
        assert phases[:count, 2].sum() == pytest.approx(N, rel=1e-12)
        expected = np.array(closed_form(alpha, beta, delta, gamma_N, gamma_T, mu, e))
        worst = max(worst, np.abs(expected - (N, T)).max() / expected[0])
        gain = max(gain, N * gamma_N + T * gamma_T + 0.5 * (alpha * N**2 + 2 * delta * N * T + beta * T**2))
    assert worst < 1e-12
    assert gain <= 1e-12


def test_a_jammed_impact_stops_slipping_first():
    """Bar at 60 degrees, mu = 5/3: slip drives the tip into the ground until it stops."""
    phases = np.zeros((MAX_PHASES, 3))
    alpha, beta, delta = 1.75, 3.25, 1.5 * np.sin(np.pi / 3)
    N, T, count = routh(Striking(alpha, beta, delta, -1.0, 2.0, 5 / 3), 0.5, ENERGETIC, phases)
    np.testing.assert_allclose((N, T), (2.136929716, -1.469524040), rtol=1e-9)
    np.testing.assert_array_equal(phases[:count, :2], [[0, 1], [0, 0], [1, 0]])
    np.testing.assert_allclose(phases[:count, 2], [0.48571647, 0.97630259, 0.67491066], atol=1e-8)
    np.testing.assert_allclose(-1 + alpha * N + delta * T, 0.830659277, rtol=1e-8)
    np.testing.assert_allclose(2 + delta * N + beta * T, 0.0, atol=1e-14)
    gain = -N + 2 * T + 0.5 * (alpha * N**2 + 2 * delta * N * T + beta * T**2)
    np.testing.assert_allclose(gain, -1.650458651, rtol=1e-8)


def test_routh_without_an_impact():
    phases = np.zeros((MAX_PHASES, 3))
    assert routh(Striking(2.0, 2.0, 1.0, 0.0, 1.0, 0.5), 0.5, ENERGETIC, phases) == (0.0, 0.0, 0)
    assert routh(Striking(2.0, 2.0, 1.0, 0.3, 1.0, 0.5), 0.5, ENERGETIC, phases) == (0.0, 0.0, 0)
    N, T, _ = routh(Striking(2.0, 2.0, 1.0, -1.0, 1.0, 0.0), 0.5, ENERGETIC, phases)  # no friction
    assert (N, T) == pytest.approx((0.75, 0.0))
    N, _, count = routh(Striking(2.0, 2.0, 1.0, -1.0, 1.0, 0.5), 0.0, KINETIC, phases)  # e = 0 ends with compression
    assert count == 1 and N == pytest.approx(1 / 1.5)
    N, T, _ = routh(
        Striking(1.75, 3.25, 1.299038106, 0.0, 2.0, 5 / 3), 0.5, ENERGETIC, phases
    )  # impact without collision
    assert N > 0


# -- the lumped model -------------------------------------------------------------------------------------------------

SPHERE = {  # psi: psi_f for e = 0, 0.5, 1 (mu = 0.5, beta' = 3.5, eta^2 = 1.21)
    0.25: (-0.222886, -0.175178, 0.105326),
    0.605: (-0.539384, -0.457153, 0.075465),
    1.0: (-0.590559, -0.807584, -0.288971),
    1.5: (-0.244239, -1.012761, -0.677565),
    2.0: (0.25, -0.625, -0.874800),
    2.5: (0.75, -0.125, -0.849871),
    2.895: (1.145, 0.27, -0.605),
    4.0: (2.25, 1.375, 0.5),
}
WALTON = {
    0.25: (-0.151250, -0.151250, -0.151250),
    0.605: (-0.366025, -0.366025, -0.366025),
    1.0: (-0.605, -0.605, -0.605),
    1.5: (-0.25, -0.9075, -0.9075),
    2.0: (0.25, -0.625, -1.21),
    2.5: (0.75, -0.125, -1.0),
    2.895: (1.145, 0.27, -0.605),
    4.0: (2.25, 1.375, 0.5),
}
RESTITUTIONS = (0.0, 0.5, 1.0)


def sphere_after(psi, e, mu=0.5, eta2=1.21):
    N, T, count = lumped(3.5, 0.0, psi, mu, e, eta2, np.zeros((MAX_LUMPED_PHASES, 4)))
    assert count > 0 and N == pytest.approx(1 + e)
    return psi + 3.5 * T


@pytest.mark.parametrize("psi", SPHERE)
def test_sphere_of_fig_13(psi):
    np.testing.assert_allclose([sphere_after(psi, e) for e in RESTITUTIONS], SPHERE[psi], atol=6e-7)
    np.testing.assert_allclose([sphere_after(-psi, e) for e in RESTITUTIONS], -np.array(SPHERE[psi]), atol=6e-7)
    for e, expected in zip(RESTITUTIONS, WALTON[psi], strict=True):
        p = problem(1.0, 0.0, 3.5, -1.0, psi, 0.5)
        for law in (ss.Walton(), ss.Newton()):
            answer = solve(law, p, e, 0.605)
            assert psi + 3.5 * answer.Lambda_T[0] == pytest.approx(expected, rel=1e-9)


def test_gross_slip_of_the_sphere():
    """Beyond the thresholds the lumped model, Walton and Newton agree: [PG05] eq. (59)."""
    for e, threshold in zip(RESTITUTIONS, (1.75, 1.75, 2.895), strict=True):
        for psi in (threshold * (1 + 1e-9), 1.3 * threshold, 3 * threshold):
            assert sphere_after(psi, e) == pytest.approx(psi - 0.5 * 3.5 * (1 + e), abs=1e-12)
        assert abs(sphere_after(threshold - 0.05, e) - (threshold - 0.05 - 1.75 * (1 + e))) > 1e-6


def test_curves_of_fig_13():
    minima = {0.0: (-0.6202, 0.85), 0.5: (-1.0134, 1.55), 1.0: (-0.8947, 2.20)}
    psi = np.linspace(0.0, 4.0, 81)
    for e, (lowest, where) in minima.items():
        curve = np.array([sphere_after(x, e) for x in psi])
        assert curve.min() == pytest.approx(lowest, abs=6e-5)
        assert psi[curve.argmin()] == pytest.approx(where)
        assert np.abs(np.diff(curve)).max() < 0.1  # continuous
    assert sphere_after(0.704522459, 1.0) == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize(
    ("e", "slip_begins", "after"), [(1.0, 2.848388975, 0.114175488), (0.5, 2.261241605, -0.212903999)]
)
def test_sticking_sphere_slips_before_it_leaves(e, slip_begins, after):
    phases = np.zeros((MAX_LUMPED_PHASES, 4))
    _, T, count = lumped(3.5, 0.0, 0.3, 0.5, e, 1.21, phases)
    np.testing.assert_array_equal(phases[:count, :2], [[0, 0], [1, 0], [1, -1]])
    assert phases[:2, 2].sum() == pytest.approx(slip_begins, abs=1e-9)
    assert phases[:count, 2].sum() == pytest.approx(np.pi / 2 * (1 + e), abs=1e-12)
    assert 0.3 + 3.5 * T == pytest.approx(after, abs=1e-9)
    omega = np.sqrt(3.5 / 1.21)
    assert omega == pytest.approx(1.700753, abs=1e-6)


def test_lumped_bar_is_coupled():
    """Bar at 45 degrees: beta' = 1, delta' = 0.6, mu = 0.3, e = 0.5."""

    def after(psi, eta2):
        N, T, _ = lumped(1.0, 0.6, psi, 0.3, 0.5, eta2, np.zeros((MAX_LUMPED_PHASES, 4)))
        return psi + 0.6 * N + T, -1.0 + N + 0.6 * T

    assert after(3.0, 1.21) == pytest.approx((3.548780488, 0.5), rel=1e-9)
    assert after(-0.5, 1.21) == pytest.approx((0.579974858, 0.475068910), rel=1e-8)
    limits = {1e-2: (0.31353, 0.42310), 1e-3: (0.29214, 0.42600), 1e-4: (0.28548, 0.42703)}
    for eta2, expected in limits.items():
        assert after(-0.5, eta2) == pytest.approx(expected, abs=6e-6)


def test_lumped_energy_never_grows():
    rng = np.random.default_rng(5)
    phases = np.zeros((MAX_LUMPED_PHASES, 4))
    for _ in range(1000):
        w_N, w_T = rng.normal(size=(2, 3))
        w_N /= np.linalg.norm(w_N)
        beta, delta = w_T @ w_T, w_N @ w_T
        psi, mu, e, eta2 = rng.normal(), rng.uniform(0, 2), rng.uniform(), rng.uniform(0.2, 3)
        N, T, count = lumped(beta, delta, psi, mu, e, eta2, phases)
        assert count > 0
        assert -N + psi * T + 0.5 * (N**2 + 2 * delta * N * T + beta * T**2) <= 1e-12
        assert -1 + N + delta * T >= -1e-12
        assert abs(T) <= mu * N * (1 + 1e-12)
        assert phases[:count, 3].sum() == pytest.approx(N)


# -- Poisson ----------------------------------------------------------------------------------------------------------


def test_poisson_satisfies_its_inequalities():
    """-(T^d - eps_T T^c) in mu (N^d - eps_T N^c) Sgn(gamma_T^+), and the normal part, on random pairs of contacts."""
    rng = np.random.default_rng(7)
    for _ in range(60):
        stack = random_problems(rng, 1, 2, 5)
        p = problem(stack.G_NN[0], stack.G_NT[0], stack.G_TT[0], stack.c[0, :, 0], stack.c[0, :, 1], stack.mu[0])
        eps_N = rng.uniform(size=2)
        eps_T = eps_N * rng.uniform(size=2)
        answer = solve(ss.Poisson(dissipative=False), p, eps_N, eps_T)
        first = Auto().solve(p)
        N_c, T_c = first.Lambda_N, first.Lambda_T
        N_d, T_d = answer.Lambda_N - N_c, answer.Lambda_T - T_c
        gamma_N, gamma_T = p.slip_velocities(answer.Lambda_N, answer.Lambda_T)
        more, bound = N_d - eps_N * N_c, p.mu * (N_d - eps_T * N_c)
        assert answer.solved and answer.residual < 1e-10
        assert (more >= -1e-10).all() and (gamma_N >= -1e-10).all() and np.abs(more * gamma_N).max() < 1e-10
        rest = T_d - eps_T * T_c
        assert (np.abs(rest) <= bound + 1e-10).all()
        slipping = np.abs(gamma_T) > 1e-9
        np.testing.assert_allclose(rest[slipping], (-bound * np.sign(gamma_T))[slipping], atol=1e-9)


def test_poisson_equals_newton_where_it_should():
    rng = np.random.default_rng(3)
    stack = random_problems(rng, 3000, 2, 4, approach=True)
    e = rng.uniform(size=(3000, 1, 1)) * np.ones((1, 2, 2))
    newton, first = newton_several(stack, e)
    poisson, second = poisson_several(stack, e)
    assert max(first.max(), second.max()) < 1e-9
    np.testing.assert_allclose(stack.velocities(newton), stack.velocities(poisson), atol=1e-9)

    p = problem(1.0, 0.0, 3.5, -1.0, 0.3, 0.5)  # delta = 0, eps_T = 0
    a, b = solve(ss.Newton(), p, 0.7), solve(ss.Poisson(), p, 0.7)
    np.testing.assert_allclose((a.Lambda_N, a.Lambda_T), (b.Lambda_N, b.Lambda_T), rtol=1e-12)


def test_compression_dissipates_and_one_contact_never_gains():
    rng = np.random.default_rng(4)
    stack = random_problems(rng, 4000, 1, 3, mu_max=2.0, approach=True)
    eps_N = rng.uniform(size=(4000, 1))
    eps = np.stack([eps_N, eps_N * rng.uniform(size=(4000, 1))], axis=-1)
    Lambda, _ = poisson_several(stack, eps)
    assert energies(stack, Lambda).max() <= 1e-11
    only_normal = np.stack([eps_N, np.zeros((4000, 1))], axis=-1)
    Lambda, _ = newton_several(stack, only_normal)
    assert energies(stack, Lambda).max() > 0.01  # Newton's law does, in the same sample

    stack = random_problems(rng, 2000, 2, 4)
    Lambda, _ = poisson_several(stack, np.zeros((2000, 2, 2)))
    assert energies(stack, Lambda).max() <= 1e-11


def test_poisson_is_scaled_where_it_would_gain():
    """Different eps_N: about one of fifty random pairs of contacts gains energy."""
    stack = random_problems(np.random.default_rng(6), 2000, 2, 3, mu_max=2.0, approach=True)
    eps = np.zeros((2000, 2, 2))
    eps[:, 0, 0] = 1.0
    Lambda, residual = poisson_several(stack, eps)
    gains = np.where(residual < 1e-9, energies(stack, Lambda), 0.0)
    found = 0
    for i in (*np.flatnonzero(gains > 1e-6)[:20], 0, 1, 2):
        p = problem(stack.G_NN[i], stack.G_NT[i], stack.G_TT[i], stack.c[i, :, 0], stack.c[i, :, 1], stack.mu[i])
        plain, scaled = (solve(ss.Poisson(dissipative=d), p, [1.0, 0.0]) for d in (False, True))
        gain = energy_of(p, plain.Lambda_N, plain.Lambda_T)[0]  # of this solution: strong friction may have others
        after, size = energy_of(p, scaled.Lambda_N, scaled.Lambda_T)
        assert plain.scale == 1.0 and scaled.energy_unscaled == gain
        if gain > 1e-9 * size:
            found += 1
            assert 0.0 <= scaled.scale < 1.0 and abs(after) < 1e-9 * size
        else:
            assert scaled.scale == 1.0
    assert found > 5


# -- energy -----------------------------------------------------------------------------------------------------------


@thinned
@settings(max_examples=examples(25, 100))
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(2, 6), st.floats(0.0, 1.0), st.floats(0.05, 3.0))
def test_equal_coefficients_never_gain_energy(seed, m, f, e, mu):
    """[PG05] eq. (14), which also gives the loss exactly."""
    rng = np.random.default_rng(seed)
    stack = random_problems(rng, 1, m, f, mu_max=mu)
    p = problem(stack.G_NN[0], stack.G_NT[0], stack.G_TT[0], stack.c[0, :, 0], stack.c[0, :, 1], stack.mu[0])
    for law in (ss.Newton(), ss.Poisson()):
        answer = solve(law, p, e, e)
        assert answer.solved
        gain, size = energy_of(p, answer.Lambda_N, answer.Lambda_T)
        assert gain <= 1e-9 * size
    answer = solve(ss.Newton(), p, e, e)
    N, T = answer.Lambda_N, answer.Lambda_T
    xi_N, xi_T = (c + e * g for c, g in zip(p.slip_velocities(N, T), (p.c_N, p.c_T), strict=True))
    square = N @ p.G_NN @ N + 2 * N @ p.G_NT @ T + T @ p.G_TT @ T
    gain, size = energy_of(p, N, T)
    book = (N @ xi_N + T @ xi_T) / (1 + e) - 0.5 * (1 - e) / (1 + e) * square
    assert gain == pytest.approx(book, abs=1e-9 * max(size, 1e-12))


def test_equal_coefficients_never_gain_energy_in_thousands_of_impacts():
    rng = np.random.default_rng(8)
    for m, f in ((2, 3), (3, 4), (3, 7)):
        stack = random_problems(rng, 2000, m, f, mu_max=1.5)
        e = rng.uniform(size=(2000, 1, 1)) * np.ones((1, m, 2))
        Lambda, residual = newton_several(stack, e)
        assert (residual < 1e-9).all()
        assert energies(stack, Lambda).max() <= 1e-9


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ss.Newton(restitution_normal=1.2), r"restitution_normal of Newton must lie in \[0, 1\], got 1.2"),
        (lambda: ss.Poisson(restitution_tangential=-0.1), r"restitution_tangential of Poisson must lie in \[0, 1\]"),
        (lambda: ss.Stronge(float("nan")), r"restitution of Stronge must lie in \[0, 1\], got nan"),
        (lambda: ss.Walton("half"), r"restitution_normal of Walton must lie in \[0, 1\], got 'half'"),
        (lambda: ss.Stronge(0.5, model="soft"), "model of Stronge must be one of rigid, lumped, got 'soft'"),
        (lambda: ss.Poisson(model="soft"), "model of Poisson must be one of lcp, integrated, got 'soft'"),
        (lambda: ss.Stronge(0.5, stiffness_ratio=0.0), "stiffness_ratio of Stronge must be positive and finite, got 0"),
        (lambda: ss.Poisson(0.5, 0.5, model="integrated"), "has no tangential restitution, got"),
    ],
)
def test_wrong_coefficients(make, message):
    with pytest.raises(ValueError, match=message) as error:
        make()
    assert "\n" not in str(error.value)


def test_coefficients_come_from_the_law_or_the_system():
    kinds, names = (0, 0, 1), ("left", "right", "clutch")
    eps_N, eps_T = np.array([0.5, 0.6, 0.0]), np.array([0.1, 0.2, 0.0])
    own = ss.Newton().coefficients(eps_N, eps_T, kinds, names)
    np.testing.assert_array_equal(own, [eps_N, eps_T])
    given_N, given_T = ss.Newton(0.9, (0.3, 0.4, 0.9)).coefficients(eps_N, eps_T, kinds, names)
    np.testing.assert_array_equal(given_N, [0.9, 0.9, 0.0])  # a clutch keeps its own
    np.testing.assert_array_equal(given_T, [0.3, 0.4, 0.0])
    with pytest.raises(
        ValueError, match="restitution_normal of Newton must be one number or 3, one per contact, got 2"
    ):
        ss.Newton((0.1, 0.2)).coefficients(eps_N, eps_T, kinds, names)
    with pytest.raises(
        ValueError, match=r"needs restitution_tangential <= restitution_normal .*got 0.7 > 0.6 at contact 'right'"
    ):
        ss.Poisson().coefficients(eps_N, np.array([0.1, 0.7, 0.0]), kinds, names)
    np.testing.assert_array_equal(
        ss.Stronge(0.3).coefficients(eps_N, eps_T, kinds, names), [[0.3, 0.3, 0.0], [0, 0, 0]]
    )


def test_laws_of_one_contact_refuse_several():
    rng = np.random.default_rng(1)
    stack = random_problems(rng, 1, 2, 4)
    p = problem(stack.G_NN[0], stack.G_NT[0], stack.G_TT[0], stack.c[0, :, 0], stack.c[0, :, 1], stack.mu[0])
    for law in (ss.Stronge(0.5), ss.Stronge(0.5, model="lumped"), ss.Walton(), ss.Poisson(model="integrated")):
        with pytest.raises(ValueError, match=r"is for one closed contact, got 2: .* use Newton"):
            solve(law, p, 0.5)
    with pytest.raises(ValueError, match=r"Walton's operator is for spheres.*got delta = .* = 0.3 1/kg"):
        solve(ss.Walton(), problem(1.0, 0.3, 2.0, -1.0, 0.5, 0.5), 0.5)


def test_every_solution_of_a_painleve_impact():
    """At gamma_N = 0 with supercritical friction: nothing, or the impact without collision."""
    p = problem(1.75, 1.299038106, 3.25, 0.0, 2.0, 5 / 3)
    zero = np.zeros(1)
    for law in (ss.Newton(), ss.Poisson(), ss.Stronge(), ss.Poisson(model="integrated"), ss.Stronge(model="lumped")):
        found = law.solutions(p, zero, zero, Auto(), all_solutions)
        impulses = sorted(float(s.Lambda_N[0]) for s in found)
        assert len(found) >= 1 and impulses[0] == 0.0
    found = ss.Newton().solutions(p, zero, zero, Auto(), all_solutions)
    assert sorted(float(s.Lambda_N[0]) for s in found) == pytest.approx([0.0, 2 * 1.299038106 / 4.0], rel=1e-9)
