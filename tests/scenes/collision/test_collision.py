"""Gaps, normals and depths of all pairs of shapes in space, judged by separating axes, and by coal if installed."""

import math

import numpy as np
import pytest

import stickslip as ss
from stickslip.library import scenes
from stickslip.scenes import flight
from stickslip.scenes import tables as tables
from stickslip.scenes.collision.broad_phase import partners_of
from stickslip.scenes.collision.narrow_phase import place_about
from stickslip.scenes.collision.pairs import PAIRS
from stickslip.scenes.shapes import rotation_matrix


def turn(rng):
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


def round_hull(rng, corners, scale=(1, 1, 1)):
    p = rng.normal(size=(corners, 3))
    return ss.ConvexHull(p / np.linalg.norm(p, axis=1)[:, None] * np.array(scale))


SHAPES = {
    "sphere": lambda rng: ss.Sphere(rng.uniform(0.3, 1.0)),
    "capsule": lambda rng: ss.Capsule(rng.uniform(0.1, 0.6), rng.uniform(0.2, 2.0)),
    "box": lambda rng: ss.Box(rng.uniform(0.3, 2.0, 3)),
    "hull": lambda rng: round_hull(rng, int(rng.integers(5, 40)), rng.uniform(0.4, 1.4, 3)),
    "half-space": lambda rng: ss.HalfSpace(tuple(rng.normal(size=3)), float(rng.uniform(-0.2, 0.2))),
}


def placed(shapes, poses, dim=3):
    """A scene of two shapes, its tables and its geometries at the midpoint."""
    scene = ss.Scene(dim=dim, gravity=0.0)
    centre, inertia = (np.zeros(2), 1.0) if dim == 2 else (np.zeros(3), (1, 1, 1))
    for shape, (x, q) in zip(shapes, poses, strict=True):
        if isinstance(shape, ss.HalfSpace):
            scene.add_static(shape)
        else:
            scene.add_body(shape, mass=1.0, inertia=inertia, centre_of_mass=centre, position=x, orientation=q)
    bodies = tables.body_table(scene)
    geoms, meshes = tables.geom_tables(scene, tables.material_tables(scene)[1])
    bodies.mid[:] = bodies.pose
    flight.place_geoms(bodies, geoms)
    return bodies, geoms, meshes


def contact_points(shapes, poses, margin=3.0, dim=3):
    """Gaps, normals from the first shape to the second, and points about the first one's position."""
    bodies, geoms, meshes = placed(shapes, poses, dim)
    room = tables.narrow_room(geoms)
    i, j = (0, 1) if geoms.kind[0] <= geoms.kind[1] else (1, 0)
    for row, number in enumerate((i, j)):
        place_about(bodies, geoms, number, geoms.body[0], room.pose[row])
    count = PAIRS[int(geoms.kind[i]), int(geoms.kind[j])](meshes, geoms, room, i, j, margin)
    sign = 1.0 if i == 0 else -1.0
    return room.gaps[:count].copy(), sign * room.normals[:count], room.points[:count].copy()


def deepest(shapes, poses, margin=3.0, dim=3):
    """Smallest gap and its normal from the first shape to the second; None where there is no point."""
    gaps, normals, _ = contact_points(shapes, poses, margin, dim)
    if len(gaps) == 0:
        return None
    k = int(np.argmin(gaps))
    return float(gaps[k]), normals[k]


def by_separating_axes(shapes, poses):
    """Largest separation of two polyhedra over all face normals and all products of edges: minus the depth inside."""
    corners, normals, edges = [], [], []
    for shape, (x, q) in zip(shapes, poses, strict=True):
        (piece,) = shape.pieces(3)
        R, mesh = rotation_matrix(q), piece.mesh
        corners.append((mesh.vertices + piece.offset) @ R.T + x)
        normals.append(mesh.normals @ R.T)
        sides = {tuple(sorted(s)) for loop in mesh.loops for s in zip(loop, loop[1:] + loop[:1], strict=True)}
        edges.append(np.array([mesh.vertices[q] - mesh.vertices[p] for p, q in sides]) @ R.T)
    products = np.cross(edges[0][:, None], edges[1][None]).reshape(-1, 3)
    sizes = np.linalg.norm(products, axis=1)
    crossing = products[sizes > 1e-9] / sizes[sizes > 1e-9][:, None]
    axes = np.concatenate([normals[0], -normals[1], crossing, -crossing])
    return float(((corners[1] @ axes.T).min(axis=0) - (corners[0] @ axes.T).max(axis=0)).max())


def two(rng, first, second):
    shapes = [SHAPES[first](rng), SHAPES[second](rng)]
    here, there = (np.zeros(3), turn(rng)), (rng.normal(size=3) * rng.uniform(0.2, 0.9), turn(rng))
    if second == "half-space":
        here, there = there, (np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
    return shapes, [here, there]


def test_polyhedra_overlap_by_the_least_depth():
    rng = np.random.default_rng(3)
    checked = 0
    for _ in range(60):
        first, second = rng.choice(["box", "hull"], 2)
        shapes, poses = two(rng, first, second)
        exact = by_separating_axes(shapes, poses)
        if exact < 0.0:
            checked += 1
            assert deepest(shapes, poses)[0] == pytest.approx(exact, abs=1e-12)
    assert checked > 30


def width_along(shapes, poses, n):
    """max of n.x over the first polyhedron less its min over the second."""
    (first,), (second,) = shapes[0].pieces(3), shapes[1].pieces(3)
    A = (first.mesh.vertices + first.offset) @ rotation_matrix(poses[0][1]).T + poses[0][0]
    B = (second.mesh.vertices + second.offset) @ rotation_matrix(poses[1][1]).T + poses[1][0]
    return float((A @ n).max() - (B @ n).min())


def test_polyhedra_that_share_their_middle_part_against_the_line_of_their_centres_where_that_is_shorter():
    rng = np.random.default_rng(8)
    against = 0
    for _ in range(80):
        shapes = [SHAPES[kind](rng) for kind in rng.choice(["box", "hull"], 2)]
        poses = [(np.zeros(3), turn(rng)), (0.03 * rng.normal(size=3), turn(rng))]
        gap, n = deepest(shapes, poses)
        against += poses[1][0] @ n < 0.0
        assert gap == pytest.approx(by_separating_axes(shapes, poses), abs=1e-12)
        assert gap == pytest.approx(-width_along(shapes, poses, n), abs=1e-12)  # the deepest corner is there
    assert against > 5


def test_hulls_of_many_corners_have_room_and_touch_where_they_must():
    rng = np.random.default_rng(5)
    hulls = [round_hull(rng, 600), round_hull(rng, 900)]
    with pytest.raises(ValueError, match="at most 1000 corners, got 1100"):
        round_hull(rng, 1100)
    for distance in (1.8, 1.98, 1.999):
        poses = [(np.zeros(3), turn(rng)), (np.array([distance, 0.0, 0.0]), turn(rng))]
        gap, normal = deepest(hulls, poses)
        assert gap == pytest.approx(distance - 2.0, abs=0.02)  # two unit balls, but for the facets
        assert normal[0] > 0.99


@pytest.mark.parametrize(("first", "second"), [(a, b) for k, a in enumerate(SHAPES) for b in list(SHAPES)[k:]][:-1])
def test_distances_as_coal_has_them(first, second):
    coal = pytest.importorskip("coal", reason="coal (stickslip[collision]) is not installed")
    from stickslip.scenes.collision.judge import signed_distance

    assert coal.__version__
    rng = np.random.default_rng(7)
    flat = {first, second} <= {"box", "hull"}
    for _ in range(40):
        shapes, poses = two(rng, first, second)
        exact, axis = signed_distance(*shapes, poses)
        found = deepest(shapes, poses)
        if exact > 0.0 and flat:  # corner beside corner: separating axes bound the distance from below
            assert by_separating_axes(shapes, poses) <= exact + 1e-6
            continue
        assert found[0] == pytest.approx(exact, abs=1e-6)
        if abs(found[0] - exact) < 1e-9 and exact != 0.0:
            assert found[1] @ axis > 1 - 1e-6


def test_a_scene_is_judged_pair_by_pair():
    pytest.importorskip("coal", reason="coal (stickslip[collision]) is not installed")
    from stickslip.scenes.collision.judge import judge_gaps

    scene = scenes.cube_stack(3)
    run = scene.simulate(dt=1e-3, t_end=0.01)
    judged = judge_gaps(scene, run)
    pairs = {frozenset((row.first, row.second)) for row in judged}
    assert pairs == {frozenset(pair) for pair in (("floor", "cube1"), ("cube1", "cube2"), ("cube2", "cube3"))}
    assert all(row.gap == pytest.approx(row.distance, abs=1e-9) for row in judged)
    with pytest.raises(ValueError, match="one of space"):
        judge_gaps(scenes.arch())


@pytest.mark.parametrize("tilt", [0.02, 0.05])
def test_an_edge_across_a_face_touches_it_at_both_ends(tilt):
    # a rod on its edge, longer than the block it falls on: its second end sank in by 0.2 to 0.4 mm before it was seen
    scene = ss.Scene(dim=3)
    scene.add_static(ss.Box((0.3, 0.3, 0.1)), position=(0, 0, -0.05), friction=0.4)
    c, s, d, e = math.cos(math.pi / 8), math.sin(math.pi / 8), math.cos(0.5 * tilt), math.sin(0.5 * tilt)
    scene.add_body(
        ss.Box((1, 0.1, 0.1)), mass=1.0, position=(0.05, 0, 0.1), orientation=(c * d, s * d, c * e, -s * e),
        velocity=(0, 0, -1), friction=0.4,
    )  # fmt: skip
    run = scene.simulate(dt=1e-3, t_end=0.15)
    assert run.complete and len(run.impacts()) > 0 and run.certificate.max_penetration < 1e-9


def test_bits_tell_which_geometries_may_touch():
    owners, holders = np.array([0, 1, 1, 2, 3]), np.array([0, 4, 4, 4, 3])
    found = partners_of(owners, holders, {(0, 1), (2, 3)})
    expected = {(0, 3), (0, 4), (1, 4), (2, 4)}
    assert {(i, j) for i in range(5) for j in range(i + 1, 5) if (int(found[i]) >> j) & 1} == expected
    assert all((int(found[i]) >> j) & 1 == (int(found[j]) >> i) & 1 for i in range(5) for j in range(5))
    assert partners_of(np.arange(41), np.arange(41), set()).size == 0
