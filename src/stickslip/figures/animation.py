"""Films of a motion: the mechanism to scale, contacts that light up, and a ribbon of their states with a playhead."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from stickslip.bars import new_bar
from stickslip.drawing.primitives import Box, Drawing
from stickslip.figures import mechanism, ribbon, style
from stickslip.io.disk import replacing
from stickslip.scenario import picture_of
from stickslip.scenes.scene import Scene
from stickslip.trajectory import CLOSED, IMPACT, OPEN, SLIP_MINUS, SLIP_PLUS, STICK, Trajectory

FORMATS = ("gif", "mp4")
FPS = 25
_DPI = 100
_COLOURS = 96
_SHORTEST, _LONGEST = 3.0, 8.0
_SLOWER = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
_MOST_CONTACTS = 16  # that have a line each in the ribbon; with more contacts a film has no ribbon
_WEAK_IMPACT = 0.01  # impacts below this share of the fastest one of their contact do not flash


def animate(
    trajectory: Trajectory,
    drawing: Drawing | Scene,
    path: str | Path,
    *,
    title: str = "",
    start: float | None = None,
    span: float | None = None,
    slower: float | None = None,
    fps: int = FPS,
    progress: bool | None = None,
) -> Path:
    """Write a film of a run; the suffix of `path` makes it a GIF or (with ffmpeg) an MP4.

    Parameters
    ----------
    drawing : drawing of the scenario that was run, or the `Scene` itself.
    title : words above the picture; a scene's name by default.
    start : first instant to show [s]; by default the beginning of the run.
    span : length of the motion to show [s]; by default the span that the drawing proposes.
    slower : how many times slower than reality; by default the film takes at least three seconds.
    fps : frames per second, 1 to 50.
    progress : show a progress bar on stderr; None shows it on a terminal and in a notebook.

    Returns
    -------
    Path : the file that was written.

    Raises
    ------
    ValueError : another suffix, MP4 without ffmpeg, a run of one record, or a number outside its range.

    An impact lasts no time at all, so its flash is held for a few frames.
    """
    path = Path(path)
    check_path(path)
    title = title or picture_of(drawing)[1]
    film = Film.plan(trajectory, drawing, start=start, span=span, slower=slower, fps=fps)
    with style.look(), _progress(progress, len(film.times)) as advance, replacing(path) as draft:
        stage = _Stage(film, title)
        frames = stage.frames(advance)
        if path.suffix.lower() == ".gif":
            _write_gif(draft, frames, fps)
        else:
            _write_mp4(draft, frames, fps, stage.size, path.name)
    return path


def check_path(path: Path) -> None:
    """Raise ValueError if the name does not end in .gif or .mp4, or ends in .mp4 and ffmpeg is missing."""
    if path.suffix.lower().removeprefix(".") not in FORMATS:
        raise ValueError(f"a film's file must end in .gif or .mp4, got {path.name!r}.")
    if path.suffix.lower() == ".mp4" and shutil.which("ffmpeg") is None:
        raise ValueError(f"{path.name} needs ffmpeg, which is not installed; write a .gif instead.")


@dataclass(frozen=True)
class Film:
    """A film before it is drawn: state, contacts and view of each of its n frames.

    Attributes
    ----------
    times : instants of the frames [s], shape (n,).
    q : coordinates, shape (n, f).
    states : contact states to light up, shape (n, contacts).
    camera : displacement of the view to the right and up [m], shape (n, 2).
    box : the view without displacement [m].
    slower : how many times slower than reality.
    fps : frames per second.
    """

    trajectory: Trajectory
    drawing: Drawing
    times: np.ndarray
    q: np.ndarray
    states: np.ndarray
    camera: np.ndarray
    box: Box
    slower: float
    fps: int

    @classmethod
    def plan(
        cls,
        trajectory: Trajectory,
        drawing: Drawing | Scene,
        *,
        start: float | None = None,
        span: float | None = None,
        slower: float | None = None,
        fps: int = FPS,
    ) -> Film:
        picture, _ = picture_of(drawing)
        if len(trajectory) < 2:
            raise ValueError(f"a film needs at least two records, got {len(trajectory)}.")
        if not 1 <= fps <= 50:
            raise ValueError(f"fps must lie between 1 and 50, got {fps}.")
        first, last = float(trajectory.t[0]), float(trajectory.t[-1])
        begin = first if start is None else float(start)
        if not first <= begin < last:
            raise ValueError(f"start must lie in the run, {first:g} <= start < {last:g} s, got {begin:g}.")
        length = proposed_span(trajectory, picture, begin) if span is None else min(float(span), last - begin)
        if not length > 0.0:
            raise ValueError(f"span must be positive [s], got {span}.")
        if slower is None:
            slower = next((factor for factor in _SLOWER if length * factor >= _SHORTEST), _SLOWER[-1])
        if not slower > 0.0:
            raise ValueError(f"slower must be positive, got {slower}.")
        count = max(2, round(length * slower * fps))
        times = np.linspace(begin, begin + length, count)
        q = np.stack([np.interp(times, trajectory.t, x) for x in trajectory.q.T], axis=1)
        box, camera = _camera(trajectory, picture, times, q)
        states = np.zeros((count, len(trajectory.contact_names)), np.int8)
        if has_ribbon(trajectory):
            states = frame_states(trajectory, times)
        return cls(trajectory, picture, times, q, states, camera, box, slower, fps)


def proposed_span(trajectory: Trajectory, drawing: Drawing | Scene, begin: float | None = None) -> float:
    """Length of the motion that a film shows unless told otherwise [s]: as the drawing proposes, from `begin` on."""
    first = float(trajectory.t[0]) if begin is None else begin
    return min(float(trajectory.t[-1]) - first, picture_of(drawing)[0].span or _LONGEST)


def has_ribbon(trajectory: Trajectory) -> bool:
    """Whether the contacts are few enough to be shown one by one below the picture."""
    return 0 < len(trajectory.contact_names) <= _MOST_CONTACTS


def frame_states(trajectory: Trajectory, times: np.ndarray, hold: int = 3) -> np.ndarray:
    """Contact state to show in each frame, shape (frames, contacts).

    A frame stands for the time since the frame before.  It shows the last state of this time that is not open.  Impacts
    are held for `hold` frames, but impacts that are weak beside the strongest one of their contact are left out.
    """
    t, state = trajectory.t, trajectory.contact_state
    shown = np.zeros((len(times), state.shape[1]), dtype=np.int8)
    edges = np.searchsorted(t, times - 1e-12, side="left").clip(1, len(t) - 1)  # record 0 ends no step
    before = edges[0] - 1
    for i, now in enumerate(edges):
        part = state[min(before + 1, now) : now + 1]  # all records since the frame before; at least the record at `now`
        for k in range(state.shape[1]):
            closed = part[(part[:, k] != OPEN) & (part[:, k] != IMPACT), k]
            shown[i, k] = closed[-1] if len(closed) else OPEN
        before = now
    impacts = trajectory.impacts()
    for k in range(state.shape[1]):
        mine = impacts["contact"] == k
        speed = np.abs(impacts["normal_velocity_before"][mine])
        strong = speed >= _WEAK_IMPACT * speed.max(initial=0.0)
        for time in impacts["time"][mine][strong]:
            if time >= times[0]:
                first = np.searchsorted(times, time - 1e-12, side="left")
                shown[first : first + hold, k] = IMPACT
    return shown


def _camera(trajectory: Trajectory, drawing: Drawing, times: np.ndarray, q: np.ndarray) -> tuple[Box, np.ndarray]:
    """The view [m], and its displacement in each frame [m], shape (n, 2).

    The view follows the coordinate `drawing.follow`.  With `drawing.goes_along` it follows bodies that travel many
    times their size.  It moves along a smooth curve, so that jerks of the motion stay visible.
    """
    n = len(times)
    sample = np.linspace(0, n - 1, min(n, 60)).astype(int)
    s, camera = np.linspace(-1.0, 1.0, n), np.zeros((n, 2))
    if drawing.follow is not None:
        y = q[:, trajectory.coordinate_names.index(drawing.follow)]
        camera[:, 1] = _smooth(s, s, y, 3)
    if not drawing.goes_along:
        return drawing.fit(q[sample], times[sample], trajectory.parameters), camera
    boxes = mechanism.windows(drawing, q[sample], times[sample], trajectory.parameters)
    middles = np.array([(0.5 * (box[0] + box[1]), 0.5 * (box[2] + box[3])) for box in boxes])
    if np.any(middles != middles[0]):
        for k in range(2):
            camera[:, k] = _smooth(s, s[sample], middles[:, k], 7) - middles[0, k]
    return boxes[0], camera


def _smooth(s: np.ndarray, known: np.ndarray, values: np.ndarray, degree: int) -> np.ndarray:
    return np.asarray(np.polynomial.Polynomial.fit(known, values, deg=min(degree, len(known) - 1))(s))


class _Stage:
    """The figure that is redrawn for every frame."""

    def __init__(self, film: Film, title: str) -> None:
        self.film = film
        width, height = film.box[1] - film.box[0], film.box[3] - film.box[2]
        wide = float(np.clip(width / height, 0.75, 2.6))
        picture = 4.4 if wide < 1.0 else 4.4 / wide + 0.4
        contacts = len(film.trajectory.contact_names) if has_ribbon(film.trajectory) else 0
        band = 0.20 * contacts + 0.62 if contacts else 0.0
        breadth = max(4.4, picture * wide) if wide < 1.0 else 5.2
        self.figure = Figure(figsize=(breadth, 0.42 + picture + band), dpi=_DPI)
        self.canvas = FigureCanvasAgg(self.figure)
        total = 0.42 + picture + band
        self.scene = self.figure.add_axes((0.0, band / total, 1.0, picture / total))
        self.box = mechanism.filled(film.box, breadth / picture)
        mechanism.prepare(self.scene, self.box)
        top = 1.0 - 0.2 / total
        self.figure.text(0.03, top, title, fontsize=9.5, fontweight="bold", va="center")
        self.clock = self.figure.text(0.97, top, "", fontsize=9, va="center", ha="right", family="DejaVu Sans Mono")
        self.playhead = self._ribbon(band, total, breadth) if contacts else None
        self.artists: list[Artist] = []
        digits = max(2, int(np.ceil(-np.log10(film.times[1] - film.times[0]))))
        self.digits = min(digits, 6)
        pace = (
            "real time"
            if film.slower == 1
            else f"{film.slower:g}× slower"
            if film.slower > 1
            else f"{1 / film.slower:g}× faster"
        )
        self.figure.text(0.97, top - 0.17 / total, pace, fontsize=7, color=style.GREY, va="center", ha="right")

    @property
    def size(self) -> tuple[int, int]:
        width, height = self.canvas.get_width_height()
        return width - width % 2, height - height % 2

    def _ribbon(self, band: float, total: float, breadth: float) -> Line2D:
        film = self.film
        ax: Axes = self.figure.add_axes((1.05 / breadth, 0.22 / total, 1.0 - 1.2 / breadth, (band - 0.52) / total))
        states = ribbon.draw(ax, film.trajectory)
        ax.set_xlim(film.times[0], film.times[-1])
        ax.tick_params(labelsize=7, pad=2)
        ax.grid(False)
        ax.annotate(
            "t [s]", (0.0, 0.0), (-16, -5.5), xycoords="axes fraction", textcoords="offset points", fontsize=7,
            ha="right", va="top",
        )  # fmt: skip
        order = [state for state in (STICK, SLIP_PLUS, SLIP_MINUS, CLOSED, IMPACT) if state in states]
        ax.legend(
            handles=ribbon.legend(order), loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=5, fontsize=7,
            borderaxespad=0.1, columnspacing=1.0, handlelength=1.0, handletextpad=0.5,
        )  # fmt: skip
        return ax.axvline(film.times[0], color=style.INK, linewidth=1.2, zorder=6)

    def show(self, i: int) -> list[Artist]:
        """Set up frame i and return the artists that change from frame to frame, from back to front."""
        film = self.film
        for artist in self.artists:
            artist.remove()
        right, up = film.camera[i]
        self.scene.set_xlim(self.box[0] + right, self.box[1] + right)
        self.scene.set_ylim(self.box[2] + up, self.box[3] + up)
        shapes = film.drawing(film.q[i], film.times[i], film.trajectory.parameters)
        self.artists = mechanism.draw(self.scene, shapes, film.states[i])
        self.clock.set_text(f"t = {film.times[i]:.{self.digits}f} s")
        if self.playhead is not None:
            self.playhead.set_xdata([film.times[i], film.times[i]])
        moving = [*self.artists, self.clock, *([] if self.playhead is None else [self.playhead])]
        return sorted(moving, key=lambda artist: artist.get_zorder())

    def frames(self, advance: Any) -> Iterator[np.ndarray]:
        """RGB images, shape (height, width, 3), one per frame; artists that never change are drawn only once."""
        width, height = self.size
        for artist in self.show(0):
            artist.set_animated(True)
        self.canvas.draw()
        background = self.canvas.copy_from_bbox(self.figure.bbox)
        for i in range(len(self.film.times)):
            self.canvas.restore_region(background)
            for artist in self.show(i):
                self.figure.draw_artist(artist)
            advance()
            yield np.asarray(self.canvas.buffer_rgba())[:height, :width, :3].copy()


def _write_gif(path: Path, frames: Iterator[np.ndarray], fps: int) -> None:
    """Write the frames as a GIF with one palette for all and without dithering: no flicker, and a small file."""
    from PIL import Image

    pictures = [Image.fromarray(frame) for frame in frames]
    sheet = Image.new("RGB", (pictures[0].width, pictures[0].height * 6))
    for row, i in enumerate(np.linspace(0, len(pictures) - 1, 6).astype(int)):
        sheet.paste(pictures[i], (0, row * pictures[0].height))
    swatch = np.array([_rgb(colour) for colour in style.STATE_COLOURS.values()], dtype=np.uint8)
    sheet.paste(Image.fromarray(np.repeat(np.repeat(swatch[None], 40, axis=0), 40, axis=1)), (0, 0))
    palette = sheet.quantize(_COLOURS, dither=Image.Dither.NONE)
    entries = np.array(palette.getpalette()).reshape(-1, 3)
    for colour in swatch:  # entries near white or a state's colour become exactly this colour
        distance = np.abs(entries - colour.astype(int)).sum(axis=1)
        entries[distance <= max(24, distance.min())] = colour
    palette.putpalette(entries.ravel().tolist())
    first, *rest = (picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures)
    first.save(
        path, format="GIF", save_all=True, append_images=rest, duration=round(1000 / fps), loop=0, optimize=False,
        comment=style.SIGNATURE.encode(),
    )  # fmt: skip


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _write_mp4(path: Path, frames: Iterator[np.ndarray], fps: int, size: tuple[int, int], name: str) -> None:
    import subprocess

    command = [
        "ffmpeg", "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{size[0]}x{size[1]}",
        "-r", str(fps), "-i", "-", "-an", "-pix_fmt", "yuv420p", "-metadata", f"comment={style.SIGNATURE}", str(path),
    ]  # fmt: skip
    encoder = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert encoder.stdin is not None and encoder.stderr is not None
    try:
        for frame in frames:
            encoder.stdin.write(frame.tobytes())
    except BrokenPipeError:
        pass  # ffmpeg says why, below
    encoder.stdin.close()
    message = encoder.stderr.read().decode(errors="replace")
    if encoder.wait() != 0:
        raise RuntimeError(f"ffmpeg could not write {name}: {message.strip() or 'no reason given'}")


@contextmanager
def _progress(wanted: bool | None, total: int) -> Iterator[Any]:
    bar = new_bar(wanted)
    if bar is None:
        yield lambda: None
        return
    task = bar.add_task("film", total=total)
    bar.start()
    try:
        yield lambda: bar.advance(task)
    finally:
        bar.stop()
