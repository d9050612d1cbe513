"""Control laws: compiled ones have the bits of functions in Python, and what they do wrong leaves all as it was."""

from __future__ import annotations

import copy
import functools
import math
import pickle

import numpy as np
import pytest

import stickslip as ss
from stickslip.run import driver
from stickslip.trajectory import Trajectory


def swing(now):
    stance = 1 if now.q[3] * now.q[3] < now.q[2] * now.q[2] else 0
    side = 1.0 if stance == 0 else -1.0
    now.memory[0] += 0.1
    now.inputs[0] = side * 0.5 * (now.q[2 + stance] + now.q[3 - stance]) + 0.0 * now.memory[0]


def swing_by_hand(sim):
    q = sim.q
    stance = 1 if q[3] * q[3] < q[2] * q[2] else 0
    side = 1.0 if stance == 0 else -1.0
    sim.params["torque"] = side * 0.5 * (q[2 + stance] + q[3 - stance])


def balance(now):
    x, v = now.coordinate, now.speed
    now.torque[0] = 2.0 * x[0] + 3.5 * v[0] - 40.0 * (0.2 + x[1]) - 9.0 * v[1]


def balance_by_hand(sim):
    rail, pivot = sim.joint("rail"), sim.joint("pivot")
    rail.torque = 2.0 * rail.coordinate + 3.5 * rail.speed - 40.0 * (0.2 + pivot.coordinate) - 9.0 * pivot.speed


def cart_pole() -> ss.Scene:
    scene = ss.Scene(dim=2, name="cart-pole")
    cart = scene.add_body(ss.Polygon.rectangle(0.4, 0.2), mass=1.0, position=(0, 0), name="cart")
    top = (-0.5 * np.sin(0.2), 0.5 * np.cos(0.2))
    pole = scene.add_body(ss.Polygon.rectangle(0.04, 1.0), mass=0.2, position=top, orientation=0.2, name="pole")
    scene.add_prismatic(None, cart, (0, 0), axis=(1, 0), name="rail")
    scene.add_revolute(cart, pole, (0, 0), name="pivot")
    return scene


def walker(every: int = 7, **options) -> ss.Simulator:
    return ss.Simulator(ss.library.compass_gait(torque=0.0), dt=2e-3, every=every, **options)


def require_equal(a: Trajectory, b: Trajectory) -> None:
    for name in ("t", "q", "u", "gap", "normal_impulse", "tangential_impulse", "contact_state"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    assert np.array_equal(a.energy.total, b.energy.total)
    assert a.certificate == b.certificate


@pytest.mark.parametrize("rate", [None, 50])
@pytest.mark.parametrize(
    "begin, law, by_hand",
    [
        (walker, ss.ControlLaw(swing, inputs=["torque"], memory=[0.0]), swing_by_hand),
        (lambda: ss.Simulator(cart_pole(), dt=2e-3, every=7), ss.ControlLaw(balance), balance_by_hand),
    ],
    ids=["mechanism", "scene"],
)
def test_a_compiled_law_has_the_bits_of_a_function_in_python(begin, law, by_hand, rate):
    """Also where the law runs as plain Python, and where the run is in several parts."""
    runs = []
    for control in (by_hand, law, ss.ControlLaw(**{**vars(law), "compiled": False})):
        sim = begin()
        for t_end in (0.3, 0.302, 0.7):
            sim.run(t_end, control=control, rate=rate)
        runs.append(sim.trajectory())
    assert np.abs(runs[0].u).max() > 0.05
    require_equal(runs[0], runs[1])
    require_equal(runs[0], runs[2])


def test_simulate_has_the_bits_of_a_simulator():
    law = ss.ControlLaw(swing, inputs=["torque"], memory=[0.0], rate=50)
    sim = walker()
    sim.run(1.0, control=law)
    run = ss.library.compass_gait(torque=0.0).simulate(
        dt=2e-3, t_end=1.0, every=7, control=law, on_energy_gain="ignore"
    )
    assert np.array_equal(run.q, sim.trajectory().q) and np.array_equal(run.energy.total, sim.trajectory().energy.total)

    law = ss.ControlLaw(balance, joints=["rail", "pivot"], rate=100)
    sim = ss.Simulator(cart_pole(), dt=1e-3, every=10)
    sim.run(0.5, control=law)
    assert np.array_equal(cart_pole().simulate(1e-3, 0.5, every=10, control=law).q, sim.trajectory().q)


def test_a_law_with_an_impact_law_and_the_reference_engine():
    """With an impact law the kernel has its parameters in an array of its own; the reference engine has none."""
    law = ss.ControlLaw(swing, inputs=["torque"], memory=[0.0], rate=50)
    ends = []
    for options in ({"law": "poisson"}, {"law": "poisson", "engine": "reference"}):
        sim = walker(1, **options)
        sim.run(0.08, control=law)
        ends.append((sim.q, sim.params["torque"]))
    assert ends[0][1] == pytest.approx(ends[1][1], rel=1e-9) and ends[0][1] != 0.0
    np.testing.assert_allclose(ends[0][0], ends[1][0], atol=1e-12)


def test_what_a_law_remembers_is_saved_restored_and_copied():
    law = ss.ControlLaw(swing, inputs=["torque"], memory=[0.5], rate=50)
    sim = walker()
    sim.run(0.2, control=law)
    assert sim.control_memory == pytest.approx([1.5])
    saved, other, far = sim.save(), copy.deepcopy(sim), pickle.loads(pickle.dumps(sim))
    sim.run(0.4, control=law)
    end = sim.q, sim.control_memory
    sim.restore(saved)
    assert sim.control_memory == pytest.approx([1.5])
    for each in (sim, other, far):
        each.run(0.4, control=law)
        assert np.array_equal(each.q, end[0]) and np.array_equal(each.control_memory, end[1])
    sim.reset()
    sim.run(0.2, control=law)
    assert sim.control_memory == pytest.approx([1.5])


def counts(now):
    now.memory[0] += 1.0


def test_a_law_has_its_own_memory_after_a_restore_and_in_copies():
    """Not that of another law of equal length, and not the empty one from before it began."""
    sim, law = walker(), ss.ControlLaw(swing, inputs=["torque"], memory=[0.5], rate=50)
    other = ss.ControlLaw(counts, inputs=["torque"], memory=[100.0], rate=50)
    before = sim.save()
    sim.run(0.2, control=law)
    saved = sim.save()
    sim.restore(before)
    sim.run(0.2, control=law)
    assert sim.control_memory == pytest.approx([1.5])
    for each in (sim, sim.copy(), pickle.loads(pickle.dumps(sim))):
        each.restore(saved)
        each.run(0.4, control=other)
        assert each.control_memory.tolist() == [110.0]
        each.restore(pickle.loads(pickle.dumps(saved)))
        each.run(0.4, control=law)
        assert each.control_memory == pytest.approx([2.5])


def test_a_run_that_goes_on_from_its_file_has_the_law_where_it_was(tmp_path):
    law = ss.ControlLaw(swing, inputs=["torque"], memory=[0.0], rate=50)
    scenario, file = ss.library.compass_gait(torque=0.0), tmp_path / "run.nc"
    whole = scenario.simulate(dt=2e-3, t_end=1.0, control=law)
    scenario.simulate(dt=2e-3, t_end=0.5, control=law, out=file)
    again = scenario.simulate(dt=2e-3, t_end=1.0, control=law, out=file, resume=True)
    assert again.attributes["resumed"] != "" and np.array_equal(again.q[-1], whole.q[-1])
    other = ss.ControlLaw(slippery, inputs=["torque"], memory=[0.0], rate=50)
    with pytest.raises(ValueError, match="control"):
        scenario.simulate(dt=2e-3, t_end=1.5, control=other, out=file, resume=True)


class Pull:
    """A law as an object."""

    def __init__(self, strength: float) -> None:
        self.strength = strength

    def __call__(self, now) -> None:
        now.inputs[0] = self.strength


def pull_by(now, strength):
    now.inputs[0] = strength


def pull_of(values):
    return lambda now: pull_by(now, values[0])


def pull_with(strength):
    def law(now, *, strength=strength):
        now.inputs[0] = strength

    return law


@pytest.mark.parametrize(
    "make",
    [Pull, lambda x: Pull(x).__call__, lambda x: functools.partial(pull_by, strength=x), pull_with,
     lambda x: pull_of(np.array([x])), lambda x: pull_of({0: x})],
    ids=["object", "method", "partial", "default", "array", "dictionary"],
)  # fmt: skip
def test_another_law_of_equal_text_does_not_go_on_with_a_run(make, tmp_path):
    ball, path = ss.library.bouncing_ball(), tmp_path / "run.nc"

    def run(strength, **options):
        law = ss.ControlLaw(make(strength), inputs=["g"], compiled=False)
        return ball.simulate(dt=1e-2, t_end=0.1, engine="reference", control=law, out=path, **options)

    run(9.0)
    assert run(9.0, resume=True).complete
    with pytest.raises(ValueError, match="its control has changed"):
        run(9.0 + 1e-12, resume=True)


def test_a_law_that_keeps_something_elsewhere_does_not_go_on(tmp_path):
    ball, path, seen = ss.library.bouncing_ball(), tmp_path / "run.nc", []

    def law(now):
        seen.append(now.t)
        now.inputs[0] = 9.0 + 0.01 * len(seen)

    def run(t_end, **options):
        known = ss.ControlLaw(law, inputs=["g"], compiled=False)
        return ball.simulate(dt=1e-2, t_end=t_end, engine="reference", control=known, out=path, **options)

    run(0.1)
    seen.clear()
    with pytest.raises(ValueError, match="its control has changed"):
        run(0.2, resume=True)


def steady(now):
    now.inputs[0] = 9.81


@pytest.mark.parametrize("most", [1, 10**6])
def test_a_ball_that_has_come_to_rest_under_a_law_is_within_its_bounds(most, monkeypatch):
    """It hit the ground hard, and was deep in it; then it rests with a gap that is next to nothing."""
    monkeypatch.setattr(driver, "_MOST_STEPS", most)
    ball, law = ss.library.bouncing_ball(), ss.ControlLaw(steady, inputs=["g"])
    options = {"dt": 1e-4, "t_end": 0.6, "params": {"restitution": 0.02}, "every": 100}
    run = ss.simulate(ball.system, [0.013], [-50.0], control=law, **options)
    assert run.certificate.max_penetration > 1e3 * abs(run.q[-1, 0]) > 0.0
    assert run.complete, run.status
    assert np.array_equal(run.q, ss.simulate(ball.system, [0.013], [-50.0], **options).q)


def test_a_run_at_rest_under_a_law_goes_on(tmp_path, monkeypatch):
    """A penetration of long ago is not judged by the bounds of the piece that begins where the run goes on."""
    monkeypatch.setattr(driver, "_MOST_STEPS", 100)
    ball, law = ss.library.bouncing_ball(), ss.ControlLaw(steady, inputs=["g"])
    options = {"dt": 1e-4, "params": {"restitution": 0.02}, "every": 100, "control": law, "out": tmp_path / "run.nc"}
    for t_end in (0.2, 0.6):
        run = ss.simulate(ball.system, [0.013], [-50.0], t_end=t_end, resume=t_end > 0.2, **options)
        assert run.complete, run.status


def not_finite(now):
    now.memory[0] += 1.0
    now.inputs[0] = math.sqrt(-now.t) if now.t > 0.1 else 0.01


def raises(now):
    now.memory[0] += 1.0
    if now.t > 0.1:
        raise RuntimeError("no hand")


@pytest.mark.parametrize("function, words", [(not_finite, "'torque' to a finite number, got nan"), (raises, "no hand")])
@pytest.mark.filterwarnings("ignore:control law 'raises' runs in Python")
def test_a_law_that_fails_stops_at_the_end_of_a_step(function, words):
    law = ss.ControlLaw(function, inputs=["torque"], memory=[0.0], rate=50)
    sim = walker()
    with pytest.raises(ss.StepError, match=words):
        sim.run(1.0, control=law)
    assert sim.t == pytest.approx(0.12) and sim.control_memory == pytest.approx([6.0])
    sim.run(0.2, control=swing_by_hand)  # it can be stepped on
    run = ss.library.compass_gait(torque=0.0).simulate(dt=2e-3, t_end=1.0, control=law)
    assert not run.complete and words in run.status and run.t[-1] == pytest.approx(0.12)


def strays_far(now):
    now.memory[7] = 1.0


def strays_in_a_loop(now):
    for k in range(5):
        now.inputs[0] += 0.0 * now.q[k]


def strays_below(now):
    k = 0 if now.t > 1.0 else -1
    now.memory[k] = 1.0


@pytest.mark.parametrize("function", [strays_far, strays_in_a_loop, strays_below])
@pytest.mark.filterwarnings("ignore:control law 'strays_far' runs in Python")
def test_an_index_outside_an_array_fails_the_call_and_writes_nowhere(function):
    sim = walker()
    with pytest.raises(ss.StepError, match="index"):
        sim.run(0.1, control=ss.ControlLaw(function, inputs=["torque"], memory=[0.5]))
    assert sim.t == 0.0 and sim.control_memory.tolist() == [0.5] and sim.params["torque"] == 0.0


def lead(now):
    now.target[0] = 0.3


def blow(now):
    now.torque[0] = math.inf


def push(now):
    now.force[0, 0] = -3.0 * now.u[0]
    now.force[0, 2] = 0.01


def push_by_hand(sim):
    body = sim.body("cart")
    body.force, body.torque = (-3.0 * body.velocity[0], 0.0), 0.01


def test_laws_of_scenes_lead_motors_push_bodies_and_are_refused_in_one_line():
    sim = ss.Simulator(cart_pole(), dt=1e-3)
    with pytest.raises(ss.StepError, match="'rail', which has no motor"):
        sim.run(0.1, control=ss.ControlLaw(lead))
    with pytest.raises(ss.StepError, match="finite efforts, targets and forces, got inf for 'rail'"):
        sim.run(0.1, control=ss.ControlLaw(blow))
    assert sim.t == 0.0 and sim.joint("rail").torque == 0.0
    sim.joint("rail").motor = ss.Motor(stiffness=1e4, damping=300)
    sim.run(0.2, control=ss.ControlLaw(lead, joints=["rail"]))
    assert sim.joint("rail").target == 0.3 and sim.joint("rail").coordinate == pytest.approx(0.3, abs=0.01)
    runs = []
    for control in (push_by_hand, ss.ControlLaw(push, bodies=["cart"], joints=[])):
        sim = ss.Simulator(cart_pole(), dt=1e-3)
        sim.run(0.2, control=control)
        runs.append(sim.trajectory())
    require_equal(*runs)


def test_gravity_changes_between_steps_and_comes_back():
    """A body falls with the new gravity; snapshots, copies and `set_state` keep it, and `reset` does not."""
    scene = ss.Scene(dim=3)
    scene.add_body(ss.Sphere(0.1), mass=1.0, position=(0, 0, 5))
    sim = ss.Simulator(scene, dt=1e-3)
    sim.step(100)
    saved = sim.save()
    sim.gravity = (1.0, 0, -1.62)
    sim.step(100)
    assert sim.u[:3] == pytest.approx([0.1, 0, -0.981 - 0.162]) and not math.isfinite(
        sim.certificate.integration_energy
    )
    other = copy.deepcopy(sim)
    sim.set_state(u=np.zeros(6))
    for each in (sim, other):
        assert each.gravity == pytest.approx([1.0, 0, -1.62])
    sim.restore(saved)
    assert sim.gravity == pytest.approx([0, 0, -9.81])
    other.reset()
    assert other.gravity == pytest.approx([0, 0, -9.81])
    with pytest.raises(ValueError, match="gravity must"):
        sim.gravity = (0, math.nan, 0)
    with pytest.raises(ValueError, match="is a mechanism"):
        walker().gravity = 3.0


def sees(now):
    for k in range(3):
        now.memory[k], now.memory[3 + k] = now.coordinate[k], now.speed[k]
    for k in range(7):
        now.memory[6 + k] = now.q[21 + k]


def test_a_law_sees_what_handles_show():
    """Hinge, slide and screw in space, and a body that is one with another one by a fixed joint; all bits."""
    scene = ss.Scene(dim=3)
    a, b, c, d = (
        scene.add_body(ss.Box((0.2, 0.1, 0.1)), mass=1.0, position=(0.5 * i, 0, 0), angular_velocity=(0.1, 0, 0))
        for i in range(4)
    )
    scene.add_fixed(a, d, (0.1, 0, 0), name="weld", collide=False)
    scene.add_revolute(None, a, (0, 0, 0), (1, 0, 0), name="hinge")
    scene.add_prismatic(a, b, (0.5, 0, 0), (0.6, 0, 0.8), name="slide")
    scene.add_screw(b, c, (1, 0, 0), (1, 0, 0), lead=0.1, name="screw")
    sim = ss.Simulator(scene, dt=1e-3)
    law = ss.ControlLaw(sees, joints=["screw", "hinge", "slide"], memory=[0.0] * 13)
    sim.run(0.3, control=law)  # the last call is that before the last step
    other = ss.Simulator(scene, dt=1e-3)
    other.run(0.299)
    joints = [other.joint(name) for name in ("screw", "hinge", "slide")]
    expected = [joint.coordinate for joint in joints] + [joint.speed for joint in joints] + other.q[21:28].tolist()
    assert sim.control_memory.tolist() == expected and min(map(abs, expected[:6])) > 1e-4


def asks(now):
    names = {"torque": 0}
    now.inputs[names["torque"]] = 0.0


def slippery(now):
    now.inputs[0] = -1.0


@pytest.mark.parametrize(
    "law, error, words",
    [
        ({"inputs": ["torgue"]}, ValueError, "torgue"),
        ({"inputs": []}, ValueError, "must name the parameters"),
        ({"inputs": ["torque"], "bodies": ["leg"]}, ValueError, "for scenes"),
        ({"inputs": ["torque"], "rate": 300.0}, ValueError, "whole number of steps"),
        ({"inputs": "torque"}, ValueError, "list of names"),
        ({"inputs": ["torque"], "rate": 0.0}, ValueError, "positive"),
        ({"inputs": ["torque"], "rate": "fast"}, ValueError, "rate must be"),
        ({"inputs": ["torque"], "memory": [math.nan]}, ValueError, "memory"),
        ({"inputs": ["friction"], "function": slippery}, ss.StepError, "friction of contact .* must be finite and not"),
    ],
)
def test_bad_laws_get_one_line(law, error, words):
    sim = walker()
    before = dict(sim.params)
    with pytest.raises(error, match=words) as told:
        sim.run(0.1, control=ss.ControlLaw(**{"function": swing, **law}))
    assert "\n" not in str(told.value) and sim.t == 0.0 and dict(sim.params) == before


def test_a_law_outside_the_language_says_what_is_in_the_way():
    sim = walker()
    with pytest.warns(RuntimeWarning, match="control law 'asks' runs in Python.*dictionary.*docs/kernels.md"):
        sim.run(0.1, control=ss.ControlLaw(asks, inputs=["torque"]))
