"""The points of a search as ensembles: the numbers of single predictions, found in a fraction of the time."""

import json
from functools import partial

import numpy as np
import pytest

import stickslip as ss
from stickslip.fitting.fit import prepared
from stickslip.fitting.notes import Notes, _digest
from stickslip.fitting.search import points_of
from stickslip.fitting.together import Look, _crowds, _scores, score
from tests.fitting.test_fit import _ball, _measured

FREE = {"restitution": (0.3, 0.95), "g": (9.0, 11.0)}


def _look(device="cpu", kept=None, report=lambda said: None):
    return Look(device, kept or Notes(None, ""), report)


def _stepped(problem, z, film, dt):
    """Mean of log(1 + r^2) of one motion by `simulate`, whose records are at the samples."""
    e, g = problem.values(z)
    end = dt * np.ceil(film["t"][-1] / dt - 1e-9)
    run = ss.library.bouncing_ball(restitution=e, g=g).simulate(dt=dt, t_end=end, progress=False)
    heights = np.interp(film["t"], run.t, run["y"])
    return float(np.mean(np.log1p(((heights - film["y"]) / 2e-3) ** 2)))


def test_members_are_the_motions_of_simulate():
    film = _measured(1, np.linspace(0.0, 1.6, 33))  # 20 frames a second: 50 steps between two
    problem, subject = prepared(_ball(), film, FREE, noise=2e-3)
    points = points_of(problem, None, 5, 0)
    crowds = _crowds(problem, subject, "cpu")
    alone = [_stepped(problem, z, film, 1e-3) for z in points]
    np.testing.assert_allclose(_scores(problem, crowds, points), alone, rtol=1e-9)
    uneven = {name: np.delete(column, [3, 4, 20]) for name, column in film.items()}
    uneven["t"] = uneven["t"] + 1e-4 * np.sqrt(2.0) * np.arange(30) / 30
    problem, subject = prepared(_ball(), uneven, FREE, noise=2e-3)
    alone = [_stepped(problem, z, uneven, 1e-3) for z in points]
    np.testing.assert_allclose(_scores(problem, _crowds(problem, subject, "cpu"), points), alone, rtol=1e-6)


def test_the_best_points_are_those_of_single_predictions():
    t = np.linspace(0.0, 0.9, 19)
    data = [_measured(1, t), {**_measured(2, t, h=1.1), "start": {"y": 1.1}}]
    problem, subject = prepared(_ball(), data, FREE, noise=2e-3)
    points = points_of(problem, None, 32, 3)
    together = _look().at(problem, points, subject)
    looked = np.isfinite(together)
    alone = np.array([score(problem, z) for z in points])
    assert np.argsort(together, kind="stable")[:3].tolist() == np.argsort(alone, kind="stable")[:3].tolist()
    assert looked.sum() in (8, 9) and np.array_equal(together[looked], alone[looked])


@pytest.mark.slow
@pytest.mark.parametrize("search", [32, None])
def test_a_fit_by_ensembles_is_that_by_single_predictions(monkeypatch, search):
    fit = partial(ss.fit, _ball(0.5), _measured(1), FREE, noise=2e-3, search=search, seed=3, profile=False)
    first = fit()
    monkeypatch.setattr("stickslip.fitting.together._MANY", 1000)
    single = fit()
    assert first.values == single.values and first.chi2 == single.chi2


@pytest.mark.parametrize("every", [1, 4])
def test_members_of_a_scene_have_the_scores_of_single_runs(every):
    """A disc that is struck while it slides; records of every step or of every fourth, samples between them."""
    scene = ss.Scene(dim=2, name="disc")
    scene.add_static(ss.HalfPlane((0, 1)))
    scene.add_body(ss.Circle(0.1), mass=1.0, position=(0, 0.2), velocity=(2, 0), restitution=0.5, name="disc")
    data = {"t": [0.0, 0.02, 0.1, 0.17, 0.23], "disc.x": [0.0, 0.04, 0.2, 0.3, 0.4], "disc.y": [0.2] * 5}
    free = {"friction": (0.05, 0.6), "disc.restitution": (0.2, 0.8), "disc.vx": (1.0, 3.0)}
    problem, subject = prepared(scene, data, free, noise=1e-3, options={"dt": 2e-3, "every": every})
    points = points_of(problem, None, 6, 0)
    crowds = _crowds(problem, subject, "cpu")
    assert all(each.exact for each in crowds.values())
    single = [score(problem, z) for z in points]
    np.testing.assert_allclose(_scores(problem, crowds, points), single, rtol=1e-12)
    assert len(set(single)) == 6


def test_values_without_a_motion_are_lost_and_the_others_are_not():
    """Restitution above one: event by event and in an ensemble alike there is no motion."""
    problem, subject = prepared(_ball(), _measured(1), {"restitution": (0.3, 1.3)}, noise=2e-3)
    points = [problem.shares(np.array([e])) for e in (1.2, 0.8, 1.1)]
    found = _scores(problem, _crowds(problem, subject, "cpu"), points)
    lost = float(np.mean(np.log1p(problem.lost**2)))
    assert found[0] == found[2] == pytest.approx(lost) and found[1] < 0.1 * lost


def test_a_search_that_was_broken_off_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr("stickslip.fitting.together._at_a_time", lambda *given: 16)
    path, said = tmp_path / "notes.json", []
    film = _measured(2, np.linspace(0.0, 0.9, 19))
    fit = partial(ss.fit, _ball(), film, FREE, noise=2e-3, search=48, notes=path, profile=False)
    first = fit(progress=lambda *words: said.append(words))
    told = [str(words) for words in said]
    assert any("16 of 49 points" in each for each in told)
    held = json.loads(path.read_text())
    rows = [key for key in held["known"] if " to " in key]
    assert rows == ["search 0 to 16", "search 16 to 32", "search 32 to 48", "search 48 to 49"]
    held["known"] = {key: held["known"][key] for key in rows[:2]}
    held["digest"] = _digest(held["task"], held["known"])
    path.write_text(json.dumps(held))
    again = fit()
    assert again.values == first.values and again.evaluations < first.evaluations


def test_where_there_is_no_ensemble_points_are_looked_at_one_by_one():
    def build(height):
        return _ball().starting({"y": height})

    problem, subject = prepared(build, _measured(4), {"height": (0.9, 1.3)}, noise=2e-3)
    said: list[str] = []
    points = points_of(problem, None, 2, 0)
    monkey = _look(report=said.append)
    with pytest.raises(ValueError, match="device 'gpu' runs a search as an ensemble: the model is built by a function"):
        _look("gpu").at(problem, points, subject)
    assert np.all(np.isfinite(monkey.at(problem, points, subject)))
    with pytest.raises(ValueError, match="device must be cpu, gpu"):
        ss.fit(_ball(), _measured(1), FREE, noise=2e-3, device="abacus")


@pytest.mark.slow
@pytest.mark.parametrize("system", ["woodpecker", "oscillator"])
def test_a_thousand_points_take_a_fraction_of_the_time(system):
    """Same best three as of 128 single predictions; 1,024 members take less processor time than those."""
    import time

    from tests.fitting.test_coverage import NOISE, _case

    model, free, end, samples = _case(system)
    clean = model.simulate(dt=end / (samples - 1), t_end=end, stepper=ss.EventDriven(), progress=False)
    problem, subject = prepared(
        model, {"t": clean.t, **{n: clean[n] for n in NOISE[system]}}, free, noise=NOISE[system]
    )
    few, many = (points_of(problem, None, n, 0) for n in (128, 1024))
    _look().at(problem, few, subject)
    begin = time.process_time()
    found = _look().at(problem, few, subject)
    _look().at(problem, many, subject)
    middle = time.process_time()
    alone = np.array([score(problem, z) for z in few])
    assert middle - begin < time.process_time() - middle
    assert np.argsort(found, kind="stable")[:3].tolist() == np.argsort(alone, kind="stable")[:3].tolist()
