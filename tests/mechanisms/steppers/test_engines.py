"""The compiled kernel and the NumPy reference are the same method: step by step, on every kind of system."""

import numpy as np
import pytest

import stickslip as ss
from stickslip import codes, library
from stickslip.engine import Block, Memory
from stickslip.mechanisms.engines import DONE, Compiled, Reference
from stickslip.mechanisms.system import CONTACT
from stickslip.scenario import Scenario
from stickslip.trajectory import IMPACT, OPEN
from tests.mechanisms.steppers import systems
from tests.thinned import examples, thinned


def bead():
    return Scenario(systems.bead_by_functions(), [0.3], [3.0], 1e-2, 10.0, "Bead", "test")


def blocks():
    n = 7
    # 1e-6 m inside the belt: a gap of exactly zero would leave it to rounding whether a contact is closed.
    q0 = np.concatenate([1.01 * np.arange(n), 0.002 * (np.arange(n) % 3) - 1e-6])
    u0 = np.concatenate([np.linspace(1.0, -1.0, n), np.zeros(n)])
    return Scenario(systems.row_of_blocks(n), q0, u0, 2e-3, 1.0, "Blocks", "test")


def particle():
    """Slides, sticks and strikes the floor with both restitutions."""
    params = {"mu": 0.3, "eps_N": 0.6, "eps_T": 0.4}
    return Scenario(systems.point_mass(), [0.0, 0.05], [1.5, 0.0], 2e-3, 1.0, "Particle", "test", params=params)


def polygon():
    return Scenario(systems.particle_in_a_polygon(), [0.0, 0.0], [5.0, 3.0], 2e-3, 1.0, "Particle", "test")


def stiff_table():
    return Scenario(systems.ball_on_a_stiff_table(), [0.05, 0.0], [0.0, 0.0], 1e-3, 1.0, "Ball", "test")


# Scenario, step size and steps. The step sizes are so coarse that a few hundred steps see every phase of the motion,
# with several contacts closed at once; for further entries of the library ten times their own.
CASES = {name: (getattr(library, name), None, 400) for name in library.names()} | {
    "woodpecker": (library.woodpecker, 1e-3, 600),
    "bouncing_ball": (library.bouncing_ball, 5e-3, 400),
    "bouncing_ball_on_table": (library.bouncing_ball_on_table, 1e-3, 600),
    "brick_on_ramp": (library.brick_on_ramp, 5e-3, 400),
    "friction_oscillator": (library.friction_oscillator, 1e-2, 600),
    "gear_rattle": (library.gear_rattle, 2e-4, 600),
    "impacting_bar": (library.impacting_bar, 1e-3, 400),
    "newton_cradle": (library.newton_cradle, 2.5e-3, 400),  # the first blow after 111 steps
    "pendulum_against_stop": (library.pendulum_against_stop, 1e-2, 600),
    "every element": (systems.every_element, 4e-3, 500),
    "bead by functions": (bead, 1e-2, 300),
    "row of blocks": (blocks, 2e-3, 150),
    "particle on a floor": (particle, 2e-3, 500),
    "particle in a polygon": (polygon, 2e-3, 500),
    "ball on a stiff table": (stiff_table, 1e-3, 300),
}


def case_of(name):
    build, dt, steps = CASES[name]
    scenario = build()
    return scenario, dt or 10 * scenario.dt, steps


def close(value, expected, what):
    """Equal to 1e-12 of the largest entry: two orders of adding the same numbers."""
    scale = np.abs(expected).max(initial=0.0)
    np.testing.assert_allclose(value, expected, rtol=0, atol=1e-12 * scale, err_msg=what)


def engines(system, stepper=None):
    solver = ss.Auto()
    stepper = stepper or ss.MoreauMidpoint()
    return Compiled.build(system, stepper, solver), Reference(system, stepper, solver)


STEPPERS = {
    "moreau-midpoint": ss.MoreauMidpoint(),
    "moreau-jean": ss.MoreauJean(),
    "backward euler": ss.MoreauJean(theta=1.0),
    "stewart-trinkle": ss.StewartTrinkle(),
    "paoli-schatzman": ss.PaoliSchatzman(),
}
# Each kernel takes seconds to compile.  The quick cases of the midpoint rule are those whose kernels other tests need
# as well; of the other steppers, the smallest systems with friction, both restitutions and a stiff spring.
TYPICAL = ("woodpecker", "every element")
STIFF = "ball on a stiff table"  # blows up by explicit steppers
SMALL = (STIFF, "particle on a floor", "particle in a polygon")  # for quick tests alone
SELDOM = (
    "painleve_rod", "two_balls", "three_masses", "chatterjee_rod", "angled_bar", "newton_cradle", "gear_rattle",
    "pendulum_against_stop", "impact_oscillator", "impacting_bar", "kane_pendulum", "four_bar", "block_on_belt",
    "slider_crank_ideal", "row of blocks", "rimless_wheel", "sliding_ball", "sliding_top", "sliding_coin",
)  # fmt: skip
QUICK = {
    ("backward euler", STIFF),
    ("stewart-trinkle", "particle on a floor"),
    ("paoli-schatzman", "particle on a floor"),
} | {("moreau-midpoint", case) for case in CASES if case not in (*SELDOM, STIFF)}
PAIRS = [
    pytest.param(stepper, case, marks=[] if (stepper, case) in QUICK else pytest.mark.slow)
    for stepper in STEPPERS
    for case in CASES
    if (stepper, case) in QUICK or (case not in SMALL and (stepper != "backward euler" or case not in TYPICAL))
]


def without_tangential_restitution(system, stepper):
    """Parameters for a stepper that has none."""
    return {name: 0.0 for name in system.parameter_names if name in ("grip", "eps_T") and stepper == "paoli-schatzman"}


@thinned
@pytest.mark.parametrize("stepper, case", PAIRS)
def test_one_step_from_the_same_state(stepper, case):
    """Restarted from the kernel's state at every step, so that chaos cannot hide or feign a difference."""
    scenario, dt, steps = case_of(case)
    if (stepper, case) in QUICK:
        steps = examples(min(steps, 120), steps)
    system = scenario.system
    n = system.n_contacts
    compiled, reference = engines(system, STEPPERS[stepper])
    p = system.parameter_vector((scenario.params or {}) | without_tangential_restitution(system, stepper))
    memory = Memory.start(scenario.q0, scenario.u0, p, 0.0, n, dt)
    impulse_scale, seen, impacts = 0.0, set(), 0
    for step in range(steps):
        theirs = memory.copy()
        block, other = Block.room(1, 4, memory.sizes), Block.room(1, 4, memory.sizes)
        assert compiled.march(memory, 1, block) == DONE
        assert reference.march(theirs, 1, other) == DONE
        where = f"{stepper}, {case}, step {step}"
        close(memory.q, theirs.q, where)
        # A velocity is the difference of what goes in and what the impulses change: its own scale may be zero.
        change = np.abs(theirs.u).max() + np.abs(block.u[0]).max() + dt * 10
        np.testing.assert_allclose(memory.u, theirs.u, rtol=0, atol=1e-12 * change, err_msg=where)
        impulse_scale = max(impulse_scale, np.abs(other.impulse[0]).max(initial=0.0))
        grain = 1e-12 * impulse_scale
        if STEPPERS[stepper].level == "position":  # velocities are differences of coordinates over dt
            grain += 4 * 2.0**-52 * np.abs(system.mass(theirs.q, p=p)).max() * np.abs(theirs.q).max() / dt
        np.testing.assert_allclose(block.impulse[0], other.impulse[0], rtol=0, atol=grain, err_msg=where)
        # Two balls that touch and move alike carry rounding errors or nothing, by chance, and so are their states.
        size = np.maximum(np.abs(block.impulse[0]), np.abs(other.impulse[0])).max(axis=1)
        chance = (size <= grain) & np.any(block.impulse[0] != other.impulse[0], axis=1)
        chance &= np.array(system.contact_kinds, dtype=int) == CONTACT
        assert (block.state[0] == other.state[0])[~chance].all(), where
        assert (memory.last_loaded == theirs.last_loaded)[~chance].all(), where
        events, expected = (
            b.events[: b.n_events][~chance[b.events[: b.n_events, 1].astype(int)]] for b in (block, other)
        )
        assert len(events) == len(expected), where
        np.testing.assert_allclose(events, expected, rtol=1e-11, atol=1e-12 * change + grain, err_msg=where)
        seen |= set(block.state[0].tolist())
        impacts += block.n_events
    for column in (codes.MAX_PENETRATION, codes.MAX_LCP_SIZE):
        assert memory.book[column] == pytest.approx(theirs.book[column], rel=1e-12)
    assert seen - {OPEN} or n == 0, "the run never closed a contact: nothing was compared"
    if IMPACT in seen:
        assert impacts >= 1


@thinned
@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=pytest.mark.slow if case in SELDOM else []) for case in CASES if case != STIFF]
)
def test_whole_run(case):
    """Records, gaps, energies, contact states, impact table and certificate of a run of its own."""
    scenario, dt, steps = case_of(case)
    options = {"dt": dt, "t_end": dt * min(steps, examples(150, 300)), "on_energy_gain": "ignore"}
    ours, theirs = (scenario.simulate(engine=engine, **options) for engine in ("compiled", "reference"))
    assert (ours.engine, theirs.engine) == ("compiled", "reference")
    assert ours.complete and theirs.complete
    assert (ours.t == theirs.t).all()
    for name in ("q", "u", "gap", "normal_impulse", "tangential_impulse"):
        value, expected = getattr(ours, name), getattr(theirs, name)
        # 300 steps of coarse step size: impacts may enlarge the rounding errors of a step a thousandfold.
        np.testing.assert_allclose(value, expected, rtol=0, atol=1e-10 * max(1e-3, np.abs(expected).max(initial=0.0)))
    np.testing.assert_allclose(ours.energy.total, theirs.energy.total, rtol=1e-10, atol=1e-12)
    # Bodies that touch and move alike close with the speed of rounding errors: whether such a contact carries 1e-17 N s
    # is left to chance, and so is its state.
    impulse = np.maximum(ours.normal_impulse, theirs.normal_impulse)
    noise = 1e-12 * max(impulse.max(initial=0.0), 1e-300)
    chance = (impulse <= noise) & (np.array(scenario.system.contact_kinds, dtype=int) == CONTACT)
    differ = ours.contact_state != theirs.contact_state
    assert not differ[~chance].any()
    assert differ.sum() <= 2
    rows = [table["normal_impulse"] > noise for table in (ours.impacts(), theirs.impacts())]
    for column, expected in theirs.impacts().columns.items():
        np.testing.assert_allclose(ours.impacts()[column][rows[0]], expected[rows[1]], rtol=1e-8, atol=1e-10)
    assert ours.certificate.max_lcp_size == theirs.certificate.max_lcp_size
    assert ours.certificate.failed_steps == theirs.certificate.failed_steps == 0
    assert max(ours.certificate.max_residual, theirs.certificate.max_residual) <= 1e-10


def test_functions_and_energies_give_the_same_motion():
    by_functions = ss.simulate(systems.bead_by_functions(), [0.3], [3.0], dt=1e-3, t_end=3.0)
    by_energies = ss.simulate(systems.bead_by_energies(), [0.3], [3.0], dt=1e-3, t_end=3.0, engine="reference")
    # The two add the same terms in another order; the impacts enlarge that a little.
    np.testing.assert_allclose(by_functions.q, by_energies.q, rtol=0, atol=1e-11)
    np.testing.assert_allclose(by_functions.energy.total, by_energies.energy.total, rtol=0, atol=1e-10)
    assert len(by_functions.impacts()) == len(by_energies.impacts()) == 3
    assert by_functions.contact_names == ("wall on the right",)


def test_one_engine_takes_over_from_the_other():
    """The memory between calls is all there is: half a run by each engine is the run of one."""
    scenario = library.woodpecker()
    system = scenario.system
    whole = scenario.simulate(dt=1e-3, t_end=0.4)
    compiled, reference = engines(system)
    memory = Memory.start(scenario.q0, scenario.u0, system.parameter_vector(), 0.0, system.n_contacts, 1e-3)
    for engine, steps in ((compiled, 90), (reference, 130), (compiled, 180)):
        block = Block.room(steps, 100, memory.sizes)
        begin = memory.step
        assert engine.march(memory, steps, block) == DONE
        assert block.records == steps
        states = whole.contact_state[begin + 1 : begin + 1 + steps]
        assert (block.state[:steps] == states).all()
    np.testing.assert_allclose(memory.q, whole.q[-1], rtol=0, atol=1e-11)
    np.testing.assert_allclose(memory.u, whole.u[-1], rtol=0, atol=1e-9)
