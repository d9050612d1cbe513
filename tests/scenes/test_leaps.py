"""A blow that turns a body far faster than anything came: limits and ropes hold it in that very step."""

import numpy as np
import pytest

import stickslip as ss
from tests.elsewhere import EVERYWHERE

V, L, H = 1.0, 1.0, 0.02  # speed of the fall [m/s], length and height of rods of 1 kg [m]
BELOW = 0.3e-3  # from a rod down to the support under it [m]
OFF = 0.1  # from the end of a rod to the support under it [m]


def rod(scene, x, inertia):
    """A rod that falls flat, without weight."""
    corners = [(-L / 2, -H / 2), (L / 2, -H / 2), (L / 2, H / 2), (-L / 2, H / 2)]
    return scene.add_body(
        ss.Polygon(corners), mass=1.0, inertia=inertia, position=(x, 0.0), velocity=(0.0, -V), restitution=0.7,
        friction=0.0,
    )  # fmt: skip


def support(scene, x):
    """Something round that a rod strikes in its first step."""
    scene.add_static(ss.Circle(0.05), position=(x, -0.05 - H / 2 - BELOW))


def after(M, u, rows, floors):
    """Velocities after a blow at which the rows have the velocities `floors`."""
    W = np.atleast_2d(rows)
    G = np.linalg.solve(M, W.T)
    return u + G @ np.linalg.solve(W @ G, np.asarray(floors) - W @ u)


@EVERYWHERE
@pytest.mark.parametrize("limit", [1e-4, 2e-3, 3e-3, 4e-3])
def test_a_blow_does_not_send_a_hinge_past_its_limit(limit, place):
    """Two rods with a hinge between them; one strikes with e = 0.7 near its end, and the hinge bends at 3.05 rad/s.

    The limit is reached in this step where that is less than 3.05 mrad away (2 and 3 mrad were leapt over: 2 v dt are
    2 mm), and its blow, without a rebound, comes in the next one.  Velocities of the hinge, and of both turns; the rods
    have bent by the limit then, which is seen in the fifth digit.
    """
    scene, dt = ss.Scene(dim=2, gravity=0.0), 1e-3
    support(scene, OFF)
    first, second = rod(scene, L / 2, L * L / 12), rod(scene, 3 * L / 2, L * L / 12)
    scene.add_revolute(first, second, at=(L, 0.0), limits=(-limit, limit))
    run = place.simulate(scene, dt=dt, t_end=0.02)
    M = np.array([[2.0, -L / 2, L / 2], [-L / 2, L * L / 3, 0.0], [L / 2, 0.0, L * L / 3]])
    u, strike, bend = np.array([-V, 0.0, 0.0]), np.array([1.0, OFF - L, 0.0]), np.array([0.0, -1.0, 1.0])
    u_1 = after(M, u, strike, 0.7 * V)
    assert abs(bend @ u_1) == pytest.approx(3.05047, abs=1e-5)
    if abs(bend @ u_1) * dt > limit:
        side = np.sign(bend @ u_1)
        u_1 = after(M, u, [strike, side * bend], [0.7 * V, limit / dt])
        u_1 = after(M, u_1, bend, 0.0)
        assert [first.spin(run)[-1], second.spin(run)[-1]] == pytest.approx(u_1[1:], abs=1e-4)
    angle = np.abs(second.turning(run) - first.turning(run))
    assert angle.max() == pytest.approx(limit, abs=1e-12) and angle.max() - angle[-1] < 1e-5
    assert run.certificate.failed_steps == 0 and run.certificate.max_joint_error < 1e-5


@EVERYWHERE
@pytest.mark.parametrize("dim", [2, 3])
def test_a_blow_does_not_send_an_end_past_its_rope(dim, place):
    """A rod of small inertia, struck 0.1 m from its middle: its end rises at 4.1 m/s, with a rope of 3 mm slack."""
    slack, dt, J = 3e-3, 1e-3, 0.01
    scene = ss.Scene(dim=dim, gravity=0.0)
    flat = np.eye(3)[[0, 2]] if dim == 3 else np.eye(2)  # the plane of the motion

    def at(x, y):
        return np.array([x, y]) @ flat

    if dim == 2:
        bar = rod(scene, 0.0, J)
        support(scene, 0.1)
    else:
        bar = scene.add_body(
            ss.Box((L, 0.1, H)), mass=1.0, inertia=(J, J, J), position=(0, 0, 0), velocity=(0, 0, -V), restitution=0.7
        )
        scene.add_static(ss.Sphere(0.05), position=(0.1, 0, -0.05 - H / 2 - BELOW), friction=0.0)
    scene.add_rope(None, bar, at(L / 2, -1.0), at(L / 2, 0.0), length=1.0 + slack)
    run = place.simulate(scene, dt=dt, t_end=4e-3)
    # velocities of the middle and the turn, counted towards the struck side; the blow, the rope in its step, the jerk
    M, u, strike, end = np.diag([1.0, J]), np.array([-V, 0.0]), np.array([1.0, 0.1]), np.array([1.0, L / 2])
    assert end @ after(M, u, strike, 0.7 * V) > slack / dt
    # the first midpoint is where the rod meets its support
    u_1 = after(M, u, [strike, end], [0.7 * V, (slack + BELOW) / dt])
    u_2 = after(M, u_1, end, 0.0)
    point = bar.path(run) @ flat.T
    assert (point[2, 1] - point[1, 1]) / dt == pytest.approx((u_1[0] + u_2[0]) / 2, abs=1e-4)
    spin = bar.spin(run)[-1] if dim == 2 else -bar.spin(run)[-1, 1]
    assert spin == pytest.approx(u_2[1], abs=5e-4)  # it has turned by 7 mrad
    assert run.certificate.failed_steps == 0 and run.certificate.max_joint_error < 1e-4
