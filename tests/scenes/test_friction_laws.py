"""Friction laws of the bodies of a scene, against closed forms."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.scenes.friction import SlidingSceneEngine
from stickslip.trajectory import STICK
from tests.elsewhere import EVERYWHERE, HOME, SLOWLY


def pulled_box(law, pull, velocity=0.0, *, other=None, dt=0.01, t_end=0.3, dim=2, place=HOME):
    """A box of 1 kg with N = 10 N on a floor, pulled along it at the height of its feet, so that it does not tip."""
    scene = ss.Scene(dim=dim, gravity=10.0)
    scene.add_static(ss.HalfPlane((0, 1)), friction=law)
    corners = [(-0.5, -0.1), (0.5, -0.1), (0.5, 0.1), (-0.5, 0.1)]
    box = scene.add_body(
        ss.Polygon(corners),
        mass=1.0,
        position=(0, 0.1),
        velocity=(velocity, 0),
        friction=law if other is None else other,
    )
    scene.add_force(box, force=(pull, 0))
    return place.simulate(scene, dt=dt, t_end=t_end)


@EVERYWHERE
def test_two_coefficients_and_history(place):
    """4 N pull, bounds 5 and 3 N: rest stays, motion goes on; 5.5 N lets it go."""
    law = ss.TwoCoefficient(0.5, 0.3)
    rests = pulled_box(law, 4.0, place=place)
    assert np.abs(rests.u).max() < 1e-12 + place.rounding(rests) and (rests.contact_state[1:] == STICK).all()
    for pull, velocity in ((4.0, 1e-3), (5.5, 0.0)):
        moves = pulled_box(law, pull, velocity, place=place)
        away = 10 * place.rounding(moves)
        np.testing.assert_allclose(moves.u[:, 0], velocity + (pull - 3.0) * moves.t, atol=1e-9 + away)
        assert moves.certificate.failed_steps == 0 and moves.certificate.friction_rounds <= 2


@EVERYWHERE
def test_a_slide_that_stops_is_held_by_the_static_coefficient(place):
    """Thrown with 0.1 m/s against no pull it stops after 1/30 s; the flag goes with the contact points."""
    motion = pulled_box(ss.TwoCoefficient(0.5, 0.3), 0.0, 0.1, place=place)
    assert np.abs(motion.u[4:]).max() < 1e-12 + place.rounding(motion) and motion.q[-1, 0] == pytest.approx(
        0.1**2 / 6, abs=1e-3
    )


@EVERYWHERE
def test_stribeck_is_implicit_in_the_end_velocity(place):
    """u_E = u_A + dt (F - N mu(u_E)) in every step; with constant friction of the other body: the mean."""
    law = ss.Stribeck(0.5, 0.3, velocity=0.2)
    for other, share in ((None, 1.0), (0.5, 0.5)):
        motion = pulled_box(law, 5.01, 1e-3, other=other, place=place)
        u = motion.u[:, 0]
        mu = 0.5 * (law(u[1:]) / 0.5) ** share
        np.testing.assert_allclose(np.diff(u), 0.01 * (5.01 - 10.0 * mu), atol=1e-8 + 10 * place.rounding(motion))
        assert motion.certificate.friction_contraction > 0.0 and motion.certificate.friction_rounds >= 2


def test_a_checkpoint_keeps_the_flags():
    """Which points stick goes into the snapshot of the engine and comes back."""
    scene = ss.Scene(dim=2)
    scene.add_static(ss.HalfPlane((0, 1)), friction=ss.TwoCoefficient(0.5, 0.3))
    scene.add_body(ss.Circle(0.1), mass=1.0, position=(0, 0.1))
    engines = [SlidingSceneEngine(scene, 0.01, 0.5, False, True, 1e-10, 0, False, 1) for _ in range(2)]
    engines[0].flags = {(0, 1): [(np.array([0.1, 0.2, 0.0]), True), (np.array([0.3, 0.2, 0.0]), False)]}
    for before, after in (engines, engines[::-1]):
        after.restore(before.snapshot())
        (pair, points), *others = after.flags.items()
        assert pair == (0, 1) and not others and [sticks for _, sticks in points] == [True, False]
        np.testing.assert_array_equal([place for place, _ in points], [[0.1, 0.2, 0.0], [0.3, 0.2, 0.0]])
    engines[0].flags = None
    engines[1].restore(engines[0].snapshot())
    assert engines[1].flags is None


def test_laws_that_are_numbers():
    scene = ss.Scene(dim=3)
    ball = scene.add_body(ss.Sphere(0.1), mass=1.0, friction=ss.Elliptic(0.5, 0.2))
    assert ball.material.friction == (0.5, 0.2)
    assert scene.add_body(ss.Sphere(0.1), mass=1.0, friction=ss.Coulomb(0.3)).material.friction == 0.3


@pytest.mark.parametrize(
    "law, dim, words",
    [
        (ss.Elliptic(0.5, 0.2), 2, "in the plane must not be Elliptic: there is one direction of slip"),
        (ss.LoadIndependent(1.0), 3, "must depend on the load"),
        (ss.TwoCoefficient("a", "b"), 3, "has parameters without values: only a system knows them"),
        (ss.FrictionCurve(lambda v: -1.0), 3, "must be finite and not negative at rest, got -1"),
    ],
)
def test_refusals(law, dim, words):
    with pytest.raises(ValueError, match=words):
        ss.Scene(dim=dim).add_body(ss.Circle(0.1) if dim == 2 else ss.Sphere(0.1), mass=1.0, friction=law)


@pytest.mark.slow
@pytest.mark.parametrize("place", [HOME, *SLOWLY], ids=str)
def test_a_ball_in_space_that_slides_before_it_rolls(place):
    """mu(v) = mu_k: v = v_0 - mu g t until 2/7 of the speed is lost; then it rolls and the law does nothing."""
    scene = ss.Scene(dim=3, gravity=9.81)
    law = ss.TwoCoefficient(0.6, 0.2)
    scene.add_static(ss.HalfSpace(normal=(0, 0, 1)), friction=law)
    scene.add_body(ss.Sphere(radius=0.1), mass=0.5, position=(0, 0, 0.1), velocity=(1.0, 0, 0), friction=law)
    motion = place.simulate(scene, dt=1e-3, t_end=0.4)
    slides = motion.t < 2.0 / 7.0 / (0.2 * 9.81) - 2e-3
    np.testing.assert_allclose(motion.u[slides, 0], 1.0 - 0.2 * 9.81 * motion.t[slides], atol=1e-6)
    assert motion.u[-1, 0] == pytest.approx(5.0 / 7.0, abs=2e-3) and motion.certificate.failed_steps == 0
