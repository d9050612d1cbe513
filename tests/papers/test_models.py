"""Drawings of models, maps and flowcharts: they are made from the library's systems, and checked against them."""

import numpy as np
import pytest

from stickslip import library, papers
from stickslip.analysis.joint_configuration import CONFIGURATIONS, configuration_of
from stickslip.papers import maps, models
from stickslip.sets import Sgn, Upr

DRAWINGS = ["gs05-fig2", "flg10-fig8", "pg05-fig3"]
SLOW = [
    "gs05-fig1",
    "flg10-fig2",
    "flg10-fig4",
    "flg10-fig9",
    "pg05-fig12",
    "gs05-fig3",
    "pg05-fig1",
    "pg05-fig2",
    "flg10-fig1",
    "flg10-fig5",
    "flg10-fig6",
    "flg10-fig7",
    "s00-fig2.2",
]


@pytest.mark.parametrize("key", [*DRAWINGS, *(pytest.param(key, marks=pytest.mark.slow) for key in SLOW)])
def test_drawings_say_what_was_checked(key):
    done = papers.reproduce(key)
    assert done.certificate is None and done.dt == 0.0 and done.check
    assert done.source.lower().replace("[", "").replace("] figure ", "-fig") == key
    assert " ".join(done.figure.get_suptitle().split()) == f"{done.source}. {done.title}"


@pytest.mark.slow
@pytest.mark.parametrize("key", ["flg10-fig3", "s00-fig2.1"])
def test_drawings_with_runs_have_a_certificate(key):
    assert papers.reproduce(key).certificate.failed_steps == 0


def test_a_graph_lies_in_its_map():
    from stickslip.figures import style

    with style.look():
        figure = style.new_figure(2, 2)
        for law in (Upr(), Sgn()):
            ax = figure.add_subplot()
            maps.graph(ax, law, (-1.7, 1.9, -1.75, 1.75))
            for line in ax.get_lines():
                assert law.contains(*line.get_data()).all()


def test_four_ways_of_touching_are_told_apart():
    closed = np.zeros(4, dtype=bool)
    assert configuration_of(closed) == CONFIGURATIONS[0]
    for corners, words in (((1,), 1), ((0, 1), 2), ((1, 2), 3), ((0, 2), 4)):
        closed[:] = False
        closed[list(corners)] = True
        assert configuration_of(closed) == CONFIGURATIONS[words]


def test_the_largest_tilt_closes_opposite_corners():
    machine = library.slider_crank(clearance=0.008)
    tilt = models._largest_tilt(machine.parameters)
    gaps = machine.system.gap(models._state(machine, 0.0, tilt), 0.0, machine.system.parameter_vector(None))
    assert gaps[[1, 2]] == pytest.approx([0.0, 0.0], abs=1e-15) and gaps[[0, 3]].min() > 0.01


def test_nearest_points_of_two_ellipses_face_each_other():
    first = (maps.Ellipse(0.55, 0.4), np.array([0.25, 0.62]), 0.35)
    second = (maps.Ellipse(0.7, 0.45), np.array([-0.1, -0.5]), -0.2)
    a, b = maps._nearest(first, second)
    for body, point, other in ((first, a, b), (second, b, a)):
        ellipse, centre, alpha = body
        local = maps._turn(alpha).T @ (point - centre)
        normal = maps._turn(alpha) @ (local / np.array([ellipse.a, ellipse.b]) ** 2)
        across = normal[0] * (other - point)[1] - normal[1] * (other - point)[0]
        assert abs(across) < 1e-9 and normal @ (other - point) > 0.0
