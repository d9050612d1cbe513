"""Contact geometry against a search over directions with support functions, and under motions of both bodies.

    distance = max over n of s(n),  s(n) = min over B of n.x - max over A of n.x,

negative for bodies that overlap, by the least translation that parts them.
"""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stickslip as ss
from stickslip.scenes.collision.narrow_phase import far_above
from stickslip.scenes.shapes import quaternion_product, rotation_matrix
from tests.scenes.collision.test_collision import contact_points, deepest, round_hull, turn
from tests.thinned import examples, thinned


def support(shape, pose, n):
    """max of n.x over a shape, for rows n."""
    dim = n.shape[1]
    x, q = np.asarray(pose[0], float), pose[1]
    R = rotation_matrix(q) if dim == 3 else np.array([[math.cos(q), -math.sin(q)], [math.sin(q), math.cos(q)]])
    body = n @ R
    if isinstance(shape, ss.Capsule):
        return n @ x + shape.radius + 0.5 * shape.length * np.abs(body[:, -1 if dim == 3 else 0])
    (piece,) = shape.pieces(dim)
    return n @ x + (body @ (piece.mesh.vertices + piece.offset)[:, :dim].T).max(axis=1)


def searched_distance(shapes, poses, rng, dim):
    """Distance and axis by a search: directions all round, then nearer and nearer about the best of them."""

    def separation(n):
        return -support(shapes[1], poses[1], -n) - support(shapes[0], poses[0], n)

    n = rng.normal(size=(4000, dim))
    n /= np.linalg.norm(n, axis=1)[:, None]
    best = n[np.argsort(separation(n))[-12:]]
    width = 0.1
    for _ in range(60):
        near = best[:, None] + width * rng.normal(size=(len(best), 40, dim))
        near = np.concatenate([best[:, None], near / np.linalg.norm(near, axis=2)[:, :, None]], axis=1)
        values = separation(near.reshape(-1, dim)).reshape(len(best), -1)
        best = near[np.arange(len(best)), values.argmax(axis=1)]
        width *= 0.75
    values = separation(best)
    return float(values.max()), best[values.argmax()]


def flat_shape(rng, dim):
    if dim == 2:
        angles = np.sort(rng.uniform(0, 2 * math.pi, int(rng.integers(4, 9))))
        return ss.Polygon(rng.uniform(0.4, 1.4, 2) * np.column_stack([np.cos(angles), np.sin(angles)]))
    return ss.Box(rng.uniform(0.3, 2.0, 3)) if rng.integers(2) else round_hull(rng, 12, rng.uniform(0.4, 1.4, 3))


def random_turn(rng, dim):
    return turn(rng) if dim == 3 else float(rng.uniform(0, 2 * math.pi))


@pytest.mark.parametrize("dim", [2, 3])
def test_a_capsule_whose_axis_passes_through_a_polyhedron(dim):
    rng = np.random.default_rng(11)
    through = 0
    for _ in range(25):
        shapes = [ss.Capsule(rng.uniform(0.05, 0.4), rng.uniform(0.3, 2.5)), flat_shape(rng, dim)]
        poses = [(0.4 * rng.normal(size=dim), random_turn(rng, dim)), (np.zeros(dim), random_turn(rng, dim))]
        exact, axis = searched_distance(shapes, poses, rng, dim)
        gap, normal = deepest(shapes, poses, 3.0, dim)
        assert gap == pytest.approx(exact, abs=1e-5)
        through += exact < -shapes[0].radius
        if exact < -1e-3:  # the axis of least depth may be one of several
            depth = support(shapes[0], poses[0], normal[None, :dim])[0]
            depth += support(shapes[1], poses[1], -normal[None, :dim])[0]
            assert depth == pytest.approx(-gap, abs=1e-9)
        else:
            assert normal[:dim] @ axis > 1 - 1e-6
    assert through > 8


@pytest.mark.parametrize("over", [0.0, 0.3])
@pytest.mark.parametrize("height", [0.2, 0.0, -0.05])
def test_a_capsule_on_a_narrow_box_is_held_at_both_ends_of_the_line(over, height):
    # across a box that is narrower than the capsule, or half off it; the axis at `height` over the face
    shapes = [ss.Capsule(0.2, 2.0), ss.Box((1.0, 3.0, 1.0))]
    tilt = 1e-4
    across = np.array([math.cos(0.25 * math.pi + 0.5 * tilt), 0.0, math.sin(0.25 * math.pi + 0.5 * tilt), 0.0])
    poses = [(np.array([over, 0.0, 0.5 + height]), across), (np.zeros(3), np.array([1.0, 0, 0, 0]))]
    gaps, normals, points = contact_points(shapes, poses, 1e-2)
    assert len(gaps) == 2
    assert np.allclose(normals, [0, 0, -1], atol=1e-3)
    assert np.allclose(gaps, height - 0.2, atol=2e-4)
    assert np.ptp(points[:, 0]) == pytest.approx(1.0, abs=1e-3)


def test_nearly_parallel_edges_are_held_at_both_ends():
    # two bars with their edges on one another, askew by 1e-3: tipped by that angle, an end meets a face
    bar, skew = ss.Box((1.0, 0.1, 0.1)), 1e-3
    edge_up = np.array([math.cos(math.pi / 8), math.sin(math.pi / 8), 0.0, 0.0])
    askew = np.array([math.cos(0.5 * skew), 0.0, 0.0, math.sin(0.5 * skew)])
    above = (np.array([0.0, 0.0, 0.1 * math.sqrt(2.0) + 1e-6]), quaternion_product(askew, edge_up))
    gaps, normals, points = contact_points([bar, bar], [(np.zeros(3), edge_up), above], 1e-3)
    assert len(gaps) == 5  # where they cross, and both ends of both edges
    assert gaps[np.argmin(np.abs(points[:, 0]))] == pytest.approx(1e-6, abs=1e-12)
    assert np.ptp(points[:, 0]) > 0.99
    for gap, x in zip(gaps, points[:, 0], strict=True):
        if abs(x) > 0.1:  # corner above a face at 45 degrees: the offset to the side counts
            assert gap == pytest.approx(0.5 * skew * math.sqrt(0.5) + 1e-6 * math.sqrt(0.5), rel=1e-3)
    assert np.all(normals[:, 2] > 0.7)


@pytest.mark.parametrize("far", [1e6, 1e8])
def test_far_from_the_origin_points_are_the_same(far):
    rng = np.random.default_rng(2)
    for k in range(8):
        shapes = [flat_shape(rng, 3) if k % 2 else ss.Capsule(0.2, 1.0), flat_shape(rng, 3)]
        poses = [(rng.integers(-8, 8, 3) / 16, turn(rng)), (rng.integers(-8, 8, 3) / 16, turn(rng))]
        moved = [(x + np.array([far, -far, far]), q) for x, q in poses]  # no rounding: sixteenths
        for here, there in zip(contact_points(shapes, poses), contact_points(shapes, moved), strict=True):
            assert np.array_equal(here, there)


def test_a_stack_rests_far_from_the_origin():
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.5)
    for k in range(3):
        scene.add_body(ss.Box((1, 1, 1)), mass=1.0, position=(1e6, -3e6, 0.5 + k))
    run = scene.simulate(dt=1e-3, t_end=0.3)
    assert run.complete and run.certificate.failed_steps == 0
    assert np.abs(run.q[-1] - run.q[0]).max() < 2e-9  # three units in the last place


@pytest.mark.parametrize("scale", [1e-6, 1e4])
def test_small_and_large_shapes_are_scaled_copies(scale):
    rng = np.random.default_rng(4)
    for _ in range(8):
        sizes = [rng.uniform(0.3, 2.0, 3) * np.array([1.0, 1.0, rng.choice([1.0, 1e-3])]) for _ in range(2)]
        poses = [(np.zeros(3), turn(rng)), (0.5 * rng.normal(size=3), turn(rng))]
        found = deepest([ss.Box(s) for s in sizes], poses)
        other = deepest([ss.Box(scale * s) for s in sizes], [(scale * x, q) for x, q in poses], 3.0 * scale)
        assert (found is None) == (other is None)
        if found is not None:
            assert other[0] == pytest.approx(scale * found[0], rel=1e-6, abs=1e-9 * scale)
            assert other[1] @ found[1] > 1 - 1e-9


def mirrored(shape):
    (piece,) = shape.pieces(3)
    return ss.ConvexHull((piece.mesh.vertices + piece.offset) * np.array([-1.0, 1.0, 1.0]))


@thinned
@settings(max_examples=examples(15, 100), deadline=None)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(["boxes", "capsule"]), depth=st.floats(-0.2, 0.05))
def test_moved_exchanged_and_mirrored_pairs_have_the_same_points(seed, kind, depth):
    rng = np.random.default_rng(seed)
    shapes = [ss.Capsule(0.3, 1.0) if kind == "capsule" else ss.Box(rng.uniform(0.5, 2, 3)), ss.Box((1.0, 1.2, 0.8))]
    poses = [(np.zeros(3), turn(rng)), (rng.normal(size=3), turn(rng))]
    gap, normal = searched_distance(shapes, poses, rng, 3)
    poses[1] = (poses[1][0] + (depth - gap) * normal, poses[1][1])  # now they overlap by about `depth`
    margin = 0.02
    gaps, normals, points = contact_points(shapes, poses, margin)

    def same(found, turned, origin=0.0, sign=1.0):
        order, other = np.lexsort(np.round(points, 7).T), np.lexsort(np.round((found[2] + origin) @ turned, 7).T)
        assert len(found[0]) == len(gaps)
        assert np.allclose(np.sort(found[0]), np.sort(gaps), atol=1e-9)
        assert np.allclose(((found[2] + origin) @ turned)[other], points[order], atol=1e-6)
        assert np.allclose(sign * (found[1] @ turned)[other], normals[order], atol=1e-6)

    q = turn(rng)
    R = rotation_matrix(q)
    same(contact_points(shapes, [(R @ x + 0.7, quaternion_product(q, p)) for x, p in poses], margin), turned=R)
    same(contact_points(shapes[::-1], poses[::-1], margin), turned=np.eye(3), origin=poses[1][0], sign=-1.0)
    mirror = np.diag([-1.0, 1.0, 1.0])
    flipped = [(mirror @ x, np.array([p[0], p[1], -p[2], -p[3]])) for x, p in poses]
    copies = [shape if isinstance(shape, ss.Capsule) else mirrored(shape) for shape in shapes]
    same(contact_points(copies, flipped, margin), turned=mirror)


def planar_capsules(rng):
    """Two planar capsules; some nearly parallel."""
    shapes = [ss.Capsule(rng.uniform(0.05, 0.4), rng.uniform(0.2, 2.0)) for _ in range(2)]
    angle = rng.uniform(0, 2 * math.pi)
    near = angle + 10.0 ** rng.uniform(-12, -3)
    poses = [(rng.normal(size=2) * 0.05, angle), (rng.normal(size=2) * 0.15, near if rng.random() < 0.3 else -angle)]
    return shapes, poses


def test_planar_capsules_that_cross_are_as_deep_as_the_least_shift_and_pushed_in_the_plane():
    rng = np.random.default_rng(21)
    crossed = 0
    for _ in range(40):
        shapes, poses = planar_capsules(rng)
        gap, n = deepest(shapes, poses, dim=2)
        found, _ = searched_distance(shapes, poses, rng, 2)
        crossed += found < -shapes[0].radius - shapes[1].radius - 1e-3
        assert gap == pytest.approx(found, abs=1e-6)
        width = support(shapes[0], poses[0], n[None, :2])[0] + support(shapes[1], poses[1], -n[None, :2])[0]
        assert gap == pytest.approx(-width, abs=1e-6)  # nearly parallel ones, below 1e-6 rad, count as parallel
        assert n[2] == 0.0 and np.linalg.norm(n) == pytest.approx(1.0, abs=1e-12)
        assert deepest(shapes[::-1], poses[::-1], dim=2)[0] == pytest.approx(gap, abs=1e-9)
    assert crossed > 15


@pytest.mark.parametrize(
    ("second", "place", "depth"),
    [
        (ss.Capsule(0.1, 1.0), ((0.0, 0.0), 0.0), 0.3),  # on the same axis
        (ss.Capsule(0.1, 1.0), ((1.0, 0.0), 0.0), 0.3),  # end to end
        (ss.Capsule(0.1, 1.0), ((0.2, 0.5), 0.5 * math.pi), 0.3),  # an end on the axis
        (ss.Circle(0.1), ((0.3, 0.0), 0.0), 0.3),  # a centre on the axis
    ],
)
def test_planar_axes_that_meet_are_pushed_apart_in_the_plane(second, place, depth):
    for turned in (0.0, 0.7, 2.0):
        c, s = math.cos(turned), math.sin(turned)
        x = np.array([c * place[0][0] - s * place[0][1], s * place[0][0] + c * place[0][1]])
        gaps, normals, _ = contact_points(
            [ss.Capsule(0.2, 1.0), second], [(np.zeros(2), turned), (x, place[1] + turned)], dim=2
        )
        assert gaps == pytest.approx(-depth, abs=1e-12)
        assert np.all(normals[:, 2] == 0.0)
        along = normals @ (c, s, 0.0)
        assert np.abs(along) == pytest.approx(1.0 if place[0] == (1.0, 0.0) else 0.0, abs=1e-6)
        assert np.ptp(normals, axis=0) == pytest.approx(0.0, abs=1e-12)


def test_rounding_does_not_turn_the_normal_of_bars_that_cross_in_their_middles():
    rng = np.random.default_rng(2)
    shapes = [ss.Capsule(0.1, 1.0), ss.Capsule(0.1, 1.0)]
    normals = [
        deepest(shapes, [(np.zeros(2), 0.4), (1e-14 * rng.normal(size=2), 0.4 + 0.5 * math.pi)], dim=2)[1]
        for _ in range(12)
    ]
    assert np.ptp(normals, axis=0) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("height", [0.3, 1e-6, 1e-13, 0.0, -1e-6, -0.3])
def test_crossing_axes_in_space_part_along_their_common_normal(height):
    c, s = math.cos(0.3), math.sin(0.3)
    along_x, along_y = (c, 0.0, 0.0, s), (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0)
    first = (np.zeros(3), (1.0, 0.0, 0.0, 0.0))  # along z
    second = (np.array([height, 0.1, 0.2]), along_y)
    gap, n = deepest([ss.Capsule(0.2, 1.0), ss.Capsule(0.3, 1.0)], [first, second])
    assert gap == pytest.approx(abs(height) - 0.5, abs=1e-12)
    assert np.abs(n) == pytest.approx([1.0, 0.0, 0.0], abs=1e-12)
    if abs(height) > 1e-9:
        assert n[0] * height > 0.0
    # on one axis, and turned about it: two points, one normal across it
    gaps, normals, _ = contact_points([ss.Capsule(0.2, 1.0), ss.Capsule(0.3, 1.0)], [first, (np.zeros(3), along_x)])
    assert gaps == pytest.approx([-0.5, -0.5], abs=1e-12)
    assert normals[:, 2] == pytest.approx(0.0, abs=1e-12)
    assert np.array_equal(normals[0], normals[1])


def test_crossed_bars_are_refused_with_their_depth_or_moved_apart():
    scene = ss.Scene(dim=2, gravity=0.0)
    scene.add_body(ss.Capsule(0.01, 1.0), mass=1.0, name="first")
    scene.add_body(ss.Capsule(0.01, 1.0), mass=1.0, position=(0.1, 0.2), orientation=1.4, name="second")
    depth = 0.5 * math.sin(1.4) - 0.2 + 0.02  # the lower end of the second, below the first
    with pytest.raises(ValueError, match=f"'first' and 'second' overlap by {depth:.3g} m"):
        scene.simulate(dt=1e-3, t_end=0.002)
    run = scene.simulate(dt=1e-3, t_end=0.002, overlap="resolve")
    assert run.q[0, 4] - run.q[0, 1] - 0.5 * math.sin(1.4) == pytest.approx(0.02, abs=1e-6)


def test_what_is_far_above_a_half_space_has_no_corner_near_it():
    """Boxes that are left out by their spheres are beyond the widest margin; those near it are not left out."""
    rng, skipped = np.random.default_rng(3), 0
    for far in (0.0, 1e6):
        for _ in range(100):
            turns = rng.normal(size=(2, 4))
            turns /= np.linalg.norm(turns, axis=1)[:, None]
            normal, half = rotation_matrix(turns[1])[:, 2], rng.uniform(0.1, 1.0, 3)
            ground, margin = far * rng.normal(size=3), rng.uniform(0.0, 0.1)
            centre = ground + rng.uniform(0.0, 2.0) * normal
            geoms = SimpleNamespace(
                world=np.column_stack([[centre, ground], turns]), bound=np.array([np.linalg.norm(half), np.inf]),
                extent=np.zeros((2, 4)), measure=np.zeros((2, 3)),
            )  # fmt: skip
            signs = np.array(list(itertools.product((-1, 1), repeat=3)))
            least = ((signs * half) @ rotation_matrix(turns[0]).T @ normal).min() + (centre - ground) @ normal
            if far_above(geoms, 0, 1, margin):
                skipped += 1
                assert least > 1.25 * margin
            else:
                assert least < 1.25 * margin + np.linalg.norm(half) - half.min() + 1e-6
    assert 50 < skipped < 150
