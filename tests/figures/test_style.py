"""Labels, thinning and export, which all figures share."""

import numpy as np
import pytest
from PIL import Image

from stickslip.figures import style


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
    figure = style.new_figure(4.0, 2.0)
    style.caption(figure, "short\n" + "; ".join(["a part with a formula $a, b$ in it"] * 8))
    lines = figure.get_supxlabel().split("\n")
    assert lines[0] == "short" and len(lines) > 3
    assert all(line.count("$") % 2 == 0 for line in lines)
    figure.canvas.draw()
    box = figure._supxlabel.get_window_extent()
    assert box.x1 <= figure.bbox.x1
