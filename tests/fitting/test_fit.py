"""Fits of made data: the truth comes back, within intervals that hold it as often as they say."""

import json
import subprocess
import sys

import numpy as np
import pytest

import stickslip as ss
from stickslip.cli import main
from stickslip.fitting.notes import _digest
from tests.thinned import examples, thinned

NOISE = 2e-3


def _ball(restitution=0.8):
    return ss.library.bouncing_ball(restitution=restitution)


def _height(t, e=0.8, g=9.81, h=1.0):
    """A ball dropped from h, in closed form, while it bounces."""
    fall = np.sqrt(2.0 * h / g)
    y = np.where(t < fall, h - 0.5 * g * t**2, np.nan)
    begin, speed = fall, e * g * fall
    for _ in range(60):
        here = (t >= begin) & (t < begin + 2.0 * speed / g)
        y = np.where(here, speed * (t - begin) - 0.5 * g * (t - begin) ** 2, y)
        begin, speed = begin + 2.0 * speed / g, e * speed
    return y


def _measured(seed, t=None, **truth):
    t = np.linspace(0.0, 1.6, 25) if t is None else t
    return {"t": t, "y": _height(t, **truth) + NOISE * np.random.default_rng(seed).standard_normal(len(t))}


def test_values_intervals_and_covariance_of_a_ball():
    found = ss.fit(_ball(0.5), _measured(1), {"restitution": (0.4, 1.0), "g": (9.0, 11.0)}, noise=NOISE, search=8)
    assert abs(found.values["restitution"] - 0.8) < 2e-3 and abs(found.values["g"] - 9.81) < 0.03
    for name, truth in (("restitution", 0.8), ("g", 9.81)):
        low, high = found.intervals[name]
        assert low < found.values[name] < high and low - 1e-3 < truth < high + 1e-3
        assert (high - low) / (2 * 1.96 * found.standard_errors[name]) == pytest.approx(1.0, abs=0.1)
    assert found.identifiable == {"restitution": True, "g": True} and found.unfixed == ()
    assert 5.0 < found.chi2 < 55.0 and found.degrees_of_freedom == 23
    assert np.corrcoef(found.curves[0].measured, found.curves[0].predicted)[0, 1] > 0.999


def test_derivatives_by_events_agree_with_differences():
    from stickslip.fitting.experiments import DIFFERENCE, differences
    from stickslip.fitting.fit import prepared

    problem, _ = prepared(_ball(), _measured(1), {"restitution": (0.4, 1.0), "g": (9.0, 11.0)}, noise=NOISE)
    values = {"restitution": 0.78, "g": 9.7}
    motion = problem.experiments[0]
    _, exact = motion.slopes(values, problem.names, problem.width)
    _, near = differences(motion.predict, values, problem.names, DIFFERENCE * problem.width)
    np.testing.assert_allclose(exact, near, rtol=1e-5, atol=1e-6)


def test_what_the_data_does_not_fix_is_named():
    early = _measured(3, np.linspace(0.0, 0.4, 15))  # before the first bounce
    found = ss.fit(_ball(), early, {"restitution": (0.4, 1.0), "g": (9.0, 11.0)}, noise=NOISE, search=0)
    assert found.identifiable == {"restitution": False, "g": True}
    assert found.unfixed == ("restitution",)
    assert "not fixed by the data" in str(found)


def test_starts_vary_from_experiment_to_experiment():
    data = [{**_measured(k, h=1.0 + 0.01 * (k - 2)), "start": {"y": 1.0}} for k in range(1, 4)]
    free = {"restitution": (0.6, 0.95)}
    found = ss.fit(_ball(), data, free, noise=NOISE, starts={"y": 0.02}, search=0, profile=False)
    assert abs(found.values["restitution"] - 0.8) < 2e-3
    heights = [start["y"] for start in found.starts]
    np.testing.assert_allclose(heights, [0.99, 1.0, 1.01], atol=3e-3)
    stiff = ss.fit(_ball(), data, free, noise=NOISE, search=0, profile=False)
    assert stiff.chi2 > 3.0 * found.chi2


def test_noise_from_the_residuals_and_bootstrap():
    found = ss.fit(_ball(), _measured(5), {"restitution": (0.6, 0.95)}, search=0, bootstrap=12, profile=False)
    assert found.noise_estimated and 0.5 * NOISE < found.noise["y"] < 1.6 * NOISE
    assert found.bootstrap.shape == (12, 1)
    assert 0.4 < np.std(found.bootstrap) / found.standard_errors["restitution"] < 1.8
    low, high = found.bootstrap_intervals["restitution"]
    assert np.min(found.bootstrap) <= low < high <= np.max(found.bootstrap)
    assert "bootstrap, 12 fits: restitution [" in str(found)
    assert found.report()["bootstrap_intervals"] == {"restitution": [low, high]}


@thinned
def test_a_bootstrap_draws_starts_anew():
    """Where the start limits a value, data made anew from one start would make it look far better known than it is."""
    data = [{**_measured(k, np.linspace(0.0, 0.4, 12)), "start": {"y": 1.0, "v": 0.0}} for k in range(1, 3)]
    for each in data:
        each["y"] = np.where(each["t"] > 0.3, each["y"], np.nan)
    found = ss.fit(
        _ball(), data, {"g": (5.0, 15.0)}, noise=NOISE, starts={"y": 0.02, "v": 0.2}, search=0,
        bootstrap=examples(16, 40), seed=4, profile=False,
    )  # fmt: skip
    assert 0.7 < np.std(found.bootstrap) / found.standard_errors["g"] < 1.4


def test_one_seed_one_result_and_notes_go_on(tmp_path):
    free, path = {"restitution": (0.6, 0.95)}, tmp_path / "notes.json"
    first = ss.fit(_ball(), _measured(2), free, noise=NOISE, search=4, seed=3, notes=path)
    again = ss.fit(_ball(), _measured(2), free, noise=NOISE, search=4, seed=3, notes=path)
    assert again.values == first.values and again.intervals == first.intervals
    assert again.evaluations < 0.5 * first.evaluations
    held = json.loads(path.read_text())
    held["known"] = {key: value for key, value in held["known"].items() if key.startswith("search")}
    held["digest"] = _digest(held["task"], held["known"])
    path.write_text(json.dumps(held))  # broken off after the search
    late = ss.fit(_ball(), _measured(2), free, noise=NOISE, search=4, seed=3, notes=path)
    assert late.values == first.values
    heavy = ss.library.bouncing_ball(g=9.7)
    others = ((_ball(), 3, {}), (heavy, 2, {}), (_ball(), 2, {"law": "poisson"}), (_ball(), 2, {"noise": 2 * NOISE}))
    for model, data, changed in others:  # another motion, model, law, noise
        with pytest.raises(ValueError, match="belong to another fit"):
            ss.fit(model, _measured(data), free, **{"noise": NOISE, "search": 4, "seed": 3, "notes": path, **changed})
    held["known"]["search 0"] += 1e-9
    path.write_text(json.dumps(held))
    with pytest.raises(ValueError, match="were damaged or changed by hand"):
        ss.fit(_ball(), _measured(2), free, noise=NOISE, search=4, seed=3, notes=path)


def test_impacts_before_and_after():
    ball = _ball(0.5)
    before = np.array([[1e-5, -1.0], [-1e-5, -2.0], [0.0, -3.0]])
    after = -0.7 * before[:, 1:]
    found = ss.fit(ball, {"before": before, "after": after}, {"restitution": (0.1, 0.99)}, noise=0.01, search=0)
    assert found.values["restitution"] == pytest.approx(0.7, abs=1e-9)
    # 1.96 sigma / sqrt(sum of squares of the speeds)
    low, high = found.intervals["restitution"]
    assert high - low == pytest.approx(2 * 1.96 * 0.01 / np.sqrt(14.0), rel=0.03)


def test_a_scene_by_its_surface():
    scene = ss.Scene(dim=2, gravity=9.81)
    scene.add_static(ss.HalfPlane(normal=(0, 1)), friction=0.0)
    scene.add_body(ss.Circle(0.1), mass=1.0, position=(0.0, 0.6), restitution=0.8, name="ball")
    t = np.linspace(0.0, 0.8, 17)
    data = {"t": t, "ball.y": 0.1 + _height(t, h=0.5)}
    found = ss.fit(
        scene, data, {"ball.restitution": (0.6, 0.95)}, noise=5e-3, search=3, profile=False, options={"dt": 2e-3}
    )
    assert abs(found.values["ball.restitution"] - 0.8) < 0.02


def test_a_scene_is_fitted_under_the_law_that_is_asked_for():
    """A bar that strikes with a corner and stops sliding: Poisson's law gives another spin; its own fit meets it."""
    scene = ss.Scene(dim=2, name="bar")
    scene.add_static(ss.HalfPlane((0, 1)))
    scene.add_body(
        ss.Polygon([(-0.1, -0.05), (0.1, -0.05), (0.1, 0.05), (-0.1, 0.05)]), mass=1.0, position=(0, 0.2),
        orientation=0.6, velocity=(1, -2), friction=0.3, restitution=0.5, name="bar",
    )  # fmt: skip
    steps = {"dt": 1e-3}
    run = scene.simulate(t_end=0.08, law="poisson", progress=False, **steps)
    data, free = {"t": run.t[::5], "bar.omega": run["bar.omega"][::5]}, {"bar.restitution": (0.45, 0.55)}
    asked = {"noise": 1e-3, "search": 0, "profile": False, "options": steps}
    right = ss.fit(scene, data, free, law="poisson", **asked)
    wrong = ss.fit(scene, data, free, **asked)
    assert right.law == "Poisson" and wrong.law == "Newton" and right.chi2 < 1e-3 and wrong.chi2 > 1e3
    with pytest.raises(ValueError, match="law must be given once"):
        ss.fit(scene, data, free, law="poisson", **{**asked, "options": {**steps, "law": "newton"}})


def test_a_free_start_counts_though_the_data_tells_one():
    scene = ss.Scene(dim=2, gravity=0.0, name="disc")
    scene.add_body(ss.Circle(0.1), mass=1.0, velocity=(1, 0), name="disc")
    data = {"t": [0.0, 0.013, 0.025], "disc.x": [0.0, 0.026, 0.05], "start": {"disc.vx": 5.0}}
    asked = {"noise": 1e-3, "search": 0, "profile": False, "options": {"dt": 1e-3, "every": 10}}
    found = ss.fit(scene, data, {"disc.vx": (0.5, 3.0)}, **asked)
    assert found.values["disc.vx"] == pytest.approx(2.0, abs=1e-6)  # the last sample lies behind the last record
    assert "disc.vx" in str(found) and " m/s" in str(found) and "disc.x 0.001 m" in str(found)


def test_a_function_that_builds_the_model():
    def build(height):
        return ss.library.bouncing_ball(restitution=0.8).starting({"y": height})

    data = _measured(4, np.linspace(0.0, 0.4, 12), h=1.1)
    found = ss.fit(build, data, {"height": (0.9, 1.3)}, noise=NOISE, search=2, profile=False)
    assert abs(found.values["height"] - 1.1) < 3e-3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"free": {}}, "free must map names to ranges"),
        ({"free": {"bounce": (0.0, 1.0)}}, "free: unknown quantity 'bounce'"),
        ({"free": {"restitution": (1.0, 0.0)}}, "low < high"),
        ({"noise": 0.0}, "must be a positive standard deviation"),
        ({"noise": {"v": 1.0}}, "none for 'y'"),
        ({"starts": {"y": -1.0}}, "positive standard deviation"),
        ({"starts": {"z": 1.0}}, "starts: unknown"),
        ({"level": 1.0}, "between 0 and 1"),
        ({"search": -1}, "search"),
        ({"model": 3.0}, "a Scenario, a Scene"),
        ({"data": {"t": [0.0, 0.1, 0.2, 0.3, 0.4], "y": [0.0] * 5}}, "no unit explains this"),
        ({"data": {"t": [0.0, 0.1, 0.2, 0.3, 0.4], "y": [1e3, 950.0, 803.0, 558.0, 215.0]}}, "look like thousandths"),
        ({"data": [{"t": [0.0, 0.1], "y": [1.0, 0.9]}] * 2}, "got its samples twice"),
        ({"data": {"before": [[0.0, -1.0]], "after": [[0.5, 0.5, 0.5]]}}, "after must have the shape"),
        ({"data": {"period": 1.0, "z": 2.0}}, "cycle: unknown"),
        ({"data": {"t": [0.0], "y": [1.0]}, "noise": None}, "more values than there are unknowns"),
        ({"options": {"dt": 1e-3}}, "options of a mechanism must be near="),
        ({"device": "abacus"}, "device must be cpu, gpu"),
    ],
)
def test_wrong_requests_are_named(change, words):
    asked = {"model": _ball(), "data": _measured(1), "free": {"restitution": (0.6, 0.95)}, "noise": NOISE, "search": 0}
    asked |= change
    with pytest.raises(ValueError, match=words.replace("(", r"\(")):
        ss.fit(asked.pop("model"), asked.pop("data"), asked.pop("free"), **asked)


def test_the_shell_takes_each_range_once(tmp_path, capsys):
    (tmp_path / "film.csv").write_text("t,y\n0,1\n0.1,0.95\n")
    once = ["--free", "restitution=0.3:1"]
    assert main(["fit", "bouncing_ball", str(tmp_path / "film.csv"), *once, *once]) == 2
    assert "--free must name each quantity once" in capsys.readouterr().err


def test_the_shell_speaks_of_options_as_its_help_does(tmp_path, capsys):
    """A range is LOW:HIGH in the help; a unit that is off is given by an option, not by an argument of Python."""
    film = tmp_path / "film.csv"
    t = np.linspace(0.0, 0.9, 12)
    film.write_text("t,y\n" + "".join(f"{a},{1000 * b}\n" for a, b in zip(t, _height(t), strict=True)))
    asked = ["fit", "bouncing_ball", str(film), "--search", "0", "--free"]
    assert main([*asked, "restitution"]) == 2
    assert "--free must read NAME=LOW:HIGH, got 'restitution'" in capsys.readouterr().err
    assert main([*asked, "restitution=0.3:1"]) == 2
    assert "thousandths of it. Give its unit (units=, --unit)" in capsys.readouterr().err


def test_a_model_file_is_fitted_under_its_own_law(tmp_path, capsys):
    assert main(["new", "bouncing_ball"]) == 0
    model, film = tmp_path / "my.toml", tmp_path / "film.csv"
    model.write_text(capsys.readouterr().out.replace("[run]\n", '[run]\nlaw = "poisson"\n'))
    t = np.linspace(0.0, 0.9, 12)
    film.write_text("t,y\n" + "".join(f"{a},{b}\n" for a, b in zip(t, _height(t), strict=True)))
    asked = ["fit", str(model), str(film), "--free", "restitution=0.3:1", "--noise", "0.001", "--search", "0", "--json"]
    assert main(asked) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["law"] == "Poisson" and abs(found["values"]["restitution"] - 0.8) < 2e-3


def test_wrong_words_are_refused_before_most_of_the_package_is_loaded(tmp_path):
    """Loading the fit takes two seconds; a wrong word should not wait for it."""
    (tmp_path / "film.csv").write_text("t,y\n0,1\n0.1,0.95\n")
    script = f"""
import sys
from stickslip.cli import main
def refused(*words, film={str(tmp_path / "film.csv")!r}, free="restitution=0.3:1"):
    assert main(["fit", "bouncing_ball", film, "--free", free, *words]) == 2
refused("--law", "nope")
refused("--device", "abacus")
refused("--seed", "-1")
refused("--noise", "y=0")
refused("--start", "y=-1")
refused("--unit", "y=ell")
refused("--resume", "/no/such/folder/notes.json")
refused("--kept", "/no/such/film.csv")
refused(free="restitution=1:0.3")
refused(film="/no/such/film.csv")
assert not {{"sympy", "scipy", "stickslip.library", "stickslip.fitting.fit"}} & set(sys.modules)
refused(free="nope=0:1")
assert "stickslip.fitting.fit" not in sys.modules
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    said = run.stderr.splitlines()
    assert len(said) == 11 and "law must be one of" in said[0] and "unknown quantity 'nope'" in said[-1]


def test_a_fit_asks_for_its_folder_and_for_known_words_first(tmp_path):
    with pytest.raises(ValueError, match=r"notes .*: the folder .* does not exist\."):
        ss.fit(_ball(), _measured(6), {"restitution": (0.6, 0.95)}, noise=NOISE, notes=tmp_path / "none" / "notes.json")
    pairs = {"before": [[0.0, -1.0]], "after": [[0.8]], "afterr": [[0.8]]}
    with pytest.raises(ValueError, match="impacts: unknown quantity 'afterr'; did you mean 'after'"):
        ss.fit(_ball(), pairs, {"restitution": (0.6, 0.95)}, noise=NOISE)


def test_the_result_is_saved_printed_and_drawn(tmp_path):
    found = ss.fit(_ball(), _measured(6), {"restitution": (0.6, 0.95)}, noise=NOISE, search=0, profile=False)
    path = found.save(tmp_path / "fit.json")
    held = json.loads(path.read_text())
    assert held["values"]["restitution"] == found.values["restitution"] and held["level"] == 0.95
    assert "restitution" in found._repr_html_() and "95 % interval" in str(found)
    figure = found.plot()
    assert len(figure.axes) == 3


def test_starts_of_scenes_vary_within_their_noise():
    scene = ss.Scene(dim=2, gravity=9.81)
    scene.add_static(ss.HalfPlane(normal=(0, 1)), friction=0.0)
    scene.add_body(ss.Circle(0.1), mass=1.0, position=(0.0, 0.6), restitution=0.8, name="ball")
    t = np.linspace(0.0, 0.8, 17)
    data = {"t": t, "ball.y": 0.1 + _height(t, h=0.52)}  # dropped 20 mm higher than the scene says
    asked = {"noise": 2e-3, "search": 0, "profile": False, "options": {"dt": 1e-3}}
    found = ss.fit(scene, data, {"ball.restitution": (0.6, 0.95)}, starts={"ball.y": 0.02}, **asked)
    assert abs(found.values["ball.restitution"] - 0.8) < 0.01
    assert found.starts[0]["ball.y"] == pytest.approx(0.62, abs=2e-3)
    stiff = ss.fit(scene, data, {"ball.restitution": (0.6, 0.95)}, **asked)
    assert stiff.chi2 > 10.0 * found.chi2
    with pytest.raises(ValueError, match="starts: unknown"):
        ss.fit(scene, data, {"ball.restitution": (0.6, 0.95)}, starts={"ball.turn_x": 0.1}, **asked)


def test_a_body_in_space_starts_turned_and_either_sign_of_its_quaternion_is_its_orientation():
    scene = ss.Scene(dim=3, gravity=0.0)
    scene.add_body(ss.Box((0.2, 0.1, 0.1)), mass=1.0, angular_velocity=(0.0, 0.0, 3.0), name="box")
    t = np.linspace(0.0, 0.2, 6)
    half = 0.5 * (0.05 + 3.0 * t)  # turned by 0.05 rad about z at the start
    data = {"t": t, "box.qw": -np.cos(half), "box.qx": 0 * t, "box.qy": 0 * t, "box.qz": -np.sin(half)}
    found = ss.fit(
        scene, data, {"box.wz": (2.0, 4.0)}, starts={"box.turn_z": 0.1}, noise=1e-3, search=0, profile=False,
        options={"dt": 0.01},
    )  # fmt: skip
    assert found.values["box.wz"] == pytest.approx(3.0, abs=2e-2)
    assert found.starts[0]["box.turn_z"] == pytest.approx(0.05, abs=2e-3)


def test_noise_of_a_laser_makes_no_motion_look_lost():
    """Noise a millionth of the motion: predictions that are off by 100,000 deviations beat a model without a motion."""
    t = np.linspace(0.02, 1.4, 30)
    data = {"t": t, "y": _height(t) + 1e-7 * np.random.default_rng(2).standard_normal(len(t))}
    free = {"restitution": (0.3, 1.2)}  # the model has no motion above one
    found = ss.fit(_ball(0.5), data, free, noise=1e-7, search=4, profile=False)
    assert abs(found.values["restitution"] - 0.8) < 1e-6


def test_times_of_a_clock_are_told():
    late = {**_measured(1), "t": _measured(1)["t"] + 12.3}
    with pytest.warns(RuntimeWarning, match="subtract the first time"), pytest.raises(ValueError, match="model's unit"):
        ss.fit(_ball(), late, {"restitution": (0.3, 0.9)}, noise=NOISE, search=2)


def test_a_coordinate_that_the_model_does_not_move_may_be_measured():
    """Its samples are noise alone, infinitely many times what the model says: no unit is wrong."""
    crank = ss.library.slider_crank()
    t = np.linspace(0.0, 0.002, 12)
    run = crank.simulate(dt=1e-4, t_end=0.0021, stepper="event-driven", progress=False)
    assert np.max(np.abs(run["theta_3"])) < 1e-9
    generator = np.random.default_rng(5)
    data = {"t": t, "theta_1": np.interp(t, run.t, run["theta_1"]) + 3e-3 * generator.standard_normal(12)}
    data["theta_3"] = 3e-3 * generator.standard_normal(12)
    for noise in (3e-3, None):
        found = ss.fit(crank, data, {"omega_1": (140.0, 160.0)}, noise=noise, search=0, profile=False)
        assert abs(found.values["omega_1"] - 150.0) < 4.0


def test_noise_far_larger_than_the_data_is_no_sign_of_a_unit():
    found = ss.fit(_ball(), _measured(1), {"restitution": (0.3, 0.9)}, noise=1e3, search=0, profile=False)
    assert found.unfixed == ("restitution",) and not found.identifiable["restitution"]
