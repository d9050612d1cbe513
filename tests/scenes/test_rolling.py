"""Rolling resistance and Coulomb-Contensou friction in scenes, against closed forms and integrated motions."""

import math

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

import stickslip as ss
from stickslip.scenes.islands.contensou import contensou, resist, spin_and_slide

G = 9.81


def on_floor(mu=0.3, **body):
    scene = ss.Scene(dim=3, gravity=body.pop("gravity", G))
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=mu)
    radius = body.pop("radius", 0.05)
    return scene, scene.add_body(ss.Sphere(radius), mass=1.0, position=(0, 0, radius), **body)


@pytest.mark.parametrize("hertz", [False, True])
@pytest.mark.parametrize(
    "k", [0.25, 1.0, 1.9, 2.1, *(pytest.param(k, marks=pytest.mark.slow) for k in (1e-5, 0.999, 1.001, 30.0))]
)
def test_contensous_integrals(k, hertz):
    # potential of the patch: mean of |v + w n x x| over its pressure, R = w = 1; force and torque are its derivatives
    def mean(integrand):
        weight = (lambda r: 3 * r * math.sqrt(1 - r * r)) if hertz else (lambda r: 2 * r)
        inner = lambda r: quad(lambda a: integrand(r, a), 0, math.pi, points=[math.pi / 2], epsabs=1e-11)[0] / math.pi  # noqa: E731
        return quad(lambda r: weight(r) * inner(r), 0, 1, points=[min(k, 0.999)], epsabs=1e-10, limit=200)[0]

    length = lambda r, a: math.sqrt(max(k * k + r * r + 2 * k * r * math.cos(a), 1e-300))  # noqa: E731
    f = mean(lambda r, a: (k + r * math.cos(a)) / length(r, a))
    tau = mean(lambda r, a: (r * r + k * r * math.cos(a)) / length(r, a))
    found = contensou(k, hertz)
    assert np.allclose(found[:2], (f, tau), atol=2e-8)
    h = 1e-6 * k
    assert np.isclose(found[2], (contensou(k + h, hertz)[0] - contensou(k - h, hertz)[0]) / (2 * h), rtol=1e-6)


def test_one_contact_obeys_the_law_it_is_given():
    rng = np.random.default_rng(1)
    for trial in range(300):
        B = rng.normal(size=(3, 3))
        W = B @ B.T + 0.01 * np.eye(3)
        A = np.linalg.inv(W)
        q, load, hertz = rng.normal(size=3) * 10 ** rng.uniform(-3, 1), 10 ** rng.uniform(-2, 2), bool(trial % 2)
        x, r = np.zeros(3), np.zeros(3)
        spin_and_slide((0.5 * (A + A.T)).ravel(), q, load, hertz, x, r)
        assert np.abs(x - q - W @ r).max() < 1e-9 * np.abs(q).max()
        if x.any():
            v = math.hypot(x[0], x[1])
            f, tau, _ = contensou(v / abs(x[2]), hertz)
            assert np.allclose(-r, load * np.array([f * x[0] / v, f * x[1] / v, tau * np.sign(x[2])]), rtol=1e-9)
        disc, W = np.zeros(2), W[:2, :2]
        resist(np.ascontiguousarray(W).ravel(), q[:2], load, disc)
        slip = q[:2] + W @ disc
        if np.linalg.norm(disc) < load * (1 - 1e-9):
            assert np.abs(slip).max() < 1e-12 * np.abs(q).max()
        else:
            assert np.allclose(disc, -load * slip / np.linalg.norm(slip), rtol=1e-9)


def test_a_ball_rolls_to_rest():
    scene, ball = on_floor(velocity=(1, 0, 0), angular_velocity=(0, 20, 0), rolling=1e-3)
    run = scene.simulate(dt=1e-2, t_end=8.0)
    x, v = ball.path(run)[:, 0], ball.velocities(run)[:, 0]
    assert abs(x[-1] - 7 * 0.05 / (10 * 1e-3 * G)) < 1e-5  # 7 r v^2 / (10 rho g) = 3.5678 m
    assert abs(run.t[np.flatnonzero(v > 1e-9)[-1]] - 7 * 0.05 / (5 * 1e-3 * G)) < 1.1e-2
    assert np.abs(run.u[-1]).max() < 1e-14 and abs(x[-1] - x[-50]) < 1e-15
    assert run.certificate.failed_steps == 0 and run.certificate.max_energy_gain < 1e-15
    assert abs(run.certificate.contact_work + 0.7) < 1e-12  # all of it: 7/10 m v^2


def test_a_thrown_ball_slides_then_rolls_to_rest():
    scene, ball = on_floor(velocity=(1, 0, 0), rolling=1e-3)
    run = scene.simulate(dt=1e-2, t_end=6.0)
    assert abs(ball.path(run)[-1, 0] - 1.8348623853) < 3e-5


def test_a_ball_rests_on_a_slope_up_to_its_arm():
    for slope, rests in ((0.0199, True), (0.0202, False), (0.05, False)):  # rho / r = 0.02
        scene, ball = on_floor(rolling=1e-3, gravity=(G * math.sin(slope), 0, -G * math.cos(slope)))
        run = scene.simulate(dt=1e-2, t_end=1.0)
        moved = ball.path(run)[-1, 0]
        expected = 0.0 if rests else 2.5 / 7 * G * (math.sin(slope) - 0.02 * math.cos(slope))
        assert abs(moved - expected) < (1e-14 if rests else 2e-4 * expected + 1e-6)


def test_a_wheel_of_the_plane_rolls_to_rest():
    scene = ss.Scene(dim=2)
    scene.add_static(ss.HalfPlane((0, 1)), friction=0.5)
    wheel = scene.add_body(
        ss.Circle(0.1), mass=2.0, position=(0, 0.1), velocity=(1, 0), angular_velocity=-10, rolling=2e-3
    )
    run = scene.simulate(dt=1e-2, t_end=9.0)
    assert abs(wheel.path(run)[-1, 0] - 1.5 * 0.1 / (2 * 2e-3 * G)) < 1e-4 and np.abs(run.u[-1]).max() < 1e-12


def disc(w0, dt, pressure="constant"):
    """A disc that slides and spins on its patch: its contact lies at the height of its centre."""
    scene, body = on_floor(
        mu=0.2, radius=1e-6, inertia=(0.0025, 0.0025, 0.005), velocity=(1, 0, 0), angular_velocity=(0, 0, w0),
        patch=0.1, pressure=pressure,
    )  # fmt: skip
    run = scene.simulate(dt=dt, t_end=1.4 if pressure == "constant" else 1.6)
    assert run.certificate.failed_steps == 0 and np.abs(run.u[-1, [0, 1, 5]]).max() < 1e-9
    return body.path(run)[-1, 0]


def test_a_disc_slides_and_spins_to_rest():
    assert abs(disc(30.0, 4e-3) - 0.7010181617) < 2e-4
    assert abs(disc(5.0, 2e-3) - 0.2713334697) < 5e-4
    k = 0.653002  # v / (R w) to which a uniform disc tends: it stops after v0 t / 2, t = v0 / (mu g f)
    assert abs(disc(10 / k, 4e-3) - 0.5 * 0.8273642062) < 2e-3


@pytest.mark.slow
def test_a_disc_converges_to_contensous_motion():
    errors = [abs(disc(30.0, dt) - 0.7010181617) for dt in (4e-3, 2e-3, 1e-3)]
    assert np.allclose(np.array(errors[:-1]) / errors[1:], 2.0, atol=0.1) and errors[-1] < 4e-5  # first order
    for pressure in ("constant", "hertz"):

        def rates(t, y, hertz=pressure == "hertz"):
            f, tau, _ = contensou(y[1] / (0.1 * y[2]), hertz)
            return [y[1], -0.2 * G * f, -0.2 * G * tau * 0.1 / 0.005]

        stops = lambda t, y: y[2] - 1e-6  # noqa: E731
        stops.terminal = True
        path = solve_ivp(rates, (0, 3), [0, 1, 30], rtol=1e-10, atol=1e-12, events=stops)
        assert abs(disc(30.0, 1e-3, pressure) - path.y[0, -1]) < 2e-4


def test_a_spinning_ball_on_its_patch():
    scene, ball = on_floor(velocity=(1, 0, 0), angular_velocity=(0, 0, 100), patch=0.01)
    run = scene.simulate(dt=2e-3, t_end=0.2)
    v, w = ball.velocities(run)[-1, 0], ball.spin(run)[-1, 2]
    assert abs(v - 0.752273442) < 1e-3 and abs(w - 96.752995785) < 1e-2
    assert run.certificate.max_energy_gain == 0.0


def test_pure_spin_ends():
    scene, ball = on_floor(angular_velocity=(0, 0, 2), patch=1e-3, pressure="hertz")
    run = scene.simulate(dt=1e-2, t_end=1.5)
    t = 0.4 * 0.05**2 * 2 / (3 * math.pi / 16 * 0.3 * G * 1e-3)
    assert abs(ball.spin(run)[int(0.5 * t / 1e-2), 2] - 1.0) < 0.02 and abs(ball.spin(run)[-1, 2]) < 1e-15


def test_a_heap_keeps_what_it_is_given_and_repeats():
    scene = ss.Scene()
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.5, rolling=5e-3)
    for x in range(2):
        for z in range(3):
            scene.add_body(ss.Sphere(0.05), mass=0.1, position=(0.1 * x + 0.02 * z, 0.01 * z, 0.05 + 0.099 * z),
                           rolling=5e-3, patch=5e-3, friction=0.5)  # fmt: skip
    runs = [scene.simulate(dt=2e-3, t_end=0.06, tol=1e-8, threads=n, overlap="keep", contacts=True) for n in (1, 2)]
    assert np.array_equal(runs[0].q, runs[1].q) and runs[0].certificate.failed_steps == 0
    assert runs[0].certificate.max_energy_gain < 1e-12
    table = runs[0].contacts()
    assert np.abs(table["torque"]).max() > 0.0
    # no torque beyond what patch and arm allow
    most = (5e-3 * 0.5 + 5e-3) * table["normal_impulse"] / 2e-3
    assert np.all(np.linalg.norm(table["torque"], axis=1) <= most * (1 + 1e-9))


def test_a_column_of_balls_falls_down_and_rests():
    rng = np.random.default_rng(1)
    scene = ss.Scene()
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.5, rolling=5e-3)
    for k in range(12):
        place = (*rng.uniform(-0.06, 0.06, 2), 0.06 + 0.11 * k)
        scene.add_body(ss.Sphere(0.05), mass=0.1, position=place, friction=0.5, rolling=5e-3)
    run = scene.simulate(dt=2e-3, t_end=1.2, tol=1e-6)
    assert run.complete and run.certificate.failed_steps == 0 and run.certificate.max_energy_gain < 1e-9
    assert np.abs(run.q[-1].reshape(12, 7)[:, 2] - 0.05).max() < 0.15


def test_what_resistance_cannot_do_is_refused():
    scene = ss.Scene()
    for wrong, words in (
        ({"rolling": -1.0}, "rolling of"),
        ({"patch": 0.1, "friction": (0.1, 0.2)}, "elliptic"),
        ({"patch": 0.1, "pressure": "soft"}, "pressure of"),
        ({"pressure": "hertz"}, "must come with patch"),
        ({"patch": 0.1, "restitution_tangential": 0.5}, "restitution_tangential"),
        ({"rolling": 0.1, "friction": ss.Stribeck(0.4, 0.3, 0.1)}, "friction law"),
    ):
        with pytest.raises(ValueError, match=words):
            scene.add_body(ss.Sphere(1), mass=1, **wrong)
    with pytest.raises(ValueError, match="plane"):
        ss.Scene(dim=2).add_body(ss.Circle(1), mass=1, patch=0.1)
    scene.add_body(ss.Sphere(1), mass=1, rolling=0.1)
    with pytest.raises(ValueError, match="rolling and patch of a body need rule='predictive'"):
        scene.simulate(dt=1e-3, t_end=1e-2, rule="gs05")
