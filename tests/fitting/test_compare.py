"""Models judged by data that they have not seen."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.cli import main
from stickslip.fitting.compare import Missed, apart


def test_the_model_that_made_the_data_wins_and_more_freedom_does_not_pay():
    ball = ss.library.bouncing_ball(restitution=0.6)
    generator = np.random.default_rng(11)
    speeds = generator.uniform(1.0, 3.0, 40)
    before = np.stack([np.zeros(40), -speeds], 1)
    after = (0.6 * speeds + 0.05 * generator.standard_normal(40))[:, None]
    data = {"before": before, "after": after}
    models = {
        "free": {"model": ball, "free": {"restitution": (0.0, 1.0)}},
        "nearly plastic": {"model": ball, "free": {"restitution": (0.0, 0.1)}},
    }
    found = ss.compare_fits(models, data, folds=4, noise=0.05, search=0, profile=False)
    assert found.names == ("free", "nearly plastic")
    assert found.mean("free") == pytest.approx(1.0, abs=0.3) and found.mean("nearly plastic") > 5.0
    assert found.standard_error("free") == 0.0 and "error left out" in str(found)
    with pytest.raises(ValueError, match="folds must be at most"):
        ss.compare_fits(models, data, folds=50, noise=0.05, search=0, profile=False)


def _impacts(seed, count=40, e=0.6):
    generator = np.random.default_rng(seed)
    speeds = generator.uniform(1.0, 3.0, count)
    after = (e * speeds + 0.05 * generator.standard_normal(count))[:, None]
    return {"before": np.stack([np.zeros(count), -speeds], 1), "after": after}


def test_data_kept_back_has_the_error_to_expect_and_other_data_has_not():
    models = {"ball": {"model": ss.library.bouncing_ball(restitution=0.6), "free": {"restitution": (0.0, 1.0)}}}
    options = {"folds": 4, "noise": 0.05, "search": 0, "profile": False}
    found = ss.compare_fits(models, _impacts(1), kept=_impacts(2, 60), **options)
    assert abs(found.apart("ball")) < 3.0 and found.kept["ball"].counts.sum() == 60
    assert len(found.rows()[0]) == 9 and "kept back" in str(found) and "kept back" in found._repr_html_()
    assert ss.compare_fits(models, _impacts(1), kept=_impacts(2, e=0.5), **options).apart("ball") > 5.0


def test_the_standard_error_of_a_root_mean_square():
    """Of 2,000 samples of 30 units with 4 normal numbers each: their spread is what each of them says."""
    generator = np.random.default_rng(3)
    drawn = [Missed(np.sum(x**2, axis=1), np.full(30, 4.0)) for x in generator.standard_normal((2000, 30, 4))]
    errors = [each.error for each in drawn]
    assert np.mean([each.standard_error for each in drawn]) == pytest.approx(np.std(errors), rel=0.05)
    assert np.std([apart(a, b) for a, b in zip(drawn[::2], drawn[1::2], strict=True)]) == pytest.approx(1.0, abs=0.1)
    assert np.isnan(Missed(np.array([2.0]), np.array([4.0])).standard_error)  # one unit tells no spread


def test_the_shell_predicts_a_film_that_was_kept_back(tmp_path, capsys):
    ball, t = ss.library.bouncing_ball(restitution=0.8), np.linspace(0.05, 1.3, 26)
    run = ball.simulate(dt=1e-3, t_end=1.35, stepper="event-driven", progress=False)
    for seed, name in enumerate(("own.csv", "other.csv")):
        y = np.interp(t, run.t, run["y"]) + 2e-3 * np.random.default_rng(seed).standard_normal(len(t))
        table = "\n".join(f"{a},{b}" for a, b in zip(t, y, strict=True))
        (tmp_path / name).write_text("t,y\n" + table, encoding="utf-8")
    own, other = (str(tmp_path / name) for name in ("own.csv", "other.csv"))
    free = ["--free", "restitution=0.6:0.95", "--search", "0", "--noise", "0.002"]
    assert main(["fit", "bouncing_ball", own, *free, "--kept", other]) == 0
    told = capsys.readouterr().out
    assert "error to expect:" in told and "standard errors apart" in told
    assert main(["fit", "bouncing_ball", own, *free, "--kept", own]) == 2
    assert "kept must hold data that the fit has not seen, got own.csv" in capsys.readouterr().err
    assert main(["fit", "bouncing_ball", own, *free, "--kept", str(tmp_path / "none.csv")]) == 2
    assert "there is no file" in capsys.readouterr().err
