"""`stickslip converge` and `stickslip run --stepper event-driven`."""

import json

import pytest
from PIL import Image

from stickslip.figures import style

SHORT = ("converge", "bouncing_ball", "--t-end", "0.6", "--dt", "2e-3", "--halvings", "2")


@pytest.mark.parametrize(
    "steppers", [("--steppers", "moreau-midpoint,event-driven"), pytest.param((), marks=pytest.mark.slow)]
)
def test_table_and_files(run, tmp_path, steppers):
    """By default every stepper that the library has, each with a kernel of its own."""
    plot, out = tmp_path / "orders.png", tmp_path / "orders.json"
    code, text, err = run(*SHORT, *steppers, "--plot", plot, "--out", out)
    assert (code, err) == (0, "")
    for part in (
        "judge: event-driven, rtol 1e-12",
        "u, L1 norm",
        "u, graph",
        "q, sup norm",
        "slopes",
        "moreau-midpoint",
    ):
        assert part in text
    report = json.loads(out.read_text(encoding="utf-8"))
    assert report["cycle"] is None
    assert [row["step"] for row in report["rows"] if row["stepper"] == "moreau-midpoint"] == pytest.approx(
        [2e-3, 1e-3, 5e-4]
    )
    assert style.is_ours(plot) and Image.open(plot).size[0] > 1000


def test_json_is_one_object(run):
    code, text, err = run(*SHORT, "--steppers", "moreau-midpoint", "--json")
    assert (code, err) == (0, "")
    report = json.loads(text)
    assert set(report["slopes"]) == {"moreau-midpoint"}
    assert {"system", "t_end", "rtol", "floor", "rows", "slopes", "cycle"} <= set(report)
    assert all(row["u_L1"] > 0.0 for row in report["rows"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("converge", "bouncing_bell"), "unknown library entry"),
        (("converge", "bouncing_ball", "--steppers", "euler"), "unknown stepper 'euler'"),
        (("converge", "bouncing_ball", "--steppers", ","), "--steppers must name at least one stepper"),
        (("converge", "bouncing_ball", "--plot", "x.txt"), "--plot must end in .png"),
        (("converge", "bouncing_ball", "--out", "nowhere/x.json"), "the folder nowhere does not exist"),
        (("run", "bouncing_ball", "--stepper", "event-driven", "--engine", "reference"), "no reference engine"),
    ],
)
def test_wrong_requests_end_in_one_line(run, arguments, message):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("stickslip: error: ") and message in err and err.count("\n") == 1


def test_an_existing_file_is_kept(run, tmp_path):
    out = tmp_path / "orders.json"
    out.write_text("mine", encoding="utf-8")
    code, _, err = run(*SHORT, "--out", out)
    assert code == 2 and "exists" in err and out.read_text(encoding="utf-8") == "mine"


def test_run_takes_the_event_driven_stepper(run):
    code, out, err = run(
        "run", "bouncing_ball", "--stepper", "event-driven", "--dt", "0.01", "--t-end", "0.6", "--json"
    )
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert report["stepper"] == "event-driven" and report["steps"] == 60
    assert report["impacts"]["total"] == 1
    assert report["certificate"]["max_penetration"] < 1e-14
    code, out, _ = run("run", "bouncing_ball", "--stepper", "event-driven", "--dt", "0.01", "--t-end", "0.6")
    assert "recorded every 0.01 s" in out and "1 instants" in out and "steps/s" not in out
    code, out, _ = run("run", "--help")
    assert "spacing of the records" in " ".join(out.split())


@pytest.mark.slow
def test_woodpecker_prints_its_cycle_by_every_method(run):
    code, out, _ = run("converge", "woodpecker", "--t-end", "0.15", "--halvings", "1")
    assert code == 0
    assert out.count("0.145976065") == 2  # the judge at two tolerances
    assert "19.445379" in out
