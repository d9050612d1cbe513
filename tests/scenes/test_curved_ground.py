"""What rolls, rocks and spins on curved ground, against own integrations: of order two, at every place.

Where a side is straight, an end flat, a tip sharp or a ring hollow, the point of contact goes on in another way than on
a ball.  As if they were rims, a ball lost 0.2 % of its way on the flat top of a disc, and a spinning cone was thrown
off its tip.
"""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import stickslip as ss
from tests.elsewhere import EVERYWHERE

G = 9.81
LYING = (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0)  # z of a shape along -y
ALONG = (math.sqrt(0.5), 0.0, math.sqrt(0.5), 0.0)  # z of a shape along x


def errors(place, build, end, t_end, steps=(2e-3, 1e-3)):
    """Distance of the body from `end` at the end, for each step size; the certificate is clean."""
    found = []
    for dt in steps:
        scene, body = build()
        run = place.simulate(scene, dt=dt, t_end=t_end)
        assert run.complete and run.certificate.failed_steps == 0 and run.certificate.max_penetration < 1e-5
        found.append(float(np.abs(body.path(run)[-1] - end).max()))
    return found


def of_order_two(found, bound):
    """Whether errors are below a bound at the larger step, and three times smaller at half of it."""
    return found[0] < bound and found[1] < found[0] / 3.0


def rolled(normal, body, r, t_end):
    """Place of a ball that rolls without slip on a surface, whose normal is that at the centre of the ball.

    x' = omega x r n, m x'' = F + m g, 2/5 r^2 m omega' = -r n x F.
    """
    weight, k = np.array([0.0, 0.0, -G]), 0.4 * r * r

    def rates(_, y):
        x, w = y[:3], y[3:]
        n, e = normal(x), 1e-6
        v = np.cross(w, r * n)
        dn = (normal(x + e * v) - normal(x - e * v)) / (2 * e)
        across = np.array([[0.0, -n[2], n[1]], [n[2], 0.0, -n[0]], [-n[1], n[0], 0.0]])
        A = k * np.eye(3) - r * r * across @ across
        return np.concatenate([v, np.linalg.solve(A, r * across @ (weight - np.cross(w, r * dn)))])

    start = np.concatenate([body.position, body.angular_velocity])
    return solve_ivp(rates, (0, t_end), start, rtol=1e-10, atol=1e-12).y[:3, -1]


def spinning_cone():
    """A cone of 0.4 kg on its tip at the origin, 0.3 rad askew, 200 rad/s about its axis."""
    height = 0.06
    turn = Rotation.from_euler("y", math.pi + 0.3)
    x, y, z, w = turn.as_quat()
    up, tip = -turn.apply([0.0, 0.0, 1.0]), turn.apply([0.0, 0.0, 0.75 * height])
    scene = ss.Scene()
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=3.0)
    spin = 200.0 * up
    top = scene.add_body(
        ss.Cone(0.08, height), mass=0.4, position=-tip, orientation=(w, x, y, z), angular_velocity=spin,
        velocity=np.cross(spin, -tip),
    )  # fmt: skip
    return scene, top, up, 0.75 * height


@EVERYWHERE
def test_a_cone_spins_on_its_tip(place):
    """A heavy top: L = C omega a + A a x a', L' = l a x m g.  It was thrown away by 212 N, and gained 1 % of energy."""
    _, top, up, arm = spinning_cone()
    A, C = top.inertia[0, 0] + 0.4 * arm * arm, top.inertia[2, 2]

    def rates(_, y):
        a, L = y[:3], y[3:]
        return np.concatenate([np.cross((L - (L @ a) * a) / A, a), np.cross(arm * a, [0.0, 0.0, -0.4 * G])])

    end = solve_ivp(rates, (0, 0.3), np.concatenate([up, C * 200.0 * up]), rtol=1e-12, atol=1e-14).y[:3, -1]
    found = errors(place, lambda: spinning_cone()[:2], arm * end, 0.3, (1e-3, 5e-4))
    assert of_order_two(found, 1e-4)


@pytest.mark.parametrize("inside", [True, False])
@EVERYWHERE
def test_a_ball_rolls_in_a_ring_and_over_it(inside, place):
    """7/5 rho theta'' = -+g sin theta, with rho that of the ball's centre.  Inside 0.1 mm off at every step size."""
    R, tube, r = 0.6, 0.05, 0.12
    rho, begin, t_end = (R - tube - r, 0.5, 1.0) if inside else (R + tube + r, 0.2, 0.5)
    down = -1.0 if inside else 1.0

    def at(angle):
        return rho * np.array([math.sin(angle), 0.0, down * math.cos(angle)])

    def build():
        scene = ss.Scene()
        scene.add_static(ss.Torus(R, tube), orientation=LYING, friction=5.0)
        return scene, scene.add_body(ss.Sphere(r), mass=2.0, position=at(begin))

    angle = solve_ivp(
        lambda _, y: [y[1], down * 5 / 7 * G / rho * math.sin(y[0])], (0, t_end), [begin, 0], rtol=1e-12, atol=1e-13
    ).y[0, -1]
    assert of_order_two(errors(place, build, at(angle), t_end), 3e-6)


@pytest.mark.parametrize("spin", [0.0, 15.0])
@EVERYWHERE
def test_a_ball_rolls_round_a_cone(spin, place):
    """It spins about the normal, too, which changes its way (9e-4 m off before, order one)."""
    r, half = 0.12, math.atan2(0.5, 1.0)

    def normal(x):
        across = math.hypot(x[0], x[1])
        return np.array([x[0] / across * math.cos(half), x[1] / across * math.cos(half), math.sin(half)])

    def build():
        scene, n = ss.Scene(), np.array([math.cos(half), 0.0, math.sin(half)])
        scene.add_static(ss.Cone(0.5, 1.0), friction=5.0)
        x = np.array([0.0, 0.0, 0.75]) + 0.4 * np.array([math.sin(half), 0.0, -math.cos(half)]) + r * n
        v = np.array([0.0, 0.3, 0.0])
        return scene, scene.add_body(
            ss.Sphere(r), mass=2.0, position=x, velocity=v, angular_velocity=np.cross(n, v) / r + spin * n
        )

    assert of_order_two(errors(place, build, rolled(normal, build()[1], r, 0.25), 0.25), 1e-6)


@pytest.mark.parametrize("ground", [ss.Cylinder(0.5, 4.0), ss.Capsule(0.5, 4.0)], ids=["cylinder", "capsule"])
@EVERYWHERE
def test_a_ball_rolls_along_a_side(ground, place):
    r = 0.1

    def normal(x):
        return np.array([0.0, x[1], x[2]]) / math.hypot(x[1], x[2])

    def build():
        scene, n, v = ss.Scene(), np.array([0.0, math.sin(0.2), math.cos(0.2)]), np.array([0.8, 0.0, 0.0])
        scene.add_static(ground, orientation=ALONG, friction=5.0)
        return scene, scene.add_body(
            ss.Sphere(r), mass=1.0, position=0.6 * n, velocity=v, angular_velocity=np.cross(n, v) / r + 5.0 * n
        )

    assert of_order_two(errors(place, build, rolled(normal, build()[1], r, 0.4), 0.4), 2e-6)


@pytest.mark.parametrize("ground", [ss.Disc(2.0, 0.2), ss.Cone(2.0, 0.4)], ids=["disc", "cone"])
@EVERYWHERE
def test_a_ball_rolls_over_a_flat_end_as_over_a_plane(ground, place):
    """Straight on, though it spins as well.  It sank in by 0.1 mm, and lost 1 mm in 0.5 s at dt = 2e-3 s."""

    def build():
        scene = ss.Scene()
        scene.add_static(ground, position=(0, 0, -0.1), orientation=(0, 1, 0, 0), friction=0.5)
        return scene, scene.add_body(
            ss.Sphere(0.1), mass=1.0, position=(-0.5, 0.3, 0.1), velocity=(1, 0, 0), angular_velocity=(0, 10, 7)
        )

    assert max(errors(place, build, [0.0, 0.3, 0.1], 0.5)) < 1e-12 + 1e-15 * place.distance / 1e-3


def rocked(R, r, t_end):
    """Place of a rod of 1 kg and 0.09 kg m^2, 2 r thick, that rocks on a circle of radius R from 0.25 rad on."""

    def place(angle):
        s, c = math.sin(angle), math.cos(angle)
        return np.array([(R + r) * s - R * angle * c, (R + r) * c + R * angle * s])

    def rates(_, y):
        angle, w = y
        s, c = math.sin(angle), math.cos(angle)
        a, b = r * c + R * angle * s, -r * s + R * angle * c  # derivatives of the place
        da, db = (R - r) * s + R * angle * c, (R - r) * c - R * angle * s
        return [w, -((a * da + b * db) * w * w + G * b) / (0.09 + a * a + b * b)]

    angle = solve_ivp(rates, (0, t_end), [0.25, 0], rtol=1e-12, atol=1e-13).y[0, -1]
    return place(0.25), place(angle)


@pytest.mark.parametrize(
    "ground",
    [ss.Cylinder(0.5, 2.0), ss.Sphere(0.5), ss.Capsule(0.5, 2.0), ss.Circle(0.5)],
    ids=lambda s: type(s).__name__,
)
@EVERYWHERE
def test_a_capsule_rocks_on_what_is_round(ground, place):
    """The point goes along the capsule (3.4e-4 m off at dt = 2e-3 s before, order one)."""
    begin, end = rocked(0.5, 0.04, 0.6)
    flat = isinstance(ground, ss.Circle)

    def build():
        scene = ss.Scene(dim=2 if flat else 3)
        if flat:
            scene.add_static(ground, friction=3.0)
            return scene, scene.add_body(
                ss.Capsule(0.04, 1.0), mass=1.0, inertia=0.09, position=begin, orientation=-0.25
            )
        scene.add_static(ground, orientation=LYING, friction=3.0)
        x, y, z, w = Rotation.from_euler("y", math.pi / 2 + 0.25).as_quat()
        return scene, scene.add_body(
            ss.Capsule(0.04, 1.0), mass=1.0, inertia=(0.09, 0.09, 0.002), position=(begin[0], 0, begin[1]),
            orientation=(w, x, y, z),
        )  # fmt: skip

    found = errors(place, build, end if flat else [end[0], 0.0, end[1]], 0.6)
    assert of_order_two(found, 4e-6)
