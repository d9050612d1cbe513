"""Arcs of motions with two tangents: they can be computed again from what they began with, bit for bit."""

from itertools import islice

import numpy as np
import pytest
from scipy.integrate import DOP853, Radau

import stickslip as ss
from stickslip.contact.planar import solver_from
from stickslip.events.event_driven import EventDriven
from stickslip.events.space_arcs import SpaceKept, put_back, stand_of
from stickslip.laws import Newton
from tests.run.signalled import shaken_puck
from tests.thinned import FULL


def motion(puck):
    q, u, p = puck.system.check(puck.q0, puck.u0, None, 0.0)
    return EventDriven().motion(puck.system, q, u, p, 0.0, 0.4, Newton(), solver_from("auto"))


def seen(walk, arc):
    """All that an arc and its walk know, as bytes."""
    arrays = {name: np.asarray(value).tobytes() for name, value in walk.kept.arrays().items()}
    return arrays, arc.t_A, arc.t_E, arc.vector(np.linspace(arc.t_A, arc.t_E, 5)).tobytes(), walk.book.copy(), walk.load


def test_arcs_can_be_computed_again():
    """With stick, slip, impacts and the implicit method, at its first steps and behind them."""
    puck = shaken_puck()
    walk, arcs, kinds = motion(puck), [], {}
    for i, arc in enumerate(walk.arcs()):
        kept = {name: np.array(value) for name, value in walk.kept.arrays().items()}
        kept["happened"] = np.array(walk.happened[: walk.kept.happened]).reshape(-1, 3)
        arcs.append((kept, seen(walk, arc)))
        kinds.setdefault(("stand J" in kept, "stand Z" in kept, "stand LU_real" in kept), []).append(i)
    assert set(kinds) >= {(False, False, False), (True, False, False), (True, True, False)}
    names = {ss.trajectory.tables.EVENT_KINDS[kind] for _, kind, _ in walk.happened}
    assert names >= {"impact", "closes", "sticks", "slips"}
    for i in sorted({i for found in kinds.values() for i in found[:: len(found) // 5 + 1]} - {len(arcs) - 1}):
        again = motion(puck)
        again.go_back(SpaceKept.from_arrays(arcs[i][0]))
        again.happened = [tuple(row) for row in arcs[i][0]["happened"]]
        for number, arc in enumerate(islice(again.arcs(), 2)):
            assert seen(again, arc) == arcs[i + number][1], (i, number)


def test_a_run_may_end_and_be_looked_at_right_where_slip_ends():
    """Arcs hold every time up to the end of the last step of a slip, to the last bit."""
    ball = ss.library.sliding_ball()
    stops = float(ball.simulate(dt=0.3, t_end=0.3, stepper="event-driven", progress=False).events()["time"][0])
    rolls = np.array([5.0 + 2.0 * 0.028 * 20.0, 2.0 * 0.028 * 60.0]) / 7.0  # 5/7 v + 2/7 R (omega_y, -omega_x)
    for t_end in (np.nextafter(stops, 0.0), stops, np.nextafter(stops, 1.0)):
        run = ball.simulate(dt=float(t_end), t_end=float(t_end), stepper="event-driven", progress=False)
        assert run.complete and run.t[-1] == t_end
        assert run.u[-1, :2] == pytest.approx(rolls, abs=1e-12)
    run = ball.simulate(dt=stops, t_end=2.0 * stops, stepper="event-driven", progress=False)
    assert run.complete and run.u[1, :2] == pytest.approx(rolls, abs=1e-12)
    found = ss.sensitivity(ball, "friction", t_end=stops, samples=2)
    assert not found.reliable and found.reason
    q, u, p = ball.system.check(ball.q0, ball.u0, None, 0.0)
    arcs = list(EventDriven().motion(ball.system, q, u, p, 0.0, stops, Newton(), solver_from("auto")).arcs())
    assert [arc.t_A for arc in arcs[1:]] == [arc.t_E for arc in arcs[:-1]] and arcs[-1].t_E == stops
    last = arcs[-1].vector(np.linspace(arcs[-1].t_A, stops, 9))
    assert last[:, 6:8] == pytest.approx(rolls + 0.0 * last[:, 6:8], abs=1e-6) and arcs[-1].mode.slides[0]


@pytest.mark.parametrize("method", [DOP853, Radau])
def test_an_integrator_goes_on_from_where_another_stood(method):
    """Whatever it carries from step to step: step sizes, errors, Jacobian, factors, first guesses."""

    def rates(t, y):
        return np.array([y[1], 30.0 * (1.0 - y[0] ** 2) * y[1] - y[0], np.cos(t) - y[2]])

    def solver(t, y, **more):
        implicit = {"jac": lambda t, y: _jacobian(rates, t, y)} if method is Radau else {}
        return method(rates, t, y, 60.0, rtol=1e-6, atol=1e-9, **implicit, **more)

    first, states, kept = solver(0.0, np.array([2.0, 0.0, 0.0])), [], 0
    while first.status == "running" and len(states) < 300:
        states.append({name: np.array(value) for name, value in stand_of(first).items()})
        kept += "LU_real" in states[-1]
        first.step()
        again = solver(float(states[-1]["t"]), states[-1]["y"], first_step=60.0 - float(states[-1]["t"]))
        put_back(again, states[-1])
        again.step()
        assert (again.t, again.h_abs) == (first.t, first.h_abs) and np.array_equal(again.y, first.y), len(states)
        middle = 0.5 * (first.t_old + first.t)
        assert np.array_equal(again.dense_output()(middle), first.dense_output()(middle))
    assert len(states) > 50 and (method is DOP853 or 0 < kept < len(states) - 1)


def _jacobian(rates, t, y):
    steps = 1e-6 * np.eye(len(y))
    return np.column_stack([(rates(t, y + step) - rates(t, y - step)) / 2e-6 for step in steps])


@pytest.mark.slow
def test_events_are_counted_in_a_thousandth_of_the_run():
    """A puck that is shaken has more events than `max_events` in all, and few of them in a row."""
    puck = shaken_puck()
    end = 0.4 if FULL else 0.25
    options = dict(dt=end, t_end=end, progress=False)
    run = puck.simulate(stepper=ss.EventDriven(), **options)
    times = np.unique(run.events()["time"])
    crowd = max(int(np.sum((times > t - 1e-3 * end) & (times <= t))) for t in times)
    assert len(times) > crowd + 1
    again = puck.simulate(stepper=ss.EventDriven(max_events=crowd + 1), **options)
    assert again.complete and again.q.tobytes() == run.q.tobytes()
    few = puck.simulate(stepper=ss.EventDriven(max_events=1), **options)
    assert few.complete or f"events within {1e-3 * end:g} s" in few.status
