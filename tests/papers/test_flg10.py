"""The slider-crank's figures show the computed motion, with the paper's axes."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from stickslip import library, papers
from stickslip.figures import style
from stickslip.papers import flg10

KEYS = ["flg10-fig10", "flg10-fig11", "flg10-fig12", "flg10-fig13"]


@lru_cache
def run(restitution):
    scenario = library.slider_crank(restitution_normal=restitution)
    return scenario.simulate(dt=1e-4, t_end=0.16, progress=False)


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(flg10, "_run", run)


@lru_cache
def drawn(key):
    """A figure, drawn once for all tests of this file, which only read it."""
    return papers.reproduce(key)


def panels(done):
    return [ax for ax in done.figure.axes if ax.axison]


def curve(ax):
    (line,) = (line for line in ax.get_lines() if line.get_label() == "motion")
    return np.column_stack(line.get_data())


def test_corner_motion_runs_between_the_guides():
    """[FLG10] eq. (115): 1 where corners 1 and 2 touch, -1 where 3 and 4 do, 0 at the start."""
    trajectory = run(0.4)
    for corner in range(4):
        y = flg10.corner_motion(trajectory, corner)
        assert y[0] == pytest.approx(0.0, abs=1e-12)
        side = 1.0 if corner < 2 else -1.0
        gap = trajectory.gap[:, corner]
        nearest = np.argmin(np.abs(gap))
        assert y[nearest] == pytest.approx(side, abs=1e3 * abs(gap[nearest]) + 1e-12)
    np.testing.assert_allclose(flg10.corner_motion(trajectory, 0), flg10.corner_motion(trajectory, 2), atol=1e-9)


def test_slider_position_is_normalised():
    x, y = flg10.slider_position(run(0.4))
    assert (x[0], y[0]) == pytest.approx((1.0, 0.0))
    assert x.min() == pytest.approx(-1.0, abs=1e-3) and x.max() <= 1.0
    np.testing.assert_allclose(y, flg10.corner_motion(run(0.4), 0), atol=1e-6)  # a level slider


def test_fig10_has_a_panel_for_corners_that_move_alike_over_two_turns():
    axes = panels(drawn("flg10-fig10"))
    assert [ax.get_title("left") for ax in axes] == ["corners 1 and 2", "corners 3 and 4"]
    for k, ax in zip((0, 2), axes, strict=True):
        np.testing.assert_allclose(flg10.corner_motion(run(0.4), k), flg10.corner_motion(run(0.4), k + 1), atol=1e-9)
        shown = curve(ax)
        assert 1.9 < shown[-1, 0] <= 2.0
        n = len(shown)
        np.testing.assert_array_equal(shown[:, 0], flg10.turns(run(0.4))[:n])
        np.testing.assert_array_equal(shown[:, 1], flg10.corner_motion(run(0.4), k)[:n])
        assert ax.get_xlim() == (0, 2)
    assert axes[-1].get_xlabel() == "crank revolutions"


def test_fig11_speeds_and_portraits():
    axes = panels(drawn("flg10-fig11"))
    trajectory = run(0.4)
    labels = [(ax.get_xlabel(), ax.get_ylabel()) for ax in axes]
    assert labels[0] == ("crank revolutions", r"$\omega_{1}$ [rad/s]")
    assert labels[1] == ("crank revolutions", r"$\omega_{2}$ [rad/s]")
    assert labels[2] == (r"$\theta_{2}$ [rad]", r"$\omega_{2}$ [rad/s]")
    assert labels[3] == ("$x$ [1]", "$y$ [1]")
    assert curve(axes[0])[0].tolist() == [0.0, 150.0] and curve(axes[1])[0].tolist() == [0.0, -75.0]
    known = {tuple(row) for row in np.column_stack([trajectory["theta_2"], trajectory["omega_2"]])}
    assert {tuple(row) for row in curve(axes[2])} <= known
    assert curve(axes[3])[0] == pytest.approx([1.0, 0.0])


@pytest.mark.parametrize("key", ["flg10-fig12", "flg10-fig13"])
def test_restitution_study(key):
    done = drawn(key)
    axes = panels(done)
    titles = [ax.get_title("left") for ax in axes]
    assert titles == [
        f"({letter}) $\\varepsilon_N$ = {eps}" for letter, eps in zip("abcd", flg10.RESTITUTIONS, strict=True)
    ]
    assert flg10.RESTITUTIONS == (0.1, 0.4, 0.6, 0.9)
    for ax, eps in zip(axes, flg10.RESTITUTIONS, strict=True):
        y = flg10.corner_motion(run(eps), 0) if key == "flg10-fig12" else flg10.slider_position(run(eps))[1]
        assert set(curve(ax)[:, 1]) <= set(y)
    assert done.certificate.max_penetration == max(run(eps).certificate.max_penetration for eps in flg10.RESTITUTIONS)


@pytest.mark.parametrize("key", KEYS)
def test_caption_carries_parameters_and_certificate(key):
    done = drawn(key)
    text = done.figure.get_supxlabel()
    for part in (
        "Table 1",
        "c = 1 mm",
        r"$\mu$ = 0.01",
        r"$\Delta t$ = 0.0001 s",
        "0 failed steps",
        "penetration",
        "energy gain",
    ):
        assert part in text
    assert done.figure.get_suptitle() == f"{done.source}. {done.title}"
    assert done.source.startswith("[FLG10] Figure 1")


@pytest.mark.parametrize("key", KEYS)
def test_words_fit_on_the_page(key):
    figure = drawn(key).figure
    with style.look():
        figure.canvas.draw()
        for text in (figure._suptitle, figure._supxlabel):
            box = text.get_window_extent()
            assert 0 <= box.x0 and box.x1 <= figure.bbox.width


def test_a_run_that_failed_draws_nothing(monkeypatch):
    monkeypatch.undo()
    flg10._run.cache_clear()
    broken = replace(run(0.4), complete=False, status="failed at t = 0.1 s")
    monkeypatch.setattr(library.Scenario, "simulate", lambda self, **options: broken)
    with pytest.raises(RuntimeError, match=r"the slider-crank's run failed at t = 0.1 s"):
        flg10.fig10()
