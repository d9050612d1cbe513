"""The demonstration shows the numbers of the paper and fits on a screen."""

import numpy as np
import pytest

from stickslip.cli import demo, main
from stickslip.complementarity.solve import enumerate_lcp, solve_lcp


def test_demo_explains_the_bar(capsys):
    assert main(["demo"]) == 0
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
