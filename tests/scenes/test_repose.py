"""The angle of repose: of one grain between two others, and of heaps that a column falls into."""

import math

import numpy as np
import pytest

import stickslip as ss
from tests.thinned import FULL, thinned

G = 9.81


@pytest.mark.parametrize("rolling", [0.0, 2e-3])
def test_a_disc_leaves_its_pocket_at_the_angle_of_the_lattice_and_of_its_arm(rolling):
    """A disc on two fixed ones of its size: 30 degrees + atan(rho / r).

    At the limit it rests on the lower contact alone, whose normal is 30 degrees from that of the slope: the moment
    m g r sin(slope - 30) is that of the rolling resistance, rho m g cos(slope - 30).
    """
    r = 0.05
    for beyond in (-1e-3, 1e-3):
        slope = math.pi / 6 + math.atan(rolling / r) + beyond
        scene = ss.Scene(dim=2, gravity=(G * math.sin(slope), -G * math.cos(slope)))
        for x in (-r, r):
            scene.add_static(ss.Circle(r), position=(x, 0), friction=0.9)
        disc = scene.add_body(
            ss.Circle(r), mass=1.0, position=(0, math.sqrt(3) * r), friction=0.9, rolling=rolling or None
        )
        run = scene.simulate(dt=2e-3, t_end=0.5)
        moved = np.abs(disc.path(run)[-1] - disc.path(run)[0]).max()
        assert run.certificate.failed_steps == 0
        assert moved > 1e-3 if beyond > 0 else moved < 1e-12


def heap(friction, seed, columns=6):
    """A pile of ten layers, sixty pentagons of 40 to 50 mm collapses: the run, and the slope of the heap [degrees]."""
    rng, corners = np.random.default_rng(seed), 2 * np.pi * np.arange(5) / 5
    scene = ss.Scene(dim=2, gravity=G)
    scene.add_static(ss.HalfPlane((0, 1)), friction=friction)
    grains = []
    for i in range(columns):
        for j in range(10):
            shape = ss.Polygon(rng.uniform(0.04, 0.05) * np.stack([np.cos(corners), np.sin(corners)], axis=1))
            place = (0.102 * (i - 0.5 * (columns - 1)) + (0.03 if j % 2 else 0.0), 0.06 + 0.102 * j)
            turned = rng.uniform(0, 6)
            grains.append(scene.add_body(shape, density=1e3, position=place, orientation=turned, friction=friction))
    run = scene.simulate(dt=1e-3, t_end=2.0 if columns == 6 else 1.4, tol=1e-6, every=100)
    x, y = np.array([grain.path(run)[-1] for grain in grains]).T
    # a triangle of height h and half width w: mean height h / 3, mean distance from the middle w / 3
    return run, math.degrees(math.atan(y.mean() / np.abs(x - x.mean()).mean()))


def slopes(seed, columns=6):
    """Slopes of two heaps, with friction 0.3 and 0.6; whether one grain still rolls away is a matter of last digits."""
    found = []
    for friction in (0.3, 0.6):
        run, angle = heap(friction, seed, columns)
        assert run.complete and run.certificate.failed_steps == 0
        assert run.certificate.max_energy_gain < 1e-6 * run.energy.total[0]
        assert np.sum(np.abs(run.u[-1].reshape(-1, 3)).max(axis=1) < 1e-6) >= 8 * columns
        found.append(angle)
    return found


@thinned
def test_a_heap_rests_at_an_angle_that_grows_with_friction():
    smooth, rough = slopes(0) if FULL else slopes(0, columns=2)
    assert 11 < smooth < 24 and 16 < rough < 40 and smooth < rough


@pytest.mark.slow
def test_angles_of_repose_of_twelve_heaps():
    smooth, rough = np.mean([slopes(seed) for seed in range(6)], axis=0)
    assert abs(smooth - 16) < 1.5 and abs(rough - 23) < 3
