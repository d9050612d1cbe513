"""The bar's figures show impacts of the LCP, and those are what the paper's closed forms say."""

from functools import cache

import numpy as np
import pytest
from mpl_toolkits.mplot3d import Axes3D

from stickslip import papers
from stickslip.figures import impact_map as pg05_draw
from stickslip.figures import style
from stickslip.impacts.impact import Impact
from stickslip.papers import pg05
from stickslip.papers import pg05_data as data
from stickslip.papers.pg05_data import BACKWARD, FORWARD, STICK, Bar

ALL = [key for key in (*papers.keys(),) if key.startswith("pg05")]
KEYS = [key for key in ALL if key not in ("pg05-fig1", "pg05-fig2", "pg05-fig3", "pg05-fig12")]  # impacts
BARS = [(pg05.SUBCRITICAL, 4.0), (pg05.SUPERCRITICAL, 10.0), (pg05.SPHERE_LIKE, 6.0), (Bar(0.9, 0.4, 0.7, 0.2), 8.0)]


@pytest.fixture(autouse=True, scope="module")
def small_maps():
    """Maps on a coarse grid, which keeps the tests quick."""
    whole = data.regime_map
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data, "regime_map", lambda bar, limit, *size: whole(bar, limit, 90, 72))
        pg05._map.cache_clear()
        yield
    pg05._map.cache_clear()


@cache
def drawn(key):
    """A figure, drawn once for all tests of this file, which only read it."""
    return papers.reproduce(key)


def panel(done):
    return done.figure.axes[-1]  # the first holds the legend


def curve(ax, label):
    (line,) = (line for line in ax.get_lines() if line.get_label() == label)
    return np.array(line.get_data(), dtype=float)


def texts(ax):
    return [text.get_text().split("\n")[0] for text in ax.texts]


def test_all_figures_of_the_paper_are_there():
    assert [f"pg05-fig{n}" for n in range(1, 14)] == ALL


@pytest.mark.parametrize(("bar", "limit"), BARS)
def test_map_is_what_the_closed_forms_say(bar, limit):
    """[PG05] (33)-(47) for the regimes, (48)-(50) for the velocities."""
    found = data.regime_map(bar, limit)
    assert found.hit.solved.all() and found.hit.residual.max() < 1e-13
    assert found.different_states == 0
    assert found.largest_difference < 1e-13
    assert set(np.unique(found.state)) == {BACKWARD, STICK, FORWARD}


@pytest.mark.parametrize(("bar", "limit"), BARS)
def test_boundaries_by_bisection_are_the_closed_ones(bar, limit):
    phi = data.centres(0.0, np.pi, 60)
    for found, closed in zip(bar.bisected(phi, limit), bar.boundaries(phi), strict=True):
        inside = np.abs(closed) < limit
        assert np.array_equal(np.isfinite(found), inside)
        assert found[inside] == pytest.approx(closed[inside], abs=1e-9)


def test_closed_forms_are_the_papers_numbers():
    """At 90 degrees: slip beyond mu beta/alpha (1 + eps_N)/(1 + eps_T); and (39)-(41) where the closed form sticks."""
    assert pg05.SUBCRITICAL.boundaries(np.pi / 2) == pytest.approx((2.0, -2.0))
    assert pg05.SPHERE_LIKE.boundaries(np.pi / 2) == pytest.approx((4.2, -4.2))  # (51), (53): 3/5 (1 + 5/2) 2
    rng = np.random.default_rng(4)
    r, phi = rng.uniform(-10.0, 10.0, 4000), rng.uniform(0.0, np.pi, 4000)
    for bar, _ in BARS:
        alpha, beta, delta = bar.matrix(phi)
        mu, scale = bar.friction, (1.0 + bar.restitution_normal) / (1.0 + bar.restitution_tangential)
        sticks = (
            (delta * r < beta * scale)
            & ((alpha - mu * delta) * r > (delta - mu * beta) * scale)
            & ((alpha + mu * delta) * r < (delta + mu * beta) * scale)
        )
        assert np.array_equal(bar.state(r, phi) == STICK, sticks)


def test_plane_is_symmetric_about_its_centre():
    """(gamma_T, phi) -> (-gamma_T, pi - phi) swaps backward and forward slip."""
    found = data.regime_map(pg05.SUPERCRITICAL, 10.0)
    swapped = np.array([0, FORWARD, STICK, BACKWARD, 4, 5])[found.state[::-1, ::-1]]
    assert np.array_equal(swapped, found.state)


def test_critical_friction_has_its_minimum_at_four_thirds():
    found = data.critical_friction_over_angle(points=19, samples=6)
    assert found.minimum[0] == pytest.approx(4 / 3, abs=1e-10)
    assert np.degrees(found.minimum[1]) == pytest.approx(np.degrees(np.arctan(2.0)), abs=1e-4)  # 63.435
    assert found.largest_difference < 1e-12
    alpha, _, delta = Bar(0.0).matrix(found.phi)
    steep = (delta > 1e-12) & (found.phi < 0.5 * np.pi)
    assert found.curve[steep] == pytest.approx(alpha[steep] / delta[steep])


def test_figure_4_and_5_colour_the_regimes():
    for key, bands in (("pg05-fig4", 0), ("pg05-fig5", 2)):
        ax = panel(drawn(key))
        (image,) = ax.get_images()
        found = pg05._map(*((pg05.SUPERCRITICAL, 10.0) if bands else (pg05.SUBCRITICAL, 4.0)))
        assert np.array_equal(image.get_array(), found.state)
        assert [image.cmap(k)[:3] for k in (1, 2, 3)] == [
            tuple(int(pg05_draw.TINTS[Impact.STATES[k]][i : i + 2], 16) / 255 for i in (1, 3, 5)) for k in (1, 2, 3)
        ]
        assert {"backward slip", "stick", "forward slip"} <= set(texts(ax))
        assert sum("at any ratio" in text for text in texts(ax)) == bands
        assert ax.get_ylabel() == r"impact angle  $\varphi$ [°]"
        assert r"$\gamma_T^-/\gamma_N^-$" in ax.get_xlabel()


def test_bands_of_figure_5_end_where_friction_is_critical():
    """mu |delta| = alpha; for mu = 5/3 tan(phi) = 1 and 4, [PG05] Fig. 5's horizontal lines."""
    ax = panel(drawn("pg05-fig5"))
    edges = sorted(line.get_ydata()[0] for line in ax.get_lines() if list(line.get_xdata()) == [0, 1])
    expected = np.degrees([np.arctan(1.0), np.arctan(4.0), np.pi - np.arctan(4.0), np.pi - np.arctan(1.0)])
    assert edges == pytest.approx(expected, abs=0.01)


def test_figure_6_draws_the_curve_and_its_minimum():
    ax = panel(drawn("pg05-fig6"))
    assert np.ravel(curve(ax, "minimum")) == pytest.approx([63.435, 4 / 3], abs=1e-3)
    x, y = curve(ax, "onset")
    alpha, _, delta = Bar(0.0).matrix(np.radians(x))
    assert y == pytest.approx(alpha / delta)
    assert any("63.435" in text for text in texts(ax))


@pytest.mark.parametrize(("key", "bar", "limit"), [
    ("pg05-fig7", pg05.SUBCRITICAL, 4.0), ("pg05-fig8", pg05.SUPERCRITICAL, 10.0), ("pg05-fig11", pg05.SPHERE_LIKE, 6.0)
])  # fmt: skip
def test_figures_7_8_11_show_signs(key, bar, limit):
    ax = panel(drawn(key))
    found = pg05._map(bar, limit)
    closed = bar.slip_after(found.r, found.phi[:, None])
    sign = np.where(np.abs(closed) < 1e-12, 0, np.sign(closed))
    if (sign == 0).any():
        (image,) = ax.get_images()
        assert np.array_equal(image.get_array() - 1, sign)
    else:  # filled up to the zero line, which is no staircase
        (filled,) = [each for each in ax.collections if each.get_zorder() == 0]
        assert np.array_equal(found.slip_after < 0.0, sign < 0)
        r, phi = np.meshgrid(found.r, np.degrees(found.phi))
        points = np.column_stack([r[::7, ::7].ravel(), phi[::7, ::7].ravel()])
        inside = filled.get_paths()[0].contains_points(points)
        clear = np.abs(closed[::7, ::7].ravel()) > 0.05
        assert np.array_equal(inside[clear], sign[::7, ::7].ravel()[clear] < 0)
    assert np.array_equal(found.hit.reversal[..., 0], sign * np.sign(found.r) > 0)
    if bar.restitution_tangential > 0.0:  # the whole stick area reverses, (49), and a border of the slip areas
        reversal = found.hit.reversal[..., 0]
        assert reversal[found.state == STICK].all() and reversal[found.state != STICK].any()
    else:
        assert not found.hit.reversal[np.abs(np.degrees(found.phi) - 90.0) < 10.0].any()
    heavy = [line for line in ax.get_lines() if line.get_label() == "regimes, bisected"]
    for line, which in zip(heavy, (0, 1), strict=True):
        r, phi = np.array(line.get_data())
        here = np.isfinite(r)
        assert r[here] == pytest.approx(bar.boundaries(np.radians(phi[here]))[which], abs=1e-8)


def test_figure_9_is_continuous_and_piecewise_linear():
    ax = panel(drawn("pg05-fig9"))
    for label, phi in (("pi/2", np.pi / 2), ("pi/4", np.pi / 4)):
        r, after = curve(ax, label)
        assert after == pytest.approx(pg05.SUBCRITICAL.slip_after(r, phi), abs=1e-12)
        assert np.abs(np.diff(after)).max() == pytest.approx(r[1] - r[0])  # slopes +-1: no jump
    r, after = curve(ax, "pi/2")
    known = {0.0: 0.0, 2.0: 2.0, 4.0: 0.0, 6.0: -2.0, -2.0: -2.0, -4.0: 0.0}
    assert [float(np.interp(x, r, after)) for x in known] == pytest.approx(list(known.values()), abs=1e-12)


def test_figure_10_is_a_surface_of_the_ratio(monkeypatch):
    surfaces = []
    monkeypatch.setattr(Axes3D, "plot_surface", lambda self, *arrays, **options: surfaces.append(arrays))
    ax = panel(papers.reproduce("pg05-fig10"))
    assert ax.name == "3d" and ax.get_zlabel() == r"$\gamma_T^+/\gamma_N^+$"
    ((r, phi, after),) = surfaces
    assert after == pytest.approx(pg05.SUBCRITICAL.slip_after(r, np.radians(phi)), abs=1e-12)  # eps_N = 1
    assert np.abs(np.diff(after, axis=1)).max() <= (r[0, 1] - r[0, 0]) * (1 + 1e-9)


def test_ratio_after_is_continuous_over_the_angle():
    """A jump would stay as the grid gets finer; differences of neighbours halve instead."""
    r, steps = np.linspace(-6.0, 6.0, 25), []
    for angles in (400, 800):
        hit = pg05.SUBCRITICAL.impacts(r, data.centres(0.0, np.pi, angles)[:, None])
        steps.append(np.abs(np.diff(hit.tangential_velocity_after[..., 0], axis=0)).max())
    assert steps[1] / steps[0] == pytest.approx(0.5, abs=0.02)


ACCEPTANCE = {  # psi: Stronge e = 0, .5, 1; Walton e = 0, .5, 1; computed independently
    0.25: (-0.222886, -0.175178, 0.105326, -0.151250, -0.151250, -0.151250),
    0.605: (-0.539384, -0.457153, 0.075465, -0.366025, -0.366025, -0.366025),
    1.0: (-0.590559, -0.807584, -0.288971, -0.605, -0.605, -0.605),
    1.5: (-0.244239, -1.012761, -0.677565, -0.25, -0.9075, -0.9075),
    2.0: (0.25, -0.625, -0.874800, 0.25, -0.625, -1.21),
    2.5: (0.75, -0.125, -0.849871, 0.75, -0.125, -1.0),
    2.895: (1.145, 0.27, -0.605, 1.145, 0.27, -0.605),
    4.0: (2.25, 1.375, 0.5, 2.25, 1.375, 0.5),
}


def test_figure_13_has_the_known_values():
    found = data.sphere_comparison(np.array(list(ACCEPTANCE)))
    table = np.array(list(ACCEPTANCE.values()))
    assert found.stronge.T == pytest.approx(table[:, :3], abs=1e-6)
    assert found.walton.T == pytest.approx(table[:, 3:], abs=1e-12)
    assert found.walton_difference < 1e-14


def test_figure_13_laws_coincide_in_gross_slip():
    """[PG05] (59): gamma_T^- - mu (1 + 1/K)(1 + e)."""
    ax = panel(drawn("pg05-fig13"))
    for e, start in ((0.0, 1.75), (0.5, 1.75), (1.0, 2.895)):
        psi, stronge = curve(ax, f"Stronge, e = {e:g}")
        gross = psi > start + 1e-9
        assert stronge[gross] == pytest.approx(psi[gross] - 0.5 * 3.5 * (1.0 + e), abs=1e-12)
        own, walton = curve(ax, f"Walton, e = {e:g}")  # drawn from the common ray to where both laws agree
        assert own[-1] == pytest.approx(start, abs=1.01 * psi[1]) and np.interp(own[-1], psi, stronge) == pytest.approx(
            walton[-1]
        )
        assert walton[0] == pytest.approx(-data.FIG13_EPS_T * own[0])
        assert np.abs(np.interp(own, psi, stronge) - walton).max() > 0.01  # and they do not before
    ray, shared = curve(ax, "common ray")
    assert shared == pytest.approx(-data.FIG13_EPS_T * ray)
    assert curve(ax, "Stronge, e = 0")[1].min() == pytest.approx(-0.6202, abs=1e-3)


@pytest.mark.parametrize("key", KEYS)
def test_caption_and_certificate(key):
    done = drawn(key)
    assert done.source == f"[PG05] Figure {key.removeprefix('pg05-fig')}"
    assert done.figure.get_suptitle() == f"{done.source}. {done.title}"
    assert "check: " in done.figure.get_supxlabel()
    assert done.certificate.failed_steps == 0 and done.certificate.max_residual < 1e-13
    assert done.parameters["half_length"] == 1.0


def test_regions_are_named_inside_themselves():
    with style.look():
        figure = style.new_figure(4, 3)
        ax = figure.add_subplot()
    x, y = np.linspace(0.0, 1.0, 50), np.linspace(0.0, 2.0, 40)
    values = np.zeros((40, 50), dtype=int)
    values[:, 25:] = 1
    values[0, 0] = 2  # too small for a name
    places = pg05_draw.name_regions(ax, x, y, values, {0: "left", 1: "right", 2: "speck"})
    assert [text for *_, text in places] == ["left", "right"]
    assert places[0][0] < 0.5 < places[1][0]
