"""The systems of [S00]: the statements of the text as assertions, and closed forms."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import stickslip as ss
from stickslip import library
from stickslip.library.angled_bar import rigid_velocity
from stickslip.papers import s00_impacts as impacts

# -- brick on a ramp, 1.1 -----------------------------------------------------------------------------------------


def test_brick_sticks_below_the_limit_and_slips_above():
    """F_ext = 4 sin 2t: slips from 0.2315468 to 1.9867415 s in every period, 1.5741645817 m a period; never creeps."""
    brick = library.brick_on_ramp(friction=0.5, angle=0.3, velocity=0.0, push=4.0)
    run = brick.simulate(dt=2e-3, t_end=math.pi * 1.0)
    moving = run.t[np.flatnonzero(run["v_x"] > 0.0)]
    assert moving[0] == pytest.approx(0.2315468, abs=4e-3) and moving[-1] == pytest.approx(1.9867415, abs=4e-3)
    assert run["x"][-1] == pytest.approx(1.5741645817, abs=5e-3)
    assert (run["x"][run.t < 0.229] == 0.0).all() and np.ptp(run["x"][run.t > 1.99]) == 0.0
    below = library.brick_on_ramp(friction=0.5, angle=0.3, velocity=0.0, push=1.7)  # m g (mu cos - sin) = 1.787 N
    assert (below.simulate(dt=1e-2, t_end=5.0)["x"] == 0.0).all()


def test_falling_friction_is_unstable():
    """[S00] 4.3: one push starts the brick; under mu(v) it runs away, under Coulomb's law it stops again."""
    keywords = {"friction": 0.5, "angle": 0.4, "velocity": 0.0, "push": 0.9, "push_frequency": math.pi / 2}
    coulomb = library.brick_on_ramp(**keywords).simulate(dt=5e-3, t_end=2.5)
    brick = library.brick_on_ramp(**keywords, friction_kinetic=0.3)  # tan(0.4) = 0.423 lies between
    falling = brick.simulate(dt=2e-3, t_end=2.5)
    limit = 9.81 * (0.5 * math.cos(0.4) - math.sin(0.4))
    start = math.asin(limit / 0.9) / (math.pi / 2)  # m g sin + F_ext > m g cos mu(0)
    assert falling["v_x"][-1] > 1.0 and coulomb["v_x"][-1] == 0.0

    def rates(t, v):
        mu = 0.3 + 0.2 * math.exp(-max(v[0], 0.0) / 0.1)
        return [9.81 * (math.sin(0.4) - mu * math.cos(0.4)) + 0.9 * math.sin(math.pi / 2 * t)]

    exact = solve_ivp(rates, (start, 2.5), [0.0], rtol=1e-9, atol=1e-12).y[0, -1]
    assert falling["v_x"][-1] == pytest.approx(exact, rel=0.02)
    assert (falling["x"][falling.t < start - 2e-3] == 0.0).all()


# -- Painleve's rod, 1.3 ------------------------------------------------------------------------------------------


def bracket(theta, mu):
    """[S00] (1.5) for m = l = 1, J = 1/12: the factor of N in the tip's vertical acceleration."""
    return 1.0 - 3.0 * math.cos(theta) * (mu * math.sin(theta) - math.cos(theta))


@pytest.mark.parametrize(("theta", "mu", "spin"), [(1.1, 2.0, 0.0), (0.7, 0.5, 1.0), (1.3, 3.0, -8.0)])
def test_rod_accelerates_as_the_paper_says(theta, mu, spin):
    """With a normal force N and friction mu N to the right; the centrifugal term with sin, not the printed cos."""
    rod = library.painleve_rod(friction=mu, angle=theta, spin=spin)
    W_N, W_T, _ = rod.system.geometry(rod.q0)
    M = rod.system.mass(rod.q0)
    for N in (0.0, 1.0, 2.5):
        du = np.linalg.solve(M, rod.system.force(rod.q0, rod.u0) + N * (W_N[0] + mu * W_T[0]))
        rise = W_N[0] @ du + rod.system.drift(rod.q0, rod.u0)[0, 0]
        assert rise == pytest.approx(bracket(theta, mu) * N + 0.5 * math.sin(theta) * spin**2 - 9.81, abs=1e-12)


def test_rod_starts_with_its_tip_as_asked():
    rod = library.painleve_rod(slip=-1.5, approach=-0.25, spin=2.0, gap=0.1, angle=0.9)
    W_N, W_T, _ = rod.system.geometry(rod.q0)
    assert W_T[0] @ rod.u0 == pytest.approx(-1.5) and W_N[0] @ rod.u0 == pytest.approx(-0.25)
    assert rod.system.gap(rod.q0)[0] == pytest.approx(0.1)
    with pytest.raises(ValueError, match=r"angle must lie between 0 and pi \[rad\], got 4"):
        library.painleve_rod(angle=4.0)


def test_paradox_begins_at_four_thirds_and_is_resolved_by_an_impulse():
    rod = library.painleve_rod()
    below, above = (ss.painleve(rod.system, rod.q0, rod.u0, params={"friction": mu}) for mu in (1.33, 1.34))
    assert (below.verdict, above.verdict) == ("unique", "none")
    hit = ss.painleve(rod.system, rod.q0, rod.u0).resolution
    # both velocities of the tip are zero after it: G Lambda = (0, 1), G = [[1.6, -1.2], [-1.2, 3.4]]
    assert (hit.normal_impulse[0], hit.tangential_impulse[0]) == pytest.approx((0.3, 0.4))
    assert hit.tangential_velocity_after[0] == pytest.approx(0.0, abs=1e-12)
    spinning = library.painleve_rod(spin=-6.0)  # above sqrt(2 g / (l sin theta)) = 4.68 rad/s, [S00] 3.3.1
    found = ss.painleve(spinning.system, spinning.q0, spinning.u0)
    assert found.verdict == "several" and sorted(s.motion[0] for s in found.solutions) == ["lifts off", "slips"]
    assert found.resolution is not None  # and a third one, impulsive


def test_newtons_law_forgets_what_a_stiff_table_gives_back():
    """[S00] end of 1.3: a table of stiffness k throws the tip up with a velocity that has a limit for k -> infinity."""
    rod = library.painleve_rod()
    after = {}
    for law in (ss.Newton(restitution_normal=1.0), ss.Poisson(restitution_normal=1.0), ss.Stronge(1.0)):
        after[law.name] = ss.impact(rod.system, rod.q0, rod.u0, law).normal_velocity_after[0]
    assert after["newton"] == pytest.approx(0.0, abs=1e-12) and after["poisson"] == pytest.approx(0.6 / 1.7)
    thrown = [tip_on_springs(k) for k in (1e4, 1e6, 1e8, 1e10)]
    errors = np.abs(np.array(thrown) - after["stronge"])
    assert after["stronge"] > 0.2 and (np.diff(errors) < 0.0).all() and errors[-1] < 2e-3


def tip_on_springs(k):
    """Upward velocity of the tip when it leaves a table that is a spring; q frozen, exact stick and slip."""
    alpha, beta, delta, mu = 1.6, 3.4, -1.2, 2.0

    def slipping(t, x):  # x = depth, gamma_N, gamma_T; slips to the left, friction mu F to the right
        F = k * max(x[0], 0.0)
        return [-x[1], (alpha + mu * delta) * F - 9.81, (delta + mu * beta) * F]

    def sticking(t, x):
        return [-x[1], (alpha - delta**2 / beta) * k * max(x[0], 0.0) - 9.81, 0.0]

    def stopped(t, x):
        return x[2]

    def left(t, x):
        return x[0]

    stopped.terminal = left.terminal = True
    left.direction = -1.0
    options = {"method": "DOP853", "rtol": 1e-10, "atol": 1e-14}
    first = solve_ivp(slipping, (0.0, 1.0), [0.0, 0.0, -1.0], events=stopped, **options)
    second = solve_ivp(sticking, (0.0, 1.0), first.y[:, -1], events=left, **options)
    return second.y[1, -1]


@pytest.mark.parametrize("eta", [0.1, 0.3])
def test_penalty_law_of_paoli_and_schatzman_converges_to_newtons(eta):
    """[S00] 4.1: u'' + 2 eta/sqrt(lambda) u' + u/lambda = -g inside the wall; e = exp(-pi eta / sqrt(1 - eta^2))."""
    e, g, t_end = math.exp(-math.pi * eta / math.sqrt(1.0 - eta**2)), 9.81, 1.2
    t = np.linspace(0.0, t_end, 1201)
    hit = math.sqrt(2.0 / g)
    speed, exact = e * g * hit, np.where(t < hit, 1.0 - 0.5 * g * t**2, 0.0)
    start = hit
    while start < t_end and speed > 1e-3:  # bounce after bounce
        flight = t - start
        exact = np.where((flight >= 0) & (flight < 2 * speed / g), speed * flight - 0.5 * g * flight**2, exact)
        start, speed = start + 2 * speed / g, e * speed
    errors = []
    for penalty in (1e-6, 1e-8):

        def rates(t, x, penalty=penalty):
            pushed = 2.0 * eta / math.sqrt(penalty) * x[1] + x[0] / penalty if x[0] < 0.0 else 0.0
            return [x[1], -pushed - g]

        run = solve_ivp(
            rates, (0.0, t_end), [1.0, 0.0], t_eval=t, max_step=math.sqrt(penalty), rtol=1e-6, atol=1e-9, method="RK45"
        )
        errors.append(np.abs(run.y[0] - exact).max())
    assert errors[1] < 0.15 * errors[0] and errors[1] < 2e-3  # of order sqrt(lambda)


# -- two balls, 4.4 -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mu", [0.1, 0.4])
def test_ball_1_jumps(mu):
    balls = library.two_balls(friction=mu, clearance=0.0)
    hit = ss.impact(balls.system, balls.q0, balls.u0)
    N, T = hit.normal_impulse, hit.tangential_impulse
    m = 0.17
    assert hit.u[1] == pytest.approx(-T[2] / m) and hit.u[1] > 0.0  # friction of contact 3 alone lifts ball 1
    assert N[0] == 0.0 and hit.normal_velocity_after[0] > 0.0  # contact 1 seems elastic
    assert hit.normal_velocity_after[1:] == pytest.approx([0.0, 0.0], abs=1e-12)  # contacts 2 and 3 do not
    assert hit.u[4] == pytest.approx(0.0, abs=1e-12) and N[1] == pytest.approx(-T[2])  # ball 2 is pressed down
    assert abs(T[2]) <= mu * N[2] * (1 + 1e-12) and hit.energy_change < 0.0


def test_balls_without_friction_stay_on_the_table():
    balls = library.two_balls(friction=0.0, clearance=0.0)
    hit = ss.impact(balls.system, balls.q0, balls.u0)
    np.testing.assert_allclose(hit.u[[0, 1, 3, 4]], [0.5, 0.0, 0.5, 0.0], atol=1e-12)


def test_two_balls_agree_with_a_scene_of_spheres():
    """The collision of two balls, computed as a scene of spheres: another model, another solver."""
    balls = library.two_balls(friction=0.4, clearance=0.02)
    run = balls.simulate(engine="reference", dt=2e-4, t_end=0.06)
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.4)
    laws = {"mass": 0.17, "friction": 0.4}
    scene.add_body(
        ss.Sphere(0.03), position=(0, 0, 0.03), velocity=(1, 0, 0), angular_velocity=(0, 1 / 0.03, 0), **laws
    )
    scene.add_body(ss.Sphere(0.03), position=(0.08, 0, 0.03), **laws)
    other = scene.simulate(dt=2e-4, t_end=0.06)
    q = other.q[-1]
    np.testing.assert_allclose([run["x_1"][-1], run["y_1"][-1], run["x_2"][-1]], [q[0], q[2] - 0.03, q[7]], atol=5e-4)
    assert run["y_1"].max() > 1e-3


# -- three masses, 4.4 --------------------------------------------------------------------------------------------


def test_rigid_masses_know_one_outcome():
    for u in impacts.masses_rigid().values():
        np.testing.assert_allclose(u, [-1 / 3, 2 / 3, 2 / 3], atol=1e-12)


def test_which_mass_leaves_depends_on_the_ratio_of_the_stiffnesses():
    soft, stiff = (impacts.masses_after(ratio, dt=3e-5).u[-1] for ratio in (1e-2, 1e2))
    np.testing.assert_allclose(soft, [-1 / 3, 2 / 3, 2 / 3], atol=0.01)  # k_1/k_2 << 1: m_2 and m_3 leave together
    np.testing.assert_allclose(stiff, [0.0, 0.0, 1.0], atol=0.01)  # k_1/k_2 >> 1: m_3 leaves alone


def test_stiffness_itself_does_not_matter_and_scipy_agrees():
    ends = [impacts.masses_after(1.0, k).u[-1] for k in (1e6, 1e8)]
    np.testing.assert_allclose(ends[0], ends[1], atol=2e-3)

    def rates(t, x):
        F = 1e6 * np.maximum(0.0, [x[0] - x[1], x[1] - x[2]])
        return [*x[3:], -F[0], F[0] - F[1], F[1]]

    exact = solve_ivp(rates, (0.0, 0.02), [0, 0, 0, 1, 0, 0], rtol=1e-10, atol=1e-13, max_step=1e-5).y[3:, -1]
    np.testing.assert_allclose(ends[0], exact, atol=2e-3)
    assert exact[2] == pytest.approx(0.98, abs=0.01)  # neither of the rigid outcomes


# -- Chatterjee's rod, 4.4 ----------------------------------------------------------------------------------------


def hinged_rod(b, c):
    """Impulses at B and D per impulse at A, by the balances of two rigid links A-C and C-D, unit mass and length."""
    m_1, m_2, d = c, 1.0 - c, 1.0 - c
    # unknowns: v_1, w_1, v_2, w_2 (centres and turns of the links), J (on CD at C), R_B, R_D; impulse -1 at A
    A = np.array(
        [
            [m_1, 0, 0, 0, 1, -1, 0],
            [0, m_1 * c**2 / 12, 0, 0, c / 2, -(b - c / 2), 0],
            [0, 0, m_2, 0, -1, 0, -1],
            [0, 0, 0, m_2 * d**2 / 12, d / 2, 0, -d / 2],
            [1, c / 2, -1, d / 2, 0, 0, 0],  # C is one point
            [1, b - c / 2, 0, 0, 0, 0, 0],  # B stays
            [0, 0, 1, d / 2, 0, 0, 0],  # D stays
        ]
    )
    x = np.linalg.solve(A, [-1.0, c / 2, 0, 0, 0, 0, 0])
    return x[5], x[6]


@pytest.mark.parametrize("hinge", [None, 0.5])
def test_impulse_at_D_is_there_at_once_at_any_stiffness(hinge):
    B, D = hinged_rod(0.25, 0.625 if hinge is None else hinge)
    assert D > 0.1  # [S00]: it depends on the location of C
    for stiffness in (1.0, 1e3, 1e9):
        rod = library.chatterjee_rod(stiffness=stiffness, hinge=hinge)
        hit = ss.impact(rod.system, rod.q0, rod.u0)
        assert hit.normal_impulse[1:] / hit.normal_impulse[0] == pytest.approx([B, D], rel=1e-9)


def test_rigid_rod_has_no_impulse_at_D_and_lifts():
    rod = library.chatterjee_rod(model="rigid")
    hit = ss.impact(rod.system, rod.q0, rod.u0)
    assert hit.normal_impulse[2] == 0.0 and hit.normal_velocity_after[2] > 0.0
    # about B: J = 1/12 + 1/16, the hammer's impulse turns it with arm 1/4; 1/4 : 3/4 are the arms of A and D
    assert hit.normal_velocity_after[2] == pytest.approx(0.75 * 0.25 * hit.normal_impulse[0] / (1 / 12 + 1 / 16))


def test_torsion_spring_keeps_its_impulse_and_a_soft_table_loses_it():
    rod = library.chatterjee_rod()
    runs = [
        library.chatterjee_rod(stiffness=c).simulate(engine="reference", t_end=0.3 / math.sqrt(c)) for c in (1e3, 1e7)
    ]
    shares = [impacts.impulse_at_D(run)[-1] for run in runs]
    assert shares[0] == pytest.approx(shares[1], rel=1e-9) and shares[0] > 0.1
    assert runs[0].gap[-1, 2] > 0.0 and runs[0]["v_2"][-1] > 0.0  # both an impulse and a velocity away from the table
    soft, hard = (
        impacts.impulse_at_D(
            library.chatterjee_rod(table_stiffness=x).simulate(engine="reference", dt=rod.dt, t_end=60 * rod.dt)
        )[-1]
        for x in (1e2, 1e6)
    )
    assert soft < 1e-3 and hard > 0.1


@pytest.mark.slow
def test_beam_has_a_limit():
    shares = [impacts.impulse_at_D(impacts.beam(n))[-1] for n in (16, 24, 32)]
    assert np.ptp(shares) < 0.04 and 0.2 < shares[-1] < 0.27


# -- angled bar, 1.2 ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rebounds():
    bar = library.angled_bar(segments=6)
    return {angle: impacts.rebound(bar, math.radians(angle), dt=2 * bar.dt) for angle in (0, 72, 90)}


def test_restitution_of_a_bar_depends_on_its_angle(rebounds):
    """[S00] 1.2: largest for a vertical bar, a deep minimum on the way, about 0.6 to 0.75 for a horizontal one."""
    vertical, oblique, flat = (rebounds[angle].restitution for angle in (90, 72, 0))
    assert 0.88 < vertical <= 1.0 and oblique < 0.5 * vertical and 0.55 < flat < 0.8
    assert all(drop.run.energy.total[-1] <= drop.run.energy.total[0] * (1 + 1e-9) for drop in rebounds.values())


def test_vertical_bar_touches_for_the_time_of_two_wave_passages(rebounds):
    """A bar that hits a wall lengthwise leaves when the wave is back, after 2 l / c, and without loss."""
    drop = rebounds[90]
    assert drop.collisions == 1
    assert drop.duration == pytest.approx(2 * 0.2 / math.sqrt(2.1e11 / 7850.0), rel=0.1)
    assert rebounds[0].duration > 3 * drop.duration  # bending is slower


def test_rigid_velocity_is_that_of_momentum_and_angular_momentum():
    bar = library.angled_bar(segments=4, angle=0.7)
    p = dict(zip(bar.system.parameter_names, bar.system.parameter_values, strict=True))
    assert rigid_velocity(bar.system, bar.u0, p) == pytest.approx((0.0, -1.0), abs=1e-12)
    turning = np.concatenate([np.zeros(5), np.linspace(-0.5, 0.5, 5)])  # about its centre
    assert rigid_velocity(bar.system, turning, p) == pytest.approx((0.5 * math.sin(0.7), -0.5 * math.cos(0.7)))


# -- billiards, 2.3 -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def thrown():
    return library.billiards().simulate()


def test_momentum_passes_to_the_third_ball(thrown):
    v = thrown.u[-1].reshape(4, 6)[:, 0]
    assert v[3] > 10 * max(v[1], v[2]) and v[3] > 1.5 and v[0] < 0.0
    sides = thrown.q[-1].reshape(4, 7)[:, 1]
    assert np.ptp(sides) > 0.1  # slightly oblique: they do not stay in a line


def test_spin_of_the_thrown_ball_alternates(thrown):
    spins = np.array(impacts.bounce_spins(thrown))
    assert len(spins) >= 5 and (np.sign(spins[1:]) == -np.sign(spins[:-1])).all()
    lengths = np.abs(np.diff(np.interp(thrown.impacts().of("thrown")["time"][2:], thrown.t, thrown["thrown.x"])))
    assert (np.sign(np.diff(lengths))[1:] == -np.sign(np.diff(lengths))[:-1]).all()  # long and short bounces


def test_second_ball_hops(thrown):
    hops = [thrown[f"ball{k}.z"].max() - 0.03 for k in (1, 2, 3)]
    assert hops[1] > 1e-3 and max(hops[0], hops[2]) < 1e-5
    assert thrown.certificate.failed_steps == 0 and thrown.certificate.max_energy_gain < 1e-9


def test_even_balls_of_a_row_are_lifted():
    """[S00] 2.3: struck by a rolling ball, all balls of even number get an upward impulse of friction."""
    row = library.billiards(balls=6, fall=0.0, height=0.0, spin=100.0, offset=0.0, friction=0.1)
    run = row.simulate(t_end=0.12)
    hops = np.array([run[f"ball{k}.z"].max() - 0.03 for k in range(1, 7)])
    assert (hops[1::2] > 1e-5).all() and (hops[::2] < 1e-7).all()


# -- bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "keywords", "message"),
    [
        ("painleve_rod", {"gap": -0.1}, "gap must not be negative, got -0.1"),
        ("two_balls", {"radius": 0.0}, "radius must be positive, got 0"),
        ("three_masses", {"model": "soft"}, "model must be one of springs, rigid, got 'soft'"),
        ("chatterjee_rod", {"overhang": 2.0}, "overhang must be less than the length 1 m, got 2"),
        ("chatterjee_rod", {"hinge": 0.1}, "hinge must lie between B and D, 0.25 < hinge < 1 m, got 0.1"),
        ("chatterjee_rod", {"model": "beam", "segments": 1}, "segments must be a whole number >= 2, got 1"),
        ("angled_bar", {"segments": 2.5}, "segments must be a whole number >= 2, got 2.5"),
        ("billiards", {"offset": 0.07}, "offset must be less than two radii, 0.06 m"),
        ("billiards", {"balls": 0}, "balls must be a whole number >= 1, got 0"),
        ("billiards", {"height": -0.5}, "height and fall must let the ball come from above"),
        ("billiards", {"mass": -1.0}, "mass must be positive, got -1"),
    ],
)
def test_wrong_values_are_named(name, keywords, message):
    with pytest.raises(ValueError, match=message):
        library.get(name, **keywords)


def test_scene_scenario_takes_what_a_scene_knows():
    scenario = library.billiards()
    with pytest.raises(ValueError, match="law of a scene must be 'newton', 'stronge', 'poisson'"):
        scenario.simulate(law="stronge-lumped")
    with pytest.raises(ValueError, match="dt must be positive"):
        library.SceneScenario(scenario.scene, 0.0, 1.0, "", "")
