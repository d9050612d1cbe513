"""Poisson's law in two steps and Walton's law in scenes: independent numbers, mechanisms, closed forms."""

import re

import numpy as np
import pytest

import stickslip as ss
from stickslip.scenes.two_steps import impact_in_two_steps
from tests.scenes.test_impact_laws import ELLIPSOID

ROD = np.array([np.sin(np.radians(50)), np.cos(np.radians(50)), 0.0])


def two_steps(G, u, mu, e):
    found = np.zeros(3)
    assert impact_in_two_steps(np.ascontiguousarray(G, float).ravel(), np.array(u, float), mu, e, found)
    return found


def test_impulses_of_a_rod_and_an_ellipsoid():
    rod = two_steps(4 * np.eye(3) - 3 * np.outer(ROD, ROD), (-1, -0.6, 0.5), 0.4, 0.6)
    assert rod == pytest.approx([0.95756529, 0.37233040, -0.08697368], abs=1e-8)
    assert two_steps(ELLIPSOID, (-1, -0.2, 0.3), 0.15, 0.7) == pytest.approx(
        [1.52986215, -0.22327107, -0.04589792], abs=1e-8
    )


def test_both_steps_obey_their_laws():
    """Compression has no restitution; decompression e times its impulse or more; each has Coulomb's law at its end."""
    rng, found = np.random.default_rng(5), 0
    for _ in range(300):
        A = rng.normal(size=(3, 4))
        G, u = A @ A.T + 1e-2 * np.eye(3), rng.normal(size=3)
        u[0], mu, e, total = -abs(u[0]), rng.uniform(0, 0.8), rng.uniform(0, 1), np.zeros(3)
        if not impact_in_two_steps(G.ravel(), u, mu, e, total):
            continue
        first = two_steps(G, u, mu, 0.0)
        for Lambda, before in ((first, u), (total - first, u + G @ first)):
            after = before + G @ Lambda
            slip, size = after[1:], np.linalg.norm(Lambda[1:])
            assert size <= mu * Lambda[0] * (1 + 1e-9) + 1e-12 and after[0] >= -1e-9
            if np.linalg.norm(slip) > 1e-8:
                assert np.allclose(Lambda[1:], -mu * Lambda[0] * slip / np.linalg.norm(slip), atol=1e-7)
        assert total[0] - first[0] >= e * first[0] - 1e-9
        after = u + G @ total
        assert abs(total[0] - (1 + e) * first[0]) < 1e-9 or abs(after[0]) < 1e-8
        assert total @ (u + after) <= 1e-9  # one contact never gains energy
        found += 1
    assert found > 280


def rod_scene(friction):
    scene = ss.Scene(dim=2, gravity=0.0)
    scene.add_static(ss.HalfPlane((0, 1)), friction=friction, restitution=0.6)
    scene.add_body(
        ss.Capsule(0.05, 1.0),
        mass=1.0,
        position=(0, 0.56),
        orientation=0.7,
        velocity=(-0.3, -1.0),
        angular_velocity=0.4,
    )
    return scene


@pytest.mark.parametrize("friction", [0.1, 2.0])
def test_a_rod_is_struck_as_the_mechanism_is(friction):
    """The scene as a mechanism has the law in the code of mechanisms, a linear complementarity problem."""
    scene = rod_scene(friction)
    run = scene.simulate(dt=1e-4, t_end=0.4, law="poisson")
    judged = ss.as_mechanism(scene).simulate(dt=0.1, t_end=0.4, stepper=ss.EventDriven(), law="poisson")
    assert len(run.impacts()) == len(judged.impacts()) >= 1 and run.certificate.failed_steps == 0
    assert run.u[-1] == pytest.approx(judged.u[-1], abs=2e-3)
    newton = scene.simulate(dt=1e-4, t_end=0.4)
    assert friction == 0.1 or np.abs(newton.u[-1] - run.u[-1]).max() > 0.01


@pytest.mark.parametrize("dim", [2, 3])
def test_walton_is_newton_for_balls(dim):
    """u_T^+ = -eps_T u_T^- where it sticks, Coulomb's bound where it slips; both bodies of a pair are balls."""
    for v, mu in ((0.3, 0.5), (3.0, 0.1)):
        scene = ss.Scene(dim=dim, gravity=0.0)
        wall = ss.HalfPlane((0, 1)) if dim == 2 else ss.HalfSpace((0, 0, 1))
        scene.add_static(wall, friction=mu, restitution=0.8, restitution_tangential=0.4)
        shape, zero = ss.Circle(0.1) if dim == 2 else ss.Sphere(0.1), (0.0,) * (dim - 2)
        scene.add_body(shape, mass=2.0, position=(0.0, *zero, 0.1), velocity=(v, *zero, -1.0))
        walton, newton = (scene.simulate(dt=1e-3, t_end=5e-3, law=law) for law in ("walton", "newton"))
        assert walton.u[-1] == pytest.approx(newton.u[-1], abs=1e-12)
        spin, share = walton.u[-1, 2 if dim == 2 else 4], 3.0 if dim == 2 else 3.5
        slip = walton.u[-1, 0] + (0.1 if dim == 2 else -0.1) * spin
        assert slip == pytest.approx(-0.4 * v if v < 1 else v - share * mu * 1.8, abs=1e-12)


def test_refusals():
    scene = rod_scene(0.3)
    with pytest.raises(ValueError, match=re.escape("law 'walton' of a scene is for balls")) as told:
        scene.simulate(dt=1e-3, t_end=0.1, law="walton")
    assert "\n" not in str(told.value)
    with pytest.raises(ValueError, match="law of a scene must be 'newton', 'stronge', 'poisson'"):
        scene.simulate(dt=1e-3, t_end=0.1, law="stronge-lumped")
