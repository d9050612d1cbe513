"""Ensembles of scenes: members equal single runs bit for bit; files, bad input, closed forms."""

import math
import pickle

import numpy as np
import pytest

import stickslip as ss
from stickslip import library
from stickslip.cli import main
from stickslip.ensembles import chunks, gpu
from stickslip.ensembles.cluster import compute_task
from stickslip.ensembles.observables import OBSERVABLES
from stickslip.ensembles.parts import parts_folder
from stickslip.ensembles.scene_watch import Asked, Watch
from stickslip.ensembles.scenes import prepare_scenes
from stickslip.scenario import as_scenario
from stickslip.scenes.resized import size_names
from stickslip.scenes.varied import free_names, varied

TURNS = ("qw", "qx", "qy", "qz")
WATCHED = {"section": "every:0.005", "points": 3, "travel": "cube.z"}
TOSS = {
    "friction": "uniform:0.1:0.3", "cube.restitution": "uniform:0:0.5", "cube.vx": "normal:1:0.2",
    "cube.wy": "normal:3:1", "cube.size_x": "uniform:0.08:0.12", "cube.mass": "uniform:0.3:0.4",
    "cube.force_x": "normal:0:0.1", "gravity_z": "uniform:-10:-9", **{f"cube.{q}": "normal:0:1" for q in TURNS},
}  # fmt: skip


def toss(friction=0.18, restitution=0.13):
    """A cube that is about to touch a board."""
    scene = ss.Scene(dim=3, name="toss")
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=friction, name="board")
    scene.add_body(
        ss.Box((0.1, 0.1, 0.1)), mass=0.37, position=(0, 0, 0.11), velocity=(1, 0.2, -2), angular_velocity=(3, 5, -4),
        friction=friction, restitution=restitution, name="cube",
    )  # fmt: skip
    return scene


def tosses(vary=None, observe=OBSERVABLES, **options):
    asked = {"dt": 1e-3, "t_end": 0.04, "progress": False, **(WATCHED if observe is OBSERVABLES else {})}
    count = {} if vary is not None else {"samples": 6, "seed": 3}
    return ss.ensemble(toss(), TOSS if vary is None else vary, observe, **{**asked, **count, **options})


@pytest.fixture(scope="module")
def six():
    return tosses()


def test_members_are_runs_of_simulate_to_the_last_bit(six):
    assert six.n_failed == 0 and six["impacts"].values.sum() > 10
    for i in range(6):
        values = {name: float(six[name].values[i]) for name in TOSS}
        run = as_scenario(toss(), 1e-3, None, None).with_values(values).simulate(t_end=0.04, progress=False)
        member = six.dataset.isel(sample=i)
        assert np.array_equal(member.final_q, run.q[-1]) and np.array_equal(member.final_u, run.u[-1])
        assert np.array_equal(member.point_q, run.q[[30, 35, 40]]) and np.array_equal(
            member.point_u, run.u[[30, 35, 40]]
        )
        assert np.allclose(member.point_time, [0.03, 0.035, 0.04]) and member.passages == 8
        assert np.array_equal(member.least_q, run.q[1:].min(axis=0)) and np.array_equal(
            member.largest_u, run.u[1:].max(axis=0)
        )
        assert member.impacts.item() == len(run.impacts())
        assert np.allclose(member.share[0], [np.mean(run.contact_state[1:, 0] == state) for state in range(6)])
        assert member.kinetic_end == run.energy.kinetic[-1] and member.potential_start == run.energy.potential[0]
        certificate = run.certificate
        for name in ("max_residual", "max_penetration", "max_energy_gain", "fallbacks", "contact_work"):
            assert member[name].item() == getattr(certificate, name), name
        assert member["drop"] == pytest.approx((run.q[5, 2] - run.q[40, 2]) / 7)


def test_neither_threads_nor_chunks_nor_workers_change_a_bit(six):
    assert tosses(threads=1, chunk=4).dataset.identical(six.dataset)
    request = prepare_scenes(
        as_scenario(toss(), 1e-3, None, None), TOSS, OBSERVABLES, dt=1e-3, t_end=0.04, samples=6, seed=3, **WATCHED
    )
    sent = pickle.loads(pickle.dumps(request))  # as a worker on another machine gets it
    for name, values in compute_task(sent, 2, 4).items():
        assert np.array_equal(values, six[name].values[2:4], equal_nan=True), name


def test_an_interrupted_sweep_goes_on_with_the_same_bytes(tmp_path, monkeypatch):
    whole, broken = tmp_path / "whole.nc", tmp_path / "broken.nc"
    vary = {"cube.vx": [0.5, 1.0], "friction": "0.1:0.3:3"}
    first = tosses(vary, ["final"], out=whole)
    compute, left = chunks.compute_scenes, [1]

    def once(*arguments):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return compute(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(chunks, "compute_scenes", once)
        with pytest.raises(KeyboardInterrupt):
            tosses(vary, ["final"], out=broken, chunk=2)
    assert len(list(parts_folder(broken).glob("*.npz"))) == 1
    with pytest.raises(ValueError, match="another ensemble"):
        tosses(vary, ["final"], out=broken, resume=True, tol=1e-9)
    result = tosses(vary, ["final"], out=broken, resume=True)
    assert broken.read_bytes() == whole.read_bytes() and result.steps == 4 * 40
    assert ss.load_ensemble(whole).dataset.identical(first.dataset)
    assert first["cube.vx"].attrs["units"] == "m/s" and first["final_q"].dims[-1] == "coordinate"


def test_where_thrown_cubes_stop():
    """Closed form: v^2 / (2 mu g); members with an overlap at the start fail, and nothing else does."""
    vary = {"cube.vx": [1.0, 2.0], "friction": [0.4, 0.6], "cube.size_z": [1.0, 1.2]}
    result = ss.ensemble(library.thrown_cube(), vary, ["final", "impacts"], t_end=0.6, progress=False)
    x = result["final_q"].sel(coordinate="cube.x")
    for v in (1.0, 2.0):
        for mu in (0.4, 0.6):
            way = x.sel({"cube.vx": v, "friction": mu}).values
            assert way[0] == pytest.approx(v**2 / (2.0 * mu * 9.81), abs=2e-3 * v) and math.isnan(way[1])
    failed = result.failed()
    assert len(failed) == 4 and all(member.reason == "starts with a penetration" for member in failed)
    assert all(member.values["cube.size_z"] == 1.2 and member.time == 0.0 for member in failed)


def test_loads_and_masses_in_the_plane():
    """A disc that a constant force pushes over ice: x = F t^2 / (2 m); and the section it passes."""
    scene = ss.Scene(dim=2, gravity=0.0)
    scene.add_body(ss.Circle(0.1), mass=1.0, name="disc")
    vary = {"disc.mass": [1.0, 2.0], "disc.force_x": [4.0, 8.0], "disc.torque": [1.0]}
    result = ss.ensemble(
        scene, vary, ["final", "points"], section="disc.x>0.5", points=2, dt=1e-3, t_end=1.0, progress=False
    )
    for m in (1.0, 2.0):
        for force in (4.0, 8.0):
            member = result.dataset.sel({"disc.mass": m, "disc.force_x": force, "disc.torque": 1.0})
            a, alpha = force / m, 1.0 / (0.5 * m * 0.01)
            assert np.allclose(member.final_q, [0.5 * a, 0.0, 0.5 * alpha]) and np.allclose(member.final_u[2], alpha)
            assert member.point_time[0] == pytest.approx(math.sqrt(1.0 / a)) and math.isnan(member.point_time[1])
            assert member.point_q[0, 0] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vary": {"cube.sise_x": [1.0]}}, "unknown parameter 'cube.sise_x'; did you mean 'cube.size_x'"),
        ({"vary": {"friction": "normal:0:1"}, "samples": 9}, "friction of 'board' must be at least 0, got -"),
        ({"vary": {"cube.restitution": [0.5, 1.5]}}, "restitution of 'cube' must be between 0 and 1, got 1.5"),
        ({"vary": {"cube.mass": [0.0]}}, "cube.mass must be positive, got 0"),
        ({"vary": {"cube.size_x": [-1.0]}}, "cube.size_x must be positive, got -1"),
        ({"vary": {"cube.mass": [1.0], "cube.density": [1.0]}}, "must not vary together"),
        ({"dt": None}, "dt must be given"),
        ({"t_end": None}, "t_end must be given"),
        ({"solver": "lemke"}, "solver of a scene must be 'auto'"),
        ({"stepper": "adaptive"}, "stepper of a scene must be"),
        ({"section": "phase:omega", "observe": ["period"]}, "unknown parameter 'omega'"),
        ({"observe": ["period"]}, "needs a section"),
        ({"tol": 2.0}, "tol must lie between 0 and 1"),
        ({"params": {"friction": 1.0}}, "params are for mechanisms"),
        ({"vary": {f"cube.{q}": [0.0] for q in TURNS}}, "must not all be zero"),
    ],
)
def test_bad_input_is_one_clear_line(options, message):
    with pytest.raises(ValueError, match=message) as caught:
        tosses(**{"vary": {"cube.vx": [0.5]}, "observe": ["final"], **options})
    assert "\n" not in str(caught.value)


def test_the_command_takes_scenes(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(gpu, "unavailable", lambda: "device 'gpu' finds no GPU to compute on; or use 'cpu'.")
    command = ["sweep", "thrown_cube", "--vary", "cube.vx=1,2", "--t-end", "0.01", "--quiet"]
    assert main([*command, "--out", str(tmp_path / "a.nc")]) == 0
    assert ss.load_ensemble(tmp_path / "a.nc")["final_u"].sel(velocity="cube.vx").values[1] < 2.0
    assert (
        main([*command, "--device", "gpu"]) == 2 and main(["sweep", "woodpecker", "--vary", "y=0", "--tol", "1"]) == 2
    )
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 2 and "or use 'cpu'" in lines[0] and "tol is for ensembles of scenes" in lines[1]


# -- what varies -----------------------------------------------------------------------------------------------------


def changed(scene, **values):
    return varied(scene, {name.replace("__", "."): value for name, value in values.items()})[0]


def test_members_under_the_law_that_scenes_alone_know():
    """Poisson's law at once has a name, and no object: asking for it was refused."""
    ends = ss.ensemble(
        ss.library.cradle(), {"ball1.vx": [0.5, 1.0]}, dt=1e-3, t_end=5e-3, law="poisson-at-once", progress=False
    )
    assert "poisson-at-once" in str(ends.dataset.attrs.values())


def test_sizes_keep_the_mass_and_take_the_inertia_along():
    scene = ss.Scene(dim=3)
    for shape, name in ((ss.Box((1, 2, 3)), "box"), (ss.Capsule(0.1, 0.4), "rod"), (ss.Torus(1.0, 0.2), "ring")):
        scene.add_body(shape, mass=2.0, position=(0, 0, 5 * len(scene.bodies)), name=name)
    other = ss.Scene(dim=3)
    for shape, name in ((ss.Box((1, 4, 3)), "box"), (ss.Capsule(0.1, 0.9), "rod"), (ss.Torus(2.0, 0.4), "ring")):
        other.add_body(shape, mass=2.0, name=name)
    found = changed(scene, box__size_y=4.0, rod__length=0.9, ring__scale=2.0)
    for a, b in zip(found.bodies[1:], other.bodies[1:], strict=True):
        assert a.mass == 2.0 and np.allclose(a.inertia, b.inertia, rtol=1e-14) and a.shape == b.shape
    denser = changed(scene, box__density=10.0, box__size_x=2.0).bodies[1]
    assert denser.mass == pytest.approx(10.0 * 2 * 2 * 3)
    assert np.allclose(np.diag(denser.inertia), 120.0 / 12.0 * np.array([13, 13, 8]))
    assert scene.bodies[1].shape == ss.Box((1, 2, 3))  # the first scene stays as it was


def test_every_shape_scales_and_a_given_inertia_scales_with_it():
    scene = ss.Scene(dim=3)
    parts = [(ss.Sphere(0.1), (1, 0, 0)), ss.Box((1, 1, 1))]
    scene.add_body(ss.Compound(parts), mass=1.0, name="parts")
    scene.add_body(ss.ConvexHull(np.eye(4)[:, :3]), mass=1.0, name="hull")
    scene.add_body(ss.RoundedBox((1, 1, 1), 0.1), mass=1.0, name="rounded")
    scene.add_body(ss.Sphere(0.1), mass=1.0, inertia=(1, 1, 1), centre_of_mass=(0, 0, 0.05), name="given")
    found = changed(scene, parts__scale=3.0, hull__scale=3.0, rounded__scale=3.0, given__scale=3.0)
    for before, after in zip(scene.bodies[1:], found.bodies[1:], strict=True):
        assert np.allclose(after.inertia, 9.0 * before.inertia) and np.allclose(after.centre, 3.0 * before.centre)
        assert after.shape.mass_properties(3).volume == pytest.approx(27 * before.shape.mass_properties(3).volume)
    with pytest.raises(ValueError, match=r"were given by hand, and do not follow the shape; vary given\.scale"):
        changed(scene, given__radius=0.2)
    assert size_names(scene.bodies[1].shape) == ("scale",) and size_names(ss.HalfSpace((0, 0, 1))) == ("offset",)


def test_loads_joints_and_turns_are_set():
    scene = ss.Scene(dim=3)
    arm = scene.add_body(ss.Box((1, 1, 1)), mass=1.0, name="arm")
    scene.add_force(arm, force=(1, 2, 3))
    scene.add_force(arm, force=lambda t, x, v: (0, 0, t), torque=(0, 0, 1))
    scene.add_revolute(None, arm, (0, 0, 0), (0, 0, 1), motor=(1.0, 5.0), name="hinge")
    found = changed(scene, arm__force_x=7.0, hinge__speed=3.0, hinge__damping=0.1, arm__qx=1.0, gravity_z=-1.62)
    constant = [force for force in found.forces if not callable(force.force)]
    assert len(constant) == 1 and constant[0].force.tolist() == [7, 2, 3] and constant[0].torque.tolist() == [0, 0, 1]
    assert sum(callable(force.force) for force in found.forces) == 1
    assert found.joints[0].motor.speed == 3.0 and found.joints[0].damping == 0.1 and found.gravity[2] == -1.62
    assert np.allclose(found.bodies[1].orientation, np.array([1, 1, 0, 0]) / math.sqrt(2))
    assert {"hinge.torque", "arm.qz", "gravity_x", "arm.rolling", "arm.scale"} <= set(free_names(scene))


def test_a_watch_finds_passages_across_pieces():
    """x = sin t in pieces of any length: the same passages, at multiples of pi, to the order of cubic polynomials."""
    t = np.linspace(0.0, 20.0, 2001)
    q, u = np.sin(t)[:, None] * [1, 0, 0], np.cos(t)[:, None] * [1, 0, 0]
    found = []
    for size in (2000, 7):
        watch = Watch(Asked(1, 0, 0.0, 0.0, 0, 4, 0, 0.01, 2), (q[0], u[0]), 1)  # falls through 0
        for k in range(1, 2001, size):
            end = min(k + size, 2001)
            watch.take(q[k:end], u[k:end], np.zeros((end - k, 1), np.int8), np.zeros((0, 9)))
        found.append(watch.values())
    assert np.allclose(found[0]["point_time"][:3], np.pi * np.array([1, 3, 5]), atol=1e-9)
    assert found[0]["period"] == pytest.approx(2 * np.pi, abs=1e-9) and found[0]["passages"] == 3
    for name, value in found[0].items():
        assert np.array_equal(value, found[1][name], equal_nan=True), name


@pytest.mark.slow
def test_two_thousand_tosses_of_a_cube():
    """As the measured tosses are: random starts, 0.5 s; no member fails, none gains energy beyond its integration."""
    vary = {
        "cube.vx": "normal:0:1", "cube.vy": "normal:0:1", "cube.z": "uniform:0.15:0.3",
        **{f"cube.w{k}": "normal:0:5" for k in "xyz"}, **{f"cube.{q}": "normal:0:1" for q in TURNS},
    }  # fmt: skip
    result = ss.ensemble(toss(), vary, ["final", "energy", "impacts"], samples=2000, dt=1e-3, t_end=0.5, progress=False)
    assert result.n_failed == 0 and result.certificate()["max_residual"] <= 1e-10
    assert result.certificate()["max_energy_gain"] < 1e-5 and result.certificate()["max_penetration"] < 1e-3
    assert np.all(result["contact_work"] < 0.0) and np.all(result["impacts"] >= 1)
