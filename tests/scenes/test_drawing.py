"""Pictures of scenes: what is drawn is where the bodies are."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import stickslip as ss
from stickslip.figures.mechanism import draw, prepare
from stickslip.library import scenes
from stickslip.model.drawing import Circle, Polygon


def primitives(scene, q=None):
    start = []
    for body in scene.bodies:
        if body.kind != "static":
            start += [*body.position[:2], body.angle] if scene.dim == 2 else [*body.position, *body.orientation]
    return scene.drawing()(start if q is None else q, 0.0, {})


def test_bodies_are_drawn_where_they_are():
    scene = ss.Scene(dim=2)
    scene.add_static(ss.HalfPlane((0, 1)))
    scene.add_body(ss.Circle(0.2), mass=1.0, position=(1, 2))
    scene.add_body(ss.Polygon([(0, 0), (2, 0), (2, 1), (0, 1)]), mass=1.0, position=(5, 5), orientation=np.pi / 2)
    scene.add_body(ss.Capsule(0.1, 1.0), mass=1.0, position=(-3, 1))
    ground, disc, spoke, block, rod = primitives(scene)
    assert spoke.points == ((1.0, 2.0), (1.2, 2.0))
    assert ground.style == "ground"
    assert isinstance(disc, Circle) and disc.centre == (1.0, 2.0) and disc.radius == 0.2
    assert np.array(sorted(block.points)) == pytest.approx(np.array([(4.5, 4), (4.5, 6), (5.5, 4), (5.5, 6)]))
    assert isinstance(rod, Polygon)
    x = np.array(rod.points)
    assert x[:, 0].min() == pytest.approx(-3.6) and x[:, 0].max() == pytest.approx(-2.4)


def test_spatial_scenes_are_seen_from_the_side():
    shapes = primitives(scenes.cube_stack(2))
    assert np.array(sorted(shapes[2].points)) == pytest.approx(np.array([(-0.5, 1), (-0.5, 2), (0.5, 1), (0.5, 2)]))


def test_a_ball_shows_its_pole_until_it_turns_away():
    scene = ss.Scene(dim=3)
    scene.add_body(ss.Sphere(0.1), mass=1.0, position=(0, 0, 1))
    scene.add_body(ss.Sphere(0.1), mass=1.0, position=(0, 5, 2))
    far, _, near, spot = primitives(scene)  # what is far away is drawn first
    assert near.centre == (0.0, 1.0) and far.centre == (0.0, 2.0)
    assert spot.style == "accent" and spot.centre == pytest.approx((0.0, 1.075))
    away = [0, 0, 1, np.sqrt(0.5), -np.sqrt(0.5), 0, 0, 0, 5, 2, 1, 0, 0, 0]  # the pole points to +y
    assert len(primitives(scene, away)) == 3


@pytest.mark.parametrize("name", ["arch", "card_house", "domino_row"])
def test_library_scenes_have_pictures(name):
    scene = getattr(scenes, name)()
    shapes = primitives(scene)
    figure, ax = plt.subplots()
    prepare(ax, (-2, 2, -0.2, 3))
    artists = draw(ax, shapes)
    assert len(artists) == len(scene.bodies) - 1
    plt.close(figure)
