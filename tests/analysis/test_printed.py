"""Results print as a few lines, with the numbers that matter."""

import math

import numpy as np
import pytest

import stickslip as ss
from stickslip.analysis.convergence import converge
from stickslip.trajectory.energy import Energies


def lines_of(result: object, at_most: int = 15) -> list[str]:
    text = str(result)
    assert repr(result) == text, "a notebook shows the text that print does"
    found = text.split("\n")
    assert len(found) <= at_most and "array(" not in text
    return found


def test_energies_show_their_extremes() -> None:
    run = ss.library.bouncing_ball().simulate(t_end=0.2)
    head, kinetic, potential, total = lines_of(run.energy)
    assert head.split() == ["201", "records", "[J]", "first", "least", "largest", "last"]
    end = f"{run.energy.potential[-1]:.6g}"  # it only falls
    assert potential.split() == ["potential", "9.81", end, "9.81", end]
    assert kinetic.split()[1:3] == ["0", "0"] and kinetic.split()[3] == f"{run.energy.kinetic.max():.6g}"
    assert [float(cell) for cell in total.split()[1:]] == pytest.approx([9.81] * 4, abs=1e-5)
    assert "potential" in run.energy._repr_html_() and run.energy._repr_html_().count("<tr>") == 4


def test_energies_without_a_potential_say_nan() -> None:
    *_, potential, total = lines_of(Energies(np.array([1.0, 3.0, 2.0]), np.full(3, math.nan)))
    assert potential.split()[1:] == total.split()[1:] == ["nan"] * 4


def test_energies_of_a_circuit() -> None:
    run = ss.library.get("bridge_rectifier").simulate(t_end=1e-3)
    names = [line.split()[0] for line in lines_of(run.energy)[1:]]
    assert names == ["magnetic", "electric", "total"]


def test_event_times_show_their_derivatives() -> None:
    ball = ss.library.bouncing_ball()
    events = ss.sensitivity(ball, wrt=["g"]).event_times
    head, first, *_, last = lines_of(events)
    assert head.split()[-1] == "dt/dg" and first.split()[1:3] == ["impact", "table"]
    t, slope = float(first.split()[0]), float(first.split()[-1])
    assert slope == pytest.approx(-t / (2.0 * 9.81), rel=1e-5), "a fall from h takes t = sqrt(2 h / g)"
    assert last == f"... {len(events) - 12} more events"
    assert lines_of(ss.sensitivity(ball, wrt=["g"], t_end=0.1).event_times) == ["no events"]


def test_answers_of_an_enumeration_take_a_line_each() -> None:
    four = ss.enumerate_lcp(-np.eye(2), [1, 1])
    head, *rows = lines_of(four)
    assert head == "4 answers" and len(rows) == 4 and isinstance(four, list)
    assert rows[1] == "  1: isolated solution, residual 0.0e+00, x = [1. 0.], y = [0. 1.]"
    assert lines_of(ss.enumerate_lcp(-np.eye(4), [1] * 4))[-1] == "  ... 4 more"
    assert lines_of(ss.enumerate_lcp([[-1.0]], [-1.0])) == ["0 answers"]


def test_enumerated_answers_to_a_contact_do_not_say_that_there_is_none() -> None:
    (answer,) = ss.enumerate_friction(ss.FrictionProblem(np.eye(3), [-1.0, 0.3, 0.4], 0.5))
    assert answer.status == "solved by enumerate"
    assert ss.solve_friction(ss.FrictionProblem(np.zeros((0, 0)), [], 0.5)).status == "solved: there is no contact"


def test_maps_snapshots_outcomes_and_orders_are_short() -> None:
    oscillator = ss.library.impact_oscillator()
    head, first = lines_of(ss.basins(oscillator, {"x": [0.0, -0.5], "v": [0.0]}))
    assert head == "basins of impact_oscillator: 2 starts (x 2, v 1), 1 attractor"
    assert first == "  0: cycle of 1, period 3.69599 s, 100.0 % of the starts"
    ball = ss.library.bouncing_ball()
    (snapshot,) = lines_of(ss.Simulator(ball).save())
    assert snapshot.startswith("<Snapshot of bouncing_ball") and snapshot.endswith("t = 0 s>")
    assert lines_of(ss.outcomes(ball, {"y": 1e-3}, n=3, t_end=0.2))[0] == "1 outcome of 3 runs"
    head, order, judge = lines_of(converge(ball, ["paoli-schatzman"], dt=0.01, halvings=1, t_end=0.2))
    assert "2 runs" in head and order.split()[0] == "paoli-schatzman" and judge.startswith("judge: event-driven")
