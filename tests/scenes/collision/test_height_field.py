"""Height fields: peaks, ridges and rims under boxes, capsules and hulls; flat cells; overlaps measured twice."""

import math

import numpy as np
import pytest
from tests.scenes.collision.test_collision import turn

import stickslip as ss
from stickslip.scenes.collision.overlaps import deepest_overlap, overlaps

G = 9.81
ACROSS = (math.sqrt(0.5), 0.0, math.sqrt(0.5), 0.0)  # the axis of a capsule, along x


def on_ground(heights, spacing, shape, friction=0.6, **body):
    scene = ss.Scene()
    scene.add_static(ss.HeightField(heights, spacing), friction=friction)
    return scene, scene.add_body(shape, **body)


def spike():
    heights = np.zeros((9, 9))
    heights[4, 4] = 0.3
    return heights


def ridge():
    heights = np.zeros((9, 9))
    heights[4, :] = 0.3
    return heights


@pytest.mark.parametrize(
    ("heights", "shape", "turned", "rest"),
    [
        (spike(), ss.Box((1.8, 1.8, 0.1)), None, 0.35),
        (ridge(), ss.Box((1.8, 0.7, 0.1)), None, 0.35),
        (ridge(), ss.Capsule(0.05, 1.5), ACROSS, 0.35),
        (spike(), ss.Capsule(0.05, 1.5), ACROSS, 0.35),
    ],
    ids=["box-spike", "box-ridge", "capsule-ridge", "capsule-spike"],
)
def test_what_falls_on_a_spike_or_ridge_rests_on_it(heights, shape, turned, rest):
    scene, body = on_ground(heights, 0.5, shape, mass=10.0, position=(0, 0, 0.5), orientation=turned)
    run = scene.simulate(dt=1e-3, t_end=0.4)
    assert run.complete and run.certificate.failed_steps == 0
    assert body.path(run)[-1, 2] == pytest.approx(rest, abs=1e-9)
    assert run.certificate.max_penetration < 1e-9
    assert deepest_overlap(scene, run, 3) < 1e-9
    weight = run.normal_impulse[-1, 0] / (10.0 * G * 1e-3)
    assert weight == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize(
    ("shape", "height"), [(ss.Sphere(0.1), 0.1), (ss.Box((0.3, 0.2, 0.1)), 0.05), (ss.Capsule(0.05, 0.2), 0.15)]
)
@pytest.mark.parametrize("slope", [0.0, 0.2])
def test_flat_cells_are_no_obstacle(shape, height, slope):
    # the same slide over a half-space and over cells of 0.1 m in its plane
    n = np.array([math.sin(slope), 0.0, math.cos(slope)])
    x = 0.1 * (np.arange(41) - 20)
    ends = []
    for ground in (ss.HalfSpace(n), ss.HeightField(np.tile(-x[:, None] * math.tan(slope), (1, 41)), 0.1)):
        scene = ss.Scene()
        scene.add_static(ground, friction=0.3)
        tilt = np.array([math.cos(0.5 * slope), 0.0, math.sin(0.5 * slope), 0.0])
        along = np.array([math.cos(slope), 0.0, -math.sin(slope)])
        start = -0.513 * along + np.array([0.0, -0.227, 0.0]) + height * n
        scene.add_body(shape, mass=1.0, position=start, orientation=tilt, velocity=1.1 * along + [0, 0.4, 0])
        run = scene.simulate(dt=1e-3, t_end=0.4)
        assert run.complete
        ends.append(run.q[-1])
    assert np.linalg.norm(ends[0][:3] - start) > 0.1
    assert np.abs(ends[0] - ends[1]).max() < 1e-9


def test_beyond_the_rim_bodies_fall_past_the_wall():
    scene = ss.Scene()
    scene.add_static(ss.HeightField(np.zeros((5, 5)), 1.0), friction=0.6)
    at_the_rim = scene.add_body(ss.Box((0.2, 0.15, 0.1)), density=1000.0, position=(1.9, 0.0, 0.05))
    tips = [
        scene.add_body(ss.Box((0.2, 0.15, 0.1)), density=1000.0, position=(2.02, 0.5, 0.06)),
        scene.add_body(ss.Capsule(0.05, 0.2), density=1000.0, position=(2.02, -0.5, 0.06), orientation=ACROSS),
        scene.add_body(ss.Sphere(0.05), density=1000.0, position=(2.01, -1.0, 0.06)),
    ]
    beside = scene.add_body(ss.Box((0.2, 0.2, 0.2)), density=1000.0, position=(2.3, 1.2, -0.5), velocity=(-3, 0, 0))
    run = scene.simulate(dt=1e-3, t_end=0.5)
    assert run.complete
    assert np.abs(at_the_rim.path(run)[-1] - [1.9, 0.0, 0.05]).max() < 1e-9
    for body in tips:
        assert body.path(run)[-1, 2] < -0.2 and np.linalg.norm(body.spin(run)[-1]) > 0.5
    assert 2.1 - 1e-6 < beside.path(run)[:, 0].min() < 2.102  # held by the wall, half its width away; friction turns it
    assert run.certificate.max_penetration < 1e-3 and deepest_overlap(scene, run, 6) < 1e-3


def rough_ground(seed, bodies):
    """Boxes, capsules, hulls and spheres that tumble onto random heights."""
    rng = np.random.default_rng(seed)
    scene = ss.Scene()
    scene.add_static(ss.HeightField(rng.uniform(0, 0.25, (9, 9)), 0.25), friction=0.5)
    for k in range(bodies):
        shape = [
            ss.Box(rng.uniform(0.1, 0.6, 3)),
            ss.Capsule(rng.uniform(0.03, 0.1), rng.uniform(0.1, 0.6)),
            ss.ConvexHull(0.2 * rng.normal(size=(12, 3))),
            ss.Sphere(0.1),
        ][(seed + k) % 4]
        place = (-0.5 + 0.98 * (k % 2), -0.5 + 0.98 * (k // 2), 0.9)
        scene.add_body(
            shape, density=1000.0, position=place, orientation=turn(rng), velocity=rng.normal(size=3),
            angular_velocity=3.0 * rng.normal(size=3),
        )  # fmt: skip
    return scene


def judge_rough_ground(seed, bodies, t_end, records):
    scene = rough_ground(seed, bodies)
    run = scene.simulate(dt=2e-3, t_end=t_end, tol=1e-8, overlap="keep")
    assert run.complete and run.certificate.failed_steps == 0
    truth = deepest_overlap(scene, run, records)
    assert run.certificate.max_penetration >= 0.9 * truth - 1e-9
    assert truth < 3e-3


def test_overlap_with_rough_ground_is_not_below_the_truth():
    judge_rough_ground(0, 2, 0.6, 6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(14))
def test_overlap_with_rough_ground_is_not_below_the_truth_in_many_scenes(seed):
    judge_rough_ground(seed, 4, 1.2, 40)


@pytest.mark.slow
@pytest.mark.parametrize("cells", [9, 13, 21, 40])
def test_boxes_land_on_hills(cells):
    x = np.linspace(-2, 2, cells)
    heights = 0.2 * np.sin(2 * x)[:, None] * np.cos(3 * x)[None, :]
    for k in range(25):
        place = (-1.5 + 0.75 * (k % 5), -1.5 + 0.75 * (k // 5), 0.6)
        scene, _ = on_ground(heights, 4 / (cells - 1), ss.Box((0.2, 0.15, 0.1)), density=1000.0, position=place)
        run = scene.simulate(dt=1e-3, t_end=1.0)
        assert run.complete and run.certificate.max_penetration < 2e-4
        assert run.certificate.max_penetration >= 0.9 * deepest_overlap(scene, run, 6) - 1e-9


def test_overlaps_of_convex_bodies_are_least_shifts():
    # two cubes, edge on face and corner in face; a capsule through a plate; bodies that are apart
    half = math.sqrt(0.5)
    on_edge = (math.cos(math.pi / 8), math.sin(math.pi / 8), 0.0, 0.0)
    cases = [
        (ss.Box((1, 1, 1)), (0, 0, 0.9), None, 0.1),
        (ss.Box((1, 1, 1)), (0.3, 0, 0.5 + half - 0.02), on_edge, 0.02),
        (ss.Capsule(0.1, 4.0), (0.0, 0, 0.55), ACROSS, 0.05),
        (ss.Capsule(0.1, 4.0), (0.0, 0, 0.45), ACROSS, 0.15),
        (ss.Sphere(0.2), (0.7 - 1e-3, 0, 0), None, 1e-3),
        (ss.Sphere(0.2), (0.5 + 0.2 * half - 1e-3, 0.5 + 0.2 * half - 1e-3, 0), None, 1e-3 * math.sqrt(2)),
        (ss.Sphere(0.2), (0.71, 0, 0), None, 0.0),
    ]
    for shape, place, turned, depth in cases:
        scene = ss.Scene()
        scene.add_body(ss.Box((1, 1, 1)), mass=1.0, position=(0, 0, 0), name="cube")
        scene.add_body(shape, mass=1.0, position=place, orientation=turned, name="other")
        found = overlaps(scene)
        assert [pair.depth for pair in found] == pytest.approx([depth] if depth else [], rel=1e-6)
