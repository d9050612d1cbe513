"""Surfaces of triangles: beside boxes, half-spaces and height fields, in valleys, over edges, and at their rims."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.scenes.collision.overlaps import deepest_overlap
from stickslip.scenes.engine import SceneEngine
from stickslip.scenes.start import points_at_rest

G = 9.81
SHAPES = (ss.Sphere(0.08), ss.Capsule(0.05, 0.2), ss.Box((0.15, 0.2, 0.1)))


def surface_of_box(size, cells=1, inwards=False):
    """The six faces of a box, each cut into triangles."""
    points, triangles = [], []
    for axis in range(3):
        for sign in (-1, 1):
            first = len(points)
            for i in range(cells + 1):
                for j in range(cells + 1):
                    place = np.zeros(3)
                    place[[axis, (axis + 1) % 3, (axis + 2) % 3]] = sign, 2 * i / cells - 1, 2 * j / cells - 1
                    points.append(0.5 * place * size)
            for i in range(cells):
                for j in range(cells):
                    a, b = first + i * (cells + 1) + j, first + (i + 1) * (cells + 1) + j
                    for t in ((a, b, b + 1), (a, b + 1, a + 1)):
                        triangles.append(t if (sign > 0) != inwards else t[::-1])
    return ss.TriangleMesh(points, triangles)


def grid(heights, spacing):
    """The triangles of a height field."""
    m, n = heights.shape
    points = [
        ((i - 0.5 * (m - 1)) * spacing, (j - 0.5 * (n - 1)) * spacing, heights[i, j])
        for i in range(m)
        for j in range(n)
    ]
    triangles = []
    for i in range(m - 1):
        for j in range(n - 1):
            a, b = i * n + j, (i + 1) * n + j
            triangles += [(a, b, a + 1), (b + 1, a + 1, b)]
    return ss.TriangleMesh(points, triangles)


def least_gap(world, shape, position, turn):
    scene = ss.Scene(gravity=(0, 0, 0))
    scene.add_static(world)
    scene.add_body(shape, mass=1.0, position=position, orientation=turn)
    engine = SceneEngine(scene, 1e-3, 0.5, False, True, 1e-10, 0, False, 1)
    return engine.contacts[0][: points_at_rest(engine, 0.0)].gap.min(initial=np.inf)


def run(world, shape, position, turn=None, mu=0.2, e=0.0, t_end=1.0, place=None, **motion):
    scene = ss.Scene()
    for one in world:
        scene.add_static(one, friction=mu, restitution=e, orientation=place)
    scene.add_body(shape, mass=1.0, position=position, orientation=turn, friction=mu, restitution=e, **motion)
    return scene, scene.simulate(dt=1e-3, t_end=t_end, every=10)


def random_turn(rng):
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


@pytest.mark.parametrize("count", [9, pytest.param(600, marks=pytest.mark.slow)])
def test_the_surface_of_a_box_is_as_deep_as_the_box(count):
    rng, size, touched = np.random.default_rng(count), np.array([0.4, 0.3, 0.5]), 0
    for trial in range(count):
        shape, cells = SHAPES[trial % 3], 1 + trial % 4
        way, turn = rng.normal(size=3), random_turn(rng)
        way /= np.linalg.norm(way)
        low, high = 0.1, 1.0  # a little inside: least gap of -1e-4 m by separating axes
        for _ in range(25):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if least_gap(ss.Box(size), shape, middle * way, turn) < -1e-4 else (low, middle)
        gap = least_gap(ss.Box(size), shape, low * way, turn)
        assert least_gap(surface_of_box(size, cells), shape, low * way, turn) == pytest.approx(gap, abs=1e-7)
        touched += gap < 0.0
    assert touched == count


def test_flat_triangles_are_felt_as_a_half_space():
    rng, angle = np.random.default_rng(4), 0.3
    from scipy.spatial import Delaunay

    flat = np.vstack([rng.uniform(-4, 4, (60, 2)), [[-4, -4], [4, -4], [-4, 4], [4, 4]]])
    triangles = Delaunay(flat).simplices
    a, b, c = flat[triangles[:, 0]], flat[triangles[:, 1]], flat[triangles[:, 2]]
    clockwise = (b - a)[:, 0] * (c - a)[:, 1] < (b - a)[:, 1] * (c - a)[:, 0]
    triangles[clockwise] = triangles[clockwise][:, ::-1]
    mesh = ss.TriangleMesh(np.column_stack([flat, np.zeros(len(flat))]), triangles)
    turn = (np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0)
    down, up = np.array([np.cos(angle), 0.0, -np.sin(angle)]), np.array([np.sin(angle), 0.0, np.cos(angle)])
    for shape, height, slid in (
        (ss.Box((0.3, 0.2, 0.1)), 0.05, 0.5 * G * (np.sin(angle) - 0.2 * np.cos(angle))),
        (ss.Sphere(0.1), 0.1, 0.5 * G * np.sin(angle) * 5 / 7),
    ):
        start = -1.0 * down + 0.13 * np.array([0.0, 1.0, 0.0]) + height * up
        _, on_mesh = run([mesh], shape, start, turn, place=turn)
        _, on_plane = run([ss.HalfSpace(up)], shape, start, turn)
        np.testing.assert_allclose(on_mesh.q, on_plane.q, atol=1e-11)
        assert (on_mesh.q[-1, :3] - start) @ down == pytest.approx(slid, rel=1e-9)
        assert on_mesh.certificate.max_penetration < 1e-12


@pytest.mark.parametrize("shape", [*SHAPES[:2], pytest.param(SHAPES[2], marks=pytest.mark.slow)])
def test_a_room_is_six_half_spaces(shape):
    size = np.array([1.0, 0.8, 0.6])
    walls = [ss.HalfSpace(-sign * np.eye(3)[k], offset=-0.5 * size[k]) for k in range(3) for sign in (-1, 1)]
    motion = dict(velocity=(1.3, 0.9, 0.2), angular_velocity=(3, 2, 1), mu=0.3, e=0.5)
    scene, inside = run([surface_of_box(size, 3, inwards=True)], shape, (0.1, 0.05, 0.0), **motion)
    _, between = run(walls, shape, (0.1, 0.05, 0.0), **motion)
    np.testing.assert_allclose(inside.q, between.q, atol=1e-9)
    assert deepest_overlap(scene, inside, 5) <= inside.certificate.max_penetration / 0.9 + 1e-12


@pytest.mark.parametrize("number", range(4))
def test_rough_ground_is_a_height_field(number):
    rng = np.random.default_rng(3)
    heights, hull = 0.12 * rng.uniform(size=(12, 12)), ss.ConvexHull(0.12 * rng.normal(size=(12, 3)))
    shape, motion = (*SHAPES, hull)[number], np.random.default_rng(number)
    start = dict(turn=random_turn(motion), velocity=(0.5, 0.3, 0.0), angular_velocity=3 * motion.normal(size=3))
    _, on_mesh = run([grid(heights, 0.25)], shape, (-0.3, 0.05, 0.5), mu=0.4, e=0.1, **start)
    _, on_field = run([ss.HeightField(heights, 0.25)], shape, (-0.3, 0.05, 0.5), mu=0.4, e=0.1, **start)
    np.testing.assert_allclose(on_mesh.q, on_field.q, atol=1e-9)


def test_corner_on_corner_is_felt():
    heights = np.zeros((5, 5))
    heights[2, 2] = 0.1
    scene, spike = run([grid(heights, 0.5)], ss.Box((0.2, 0.2, 0.2)), (0.1, 0.1, 0.6), t_end=0.4)
    assert spike.certificate.max_penetration < 1e-4  # 2.6e-3 where it is not
    assert spike.certificate.failed_steps == 0
    assert deepest_overlap(scene, spike, 10) <= spike.certificate.max_penetration / 0.9


def test_stairs_have_edges_and_a_rim():
    profile = [(-1.0, 0.0), (0.0, 0.0), (0.0, -0.15), (0.25, -0.15), (0.25, -0.3), (2.0, -0.3)]
    points = [(x, y, z) for x, z in profile for y in (-0.5, 0.5)]
    triangles = [t for k in range(0, 10, 2) for t in ((k, k + 2, k + 3), (k, k + 3, k + 1))]
    stairs = ss.TriangleMesh(points, triangles)
    scene, tumbles = run([stairs], SHAPES[2], (-0.3, 0.05, 0.1), mu=0.3, t_end=2.0, velocity=(2.0, 0.0, 0.0))
    end = tumbles.q[-1]
    assert end[0] > 0.3 and abs(tumbles.u[-1]).max() < 1e-9  # it rests below
    assert tumbles.certificate.failed_steps == 0
    assert deepest_overlap(scene, tumbles, 20) <= tumbles.certificate.max_penetration / 0.9 + 1e-9
    _, beside = run([stairs], ss.Sphere(0.1), (-0.5, 0.45, 0.2), t_end=1.0, velocity=(0.0, 0.5, 0.0))
    assert beside.q[-1, 2] < -1.0  # over the rim


def test_a_thin_wall_is_felt_from_its_own_side():
    wall = surface_of_box(np.array([0.01, 2.0, 2.0]), 2)
    for side in (-1.0, 1.0):
        _, thrown = run([wall], ss.Sphere(0.1), (0.5 * side, 0.1, 0.2), e=0.5, t_end=0.3, velocity=(-4.0 * side, 0, 0))
        assert side * thrown.u[-1, 0] == pytest.approx(2.0, rel=1e-9)
        assert side * thrown.q[-1, 0] > 0.105


def test_rays_meet_triangles_from_the_front():
    scene = ss.Scene()
    scene.add_static(surface_of_box(np.array([1.0, 1.0, 1.0]), 2), position=(0, 0, 1))
    scene.add_body(ss.Sphere(0.1), mass=1.0, position=(0, 0, 3))
    met = ss.Simulator(scene, dt=1e-3).ray((0.3, 0.2, 2.5), (0, 0, -1))
    assert met.distance == pytest.approx(1.0)
    np.testing.assert_allclose(met.normal, (0, 0, 1), atol=1e-12)


@pytest.mark.parametrize(
    ("vertices", "triangles", "words"),
    [
        ([(0, 0, 0), (1, 0, 0)], [(0, 1, 1)], "shape (v, 3) with v >= 3"),
        ([(0, 0, 0), (1, 0, 0), (0, 1, np.nan)], [(0, 1, 2)], "must be finite"),
        ([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 3)], "whole numbers from 0 to 2"),
        ([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 0.5)], "whole numbers from 0 to 2"),
        ([(0, 0, 0), (1, 0, 0), (2, 0, 0)], [(0, 1, 2)], "must have an area, got none in triangle 0"),
        ([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)], [(0, 1, 2), (1, 2, 3)], "triangles 0 and 1 .* turn one of them"),
        ([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [], "shape (f, 3) with f >= 1"),
    ],
)  # fmt: skip
def test_bad_surfaces_are_one_line(vertices, triangles, words):
    import re

    pattern = words if ".*" in words else re.escape(words)
    with pytest.raises(ValueError, match=pattern) as problem:
        ss.TriangleMesh(vertices, triangles)
    assert "\n" not in str(problem.value)


def test_a_surface_has_no_mass_and_no_curved_partner():
    mesh = surface_of_box(np.ones(3))
    with pytest.raises(ValueError, match="has no mass; use add_static or add_driven"):
        ss.Scene().add_body(mesh, mass=1.0)
    scene = ss.Scene()
    scene.add_static(mesh)
    scene.add_body(ss.Ellipsoid((0.1, 0.1, 0.2)), mass=1.0, position=(0, 0, 2))
    with pytest.raises(ValueError, match=r"Ellipsoid .* cannot touch TriangleMesh"):
        scene.simulate(dt=1e-3, t_end=0.1)
