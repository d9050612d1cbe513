"""Newton's law at several points at once: no energy is gained with one coefficient and no friction."""

import numpy as np
import pytest

import stickslip as ss
from tests.thinned import examples, thinned

CORNERS = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]


def thrown(seed, dim, friction=0.0):
    """Two to five bodies, masses up to 1e6 apart, thrown at the ground and at one another; the coefficient, too."""
    rng = np.random.default_rng(seed)
    law = {"friction": friction, "restitution": float(rng.choice([0.0, 0.3, 0.8, 1.0]))}
    scene = ss.Scene(dim=dim, gravity=float(rng.choice([0.0, 9.81])))
    scene.add_static((ss.HalfPlane if dim == 2 else ss.HalfSpace)((*[0.0] * (dim - 1), 1.0)), **law)
    for i in range(int(rng.integers(2, 6))):
        half = rng.uniform(0.05, 0.4, dim)
        if rng.random() < 0.4:
            shape = ss.Circle(half[0]) if dim == 2 else ss.Sphere(half[0])
        elif rng.random() < 0.3:
            shape = ss.Capsule(0.05, half[0])
        else:
            shape = ss.Polygon([tuple(half * c) for c in CORNERS]) if dim == 2 else ss.Box(tuple(2.0 * half))
        turn = float(rng.uniform(-3.0, 3.0)) if dim == 2 else rng.normal(size=4)
        spin = float(rng.uniform(-10.0, 10.0)) if dim == 2 else tuple(rng.uniform(-10.0, 10.0, 3))
        velocity = rng.uniform(-3.0, 3.0, dim)
        velocity[-1] -= 2.0
        scene.add_body(
            shape, mass=float(10.0 ** rng.uniform(-3.0, 3.0)), velocity=tuple(velocity), angular_velocity=spin,
            position=(*rng.uniform(-0.6, 0.6, dim - 1), 1.0 + 1.1 * i),
            orientation=turn if dim == 2 else tuple(turn / np.linalg.norm(turn)), **law,
        )  # fmt: skip
    return scene


def fastest_path(scene, run):
    """Farthest that a point of a body goes in a step [m]."""
    dim = scene.dim
    u = run.u.reshape(len(run.u), -1, 3 if dim == 2 else 6)
    reach = 0.8  # of the largest shape, from its centre
    return run.dt * (np.linalg.norm(u[..., :dim], axis=2) + reach * np.linalg.norm(u[..., dim:], axis=2)).max()


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("seeds", [range(15), pytest.param(range(15, 1015), marks=pytest.mark.slow)], ids=str)
def test_bodies_without_friction_gain_no_energy(seeds, dim):
    """What is left is gravity within a step, at a contact that opens by less than gravity closes it."""
    for seed in seeds:
        scene = thrown(seed, dim)
        run = scene.simulate(dt=1e-3, t_end=0.8)
        assert run.complete, (seed, run.status)
        assert run.certificate.max_energy_gain < 1e-5 * run.energy.kinetic.max(), seed
        # Light bodies between heavy ones reach 100 m/s: what an impact has just sent on sinks in by less than its path.
        assert run.certificate.max_penetration < max(1e-3, fastest_path(scene, run)), seed


def test_what_meets_again_a_step_after_a_blow_is_struck_again():
    """A capsule of 0.75 kg spins at 66 to 82 rad/s under a ball of 291 kg: its side was held to it and pushed it up.

    It has left at 0.6 m/s in the step before, and comes at 1.0 m/s. Held, it left at 1.4 m/s, and 0.25 J were gained.
    """
    run = thrown(486, 2).simulate(dt=1e-3, t_end=0.7)
    assert run.certificate.max_energy_gain < 1e-10 * run.energy.kinetic.max()


@pytest.mark.parametrize("place", [0.0, 0.2, 0.45])
def test_the_corner_that_opens_is_not_held_while_the_other_one_bounces(place):
    """A bar on the ground turns about its middle, so that one corner strikes and one leaves; a heavy ball strikes it.

    With the corner that leaves held to the ground, the bar and the ball gain 14 to 71 % of their energy.
    """
    scene, law = ss.Scene(dim=2, gravity=0.0), {"friction": 0.0, "restitution": 0.8}
    scene.add_static(ss.HalfPlane((0.0, 1.0)), **law)
    bar = ss.Polygon([(-0.5, 0.0), (0.5, 0.0), (0.5, 0.1), (-0.5, 0.1)])
    scene.add_body(bar, mass=1.0, position=(0.0, 0.05), angular_velocity=4.0, **law)
    scene.add_body(ss.Circle(0.1), mass=100.0, position=(place, 0.2), velocity=(0.0, -3.0), **law)
    run = scene.simulate(dt=1e-4, t_end=0.01)
    assert run.complete and len(run.impacts()) >= 2
    assert run.certificate.max_energy_gain < 1e-12 * run.energy.kinetic[0]


def corner_in_a_corner(seed):
    """A triangle whose corner lies in a corner of the room, mu = 1, and turns slowly: no slips at the end fit."""
    rng = np.random.default_rng(seed)
    scene, law = ss.Scene(dim=2), {"friction": 1.0, "restitution": 0.5}
    scene.add_static(ss.HalfPlane((0.0, 1.0)), **law)
    scene.add_static(ss.HalfPlane((1.0, 0.0)), **law)
    angle = float(rng.uniform(0.1, 0.45))
    points = np.array([(-0.04, -0.03), (0.04, -0.03), (0.0, 0.04)])
    points -= points.mean(axis=0)  # positions are those of the centre of mass
    turned = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) @ points[0]
    shape = ss.Polygon(points)
    spin = float(rng.uniform(-1.0, 1.0))
    velocity = (spin * turned[1], -spin * turned[0])  # the corner rests
    scene.add_body(
        shape, mass=1.0, position=tuple(-turned), orientation=angle, velocity=velocity, angular_velocity=spin, **law
    )
    return scene


@thinned
def test_a_corner_in_a_corner_of_the_room():
    """The slip along one wall is the normal velocity at the other; half a step of turning is added to slips alone."""
    for seed in range(examples(4, 12)):
        run = corner_in_a_corner(seed).simulate(dt=1e-3, t_end=0.2)
        assert run.complete and run.certificate.failed_steps == 0, (seed, run.status)
        assert run.certificate.max_penetration < 2e-4
