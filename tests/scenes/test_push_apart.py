"""Piles do not sink in: depth by two computations, energy of the shifts, and rest that no shift touches."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.library import scenes
from stickslip.scenes.collision.overlaps import deepest_overlap, overlaps
from tests.scenes.collision.test_collision import turn


def bin_of(shape, count, wide, step, seed=3, friction=0.5):
    """Bodies over one another in a bin, `wide` of them along each side, `step` [m] apart."""
    rng = np.random.default_rng(seed)
    scene = ss.Scene()
    half = 0.5 * wide * step
    walls = [((0, 0, 1), 0.0), ((1, 0, 0), -half), ((-1, 0, 0), -half), ((0, 1, 0), -half), ((0, -1, 0), -half)]
    for normal, offset in walls:
        scene.add_static(ss.HalfSpace(normal, offset=offset), friction=friction)
    for k in range(count):
        a, b, c = k % wide, (k // wide) % wide, k // wide**2
        place = (-half + step * (a + 0.5), -half + step * (b + 0.5), 0.65 * step + 1.04 * step * c)
        scene.add_body(shape(rng), density=1000.0, position=place, orientation=turn(rng), friction=friction)
    return scene


def capsule(rng):
    return ss.Capsule(0.025, 0.07)


def box(rng):
    return ss.Box(rng.uniform(0.06, 0.1, 3))


def judge(scene, dt, t_end, records, deepest, gain=1e-9):
    run = scene.simulate(dt=dt, t_end=t_end, tol=1e-4)
    c, book = run.certificate, run.energy_book()
    assert run.complete and c.failed_steps == 0
    assert c.max_penetration < deepest
    truth = deepest_overlap(scene, run, records)
    assert 0.9 * truth <= c.max_penetration
    assert abs(book.projection) < 1e-3 * abs(book.contacts)  # of what the contacts took
    assert abs(book.unexplained) < 1e-9 * book.start
    assert run.energy.total.max() <= run.energy.total[0] * (1 + gain)  # steps are solved to 1e-4
    return run


@pytest.mark.parametrize("shape", [capsule, box])
def test_a_few_bodies_fall_over_one_another(shape):
    judge(bin_of(shape, 12, 2, 0.125 if shape is capsule else 0.16), 1e-3, 0.45, 4, 2e-4)


@pytest.mark.slow
@pytest.mark.parametrize("dt", [1e-3, 5e-4])
def test_a_hundred_and_fifty_capsules(dt):
    run = judge(bin_of(capsule, 150, 4, 0.125), dt, 0.8, 6, 2e-4)
    assert run.certificate.projections > 50


@pytest.mark.slow
@pytest.mark.parametrize("dt", [1e-3, 5e-4])
def test_a_hundred_and_fifty_capsules_to_eight_digits(dt):
    """Sweeps left islands of 400 contacts and more unsolved at this tolerance: runs stopped at 0.62 and 0.66 s."""
    run = bin_of(capsule, 150, 4, 0.125).simulate(dt=dt, t_end=0.8, tol=1e-8, every=20)
    assert run.complete and run.certificate.failed_steps == 0
    assert run.certificate.max_penetration < 2e-4


@pytest.mark.slow
def test_two_hundred_boxes():
    judge(bin_of(box, 200, 5, 0.18), 1e-3, 1.0, 4, 2e-4)


def wall_that_is_hit(rows, columns, speed, aside=0.0):
    """Bricks in a running bond, 1 mm apart along the rows, and a ball of 30 kg that flies into their middle."""
    size = np.array([0.2, 0.1, 0.08])
    scene = ss.Scene()
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.5)
    for row in range(rows):
        for column in range(columns):
            x = (column - 0.5 * (columns - 1)) * (size[0] + 1e-3) + (row % 2) * 0.5 * size[0]
            scene.add_body(ss.Box(size), density=1000.0, position=(x, 0, (row + 0.5) * size[2]), friction=0.5)
    ball = ss.Sphere(0.15)
    place = (aside, -0.3, max(0.16, 0.48 * rows * size[2]))
    scene.add_body(ball, mass=30.0, position=place, velocity=(0, speed, 0), friction=0.5)
    return scene


def test_bricks_that_are_hit_do_not_sink_into_their_neighbours():
    # struck bricks turn into neighbours, which are shifted into the next ones unless all of them are looked at
    judge(wall_that_is_hit(3, 6, 15.0), 1e-3, 0.03, 3, 2e-4)


@pytest.mark.slow
@pytest.mark.parametrize(("speed", "aside"), [(15.0, 0.0), (15.0, 0.05), (30.0, 0.02)])
def test_a_wall_of_a_hundred_bricks_is_hit(speed, aside):
    judge(wall_that_is_hit(10, 10, speed, aside), 1e-3, 0.6, 4, 2e-4, gain=1e-8)


def test_what_rests_is_not_touched():
    run = scenes.cube_stack(10).simulate(dt=1e-3, t_end=0.5, every=100)
    assert run.certificate.projections == 0 and run.certificate.projection_energy == 0.0
    assert np.abs(run.q - run.q[0]).max() < 1e-12


def test_nearly_parallel_capsules_are_held_at_their_ends():
    # one falls onto another that lies beneath it, turned by 0.01: the point of contact runs along it
    lying = np.array([np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0])
    scene = ss.Scene()
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.5)
    scene.add_driven(ss.Capsule(0.1, 1.0), position=(0, 0, 0.1), orientation=lying, velocity=(0, 0, 0))
    tilted = np.array([np.cos(0.25 * np.pi + 0.01), 0.0, np.sin(0.25 * np.pi + 0.01), 0.0])
    scene.add_body(ss.Capsule(0.1, 1.0), mass=1.0, position=(0, 0, 0.35), orientation=tilted, velocity=(0, 0, -3))
    run = scene.simulate(dt=2e-3, t_end=0.1)
    assert run.complete and len(run.impacts()) >= 2
    assert run.certificate.max_penetration < 2e-4
    assert max((pair.depth for k in range(len(run)) for pair in overlaps(scene, run, k)), default=0.0) < 2.2e-4


def test_overlaps_that_are_kept_are_not_pushed_apart():
    scene = ss.Scene(gravity=0.0)
    for x in (0.0, 0.15):
        scene.add_body(ss.Sphere(0.1), mass=1.0, position=(x, 0, 0))
    run = scene.simulate(dt=1e-3, t_end=0.05, overlap="keep")
    assert np.array_equal(run.q[-1], run.q[0]) and run.certificate.projections == 0
