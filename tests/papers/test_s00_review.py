"""Figures of [S00] beyond 4.1: they show what the paper says."""

import math

import numpy as np
import pytest

import stickslip as ss
from stickslip import papers
from stickslip.papers import s00_impacts, s00_rod


def text_of(done):
    words = " ".join(text.get_text() for text in done.figure.findobj() if hasattr(text, "get_text"))
    return " ".join(words.split())


def test_brick_stops_and_stays_or_slides_for_ever():
    done = papers.reproduce("s00-fig1.1")
    axes = done.figure.axes
    lines = {line.get_label(): line.get_data() for line in axes[1].get_lines()}
    assert set(lines) == {f"μ = {mu:g}" for mu in s00_rod.FRICTIONS}
    for mu in s00_rod.FRICTIONS:
        t, v = lines[f"μ = {mu:g}"]
        slope = 9.81 * (math.sin(s00_rod.ANGLE) - mu * math.cos(s00_rod.ANGLE))  # [S00] (1.1)
        np.testing.assert_allclose(v, np.maximum(0.0, 1.0 + slope * t), atol=abs(slope) * 1e-3 + 1e-12)
        assert v[-1] > 1.0 if mu < math.tan(s00_rod.ANGLE) else v[-1] == 0.0
    assert "moves 0 m after" in text_of(done)  # no creep
    assert done.certificate.failed_steps == 0


def test_billiards_in_two_views():
    done = papers.reproduce("s00-fig2.3")
    above, below = done.figure.axes
    assert (above.get_title(loc="left"), below.get_title(loc="left")) == ("elevation", "plan")
    paths = {line.get_label(): line.get_data() for line in below.get_lines() if not line.get_label().startswith("_")}
    assert set(paths) == {"thrown", "ball1", "ball2", "ball3"}
    way = {name: np.hypot(x[-1] - x[0], y[-1] - y[0]) for name, (x, y) in paths.items()}
    assert way["ball3"] > 5 * max(way["ball1"], way["ball2"])
    assert done.certificate.failed_steps == 0
    centres = [np.array(patch.center) for patch in below.patches]  # ball by ball, none drawn over another of its own
    drawn = [[p for p in centres if (np.column_stack(path) == p).all(axis=1).any()] for path in paths.values()]
    for own in drawn:
        apart = np.linalg.norm(np.array(own)[:, None] - np.array(own)[None], axis=2) + np.eye(len(own))
        assert apart.min() >= 0.06 - 1e-9
    low, high = below.get_xlim()
    assert all(low <= x - 0.03 and x + 0.03 <= high for x, _ in centres)  # none is cut
    assert "hops of the balls in the row: 0.00, 2.1" in text_of(done)


def verdicts(angles, frictions, spin=0.0):
    """Verdicts of `painleve` on the rod that slides to the left, shape (frictions, angles)."""
    rods = [ss.library.painleve_rod(angle=float(angle), spin=spin) for angle in angles]
    return np.array(
        [[ss.painleve(r.system, r.q0, r.u0, params={"friction": float(mu)}).verdict for r in rods] for mu in frictions]
    )


def test_map_of_the_rod_has_the_paradox_where_the_bracket_is_negative():
    angles, frictions = np.radians([20.0, 63.435, 80.0]), np.array([0.5, 1.2, 1.5, 2.5])
    found = verdicts(angles, frictions)
    s, c = np.sin(angles), np.cos(angles)
    negative = 1.0 - 3.0 * c * (frictions[:, None] * s - c) < 0.0
    assert ((found == "none") == negative).all() and negative.any()
    fast = verdicts(angles[1:2], frictions, spin=-6.0)
    assert fast[:, 0].tolist() == ["unique", "unique", "several", "several"]  # [S00] 3.3.1


@pytest.mark.slow
def test_rod_of_three_methods():
    done = papers.reproduce("s00-fig1.3")
    slip = done.figure.axes[2]
    curves = [line.get_data() for line in slip.get_lines()]
    assert len(curves) == 3
    for t, v in curves:
        assert v[0] == pytest.approx(-1.0) and np.abs(v[t > 0.05]).max() < 1e-3  # [ms]: stopped in the first step
    assert "$N$ = 0.3000 N s, $F$ = 0.4000 N s" in text_of(done) and done.certificate.failed_steps == 0


@pytest.mark.slow
def test_falling_rod_with_times():
    done = papers.reproduce("s00-fig2.4")
    left, right = done.figure.axes
    times = [text.get_text() for text in left.texts]
    assert times[:4] == ["0.00", "0.12", "0.24", "0.35"] and times[7:] == ["0.5 m"]
    t, slip = right.get_lines()[0].get_data()
    struck = t[np.argmax(np.abs(slip) < 1e-3)]
    assert struck == pytest.approx(0.3477, abs=1e-3)  # free fall until y = sin(theta)/2: t = 0.34775 s
    assert slip[t < struck - 1e-3].min() > 1.4  # the horizontal velocity of the contact changes in the impact


@pytest.mark.slow
def test_ball_1_jumps_in_the_picture():
    done = papers.reproduce("s00-fig4.3")
    first, second = (line.get_ydata() for line in done.figure.axes[1].get_lines())
    assert first.max() > 1.0 and np.abs(second).max() < 1e-3  # [mm]


@pytest.mark.slow
def test_masses_between_two_limits():
    done = papers.reproduce("s00-fig4.4")
    lines = done.figure.axes[1].get_lines()[:3]
    ends = np.array([line.get_ydata()[[0, -1]] for line in lines])
    np.testing.assert_allclose(ends[:, 0], [-1 / 3, 2 / 3, 2 / 3], atol=2e-3)
    np.testing.assert_allclose(ends[:, 1], [0, 0, 1], atol=2e-3)


@pytest.mark.slow
def test_chatterjees_rod_in_the_picture():
    done = papers.reproduce("s00-fig4.5")
    time, table, parts = done.figure.axes[3:6]
    rigid, soft, stiff, beam = (line.get_ydata()[-1] for line in time.get_lines())
    assert rigid == 0.0 and soft == pytest.approx(stiff, rel=1e-6) and soft > 0.1 and beam > 0.2
    shares = table.get_lines()[0].get_ydata()
    assert shares[0] < 1e-5 and shares[-1] > 0.15 and (np.diff(shares) > 0.0).all()
    assert len(parts.get_lines()[0].get_xdata()) == len(s00_impacts.PARTS)


@pytest.mark.slow
def test_bars_of_five_lengths():
    done = papers.reproduce("s00-fig1.2")
    curves = [ax.get_lines()[0].get_data() for ax in done.figure.axes[:10:2]]
    worst = []
    for angle, eps in curves:
        assert 0.75 < eps[-1] < 0.96 and 0.6 < eps[0] < 0.75  # vertical, horizontal
        worst.append(angle[np.argmin(eps)])
        assert eps.min() < 0.36
    assert (np.diff(worst) >= 0.0).all() and worst[-1] > 75.0  # the minimum goes to 90 degrees for slender bars
