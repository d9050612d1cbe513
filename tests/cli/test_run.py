"""`stickslip run`: the summary, the JSON object, the files, and one clear line for what is wrong."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from stickslip import cli, library
from stickslip.cli.run import _is_deep
from stickslip.io.load import load
from stickslip.run import driver, records

SHORT = ("run", "bouncing_ball", "--dt", "0.01", "--t-end", "0.6", "--engine", "reference")


@pytest.fixture
def no_simulation(monkeypatch):
    """Fail if anything is computed."""

    def simulate(self, **options):
        raise AssertionError("the run began before the request was checked")

    monkeypatch.setattr(library.Scenario, "simulate", simulate)


def test_summary_is_readable(run):
    code, out, err = run(*SHORT)
    assert (code, err) == (0, "")
    for part in (
        "Bouncing ball",
        "60 steps of 0.01 s",
        "moreau-midpoint",
        "reference engine",
        "steps/s",
        "y = ",
        "m/s",
    ):
        assert part in out
    assert "impacts     1: table 1" in out
    assert "0 failed steps" in out


def test_summary_says_when_not_all_impacts_are_counted(run, monkeypatch, tmp_path):
    monkeypatch.setattr(records, "_MAX_EVENTS_IN_MEMORY", 1)
    monkeypatch.setattr(records, "_MAX_EVENTS_PER_PIECE", 1)
    monkeypatch.setattr(driver, "_GROWTH", 4)  # several pieces
    code, out, _ = run(*SHORT[:4], "--t-end", "1.3", "--engine", "reference", "--out", tmp_path / "run.nc")
    assert code == 0 and "impacts     the first 1 (later ones are only in the file): table 1" in out
    assert len(load(tmp_path / "run.nc").impacts()) > 1


def test_the_command_line_lists_events(run):
    asked = ("run", "bouncing_ball", "--set", "restitution=0.5", "--stepper", "event-driven", "--dt", "0.01")
    code, out, _ = run(*asked, "--t-end", "1", "--events", "--json")
    ball = library.bouncing_ball(restitution=0.5)
    report, expected = json.loads(out), ball.simulate(dt=0.01, t_end=1.0, stepper="event-driven").events()
    assert code == 0 and report["events"] == {"impact": 2} and report["counts"]["instants"] == 2
    assert [tuple(row.values()) for row in report["event_list"]] == [
        (t, kind, contact) for t, kind, contact in zip(expected.time, expected.kind, expected.contact, strict=True)
    ]
    code, out, _ = run(*asked, "--t-end", "1", "--events")
    assert code == 0 and [line.split()[1:] for line in out.splitlines()[-2:]] == [["impact", "table"]] * 2
    assert "event_list" not in json.loads(run(*asked, "--t-end", "1", "--json")[1])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_not_taken_for_the_name_of_a_library_system(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    code, _, err = run("run", "pipe")
    assert code == 2 and "pipe is a pipe; give the name of a model file, or of a library system" in err


def test_events_are_asked_for_by_names_of_contacts():
    events = library.bouncing_ball().simulate(dt=0.01, t_end=0.6, engine="reference").events()
    assert len(events.of_contact("table")) == len(events) > 0
    with pytest.raises(ValueError, match="unknown contact 'tabel'"):
        events.of_kind("impact").of_contact("tabel")


def test_json_is_one_object_with_the_promised_keys(run):
    code, out, err = run(*SHORT, "--json")
    assert (code, err) == (0, "")
    report = json.loads(out)
    for key in ("system", "stepper", "solver", "dt", "t_end", "steps", "wall_s", "steps_per_s", "final", "certificate"):
        assert key in report
    assert set(report["final"]) == {"t", "q", "u"}
    assert set(report["certificate"]) >= {"failed_steps", "max_residual", "max_penetration", "max_energy_gain"}
    assert report["certificate_words"].startswith("0 failed steps, worst residual ")
    assert "(tolerance 1e-10)" in report["certificate_words"]
    assert (report["system"], report["steps"], report["dt"], report["t_end"]) == ("bouncing_ball", 60, 0.01, 0.6)
    assert (report["engine"], report["complete"], report["status"]) == ("reference", True, "finished")
    assert report["impacts"] == {"total": 1, "by_contact": {"table": 1}}
    expected = library.bouncing_ball().simulate(dt=0.01, t_end=0.6, engine="reference")
    assert report["final"]["q"] == expected.q[-1].tolist() and report["final"]["u"] == expected.u[-1].tolist()
    assert report["final"]["t"] == pytest.approx(0.6)


def test_defaults_are_the_scenarios_own(monkeypatch, run):
    asked = {}

    def simulate(self, **options):
        asked.update(options)
        raise ValueError("enough")

    monkeypatch.setattr(library.Scenario, "simulate", simulate)
    assert run("run", "woodpecker")[0] == 2
    assert (asked["dt"], asked["t_end"], asked["every"]) == (1e-4, 2.0, 1)
    assert asked["stepper"] == "moreau-midpoint"
    assert not {"solver", "law", "engine", "penetration_tol", "on_failure"} & set(asked)  # what `simulate` does
    run("run", "woodpecker", "--dt", "1e-6", "--t-end", "3")
    assert asked["every"] == 6  # 3e6 steps, and half a million records are enough
    run("run", "woodpecker", "--dt", "1e-6", "--t-end", "3", "--every", "2")
    assert asked["every"] == 2


@pytest.mark.parametrize(
    "settings",
    [
        ["--set", "height=2", "--set", "restitution=0.25"],
        ["--set", "height=2", "restitution=0.25"],
        ["--set", " height = 2e0 ", "--set=restitution=.25"],
    ],
)
def test_settings_reach_the_system(run, settings):
    code, out, _ = run(*SHORT, "--json", *settings)
    assert code == 0
    report = json.loads(out)
    assert report["parameters"]["restitution"] == 0.25
    expected = library.bouncing_ball(height=2.0, restitution=0.25).simulate(dt=0.01, t_end=0.6, engine="reference")
    assert report["final"]["q"] == expected.q[-1].tolist()


def test_a_setting_may_be_several_numbers(run):
    base = ("run", "impacting_bar", "--dt", "0.01", "--t-end", "0.01", "--engine", "reference", "--json")
    code, out, _ = run(*base, "--set", "velocity=0,1,2", "--set", "g=0")
    assert code == 0 and json.loads(out)["final"]["u"] == [0.0, 1.0, 2.0]


def test_whole_numbers_texts_and_the_start_can_be_set():
    from stickslip.cli.settings import scenario_with

    assert scenario_with(["balls=4"], "newton_cradle").system.n_dof == 4
    assert scenario_with(["built_from=parts"], "slider_crank").system.name == "slider_crank"
    toy, plain = scenario_with(["phi_S=-0.3", "omega_S=1", "friction=0.2"], "woodpecker"), library.woodpecker()
    assert toy.q0.tolist() == [*plain.q0[:2], -0.3] and toy.u0.tolist() == [*plain.u0[:2], 1.0]
    with pytest.raises(ValueError, match="unknown coordinate or velocity 'z'"):
        plain.starting({"z": 1.0})


def test_law_and_projection_are_told(run, tmp_path):
    arguments = ("run", "bouncing_ball", "--dt", "1e-2", "--t-end", "0.6", "--engine", "reference")
    code, out, err = run(*arguments, "--law", "poisson", "--projection", "1e-6", "--out", tmp_path / "run.nc")
    assert (code, err) == (0, "")
    assert "moreau-midpoint (projection=1e-06), poisson's law, solver auto, reference engine" in out
    assert "projection +" in out or "projection -" in out
    kept = load(tmp_path / "run.nc")
    assert kept.attributes["law"] == "poisson" and "projection=1e-06" in kept.attributes["stepper_options"]
    assert json.loads(kept.attributes["restitution_normal"]) == {"table": 0.5}
    import xarray as xr

    with xr.open_dataset(tmp_path / "run.nc") as file:
        assert file.attrs["law"] == "poisson" and "projection=1e-06" in file.attrs["stepper_options"]


def test_files_are_written_and_named(run, tmp_path):
    files = {"out": tmp_path / "run.nc", "plot": tmp_path / "run.svg", "animate": tmp_path / "run.gif"}
    options = [text for key, path in files.items() for text in (f"--{key}", path)]
    code, out, err = run(*SHORT, *options, "--json")
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert report["files"] == {key: str(path) for key, path in files.items()}
    saved = load(files["out"])
    assert len(saved) == report["records"] == 61
    assert saved.q[-1].tolist() == report["final"]["q"]
    assert files["plot"].stat().st_size > 10_000 and "<svg" in files["plot"].read_text(encoding="utf-8")
    with Image.open(files["animate"]) as film:
        assert film.n_frames == 75  # 0.6 s, five times slower, 25 frames a second
    code, out, _ = run(*SHORT, "--plot", files["plot"])  # drawn again without asking
    assert code == 0 and str(files["plot"]) in out


def test_every_thins_the_records(run, tmp_path):
    code, out, _ = run(*SHORT, "--every", "7", "--json", "--out", tmp_path / "run.nc")
    report = json.loads(out)
    assert code == 0 and (report["every"], report["steps"]) == (7, 60)
    assert report["final"]["t"] == pytest.approx(0.6)
    assert report["records"] == len(load(tmp_path / "run.nc")) == 10


def test_quiet_says_nothing(run, tmp_path):
    assert run(*SHORT, "--quiet", "--plot", tmp_path / "run.png") == (0, "", "")
    assert (tmp_path / "run.png").is_file()


def one_line(code, out, err):
    assert (code, out) == (2, "")
    assert err.startswith("stickslip: error: ") and err.count("\n") == 1
    return err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["woodpeker"], "unknown library entry 'woodpeker'; did you mean 'woodpecker'?"),
        (["woodpecker", "--set", "fricton=0.2"], "unknown parameter 'fricton'; did you mean 'friction'?"),
        (["woodpecker", "--set", "friction"], "a setting must read NAME=VALUE"),
        (["woodpecker", "--set", "=0.2"], "a setting must read NAME=VALUE"),
        (["woodpecker", "--set", "friction=much"], "friction must be a number, got 'much'"),
        (["woodpecker", "--set", "friction=inf"], "friction must be finite"),
        (["woodpecker", "--set", "friction=-0.1"], "friction of contact 'beak' must be finite and not negative"),
        (["woodpecker", "--set", "friction=0.1", "--set", "friction=0.2"], "friction is set twice"),
        (["woodpecker", "--set", "friction=0.1,0.2"], "friction must be 1 number, got 2"),
        (["impacting_bar", "--set", "velocity=1,2"], "velocity must be 3 numbers, got 2"),
        (["woodpecker", "extra"], "a setting must read NAME=VALUE"),
        (["woodpecker", "--dt", "0"], "--dt must be positive [s], got 0"),
        (["woodpecker", "--dt", "-1e-4"], "--dt must be positive"),
        (["woodpecker", "--dt", "nan"], "--dt must be finite [s], got nan"),
        (["woodpecker", "--dt", "soon"], "--dt must be a number, got 'soon'"),
        (["woodpecker", "--every=x"], "--every must be a whole number, got 'x'"),
        (
            ["woodpecker", "--dt", "1", "--t-end", "0.5"],
            "--t-end must be at least one step, got 0.5 s with a step of 1 s",
        ),
        (["woodpecker", "--t-end", "inf"], "--t-end must be finite [s], got inf"),
        (["newton_cradle", "--set", "balls=2.5"], "balls must be a whole number, got 2.5"),
        (["slider_crank", "--set", "l_2=0"], "l_2 must be positive, got 0"),
        (["slider_crank", "--set", "b=-1"], "b must be positive, got -1"),
        (["slider_crank", "--set", "clearance=-1e-6"], "clearance must be positive, got -1e-06"),
        (["four_bar", "--set", "clearance=-1e-6"], "clearance must be positive, got -1e-06"),
        (["woodpecker", "--set", "phi_Q=1"], "unknown parameter 'phi_Q'; did you mean 'phi_S'?"),
        (
            ["woodpecker", "--stepper", "adaptive", "--projection", "1e-9"],
            "--projection works with --stepper moreau-mid",
        ),
        (["woodpecker", "--projection", "-1"], "projection must be a depth in metres"),
        (["woodpecker", "--plot", "/proc/run.png"], "the folder /proc cannot be written to"),
        (["woodpecker", "--out", "missing/run.nc"], "the folder missing does not exist"),
        (["woodpecker", "--plot", "run.bmp"], "--plot must end in .png, .svg or .pdf, got 'run.bmp'"),
        (["woodpecker", "--animate", "run.png"], "must end in .gif or .mp4, got 'run.png'"),
        (["woodpecker", "--plot", "."], "--plot must name a file, and . is a folder"),
        ([], "Missing argument"),
    ],
)
def test_wrong_requests_are_one_line_before_anything_is_computed(run, no_simulation, arguments, expected):
    assert expected in one_line(*run("run", *arguments))


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("--solver", "lemk", "solver must be one of auto, lemke"),
        ("--stepper", "euler", "stepper must be one of moreau-midpoint"),
        ("--engine", "fast", "engine must be one of auto, compiled, reference"),
        ("--on-failure", "ignore", "on_failure must be one of stop, continue"),
        ("--every", "0", "every must be a whole number >= 1"),
        ("--law", "hertz", "law must be one of newton, poisson"),
        ("--penetration-tol", "-1", "penetration_tol must not be negative"),
    ],
)
def test_names_of_methods_are_checked(run, option, value, expected):
    assert expected in one_line(*run("run", "bouncing_ball", option, value))


def test_files_of_others_are_never_replaced(run, no_simulation, tmp_path):
    for option, name in (("--out", "a.nc"), ("--plot", "a.png"), ("--animate", "a.gif")):
        path = tmp_path / name
        path.write_text("precious")
        for extra in ([], ["--overwrite"]):
            assert "it is never replaced" in one_line(*run("run", "bouncing_ball", option, path, *extra))
        assert path.read_text() == "precious"


def test_our_trajectory_is_replaced_when_asked(run, tmp_path):
    path = tmp_path / "run.nc"
    assert run(*SHORT, "--out", path)[0] == 0
    before = path.read_bytes()
    assert "give --overwrite to replace it" in one_line(*run(*SHORT, "--out", path))
    assert path.read_bytes() == before
    assert run(*SHORT, "--set", "height=2", "--out", path, "--overwrite")[0] == 0
    assert load(path)["y"][0] == 2.0


@pytest.fixture
def ends_early(monkeypatch):
    """Let every run end with the given status."""

    def ends_early(**changes):
        original = library.Scenario.simulate
        monkeypatch.setattr(
            library.Scenario, "simulate", lambda self, **options: replace(original(self, **options), **changes)
        )

    return ends_early


def test_a_failed_run_keeps_its_result_and_exits_with_1(run, ends_early, tmp_path):
    ends_early(complete=False, status="failed at t = 0.6 s with 1 closed contacts: no solution; try a smaller dt")
    code, out, err = run(*SHORT, "--json", "--plot", tmp_path / "part.png")
    assert code == 1
    report = json.loads(out)
    assert report["complete"] is False and report["status"].startswith("failed at t = 0.6 s")
    assert err.count("\n") == 1 and "bouncing_ball: failed at t = 0.6 s with 1 closed contacts" in err
    assert (tmp_path / "part.png").is_file()


def test_an_interrupted_run_exits_with_130(run, ends_early, tmp_path):
    ends_early(complete=False, status="interrupted at t = 0.3 s")
    code, out, err = run(*SHORT)
    assert code == 130
    assert "interrupted at t = 0.3 s; nothing is kept without --out\n" in err and "certificate" in out
    code, _, err = run(*SHORT, "--out", tmp_path / "part.nc")
    assert code == 130 and err.endswith("interrupted at t = 0.3 s; the same command with --resume goes on\n")


def test_a_deep_penetration_is_a_warning():
    fine = library.bouncing_ball().simulate(dt=0.01, t_end=0.6, engine="reference")
    assert not _is_deep(fine)  # closed one step late
    deep = replace(fine, certificate=replace(fine.certificate, max_penetration=0.5))
    assert _is_deep(deep)


def test_unsolved_steps_are_a_warning_when_the_run_went_on(run, ends_early):
    from stickslip.trajectory import Certificate

    ends_early(certificate=Certificate(failed_steps=3))
    code, _, err = run(*SHORT, "--on-failure", "continue")
    assert (code, err) == (0, "stickslip: warning: 3 steps were not solved to the tolerance\n")


def test_json_has_no_nan(run, ends_early):
    from stickslip.trajectory import Energies

    unknown = Energies(np.zeros(61), np.full(61, np.nan))
    ends_early(energy=unknown)
    code, out, _ = run(*SHORT, "--json")
    assert code == 0 and json.loads(out)["energy"] == {"first": None, "last": None}
    assert json.loads(out)["energy_book"]["start"] is None


def test_through_typers_own_runner():
    result = CliRunner().invoke(cli.app, list(SHORT))
    assert result.exit_code == 0 and "certificate" in result.stdout


def test_as_a_process(tmp_path):
    command = [sys.executable, "-m", "stickslip", *SHORT, "--json", "--out", "run.nc"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["files"] == {"out": "run.nc"}
    assert load(tmp_path / "run.nc").complete
    wrong = subprocess.run([*command[:5], "--dt", "0"], cwd=tmp_path, capture_output=True, text=True)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr == "stickslip: error: --dt must be positive [s], got 0.\n"


def test_export_is_a_page_of_its_own(run, tmp_path):
    path = tmp_path / "run.html"
    code, out, err = run(*SHORT, "--export", path)
    assert code == 0 and str(path) in out
    assert err == (
        "stickslip: run.html plays back this run and has no sliders: it was computed by the reference engine, which is "
        "plain Python.\n"
    )
    text = path.read_text(encoding="utf-8")
    assert '"system":"bouncing_ball"' in text and len(text) < 1_000_000
    assert run(*SHORT, "--export", path, "--quiet")[0] == 0  # one of ours is simply written again
    path.write_bytes(b"mine")
    code, _, err = run(*SHORT, "--export", path)
    assert code == 2 and "was not drawn by stickslip" in err and path.read_bytes() == b"mine"
    code, _, err = run(*SHORT, "--export", tmp_path / "run.txt")
    assert code == 2 and "--export must end in .html" in err
