"""The demonstration shows the numbers of the paper and fits on a screen."""

import numpy as np
import pytest

from stickslip.cli import demo_bar as demo
from stickslip.cli import main
from stickslip.lcp.solve import enumerate_lcp, solve_lcp


def test_demo_explains_the_bar(capsys):
    assert main(["demo", "bar"]) == 0
    out = capsys.readouterr().out
    assert "0.5084745763" in out  # [PG05] eq. (29)
    assert "backward slip" in out and "one solution" in out and "2 solutions" in out
    lines = out.splitlines()
    assert len(lines) <= 30 and max(map(len, lines)) <= 120


@pytest.mark.parametrize(
    ("gamma_T", "kind", "Lambda_N", "Lambda_T", "gamma_N_after", "gamma_T_after", "energy"),
    [
        (0.5, "forward slip", 0.7317073171, -0.2195121951, 0.5, 1.0487804878, -0.3529149316),
        (-3.0, "backward slip", 0.5084745763, 0.1525423729, 0.5, -1.8559322034, -0.4974863545),
        (-0.5, "forward slip", 0.7317073171, -0.2195121951, 0.5, 0.0487804878, -0.1334027365),
    ],
)
def test_reading_of_the_bar(gamma_T, kind, Lambda_N, Lambda_T, gamma_N_after, gamma_T_after, energy):
    """Closed forms (29)-(32) and (42)-(45) of [PG05], Newton's law with eps_T = 0."""
    bar = demo.BarImpact(np.pi / 4, 0.3, 0.5, 0.0, -1.0, gamma_T)
    assert bar.delassus == pytest.approx((2.5, 2.5, 1.5))
    reading = bar.reading(solve_lcp(*bar.lcp()).x)
    assert reading["kind"] == kind
    expected = {
        "normal_impulse": Lambda_N,
        "tangential_impulse": Lambda_T,
        "normal_velocity": gamma_N_after,
        "tangential_velocity": gamma_T_after,
        "energy_change": energy,
    }
    assert {key: reading[key] for key in expected} == pytest.approx(expected, rel=1e-8)


def test_stick_with_equal_restitution():
    bar = demo.BarImpact(np.pi / 4, 0.3, 0.5, 0.5, -1.0, -0.5)
    reading = bar.reading(solve_lcp(*bar.lcp()).x)
    assert reading["kind"] == "stick"
    assert reading["normal_impulse"] == pytest.approx(0.65625, rel=1e-9)
    assert reading["tangential_impulse"] == pytest.approx(-0.09375, rel=1e-9)
    assert reading["energy_change"] == pytest.approx(-0.15234375, rel=1e-9)


def test_painleve_has_an_impact_without_collision():
    kinds = {demo.PAINLEVE.reading(s.x)["kind"] for s in enumerate_lcp(*demo.PAINLEVE.lcp())}
    assert kinds == {"no impulse", "stick"}


def test_woodpecker_is_run_explained_and_drawn(capsys, tmp_path):
    picture = tmp_path / "toy.png"
    assert main(["demo", "--out", str(picture)]) == 0
    text = capsys.readouterr().out
    assert "every 146 ms it pecks once and drops 19." in text
    assert "0 failed steps" in text
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert len(text.splitlines()) < 20


def test_demo_replaces_no_foreign_file_and_names_its_choices(capsys, tmp_path):
    foreign = tmp_path / "mine.png"
    foreign.write_bytes(b"precious")
    assert main(["demo", "--out", str(foreign)]) == 2
    assert foreign.read_bytes() == b"precious"
    assert main(["demo", "bard"]) == 2
    assert "woodpecker, bar" in capsys.readouterr().err
