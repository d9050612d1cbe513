"""Heaps of balls and discs whose contacts resist rolling: every step is solved, heaps rest and are steeper."""

import math

import numpy as np
import pytest

import stickslip as ss


def poured(grains, dim, rolling, seed=0):
    """Layers of ten discs, or sixteen balls, of radii from 45 to 50 mm fall on a floor; friction 0.5."""
    rng, scene = np.random.default_rng(seed), ss.Scene(dim=dim)
    floor, ball = (ss.HalfPlane((0, 1)), ss.Circle) if dim == 2 else (ss.HalfSpace((0, 0, 1)), ss.Sphere)
    scene.add_static(floor, friction=0.5, rolling=rolling)
    for i in range(grains):
        r = rng.uniform(0.045, 0.05)
        if dim == 3:
            k, j = divmod(i, 16)
            shift = 0.003 * rng.normal(), 0.003 * rng.normal()
            place = (0.115 * (j % 4 - 1.5) + shift[0], 0.115 * (j // 4 - 1.5) + shift[1], 0.06 + 0.12 * k)
        else:
            k, j = divmod(i, 10)
            place = (0.115 * (j - 4.5) + 0.002 * rng.normal() + 0.03 * (k % 2), 0.06 + 0.115 * k)
        scene.add_body(ball(r), density=1000.0, position=place, friction=0.5, rolling=rolling)
    return scene


def slope(run, grains, dim):
    """Of a heap, from mean height and mean distance from its middle [degrees]."""
    q = run.q[-1].reshape(grains, -1)
    away = np.linalg.norm(q[:, : dim - 1] - q[:, : dim - 1].mean(axis=0), axis=1).mean()
    return math.degrees(math.atan(q[:, dim - 1].mean() / away))


def solved(grains, dim, rolling, tol, t_end, seed=0):
    run = poured(grains, dim, rolling, seed).simulate(dt=1e-3, t_end=t_end, tol=tol, every=50)
    assert run.complete and run.certificate.failed_steps == 0, run.status
    assert run.certificate.max_energy_gain < 1e-5 * run.energy.total[0]
    return run


@pytest.mark.parametrize(("seed", "dt"), [(8, 1e-3), (14, 5e-3), (20, 1e-3), (24, 5e-3), (25, 1e-3), (25, 5e-3)])
def test_a_ball_falls_on_a_ball(seed, dt):
    """Sweeps with momentum alone left one or two steps of each of these motions unsolved."""
    rng, scene, surface = np.random.default_rng(seed), ss.Scene(dim=3), {"friction": 0.5, "rolling": 0.01}
    scene.add_static(ss.HalfSpace((0, 0, 1)), **surface)
    for k in range(2):
        mass, (x, y) = float(10 ** rng.uniform(-0.5, 0.5)), rng.uniform(-0.02, 0.02, 2)
        scene.add_body(ss.Sphere(0.12), mass=mass, position=(x, y, 0.121 + 0.245 * k), velocity=(0, 0, -2.0), **surface)
    run = scene.simulate(dt=dt, t_end=0.4)
    assert run.complete and run.certificate.failed_steps == 0, run.status


@pytest.mark.parametrize(("discs", "t_end"), [(20, 0.25), pytest.param(60, 0.45, marks=pytest.mark.slow)])
def test_discs_fall_on_a_heap(discs, t_end):
    """Of sixty, sweeps of normal, slip and rolling in turn did not settle at 0.43 s."""
    solved(discs, 2, 1e-3, 1e-6, t_end)


@pytest.mark.slow
@pytest.mark.parametrize(("dim", "tol"), [(2, 1e-4), (2, 1e-6), (3, 1e-4), (3, 1e-6)])
def test_two_hundred_grains_that_resist_rolling(dim, tol):
    solved(200, dim, 2e-3, tol, 0.8)


@pytest.mark.slow
def test_rolling_resistance_makes_heaps_steeper():
    """Discs that roll freely run apart; an arm of a fifth of the radius holds a heap of them."""
    flat, steep = (slope(solved(100, 2, rolling, 1e-4, 1.5), 100, 2) for rolling in (None, 1e-2))
    assert flat < 12 and steep > flat + 4
