"""[S00] Figure 4.1: the printed values, the computed motion, and the words that say what it is."""

import numpy as np
import pytest

from stickslip import papers
from stickslip.papers import s00


@pytest.fixture(scope="module", params=[1.0, pytest.param(s00._T_NEWMARK, marks=pytest.mark.slow)], ids="{:g} s".format)
def done(request):
    """Figure 4.1, whose balls fly one second in the default run: they fall, land and reach the top again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(s00, "_T_NEWMARK", request.param)
        return papers.reproduce("s00-fig4.1")


def test_printed_values(done):
    assert done.parameters["g"] == 9.8213 and done.parameters["mass"] == 1.0
    assert (s00._DT_MIDPOINT, s00._DT_NEWMARK) == (0.01, 0.001)
    assert done.certificate.failed_steps == 0


def test_midpoint_rule_does_not_keep_the_energy(done):
    left = done.figure.axes[0]
    exact, computed = (line.get_ydata() for line in left.get_lines())
    assert exact.max() == pytest.approx(1.0, abs=1e-4) and exact.min() > -1e-9
    assert computed[0] == 1.0 and computed.max() > 3.0  # higher than it was dropped from, without a drive


def test_newmark_rebounds_by_chance(done):
    right = done.figure.axes[1]
    apexes = []
    for line in right.get_lines():
        t, y = line.get_data()
        landed = t[np.flatnonzero(y < 1e-3)[0]]
        apexes.append(y[t > landed].max())
    assert len(apexes) == len(s00._HEIGHTS)
    assert min(apexes) < 0.05 and max(apexes) > 0.9  # 4 cm more or less at the start
    assert (np.array([line.get_ydata().min() for line in right.get_lines()]) > -1e-12).all()


def test_caption_says_that_the_schemes_fail(done):
    texts = " ".join(text.get_text() for text in done.figure.findobj() if hasattr(text, "get_text"))
    texts = " ".join(texts.split())
    for words in (
        "Schemes that fail",
        "0 failed steps",
        "(a) midpoint rule",
        "(b) Newmark scheme",
        "decided by rounding errors",
    ):
        assert words in texts


def test_friction_laws_are_drawn_from_the_laws_and_obeyed_by_the_steps():
    drawn = papers.reproduce("s00-fig4.2")
    assert drawn.certificate.failed_steps == 0 and drawn.certificate.max_residual < 1e-12
    assert 2 <= drawn.certificate.friction_rounds <= 8 and drawn.certificate.friction_contraction < 0.1
    steepest = []
    for ax, at_rest, far in zip(drawn.figure.axes, (0.5, 0.5, 0.5), (0.5, 0.3, 0.3), strict=True):
        lines = [line.get_data() for line in ax.get_lines()]
        branch = next(y for x, y in lines if len(x) == 400 and x[-1] > 0)
        stick = next(y for x, y in lines if len(x) == 2 and (np.array(x) == 0.0).all())
        assert branch[-1] == pytest.approx(far, abs=2e-3) and max(stick) == at_rest == -min(stick)
        steepest.append(branch[0])
        x, y = next((x, y) for x, y in lines if len(x) > 100 and len(x) != 400)
        slips = np.abs(x) > 1e-6
        assert (np.sign(x[slips]) == np.sign(y[slips])).all() and np.abs(y[~slips]).max() <= at_rest
        on_curve = np.interp(np.abs(x[slips]), np.geomspace(1e-9, 0.8, 400), branch)
        inside = np.abs(x[slips]) < 0.8
        np.testing.assert_allclose(np.abs(y[slips])[inside], on_curve[inside], atol=1e-3)
    assert steepest == pytest.approx([0.5, 0.3, 0.5], abs=1e-6)  # (b) jumps, (c) does not


@pytest.mark.slow
def test_friction_that_falls_with_the_speed_is_unstable():
    """The figure; tests/library/test_stewart.py has the motion."""
    drawn = papers.reproduce("s00-eq4.1")
    assert drawn.certificate.failed_steps == 0
    left, right = drawn.figure.axes
    constant, falling = left.lines
    assert abs(constant.get_ydata()[-1]) < 1e-12 and constant.get_ydata().max() > 0.01  # moved, and stopped
    assert falling.get_ydata()[-1] > 1.0  # still goes faster
    computed, line = right.lines
    early = line.get_ydata() < 1e-3  # far below the Stribeck velocity, [S00] (4.1) linearised holds
    assert np.log(computed.get_ydata()[: early.sum()]) == pytest.approx(np.log(line.get_ydata()[early]), abs=0.1)
