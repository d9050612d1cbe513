"""Lists of near pairs: the candidates of all pairs, and boxes that are apart, however the bodies have moved since."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.run.driver import march
from stickslip.run.records import Store
from stickslip.run.scene_simulate import prepare_run
from stickslip.scenes.collision import nearby
from stickslip.scenes.collision.broad_phase import candidate_pairs
from stickslip.scenes.collision.narrow_phase import WIDER, boxes_apart, look_apart
from stickslip.scenes.layout import HULL
from stickslip.scenes.parts import Solids


def heap(seed, count=12, spread=0.7):
    """An engine of boxes and balls that lie about at random above a plane."""
    rng = np.random.default_rng(seed)
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((0, 0, 1), offset=-1.0))
    for k in range(count):
        shape = ss.Sphere(0.1) if k % 4 == 3 else ss.Box(rng.uniform(0.05, 0.5, 3))
        q = rng.normal(size=4)
        scene.add_body(shape, mass=1.0, position=rng.uniform(-spread, spread, 3), orientation=q / np.linalg.norm(q))
    return prepare_run(scene, 1e-3, 1e-3, overlap="keep").engine


def shaken(rng, poses, size):
    """Poses that have moved and turned by about `size`."""
    new = poses + size * rng.normal(size=poses.shape) * np.r_[np.ones(3), 2.0 * np.ones(4)]
    new[:, 3:] /= np.linalg.norm(new[:, 3:], axis=1)[:, None]
    return new


@pytest.mark.parametrize("seed", [1])
def test_candidates_and_boxes_are_those_of_all_pairs(seed):
    engine, rng, slop = heap(seed), np.random.default_rng(seed), 1e-6
    search, bodies, geoms, shapes = engine.search(), engine.bodies, engine.geoms, engine.shapes
    solids, moving = Solids(bodies, geoms, shapes), np.flatnonzero(geoms.bound < np.inf)
    found, known, lists = np.zeros_like(search.candidates), 0, 0
    bodies.alive[:] = True
    for turn in range(60):
        size = 10.0 ** rng.uniform(-6.0, -2.0)
        geoms.world[moving] = shaken(rng, geoms.world[moving], size)
        bodies.mid[geoms.body[moving]] = geoms.world[moving]
        bodies.travel[:] = size * rng.uniform(size=len(bodies))
        before = search.near.world.copy()
        count = nearby.near_pairs(bodies, geoms, search, slop)
        lists += not np.array_equal(before, search.near.world)
        assert count == candidate_pairs(bodies, geoms, search, slop, 3, found)
        np.testing.assert_array_equal(search.candidates[:count], found[:count])
        for c in range(count):
            i, j = found[c]
            if geoms.kind[j] != HULL:
                continue
            margin = WIDER * rng.uniform(0.5, 1.5) * size
            p, q = geoms.world[i], geoms.world[j]
            if nearby.known_apart(geoms, search.near, c, i, j, margin):
                known += 1
                assert boxes_apart(p, geoms.box[i], q, geoms.box[j], margin), (turn, i, j)
            elif nearby.is_open(search.near, c) and look_apart(solids, search, c, i, j, margin):
                assert boxes_apart(p, geoms.box[i], q, geoms.box[j], margin)
    assert lists < 50 and known > 20  # else the test has looked at nothing


@pytest.mark.parametrize("way, turn", [(0.02, 0.0), (0.0, 0.01), (0.012, 0.004)])
def test_boxes_that_come_closer_are_looked_at_again(way, turn):
    scene = ss.Scene(dim=3)
    for k in range(9):
        scene.add_body(ss.Box((1.0, 1.0, 1.0) if k else (1.0, 6.0, 1.0)), mass=1.0, position=(9.0 * k, 0, 0))
    engine = prepare_run(scene, 1e-3, 1e-3, overlap="keep").engine
    bodies, geoms, search = engine.bodies, engine.geoms, engine.search()
    bodies.alive[:], bodies.travel[:] = True, 0.0
    geoms.world[1, :3] = bodies.mid[geoms.body[1], :3] = 1.1, 3.0, 0.0  # beside the end of the long one, 0.1 m off
    solids = Solids(bodies, geoms, engine.shapes)
    assert nearby.near_pairs(bodies, geoms, search, 0.0) == 1
    i, j = search.candidates[0]
    assert look_apart(solids, search, 0, i, j, 0.05)
    assert nearby.known_apart(geoms, search.near, 0, i, j, 0.05)
    geoms.world[1, 0] -= way
    geoms.world[0, 3:] = np.cos(0.5 * turn), 0.0, 0.0, -np.sin(0.5 * turn)  # its end comes closer
    assert nearby.near_pairs(bodies, geoms, search, 0.0) == 1
    left = 0.1 - way - 3.5 * turn
    for margin in np.linspace(0.0, 0.1, 101):
        if nearby.known_apart(geoms, search.near, 0, i, j, margin):
            assert margin < left
            assert boxes_apart(geoms.world[i], geoms.box[i], geoms.world[j], geoms.box[j], margin)


def test_few_and_many_geometries_have_no_list():
    assert nearby.near_room(nearby.FEW).spare.size == 0
    assert nearby.near_room(nearby.ALL_PAIRS + 1).spare.size == 0
    assert nearby.near_room(nearby.FEW + 1).pairs.shape == (36, 2)


def test_a_march_has_the_bits_of_one_without_a_list():
    def marched(listed):
        run = prepare_run(heap(3, 10, 0.5).scene, 2e-3, 0.06, overlap="keep")
        if not listed:
            run.engine.near = nearby.near_room(0)

        store = Store(run)
        return store.finish(*march(run, store, lambda step: None), 0.0)

    one, other = marched(True), marched(False)
    np.testing.assert_array_equal(one.q, other.q)
    np.testing.assert_array_equal(one.u, other.u)
    assert one.certificate.max_lcp_size > 0
