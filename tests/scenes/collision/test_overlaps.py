"""The penetration in the certificate of every library scene against a second computation of distances."""

from dataclasses import replace

import pytest

from stickslip.library import scenes
from stickslip.scenes.collision.overlaps import checked, deepest_overlap

QUICK = ["cube_on_ramp", "card_house", "cradle"]
OTHERS = {
    "cube_stack": {}, "heavy_on_light": {}, "thrown_cube": {}, "arch": {}, "domino_row": {"dominoes": 8},
    "hanging_chain": {}, "rolling_disc": {}, "tippe_top": {}, "granular_column": {}, "poured_spheres": {"spheres": 60},
}  # fmt: skip


def judge(scene, t_end):
    run = scene.simulate(dt=1e-3, t_end=t_end, tol=1e-6)
    size = max(abs(run.q[0]).max(), 1.0)
    assert run.complete
    assert 0.9 * deepest_overlap(scene, run, 8) <= run.certificate.max_penetration + 1e-9 * size


@pytest.mark.parametrize("name", QUICK)
def test_penetration_is_not_below_the_truth(name):
    judge(getattr(scenes, name)(), 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_penetration_is_not_below_the_truth_in_other_scenes(name):
    judge(getattr(scenes, name)(**OTHERS[name]), 1.0 if name == "domino_row" else 0.3)


def test_a_certificate_below_the_truth_is_told_in_debug(monkeypatch):
    scene = scenes.cube_stack(2)
    scene.bodies[2].position[2] -= 1e-3
    run = scene.simulate(dt=1e-3, t_end=5e-3, overlap="keep")
    assert float(run.attributes["overlap_check"].split()[0]) == pytest.approx(1e-3, rel=1e-2)
    forged = replace(run, certificate=replace(run.certificate, max_penetration=0.5e-3))
    with pytest.warns(RuntimeWarning, match="says a penetration of 0.0005 m; bodies overlap by 0.001 m"):
        checked(scene, forged)
    monkeypatch.setenv("STICKSLIP_DEBUG", "0")
    assert "overlap_check" not in scene.simulate(dt=1e-3, t_end=5e-3, overlap="keep").attributes
