"""`Simulator`: steps by hand are those of `simulate`, bit for bit; states are saved, restored, set and refused."""

import copy
import dataclasses
import pickle
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import stickslip as ss
from stickslip.mechanisms.engines import Compiled
from stickslip.run import driver, records
from stickslip.run import simulator as module


def falling_box(**start):
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace(normal=(0, 0, 1)), friction=0.5, restitution=0.1)
    given = {"position": (0, 0, 0.2), "velocity": (1, 0.3, 0), "angular_velocity": (3, 2, 1), **start}
    scene.add_body(ss.Box((0.1, 0.1, 0.1)), mass=1.0, friction=0.5, name="box", **given)
    return scene


def pendulum(**options):
    """A bar of 2 kg and 1 m on a hinge at its upper end, in the plane."""
    scene = ss.Scene(dim=2, gravity=options.pop("gravity", 0.0))
    corners = [(-0.1, -0.5), (0.1, -0.5), (0.1, 0.5), (-0.1, 0.5)]
    bar = scene.add_body(ss.Polygon(corners), mass=2.0, position=(0, -0.5), name="bar")
    scene.add_revolute(None, bar, (0, 0), name="hip", **options)
    return scene


J_HIP = 2.0 * (1.0**2 + 0.2**2) / 12.0 + 2.0 * 0.5**2


def equal_runs(found, wanted):
    for name in ("t", "q", "u", "gap", "normal_impulse", "tangential_impulse", "contact_state"):
        assert np.array_equal(getattr(found, name), getattr(wanted, name), equal_nan=True), name
    for name in ("kinetic", "potential"):
        assert np.array_equal(getattr(found.energy, name), getattr(wanted.energy, name)), name
    for name, column in wanted.impacts().columns.items():
        assert np.array_equal(found.impacts()[name], column), name
    assert found.certificate == wanted.certificate


@pytest.mark.parametrize("every", [1, 7])
def test_steps_of_a_mechanism_are_those_of_simulate(every):
    scenario = ss.library.woodpecker()
    wanted = scenario.simulate(dt=1e-4, t_end=0.3, every=every, progress=False)
    sim = ss.Simulator(scenario, dt=1e-4, every=every)
    for _ in range(1000):
        sim.step()
    sim.step(1500)
    for _ in range(500):
        sim.step()
    equal_runs(sim.trajectory(), wanted)
    assert sim.steps == 3000 and np.array_equal(sim.q, wanted.q[-1])


@pytest.mark.parametrize("every", [1, 7])
def test_steps_of_a_scene_are_those_of_simulate(every):
    wanted = falling_box().simulate(dt=1e-3, t_end=0.5, every=every, progress=False)
    sim = ss.Simulator(falling_box(), dt=1e-3, every=every)
    for _ in range(300):
        sim.step()
    sim.step(200)
    equal_runs(sim.trajectory(), wanted)


@pytest.mark.parametrize("every", [1, 4])
def test_few_steps_at_a_time_are_those_of_simulate_and_need_no_driver(every, monkeypatch):
    scenario = ss.library.woodpecker()
    wanted = scenario.simulate(dt=1e-4, t_end=0.07, every=every, progress=False)
    sim = ss.Simulator(scenario, dt=1e-4, every=every)
    monkeypatch.setattr(module.Simulator, "_march", lambda sim, n: pytest.fail("the driver needs 250 us"))
    for _ in range(100):
        sim.step(7)
    equal_runs(sim.trajectory(), wanted)


@pytest.mark.parametrize(
    "options", [{"stepper": "moreau-jean"}, {"engine": "reference"}, {"law": "poisson"}, {"solver": "lemke"}]
)
def test_methods_are_those_of_simulate(options):
    scenario = ss.library.bouncing_ball(restitution=0.5)
    wanted = scenario.simulate(dt=1e-2, t_end=0.8, progress=False, **options)
    sim = ss.Simulator(scenario, dt=1e-2, **options)
    for _ in range(80):
        sim.step()
    assert np.array_equal(sim.trajectory().q, wanted.q) and len(sim.trajectory().impacts()) == len(wanted.impacts())


def test_a_snapshot_leads_to_the_same_steps_here_and_elsewhere():
    sim = ss.Simulator(falling_box(), dt=1e-3)
    sim.step(150)
    saved = sim.save()
    before = sim.trajectory()
    sim.body("box").force = (3.0, 0.0, 0.0)
    sim.step(60)
    pushed = sim.q
    sim.restore(saved)
    equal_runs(sim.trajectory(), before)
    assert np.array_equal(sim.body("box").force, np.zeros(3))
    sim.step(60)
    free = sim.q
    assert not np.array_equal(pushed, free)
    other = ss.Simulator(falling_box(), dt=1e-3)
    other.restore(pickle.loads(pickle.dumps(saved)))
    assert other.t == saved.t and len(other.trajectory().t) == 1
    other.step(60)
    assert np.array_equal(other.q, free)


def two_boxes():
    scene = falling_box()
    scene.add_body(ss.Box((0.1, 0.1, 0.1)), mass=1.0, position=(1, 0, 0.2))
    return scene


def cut(snapshot):
    """A snapshot that lost the end of its last array, as a pickle of another version may have."""
    *_, last = snapshot.arrays
    return dataclasses.replace(snapshot, arrays={**snapshot.arrays, last: snapshot.arrays[last][:-1]})


FAILING = {
    "another scene of this name": (falling_box, lambda other: ss.Simulator(two_boxes(), dt=1e-3).save(), None),
    "a scene's array cut short": (falling_box, lambda other: cut(other.save()), None),
    "a state cut short": (ss.library.woodpecker, lambda other: cut(other.save()), None),
    "records that fail": (ss.library.woodpecker, lambda other: other.save(), (module.Store, "begin_here")),
    "memory that is full": (falling_box, lambda other: other.save(), (module, "_Single")),
}


@pytest.mark.parametrize("case", FAILING)
def test_a_restore_that_fails_leaves_the_simulator_where_it_was(case, monkeypatch):
    """State, clock, parameters, records, and steps that are still pending: none is changed, and the steps go on."""
    make, snapshot, place = FAILING[case]
    sim, twin, other = (ss.Simulator(make(), dt=1e-3) for _ in range(3))
    for each in (sim, twin):
        if each.params:
            each.params["friction"] = 0.31
        for _ in range(40):
            each.step()
    other.step(150)
    foreign = snapshot(other)
    with monkeypatch.context() as patch:
        if place is not None:
            owner, name = place
            once = iter([MemoryError("full")])
            whole = getattr(owner, name)

            def failing(*arguments):
                for problem in once:
                    raise problem
                return whole(*arguments)

            patch.setattr(owner, name, failing)
        with pytest.raises((ValueError, KeyError, MemoryError)):
            sim.restore(foreign)
    assert dict(sim.params) == dict(twin.params) and (sim.t, sim.steps) == (twin.t, twin.steps)
    for _ in range(60):
        sim.step()
        twin.step()
    equal_runs(sim.trajectory(), twin.trajectory())


def test_copies_and_pickles_go_on_alike():
    sim = ss.Simulator(ss.library.woodpecker(), dt=1e-4, params={"friction": 0.29})
    sim.step(700)
    twins = [sim.copy(), copy.deepcopy(sim), pickle.loads(pickle.dumps(sim))]
    sim.params["friction"] = 0.31
    for twin in twins:
        assert twin.params["friction"] == 0.29
        twin.params["friction"] = 0.31
    for each in (sim, *twins):
        each.step(900)
        assert np.array_equal(each.q, sim.q) and each.t == sim.t


def test_snapshots_at_every_step_stay_small_and_quick():
    sim = ss.Simulator(ss.library.bouncing_ball(), dt=1e-3)
    for _ in range(300):
        sim.step()
        sim.save()
    assert len(sim._store.parts) < 12 and len(sim.trajectory().t) == 301


def test_a_parameter_holds_from_the_next_step_on():
    sim = ss.Simulator(ss.library.brick_on_ramp(friction=0.5, angle=0.38, velocity=0.0), dt=1e-3)
    sim.step(200)
    at_rest = sim.q
    assert abs(sim.u).max() < 1e-14
    sim.params["friction"] = 0.2
    sim.step(1000)
    slope = 9.81 * (np.sin(0.38) - 0.2 * np.cos(0.38))
    assert np.linalg.norm(sim.u) == pytest.approx(slope * 1.0, rel=2e-3)
    assert np.linalg.norm(sim.q - at_rest) == pytest.approx(0.5 * slope, rel=5e-3)


def test_a_parameter_holds_from_the_next_single_step_on_with_an_impact_law():
    """The kernel has the numbers of the law behind the parameters, in an array of its own."""
    single, many = (ss.Simulator(ss.library.bouncing_ball(restitution=0.8), dt=1e-3, law="poisson") for _ in range(2))
    for sim in (single, many):
        sim.step()
        sim.params["restitution"] = 0.2
    for _ in range(1000):
        single.step()
    many.step(1000)
    assert np.array_equal(single.q, many.q) and abs(many.q[0]) < 1e-3


def test_bad_input_is_one_line_and_changes_nothing():
    sim = ss.Simulator(ss.library.woodpecker(), dt=1e-4)
    sim.step(10)
    t, q, u, p = sim.t, sim.q, sim.u, dict(sim.params)
    for wrong, words in (
        (lambda: sim.set_state(q=[0.0]), "shape"),
        (lambda: sim.set_state(u=[np.nan] * 3), "finite"),
        (lambda: sim.set_state(t=np.inf), "t must be"),
        (lambda: sim.set_state(q=q + np.array([0.0, 2.0, 0.0])), "penetrat|deep|contact"),
        (lambda: sim.params.__setitem__("frction", 0.2), "did you mean 'friction'"),
        (lambda: sim.params.__setitem__("friction", "much"), "friction"),
        (lambda: sim.params.update({"g": 1.0, "friction": np.nan}), "friction"),
        (lambda: sim.step(0), "n must"),
        (lambda: sim.step(1.5), "n must"),
        (lambda: sim.restore("yesterday"), "snapshot"),
        (lambda: sim.restore(ss.Simulator(ss.library.bouncing_ball()).save()), "same system"),
        (lambda: sim.joint("hip"), "for scenes"),
        (lambda: ss.Simulator("woodpecker"), "a Scenario, a Scene"),
        (lambda: ss.Simulator(ss.library.woodpecker().system, dt=1e-4), "q0 and u0"),
        (lambda: ss.Simulator(falling_box()), "dt must be given"),
        (lambda: ss.Simulator(ss.library.woodpecker(), stepper="event-driven"), "steps of one length"),
    ):
        with pytest.raises((ValueError, KeyError), match=words) as problem:
            wrong()
        assert "\n" not in str(problem.value)
    with pytest.raises(TypeError, match="overlap"):
        ss.Simulator(ss.library.woodpecker(), overlap="keep")
    assert sim.t == t and np.array_equal(sim.q, q) and np.array_equal(sim.u, u) and dict(sim.params) == p


def test_bad_input_for_a_scene_is_one_line_and_changes_nothing():
    sim = ss.Simulator(falling_box(), dt=1e-3)
    sim.step(5)
    q = sim.q
    inside, long = q.copy(), q.copy()
    inside[2], long[3] = -0.01, 2.0
    for wrong, words in (
        (lambda: sim.set_state(q=inside), "overlap"),
        (lambda: sim.set_state(q=long), "unit quaternion"),
        (lambda: sim.set_state(u=np.zeros(5)), r"shape \(6,\)"),
        (lambda: setattr(sim.body("box"), "force", (np.nan, 0, 0)), "force on 'box'"),
        (lambda: sim.body("bx"), "did you mean 'box'"),
        (lambda: sim.body(9), "from 0 to 2"),
        (lambda: setattr(sim.body(1), "force", (1, 0, 0)), "move freely"),
        (lambda: sim.joint(0), "joint"),
    ):
        with pytest.raises(ValueError, match=words):
            wrong()
    assert np.array_equal(sim.q, q)


def test_a_name_that_a_joint_or_a_body_does_not_have_cannot_be_set():
    sim = ss.Simulator(pendulum(), dt=1e-3)
    for handle in (sim.joint("hip"), sim.body("bar")):
        with pytest.raises(AttributeError):
            handle.torqe = 3.0


def test_a_state_that_tears_a_joint_is_refused():
    sim = ss.Simulator(pendulum(), dt=1e-3)
    with pytest.raises(ValueError, match="agree with the joints"):
        sim.set_state(q=[0.3, -0.5, 0.0])
    sim.set_state(q=[0.5, 0.0, np.pi / 2], t=2.0)
    assert sim.t == 2.0 and sim.joint("hip").coordinate == pytest.approx(np.pi / 2, abs=1e-12)


def test_a_state_that_steps_have_led_to_can_be_pushed_on_also_from_a_control_law():
    """Joints drift by a little, more than a state that is given may; time tells where a run ends, not the steps."""
    scene = ss.Scene(dim=2)
    pole = scene.add_body(ss.Polygon.rectangle(0.04, 1.0), mass=0.2, position=(0.5, 0.0), orientation=np.pi / 2)
    scene.add_revolute(None, pole, (0, 0), name="hinge")
    sim, free, calls = ss.Simulator(scene, dt=1e-2), ss.Simulator(scene, dt=1e-2), []

    def nudge(sim):
        calls.append(sim.t)
        assert len(calls) <= 10
        sim.set_state(u=sim.u)

    free.run(1.0)
    sim.run(1.0, control=nudge, rate=10)
    assert len(calls) == 10 and sim.t == pytest.approx(1.0)
    np.testing.assert_allclose(sim.q, free.q, atol=1e-3)
    with pytest.raises(ValueError, match="agree with the joints"):
        sim.set_state(q=sim.q + np.array([0.01, 0.0, 0.0]))


def test_set_state_goes_on_as_a_run_from_there():
    scenario = ss.library.bouncing_ball(restitution=0.5)
    sim = ss.Simulator(scenario, dt=1e-3)
    sim.step(40)
    sim.set_state(t=1.0, q=[0.2], u=[-1.0])
    sim.step(200)
    wanted = ss.simulate(scenario.system, [0.2], [-1.0], dt=1e-3, t0=1.0, t_end=1.2, params=scenario.params)
    equal_runs(sim.trajectory(), wanted)
    sim.reset()
    assert sim.t == 0.0 and np.array_equal(sim.q, scenario.q0)


def test_what_was_set_by_hand_stays_and_handles_follow_to_another_state():
    sim = ss.Simulator(pendulum(), dt=1e-3)
    hip, bar, motor = sim.joint("hip"), sim.body("bar"), ss.Motor(target=0.3, stiffness=50.0, damping=5.0, effort=9.0)
    hip.motor, hip.torque, bar.force = motor, 2.0, (1.0, 0.5)
    sim.step(3)
    other = sim.copy()
    sim.set_state(u=[0.0, 0.0, 0.0])
    assert sim.joint("hip").motor == motor and hip.torque == 2.0 and sim.body("bar").force.tolist() == [1.0, 0.5]
    sim.step(50)
    assert hip.coordinate == sim.joint("hip").coordinate != other.joint("hip").coordinate
    assert bar.position.tolist() == sim.body("bar").position.tolist()
    hip.torque = 3.0
    assert sim.joint("hip").torque == 3.0 and other.joint("hip").torque == 2.0
    sim.reset()
    assert hip.torque == 0.0 and hip.coordinate == 0.0 and bar.force.tolist() == [0.0, 0.0]


def test_contacts_of_a_mechanism_carry_its_weight():
    sim = ss.Simulator(ss.library.brick_on_ramp(friction=0.5, angle=0.38, velocity=0.0), dt=1e-3)
    assert len(sim.contacts()) == 0
    sim.step(20)
    table = sim.contacts()
    assert list(table["state"]) == ["stick"] and table["gap"][0] == pytest.approx(0.0, abs=1e-12)
    assert table["normal_force"][0] == pytest.approx(9.81 * np.cos(0.38), rel=1e-9)
    assert table["tangential_force"][0] == pytest.approx(-9.81 * np.sin(0.38), rel=1e-9)
    assert "stick" in str(table) and len(table.to_pandas()) == 1


def test_contacts_of_a_scene_carry_its_weight():
    sim = ss.Simulator(falling_box(position=(0, 0, 0.05), velocity=(0, 0, 0), angular_velocity=(0, 0, 0)), dt=1e-3)
    sim.body("box").force = (2.0, 0.0, 0.0)
    sim.step(10)
    table = sim.contacts()
    assert len(table) >= 3 and set(table["state"]) == {"stick"} and len(table.of("box")) == len(table)
    force = table["force"].sum(axis=0) * np.where(table["other"][0] == "box", 1.0, -1.0)
    assert force == pytest.approx([-2.0, 0.0, 9.81], abs=1e-9)
    assert np.abs(table["point"][:, :2]).max() == pytest.approx(0.05, abs=1e-9)
    assert np.abs(np.abs(table["normal"]) - [0, 0, 1]).max() < 1e-12
    assert sorted(table.to_pandas().columns)[0] == "body"


def test_motors_follow_their_laws():
    torque, t = 0.7, 0.4
    sim = ss.Simulator(pendulum(torque=torque), dt=1e-3)
    sim.step(400)
    hip = sim.joint("hip")
    assert hip.speed == pytest.approx(torque * t / J_HIP, rel=1e-6)
    assert hip.coordinate == pytest.approx(0.5 * torque * t * t / J_HIP, rel=1e-6)
    hip.torque = 0.0
    sim.step(1)
    speed = hip.speed
    sim.step(50)
    assert hip.speed == pytest.approx(speed, rel=1e-7)
    with_rotor = ss.Simulator(pendulum(torque=torque, armature=0.3), dt=1e-3)
    with_rotor.step(400)
    assert with_rotor.joint("hip").speed == pytest.approx(torque * t / (J_HIP + 0.3), rel=1e-6)
    damped = ss.Simulator(pendulum(torque=torque, damping=2.0), dt=1e-3)
    damped.step(400)
    assert damped.joint("hip").speed == pytest.approx(0.35 * (1.0 - np.exp(-2.0 * t / J_HIP)), rel=2e-3)


def test_a_position_motor_leads_to_its_target_with_any_gain():
    k, c, t = 5.0, 0.5, 1.0
    sim = ss.Simulator(pendulum(motor=ss.Motor(target=0.5, stiffness=k, damping=c)), dt=1e-3)
    sim.step(1000)
    decay, w = 0.5 * c / J_HIP, np.sqrt(k / J_HIP - (0.5 * c / J_HIP) ** 2)
    exact = 0.5 - 0.5 * np.exp(-decay * t) * (np.cos(w * t) + decay / w * np.sin(w * t))
    assert sim.joint("hip").coordinate == pytest.approx(exact, abs=4e-3)
    stiff = ss.Simulator(pendulum(gravity=9.81, motor=ss.Motor(stiffness=1e9, damping=1e3)), dt=1e-3)
    stiff.joint("hip").target = 0.01
    stiff.step(500)
    assert stiff.joint("hip").coordinate == pytest.approx(0.01, abs=1e-6)
    assert stiff.joint("hip").motor_effort == pytest.approx(9.81 * np.sin(0.01), rel=1e-3)
    force, _ = stiff.joint("hip").reaction
    assert force == pytest.approx([0.0, 19.62, 0.0], abs=1e-3)
    weak = stiff.joint("hip")
    weak.motor = ss.Motor(target=1.0, stiffness=1e4, damping=10.0, effort=3.0)
    stiff.step(20)
    assert weak.motor_effort == pytest.approx(3.0, rel=1e-12)
    assert stiff.certificate.failed_steps == 0


def test_motors_that_cannot_be_are_refused():
    for wrong, words in (
        (lambda: ss.Motor(stiffness=-1.0), "stiffness of motor"),
        (lambda: ss.Motor(speed=np.nan), "speed of motor"),
        (lambda: ss.Motor(speed=1.0), "effort of motor must be finite"),
        (lambda: pendulum(motor=(1.0,)), "motor"),
        (lambda: pendulum(armature=-1.0), "armature"),
        (lambda: setattr(ss.Simulator(pendulum(), dt=1e-3).joint("hip"), "target", 1.0), "motor with stiffness"),
        (lambda: ss.Simulator(pendulum(), dt=1e-3).joint("hop"), "did you mean 'hip'"),
        (lambda: setattr(ss.Simulator(pendulum(), dt=1e-3).joint("hip"), "torque", np.inf), "torque of 'hip'"),
    ):
        with pytest.raises(ValueError, match=words):
            wrong()


def test_the_names_of_joints_are_their_own():
    scene = pendulum()
    assert scene.joints[0].name == "hip"
    other = scene.add_body(ss.Circle(0.1), mass=1.0, position=(3, 0))
    assert scene.add_revolute(None, other, (3, 0)).name == "revolute2"
    with pytest.raises(ValueError, match="its own"):
        scene.add_fixed(None, other, name="hip")


def test_a_step_that_cannot_be_done_is_an_error_and_can_be_left_behind():
    sim = ss.Simulator(ss.library.woodpecker(), dt=1e-4)
    sim.step(3)
    q = sim.q
    sim._run.state.u[0] = np.nan
    with pytest.raises(ss.StepError, match="failed at"):
        sim.step()
    sim.set_state(q=q, u=np.zeros(3))
    sim.step(5)
    assert np.all(np.isfinite(sim.u))


def test_nothing_is_recorded_where_nothing_is_asked_for():
    sim = ss.Simulator(ss.library.bouncing_ball(), dt=1e-3, every=None)
    for _ in range(1000):
        sim.step()
    assert len(sim.trajectory().t) == 2 and sim.trajectory().t[-1] == pytest.approx(1.0)


def test_records_that_fill_the_memory_are_thinned(monkeypatch):
    sim = ss.Simulator(ss.library.bouncing_ball(restitution=0.5), dt=1e-3)
    monkeypatch.setattr(sim._store, "limit", 200)
    sim.step(3)
    for _ in range(1500):
        sim.step()
    run = sim.trajectory()
    assert len(run.t) <= 202 and "thinned" in run.status and np.array_equal(run.q[-1], sim.q)


@pytest.mark.parametrize("kind", ["mechanism", "scene"])
def test_ctrl_c_between_kernel_and_record_loses_nothing(kind, monkeypatch):
    moving = ss.library.woodpecker() if kind == "mechanism" else falling_box()
    sim = ss.Simulator(moving, dt=1e-3 if kind == "scene" else 1e-4)
    sim.step(20)
    take = module._Single._take
    calls = []

    def interrupted(self):
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        take(self)

    monkeypatch.setattr(module._Single, "_take", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sim.step()
    assert sim.steps == 21
    sim.step(30)
    twin = ss.Simulator(moving, dt=sim.dt)
    monkeypatch.setattr(module._Single, "_take", take)
    twin.step(51)
    equal_runs(sim.trajectory(), twin.trajectory())


@pytest.mark.parametrize("kind", ["mechanism", "scene"])
def test_single_steps_after_ctrl_c_in_many_steps(kind, monkeypatch):
    """Pieces of a long march were done and taken; the next single step comes behind them."""
    moving = ss.library.woodpecker() if kind == "mechanism" else falling_box()
    monkeypatch.setattr(driver, "_MOST_STEPS", 12)
    monkeypatch.setattr(Compiled, "first_piece", 12)
    options = {"dt": 1e-3 if kind == "scene" else 1e-4, "every": 3}
    sim, take, calls = ss.Simulator(moving, **options), records.Store.take, []

    def interrupted(self, block):
        take(self, block)
        calls.append(self.run.state.step)
        if len(calls) == 6:
            raise KeyboardInterrupt

    sim.step(20)
    with monkeypatch.context() as patch:
        patch.setattr(records.Store, "take", interrupted)
        with pytest.raises(KeyboardInterrupt):
            sim.step(150)
    assert 20 < sim.steps < calls[-1]
    for _ in range(50):
        sim.step()
    twin = ss.Simulator(moving, **options)
    twin.step(sim.steps)
    equal_runs(sim.trajectory(), twin.trajectory())


def test_ctrl_c_in_a_real_loop_leaves_the_simulator_at_the_end_of_a_step():
    """A process that steps without end gets SIGINT; its records are those of an undisturbed run."""
    program = """
        import numpy as np, stickslip as ss
        sim = ss.Simulator(ss.library.woodpecker(), dt=1e-4)
        print("ready", flush=True)
        try:
            while True:
                sim.step()
        except KeyboardInterrupt:
            pass
        run = sim.trajectory()
        wanted = ss.library.woodpecker().simulate(dt=1e-4, t_end=sim.steps * 1e-4, progress=False)
        assert len(run.t) == sim.steps + 1, (len(run.t), sim.steps)
        assert np.array_equal(run.q, wanted.q) and len(run.impacts()) == len(wanted.impacts())
        print("equal", sim.steps, flush=True)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0 and out.startswith("equal")


@pytest.mark.slow
def test_rates_of_single_steps():
    """2e5 steps/s on the woodpecker, 5e4 on a cube, in processor time; at least half of it on a busy machine."""
    for moving, dt, rate in ((ss.library.woodpecker(), 1e-4, 2e5), (falling_box(), 1e-3, 5e4)):
        sim = ss.Simulator(moving, dt=dt)
        sim.step(1000)
        begin = time.process_time()
        for _ in range(20_000):
            sim.step()
        assert 20_000 / (time.process_time() - begin) > 0.5 * rate


def test_a_control_law_is_called_at_its_rate():
    sim = ss.Simulator(pendulum(), dt=1e-3)
    times = []
    sim.run(0.05, control=lambda sim: times.append(sim.t), rate=200)
    assert times == pytest.approx([0.005 * k for k in range(10)]) and sim.steps == 50
    sim.run(0.06)
    assert sim.steps == 60
    for wrong, words in (
        (lambda: sim.run(0.0), "t_end must be"),
        (lambda: sim.run(1.0, control=print, rate=300), "whole number of steps"),
        (lambda: sim.run(1.0, control=print, rate=0.0), "whole number of steps"),
        (lambda: sim.run(1.0, control=3), "control must be"),
    ):
        with pytest.raises(ValueError, match=words):
            wrong()


def test_work_of_a_hand_is_not_called_an_error_of_the_steps():
    """Torques, forces and motors do work: in a scene, and from the moment on in which a simulator is given one."""
    driven = pendulum(torque=0.7).simulate(dt=1e-3, t_end=0.1, progress=False).certificate
    assert not driven.doubts() and np.isnan(driven.rule_share)
    sim = ss.Simulator(pendulum(), dt=1e-3)
    start = sim.save()
    for give in (
        lambda: setattr(sim.joint("hip"), "torque", 0.7),
        lambda: setattr(sim.body("bar"), "torque", 0.7),
        lambda: setattr(sim.body("bar"), "force", (0.7, 0.0)),
    ):
        sim.restore(start)
        give()
        sim.step(50)
        assert "work of applied forces" in str(sim.certificate) and not sim.certificate.doubts()
        assert "work of applied forces" in str(pickle.loads(pickle.dumps(sim)).certificate)
    sim.restore(start)
    sim.joint("hip").motor = (1.0, 2.0)
    sim.step(50)
    assert "gained at contacts and motors" in str(sim.certificate) and "by the steps" in str(sim.certificate)
    sim.restore(start)
    sim.step(1)
    assert "by the steps none" in str(sim.certificate) and "motors" not in str(sim.certificate)


def test_a_parameter_that_changes_an_energy_leaves_the_balance_of_energy_unknown():
    """What a new stiffness or gravity puts in is no error of the steps; a new restitution puts in nothing."""
    sim = ss.Simulator(ss.library.bouncing_ball(restitution=0.8), dt=1e-3)
    sim.step(100)
    sim.params["restitution"] = 0.5
    assert "by the steps unknown" not in str(sim.certificate)
    start = sim.save()
    sim.params["g"] = 2.0
    sim.step(10)
    assert np.isnan(sim.certificate.integration_energy) and not sim.certificate.doubts()
    assert np.isnan(pickle.loads(pickle.dumps(sim)).certificate.integration_energy)
    sim.restore(start)
    assert np.isfinite(sim.certificate.integration_energy)


def test_a_snapshot_of_a_scene_with_other_bodies_is_refused():
    def falling(mass=1.0, size=0.1, friction=0.5, arm=0.5):
        scene = ss.Scene(name="one name")
        scene.add_static(ss.HalfSpace((0, 0, 1)), friction=friction)
        body = scene.add_body(ss.Sphere(size), mass=mass, position=(0, 0, 1.0))
        scene.add_spherical(None, body, (arm, 0, 1.0))
        return ss.Simulator(scene, dt=1e-3)

    first, twin = falling(), falling()
    first.step(50)
    saved = first.save()
    twin.restore(saved)
    assert twin.t == first.t
    for other in (falling(mass=2.0), falling(size=0.2), falling(friction=0.1), falling(arm=0.4)):
        with pytest.raises(ValueError, match="snapshot must be one of the same system") as problem:
            other.restore(saved)
        assert "\n" not in str(problem.value) and other.t == 0.0
