"""Belts, shaken tables, grooves, and books between hands, against closed forms."""

import math

import numpy as np
import pytest

import stickslip as ss
from tests.elsewhere import HOME, QUICK

G = 9.81


@pytest.mark.parametrize("place", [HOME, QUICK], ids=str)
def test_box_on_a_belt(place):
    """It slips for v / (mu g), and lags by v^2 / (2 mu g)."""
    mu, v, t_end = 0.3, 1.0, 0.4
    scene = ss.Scene(gravity=G)
    scene.add_driven(ss.Box((20, 1, 0.1)), position=(0, 0, -0.05), velocity=(v, 0, 0), friction=mu)
    box = scene.add_body(ss.Box((0.1, 0.1, 0.1)), mass=1.0, position=(0, 0, 0.05))
    run = place.simulate(scene, dt=1e-3, t_end=t_end)
    away = place.rounding(run)
    assert run.certificate.failed_steps == 0
    assert box.path(run)[-1, 0] == pytest.approx(v * t_end - v**2 / (2 * mu * G), abs=mu * G * 1e-6 + away)  # in a step
    assert box.velocities(run)[-1] == pytest.approx([v, 0, 0], abs=1e-12 + away)


@pytest.mark.parametrize("share", [0.99, 1.01])
def test_stack_on_a_shaken_table(share):
    """It slips as one where a > mu g: from the start of a cos(w t) until the velocities agree again."""
    mu, w, dt = 0.3, 6.0, 1e-3
    a = share * mu * G
    scene = ss.Scene(gravity=G)
    scene.add_driven(
        ss.Box((20, 1, 0.1)), position=(0, 0, -0.05), motion=lambda t: ((a / w * math.sin(w * t), 0, 0), (0, 0, 0)),
        friction=mu,
    )  # fmt: skip
    plates = [
        scene.add_body(ss.Box((0.2, 0.2, 0.04)), mass=1.0, position=(0, 0, 0.02 + 0.04 * k), friction=mu)
        for k in range(4)
    ]
    run = scene.simulate(dt=dt, t_end=0.2)
    table = run.q.reshape(len(run), -1, 7)[:, 0, 0]
    slips = [plate.path(run)[:, 0] - table for plate in plates]
    assert run.certificate.failed_steps == 0
    assert np.abs(slips - slips[0]).max() < 1e-14
    # slip - a sin(w t) / w + mu g t = 0 at its end, t_1; its integral is the way
    end = 0.0
    if share > 1:
        times = np.linspace(1e-4, 0.2, 100001)
        end = times[np.argmax(a / w * np.sin(w * times) < mu * G * times)]
    way = 0.5 * mu * G * end**2 - a / w**2 * (1 - math.cos(w * end))
    assert slips[0][-1] == pytest.approx(way, abs=1e-13 if share < 1 else 2e-7)


def prism(faces, radius, length):
    """A prism about x whose faces are at the distance `radius`, one of them across z."""
    angles = (np.arange(faces) + 0.5) * 2 * math.pi / faces
    far = radius / math.cos(math.pi / faces)
    return ss.ConvexHull([(x, far * math.cos(t), far * math.sin(t)) for x in (-length, length) for t in angles])


@pytest.mark.parametrize("kind", ["capsule", "prism"])
@pytest.mark.parametrize(("half", "mu"), [(math.pi / 6, 0.1), (math.pi / 6, 0.35), (math.pi / 4, 0.3)])
def test_sliding_in_a_groove(kind, half, mu):
    """In a groove of half angle h each wall bears m g cos(b) / (2 sin h): a = g (sin b - mu cos b / sin h)."""
    tilt, radius, t_end = 0.6, 0.05, 0.3
    scene = ss.Scene(gravity=(G * math.sin(tilt), 0, -G * math.cos(tilt)))
    for side in (1, -1):
        scene.add_static(ss.HalfSpace((0, side * math.cos(half), math.sin(half))), friction=mu)
    place, flat = (0, 0, radius / math.sin(half)), (math.sqrt(0.5), 0, math.sqrt(0.5), 0)
    if kind == "capsule":
        body = scene.add_body(ss.Capsule(radius, 0.1), mass=1.0, position=place, orientation=flat)
    else:
        body = scene.add_body(prism(24, radius, 0.1), mass=1.0, position=place)
    run = scene.simulate(dt=1e-3, t_end=t_end)
    a = max(0.0, G * (math.sin(tilt) - mu * math.cos(tilt) / math.sin(half)))
    assert run.certificate.failed_steps == 0
    assert body.path(run)[-1] - place == pytest.approx([0.5 * a * t_end**2, 0, 0], abs=1e-12)
    assert np.abs(body.spin(run)).max() < 1e-9


@pytest.mark.parametrize("share", [1.05, 0.95])
def test_books_between_hands(share):
    """n books are held by 2 mu F >= n m g, else all fall alike."""
    books, mass, mu, thick, t_end = 8, 0.5, 0.4, 0.03, 0.1
    force = share * books * mass * G / (2 * mu)
    scene, plate = ss.Scene(gravity=G), ss.Box((0.02, 0.2, 0.3))
    scene.add_static(plate, position=(-0.01, 0, 0), friction=mu)
    row = [
        scene.add_body(ss.Box((thick, 0.15, 0.22)), mass=mass, position=(thick * (k + 0.5), 0, 0), friction=mu)
        for k in range(books)
    ]
    place = (thick * books + 0.01, 0, 0)
    hand = scene.add_body(plate, mass=1.0, position=place, friction=mu)
    scene.add_prismatic(None, hand, at=place, axis=(-1, 0, 0), motor=(0.1, force))
    run = scene.simulate(dt=1e-3, t_end=t_end)
    assert run.certificate.failed_steps == 0
    fall = 0.5 * max(0.0, 1 - share) * G * t_end**2
    assert [book.path(run)[-1, 2] for book in row] == pytest.approx([-fall] * books, abs=1e-10)
