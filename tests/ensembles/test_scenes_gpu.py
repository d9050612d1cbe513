"""Ensembles of scenes on a card: slabs, the text for a card run on the CPU, PTX, and a card where there is one."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.ensembles import gpu as ensembles_gpu
from stickslip.ensembles import scene_card, scene_slabs
from stickslip.ensembles.gpu import Card, unavailable
from stickslip.ensembles.observables import OBSERVABLES
from stickslip.ensembles.scene_card import compute_on_card, slabs_of
from stickslip.ensembles.scene_members import compute_scenes
from stickslip.ensembles.scenes import prepare_scenes
from stickslip.jit import KernelError, gpu
from stickslip.jit.slabs import Layout
from stickslip.scenario import as_scenario
from tests.ensembles.slabs_on_cpu import Processor, text_of
from tests.ensembles.test_scenes import TOSS, WATCHED, toss

slow = pytest.mark.slow
needs_card = pytest.mark.skipif(bool(unavailable()), reason="no GPU")
STARTS = {
    **{f"cube.{word}": "normal:0:1" for word in ("vx", "vy", "qw", "qx", "qy", "qz")}, "cube.vz": "normal:-2:0.3",
    **{f"cube.{word}": "normal:0:5" for word in ("wx", "wy", "wz")}, "cube.z": "uniform:0.09:0.13",
}  # fmt: skip


def request(vary=STARTS, observe=("final", "impacts"), scene=None, **options):
    asked = {"dt": 1e-3, "t_end": 0.1, "samples": 6, "seed": 5, **options}
    return prepare_scenes(as_scenario(scene or toss(), 1e-3, None, None), vary, list(observe), **asked)


def blocks():
    """Two blocks that a circle falls on, in the plane."""
    scene, block = ss.Scene(dim=2, name="blocks"), ss.Polygon([(-0.1, -0.05), (0.1, -0.05), (0.1, 0.05), (-0.1, 0.05)])
    scene.add_static(ss.HalfPlane((0, 1)), friction=0.4, name="floor")
    scene.add_body(block, mass=1.0, position=(0, 0.05), friction=0.4, name="low")
    scene.add_body(block, mass=1.0, position=(0.02, 0.15), friction=0.4, name="high")
    scene.add_body(ss.Circle(0.05), mass=0.5, position=(0.05, 0.3), velocity=(0.0, -1.0), friction=0.4, name="disc")
    return scene


def linked():
    """A box with a leg on a hinge, which falls onto a board."""
    scene = ss.Scene(dim=3, name="linked")
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.5, name="board")
    box = scene.add_body(ss.Box((0.2, 0.1, 0.05)), mass=1.0, position=(0, 0, 0.15), friction=0.5, name="cube")
    leg = scene.add_body(ss.Capsule(0.03, 0.2), mass=0.4, position=(0.15, 0, 0.3), friction=0.5, name="leg")
    scene.add_revolute(box, leg, (0.15, 0, 0.2), (0, 1, 0), name="hip")
    return scene


HIPS = {"hip.friction": [0.0, 0.02], "friction": [0.2, 0.6], "hip.armature": [0.0, 0.001]}


def both(asked, device=None):
    """What a device and single runs make of a request, and the members that the device has handed over."""
    device, n = device or Processor(), asked.plan.size
    return compute_on_card(asked, 0, n, device, lambda steps: None), compute_scenes(
        asked, 0, n, 1, lambda steps: None
    ), device.handed  # fmt: skip


def require_equal(found, wanted):
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        assert np.array_equal(found[name], values, equal_nan=True), name


def test_slabs_hold_what_they_are_given():
    whole, scratch = np.arange(6.0).reshape(2, 3), np.ones(100)
    arguments = ((whole, 0.25, 7, None), np.array([True, False]), scratch)
    layout = Layout(arguments, [scratch])
    slabs = np.zeros((2, layout.kept), np.uint8)
    layout.pack(arguments, slabs[1])
    (back, number, count, none), flags, nothing = layout.views(slabs)
    assert np.array_equal(back[1], whole) and not back[0].any() and number.tolist() == [0.0, 0.25]
    assert (count, none, nothing) == (7, None, None) and flags[1].tolist() == [True, False]
    assert layout.kept == 64 and layout.size == 864
    for other in (((whole, 0.25, 8, None), flags[1], scratch), ((whole.T, 0.25, 7, None), flags[1], scratch)):
        with pytest.raises(ValueError, match="another layout"):
            layout.pack(other, slabs[0])


def test_starts_that_are_written_at_once_are_those_of_single_runs(monkeypatch):
    """Members that start with nothing near need no engine of their own; those near the board have one."""
    asked = request()
    slabs, columns = slabs_of(asked), asked.plan.members(0, 6)
    made = []
    monkeypatch.setattr(slabs, "_start_one", lambda values, i, start: made.append(i))
    quick = slabs.starts(columns)
    assert 0 < len(made) < 6
    monkeypatch.undo()
    monkeypatch.setattr(slabs, "_free_starts", lambda columns, start: np.zeros(6, bool))
    single = slabs.starts(columns)
    (a, *_), (b, *_) = (slabs.layout.views(start.slabs)[0] for start in (quick, single))
    for i in set(range(6)) - set(made):
        assert np.array_equal(quick.q0[i], single.q0[i]) and np.array_equal(quick.u0[i], single.u0[i])
        for name in ("pose", "vel", "angle", "mass", "life", "inertia", "wrench"):
            assert np.array_equal(a[name][i], b[name][i], equal_nan=True), name


def test_the_text_for_a_card_marches_as_single_runs_do(monkeypatch):
    """The first contacts of tossed cubes, in batches of one member."""
    monkeypatch.setattr(scene_card, "BATCH_BYTES", 1.0)
    found, wanted, handed = both(request(samples=3))
    require_equal(found, wanted)
    assert handed == 0 and wanted["impacts"].sum() > 4


@slow
@pytest.mark.parametrize(
    "asked",
    [
        lambda: request(TOSS, OBSERVABLES, t_end=0.4, **WATCHED),
        lambda: request(STARTS, OBSERVABLES, t_end=0.4, samples=12, **WATCHED),
        lambda: request({"friction": "0.1:0.5:4"}, ["final", "energy", "shares"], blocks(), t_end=0.4, samples=None),
        lambda: request(HIPS, ["final", "energy", "impacts"], linked(), t_end=0.4, samples=None),
        lambda: request({"cube.z": [0.02, 0.11]}, samples=None),  # one of them starts inside the board
    ],
)
def test_all_observables_and_scenes_in_space_and_plane(asked):
    found, wanted, handed = both(asked())
    require_equal(found, wanted)
    assert handed <= 2


def test_members_that_find_no_room_are_left_to_the_cpu(monkeypatch):
    monkeypatch.setattr(scene_slabs, "MOST_POINTS", 1)
    found, wanted, handed = both(request(samples=4, t_end=0.05))
    require_equal(found, wanted)
    assert handed > 0


def glued():
    """Two bodies that a fixed joint makes one of."""
    scene = linked()
    scene.add_fixed(scene.bodies[3], scene.add_body(ss.Sphere(0.05), mass=0.4, position=(0.15, 0, 0.45), name="ball"))
    return scene


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (lambda: request({"cube.vx": [0.0]}, scene=glued(), samples=None), "it has bodies in one"),
        (lambda: request(stepper="paoli-schatzman"), "it has stepper 'paoli-schatzman'"),
        (lambda: request(cone=8), "it has pyramids for cones"),
        (lambda: request({"cube.z": [0.01]}, samples=None, overlap="keep", law="stronge"), "it has law 'stronge'"),
    ],
)
def test_what_a_card_cannot_run_is_one_line(asked, words):
    with pytest.raises(ValueError, match=rf"^device 'gpu' cannot run scene '.*': {words}.*; use 'cpu'\.$") as told:
        slabs_of(asked())
    assert "\n" not in str(told.value)


def test_without_a_card_it_says_so(monkeypatch):
    monkeypatch.setattr(ensembles_gpu, "unavailable", lambda: "device 'gpu' finds no GPU to compute on.")
    with pytest.raises(ValueError, match="finds no GPU"):
        ss.ensemble(toss(), {"cube.vx": [1.0]}, dt=1e-3, t_end=0.01, device="gpu", progress=False)


def test_a_kernel_that_cannot_be_written_is_one_line(monkeypatch):
    class Fake:
        capability = 90

        def loaded(self, made, registers):
            raise AssertionError

    class Broken:
        def launched(self, capability):
            raise KernelError("no.")

    monkeypatch.setattr(ensembles_gpu, "card", Fake)
    monkeypatch.setattr(Card, "__post_init__", lambda self: None)
    with pytest.raises(ValueError, match=r"device 'gpu' cannot run this scene: no.*; use 'cpu'\.$"):
        Card()._scene_kernel(Broken())


def test_the_text_for_a_card_is_whole():
    written, kinds = text_of(slabs_of(request()).program)
    assert kinds == "all" + "alll" * 5 + "all" + "fi"
    assert "@malloc(" not in written and "@free(" not in written and "inttoptr" not in written


@slow
def test_ptx_of_a_scene_fuses_nothing():
    ptx = gpu.build(text_of(slabs_of(request()).program)[0], gpu.target(90), 1)
    assert ".target sm_90" in ptx and ptx.count("mul.rn.f64") > 1000
    assert ptx.count("mul.f64") == ptx.count("fma.rn.f64") == ptx.count(".extern .func") == 0


@needs_card
@pytest.mark.parametrize(
    "asked",
    [
        lambda: request(STARTS, t_end=0.4, samples=200),
        lambda: request(TOSS, OBSERVABLES, t_end=0.4, samples=40, **WATCHED),
        lambda: request({"friction": "0.1:0.5:4"}, ["final", "energy", "shares"], blocks(), t_end=0.4, samples=None),
        lambda: request(HIPS, ["final", "energy", "impacts"], linked(), t_end=0.4, samples=None),
    ],
)
def test_a_card_gives_the_bits_of_single_runs(asked):
    device = Card()
    device.handed = 0
    found, wanted, handed = both(asked(), device)
    require_equal(found, wanted)
    assert handed <= 0.1 * len(wanted["status"])


@needs_card
def test_members_whose_arena_is_full_on_a_card_are_left_to_the_cpu(monkeypatch):
    monkeypatch.setattr(scene_slabs.SceneSlabs, "_arena", lambda self: 64)
    found, wanted, handed = both(request(samples=4), Card())
    require_equal(found, wanted)
    assert handed > 0
