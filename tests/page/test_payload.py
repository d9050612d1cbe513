"""Data sent to the page agree with the trajectory."""

import base64
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from stickslip import library
from stickslip.analysis.cycle import mean_cycle
from stickslip.analysis.poincare import poincare
from stickslip.analysis.sections import SECTIONS
from stickslip.analysis.seen_period import seen_period
from stickslip.drawing.primitives import Circle, Drawing, Group, Marker, Placement, Polyline, Text, flat
from stickslip.library import scenes
from stickslip.page.controls import bounds, controls, laws_of, with_values
from stickslip.page.document import MOST_BYTES, export, page
from stickslip.page.entries import ModelEntry, scenario_of
from stickslip.page.packing import floats, shorts
from stickslip.page.payload import payload
from stickslip.page.tracks import tracks
from stickslip.scenario import SceneScenario


def unpack(packed):
    (kind, text), *_ = packed.items()
    codes = np.frombuffer(base64.b64decode(text), dtype={"f32": "<f4", "u8": np.uint8, "i16": "<i2"}[kind])
    if kind != "i16":
        return codes
    rows = codes.reshape(-1, len(packed["step"]))
    return np.where(rows == -32768, np.nan, packed["middle"] + np.array(packed["step"]) * rows)


@pytest.fixture(scope="module")
def woodpecker():
    scenario = library.woodpecker()
    return scenario, scenario.simulate(dt=1e-4, t_end=1.0)


def placed(shapes, frame):
    """Numbers of every shape in a frame, as the page computes them; None for a shape that is absent."""
    found = []
    for shape in shapes:
        values = np.array(shape["values"], dtype=float)
        width = len(shape["moving"])
        if width:
            row = unpack(shape["track"]).reshape(-1, width)[frame]
            if np.isnan(row).any():
                found.append(None)
                continue
            values[shape["moving"]] = row
        found.append(values)
    return found


def with_marks(shape):
    """A shape, and the contact marks of a group, which are sent beside it."""
    return [shape, *(part for part in shape if isinstance(part, Marker))] if isinstance(shape, Group) else [shape]


@pytest.mark.parametrize("name", library.names())
def test_tracks_are_the_drawing(name):
    """Every library system: shapes put back together from constants and tracks are those that are drawn."""
    scenario = library.get(name)
    p = dict(zip(scenario.system.parameter_names, scenario.system.parameter_vector(scenario.params), strict=True))
    times = np.linspace(0.0, 0.1, 5)
    q = scenario.q0 + times[:, None] * scenario.u0
    shapes = tracks(scenario.drawing, q, times, p)
    json.dumps(shapes, allow_nan=False)
    for frame, (q_i, t_i) in enumerate(zip(q, times, strict=True)):
        drawn = [part for shape in scenario.drawing(q_i, t_i, p) for part in with_marks(shape)]
        sent = [
            (shape, values) for shape, values in zip(shapes, placed(shapes, frame), strict=True) if values is not None
        ]
        assert [shape["kind"] for shape, _ in sent] == [shape.kind for shape in drawn]
        for (_, values), shape in zip(sent, drawn, strict=True):
            if isinstance(shape, Group):
                expected = [*shape.placement.origin, shape.placement.c, shape.placement.s]
            elif isinstance(shape, Polyline):
                expected = np.ravel(shape.points)
            elif isinstance(shape, Circle):
                expected = [*shape.centre, shape.radius]
            elif isinstance(shape, Marker):
                expected = [*shape.point, *shape.normal]
            else:
                continue
            assert values == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_shapes_may_come_go_and_change_their_form():
    def shapes(q, t, p):
        grows = Group("grows", Placement((t, 0.0)), (Circle((0.0, 0.0), 1.0 + t),))
        return [grows, *([Text((t, 1.0), "now")] if t == 1.0 else []), Circle((q[0], 0.0), 1.0)]

    q, t = np.array([[5.0], [6.0], [7.0]]), np.array([0.0, 1.0, 2.0])
    found = tracks(Drawing(shapes), q, t, {})
    by_kind = [(shape["kind"], values) for shape, values in zip(found, placed(found, 1), strict=True)]
    assert ("text", pytest.approx([1.0, 1.0])) in by_kind
    circles = [values for kind, values in by_kind if kind == "circle" and values is not None]
    assert sorted(list(c) for c in circles) == [[1.0, 0.0, 2.0], [6.0, 0.0, 1.0]]
    assert all(v is None for s, v in zip(found, placed(found, 2), strict=True) if s["kind"] == "text")


def test_a_run_without_a_title_has_the_name_of_its_system(woodpecker):
    scenario, run = woodpecker
    assert payload(run, replace(scenario, title=""))["title"] == run.system_name


def test_payload_says_what_the_trajectory_says(woodpecker):
    scenario, run = woodpecker
    found = payload(run, scenario)
    json.dumps(found, allow_nan=False)
    t = unpack(found["history"]["t"])
    curves = {(c["group"], c["name"]): unpack(c["values"]) for c in found["history"]["curves"]}
    rows = np.searchsorted(run.t, t.astype(float) - 1e-6)
    assert np.abs(run.t[rows] - t).max() < 1e-6
    assert curves["coordinate", "phi_S"] == pytest.approx(run["phi_S"][rows], rel=1e-5, abs=1e-7)
    assert curves["energy", "total"] == pytest.approx(run.energy.total[rows], rel=1e-5, abs=1e-9)
    loaded = run.contact_state[rows, 1] == 1
    assert curves["normal force", "sleeve lower"][loaded] == pytest.approx(
        run.normal_impulse[rows, 1][loaded] / run.dt, rel=1e-4
    )
    assert found["numbers"]["certificate"] == run.certificate.to_dict()
    assert found["impacts"]["total"] == len(run.impacts())
    assert [c["friction"] for c in found["contacts"]] == [0.3] * 3


def test_contact_states_hold_between_their_starts(woodpecker):
    scenario, run = woodpecker
    for k, contact in enumerate(payload(run, scenario)["contacts"]):
        start, state = unpack(contact["start"]).astype(float), unpack(contact["state"])
        middle = 0.5 * (run.t[1:] + run.t[:-1])
        shown = state[np.searchsorted(start, middle, side="right") - 1]
        assert np.array_equal(shown, run.contact_state[1:, k])


def test_the_instants_of_impacts_are_among_the_frames(woodpecker):
    scenario, run = woodpecker
    frames = unpack(payload(run, scenario)["motion"]["t"])
    strongest = run.impacts()["time"][np.argsort(-run.impacts()["normal_impulse"])[:10]]
    assert all(np.abs(frames - time).min() <= run.dt for time in strongest)


def test_slip_turns_with_the_marks(woodpecker):
    """The woodpecker's tangent points upwards, its normals to the right: positive slip is the normal turned left."""
    scenario, run = woodpecker
    assert payload(run, scenario)["motion"]["turn"] == [1, 1, 1]


def test_the_period_seen_is_that_of_the_section():
    scenario = library.woodpecker()
    run = scenario.simulate(dt=1e-4, t_end=4.0)
    seen = seen_period(run)
    points = poincare(run, SECTIONS["woodpecker"])
    assert seen.period == pytest.approx(mean_cycle(points.t, points["y"], skip=10).period, rel=2e-3)


def test_no_period_is_seen_where_there_is_none():
    assert seen_period(library.bouncing_ball().simulate()) is None  # comes to rest
    assert seen_period(library.brick_on_ramp().simulate()) is None


def test_forced_motion_has_the_period_of_its_force():
    run = library.friction_oscillator().simulate()
    assert seen_period(run).period == pytest.approx(1.0 / 1.2, rel=1e-3)


@pytest.mark.parametrize("name", (*library.names(), *library.scene_names()))
def test_sliders_contain_the_systems_own_values(name):
    for control in controls(library.keywords(name), library.get(name), library.units(name)):
        assert control.low <= control.value <= control.high and control.low < control.high
        assert control.low > 0.0 or not control.log


def test_ranges_follow_the_meaning():
    assert bounds("restitution_normal", 0.5) == (0.0, 1.0, False)
    assert bounds("friction", 0.3) == (0.0, 1.0, False)
    assert bounds("m_S", 0.004)[2] and bounds("m_S", 0.004)[0] > 0.0
    assert bounds("angle", 0.3, "rad")[0] < 0.0


def test_keywords_keep_their_kind():
    assert with_values(library.keywords("newton_cradle"), {"balls": 4.0}) == {"balls": 4}
    assert with_values(library.keywords("impacting_bar"), {"velocity": [1, 2, 3]}) == {"velocity": (1.0, 2.0, 3.0)}
    assert with_values(library.keywords("slider_crank"), {"built_from": "links"}) == {"built_from": "links"}


def test_single_precision_has_no_infinity():
    assert np.isnan(unpack(floats([1e300, np.inf, np.nan]))).all()


def test_an_export_is_small_and_replaces_nothing_but_html(tmp_path, woodpecker):
    scenario, run = woodpecker
    path = export(run, tmp_path / "run.html", scenario)
    assert path.stat().st_size < 0.6 * MOST_BYTES  # run, page, kernels
    with pytest.raises(ValueError, match=r"must end in \.html"):
        export(run, tmp_path / "run.txt", scenario)


def test_texts_cannot_leave_their_place(woodpecker):
    scenario, run = woodpecker
    data = payload(run, scenario)
    data["title"] = "</script><script>alert(1)</script>"
    text = page(data)
    assert "<script>alert" not in text and text.count("</script>") == page().count("</script>")


def test_a_saved_run_finds_its_picture(woodpecker):
    _, run = woodpecker
    assert scenario_of(run).system.name == "woodpecker"


@pytest.mark.parametrize(
    "other",
    [
        {"system_name": "bouncing ball"},
        {"contact_names": ("hand", "shelf", "floor")},
        {"velocity_names": ("a", "b", "c")},
        {"parameters": {"m": 1.0}},
    ],
)
def test_a_run_that_only_shares_a_name_has_no_picture(woodpecker, other):
    run = replace(woodpecker[1], **other)
    assert scenario_of(run) is None
    assert payload(run, None)["title"] == run.system_name


@pytest.mark.parametrize("name", ["bouncing_ball", "slider_crank", "thrown_cube"])
def test_library_runs_find_themselves(name):
    run = library.get(name).simulate(t_end=2 * library.get(name).dt)
    assert scenario_of(run).title == library.get(name).title


def entry(scene):
    """A scene as a library entry returns it."""
    return SceneScenario(scene, 0.01, 1.0, "title", "source")


def record(scene, q, t):
    """A trajectory of a scene with given positions: nothing is computed."""
    from dataclasses import replace

    names = [body.name for body in scene.bodies if body.kind != "static"]
    run = library.bouncing_ball().simulate(dt=0.01, t_end=0.02, engine="reference")
    n, c = len(t), len(names)
    zeros, width = np.zeros((n, c)), q.shape[1] // c
    return replace(
        run, t=t, q=q, u=np.zeros((n, 3 * c)), gap=zeros, normal_impulse=zeros, tangential_impulse=zeros,
        contact_state=zeros.astype(np.int8), contact_names=tuple(names), contact_kinds=(0,) * c,
        coordinate_names=tuple(f"{name}.{k}" for name in names for k in range(width)),
        velocity_names=tuple(f"{name}.u{k}" for name in names for k in range(3)),
        energy=type(run.energy)(np.zeros(n), np.zeros(n)),
    )  # fmt: skip


def test_planar_scenes_move_as_groups():
    scene = scenes.domino_row(3)
    start = np.concatenate([[*b.position[:2], b.angle] for b in scene.bodies if b.kind != "static"])
    t = np.array([0.0, 0.5, 1.0])
    q = start + t[:, None] * np.tile([1.0, 0.0, 0.5], 3)
    motion = payload(record(scene, q, t), entry(scene))["motion"]
    shape = next(s for s in motion["shapes"] if s["name"] == "domino2")
    values = placed([shape], 2)[0]
    assert values == pytest.approx([1.6, 0.5, np.cos(0.5), np.sin(0.5)], abs=1e-6)
    corners = np.array(shape["items"][0]["values"]).reshape(-1, 2)
    sent = [(float(x), float(y)) for x, y in values[:2] + corners @ np.array([values[2:], [-values[3], values[2]]])]
    drawn = [s for s in flat(scene.drawing()(q[2], 1.0, {})) if s.style == "body"][1]
    assert np.array(sorted(sent)) == pytest.approx(np.array(sorted(drawn.points)), abs=1e-6)
    assert shape["channel"] == 1


def test_spatial_scenes_are_sent_once_with_their_poses():
    scene = scenes.cube_stack(2)
    start = np.concatenate([[*b.position, *b.orientation] for b in scene.bodies if b.kind != "static"])
    t = np.linspace(0.0, 1.0, 4)
    q = np.tile(start, (4, 1))
    q[:, 2] += t
    motion = payload(record(scene, q, t), entry(scene))["motion"]
    assert motion["kind"] == "space"
    assert [body["name"] for body in motion["bodies"]] == ["floor", "cube1", "cube2"]
    poses = unpack(motion["poses"]).reshape(4, 2, 7)
    assert poses[:, 0, 2] == pytest.approx(0.5 + t) and poses[:, 1, 2] == pytest.approx(1.5)
    assert [body["solids"] for body in motion["bodies"]] == [[0], [1], [1]]  # two cubes, one shape
    cube = motion["solids"][1]
    assert np.abs(cube["vertices"]).max() == pytest.approx(0.5) and len(cube["faces"]) == 6


def test_poses_of_many_bodies_have_sixteen_bits():
    """A 130,000th of a column's range at most is lost; what is not there stays so; a column of one number is exact."""
    rng = np.random.default_rng(3)
    poses = rng.normal(size=(30, 40, 7)) * [1e-3, 1.0, 1e4, 1.0, 1.0, 1.0, 0.0] + [1e4, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0]
    poses[:5, 2] = np.nan
    back = unpack(shorts(poses)).reshape(poses.shape)
    most = np.nanmax(poses, axis=(0, 1)) - np.nanmin(poses, axis=(0, 1))
    assert np.nanmax(np.abs(back - poses) / np.maximum(most, 1e-9)) < 1.01 / 130_000
    assert (np.isnan(back) == np.isnan(poses)).all() and (back[6:, :, 6] == 3.0).all()
    assert unpack(shorts(np.full((2, 3), np.nan))).size == 6


COEFFICIENTS = """
stickslip = 1
name = "block"
[coordinates]
x = { velocity = "v", unit = "m", velocity_unit = "m/s", start = 0.1 }
y = { velocity = "w", unit = "m", velocity_unit = "m/s" }
[parameters]
m = { value = 2.0, unit = "kg", meaning = "of the block" }
mu = 0.0
e = 0.6
brake = { value = 3.0, unit = "N" }
[energies]
kinetic = "m*(v**2 + w**2)/2"
[[contacts]]
name = "wall"
gap = "x"
slip = "y"
friction = "mu"
restitution_normal = "e"
[[contacts]]
type = "dry-friction"
name = "rail"
displacement = "x"
threshold = "brake"
[run]
dt = 1e-3
t_end = 1.0
"""


def test_coefficients_of_contacts_are_known_by_what_they_do_and_not_by_their_names(tmp_path):
    path = tmp_path / "block.toml"
    path.write_text(COEFFICIENTS)
    entry = ModelEntry(path)
    sliders = {c.key: c for c in controls(entry.keywords, entry.scenario, entry.units, entry.meanings)}
    laws = {key: sliders[key].law for key in ("mu", "e", "brake", "m")}
    assert laws == {"mu": "friction", "e": "restitution", "brake": "threshold", "m": ""}
    assert (sliders["e"].low, sliders["e"].high) == (0.0, 1.0) and (sliders["mu"].low, sliders["mu"].high) == (0.0, 1.0)
    assert sliders["m"].meaning == "of the block" and list(sliders)[3] == "m"  # laws come first


def test_a_mass_that_only_enters_a_friction_force_is_no_coefficient():
    assert laws_of(library.friction_oscillator()) == {}  # thresholds mu m g
    assert laws_of(library.block_on_belt()) == {"friction_static": "friction"}


def test_words_about_keywords_come_from_the_docstring():
    assert library.meanings("woodpecker")["h_M"] == "half the height of the sleeve [m]"
    assert library.meanings("woodpecker")["l_S"].startswith("h_S, l_S: distance")


def test_an_exported_page_does_not_say_where_a_file_lies(tmp_path):
    path = tmp_path / "block.toml"
    path.write_text(COEFFICIENTS)
    scenario = ModelEntry(path).scenario
    data = payload(scenario.simulate(dt=1e-2, t_end=0.1, engine="reference"), scenario)
    assert data["source"] == "block.toml" and str(tmp_path) not in str(data)


def test_a_page_carries_no_comments():
    script = page().split("<script", 2)[-1]
    assert "class ProjectedStage" in script and not re.search(r"^\s*(//|/\*|\* )", script, re.MULTILINE)
