"""Errors against the judge: the norms themselves, and the orders that they measure."""

import json
import math

import numpy as np
import pytest

import stickslip as ss
from stickslip.analysis.convergence import Errors, converge, graph_distance, slope


def test_graph_distance_of_a_jump_that_comes_late_is_the_delay():
    """Steps at 0.5 and 0.5 + d: the graphs are d apart, however high the step is."""
    for d in (0.1, 1e-3, 1e-6):
        a = np.array([[0, 0], [0.5, 0], [0.5, 1], [1, 1]], dtype=float)
        b = np.array([[0, 0], [0.5 + d, 0], [0.5 + d, 1], [1, 1]], dtype=float)
        assert graph_distance(a, b) == pytest.approx(d, rel=1e-9)
        assert graph_distance(b, a) == pytest.approx(d, rel=1e-9)
        assert graph_distance(a, a) == 0.0


def test_graph_distance_sees_what_one_graph_lacks():
    flat = np.array([[0, 0], [1, 0]], dtype=float)
    spike = np.array([[0, 0], [0.5, 0], [0.5, 0.3], [0.5, 0], [1, 0]], dtype=float)
    assert graph_distance(flat, spike) == pytest.approx(0.3)
    shifted = flat + np.array([0.0, 0.01])
    assert graph_distance(flat, shifted) == pytest.approx(0.01)


def test_slope_leaves_out_what_the_judge_cannot_tell():
    rows = [Errors("x", h, 3 * h**2, 5 * h, math.nan, 0.1) for h in (1e-1, 1e-2, 1e-3)]
    assert slope(rows, "x", "q_sup") == pytest.approx(2.0)
    assert slope(rows, "x", "u_L1") == pytest.approx(1.0)
    assert slope(rows, "x", "q_sup", floor=1e-7) == pytest.approx(2.0)
    assert math.isnan(slope(rows, "x", "u_graph"))
    assert math.isnan(slope(rows, "x", "q_sup", floor=1.0))


def test_orders_of_the_midpoint_rule_on_a_bouncing_ball():
    """Impacts come late by a part of dt: order 1 in L1 and graph distance."""
    result = converge(ss.library.bouncing_ball(), ["moreau-midpoint", "event-driven"], t_end=1.2, halvings=6)
    slopes = result.slopes["moreau-midpoint"]
    assert slopes["u_L1"] == pytest.approx(1.0, abs=0.15)
    assert slopes["u_graph"] == pytest.approx(
        1.0, abs=0.3
    )  # single errors scatter with where in a step the impact falls
    finest = [row for row in result.rows if row.stepper == "moreau-midpoint"][-1]
    assert finest.q_sup < 5e-4 and finest.u_L1 < 5e-4 and finest.u_graph < 5e-4
    assert result.floor["q_sup"] < 1e-13 and result.floor["u_L1"] < 1e-13
    assert all(row.status == "finished" and row.seconds > 0.0 for row in result.rows)
    json.dumps(result.to_dict(), allow_nan=False)


@pytest.mark.slow
def test_order_two_without_jumps_of_the_velocity():
    result = converge(ss.library.friction_oscillator(), ["moreau-midpoint"], t_end=2.0, halvings=3)
    for norm in ("q_sup", "u_L1"):
        assert result.slopes["moreau-midpoint"][norm] == pytest.approx(2.0, abs=0.3)
    assert result.rows[-1].q_sup < 1e-6
    assert set(result.slopes) == {"moreau-midpoint"}


def test_the_judge_is_judged_too():
    result = converge(ss.library.friction_oscillator(), ["event-driven"], t_end=2.0, halvings=1)
    errors = [row.q_sup for row in result.rows]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-8 and errors[0] > 1e-6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steppers": ["euler"]}, "unknown stepper 'euler'"),
        ({"dt": 3.0}, "dt must be positive and t_end at least dt"),
        ({"halvings": 0}, "halvings must lie between 1 and 20"),
        ({"rtol": 1e-20}, "rtol must be a number between"),
    ],
)
def test_wrong_requests(options, message):
    with pytest.raises(ValueError, match=message):
        converge(ss.library.bouncing_ball(), **options)
