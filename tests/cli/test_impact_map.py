"""`stickslip impact-map` and `stickslip compare-laws`: known numbers, files, and one clear line for what is wrong."""

import json
import sys

import numpy as np
import pytest
from PIL import Image

from stickslip import library
from stickslip.analysis import progress
from stickslip.cli import impact_map
from stickslip.impacts.impact import Impact
from stickslip.papers.pg05_data import BACKWARD, FORWARD, STICK, Bar, centres

LAWS = {  # gamma_T^- = -0.5 at 45 degrees, mu = 0.3, e = 0.5: Lambda_N, Lambda_T, gamma_N+, gamma_T+, T+ - T-
    "Newton, eps_T = 0": (0.7317073171, -0.2195121951, 0.5, 0.0487804878, -0.1334027365),
    "Newton, eps_T = 0.5": (0.65625, -0.09375, 0.5, 0.25, -0.15234375),
    "Poisson, eps_T = 0.5": (0.65625, -0.09375, 0.5, 0.25, -0.15234375),
    "Poisson, eps_T = 0": (0.65625, -0.128125, 0.4484375, 0.1640625, -0.1594604492),
    "Poisson, integrated": (0.5853658537, -0.0422764228, 0.4, 0.2723577236, -0.1707978055),
    "Stronge": (0.5987927697, -0.0463044976, 0.4275251779, 0.2824279106, -0.1663596090),
}
COLUMNS = (
    "normal_impulse", "tangential_impulse", "normal_velocity_after", "tangential_velocity_after", "energy_change"
)  # fmt: skip
OBLIQUE = ("compare-laws", "bar", "--set", "angle=45", "--set", "friction=0.3", "--set", "tangential_velocity=-0.5")


@pytest.fixture(autouse=True)
def empty_folder(monkeypatch, tmp_path):
    """Where files without a folder are written to."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def compare(run):
    def compare(*arguments):
        code, out, err = run(*arguments, "--json")
        assert (code, err) == (0, "")
        result = json.loads(out)
        return result, {row["law"]: row for row in result["laws"]}

    return compare


def test_one_oblique_impact_under_all_laws(compare):
    result, rows = compare(*OBLIQUE)
    for law, numbers in LAWS.items():
        assert [rows[law][key] for key in COLUMNS] == pytest.approx(numbers, abs=2e-10)
        assert rows[law]["energy_normal"] + rows[law]["energy_tangential"] == pytest.approx(rows[law]["energy_change"])
    stronge = [rows["Stronge"][key] for key in COLUMNS]
    assert [rows["Ratios of stiffness"][key] for key in COLUMNS] == pytest.approx(stronge, abs=1e-7)
    algebraic = rows["Chatterjee-Ruina, 0"]  # (1 + e) 0.4 + 0.6 x 0.0625, as test_the_law_of_a_mechanism derives it
    assert [algebraic[key] for key in COLUMNS[:2]] == pytest.approx((0.6375, -0.0625), abs=1e-12)
    lumped = rows["Stronge, lumped"]
    assert (lumped["tangential_velocity_after"], lumped["normal_velocity_after"]) == pytest.approx(
        (0.579974858, 0.475068910), abs=1e-9
    )
    assert "Walton's operator is for spheres" in rows["Walton, eps_T = 0"]["refused"]
    assert result["before"] == pytest.approx({"normal_velocity": -1.0, "tangential_velocity": -0.5, "energy": 0.625})


@pytest.mark.parametrize(
    ("before", "numbers"),
    [
        (0.5, (0.7317073171, -0.2195121951, 0.5, 1.0487804878, -0.3529149316)),
        (-3.0, (0.5084745763, 0.1525423729, 0.5, -1.8559322034, -0.4974863545)),
    ],
)
def test_all_laws_agree_in_gross_slip(run, compare, before, numbers):
    setting = (*OBLIQUE[:-1], f"tangential_velocity={before}")
    _, rows = compare(*setting)
    solved = [row for row in rows.values() if row["refused"] is None]
    assert len(solved) == 9
    for row in solved:
        assert [row[key] for key in COLUMNS] == pytest.approx(numbers, abs=2e-10)
    assert "All laws agree" in run(*setting)[1]


def test_table_is_readable(run):
    code, out, err = run(*OBLIQUE)
    assert (code, err) == (0, "")
    for part in ("0.7317073", "-0.2195122", "0.0487805", "-0.1334027", "0.4275252", "-0.1663596", "-0.1707978"):
        assert part in out
    assert "forward slip, reverses" in out and "refused: Walton" in out and "9 of 9 solved" in out
    assert "All laws agree" not in out and "grows" not in out


def test_upright_bar_is_taken_by_walton(compare):
    _, rows = compare("compare-laws", "bar", "--set", "phi=90", "--set", "restitution_tangential=0.5")
    assert "Newton, eps_T = 0.5" in rows and len(rows) == 8  # equal coefficients are listed once
    walton, newton = rows["Walton, eps_T = 0.5"], rows["Newton, eps_T = 0.5"]
    assert [walton[key] for key in COLUMNS] == pytest.approx([newton[key] for key in COLUMNS])


def test_kane_pendulum_gains_energy_under_newton(run, compare):
    _, rows = compare("compare-laws", "kane_pendulum")
    ratios = {"Newton, eps_T = 0": 1.58749469, "Newton, eps_T = 0.5": 0.56242962, "Poisson, eps_T = 0": 0.54486606}
    for law, ratio in {**ratios, "Poisson, integrated": 0.54507799}.items():
        assert rows[law]["energy_ratio"] == pytest.approx(ratio, abs=1e-8)
    assert rows["Newton, eps_T = 0"]["velocities_after"] == pytest.approx([-0.3346489298, 0.3631153642], abs=1e-9)
    out = run("compare-laws", "kane_pendulum")[1]
    assert "th_1 " in out.splitlines()[1] and "°, " in out.splitlines()[1]  # settings with their units
    assert "GAINS ENERGY" in out and "Kinetic energy grows under Newton, eps_T = 0." in out


def test_map_counts_the_regimes(run, tmp_path):
    code, out, err = run(
        "impact-map", "bar", "--set", "friction=1.6667", "--x", "ratio=-8:8:80", "--y", "phi=0:180:60", "--json"
    )
    assert (code, err) == (0, "")
    result = json.loads(out)
    bar = Bar(1.6667, 0.5, 0.0)
    closed = bar.state(centres(-8.0, 8.0, 80), centres(0.0, np.pi, 60)[:, None])
    expected = {Impact.STATES[code]: float((closed == code).mean()) for code in (BACKWARD, STICK, FORWARD)}
    assert result["shares"] == pytest.approx(expected)
    assert (result["unsolved"], result["impacts"]) == (0, 4800)
    assert result["fixed"]["friction"] == 1.6667 and "tangential_velocity" not in result["fixed"]
    assert result["file"] == "impact-map-bar-ratio-angle.png"
    with Image.open(tmp_path / result["file"]) as picture:
        assert picture.width > 1000 and "stickslip" in picture.info["Software"]


@pytest.mark.parametrize("law", ["poisson", "stronge", "poisson-integrated"])
def test_map_of_a_parameter_pair_is_made_of_single_impacts(run, law):
    import stickslip as ss

    axes = ("--x", "friction=0:1.5:6", "--y", "restitution_normal=0.2:1:5")
    code, out, _ = run("impact-map", "bar", "--set", "ratio=0.7", "--set", "angle=30", *axes, "--law", law, "--json")
    assert code == 0
    result = json.loads(out)
    assert result["fixed"]["ratio"] == 0.7
    system, phi = library.impacting_bar(half_length=0.5).system, np.radians(30.0)
    rule = {"poisson": ss.Poisson(), "stronge": ss.Stronge(), "poisson-integrated": ss.Poisson(model="integrated")}[law]
    names = []
    for e in centres(0.2, 1.0, 5):
        for mu in centres(0.0, 1.5, 6):
            params = {"friction": mu, "restitution_normal": e}
            hit = ss.impact(system, [0.0, 0.5 * np.sin(phi), phi], [-0.7, -1.0, 0.0], rule, params=params)
            names.append(str(hit.contact_state[0]))
    assert result["shares"] == pytest.approx({name: names.count(name) / 30 for name in set(names)})


def test_map_summary_and_files(run, tmp_path):
    arguments = ("impact-map", "kane_pendulum", "--x", "friction=0:1:12", "--y", "restitution_normal=0:1:10")
    code, out, err = run(*arguments, "--out", "kane.svg")
    assert (code, err) == (0, "")
    assert "kane_pendulum: impact regimes under newton" in out and "kane.svg" in out
    for part in ("backward slip", "stick", "forward slip", "slip reverses", "energy gain", "120 impacts, 0 unsolved"):
        assert part in out
    assert run(*arguments, "--out", "kane.svg")[0] == 0  # ours: drawn again
    (tmp_path / "mine.png").write_bytes(b"a photograph")
    code, _, err = run(*arguments, "--out", "mine.png")
    assert code == 2 and "was not drawn by stickslip" in err
    assert (tmp_path / "mine.png").read_bytes() == b"a photograph"


def test_large_maps_are_solved_in_blocks(run, monkeypatch):
    arguments = ("impact-map", "bar", "--x", "ratio=-3:3:8", "--y", "angle=0:180:9", "--json")
    whole = json.loads(run(*arguments)[1])
    monkeypatch.setattr(impact_map, "_BLOCK", 20)
    blocks = json.loads(run(*arguments)[1])
    assert {**blocks, "wall_s": 0.0} == {**whole, "wall_s": 0.0}


def test_progress_appears_after_a_while_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    with progress.reported(None, "impacts", 2) as advance:
        advance(1)
        advance(2)
    assert "impacts" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("impact-map", "bat"), "unknown system 'bat'; did you mean 'bar'?"),
        (("compare-laws", "woodpecker"), "unknown system 'woodpecker'; known: bar, kane_pendulum."),
        (("impact-map", "bar", "--x", "friction"), "--x must read NAME=LO:HI:N"),
        (("impact-map", "bar", "--x", "friction=0:1:2:3"), "--x must read NAME=LO:HI:N"),
        (("impact-map", "bar", "--y", "friction=0:one:9"), "--y friction must be a number, got 'one'."),
        (("impact-map", "bar", "--x", "friction=2:0:9"), "--x friction must rise from LO to HI, got 2:0."),
        (("impact-map", "bar", "--x", "friction=0:2:1.5"), "needs a whole number of at least 2 cells, got '1.5'."),
        (("impact-map", "bar", "--x", "frction=0:2:9"), "unknown parameter 'frction'; did you mean 'friction'?"),
        (("impact-map", "bar", "--x", "friction=-1:2:9"), "friction must not be negative, got -1:2 in --x."),
        (("impact-map", "bar", "--x", "angle=0:90:9"), "--x and --y are both angle"),
        (("impact-map", "bar", "--x", "tangential_velocity=0:1:9", "--y", "ratio=0:1:9"), "use one of them."),
        (("impact-map", "bar", "--set", "angle=30"), "angle is an axis of the map"),
        (("impact-map", "bar", "--set", "friction=-0.1"), "friction must not be negative, got -0.1."),
        (("impact-map", "bar", "--set", "restitution_normal=1.1"), "restitution_normal must lie in [0, 1], got 1.1."),
        (("impact-map", "bar", "--x", "ratio=0:1:9999", "--y", "angle=0:1:9999"), "use fewer cells"),
        (("impact-map", "bar", "--law", "hertz"), "law must be one of newton, poisson"),
        (("impact-map", "bar", "--out", "map.gif"), "--out must end in .png, .svg or .pdf, got 'map.gif'."),
        (("impact-map", "bar", "--out", "no/map.png"), "the folder no does not exist."),
        (("compare-laws", "bar", "--set", "friction=-1"), "friction must not be negative, got -1."),
        (("compare-laws", "bar", "--set", "friction"), "a setting must read NAME=VALUE"),
        (("compare-laws", "bar", "--set", "colour=1"), "unknown parameter 'colour'"),
        (("compare-laws", "bar", "--set", "mass=0"), "mass must be positive, got 0."),
        (("compare-laws", "bar", "--set", "angle=180"), "angle must lie between 0 and 180 degrees, got 180"),
        (("compare-laws", "bar", "--set", "mass=1", "--set", "mass=2"), "mass is set twice"),
        (("compare-laws", "bar", "--set", "normal_velocity=1"), "normal_velocity must not be positive, got 1"),
        (("compare-laws", "bar", "--set", "ratio=1", "--set", "tangential_velocity=1"), "set one of them."),
        (("compare-laws", "kane_pendulum", "--set", "omega_1=3"), "all closed contacts separate"),
    ],
)
def test_wrong_requests_end_in_one_line(run, tmp_path, arguments, message):
    code, out, err = run(*arguments)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert message in err
    assert not list(tmp_path.iterdir())
