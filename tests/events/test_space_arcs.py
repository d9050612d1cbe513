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
