"""Films: number of frames, contacts that light up, flashes long enough to be seen, files of modest size."""

import os
import stat
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from PIL import Image

from stickslip.figures import animation, mechanism, style
from stickslip.figures.animation import Film, animate, frame_states
from stickslip.trajectory import CLOSED, IMPACT, OPEN, SLIP_MINUS, STICK


def test_gif_has_the_frames_it_should_and_a_modest_size(woodpecker, tmp_path):
    scenario, trajectory = woodpecker
    path = animate(trajectory, scenario.drawing, tmp_path / "toy.gif", span=0.1, slower=20, fps=10, title="Toy")
    with Image.open(path) as film:
        assert film.n_frames == 20
        assert film.info["duration"] == 100 and film.info["loop"] == 0
        assert film.convert("RGB").getpixel((2, 2)) == (255, 255, 255)
    assert path.stat().st_size < 1e6
    assert style.is_ours(path)


def test_default_film_takes_some_seconds(woodpecker, ball, oscillator):
    for (scenario, trajectory), slower in ((woodpecker, 10), (ball, 2), (oscillator, 2)):
        film = Film.plan(trajectory, scenario.drawing)
        span = min(trajectory.t[-1], scenario.drawing.span or np.inf)
        assert film.slower == slower
        assert len(film.times) == round(span * slower * 25) and 60 <= len(film.times) <= 200
        assert (film.times[0], film.times[-1]) == pytest.approx((0.0, span))


def test_frames_lie_on_the_motion(woodpecker):
    scenario, trajectory = woodpecker
    film = Film.plan(trajectory, scenario.drawing, start=0.05, span=0.1, slower=5)
    for k in range(3):
        assert film.q[:, k] == pytest.approx(np.interp(film.times, trajectory.t, trajectory.q[:, k]))


def test_view_follows_the_toy_smoothly(woodpecker):
    scenario, trajectory = woodpecker
    film = Film.plan(trajectory, scenario.drawing)
    assert np.abs(film.camera[:, 1] - film.q[:, 0]).max() < 0.01  # a jerk of the sleeve stays a jerk
    assert np.abs(np.diff(film.camera[:, 1], 2)).max() < 0.1 * np.abs(np.diff(film.q[:, 0], 2)).max()


def test_view_stands_still_unless_told(ball):
    scenario, trajectory = ball
    film = Film.plan(trajectory, scenario.drawing)
    assert not film.camera.any()
    assert film.box[2] < 0.0 and film.box[3] > 1.0


def test_impacts_are_held_for_some_frames(ball):
    _, trajectory = ball
    times = np.linspace(0.0, 1.0, 101)
    states = frame_states(trajectory, times, hold=3)[:, 0]
    first = trajectory.impacts()["time"][0]
    hit = np.searchsorted(times, first - 1e-12)
    assert states[:hit].tolist() == [OPEN] * hit
    assert states[hit : hit + 3].tolist() == [IMPACT] * 3
    assert states[hit + 3] == OPEN


def test_every_strong_impact_is_seen_even_in_a_coarse_film(woodpecker):
    _, trajectory = woodpecker
    times = np.linspace(0.0, 0.32, 17)
    states = frame_states(trajectory, times, hold=1)
    impacts = trajectory.impacts()
    for time, contact, speed in zip(
        impacts["time"], impacts["contact"], -impacts["normal_velocity_before"], strict=True
    ):
        if speed > 0.02:
            assert states[np.searchsorted(times, time - 1e-12), contact] == IMPACT


def test_weak_impacts_do_not_flash(ball):
    _, trajectory = ball
    table = trajectory.impacts()
    columns = {key: np.repeat(values[:1], 2) for key, values in table.columns.items()}
    columns["time"] = np.array([0.2, 0.4])
    columns["normal_velocity_before"] = np.array([-1.0, -1e-3])
    quiet = replace(
        trajectory, impact_table=replace(table, columns=columns), contact_state=np.zeros_like(trajectory.contact_state)
    )
    states = frame_states(quiet, np.linspace(0.0, 0.5, 6), hold=1)[:, 0]
    assert states.tolist() == [OPEN, OPEN, IMPACT, OPEN, OPEN, OPEN]


def test_short_closures_between_frames_are_seen(ball):
    _, trajectory = ball
    state = np.zeros_like(trajectory.contact_state)
    state[50:53] = STICK  # t = 0.25 .. 0.26
    quiet = replace(trajectory, contact_state=state, impact_table=trajectory.impact_table.of("table"))
    states = frame_states(quiet, np.array([0.0, 0.2, 0.3, 0.4]), hold=0)[:, 0]
    assert states.tolist() == [OPEN, OPEN, STICK, OPEN]


def marker_looks(states):
    """Face colours and numbers of artists of contact 0's marker."""
    from stickslip.drawing.primitives import Marker

    looks = {}
    for state in states:
        with style.look():
            ax = style.new_figure(1, 1).add_subplot()
            artists = mechanism.draw(ax, [Marker(0, (0.0, 0.0))], [state])
        looks[state] = (to_hex(artists[-1].get_markerfacecolor()), len(artists))
    return looks


def test_marker_shows_the_state():
    looks = marker_looks([OPEN, STICK, SLIP_MINUS, IMPACT, CLOSED])
    assert looks[OPEN] == ("#ffffff", 1)
    assert looks[IMPACT] == (style.STATE_COLOURS[IMPACT].lower(), 2)  # with rays
    assert looks[STICK][0] == style.STATE_COLOURS[STICK].lower()
    assert len({colour for colour, _ in looks.values()}) == 5


def test_the_mark_lights_up_in_the_film(ball):
    scenario, trajectory = ball
    film = Film.plan(trajectory, scenario.drawing, span=1.0, slower=4)
    with style.look():
        stage = animation._Stage(film, "Ball")
        hit = int(np.argmax(film.states[:, 0] == IMPACT))
        before, at_impact = (next(a for a in stage.show(i) if a.get_label() == "contact 0") for i in (hit - 1, hit))
        assert to_hex(before.get_markerfacecolor()) == "#ffffff"
        assert to_hex(at_impact.get_markerfacecolor()) == style.STATE_COLOURS[IMPACT].lower()
        assert stage.clock.get_text() == f"t = {film.times[hit]:.2f} s"
        assert list(stage.playhead.get_xdata()) == [film.times[hit]] * 2


def test_pixels_change_at_the_impact(ball, tmp_path):
    scenario, trajectory = ball
    path = animate(trajectory, scenario.drawing, tmp_path / "ball.gif", span=0.6, slower=4)
    film = Film.plan(trajectory, scenario.drawing, span=0.6, slower=4)
    hit = int(np.argmax(film.states[:, 0] == IMPACT))
    colour = np.array(animation._rgb(style.STATE_COLOURS[IMPACT]))
    counts = []
    with Image.open(path) as gif:
        assert gif.n_frames == len(film.times)
        for i in (hit - 1, hit):
            gif.seek(i)
            counts.append(int((np.asarray(gif.convert("RGB")) == colour).all(axis=2).sum()))
    assert counts[1] > counts[0] + 50


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": 9.0}, "start must lie in the run, 0 <= start < 1.6 s, got 9"),
        ({"span": 0.0}, "span must be positive"),
        ({"slower": -1.0}, "slower must be positive"),
        ({"fps": 0}, "fps must lie between 1 and 50, got 0"),
    ],
)
def test_wrong_wishes_are_refused(ball, options, message):
    scenario, trajectory = ball
    with pytest.raises(ValueError, match=message):
        Film.plan(trajectory, scenario.drawing, **options)


def test_file_names_are_checked_first(ball, tmp_path, monkeypatch):
    scenario, trajectory = ball
    with pytest.raises(ValueError, match=r"must end in .gif or .mp4, got 'film.avi'"):
        animate(trajectory, scenario.drawing, tmp_path / "film.avi")
    monkeypatch.setattr(animation.shutil, "which", lambda name: None)
    with pytest.raises(ValueError, match=r"needs ffmpeg, which is not installed; write a .gif instead"):
        animate(trajectory, scenario.drawing, tmp_path / "film.mp4")


@pytest.fixture
def encoder(tmp_path, monkeypatch):
    """Stands for ffmpeg: stores what it is sent under the name it is given."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "ffmpeg"
    program.write_text('#!/bin/sh\nfor last; do :; done\nexec cat > "$last"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return program


def test_mp4_sends_every_frame_to_ffmpeg(ball, tmp_path, encoder):
    scenario, trajectory = ball
    path = animate(trajectory, scenario.drawing, tmp_path / "film.mp4", span=0.2, slower=2, fps=10)
    film = Film.plan(trajectory, scenario.drawing, span=0.2, slower=2, fps=10)
    with style.look():
        width, height = animation._Stage(film, "").size
    assert width % 2 == height % 2 == 0
    assert path.stat().st_size == len(film.times) * width * height * 3


def test_ffmpeg_that_fails_says_why(ball, tmp_path, encoder):
    encoder.write_text("#!/bin/sh\necho no such codec >&2\nexit 3\n")
    scenario, trajectory = ball
    with pytest.raises(RuntimeError, match=r"ffmpeg could not write film.mp4: no such codec"):
        animate(trajectory, scenario.drawing, tmp_path / "film.mp4", span=0.2, slower=2, fps=10)


@pytest.mark.slow
def test_every_library_system_has_a_film(tmp_path):
    from stickslip import library

    for name in library.names():
        scenario = library.get(name)
        trajectory = scenario.simulate(t_end=min(scenario.t_end, scenario.drawing.span or 2.0))
        path = animate(trajectory, scenario.drawing, tmp_path / f"{name}.gif", title=scenario.title)
        assert path.stat().st_size < 3e6
        with Image.open(path) as film:
            assert 60 <= film.n_frames <= animation.FPS * max(8.0, scenario.drawing.span or 0.0)
