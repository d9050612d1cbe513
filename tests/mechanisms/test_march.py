"""Parts of the compiled march as plain Python, for the system of the template: a point mass above a floor."""

import ast
from pathlib import Path

import numpy as np
import pytest

from stickslip import codes, library
from stickslip.engine import Block, Memory
from stickslip.lcp.linear import ldl_factor, ldl_solve
from stickslip.mechanisms import templates
from stickslip.mechanisms.templates import march, phases, room, step
from stickslip.mechanisms.templates.structs import Kept, Records, Run

GRAVITY, DT = 10.0, 0.01
FOLDER = Path(templates.__file__).parent


def begun(q, u, restitution=0.0):
    """A march of the point mass that is about to do its first step."""
    memory = Memory.start(np.array([q]), np.array([u]), np.array([GRAVITY]), 0.0, 1, DT)
    kept = Kept(*(getattr(memory, name) for name in Kept._fields))
    m = room.new_march(Run(memory.p, 0.0, DT, 100, 1e-10), kept)
    march.take_state(Run(memory.p, 0.0, DT, 100, 1e-10), kept, m)
    assert march.begin_march(m, 0) == codes.DONE
    m.laws.eps_N[0] = restitution
    m.memory.reach[0] = 0.0
    return m


def test_a_free_step_of_the_midpoint_rule_by_hand():
    """q_M = q_A + dt/2 u_A; u_E = u_A - g dt; q_E = q_M + dt/2 u_E: [GS05] 5 without closed contacts."""
    m = begun(q=1.0, u=2.0)
    status, closed = step.do_step(m, phases.times_of(m.run, 0))
    step.advance_state(m, closed)
    assert (status, closed) == (codes.DONE, 0)
    assert m.step.q_C[0] == pytest.approx(1.01)
    assert m.motion.u[0] == pytest.approx(1.9)
    assert m.motion.q[0] == pytest.approx(1.01 + 0.5 * DT * 1.9)


@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_an_impact_in_the_midpoint_rule_by_hand(restitution):
    """Closed at q_M = -0.005: u_E = -eps u_A, and Lambda = m (u_E - u_A) + m g dt balances the step."""
    m = begun(q=0.005, u=-2.0, restitution=restitution)
    status, closed = step.do_step(m, phases.times_of(m.run, 0))
    step.advance_state(m, closed)
    assert (status, closed) == (codes.DONE, 1)
    assert m.motion.u[0] == pytest.approx(2.0 * restitution, abs=1e-15)
    assert m.contacts.Lambda[0, 0] == pytest.approx(2.0 * (1.0 + restitution) + GRAVITY * DT)
    assert m.motion.q[0] == pytest.approx(-0.005 + 0.5 * DT * 2.0 * restitution, abs=1e-15)
    assert m.tally[codes.MAX_PENETRATION] == pytest.approx(0.005)
    assert m.tally[codes.MAX_RESIDUAL] <= 1e-14


def test_times_of_a_step():
    """[GS05] 5, step 1."""
    times = phases.times_of(Run(None, 3.0, 0.5, 0, 0.0), 4)
    assert times == (4, 5.0, 5.25, 5.5)


def test_march_as_plain_python_is_the_compiled_one():
    """The same source, bit for bit: some bounces of the point mass, cut into two calls."""
    ends = []
    for function in (march.march.python, march.march):
        memory = Memory.start(np.array([0.02]), np.array([0.3]), np.array([GRAVITY]), 0.0, 1, DT)
        kept = Kept(*(getattr(memory, name) for name in Kept._fields))
        block = Block.room(60, 60, memory.sizes)
        records = Records(block.q, block.u, block.impulse, block.state, block.events)
        run = Run(memory.p, memory.t0, memory.dt, 100, 1e-10)
        for steps in (35, 20):
            status, done, events, written = function(run, kept, records, steps, 1)
            assert (status, done, written) == (codes.DONE, steps, steps)
        bits = [part.view(np.int64) for part in (memory.row, block.q[:20], block.u[:20], block.impulse[:20])]
        ends.append((*(part.copy() for part in bits), block.state[:20].copy(), events))
        assert memory.book[codes.ITERATIONS] > 0  # it has landed
    for plain, compiled in zip(*ends, strict=True):
        assert np.array_equal(plain, compiled)


LOOPS = {
    "kane_pendulum": "moreau-midpoint",  # a contact lasts while masses and directions change
    "four_bar": "moreau-midpoint",  # directions alone change
    "newton_cradle": "moreau-midpoint",  # balls touch and carry no load
    "bouncing_ball": "paoli-schatzman",  # contact states are written at impacts and with records
}


@pytest.mark.filterwarnings("ignore:the contacts of 'kane_pendulum' put")
@pytest.mark.parametrize(
    "name", [pytest.param("four_bar", marks=pytest.mark.slow), *(name for name in LOOPS if name != "four_bar")]
)
def test_steps_that_are_not_recorded_have_loops_of_their_own_and_equal_bits(name):
    """A recorded step is never done in the loops of flights and of lasting contacts; others are, where they can be."""
    scenario, steps = library.get(name), 6000
    dt = scenario.t_end / steps
    often, seldom = (scenario.simulate(dt=dt, t_end=steps * dt, stepper=LOOPS[name], every=every) for every in (1, 600))
    assert len(often.t) == steps + 1 and len(seldom.t) == 11
    for part in ("q", "u", "contact_state"):
        assert getattr(seldom, part).tobytes() == getattr(often, part)[::600].tobytes()
    assert often.impact_table["time"].tobytes() == seldom.impact_table["time"].tobytes()
    for measure in ("max_residual", "max_penetration", "contact_work", "max_energy_gain"):
        assert getattr(often.certificate, measure) == getattr(seldom.certificate, measure)


def test_factors_of_a_positive_definite_matrix():
    """L D L^T solves, refuses an indefinite matrix, and has 1 / D on the diagonal."""
    M = np.array([[4.0, 2.0, 0.5], [2.0, 5.0, 1.0], [0.5, 1.0, 3.0]])
    factors, x = M.copy(), np.array([1.0, -2.0, 0.5])
    assert ldl_factor(factors) and factors[0, 0] == 0.25
    ldl_solve(factors, x)
    assert M @ x == pytest.approx([1.0, -2.0, 0.5])
    assert not ldl_factor(np.array([[1.0, 2.0], [2.0, 1.0]]))


def test_parts_are_short_and_their_calls_too():
    """No part of the march has more than 60 lines, and none takes more than eight arguments."""
    for file in sorted(FOLDER.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 60, f"{file.name}: {node.name}"
                assert len(node.args.args) <= 8, f"{file.name}: {node.name}"
