"""Pictures of scenes: what is drawn is where the bodies are."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import stickslip as ss
from stickslip.drawing.aslant import BACK, LIGHT, RIGHT, UP
from stickslip.drawing.primitives import Circle, Polygon
from stickslip.figures import scene as scene_figure
from stickslip.figures.animation import Film
from stickslip.figures.mechanism import draw, prepare, windows
from stickslip.figures.trajectory import plot
from stickslip.library import scenes
from stickslip.page.document import export


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
    along = np.array(spoke.points) - disc.centre
    assert along[:, 0].max() == pytest.approx(0.16) and np.linalg.norm(along, axis=1).max() < 0.9 * disc.radius
    assert ground.style == "ground"
    assert isinstance(disc, Circle) and disc.centre == (1.0, 2.0) and disc.radius == 0.2
    assert np.array(sorted(block.points)) == pytest.approx(np.array([(4.5, 4), (4.5, 6), (5.5, 4), (5.5, 6)]))
    assert isinstance(rod, Polygon)
    x = np.array(rod.points)
    assert x[:, 0].min() == pytest.approx(-3.6) and x[:, 0].max() == pytest.approx(-2.4)


def seen(point):
    return pytest.approx((RIGHT @ point, UP @ point))


def test_the_viewer_has_a_right_handed_frame_and_stands_above():
    assert np.array([RIGHT, UP, BACK]) @ np.array([RIGHT, UP, BACK]).T == pytest.approx(np.eye(3))
    assert np.linalg.det([RIGHT, UP, BACK]) == pytest.approx(1.0)
    assert BACK[2] > 0 and UP[2] > 0.9 and RIGHT[0] > 0.9


def test_of_a_cube_three_faces_are_seen_in_three_shades():
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((0, 0, 1)))
    scene.add_body(ss.Box((1, 1, 1)), mass=1.0, position=(3, 0, 0.5))
    shapes = primitives(scene)
    floor, shadow = (next(s for s in shapes if s.style == style) for style in ("floor", "shadow"))
    faces = [s for s in shapes if s.style.startswith("facet")]
    assert {face.style for face in faces} == {"facet-light", "facet", "facet-dark"} and len(faces) == 3
    top = next(face for face in faces if face.style == "facet-light")
    expected = sorted((RIGHT @ x, UP @ x) for x in np.array([(a, b, 1.0) for a in (2.5, 3.5) for b in (-0.5, 0.5)]))
    assert np.array(sorted(top.points)) == pytest.approx(np.array(expected))
    assert shapes.index(floor) < shapes.index(shadow) < shapes.index(faces[0])
    corner = np.array([3.5, 0.5, 1.0])  # casts its shadow on z = 0, along the light
    assert any(point == seen(corner - LIGHT / LIGHT[2]) for point in shadow.points)
    low, high = np.array(scene.drawing().fit(np.array([[3, 0, 0.5, 1, 0, 0, 0]]), np.zeros(1), {})).reshape(2, 2).T
    assert np.all(low > np.array([RIGHT[0] * 3, 0]) - 2) and np.all(high < np.array([RIGHT[0] * 3, 0]) + 2.5)


def test_what_is_far_away_is_drawn_first_and_a_ball_shows_its_poles():
    scene = ss.Scene(dim=3)
    scene.add_body(ss.Sphere(0.1), mass=1.0, position=(0, 0, 1))
    scene.add_body(ss.Sphere(0.1), mass=1.0, position=(0, 5, 2))
    shapes = primitives(scene)
    far, near = (shape for shape in shapes if isinstance(shape, Circle))
    assert near.centre == seen(np.array([0, 0, 1])) and far.centre == seen(np.array([0, 5, 2]))
    spots = shapes[shapes.index(near) + 1 :]
    assert [spot.style for spot in spots].count("accent") == 1  # the lower pole is behind
    for spot in spots:
        away = np.hypot(*(np.array(spot.points) - near.centre).T)
        assert away.max() <= 0.1 * (1 + 1e-9)


def test_walls_and_floor_end_where_they_meet():
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((0, 0, 1)))
    scene.add_static(ss.HalfSpace((0, -1, 0), offset=-2.0))  # behind the bodies, at y = 2
    scene.add_static(ss.HalfSpace((0, 1, 0), offset=-2.0))  # before them, at y = -2: it would hide them
    scene.add_body(ss.Sphere(0.1), mass=1.0, position=(0, 0, 1))
    shapes = primitives(scene)
    floor, wall = (next(s for s in shapes if s.style == style) for style in ("floor", "wall"))
    assert sum(s.style == "wall" for s in shapes) == 1
    edge = np.array([0.0, 2.0, 0.0])
    for shape, sign in ((floor, 1), (wall, -1)):
        x = np.array(shape.points)
        line = UP @ edge + (UP[0] / RIGHT[0]) * (x[:, 0] - RIGHT @ edge)  # where y = 2 meets z = 0
        assert np.all(sign * (line - x[:, 1]) >= -1e-6) and np.sum(np.abs(line - x[:, 1]) < 1e-6) == 2


def test_a_capsule_and_ground_of_given_heights():
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HeightField(np.zeros((3, 4)), spacing=0.5))
    scene.add_body(ss.Capsule(0.1, 1.0), mass=1.0, position=(0, 0, 1))
    *cells, rod = primitives(scene)
    assert len(cells) == 6 and all(cell.style == "floor" for cell in cells)
    tall = np.ptp(np.array(rod.points)[:, 1])
    assert tall == pytest.approx(1.0 * UP[2] + 0.2, rel=1e-2)


@pytest.mark.parametrize("name", ["arch", "card_house", "domino_row"])
def test_library_scenes_have_pictures(name):
    scene = getattr(scenes, name)()
    shapes = primitives(scene)
    figure, ax = plt.subplots()
    prepare(ax, (-2, 2, -0.2, 3))
    artists = draw(ax, shapes)
    assert len(artists) == len(scene.bodies) - 1
    plt.close(figure)


def test_a_view_goes_along_with_bodies_that_travel_far():
    scene = ss.Scene(dim=3)
    scene.add_body(ss.Sphere(0.1), mass=1.0, position=(0, 0, 1))
    drawing, t = scene.drawing(), np.linspace(0, 1, 5)
    assert drawing.goes_along
    for way, moves in ((0.5, False), (30.0, True)):
        q = np.array([[way * s, 0, 1, 1, 0, 0, 0] for s in t])
        boxes = windows(drawing, q, t, {})
        assert (boxes[0] != boxes[-1]) is moves
        for box, row in zip(boxes, q, strict=True):
            x, y = RIGHT @ row[:3], UP @ row[:3]
            assert box[0] < x - 0.1 and box[1] > x + 0.1 and box[2] < y - 0.1 and box[3] > y + 0.1


@pytest.fixture(scope="module")
def own():
    """A scene of one's own with 24 discs in a row, and its run; the heavier ones stand last."""
    scene = ss.Scene(dim=2, name="my own row")
    scene.add_static(ss.HalfPlane((0, 1)), friction=0.5)
    for k in range(24):
        scene.add_body(ss.Circle(0.1), mass=1.0 + k, position=(0.3 * k, 0.1))
    return scene, scene.simulate(dt=1e-2, t_end=0.05, progress=False)


def test_an_own_scene_is_pictured_with_its_name(own, tmp_path):
    scene, run = own
    figure = scene_figure.plot(run, scene)
    assert figure.get_suptitle() == "my own row" and len(figure.axes) == 7  # with a strip of contacts
    assert plot(run, scene).get_suptitle() == "my own row"
    unnamed = scene.copy()
    unnamed.name = "scene"
    assert scene_figure.plot(run, unnamed).get_suptitle() == "Scene of 24 moving bodies"
    assert Film.plan(run, scene).box == Film.plan(run, scene.drawing()).box
    page = export(run, tmp_path / "row.html", scene).read_text(encoding="utf-8")
    assert "<title>my own row" in page and '"kind":"plane"' in page


def test_of_many_contacts_the_twenty_with_most_load_are_drawn(own):
    _, run = own
    (bands,) = (ax for ax in plot(run).axes if "contacts" in ax.get_title(loc="left"))
    assert bands.get_title(loc="left") == "contacts: the 20 of 24 with the largest impulses"
    assert [label.get_text() for label in bands.get_yticklabels()][::-1] == list(run.contact_names[4:])


def test_what_is_no_picture_of_the_run_is_refused_in_one_line(own):
    scene, run = own
    other = scene.copy()
    other.add_body(ss.Circle(0.1), mass=1.0, position=(0, 5))
    with pytest.raises(ValueError, match="must be the one that was run, got 25 bodies"):
        scene_figure.plot(run, other)
    with pytest.raises(ValueError, match="scenario must be the Scene or the library entry that was run, got method"):
        plot(run, scene.drawing)
    with pytest.raises(ValueError, match="drawing must be the Scene that was run, or the drawing of a scenario"):
        Film.plan(run, scene.drawing)


def test_a_page_that_is_too_large_says_what_helps(own, tmp_path, monkeypatch):
    scene, run = own
    monkeypatch.setattr("stickslip.page.document.MOST_BYTES", 1000)
    with pytest.raises(
        ValueError, match=r"24 contacts and 6 records; record fewer steps \(every=\), take fewer bodies"
    ):
        export(run, tmp_path / "row.html", scene)
    assert not (tmp_path / "row.html").exists()
