"""Islands of a few to some hundred contacts at the default tolerance: solved, or said to have no solution."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.contact.auto import hard_island
from stickslip.contact.contacts import contacts_from
from stickslip.contact.method import Progress
from stickslip.contact.wedged import wedged_contacts
from stickslip.scenes import rescue


def corner(friction, restitution, velocity=(-1.0, -1.0)):
    """A disc of mass 1 that flies into the corner of two walls, which it touches both."""
    scene = ss.Scene(dim=2, gravity=0.0)
    scene.add_static(ss.HalfPlane((0, 1)), friction=friction, restitution=restitution)
    scene.add_static(ss.HalfPlane((1, 0)), friction=friction, restitution=restitution)
    disc = scene.add_body(ss.Circle(0.1), mass=1.0, position=(0.1, 0.1), velocity=velocity, name="disc")
    return scene, disc


def test_ball_in_a_corner_bounces_where_friction_allows_it():
    """Both contacts slip outwards in the end: N - mu N = (1 + e) v for each, N = 1.5 / 0.7."""
    scene, disc = corner(0.3, 0.5)
    run = scene.simulate(dt=1e-3, t_end=0.005)
    assert run.complete and run.certificate.restitution_left_out == 0
    assert disc.velocities(run)[-1] == pytest.approx([0.5, 0.5], abs=1e-9)
    assert run.normal_impulse[:, 0].max() == pytest.approx(2 * 1.5 / 0.7, rel=1e-9)


@pytest.mark.parametrize(("friction", "tol"), [(1.0, 1e-10), (1.2, 1e-10), (1.0, 1e-3), (1.2, 1e-2)])
def test_restitution_is_left_out_where_it_contradicts_friction(friction, tol):
    """N - mu N = 1.5 has no solution for mu >= 1; without restitution the disc sticks: N - T = 1, T <= mu N."""
    scene, disc = corner(friction, 0.5)
    run = scene.simulate(dt=1e-3, t_end=0.005, tol=tol)
    assert run.complete and run.certificate.failed_steps == 0 and run.certificate.max_residual <= tol
    assert run.certificate.restitution_left_out == 1 and "left out 1 times" in str(run.certificate)
    assert disc.velocities(run)[-1] == pytest.approx([0.0, 0.0], abs=10 * tol)
    assert run.normal_impulse.max() < 1.0 + 1e-4  # 1/2 from each wall, whose friction helps; and not 1e10


@pytest.mark.parametrize(
    ("friction", "restitution", "velocity"),
    [(1.05, 0.1, (-1.0, -1.0)), (1.05, 0.8, (-2.0, -0.1)), (1.1, 1.0, (-1.0, -0.5)), (1.1, 0.3, (-1.0, -1.0))],
)
def test_impulses_without_bound_are_no_answer(friction, restitution, velocity):
    """Impulses of 1e16 N s and more, whose differences round to the velocities asked for, counted as solved."""
    scene, _ = corner(friction, restitution, velocity)
    run = scene.simulate(dt=1e-3, t_end=0.003, tol=1e-8)
    assert run.complete and run.certificate.failed_steps == 0
    assert run.certificate.restitution_left_out == 1
    assert run.normal_impulse.max() < 5.0


def test_impulses_that_may_grow_without_bound_are_told_from_the_laws():
    """The contacts of the corner above: W d = 0 for d = (1, 1, 1, 1), which lies in the cones for mu >= 1."""
    W = np.array([[1.0, 0.0, 0.0, -1.0], [0.0, 1.0, -1.0, 0.0], [0.0, -1.0, 1.0, 0.0], [-1.0, 0.0, 0.0, 1.0]])
    blow, plastic = np.array([-1.5, 1.0, -1.5, 1.0]), np.array([-1.0, 1.0, -1.0, 1.0])
    for mu, q, found in ((1.0, blow, [0, 1]), (1.2, blow, [0, 1]), (0.9, blow, None), (1.0, plastic, None)):
        wedged = wedged_contacts(contacts_from(W, q, np.full(2, mu), 2), friction=True)
        assert (None if wedged is None else wedged.tolist()) == found
    assert wedged_contacts(contacts_from(W, blow, np.ones(2), 2)) is None  # friction proves nothing


def test_hard_islands_hold_on_to_the_squeeze_there_is():
    """A body between two walls, in the plane: any squeeze N >= 0 is a solution, and it is held where 2 mu N >= m g dt.

    From impulses that are off by 1e-7 of them, those with their squeeze are found.
    """
    H = np.array([[1.0, 0.0, -1.0, 0.0], [0.0, 1.0, 0.0, 1.0]])  # columns: normal and tangent of either contact
    weight, squeeze = 0.01, 0.05
    problem = contacts_from(H.T @ H, H.T @ [0.0, -weight], np.full(2, 0.5), 2)
    held = np.array([squeeze, weight / 2, squeeze, weight / 2])
    start = held + 1e-7 * weight * np.array([1.0, 2.0, -1.0, 1.0])
    found = hard_island(problem, start, 1e-11, Progress())
    assert found.error < 1e-11 and found.r == pytest.approx(held, abs=1e-6 * weight)


def test_error_says_which_island_when_and_what_helps():
    scene = ss.Scene(dim=2, gravity=0.0)
    press = scene.add_driven(ss.Circle(0.1), position=(0, 0.3), velocity=(0, -1), name="press")
    scene.add_static(ss.HalfPlane((0, 1)))
    scene.add_body(ss.Circle(0.1), mass=1.0, position=(0, 0.1), name="nut")
    run = scene.simulate(dt=1e-3, t_end=0.01)
    assert not run.complete and press is not None
    for words in ("failed at t = 0 s", "2 contacts and 0 joint rows ('nut')", "smaller dt", "on_failure='continue'"):
        assert words in run.status
    assert "tol=" not in run.status  # a violation of the order of the velocities is nothing to tolerate


def heap(rng, dim, bodies, friction, restitution, ratio):
    """Bodies of all shapes, masses up to `ratio` apart, dropped into a box of five walls or three."""
    scene = ss.Scene(dim=dim)
    half, law = 0.16, {"friction": friction, "restitution": restitution}
    walls = np.eye(dim)[::-1] if dim == 2 else np.eye(3)[[2, 0, 1]]
    for k, normal in enumerate(walls):
        for sign in (1.0, -1.0) if k else (1.0,):
            wall = ss.HalfSpace if dim == 3 else ss.HalfPlane
            scene.add_static(wall(tuple(sign * normal), offset=-half if k else 0.0), **law)
    for i in range(bodies):
        place = rng.uniform(-0.1, 0.1, dim)
        place[-1] = 0.06 + 0.11 * i
        mass = 0.01 * ratio ** rng.random()
        if dim == 2:
            shape = (ss.Circle(0.04), ss.Capsule(0.02, 0.05), ss.Polygon([(-0.04, -0.03), (0.04, -0.03), (0.0, 0.04)]))
            turn = rng.uniform(0.0, 6.0)
        else:
            shape = (ss.Sphere(0.04), ss.Capsule(0.02, 0.05), ss.Box((0.06, 0.05, 0.04)))
            turn = rng.normal(size=4)
            turn /= np.linalg.norm(turn)
        down = (*[0.0] * (dim - 1), -2.0)
        scene.add_body(shape[i % 3], mass=mass, position=place, orientation=turn, velocity=down, **law)
    return scene


HEAPS = [
    (dim, *law, ratio)
    for dim in (2, 3)
    for law in ((0.0, 0.5), (0.3, 0.0), (0.6, 0.9), (1.0, 0.5))
    for ratio in (1.0, 1e4)
]
SHORT = [(2, 0.0, 0.5, 1.0), (3, 0.0, 0.5, 1.0), (2, 0.3, 0.0, 1e4)]
"""Here bodies buckled out of the plane, and records overlapped by more than the certificate told."""


def heap_parameter(heap):
    """A heap with its marks."""
    return pytest.param(*heap, marks=[] if heap in SHORT else [pytest.mark.slow])


@pytest.mark.parametrize(("dim", "friction", "restitution", "ratio"), [heap_parameter(heap) for heap in HEAPS])
def test_random_heaps_are_solved_at_the_default_tolerance(dim, friction, restitution, ratio):
    """Every run of a scene in these tests also compares the penetration told with overlaps of the shapes."""
    scene = heap(np.random.default_rng(7), dim, 24, friction, restitution, ratio)
    run = scene.simulate(dt=1e-3, t_end=0.6, every=20)
    assert run.complete, run.status
    assert run.certificate.failed_steps == 0 and run.certificate.max_residual <= 1e-10


def test_balls_that_move_together_do_not_collide_by_rounding():
    """Newton's cradle, e = 0.9: after the blow four balls fly on together, apart from the last digit."""
    scene = ss.Scene(dim=2, gravity=0.0)
    for k in range(5):
        place, speed = (-0.001 if k == 0 else 0.2 * k, 0.0), 1.0 if k == 0 else 0.0
        scene.add_body(ss.Circle(0.1), mass=1.0, position=place, velocity=(speed, 0), restitution=0.9)
    run = scene.simulate(dt=1e-3, t_end=0.01)
    assert run.complete and run.certificate.restitution_left_out == 0
    assert run.u[-1, ::3].sum() == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("gap", [0.0, 1e-5])
@pytest.mark.parametrize("restitution", [1.0, 0.9])
def test_touching_balls_do_not_gain_energy(gap, restitution):
    """1, -1, 1, -1 m/s: the outer pairs bounce, then the inner balls, whose contact opened at first."""
    scene, e = ss.Scene(dim=2, gravity=0.0), restitution
    for k, speed in enumerate((1, -1, 1, -1)):
        position = ((0.2 + gap) * k, 0)
        scene.add_body(ss.Circle(0.1), mass=1.0, position=position, velocity=(speed, 0), restitution=e, friction=0.0)
    run = scene.simulate(dt=1e-3, t_end=0.01)
    assert run.u[-1, ::3] == pytest.approx([-e, -(e**2), e**2, e], abs=1e-9)
    assert run.certificate.max_energy_gain < 1e-12


def test_redundant_contacts_do_not_climb_the_whole_ladder(monkeypatch):
    """Four corners of a brick met the tolerance in velocities, not a tenth of it as a sum over contacts."""
    climbed = []

    def counted(*given):
        climbed.append(given)
        return hard_island(*given)

    monkeypatch.setattr(rescue, "hard_island", counted)
    scene = ss.Scene()
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.3)
    for k, j in np.ndindex(4, 3):
        place = (0.201 * j + 0.1 * (k % 2), 0, 0.05 + 0.1 * k)
        scene.add_body(ss.Box((0.2, 0.1, 0.1)), density=1000, position=place, friction=0.3)
    scene.add_body(
        ss.Box((0.2, 0.2, 0.2)), density=3000, position=(0.2, -0.6, 0.2), velocity=(0, 6, 0),
        orientation=(0.8, 0.36, 0.48, 0), friction=0.3,
    )  # fmt: skip
    run = scene.simulate(dt=5e-3, t_end=0.4, tol=1e-10, overlap="keep")
    assert run.complete and run.certificate.failed_steps == 0, run.status
    assert len(climbed) <= 1  # four before
