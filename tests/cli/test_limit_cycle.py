"""`stickslip limit-cycle`, `bifurcation`, `basins`, `lyapunov`, `recurrence`: JSON, figures, one-line errors."""

import json

import pytest

from stickslip.figures import style

BALL = ("--set", "amplitude=0.00019", "--set", "height=0.001", "--set", "velocity=0.15")
LOCKED = ("--set", "height=0.00113262", "--set", "velocity=-0.09938126")  # the cycle of Gamma = 1.05 at t = 0


def test_limit_cycle_of_the_ball(run, tmp_path):
    plot, out = tmp_path / "cycle.png", tmp_path / "cycle.json"
    code, text, err = run(
        "limit-cycle", "bouncing_ball_on_table", *BALL, "--settle-returns", 100, "--plot", plot, "--out", out
    )
    assert (code, err) == (0, "")
    for part in ("period      0.0333333333333 s", "stable", "impact, table", "derivative against differences"):
        assert part in text
    assert style.is_ours(plot)
    report = json.loads(out.read_text())
    assert report["stable"] and report["period"] == pytest.approx(1 / 30)
    product = report["multipliers"][0]["modulus"] * report["multipliers"][1]["modulus"]
    assert product == pytest.approx(0.64, abs=1e-8)
    code, again, _ = run("limit-cycle", "bouncing_ball_on_table", *BALL, "--settle", 100, "--json")
    assert code == 0 and json.loads(again)["state"] == pytest.approx(report["state"], abs=1e-9)


def test_bifurcation_diagram_and_branch(run, tmp_path):
    plot = tmp_path / "diagram.svg"
    code, text, err = run(
        "bifurcation", "bouncing_ball_on_table", *BALL, "--vary", "amplitude=0.00019:0.0003:4", "--points", 8,
        "--plot", plot,
    )  # fmt: skip
    assert (code, err) == (0, "") and style.is_ours(plot)
    assert "4 values of amplitude" in text and "1 value" in text
    plot = tmp_path / "branch.png"
    code, text, err = run(
        "bifurcation", "bouncing_ball_on_table", *LOCKED, "--vary", "amplitude=0.00029:0.0003", "--continue", "--json",
        "--settle", 0, "--largest-step", 0.5, "--plot", plot,
    )  # fmt: skip
    assert (code, err) == (0, "") and style.is_ours(plot)
    (flip,) = json.loads(text)["bifurcations"]
    assert flip["kind"] == "flip" and flip["parameter"] == pytest.approx(2.9566e-4, rel=1e-3)  # Gamma = 1.0708


def test_basins_lyapunov_and_recurrence(run, tmp_path):
    plot = tmp_path / "basins.png"
    code, text, err = run(
        "basins", "bouncing_ball_on_table", *BALL, "--vary", "velocity=0.1:0.2:2", "--vary", "height=0.001:0.002:2",
        "--plot", plot, "--no-confirm",
    )  # fmt: skip
    assert code == 2 and "unknown coordinate, velocity or parameter 'velocity'" in err
    code, text, err = run(
        "basins", "bouncing_ball_on_table", *BALL, "--vary", "v=0.14:0.16:2", "--vary", "y=0.001:0.0012:2",
        "--plot", plot,
    )  # fmt: skip
    assert (code, err) == (0, "") and style.is_ours(plot)
    assert "4 starts over v, y" in text and "stable by the judge" in text
    for command in (("lyapunov", "--t-end", 0.5), ("recurrence", "--t-end", 2.0)):
        plot, out = tmp_path / f"{command[0]}.png", tmp_path / f"{command[0]}.json"
        code, text, err = run(
            command[0], "bouncing_ball_on_table", *BALL, *command[1:], "--plot", plot, "--json", "--out", out
        )
        assert (code, err) == (0, "") and style.is_ours(plot)
        assert json.loads(text)["system"] == "bouncing_ball_on_table"
        assert out.read_text(encoding="utf-8") == text
    code, text, _ = run("recurrence", "bouncing_ball_on_table", *BALL, "--t-end", 2.0)
    assert code == 0 and "recurrence rate" in text


def test_no_cycle_is_one_plain_line(run):
    code, out, err = run("limit-cycle", "bouncing_ball_on_table", "--settle", 60)
    assert (code, out) == (1, "") and err.count("\n") == 1
    assert "no limit cycle: after 60 returns (--settle-returns)" in err
    assert "NoCycle" not in err and "STICKSLIP_DEBUG" not in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("limit-cycle", "woodpeker"), "unknown library entry 'woodpeker'; did you mean 'woodpecker'"),
        (("limit-cycle", "woodpecker", "--section", "phi_S"), "section cannot be read; write 'phi<0.1'"),
        (("limit-cycle", "woodpecker", "--section", "phi_X<1"), "unknown coordinate or velocity 'phi_X'"),
        (("limit-cycle", "woodpecker", "--section", "impact:beek"), "unknown contact 'beek'"),
        (("limit-cycle", "woodpecker", "--section", "every:0.1"), "is not driven"),
        (("limit-cycle", "bouncing_ball"), "has no section of its own; give one"),
        (("limit-cycle", "woodpecker", "--stepper", "euler"), "--stepper must be one of"),
        (("limit-cycle", "woodpecker", "--out", "cycle.txt"), "--out must end in .json, got 'cycle.txt'"),
        (("bifurcation", "woodpecker", "--vary", "friction"), "--vary must read NAME=VALUES"),
        (("bifurcation", "woodpecker", "--vary", "friction=0.2:0.4:x"), "vary: friction cannot be read"),
        (
            ("bifurcation", "woodpecker", "--vary", "friction=0.2:0.4:2.5"),
            "count of friction must be a whole number",
        ),
        (("bifurcation", "woodpecker", "--vary", "frction=0.2:0.4:3"), "unknown parameter 'frction'"),
        (("bifurcation", "woodpecker", "--vary", "friction=0.2", "--continue"), "--vary must read NAME=FIRST:LAST"),
        (("basins", "woodpecker", "--vary", "v=0:1:2", "--vary", "v=0:1:2"), "--vary v is given twice"),
        (("limit-cycle", "billiards"), "billiards is a scene of bodies and shapes"),
        (("lyapunov", "woodpecker", "--t-end", "1", "--skip", "3"), "skip must lie between 0 and t_end"),
    ],
)
def test_wrong_requests_end_in_one_line(run, arguments, message):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert message in err and err.count("\n") == 1 and err.startswith("stickslip: error: ")


def test_a_multiplier_that_is_zero_in_all_digits_has_no_sign():
    from stickslip.cli.limit_cycle import _size
    from stickslip.cli.output import multiplier_text

    assert multiplier_text(-3e-12 + 0j, 9) == "0" and multiplier_text(-0.25 + 0.5j, 3) == "-0.250 +0.500 i"
    assert _size(-3e-12) == "3.0e-12" and _size(0.0) == "0.000000000" and _size(0.5) == "0.500000000"


def test_a_walker_has_its_reset(run):
    code, text, err = run("limit-cycle", "compass_gait", "--settle-returns", 0)
    assert (code, err) == (0, "")
    for part in ("period      0.7343463", "x +0.53544541", "then theta_1 -> theta_2", "impact, foot 2", "stable"):
        assert part in text
    code, _, err = run("bifurcation", "compass_gait", "--vary", "slope=0.05:0.06:2", "--device", "cpu")
    assert code == 2 and "device must be left out" in err


@pytest.mark.slow
def test_a_walker_from_its_file(run, tmp_path):
    file = tmp_path / "walker.toml"
    assert run("new", "compass_gait", "--set", "slope=0.076", "--out", file)[0] == 0
    branch = ("--continue", "--settle-returns", 0, "--largest-step", 1, "--json")
    code, text, _ = run("bifurcation", file, "--vary", "slope=0.076:0.0772", *branch)
    assert code == 0
    (flip,) = json.loads(text)["bifurcations"]
    assert flip["kind"] == "flip" and flip["parameter"] == pytest.approx(0.0766356, abs=1e-6)
