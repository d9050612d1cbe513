"""Impact laws on bodies that joints hold: mechanisms in minimal coordinates, closed forms, own null spaces, energy."""

import re

import numpy as np
import pytest

import stickslip as ss
from stickslip.laws.routh import ENERGETIC, KINETIC
from stickslip.scenes.routh import spatial_impact
from tests.elsewhere import Place

LAWS = ("stronge", "poisson-integrated", "poisson")
DT = 1e-8  # an impact within one step: bodies move by as much


def kane_scene(friction, restitution, mirrored=1.0):
    """Kane's double pendulum as two rods on hinges; its tip, a small ball, touches the floor."""
    scene, angles, rates, r = ss.Scene(dim=2, gravity=0.0), np.radians([20.0, 30.0]), (-0.1, -0.2), 1e-6
    along = [np.array([mirrored * np.sin(t), -np.cos(t)]) for t in angles]
    tip = along[0] + along[1]
    scene.add_static(ss.HalfPlane((0, 1), offset=tip[1] - r), friction=friction, restitution=restitution)
    first = scene.add_body(
        ss.Compound([(ss.Circle(1e-3), (0, 0))]), mass=1.0, inertia=1 / 12, centre_of_mass=(0, 0),
        position=along[0] / 2, orientation=mirrored * angles[0],
        velocity=mirrored * rates[0] / 2 * np.array([-along[0][1], along[0][0]]), angular_velocity=mirrored * rates[0],
    )  # fmt: skip
    speed = mirrored * rates[0] * np.array([-along[0][1], along[0][0]])
    speed = speed + mirrored * rates[1] / 2 * np.array([-along[1][1], along[1][0]])
    second = scene.add_body(
        ss.Compound([(ss.Circle(r), (0, -0.5))]), mass=1.0, inertia=1 / 12, centre_of_mass=(0, 0),
        position=along[0] + along[1] / 2, orientation=mirrored * angles[1], velocity=speed,
        angular_velocity=mirrored * rates[1],
    )  # fmt: skip
    scene.add_revolute(None, first, at=(0, 0))
    scene.add_revolute(first, second, at=along[0])
    return scene, (first, second)


@pytest.mark.parametrize("friction", [0.0, 0.1, 0.5, 1.5])
@pytest.mark.parametrize("law", LAWS)
def test_a_double_pendulum_is_struck_as_the_mechanism_is(law, friction):
    """Kane's pendulum in minimal coordinates has its impact from other code."""
    kane = ss.library.kane_pendulum(restitution_normal=0.5, friction=friction)
    hit = ss.impact(kane.system, kane.q0, kane.u0, law)
    for mirrored in (1.0, -1.0):
        scene, bodies = kane_scene(friction, 0.5, mirrored)
        run = scene.simulate(dt=DT, t_end=3 * DT, law=law)
        rates = [mirrored * body.spin(run)[-1] for body in bodies]
        assert np.ravel(rates) == pytest.approx(hit.u, abs=2e-6)
        told = run.impacts()
        assert len(told) == 1 and told["normal_impulse"][0] == pytest.approx(hit.normal_impulse[0], abs=2e-6)
        assert run.certificate.contact_work == pytest.approx(hit.energy_change, abs=2e-6)
        assert run.certificate.failed_steps == 0 and run.certificate.max_energy_gain <= 0.0


def test_newton_gains_energy_where_others_do_not():
    kane = ss.library.kane_pendulum(restitution_normal=0.5)
    for law in ("newton", *LAWS):
        scene, _ = kane_scene(0.5, 0.5)
        energy, hit = (
            scene.simulate(dt=DT, t_end=3 * DT, law=law).energy.total,
            ss.impact(kane.system, kane.q0, kane.u0, law),
        )
        assert energy[-1] / energy[0] == pytest.approx(hit.energy_after / hit.energy_before, abs=1e-4)
        assert (energy[-1] > energy[0]) == (law == "newton")


def rod_on_a_hinge(at, friction=0.0, restitution=0.7, mass=0.5, **hinge):
    """A rod of 1 m and 1 kg that hangs at the origin, and a ball that flies against it at the height -at."""
    scene = ss.Scene(dim=2, gravity=0.0)
    rod = scene.add_body(ss.Polygon.rectangle(0.02, 1.0), mass=1.0, inertia=1 / 12, position=(0, -0.5))
    scene.add_revolute(None, rod, at=(0, 0), name="hinge", **hinge)
    ball = scene.add_body(
        ss.Circle(0.05), mass=mass, position=(-0.06 - 1e-9, -at), velocity=(2, 0), friction=friction,
        restitution=restitution,
    )  # fmt: skip
    return scene, rod, ball


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("at", [0.3, 2 / 3, 0.9])
def test_a_rod_on_a_hinge_and_its_centre_of_percussion(law, at):
    """I = 1/3 about the hinge: e = 0.7 and m at^2 against I; the reaction is -Lambda (1 - at / (2/3))."""
    scene, rod, ball = rod_on_a_hinge(at)
    run = scene.simulate(dt=1e-6, t_end=2e-6, law=law, contacts=True)
    impulse = 1.7 * 2 / (1 / 0.5 + 3 * at * at)
    assert rod.spin(run)[-1] == pytest.approx(3 * at * impulse, abs=1e-5)
    assert ball.velocities(run)[-1] == pytest.approx([2 - 2 * impulse, 0], abs=1e-5)
    force = max(run.reactions()["force"][:, 0] * 1e-6, key=abs)
    assert force == pytest.approx(-impulse * (1 - 1.5 * at), abs=1e-4)


def test_a_rotor_takes_its_part_of_a_blow():
    """The inertia of a rotor adds to that of the rod; a motor with a largest effort does nothing in an impact."""
    scene, rod, _ = rod_on_a_hinge(0.9, armature=0.2, motor=(0.0, 5.0))
    run = scene.simulate(dt=1e-6, t_end=2e-6, law="stronge")
    impulse = 1.7 * 2 / (1 / 0.5 + 0.81 / (1 / 3 + 0.2))
    assert rod.spin(run)[-1] == pytest.approx(0.9 * impulse / (1 / 3 + 0.2), abs=2e-5)
    kept = run.energy.total[-1] - run.energy.total[0]
    assert kept == pytest.approx(-(1 - 0.49) * 2 * 2 / 2 / (1 / 0.5 + 0.81 / (1 / 3 + 0.2)), rel=1e-4)


def test_a_limit_stops_what_a_blow_drives_on():
    """A rod at its limit: the blow moves it, the limit takes that back at once, and the ball strikes again."""
    scene, rod, ball = rod_on_a_hinge(0.9, limits=(-1.0, 0.0))
    run = scene.simulate(dt=1e-6, t_end=4e-6, law="stronge")
    assert abs(rod.spin(run)[-1]).max() < 1e-9
    # own iteration of blow and stop
    v, omega, G = 2.0, 0.0, 1 / 0.5 + 3 * 0.81
    while v - 0.9 * omega > 2e-6:
        impulse = 1.7 * (v - 0.9 * omega) / G
        v, omega = v - impulse / 0.5, min(0.0, omega + 2.7 * impulse)
    assert ball.velocities(run)[-1, 0] == pytest.approx(v, abs=1e-5)
    assert run.certificate.max_energy_gain <= 0.0


def swing(law, restitution, dt, t_end, friction=0.0):
    """A rod on a hinge that swings against a wall below its hinge, again and again."""
    scene = ss.Scene(dim=2)
    scene.add_static(ss.HalfPlane((1, 0), offset=-0.05), friction=friction, restitution=restitution)
    rod = scene.add_body(
        ss.Compound([(ss.Circle(0.05), (0, -0.5))]), mass=1.0, inertia=1 / 12, centre_of_mass=(0, 0),
        position=(0.5 * np.sin(0.8), -0.5 * np.cos(0.8)), orientation=0.8,
    )  # fmt: skip
    scene.add_revolute(None, rod, at=(0, 0))
    return scene.simulate(dt=dt, t_end=t_end, law=law)


@pytest.mark.parametrize("law", LAWS)
def test_a_pendulum_keeps_its_energy_over_many_bounces(law):
    run = swing(law, 1.0, 1e-3, 8.0)
    assert len(run.impacts()) == 9 and run.certificate.failed_steps == 0
    assert (
        abs(run.energy.total - run.energy.total[0]).max() < 3e-5 * 4.9
    )  # half of it at dt = 1e-3 / sqrt(2): order two
    assert run.certificate.max_joint_error < 1e-6


def test_a_wedged_rod_stops():
    """With mu > |n| / |t| a body with one motion is wedged: friction holds what the normal would push back."""
    found = []
    for friction in (0.5, 3.0):
        scene = ss.Scene(dim=2, gravity=0.0)
        scene.add_static(ss.HalfPlane((0, 1), offset=-1.0), friction=friction, restitution=0.6)
        turn = np.radians(40.0)
        along = np.array([np.sin(turn), -np.cos(turn)])
        rod = scene.add_body(
            ss.Compound([(ss.Circle(1e-6), (0, -0.5))]), mass=1.0, inertia=1 / 12, centre_of_mass=(0, 0),
            position=along / 2 + (0, -1.0 + 1e-6 - along[1]), orientation=turn,
            velocity=-1.0 * np.array([-along[1], along[0]]), angular_velocity=-2.0,
        )  # fmt: skip
        scene.add_revolute(None, rod, at=(0, -1.0 + 1e-6 - along[1]))
        run = [scene.simulate(dt=DT, t_end=3 * DT, law=law) for law in LAWS]
        found.append([rod.spin(each)[-1].item() for each in run])
        assert all(each.certificate.failed_steps == 0 for each in run)
    # n = sin, t = cos of the turn; slip goes one way in, the other way out: 2 -> 2 e sqrt((n - mu t) / (n + mu t))
    n, t, mu = np.sin(np.radians(40)), np.cos(np.radians(40)), 0.5
    stronge = 2 * 0.6 * np.sqrt((n - mu * t) / (n + mu * t))
    assert found[0][0] == pytest.approx(stronge, abs=1e-6)
    assert found[0][1] == pytest.approx(2 * 0.6 * (n - mu * t) / (n + mu * t), abs=1e-6)
    assert found[1] == pytest.approx([0.0, 0.0, 0.0], abs=1e-6)


def skew(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def matrix(q):
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def chain_in_space(seed, hinge, loop=False):
    """Two bodies of odd inertias in space, one on a ball joint, both on a hinge or a ball joint; a tip on a half-space.

    loop: a second hinge on the axis of the first, with five rows that say nothing new.  Returns M, the motions N that
    the joints allow, from a singular value decomposition, the velocity w of the tip and the velocities u.
    """
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(2, 4))
    q /= np.linalg.norm(q, axis=1)[:, None]
    R, own, masses = [matrix(x) for x in q], [np.diag([0.3, 0.5, 0.6]), np.diag([0.2, 0.25, 0.4])], (1.5, 0.8)
    pivot, middle, tip, axis = rng.normal(size=(4, 3))
    x, axis = [middle + rng.normal(size=3), tip + rng.normal(size=3)], axis / np.linalg.norm(axis)
    rows = [np.hstack([np.eye(3), -skew(pivot - x[0]), np.zeros((3, 6))])]
    rows.append(np.hstack([-np.eye(3), skew(middle - x[0]), np.eye(3), -skew(middle - x[1])]))
    if hinge:
        across = np.linalg.svd(axis[None])[2][1:]
        rows.append(np.hstack([np.zeros((2, 3)), -across, np.zeros((2, 3)), across]))
    A, M = np.vstack(rows), np.zeros((12, 12))
    for i in range(2):
        M[6 * i : 6 * i + 3, 6 * i : 6 * i + 3] = masses[i] * np.eye(3)
        M[6 * i + 3 : 6 * i + 6, 6 * i + 3 : 6 * i + 6] = R[i] @ own[i] @ R[i].T
    N = np.linalg.svd(A)[2][len(A) :].T
    u = N @ rng.normal(size=N.shape[1])
    w = np.hstack([np.zeros((3, 6)), np.eye(3), -skew(tip - x[1])])[[2, 0, 1]]  # along z, x, y
    u *= -np.sign(w[0] @ u)
    scene, r = ss.Scene(dim=3, gravity=0.0), 1e-7
    floor = scene.add_static(ss.HalfSpace((0, 0, 1), offset=tip[2] - r), friction=0.4, restitution=0.6)
    bodies = []
    for i in range(2):
        ball = R[i].T @ ((tip if i == 1 else x[0]) - x[i])
        bodies.append(
            scene.add_body(
                ss.Compound([(ss.Sphere(r), ball)]), mass=masses[i], inertia=own[i], centre_of_mass=(0, 0, 0),
                position=x[i], orientation=q[i], velocity=u[6 * i : 6 * i + 3],
                angular_velocity=u[6 * i + 3 : 6 * i + 6],
            )
        )  # fmt: skip
    scene.ignore(floor, bodies[0])
    scene.add_spherical(None, bodies[0], at=pivot)
    if hinge:
        scene.add_revolute(bodies[0], bodies[1], at=middle, axis=axis)
    else:
        scene.add_spherical(bodies[0], bodies[1], at=middle)
    if loop:
        scene.add_revolute(bodies[0], bodies[1], at=middle + 0.7 * axis, axis=axis)
    return scene, bodies, (M, N, w, u)


@pytest.mark.parametrize(("hinge", "loop"), [(False, False), (True, False), (True, True)])
def test_a_chain_in_space_is_struck_as_its_null_space_says(hinge, loop):
    """u^+ = u^- + N (N^T M N)^-1 N^T w^T Lambda; Lambda from the process of one contact with this G."""
    for seed in range(4):
        scene, bodies, (M, N, w, u) = chain_in_space(seed, hinge, loop)
        answer = N @ np.linalg.solve(N.T @ M @ N, N.T @ w.T)
        for law, end in (("stronge", ENERGETIC), ("poisson-integrated", KINETIC)):
            Lambda = np.zeros(3)
            assert spatial_impact(np.ascontiguousarray(w @ answer).ravel(), w @ u, 0.4, 0.6, end, Lambda)
            run = scene.simulate(dt=DT, t_end=2 * DT, law=law)
            found = np.concatenate([np.append(b.velocities(run)[-1], b.spin(run)[-1]) for b in bodies])
            assert found == pytest.approx(u + answer @ Lambda, abs=3e-6 * np.linalg.norm(u))
            assert run.certificate.failed_steps == 0 and run.certificate.max_energy_gain <= 1e-12


@pytest.mark.parametrize("place", [Place(1e5, 0.7), Place(0.0, 2.0)], ids=str)
def test_a_blow_elsewhere(place):
    """A double pendulum that falls against a wall 100 km away, and turned."""
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((-1, 0, 0), offset=-0.9), friction=0.3, restitution=0.6)
    upper = scene.add_body(ss.Capsule(0.03, 0.9), mass=1.0, position=(0, 0, 0.5))
    lower = scene.add_body(
        ss.Capsule(0.03, 0.9), mass=1.0, position=(0.3, 0, 1.4), orientation=(np.cos(0.32), 0, np.sin(0.32), 0)
    )
    scene.ignore(upper, lower)
    scene.add_revolute(None, upper, at=(0, 0, 0), axis=(0, 1, 0))
    scene.add_spherical(upper, lower, at=(0, 0, 1))
    home, away = (at.simulate(scene, dt=2e-3, t_end=1.6, law="stronge") for at in (Place(), place))
    assert len(home.impacts()) == len(away.impacts()) >= 1 and away.certificate.failed_steps == 0
    assert np.abs(home.u - away.u).max() < (1e-4 if place.distance else 1e-9)


def test_gears_pass_a_blow_on():
    """Geared wheels turn as one: seen from the big one, the small one of half the radius has four times its inertia."""
    scene = ss.Scene(dim=2, gravity=0.0)
    big = scene.add_body(ss.Circle(0.2), mass=2.0, inertia=0.04, position=(0, 0))
    small = scene.add_body(ss.Circle(0.1), mass=1.0, inertia=0.01, position=(0.3, 0))
    for wheel in (big, small):
        scene.add_revolute(None, wheel, at=tuple(wheel.position[:2]))
    scene.add_gear(big, small, (0, 0), (0.3, 0), ratio=0.5)
    scene.ignore(big, small)
    stone = scene.add_body(
        ss.Circle(0.01), mass=0.5, position=(0, 0.21), velocity=(1, -1), friction=5.0, restitution=0.5
    )
    run = scene.simulate(dt=1e-7, t_end=2e-7, law="stronge")
    # rows at the top of the big wheel: normal 1/m alone; along it 1/m + r^2/J of the stone and R^2 of both wheels
    inertia = 0.04 + 4 * 0.01
    tangential = 1.0 / (2.0 + 1e-4 / (0.5 * 0.5 * 1e-4) + 0.04 / inertia)
    assert big.spin(run)[-1].item() == pytest.approx(-0.2 * tangential / inertia, abs=1e-4)
    assert small.spin(run)[-1].item() == pytest.approx(0.4 * tangential / inertia, abs=1e-4)
    assert stone.velocities(run)[-1] == pytest.approx([1 - 2 * tangential, 0.5], abs=1e-4)


def test_refusals():
    scene, _, _ = rod_on_a_hinge(0.5)
    with pytest.raises(ValueError, match=re.escape("law 'walton' of a scene is for free balls, got joints")) as told:
        scene.simulate(dt=1e-3, t_end=0.1, law="walton")
    assert "\n" not in str(told.value)
