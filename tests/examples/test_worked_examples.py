"""The worked examples of the documentation, in short versions, against what must come out."""

import math

import numpy as np
import pytest

import stickslip as ss
from examples.test_examples import load, run


def test_worn_bearing_lets_the_piston_deviate_by_its_play():
    """|pin - bushing| <= c along the rod's line: the piston is off by c / cos(phi) at most, sin(phi) <= R / L."""
    result = run("compressor_with_worn_bearing", "--dt", 1e-4, "--turns", 1, "--clearances", 2e-4, 1e-4)
    most = 1.0 / math.cos(math.asin(0.03 / 0.12))
    for row in result["rows"]:
        assert row["certificate"].failed_steps == 0
        assert 0.99 < row["deviation"] <= most * 1.005
        assert row["knocks"] >= 1


@pytest.fixture(scope="module")
def laws():
    return load("which_impact_law")


@pytest.mark.parametrize(
    ("truth", "coefficients"), [("Newton", (0.3, 0.5, 0.2)), ("Poisson", (0.35, 0.6, 0.5)), ("Stronge", (0.25, 0.6))]
)
def test_the_law_behind_an_experiment_is_found(laws, truth, coefficients):
    rows = laws.made_up(truth, coefficients, noise=0.0)
    fits = {name: laws.fit(rows, name) for name in ("Newton", "Poisson", "Stronge")}
    best = min(fits.values(), key=lambda found: found.misfit)
    assert best.law == truth and best.misfit < 1e-3
    assert list(best.coefficients.values()) == pytest.approx(coefficients, abs=0.01)
    assert all(found.misfit > 5 * best.misfit for found in fits.values() if found.law != truth)


def test_laws_disagree_where_slip_stops(laws):
    """Gross slip is the same under every law ([PG05] (58), (59)): no experiment there tells them apart."""
    rows = laws.experiment(np.array([70.0]), np.array([-0.5, 8.0]))
    fits = [
        laws.Fit("Newton", {"mu": 0.25, "e": 0.6, "e_T": 0.0}, 0.0),
        laws.Fit("Stronge", {"mu": 0.25, "e": 0.6}, 0.0),
    ]
    near, far = laws.disagreement(rows, fits)
    assert far < 1e-9 < 0.01 < near


def test_measurements_come_from_a_file(laws, tmp_path, capsys):
    rows = laws.made_up("Stronge", (0.25, 0.6), noise=0.01)
    file = tmp_path / "bar.csv"
    np.savetxt(file, rows, delimiter=",")
    result = laws.main(["--data", str(file)])
    assert result["fits"][0].law.startswith("Stronge") and "measure there" in capsys.readouterr().out
    np.savetxt(file, rows[:, :3], delimiter=",")
    with pytest.raises(SystemExit, match="must have 5 columns"):
        laws.main(["--data", str(file)])


def test_impact_laws_beside_the_bounds_of_any_impulse():
    """Poisson's law made the impacts: it wins, and no law is better than the least error of any impulse."""
    found = load("ellipse_impacts").main(["--quick"])
    assert min(found, key=found.get) == "any impulse"
    assert found["any impulse"] <= found["any impulse that does not pull or gain energy"] < found["Poisson"]
    assert found["Poisson"] < found["Newton with e_T"] < found["Newton"]


@pytest.mark.slow
def test_own_woodpecker():
    """Two numbers fix two coefficients: the cycle with these has the period and the drop that were given."""
    found = load("own_woodpecker").main(["--period", "0.1445", "--drop", "0.0188"])
    assert found.chi2 < 1e-6
    cycle = ss.limit_cycle(ss.library.woodpecker(**found.values))
    assert cycle.period == pytest.approx(0.1445, abs=1e-6) and cycle.shift["y"] == pytest.approx(-0.0188, abs=1e-6)


@pytest.mark.slow
def test_a_film_of_a_woodpecker_tells_its_coefficients():
    """Two seconds at 120 frames a second: the intervals hold the coefficients with which the film was made."""
    example = load("own_woodpecker")
    found = example.main([])
    for name, truth in example.TRUTH.items():
        low, high = found.intervals[name]
        assert low < truth < high and high - low < 0.02


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "how"), [(3, "following the chaotic motion"), (4, "multiple shooting")])
def test_a_chaotic_ball_is_fitted_end_to_end(seed, how):
    """One call of `fit`: chi^2 is what the noise makes, and the truth is within three standard errors."""
    example = load("chaotic_ball")
    found = example.main(["--seed", str(seed)])
    assert how in found.remarks[0] and found.chi2 < 1.5 * found.degrees_of_freedom
    for name, truth in example.TRUTH.items():
        assert abs(found.values[name] - truth) < 3.0 * found.standard_errors[name] < 0.02 * truth


@pytest.mark.slow
def test_the_film_that_is_made_up_has_the_period_and_drop_of_its_cycle():
    """Fifty films: what is read off them is right within the errors that are read off with it."""
    example = load("own_woodpecker")
    cycle = ss.limit_cycle(ss.library.woodpecker(**example.TRUTH), settle_returns=40, progress=False)
    t, clean = example.made_up(noise=0.0)
    off = []
    for seed in range(50):
        told = example.read(t, clean + 4e-4 * np.random.default_rng(seed).standard_normal(len(t)))
        off.append(((told.period - cycle.period) / told.period_error, (told.drop + cycle.shift["y"]) / told.drop_error))
    assert np.all(np.abs(np.mean(off, axis=0)) < 0.5) and np.all(np.abs(np.std(off, axis=0) - 1.0) < 0.35)


def test_period_and_drop_are_read_from_a_film(tmp_path):
    """A made-up cycle with three harmonics and noise; a CSV file in millimetres says the same."""
    example = load("own_woodpecker")
    t = np.arange(240) / 120.0
    phase = 2.0 * np.pi * t / 0.146
    y = -0.0203 / 0.146 * t + 2e-3 * np.sin(phase) + 1e-3 * np.cos(2 * phase) + 5e-4 * np.sin(3 * phase)
    y += 4e-4 * np.random.default_rng(2).standard_normal(len(t))
    told = example.read(t, y)
    assert abs(told.period - 0.146) < 4.0 * told.period_error < 1e-3
    assert abs(told.drop - 0.0203) < 4.0 * told.drop_error < 1e-3
    path = tmp_path / "film.csv"
    path.write_text("t [s],y [mm]\n" + "\n".join(f"{a},{1e3 * b}" for a, b in zip(t, y, strict=True)))
    assert example.read(*example.film(path)).period == pytest.approx(told.period, abs=1e-9)


def test_tosses_of_a_cube_are_read_and_predicted():
    """Starts fitted to noisy frames predict made-up tosses to a few per cent; another restitution does worse."""
    cubes = load("cube_tosses")
    tosses = cubes.made_up(5)
    right = cubes.score(cubes.errors(tosses, {"friction": 0.2, "restitution": 0.25}))
    wrong = cubes.score(cubes.errors(tosses, {"friction": 0.2, "restitution": 0.6}))
    assert right < 6.0 and wrong > 3.0 * right
    low, high = cubes.interval(np.array([3.0, 7.0]))
    assert 3.0 <= low <= high <= 7.0


def test_flight_tells_the_centre_of_mass_of_a_cube(tmp_path):
    """Made-up flights whose centre of mass is off by 5 mm say so; the page of a toss is written."""
    cubes = load("cube_tosses")
    tosses = cubes.made_up(8, offset=0.005)
    centre, off = cubes.flight_offset(tosses)
    assert np.all(np.abs(centre - [0.0, 0.0, 0.005]) < 4.0 * off) and np.all(off < 0.003)
    right = cubes.score(cubes.errors(tosses, {"friction": 0.2, "restitution": 0.25, "offset": 0.005}))
    assert 2.0 * right < cubes.score(cubes.errors(tosses, {"friction": 0.2, "restitution": 0.25}))
    page = cubes.page(tosses[0], {"friction": 0.2, "restitution": 0.25, "offset": 0.005}, tmp_path / "toss.html")
    assert "measured" in page.read_text(encoding="utf-8")


def test_tosses_kept_back_are_predicted_by_the_mean_of_the_fits(monkeypatch):
    """Made-up tosses in groups are those of one scene; mean values; difference to the error to expect."""
    cubes = load("cube_tosses")
    tosses = cubes.made_up(3)
    whole = cubes.errors(tosses, {"friction": 0.2, "restitution": 0.25})
    monkeypatch.setattr(cubes, "TOGETHER", 2)
    np.testing.assert_allclose(cubes.errors(tosses, {"friction": 0.2, "restitution": 0.25}), whole, rtol=1e-6)
    values = [{"friction": 0.19, "restitution": 0.2}, {"friction": 0.21, "restitution": 0.3}]
    unseen = np.linspace(1.0, 3.0, 10)[:, None, None] * np.ones((10, 1, 2))
    model = cubes.Judged(("friction", "restitution"), unseen, unseen, values)
    assert model.middle == pytest.approx({"friction": 0.2, "restitution": 0.25})
    found, told = cubes.kept_back(tosses, model)
    np.testing.assert_allclose(found, whole, rtol=1e-6)
    assert told.startswith("4.00 +- 0.43, ") and told == cubes.apart(unseen.sum(axis=2)[:, 0], whole.sum(axis=1))


def test_impacts_kept_back_are_judged_beside_the_error_to_expect(tmp_path, capsys):
    """Halves of made-up impacts are alike; impacts of another friction and restitution are far apart."""
    example = load("ellipse_impacts")
    impacts = example.made_up(160, 3)
    law = {"Poisson": example.laws(quick=True)["Poisson"]}
    parts = [{"before": impacts[0][k::2], "after": impacts[1][k::2]} for k in (0, 1)]
    assert abs(example.judged(law, parts[0], parts[1], 3).apart("Poisson")) < 3.0
    other = {"before": parts[1]["before"], "after": 0.5 * parts[1]["after"]}
    assert example.judged(law, parts[0], other, 3).apart("Poisson") > 5.0


def test_halves_that_are_hard_are_told_from_fits_that_take_up_chance(capsys):
    """Made-up errors: the first half is harder by 4 for both fits, and each fit is better by 2 where it has seen."""
    cubes = load("cube_tosses")
    noise = np.random.default_rng(1).standard_normal((40, 1, 2))
    hard = 2.0 * cubes._half(40, 0, 0)[:, None, None]
    model = cubes.Judged(("friction",), 10.0 + hard + noise, 9.0 + hard + noise, [{"friction": 0.2}] * 2)
    cubes.halves("made up", model)
    told = capsys.readouterr().out.splitlines()
    harder = [float(each.split("+-")[0]) for each in told[4].split(":")[0].split(",")]
    assert harder[0] - harder[1] == pytest.approx(4.0, abs=1.5)
    assert told[-1].endswith("by fits that have: 2.00 +- 0.00")
    assert cubes.apart(np.array([1.0, 3.0]), np.array([4.0, 6.0])) == "2.00 +- 1.00, 5.00 +- 1.00: +2.1"


def test_one_command_tells_the_error_to_expect_and_that_of_tosses_kept_back(capsys, monkeypatch):
    cubes = load("cube_tosses")
    tosses, kept = cubes.made_up(6), cubes.made_up(4, seed=1)
    monkeypatch.setattr(cubes, "read", lambda path: kept if path.name == "kept.npz" else tosses)
    truth, judged = {"friction": 0.2, "restitution": 0.25}, []

    def judge(tosses, models, splits, budget, path=None, jobs=1):
        judged.append(len(tosses))
        missed = np.linspace(1.0, 2.0, len(tosses))[:, None, None] * np.ones((1, splits, 2))
        return {name: cubes.Judged(names, missed, missed, [truth, truth]) for name, names in models.items()}

    monkeypatch.setattr(cubes, "judge", judge)
    cubes.main(["--data", "own.npz", "--kept", "kept.npz", "--splits", "1", "--models", "1", "--check", "1"])
    told = capsys.readouterr().out
    with pytest.raises(SystemExit, match="tosses that no fit has seen"):
        cubes.main(["--data", "own.npz", "--kept", "own.npz", "--models", "1"])
    assert judged == [6, 3, 3]  # all, and the two halves of a split
    assert "error to expect, of tosses not seen: 3.00 +- 0.31" in told and "the 4 tosses kept back" in told
    assert cubes.apart(np.linspace(2.0, 4.0, 6), cubes.errors(kept, truth).sum(axis=1)) in told
    assert "half 2 of split 1: 3.00 +- 0.58, " in told


@pytest.mark.slow
def test_the_truth_of_made_up_tosses_is_found():
    found = load("cube_tosses").main(["--splits", "1", "--models", "1", "--budget", "30"])
    model = found["friction and restitution"]
    assert abs(model.value("friction")[0] - 0.2) < 0.02 and abs(model.value("restitution")[0] - 0.25) < 0.03
    assert model.totals.mean() < 6.0
