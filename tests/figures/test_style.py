"""Labels, thinning and export, which all figures share."""

import numpy as np
import pytest
from PIL import Image

from stickslip.figures import style
from stickslip.figures.sheet import dress, fit, inches, on_paper, sheet


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("y", "$y$"),
        ("phi_M", r"$\varphi_{M}$"),
        ("omega_S", r"$\omega_{S}$"),
        ("u_phi", r"$u_{\varphi}$"),
        ("x_1", "$x_{1}$"),
        ("belt_velocity", "belt velocity"),
    ],
)
def test_names_become_symbols(name, expected):
    assert style.symbol(name) == expected


def test_axis_labels_name_quantity_and_unit():
    assert style.axis_label("phi_M", {"phi_M": "rad"}) == r"$\varphi_{M}$ [rad]"
    assert style.axis_label(("x", "y"), {"x": "m/s^2", "y": "m/s^2"}) == "$x$, $y$ [m/s²]"
    assert style.axis_label("s", {}) == "$s$"


def test_numbers_and_prefixes():
    assert [style.number(x) for x in (1e-5, 0.001, 2.5e-10, 3e20)] == ["1e-5", "0.001", "2.5e-10", "3e20"]
    assert style.prefix(np.array([-0.004, 0.001]), "J") == (1e3, "mJ")
    assert style.prefix(np.array([12.0]), "J") == (1.0, "J")
    assert style.prefix(np.zeros(3), "J") == (1.0, "J")
    assert style.prefix(np.array([3e-7, np.nan]), "J") == (1e9, "nJ")


def test_thinning_keeps_ends_and_extremes():
    t = np.linspace(0.0, 1.0, 100_001)
    y = np.sin(40 * t)
    y[54_321] = 7.0
    t_thin, y_thin = style.thin(t, y, points=2000)
    assert len(t_thin) <= 2100
    assert (t_thin[0], t_thin[-1]) == (0.0, 1.0) and y_thin.max() == 7.0
    assert np.isin(t_thin, t).all() and np.all(np.diff(t_thin) > 0)
    short, same = style.thin(t[:100], y[:100])
    assert short is not t and np.array_equal(same, y[:100])


def line_figure():
    with style.look():
        figure = style.new_figure(3, 2)
        figure.add_subplot().plot([0, 1], [0, 1])
    return figure


@pytest.mark.parametrize("kind", style.FORMATS)
def test_files_are_signed_and_the_same_each_time(tmp_path, kind):
    first, second = (style.save(line_figure(), tmp_path / f"{name}.{kind}", title="A line") for name in "ab")
    assert first.read_bytes() == second.read_bytes()
    assert style.is_ours(first)


def test_picture_has_the_size_asked_for(tmp_path):
    with Image.open(style.save(line_figure(), tmp_path / "a.png", dpi=50)) as picture:
        assert picture.size == (150, 100)
        assert picture.text["Title"] == ""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Δt = 1e-5 s, μ = 0.3", r"$\Delta t$ = $10^{-5}$ s, $\mu$ = 0.3"),
        ("residual ≤ 2.3e-16", r"residual ≤ $2.3\times 10^{-16}$"),
        ("t [s]", "$t$ [s]"),
        ("$1e-5 μ$ stays", "$1e-5 μ$ stays"),
        ("Painlevé, 0.0e+00 J", "Painlevé, 0.0 J"),
    ],
)
def test_formulas_are_set_in_mathematical_type(words, expected):
    assert style.typeset(words) == expected


def test_widths_of_journals():
    assert [inches(text) for text in ("85mm", "8.5 cm", "3in")] == pytest.approx([85 / 25.4, 85 / 25.4, 3.0])
    for text in ("85", "-85mm", "mm", "3 ft", "5mm"):
        with pytest.raises(ValueError, match="width must"):
            inches(text)


def test_narrow_paper_stacks_panels_and_bare_paper_has_no_words():
    with style.look(), on_paper("85mm"):
        figure, axes = sheet(1, 2, 2.0)
        dress(figure, "A title that is far too long for one line of a narrow column", "a note", axes[0].plot([0, 1]))
        assert figure.get_figwidth() == pytest.approx(85 / 25.4) and figure.get_figheight() > 4.0
        figure.canvas.draw()
        assert axes[0].get_position().y0 > axes[1].get_position().y1 and "\n" in figure.get_suptitle()
        assert axes[0].get_position().y1 < figure._suptitle.get_window_extent().y0 / figure.bbox.height
    with style.look(), on_paper(None, bare=True):
        figure, _ = sheet(1, 2, 2.0)
        dress(figure, "A title", "a note")
        assert (figure.get_suptitle(), figure.get_supxlabel()) == ("", "") and figure.get_figheight() < 2.2


def test_legends_fit_on_narrow_paper():
    with style.look(), on_paper("85mm"):
        figure, (ax,) = sheet(1, 1, 2.0)
        words = ("short", "some words more", "short", "a label of many words", "closed forms")
        dress(figure, "A title", "", [ax.plot([0, 1], label=word)[0] for word in words])
        figure.canvas.draw()
        assert figure.legends[0].get_window_extent().x1 <= figure.bbox.x1


def test_a_figure_that_is_drawn_already_gets_another_width():
    figure = line_figure()
    fit(figure, "50mm")
    assert figure.get_size_inches() == pytest.approx([50 / 25.4, 2 * 50 / 25.4 / 3])


def test_other_files_are_not_ours(tmp_path):
    other = tmp_path / "other.png"
    other.write_bytes(b"something else")
    assert not style.is_ours(other)


def test_unknown_format_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"must end in .png, .svg, .pdf, got 'a.bmp'"):
        style.save(line_figure(), tmp_path / "a.bmp")
    assert not list(tmp_path.iterdir())


def test_users_settings_are_left_alone():
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    line_figure()
    assert dict(mpl.rcParams) == before


def test_a_figure_appears_whole_or_not_at_all(tmp_path, monkeypatch):
    file = style.save(style.new_figure(2.0, 1.0), tmp_path / "a.png")
    before = file.read_bytes()

    def interrupted(self, path, **_):
        path.write_bytes(b"half a picture")
        raise KeyboardInterrupt

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", interrupted)
    with pytest.raises(KeyboardInterrupt):
        style.save(style.new_figure(2.0, 1.0), file)
    assert file.read_bytes() == before and list(tmp_path.iterdir()) == [file]


def test_long_captions_are_wrapped_outside_formulas():
    figure, _ = sheet(1, 1, 2.0, width=4.0)
    dress(figure, "A title", "short\n" + "; ".join(["a part with a formula $a, b$ in it"] * 8))
    lines = figure.get_supxlabel().split("\n")
    assert lines[0] == "short" and len(lines) > 3
    assert all(line.count("$") % 2 == 0 for line in lines)
    figure.canvas.draw()
    box = figure._supxlabel.get_window_extent()
    assert box.x1 <= figure.bbox.x1
