"""Derivatives of the time steps of scenes with joints, against differences of runs and closed forms."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.scenario import SceneScenario
from stickslip.scenes.varied import value_in

G = 9.81
STEPPERS = ("moreau-midpoint", "moreau-jean", "stewart-trinkle")


def stepped(scenario, name, stepper, share):
    """d(q, u)(t_end)/d name by central differences of runs, solved as well as they can be."""
    value = value_in(scenario.scene, name)
    step, ends = share * (abs(value) or 1.0), []
    for x in (value + step, value - step):
        moved = scenario.with_values({name: x})
        for tol in (1e-13, 1e-12, 1e-11, 1e-10):
            run = moved.simulate(stepper=stepper, tol=tol, overlap="keep", penetration_tol=1.0, progress=False)
            if run.complete:
                break
        assert run.complete, run.status
        ends.append(np.concatenate([run.q[-1], run.u[-1]]))
    return (ends[0] - ends[1]) / (2.0 * step)


def judged(scene, names, dt, t_end, stepper):
    """Derivatives that are reliable and that differences with two steps agree about, and how many they are."""
    scenario = SceneScenario(scene, dt, t_end, "", "")
    found = ss.step_sensitivity(scenario, names, stepper=stepper, every=10**6)
    count = 0
    for j, name in enumerate(names if found.reliable else ()):
        one, two = (stepped(scenario, name, stepper, share) for share in (1e-6, 2.5e-7))
        size = max(np.abs(one).max(), 1e-2)
        scatter = np.abs(one - two).max() / size
        if scatter <= 1e-5:
            error = np.abs(found.end[:, j] - one).max() / size
            assert error <= max(3e-6, 3.0 * scatter), (name, error, scatter)
            count += 1
    return found, count


def leg(**motor):
    """A foot on a leg that falls onto a floor and slides; a hinge with friction and a limit, and a slide above."""
    scene = ss.Scene(gravity=G)
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.4, name="floor")
    hip = scene.add_body(ss.Box((0.2, 0.1, 0.1)), position=(0, 0, 0.6), mass=2.0, velocity=(0.5, 0.1, 0), name="hip")
    thigh = scene.add_body(
        ss.Box((0.05, 0.05, 0.3)), position=(0, 0, 0.4), mass=0.5, velocity=(0.5, 0.1, 0), name="leg"
    )
    foot = scene.add_body(ss.Sphere(0.06), position=(0.05, 0, 0.1), mass=0.3, velocity=(0.5, 0.1, 0), name="foot")
    scene.add_revolute(hip, thigh, at=(0, 0, 0.55), axis=(0, 1, 0.1), friction=0.05, limits=(-0.02, 1.0), name="knee")
    scene.add_prismatic(thigh, foot, at=(0, 0, 0.2), axis=(0, 0, 1), name="slide", **motor)
    return scene


def test_a_leg_that_lands_agrees_with_differences_of_its_runs():
    scene = leg(motor=ss.Motor(stiffness=400.0, damping=5.0, effort=1e3))
    found, count = judged(scene, ["foot.mass"], 0.01, 0.12, "moreau-midpoint")
    assert found.reliable and count == 1 and len(found.strikes) > 0


def test_a_pendulum_has_the_derivative_of_its_midpoint_rule():
    """A light rod: theta'' = -(g / l) sin theta.  The period of small swings is 2 pi sqrt(l / g), in space as well."""
    scene = ss.Scene(gravity=G)
    bob = scene.add_body(ss.Sphere(0.01), position=(0, 0, -1.0), mass=1.0, velocity=(0.01, 0, 0), name="bob")
    scene.add_spherical(None, bob, at=(0, 0, 0))
    found = ss.step_sensitivity(scene, ["bob.vx"], dt=0.02, t_end=0.4)
    omega = np.sqrt(G / (1.0 + 0.4 * 0.01**2))
    assert found.reliable and found.converges
    assert found.end[0, 0] == pytest.approx(np.sin(0.4 * omega) / omega, rel=1e-3)
    assert found.end[7, 0] == pytest.approx(np.cos(0.4 * omega), rel=4e-3)


def test_a_limit_that_is_struck_is_told():
    """Behind a strike the derivative is that of the steps: held times of impacts."""
    scene = ss.Scene(gravity=0.0)
    cart = scene.add_body(ss.Box((0.1, 0.1, 0.1)), position=(0, 0, 0), mass=1.0, velocity=(1, 0, 0), name="cart")
    scene.add_prismatic(None, cart, at=(0, 0, 0), axis=(1, 0, 0), limits=(-1.0, 0.2))
    found = ss.step_sensitivity(scene, ["cart.vx"], dt=0.03, t_end=0.3)
    assert found.reliable and not found.converges and found.strikes == pytest.approx([0.21])
    assert found.end[[0, 7], 0] == pytest.approx([0.0, 0.0], abs=1e-9)  # it stands at its limit


def test_a_motor_that_holds_its_speed_and_one_that_slips():
    """Within its effort du/dspeed = 1; beyond, u = u_0 + (torque / inertia) t whatever speed is asked for."""
    for effort, slope in ((10.0, 1.0), (0.1, 0.0)):
        scene = ss.Scene(gravity=0.0)
        wheel = scene.add_body(ss.Sphere(0.5), position=(0, 0, 0), mass=1.0, name="wheel")
        scene.add_revolute(None, wheel, at=(0, 0, 0), axis=(0, 0, 1), motor=(3.0, effort), torque=0.05, name="axle")
        found = ss.step_sensitivity(scene, ["axle.speed", "axle.torque"], dt=0.1, t_end=1.0)
        assert found.reliable
        assert found.end[12] == pytest.approx([slope, (1.0 - slope) / 0.1], abs=1e-9)


@pytest.mark.slow
def test_bodies_on_fixed_joints():
    """Members of composites have derivatives of their own: a mass moves the common centre of mass."""
    scene = ss.Scene(gravity=G)
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.3, restitution=0.3, name="floor")
    a, b, c = (
        scene.add_body(shape, position=place, mass=mass, velocity=(1, 0, 0), friction=0.3, restitution=0.3, name=name)
        for shape, place, mass, name in (
            (ss.Box((0.4, 0.2, 0.1)), (0, 0, 0.2), 1.0, "a"),
            (ss.Sphere(0.1), (-0.1, 0.05, 0.3), 0.5, "b"),
            (ss.Box((0.3, 0.1, 0.1)), (0.4, 0, 0.2), 0.7, "c"),
        )
    )
    scene.add_fixed(a, b)
    scene.add_revolute(a, c, at=(0.22, 0, 0.2), axis=(0, 1, 0.2), damping=0.1, torque=0.3, name="hinge")
    found, count = judged(scene, ["b.mass", "b.z", "hinge.torque"], 0.01, 0.15, "moreau-midpoint")
    assert found.reliable and count == 3
    with pytest.raises(ValueError, match="must not part bodies that fixed joints hold as one"):
        ss.step_sensitivity(scene, "a.vx", dt=0.01, t_end=0.1)


def chain(seed):
    """Two to four random bodies on hinges, ball joints and slides, thrown or hung up, above a floor."""
    rng = np.random.default_rng(seed)
    mu, e = float(rng.uniform(0.1, 0.8)), float(rng.choice([0.0, 0.3, 0.6]))
    scene, thrown, before = ss.Scene(gravity=G), bool(rng.random() < 0.6), None
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=mu, restitution=e, name="floor")
    z, shapes = float(rng.uniform(0.35, 0.8)), (ss.Box((0.36, 0.1, 0.12)), ss.Box((0.3, 0.12, 0.1)), ss.Sphere(0.15))
    names = ["b1.mass", "b0.z", "friction", "b0.vz" if thrown else "b1.wy", *(["restitution"] if e else [])]
    for k in range(int(rng.integers(2, 5))):
        place = np.array([0.4 * k, 0.0, z])
        body = scene.add_body(
            shapes[int(rng.integers(3))], position=place, mass=float(rng.uniform(0.5, 2.0)), friction=mu, restitution=e,
            velocity=np.array([1.0, 0.2, -1.0]) * thrown, name=f"b{k}",
        )  # fmt: skip
        kind = ("revolute", "spherical", "prismatic")[int(rng.integers(3))] if k else "revolute"
        more = {"name": f"j{k}"}
        if kind != "spherical" and (k or not thrown):
            if rng.random() < 0.5:
                more["friction"] = float(rng.uniform(0.05, 0.5))
                names.append(f"j{k}.friction")
            if rng.random() < 0.4:
                more["limits"] = (-0.2, 0.3) if kind == "revolute" else (-0.05, 0.05)
            if rng.random() < 0.4:
                more["motor"] = ss.Motor(speed=1.0, effort=float(rng.uniform(0.5, 5.0)))
                names.append(f"j{k}.speed")
        at = place - (0.2, 0, 0)
        if k or not thrown:
            axis = {} if kind == "spherical" else {"axis": rng.normal(size=3) if kind == "revolute" else (1, 0, 0.2)}
            getattr(scene, f"add_{kind}")(before, body, at=at, **axis, **more)
        before = body
    return scene, names


@pytest.mark.slow
def test_random_chains_agree_with_differences_of_their_runs():
    counts = [judged(*chain(seed), 0.005, 0.3, STEPPERS[seed % 3])[1] for seed in range(12)]
    assert sum(counts) >= 25, counts
