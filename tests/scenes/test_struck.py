"""A spinning body that strikes the ground with a corner: momenta of the blow against closed forms, at any step size."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.scenes.shapes import quaternion_product, rotation_matrix

SIZE, MASS = np.array([0.5, 0.3, 0.2]), 2.0
UP = np.array([0.0, 0.0, 1.0])


def thrown_box(restitution, friction, dt):
    """A spinning box without weight that flies at the ground: the box, the run, and the step of its first impact."""
    scene = ss.Scene(gravity=0.0)
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=friction, restitution=restitution)
    q = np.array([0.8, 0.3, 0.4, 0.33])
    box = scene.add_body(
        ss.Box(SIZE), mass=MASS, position=(0, 0, 0.45), orientation=q / np.linalg.norm(q), velocity=(0.2, 0.1, -2.0),
        angular_velocity=(3, -2, 4), restitution=restitution,
    )  # fmt: skip
    run = scene.simulate(dt=dt, t_end=0.15)
    k = int(np.flatnonzero(np.abs(np.diff(run.u[:, 2])) > 1e-9)[0])
    return box, run, k


def spin_momentum(box, q, u):
    R = rotation_matrix(q[3:])
    return R @ box.inertia @ R.T @ u[3:]


def blow(box, run, k, dt):
    """Momenta before and after the step of the blow, and inertia, arm of the lowest corner and gap at its midpoint."""
    q, u, w = run.q[k], run.u[k], run.u[k, 3:]
    angle = 0.5 * dt * np.linalg.norm(w)
    turn = np.array([np.cos(0.5 * angle), *(np.sin(0.5 * angle) * w / np.linalg.norm(w))])
    R = rotation_matrix(quaternion_product(turn, q[3:]))
    corners = 0.5 * SIZE * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) @ R.T
    arm = corners[np.argmin(corners[:, 2])]
    gap = q[2] + 0.5 * dt * u[2] + arm[2]
    return spin_momentum(box, q, u), spin_momentum(box, run.q[k + 1], run.u[k + 1]), R @ box.inertia @ R.T, arm, gap


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("dt", [3e-3, 1e-3, 1e-4])
def test_momenta_after_a_blow_are_those_of_newtons_law(restitution, dt):
    # Lambda = (u^+ - u^-) / (1/m + (r x n).J^-1 (r x n)) at the midpoint, where the spin is J^-1 L
    box, run, k = thrown_box(restitution, 0.0, dt)
    before, after, J, arm, gap = blow(box, run, k, dt)
    lever = np.cross(arm, UP)
    approach = run.u[k, 2] + UP @ np.cross(np.linalg.solve(J, before), arm)
    wanted = max(-restitution * approach, -gap / dt)  # or the speed that brings it to the ground
    impulse = (wanted - approach) / (1.0 / MASS + lever @ np.linalg.solve(J, lever))
    assert impulse > 1.0
    assert np.abs(run.u[k + 1, :3] - run.u[k, :3] - impulse / MASS * UP).max() < 1e-13
    assert np.abs(after - before - impulse * lever).max() < 1e-14


@pytest.mark.parametrize("friction", [0.2, 5.0])
def test_angular_momentum_about_the_contact_point_is_kept(friction):
    for dt in (3e-3, 1e-4):
        box, run, k = thrown_box(0.3, friction, dt)
        before, after, _, arm, _ = blow(box, run, k, dt)
        change = MASS * (run.u[k + 1, :3] - run.u[k, :3])
        assert np.linalg.norm(change[:2]) > 0.1
        assert np.abs(after - before - np.cross(arm, change)).max() < 1e-13


def test_an_elastic_blow_keeps_the_energy_to_second_order():
    gains = []
    for dt in (2e-3, 1e-3, 5e-4):
        _, run, k = thrown_box(1.0, 0.0, dt)
        gains.append(abs(run.energy.total[k + 1] - run.energy.total[0]))
    assert gains[0] < 1e-4 and gains[2] < gains[0] / 8
