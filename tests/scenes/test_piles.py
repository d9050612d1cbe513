"""Many contacts at once: sweeps on body velocities, and the scenes that need them."""

import numpy as np
import pytest

from stickslip.library import scenes


def poured(spheres, t_end, **options):
    scene = scenes.poured_spheres(spheres)
    return scene, scene.simulate(dt=1e-3, t_end=t_end, tol=1e-4, every=10, **options)


def check_pile(scene, run, layers):
    """Solved in every step, inside the box, no energy from nowhere, hardly any overlap."""
    assert run.complete and run.certificate.failed_steps == 0
    assert run.certificate.max_residual <= 1e-4
    assert run.certificate.max_penetration < 0.05 * 0.01
    assert np.all(np.diff(run.energy.total) < 1e-6 * np.ptp(run.energy.potential))
    x = run.q[-1].reshape(-1, 7)[:, :3]
    width = -scene.bodies[3].shape.offset
    assert x[:, 2].min() > 0.0099 and x[:, :2].min() > 0.0099 and x[:, :2].max() < width - 0.0099
    assert x[:, 2].max() < layers * 0.022


def test_a_few_hundred_spheres_fill_a_box():
    scene, run = poured(250, 0.2)
    check_pile(scene, run, 10)


@pytest.mark.slow
def test_five_thousand_spheres_fill_a_box():
    scene, run = poured(5000, 0.5, threads=2)
    check_pile(scene, run, 27)
    assert run.energy.kinetic[-1] < 1e-2 * run.energy.kinetic.max()


@pytest.mark.slow
def test_threads_change_nothing_in_a_pile():
    one, two = (poured(400, 0.15, threads=threads)[1] for threads in (1, 2))
    assert np.array_equal(one.q, two.q) and np.array_equal(one.u, two.u)
    assert one.certificate == two.certificate


@pytest.mark.slow
def test_a_high_column_spreads_far():
    scene = scenes.granular_column(grains=400, columns=10)
    run = scene.simulate(dt=1e-3, t_end=1.0, every=20, tol=1e-5)
    x = run.q.reshape(len(run), 400, 3)
    assert run.certificate.failed_steps == 0
    assert np.ptp(x[-1, :, 0]) > 3.0 * np.ptp(x[0, :, 0])
    assert x[-1, :, 1].max() < 0.5 * x[0, :, 1].max()
    assert np.all(np.diff(run.energy.total) < 1e-9)
