"""Polyhedra and polygons edge to edge, where every axis between those of two faces parts them equally well."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import stickslip as ss
from tests.elsewhere import EVERYWHERE

G = 9.81


def leaning(dim, angle, length, thick):
    """Two smooth cards in mirror image that lean on one another with their upper inner edges; the scene and the cards.

    The inner face goes through the foot and the top.  So a card moves as a rod does whose centre of mass lies half of
    its thickness beside it.
    """
    scene, cards = ss.Scene(dim=dim, gravity=G), []
    x = length / 2 * math.sin(angle) + thick / 2 * math.cos(angle)
    z = length / 2 * math.cos(angle) + thick / 2 * math.sin(angle)
    if dim == 2:
        scene.add_static(ss.HalfPlane((0, 1)), friction=0.0)
        a, b = thick / 2, length / 2
        shape, depth = ss.Polygon([(-a, -b), (a, -b), (a, b), (-a, b)]), ()
    else:
        scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.0)
        shape, depth = ss.Box((thick, 0.06, length)), (0.0,)
    for side in (-1, 1):
        turn = side * angle
        turn = turn if dim == 2 else (math.cos(turn / 2), 0.0, -math.sin(turn / 2), 0.0)
        cards.append(scene.add_body(shape, mass=0.01, position=(side * x, *depth, z), orientation=turn, friction=0.0))
    return scene, cards


def as_it_slides(angle, length, thick, t):
    """Distance of the centre of mass from the plane of symmetry and height, (n,) each, own integration.

    The top goes down the plane of symmetry, the foot goes out along the floor: one degree of freedom, the angle.
    """
    d, beside, inertia = math.hypot(length, thick) / 2, math.atan2(thick, length), (length**2 + thick**2) / 12

    def slope(_, state):
        a, w = state
        mass = d * d * (math.cos(a + beside) ** 2 + math.sin(a - beside) ** 2) + inertia
        change = d * d * (math.sin(2 * (a - beside)) - math.sin(2 * (a + beside)))
        return [w, (G * d * math.sin(a - beside) - change / 2 * w * w) / mass]

    a = solve_ivp(slope, (0.0, t[-1]), [angle, 0.0], t_eval=t, rtol=1e-11, atol=1e-12).y[0]
    return d * np.sin(a + beside), d * np.cos(a - beside)


@pytest.mark.parametrize("dim", [2, 3])
@EVERYWHERE
def test_smooth_cards_slide_apart_in_mirror_image(place, dim):
    scene, cards = leaning(dim, 0.4, 0.1, 1e-3)
    run = place.simulate(scene, dt=1e-3, t_end=0.1)
    assert run.certificate.failed_steps == 0
    x, z = as_it_slides(0.4, 0.1, 1e-3, run.t)
    for card, side in zip(cards, (-1, 1), strict=True):
        path = card.path(run)
        assert np.abs(path[:, 0] - side * x).max() < 2e-6 + 10 * place.rounding(run)  # 14 mm; order two in dt
        assert np.abs(path[:, dim - 1] - z).max() < 2e-6 + 10 * place.rounding(run)


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("apart", [0.0, 1e-17, 1e-9, -4e-7])
def test_the_normal_of_edges_in_mirror_image_lies_in_their_plane_of_symmetry(dim, apart):
    scene, cards = leaning(dim, 0.4, 0.1, 1e-3)
    for card, side in zip(cards, (-1, 1), strict=True):
        card.position[0] += side * apart
    run = scene.simulate(dt=1e-4, t_end=1e-4, contacts=True)
    table = run.contacts()
    between = [k for k in range(len(table)) if {table["body"][k], table["other"][k]} == {c.name for c in cards}]
    assert len(between) == dim - 1
    for k in between:
        np.testing.assert_allclose(np.abs(table["normal"][k]), np.eye(3)[0], atol=1e-12)


def wedges(dim, lower, upper):
    """Two wedges tip to tip, pressed on one another; each with the two places of its base."""
    scene = ss.Scene(dim=dim, gravity=0.0)
    for base, push in ((lower, 1.0), (upper, -1.0)):
        outline = np.array([(0.0, 0.0), *base])
        if dim == 2:
            shape, at, force = ss.Polygon(outline), outline.mean(axis=0), (0.0, push)
        else:
            shape = ss.ConvexHull([(x, y, z) for x, z in outline for y in (-0.1, 0.1)])
            at, force = (outline[:, 0].mean(), 0.0, outline[:, 1].mean()), (0.0, 0.0, push)
        scene.add_force(scene.add_body(shape, mass=1.0, position=at, friction=0.5), force)
    return scene


@pytest.mark.parametrize("dim", [2, 3])
def test_normals_that_are_a_choice_are_told(dim):
    """Of wedges in mirror image symmetry gives the normal; where their faces lean otherwise, nothing does."""
    lower = [(-0.3, -0.3), (0.1, -0.3)]
    alike = wedges(dim, lower, [(0.1, 0.3), (-0.3, 0.3)]).simulate(dt=1e-4, t_end=1e-4)
    assert alike.normal_impulse[-1].min() > 0.0
    assert alike.certificate.open_normals == 0 and "normals" not in str(alike.certificate)
    other = wedges(dim, lower, [(0.25, 0.3), (-0.15, 0.3)]).simulate(dt=1e-4, t_end=1e-4)
    assert other.normal_impulse[-1].min() > 0.0
    assert other.certificate.to_dict()["open_normals"] == 1 and "normals open in 1 step" in str(other.certificate)


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("friction", [0.0, 0.5])
@EVERYWHERE
def test_squares_that_meet_corner_to_corner_go_straight_back(dim, friction, place):
    """Two faces of each part them equally well; the first one in the list threw both aside, by 45 degrees."""
    scene, turn = ss.Scene(dim=dim, gravity=0.0), math.pi / 4
    shape = ss.Polygon.rectangle(0.2, 0.2) if dim == 2 else ss.Box((0.2, 0.1, 0.2))
    pose = turn if dim == 2 else (math.cos(turn / 2), 0.0, -math.sin(turn / 2), 0.0)
    for side in (-1.0, 1.0):
        scene.add_body(
            shape, mass=1.0, position=at(dim, 0.3 * side, 0.0), velocity=at(dim, -side, 0.0), orientation=pose,
            friction=friction, restitution=1.0,
        )  # fmt: skip
    run = place.simulate(scene, dt=1e-3, t_end=0.3)
    wanted = np.zeros((2, 3 * dim - 3))
    wanted[:, 0] = -1.0, 1.0
    assert np.abs(run.u[-1].reshape(2, -1) - wanted).max() < 1e-9 + 1e-11 * place.distance
    assert run.certificate.open_normals == 0


def block(dim, width, height):
    """A rectangle or a box, 1 m deep."""
    a, b = width / 2, height / 2
    return ss.Polygon([(-a, -b), (a, -b), (a, b), (-a, b)]) if dim == 2 else ss.Box((width, 1.0, height))


def at(dim, x, z):
    return (x, z) if dim == 2 else (x, 0.0, z)


@pytest.mark.parametrize("dim", [2, 3])
@EVERYWHERE
def test_a_block_beside_the_edge_of_another_falls_past_it(place, dim):
    """Edges meet, faces lie in one plane: rounding told whether the edge held it, and it tipped."""
    scene = ss.Scene(dim=dim, gravity=G)
    scene.add_static(block(dim, 1.0, 1.0))
    falling = [scene.add_body(block(dim, 1.0, 1.0), mass=1.0, position=at(dim, side, 1.0)) for side in (-1.0, 1.0)]
    run = place.simulate(scene, dt=1e-3, t_end=0.1)
    for body in falling:
        fall = body.path(run)[:, dim - 1] - 1.0 + G * run.t**2 / 2
        assert np.abs(fall).max() < 1e-12 + 10 * place.rounding(run)


@pytest.mark.parametrize("dim", [2, 3])
@EVERYWHERE
def test_a_block_slides_on_from_where_its_edge_meets_the_next_slab(place, dim):
    mu, speed = 0.1, 0.6
    scene = ss.Scene(dim=dim, gravity=G)
    for x in (-0.5, 0.5):
        scene.add_static(block(dim, 1.0, 0.1), position=at(dim, x, -0.05), friction=mu)
    options = {"position": at(dim, -0.125, 0.125), "velocity": at(dim, speed, 0.0), "friction": mu}
    sled = scene.add_body(block(dim, 0.25, 0.25), mass=1.0, **options)
    run = place.simulate(scene, dt=1e-3, t_end=place.span(0.5, 0.1))
    path = sled.path(run) - sled.path(run)[0]
    assert np.abs(path[:, 0] - (speed * run.t - mu * G * run.t**2 / 2)).max() < 1e-9 + 10 * place.rounding(run)
    assert np.abs(path[:, dim - 1]).max() < 1e-12 + 10 * place.rounding(run)
