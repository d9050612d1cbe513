"""Boxes on wedges and trucks, grooves, spools, fingers of other shapes, wedges driven in: closed forms, everywhere."""

import itertools
import math

import numpy as np
import pytest

import stickslip as ss
from tests.elsewhere import EVERYWHERE

G = 9.81


def plank(width, height):
    """A rectangle about the origin."""
    w, h = width / 2, height / 2
    return ss.Polygon([(-w, -h), (w, -h), (w, h), (-w, h)])


def moved(body, run):
    """How far a body has got from its start [m]."""
    return np.abs(body.path(run) - body.path(run)[0]).max()


def require_threshold(build, place, far, t_end, rest=1e-8, falls=1e-5):
    """What build(share) makes rests with 1 - far of its limit, and moves with 1 + far."""
    for share in (1.0 - far, 1.0 + far):
        scene, body = build(share)
        run = place.simulate(scene, dt=1e-3, t_end=place.span(t_end, t_end / 2), held=share < 1.0)
        assert run.complete and run.certificate.failed_steps == 0
        if share < 1.0:
            assert moved(body, run) < rest + 4e-13 * place.distance
        else:
            assert moved(body, run) > falls


@EVERYWHERE
@pytest.mark.parametrize("upwards", [True, False])
def test_box_on_a_wedge_that_accelerates(upwards, place):
    """It rests on the wedge for g (tan a - mu) / (1 + mu tan a) < a < g (tan a + mu) / (1 - mu tan a)."""
    slope, mu = 0.5, 0.3
    c, s, tangent = math.cos(slope), math.sin(slope), math.tan(slope)
    limit = G * (tangent + mu) / (1 - mu * tangent) if upwards else G * (tangent - mu) / (1 + mu * tangent)
    for share in (0.998, 1.002):
        scene = ss.Scene(dim=2)
        wedge = scene.add_driven(
            ss.Polygon([(-2 * c, -2 * s), (2 * c, -2 * s), (2 * c, 2 * s)]),
            motion=lambda t, a=share * limit: ((-a * t, 0.0), 0.0),
            friction=mu,
        )
        box = scene.add_body(plank(0.2, 0.1), mass=1.0, position=(-0.05 * s, 0.05 * c), orientation=slope, friction=mu)
        run = place.simulate(scene, dt=1e-3, t_end=0.1)
        way = (box.path(run) - wedge.path(run)) @ [c, s]
        slid = abs(way[-1] - way[0])
        assert run.certificate.failed_steps == 0
        assert slid < 1e-9 + 1e-12 * place.distance if (share < 1.0) == upwards else slid > 1e-6


@EVERYWHERE
@pytest.mark.parametrize("half", [math.pi / 4, math.pi / 3])
def test_ball_and_prism_in_a_groove(half, place):
    """A ball turns about points R sin(b) above its contacts; walls press a prism with 1 / sin(b) of its weight."""
    slope, mu, t_end = 0.5, 0.2, place.span(0.4, 0.1)
    walls = [(0, side * math.cos(half), math.sin(half)) for side in (-1, 1)]
    gravity = (G * math.sin(slope), 0, -G * math.cos(slope))
    rough, smooth = ss.Scene(gravity=gravity), ss.Scene(gravity=gravity)
    for normal in walls:
        rough.add_static(ss.HalfSpace(normal), friction=1.5)
        smooth.add_static(ss.HalfSpace(normal), friction=mu)
    ball = rough.add_body(ss.Sphere(0.05), mass=1.0, position=(0, 0, 0.05 / math.sin(half)), friction=1.5)
    y, z = 0.2 * math.sin(half), 0.2 * math.cos(half)
    corners = [(x, *p) for x in (-0.15, 0.15) for p in ((0, -z), (y, 0), (0, z), (-y, 0))]
    prism = smooth.add_body(ss.ConvexHull(corners), mass=2.0, position=(0, 0, z), friction=mu)
    run = place.simulate(rough, dt=1e-3, t_end=t_end)
    rolls = G * math.sin(slope) / (1 + 0.4 / math.sin(half) ** 2)
    assert ball.velocities(run)[-1, 0] == pytest.approx(rolls * t_end, rel=1e-9)
    run = place.simulate(smooth, dt=1e-3, t_end=t_end)
    slides = G * (math.sin(slope) - mu * math.cos(slope) / math.sin(half))
    assert prism.velocities(run)[-1, 0] == pytest.approx(slides * t_end, rel=1e-7)
    assert np.abs(prism.spin(run)).max() < 1e-5


@EVERYWHERE
@pytest.mark.parametrize("angle", [0.2, 1.0, 1.4])
def test_spool_that_is_pulled_by_its_thread(angle, place):
    """a = F (cos(angle) - r / R) / (m + J / R^2): it comes nearer, or goes away where the thread is steep."""
    m, R, r, F, t_end = 2.0, 0.2, 0.08, 3.0, place.span(0.4, 0.1)
    inertia = m * R * R / 2
    scene = ss.Scene(dim=2)
    scene.add_static(ss.HalfPlane((0, 1)), friction=0.8)
    spool = scene.add_body(ss.Circle(R), mass=m, inertia=inertia, position=(0, R), friction=0.8)
    scene.add_force(spool, (F * math.cos(angle), F * math.sin(angle)), torque=F * r)
    run = place.simulate(scene, dt=1e-3, t_end=t_end)
    wanted = F * (math.cos(angle) - r / R) / (m + inertia / R**2) * t_end
    assert spool.velocities(run)[-1, 0] == pytest.approx(wanted, abs=1e-10)


FINGERS = {
    "capsule": (ss.Capsule(0.02, 0.06), (math.sqrt(0.5), math.sqrt(0.5), 0, 0)),
    "hull": (
        ss.ConvexHull([(x, *p) for x in (-0.02, 0.02) for p in ((0.03, 0), (0, 0.03), (-0.03, 0), (0, -0.03))]),
        None,
    ),
}


@EVERYWHERE
@pytest.mark.parametrize("kind", FINGERS)
def test_fingers_of_other_shapes(kind, place):
    """Two motors press fingers on a box: 2 mu F holds its weight."""
    shape, turn = FINGERS[kind]

    def build(share):
        mu, m = 0.5, 2.0
        scene = ss.Scene(gravity=G)
        box = scene.add_body(ss.Box((0.1, 0.1, 0.1)), mass=m, friction=mu)
        for side in (-1, 1):
            at = (0.07 * side, 0, 0)
            finger = scene.add_body(shape, mass=0.3, position=at, orientation=turn or (1, 0, 0, 0), friction=mu)
            scene.add_prismatic(None, finger, at=at, axis=(-side, 0, 0), motor=(0.2, m * G / (2 * mu) / share))
        return scene, box

    require_threshold(build, place, 0.02, 0.3)


@EVERYWHERE
@pytest.mark.parametrize("kind", ["sphere", "box"])
def test_grasp_that_is_tilted(kind, place):
    """A sphere needs mu N = m g cos(a) / 2 at the finger; a box mu (N + N') = m g cos(a), its weight on the plate."""
    tilt, mu, m, own = 0.3, 0.6, 2.0, 0.3

    def build(share):
        across, along = m * G * math.cos(tilt), m * G * math.sin(tilt)
        needed = across / (2 * mu) if kind == "sphere" else (across / mu - along) / 2
        scene = ss.Scene(gravity=(-G * math.sin(tilt), 0, -G * math.cos(tilt)))
        held = scene.add_body(ss.Sphere(0.05) if kind == "sphere" else ss.Box((0.1, 0.3, 0.3)), mass=m, friction=mu)
        plate = ss.Box((0.02, 0.4, 0.4))
        scene.add_static(plate, position=(-0.06, 0, 0), friction=mu)
        finger = scene.add_body(plate, mass=own, position=(0.06, 0, 0), friction=mu)
        force = needed / share - own * G * math.sin(tilt)
        scene.add_prismatic(None, finger, at=(0.06, 0, 0), axis=(-1, 0, 0), motor=(0.2, force))
        return scene, held

    require_threshold(build, place, 0.02, 0.3)


@EVERYWHERE
def test_wedge_between_plates_locks_itself(place):
    """Plates that press on both sides of a wedge hold it while mu > tan(half its angle), and drive it out below."""
    half = 0.25

    def build(share):
        mu = math.tan(half) / share
        broad, height = 0.3, 0.4
        narrow = broad - 2 * height * math.tan(half)
        y = height * (narrow + 2 * broad) / (3 * (narrow + broad))  # of the centre of mass above the narrow side
        scene = ss.Scene(dim=2, gravity=0.0)
        corners = [(-narrow / 2, -y), (narrow / 2, -y), (broad / 2, height - y), (-broad / 2, height - y)]
        wedge = scene.add_body(ss.Polygon(corners), mass=1.0, position=(0, y - height / 2), friction=mu)
        for side in (-1, 1):
            at = (side * ((narrow + broad) / 4 + 0.05 * math.cos(half)), -0.05 * math.sin(half))
            plate = scene.add_body(plank(0.1, 0.2), mass=0.5, position=at, orientation=-side * half, friction=mu)
            scene.add_prismatic(None, plate, at=at, axis=(-side, 0), motor=(0.3, 50.0))
        return scene, wedge

    require_threshold(build, place, 0.01, 0.3)


@EVERYWHERE
def test_two_slender_blocks_tip_as_one(place):
    """Ground that leans by atan(b / (2 h)): the upper block goes with the lower one."""

    def build(share):
        lean = math.atan(0.2 / 1.0) * share
        scene = ss.Scene(dim=2, gravity=(G * math.sin(lean), -G * math.cos(lean)))
        scene.add_static(ss.HalfPlane((0, 1)), friction=0.9)
        blocks = [scene.add_body(plank(0.2, 0.5), mass=1.0, position=(0, y), friction=0.9) for y in (0.25, 0.75)]
        return scene, blocks[1]

    require_threshold(build, place, 0.01, 1.0)


@EVERYWHERE
def test_two_logs_carry_a_third(place):
    """Friction of tan 15 degrees between logs of one size, and of a third of that on the ground, holds the pile."""

    def pile(between, ground):
        scene, r = ss.Scene(), 0.1
        scene.add_static(ss.HalfSpace((0, 0, 1)), friction=ground**2 / between)  # the pair has the geometric mean
        for x, z in ((-r, r), (r, r), (0.0, r + r * math.sqrt(3))):
            turn = (math.sqrt(0.5), math.sqrt(0.5), 0, 0)
            log = scene.add_body(ss.Capsule(r, 0.6), mass=1.0, position=(x, 0, z), orientation=turn, friction=between)
        return scene, log

    least = math.tan(math.pi / 12)
    require_threshold(lambda share: pile(least / share, 0.5), place, 3e-3, 0.4)
    require_threshold(lambda share: pile(0.5, least / 3 / share), place, 3e-3, 0.4)


@EVERYWHERE
@pytest.mark.parametrize("legs", [3, 4])
def test_legs_that_are_joined_at_the_top(legs, place):
    """Uniform legs at an angle alpha from the vertical stand from mu = tan(alpha) / 2 on, each on a point."""

    def tripod(share, alpha=0.5):
        mu, point = 0.5 * math.tan(alpha) / share, 1e-6
        scene, rods = ss.Scene(), []
        scene.add_static(ss.HalfSpace((0, 0, 1)), friction=mu)
        for k in range(legs):
            out = np.array([math.cos(2 * math.pi * k / legs + 0.3), math.sin(2 * math.pi * k / legs + 0.3), 0.0])
            half = 0.5 * (math.sin(alpha) * out - [0, 0, math.cos(alpha)])
            rods.append(
                scene.add_body(
                    ss.Compound([(ss.Sphere(point), tuple(half))]), mass=1.0, inertia=(1 / 12,) * 3, friction=mu,
                    position=half + np.array([0, 0, math.cos(alpha) + point]), centre_of_mass=(0, 0, 0),
                )
            )  # fmt: skip
            if k > 0:
                scene.add_spherical(rods[0], rods[k], at=(0, 0, math.cos(alpha) + point))
        return scene, rods[-1]

    require_threshold(tripod, place, 1e-3, 0.3)


@EVERYWHERE
def test_boxes_that_are_towed(place):
    """Five boxes on rods begin to slide together at mu m g each, and go on by (F / m - mu g) t^2 / 2."""
    mu, boxes = 0.4, 5
    for share in (0.999, 1.001, 2.0):
        scene = ss.Scene()
        scene.add_static(ss.HalfSpace((0, 0, 1)), friction=mu)
        bodies = [
            scene.add_body(ss.Box((0.1, 0.1, 0.1)), mass=1.0, position=(0.2 * k, 0, 0.05), friction=mu)
            for k in range(boxes)
        ]
        for a, b in itertools.pairwise(bodies):
            scene.add_distance(a, b, at_a=a.position, at_b=b.position)
        scene.add_force(bodies[-1], force=(share * mu * boxes * G, 0, 0))
        run = place.simulate(scene, dt=1e-3, t_end=place.span(0.2, 0.1))
        assert run.complete and run.certificate.failed_steps == 0
        way = max(0.0, share - 1.0) * mu * G * run.t**2 / 2
        for body in bodies:
            path = body.path(run)
            assert np.abs(path[:, 0] - path[0, 0] - way).max() < 1e-14 + 8e-16 * place.distance
